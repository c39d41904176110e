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

struct attendant {
    int event_fd;   /* read end of the caught signals */
    int control_fd; /* write end */
    int report_fd;  /* read end */
    bool has_terminal;
    bool is_box;
    bool has_own_terminal; /* the box */
    bool lends_terminal;   /* the box holds the caller's, and could read it */
    bool is_box_stopped;
    const struct sbx_attend *plan;
    bool was_told_to_stop; /* a stop signal has reached sbx since the child last went on */
    int stopped_by;        /* 0: the child runs */
    uint64_t last_interrupt_ns;
};

/* ---- signals ------------------------------------------------------------------------------------- */

static void order(const struct attendant *attendant, int what)
{
    unsigned char byte = (unsigned char)what;
    (void)!sbx_fd_write_all(attendant->control_fd, &byte, 1); /* a dead keeper shows elsewhere */
}

static void on_interrupt(struct attendant *attendant)
{
    uint64_t now = sbx_os_monotonic_ns();
    if (attendant->last_interrupt_ns != 0 &&
        now - attendant->last_interrupt_ns < DOUBLE_INTERRUPT_NS) {
        order(attendant, SBX_CONTROL_CANCEL);
    }
    attendant->last_interrupt_ns = now;
}

static bool has_event(const struct attendant *attendant)
{
    struct pollfd slot = {.fd = attendant->event_fd, .events = POLLIN};
    return poll(&slot, 1, 0) > 0;
}

/* In the background, a plain child would be stopped when it reads from the terminal. Nothing stops a box, which is
 * in another session: what is typed to the shell would be its. It waits for the foreground. */
static void let_box_go_on(struct attendant *attendant)
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
static void pass_to_box(struct attendant *attendant, struct sbx_signal_event event)
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

static void on_event(struct attendant *attendant, struct sbx_signal_event event)
{
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

static void read_events(struct attendant *attendant)
{
    struct sbx_signal_event events[16];
    ssize_t got;
    while ((got = sbx_fd_read(attendant->event_fd, events, sizeof events)) > 0) {
        for (size_t i = 0; i < (size_t)got / sizeof events[0]; i++) {
            on_event(attendant, events[i]);
        }
    }
}

/* Of a box with a terminal of its own, the command's stop is its user's wish ("suspend" in a shell). */
static void stop_with_box(struct attendant *attendant)
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
static void stop_with_child(struct attendant *attendant)
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

/* True when the last report has come: *final says how it ended. */
static bool read_reports(struct attendant *attendant, struct sbx_report *final)
{
    struct sbx_report report;
    ssize_t got;
    while ((got = sbx_fd_read(attendant->report_fd, &report, sizeof report)) ==
           (ssize_t)sizeof report) {
        switch (report.kind) {
        case SBX_REPORT_HELD:
            order(attendant, attendant->plan->verify(attendant->plan->state, &report)
                                 ? SBX_CONTROL_RELEASE
                                 : SBX_CONTROL_CANCEL);
            break;
        case SBX_REPORT_STOPPED:
            attendant->stopped_by = report.signal;
            break;
        case SBX_REPORT_CONTINUED:
            attendant->stopped_by = 0;
            attendant->was_told_to_stop = false;
            attendant->is_box_stopped = false;
            break;
        case SBX_REPORT_FAILED:
        case SBX_REPORT_DONE:
            *final = report;
            return true;
        }
    }
    if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
        *final = (struct sbx_report){.kind = SBX_REPORT_STOPPED}; /* the keeper died silently */
        return true;
    }
    return false;
}

static struct sbx_report attend(struct attendant *attendant)
{
    struct sbx_report final;
    for (;;) {
        struct pollfd slot[] = {
            {.fd = attendant->event_fd, .events = POLLIN},
            {.fd = attendant->report_fd, .events = POLLIN},
        };
        (void)poll(slot, SBX_COUNT(slot), -1);
        read_events(attendant);
        if (read_reports(attendant, &final)) {
            return final;
        }
        if (attendant->stopped_by != 0) {
            stop_with_child(attendant);
        }
    }
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

bool sbx_attend(const struct sbx_attend *plan, struct sbx_report *final)
{
    AUTO_FD event_read = -1;
    AUTO_FD event_write = -1;
    AUTO_FD control_read = -1;
    AUTO_FD control_write = -1;
    AUTO_FD report_read = -1;
    AUTO_FD report_write = -1;
    if (!sbx_fd_pipe(&event_read, &event_write) || !sbx_fd_pipe(&control_read, &control_write) ||
        !sbx_fd_pipe(&report_read, &report_write) || !sbx_fd_set_nonblocking(event_read) ||
        !sbx_fd_set_nonblocking(event_write) || !sbx_fd_set_nonblocking(report_read)) {
        return false;
    }
    bool has_own_terminal = plan->box != NULL && plan->box->terminal_fd >= 0;
    struct sbx_modes modes = {.fd = -1};
    if (plan->box != NULL) {
        sbx_modes_save(&modes);
    }
    struct sbx_signals signals;
    if (plan->is_trial) {
        sbx_signals_look(&signals);
    } else {
        sbx_signals_catch(&signals, event_write);
    }
    struct attendant attendant = {
        .event_fd = event_read,
        .control_fd = control_write,
        .report_fd = report_read,
        .has_terminal = has_terminal(),
        .is_box = plan->box != NULL,
        .has_own_terminal = has_own_terminal,
        .lends_terminal = plan->box != NULL && !has_own_terminal && lends_terminal(),
        .plan = plan,
    };
    sigset_t mask = sbx_signals_block();
    pid_t pid = fork();
    int raw = errno;
    if (pid == 0) {
        sbx_fd_close(&control_write); /* or its end of file would never come */
        sbx_fd_close(&report_read);
        sbx_keeper_main(&(struct sbx_keeper_plan){
            .run = plan->run,
            .path = plan->path,
            .box = plan->box,
            .signals = &signals,
            .has_terminal = attendant.has_terminal,
            .control_fd = control_read,
            .report_fd = report_write,
        });
    }
    sbx_signals_unblock(&mask);
    sbx_fd_close(&report_write); /* so that a keeper that dies is noticed */
    if (plan->parted != NULL) {
        plan->parted(plan->state);
    }
    if (pid > 0) {
        *final = attend(&attendant);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
        if (final->kind == SBX_REPORT_STOPPED) {
            sbx_modes_restore(&modes); /* the keeper would have */
        }
    }
    sbx_signals_release(&signals);
    errno = raw;
    return pid > 0;
}
