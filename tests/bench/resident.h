/* Programs that stay: drivers that are asked for every run, and services beside the measured commands.
 *
 * A driver measures what no start of a program can show: the cost of a call of the library. It is asked with the line
 * "run" on its standard input, runs the command of its own command line once, and answers on its standard output
 * with one line of four numbers: exit status, wall nanoseconds of the call, processor nanoseconds of the command, largest
 * resident set of the command in KiB. The command's own streams are the null device. End of input ends the driver. */
#ifndef SBX_BENCH_RESIDENT_H
#define SBX_BENCH_RESIDENT_H

#include "tests/bench/timed_run.h"

enum { BENCH_MAX_WORKERS = 16 };

/* Starts every service once and every driver once for each worker. Call it in a process that is not the one that
 * measures: that one must have no other children. On failure says what and returns false; bench_residents_stop
 * is needed in any case. */
bool bench_residents_start(const struct bench_list *list, unsigned workers);

/* One run by the driver of this case and worker. */
void bench_resident_run(const struct bench_list *list, size_t index, unsigned worker,
                        struct bench_sample *sample);

/* Closes the drivers' inputs, asks services to end (TERM, then KILL) and waits for all of them. */
void bench_residents_stop(const struct bench_list *list);

#endif
