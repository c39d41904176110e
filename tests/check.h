/* The wrapper around CUnit that every unit test uses: CUnit counts, this prints what was got and what
 * was wanted, speaks TAP, and knows skips.
 *
 *     static void an_empty_arena_owns_nothing(void) { CHECK_U64(arena.used_bytes, 0); }
 *     static const struct sbx_test tests[] = {
 *         {"an empty arena owns nothing", an_empty_arena_owns_nothing},
 *     };
 *     SBX_TEST_MAIN("arena", tests)
 *
 * A check that fails prints and goes on; nothing aborts the case. Every argument is evaluated once. */
#ifndef SBX_TESTS_CHECK_H
#define SBX_TESTS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attr.h"
#include "common/base/err.h"
#include "common/base/str.h"

/* The name is a promise: "a box without network cannot reach loopback". */
struct sbx_test {
    const char *name;
    void (*run)(void);
};

/* Runs the cases whose name contains argv[1] (all without it), one TAP line each. Returns 0 when all
 * passed, 77 when all were skipped, 1 when a case failed, made no check, or none was run. */
int sbx_test_main(int argc, char **argv, const char *suite, const struct sbx_test *tests,
                  size_t count);

#define SBX_TEST_MAIN(suite, table)                                                                \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return sbx_test_main(argc, argv, (suite), (table), SBX_COUNT(table));                      \
    }

/* Marks the running case as skipped because this machine lacks `feature`; return from the case after
 * it. A failure instead when the environment's SBX_TEST_REQUIRE (comma-separated) names the feature
 * or "all". */
void sbx_test_skip(const char *feature, const char *reason);

/* True when a skip for the lack of `feature` would be a failure. */
bool sbx_test_requires(const char *feature);

#define CHECK(condition) sbx_check_true((condition) ? true : false, #condition, __FILE__, __LINE__)
#define CHECK_INT(got, want)                                                                       \
    sbx_check_int((intmax_t)(got), (intmax_t)(want), #got, __FILE__, __LINE__)
#define CHECK_U64(got, want)                                                                       \
    sbx_check_u64((uint64_t)(got), (uint64_t)(want), #got, __FILE__, __LINE__)
/* C strings; NULL equals only NULL. */
#define CHECK_TEXT(got, want) sbx_check_text((got), (want), #got, __FILE__, __LINE__)
/* A struct sbx_str against a C string. */
#define CHECK_STR(got, want) sbx_check_str((got), (want), #got, __FILE__, __LINE__)
/* enum sbx_code; the struct sbx_err (may be NULL) is printed when they differ, with its call and raw
 * code. */
#define CHECK_CODE(got, want, err) sbx_check_code((got), (want), (err), #got, __FILE__, __LINE__)
#define CHECK_MEM(got, got_len, want, want_len)                                                    \
    sbx_check_mem((got), (got_len), (want), (want_len), #got, __FILE__, __LINE__)

/* What the macros call; each returns whether the check held. */
bool sbx_check_true(bool held, const char *what, const char *file, int line);
bool sbx_check_int(intmax_t got, intmax_t want, const char *what, const char *file, int line);
bool sbx_check_u64(uint64_t got, uint64_t want, const char *what, const char *file, int line);
bool sbx_check_text(const char *got, const char *want, const char *what, const char *file,
                    int line);
bool sbx_check_str(struct sbx_str got, const char *want, const char *what, const char *file,
                   int line);
bool sbx_check_code(enum sbx_code got, enum sbx_code want, const struct sbx_err *err,
                    const char *what, const char *file, int line);
bool sbx_check_mem(const void *got, size_t got_len, const void *want, size_t want_len,
                   const char *what, const char *file, int line);

#endif
