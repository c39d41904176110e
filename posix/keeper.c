/* The keeper: starts a child or a box, watches it, ends its whole tree. It may be a fork without exec, so nothing
 * here allocates but sbx_keeper_new. */
#include "posix/keeper_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/system.h"

#include "common/base/banned.h"

#define SECOND_NS UINT64_C(1000000000)
#define GRACE_NS (SECOND_NS / 2) /* between TERM and KILL */

void sbx_keeper_report(const struct sbx_keeper *keeper, const struct sbx_report *message)
{
    keeper->plan->report(keeper->plan->state, message);
}

static void note_limit(struct sbx_keeper *keeper, enum sbx_limit limit)
{
    if (keeper->outcome.limit == SBX_LIMIT_NONE) {
        keeper->outcome.limit = limit;
        keeper->outcome.origin = SBX_FROM_SBX;
    }
}

/* ---- events -------------------------------------------------------------------------------------- */

static void cancel(struct sbx_keeper *keeper)
{
    note_limit(keeper, SBX_LIMIT_CANCEL);
    keeper->must_end = true;
    keeper->hurries = true;
}

static bool is_resize(const struct sbx_keeper *keeper, unsigned char order)
{
    return keeper->streams.terminal.master_fd >= 0 &&
           (order == SIGWINCH || order == (SBX_ORDER_GROUP | SIGWINCH));
}

/* Straight to the process that is held. That its program cannot be executed is told as a failure. */
static void release(struct sbx_keeper *keeper)
{
    if (keeper->is_watching && keeper->may_go && !keeper->outcome.started) {
        (void)!sbx_fd_write_all(keeper->plan->box->hold_fd, "", 1);
        keeper->outcome.started = true;
    }
}

void sbx_keeper_order(struct sbx_keeper *keeper, unsigned char what)
{
    if (what == SBX_CONTROL_CANCEL) {
        cancel(keeper);
    } else if (what == SBX_CONTROL_RELEASE) {
        keeper->may_go = true;
        release(keeper);
    } else if (is_resize(keeper, what)) {
        sbx_terminal_resize(&keeper->streams.terminal); /* the kernel tells whom it concerns */
    } else {
        sbx_keeper_signal(keeper, what);
    }
    if (what == SBX_ORDER_CONTINUE) {
        sbx_terminal_take(&keeper->streams.terminal); /* it was in the background */
    }
}

void sbx_keeper_caller_gone(struct sbx_keeper *keeper)
{
    keeper->caller_gone = true;
    cancel(keeper);
}

static void read_wake(struct sbx_keeper *keeper)
{
    sbx_keeper_take_wake(keeper);
    (void)sbx_keeper_reap(keeper);
}

/* ---- what the first process of a box says --------------------------------------------------------- */

static void box_failed(struct sbx_keeper *keeper, const struct sbx_said *said)
{
    keeper->is_failed = true;
    keeper->failure = (struct sbx_birth_failure){SBX_BIRTH_INSIDE, said->raw};
    keeper->failed_step = said->value;
    memcpy(keeper->plan->box->share->failed_path, said->text, said->length); /* the rest is zero */
}

static void box_ended(struct sbx_keeper *keeper, const struct sbx_said *said)
{
    struct sbx_init_usage usage = {0};
    memcpy(&usage, said->text, said->length < sizeof usage ? said->length : sizeof usage);
    keeper->outcome.cpu_ns = usage.cpu_ns;
    keeper->outcome.peak_memory_bytes = usage.peak_memory_bytes;
    keeper->status = said->value;
    keeper->has_status = true;
    keeper->outcome.wall_ns = sbx_os_monotonic_ns() - keeper->begin_ns;
}

/* A command could stop and continue without end, and nobody reads of that in time. */
static void report_stop(const struct sbx_keeper *keeper, const struct sbx_report *message)
{
    if (!keeper->plan->box->is_warm) {
        sbx_keeper_report(keeper, message);
    }
}

