/* Building a box of a pool up to the point where only its command is missing. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "common/run/environment.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/linux_failure.h"
#include "posix/linux_native.h"
#include "posix/linux_tree.h"
#include "posix/pool_internal.h"
#include "posix/signals.h"

#include "common/base/banned.h"

enum { BUILD_WAIT_MS = 30000, KEPT_FDS = 16 + 3 * SBX_CGROUP_PLACES, HELD_SOCKET = 4 };

/* What the keeper and the box get; closed here when the keeper is forked. */
struct ends {
    int control, report, result, command;
};

static void close_ends(struct ends *ends)
{
    sbx_fd_close(&ends->control);
    sbx_fd_close(&ends->report);
    sbx_fd_close(&ends->result);
    sbx_fd_close(&ends->command);
}
#define AUTO_ENDS SBX_CLEANUP(close_ends) struct ends

/* ---- the keeper ---------------------------------------------------------------------------------- */

static int compare_numbers(const void *left, const void *right)
{
    int a = *(const int *)left;
    int b = *(const int *)right;
    return (a > b) - (a < b);
}

/* The keeper has no exec that would close what else the owner has open: kept open, ends of other boxes' pipes would
 * keep those alive when the owner dies, and they this one. */
static void leave_only(int *kept, size_t count)
{
    int next = STDERR_FILENO + 1;
    for (size_t i = 1; i < count; i++) { /* qsort may allocate */
        for (size_t k = i; k > 0 && compare_numbers(&kept[k - 1], &kept[k]) > 0; k--) {
            int other = kept[k];
            kept[k] = kept[k - 1];
            kept[k - 1] = other;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (kept[i] > next) {
            (void)syscall(SYS_close_range, (unsigned)next, (unsigned)kept[i] - 1, 0U);
        }
        next = kept[i] >= next ? kept[i] + 1 : next;
    }
    (void)syscall(SYS_close_range, (unsigned)next, ~0U, 0U);
}

static void leave_owners(const struct sbx_pool_box *box, const struct ends *ends)
{
    const struct sbx_launch *launch = box->launch;
    int kept[KEPT_FDS];
    size_t count = 0;
    const int own[] = {ends->control,      ends->report,          box->timer_fd,
                       launch->orders[0],  launch->orders[1],     launch->reports[0],
                       launch->reports[1], launch->diagnostics_fd};
    for (size_t i = 0; i < SBX_COUNT(own); i++) {
        kept[count++] = own[i];
    }
    for (size_t i = 0; i < launch->fd_count && count < 16; i++) {
        kept[count++] = launch->fds[i].from;
    }
    for (size_t i = 0; i < launch->cgroup.place_count; i++) {
        const struct sbx_cgroup_place *place = &launch->cgroup.place[i];
        kept[count++] = place->parent_fd;
        kept[count++] = place->group_fd;
        kept[count++] = place->procs_fd;
    }
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        (void)dup2(box->pool->null_fd, fd);
    }
    leave_only(kept, count);
}

static enum sbx_code fork_keeper(struct sbx_pool_box *box, struct ends *ends, struct sbx_err *err)
{
    struct sbx_plain_run run = {.timeout_ns = box->plan->timeout_ns};
    struct sbx_signals signals = {.mask = {{0}}}; /* every one has its default meaning */
    (void)sigemptyset(&signals.mask);
    sigset_t mask = sbx_signals_block();
    pid_t pid = fork();
    int raw = errno;
    if (pid == 0) {
        leave_owners(box, ends);
        sbx_keeper_main(
            &(struct sbx_keeper_plan){.run = &run, .box = &box->launch->box, .signals = &signals},
            &(struct sbx_keeper_pipes){ends->control, ends->report});
    }
    sbx_signals_unblock(&mask);
    if (pid < 0) {
        return sbx_err_errno(err, raw, "fork", "cannot start a process");
    }
    box->keeper = pid;
    return SBX_OK;
}

/* ---- reading back -------------------------------------------------------------------------------- */

/* The one socket that the held process listens to is the one whose other end is here. */
static void check_socket(struct sbx_pool_box *box, pid_t first, uint64_t inode)
{
    static struct sbx_tree tree;
    char path[64];
    char wanted[64];
    char got[64] = "not found";
    tree.count = 0;
    if ((sbx_tree_add_listed(&tree, first) || sbx_tree_add_scanned(&tree, first)) &&
        tree.count == 1) {
        (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tree.node[0].pid, HELD_SOCKET);
        ssize_t len = readlink(path, got, sizeof got - 1);
        got[len > 0 ? len : 0] = '\0';
    }
    (void)snprintf(wanted, sizeof wanted, "socket:[%llu]", (unsigned long long)inode);
    sbx_evidence_same(&box->launch->evidence, "held.command", wanted, got);
}

static enum sbx_code wait_for_held(struct sbx_pool_box *box, struct sbx_report *out,
                                   struct sbx_err *err)
{
    struct pollfd slot = {.fd = box->report_fd, .events = POLLIN};
    int ready;
    do {
        ready = poll(&slot, 1, BUILD_WAIT_MS);
    } while (ready < 0 && errno == EINTR);
    *out = (struct sbx_report){.kind = SBX_REPORT_STOPPED};
    if (ready == 0) {
        return sbx_err_set(err, SBX_E_IO, "the box was not built within %d seconds",
                           BUILD_WAIT_MS / 1000);
    }
    if (sbx_fd_read(box->report_fd, out, sizeof *out) != (ssize_t)sizeof *out ||
        out->kind != SBX_REPORT_HELD) {
        return sbx_launch_failed(box->launch, out, err);
    }
    return SBX_OK;
}

