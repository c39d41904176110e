/* A command in a box of a pool: from the message that starts it to how it ended. */
#include <errno.h>
#include <linux/magic.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/linux_failure.h"
#include "posix/pool_internal.h"

#include "common/base/banned.h"

#define SECOND_NS UINT64_C(1000000000)

/* ---- starting ------------------------------------------------------------------------------------ */

/* Landlock lets the command open it again through /dev/stdout without a rule: rules cannot be added to a box that is
 * built. The null device has one, since it was the stream while the box was built. */
static bool needs_no_rule(int fd, const struct stat *null)
{
    struct stat info;
    struct statfs place;
    if (fstat(fd, &info) != 0) {
        return false;
    }
    return S_ISSOCK(info.st_mode) ||
           (S_ISFIFO(info.st_mode) && fstatfs(fd, &place) == 0 && place.f_type == PIPEFS_MAGIC) ||
           (info.st_dev == null->st_dev && info.st_ino == null->st_ino);
}

static enum sbx_code check_streams(const struct sbx_pool_box *box, const int fds[3],
                                   struct sbx_err *err)
{
    bool ok = true;
    for (int i = 0; i < 3 && ok; i++) {
        ok = needs_no_rule(fds[i], &box->pool->null);
    }
    if (!ok) {
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED,
                          "a stream is neither pipe nor socket nor the null device");
        return sbx_err_hint(err, "run the command cold");
    }
    return SBX_OK;
}

static enum sbx_code make_block(struct sbx_pool_box *box, const struct sbx_pool_command *command,
                                struct sbx_err *err)
{
    struct sbx_init_block *block = &box->pool->block;
    struct sbx_path program;
    const char *places = command->search_path;
    if (places == NULL) {
        places = sbx_os_env(&box->arena, "PATH");
    }
    enum sbx_code code = sbx_os_find_program(&box->arena, command->argv[0], places, &program, err);
    if (code != SBX_OK) {
        return code;
    }
    box->launch->program = program.text;
    sbx_init_block_reset(block);
    block->plan.program = sbx_init_block_text(block, program.text);
    /* Said in any case: the held process is in the directory that had this name when the box was built. */
    block->plan.directory = sbx_init_block_text(
        block, command->directory != NULL ? command->directory : box->plan->policy->cwd.text);
    block->plan.argv = sbx_init_block_texts(block, command->argv);
    block->plan.env = sbx_init_block_texts(block, command->env != NULL ? command->env : box->env);
    code = sbx_init_block_finish(block, err);
    if (code == SBX_OK && block->bytes.len > SBX_COMMAND_MAX_BYTES) {
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED, "the command and its environment are too large");
        return sbx_err_hint(err, "run the command cold");
    }
    return code;
}

static bool set_timer(const struct sbx_pool_box *box)
{
    uint64_t ns = box->plan->timeout_ns;
    struct itimerspec end = {
        .it_value = {.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)}};
    return timerfd_settime(box->timer_fd, 0, &end, NULL) == 0;
}

static bool send_command(const struct sbx_pool_box *box, const int fds[3])
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(SBX_COMMAND_STREAMS * sizeof(int))];
    } rights;
    const struct sbx_buf *bytes = &box->pool->block.bytes;
    struct iovec data = {.iov_base = bytes->data, .iov_len = bytes->len};
    memset(&rights, 0, sizeof rights);
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &rights,
                             .msg_controllen = sizeof rights.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(SBX_COMMAND_STREAMS * sizeof(int));
    memcpy(CMSG_DATA(head), fds, SBX_COMMAND_STREAMS * sizeof(int));
    return sendmsg(box->command_fd, &message, MSG_NOSIGNAL) == (ssize_t)bytes->len;
}

void sbx_pool_rehearse(struct sbx_pool_box *box)
{
    static const char *const argv[] = {"/bin/sh", NULL};
    struct sbx_err ignored = {0};
    const int fd = box->pool->null_fd;
    const struct sbx_pool_command command = {.argv = argv, .fds = {fd, fd, fd}};
    if (box->launch->share->event_count == 0 &&
        check_streams(box, command.fds, &ignored) == SBX_OK) {
        (void)!make_block(box, &command, &ignored);
    }
}

