/* Plain children on Linux: nothing of a tree survives its end, and a child is born with exactly what
 * it was given. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fd.h"
#include "posix/linux_tree.h"
#include "tests/check.h"
#include "tests/unit/os_actor.h"

#include "common/base/banned.h"

#define MS UINT64_C(1000000)
#define RUN_FOREVER "600000"

static struct sbx_err err;

static long pid_in(const char *path)
{
    uint64_t pid = 0;
    (void)!sbx_str_to_u64(sbx_str(actor_read(path)), &pid);
    return (long)pid;
}

/* Waits until an actor has written its pid. */
static long await_pid(const char *path)
{
    for (int i = 0; i < 1000 && pid_in(path) == 0; i++) {
        actor_sleep_ms(10);
    }
    return pid_in(path);
}

static bool await_death(long pid)
{
    for (int i = 0; i < 500 && actor_is_process_alive(pid); i++) {
        actor_sleep_ms(10);
    }
    return !actor_is_process_alive(pid);
}

/* ---- the whole tree ------------------------------------------------------------------------ */

/* Runs a verb that does not end by itself for half a second. */
static void check_timeout(const char *const *verb, const char *pid_file)
{
    struct sbx_outcome outcome = {0};
    uint64_t begin = sbx_os_monotonic_ns();
    CHECK_CODE(actor_run(verb, 500 * MS, 0, &outcome, &err), SBX_OK, &err);
    uint64_t took = sbx_os_monotonic_ns() - begin;
    CHECK_INT(outcome.limit, SBX_LIMIT_TIMEOUT);
    CHECK(took >= 500 * MS && took < 2500 * MS);
    long pid = pid_in(pid_file);
    CHECK(pid > 0);
    CHECK(!actor_is_process_alive(pid));
}

static void timeout_ends_the_stubborn(void)
{
    const char *file = scratch("stubborn");
    check_timeout((const char *[]){"stubborn", file, NULL}, file);
}

static void timeout_ends_the_stopped(void)
{
    const char *file = scratch("stopper");
    check_timeout((const char *[]){"stopper", file, NULL}, file);
}

static void timeout_ends_the_daemon(void)
{
    const char *file = scratch("daemon");
    check_timeout((const char *[]){"daemon", file, RUN_FOREVER, NULL}, file);
}

static void end_takes_the_daemon(void)
{
    struct sbx_outcome outcome = {0};
    const char *file = scratch("orphan");
    CHECK_CODE(actor_run((const char *[]){"daemon", file, "0", NULL}, 0, 0, &outcome, &err), SBX_OK,
               &err);
    CHECK_U64(outcome.exit_code, 0);
    CHECK_INT(outcome.limit, SBX_LIMIT_NONE);
    CHECK(pid_in(file) > 0);
    CHECK(!actor_is_process_alive(pid_in(file)));
}

/* The control of the cases above: without sbx the daemon does outlive its parent. */
static void daemon_outlives_without_sbx(void)
{
    struct actor actor;
    const char *file = scratch("control");
    CHECK(actor_start(&actor, (const char *[]){"daemon", file, "0", NULL}, NULL, NULL));
    CHECK_INT(actor_wait(&actor), 0);
    long pid = pid_in(file);
    CHECK(pid > 0);
    CHECK(actor_is_process_alive(pid));
    if (pid > 0) {
        (void)kill((pid_t)pid, SIGKILL);
    }
}

/* Processes of the machine that were started with this variable. */
static size_t count_marked(const char *mark)
{
    size_t count = 0;
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        char path[300];
        char text[4096];
        (void)snprintf(path, sizeof path, "/proc/%s/environ", entry->d_name);
        int fd = sbx_is_digit(entry->d_name[0]) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text);
        count += got > 0 && memmem(text, (size_t)got, mark, strlen(mark)) != NULL;
        sbx_fd_close(&fd);
    }
    if (proc != NULL) {
        (void)closedir(proc);
    }
    return count;
}

static char mark[512];
static size_t most_marked;

