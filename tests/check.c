/* The wrapper around CUnit that every unit test uses; see check.h. */
#include "tests/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CUnit/CUnit.h>
#include <CUnit/TestDB.h>
#include <CUnit/TestRun.h>

#include "common/base/banned.h"

enum { EXIT_SKIPPED = 77, SHOWN_BYTES = 2048, SHOWN_FAILURES = 20 };

/* The running case. */
static struct {
    const char *skip_reason; /* NULL unless skipped */
    unsigned failures;
} current;

/* ---- printing ---------------------------------------------------------------------------------- */

/* Bytes as a C string literal, so that a diagnostic stays on its own line whatever was got. */
static void print_bytes(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    if (bytes == NULL) {
        printf("NULL");
        return;
    }
    printf("\"");
    for (size_t i = 0; i < len && i < SHOWN_BYTES; i++) {
        if (at[i] == '\n') {
            printf("\\n");
        } else if (at[i] == '"' || at[i] == '\\') {
            printf("\\%c", at[i]);
        } else if (at[i] < 0x20 || at[i] == 0x7f) {
            printf("\\x%02x", at[i]);
        } else {
            putchar(at[i]);
        }
    }
    printf(len > SHOWN_BYTES ? "\"… (%zu bytes)" : "\" (%zu bytes)", len);
}

/* What a failure that comes once in a hundred runs is understood by: the words of an error are the
 * same for every rare raw code. */
static void print_call(const struct sbx_err *err)
{
    const char *numbering = sbx_os_domain_text(err->os);
    if (err->call != NULL || numbering != NULL) {
        printf("#   call:  %s: %s %" PRId64 " (0x%" PRIx64 ")\n",
               err->call != NULL ? err->call : "?", numbering != NULL ? numbering : "?", err->raw,
               (uint64_t)err->raw);
    }
}

/* Counts the check. True when the caller should print its values: a case in a loop that fails a
 * million times is as clear after the first few. */
static bool failed_and_shown(bool held, const char *what, const char *file, int line)
{
    CU_assertImplementation(held ? CU_TRUE : CU_FALSE, (unsigned)line, what, file, "", CU_FALSE);
    if (held) {
        return false;
    }
    current.failures++;
    if (current.failures == SHOWN_FAILURES + 1) {
        printf("# more failures of this case are not shown\n");
    }
    if (current.failures > SHOWN_FAILURES) {
        return false;
    }
    printf("# %s:%d: %s\n", file, line, what);
    return true;
}

static bool same_bytes(const void *a, size_t a_len, const void *b, size_t b_len)
{
    if (a == NULL || b == NULL) {
        return a == b && a_len == b_len;
    }
    return a_len == b_len && memcmp(a, b, a_len) == 0;
}

static bool check_bytes(const void *got, size_t got_len, const void *want, size_t want_len,
                        const char *what, const char *file, int line)
{
    bool held = same_bytes(got, got_len, want, want_len);
    if (failed_and_shown(held, what, file, line)) {
        printf("#   got:  ");
        print_bytes(got, got_len);
        printf("\n#   want: ");
        print_bytes(want, want_len);
        printf("\n");
    }
    return held;
}

/* ---- checks ------------------------------------------------------------------------------------ */

bool sbx_check_true(bool held, const char *what, const char *file, int line)
{
    if (failed_and_shown(held, what, file, line)) {
        printf("#   got:  false\n#   want: true\n");
    }
    return held;
}

bool sbx_check_int(intmax_t got, intmax_t want, const char *what, const char *file, int line)
{
    bool held = got == want;
    if (failed_and_shown(held, what, file, line)) {
        printf("#   got:  %" PRIdMAX "\n#   want: %" PRIdMAX "\n", got, want);
    }
    return held;
}

bool sbx_check_u64(uint64_t got, uint64_t want, const char *what, const char *file, int line)
{
    bool held = got == want;
    if (failed_and_shown(held, what, file, line)) {
        printf("#   got:  %" PRIu64 " (0x%" PRIx64 ")\n#   want: %" PRIu64 " (0x%" PRIx64 ")\n",
               got, got, want, want);
    }
    return held;
}

bool sbx_check_text(const char *got, const char *want, const char *what, const char *file, int line)
{
    return check_bytes(got, got != NULL ? strlen(got) : 0, want, want != NULL ? strlen(want) : 0,
                       what, file, line);
}

