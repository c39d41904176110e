/* What the seccomp programs cost: loading each once, and one call under them. Not part of ctest.
 *
 *     bench_seccomp */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "posix/linux_seccomp.h"

#include "common/base/banned.h"

#define RUNS 501
#define CALLS 20000

static uint64_t now_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* What a child measures under the programs it has loaded. */
typedef uint64_t measure(enum sbx_filter which);

static uint64_t load(enum sbx_filter which)
{
    uint64_t begin = now_ns();
    return sbx_filter_load(which, 0) == 0 ? now_ns() - begin : UINT64_MAX;
}

/* A box loads the first; strict goes on top; SBX_FILTER_COUNT is none. */
static uint64_t call(enum sbx_filter which)
{
    if ((which != SBX_FILTER_COUNT && sbx_filter_load(SBX_FILTER_DENY, 0) != 0) ||
        (which == SBX_FILTER_STRICT && sbx_filter_load(which, 0) != 0)) {
        return UINT64_MAX;
    }
    uint64_t begin = now_ns();
    for (unsigned i = 0; i < CALLS; i++) {
        (void)syscall(SYS_ioctl, -1, 0, 0); /* has conditions, so the whole way is walked */
    }
    return (now_ns() - begin) / (CALLS / 1000); /* picoseconds a call */
}

static uint64_t median(measure *function, enum sbx_filter which, unsigned runs, uint64_t *least)
{
    static uint64_t times[RUNS];
    for (unsigned i = 0; i < runs; i++) {
        int ends[2];
        if (pipe(ends) != 0) {
            exit(1);
        }
        pid_t pid = fork();
        if (pid == 0) {
            uint64_t took =
                prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? function(which) : UINT64_MAX;
            _exit(write(ends[1], &took, sizeof took) == (ssize_t)sizeof took ? 0 : 1);
        }
        int status = 0;
        if (read(ends[0], &times[i], sizeof times[i]) != (ssize_t)sizeof times[i] ||
            waitpid(pid, &status, 0) != pid || status != 0 || times[i] == UINT64_MAX) {
            exit(1);
        }
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
    qsort(times, runs, sizeof times[0], by_size);
    *least = times[0];
    return times[runs / 2];
}

int main(void)
{
    uint64_t least = 0;
    printf("%-12s %12s %10s %10s\n", "program", "instructions", "median us", "least us");
    for (int which = 0; which < SBX_FILTER_COUNT; which++) {
        uint64_t took = median(load, (enum sbx_filter)which, RUNS, &least);
        printf("%-12s %12u %10.1f %10.1f\n", sbx_name_text(sbx_filter_names, which),
               sbx_filter_program((enum sbx_filter)which).count, (double)took / 1e3,
               (double)least / 1e3);
    }
    static const struct {
        const char *name;
        enum sbx_filter which;
    } stacks[] = {{"no program", SBX_FILTER_COUNT},
                  {"deny", SBX_FILTER_DENY},
                  {"deny and strict", SBX_FILTER_STRICT}};
    for (size_t i = 0; i < SBX_COUNT(stacks); i++) {
        uint64_t took = median(call, stacks[i].which, 21, &least);
        printf("one ioctl under %s: median %.0f ns, least %.0f ns\n", stacks[i].name,
               (double)took / 1e3, (double)least / 1e3);
    }
    return 0;
}
