/* Measures commands in turns: every round runs every case once, in an order that is rotated from round to round, so that
 * a machine that gets slower meanwhile, and whatever else it does, hits all of them alike.
 *
 *     run_cases [-n ROUNDS] [-w WARM-UPS] [-g GAP-MS] [-i IDLE-MS] [-u UID:GID] [-m MOUNTS -d DIRECTORY]
 *               [-j WORKERS -t MILLISECONDS] FILE
 *
 * With -j it counts instead how often WORKERS processes can run a case in that time, one case after the other.
 * FILE is described in case_list.h. Output, with tabs between the fields:
 *
 *     sample      ROUND CASE WALL-NS SETTLE-NS CPU-NS RSS-KB STATUS IDLE LEFT
 *     throughput  ROUND CASE WORKERS RUNS FAILED ELAPSED-NS
 *
 * CASE is the name. Warm-ups have negative rounds. IDLE is 0 when the machine was busy at the start, LEFT is 1
 * when something of the command stayed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/bench_host.h"
#include "tests/bench/case_list.h"
#include "tests/bench/resident.h"
#include "tests/bench/timed_run.h"

#include "common/base/banned.h"

struct settings {
    unsigned rounds, warmups, gap_ms, idle_ms, mounts, workers, slice_ms;
    unsigned user, group;
    bool change_user;
    const char *mount_directory;
    const char *file;
};

static struct bench_list list;

static void run_one(size_t index, unsigned worker, struct bench_sample *sample)
{
    if (list.cases[index].kind == BENCH_RESIDENT) {
        bench_resident_run(&list, index, worker, sample);
    } else {
        bench_run(&list.cases[index], sample);
    }
}

static void measure_rounds(const struct settings *settings)
{
    int first = -(int)settings->warmups;
    for (int round = first; round < (int)settings->rounds; round++) {
        for (size_t k = 0; k < list.count; k++) {
            size_t index = (k + (size_t)(round - first)) % list.count;
            if (list.cases[index].kind == BENCH_SERVICE) continue;
            struct bench_sample sample;
            bool idle = bench_wait_idle(settings->gap_ms, round < 0 ? 0 : settings->idle_ms);
            run_one(index, 0, &sample);
            printf("sample\t%d\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64
                   "\t%d\t%d\t%d\n",
                   round, list.cases[index].name, sample.wall_ns, sample.settle_ns, sample.cpu_ns,
                   sample.rss_kb, sample.status, idle, sample.left);
        }
        (void)fflush(stdout);
    }
}

struct tally {
    uint64_t runs, failed;
};

static void work(size_t index, unsigned worker, int64_t until, struct tally *tally)
{
    if (!bench_adopt_orphans()) _exit(1);
    while (bench_now_ns() < until) {
        struct bench_sample sample;
        run_one(index, worker, &sample);
        tally->runs++;
        tally->failed += sample.status != 0;
    }
    _exit(0);
}

/* Workers are processes: what one of them waits for are its own orphans. */
static bool count_runs(const struct settings *settings, size_t index, unsigned round,
                       struct tally *tallies)
{
    struct tally total = {0};
    bool all_ended = true;
    (void)bench_wait_idle(settings->gap_ms, settings->idle_ms);
    int64_t begin = bench_now_ns();
    for (unsigned k = 0; k < settings->workers; k++) {
        tallies[k] = (struct tally){0};
        pid_t pid = fork();
        if (pid == 0) work(index, k, begin + settings->slice_ms * INT64_C(1000000), &tallies[k]);
        all_ended = pid > 0 && all_ended;
    }
    int status = 0;
    for (pid_t pid = wait(&status); pid > 0 || errno == EINTR; pid = wait(&status)) {
        all_ended = (pid < 0 || status == 0) && all_ended;
    }
    int64_t elapsed = bench_now_ns() - begin;
    for (unsigned k = 0; k < settings->workers; k++) {
        total.runs += tallies[k].runs;
        total.failed += tallies[k].failed;
    }
    printf("throughput\t%u\t%s\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRId64 "\n", round,
           list.cases[index].name, settings->workers, total.runs, total.failed, elapsed);
    (void)fflush(stdout);
    return all_ended;
}