static void on_said(void *state, const struct sbx_said *said)
{
    struct sbx_keeper *keeper = (struct sbx_keeper *)state;
    switch (said->kind) {
    case SBX_SAID_FAILED:
        box_failed(keeper, said);
        break;
    case SBX_SAID_BUILT:
        if (keeper->plan->is_inside) {
            sbx_keeper_report(
                keeper, &(struct sbx_report){.kind = SBX_REPORT_BUILT, .helper = keeper->child});
        }
        break;
    case SBX_SAID_HELD:
        sbx_keeper_report(keeper, &(struct sbx_report){.kind = SBX_REPORT_HELD,
                                                       .pid = said->value,
                                                       .helper = keeper->child,
                                                       .raw = said->raw});
        break;
    case SBX_SAID_WATCHING:
        keeper->is_watching = true;
        release(keeper);
        break;
    case SBX_SAID_STOPPED:
        sbx_terminal_give_back(&keeper->streams.terminal);
        report_stop(keeper,
                    &(struct sbx_report){.kind = SBX_REPORT_STOPPED, .signal = said->value});
        break;
    case SBX_SAID_CONTINUED:
        sbx_terminal_take(&keeper->streams.terminal);
        report_stop(keeper, &(struct sbx_report){.kind = SBX_REPORT_CONTINUED});
        break;
    case SBX_SAID_ENDED:
        box_ended(keeper, said);
        break;
    case SBX_SAID_REFUSED:
        sbx_box_note(keeper->plan->box->share, said);
        break;
    default:
        break;
    }
}

static void read_reports(struct sbx_keeper *keeper)
{
    if (keeper->plan->box != NULL) {
        sbx_reports_read(&keeper->reports, keeper->plan->box->reports_fd, on_said, keeper);
    }
}

static void check_output(struct sbx_keeper *keeper)
{
    if (sbx_streams_is_over(&keeper->streams)) {
        note_limit(keeper, SBX_LIMIT_OUTPUT);
        keeper->must_end = true;
    }
}

/* What no event tells: a box's use of processor time, say. */
static void check_box(struct sbx_keeper *keeper)
{
    const struct sbx_box *box = keeper->plan->box;
    if (box == NULL || box->tick == NULL) {
        return;
    }
    enum sbx_limit limit = box->tick(box->state);
    if (limit != SBX_LIMIT_NONE) {
        note_limit(keeper, limit);
        keeper->must_end = true;
        keeper->hurries = true;
    }
}

/* Time is up: first a request, then the end. */
static void check_time(struct sbx_keeper *keeper)
{
    uint64_t now = sbx_os_monotonic_ns();
    if (keeper->grace_end_ns == 0 && keeper->deadline_ns != 0 && now >= keeper->deadline_ns) {
        note_limit(keeper, SBX_LIMIT_TIMEOUT);
        keeper->hurries = true;
        keeper->grace_end_ns = now + GRACE_NS;
        sbx_keeper_ask_all(keeper);
    }
    if (keeper->grace_end_ns != 0 && now >= keeper->grace_end_ns) {
        keeper->must_end = true;
    }
}

/* Time that began without the keeper is up. */
static void read_timer(struct sbx_keeper *keeper, int fd)
{
    uint64_t times = 0;
    if (sbx_fd_read(fd, &times, sizeof times) == (ssize_t)sizeof times &&
        keeper->deadline_ns == 0) {
        keeper->deadline_ns = sbx_os_monotonic_ns();
    }
}

static int wait_ms(const struct sbx_keeper *keeper)
{
    const struct sbx_box *box = keeper->plan->box;
    int longest = box != NULL && box->tick != NULL ? box->tick_ms : 3600000;
    uint64_t until = keeper->grace_end_ns != 0 ? keeper->grace_end_ns : keeper->deadline_ns;
    if (until == 0) {
        return box != NULL && box->tick != NULL ? longest : -1;
    }
    uint64_t now = sbx_os_monotonic_ns();
    uint64_t left_ms = until <= now ? 0 : (until - now) / 1000000 + 1;
    return left_ms > (uint64_t)longest ? longest : (int)left_ms;
}

