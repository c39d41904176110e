/* Windows' texts: UTF-16 both ways, file names, command lines, environment blocks, access lists. */
#include <windows.h>

#include <sddl.h>
#include <shellapi.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/unit/random.h"
#include "win/acl.h"
#include "win/environment.h"
#include "win/handle.h"
#include "win/quote.h"
#include "win/system.h"
#include "win/wide.h"

#include "common/base/banned.h"

static struct sbx_err err;

/* ---- texts --------------------------------------------------------------------------------- */

static void texts_round_trip(void)
{
    static const char *const texts[] = {
        "",
        "plain",
        "\xc3\xa4\xe2\x82\xac",
        "\xf0\x9f\x90\xa7",
        "\xef\xbf\xbf",
        "\xf4\x8f\xbf\xbf\xf0\x90\x80\x80",
        "\xed\x9f\xbf\xee\x80\x80",
    };
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < SBX_COUNT(texts); i++) {
        wchar_t *wide;
        const char *back;
        CHECK_CODE(sbx_wide_from(&arena, texts[i], &wide, &err), SBX_OK, &err);
        CHECK_CODE(sbx_wide_to(&arena, wide, &back, &err), SBX_OK, &err);
        CHECK_TEXT(back, texts[i]);
    }
}

static void every_character_agrees_with_windows(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 64 << 20);
    size_t wrong = 0;
    for (uint32_t character = 1; character <= 0x10ffff; character++) {
        wchar_t wide[3] = {(wchar_t)character, 0, 0};
        if (character >= 0x10000) {
            wide[0] = (wchar_t)(0xd800 + ((character - 0x10000) >> 10));
            wide[1] = (wchar_t)(0xdc00 + ((character - 0x10000) & 0x3ff));
        }
        char theirs[8] = "";
        int len = WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, wide, -1, theirs,
                                      sizeof theirs, NULL, NULL);
        const char *ours = NULL;
        wchar_t *back = NULL;
        bool valid = sbx_wide_to(&arena, wide, &ours, NULL) == SBX_OK;
        wrong += valid != (len > 0);
        if (valid) {
            wrong += strcmp(ours, theirs) != 0 ||
                     sbx_wide_from(&arena, ours, &back, NULL) != SBX_OK || wcscmp(back, wide) != 0;
        }
        if (character % 4096 == 0) {
            sbx_arena_release(&arena);
        }
    }
    CHECK_U64(wrong, 0);
}

static void broken_texts_are_refused(void)
{
    static const wchar_t wide[][4] = {
        {0xd800},         {0xdc00},       {0xd800, L'a'},
        {0xdc00, 0xd800}, {L'a', 0xd83d}, {0xd83d, 0xd83d, 0xdc27},
    };
    static const char *const narrow[] = {"\xff", "\xc0\x80", "\xed\xa0\x80", "a\xe2\x82",
                                         "\xf4\x90\x80\x80"};
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    const char *text = "untouched";
    wchar_t *back = NULL;
    for (size_t i = 0; i < SBX_COUNT(wide); i++) {
        CHECK_CODE(sbx_wide_to(&arena, wide[i], &text, &err), SBX_E_INVALID, &err);
        CHECK_TEXT(text, "untouched");
    }
    for (size_t i = 0; i < SBX_COUNT(narrow); i++) {
        CHECK_CODE(sbx_wide_from(&arena, narrow[i], &back, &err), SBX_E_INVALID, &err);
        CHECK(back == NULL);
    }
}

/* ---- file names ---------------------------------------------------------------------------- */

static void file_names_are_absolute(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    wchar_t *wide;
    CHECK_CODE(sbx_wide_path(&arena, "C:/a/./b\\..\\c", &wide, &err), SBX_OK, &err);
    CHECK(wcscmp(wide, L"\\\\?\\C:\\a\\c") == 0);
    CHECK_CODE(sbx_wide_path(&arena, "x", &wide, &err), SBX_OK, &err);
    CHECK(wcsncmp(wide, L"\\\\?\\", 4) == 0 && wide[5] == L':');
    static const char *const refused[] = {
        "",
        "NUL",
        "C:\\a\\NUL",
        "\\\\.\\pipe\\x",
        "\\\\server\\share\\x",
        "\\\\?\\C:\\x",
        "C:\\a:stream",
        "C:\\a\\b::$DATA",
        "//server/share/x",
    };
    for (size_t i = 0; i < SBX_COUNT(refused); i++) {
        enum sbx_code code = sbx_wide_path(&arena, refused[i], &wide, &err);
        if (strstr(refused[i], "a\\NUL") != NULL && code == SBX_OK) {
            continue; /* Windows 11 lets that be a file */
        }
        CHECK_CODE(code, SBX_E_INVALID, &err);
    }
}

