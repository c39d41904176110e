/* The life of sbx-init after the command was born: orders, ended processes, creating calls. */
#include <linux/fcntl.h>
#include <linux/poll.h>
#include <linux/resource.h>
#include <linux/signal.h>
#include <linux/signalfd.h>
#include <linux/wait.h>
#include <stddef.h>

#include "posix/init/child.h"
#include "posix/init/init.h"
#include "posix/init/sys.h"

#include "common/base/banned.h"

enum {
    TERM = 15,
    KILL = 9,
    ALARM = 14,
    CHILD = 17,
    CONT = 18,
    STOP = 19,
    SIGNAL_SET_BYTES = 8,
    CONTINUED = 0xffff
};

static noreturn void end(void)
{
    for (;;) {
        (void)SYS1(exit_group, 0);
    }
}

/* As the first process, its exit ends every other process of the box. */
static noreturn void end_now(const struct init *init)
{
    if ((init->plan->flags & SBX_INIT_IS_FIRST) == 0 && init->child > 0) {
        (void)SYS2(kill, init->child, KILL); /* the rest is for the keeper */
    }
    end();
}

/* The first process of a box sees nobody else's. Elsewhere it is the command's group: the number is its own
 * until the command is reaped. */
static void tell_all(const struct init *init, int number)
{
    int whom = (init->plan->flags & SBX_INIT_IS_FIRST) != 0 ? -1 : -init->child;
    if (init->child > 0) {
        (void)SYS2(kill, whom, number);
    }
}

/* The held process blocks signals until just before exec: what comes early is kept, not lost. */
static void tell_command(const struct init *init, unsigned char order)
{
    int number = order & ~SBX_ORDER_GROUP;
    if (init->child > 0) {
        (void)SYS2(kill, (order & SBX_ORDER_GROUP) != 0 ? -init->child : init->child, number);
    }
}

static void read_orders(struct init *init)
{
    unsigned char order[64];
    long got = SYS3(read, SBX_INIT_FD_ORDERS, order, sizeof order);
    if (got == 0) {
        end_now(init); /* sbx is gone */
    }
    for (long i = 0; i < got; i++) {
        switch (order[i]) {
        case SBX_ORDER_ASK_ALL:
            tell_all(init, TERM);
            tell_all(init, CONT); /* a stopped process handles TERM only when it goes on */
            break;
        case SBX_ORDER_STOP:
            tell_all(init, STOP);
            break;
        case SBX_ORDER_CONTINUE:
            tell_all(init, CONT);
            break;
        case SBX_ORDER_END:
            end_now(init);
        default:
            tell_command(init, order[i]);
            break;
        }
    }
}

/* End of file: exec closed it, the command ran. */
static void read_birth(struct init *init)
{
    struct init_birth message;
    long got = init_read_birth(init->birth_fd, &message);
    (void)SYS1(close, init->birth_fd);
    init->birth_fd = -1;
    if (got == (long)sizeof message) {
        init_fail(message.step, -message.raw);
    }
}

/* Whatever the command left behind ends before it is said that the command has. */
static void end_others(void)
{
    while (SYS4(wait4, -1, 0, WNOHANG | __WALL, 0) >= 0) {
        (void)SYS2(kill, -1, KILL);
        (void)SYS4(wait4, -1, 0, __WALL, 0);
    }
}

