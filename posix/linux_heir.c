/* Cares for what a killed sbx would leave behind. */
#include "posix/linux_heir.h"

#include <errno.h>
#include <signal.h>
#include <stdnoreturn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/linux_cgroup.h"
#include "posix/system.h"

#include "common/base/banned.h"

enum { STEP_US = 1000, STEPS = 2000 };

/* The pipe closes a moment before the process counts as dead. */
static void wait_for_death(pid_t parent)
{
    for (int i = 0; i < STEPS && getppid() == parent; i++) {
        (void)usleep(STEP_US);
    }
}

static noreturn void inherit(pid_t parent, int fd)
{
    sigset_t all;
    char byte = 0;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL); /* what the terminal sends is not for it */
    (void)dup2(fd, STDIN_FILENO);
    sbx_system_close_from(STDIN_FILENO + 1); /* or the readers of sbx' output would wait for it */
    if (sbx_fd_read(STDIN_FILENO, &byte, 1) != 1) {
        wait_for_death(parent);
        sbx_cgroup_recover();
    }
    _exit(0);
}

enum sbx_code sbx_heir_open(struct sbx_heir *out, struct sbx_err *err)
{
    AUTO_FD theirs = -1;
    AUTO_FD ours = -1;
    pid_t self = getpid();
    pid_t pid = sbx_fd_pipe(&theirs, &ours) ? fork() : -1;
    if (pid < 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "fork", "cannot start a process");
    }
    if (pid == 0) {
        (void)close(ours);
        inherit(self, theirs);
    }
    *out = (struct sbx_heir){.pid = pid, .fd = SBX_TAKE(ours, -1)};
    return SBX_OK;
}

void sbx_heir_dismiss(struct sbx_heir *heir)
{
    if (heir->pid > 0) {
        (void)!sbx_fd_write_all(heir->fd, "", 1);
        sbx_fd_close(&heir->fd);
        while (waitpid(heir->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        heir->pid = 0;
    }
}