enum sbx_code sbx_pool_start(struct sbx_pool_box *box, const struct sbx_pool_command *command,
                             struct sbx_err *err)
{
    if (box->begin_ns != 0) {
        return sbx_err_set(err, SBX_E_INVALID, "a box runs one command");
    }
    enum sbx_code code = check_streams(box, command->fds, err);
    if (code == SBX_OK) {
        code = make_block(box, command, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    box->launch->is_released = true;
    box->begin_ns = sbx_os_monotonic_ns();
    if (!set_timer(box) || !send_command(box, command->fds)) {
        int raw = errno;
        return sbx_err_errno(err, raw, "sendmsg", "the box does not take its command");
    }
    return SBX_OK;
}

void sbx_pool_signal(struct sbx_pool_box *box, int number, bool to_group)
{
    unsigned char byte = (unsigned char)(number | (to_group ? SBX_ORDER_GROUP : 0));
    (void)!sbx_fd_write_all(box->control_fd, &byte, 1); /* a dead keeper shows elsewhere */
}

void sbx_pool_cancel(struct sbx_pool_box *box)
{
    unsigned char byte = SBX_CONTROL_CANCEL;
    (void)!sbx_fd_write_all(box->control_fd, &byte, 1);
}

/* ---- the end ------------------------------------------------------------------------------------- */

int sbx_pool_fd(const struct sbx_pool_box *box)
{
    return box->result_fd;
}

/* The box was ended from outside, or its command could not be executed: the keeper knows. */
static enum sbx_code ask_keeper(struct sbx_pool_box *box, struct sbx_outcome *out,
                                struct sbx_err *err)
{
    struct sbx_report report;
    do {
        struct pollfd slot = {.fd = box->report_fd, .events = POLLIN};
        if (poll(&slot, 1, -1) < 0) {
            report.kind = SBX_REPORT_CONTINUED; /* an interruption */
        } else if (sbx_fd_read(box->report_fd, &report, sizeof report) != (ssize_t)sizeof report) {
            report = (struct sbx_report){.kind = SBX_REPORT_STOPPED, .signal = -1};
            break;
        }
    } while (report.kind != SBX_REPORT_FAILED && report.kind != SBX_REPORT_DONE);
    if (report.kind != SBX_REPORT_DONE) {
        return sbx_launch_failed(box->launch, &report, err);
    }
    *out = report.outcome;
    out->started = true;
    return SBX_OK;
}

static void take_result(struct sbx_pool_box *box, const struct sbx_init_result *result,
                        uint64_t wall_ns, struct sbx_outcome *out)
{
    const struct sbx_box *inside = &box->launch->box;
    *out = (struct sbx_outcome){.started = true,
                                .cpu_ns = result->usage.cpu_ns,
                                .peak_memory_bytes = result->usage.peak_memory_bytes};
    if (WIFEXITED(result->status)) {
        out->exit_code = (uint32_t)WEXITSTATUS(result->status);
    } else {
        out->signal = WTERMSIG(result->status);
    }
    /* The timer was set before the command was sent: it has asked the command to end. */
    if (wall_ns >= box->plan->timeout_ns) {
        out->limit = SBX_LIMIT_TIMEOUT;
        out->origin = SBX_FROM_SBX;
    }
    inside->account(inside->state, out);
}

enum sbx_code sbx_pool_wait(struct sbx_pool_box *box, struct sbx_run_record *out,
                            struct sbx_err *err)
{
    struct sbx_init_result result;
    ssize_t got = sbx_fd_read(box->result_fd, &result, sizeof result);
    uint64_t wall_ns = sbx_os_monotonic_ns() - box->begin_ns;
    enum sbx_code code = SBX_OK;
    if (got == (ssize_t)sizeof result) {
        take_result(box, &result, wall_ns, &out->outcome);
    } else {
        code = ask_keeper(box, &out->outcome, err);
    }
    out->outcome.wall_ns = wall_ns;
    sbx_pool_evidence(box, &out->evidence, &out->evidence_count);
    if (box->launch->share->event_count > 0) {
        sbx_launch_record(box->launch, out);
    }
    return code;
}
