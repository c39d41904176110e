/* What codes of Windows mean for a box: every row of both tables, against a list kept here. */
#include <windows.h>

#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "win/diagnose.h"
#include "win/fault.h"
#include "win/job.h"

#include "common/base/banned.h"

/* ---- starting ---------------------------------------------------------------------------------- */

/* The whole dictionary: code, whose fault, and a word that its remedy must have. */
static const struct {
    DWORD raw;
    enum sbx_code code;
    const char *word;
} starts[] = {
    {2, SBX_E_NOT_FOUND, "PATH in the box"},
    {3, SBX_E_NOT_FOUND, "PATH in the box"},
    {5, SBX_E_DENIED, "grant the program's directory"},
    {8, SBX_E_NOMEM, "desktop heap"},
    {50, SBX_E_UNSUPPORTED, "1809"},
    {87, SBX_E_UNSUPPORTED, "sbx doctor"},
    {193, SBX_E_DENIED, "interpreter"},
    {203, SBX_E_INVALID, "LOCALAPPDATA"},
    {267, SBX_E_INVALID, "mapped drive"},
    {740, SBX_E_DENIED, "never elevates"},
    {1260, SBX_E_DENIED, "policy"},
    {1312, SBX_E_DENIED, "Store"},
    {1314, SBX_E_IO, "caller's own"},
    {1455, SBX_E_NOMEM, "memory is exhausted"},
    {1920, SBX_E_DENIED, "Store alias"},
    {4551, SBX_E_DENIED, "WDAC"},
};

static void every_start_code_has_cause_and_remedy(void)
{
    for (size_t i = 0; i < SBX_COUNT(starts); i++) {
        struct sbx_err err = {0};
        (void)sbx_err_win32(&err, starts[i].raw, "CreateProcessAsUserW", "cannot start");
        enum sbx_code code = sbx_diagnose_start(&err);
        if (!CHECK_INT(code, starts[i].code) || !CHECK_INT(err.code, starts[i].code) ||
            !CHECK(strstr(err.hint, starts[i].word) != NULL)) {
            printf("# %lu: %s\n", starts[i].raw, err.hint);
        }
        CHECK_TEXT(err.call, "CreateProcessAsUserW"); /* what was known stays */
        CHECK_INT(err.raw, starts[i].raw);
        CHECK(strstr(err.text, "cannot start") != NULL);
    }
}

/* No code outside the list gets a remedy: a wrong one is worse than none. */
static void other_codes_stay_as_they_are(void)
{
    for (DWORD raw = 1; raw < 6000; raw++) {
        bool is_listed = false;
        for (size_t i = 0; i < SBX_COUNT(starts); i++) {
            is_listed |= starts[i].raw == raw;
        }
        struct sbx_err err = {0};
        (void)sbx_err_win32(&err, raw, "CreateProcessAsUserW", "cannot start");
        struct sbx_err before = err;
        enum sbx_code code = sbx_diagnose_start(&err);
        CHECK_INT(code, err.code);
        if (!CHECK((err.hint[0] != '\0') == is_listed)) {
            printf("# %lu: %s\n", raw, err.hint);
        }
        if (!is_listed) {
            CHECK_INT(err.code, before.code);
        }
    }
}

static void another_numbering_is_not_ours(void)
{
    struct sbx_err err = {0};
    (void)sbx_err_os(&err, SBX_E_IO, SBX_OS_HRESULT, 5, "CreatePseudoConsole", "cannot");
    CHECK_INT(sbx_diagnose_start(&err), SBX_E_IO);
    CHECK_TEXT(err.hint, "");
}

/* ---- ending ------------------------------------------------------------------------------------ */

static const char *end(struct sbx_arena *arena, uint32_t code, bool was_silent, bool is_readable)
{
    struct sbx_ending ending = {
        .exit_code = code,
        .was_silent = was_silent,
        .program = "C:\\tools\\tool.exe",
        .directory = "C:\\tools",
        .directory_is_readable = is_readable,
        .desktop = "WinSta0\\sbx.1 (its own)",
        .console = "a pseudo console",
    };
    return sbx_diagnose_end(arena, &ending);
}

static void ends_are_explained(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    const char *text = end(&arena, 0xC0000142, true, true);
    char limits[32];
    (void)snprintf(limits, sizeof limits, "0x%X", (unsigned)SBX_JOB_UI_LIMITS);
    static const char *const words[] = {"0xC0000142", "WinSta0\\sbx.1 (its own)",
                                        "a pseudo console", "Git Bash"};
    for (size_t i = 0; i < SBX_COUNT(words); i++) {
        CHECK(text != NULL && strstr(text, words[i]) != NULL);
    }
    CHECK(text != NULL && strstr(text, limits) != NULL);
    CHECK_TEXT(end(&arena, 0xC0000135, true, true),
               "a DLL of \"C:\\tools\\tool.exe\" was not found or may not be read in the box "
               "(0xC0000135): grant the directory it is in with -r");
    CHECK_TEXT(end(&arena, 0xC0000135, true, false),
               "a DLL of \"C:\\tools\\tool.exe\" was not found or may not be read in the box "
               "(0xC0000135): allow its directory with -r \"C:\\tools\"");
    text = end(&arena, 0xC0000022, true, false);
    CHECK(text != NULL && strstr(text, "-r \"C:\\tools\"") != NULL);
    text = end(&arena, 0xC0000005, true, true);
    CHECK(text != NULL && strstr(text, "Cygwin") != NULL);
    CHECK(end(&arena, 0xC0000005, false, true) == NULL); /* it wrote: a crash of its own */
}

static void ordinary_ends_are_not(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    static const uint32_t codes[] = {
        0, 1, 2, 3, 5, 124, 125, 259, 0xC0000006, 0xC0000409, 0xC000013A, 0xFFFFFFFF, 0x80000003};
    for (size_t i = 0; i < SBX_COUNT(codes); i++) {
        CHECK(end(&arena, codes[i], true, true) == NULL);
    }
    AUTO_ARENA small;
    sbx_arena_init(&small, 8);
    CHECK(end(&small, 0xC0000142, true, true) == NULL); /* without memory: nothing, not half */
}

static const struct sbx_test tests[] = {
    {"every code of a failed start has its cause and its remedy",
     every_start_code_has_cause_and_remedy},
    {"codes outside the dictionary keep their meaning and get no remedy",
     other_codes_stay_as_they_are},
    {"a code of another numbering is not taken for one", another_numbering_is_not_ours},
    {"the four codes of programs that end at once are explained with what was used",
     ends_are_explained},
    {"ordinary ends are not explained", ordinary_ends_are_not},
};

SBX_TEST_MAIN("diagnosis", tests)
