/* What a run costs through the service: against plain spawn, and how fast output comes. Not a test: it prints numbers.
 *   bench_service SOCKET [RUNS] */
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
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

static void report(const char *what, uint64_t *ns, size_t count)
{
    qsort(ns, count, sizeof ns[0], compare);
    (void)printf("%-10s median %" PRIu64 " us, least %" PRIu64 " us\n", what, ns[count / 2] / 1000,
                 ns[0] / 1000);
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

static uint64_t run_once(struct sbx_client *client, const char *const *words)
{
    struct sbx_client_run_options options = {
        .argv = words, .cwd = "/", .manifest = "{\"sandbox\":{\"mode\":\"read-only\"}}"};
    struct sbx_client_result result;
    struct sbx_client_error error;
    uint64_t begin = now_ns();
    if (sbx_client_run(client, &options, &result, &error) != 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    return now_ns() - begin;
}

int main(int argc, char **argv)
{
    static const char *const nothing[] = {"/bin/true", NULL};
    static const char *const much[] = {"head", "-c", "1073741824", "/dev/zero", NULL};
    enum { MOST = 10000 };
    static uint64_t ns[MOST];
    const struct timespec pause = {.tv_nsec = 30000000};
    size_t runs = argc > 2 ? strtoul(argv[2], NULL, 10) : 200;
    struct sbx_client_error error;
    struct sbx_client_options where = {.where = SBX_CLIENT_SERVICE,
                                       .address = argc > 1 ? argv[1] : NULL};
    struct sbx_client *client = sbx_client_open(&where, &error);
    if (client == NULL || runs == 0 || runs > MOST) return 1;
    for (size_t i = 0; i < runs; i++) ns[i] = spawn_once();
    report("spawn", ns, runs);
    for (size_t i = 0; i < 10; i++) {
        (void)run_once(client, nothing);
        (void)nanosleep(&pause, NULL);
    }
    for (size_t i = 0; i < runs; i++) {
        ns[i] = run_once(client, nothing);
        (void)nanosleep(&pause, NULL); /* a host thinks between its calls */
    }
    report("service", ns, runs);
    uint64_t took = run_once(client, much);
    (void)printf("%-10s %.0f MB/s\n", "output", 1073.741824 / ((double)took / 1e9));
    sbx_client_close(client);
    return 0;
}
