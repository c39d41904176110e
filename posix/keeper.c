/* The keeper: starts the plain child, watches it, ends its whole tree. No allocation: it is a forked
 * process without exec. */
#include "posix/keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
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

static struct keeper {
    const struct sbx_keeper_plan *plan;
    bool adopts;    /* orphans become our children */
    bool own_group; /* the child leads a process group; only where orphans get lost */
    pid_t child;    /* 0 once reaped: its number is no longer ours to signal */
    int wake_fd;
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
    struct sbx_outcome outcome;
} keeper;

static void report(const struct sbx_report *message)
{
    /* Smaller than PIPE_BUF, so it arrives whole. A caller that is gone does not matter. */
    (void)!sbx_fd_write_all(keeper.plan->report_fd, message, sizeof *message);
}

/* ---- the tree ------------------------------------------------------------------------------------ */

static void note_limit(enum sbx_limit limit)
{
    if (keeper.outcome.limit == SBX_LIMIT_NONE) {
        keeper.outcome.limit = limit;
        keeper.outcome.origin = SBX_FROM_SBX;
    }
}

static void order(unsigned char what)
{
    (void)!sbx_fd_write_all(keeper.plan->box->orders_fd, &what, 1);
}

static void signal_child(int number)
{
    if (keeper.plan->box != NULL) {
        order((unsigned char)number);
    } else if (keeper.child > 0) {
        (void)kill(keeper.own_group ? -keeper.child : keeper.child, number);
    }
}

/* A request that can be handled, also by stopped processes. */
static void ask_all(void)
{
    static const int numbers[] = {SIGTERM, SIGCONT};
    const struct sbx_box *box = keeper.plan->box;
    if (box != NULL && box->is_namespace) {
        order(SBX_ORDER_ASK_ALL);
        return;
    }
    for (size_t i = 0; i < SBX_COUNT(numbers); i++) {
        if (keeper.adopts) {
            sbx_system_signal_tree(numbers[i]);
        } else {
            signal_child(numbers[i]);
        }
    }
}

/* Of a box this is the helper; how the command ended comes as a report. */
static void child_changed(int status)
{
    if (keeper.plan->box != NULL) {
        if (!WIFSTOPPED(status) && !WIFCONTINUED(status)) {
            keeper.child = 0;
        }
    } else if (WIFSTOPPED(status)) {
        report(&(struct sbx_report){.kind = SBX_REPORT_STOPPED, .signal = WSTOPSIG(status)});
    } else if (WIFCONTINUED(status)) {
        report(&(struct sbx_report){.kind = SBX_REPORT_CONTINUED});
    } else {
        keeper.status = status;
        keeper.child = 0;
        keeper.outcome.wall_ns = sbx_os_monotonic_ns() - keeper.begin_ns;
    }
}

/* The number of a group is safe to use only while its dead leader is not yet reaped. */
static void end_group_of_dead_leader(void)
{
    siginfo_t info = {0};
    if (keeper.own_group && keeper.child > 0 &&
        waitid(P_PID, (id_t)keeper.child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == keeper.child) {
        (void)kill(-keeper.child, SIGKILL);
    }
}

/* Takes in every child that ended or changed; false when there is none left. */
static bool reap(void)
{
    end_group_of_dead_leader();
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
        } else if (pid == keeper.child) {
            child_changed(status);
        }
    }
}

/* Kills in rounds. Only children are killed, never a grandchild by its number: when its parent is
 * dead it becomes a child, and its turn comes. */
static void end_tree(void)
{
    uint64_t begin = sbx_os_monotonic_ns();
    while (reap() && sbx_os_monotonic_ns() - begin < END_WAIT_NS) {
        if (keeper.adopts) {
            sbx_system_signal_children(SIGKILL);
        } else {
            signal_child(SIGKILL);
        }
        struct pollfd slot = {.fd = keeper.wake_fd, .events = POLLIN};
        char bytes[256];
        if (poll(&slot, 1, 20) > 0) {
            (void)!sbx_fd_read(keeper.wake_fd, bytes, sizeof bytes);
        }
    }
    keeper.is_ended = true;
}

/* ---- events -------------------------------------------------------------------------------------- */

static void cancel(void)
{
    note_limit(SBX_LIMIT_CANCEL);
    keeper.must_end = true;
    keeper.hurries = true;
}

static bool is_resize(unsigned char order)
{
    return keeper.streams.terminal.master_fd >= 0 &&
           (order == SIGWINCH || order == (SBX_ORDER_GROUP | SIGWINCH));
}

