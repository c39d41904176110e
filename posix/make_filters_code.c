/* Build tool: the instructions of a seccomp program.
 *
 * The kernel translates every instruction for every box, and walks through the program once for every call there
 * is. So numbers are found by a balanced tree over ranges with one answer, and only calls whose arguments matter have a
 * part of their own behind it. libseccomp would write three times as much for the same tables. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>

#include "posix/make_filters.h"
#include "posix/make_filters_rules.h"

#include "common/base/banned.h"

/* Of struct seccomp_data, on processors whose low half comes first. */
#define NUMBER_AT 0
#define PROCESSOR_AT 4
#define LOW_AT(argument) (16 + 8 * (argument))
#define HIGH_AT(argument) (LOW_AT(argument) + 4)

#define LOW_OF(value) ((uint32_t)(value))
#define HIGH_OF(value) ((uint32_t)((value) >> 32))

enum {
    LOAD = BPF_LD | BPF_W | BPF_ABS,
    EQUAL = BPF_JMP | BPF_JEQ | BPF_K,
    AT_LEAST = BPF_JMP | BPF_JGE | BPF_K
};

/* Returns the place of the instruction. */
static size_t put(struct filter_code *out, unsigned code, size_t jt, size_t jf, uint32_t k)
{
    if (out->count == FILTER_MOST_LINES || jt > UINT8_MAX || jf > UINT8_MAX) {
        filter_stop("a program or a jump is too long");
    }
    out->lines[out->count] = (struct sock_filter){(uint16_t)code, (uint8_t)jt, (uint8_t)jf, k};
    return out->count++;
}

static void answer(struct filter_code *out, uint32_t with)
{
    (void)put(out, BPF_RET | BPF_K, 0, 0, with);
}

/* Jumps to a place that is not known yet: from the instruction, if its test holds or if not. */
struct jumps {
    struct {
        size_t from;
        bool if_equal;
    } items[64];
    size_t count;
};

static void jump_later(struct jumps *jumps, size_t from, bool if_equal)
{
    if (jumps->count == sizeof jumps->items / sizeof jumps->items[0]) {
        filter_stop("too many jumps");
    }
    jumps->items[jumps->count].from = from;
    jumps->items[jumps->count++].if_equal = if_equal;
}

static void land(struct filter_code *out, const struct jumps *jumps)
{
    for (size_t i = 0; i < jumps->count; i++) {
        size_t from = jumps->items[i].from;
        size_t length = out->count - from - 1;
        if (length > UINT8_MAX) {
            filter_stop("a jump is too long");
        }
        if (jumps->items[i].if_equal) {
            out->lines[from].jt = (uint8_t)length;
        } else {
            out->lines[from].jf = (uint8_t)length;
        }
    }
}

/* ---- one call ---------------------------------------------------------------------------------- */

