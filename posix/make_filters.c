/* Build tool: compiles the tables of system calls into seccomp programs for the processor it runs on, and
 * prints them as C. The product links its output, and nothing of libseccomp. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "posix/linux_calls.h"

#include "common/base/banned.h"

#define LAST_CALL 1023 /* far above what any kernel has */

/* Of struct seccomp_data. */
#define SECCOMP_NUMBER_AT 0
#define SECCOMP_ARCH_AT 4
#define ALL UINT64_MAX

static void stop(const char *what, int code)
{
    (void)fprintf(stderr, "make_filters: %s: %s\n", what, strerror(-code));
    exit(1);
}

static void check(const char *what, int code)
{
    if (code != 0) {
        stop(what, code);
    }
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static int number_in_table(const char *name)
{
    for (const struct sbx_call_number *row = sbx_call_numbers; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            return row->number;
        }
    }
    return __NR_SCMP_ERROR;
}

/* Below zero for a call that only other processors have. A name nobody knows is a misspelt one, and a
 * rule for it would be no rule at all. */
static int number_of(const char *name)
{
    int known = seccomp_syscall_resolve_name(name);
    int newer = number_in_table(name);
    if (known == __NR_SCMP_ERROR && newer == __NR_SCMP_ERROR) {
        stop(name, -ENOENT);
    }
    if (known != __NR_SCMP_ERROR && newer != __NR_SCMP_ERROR && known != newer) {
        stop(name, -EINVAL);
    }
    return known == __NR_SCMP_ERROR ? newer : known;
}

/* ---- rules ------------------------------------------------------------------------------------- */

static void add(scmp_filter_ctx filter, uint32_t action, const char *name, unsigned count,
                const struct scmp_arg_cmp *tests)
{
    int number = number_of(name);
    if (number >= 0) {
        check(name, seccomp_rule_add_exact_array(filter, action, number, count, tests));
    }
}

/* libseccomp's macros leave a field out, of which clang warns. */
static struct scmp_arg_cmp compare(unsigned argument, enum scmp_compare how, uint64_t value)
{
    return (struct scmp_arg_cmp){.arg = argument, .op = how, .datum_a = value, .datum_b = 0};
}

static struct scmp_arg_cmp masked(unsigned argument, uint64_t mask, uint64_t value)
{
    return (struct scmp_arg_cmp){
        .arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}

static void add_rules(scmp_filter_ctx filter, const struct sbx_call_rule *rules)
{
    for (const struct sbx_call_rule *row = rules; row->name != NULL; row++) {
        struct scmp_arg_cmp tests[2];
        for (unsigned i = 0; i < row->test_count; i++) {
            const struct sbx_call_test *test = &row->tests[i];
            tests[i] = test->compare == SBX_IS_NOT
                           ? compare(test->argument, SCMP_CMP_NE, test->value)
                           : masked(test->argument, test->mask, test->value);
        }
        uint32_t action = row->answer == SBX_ANSWER_NOTIFY ? SCMP_ACT_NOTIFY
                                                           : SCMP_ACT_ERRNO((uint32_t)row->answer);
        add(filter, action, row->name, row->test_count, tests);
    }
}

/* Refuses socket() for the families from `low` up to, not including, `high`: as few blocks whose size
 * is a power of two as there can be. High bits are part of the test, and so refused. */
static void refuse_families(scmp_filter_ctx filter, uint64_t low, uint64_t high)
{
    while (low < high) {
        uint64_t size = 1;
        while (low % (2 * size) == 0 && low + 2 * size <= high) {
            size *= 2;
        }
        struct scmp_arg_cmp test = masked(0, ALL - (size - 1), low);
        add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), "socket", 1, &test);
        low += size;
    }
}

/* An allowlist, written as refusals of what lies between: in a program that allows by default nothing
 * else can be said. */
static void add_families(scmp_filter_ctx filter, bool allows_unix)
{
    uint64_t next = 0;
    for (const struct sbx_call_family *row = sbx_call_families; row->name != NULL; row++) {
        if (row->rule == SBX_FAMILY_UNIX && !allows_unix) {
            continue;
        }
        refuse_families(filter, next, row->family);
        next = row->family + UINT64_C(1);
        if (row->rule == SBX_FAMILY_ROUTE_ONLY) {
            struct scmp_arg_cmp tests[] = {compare(0, SCMP_CMP_EQ, row->family),
                                           compare(2, SCMP_CMP_NE, 0)};
            add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), "socket", 2, tests);
        }
    }
    struct scmp_arg_cmp above = compare(0, SCMP_CMP_GE, next);
    add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), "socket", 1, &above);
}