static void read_control(void)
{
    unsigned char orders[64];
    ssize_t got = sbx_fd_read(keeper.plan->control_fd, orders, sizeof orders);
    if (got == 0) {
        keeper.caller_gone = true;
        cancel();
    }
    for (ssize_t i = 0; i < got; i++) {
        if (orders[i] == SBX_CONTROL_CANCEL) {
            cancel();
        } else if (is_resize(orders[i])) {
            sbx_terminal_resize(&keeper.streams.terminal); /* the kernel tells whom it concerns */
        } else {
            signal_child(orders[i]);
        }
        if (orders[i] == SBX_ORDER_CONTINUE) {
            sbx_terminal_take(&keeper.streams.terminal); /* it was in the background */
        }
    }
}

static void read_wake(void)
{
    char bytes[256];
    (void)!sbx_fd_read(keeper.wake_fd, bytes, sizeof bytes);
    (void)reap();
}

/* End of file means that exec closed it: the program runs, or the helper of a box. */
static void read_birth(void)
{
    ssize_t got = sbx_fd_read(keeper.birth_fd, &keeper.failure, sizeof keeper.failure);
    if (got == (ssize_t)sizeof keeper.failure) {
        keeper.is_failed = true;
    } else if (keeper.plan->box == NULL) {
        keeper.outcome.started = true;
    }
    sbx_fd_close(&keeper.birth_fd);
}

/* ---- what the first process of a box says --------------------------------------------------------- */

static void box_failed(const struct sbx_said *said)
{
    keeper.is_failed = true;
    keeper.failure = (struct sbx_birth_failure){SBX_BIRTH_INSIDE, said->raw};
    keeper.failed_step = said->value;
    memcpy(keeper.plan->box->share->failed_path, said->text, said->length); /* the rest is zero */
}

static void box_ended(const struct sbx_said *said)
{
    keeper.status = said->value;
    keeper.has_status = true;
    keeper.outcome.wall_ns = sbx_os_monotonic_ns() - keeper.begin_ns;
}

/* A command could stop and continue without end, and nobody reads of that in time. */
static void report_stop(const struct sbx_report *message)
{
    if (!keeper.plan->box->is_warm) {
        report(message);
    }
}

static void on_said(const struct sbx_said *said)
{
    switch (said->kind) {
    case SBX_SAID_FAILED:
        box_failed(said);
        break;
    case SBX_SAID_HELD:
        report(&(struct sbx_report){
            .kind = SBX_REPORT_HELD, .pid = said->value, .helper = keeper.child, .raw = said->raw});
        break;
    case SBX_SAID_STARTED:
        keeper.outcome.started = true;
        break;
    case SBX_SAID_STOPPED:
        sbx_terminal_give_back(&keeper.streams.terminal);
        report_stop(&(struct sbx_report){.kind = SBX_REPORT_STOPPED, .signal = said->value});
        break;
    case SBX_SAID_CONTINUED:
        sbx_terminal_take(&keeper.streams.terminal);
        report_stop(&(struct sbx_report){.kind = SBX_REPORT_CONTINUED});
        break;
    case SBX_SAID_ENDED:
        box_ended(said);
        break;
    case SBX_SAID_REFUSED:
        sbx_box_note(keeper.plan->box->share, said);
        break;
    default:
        break;
    }
}

static void read_reports(void)
{
    if (keeper.plan->box != NULL) {
        sbx_reports_read(&keeper.reports, keeper.plan->box->reports_fd, on_said);
    }
}

static void check_output(void)
{
    if (sbx_streams_is_over(&keeper.streams)) {
        note_limit(SBX_LIMIT_OUTPUT);
        keeper.must_end = true;
    }
}

/* What no event tells: a box's use of processor time, say. */
static void check_box(void)
{
    const struct sbx_box *box = keeper.plan->box;
    if (box == NULL || box->tick == NULL) {
        return;
    }
    enum sbx_limit limit = box->tick(box->state);
    if (limit != SBX_LIMIT_NONE) {
        note_limit(limit);
        keeper.must_end = true;
        keeper.hurries = true;
    }
}

/* Time is up: first a request, then the end. */
static void check_time(void)
{
    uint64_t now = sbx_os_monotonic_ns();
    if (keeper.grace_end_ns == 0 && keeper.deadline_ns != 0 && now >= keeper.deadline_ns) {
        note_limit(SBX_LIMIT_TIMEOUT);
        keeper.hurries = true;
        keeper.grace_end_ns = now + GRACE_NS;
        ask_all();
    }
    if (keeper.grace_end_ns != 0 && now >= keeper.grace_end_ns) {
        keeper.must_end = true;
    }
}

