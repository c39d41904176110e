/* A worker of the library's own: a child at the other end of a pair of sockets. */
#include "lib/link_posix.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/banned.h"

/* Boxes of a worker end with it; on a busy machine that takes a while. */
#define LEAVING_MS 10000
#define WORKER "sbxd"

#ifndef SBX_WORKER_PATH /* the installed one */
#define SBX_WORKER_PATH "/usr/bin/" WORKER
#endif

void sbx_link_socket_close(int *fd)
{
    if (*fd >= 0) (void)close(*fd);
    *fd = -1;
}

/* A pair above the standard streams, which the child's are made from. */
static bool make_pair(int *ours, int *theirs)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return false;
    AUTO_SOCKET first = sbx_link_socket(pair[0]);
    AUTO_SOCKET second = sbx_link_socket(pair[1]);
    AUTO_SOCKET moved = sbx_link_socket(fcntl(first, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    AUTO_SOCKET others = sbx_link_socket(fcntl(second, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (moved < 0 || others < 0) return false;
    *ours = SBX_TAKE(moved, -1);
    *theirs = SBX_TAKE(others, -1);
    return true;
}

/* The caller's signal mask and handlers are its own business. */
static int set_signals(posix_spawnattr_t *attributes)
{
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    int raw = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (raw == 0) raw = posix_spawnattr_setsigdefault(attributes, &all);
    if (raw == 0) raw = posix_spawnattr_setsigmask(attributes, &none);
    return raw;
}

static int spawn_with(const char *program, int socket, posix_spawn_file_actions_t *actions,
                      posix_spawnattr_t *attributes, pid_t *pid)
{
    char name[] = WORKER;
    char option[] = "--stdio";
    char *argv[] = {name, option, NULL};
    int raw = set_signals(attributes);
    if (raw == 0) raw = posix_spawn_file_actions_adddup2(actions, socket, STDIN_FILENO);
    if (raw == 0) raw = posix_spawn_file_actions_adddup2(actions, socket, STDOUT_FILENO);
    if (raw != 0) return raw;
    if (program != NULL)
        return posix_spawn(pid, program, actions, attributes, argv, sbx_link_variables());
    if (access(SBX_WORKER_PATH, X_OK) == 0)
        return posix_spawn(pid, SBX_WORKER_PATH, actions, attributes, argv, sbx_link_variables());
    return posix_spawnp(pid, WORKER, actions, attributes, argv, sbx_link_variables());
}

static int spawn(const char *program, int socket, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int raw = posix_spawn_file_actions_init(&actions);
    if (raw != 0) return raw;
    raw = posix_spawnattr_init(&attributes);
    if (raw == 0) {
        raw = spawn_with(program, socket, &actions, &attributes, pid);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return raw;
}

enum sbx_code sbx_link_start(const char *program, struct sbx_link *out, struct sbx_err *err)
{
    AUTO_SOCKET ours = -1;
    AUTO_SOCKET theirs = -1;
    pid_t pid = -1;
    if (!make_pair(&ours, &theirs))
        return sbx_err_os(err, SBX_E_IO, SBX_OS_ERRNO, errno, "socketpair",
                          "a worker cannot be connected");
    int raw = spawn(program, theirs, &pid);
    if (raw != 0) {
        (void)sbx_err_os(err, raw == ENOENT ? SBX_E_NOT_FOUND : SBX_E_IO, SBX_OS_ERRNO, raw,
                         "posix_spawn", "the worker \"%s\" cannot be started",
                         program != NULL ? program : WORKER);
        return sbx_err_hint(err, "install sbx, or name its program " WORKER " in the options");
    }
    *out = (struct sbx_link){.stream = SBX_TAKE(ours, -1), .worker = pid};
    return SBX_OK;
}

/* The socket ends when the last of the worker does. */
static bool drains(int fd, int timeout_ms)
{
    char room[4096];
    uint64_t end = sbx_link_now_ms() + (uint64_t)timeout_ms;
    for (;;) {
        uint64_t now = sbx_link_now_ms();
        if (now >= end) return false;
        struct pollfd poll_for = {.fd = fd, .events = POLLIN};
        if (poll(&poll_for, 1, (int)(end - now)) <= 0) continue;
        ssize_t got = recv(fd, room, sizeof room, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return true;
    }
}

void sbx_link_close(struct sbx_link *link)
{
    int fd = (int)link->stream;
    pid_t pid = (pid_t)link->worker;
    *link = (struct sbx_link){.stream = -1, .worker = -1};
    if (fd < 0) return;
    if (pid > 0) {
        (void)shutdown(fd, SHUT_WR);
        /* Asked before it is killed: a caller that reaps every child may have let the number go to somebody else. */
        if (!drains(fd, LEAVING_MS) && waitpid(pid, NULL, WNOHANG) == 0) (void)kill(pid, SIGKILL);
    }
    (void)close(fd);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}
