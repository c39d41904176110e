/* Evidence that no user namespace can be made below a box's own. */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/linux_evidence.h"
#include "posix/signals.h"

#include "common/base/banned.h"

enum trial { TRIAL_MADE, TRIAL_REFUSED, TRIAL_OTHER, TRIAL_IMPOSSIBLE };

enum { STACK_BYTES = 16384 };

/* In memory shared with sbx, which sleeps meanwhile: system calls, and nothing of libc but errno. */
static int try_inside(void *state)
{
    const int *namespace_fd = (const int *)state;
    if (syscall(SYS_setns, *namespace_fd, CLONE_NEWUSER) != 0) {
        return (int)TRIAL_IMPOSSIBLE;
    }
    long answer = syscall(SYS_unshare, CLONE_NEWUSER);
    return (int)(answer == 0 ? TRIAL_MADE : errno == ENOSPC ? TRIAL_REFUSED : TRIAL_OTHER);
}

/* Joins the box's user namespace, where the caller of sbx has every capability, and tries to make one below it.
 * In a child, because there is no way back; without a copy of the memory, which costs more than all the rest. */
static enum trial try_namespace(int namespace_fd)
{
    _Alignas(64) static char stack[STACK_BYTES];
    int status = 0;
    pid_t ended = -1;
    int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    sigset_t mask = sbx_signals_block(); /* a handler of the child's would write to our memory */
    pid_t pid =
        clone(try_inside, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &namespace_fd);
    sbx_signals_unblock(&mask);
    /* New rights can make memory one that is not dumped, and it was ours, too. */
    if (dumpable == 1 && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != dumpable) {
        (void)prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0);
    }
    if (pid < 0) {
        return TRIAL_IMPOSSIBLE;
    }
    while ((ended = waitpid(pid, &status, 0)) < 0 && errno == EINTR) {
    }
    return ended == pid && WIFEXITED(status) ? (enum trial)WEXITSTATUS(status) : TRIAL_OTHER;
}

/* Where joining is forbidden (a container's own filter): bwrap switches them off by one namespace in between
 * that is full. */
static bool has_one_between(int namespace_fd)
{
    struct stat own;
    struct stat between;
    AUTO_FD parent = ioctl(namespace_fd, NS_GET_PARENT);
    return parent >= 0 && fstat(parent, &between) == 0 && stat("/proc/self/ns/user", &own) == 0 &&
           own.st_ino != between.st_ino;
}

void sbx_evidence_user_namespaces(struct sbx_evidence_list *list, const struct sbx_proc *held)
{
    static const char *const texts[] = {
        [TRIAL_MADE] = "can be made",
        [TRIAL_REFUSED] = "cannot be made",
        [TRIAL_OTHER] = "refused for another reason",
        [TRIAL_IMPOSSIBLE] = "unknown",
    };
    AUTO_FD fd = openat(held->dir, "ns/user", O_RDONLY | O_CLOEXEC);
    enum trial trial = fd < 0 ? TRIAL_IMPOSSIBLE : try_namespace(fd);
    if (trial == TRIAL_IMPOSSIBLE && fd >= 0) {
        sbx_evidence_same(list, "user-namespaces", "one full level between",
                          has_one_between(fd) ? "one full level between" : "none between");
        return;
    }
    sbx_evidence_same(list, "user-namespaces", texts[TRIAL_REFUSED],
                      texts[(size_t)trial < SBX_COUNT(texts) ? trial : TRIAL_OTHER]);
}
