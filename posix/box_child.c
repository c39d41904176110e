/* The process that becomes the helper of a box, between fork and exec. Only async-signal-safe calls. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "posix/box.h"
#include "posix/child.h"
#include "posix/signals.h"
#include "posix/system.h"

#include "common/base/banned.h"

enum { EXIT_UNBORN = 125 };

static noreturn void fail(const struct sbx_box_child *plan, int raw)
{
    struct sbx_birth_failure failure = {SBX_BIRTH_BOX, raw};
    ssize_t put = write(plan->birth_fd, &failure, sizeof failure);
    (void)put;
    _exit(EXIT_UNBORN);
}

static int last_place(const struct sbx_box *box)
{
    int last = SBX_INIT_FD_STDERR;
    for (size_t i = 0; i < box->fd_count; i++) {
        last = box->fds[i].to > last ? box->fds[i].to : last;
    }
    return last;
}

/* Many grants mean many descriptors; sbx-init sets the limit of the box. */
static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* First all of them above every number in use, then to their places: no source is overwritten. */
static int lift(const struct sbx_box_child *plan, int fd)
{
    int lifted = fcntl(fd, F_DUPFD_CLOEXEC, last_place(plan->box) + 2);
    if (lifted < 0) {
        fail(plan, errno);
    }
    return lifted;
}

static void put(const struct sbx_box_child *plan, int from, int to)
{
    if (dup2(from, to) < 0) {
        fail(plan, errno);
    }
}

/* Where one of the command's streams goes: the box's own terminal, a pipe of the keeper, or sbx's own. */
static int stream_of(const struct sbx_box_child *plan, int piped, int own)
{
    return lift(plan, plan->box->terminal_slave_fd >= 0 ? plan->box->terminal_slave_fd
                      : piped >= 0                      ? piped
                                                        : own);
}

noreturn void sbx_box_child_main(const struct sbx_box_child *plan)
{
    const struct sbx_box *box = plan->box;
    int lifted[SBX_BOX_FDS];
    int last = last_place(box);
    allow_descriptors();
    if (!sbx_system_die_with(plan->parent)) {
        _exit(EXIT_UNBORN);
    }
    (void)setsid(); /* what the terminal sends is forwarded by sbx, once */
    if (box->enter != NULL && !box->enter(box->state)) {
        fail(plan, errno);
    }
    /* Becoming another user has cleared it. */
    if (!sbx_system_die_with(plan->parent)) {
        _exit(EXIT_UNBORN);
    }
    int command_stdin = stream_of(plan, plan->stdin_fd, STDIN_FILENO);
    int command_stdout = stream_of(plan, plan->stdout_fd, STDOUT_FILENO);
    int command_stderr = stream_of(plan, plan->stderr_fd, STDERR_FILENO);
    int diagnostics = lift(plan, box->diagnostics_fd);
    int birth_fd = lift(plan, plan->birth_fd);
    for (size_t i = 0; i < box->fd_count; i++) {
        lifted[i] = lift(plan, box->fds[i].from);
    }
    struct sbx_box_child moved = *plan;
    moved.birth_fd = birth_fd;
    put(&moved, command_stdin, STDIN_FILENO);
    put(&moved, diagnostics, STDOUT_FILENO);
    put(&moved, diagnostics, STDERR_FILENO);
    put(&moved, command_stdout, SBX_INIT_FD_STDOUT);
    put(&moved, command_stderr, SBX_INIT_FD_STDERR);
    for (size_t i = 0; i < box->fd_count; i++) {
        put(&moved, lifted[i], box->fds[i].to);
    }
    /* The birth pipe closes with exec; everything between is closed now. */
    put(&moved, birth_fd, last + 1);
    moved.birth_fd = last + 1;
    if (fcntl(moved.birth_fd, F_SETFD, FD_CLOEXEC) != 0) {
        fail(&moved, errno);
    }
    sbx_system_close_from(last + 2);
    sbx_signals_restore(plan->signals);
    (void)execve(box->program, (char *const *)(uintptr_t)box->argv,
                 (char *const *)(uintptr_t)box->env);
    fail(&moved, errno);
}
