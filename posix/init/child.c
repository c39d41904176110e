/* The command's process: born under everything that confines it, held until sbx has looked at it. */
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/signal.h>
#include <stddef.h>

#include "posix/init/child.h"
#include "posix/init/init.h"
#include "posix/init/sys.h"

#include "common/base/banned.h"

enum {
    CHILD = 17, /* SIGCHLD */
    KILL = 9,
    BIRTH = 3, /* descriptors of the child while it is held, besides that of the reports */
    HOLD = 4,
    SPARE = 64,            /* above everything sbx-init has open */
    SET_TERMINAL = 0x540e, /* TIOCSCTTY */
    SIGNAL_SET_BYTES = 8,
};

/* The call can only be interrupted by the end of the process once it was received: a retry would make a
 * directory twice (5.19). */
#define WAIT_KILLABLE (1UL << 5)

static noreturn void give_up(int birth, int32_t step, long answer)
{
    struct init_birth message = {.step = step, .raw = (int32_t)-answer};
    (void)SYS3(write, birth, &message, sizeof message);
    for (;;) {
        (void)SYS1(exit_group, 125);
    }
}

/* Installed here and not in sbx-init, which carries the calls out and must not wait for itself. */
static long watch_names(const struct init *init, int32_t *is_killable)
{
    struct sock_fprog program = {
        .len = (unsigned short)init->plan->names.count,
        .filter = (struct sock_filter *)init_at(init, init->plan->names.at),
    };
    long fd = SYS3(seccomp, SECCOMP_SET_MODE_FILTER,
                   SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE, &program);
    *is_killable = fd >= 0;
    if (fd == -22) {
        fd = SYS3(seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    }
    return fd;
}

/* Leaves 0, 1, 2, its two pipe ends and that of the reports, which close with exec. */
static void keep_streams(int birth)
{
    long safe_birth = SYS3(fcntl, birth, F_DUPFD_CLOEXEC, SPARE);
    if (safe_birth < 0 || SYS3(dup3, SBX_INIT_FD_HOLD, HOLD, O_CLOEXEC) < 0 ||
        SYS3(dup3, safe_birth, BIRTH, O_CLOEXEC) < 0 ||
        SYS3(close_range, SBX_INIT_FD_REPORTS + 1, ~0u, 0) < 0) {
        give_up(birth, SBX_INIT_STEP_FORK, -9);
    }
}

/* Only Landlock refuses this one: file modes and mounts would allow it. */
static int32_t probe_landlock(const struct init *init)
{
    if (init->plan->probe == 0) {
        return 0;
    }
    long fd = SYS4(openat, AT_FDCWD, init_at(init, init->plan->probe), O_WRONLY | O_CLOEXEC, 0);
    return fd < 0 ? (int32_t)-fd : 0;
}

static void wait_for_release(void)
{
    char byte = 0;
    long got;
    do {
        got = SYS3(read, HOLD, &byte, 1);
    } while (got == -4);
    if (got != 1) {
        (void)SYS1(exit_group, 125);
    }
}

/* What a box that was built before its command was known has to learn yet. */
static void wait_for_command(struct init *init)
{
    long answer = init_take_command(init, HOLD);
    if (answer > 0) {
        (void)SYS1(exit_group, 125);
    }
    if (answer < 0) {
        give_up(BIRTH, SBX_INIT_STEP_PLAN, answer);
    }
    answer = SYS1(chdir, (char *)init->command + init->command->directory);
    if (answer < 0) {
        give_up(BIRTH, SBX_INIT_STEP_DIRECTORY, answer);
    }
}

static noreturn void live(struct init *init, int birth)
{
    struct init_birth message = {.step = INIT_BIRTH_READY, .listener_fd = -1};
    (void)SYS5(prctl, PR_SET_PDEATHSIG, KILL, 0, 0, 0);
    long answer = SYS1(chdir, init_at(init, init->plan->directory));
    if (answer < 0) {
        give_up(birth, SBX_INIT_STEP_DIRECTORY, answer);
    }
    message.probe = probe_landlock(init);
    if (init->plan->names.count > 0) {
        answer = watch_names(init, &message.is_killable);
        if (answer < 0) {
            give_up(birth, SBX_INIT_STEP_NAMES, answer);
        }
        message.listener_fd = (int32_t)answer;
    }
    /* Until here the table of descriptors was shared, so that sbx-init has the listener too. */
    answer = SYS1(unshare, CLONE_FILES);
    if (answer < 0) {
        give_up(birth, SBX_INIT_STEP_FORK, answer);
    }
    keep_streams(birth);
    (void)SYS0(setsid);
    if ((init->plan->flags & SBX_INIT_HAS_TERMINAL) != 0) {
        answer = SYS3(ioctl, 0, SET_TERMINAL, 0);
        if (answer < 0) {
            give_up(BIRTH, SBX_INIT_STEP_TERMINAL, answer);
        }
    }
    /* So that sbx, as an ordinary user, can look at what it holds; nobody else runs in the box yet, and exec
     * would set it too. */
    (void)SYS5(prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
    answer = SYS3(write, BIRTH, &message, sizeof message);
    if (answer != (long)sizeof message) {
        give_up(BIRTH, SBX_INIT_STEP_FORK, answer < 0 ? answer : -5);
    }
    if ((init->plan->flags & SBX_INIT_WAITS) == 0) {
        /* Straight to sbx: every process in between would have to be woken first. */
        init_say(SBX_SAID_HELD, (int32_t)SYS0(getpid), message.probe, 0);
    }
    if ((init->plan->flags & SBX_INIT_WAITS) != 0) {
        wait_for_command(init);
    } else {
        wait_for_release();
    }
    const uint64_t none = 0;
    (void)SYS4(rt_sigprocmask, SIG_SETMASK, &none, 0, SIGNAL_SET_BYTES);
    char *command = (char *)init->command;
    answer = SYS3(execve, command + init->command->program, command + init->command->argv.at,
                  command + init->command->env.at);
    give_up(BIRTH, SBX_INIT_STEP_EXEC, answer);
}

void init_birth(struct init *init)
{
    const uint64_t all = ~UINT64_C(0);
    int birth[2] = {-1, -1};
    (void)SYS4(rt_sigprocmask, SIG_SETMASK, &all, 0, SIGNAL_SET_BYTES);
    long answer = SYS2(pipe2, birth, O_CLOEXEC);
    if (answer < 0) {
        init_fail(SBX_INIT_STEP_FORK, answer);
    }
    answer = SYS5(clone, CLONE_FILES | CHILD, 0, 0, 0, 0);
    if (answer < 0) {
        init_fail(SBX_INIT_STEP_FORK, answer);
    }
    if (answer == 0) {
        live(init, birth[1]);
    }
    init->child = (int)answer;
    struct init_birth message = {0};
    long got = init_read_birth(birth[0], &message);
    if (got != (long)sizeof message || message.step != INIT_BIRTH_READY) {
        init_fail(got == (long)sizeof message ? message.step : SBX_INIT_STEP_FORK,
                  got == (long)sizeof message ? -message.raw : -5);
    }
    /* The held process has closed its copy of this one by now. Were the table still shared, it would be gone here, and
     * the listener with it. */
    answer = SYS3(fcntl, SBX_INIT_FD_ORDERS, F_GETFD, 0);
    if (answer < 0) {
        init_fail(SBX_INIT_STEP_FORK, answer);
    }
    (void)SYS1(close, birth[1]);
    (void)SYS1(close, SBX_INIT_FD_HOLD);
    init->birth_fd = birth[0];
    init->listener_fd = message.listener_fd;
    init->is_killable = message.is_killable != 0;
    if ((init->plan->flags & SBX_INIT_WAITS) !=
        0) { /* nobody waits for that yet, and the socket is closed here now */
        init_say(SBX_SAID_HELD, init->child, message.probe, 0);
    }
}

long init_read_birth(int fd, struct init_birth *out)
{
    long got;
    do {
        got = SYS3(read, fd, out, sizeof *out);
    } while (got == -4);
    return got;
}
