/* The first process of a macOS box. */
#include "posix/macos_first.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/init_plan.h"
#include "posix/macos_members.h"

#include "common/base/banned.h"

enum { EXIT_FIRST = 0, EXIT_BROKEN = 125 };

static struct first {
    struct sbx_macos_block block;
    pid_t child; /* 0 once reaped */
    int birth_fd;
    int wake[2];
    struct sigaction old_pipe; /* what the command is born with */
} first;

/* ---- reports ---- */

static void say_with(uint32_t kind, int32_t value, int32_t raw, const void *bytes, size_t len)
{
    static struct sbx_said said;
    said = (struct sbx_said){.kind = kind, .value = value, .raw = raw};
    said.length = (uint32_t)(len < SBX_SAID_TEXT ? len : SBX_SAID_TEXT);
    memcpy(said.text, bytes, said.length);
    (void)!sbx_fd_write_all(SBX_INIT_FD_REPORTS, &said, SBX_SAID_HEAD + said.length);
}

static void say(uint32_t kind, int32_t value)
{
    say_with(kind, value, 0, "", 0);
}

static noreturn void fail(int32_t step, int raw, const char *text)
{
    say_with(SBX_SAID_FAILED, step, raw, text, strlen(text));
    _exit(EXIT_BROKEN);
}

/* ---- the command's end, and everybody's ---- */

/* By its group as long as the command is not reaped, so that the number is its own; then whoever has the mark. */
static void end_all(void)
{
    if (first.child > 0) {
        (void)kill(-first.child, SIGKILL);
        (void)kill(first.child, SIGKILL);
        while (waitpid(first.child, NULL, 0) < 0 && errno == EINTR) {
        }
        first.child = 0; /* dead, but not reaped, it could still be found by its mark */
    }
    (void)sbx_members_end(first.block.mark);
}

static noreturn void end_now(void)
{
    end_all();
    _exit(EXIT_FIRST);
}

/* End of file: exec closed it, the command runs. */
static void read_birth(void)
{
    struct sbx_first_birth message;
    ssize_t got = sbx_fd_read(first.birth_fd, &message, sizeof message);
    sbx_fd_close(&first.birth_fd);
    if (got == (ssize_t)sizeof message) {
        fail(message.step, message.raw, message.text);
    }
}

static uint64_t nanoseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

/* Nobody of the box lives when its end is told. */
static noreturn void ended(int status, const struct rusage *used)
{
    struct sbx_init_usage usage = {
        .cpu_ns = nanoseconds(used->ru_utime) + nanoseconds(used->ru_stime),
        .peak_memory_bytes = (uint64_t)used->ru_maxrss,
    };
    first.child = 0;
    if (first.birth_fd >= 0) {
        read_birth();
    }
    end_all();
    say_with(SBX_SAID_ENDED, status, 0, &usage, sizeof usage);
    _exit(EXIT_FIRST);
}

static void child_changed(int status, const struct rusage *used)
{
    if (WIFSTOPPED(status)) {
        say(SBX_SAID_STOPPED, WSTOPSIG(status));
    } else if (WIFCONTINUED(status)) {
        say(SBX_SAID_CONTINUED, 0);
    } else {
        ended(status, used);
    }
}

static void reap(void)
{
    char bytes[64];
    int status = 0;
    struct rusage used = {0};
    (void)!sbx_fd_read(first.wake[0], bytes, sizeof bytes);
    while (first.child > 0 &&
           wait4(first.child, &status, WNOHANG | WUNTRACED | WCONTINUED, &used) == first.child) {
        child_changed(status, &used);
    }
}

/* ---- orders ---- */

static void tell_all(int number)
{
    if (first.child > 0) {
        (void)kill(-first.child, number);
    }
    (void)sbx_members_signal(first.block.mark, number);
}

static void obey(unsigned char order)
{
    int number = order & ~SBX_ORDER_GROUP;
    switch (order) {
    case SBX_ORDER_ASK_ALL:
        tell_all(SIGTERM);
        tell_all(SIGCONT); /* a stopped process handles TERM only when it goes on */
        break;
    case SBX_ORDER_STOP:
        tell_all(SIGSTOP);
        break;
    case SBX_ORDER_CONTINUE:
        tell_all(SIGCONT);
        break;
    case SBX_ORDER_END:
    case SIGKILL: /* how the keeper ends a box */
        end_now();
    default:
        if (first.child > 0) {
            (void)kill((order & SBX_ORDER_GROUP) != 0 ? -first.child : first.child, number);
        }
        break;
    }
}

