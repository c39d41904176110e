/* The keeper: starts a child or a box, watches it, ends its whole tree. As a process of its own it is forked
 * without exec, so nothing here allocates but sbx_keeper_new. */
#include "posix/keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/child.h"
#include "posix/fd.h"
#include "posix/reports.h"
#include "posix/streams.h"
#include "posix/system.h"

#include "common/base/banned.h"

#define SECOND_NS UINT64_C(1000000000)
#define GRACE_NS (SECOND_NS / 2)    /* between TERM and KILL */
#define END_WAIT_NS (5 * SECOND_NS) /* for killed processes that hang in the kernel */

enum { EXIT_KEPT = 0, EXIT_BROKEN = 1 };

struct sbx_keeper {
    const struct sbx_keeper_plan *plan;
    bool adopts;    /* orphans become our children */
    bool own_group; /* the child leads a process group; only where orphans get lost */
    pid_t child;    /* 0 once reaped: its number is no longer ours to signal */
    int wake_fd;    /* readable when a child ended or changed */
    int birth_fd;               /* -1 once the child is born or has failed */
    struct sbx_reports reports; /* of a box's first process */
    struct sbx_streams streams;
    bool caller_gone;
    bool is_failed;
    struct sbx_birth_failure failure;
    int failed_step; /* of the box's first process */
    int status;      /* of waitpid */
    bool has_status; /* of a box: it was told */
    uint64_t begin_ns;
    uint64_t deadline_ns;  /* 0: none */
    uint64_t grace_end_ns; /* 0: not asked to end yet */
    bool must_end;         /* the tree must, now */
    bool is_ended;         /* and has */
    bool hurries;          /* no reader of the output is waited for any more */
    struct rusage usage;   /* of a box that was kept inside sbx */
    struct sbx_outcome outcome;
};

static void report(const struct sbx_keeper *keeper, const struct sbx_report *message)
{
    keeper->plan->report(keeper->plan->state, message);
}

/* ---- the tree ------------------------------------------------------------------------------------ */

static void note_limit(struct sbx_keeper *keeper, enum sbx_limit limit)
{
    if (keeper->outcome.limit == SBX_LIMIT_NONE) {
        keeper->outcome.limit = limit;
        keeper->outcome.origin = SBX_FROM_SBX;
    }
}

static void order(const struct sbx_keeper *keeper, unsigned char what)
{
    (void)!sbx_fd_write_all(keeper->plan->box->orders_fd, &what, 1);
}

static void signal_child(const struct sbx_keeper *keeper, int number)
{
    if (keeper->plan->box != NULL) {
        order(keeper, (unsigned char)number);
    } else if (keeper->child > 0) {
        (void)kill(keeper->own_group ? -keeper->child : keeper->child, number);
    }
}

/* A request that can be handled, also by stopped processes. */
static void ask_all(const struct sbx_keeper *keeper)
{
    static const int numbers[] = {SIGTERM, SIGCONT};
    const struct sbx_box *box = keeper->plan->box;
    if (box != NULL && box->is_namespace) {
        order(keeper, SBX_ORDER_ASK_ALL);
        return;
    }
    for (size_t i = 0; i < SBX_COUNT(numbers); i++) {
        if (keeper->adopts) {
            sbx_system_signal_tree(numbers[i]);
        } else {
            signal_child(keeper, numbers[i]);
        }
    }
}

/* Of a box this is the helper; how the command ended comes as a report. */
static void child_changed(struct sbx_keeper *keeper, int status)
{
    if (keeper->plan->box != NULL) {
        if (!WIFSTOPPED(status) && !WIFCONTINUED(status)) {
            keeper->child = 0;
        }
    } else if (WIFSTOPPED(status)) {
        report(keeper, &(struct sbx_report){.kind = SBX_REPORT_STOPPED, .signal = WSTOPSIG(status)});
    } else if (WIFCONTINUED(status)) {
        report(keeper, &(struct sbx_report){.kind = SBX_REPORT_CONTINUED});
    } else {
        keeper->status = status;
        keeper->child = 0;
        keeper->outcome.wall_ns = sbx_os_monotonic_ns() - keeper->begin_ns;
    }
}

/* The number of a group is safe to use only while its dead leader is not yet reaped. */
static void end_group_of_dead_leader(const struct sbx_keeper *keeper)
{
    siginfo_t info = {0};
    if (keeper->own_group && keeper->child > 0 &&
        waitid(P_PID, (id_t)keeper->child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == keeper->child) {
        (void)kill(-keeper->child, SIGKILL);
    }
}

/* Takes in every child that ended or changed; false when there is none left. */
static bool reap_all(struct sbx_keeper *keeper)
{
    end_group_of_dead_leader(keeper);
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
        if (pid == 0) {
            return true;
        }
        if (pid < 0) {
            if (errno != EINTR) {
                return false;
            }
        } else if (pid == keeper->child) {
            child_changed(keeper, status);
        }
    }
}

