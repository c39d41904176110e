/* Changes of mode and times on behalf of the box. */
#ifndef SBX_INIT_CHANGE_H
#define SBX_INIT_CHANGE_H

#include "posix/init/broker.h"

/* Carries the call out when it is such a one; false when it is not. */
bool call_change(const struct call *call, long *answer);

#endif