/* ---- strict ------------------------------------------------------------------------------------ */

enum known { UNKNOWN, OUTSIDE, ALLOWED };

static void mark(enum known *calls, const char *name)
{
    int number = number_of(name);
    if (number > LAST_CALL) {
        stop(name, -ERANGE);
    }
    if (number >= 0) {
        calls[number] = ALLOWED;
    }
}

/* What the deny program answers is left to it, because ending the process would be the stricter answer. */
static void mark_calls(enum known *calls)
{
    for (int number = 0; number <= LAST_CALL; number++) {
        char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
        calls[number] = name == NULL ? UNKNOWN : OUTSIDE;
        free(name);
    }
    for (const struct sbx_call_rule *row = sbx_call_refusals; row->name != NULL; row++) {
        mark(calls, row->name);
    }
    for (const struct sbx_call_group *group = sbx_call_strict; group->title != NULL; group++) {
        for (size_t i = 0; group->names[i] != NULL; i++) {
            mark(calls, group->names[i]);
        }
    }
}

/* Numbers nobody knows here hear that there is no such call: programs written for newer kernels ask, and fall back. */
static uint32_t strict_answer(enum known call)
{
    return call == ALLOWED   ? SECCOMP_RET_ALLOW
           : call == OUTSIDE ? SECCOMP_RET_KILL_PROCESS
                             : SECCOMP_RET_ERRNO | ENOSYS;
}

/* Calls in the order of their numbers, cut where the answer changes. */
struct range {
    uint32_t first; /* up to the first of the next */
    uint32_t answer;
};

static size_t find_ranges(struct range *out)
{
    static enum known calls[LAST_CALL + 1];
    size_t count = 0;
    mark_calls(calls);
    for (uint32_t number = 0; number <= LAST_CALL; number++) {
        uint32_t answer = strict_answer(calls[number]);
        if (count == 0 || out[count - 1].answer != answer) {
            out[count++] = (struct range){number, answer};
        }
    }
    if (out[count - 1].answer != strict_answer(UNKNOWN)) {
        out[count++] = (struct range){LAST_CALL + 1, strict_answer(UNKNOWN)};
    }
    return count;
}

/* A balanced tree: which half is the number in? Its two halves follow, the lower one first. Returns how many
 * instructions that are. */
static size_t put_tree(struct sock_filter *out, const struct range *ranges, size_t count)
{
    if (count == 1) {
        out[0] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, ranges[0].answer};
        return 1;
    }
    size_t half = count / 2;
    size_t lower = put_tree(out + 1, ranges, half);
    size_t upper = put_tree(out + 1 + lower, ranges + half, count - half);
    if (lower > UINT8_MAX) {
        stop("strict: a jump is too long", -ERANGE);
    }
    out[0] = (struct sock_filter){BPF_JMP | BPF_JGE | BPF_K, (uint8_t)lower, 0, ranges[half].first};
    return 1 + lower + upper;
}

/* ---- programs ---------------------------------------------------------------------------------- */

static void add_deny(scmp_filter_ctx filter)
{
    add_rules(filter, sbx_call_refusals);
    add_rules(filter, sbx_call_no_unix);
    add_families(filter, false);
}

static void add_deny_unix(scmp_filter_ctx filter)
{
    add_rules(filter, sbx_call_refusals);
    add_families(filter, true);
}

static void add_names(scmp_filter_ctx filter)
{
    add_rules(filter, sbx_call_creating);
}

static void add_metadata(scmp_filter_ctx filter)
{
    add_rules(filter, sbx_call_metadata);
}

static void add_no_landlock(scmp_filter_ctx filter)
{
    add_rules(filter, sbx_call_landlock);
}

static void add_no_network(scmp_filter_ctx filter)
{
    add_rules(filter, sbx_call_networks);
}

static void add_neighbours(scmp_filter_ctx filter)
{
    add_rules(filter, sbx_call_neighbours);
}

static void add_changes(scmp_filter_ctx filter)
{
    add_rules(filter, sbx_call_changing);
}