static void wait_for_events(struct sbx_keeper *keeper)
{
    enum { CONTROL, WAKE, BIRTH, REPORTS, TIMER, STREAMS, SLOTS = STREAMS + SBX_STREAMS_SLOTS };
    const struct sbx_box *box = keeper->plan->box;
    struct pollfd slot[SLOTS] = {
        [CONTROL] = {.fd = keeper->caller_gone ? -1 : keeper->plan->control_fd, .events = POLLIN},
        [WAKE] = {.fd = keeper->wake_fd, .events = POLLIN},
        [BIRTH] = {.fd = keeper->birth_fd, .events = POLLIN},
        [REPORTS] = {.fd = box == NULL || keeper->reports.is_closed ? -1 : box->reports_fd,
                     .events = POLLIN},
        [TIMER] = {.fd = box != NULL && box->is_warm ? box->timer_fd : -1, .events = POLLIN},
    };
    sbx_streams_slots(&keeper->streams, &slot[STREAMS]);
    if (poll(slot, SLOTS, wait_ms(keeper)) < 0) {
        return; /* an interruption: what it announces is in a pipe */
    }
    if (slot[BIRTH].revents != 0) {
        sbx_keeper_read_birth(keeper);
    }
    if (slot[REPORTS].revents != 0) {
        read_reports(keeper);
    }
    if (slot[CONTROL].revents != 0) {
        keeper->plan->control(keeper->plan->state, keeper);
    }
    if (slot[TIMER].revents != 0) {
        read_timer(keeper, slot[TIMER].fd);
    }
    if (slot[WAKE].revents != 0) {
        read_wake(keeper);
    }
    if (!keeper->is_ended) {
        sbx_streams_step(&keeper->streams, &slot[STREAMS]);
    }
    check_output(keeper);
    check_box(keeper);
    check_time(keeper);
}

/* The tree is gone; what it wrote is still in the pipes. A slow reader is waited for unless the run
 * was told to end. */
static void pass_on_rest(struct sbx_keeper *keeper)
{
    for (;;) {
        uint64_t before = sbx_streams_passed(&keeper->streams);
        bool is_done = sbx_streams_drain(&keeper->streams);
        check_output(keeper);
        if (is_done) {
            return;
        }
        if (sbx_streams_passed(&keeper->streams) == before) {
            if (keeper->hurries) {
                return;
            }
            wait_for_events(keeper);
        }
    }
}

