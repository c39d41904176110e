/* The list of cases that run_cases measures, read from a text file.
 *
 * One word and its text per line; a line that starts with # and an empty one are skipped. The first three words open
 * an entry, the others belong to the entry above them:
 *
 *     case NAME        a command that is started for every run
 *     resident NAME    a driver that is started once and asked for every run (see resident.h)
 *     service NAME     a program that runs beside the others and is not measured
 *     cwd DIRECTORY    where it starts
 *     env NAME=VALUE   a variable on top of the program's own environment
 *     ready PATH       a service is ready when this exists
 *     arg TEXT         one word of its command line; the first is the program, by its path */
#ifndef SBX_BENCH_CASE_LIST_H
#define SBX_BENCH_CASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

enum { BENCH_MAX_CASES = 256, BENCH_MAX_WORDS = 65536, BENCH_MAX_BYTES = 4 << 20 };

enum bench_kind { BENCH_CASE, BENCH_RESIDENT, BENCH_SERVICE };

struct bench_case {
    enum bench_kind kind;
    const char *name;
    const char *cwd;   /* NULL: where run_cases was started */
    const char *ready; /* NULL: at once */
    char **argv;
    char **envp;
};

struct bench_list {
    size_t count;
    struct bench_case cases[BENCH_MAX_CASES];
};

/* Fills the list from a file. The texts belong to the list and stay. Says on standard error what is wrong. */
bool bench_list_read(const char *path, struct bench_list *list);

#endif
