/* The plain child between fork and exec. Only async-signal-safe calls. */
#include "posix/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "posix/signals.h"
#include "posix/system.h"

#include "common/base/banned.h"

enum { BIRTH_FD = 3, EXIT_UNBORN = 125 };

static noreturn void fail(int birth_fd, enum sbx_birth birth, int raw)
{
    struct sbx_birth_failure failure = {birth, raw};
    ssize_t put = write(birth_fd, &failure, sizeof failure);
    (void)put;
    _exit(EXIT_UNBORN);
}

/* Leaves 0, 1, 2 and the birth pipe (as 3, closed by exec), whatever was open. */
static int keep_streams(const struct sbx_child_plan *plan)
{
    if ((plan->stdout_fd >= 0 && dup2(plan->stdout_fd, STDOUT_FILENO) < 0) ||
        (plan->stderr_fd >= 0 && dup2(plan->stderr_fd, STDERR_FILENO) < 0)) {
        fail(plan->birth_fd, SBX_BIRTH_STREAMS, errno);
    }
    if (plan->birth_fd != BIRTH_FD && dup2(plan->birth_fd, BIRTH_FD) < 0) {
        fail(plan->birth_fd, SBX_BIRTH_STREAMS, errno);
    }
    if (fcntl(BIRTH_FD, F_SETFD, FD_CLOEXEC) != 0) {
        fail(BIRTH_FD, SBX_BIRTH_STREAMS, errno);
    }
    sbx_system_close_from(BIRTH_FD + 1);
    return BIRTH_FD;
}

noreturn void sbx_child_main(const struct sbx_child_plan *plan)
{
    const struct sbx_plain_run *run = plan->keeper->run;
    if (!sbx_system_die_with(plan->parent)) {
        _exit(EXIT_UNBORN); /* the keeper is gone: nobody is left to tell */
    }
    if (plan->own_group) {
        (void)setpgid(0, 0);
    }
    if (run->cwd != NULL && chdir(run->cwd) != 0) {
        fail(plan->birth_fd, SBX_BIRTH_CWD, errno);
    }
    int birth_fd = keep_streams(plan);
    sbx_signals_restore(plan->keeper->signals);
    /* execve takes its arrays without const for history's sake; it does not write to them. */
    (void)execve(plan->keeper->path, (char *const *)(uintptr_t)run->argv,
                 (char *const *)(uintptr_t)run->env);
    fail(birth_fd, SBX_BIRTH_EXEC, errno);
}