/* Goes on when the masked half is the value, else to `fails`. */
static void must_be(struct filter_code *out, uint32_t at, uint32_t mask, uint32_t value,
                    struct jumps *fails)
{
    if (mask == 0) {
        return;
    }
    (void)put(out, LOAD, 0, 0, at);
    if (mask != UINT32_MAX) {
        (void)put(out, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
    }
    jump_later(fails, put(out, EQUAL, 0, 0, value), false);
}

static uint32_t answer_of(const struct sbx_call_rule *row)
{
    return row->answer == SBX_ANSWER_NOTIFY ? SECCOMP_RET_USER_NOTIF
                                            : SECCOMP_RET_ERRNO | (uint32_t)row->answer;
}

static void put_test(struct filter_code *out, const struct filter_test *test, struct jumps *fails)
{
    uint32_t low = (uint32_t)LOW_AT(test->argument);
    uint32_t high = (uint32_t)HIGH_AT(test->argument);
    struct jumps holds = {.count = 0};
    switch (test->kind) {
    case FILTER_ANY_BIT:
        (void)put(out, LOAD, 0, 0, low);
        jump_later(fails, put(out, BPF_JMP | BPF_JSET | BPF_K, 0, 0, LOW_OF(test->mask)), false);
        return;
    case FILTER_IS_NOT:
        (void)put(out, LOAD, 0, 0, high);
        jump_later(&holds, put(out, EQUAL, 0, 0, HIGH_OF(test->values[0])), false);
        (void)put(out, LOAD, 0, 0, low);
        jump_later(fails, put(out, EQUAL, 0, 0, LOW_OF(test->values[0])), true);
        land(out, &holds);
        return;
    case FILTER_ONE_OF:
        must_be(out, high, HIGH_OF(test->mask), HIGH_OF(test->values[0]), fails);
        (void)put(out, LOAD, 0, 0, low);
        if (LOW_OF(test->mask) != UINT32_MAX) {
            (void)put(out, BPF_ALU | BPF_AND | BPF_K, 0, 0, LOW_OF(test->mask));
        }
        for (size_t i = 0; i < test->value_count; i++) {
            bool is_last = i + 1 == test->value_count;
            size_t at = put(out, EQUAL, 0, 0, LOW_OF(test->values[i]));
            jump_later(is_last ? fails : &holds, at, !is_last);
        }
        land(out, &holds);
        return;
    }
}

static void put_rule(struct filter_code *out, const struct filter_rule *rule)
{
    struct jumps fails = {.count = 0};
    for (unsigned i = 0; i < rule->test_count; i++) {
        put_test(out, &rule->tests[i], &fails);
    }
    answer(out, rule->answer);
    land(out, &fails);
}

/* An allowlist of families, all 64 bits of the argument. One that is for one protocol only is asked last. */
static void put_families(struct filter_code *out, bool allows_unix)
{
    const struct sbx_call_family *routes = NULL;
    struct jumps allowed = {.count = 0};
    struct jumps refused = {.count = 0};
    must_be(out, HIGH_AT(0), UINT32_MAX, 0, &refused);
    (void)put(out, LOAD, 0, 0, LOW_AT(0));
    for (const struct sbx_call_family *row = sbx_call_families; row->name != NULL; row++) {
        if (row->rule == SBX_FAMILY_ROUTE_ONLY) {
            if (routes != NULL) {
                filter_stop("two families for routes");
            }
            routes = row;
        } else if (row->rule != SBX_FAMILY_UNIX || allows_unix) {
            jump_later(&allowed, put(out, EQUAL, 0, 0, row->family), true);
        }
    }
    if (routes != NULL) {
        jump_later(&refused, put(out, EQUAL, 0, 0, routes->family), false);
        must_be(out, HIGH_AT(2), UINT32_MAX, 0, &refused);
        (void)put(out, LOAD, 0, 0, LOW_AT(2));
        jump_later(&allowed, put(out, EQUAL, 0, 0, 0), true);
    }
    land(out, &refused);
    answer(out, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
    land(out, &allowed);
}

/* ---- by number --------------------------------------------------------------------------------- */

/* What a number is answered: at once, or by a part of its own, which comes behind the tree. */
struct leaf {
    uint32_t answer;
    bool has_part;
};

static bool is_about(const struct sbx_call_rule *row, uint32_t number)
{
    int own = filter_call_number(row->name);
    return own >= 0 && (uint32_t)own == number;
}

static bool has_families(const struct filter_wanted *wanted, uint32_t number)
{
    return wanted->families != FILTER_ANY_FAMILY &&
           (uint32_t)filter_call_number("socket") == number;
}

static struct leaf leaf_of(const struct filter_wanted *wanted, uint32_t number)
{
    struct leaf leaf = {wanted->defaults[number], has_families(wanted, number)};
    bool is_settled = leaf.answer == SECCOMP_RET_KILL_PROCESS; /* nothing is stricter */
    for (size_t i = 0; !is_settled && i < FILTER_TABLES && wanted->tables[i] != NULL; i++) {
        for (const struct sbx_call_rule *row = wanted->tables[i]; row->name != NULL; row++) {
            if (!is_settled && is_about(row, number)) {
                is_settled = row->test_count == 0 && !leaf.has_part;
                leaf.answer = is_settled ? answer_of(row) : leaf.answer;
                leaf.has_part |= !is_settled;
            }
        }
    }
    leaf.has_part &= leaf.answer != SECCOMP_RET_KILL_PROCESS;
    return leaf;
}

static void put_part(struct filter_code *out, const struct filter_wanted *wanted, uint32_t number)
{
    static struct filter_rules rules;
    rules.count = 0;
    if (has_families(wanted, number)) {
        put_families(out, wanted->families == FILTER_FAMILIES_UNIX);
    }
    for (size_t i = 0; i < FILTER_TABLES && wanted->tables[i] != NULL; i++) {
        for (const struct sbx_call_rule *row = wanted->tables[i]; row->name != NULL; row++) {
            if (is_about(row, number)) {
                filter_rules_add(&rules, row, answer_of(row));
            }
        }
    }
    filter_rules_merge(&rules);
    for (size_t i = 0; i < rules.count; i++) {
        put_rule(out, &rules.items[i]);
    }
    if (rules.count == 0 || rules.items[rules.count - 1].test_count > 0) {
        answer(out, wanted->defaults[number]);
    }
}

/* Several calls have the same part: it is there once. Where it begins. */
static size_t put_shared_part(struct filter_code *out, const struct filter_wanted *wanted,
                              uint32_t number, size_t parts_at)
{
    static struct filter_code part;
    part.count = 0;
    put_part(&part, wanted, number);
    for (size_t at = parts_at; at + part.count <= out->count; at++) {
        if (memcmp(out->lines + at, part.lines, part.count * sizeof part.lines[0]) == 0) {
            return at;
        }
    }
    size_t begin = out->count;
    for (size_t i = 0; i < part.count; i++) {
        (void)put(out, part.lines[i].code, part.lines[i].jt, part.lines[i].jf, part.lines[i].k);
    }
    return begin;
}

/* Numbers in their order, cut where the answer changes. */
struct range {
    uint32_t first, last;
    struct leaf leaf;
    size_t jump; /* of one with a part: the instruction that leads there */
};

static size_t find_ranges(const struct filter_wanted *wanted, struct range *out)
{
    size_t count = 0;
    for (uint32_t number = 0; number <= FILTER_LAST_CALL + 1; number++) {
        struct leaf leaf = number > FILTER_LAST_CALL
                               ? (struct leaf){wanted->defaults[number], false}
                               : leaf_of(wanted, number);
        bool is_same = count > 0 && !leaf.has_part && !out[count - 1].leaf.has_part &&
                       out[count - 1].leaf.answer == leaf.answer;
        if (!is_same) {
            out[count++] = (struct range){number, number, leaf, 0};
        }
        out[count - 1].last = number > FILTER_LAST_CALL ? UINT32_MAX : number;
    }
    return count;
}

/* The end of the tree: a few numbers that are answered otherwise than all around them. */
enum { MOST_IN_A_LEAF = 17 };

static bool is_like(const struct range *a, const struct range *b)
{
    return !a->leaf.has_part && !b->leaf.has_part && a->leaf.answer == b->leaf.answer;
}

/* The one that the most others are like; `count` when the others are not all single numbers. */
static size_t find_usual(const struct range *ranges, size_t count)
{
    size_t usual = count;
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t alike = 0;
        for (size_t k = 0; k < count; k++) {
            alike += is_like(&ranges[i], &ranges[k]);
        }
        if (alike > most) {
            most = alike;
            usual = i;
        }
    }
    for (size_t i = 0; i < count && usual < count; i++) {
        if (!is_like(&ranges[usual], &ranges[i]) && ranges[i].last != ranges[i].first) {
            return count;
        }
    }
    return usual;
}

static void put_leaf(struct filter_code *out, struct range *ranges, size_t count, size_t usual)
{
    struct jumps to[MOST_IN_A_LEAF] = {{.count = 0}};
    for (size_t i = 0; i < count; i++) {
        if (!is_like(&ranges[usual], &ranges[i])) {
            size_t first = 0; /* that is answered alike */
            while (first < i && !is_like(&ranges[first], &ranges[i])) {
                first++;
            }
            jump_later(&to[first], put(out, EQUAL, 0, 0, ranges[i].first), true);
        }
    }
    answer(out, ranges[usual].leaf.answer);
    for (size_t i = 0; i < count; i++) {
        if (to[i].count > 0) {
            land(out, &to[i]);
            if (ranges[i].leaf.has_part) {
                ranges[i].jump = put(out, BPF_JMP | BPF_JA, 0, 0, 0);
            } else {
                answer(out, ranges[i].leaf.answer);
            }
        }
    }
}

/* A balanced tree: which half is the number in? Its two halves follow, the lower one first. */
static void put_tree(struct filter_code *out, struct range *ranges, size_t count)
{
    if (count == 1 && ranges->leaf.has_part) {
        ranges->jump = put(out, BPF_JMP | BPF_JA, 0, 0, 0);
        return;
    }
    size_t usual = count > MOST_IN_A_LEAF ? count : find_usual(ranges, count);
    if (usual < count) {
        put_leaf(out, ranges, count, usual);
        return;
    }
    size_t half = count / 2;
    struct jumps upper = {.count = 0};
    jump_later(&upper, put(out, AT_LEAST, 0, 0, ranges[half].first), true);
    put_tree(out, ranges, half);
    land(out, &upper);
    put_tree(out, ranges + half, count - half);
}

void filter_make(struct filter_code *out, const struct filter_wanted *wanted)
{
    static struct range ranges[FILTER_LAST_CALL + 2];
    size_t count = find_ranges(wanted, ranges);
    out->count = 0;
    (void)put(out, LOAD, 0, 0, PROCESSOR_AT);
    (void)put(out, EQUAL, 1, 0, wanted->processor);
    answer(out, SECCOMP_RET_KILL_PROCESS);
    (void)put(out, LOAD, 0, 0, NUMBER_AT);
    if (wanted->processor == AUDIT_ARCH_X86_64) {
        /* The calls of x32 have a bit of their own; -1 is one that a tracer took out. */
        (void)put(out, EQUAL, 2, 0, UINT32_MAX);
        (void)put(out, AT_LEAST, 0, 1, UINT32_C(0x40000000));
        answer(out, SECCOMP_RET_KILL_PROCESS);
    }
    put_tree(out, ranges, count);
    size_t parts_at = out->count;
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].leaf.has_part) {
            size_t part = put_shared_part(out, wanted, ranges[i].first, parts_at);
            out->lines[ranges[i].jump].k = (uint32_t)(part - ranges[i].jump - 1);
        }
    }
}