static const struct {
    const char *id; /* of enum sbx_filter */
    uint32_t otherwise;
    void (*fill)(scmp_filter_ctx filter);
} programs[] = {{"SBX_FILTER_DENY", SCMP_ACT_ALLOW, add_deny},
                {"SBX_FILTER_DENY_UNIX", SCMP_ACT_ALLOW, add_deny_unix},
                {"SBX_FILTER_STRICT", 0, NULL}, /* make_strict */
                {"SBX_FILTER_NAMES", SCMP_ACT_ALLOW, add_names},
                {"SBX_FILTER_METADATA", SCMP_ACT_ALLOW, add_metadata},
                {"SBX_FILTER_NO_LANDLOCK", SCMP_ACT_ALLOW, add_no_landlock},
                {"SBX_FILTER_NO_NETWORK", SCMP_ACT_ALLOW, add_no_network},
                {"SBX_FILTER_NEIGHBOURS", SCMP_ACT_ALLOW, add_neighbours},
                {"SBX_FILTER_CHANGES", SCMP_ACT_ALLOW, add_changes}};
#define PROGRAM_COUNT (sizeof programs / sizeof programs[0])

static void print_line(struct sock_filter line)
{
    printf("    {0x%02x, %u, %u, 0x%08x},\n", line.code, line.jt, line.jf, line.k);
}

static void print_code(scmp_filter_ctx filter, size_t index)
{
    FILE *file = tmpfile();
    if (file == NULL) {
        stop("tmpfile", -errno);
        return;
    }
    check("export", seccomp_export_bpf(filter, fileno(file)));
    rewind(file);
    printf("static const struct sock_filter code_%zu[] = {\n", index);
    struct sock_filter line;
    while (fread(&line, sizeof line, 1, file) == 1) {
        print_line(line);
    }
    printf("};\n");
    (void)fclose(file);
}

/* Only about numbers, so not by libseccomp, which has an instruction for each of them where one for a whole range
 * does: the kernel translates every one, for every box. */
static void make_strict(size_t index)
{
    static struct range ranges[LAST_CALL + 2];
    static struct sock_filter tree[2 * (LAST_CALL + 2)];
    size_t count = find_ranges(ranges);
    size_t length = put_tree(tree, ranges, count);
    bool has_other_calls = seccomp_arch_native() == SCMP_ARCH_X86_64;
    printf("static const struct sock_filter code_%zu[] = {\n", index);
    print_line((struct sock_filter){BPF_LD | BPF_W | BPF_ABS, 0, 0, SECCOMP_ARCH_AT});
    print_line((struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 1, 0, seccomp_arch_native()});
    print_line((struct sock_filter){BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS});
    print_line((struct sock_filter){BPF_LD | BPF_W | BPF_ABS, 0, 0, SECCOMP_NUMBER_AT});
    if (has_other_calls) { /* those of x32, which have a bit of their own; -1 is one that a tracer took out */
        print_line((struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 2, 0, UINT32_MAX});
        print_line((struct sock_filter){BPF_JMP | BPF_JGE | BPF_K, 0, 1, UINT32_C(0x40000000)});
        print_line((struct sock_filter){BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS});
    }
    for (size_t i = 0; i < length; i++) {
        print_line(tree[i]);
    }
    printf("};\n");
}

static void make_program(size_t index)
{
    scmp_filter_ctx filter = seccomp_init(programs[index].otherwise);
    if (filter == NULL) {
        stop("init", -ENOMEM);
    }
    /* Another processor's numbers name other calls. When a program is loaded the kernel walks through it
     * once for every call there is, so a balanced tree (2) loads in a third of the time of a list. */
    check("badarch", seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
    check("optimize", seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2));
    programs[index].fill(filter);
    print_code(filter, index);
    seccomp_release(filter);
}

int main(void)
{
    /* Others have calls of their own (socketcall, another order of clone's arguments). */
    uint32_t processor = seccomp_arch_native();
    if (processor != SCMP_ARCH_X86_64 && processor != SCMP_ARCH_AARCH64) {
        stop("the tables are for x86-64 and 64-bit ARM", -ENOTSUP);
    }
    /* What the box's kernel can do is asked there, not of the kernel this is built on. */
    check("api", seccomp_api_set(6));
    printf("/* Made by make_filters from posix/linux_calls*.c. */\n"
           "#include \"posix/linux_seccomp.h\"\n\n#include \"common/base/banned.h\"\n\n");
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        if (programs[i].fill == NULL) {
            make_strict(i);
        } else {
            make_program(i);
        }
    }
    printf("\n_Static_assert(SBX_FILTER_COUNT == %zu, \"make_filters knows every program\");\n"
           "const struct sbx_bpf sbx_filter_programs[SBX_FILTER_COUNT] = {\n",
           PROGRAM_COUNT);
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        printf("    [%s] = {code_%zu, SBX_COUNT(code_%zu)},\n", programs[i].id, i, i);
    }
    printf("};\n");
    return fflush(stdout) == 0 ? 0 : 1;
}
