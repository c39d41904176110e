/* What the machine does for a measurement: an idle moment, more mounts, another user. */
#ifndef SBX_BENCH_BENCH_HOST_H
#define SBX_BENCH_BENCH_HOST_H

#include <stdbool.h>
#include <stddef.h>

/* Sleeps the gap, then waits until hardly anything else runs, for at most wait_ms. False: it never was so. */
bool bench_wait_idle(unsigned gap_ms, unsigned wait_ms);

/* Enters a mount namespace of its own and mounts empty file systems below the directory until there are `count`
 * mounts. Needs root. Says on standard error what failed. */
bool bench_grow_mounts(const char *directory, unsigned count);

/* Gives up root for this user and group, for good. */
bool bench_become(unsigned user, unsigned group);

#endif
