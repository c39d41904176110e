/* Symbolic links for tests on Windows and on Wine. */
#include "tests/unit/link_fixture.h"

#include <windows.h>

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "win/wide.h"

#include "common/base/banned.h"

/* Not in every header. */
#define ALLOW_UNPRIVILEGED 2

static bool exists(const wchar_t *path)
{
    return GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES;
}

/* Wine starts a program of Unix, but gives no process to wait for. */
static bool make_unix_link(const wchar_t *path, const wchar_t *target)
{
    typedef char *CDECL unix_name(const wchar_t *name);
    FARPROC address = GetProcAddress(GetModuleHandleA("kernel32.dll"), "wine_get_unix_file_name");
    unix_name *tell;
    memcpy(&tell, &address, sizeof tell);
    if (tell == NULL) {
        return false;
    }
    char *from = tell(path);
    char *to = tell(target);
    wchar_t line[2048];
    STARTUPINFOW info = {.cb = sizeof info};
    PROCESS_INFORMATION born = {0};
    int len = from == NULL || to == NULL
                  ? -1
                  : swprintf(line, SBX_COUNT(line), L"ln -s \"%hs\" \"%hs\"", to, from);
    bool done = len > 0 && CreateProcessW(L"Z:\\bin\\ln", line, NULL, NULL, FALSE, 0, NULL, NULL,
                                          &info, &born);
    for (int i = 0; done && i < 500 && !exists(path); i++) {
        Sleep(10);
    }
    return done && exists(path);
}

bool link_make(const char *path, const char *target, bool is_directory)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    wchar_t *wide;
    wchar_t *wide_target;
    if (sbx_wide_path(&arena, path, &wide, NULL) != SBX_OK ||
        sbx_wide_path(&arena, target, &wide_target, NULL) != SBX_OK) {
        return false;
    }
    DWORD flags = ALLOW_UNPRIVILEGED | (is_directory ? SYMBOLIC_LINK_FLAG_DIRECTORY : 0);
    wchar_t *plain = wide + SBX_WIDE_PREFIX_LEN;
    wchar_t *plain_target = wide_target + SBX_WIDE_PREFIX_LEN;
    return (CreateSymbolicLinkW(plain, plain_target, flags) && exists(plain)) ||
           make_unix_link(plain, plain_target);
}
