/* Runs a small program and reads what it says. */
#include "posix/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fd.h"
#include "posix/signals.h"
#include "posix/system.h"

#include "common/base/banned.h"

/* Reads to the end of file or of time; true at the end of file. */
static bool read_all(int fd, uint64_t until_ns, char *out, size_t size)
{
    size_t have = 0;
    char rest[512] = ""; /* what no longer fits is read all the same */
    out[0] = '\0';
    for (;;) {
        uint64_t now = sbx_os_monotonic_ns();
        struct pollfd slot = {.fd = fd, .events = POLLIN};
        if (now >= until_ns || poll(&slot, 1, (int)((until_ns - now) / 1000000) + 1) == 0) {
            return false;
        }
        bool is_full = have + 1 >= size;
        ssize_t got =
            sbx_fd_read(fd, is_full ? rest : out + have, is_full ? sizeof rest : size - 1 - have);
        if (got <= 0) {
            return got == 0;
        }
        have += is_full ? 0 : (size_t)got;
        out[have] = '\0';
    }
}

/* Between fork and exec: only async-signal-safe calls. Nothing but the standard streams stays open. */
static noreturn void become(const char *const *argv, int output, int birth)
{
    enum { BIRTH = 3 };
    static char *const no_environment[] = {NULL};
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input >= 0 && dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
        dup2(output, STDERR_FILENO) >= 0 && (birth == BIRTH || dup2(birth, BIRTH) >= 0) &&
        fcntl(BIRTH, F_SETFD, FD_CLOEXEC) == 0) {
        birth = BIRTH;
        sbx_system_close_from(BIRTH + 1);
        (void)execve(argv[0], (char *const *)(uintptr_t)argv, no_environment);
    }
    int raw = errno;
    ssize_t put = write(birth, &raw, sizeof raw);
    (void)put;
    _exit(127);
}

/* 0, or the errno of what kept it from being started. */
static int start(const char *const *argv, int output, pid_t *out)
{
    AUTO_FD birth_read = -1;
    AUTO_FD birth_write = -1;
    int raw = 0;
    if (!sbx_fd_pipe(&birth_read, &birth_write)) {
        return errno;
    }
    sigset_t mask = sbx_signals_block(); /* a handler of ours must not run there */
    pid_t pid = fork();
    if (pid == 0) {
        become(argv, output, birth_write);
    }
    int failed = errno;
    sbx_signals_unblock(&mask);
    if (pid < 0) {
        return failed;
    }
    sbx_fd_close(&birth_write);
    if (sbx_fd_read(birth_read, &raw, sizeof raw) == (ssize_t)sizeof raw) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
        return raw;
    }
    *out = pid;
    return 0;
}

/* Its end, or the end of time: it may close its outputs and stay. */
static bool wait_until(pid_t pid, uint64_t until_ns, int *ended)
{
    const struct timespec moment = {.tv_nsec = 200000};
    for (;;) {
        pid_t got = waitpid(pid, ended, WNOHANG);
        if (got != 0 && !(got < 0 && errno == EINTR)) {
            return got == pid;
        }
        if (sbx_os_monotonic_ns() >= until_ns) {
            return false;
        }
        (void)nanosleep(&moment, NULL);
    }
}

bool sbx_capture(const char *const *argv, unsigned timeout_ms, char *out, size_t size, int *status)
{
    AUTO_FD source = -1;
    AUTO_FD output = -1;
    pid_t pid = 0;
    int ended = 0;
    if (!sbx_fd_pipe(&source, &output)) {
        return false;
    }
    int raw = start(argv, output, &pid);
    sbx_fd_close(&output);
    if (raw != 0) {
        errno = raw;
        return false;
    }
    uint64_t until = sbx_os_monotonic_ns() + (uint64_t)timeout_ms * 1000000;
    bool in_time = read_all(source, until, out, size) && wait_until(pid, until, &ended);
    if (!in_time) {
        (void)kill(pid, SIGKILL);
        while (waitpid(pid, &ended, 0) < 0 && errno == EINTR) {
        }
    }
    *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    errno = ETIMEDOUT;
    return in_time;
}
