/* What the tests of the seccomp programs share: a call made under programs in a child, and the answer a
 * program gives to a call that nobody makes. */
#ifndef SBX_TESTS_SECCOMP_FIXTURE_H
#define SBX_TESTS_SECCOMP_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "posix/linux_calls.h"
#include "posix/linux_seccomp.h"

struct call {
    int number;
    uint64_t arguments[6];
};
/* A call whose further arguments are bad pointers, bad descriptors and bad flags. */
struct call harmless_call(int number);

/* The number of a call on this processor; -1 when it has none of that name. */
int call_number(const char *name);
/* Whether libseccomp knows the number; else it belongs to a later kernel. */
bool is_known_number(int number);

struct call_result {
    int signal; /* what ended the process that called; 0 when it lived on */
    bool hangs; /* it was waiting when the test ended it */
    int error;  /* errno; 0 for success */
    long value;
};
/* Makes the call in a child under these programs, in this order; `count` may be 0. */
struct call_result make_call(const enum sbx_filter *filters, size_t count, const struct call *call);
/* The same with a function, which returns what a system call does. */
struct call_result make_calls(const enum sbx_filter *filters, size_t count,
                              long (*function)(const void *argument), const void *argument);

#define UNDER(...) ((const enum sbx_filter[]){__VA_ARGS__})

/* What the program answers (SECCOMP_RET_*), by walking through it. */
uint32_t answer_of(enum sbx_filter which, const struct call *call);
uint32_t answer_to_architecture(enum sbx_filter which, uint32_t architecture, int number);

/* The same from the tables: 0 when no row of `rules` is about the call, else its answer. */
int answer_in_table(const struct sbx_call_rule *rules, const struct call *call);

/* Makes the arguments such that the row's tests hold. With `high` the bits above an int are set where
 * the row says that they do not count. */
struct call call_for(const struct sbx_call_rule *row, bool high);

/* Every row: the kernel gives the promised answer under the program. */
void check_rows(enum sbx_filter which, const struct sbx_call_rule *rules);

#endif
