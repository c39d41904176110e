/* Signals and the terminal around a plain child: forwarded once, two interrupts end it, a shell's job
 * control works as without sbx. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fd.h"
#include "tests/check.h"
#include "tests/unit/os_actor.h"

#include "common/base/banned.h"

#define MS UINT64_C(1000000)

/* Between two presses of a key. The kernel merges equal signals that are still pending, and a loaded
 * machine may take its time to deliver one. */
#define PRESS_MS 400

static bool await_text(const char *path, const char *text)
{
    for (int i = 0; i < 1000; i++) {
        if (strstr(actor_read(path), text) != NULL) {
            return true;
        }
        actor_sleep_ms(10);
    }
    return false;
}

static long await_pid(const char *path)
{
    uint64_t pid = 0;
    for (int i = 0; i < 1000 && !sbx_str_to_u64(sbx_str(actor_read(path)), &pid); i++) {
        actor_sleep_ms(10);
    }
    return (long)pid;
}

/* Starts an sbx with a child that logs its signals; returns the child's pid. */
static long start_listener(struct actor *sbx, const char *name, const char **log)
{
    char file[64];
    (void)snprintf(file, sizeof file, "%s.pid", name);
    const char *pid = scratch(file);
    (void)snprintf(file, sizeof file, "%s.log", name);
    *log = scratch(file);
    (void)snprintf(file, sizeof file, "%s.outcome", name);
    CHECK(actor_start(sbx,
                      (const char *[]){"relay", scratch(file), "0", "0", "listen", pid, *log, NULL},
                      NULL, NULL));
    return await_pid(pid);
}

/* ---- sent by a process --------------------------------------------------------------------- */

static void sent_signals_are_forwarded(void)
{
    static const int numbers[] = {SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGWINCH, SIGCONT};
    struct actor sbx;
    const char *log;
    CHECK(start_listener(&sbx, "forward", &log) > 0);
    char want[64] = "";
    for (size_t i = 0; i < SBX_COUNT(numbers); i++) {
        size_t used = strlen(want);
        (void)snprintf(want + used, sizeof want - used, "%d ", numbers[i]);
        CHECK_INT(kill((pid_t)sbx.process, numbers[i]), 0);
        CHECK(await_text(log, want));
    }
    CHECK_INT(kill((pid_t)sbx.process, SIGTERM), 0);
    CHECK_INT(actor_wait(&sbx), 7);
    size_t used = strlen(want);
    (void)snprintf(want + used, sizeof want - used, "15 ");
    CHECK_TEXT(actor_read(log), want);
}

static void two_interrupts_end_it(void)
{
    struct actor sbx;
    const char *log;
    long child = start_listener(&sbx, "double", &log);
    CHECK(child > 0);
    CHECK_INT(kill((pid_t)sbx.process, SIGINT), 0);
    CHECK(await_text(log, "2 "));
    actor_sleep_ms(PRESS_MS);
    CHECK(actor_is_process_alive(child));
    CHECK_INT(kill((pid_t)sbx.process, SIGINT), 0);
    CHECK(actor_wait(&sbx) >= 0);
    CHECK(strstr(actor_read(scratch("double.outcome")), "signal=9 limit=6") != NULL);
    CHECK_INT(SBX_LIMIT_CANCEL, 6);
    CHECK(!actor_is_process_alive(child));
}

static void slow_interrupts_do_not(void)
{
    struct actor sbx;
    const char *log;
    CHECK(start_listener(&sbx, "slow", &log) > 0);
    CHECK_INT(kill((pid_t)sbx.process, SIGINT), 0);
    CHECK(await_text(log, "2 "));
    actor_sleep_ms(3200);
    CHECK_INT(kill((pid_t)sbx.process, SIGINT), 0);
    CHECK(await_text(log, "2 2 "));
    CHECK_INT(kill((pid_t)sbx.process, SIGTERM), 0);
    CHECK_INT(actor_wait(&sbx), 7);
}

/* ---- a reader that does not read ----------------------------------------------------------- */

