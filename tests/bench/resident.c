/* Drivers and services: started before the measurements, stopped after them. */
#include "tests/bench/resident.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/banned.h"

enum { READY_WAIT_MS = 10000, ANSWER_WAIT_MS = 60000, STOP_WAIT_MS = 2000, STEP_MS = 10 };

struct resident {
    pid_t pid; /* 0: none */
    int ask;
    int answer;
};

static struct resident residents[BENCH_MAX_CASES][BENCH_MAX_WORKERS];

static bool start_driver(const struct bench_case *item, struct resident *driver)
{
    int input[2];
    int output[2];
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) {
        perror("run_cases: pipe2");
        return false;
    }
    const int streams[2] = {input[0], output[1]};
    pid_t pid = bench_start(item, streams);
    (void)close(input[0]);
    (void)close(output[1]);
    *driver = (struct resident){.pid = pid > 0 ? pid : 0, .ask = input[1], .answer = output[0]};
    return pid > 0;
}

static bool start_service(const struct bench_case *item, struct resident *service)
{
    static const int streams[2] = {-1, -1};
    /* A socket that an earlier service left would look ready, and be in the way. */
    if (item->ready != NULL) (void)unlink(item->ready);
    pid_t pid = bench_start(item, streams);
    *service = (struct resident){.pid = pid > 0 ? pid : 0, .ask = -1, .answer = -1};
    for (int waited = 0; pid > 0 && item->ready != NULL && access(item->ready, F_OK) != 0;
         waited += STEP_MS) {
        if (waited > READY_WAIT_MS || waitpid(pid, NULL, WNOHANG) == pid) {
            (void)fprintf(stderr, "run_cases: %s: did not get ready\n", item->name);
            return false;
        }
        (void)poll(NULL, 0, STEP_MS);
    }
    return pid > 0;
}

bool bench_residents_start(const struct bench_list *list, unsigned workers)
{
    (void)signal(SIGPIPE, SIG_IGN); /* a driver that ended is an answer too */
    for (size_t i = 0; i < list->count; i++) {
        const struct bench_case *item = &list->cases[i];
        if (item->kind == BENCH_SERVICE && !start_service(item, &residents[i][0])) return false;
        for (unsigned k = 0; item->kind == BENCH_RESIDENT && k < workers; k++) {
            if (!start_driver(item, &residents[i][k])) return false;
        }
    }
    return true;
}

/* The line that a driver answers with, without its end; false when it ended or says nothing. */
static bool read_answer(int fd, char *line, size_t size)
{
    size_t length = 0;
    while (length < size - 1) {
        struct pollfd wait_for = {.fd = fd, .events = POLLIN};
        int ready = poll(&wait_for, 1, ANSWER_WAIT_MS);
        if (ready < 0 && errno == EINTR) continue;
        ssize_t got = ready > 0 ? read(fd, line + length, size - 1 - length) : -1;
        if (got <= 0) return false;
        length += (size_t)got;
        if (line[length - 1] == '\n') {
            line[length - 1] = '\0';
            return true;
        }
    }
    return false;
}

void bench_resident_run(const struct bench_list *list, size_t index, unsigned worker,
                        struct bench_sample *sample)
{
    const struct resident *driver = &residents[index][worker];
    char line[128];
    int64_t numbers[4];
    *sample = (struct bench_sample){.status = BENCH_CANNOT_START};
    int64_t begin = bench_now_ns();
    if (write(driver->ask, "run\n", 4) != 4 || !read_answer(driver->answer, line, sizeof line)) {
        (void)fprintf(stderr, "run_cases: %s: no answer\n", list->cases[index].name);
        return;
    }
    sample->settle_ns = bench_now_ns() - begin;
    char *at = line;
    for (size_t i = 0; i < 4; i++) {
        char *end = at;
        errno = 0;
        numbers[i] = strtoimax(at, &end, 10);
        if (end == at || errno != 0 || numbers[i] < 0) {
            (void)fprintf(stderr, "run_cases: %s: cannot read its answer \"%s\"\n",
                          list->cases[index].name, line);
            return;
        }
        at = end;
    }
    sample->status = (int)(numbers[0] & 0xff);
    sample->wall_ns = numbers[1];
    sample->cpu_ns = numbers[2];
    sample->rss_kb = numbers[3];
}

static void stop_one(struct resident *resident)
{
    if (resident->ask >= 0) (void)close(resident->ask);
    if (resident->answer >= 0) (void)close(resident->answer);
    if (resident->ask < 0) (void)kill(resident->pid, SIGTERM);
    for (int waited = 0; waitpid(resident->pid, NULL, WNOHANG) == 0; waited += STEP_MS) {
        if (waited > STOP_WAIT_MS) (void)kill(resident->pid, SIGKILL);
        (void)poll(NULL, 0, STEP_MS);
    }
    resident->pid = 0;
}

void bench_residents_stop(const struct bench_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        for (unsigned k = 0; k < BENCH_MAX_WORKERS; k++) {
            if (residents[i][k].pid > 0) stop_one(&residents[i][k]);
        }
    }
}
