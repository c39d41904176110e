/* Unit tests of common/base/err. */
#include "common/base/err.h"
#include "common/base/fault.h"

#include <string.h>

#include "common/base/utf8.h"
#include "tests/check.h"

#include "common/base/banned.h"

static void every_code_has_its_own_text(void)
{
    for (int a = 0; a < SBX_CODE_COUNT; a++) {
        CHECK(strcmp(sbx_code_text((enum sbx_code)a), "unknown") != 0);
        for (int b = 0; b < a; b++) {
            CHECK(strcmp(sbx_code_text((enum sbx_code)a), sbx_code_text((enum sbx_code)b)) != 0);
        }
    }
    CHECK_TEXT(sbx_code_text(SBX_E_NOMEM), "no-memory");
    CHECK_TEXT(sbx_code_text(SBX_E_LIMIT), "limit");
}

static void a_value_outside_the_enum_is_unknown(void)
{
    CHECK_TEXT(sbx_code_text(SBX_CODE_COUNT), "unknown");
    CHECK_TEXT(sbx_code_text((enum sbx_code)1000), "unknown");
}

static void every_numbering_has_its_name(void)
{
    CHECK_TEXT(sbx_os_domain_text(SBX_OS_ERRNO), "errno");
    CHECK_TEXT(sbx_os_domain_text(SBX_OS_WIN32), "win32");
    CHECK_TEXT(sbx_os_domain_text(SBX_OS_NTSTATUS), "ntstatus");
    CHECK_TEXT(sbx_os_domain_text(SBX_OS_HRESULT), "hresult");
    CHECK_TEXT(sbx_os_domain_text(SBX_OS_NONE), NULL);
    CHECK_TEXT(sbx_os_domain_text((enum sbx_os_domain)1000), NULL);
}

static void setting_fills_everything(void)
{
    struct sbx_err err;
    memset(&err, 0x5a, sizeof err);
    CHECK_CODE(sbx_err_set(&err, SBX_E_SYNTAX, "line %d of \"%s\"", 7, "a.toml"), SBX_E_SYNTAX,
               &err);
    CHECK_INT(err.code, SBX_E_SYNTAX);
    CHECK_INT(err.os, SBX_OS_NONE);
    CHECK_INT(err.raw, 0);
    CHECK_TEXT(err.call, NULL);
    CHECK_TEXT(err.text, "line 7 of \"a.toml\"");
    CHECK_TEXT(err.hint, "");
}

static void an_os_failure_keeps_call_and_raw_code(void)
{
    struct sbx_err err;
    CHECK_CODE(sbx_err_os(&err, SBX_E_DENIED, SBX_OS_NTSTATUS, INT64_C(0xc0000022), "NtOpenFile",
                          "cannot open \"%s\"", "x"),
               SBX_E_DENIED, &err);
    CHECK_INT(err.os, SBX_OS_NTSTATUS);
    CHECK_INT(err.raw, INT64_C(0xc0000022));
    CHECK_TEXT(err.call, "NtOpenFile");
    CHECK_TEXT(err.text, "cannot open \"x\"");
}

static void without_an_err_the_code_still_comes_back(void)
{
    CHECK_INT(sbx_err_set(NULL, SBX_E_IO, "lost"), SBX_E_IO);
    CHECK_INT(sbx_err_os(NULL, SBX_E_IO, SBX_OS_ERRNO, 5, "read", "lost"), SBX_E_IO);
    CHECK_INT(sbx_err_nomem(NULL), SBX_E_NOMEM);
}

static void out_of_memory_is_one_word(void)
{
    struct sbx_err err;
    CHECK_CODE(sbx_err_nomem(&err), SBX_E_NOMEM, &err);
    CHECK_TEXT(err.text, "out of memory");
}