static uint64_t nanoseconds(const struct __kernel_old_timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

static struct sbx_init_usage count(const struct rusage *usage)
{
    return (struct sbx_init_usage){
        .cpu_ns = nanoseconds(&usage->ru_utime) + nanoseconds(&usage->ru_stime),
        .peak_memory_bytes = (uint64_t)usage->ru_maxrss * 1024,
    };
}

/* The box stays until it is told to end, so that its end costs nobody time who waits for the command's. */
static void tell_result(struct init *init, int status, const struct rusage *usage)
{
    struct sbx_init_result result = {.status = status, .usage = count(usage)};
    init->child = 0;
    end_others();
    (void)SYS3(write, SBX_INIT_FD_RESULT, &result, sizeof result);
    (void)SYS1(close, SBX_INIT_FD_RESULT);
}

/* Where it is the first process nobody is left then, and whoever reads what the command wrote comes to an end. */
static noreturn void tell_end(const struct init *init, int status)
{
    struct rusage usage = {0};
    if ((init->plan->flags & SBX_INIT_IS_FIRST) != 0) {
        end_others();
        (void)SYS3(close_range, 0, 2, 0);
    }
    (void)SYS2(getrusage, RUSAGE_CHILDREN, &usage);
    struct sbx_init_usage told = count(&usage);
    init_say_ended(status, &told);
    end();
}

static void child_changed(struct init *init, int status, const struct rusage *usage)
{
    if ((status & 0xff) == 0x7f) {
        init_say(SBX_SAID_STOPPED, (status >> 8) & 0xff, 0, 0);
        return;
    }
    if (status == CONTINUED) {
        init_say(SBX_SAID_CONTINUED, 0, 0, 0);
        return;
    }
    if (init->birth_fd >= 0) {
        read_birth(init);
    }
    if ((init->plan->flags & SBX_INIT_WAITS) != 0) {
        tell_result(init, status, usage);
        return;
    }
    init->child = 0;
    tell_end(init, status);
}

static void reap(struct init *init)
{
    struct signalfd_siginfo info = {.ssi_signo = 0};
    while (SYS3(read, init->signals_fd, &info, sizeof info) > 0) {
        if (info.ssi_signo == ALARM) {
            end_now(init);
        }
    }
    for (;;) {
        int status = 0;
        struct rusage usage = {0};
        long pid = SYS4(wait4, -1, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage);
        if (pid <= 0) {
            return;
        }
        if (pid == init->child) {
            child_changed(init, status, &usage);
        }
    }
}

/* The last process that could ask is just ending: it is the command, or it has ended before. To wait for just that
 * spares two changes of process when somebody waits for the answer. */
static void wait_for_end(const struct init *init)
{
    if (init->child > 0) {
        (void)SYS5(waitid, P_PID, init->child, 0, WEXITED | WNOWAIT, 0);
    }
}

noreturn void init_watch(struct init *init)
{
    const uint64_t heard = UINT64_C(1) << (CHILD - 1) | UINT64_C(1) << (ALARM - 1);
    long fd = SYS4(signalfd4, -1, &heard, SIGNAL_SET_BYTES, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd <= 2) { /* those are open */
        init_fail(SBX_INIT_STEP_FORK, fd < 0 ? fd : -9);
    }
    init->signals_fd = (int)fd;
    if ((init->plan->flags & SBX_INIT_WAITS) == 0) {
        init_say(SBX_SAID_WATCHING, 0, 0, 0);
    }
    reap(init); /* what ended before the descriptor was there */
    for (;;) {
        enum { ORDERS, SIGNALS, LISTENER, SLOTS };
        struct pollfd slot[SLOTS] = {
            [ORDERS] = {.fd = SBX_INIT_FD_ORDERS, .events = POLLIN},
            [SIGNALS] = {.fd = init->signals_fd, .events = POLLIN},
            [LISTENER] = {.fd = init->listener_fd, .events = POLLIN},
        };
        if (SYS5(ppoll, slot, SLOTS, 0, 0, 0) < 0) {
            continue;
        }
        if (slot[ORDERS].revents != 0) {
            read_orders(init);
        }
        if (slot[LISTENER].revents & POLLIN) {
            init_answer(init);
        } else if (slot[LISTENER].revents != 0) {
            wait_for_end(init);
            reap(init);                           /* first of all: somebody waits for it */
            (void)SYS1(close, init->listener_fd); /* nobody is left who could ask */
            init->listener_fd = -1;
        }
        if (slot[SIGNALS].revents != 0) {
            reap(init);
        }
    }
}
