/* One timed run of one command. */
#ifndef SBX_BENCH_TIMED_RUN_H
#define SBX_BENCH_TIMED_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/bench/case_list.h"

/* How a run can go wrong before the command has a status of its own. */
enum { BENCH_CANNOT_START = 127, BENCH_SIGNAL_BASE = 128 };

struct bench_sample {
    int64_t wall_ns;   /* from before posix_spawn until wait4 returned */
    int64_t settle_ns; /* until the last orphan was gone too */
    int64_t cpu_ns;    /* user and system time of every process that this one reaped */
    int64_t rss_kb;    /* the largest resident set of a single process */
    int status;        /* as a shell tells it */
    bool left;         /* an orphan was still there when waiting for it ended */
};

int64_t bench_now_ns(void);

/* Makes this process the one that orphans of its children come to. */
bool bench_adopt_orphans(void);

/* Starts a command with three streams on the null device, or on pipes: then `streams` are what becomes its
 * standard input and output, -1 for the null device. */
pid_t bench_start(const struct bench_case *item, const int streams[2]);

/* Runs the command to its end, then waits for its orphans. Needs bench_adopt_orphans, and that this process
 * has no other children. */
void bench_run(const struct bench_case *item, struct bench_sample *sample);

#endif