static void system_names_become_paths(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    struct sbx_path path;
    CHECK_CODE(sbx_wide_to_path(&arena, L"\\\\?\\c:\\Users\\x", &path, &err), SBX_OK, &err);
    CHECK_TEXT(path.text, "C:\\Users\\x");
    CHECK_CODE(sbx_wide_to_path(&arena, L"\\\\?\\UNC\\server\\x", &path, &err), SBX_E_INVALID,
               &err);
    CHECK_CODE(sbx_wide_to_path(&arena, L"\\\\server\\x", &path, &err), SBX_E_INVALID, &err);
    CHECK_CODE(sbx_wide_to_path(&arena, L"C:\\none\\PROGRA~1", &path, &err), SBX_E_INVALID, &err);
}

/* ---- command lines ------------------------------------------------------------------------- */

static void check_quoting(const char *const *argv)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 4 << 20);
    wchar_t *line;
    if (!CHECK_CODE(sbx_quote_argv(&arena, argv, &line, &err), SBX_OK, &err)) {
        return;
    }
    int count = 0;
    wchar_t **back = CommandLineToArgvW(line, &count);
    int i = 0;
    for (; i < count && argv[i] != NULL; i++) {
        const char *text = NULL;
        CHECK_CODE(sbx_wide_to(&arena, back[i], &text, &err), SBX_OK, &err);
        CHECK_TEXT(text, argv[i]);
    }
    CHECK(i == count && argv[i] == NULL);
    (void)LocalFree(back);
}

static void hard_arguments_round_trip(void)
{
    check_quoting((const char *[]){"p", NULL});
    check_quoting((const char *[]){"C:\\with space\\p.exe", "", "", NULL});
    check_quoting((const char *[]){"C:\\dir\\", "a\\", "a b\\", "\\", "\\\\", "\"", "\\\"",
                                   "\\\\\"", "a\\\\b", "a\\\\\"b c\\\\", "\"\"", "x\"y\"z", NULL});
    check_quoting((const char *[]){"p", "\t", "\n", "\v", "%PATH%", "^&|<>()!", "--x=\"y z\"",
                                   "\xf0\x9f\x90\xa7 \xc3\xa4", "'", "/c", NULL});
}

static void random_arguments_round_trip(void)
{
    static const char *const pieces[] = {"\\", "\"", " ", "a", "\t", "\xc3\xa4", "'", "\\\\", "\n"};
    uint64_t state = 42;
    for (int round = 0; round < 3000; round++) {
        char texts[4][64];
        const char *argv[6] = {"p"};
        size_t count = random_below(&state, 5);
        for (size_t i = 0; i < count; i++) {
            texts[i][0] = '\0';
            size_t len = random_below(&state, 12);
            for (size_t k = 0; k < len; k++) {
                size_t used = strlen(texts[i]);
                (void)snprintf(texts[i] + used, sizeof texts[i] - used, "%s",
                               pieces[random_below(&state, SBX_COUNT(pieces))]);
            }
            argv[i + 1] = texts[i];
        }
        argv[count + 1] = NULL;
        check_quoting(argv);
    }
}

static void impossible_lines_are_refused(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 4 << 20);
    static char text[40000];
    wchar_t *line = NULL;
    memset(text, 'a', SBX_COMMAND_LINE_MAX - 1 - 4);
    CHECK_CODE(sbx_quote_argv(&arena, (const char *[]){"p", text, NULL}, &line, &err), SBX_OK,
               &err);
    CHECK_U64(wcslen(line), SBX_COMMAND_LINE_MAX - 1);
    text[strlen(text)] = 'a';
    CHECK_CODE(sbx_quote_argv(&arena, (const char *[]){"p", text, NULL}, &line, &err), SBX_E_LIMIT,
               &err);
    CHECK_CODE(sbx_quote_argv(&arena, (const char *[]){"p\"x", NULL}, &line, &err), SBX_E_INVALID,
               &err);
}

/* ---- environment --------------------------------------------------------------------------- */

static void block_is_sorted_and_minimal(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    wchar_t *block;
    struct sbx_path root;
    CHECK_CODE(sbx_system_directory(&arena, &root, &err), SBX_OK, &err);
    const char *env[] = {"b=2", "a_=1", "B1=3", "A=0", "=C:=C:\\", "a=9", "empty=", NULL};
    CHECK_CODE(sbx_environment_block(&arena, env, &block, &err), SBX_OK, &err);
    char want_root[300];
    (void)snprintf(want_root, sizeof want_root, "SystemRoot=%s", root.text);
    char want_drive[32];
    (void)snprintf(want_drive, sizeof want_drive, "SystemDrive=%.2s", root.text);
    const char *want[] = {"=C:=C:\\", "A=0",    "a=9",      "a_=1",   "b=2",
                          "B1=3",     "empty=", want_drive, want_root};
    const wchar_t *at = block;
    for (size_t i = 0; i < SBX_COUNT(want); i++) {
        const char *text = NULL;
        CHECK_CODE(sbx_wide_to(&arena, at, &text, &err), SBX_OK, &err);
        CHECK_TEXT(text, want[i]);
        at += wcslen(at) + 1;
    }
    CHECK(at[0] == L'\0');
    CHECK_CODE(sbx_environment_block(&arena, (const char *[]){NULL}, &block, &err), SBX_OK, &err);
    CHECK(wcsncmp(block, L"SystemDrive=", 12) == 0);
}

