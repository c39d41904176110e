/* A process that cares for a control group while nobody else does: between the group's making and the start of the
 * keeper, an sbx that is killed would leave it behind. */
#ifndef SBX_POSIX_LINUX_HEIR_H
#define SBX_POSIX_LINUX_HEIR_H

#include <sys/types.h>

#include "common/base/err.h"

struct sbx_heir {
    pid_t pid; /* 0: there is none */
    int fd;    /* its pipe: the end of it without a word is the end of sbx */
};

/* Starts it, before the group is made. On failure *out is untouched. */
enum sbx_code sbx_heir_open(struct sbx_heir *out, struct sbx_err *err) SBX_MUST_USE;

/* Sends it away and waits for it; nothing happens when there is none. */
void sbx_heir_dismiss(struct sbx_heir *heir);

#endif
