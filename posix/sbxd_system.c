/* sbxd for a machine, as root: takes connections, asks the kernel who it is, and hands each to the worker of that user. It
 * never reads a byte that a client sends. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/sbxd.h"
#include "posix/sbxd_pass.h"
#include "posix/system.h"

#include "common/base/banned.h"

enum { WORKERS_MAX = 256, WORKER_FD = 3, GRACE_MS = 5000, STRINGS = 8192, VARIABLES = 8 };

struct worker {
    pid_t pid; /* 0: unused */
    uid_t user;
    int fd; /* -1: told to end */
};

static struct worker workers[WORKERS_MAX];
static volatile sig_atomic_t is_told_to_end;
static int wake[2] = {-1, -1};

static void on_signal(int number)
{
    int saved = errno;
    if (number != SIGCHLD) {
        is_told_to_end = 1;
    }
    (void)!write(wake[1], "", 1);
    errno = saved;
}

/* ---- a worker ------------------------------------------------------------------------------------- */

/* What the worker knows of its user; nothing of root's own variables. */
static const char **make_variables(struct sbx_arena *arena, const struct passwd *entry)
{
    struct stat info;
    const char **out = SBX_NEW_ARRAY(arena, const char *, VARIABLES);
    const char *runtime = sbx_arena_printf(arena, "/run/user/%lu", (unsigned long)entry->pw_uid);
    if (out == NULL || runtime == NULL) {
        return NULL;
    }
    size_t count = 0;
    out[count++] = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
    out[count++] = sbx_arena_printf(arena, "HOME=%s", entry->pw_dir);
    out[count++] = sbx_arena_printf(arena, "USER=%s", entry->pw_name);
    out[count++] = sbx_arena_printf(arena, "LOGNAME=%s", entry->pw_name);
    if (stat(runtime, &info) == 0 && info.st_uid == entry->pw_uid) {
        out[count++] = sbx_arena_printf(arena, "XDG_RUNTIME_DIR=%s", runtime);
    }
    for (size_t i = 0; i < count; i++) {
        if (out[i] == NULL) {
            return NULL;
        }
    }
    return out;
}

/* The kind of number initgroups takes. */
#ifdef __APPLE__
typedef int group_number;
#else
typedef gid_t group_number;
#endif

static void become(const struct passwd *entry)
{
    /* In this order: without root's rights the first two cannot be done, and the third for good. */
    bool ok = initgroups(entry->pw_name, (group_number)entry->pw_gid) == 0 &&
              setgid(entry->pw_gid) == 0 && setuid(entry->pw_uid) == 0;
    bool is_root = entry->pw_uid == 0;
    if (!ok || geteuid() != entry->pw_uid || getuid() != entry->pw_uid ||
        getegid() != entry->pw_gid || (!is_root && setuid(0) == 0)) {
        _exit(125);
    }
}

/* In the child. The kernel forgets the death signal with a change of user, so it comes after. */
static void execute(const struct passwd *entry, pid_t parent, int fd, const char *program,
                    const char *const *words, const char *const *variables)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    become(entry);
    if (!sbx_system_die_with(parent) || chdir("/") != 0 ||
        (fd == WORKER_FD ? fcntl(fd, F_SETFD, 0) : dup2(fd, WORKER_FD)) < 0) {
        _exit(125);
    }
    sbx_system_close_from(WORKER_FD + 1);
    (void)execve(program, (char *const *)(const void *)words,
                 (char *const *)(const void *)variables);
    _exit(127);
}

static const char **make_words(struct sbx_arena *arena, const struct sbxd_options *options)
{
    const struct sbx_service_limits *limits = &options->limits;
    const char **words = SBX_NEW_ARRAY(arena, const char *, 10);
    if (words == NULL) {
        return NULL;
    }
    size_t count = 0;
    words[count++] = "sbxd";
    words[count++] = sbx_arena_printf(arena, "--worker=%d", WORKER_FD);
    words[count++] = sbx_arena_printf(arena, "--max-connections=%zu", limits->connections);
    words[count++] = sbx_arena_printf(arena, "--max-runs=%zu", limits->runs);
    words[count++] = sbx_arena_printf(arena, "--max-runs-per-client=%zu", limits->runs_per_client);
    words[count++] = sbx_arena_printf(arena, "--warm=%zu", limits->warm);
    words[count++] =
        sbx_arena_printf(arena, "--drain=%llu", (unsigned long long)(limits->drain_ms / 1000));
    words[count++] =
        sbx_arena_printf(arena, "--idle=%llu", (unsigned long long)(options->idle_ms / 1000));
    for (size_t i = 0; i < count; i++) {
        if (words[i] == NULL) {
            return NULL;
        }
    }
    return words;
}

static enum sbx_code start_worker(const struct sbxd_options *options, uid_t user,
                                  struct worker *out, struct sbx_err *err)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char strings[STRINGS];
    struct sbx_path self;
    int ends[2] = {-1, -1};
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1u << 20);
    if (getpwuid_r(user, &entry, strings, sizeof strings, &found) != 0 || found == NULL) {
        return sbx_err_set(err, SBX_E_NOT_FOUND, "user %lu has no account here",
                           (unsigned long)user);
    }
    const char **variables = make_variables(&arena, &entry);
    const char **words = make_words(&arena, options);
    enum sbx_code code = sbx_os_self(&arena, &self, err);
    if (code != SBX_OK || variables == NULL || words == NULL) {
        return code != SBX_OK ? code : sbx_err_nomem(err);
    }
    pid_t parent = getpid();
    pid_t pid = sbxd_pass_pair(ends) ? fork() : -1;
    if (pid == 0) {
        execute(&entry, parent, ends[1], self.text, words, variables);
    }
    int raw = errno;
    sbx_fd_close(&ends[1]);
    if (pid < 0) {
        sbx_fd_close(&ends[0]);
        return sbx_err_errno(err, raw, "fork", "cannot start a worker");
    }
    *out = (struct worker){.pid = pid, .user = user, .fd = ends[0]};
    return SBX_OK;
}