static bool measure_throughput(const struct settings *settings)
{
    struct tally *tallies = mmap(NULL, BENCH_MAX_WORKERS * sizeof *tallies, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool all_ended = tallies != MAP_FAILED;
    for (unsigned round = 0; all_ended && round < settings->rounds; round++) {
        for (size_t k = 0; k < list.count; k++) {
            size_t index = (k + round) % list.count;
            if (list.cases[index].kind == BENCH_SERVICE) continue;
            all_ended = count_runs(settings, index, round, tallies) && all_ended;
        }
    }
    return all_ended;
}

/* Drivers and services are siblings of the process that measures, so that it waits for runs alone. */
static bool measure(const struct settings *settings)
{
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        bool done = bench_adopt_orphans();
        if (done && settings->workers > 0) {
            done = measure_throughput(settings);
        } else if (done) {
            measure_rounds(settings);
        }
        (void)fflush(stdout);
        _exit(done ? 0 : 1);
    }
    int status = 1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return pid > 0 && status == 0;
}

static bool number(const char *text, unsigned *out, char end_with, const char **rest)
{
    char *end = NULL;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != end_with || value > INT32_MAX) return false;
    *out = (unsigned)value;
    if (rest != NULL) *rest = end + 1;
    return true;
}

static bool read_options(int argc, char **argv, struct settings *settings)
{
    bool good = true;
    for (int option = getopt(argc, argv, "n:w:g:i:u:m:d:j:t:"); good && option >= 0;
         option = getopt(argc, argv, "n:w:g:i:u:m:d:j:t:")) {
        const char *group = NULL;
        switch (option) {
        case 'n':
            good = number(optarg, &settings->rounds, '\0', NULL);
            break;
        case 'w':
            good = number(optarg, &settings->warmups, '\0', NULL);
            break;
        case 'g':
            good = number(optarg, &settings->gap_ms, '\0', NULL);
            break;
        case 'i':
            good = number(optarg, &settings->idle_ms, '\0', NULL);
            break;
        case 'm':
            good = number(optarg, &settings->mounts, '\0', NULL);
            break;
        case 'd':
            settings->mount_directory = optarg;
            break;
        case 'j':
            good = number(optarg, &settings->workers, '\0', NULL);
            break;
        case 't':
            good = number(optarg, &settings->slice_ms, '\0', NULL);
            break;
        case 'u':
            settings->change_user = true;
            good = number(optarg, &settings->user, ':', &group) &&
                   number(group, &settings->group, '\0', NULL);
            break;
        default:
            good = false;
        }
    }
    if (optind + 1 == argc) settings->file = argv[optind];
    return good && settings->file != NULL && settings->workers <= BENCH_MAX_WORKERS &&
           (settings->mounts == 0 || settings->mount_directory != NULL);
}

int main(int argc, char **argv)
{
    struct settings settings = {
        .rounds = 20, .warmups = 3, .gap_ms = 10, .idle_ms = 200, .slice_ms = 1000};
    if (!read_options(argc, argv, &settings)) {
        (void)fprintf(
            stderr,
            "usage: run_cases [-n ROUNDS] [-w WARM-UPS] [-g GAP-MS] [-i IDLE-MS] [-u UID:GID]\n"
            "           [-m MOUNTS -d DIRECTORY] [-j WORKERS -t MILLISECONDS] FILE\n");
        return 2;
    }
    if (!bench_list_read(settings.file, &list)) return 2;
    if (settings.mounts > 0 && !bench_grow_mounts(settings.mount_directory, settings.mounts))
        return 3;
    if (settings.change_user && !bench_become(settings.user, settings.group)) return 3;
    bool done = bench_residents_start(&list, settings.workers > 0 ? settings.workers : 1) &&
                measure(&settings);
    bench_residents_stop(&list);
    return done ? 0 : 1;
}
