/* Opening a file that may have to be made. */
#ifndef SBX_INIT_OPEN_H
#define SBX_INIT_OPEN_H

#include "posix/init/broker.h"

struct open_wish {
    int32_t base;
    uint64_t path, flags, mode;
};

/* Opens it for the asking process and answers the call. */
void call_open(const struct call *call, const struct open_wish *wish);

/* broker.c */
void call_answer(const struct call *call, long answer);
long call_told(int32_t what, const struct spot *spot, long answer);

#endif
