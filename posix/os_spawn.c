/* A plain child on POSIX: sbx's side. It forwards signals to the keeper, which holds the child, and
 * stops when the child is stopped, so that a shell's job control works as without sbx. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/keeper.h"
#include "posix/signals.h"

#include "common/base/banned.h"

/* Two interrupts this close together mean "end it". Further apart they are the user's talk with the
 * command: an interpreter's prompt lives through many. */
#define DOUBLE_INTERRUPT_NS (UINT64_C(3) * 1000000000)

struct attendant {
    int event_fd;   /* read end of the caught signals */
    int control_fd; /* write end */
    int report_fd;  /* read end */
    bool has_terminal;
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

static void on_event(struct attendant *attendant, struct sbx_signal_event event)
{
    if (event.number == SIGINT) {
        on_interrupt(attendant);
    }
    if (event.number == SIGTSTP) {
        attendant->was_told_to_stop = true;
    }
    /* What the terminal sends, it sends to the whole foreground group: the child has it already. */
    if (!event.from_kernel || event.number == SIGCONT) {
        order(attendant, event.number);
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

/* A child that stops itself behind a shell's back (SIGSTOP, or without a terminal) does not stop sbx:
 * nobody would wake it. */
static void stop_with_child(struct attendant *attendant)
{
    int number = attendant->stopped_by;
    attendant->stopped_by = 0;
    bool is_job_control = number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
    if (is_job_control && (attendant->has_terminal || attendant->was_told_to_stop)) {
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
        case SBX_REPORT_STOPPED:
            attendant->stopped_by = report.signal;
            break;
        case SBX_REPORT_CONTINUED:
            attendant->stopped_by = 0;
            attendant->was_told_to_stop = false;
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

/* ---- what went wrong ----------------------------------------------------------------------------- */

/* The interpreter in "#!/path arg"; false when the file is no script. */
static bool interpreter_of(const char *path, char *out, size_t size)
{
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char head[256];
    ssize_t got = fd < 0 ? -1 : sbx_fd_read(fd, head, sizeof head - 1);
    if (got < 3 || head[0] != '#' || head[1] != '!') {
        return false;
    }
    head[got] = '\0';
    const char *name = head + 2 + strspn(head + 2, " \t");
    size_t len = strcspn(name, " \t\r\n");
    if (len == 0 || len >= size) {
        return false;
    }
    memcpy(out, name, len);
    out[len] = '\0';
    return true;
}

static enum sbx_code exec_failed(const char *path, int raw, struct sbx_err *err)
{
    char interpreter[256];
    if (raw == ENOENT) {
        if (interpreter_of(path, interpreter, sizeof interpreter)) {
            (void)sbx_err_os(err, SBX_E_NOT_FOUND, SBX_OS_ERRNO, raw, "execve",
                             "the script \"%s\" asks for the interpreter \"%s\", which is missing",
                             path, interpreter);
            return sbx_err_hint(err, "install it or correct the script's first line (also look "
                                     "for Windows line ends)");
        }
        (void)sbx_err_os(err, SBX_E_NOT_FOUND, SBX_OS_ERRNO, raw, "execve",
                         "the program \"%s\" asks for a loader that is missing", path);
        return sbx_err_hint(err, "it was built for another system or C library");
    }
    enum sbx_code code = raw == ENOTDIR ? SBX_E_NOT_FOUND : SBX_E_DENIED;
    (void)sbx_err_os(err, code, SBX_OS_ERRNO, raw, "execve", "cannot execute \"%s\": %s", path,
                     sbx_errno_text(raw));
    if (raw == ENOEXEC) {
        return sbx_err_hint(err,
                            "a script needs a first line such as #!/bin/sh, or name its "
                            "interpreter: sh %s",
                            path);
    }
    if (raw == EACCES) {
        return sbx_err_hint(err, "its interpreter may not be executable, or its file system is "
                                 "mounted noexec");
    }
    return code;
}

static enum sbx_code birth_failed(const struct sbx_plain_run *run, const char *path,
                                  const struct sbx_report *report, struct sbx_err *err)
{
    switch (report->birth) {
    case SBX_BIRTH_EXEC:
        return exec_failed(path, report->raw, err);
    case SBX_BIRTH_CWD:
        /* Not SBX_E_NOT_FOUND, which would say that the program is missing. */
        return sbx_err_os(err, SBX_E_INVALID, SBX_OS_ERRNO, report->raw, "chdir",
                          "cannot change to the directory \"%s\": %s", run->cwd,
                          sbx_errno_text(report->raw));
    case SBX_BIRTH_FORK:
    case SBX_BIRTH_STREAMS:
        break;
    }
    return sbx_err_os(err, SBX_E_IO, SBX_OS_ERRNO, report->raw,
                      report->birth == SBX_BIRTH_FORK ? "fork" : "dup2",
                      "cannot start a process: %s", sbx_errno_text(report->raw));
}

/* ---- the run ------------------------------------------------------------------------------------- */

static bool has_terminal(void)
{
    return tcgetpgrp(STDIN_FILENO) >= 0 || tcgetpgrp(STDOUT_FILENO) >= 0 ||
           tcgetpgrp(STDERR_FILENO) >= 0;
}

/* Forks the keeper and stays with it until the end. *final is what it said last. */
static bool keep(const struct sbx_plain_run *run, const char *path, struct sbx_report *final)
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
    struct sbx_signals signals;
    sbx_signals_catch(&signals, event_write);
    struct attendant attendant = {
        .event_fd = event_read,
        .control_fd = control_write,
        .report_fd = report_read,
        .has_terminal = has_terminal(),
    };
    sigset_t mask = sbx_signals_block();
    pid_t pid = fork();
    int raw = errno;
    if (pid == 0) {
        sbx_fd_close(&control_write); /* or its end of file would never come */
        sbx_fd_close(&report_read);
        sbx_keeper_main(&(struct sbx_keeper_plan){
            .run = run,
            .path = path,
            .signals = &signals,
            .has_terminal = attendant.has_terminal,
            .control_fd = control_read,
            .report_fd = report_write,
        });
    }
    sbx_signals_unblock(&mask);
    sbx_fd_close(&report_write); /* so that a keeper that dies is noticed */
    if (pid > 0) {
        *final = attend(&attendant);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    sbx_signals_release(&signals);
    errno = raw;
    return pid > 0;
}

enum sbx_code sbx_os_run_plain(const struct sbx_plain_run *run, struct sbx_outcome *out,
                               struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, 64u << 10);
    struct sbx_path program;
    enum sbx_code code =
        sbx_os_find_program(&scratch, run->program, run->search_path, &program, err);
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_report final;
    if (!keep(run, program.text, &final)) {
        int raw = errno;
        return sbx_err_errno(err, raw, "fork", "cannot start a process");
    }
    if (final.kind == SBX_REPORT_FAILED) {
        return birth_failed(run, program.text, &final, err);
    }
    if (final.kind != SBX_REPORT_DONE) {
        (void)sbx_err_set(err, SBX_E_IO, "the process that watches \"%s\" was killed",
                          program.text);
        return sbx_err_hint(err, "the command was killed with it; its own children may still run");
    }
    *out = final.outcome;
    return SBX_OK;
}