static void declared_wins_over_needed(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    wchar_t *block;
    CHECK_CODE(sbx_environment_block(&arena,
                                     (const char *[]){"SYSTEMROOT=D:\\w", "systemdrive=D:", NULL},
                                     &block, &err),
               SBX_OK, &err);
    CHECK(wcscmp(block, L"systemdrive=D:") == 0);
    CHECK(wcscmp(block + 15, L"SYSTEMROOT=D:\\w") == 0);
    CHECK(block[15 + 16] == L'\0');
}

/* ---- access lists -------------------------------------------------------------------------- */

#define OWNER L"S-1-5-21-1-2-3-1001"

static bool others_may_write(const wchar_t *dacl)
{
    wchar_t text[512];
    (void)swprintf(text, SBX_COUNT(text), L"O:" OWNER L"%ls", dacl);
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = NULL;
    if (!CHECK(ConvertStringSecurityDescriptorToSecurityDescriptorW(text, SDDL_REVISION_1,
                                                                    &descriptor, NULL))) {
        return false;
    }
    PSID owner = NULL;
    PACL list = NULL;
    BOOL present;
    BOOL defaulted;
    CHECK(GetSecurityDescriptorOwner(descriptor, &owner, &defaulted));
    CHECK(GetSecurityDescriptorDacl(descriptor, &present, &list, &defaulted));
    return sbx_acl_others_may_write(present ? list : NULL, owner);
}

static void private_lists_are_private(void)
{
    static const wchar_t *const lists[] = {
        L"D:P",
        (L"D:(A;;FA;;;SY)(A;;FA;;;BA)(A;;FA;;;" OWNER L")"),
        L"D:(A;;FA;;;S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464)(A;;FR;;;WD)",
        L"D:(A;;FRFX;;;WD)(A;;FR;;;BU)",
        L"D:(D;;FA;;;WD)",
        L"D:(A;OICIIO;FA;;;WD)",
        L"D:(A;;FA;;;S-1-3-4)",
    };
    for (size_t i = 0; i < SBX_COUNT(lists); i++) {
        CHECK(!others_may_write(lists[i]));
    }
}

static void open_lists_are_seen(void)
{
    static const wchar_t *const lists[] = {
        L"",                                         /* none at all */
        L"D:(A;;FA;;;WD)",                           /* everyone */
        L"D:(A;;FW;;;BU)",                           /* users */
        L"D:(A;;0x2;;;AU)",                          /* just the data */
        L"D:(A;;0x4;;;AU)",                          /* just at the end */
        L"D:(A;;SD;;;S-1-5-21-1-2-3-1002)",          /* delete, and put another there */
        L"D:(A;;WD;;;S-1-5-21-1-2-3-1002)",          /* change the list */
        L"D:(A;;WO;;;S-1-5-21-1-2-3-1002)",          /* take it over */
        L"D:(A;;GW;;;S-1-5-21-1-2-3-1002)",          /* generic write */
        L"D:(A;;GA;;;S-1-15-2-1)",                   /* every app container */
        L"D:(A;;FA;;;S-1-5-80-1-2-3-4-5)",           /* some service */
        L"D:(D;;FA;;;S-1-5-21-1-2-3-9)(A;;FA;;;WD)", /* a refusal for one does not close it */
    };
    for (size_t i = 0; i < SBX_COUNT(lists); i++) {
        CHECK(others_may_write(lists[i]));
    }
}

static const struct sbx_test tests[] = {
    {"texts come back as they went", texts_round_trip},
    {"every character agrees with Windows' own conversion", every_character_agrees_with_windows},
    {"unpaired surrogates and invalid bytes are refused", broken_texts_are_refused},
    {"file names are absolute and never devices, shares or streams", file_names_are_absolute},
    {"what the system calls a path becomes ours or is refused", system_names_become_paths},
    {"hard arguments come back as they went", hard_arguments_round_trip},
    {"random arguments come back as they went", random_arguments_round_trip},
    {"a command line that cannot be is refused", impossible_lines_are_refused},
    {"an environment block is sorted and has only what Windows needs", block_is_sorted_and_minimal},
    {"a declared variable wins over a needed one", declared_wins_over_needed},
    {"a list that gives others no writing is private", private_lists_are_private},
    {"a list that lets others write says so", open_lists_are_seen},
};

SBX_TEST_MAIN("wide", tests)