static void read_orders(void)
{
    unsigned char orders[64];
    ssize_t got = sbx_fd_read(SBX_INIT_FD_ORDERS, orders, sizeof orders);
    if (got <= 0) {
        end_now(); /* sbx and its keeper are gone */
    }
    for (ssize_t i = 0; i < got; i++) {
        obey(orders[i]);
    }
}

/* ---- its life ---- */

static void on_child(int number)
{
    int raw = errno;
    (void)number;
    ssize_t put = write(first.wake[1], "", 1);
    (void)put;
    errno = raw;
}

static void read_block(void)
{
    struct stat info;
    if (fstat(SBX_INIT_FD_PLAN, &info) != 0 || info.st_size <= 0 ||
        (uint64_t)info.st_size > SBX_MACOS_BLOCK_MAX) {
        fail(SBX_INIT_STEP_PLAN, errno, "");
    }
    size_t len = (size_t)info.st_size;
    char *bytes = calloc(len + 1, 1);
    if (bytes == NULL || pread(SBX_INIT_FD_PLAN, bytes, len, 0) != (ssize_t)len ||
        !sbx_macos_block_read(bytes, len, &first.block)) {
        fail(SBX_INIT_STEP_PLAN, EINVAL, "");
    }
}

static void start(void)
{
    int birth[2] = {-1, -1};
    sigset_t all;
    sigset_t old;
    (void)sigfillset(&all);
    if (!sbx_fd_pipe(&birth[0], &birth[1]) || !sbx_fd_pipe(&first.wake[0], &first.wake[1]) ||
        !sbx_fd_set_nonblocking(first.wake[0]) || !sbx_fd_set_nonblocking(first.wake[1])) {
        fail(SBX_INIT_STEP_FORK, errno, "");
    }
    struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
    (void)sigaction(SIGCHLD, &action, NULL);
    /* The held process keeps what comes early; it is not lost. */
    (void)sigprocmask(SIG_SETMASK, &all, &old);
    first.child = fork();
    if (first.child < 0) {
        fail(SBX_INIT_STEP_FORK, errno, "");
    }
    if (first.child == 0) {
        struct sigaction usual = {.sa_handler = SIG_DFL};
        (void)sigaction(SIGCHLD, &usual, NULL);
        (void)sigaction(SIGPIPE, &first.old_pipe, NULL);
        sbx_first_child(&first.block, birth[1]);
    }
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    (void)close(birth[1]);
    (void)close(SBX_INIT_FD_HOLD); /* the held process' alone */
    first.birth_fd = birth[0];
}

static void hold_child(void)
{
    struct sbx_first_birth message = {0};
    if (sbx_fd_read(first.birth_fd, &message, sizeof message) != (ssize_t)sizeof message) {
        fail(SBX_INIT_STEP_FORK, EIO, "");
    }
    if (!message.is_ready) {
        fail(message.step, message.raw, message.text);
    }
    say(SBX_SAID_HELD, first.child);
    say(SBX_SAID_WATCHING, 0);
}

bool sbx_first_is_asked(int argc, char **argv)
{
    return argc == 1 && strcmp(argv[0], SBX_MACOS_FIRST) == 0;
}

noreturn void sbx_first_main(void)
{
    enum { ORDERS, WAKE, BIRTH, SLOTS };
    first.birth_fd = -1;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, &first.old_pipe);
    read_block();
    start();
    hold_child();
    for (;;) {
        struct pollfd slot[SLOTS] = {
            [ORDERS] = {.fd = SBX_INIT_FD_ORDERS, .events = POLLIN},
            [WAKE] = {.fd = first.wake[0], .events = POLLIN},
            [BIRTH] = {.fd = first.birth_fd, .events = POLLIN},
        };
        if (poll(slot, SLOTS, -1) < 0) {
            continue;
        }
        if (slot[ORDERS].revents != 0) {
            read_orders();
        }
        if (slot[BIRTH].revents != 0 && first.birth_fd >= 0) {
            read_birth();
        }
        if (slot[WAKE].revents != 0) {
            reap();
        }
    }
}
