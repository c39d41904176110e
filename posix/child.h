/* The plain child between fork and exec. */
#ifndef SBX_POSIX_CHILD_H
#define SBX_POSIX_CHILD_H

#include <stdnoreturn.h>

#include "posix/keeper.h"

/* What a child that could not be born writes to birth_fd; a successful exec closes it instead. */
struct sbx_birth_failure {
    enum sbx_birth birth;
    int raw;
};

struct sbx_child_plan {
    const struct sbx_keeper_plan *keeper;
    pid_t parent;
    bool own_group;
    int birth_fd;
    int stdout_fd; /* -1: sbx's own */
    int stderr_fd;
};

/* With all signals blocked. Only async-signal-safe calls. */
noreturn void sbx_child_main(const struct sbx_child_plan *plan);

#endif
