/* Runs a small program and reads what it says. */
#include "posix/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fd.h"

#include "common/base/banned.h"

/* Reads to the end of file or of time; true at the end of file. */
static bool read_all(int fd, uint64_t until_ns, char *out, size_t size)
{
    size_t have = 0;
    char rest[512];
    out[0] = '\0';
    for (;;) {
        uint64_t now = sbx_os_monotonic_ns();
        struct pollfd slot = {.fd = fd, .events = POLLIN};
        if (now >= until_ns || poll(&slot, 1, (int)((until_ns - now) / 1000000) + 1) == 0) {
            return false;
        }
        bool is_full = have + 1 >= size;
        ssize_t got = sbx_fd_read(fd, is_full ? rest : out + have,
                                  is_full ? sizeof rest : size - 1 - have);
        if (got <= 0) {
            return got == 0;
        }
        have += is_full ? 0 : (size_t)got;
        out[have] = '\0';
    }
}

static int spawn(const char *const *argv, int output, pid_t *out)
{
    static char *const no_environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    (void)sigemptyset(&none);
    int raw = posix_spawn_file_actions_init(&actions);
    if (raw != 0) {
        return raw;
    }
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    raw = posix_spawnattr_init(&attributes);
    if (raw == 0) {
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        (void)posix_spawnattr_setsigmask(&attributes, &none);
        raw = posix_spawn(out, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv,
                          no_environment);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return raw;
}

bool sbx_capture(const char *const *argv, unsigned timeout_ms, char *out, size_t size, int *status)
{
    AUTO_FD source = -1;
    AUTO_FD output = -1;
    pid_t pid = 0;
    if (!sbx_fd_pipe(&source, &output)) {
        return false;
    }
    int raw = spawn(argv, output, &pid);
    sbx_fd_close(&output);
    if (raw != 0) {
        errno = raw;
        return false;
    }
    uint64_t until = sbx_os_monotonic_ns() + (uint64_t)timeout_ms * 1000000;
    bool in_time = read_all(source, until, out, size);
    if (!in_time) {
        (void)kill(pid, SIGKILL);
    }
    int ended = 0;
    while (waitpid(pid, &ended, 0) < 0 && errno == EINTR) {
    }
    *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    errno = ETIMEDOUT;
    return in_time;
}
