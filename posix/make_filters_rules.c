/* Build tool: rows of the tables that become one. */
#include "posix/make_filters_rules.h"

#include <stdbool.h>

#include "posix/make_filters.h"

#include "common/base/banned.h"

static struct filter_test test_of(const struct sbx_call_test *row)
{
    struct filter_test test = {
        .kind = row->compare == SBX_IS_NOT ? FILTER_IS_NOT : FILTER_ONE_OF,
        .argument = row->argument,
        .mask = row->mask,
        .values = {row->value},
        .value_count = 1,
    };
    bool is_one_bit = row->mask <= UINT32_MAX && (row->mask & (row->mask - 1)) == 0;
    if (test.kind == FILTER_ONE_OF && (row->mask == 0 || (row->value & ~row->mask) != 0)) {
        filter_stop("a test that always holds, or never");
    }
    if (test.kind == FILTER_ONE_OF && is_one_bit && row->value == row->mask) {
        test.kind = FILTER_ANY_BIT;
        test.value_count = 0;
        test.values[0] = 0;
    }
    return test;
}

void filter_rules_add(struct filter_rules *rules, const struct sbx_call_rule *row, uint32_t answer)
{
    if (rules->count == FILTER_RULES || row->test_count > FILTER_TESTS) {
        filter_stop("too many rows for one call");
    }
    struct filter_rule *rule = &rules->items[rules->count++];
    *rule = (struct filter_rule){.answer = answer, .test_count = row->test_count};
    for (unsigned i = 0; i < row->test_count; i++) {
        rule->tests[i] = test_of(&row->tests[i]);
    }
}

static bool is_same(const struct filter_test *a, const struct filter_test *b)
{
    bool is_equal = a->kind == b->kind && a->argument == b->argument && a->mask == b->mask &&
                    a->value_count == b->value_count;
    for (size_t i = 0; is_equal && i < a->value_count; i++) {
        is_equal = a->values[i] == b->values[i];
    }
    return is_equal;
}

/* Into `a`, what either holds for. */
static bool join_tests(struct filter_test *a, const struct filter_test *b)
{
    if (a->kind != b->kind || a->argument != b->argument || a->kind == FILTER_IS_NOT) {
        return false;
    }
    if (a->kind == FILTER_ANY_BIT) {
        a->mask |= b->mask;
        return true;
    }
    if (a->mask != b->mask || a->values[0] >> 32 != b->values[0] >> 32 ||
        a->value_count + b->value_count > FILTER_VALUES) {
        return false;
    }
    for (size_t i = 0; i < b->value_count; i++) {
        a->values[a->value_count++] = b->values[i];
    }
    return true;
}

/* Into `a`, when at most one test differs: (x and p) or (x and q) is x and (p or q). */
static bool join_rules(struct filter_rule *a, const struct filter_rule *b)
{
    unsigned differing = 0;
    unsigned which = 0;
    if (a->answer != b->answer || a->test_count != b->test_count || a->test_count == 0) {
        return false;
    }
    for (unsigned i = 0; i < a->test_count; i++) {
        if (!is_same(&a->tests[i], &b->tests[i])) {
            differing++;
            which = i;
        }
    }
    return differing == 0 || (differing == 1 && join_tests(&a->tests[which], &b->tests[which]));
}

void filter_rules_merge(struct filter_rules *rules)
{
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        for (size_t i = 0; i + 1 < rules->count; i++) {
            if (join_rules(&rules->items[i], &rules->items[i + 1])) {
                for (size_t k = i + 1; k + 1 < rules->count; k++) {
                    rules->items[k] = rules->items[k + 1];
                }
                rules->count--;
                has_changed = true;
            }
        }
    }
    /* Behind one that always holds nothing is asked any more. */
    for (size_t i = 0; i < rules->count; i++) {
        if (rules->items[i].test_count == 0) {
            rules->count = i + 1;
        }
    }
}