static void reap(void)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        for (size_t i = 0; i < WORKERS_MAX; i++) {
            if (workers[i].pid == pid) {
                sbx_fd_close(&workers[i].fd);
                workers[i] = (struct worker){.fd = -1};
            }
        }
    }
}

/* ---- connections ---------------------------------------------------------------------------------- */

static struct worker *find_worker(uid_t user)
{
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        if (workers[i].pid != 0 && workers[i].user == user && workers[i].fd >= 0) {
            return &workers[i];
        }
    }
    return NULL;
}

static struct worker *free_slot(size_t most)
{
    for (size_t i = 0; i < most; i++) {
        if (workers[i].pid == 0) {
            return &workers[i];
        }
    }
    return NULL;
}

/* A worker that is just ending does not take it: then a new one does. */
static enum sbx_code hand_over(const struct sbxd_options *options, uid_t user, int fd,
                               struct sbx_err *err)
{
    struct worker *worker = find_worker(user);
    if (worker != NULL && sbxd_pass_send(worker->fd, fd)) {
        return SBX_OK;
    }
    if (worker != NULL) {
        sbx_fd_close(&worker->fd);
    }
    worker = free_slot(options->workers);
    if (worker == NULL) {
        return sbx_err_set(err, SBX_E_LIMIT, "all %zu workers are in use", options->workers);
    }
    enum sbx_code code = start_worker(options, user, worker, err);
    if (code == SBX_OK && !sbxd_pass_send(worker->fd, fd)) {
        int raw = errno;
        return sbx_err_errno(err, raw, "sendmsg", "the worker does not take the connection");
    }
    return code;
}

static void take_connection(const struct sbxd_options *options, int listener)
{
    struct sbxd_peer peer;
    struct sbx_err err = {0};
    AUTO_FD fd = accept(listener, NULL, NULL);
    if (fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        return;
    }
    enum sbx_code code = sbxd_peer_check(fd, &peer, &err);
    if (code == SBX_OK) {
        code = hand_over(options, peer.user, fd, &err);
    }
    if (code != SBX_OK) {
        sbxd_say("a connection was refused: %s", err.text);
    }
}

/* ---- the loop ------------------------------------------------------------------------------------- */

static bool watch_signals(void)
{
    static const int numbers[] = {SIGCHLD, SIGTERM, SIGINT};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    bool ok = sbx_fd_pipe(&wake[0], &wake[1]) && sbx_fd_set_nonblocking(wake[0]) &&
              sbx_fd_set_nonblocking(wake[1]);
    for (size_t i = 0; i < SBX_COUNT(numbers) && ok; i++) {
        ok = sigaction(numbers[i], &action, NULL) == 0;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    return ok;
}

static void wait_for_something(int listener, int timeout_ms)
{
    char bytes[64];
    struct pollfd slots[] = {{.fd = wake[0], .events = POLLIN}, {.fd = listener, .events = POLLIN}};
    (void)poll(slots, SBX_COUNT(slots), timeout_ms);
    while (sbx_fd_read(wake[0], bytes, sizeof bytes) > 0) {
    }
    reap();
}

static bool has_workers(void)
{
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        if (workers[i].pid != 0) {
            return true;
        }
    }
    return false;
}

/* The end of its socket is how a worker learns of it; one that takes too long is ended, and its boxes with it. */
static void end_workers(const struct sbxd_options *options)
{
    uint64_t end_ns =
        sbx_os_monotonic_ns() + (options->limits.drain_ms + GRACE_MS) * UINT64_C(1000000);
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        sbx_fd_close(&workers[i].fd);
    }
    while (has_workers() && sbx_os_monotonic_ns() < end_ns) {
        wait_for_something(-1, 200);
    }
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        if (workers[i].pid != 0) {
            (void)kill(workers[i].pid, SIGKILL);
        }
    }
}

int sbxd_system(const struct sbxd_options *options)
{
    struct sbx_err err = {0};
    AUTO_ARENA arena;
    AUTO_FD listener = -1;
    bool is_made = false;
    sbx_arena_init(&arena, 64u << 10);
    const char *path = options->socket != NULL ? options->socket : sbxd_socket_path(&arena, true);
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        workers[i].fd = -1;
    }
    if (geteuid() != 0) {
        (void)sbx_err_set(&err, SBX_E_DENIED, "only root can work for every user");
        (void)sbx_err_hint(&err, "without --system it works for you alone");
        return sbxd_fail(&err);
    }
    if (!watch_signals()) {
        (void)sbx_err_set(&err, SBX_E_IO, "cannot wait for signals");
        return sbxd_fail(&err);
    }
    if (sbxd_listen(path, true, &listener, &is_made, &err) != SBX_OK) {
        return sbxd_fail(&err);
    }
    sbxd_notify("READY=1");
    while (!is_told_to_end) {
        wait_for_something(listener, -1);
        if (!is_told_to_end) {
            take_connection(options, listener);
        }
    }
    sbxd_notify("STOPPING=1");
    end_workers(options);
    if (is_made) {
        (void)unlink(path);
    }
    return 0;
}
