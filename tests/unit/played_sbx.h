/* A self-test whose sbx is the test program itself: as `run` it starts the command without any box and writes the outcome
 * that the test asks for, as `workspace` it keeps a list in a file, as `selftest --probe` it tries what it is told. So
 * what the cases of win/ make of an answer is tested, with real processes, where no box can be. */
#ifndef SBX_TESTS_UNIT_PLAYED_SBX_H
#define SBX_TESTS_UNIT_PLAYED_SBX_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/check.h"
#include "win/selftest.h"

/* What the program plays from now on; each lasts until it is set again. */
enum played_run {
    PLAY_PLAIN,   /* starts the command, and tells its exit code */
    PLAY_REFUSAL, /* no box can be had here */
    PLAY_FAILURE, /* sbx fails, as by a check of its own */
    PLAY_BROKEN,  /* starts the command, whose exit code is another one */
};
void played_run(enum played_run play);

enum played_workspace {
    PLAY_LISTS,   /* has the roots of earlier runs until they are removed */
    PLAY_FORGETS, /* does not have them from the start */
    PLAY_KEEPS,   /* says that they are removed, and has them still */
    PLAY_FAILS,   /* removes nothing and says so */
    PLAY_UNKNOWN, /* has no such subcommand */
};
void played_workspace(enum played_workspace play);

/* PLAY_PLAIN, PLAY_LISTS, and nothing was asked before. */
void played_well(void);

/* The opened self-test of this program. */
struct sbx_selftest *played(void);

/* Carries a row out as sbx selftest does; checks the verdict and that the evidence has this text. */
void played_check(const struct sbx_selftest_case *row, const char *verdict, const char *evidence);
/* The case of this name: "tools.cmd". */
const struct sbx_selftest_case *played_find(const char *id);

/* The same with another attempt. */
struct sbx_selftest_case played_row(const char *id, const char *attempt);

/* A path below {root}; valid until the next call. */
const char *played_path(const char *name);
/* Another value for a place. */
void played_place(const char *name, const char *value);

/* What the played sbx was asked since played_forget: one line for each command ("run …", "workspace …"), behind a run
 * the manifest, and "in a job" when it was in one. */
const char *played_log(void);
bool played_log_has(const char *text);
void played_forget(void);

/* As sbx or as an attempt when the command line says so, else the tests with the self-test opened around them. */
int played_main(int argc, char **argv, const char *suite, const struct sbx_test *tests,
                size_t count);
#define PLAYED_TEST_MAIN(suite, table)                                                             \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return played_main(argc, argv, (suite), (table), SBX_COUNT(table));                        \
    }

#endif