/* An sbx whose standard output is a full pipe that nobody reads. */
static void blocked_reader_does_not_stop_time(void)
{
    int ends[2];
    CHECK_INT(pipe(ends), 0);
    uint64_t begin = sbx_os_monotonic_ns();
    pid_t sbx = fork();
    if (sbx == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        struct sbx_outcome outcome = {0};
        (void)!actor_run((const char *[]){"pour", "100000000", NULL}, 500 * MS, 200000000, &outcome,
                         NULL);
        _exit(outcome.limit == SBX_LIMIT_TIMEOUT ? 0 : 1);
    }
    struct actor actor = {sbx};
    CHECK_INT(actor_wait(&actor), 0);
    CHECK(sbx_os_monotonic_ns() - begin < 3000 * MS);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void closed_reader_reaches_the_child(void)
{
    int ends[2];
    CHECK_INT(pipe(ends), 0);
    pid_t sbx = fork();
    if (sbx == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        struct sbx_outcome outcome = {0};
        (void)!actor_run((const char *[]){"pour", "100000000", NULL}, 0, 200000000, &outcome, NULL);
        _exit(outcome.limit == SBX_LIMIT_NONE ? (int)outcome.exit_code : 99);
    }
    (void)close(ends[1]);
    char block[4096];
    CHECK(read(ends[0], block, sizeof block) > 0);
    (void)close(ends[0]);
    struct actor actor = {sbx};
    CHECK_INT(actor_wait(&actor), 3); /* what `pour` says when its pipe is closed */
}

/* ---- a terminal and a shell ---------------------------------------------------------------- */

static struct {
    int master;
    pid_t shell;
    const char *notes; /* what the shell saw of its job */
    const char *log;
    const char *pid;
    const char *outcome;
    const char *job; /* holds the job's process group */
} term;

static void note(const char *what, int number)
{
    char text[32];
    int len = snprintf(text, sizeof text, "%s %d\n", what, number);
    int fd = open(term.notes, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ssize_t put = write(fd, text, (size_t)len);
    (void)put;
    (void)close(fd);
}

/* What a shell does for one foreground job; SIGUSR1 is the user's `fg`. */
static void act_as_shell(const char *terminal, const char *const *argv)
{
    (void)setsid();
    int tty = open(terminal, O_RDWR);
    (void)ioctl(tty, TIOCSCTTY, 0);
    (void)dup2(tty, STDIN_FILENO);
    (void)dup2(tty, STDOUT_FILENO);
    (void)dup2(tty, STDERR_FILENO);
    (void)signal(SIGTTOU, SIG_IGN);
    sigset_t wanted;
    (void)sigemptyset(&wanted);
    (void)sigaddset(&wanted, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &wanted, NULL);
    pid_t job = fork();
    if (job == 0) {
        (void)setpgid(0, 0);
        (void)tcsetpgrp(STDIN_FILENO, getpid());
        (void)signal(SIGTTOU, SIG_DFL);
        (void)sigprocmask(SIG_UNBLOCK, &wanted, NULL);
        (void)execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(99);
    }
    (void)setpgid(job, job);
    char text[32];
    (void)snprintf(text, sizeof text, "%ld", (long)job);
    actor_write(term.job, text);
    for (;;) {
        int status;
        if (waitpid(job, &status, WUNTRACED) != job) {
            _exit(98);
        }
        if (!WIFSTOPPED(status)) {
            note("ended", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
            _exit(0);
        }
        note("stopped", WSTOPSIG(status));
        (void)tcsetpgrp(STDIN_FILENO, getpid());
        int got;
        (void)sigwait(&wanted, &got);
        (void)tcsetpgrp(STDIN_FILENO, job);
        (void)kill(-job, SIGCONT);
        note("resumed", 0);
    }
}

static bool open_terminal(const char *name, const char *timeout_ms)
{
    char file[64];
    (void)snprintf(file, sizeof file, "%s.notes", name);
    term.notes = scratch(file);
    (void)snprintf(file, sizeof file, "%s.log", name);
    term.log = scratch(file);
    (void)snprintf(file, sizeof file, "%s.pid", name);
    term.pid = scratch(file);
    (void)snprintf(file, sizeof file, "%s.outcome", name);
    term.outcome = scratch(file);
    (void)snprintf(file, sizeof file, "%s.job", name);
    term.job = scratch(file);
    term.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    char terminal[128];
    if (term.master < 0 || grantpt(term.master) != 0 || unlockpt(term.master) != 0 ||
        ptsname_r(term.master, terminal, sizeof terminal) != 0) {
        sbx_test_skip("pty", "no pseudo-terminal");
        return false;
    }
    const char *argv[] = {actor_program(), "--actor", "relay",  term.outcome, timeout_ms, "0",
                          "listen",        term.pid,  term.log, NULL};
    term.shell = fork();
    if (term.shell == 0) {
        act_as_shell(terminal, argv);
    }
    return CHECK(await_pid(term.pid) > 0);
}

static void type(char key)
{
    CHECK_INT(write(term.master, &key, 1), 1);
}

static char state_of(long pid)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    const char *at = strrchr(actor_read(path), ')');
    return at == NULL ? '-' : at[2];
}

static void close_terminal(int want)
{
    char text[32];
    (void)snprintf(text, sizeof text, "ended %d\n", want);
    if (!CHECK(await_text(term.notes, text))) {
        (void)kill((pid_t)-await_pid(term.job), SIGKILL);
    }
    (void)kill(term.shell, SIGKILL);
    (void)waitpid(term.shell, NULL, 0);
    (void)close(term.master);
}

static void key_interrupts_once(void)
{
    if (!open_terminal("ctrl-c", "0")) {
        return;
    }
    type('\x03');
    CHECK(await_text(term.log, "2 "));
    struct winsize size = {.ws_row = 33, .ws_col = 77};
    CHECK_INT(ioctl(term.master, TIOCSWINSZ, &size), 0);
    CHECK(await_text(term.log, "28 "));
    actor_sleep_ms(200);
    CHECK_TEXT(actor_read(term.log), "2 28 ");
    (void)kill((pid_t)await_pid(term.pid), SIGTERM);
    close_terminal(7);
}

static void two_keys_end_it(void)
{
    if (!open_terminal("ctrl-cc", "0")) {
        return;
    }
    type('\x03');
    CHECK(await_text(term.log, "2 "));
    actor_sleep_ms(PRESS_MS);
    type('\x03');
    close_terminal(0);
    CHECK(strstr(actor_read(term.outcome), "limit=6") != NULL);
    CHECK(!actor_is_process_alive(await_pid(term.pid)));
}

static void job_control_works(void)
{
    if (!open_terminal("ctrl-z", "0")) {
        return;
    }
    long child = await_pid(term.pid);
    for (int round = 0; round < 3; round++) {
        (void)!truncate(term.notes, 0);
        (void)!truncate(term.log, 0);
        type('\x1a');
        char want[32];
        (void)snprintf(want, sizeof want, "stopped %d\n", SIGTSTP);
        CHECK(await_text(term.notes, want));
        CHECK_INT(state_of(child), 'T');
        CHECK_INT(kill(term.shell, SIGUSR1), 0);
        CHECK(await_text(term.log, "18 "));
        CHECK(state_of(child) != 'T');
        actor_sleep_ms(100);
        (void)snprintf(want, sizeof want, "stopped %d\nresumed 0\n", SIGTSTP);
        CHECK_TEXT(actor_read(term.notes), want); /* it did not stop a second time */
    }
    (void)!truncate(term.log, 0);
    type('\x03');
    CHECK(await_text(term.log, "2 "));
    (void)kill((pid_t)child, SIGTERM);
    close_terminal(7);
}

static void time_goes_on_while_stopped(void)
{
    if (!open_terminal("stopped-timeout", "1500")) {
        return;
    }
    long child = await_pid(term.pid);
    type('\x1a');
    CHECK(await_text(term.notes, "stopped"));
    for (int i = 0; i < 400 && actor_is_process_alive(child); i++) {
        actor_sleep_ms(10);
    }
    CHECK(!actor_is_process_alive(child));
    CHECK(strstr(actor_read(term.notes), "resumed") == NULL);
    CHECK_INT(kill(term.shell, SIGUSR1), 0);
    CHECK(await_text(term.outcome, "limit=1"));
    close_terminal(7); /* it was asked by TERM and has an exit code of its own */
}

static const struct sbx_test tests[] = {
    {"a signal sent to sbx reaches the child once", sent_signals_are_forwarded},
    {"two interrupts end the child that ignores them", two_interrupts_end_it},
    {"interrupts far apart are the child's own affair", slow_interrupts_do_not},
    {"a reader that does not read does not stop the time", blocked_reader_does_not_stop_time},
    {"a reader that goes away is the child's to notice", closed_reader_reaches_the_child},
    {"Ctrl-C and a new window size reach the child once", key_interrupts_once},
    {"Ctrl-C twice ends the child", two_keys_end_it},
    {"Ctrl-Z stops child and sbx, fg continues both", job_control_works},
    {"a timeout ends a child that the shell has stopped", time_goes_on_while_stopped},
};

ACTOR_TEST_MAIN("signals and terminal", tests)
