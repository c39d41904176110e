/* Build tool: compiles the tables of system calls into seccomp programs for the processor it runs on, and
 * prints them as C. libseccomp says which number a call has; the product links nothing of it. */
#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "posix/linux_calls.h"
#include "posix/make_filters.h"

#include "common/base/banned.h"

void filter_stop(const char *what)
{
    (void)fprintf(stderr, "make_filters: %s\n", what);
    exit(1);
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
int filter_call_number(const char *name)
{
    int known = seccomp_syscall_resolve_name(name);
    int newer = number_in_table(name);
    if (known == __NR_SCMP_ERROR && newer == __NR_SCMP_ERROR) {
        filter_stop(name);
    }
    if (known != __NR_SCMP_ERROR && newer != __NR_SCMP_ERROR && known != newer) {
        filter_stop(name);
    }
    return known == __NR_SCMP_ERROR ? newer : known;
}

/* ---- strict ------------------------------------------------------------------------------------ */

enum known { UNKNOWN, OUTSIDE, ALLOWED };

static void mark(enum known *calls, const char *name)
{
    int number = filter_call_number(name);
    if (number > FILTER_LAST_CALL) {
        filter_stop(name);
    }
    if (number >= 0) {
        calls[number] = ALLOWED;
    }
}

/* What the deny program answers is left to it, because ending the process would be the stricter answer. */
static void mark_calls(enum known *calls)
{
    for (int number = 0; number <= FILTER_LAST_CALL; number++) {
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

static void find_defaults(uint32_t *answers, bool is_strict)
{
    static enum known calls[FILTER_LAST_CALL + 1];
    mark_calls(calls);
    for (uint32_t number = 0; number <= FILTER_LAST_CALL; number++) {
        answers[number] = is_strict ? strict_answer(calls[number]) : SECCOMP_RET_ALLOW;
    }
    answers[FILTER_LAST_CALL + 1] = is_strict ? strict_answer(UNKNOWN) : SECCOMP_RET_ALLOW;
}

/* ---- programs ---------------------------------------------------------------------------------- */

/* What goes into each. A box loads as few as can be, because each costs: so there are some for what belongs
 * together. */
static const struct {
    const char *id; /* of enum sbx_filter */
    bool is_strict;
    enum filter_families families;
    const struct sbx_call_rule *rules[FILTER_TABLES];
} programs[] = {
    {"SBX_FILTER_DENY", false, FILTER_FAMILIES, {sbx_call_refusals, sbx_call_no_unix}},
    {"SBX_FILTER_DENY_UNIX", false, FILTER_FAMILIES_UNIX, {sbx_call_refusals}},
    {"SBX_FILTER_STRICT", true, FILTER_ANY_FAMILY, {NULL}},
    {"SBX_FILTER_NAMES", false, FILTER_ANY_FAMILY, {sbx_call_creating}},
    {"SBX_FILTER_METADATA", false, FILTER_ANY_FAMILY, {sbx_call_metadata}},
    {"SBX_FILTER_NO_LANDLOCK", false, FILTER_ANY_FAMILY, {sbx_call_landlock}},
    {"SBX_FILTER_NO_NETWORK", false, FILTER_ANY_FAMILY, {sbx_call_networks}},
    {"SBX_FILTER_NEIGHBOURS", false, FILTER_ANY_FAMILY, {sbx_call_neighbours}},
    {"SBX_FILTER_CHANGES", false, FILTER_ANY_FAMILY, {sbx_call_changing}},
    {"SBX_FILTER_BOX",
     false,
     FILTER_FAMILIES,
     {sbx_call_refusals, sbx_call_no_unix, sbx_call_landlock}},
    {"SBX_FILTER_BOX_UNIX", false, FILTER_FAMILIES_UNIX, {sbx_call_refusals, sbx_call_landlock}},
    {"SBX_FILTER_BOX_STRICT",
     true,
     FILTER_FAMILIES,
     {sbx_call_refusals, sbx_call_no_unix, sbx_call_landlock}},
    {"SBX_FILTER_BOX_UNIX_STRICT",
     true,
     FILTER_FAMILIES_UNIX,
     {sbx_call_refusals, sbx_call_landlock}},
};
#define PROGRAM_COUNT (sizeof programs / sizeof programs[0])

static void make_program(size_t index)
{
    static struct filter_code code;
    static uint32_t defaults[FILTER_LAST_CALL + 2];
    find_defaults(defaults, programs[index].is_strict);
    filter_make(&code, &(struct filter_wanted){programs[index].rules, programs[index].families,
                                               defaults, seccomp_arch_native()});
    printf("static const struct sock_filter code_%zu[] = {\n", index);
    for (size_t i = 0; i < code.count; i++) {
        const struct sock_filter *line = &code.lines[i];
        printf("    {0x%02x, %u, %u, 0x%08x},\n", line->code, line->jt, line->jf, line->k);
    }
    printf("};\n");
}

int main(void)
{
    /* Others have calls of their own (socketcall, another order of clone's arguments). */
    uint32_t processor = seccomp_arch_native();
    if (processor != SCMP_ARCH_X86_64 && processor != SCMP_ARCH_AARCH64) {
        filter_stop("the tables are for x86-64 and 64-bit ARM");
    }
    printf("/* Made by make_filters from posix/linux_calls*.c. */\n"
           "#include \"posix/linux_seccomp.h\"\n\n#include \"common/base/banned.h\"\n\n");
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        make_program(i);
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