/* Inside sbx other children may be somebody else's. */
static bool reap_box(struct sbx_keeper *keeper)
{
    int status = 0;
    if (keeper->child > 0 &&
        wait4(keeper->child, &status, WNOHANG, &keeper->usage) == keeper->child) {
        keeper->child = 0;
    }
    return keeper->child > 0;
}

static bool reap(struct sbx_keeper *keeper)
{
    return keeper->plan->is_inside ? reap_box(keeper) : reap_all(keeper);
}

/* A child's number is its own until it is reaped. */
static void kill_children(const struct sbx_keeper *keeper)
{
    if (keeper->plan->is_inside) {
        (void)kill(keeper->child, SIGKILL);
    } else if (keeper->adopts) {
        sbx_system_signal_children(SIGKILL);
    } else {
        signal_child(keeper, SIGKILL);
    }
}

/* A descriptor of a process is readable for ever once it has ended. */
static void take_wake(const struct sbx_keeper *keeper)
{
    char bytes[256];
    if (!keeper->plan->is_inside) {
        (void)!sbx_fd_read(keeper->wake_fd, bytes, sizeof bytes);
    }
}

/* Kills in rounds. Only children are killed, never a grandchild by its number: when its parent is
 * dead it becomes a child, and its turn comes. */
static void end_tree(struct sbx_keeper *keeper)
{
    uint64_t begin = sbx_os_monotonic_ns();
    while (reap(keeper) && sbx_os_monotonic_ns() - begin < END_WAIT_NS) {
        kill_children(keeper);
        struct pollfd slot = {.fd = keeper->wake_fd, .events = POLLIN};
        if (poll(&slot, 1, 20) > 0) {
            take_wake(keeper);
        }
    }
    keeper->is_ended = true;
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
    (void)!sbx_fd_write_all(keeper->plan->box->hold_fd, "", 1);
    keeper->outcome.started = true;
}

void sbx_keeper_order(struct sbx_keeper *keeper, unsigned char what)
{
    if (what == SBX_CONTROL_CANCEL) {
        cancel(keeper);
    } else if (what == SBX_CONTROL_RELEASE) {
        release(keeper);
    } else if (is_resize(keeper, what)) {
        sbx_terminal_resize(&keeper->streams.terminal); /* the kernel tells whom it concerns */
    } else {
        signal_child(keeper, what);
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
    take_wake(keeper);
    (void)reap(keeper);
}

/* End of file means that exec closed it: the program runs, or the helper of a box. */
static void read_birth(struct sbx_keeper *keeper)
{
    ssize_t got = sbx_fd_read(keeper->birth_fd, &keeper->failure, sizeof keeper->failure);
    if (got == (ssize_t)sizeof keeper->failure) {
        keeper->is_failed = true;
    } else if (keeper->plan->box == NULL) {
        keeper->outcome.started = true;
    }
    sbx_fd_close(&keeper->birth_fd);
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
        report(keeper, message);
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
            report(keeper,
                   &(struct sbx_report){.kind = SBX_REPORT_BUILT, .helper = keeper->child});
        }
        break;
    case SBX_SAID_HELD:
        report(keeper, &(struct sbx_report){
            .kind = SBX_REPORT_HELD, .pid = said->value, .helper = keeper->child, .raw = said->raw});
        break;
    case SBX_SAID_STOPPED:
        sbx_terminal_give_back(&keeper->streams.terminal);
        report_stop(keeper, &(struct sbx_report){.kind = SBX_REPORT_STOPPED, .signal = said->value});
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
        ask_all(keeper);
    }
    if (keeper->grace_end_ns != 0 && now >= keeper->grace_end_ns) {
        keeper->must_end = true;
    }
}

