/* A process in new namespaces. */
#include "posix/linux_native.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/fd.h"

#include "common/base/banned.h"

/* What sbx-init needs to build: to make namespaces, to mount and to name, to pass its own closed directories, to give
 * capabilities up for good, to raise the loopback, and to lower the number of user namespaces. */
static const unsigned building[] = {CAP_SYS_ADMIN, CAP_DAC_OVERRIDE, CAP_SETPCAP, CAP_NET_ADMIN,
                                    CAP_SYS_RESOURCE};

/* Those that are quick to make. The others sbx-init makes itself, while sbx still looks at the files. */
enum { NAMESPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID };

/* Straight to the kernel: the C library's fork knows no namespaces. The child may do what is allowed between fork
 * and exec. */
static pid_t make_process(uint64_t flags, int group_fd)
{
    struct clone_args args = {
        .flags = flags | (group_fd >= 0 ? CLONE_INTO_CGROUP : 0),
        .exit_signal = (flags & CLONE_PARENT) != 0 ? 0 : SIGCHLD, /* the parent's choice stays */
        .cgroup = (unsigned)(group_fd >= 0 ? group_fd : 0),
    };
    return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

/* A sanitizer keeps account of the stack, in memory: two processes on one would be too much for it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { BORROWED = CLONE_VFORK };
#else
enum { BORROWED = CLONE_VFORK | CLONE_VM };
#endif

/* As vfork(2): the child borrows the memory, and the caller sleeps until it executes sbx-init or ends. A copy of the
 * memory costs more than everything else between fork and exec.
 *
 * The child goes on in this very frame, so the call must be made here and not in a function that returns, and nothing
 * of this frame may be needed afterwards but the answer, which is in a register. */
__attribute__((noinline)) static long borrow(const struct clone_args *args,
                                             const struct sbx_box_child *child)
{
#if defined(__x86_64__)
    long answer = SYS_clone3;
    __asm__ volatile("syscall"
                     : "+a"(answer)
                     : "D"(args), "S"(sizeof *args)
                     : "rcx", "r11", "memory");
#else
    register long call __asm__("x8") = SYS_clone3;
    register long answer __asm__("x0") = (long)args;
    register long size __asm__("x1") = (long)sizeof *args;
    __asm__ volatile("svc 0" : "+r"(answer) : "r"(call), "r"(size) : "memory");
#endif
    if (answer == 0) {
        sbx_box_child_main(child);
    }
    return answer;
}

static pid_t make_here(int group_fd, const struct sbx_box_child *child)
{
    const struct clone_args args = {
        .flags = NAMESPACES | BORROWED | (group_fd >= 0 ? CLONE_INTO_CGROUP : 0),
        .exit_signal = SIGCHLD,
        .cgroup = (unsigned)(group_fd >= 0 ? group_fd : 0),
    };
    int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    long answer = borrow(&args, child);
    /* New rights can make memory one that is not dumped, and it was ours, too. */
    if (dumpable == 1) {
        (void)prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0);
    }
    if (answer < 0) {
        errno = (int)-answer;
        return -1;
    }
    return (pid_t)answer;
}

/* The account's own namespaces can only be made by it, and those below a session's only in it; the caller must stay
 * who and where it is: a process in between makes them, hands its child to the caller, and ends. */
static pid_t make_elsewhere(const struct sbx_launch *launch, int group_fd,
                            const struct sbx_box_child *child)
{
    AUTO_FD read_end = -1;
    AUTO_FD write_end = -1;
    pid_t box = -1;
    int status = 0;
    if (!sbx_fd_pipe(&read_end, &write_end)) {
        return -1;
    }
    pid_t between = make_process(0, group_fd);
    if (between == 0) {
        if (!sbx_account_become(&launch->account) ||
            (launch->session != NULL && !sbx_session_net_enter(launch->session))) {
            _exit(1);
        }
        box = make_process(NAMESPACES | CLONE_PARENT, -1);
        if (box == 0) {
            sbx_box_child_main(child);
        }
        (void)!sbx_fd_write_all(write_end, &box, sizeof box);
        _exit(0);
    }
    if (between < 0) {
        return -1;
    }
    sbx_fd_close(&write_end);
    ssize_t got = sbx_fd_read(read_end, &box, sizeof box);
    while (waitpid(between, &status, 0) < 0 && errno == EINTR) {
    }
    errno = EPERM; /* of the two ways to fail both are that */
    return got == (ssize_t)sizeof box ? box : -1;
}

pid_t sbx_native_fork(void *state, const struct sbx_box_child *child)
{
    const struct sbx_launch *launch = (const struct sbx_launch *)state;
    int group_fd = sbx_cgroup_clone_fd(&launch->cgroup);
    return launch->account.is_other || launch->session != NULL
               ? make_elsewhere(launch, group_fd, child)
               : make_here(group_fd, child);
}

/* Over exec a process without the number 0 keeps only what is ambient, and its numbers are not mapped yet. */
static bool keep_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    memset(data, 0, sizeof data);
    for (size_t i = 0; i < SBX_COUNT(building); i++) {
        struct __user_cap_data_struct *half = &data[building[i] / 32];
        half->permitted |= 1u << building[i] % 32;
        half->effective = half->inheritable = half->permitted;
    }
    bool is_kept = syscall(SYS_capset, &head, data) == 0;
    for (size_t i = 0; i < SBX_COUNT(building) && is_kept; i++) {
        is_kept = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, building[i], 0, 0) == 0;
    }
    return is_kept;
}

bool sbx_native_enter(struct sbx_launch *launch)
{
    bool is_inside = sbx_cgroup_clone_fd(&launch->cgroup) >= 0;
    return (is_inside || sbx_cgroup_enter_self(&launch->cgroup)) && keep_capabilities();
}