/* ---- building ------------------------------------------------------------------------------------ */

static enum sbx_code make_ends(struct sbx_pool_box *box, struct ends *ends, uint64_t *inode,
                               struct sbx_err *err)
{
    int pair[2] = {-1, -1};
    struct stat info = {0};
    bool ok = sbx_fd_pipe(&ends->control, &box->control_fd) &&
              sbx_fd_pipe(&box->report_fd, &ends->report) &&
              sbx_fd_set_nonblocking(box->report_fd) &&
              sbx_fd_pipe(&box->result_fd, &ends->result) &&
              socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0;
    box->command_fd = pair[0];
    ends->command = pair[1];
    if (ok) {
        box->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    }
    if (!ok || box->timer_fd < 0 || fstat(ends->command, &info) != 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "socketpair", "cannot make the pipes of the box");
    }
    *inode = info.st_ino;
    return SBX_OK;
}

/* What it is told about the outside, kept to be compared. */
static enum sbx_code remember(struct sbx_pool_box *box, struct sbx_err *err)
{
    const struct sbx_init_block *block = &box->launch->block;
    box->head = block->plan;
    sbx_buf_add(&box->told, block->bytes.data, block->bytes.len);
    return box->told.failed || block->bytes.failed ? sbx_err_nomem(err) : SBX_OK;
}

static enum sbx_code start_keeper(struct sbx_pool_box *box, uint64_t *inode, struct sbx_err *err)
{
    struct sbx_launch *launch = box->launch;
    AUTO_ENDS ends = {-1, -1, -1, -1};
    enum sbx_code code = make_ends(box, &ends, inode, err);
    if (code != SBX_OK) {
        return code;
    }
    sbx_launch_pass(launch, ends.result, SBX_INIT_FD_RESULT);
    sbx_launch_pass(launch, ends.command, SBX_INIT_FD_HOLD);
    launch->box.is_warm = true;
    launch->box.timer_fd = box->timer_fd;
    sbx_launch_fill(launch);
    code = sbx_launch_seal(launch, err);
    if (code == SBX_OK) {
        code = fork_keeper(box, &ends, err);
    }
    sbx_launch_part(launch);
    sbx_own_read(&launch->own, launch->arena, launch->compares_mounts);
    return code;
}

static enum sbx_code build(struct sbx_pool_box *box, struct sbx_err *err)
{
    struct sbx_launch *launch = box->launch;
    AUTO_MOUNTS mounts = {0};
    uint64_t inode = 0;
    struct sbx_report held;
    launch->is_warm = true;
    enum sbx_code code = sbx_launch_open(launch, &box->arena, box->plan, err);
    if (code == SBX_OK) {
        code = sbx_native_box(launch, err);
    }
    if (code == SBX_OK) {
        code = sbx_native_prepare(launch, &mounts, err);
    }
    if (code == SBX_OK) {
        code = remember(box, err);
    }
    if (code == SBX_OK) {
        code = sbx_environment_make(&box->arena, box->plan->policy, &box->env, err);
    }
    if (code == SBX_OK) {
        code = start_keeper(box, &inode, err);
    }
    if (code == SBX_OK) {
        code = wait_for_held(box, &held, err);
    }
    if (code == SBX_OK) {
        check_socket(box, held.helper, inode);
        if (!sbx_launch_verify(launch, &held)) {
            *err = launch->verify_err;
            code = launch->verify_code;
        }
    }
    launch->state = NULL; /* the mounts */
    /* From here on nobody needs them: many boxes wait, and each would keep as many open. */
    sbx_fd_close(&launch->init_fd);
    sbx_fd_close(&launch->plan_fd);
    sbx_fd_close(&launch->reports[0]);
    return code;
}

enum sbx_code sbx_pool_build(struct sbx_pool_box *box, const struct sbx_plan *plan,
                             struct sbx_err *err)
{
    *box = (struct sbx_pool_box){
        .pool = box->pool,
        .state = SBX_POOL_TAKEN,
        .plan = plan,
        .generation = box->pool->generation,
        .control_fd = -1,
        .report_fd = -1,
        .result_fd = -1,
        .command_fd = -1,
        .timer_fd = -1,
    };
    sbx_arena_init(&box->arena, SBX_POOL_ARENA_BYTES);
    sbx_buf_init(&box->told, SBX_INIT_MAX_BYTES);
    box->launch = (struct sbx_launch *)calloc(1, sizeof *box->launch);
    enum sbx_code code = box->launch == NULL ? sbx_err_nomem(err) : build(box, err);
    if (code != SBX_OK) {
        sbx_pool_drop(box);
    }
    return code;
}

/* ---- staleness ----------------------------------------------------------------------------------- */

bool sbx_pool_is_same(struct sbx_pool_box *box)
{
    struct sbx_launch *look = box->pool->look;
    AUTO_ARENA arena;
    AUTO_MOUNTS mounts = {0};
    struct sbx_err ignored = {0};
    sbx_arena_init(&arena, SBX_POOL_ARENA_BYTES);
    memset(look, 0, sizeof *look);
    sbx_launch_look(look, &arena, box->plan, &box->launch->account, box->launch->cgroup.version);
    bool is_fresh = sbx_native_prepare(look, &mounts, &ignored) == SBX_OK &&
                    !look->block.bytes.failed && look->block.bytes.len == box->told.len &&
                    memcmp(&look->block.plan, &box->head, sizeof box->head) == 0 &&
                    memcmp(look->block.bytes.data, box->told.data, box->told.len) == 0;
    sbx_init_block_release(&look->block);
    return is_fresh;
}