static void *watch_marked(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10; i++) {
        actor_sleep_ms(50);
        size_t now = count_marked(mark);
        most_marked = now > most_marked ? now : most_marked;
    }
    return NULL;
}

static void many_generations_end(void)
{
    const char *script = "n=$1; [ \"$n\" -gt 0 ] || exec sleep 600; "
                         "setsid sh \"$0\" $((n - 1)) & setsid sh \"$0\" $((n - 1)) & wait";
    CHECK_CODE(sbx_os_write_new(scratch("spread"), sbx_str(script), &err), SBX_OK, &err);
    (void)snprintf(mark, sizeof mark, "MARK=%s", scratch("spread"));
    struct sbx_plain_run run = {
        .program = "/bin/sh",
        .argv = (const char *[]){"sh", scratch("spread"), "5", NULL},
        .env = (const char *[]){"PATH=/usr/bin:/bin", mark, NULL},
        .timeout_ns = 1000 * MS,
    };
    struct sbx_outcome outcome = {0};
    pthread_t watcher;
    CHECK_INT(pthread_create(&watcher, NULL, watch_marked, NULL), 0);
    uint64_t begin = sbx_os_monotonic_ns();
    CHECK_CODE(sbx_os_run_plain(&run, &outcome, &err), SBX_OK, &err);
    CHECK_INT(outcome.limit, SBX_LIMIT_TIMEOUT);
    CHECK(sbx_os_monotonic_ns() - begin < 4000 * MS);
    CHECK_U64(count_marked(mark), 0);
    (void)pthread_join(watcher, NULL);
    CHECK(most_marked >= 32); /* the control: they were there */
}

static void death_of_sbx_ends_the_tree(void)
{
    struct actor sbx;
    const char *child = scratch("victim");
    CHECK(actor_start(
        &sbx,
        (const char *[]){"relay", scratch("unused"), "0", "0", "daemon", child, RUN_FOREVER, NULL},
        NULL, NULL));
    long pid = await_pid(child);
    CHECK(pid > 0 && actor_is_process_alive(pid));
    actor_kill(&sbx);
    CHECK(await_death(pid));
}

static void both_ways_find_the_same(void)
{
    static struct sbx_tree listed;
    static struct sbx_tree scanned;
    pid_t children[3];
    for (size_t i = 0; i < SBX_COUNT(children); i++) {
        children[i] = fork();
        if (children[i] == 0) {
            actor_sleep_ms(60000);
            _exit(0);
        }
    }
    if (!sbx_tree_add_listed(&listed, getpid())) {
        sbx_test_skip("proc-children", "a kernel without lists of children");
    }
    CHECK(sbx_tree_add_scanned(&scanned, getpid()));
    CHECK_U64(scanned.count, SBX_COUNT(children));
    CHECK_U64(listed.count, SBX_COUNT(children));
    for (size_t i = 0; i < SBX_COUNT(children); i++) {
        CHECK_INT(sbx_tree_parent_of(children[i]), getpid());
        (void)kill(children[i], SIGKILL);
        (void)waitpid(children[i], NULL, 0);
    }
}

/* ---- birth --------------------------------------------------------------------------------- */

static const char *birth_with(const char *const *env)
{
    const char *file = scratch("birth");
    (void)unlink(file);
    const char *argv[] = {actor_program(), "--actor", "birth", file, NULL};
    struct sbx_plain_run run = {.program = actor_program(), .argv = argv, .env = env};
    struct sbx_outcome outcome;
    CHECK_CODE(sbx_os_run_plain(&run, &outcome, &err), SBX_OK, &err);
    return actor_read(file);
}

