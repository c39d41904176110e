/* What a run costs through the service: against plain spawn, and how fast output comes. Not a test: it prints numbers.
 *   bench_service SOCKET [RUNS] */
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "include/sbx.h"

extern char **environ;

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Least and lower quartile are the machine's; the median is also that of whatever else it does. */
static void report(const char *what, uint64_t *ns, size_t count)
{
    qsort(ns, count, sizeof ns[0], compare);
    (void)printf("%-10s least %" PRIu64 " us, lower quartile %" PRIu64 " us, median %" PRIu64
                 " us\n",
                 what, ns[0] / 1000, ns[count / 4] / 1000, ns[count / 2] / 1000);
}

static uint64_t spawn_once(void)
{
    char *words[] = {(char *)(uintptr_t) "/bin/true", NULL};
    pid_t pid;
    uint64_t begin = now_ns();
    if (posix_spawn(&pid, words[0], NULL, NULL, words, environ) != 0) return 0;
    (void)waitpid(pid, NULL, 0);
    return now_ns() - begin;
}

static void on_event(void *state, const struct sbx_client_event *event)
{
    if (event->kind == SBX_CLIENT_STARTED && strstr(event->json, "\"warm\":true") != NULL)
        ++*(size_t *)state;
}

/* *warm is counted up when a box stood ready. With `fds` the command has the caller's own streams, as a spawned one;
 * without, its output comes back as events. */
static uint64_t run_once(struct sbx_client *client, const char *const *words, const int *fds,
                         size_t *warm)
{
    struct sbx_client_run_options options = {.argv = words,
                                             .cwd = "/",
                                             .manifest = "{\"sandbox\":{\"mode\":\"read-only\"}}",
                                             .fds = fds,
                                             .on_event = on_event,
                                             .state = warm};
    struct sbx_client_result result;
    struct sbx_client_error error;
    uint64_t begin = now_ns();
    if (sbx_client_run(client, &options, &result, &error) != 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    return now_ns() - begin;
}

static double own_cpu_s(void)
{
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void measure_output(struct sbx_client *client)
{
    static const char *const much[] = {"head", "-c", "1073741824", "/dev/zero", NULL};
    size_t warm = 0;
    double cpu_s = own_cpu_s();
    double took_s = (double)run_once(client, much, NULL, &warm) / 1e9;
    (void)printf("%-10s %.0f MB/s, client's processor %.2f s, %s\n", "output", 1073.741824 / took_s,
                 own_cpu_s() - cpu_s, warm == 1 ? "warm" : "cold");
}

static void tell_ratio(const char *what, const uint64_t *plain, const uint64_t *boxed, size_t runs)
{
    const size_t places[] = {0, runs / 4, runs / 2};
    (void)printf("%-10s least %.2f, lower quartile %.2f, median %.2f\n", what,
                 (double)boxed[places[0]] / (double)plain[places[0]],
                 (double)boxed[places[1]] / (double)plain[places[1]],
                 (double)boxed[places[2]] / (double)plain[places[2]]);
}

int main(int argc, char **argv)
{
    static const char *const nothing[] = {"/bin/true", NULL};
    enum { MOST = 10000 };
    static uint64_t plain[MOST];
    static uint64_t handed[MOST];
    static uint64_t boxed[MOST];
    /* A host thinks between its calls; and the next box is built 50 ms after a run began. */
    const struct timespec pause = {.tv_nsec = 80000000};
    const int own = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int fds[] = {own, own, own};
    size_t runs = argc > 2 ? strtoul(argv[2], NULL, 10) : 200;
    size_t warm = 0;
    struct sbx_client_error error;
    struct sbx_client_options where = {.where = SBX_CLIENT_SERVICE,
                                       .address = argc > 1 ? argv[1] : NULL};
    struct sbx_client *client = sbx_client_open(&where, &error);
    if (client == NULL || own < 0 || runs == 0 || runs > MOST) return 1;
    for (size_t i = 0; i < 10; i++) {
        (void)run_once(client, nothing, NULL, &warm);
        (void)nanosleep(&pause, NULL);
    }
    warm = 0;
    for (size_t i = 0; i < runs; i++) { /* by turns: what else the machine does hits all */
        plain[i] = spawn_once();
        (void)nanosleep(&pause, NULL);
        handed[i] = run_once(client, nothing, fds, &warm);
        (void)nanosleep(&pause, NULL);
        boxed[i] = run_once(client, nothing, NULL, &warm);
        (void)nanosleep(&pause, NULL);
    }
    report("spawn", plain, runs);
    report("own streams", handed, runs);
    report("events", boxed, runs);
    tell_ratio("own/spawn", plain, handed, runs);
    tell_ratio("ev./spawn", plain, boxed, runs);
    (void)printf("%zu of %zu runs warm\n", warm, 2 * runs);
    for (int i = 0; i < 3; i++) measure_output(client);
    sbx_client_close(client);
    return 0;
}
