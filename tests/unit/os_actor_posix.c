/* Actors beside the test, and what only a POSIX actor can do. */
#include "tests/unit/os_actor.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/buf.h"

#include "common/base/banned.h"

extern char **environ;

long actor_pid(void)
{
    return (long)getpid();
}

void actor_sleep_ms(unsigned milliseconds)
{
    struct timespec left = {.tv_sec = milliseconds / 1000,
                            .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

bool actor_is_process_alive(long pid)
{
    return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

void actor_binary_stdout(void)
{
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

void actor_remove_tree(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- starting ------------------------------------------------------------------------------------ */

const char *const *actor_verb(int argc, char **argv)
{
    (void)argc;
    return (const char *const *)argv + 2;
}

static void redirect(int fd, const char *path)
{
    int opened = open(path == NULL ? "/dev/null" : path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (opened < 0 || dup2(opened, fd) < 0) {
        _exit(99);
    }
    (void)close(opened);
}

bool actor_start(struct actor *actor, const char *const *verb, const char *stdout_path,
                 const char *stderr_path)
{
    const char *argv[32] = {actor_program(), "--actor"};
    for (size_t i = 0; verb[i] != NULL && i + 3 < SBX_COUNT(argv); i++) {
        argv[i + 2] = verb[i];
    }
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        redirect(STDIN_FILENO, NULL);
        redirect(STDOUT_FILENO, stdout_path);
        redirect(STDERR_FILENO, stderr_path);
        (void)execve(argv[0], (char *const *)(uintptr_t)argv, environ);
        _exit(99);
    }
    actor->process = pid;
    return pid > 0;
}

int actor_wait(struct actor *actor)
{
    for (int i = 0; i < 6000; i++) {
        int status;
        pid_t pid = waitpid((pid_t)actor->process, &status, WNOHANG);
        if (pid > 0) {
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        actor_sleep_ms(10);
    }
    return -1;
}

void actor_kill(struct actor *actor)
{
    (void)kill((pid_t)actor->process, SIGKILL);
    (void)actor_wait(actor);
}

/* ---- verbs --------------------------------------------------------------------------------------- */

static void say_pid(const char *path)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%ld", actor_pid());
    actor_write(path, text);
}

static void sleep_forever(void)
{
    for (;;) {
        actor_sleep_ms(1000);
    }
}

/* stubborn FILE: ignores every signal that can be ignored */
static int verb_stubborn(const char *const *args)
{
    for (int i = 1; i < 32; i++) {
        (void)signal(i, SIG_IGN);
    }
    say_pid(args[0]);
    sleep_forever();
    return 0;
}

/* stopper FILE: stops itself, again and again */
static int verb_stopper(const char *const *args)
{
    (void)signal(SIGTERM, SIG_IGN);
    say_pid(args[0]);
    while (raise(SIGSTOP) == 0) {
    }
    return 1;
}

/* daemon FILE SLEEP-MS: leaves a grandchild in a session of its own that ignores TERM; ends after a
 * while */
static int verb_daemon(const char *const *args)
{
    if (fork() == 0) {
        (void)setsid();
        if (fork() == 0) {
            (void)signal(SIGTERM, SIG_IGN);
            say_pid(args[0]);
            sleep_forever();
        }
        _exit(0);
    }
    (void)wait(NULL);
    while (actor_read(args[0])[0] == '\0') {
        actor_sleep_ms(5);
    }
    uint64_t wait_ms = 0;
    (void)!sbx_str_to_u64(sbx_str(args[1]), &wait_ms);
    actor_sleep_ms((unsigned)wait_ms);
    return 0;
}

/* signal NUMBER: dies of it */
static int verb_signal(const char *const *args)
{
    uint64_t number = 0;
    (void)!sbx_str_to_u64(sbx_str(args[0]), &number);
    (void)signal((int)number, SIG_DFL); /* a sanitizer may have taken it */
    (void)raise((int)number);
    return 1;
}

/* env FILE, descriptors and signal dispositions: what the child was born with */
static int verb_birth(const char *const *args)
{
    AUTO_BUF all;
    sbx_buf_init(&all, 1 << 16);
    for (char **at = environ; *at != NULL; at++) {
        sbx_buf_printf(&all, "env %s\n", *at);
    }
    for (int fd = 0; fd < 4096; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            sbx_buf_printf(&all, "fd %d\n", fd);
        }
    }
    sigset_t mask;
    (void)sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int i = 1; i < 32; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN) {
            sbx_buf_printf(&all, "ignored %d\n", i);
        }
        if (sigismember(&mask, i) == 1) {
            sbx_buf_printf(&all, "blocked %d\n", i);
        }
    }
    actor_write(args[0], sbx_buf_text(&all));
    return 0;
}

static int log_fd = -1;

static void log_signal(int number)
{
    /* In a signal handler: digits by hand. */
    char text[] = {(char)('0' + number / 10), (char)('0' + number % 10), ' '};
    size_t skip = number < 10 ? 1 : 0;
    ssize_t put = write(log_fd, text + skip, sizeof text - skip);
    (void)put;
}

/* listen PIDFILE LOGFILE: logs INT TERM HUP QUIT USR1 WINCH CONT; TERM ends it with 7 */
static int verb_listen(const char *const *args)
{
    static const int numbers[] = {SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGWINCH, SIGCONT, SIGTERM};
    log_fd = open(args[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    for (size_t i = 0; i < SBX_COUNT(numbers); i++) {
        (void)signal(numbers[i], log_signal);
    }
    say_pid(args[0]);
    while (strstr(actor_read(args[1]), "15 ") == NULL) {
        struct timespec pause = {.tv_nsec = 2000000};
        (void)nanosleep(&pause, NULL);
    }
    return 7;
}

static const struct {
    const char *name;
    int (*run)(const char *const *args);
} verbs[] = {
    {"stubborn", verb_stubborn}, {"stopper", verb_stopper}, {"daemon", verb_daemon},
    {"signal", verb_signal},     {"birth", verb_birth},     {"listen", verb_listen},
};

int actor_system_verb(const char *const *verb)
{
    for (size_t i = 0; i < SBX_COUNT(verbs); i++) {
        if (sbx_text_eq(verb[0], verbs[i].name)) {
            return verbs[i].run(verb + 1);
        }
    }
    (void)fprintf(stderr, "no such verb\n");
    return 98;
}
