/* A test's own program as a child: `test_x --actor VERB ARG…` does one thing and ends. The verbs are
 * portable; starting an actor beside the test is not (os_actor_posix.c, os_actor_win.c). */
#ifndef SBX_TESTS_OS_ACTOR_H
#define SBX_TESTS_OS_ACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/os.h"

/* Runs the verb when the command line asks for one, else the tests. */
#define ACTOR_TEST_MAIN(suite, table)                                                              \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        actor_init(argv[0]);                                                                       \
        if (argc > 1 && sbx_text_eq(argv[1], "--actor")) {                                         \
            return actor_main(argc, argv);                                                         \
        }                                                                                          \
        int status = sbx_test_main(argc, argv, (suite), (table), SBX_COUNT(table));                \
        actor_end();                                                                               \
        return status;                                                                             \
    }

void actor_init(const char *program);
void actor_end(void); /* removes the scratch directory */
int actor_main(int argc, char **argv);

/* This program's path, for run_plain. */
const char *actor_program(void);

/* A path below a directory made for this run; the text lives as long as the program. */
const char *scratch(const char *name);

/* Whole small files; actor_read gives "" for an absent one, in static storage. */
const char *actor_read(const char *path);
void actor_write(const char *path, const char *text);

void actor_sleep_ms(unsigned milliseconds);

/* run_plain of this program as an actor, with an environment of one variable. */
enum sbx_code actor_run(const char *const *verb, uint64_t timeout_ns, uint64_t max_output_bytes,
                        struct sbx_outcome *out, struct sbx_err *err);

/* ---- beside the test ---- */

struct actor {
    intptr_t process;
};

/* Starts `--actor verb…` with its output in these files (NULL: nowhere) and no input. */
bool actor_start(struct actor *actor, const char *const *verb, const char *stdout_path,
                 const char *stderr_path);
/* Its exit code; 128 + n for a signal; -1 when it does not end within a minute. */
int actor_wait(struct actor *actor);
/* Ends it as hard as the system can. */
void actor_kill(struct actor *actor);
bool actor_is_process_alive(long pid);
long actor_pid(void);

/* The actor's command line as UTF-8, from VERB on; ends with NULL. */
const char *const *actor_verb(int argc, char **argv);
void actor_remove_tree(const char *path);
/* Standard output carries bytes, not lines. */
void actor_binary_stdout(void);

/* A verb of one system only; -1 when there is none of this name. */
int actor_system_verb(const char *const *verb);

#endif