/* Time that began without the keeper is up. */
static void read_timer(void)
{
    uint64_t times = 0;
    if (sbx_fd_read(keeper.plan->box->timer_fd, &times, sizeof times) == (ssize_t)sizeof times &&
        keeper.deadline_ns == 0) {
        keeper.deadline_ns = sbx_os_monotonic_ns();
    }
}

static int wait_ms(void)
{
    const struct sbx_box *box = keeper.plan->box;
    int longest = box != NULL && box->tick != NULL ? box->tick_ms : 3600000;
    uint64_t until = keeper.grace_end_ns != 0 ? keeper.grace_end_ns : keeper.deadline_ns;
    if (until == 0) {
        return box != NULL && box->tick != NULL ? longest : -1;
    }
    uint64_t now = sbx_os_monotonic_ns();
    uint64_t left_ms = until <= now ? 0 : (until - now) / 1000000 + 1;
    return left_ms > (uint64_t)longest ? longest : (int)left_ms;
}

static void wait_for_events(void)
{
    enum { CONTROL, WAKE, BIRTH, REPORTS, TIMER, STREAMS, SLOTS = STREAMS + SBX_STREAMS_SLOTS };
    const struct sbx_box *box = keeper.plan->box;
    struct pollfd slot[SLOTS] = {
        [CONTROL] = {.fd = keeper.caller_gone ? -1 : keeper.plan->control_fd, .events = POLLIN},
        [WAKE] = {.fd = keeper.wake_fd, .events = POLLIN},
        [BIRTH] = {.fd = keeper.birth_fd, .events = POLLIN},
        [REPORTS] = {.fd = box == NULL || keeper.reports.is_closed ? -1 : box->reports_fd,
                     .events = POLLIN},
        [TIMER] = {.fd = box != NULL && box->is_warm ? box->timer_fd : -1, .events = POLLIN},
    };
    sbx_streams_slots(&keeper.streams, &slot[STREAMS]);
    if (poll(slot, SLOTS, wait_ms()) < 0) {
        return; /* an interruption: what it announces is in a pipe */
    }
    if (slot[BIRTH].revents != 0) {
        read_birth();
    }
    if (slot[REPORTS].revents != 0) {
        read_reports();
    }
    if (slot[CONTROL].revents != 0) {
        read_control();
    }
    if (slot[TIMER].revents != 0) {
        read_timer();
    }
    if (slot[WAKE].revents != 0) {
        read_wake();
    }
    if (!keeper.is_ended) {
        sbx_streams_step(&keeper.streams, &slot[STREAMS]);
    }
    check_output();
    check_box();
    check_time();
}

/* The tree is gone; what it wrote is still in the pipes. A slow reader is waited for unless the run
 * was told to end. */
static void pass_on_rest(void)
{
    for (;;) {
        uint64_t before = sbx_streams_passed(&keeper.streams);
        bool is_done = sbx_streams_drain(&keeper.streams);
        check_output();
        if (is_done) {
            return;
        }
        if (sbx_streams_passed(&keeper.streams) == before) {
            if (keeper.hurries) {
                return;
            }
            wait_for_events();
        }
    }
}

/* ---- birth and death ----------------------------------------------------------------------------- */

static bool start(void)
{
    AUTO_FD wake_end = -1;
    AUTO_FD birth_end = -1;
    struct sbx_streams *streams = &keeper.streams;
    if (!sbx_streams_open(streams, keeper.plan->box, keeper.plan->run->max_output_bytes) ||
        !sbx_fd_pipe(&keeper.wake_fd, &wake_end) || !sbx_fd_set_nonblocking(keeper.wake_fd) ||
        !sbx_fd_set_nonblocking(wake_end) || !sbx_fd_pipe(&keeper.birth_fd, &birth_end)) {
        return false;
    }
    sbx_signals_keep(SBX_TAKE(wake_end, -1)); /* the handler's, for as long as the keeper lives */
    sigset_t mask = sbx_signals_block();
    pid_t self = getpid();
    keeper.begin_ns = sbx_os_monotonic_ns();
    const struct sbx_box *box = keeper.plan->box;
    bool is_apart = box != NULL && box->fork != NULL;
    pid_t child = is_apart ? box->fork(box->state) : fork();
    int raw = errno;
    if (child == 0 && box != NULL) {
        sbx_box_child_main(&(struct sbx_box_child){
            .box = box,
            .signals = keeper.plan->signals,
            .parent = is_apart ? 0 : self, /* whose number a new namespace does not know */
            .birth_fd = birth_end,
            .stdin_fd = streams->child_in,
            .stdout_fd = streams->child_out,
            .stderr_fd = streams->child_err,
        });
    }
    if (child == 0) {
        sbx_child_main(&(struct sbx_child_plan){
            .keeper = keeper.plan,
            .parent = self,
            .own_group = keeper.own_group,
            .birth_fd = birth_end,
            .stdout_fd = streams->child_out,
            .stderr_fd = streams->child_err,
        });
    }
    if (child > 0 && keeper.own_group) {
        (void)setpgid(child, child); /* whoever of the two comes first */
    }
    keeper.child = child;
    sbx_streams_part(streams);
    sbx_signals_unblock(&mask);
    errno = raw;
    return child > 0;
}

