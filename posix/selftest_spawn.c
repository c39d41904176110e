/* Starting a process of the self-test on POSIX: its streams are read, and it ends by itself or is killed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/selftest.h"

#include "common/base/banned.h"

#define TICK_MS 5

struct started {
    pid_t pid;
    int ends[2]; /* of its output and error; -1 when at the end */
    struct sbx_buf said[2];
    int status;
};

static void release(struct started *child)
{
    for (int i = 0; i < 2; i++) {
        sbx_fd_close(&child->ends[i]);
        sbx_buf_release(&child->said[i]);
    }
}

static _Noreturn void become(const struct sbx_selftest_spawn *spawn, int out, int err)
{
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0 && dup2(nothing, 0) == 0 && dup2(out, 1) == 1 && dup2(err, 2) == 2 &&
        (spawn->cwd == NULL || chdir(spawn->cwd) == 0)) {
        /* exec does not change the words, whatever its type says. */
        union {
            const char *const *given;
            char *const *wanted;
        } words = {.given = spawn->argv};
        (void)execv(spawn->argv[0], words.wanted);
    }
    _exit(127);
}

static enum sbx_code start(const struct sbx_selftest_spawn *spawn, struct started *child,
                           struct sbx_err *err)
{
    AUTO_FD out = -1;
    AUTO_FD errors = -1;
    if (!sbx_fd_pipe(&child->ends[0], &out) || !sbx_fd_pipe(&child->ends[1], &errors) ||
        !sbx_fd_set_nonblocking(child->ends[0]) || !sbx_fd_set_nonblocking(child->ends[1])) {
        int raw = errno;
        return sbx_err_errno(err, raw, "pipe", "no pipe for a process of the self-test");
    }
    child->pid = fork();
    if (child->pid == 0) {
        become(spawn, out, errors);
    }
    if (child->pid < 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "fork", "cannot start a process of the self-test");
    }
    return SBX_OK;
}

/* Takes what is there; the rest of too much is read and dropped, so that nobody waits for us. */
static void take(struct started *child)
{
    char block[16384];
    for (int i = 0; i < 2; i++) {
        while (child->ends[i] >= 0) {
            ssize_t got = sbx_fd_read(child->ends[i], block, sizeof block);
            if (got > 0) {
                sbx_buf_add(&child->said[i], block, (size_t)got);
            } else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
                sbx_fd_close(&child->ends[i]);
            } else {
                break;
            }
        }
    }
}

static bool is_there(const char *path)
{
    struct stat info;
    return path != NULL && lstat(path, &info) == 0;
}

static void attend(const struct sbx_selftest_spawn *spawn, uint64_t begin, struct started *child,
                   struct sbx_selftest_ended *out)
{
    bool is_killed = false;
    for (;;) {
        struct pollfd ends[2] = {{.fd = child->ends[0], .events = POLLIN},
                                 {.fd = child->ends[1], .events = POLLIN}};
        bool is_quiet = child->ends[0] < 0 && child->ends[1] < 0;
        (void)poll(ends, 2, is_quiet ? 1 : TICK_MS);
        take(child);
        pid_t ended = waitpid(child->pid, &child->status, WNOHANG);
        if (ended == child->pid || (ended < 0 && errno != EINTR)) {
            break;
        }
        if (is_killed) {
            continue;
        }
        out->is_timeout = sbx_os_monotonic_ns() - begin > spawn->timeout_ns;
        out->is_killed = !out->is_timeout && is_there(spawn->kill_when);
        if (out->is_timeout || out->is_killed) {
            (void)kill(child->pid, SIGKILL);
            is_killed = true;
        }
    }
    out->wall_ns = sbx_os_monotonic_ns() - begin;
    take(child);
}

enum sbx_code sbx_selftest_spawn(struct sbx_arena *arena, const struct sbx_selftest_spawn *spawn,
                                 struct sbx_selftest_ended *out, struct sbx_err *err)
{
    SBX_CLEANUP(release) struct started child = {.ends = {-1, -1}};
    struct sbx_selftest_ended made = {0};
    struct sbx_str *texts[2] = {&made.out, &made.err};
    sbx_buf_init(&child.said[0], SBX_SELFTEST_OUTPUT_MAX);
    sbx_buf_init(&child.said[1], SBX_SELFTEST_OUTPUT_MAX);
    uint64_t begin = sbx_os_monotonic_ns();
    enum sbx_code code = start(spawn, &child, err);
    if (code != SBX_OK) {
        return code;
    }
    attend(spawn, begin, &child, &made);
    made.status = WIFSIGNALED(child.status) ? 128u + (unsigned)WTERMSIG(child.status)
                                            : (unsigned)WEXITSTATUS(child.status);
    for (int i = 0; i < 2; i++) {
        const char *copy = sbx_arena_copy(arena, sbx_buf_text(&child.said[i]), child.said[i].len);
        if (copy == NULL) {
            return sbx_err_nomem(err);
        }
        *texts[i] = (struct sbx_str){copy, child.said[i].len};
    }
    *out = made;
    return SBX_OK;
}
