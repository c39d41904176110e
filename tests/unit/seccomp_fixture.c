/* What the tests of the seccomp programs share. */
#include "tests/unit/seccomp_fixture.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/fd.h"
#include "tests/check.h"

#include "common/base/banned.h"

#define PATIENCE_MS 1000 /* a call that has not returned by then waits for something */

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* ---- numbers ----------------------------------------------------------------------------------- */

int call_number(const char *name)
{
    for (const struct sbx_call_number *row = sbx_call_numbers; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            return row->number;
        }
    }
    int number = seccomp_syscall_resolve_name(name);
    return number >= 0 ? number : -1;
}

bool is_known_number(int number)
{
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
    free(name);
    return name != NULL;
}

struct call harmless_call(int number)
{
    struct call call = {.number = number};
    for (size_t i = 0; i < SBX_COUNT(call.arguments); i++) {
        call.arguments[i] = UINT64_MAX;
    }
    return call;
}

/* ---- in a child -------------------------------------------------------------------------------- */

static long one_call(const void *argument)
{
    const struct call *call = argument;
    const uint64_t *a = call->arguments;
    return syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Its own session, so that nothing reaches a terminal even when a program fails to stop it. */
static _Noreturn void be_child(const enum sbx_filter *filters, size_t count, int out,
                               long (*function)(const void *), const void *argument)
{
    struct call_result result = {0};
    (void)setsid();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        _exit(2);
    }
    for (size_t i = 0; i < count; i++) {
        if (sbx_filter_load(filters[i], 0) != 0) {
            _exit(2);
        }
    }
    errno = 0;
    result.value = function(argument);
    result.error = result.value == -1 ? errno : 0;
    _exit(write(out, &result, sizeof result) == (ssize_t)sizeof result ? 0 : 2);
}

struct call_result make_calls(const enum sbx_filter *filters, size_t count,
                              long (*function)(const void *argument), const void *argument)
{
    struct call_result result = {0};
    int ends[2];
    if (pipe(ends) != 0) {
        CHECK_INT(errno, 0);
        return result;
    }
    AUTO_FD in = ends[0];
    AUTO_FD out = ends[1];
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        be_child(filters, count, ends[1], function, argument);
    }
    CHECK(pid > 0);
    (void)close(SBX_TAKE(out, -1));
    struct pollfd wait_for = {.fd = in, .events = POLLIN};
    bool is_quiet = poll(&wait_for, 1, PATIENCE_MS) == 0;
    bool is_told = !is_quiet && read(in, &result, sizeof result) == (ssize_t)sizeof result;
    int status = 0;
    if (is_quiet) {
        (void)kill(pid, SIGKILL);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    result.hangs = is_quiet;
    if (WIFSIGNALED(status) && !is_quiet) {
        result.signal = WTERMSIG(status);
    }
    /* 2 is the child's own failure; anything else is the call's doing (exit, execve). */
    CHECK(is_told || !WIFEXITED(status) || WEXITSTATUS(status) != 2);
    return result;
}

struct call_result make_call(const enum sbx_filter *filters, size_t count, const struct call *call)
{
    return make_calls(filters, count, one_call, call);
}

/* ---- without a kernel -------------------------------------------------------------------------- */

/* One step; true when it is a return. The few instructions that libseccomp writes, no others. */
static bool step(const struct sock_filter *line, const void *data, uint32_t *accumulator,
                 size_t *next)
{
    uint32_t a = *accumulator;
    bool holds = false;
    *next += 1;
    switch (line->code) {
    case BPF_LD | BPF_W | BPF_ABS:
        memcpy(accumulator, (const char *)data + line->k, sizeof *accumulator);
        return false;
    case BPF_ALU | BPF_AND | BPF_K:
        *accumulator = a & line->k;
        return false;
    case BPF_JMP | BPF_JA:
        *next += line->k;
        return false;
    case BPF_JMP | BPF_JEQ | BPF_K:
        holds = a == line->k;
        break;
    case BPF_JMP | BPF_JGT | BPF_K:
        holds = a > line->k;
        break;
    case BPF_JMP | BPF_JGE | BPF_K:
        holds = a >= line->k;
        break;
    case BPF_JMP | BPF_JSET | BPF_K:
        holds = (a & line->k) != 0;
        break;
    case BPF_RET | BPF_K:
        *accumulator = line->k;
        return true;
    default:
        CHECK_INT(line->code, BPF_RET | BPF_K);
        *accumulator = SECCOMP_RET_TRACE; /* which no program answers */
        return true;
    }
    *next += holds ? line->jt : line->jf;
    return false;
}