static void birth_is_exact(void)
{
    /* Inheritable on purpose, the last far above any list of small numbers. */
    int leaks[] = {dup(STDOUT_FILENO), open("/dev/null", O_RDONLY),
                   fcntl(STDOUT_FILENO, F_DUPFD, 900)};
    for (size_t i = 0; i < SBX_COUNT(leaks); i++) {
        CHECK(leaks[i] > STDERR_FILENO);
    }
    (void)setenv("SECRET", "must not pass", 1);
    CHECK_TEXT(birth_with((const char *[]){"B=2", "A=", "B=2", "EQ==", "U=\xc3\xa4", NULL}),
               "env B=2\nenv A=\nenv B=2\nenv EQ==\nenv U=\xc3\xa4\nfd 0\nfd 1\nfd 2\n");
    CHECK_TEXT(birth_with((const char *[]){NULL}), "fd 0\nfd 1\nfd 2\n");
    for (size_t i = 0; i < SBX_COUNT(leaks); i++) {
        CHECK_INT(fcntl(leaks[i], F_GETFD), 0); /* the control: here they are open */
        (void)close(leaks[i]);
    }
}

static void ignored_stays_ignored(void)
{
    sigset_t usr2;
    (void)sigemptyset(&usr2);
    (void)sigaddset(&usr2, SIGUSR2);
    void (*before)(int) = signal(SIGHUP, SIG_IGN);
    (void)sigprocmask(SIG_BLOCK, &usr2, NULL);
    char want[128];
    (void)snprintf(want, sizeof want, "fd 0\nfd 1\nfd 2\nignored %d\nblocked %d\n", SIGHUP,
                   SIGUSR2);
    CHECK_TEXT(birth_with((const char *[]){NULL}), want);
    (void)signal(SIGHUP, before);
    (void)sigprocmask(SIG_UNBLOCK, &usr2, NULL);
}

static void own_signals_come_back(void)
{
    struct sigaction action;
    (void)!birth_with((const char *[]){NULL})[0];
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCHLD, SIGWINCH};
    for (size_t i = 0; i < SBX_COUNT(numbers); i++) {
        CHECK_INT(sigaction(numbers[i], NULL, &action), 0);
        CHECK(action.sa_handler == SIG_DFL);
    }
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1); /* no child of ours is left */
    CHECK_INT(errno, ECHILD);
}

static void signals_are_told(void)
{
    static const int numbers[] = {SIGKILL, SIGTERM, SIGSEGV, SIGPIPE, SIGABRT, SIGINT};
    struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    for (size_t i = 0; i < SBX_COUNT(numbers); i++) {
        char text[8];
        (void)snprintf(text, sizeof text, "%d", numbers[i]);
        struct sbx_outcome outcome = {0};
        CHECK_CODE(actor_run((const char *[]){"signal", text, NULL}, 0, 0, &outcome, &err), SBX_OK,
                   &err);
        CHECK_INT(outcome.signal, numbers[i]);
        CHECK_INT(outcome.limit, SBX_LIMIT_NONE);
        CHECK_INT(outcome.origin, SBX_FROM_COMMAND);
    }
}

static void account_is_kept(void)
{
    const char *argv[] = {"sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done", NULL};
    struct sbx_plain_run run = {.program = "/bin/sh", .argv = argv, .env = (const char *[]){NULL}};
    struct sbx_outcome outcome = {0};
    CHECK_CODE(sbx_os_run_plain(&run, &outcome, &err), SBX_OK, &err);
    CHECK(outcome.cpu_ns > 10 * MS);
    CHECK(outcome.cpu_ns <= outcome.wall_ns + 50 * MS);
    CHECK(outcome.peak_memory_bytes > UINT64_C(512000));
    CHECK(outcome.peak_memory_bytes < UINT64_C(1) << 32);
}

/* ---- programs that cannot run -------------------------------------------------------------- */

static enum sbx_code try_program(const char *name, const char *content, mode_t mode)
{
    const char *path = scratch(name);
    CHECK_CODE(sbx_os_write_new(path, sbx_str(content), &err), SBX_OK, &err);
    CHECK_INT(chmod(path, mode), 0);
    struct sbx_plain_run run = {
        .program = path,
        .argv = (const char *[]){path, NULL},
        .env = (const char *[]){NULL},
    };
    struct sbx_outcome outcome;
    return sbx_os_run_plain(&run, &outcome, &err);
}