/* Of a box that ended by itself it was told. */
static void count_usage(struct sbx_keeper *keeper)
{
    struct sbx_outcome *outcome = &keeper->outcome;
    struct rusage *usage = &keeper->usage;
    if (keeper->has_status && keeper->plan->is_inside) {
        return;
    }
    if (keeper->plan->is_inside || getrusage(RUSAGE_CHILDREN, usage) == 0) {
        uint64_t seconds = (uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec;
        uint64_t micros = (uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec;
        outcome->cpu_ns = seconds * SECOND_NS + micros * 1000;
        outcome->peak_memory_bytes = sbx_system_peak_bytes(usage);
    }
}

static void close_account(struct sbx_keeper *keeper)
{
    struct sbx_outcome *outcome = &keeper->outcome;
    const struct sbx_box *box = keeper->plan->box;
    if (box != NULL ? !keeper->has_status : keeper->child != 0) {
        keeper->status =
            SIGKILL; /* it was killed, or it hangs in the kernel and is as good as that */
        outcome->wall_ns = sbx_os_monotonic_ns() - keeper->begin_ns;
    }
    if (WIFEXITED(keeper->status)) {
        outcome->exit_code = (uint32_t)WEXITSTATUS(keeper->status);
    } else {
        outcome->signal = WTERMSIG(keeper->status);
    }
    count_usage(keeper);
    outcome->stdout_bytes =
        keeper->streams.out.passed_bytes + keeper->streams.terminal.passed_bytes;
    outcome->stderr_bytes = keeper->streams.err.passed_bytes;
    if (box != NULL && box->account != NULL) {
        box->account(box->state, outcome);
    }
}

/* Everything of the box has ended: what is on the host because of it goes too. */
static void undo(struct sbx_keeper *keeper)
{
    const struct sbx_box *box = keeper->plan->box;
    sbx_streams_close(&keeper->streams);
    if (box != NULL && box->undo != NULL) {
        box->undo(box->state);
    }
}

static struct sbx_report last_report(const struct sbx_keeper *keeper)
{
    if (keeper->is_failed) {
        return (struct sbx_report){.kind = SBX_REPORT_FAILED,
                                   .birth = keeper->failure.birth,
                                   .step = keeper->failed_step,
                                   .raw = keeper->failure.raw};
    }
    if (keeper->plan->box != NULL && !keeper->has_status &&
        keeper->outcome.limit == SBX_LIMIT_NONE) {
        return (struct sbx_report){.kind = SBX_REPORT_FAILED, .birth = SBX_BIRTH_SILENT};
    }
    return (struct sbx_report){.kind = SBX_REPORT_DONE, .outcome = keeper->outcome};
}

/* ---- a whole life -------------------------------------------------------------------------------- */

struct sbx_keeper *sbx_keeper_new(void)
{
    /* Large, and little of it is used: memory that was never touched costs nothing. */
    return (struct sbx_keeper *)calloc(1, sizeof(struct sbx_keeper));
}

void sbx_keeper_free(struct sbx_keeper *keeper)
{
    free(keeper);
}

void sbx_keeper_start(struct sbx_keeper *keeper, const struct sbx_keeper_plan *plan)
{
    keeper->plan = plan;
    keeper->wake_fd = keeper->birth_fd = -1;
    keeper->adopts = !plan->is_inside && sbx_system_adopt_orphans();
    keeper->own_group = plan->box == NULL && !keeper->adopts && !plan->has_terminal;
    if (!sbx_keeper_bear(keeper)) {
        keeper->failure = (struct sbx_birth_failure){SBX_BIRTH_FORK, errno};
        keeper->is_failed = true;
        keeper->must_end = true;
    } else if (plan->run->timeout_ns != 0 && (plan->box == NULL || !plan->box->is_warm)) {
        keeper->deadline_ns = keeper->begin_ns + plan->run->timeout_ns;
    }
}

/* A first process that has said how the command ended is alone in its namespace, and has nothing left to do but to end.
 * Who waits for the answer need not wait for the end of the namespace, which takes the kernel its time. */
static bool is_answered(const struct sbx_keeper *keeper)
{
    return keeper->plan->is_inside && keeper->has_status;
}

void sbx_keeper_limit(struct sbx_keeper *keeper, uint64_t timeout_ns)
{
    keeper->deadline_ns = timeout_ns == 0 ? 0 : keeper->begin_ns + timeout_ns;
}

bool sbx_keeper_step(struct sbx_keeper *keeper)
{
    if (!keeper->must_end && keeper->child != 0 && !is_answered(keeper)) {
        wait_for_events(keeper);
    }
    return !keeper->must_end && keeper->child != 0 && !is_answered(keeper);
}

static bool leaves_rest;

void sbx_keeper_leave_rest(void)
{
    leaves_rest = true;
}

/* What is on the host because of the box can only go when it is empty. */
static bool may_leave(const struct sbx_keeper *keeper)
{
    return leaves_rest && !keeper->must_end && is_answered(keeper) && !keeper->plan->box->has_undo;
}

void sbx_keeper_end(struct sbx_keeper *keeper)
{
    if (may_leave(keeper)) {
        keeper->is_ended = true;
    } else {
        sbx_keeper_end_tree(keeper);
    }
    read_reports(keeper);
    if (keeper->birth_fd >= 0) {
        sbx_keeper_read_birth(keeper);
    }
    pass_on_rest(keeper);
    close_account(keeper);
    undo(keeper);
    sbx_fd_close(&keeper->wake_fd);
    struct sbx_report last = last_report(keeper);
    sbx_keeper_report(keeper, &last);
}
