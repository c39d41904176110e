/* sbx's side of a run: it forwards signals to the keeper, which holds the child or the box, and stops when the
 * child is stopped, so that a shell's job control works as without sbx. */
#include "posix/attend.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fd.h"
#include "posix/signals.h"
#include "posix/terminal.h"

#include "common/base/banned.h"

/* Two interrupts this close together mean "end it". Further apart they are the user's talk with the
 * command: an interpreter's prompt lives through many. */
#define DOUBLE_INTERRUPT_NS (UINT64_C(3) * 1000000000)

/* ---- signals ------------------------------------------------------------------------------------- */

static void order(const struct sbx_attendant *attendant, int what)
{
    unsigned char byte = (unsigned char)what;
    if (attendant->keeper != NULL) {
        sbx_keeper_order(attendant->keeper, byte);
    } else {
        (void)!sbx_fd_write_all(attendant->control_write, &byte,
                                1); /* a dead keeper shows elsewhere */
    }
}

static void on_interrupt(struct sbx_attendant *attendant)
{
    uint64_t now = sbx_os_monotonic_ns();
    if (attendant->last_interrupt_ns != 0 &&
        now - attendant->last_interrupt_ns < DOUBLE_INTERRUPT_NS) {
        order(attendant, SBX_CONTROL_CANCEL);
    }
    attendant->last_interrupt_ns = now;
}

static bool has_event(const struct sbx_attendant *attendant)
{
    struct pollfd slot = {.fd = attendant->event_read, .events = POLLIN};
    return poll(&slot, 1, 0) > 0;
}

/* In the background, a plain child would be stopped when it reads from the terminal. Nothing stops a box, which is
 * in another session: what is typed to the shell would be its. It waits for the foreground. */
static void let_box_go_on(struct sbx_attendant *attendant)
{
    if (attendant->is_box_stopped && attendant->lends_terminal && sbx_terminal_is_background()) {
        sbx_signals_take_default(SIGTTIN);
        if (has_event(attendant)) {
            return; /* the SIGCONT that ended it */
        }
    }
    attendant->is_box_stopped = false;
    order(attendant, SBX_ORDER_CONTINUE);
}

/* A box is in a session of its own: what the terminal sends to the foreground group (and a shell that ends, to
 * its jobs) is passed on to the command's group; a stop signal would be ignored there. */
static void pass_to_box(struct sbx_attendant *attendant, struct sbx_signal_event event)
{
    switch (event.number) {
    case SIGTSTP:
        order(attendant, SBX_ORDER_STOP);
        break;
    case SIGCONT:
        let_box_go_on(attendant);
        break;
    case SIGTTIN:
    case SIGTTOU:
        break; /* about sbx's own use of the terminal */
    default:
        order(attendant, event.from_kernel || event.number == SIGHUP
                             ? SBX_ORDER_GROUP | event.number
                             : event.number);
        break;
    }
}

static void on_event(struct sbx_attendant *attendant, struct sbx_signal_event event)
{
    if (event.ends) {
        order(attendant, SBX_CONTROL_CANCEL);
        return;
    }
    if (event.number == SIGINT) {
        on_interrupt(attendant);
    }
    if (event.number == SIGTSTP) {
        attendant->was_told_to_stop = true;
    }
    if (attendant->is_box) {
        pass_to_box(attendant, event);
    } else if (!event.from_kernel || event.number == SIGCONT) {
        order(attendant, event.number); /* the terminal's signals a plain child has already */
    }
}

static void read_events(struct sbx_attendant *attendant)
{
    struct sbx_signal_event events[16];
    ssize_t got;
    while ((got = sbx_fd_read(attendant->event_read, events, sizeof events)) > 0) {
        for (size_t i = 0; i < (size_t)got / sizeof events[0]; i++) {
            on_event(attendant, events[i]);
        }
    }
}

/* Of a box with a terminal of its own, the command's stop is its user's wish ("suspend" in a shell). */
static void stop_with_box(struct sbx_attendant *attendant)
{
    bool is_wanted =
        attendant->was_told_to_stop || (attendant->has_own_terminal && attendant->has_terminal);
    attendant->is_box_stopped = true;
    if (is_wanted) {
        attendant->was_told_to_stop = false;
        sbx_signals_take_default(SIGTSTP);
        if (!has_event(attendant)) {
            let_box_go_on(attendant); /* without a shell that could wake it, nothing was stopped */
        }
    }
}