static void close_account(void)
{
    struct sbx_outcome *outcome = &keeper.outcome;
    const struct sbx_box *box = keeper.plan->box;
    struct rusage usage = {0};
    if (box != NULL ? !keeper.has_status : keeper.child != 0) {
        keeper.status =
            SIGKILL; /* it was killed, or it hangs in the kernel and is as good as that */
        outcome->wall_ns = sbx_os_monotonic_ns() - keeper.begin_ns;
    }
    if (WIFEXITED(keeper.status)) {
        outcome->exit_code = (uint32_t)WEXITSTATUS(keeper.status);
    } else {
        outcome->signal = WTERMSIG(keeper.status);
    }
    if (getrusage(RUSAGE_CHILDREN, &usage) == 0) {
        uint64_t seconds = (uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec;
        uint64_t micros = (uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec;
        outcome->cpu_ns = seconds * SECOND_NS + micros * 1000;
        outcome->peak_memory_bytes = sbx_system_peak_bytes(&usage);
    }
    outcome->stdout_bytes = keeper.streams.out.passed_bytes + keeper.streams.terminal.passed_bytes;
    outcome->stderr_bytes = keeper.streams.err.passed_bytes;
}

/* Ends that are the box's: held here, their end of file would never come. */
static void leave_to_box(const struct sbx_box *box)
{
    const int theirs[] = {box->helper_orders_fd, box->helper_reports_fd, box->terminal_slave_fd};
    for (size_t i = 0; i < SBX_COUNT(theirs); i++) {
        if (theirs[i] >= 0) {
            (void)close(theirs[i]);
        }
    }
    for (size_t i = 0; i < box->fd_count; i++) {
        (void)close(box->fds[i].from);
    }
}

static noreturn void fail(enum sbx_birth birth, int step, int raw)
{
    report(
        &(struct sbx_report){.kind = SBX_REPORT_FAILED, .birth = birth, .step = step, .raw = raw});
    _exit(EXIT_BROKEN);
}

/* Everything of the box has ended: what is on the host because of it goes too. */
static void undo_box(const struct sbx_box *box)
{
    sbx_streams_close(&keeper.streams);
    if (box->undo != NULL) {
        box->undo(box->state);
    }
}

noreturn void sbx_keeper_main(const struct sbx_keeper_plan *plan)
{
    const struct sbx_box *box = plan->box;
    keeper.plan = plan;
    keeper.adopts = sbx_system_adopt_orphans();
    keeper.own_group = box == NULL && !keeper.adopts && !plan->has_terminal;
    if (!start()) {
        int raw = errno;
        if (box != NULL) {
            undo_box(box);
        }
        fail(SBX_BIRTH_FORK, 0, raw);
    }
    if (box != NULL) {
        leave_to_box(box);
    }
    if (plan->run->timeout_ns != 0 && (box == NULL || !box->is_warm)) {
        keeper.deadline_ns = keeper.begin_ns + plan->run->timeout_ns;
    }
    while (!keeper.must_end && keeper.child != 0) {
        wait_for_events();
    }
    end_tree();
    read_reports();
    if (keeper.birth_fd >= 0) {
        read_birth();
    }
    pass_on_rest();
    close_account();
    if (box != NULL) {
        if (box->account != NULL) {
            box->account(box->state, &keeper.outcome);
        }
        undo_box(box);
    }
    if (keeper.is_failed) {
        fail(keeper.failure.birth, keeper.failed_step, keeper.failure.raw);
    }
    if (box != NULL && !keeper.has_status && keeper.outcome.limit == SBX_LIMIT_NONE) {
        fail(SBX_BIRTH_SILENT, 0, 0);
    }
    report(&(struct sbx_report){.kind = SBX_REPORT_DONE, .outcome = keeper.outcome});
    _exit(EXIT_KEPT);
}