/* Time that began without the keeper is up. */
static void read_timer(struct sbx_keeper *keeper)
{
    uint64_t times = 0;
    if (sbx_fd_read(keeper->plan->box->timer_fd, &times, sizeof times) == (ssize_t)sizeof times &&
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
        read_birth(keeper);
    }
    if (slot[REPORTS].revents != 0) {
        read_reports(keeper);
    }
    if (slot[CONTROL].revents != 0) {
        keeper->plan->control(keeper->plan->state, keeper);
    }
    if (slot[TIMER].revents != 0) {
        read_timer(keeper);
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

/* ---- birth and death ----------------------------------------------------------------------------- */

/* Who else in sbx has children is not asked, and its signals are not touched. */
static bool open_wake(struct sbx_keeper *keeper)
{
    AUTO_FD wake_end = -1;
    if (keeper->plan->is_inside) {
        return true; /* known when the child is */
    }
    if (!sbx_fd_pipe(&keeper->wake_fd, &wake_end) || !sbx_fd_set_nonblocking(keeper->wake_fd) ||
        !sbx_fd_set_nonblocking(wake_end)) {
        return false;
    }
    sbx_signals_keep(SBX_TAKE(wake_end, -1)); /* the handler's, for as long as the keeper lives */
    return true;
}

static pid_t fork_box(const struct sbx_keeper *keeper, pid_t self, int birth_end)
{
    const struct sbx_box *box = keeper->plan->box;
    const struct sbx_streams *streams = &keeper->streams;
    struct sbx_box_child child = {
        .box = box,
        .signals = keeper->plan->signals,
        .parent = box->fork != NULL ? 0 : self, /* whose number a new namespace does not know */
        .birth_fd = birth_end,
        .stdin_fd = streams->child_in,
        .stdout_fd = streams->child_out,
        .stderr_fd = streams->child_err,
    };
    if (box->fork != NULL) {
        return box->fork(box->state, &child);
    }
    pid_t pid = fork();
    if (pid == 0) {
        sbx_box_child_main(&child);
    }
    return pid;
}

static pid_t fork_plain(const struct sbx_keeper *keeper, pid_t self, int birth_end)
{
    pid_t pid = fork();
    if (pid == 0) {
        sbx_child_main(&(struct sbx_child_plan){
            .keeper = keeper->plan,
            .parent = self,
            .own_group = keeper->own_group,
            .birth_fd = birth_end,
            .stdout_fd = keeper->streams.child_out,
            .stderr_fd = keeper->streams.child_err,
        });
    }
    if (pid > 0 && keeper->own_group) {
        (void)setpgid(pid, pid); /* whoever of the two comes first */
    }
    return pid;
}

static bool start(struct sbx_keeper *keeper)
{
    AUTO_FD birth_end = -1;
    const struct sbx_box *box = keeper->plan->box;
    if (!sbx_streams_open(&keeper->streams, box, keeper->plan->run->max_output_bytes) ||
        !open_wake(keeper) || !sbx_fd_pipe(&keeper->birth_fd, &birth_end)) {
        return false;
    }
    sigset_t mask = sbx_signals_block();
    pid_t self = getpid();
    keeper->begin_ns = sbx_os_monotonic_ns();
    pid_t child =
        box != NULL ? fork_box(keeper, self, birth_end) : fork_plain(keeper, self, birth_end);
    int raw = errno;
    keeper->child = child > 0 ? child : 0;
    sbx_streams_part(&keeper->streams);
    sbx_signals_unblock(&mask);
    sbx_fd_close(&birth_end);
    if (child > 0 && keeper->plan->is_inside) {
        keeper->wake_fd = sbx_system_watch(child);
        raw = errno;
        read_birth(keeper);
    }
    errno = raw;
    return child > 0 && keeper->wake_fd >= 0;
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
    if (!start(keeper)) {
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
        end_tree(keeper);
    }
    read_reports(keeper);
    if (keeper->birth_fd >= 0) {
        read_birth(keeper);
    }
    pass_on_rest(keeper);
    close_account(keeper);
    undo(keeper);
    sbx_fd_close(&keeper->wake_fd);
    struct sbx_report last = last_report(keeper);
    report(keeper, &last);
}

/* ---- as a process of its own --------------------------------------------------------------------- */

static void read_orders(void *state, struct sbx_keeper *keeper)
{
    const struct sbx_keeper_pipes *pipes = (const struct sbx_keeper_pipes *)state;
    unsigned char orders[64];
    ssize_t got = sbx_fd_read(pipes->control_fd, orders, sizeof orders);
    if (got == 0) {
        sbx_keeper_caller_gone(keeper);
    }
    for (ssize_t i = 0; i < got; i++) {
        sbx_keeper_order(keeper, orders[i]);
    }
}

static void send_report(void *state, const struct sbx_report *message)
{
    const struct sbx_keeper_pipes *pipes = (const struct sbx_keeper_pipes *)state;
    /* Smaller than PIPE_BUF, so it arrives whole. A caller that is gone does not matter. */
    (void)!sbx_fd_write_all(pipes->report_fd, message, sizeof *message);
}

/* Ends that are the box's: held here, their end of file would never come. */
static void leave_to_box(const struct sbx_box *box)
{
    const int theirs[] = {box->helper_orders_fd, box->helper_reports_fd, box->helper_hold_fd,
                          box->terminal_slave_fd};
    for (size_t i = 0; i < SBX_COUNT(theirs); i++) {
        if (theirs[i] >= 0) {
            (void)close(theirs[i]);
        }
    }
    for (size_t i = 0; i < box->fd_count; i++) {
        (void)close(box->fds[i].from);
    }
}

noreturn void sbx_keeper_main(const struct sbx_keeper_plan *plan,
                              const struct sbx_keeper_pipes *pipes)
{
    static struct sbx_keeper keeper;
    struct sbx_keeper_plan own = *plan;
    struct sbx_keeper_pipes ends = *pipes;
    own.is_inside = false;
    own.control_fd = ends.control_fd;
    own.control = read_orders;
    own.report = send_report;
    own.state = &ends;
    sbx_keeper_start(&keeper, &own);
    if (own.box != NULL) {
        leave_to_box(own.box);
    }
    while (sbx_keeper_step(&keeper)) {
    }
    sbx_keeper_end(&keeper);
    _exit(keeper.is_failed ? EXIT_BROKEN : EXIT_KEPT);
}
