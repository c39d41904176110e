/* Runs a small program and reads what it says. A process of its own stands between the two: bwrap, say, has a moment
 * in which its second process outlives a first one that is killed, and whoever kills sbx would leave it behind. */
#include "posix/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fd.h"
#include "posix/linux_orphans.h"
#include "posix/system.h"

#include "common/base/banned.h"

enum { NOT_EXECUTED = 127 };

struct report {
    int raw; /* of a program that could not be executed, else 0 */
    int status;
};

struct capture {
    const char *const *argv;
    int life[2];   /* read end: when it ends, so does everything */
    int output[2]; /* what the program says */
    int report[2];
    struct report last;
    bool has_report;
    bool adopts; /* orphans become our children */
};

/* ---- between the two: async-signal-safe ------------------------------------------------------------ */

static void wake(int number)
{
    (void)number; /* only so that waiting is interrupted */
}

static noreturn void execute(const struct capture *capture)
{
    static char *const no_environment[] = {NULL};
    enum { REPORT = 3 };
    int report = capture->report[1];
    sigset_t none;
    (void)sigemptyset(&none);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
        dup2(capture->output[1], STDOUT_FILENO) >= 0 &&
        dup2(capture->output[1], STDERR_FILENO) >= 0 &&
        (report == REPORT || dup2(report, REPORT) >= 0) &&
        fcntl(REPORT, F_SETFD, FD_CLOEXEC) == 0) {
        report = REPORT;
        sbx_system_close_from(REPORT + 1); /* nothing of the caller's but the streams */
        (void)signal(SIGCHLD, SIG_DFL);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)execve(capture->argv[0], (char *const *)(uintptr_t)capture->argv, no_environment);
    }
    struct report failure = {.raw = errno};
    (void)!sbx_fd_write_all(report, &failure, sizeof failure);
    _exit(NOT_EXECUTED);
}

/* Until the program ends, or sbx does. */
static void wait_for_end(const struct capture *capture, pid_t pid, const sigset_t *mask,
                         struct report *out)
{
    for (;;) {
        struct pollfd slot = {.fd = capture->life[0], .events = POLLIN};
        if (waitpid(pid, &out->status, WNOHANG) == pid || ppoll(&slot, 1, NULL, mask) > 0) {
            return;
        }
    }
}

static noreturn void watch(const struct capture *capture)
{
    struct report report = {.status = SIGKILL};
    struct sigaction action = {.sa_handler = wake};
    sigset_t mask;
    sigset_t block;
    (void)close(capture->life[1]);
    (void)!sbx_orphans_adopt();
    (void)sigaction(SIGCHLD, &action, NULL);
    (void)sigemptyset(&block);
    (void)sigaddset(&block, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &block, &mask);
    (void)sigdelset(&mask, SIGCHLD);
    pid_t pid = fork();
    if (pid == 0) {
        execute(capture);
    }
    (void)close(capture->output[1]);
    if (pid < 0) {
        report.raw = errno;
    } else {
        wait_for_end(capture, pid, &mask, &report);
        sbx_orphans_end();
    }
    (void)!sbx_fd_write_all(capture->report[1], &report, sizeof report);
    _exit(0);
}

/* ---- sbx ------------------------------------------------------------------------------------------- */

/* What the one between says last. Killed, it says nothing, and what it watched is ours. */
static void read_report(struct capture *capture)
{
    capture->has_report = sbx_fd_read(capture->report[0], &capture->last, sizeof capture->last) ==
                          (ssize_t)sizeof capture->last;
    sbx_fd_close(&capture->report[0]);
    if (!capture->has_report && capture->adopts) {
        sbx_orphans_end();
    }
}

/* Reads to the end of file and of the program, or of time; true when both came before that. */
static bool read_all(struct capture *capture, uint64_t until_ns, char *out, size_t size)
{
    size_t have = 0;
    char rest[512] = "";
    out[0] = '\0';
    while (capture->output[0] >= 0 || capture->report[0] >= 0) {
        uint64_t now = sbx_os_monotonic_ns();
        struct pollfd slot[] = {{.fd = capture->output[0], .events = POLLIN},
                                {.fd = capture->report[0], .events = POLLIN}};
        if (now >= until_ns ||
            poll(slot, SBX_COUNT(slot), (int)((until_ns - now) / 1000000) + 1) == 0) {
            return false;
        }
        if (slot[1].revents != 0) {
            read_report(capture);
        }
        if (slot[0].revents == 0) {
            continue;
        }
        bool is_full = have + 1 >= size;
        ssize_t got = sbx_fd_read(capture->output[0], is_full ? rest : out + have,
                                  is_full ? sizeof rest : size - 1 - have);
        if (got < 0) {
            return false;
        }
        if (got == 0) {
            sbx_fd_close(&capture->output[0]);
        }
        have += is_full ? 0 : (size_t)got;
        out[have] = '\0';
    }
    return true;
}

static void release(struct capture *capture)
{
    int *const ends[] = {&capture->life[0],   &capture->life[1],   &capture->output[0],
                         &capture->output[1], &capture->report[0], &capture->report[1]};
    for (size_t i = 0; i < SBX_COUNT(ends); i++) {
        sbx_fd_close(ends[i]);
    }
}

bool sbx_capture(const char *const *argv, unsigned timeout_ms, char *out, size_t size, int *status)
{
    SBX_CLEANUP(release)
    struct capture capture = {.argv = argv,
                              .life = {-1, -1},
                              .output = {-1, -1},
                              .report = {-1, -1},
                              .last = {.raw = EIO}};
    if (!sbx_fd_pipe(&capture.life[0], &capture.life[1]) ||
        !sbx_fd_pipe(&capture.output[0], &capture.output[1]) ||
        !sbx_fd_pipe(&capture.report[0], &capture.report[1])) {
        return false;
    }
    capture.adopts = sbx_orphans_adopt();
    pid_t pid = fork();
    if (pid < 0) {
        return false;
    }
    if (pid == 0) {
        watch(&capture);
    }
    sbx_fd_close(&capture.life[0]);
    sbx_fd_close(&capture.output[1]);
    sbx_fd_close(&capture.report[1]);
    uint64_t until = sbx_os_monotonic_ns() + (uint64_t)timeout_ms * 1000000;
    bool in_time = read_all(&capture, until, out, size);
    if (!in_time) {
        sbx_fd_close(&capture.life[1]);
    }
    if (capture.report[0] >= 0) {
        read_report(&capture);
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    int ended = capture.last.status;
    *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    errno = !in_time ? ETIMEDOUT : capture.last.raw;
    return in_time && capture.has_report && capture.last.raw == 0;
}