/* A child that stops itself behind a shell's back (SIGSTOP, or without a terminal) does not stop sbx:
 * nobody would wake it. */
static void stop_with_child(struct sbx_attendant *attendant)
{
    int number = attendant->stopped_by;
    attendant->stopped_by = 0;
    bool is_job_control = number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
    if (attendant->is_box) {
        stop_with_box(attendant);
    } else if (is_job_control && (attendant->has_terminal || attendant->was_told_to_stop)) {
        attendant->was_told_to_stop = false;
        sbx_signals_take_default(number);
        order(attendant, SIGCONT);
    }
}

/* ---- attending ----------------------------------------------------------------------------------- */

static void on_report(void *state, const struct sbx_report *report)
{
    struct sbx_attendant *attendant = (struct sbx_attendant *)state;
    const struct sbx_attend *plan = attendant->plan;
    switch (report->kind) {
    case SBX_REPORT_BUILT:
        if (plan->look != NULL) {
            plan->look(plan->state, report);
        }
        break;
    case SBX_REPORT_HELD:
        order(attendant,
              plan->verify(plan->state, report) ? SBX_CONTROL_RELEASE : SBX_CONTROL_CANCEL);
        if (plan->settle != NULL) {
            plan->settle(plan->state);
        }
        break;
    case SBX_REPORT_STOPPED:
        attendant->stopped_by = report->signal;
        break;
    case SBX_REPORT_CONTINUED:
        attendant->stopped_by = 0;
        attendant->was_told_to_stop = false;
        attendant->is_box_stopped = false;
        break;
    case SBX_REPORT_FAILED:
    case SBX_REPORT_DONE:
        attendant->last = *report;
        attendant->is_over = true;
        break;
    }
}

static void read_reports(struct sbx_attendant *attendant)
{
    struct sbx_report report;
    ssize_t got = 0;
    while (!attendant->is_over && (got = sbx_fd_read(attendant->report_read, &report,
                                                     sizeof report)) == (ssize_t)sizeof report) {
        on_report(attendant, &report);
    }
    if (!attendant->is_over && (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK))) {
        attendant->last = (struct sbx_report){.kind = SBX_REPORT_STOPPED}; /* it died silently */
        attendant->is_over = true;
    }
}

static void follow_stop(struct sbx_attendant *attendant)
{
    if (!attendant->is_over && attendant->stopped_by != 0) {
        stop_with_child(attendant);
    }
}

static void attend_process(struct sbx_attendant *attendant)
{
    while (!attendant->is_over) {
        struct pollfd slot[] = {
            {.fd = attendant->event_read, .events = POLLIN},
            {.fd = attendant->report_read, .events = POLLIN},
        };
        (void)poll(slot, SBX_COUNT(slot), -1);
        read_events(attendant);
        read_reports(attendant);
        follow_stop(attendant);
    }
    while (waitpid(attendant->keeper_pid, NULL, 0) < 0 && errno == EINTR) {
    }
    if (attendant->last.kind == SBX_REPORT_STOPPED) {
        sbx_modes_restore(&attendant->modes); /* the keeper would have */
    }
}

static void attend_inside(struct sbx_attendant *attendant)
{
    while (sbx_keeper_step(attendant->keeper)) {
        follow_stop(attendant);
    }
    sbx_keeper_end(attendant->keeper);
}

/* ---- the run ------------------------------------------------------------------------------------- */

static bool has_terminal(void)
{
    return tcgetpgrp(STDIN_FILENO) >= 0 || tcgetpgrp(STDOUT_FILENO) >= 0 ||
           tcgetpgrp(STDERR_FILENO) >= 0;
}

/* A terminal of ours that the box is given and can be read through: not when sbx starts in the background. */
static bool lends_terminal(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (tcgetpgrp(fd) >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_WRONLY) {
            return !sbx_terminal_is_background();
        }
    }
    return false;
}

