/* Windows' texts: UTF-16 both ways, file names, access lists. */
#include <windows.h>

#include <sddl.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/unit/random.h"
#include "win/acl.h"
#include "win/handle.h"
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
        {0xd800},         {0xdc00},       {0xd800, L'a'},           {0xdfff, 0xdbff},
        {0xdc00, 0xd800}, {L'a', 0xd83d}, {0xd83d, 0xd83d, 0xdc27}, {0xd83d, 0xdc27, 0xdc27},
    };
    static const char *const narrow[] = {
        "\xff",
        "\xc0\x80",                 /* NUL in two bytes */
        "\xc1\xbf",                 /* overlong */
        "\xe0\x9f\xbf",             /* overlong */
        "\xf0\x8f\xbf\xbf",         /* overlong */
        "\xc0\xaf",                 /* a slash in two bytes */
        "\xed\xa0\x80",             /* a surrogate */
        "\xed\xbf\xbf",             /* a surrogate */
        "\xed\xa0\xbd\xed\xb0\xa7", /* a pair of them, as CESU-8 has it */
        "a\xe2\x82",                /* cut short */
        "\xf4\x90\x80\x80",         /* past the last character */
        "\xf8\x88\x80\x80\x80",     /* five bytes */
        "\x80",                     /* begins in the middle */
        "a\xc3",
    };
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    const char *text = "untouched";
    wchar_t *back = NULL;
    struct sbx_path path = {"untouched", 9, SBX_PATH_WINDOWS};
    for (size_t i = 0; i < SBX_COUNT(wide); i++) {
        CHECK_CODE(sbx_wide_to(&arena, wide[i], &text, &err), SBX_E_INVALID, &err);
        CHECK_TEXT(text, "untouched");
        CHECK_CODE(sbx_wide_to_path(&arena, wide[i], &path, &err), SBX_E_INVALID, &err);
        CHECK_CODE(sbx_wide_final(&arena, wide[i], &path, &err), SBX_E_INVALID, &err);
        CHECK_TEXT(path.text, "untouched");
    }
    for (size_t i = 0; i < SBX_COUNT(narrow); i++) {
        CHECK_CODE(sbx_wide_from(&arena, narrow[i], &back, &err), SBX_E_INVALID, &err);
        CHECK_CODE(sbx_wide_path(&arena, narrow[i], &back, &err), SBX_E_INVALID, &err);
        CHECK_CODE(sbx_wide_prefixed(&arena, (struct sbx_path){narrow[i], 1, SBX_PATH_WINDOWS},
                                     &back, &err),
                   SBX_E_INVALID, &err);
        CHECK(back == NULL);
    }
}

/* A name on disk that is no text: the system knows it, we never pass it on. */
static void broken_names_on_disk_are_refused(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    struct sbx_path path = {"untouched", 9, SBX_PATH_WINDOWS};
    wchar_t name[] = L"\\\\?\\C:\\dir\\\xd800.txt";
    CHECK_CODE(sbx_wide_final(&arena, name, &path, &err), SBX_E_INVALID, &err);
    name[11] = L'x';
    CHECK_CODE(sbx_wide_final(&arena, name, &path, &err), SBX_OK, &err);
    CHECK_TEXT(path.text, "C:\\dir\\x.txt");
}

static void memory_may_run_out(void)
{
    static const char text[] = "C:\\a\\name\\that\\is\\not\\short";
    struct sbx_path path = {text, sizeof text - 1, SBX_PATH_WINDOWS};
    wchar_t *wide = NULL;
    const char *narrow = NULL;
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 16);
    CHECK_CODE(sbx_wide_from(&arena, text, &wide, &err), SBX_E_NOMEM, &err);
    CHECK_CODE(sbx_wide_path(&arena, text, &wide, &err), SBX_E_NOMEM, &err);
    CHECK_CODE(sbx_wide_prefixed(&arena, path, &wide, &err), SBX_E_NOMEM, &err);
    CHECK_CODE(sbx_wide_to(&arena, L"C:\\a\\name\\that\\is\\not\\short", &narrow, &err),
               SBX_E_NOMEM, &err);
    CHECK_CODE(sbx_wide_to_path(&arena, L"C:\\a\\name\\that", &path, &err), SBX_E_NOMEM, &err);
    CHECK(wide == NULL && narrow == NULL && path.text == text);
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

/* "C:" and names of 255 characters at most, `len` in all. */
static struct sbx_str long_path(size_t len)
{
    static char text[100000];
    memset(text, 'n', len);
    text[len] = '\0';
    for (size_t i = 2; i < len; i += 256) {
        text[i] = '\\';
    }
    memcpy(text, "C:", 2);
    return (struct sbx_str){text, len};
}

/* 32766 units and the NUL are Windows' maximum; a path of ours is never longer. */
static void lengths_have_a_maximum(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 8 << 20);
    struct sbx_path path = {"", 0, SBX_PATH_WINDOWS};
    struct sbx_path back = {"", 0, SBX_PATH_WINDOWS};
    wchar_t *wide = NULL;
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_WINDOWS, long_path(SBX_WIDE_PATH_MAX), &path),
              SBX_PATH_TOO_LONG);
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_WINDOWS, long_path(SBX_WIDE_PATH_MAX - 1), &path),
              SBX_PATH_OK);
    CHECK_CODE(sbx_wide_prefixed(&arena, path, &wide, &err), SBX_OK, &err);
    CHECK_U64(wcslen(wide), SBX_WIDE_PREFIX_LEN + SBX_WIDE_PATH_MAX - 1);
    CHECK_CODE(sbx_wide_final(&arena, wide, &back, &err), SBX_OK, &err);
    CHECK(sbx_path_eq(back, path));
    CHECK_CODE(sbx_wide_from(&arena, long_path(SBX_WIDE_PATH_MAX).ptr, &wide, &err), SBX_OK, &err);
    CHECK_CODE(sbx_wide_final(&arena, wide, &back, &err), SBX_E_INVALID, &err);
    /* What Win32 cannot take is refused, not cut. */
    wide = NULL;
    enum sbx_code code = sbx_wide_path(&arena, long_path(99000).ptr, &wide, &err);
    CHECK(code != SBX_OK ? wide == NULL : wcslen(wide) == SBX_WIDE_PREFIX_LEN + 99000);
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
    {"unpaired surrogates and invalid bytes are refused by every door", broken_texts_are_refused},
    {"a name on disk that is no text is refused", broken_names_on_disk_are_refused},
    {"without memory every door says so and leaves its output alone", memory_may_run_out},
    {"file names are absolute and never devices, shares or streams", file_names_are_absolute},
    {"what the system calls a path becomes ours or is refused", system_names_become_paths},
    {"lengths have Windows' maximum, in units", lengths_have_a_maximum},
    {"a list that gives others no writing is private", private_lists_are_private},
    {"a list that lets others write says so", open_lists_are_seen},
};

SBX_TEST_MAIN("wide", tests)
