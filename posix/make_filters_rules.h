/* The rows of one system call, as few as say the same. Part of the build tool make_filters. */
#ifndef SBX_POSIX_MAKE_FILTERS_RULES_H
#define SBX_POSIX_MAKE_FILTERS_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "posix/linux_calls.h"

enum { FILTER_VALUES = 16, FILTER_TESTS = 2, FILTER_RULES = 64 };

/* A test on one argument. */
struct filter_test {
    enum { FILTER_ONE_OF, FILTER_ANY_BIT, FILTER_IS_NOT } kind;
    unsigned argument;
    uint64_t mask;                  /* of any bit: those in the low half; else what is compared */
    uint64_t values[FILTER_VALUES]; /* of one-of, with equal high halves; of is-not the first */
    size_t value_count;
};

/* Answers when all its tests hold. */
struct filter_rule {
    uint32_t answer;
    unsigned test_count;
    struct filter_test tests[FILTER_TESTS];
};

struct filter_rules {
    struct filter_rule items[FILTER_RULES];
    size_t count;
};

void filter_rules_add(struct filter_rules *rules, const struct sbx_call_rule *row, uint32_t answer);

/* Neighbours with one answer that differ in one test become one rule; which calls get which answer stays. */
void filter_rules_merge(struct filter_rules *rules);

#endif