static void a_hint_replaces_the_hint_before(void)
{
    struct sbx_err err;
    (void)sbx_err_set(&err, SBX_E_USAGE, "no");
    CHECK_CODE(sbx_err_hint(&err, "try %s", "a"), SBX_E_USAGE, &err);
    CHECK_CODE(sbx_err_hint(&err, "try %s", "b"), SBX_E_USAGE, &err);
    CHECK_TEXT(err.hint, "try b");
    CHECK_TEXT(err.text, "no");
}

static void context_goes_before_the_cause(void)
{
    struct sbx_err err;
    (void)sbx_err_os(&err, SBX_E_IO, SBX_OS_ERRNO, 5, "read", "input/output error");
    (void)sbx_err_hint(&err, "look at the disk");
    CHECK_CODE(sbx_err_context(&err, "reading \"%s\"", "m.toml"), SBX_E_IO, &err);
    CHECK_CODE(sbx_err_context(&err, "starting"), SBX_E_IO, &err);
    CHECK_TEXT(err.text, "starting: reading \"m.toml\": input/output error");
    CHECK_TEXT(err.hint, "look at the disk");
    CHECK_INT(err.raw, 5);
}

static void the_way_out_of_a_failure_is_never_a_success(void)
{
    struct sbx_err err = {0};
    CHECK_INT(sbx_err_hint(NULL, "x"), SBX_E_INTERNAL);
    CHECK_INT(sbx_err_context(NULL, "x"), SBX_E_INTERNAL);
    CHECK_INT(sbx_err_hint(&err, "x"), SBX_E_INTERNAL);
    CHECK_INT(err.code, SBX_E_INTERNAL);
    err = (struct sbx_err){0};
    CHECK_INT(sbx_err_context(&err, "x"), SBX_E_INTERNAL);
    CHECK_INT(err.code, SBX_E_INTERNAL);
}

static bool ends_in_ellipsis(const char *text)
{
    return sbx_str_ends(sbx_str(text), "\xe2\x80\xa6");
}

/* 'x' * pad, then characters of two bytes: every alignment of the cut is met. */
static void a_long_text_is_cut_at_a_character_boundary(void)
{
    for (size_t pad = 0; pad < 4; pad++) {
        char text[2001] = {0};
        memset(text, 'x', pad);
        for (size_t i = pad; i + 1 < sizeof text; i += 2) {
            memcpy(text + i, "\xc3\xa9", i + 2 < sizeof text ? 2 : 0);
        }
        struct sbx_err err;
        (void)sbx_err_set(&err, SBX_E_INVALID, "%s", text);
        (void)sbx_err_hint(&err, "%s", text);
        CHECK(ends_in_ellipsis(err.text));
        CHECK(ends_in_ellipsis(err.hint));
        CHECK(sbx_utf8_valid(err.text, strlen(err.text), NULL));
        CHECK(sbx_utf8_valid(err.hint, strlen(err.hint), NULL));
        CHECK(strlen(err.text) >= sizeof err.text - 3);
        CHECK(strlen(err.hint) >= sizeof err.hint - 3);
    }
}

static void a_text_that_just_fits_is_not_cut(void)
{
    struct sbx_err err;
    char text[sizeof err.text];
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)sbx_err_set(&err, SBX_E_INVALID, "%s", text);
    CHECK_TEXT(err.text, text);
}

static void a_long_context_does_not_push_the_cause_out(void)
{
    struct sbx_err err;
    char path[5000];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    (void)sbx_err_set(&err, SBX_E_DENIED, "permission denied");
    (void)sbx_err_context(&err, "mounting \"%s\"", path);
    CHECK(sbx_str_starts(sbx_str(err.text), "mounting \"ppp"));
    CHECK(sbx_str_contains(sbx_str(err.text), "\xe2\x80\xa6: permission denied"));

    (void)sbx_err_set(&err, SBX_E_DENIED, "%s", path);
    (void)sbx_err_context(&err, "short");
    CHECK(sbx_str_starts(sbx_str(err.text), "short: ppp"));
    CHECK(ends_in_ellipsis(err.text));

    /* Both long: half for each. */
    (void)sbx_err_set(&err, SBX_E_DENIED, "cause %s", path);
    (void)sbx_err_context(&err, "%s", path);
    CHECK(sbx_str_contains(sbx_str(err.text), ": cause ppp"));
}