bool sbx_check_str(struct sbx_str got, const char *want, const char *what, const char *file,
                   int line)
{
    /* An empty view may have no bytes to point to. */
    return check_bytes(got.ptr != NULL || got.len != 0 ? got.ptr : "", got.len, want,
                       want != NULL ? strlen(want) : 0, what, file, line);
}

bool sbx_check_code(enum sbx_code got, enum sbx_code want, const struct sbx_err *err,
                    const char *what, const char *file, int line)
{
    bool held = got == want;
    if (failed_and_shown(held, what, file, line)) {
        printf("#   got:  %s (%d)\n#   want: %s (%d)\n", sbx_code_text(got), (int)got,
               sbx_code_text(want), (int)want);
        if (err != NULL && err->code != SBX_OK) {
            printf("#   error: ");
            print_bytes(err->text, strlen(err->text));
            printf("\n");
            print_call(err);
        }
    }
    return held;
}

bool sbx_check_mem(const void *got, size_t got_len, const void *want, size_t want_len,
                   const char *what, const char *file, int line)
{
    return check_bytes(got, got_len, want, want_len, what, file, line);
}

/* ---- skips ------------------------------------------------------------------------------------- */

bool sbx_test_requires(const char *feature)
{
    const char *list = getenv("SBX_TEST_REQUIRE");
    struct sbx_str rest = sbx_str(list);
    while (rest.len > 0) {
        struct sbx_str name;
        (void)sbx_str_split(rest, ',', &name, &rest);
        if (sbx_str_is(name, "all") || sbx_str_is(name, feature)) {
            return true;
        }
    }
    return false;
}

void sbx_test_skip(const char *feature, const char *reason)
{
    if (sbx_test_requires(feature)) {
        printf("# SBX_TEST_REQUIRE asks for \"%s\", which is missing: %s\n", feature, reason);
        current.failures++;
        return;
    }
    current.skip_reason = reason;
}

/* ---- the run ----------------------------------------------------------------------------------- */

/* The TAP line of one finished case. Returns false when it failed. */
static bool report(size_t number, const char *name)
{
    bool passed = true;
    if (current.failures > 0 || CU_get_number_of_failures() > 0) {
        passed = false;
    } else if (current.skip_reason == NULL && CU_get_number_of_asserts() == 0) {
        printf("# the case made no check\n");
        passed = false;
    }
    printf("%s %zu - %s", passed ? "ok" : "not ok", number, name);
    if (passed && current.skip_reason != NULL) {
        printf(" # SKIP %s", current.skip_reason);
    }
    printf("\n");
    /* What was printed must survive a crash in the next case. */
    (void)fflush(stdout);
    return passed;
}

static int run_cases(const struct sbx_test *tests, size_t count, const char *filter,
                     CU_pSuite suite)
{
    size_t wanted = 0;
    size_t failed = 0;
    size_t skipped = 0;
    for (size_t i = 0; i < count; i++) {
        wanted += filter == NULL || strstr(tests[i].name, filter) != NULL;
    }
    printf("1..%zu\n", wanted);
    (void)fflush(stdout);
    size_t number = 0;
    for (size_t i = 0; i < count; i++) {
        if (filter != NULL && strstr(tests[i].name, filter) == NULL) {
            continue;
        }
        current.skip_reason = NULL;
        current.failures = 0;
        CU_pTest test = CU_add_test(suite, tests[i].name, tests[i].run);
        if (test == NULL || CU_run_test(suite, test) != CUE_SUCCESS) {
            /* CUnit refuses two cases of one name. */
            printf("# CUnit: %s\n", CU_get_error_msg());
            current.failures++;
        }
        number++;
        failed += !report(number, tests[i].name);
        skipped += current.skip_reason != NULL;
    }
    if (number == 0) {
        printf("# no case was run\n");
    }
    if (number == 0 || failed > 0) {
        return 1;
    }
    return skipped == number ? EXIT_SKIPPED : 0;
}

int sbx_test_main(int argc, char **argv, const char *suite, const struct sbx_test *tests,
                  size_t count)
{
    if (CU_initialize_registry() != CUE_SUCCESS) {
        printf("Bail out! CUnit: %s\n", CU_get_error_msg());
        return 1;
    }
    CU_pSuite cases = CU_add_suite(suite, NULL, NULL);
    int status = 1;
    if (cases == NULL) {
        printf("Bail out! CUnit: %s\n", CU_get_error_msg());
    } else {
        printf("# %s\n", suite);
        status = run_cases(tests, count, argc > 1 ? argv[1] : NULL, cases);
    }
    CU_cleanup_registry();
    return status;
}