static uint32_t walk(enum sbx_filter which, const struct seccomp_data *data)
{
    struct sbx_bpf program = sbx_filter_program(which);
    uint32_t accumulator = 0;
    size_t next = 0;
    while (next < program.count) {
        if (step(&program.code[next], data, &accumulator, &next)) {
            return accumulator;
        }
    }
    CHECK(next < program.count);
    return SECCOMP_RET_TRACE;
}

uint32_t answer_to_architecture(enum sbx_filter which, uint32_t architecture, int number)
{
    struct seccomp_data data = {.nr = number, .arch = architecture};
    return walk(which, &data);
}

uint32_t answer_of(enum sbx_filter which, const struct call *call)
{
    struct seccomp_data data = {.nr = call->number, .arch = OWN_ARCHITECTURE};
    for (size_t i = 0; i < SBX_COUNT(call->arguments); i++) {
        data.args[i] = call->arguments[i];
    }
    return walk(which, &data);
}

/* ---- tables ------------------------------------------------------------------------------------ */

static bool holds(const struct sbx_call_test *test, const struct call *call)
{
    bool is_equal = (call->arguments[test->argument] & test->mask) == test->value;
    return is_equal == (test->compare == SBX_IS);
}

int answer_in_table(const struct sbx_call_rule *rules, const struct call *call)
{
    for (const struct sbx_call_rule *row = rules; row->name != NULL; row++) {
        bool is_it = call_number(row->name) == call->number;
        for (unsigned i = 0; is_it && i < row->test_count; i++) {
            is_it = holds(&row->tests[i], call);
        }
        if (is_it) {
            return row->answer;
        }
    }
    return 0;
}

/* Flags that the kernel refuses together with any other, and a family that lets the type be looked at. */
static void spoil(struct call *call, const char *name)
{
    if (strcmp(name, "clone") == 0) {
        call->arguments[0] |= CLONE_THREAD; /* not without CLONE_SIGHAND */
    } else if (strcmp(name, "unshare") == 0) {
        call->arguments[0] |= 1;
    } else if (strcmp(name, "socketpair") == 0 && call->arguments[0] == UINT64_MAX) {
        call->arguments[0] = 1;
    }
}

struct call call_for(const struct sbx_call_rule *row, bool high)
{
    struct call call = harmless_call(call_number(row->name));
    for (unsigned i = 0; i < row->test_count; i++) {
        const struct sbx_call_test *test = &row->tests[i];
        uint64_t above = high ? UINT64_C(0xabcdef0100000000) & ~test->mask : 0;
        call.arguments[test->argument] =
            test->compare == SBX_IS ? test->value | above : test->value ^ 1;
    }
    spoil(&call, row->name);
    return call;
}

static void check_row(enum sbx_filter which, const struct sbx_call_rule *row, bool high)
{
    struct call call = call_for(row, high);
    struct call_result result = make_call(UNDER(which), 1, &call);
    if (!CHECK_INT(result.signal, 0) || !CHECK_INT(result.error, row->answer)) {
        printf("#   %s %s\n", row->name, row->when == NULL ? "" : row->when);
    }
}

void check_rows(enum sbx_filter which, const struct sbx_call_rule *rules)
{
    unsigned absent = 0;
    for (const struct sbx_call_rule *row = rules; row->name != NULL; row++) {
        if (call_number(row->name) < 0) {
            absent++; /* another processor's */
            continue;
        }
        check_row(which, row, false);
        if (row->test_count > 0) {
            check_row(which, row, true);
        }
    }
    printf("# %u rows are about calls that this processor does not have\n", absent);
}