static void broken_programs_say_why(void)
{
    CHECK_CODE(try_program("p1", "#!/no/such/interpreter -x\n", 0700), SBX_E_NOT_FOUND, &err);
    CHECK(strstr(err.text, "\"/no/such/interpreter\"") != NULL);
    CHECK_INT(err.raw, ENOENT);
    CHECK_CODE(try_program("p2", "#!/bin/sh\r\nexit 0\r\n", 0700), SBX_E_NOT_FOUND, &err);
    CHECK(strstr(err.hint, "Windows line ends") != NULL);
    char command[512];
    (void)snprintf(command, sizeof command, "touch '%s'\n", scratch("ran-by-sh"));
    CHECK_CODE(try_program("p3", command, 0700), SBX_E_DENIED, &err);
    CHECK_INT(err.raw, ENOEXEC);
    CHECK(access(scratch("ran-by-sh"), F_OK) != 0);
    CHECK_CODE(try_program("p4", "#!/bin/sh\n", 0600), SBX_E_DENIED, &err);
    CHECK_INT(err.raw, EACCES);
    CHECK_CODE(try_program("p5", "#!/bin/sh\nexit 9\n", 0700), SBX_OK, &err);
}

static void search_path_is_obeyed(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 18);
    struct sbx_path found;
    char list[2048];
    actor_write(scratch("first/tool"), "#!/bin/sh\n");
    actor_write(scratch("second/tool"), "#!/bin/sh\n");
    CHECK_INT(chmod(scratch("second/tool"), 0700), 0);
    (void)snprintf(list, sizeof list, ":.:relative:%s:%s", scratch("first"), scratch("second"));
    /* One that may not be executed does not hide one that may. */
    CHECK_CODE(sbx_os_find_program(&arena, "tool", list, &found, &err), SBX_OK, &err);
    CHECK_TEXT(found.text, scratch("second/tool"));
    CHECK_CODE(sbx_os_find_program(&arena, "tool", scratch("first"), &found, &err), SBX_E_DENIED,
               &err);
    /* The current directory is never searched. */
    AUTO_FD before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK_INT(chdir(scratch("second")), 0);
    CHECK_CODE(sbx_os_find_program(&arena, "tool", ":.:", &found, &err), SBX_E_NOT_FOUND, &err);
    CHECK_CODE(sbx_os_find_program(&arena, "./tool", "", &found, &err), SBX_OK, &err);
    CHECK_STR(sbx_path_name(found), "tool");
    CHECK_CODE(sbx_os_find_program(&arena, "../second/tool", "", &found, &err), SBX_OK, &err);
    CHECK(strstr(found.text, "..") == NULL);
    CHECK_INT(fchdir(before), 0);
    CHECK_CODE(sbx_os_find_program(&arena, "sh", NULL, &found, &err), SBX_OK, &err);
}

static const struct sbx_test tests[] = {
    {"a timeout ends a child that ignores every signal", timeout_ends_the_stubborn},
    {"a timeout ends a child that stops itself", timeout_ends_the_stopped},
    {"a timeout ends a daemon of the child", timeout_ends_the_daemon},
    {"the end of the child is the end of its daemons", end_takes_the_daemon},
    {"without sbx the daemon lives on", daemon_outlives_without_sbx},
    {"a tree of many sessions ends whole", many_generations_end},
    {"when sbx is killed, the tree dies", death_of_sbx_ends_the_tree},
    {"children are found with and without the kernel's list", both_ways_find_the_same},
    {"a child gets exactly its environment and three descriptors", birth_is_exact},
    {"a child keeps what the caller ignored or blocked", ignored_stays_ignored},
    {"after a run sbx's own signals are as before", own_signals_come_back},
    {"the signal that ended a child is told", signals_are_told},
    {"time and memory of the child are told", account_is_kept},
    {"a program that cannot run says why and nothing runs", broken_programs_say_why},
    {"the search path is obeyed and never includes where one stands", search_path_is_obeyed},
};

ACTOR_TEST_MAIN("process trees on linux", tests)
