/* Starts a command the way a program that uses sbx would (posix_spawn, which is vfork inside), and takes its time.
 * Nothing is allocated and nothing is printed between the two looks at the clock. */
#include "tests/bench/timed_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/banned.h"

enum { ORPHAN_WAIT_MS = 3000, ORPHAN_WAIT_AGAIN_MS = 20, TICK_US = 10000 };

int64_t bench_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A handler that does nothing, installed without SA_RESTART: it ends a wait4 that would last too long. */
static void tick(int signal_number)
{
    (void)signal_number;
}

bool bench_adopt_orphans(void)
{
    struct sigaction action = {.sa_handler = tick};
    return sigaction(SIGALRM, &action, NULL) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

pid_t bench_start(const struct bench_case *item, const int streams[2])
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t defaults;
    pid_t pid = -1;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)sigemptyset(&none);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    /* This process ignores it while it talks to drivers; a command must not. */
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGPIPE);
    (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    for (int fd = 0; fd < 3; fd++) {
        if (fd < 2 && streams[fd] >= 0) {
            (void)posix_spawn_file_actions_adddup2(&actions, streams[fd], fd);
        } else {
            (void)posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
        }
    }
    if (item->cwd != NULL) (void)posix_spawn_file_actions_addchdir_np(&actions, item->cwd);
    int failure = posix_spawn(&pid, item->argv[0], &actions, &attributes, item->argv, item->envp);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) {
        (void)fprintf(stderr, "run_cases: %s: %s: %s\n", item->name, item->argv[0],
                      strerror(failure));
        return -1;
    }
    return pid;
}

static int64_t time_ns(const struct timeval *value)
{
    return (int64_t)value->tv_sec * 1000000000 + (int64_t)value->tv_usec * 1000;
}

/* What wait4 tells of a process includes the children it waited for itself. */
static void account(struct bench_sample *sample, const struct rusage *usage)
{
    sample->cpu_ns += time_ns(&usage->ru_utime) + time_ns(&usage->ru_stime);
    if (usage->ru_maxrss > sample->rss_kb) sample->rss_kb = usage->ru_maxrss;
}

/* Reaps what the command left: an init of a namespace that is being torn down, a proxy. What does not end in
 * time is waited for only shortly after later runs. */
static void reap_orphans(struct bench_sample *sample)
{
    static bool seen_staying;
    int64_t limit =
        bench_now_ns() + (seen_staying ? ORPHAN_WAIT_AGAIN_MS : ORPHAN_WAIT_MS) * INT64_C(1000000);
    const struct itimerval on = {{0, TICK_US}, {0, TICK_US}};
    const struct itimerval off = {{0, 0}, {0, 0}};
    bool timed = false;
    for (;;) {
        struct rusage usage;
        int status = 0;
        pid_t pid = wait4(-1, &status, timed ? 0 : WNOHANG, &usage);
        if (pid > 0) {
            account(sample, &usage);
        } else if (pid < 0 && errno == ECHILD) {
            break;
        } else if (bench_now_ns() > limit) {
            sample->left = true;
            seen_staying = true;
            break;
        } else if (!timed) {
            timed = setitimer(ITIMER_REAL, &on, NULL) == 0;
        }
    }
    if (timed) (void)setitimer(ITIMER_REAL, &off, NULL);
}

void bench_run(const struct bench_case *item, struct bench_sample *sample)
{
    static const int streams[2] = {-1, -1};
    struct rusage usage = {0};
    int status = 0;
    *sample = (struct bench_sample){.status = BENCH_CANNOT_START};
    int64_t begin = bench_now_ns();
    pid_t pid = bench_start(item, streams);
    if (pid < 0) return;
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    sample->wall_ns = bench_now_ns() - begin;
    sample->status = WIFEXITED(status) ? WEXITSTATUS(status) : BENCH_SIGNAL_BASE + WTERMSIG(status);
    account(sample, &usage);
    reap_orphans(sample);
    sample->settle_ns = bench_now_ns() - begin;
}