static void on_control(void *state, struct sbx_keeper *keeper)
{
    (void)keeper;
    read_events((struct sbx_attendant *)state);
}

static bool start_inside(struct sbx_attendant *attendant)
{
    attendant->keeper = sbx_keeper_new();
    if (attendant->keeper == NULL) {
        errno = ENOMEM;
        return false;
    }
    attendant->kept.is_inside = true;
    attendant->kept.control_fd = attendant->event_read;
    attendant->kept.control = on_control;
    attendant->kept.report = on_report;
    attendant->kept.state = attendant;
    sbx_keeper_start(attendant->keeper, &attendant->kept);
    return true;
}

static bool start_process(struct sbx_attendant *attendant)
{
    AUTO_FD control_read = -1;
    AUTO_FD report_write = -1;
    if (!sbx_fd_pipe(&control_read, &attendant->control_write) ||
        !sbx_fd_pipe(&attendant->report_read, &report_write) ||
        !sbx_fd_set_nonblocking(attendant->report_read)) {
        return false;
    }
    sigset_t mask = sbx_signals_block();
    attendant->keeper_pid = fork();
    int raw = errno;
    if (attendant->keeper_pid == 0) {
        sbx_fd_close(&attendant->control_write); /* or its end of file would never come */
        sbx_fd_close(&attendant->report_read);
        sbx_keeper_main(&attendant->kept, &(struct sbx_keeper_pipes){control_read, report_write});
    }
    sbx_signals_unblock(&mask);
    errno = raw;
    return attendant->keeper_pid > 0;
}

static void release(struct sbx_attendant *attendant)
{
    int raw = errno;
    if (attendant->has_signals) {
        sbx_signals_release(&attendant->signals);
    }
    sbx_fd_close(&attendant->event_read);
    sbx_fd_close(&attendant->event_write);
    sbx_fd_close(&attendant->control_write);
    sbx_fd_close(&attendant->report_read);
    sbx_keeper_free(attendant->keeper);
    attendant->keeper = NULL;
    attendant->plan = NULL;
    errno = raw;
}

bool sbx_attend_begin(struct sbx_attendant *attendant, const struct sbx_attend *plan)
{
    bool is_box = plan->box != NULL;
    bool has_own_terminal = is_box && plan->box->terminal_fd >= 0;
    *attendant = (struct sbx_attendant){
        .plan = plan,
        .event_read = -1,
        .event_write = -1,
        .control_write = -1,
        .report_read = -1,
        .has_terminal = has_terminal(),
        .is_box = is_box,
        .has_own_terminal = has_own_terminal,
        .lends_terminal = is_box && !has_own_terminal && lends_terminal(),
        .modes = {.fd = -1},
    };
    if (!sbx_fd_pipe(&attendant->event_read, &attendant->event_write) ||
        !sbx_fd_set_nonblocking(attendant->event_read) ||
        !sbx_fd_set_nonblocking(attendant->event_write)) {
        release(attendant);
        return false;
    }
    if (is_box) {
        sbx_modes_save(&attendant->modes);
    }
    if (plan->is_trial) {
        sbx_signals_look(&attendant->signals);
    } else {
        sbx_signals_catch(&attendant->signals, attendant->event_write);
        attendant->has_signals = true;
    }
    attendant->kept = (struct sbx_keeper_plan){
        .run = plan->run,
        .path = plan->path,
        .box = plan->box,
        .signals = &attendant->signals,
        .has_terminal = attendant->has_terminal,
    };
    if (!(plan->is_inside ? start_inside(attendant) : start_process(attendant))) {
        release(attendant);
        return false;
    }
    return true;
}

struct sbx_report sbx_attend_end(struct sbx_attendant *attendant)
{
    if (attendant->keeper != NULL) {
        attend_inside(attendant);
    } else {
        attend_process(attendant);
    }
    release(attendant);
    return attendant->last;
}

void sbx_attend_abandon(struct sbx_attendant *attendant)
{
    if (attendant->plan != NULL) {
        order(attendant, SBX_CONTROL_CANCEL);
        (void)!sbx_attend_end(attendant).kind;
    }
}
