/* Attempts that give a file another name, or reach it by one. */
#include <windows.h>

#include <stdio.h>
#include <string.h>
#include <winioctl.h>

#include "win/handle.h"
#include "win/selftest.h"

#include "common/base/banned.h"

#ifndef SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE
#define SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE 2
#endif

static void try_hard_link(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    const wchar_t *name = sbx_attempt_wide(arguments[0]);
    if (!CreateHardLinkW(name, sbx_attempt_wide(arguments[1]), NULL)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "CreateHardLinkW", arguments[0]);
        return;
    }
    (void)DeleteFileW(name);
    sbx_reply(reply, SBX_ANSWER_DONE, "linked %s to %s", arguments[0], arguments[1]);
}

static void try_symbolic_link(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    const wchar_t *name = sbx_attempt_wide(arguments[0]);
    if (!CreateSymbolicLinkW(name, sbx_attempt_wide(arguments[1]),
                             SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "CreateSymbolicLinkW", arguments[0]);
        return;
    }
    (void)DeleteFileW(name);
    sbx_reply(reply, SBX_ANSWER_DONE, "linked %s to %s", arguments[0], arguments[1]);
}

/* The form of a mount point's data, which the headers keep to drivers. */
struct mount_point {
    DWORD tag;
    WORD length, reserved;
    WORD name_offset, name_length, shown_offset, shown_length;
    wchar_t names[1100];
};

static bool make_junction(const wchar_t *directory, const wchar_t *target)
{
    struct mount_point point = {.tag = IO_REPARSE_TAG_MOUNT_POINT};
    size_t len = wcslen(target);
    DWORD got;
    if (len > 1000 || !CreateDirectoryW(directory, NULL)) {
        return false;
    }
    AUTO_HANDLE file = CreateFileW(directory, GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
                                   FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (!sbx_handle_is_open(file)) {
        return false;
    }
    memcpy(point.names, L"\\??\\", 4 * sizeof(wchar_t));
    memcpy(point.names + 4, target, len * sizeof(wchar_t));
    point.name_length = (WORD)((len + 4) * sizeof(wchar_t));
    point.shown_offset = (WORD)(point.name_length + sizeof(wchar_t));
    point.length = (WORD)(8 + point.shown_offset + sizeof(wchar_t));
    return DeviceIoControl(file, FSCTL_SET_REPARSE_POINT, &point, 8u + point.length, NULL, 0, &got,
                           NULL) != 0;
}

/* A junction in a directory that may be written, and then a write through it. */
static void try_junction(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    char through[1024];
    DWORD put;
    const wchar_t *name = sbx_attempt_wide(arguments[0]);
    if (!make_junction(name, sbx_attempt_wide(arguments[1]))) {
        DWORD raw = GetLastError();
        (void)RemoveDirectoryW(name);
        sbx_reply_win32(reply, raw, "junction", arguments[0]);
        return;
    }
    (void)snprintf(through, sizeof through, "%.900s\\through-junction", arguments[0]);
    const wchar_t *file = sbx_attempt_wide(through);
    HANDLE made = CreateFileW(file, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL);
    DWORD raw = GetLastError();
    bool is_written = sbx_handle_is_open(made) && WriteFile(made, "x", 1, &put, NULL);
    sbx_handle_close(&made);
    (void)DeleteFileW(file);
    (void)RemoveDirectoryW(name);
    if (is_written) {
        sbx_reply(reply, SBX_ANSWER_DONE, "wrote %s through a junction", arguments[1]);
    } else {
        sbx_reply_win32(reply, raw, "write through junction", arguments[0]);
    }
}

/* The short name of a file, and a write by it. */
static void try_short_name(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    wchar_t name[1024];
    DWORD put;
    const wchar_t *given = sbx_attempt_wide(arguments[0]);
    DWORD len = GetShortPathNameW(given, name, SBX_COUNT(name));
    if (len == 0 || len >= SBX_COUNT(name)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "GetShortPathNameW", arguments[0]);
        return;
    }
    if (wcscmp(name, given) == 0) {
        sbx_reply(reply, SBX_ANSWER_ABSENT, "this volume makes no short names");
        return;
    }
    AUTO_HANDLE file =
        CreateFileW(name, FILE_APPEND_DATA | SYNCHRONIZE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                    OPEN_EXISTING, 0, NULL);
    if (!sbx_handle_is_open(file) || !WriteFile(file, "x", 1, &put, NULL)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "write by short name", sbx_attempt_text(name));
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "wrote %s", sbx_attempt_text(name));
}

const struct sbx_attempt sbx_attempts_link[] = {
    {"hard-link", "NEW FILE", "gives a file a second name", 2, try_hard_link},
    {"symbolic-link", "NEW TARGET", "makes a symbolic link", 2, try_symbolic_link},
    {"junction", "NEW DIR", "makes a junction and writes through it", 2, try_junction},
    {"short-name", "FILE", "writes a file by its 8.3 name", 1, try_short_name},
    SBX_SELFTEST_ALONE,
};