static void an_error_may_quote_itself(void)
{
    struct sbx_err err;
    (void)sbx_err_set(&err, SBX_E_IO, "first");
    (void)sbx_err_hint(&err, "hint");
    (void)sbx_err_hint(&err, "more than a %s", err.hint);
    CHECK_TEXT(err.hint, "more than a hint");
    (void)sbx_err_context(&err, "again %s", err.text);
    CHECK_TEXT(err.text, "again first: first");
    (void)sbx_err_set(&err, SBX_E_IO, "second after %s", err.text);
    CHECK_TEXT(err.text, "second after again first: first");
}

static const struct sbx_fault_row fault_rows[] = {
    {2, SBX_E_NOT_FOUND, "no such thing"},
    {5, SBX_E_DENIED, "not allowed"},
};
static const struct sbx_fault_table faults = {SBX_OS_ERRNO, fault_rows, SBX_COUNT(fault_rows)};

static enum sbx_code set_fault(struct sbx_err *err, int64_t raw, const char *format, ...)
    SBX_PRINTF(3, 4);
static enum sbx_code set_fault(struct sbx_err *err, int64_t raw, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    enum sbx_code code = sbx_fault_set(err, &faults, raw, "openat", format, args);
    va_end(args);
    return code;
}

static void a_raw_code_gets_its_meaning(void)
{
    struct sbx_err err = {0};
    CHECK_INT(set_fault(&err, 5, "cannot open \"%s\"", "x"), SBX_E_DENIED);
    CHECK_TEXT(err.text, "cannot open \"x\": not allowed");
    CHECK_TEXT(err.call, "openat");
    CHECK_INT(err.raw, 5);
    CHECK_INT(set_fault(&err, 99, "x"), SBX_E_IO);
    CHECK_TEXT(err.text, "x: system error");
    CHECK_INT(set_fault(NULL, 2, "x"), SBX_E_NOT_FOUND);
}

static void a_long_text_does_not_hide_the_meaning(void)
{
    struct sbx_err err = {0};
    CHECK_INT(set_fault(&err, 2, "%02000d", 7), SBX_E_NOT_FOUND);
    CHECK(sbx_str_ends(sbx_str(err.text), ": no such thing"));
}

static const struct sbx_test tests[] = {
    {"a raw code of the system gets its meaning in words", a_raw_code_gets_its_meaning},
    {"a long text does not hide the meaning of a code", a_long_text_does_not_hide_the_meaning},
    {"every code has its own text", every_code_has_its_own_text},
    {"every numbering of raw codes has its name", every_numbering_has_its_name},
    {"a value outside the enum is unknown", a_value_outside_the_enum_is_unknown},
    {"setting fills everything", setting_fills_everything},
    {"an OS failure keeps call and raw code", an_os_failure_keeps_call_and_raw_code},
    {"without an err the code still comes back", without_an_err_the_code_still_comes_back},
    {"out of memory is one word", out_of_memory_is_one_word},
    {"a hint replaces the hint before", a_hint_replaces_the_hint_before},
    {"context goes before the cause", context_goes_before_the_cause},
    {"the way out of a failure is never a success", the_way_out_of_a_failure_is_never_a_success},
    {"a long text is cut at a character boundary", a_long_text_is_cut_at_a_character_boundary},
    {"a text that just fits is not cut", a_text_that_just_fits_is_not_cut},
    {"a long context does not push the cause out", a_long_context_does_not_push_the_cause_out},
    {"an error may quote itself", an_error_may_quote_itself},
};

SBX_TEST_MAIN("err", tests)
