/* Attempts on files and registry keys. Names are taken as they are given, so that every spelling can be tried. */
#include <windows.h>

#include <aclapi.h>
#include <stdio.h>

#include "win/handle.h"
#include "win/selftest.h"
#include "win/sid.h"

#include "common/base/banned.h"

#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

static HANDLE open_file(const char *name, DWORD access, DWORD how, DWORD flags)
{
    return CreateFileW(sbx_attempt_wide(name), access, SHARE_ALL, NULL, how, flags, NULL);
}

static void try_nothing(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    sbx_reply(reply, SBX_ANSWER_DONE, "it ran");
}

static void try_read(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    BYTE block[512];
    DWORD got;
    AUTO_HANDLE file = open_file(arguments[0], GENERIC_READ, OPEN_EXISTING, 0);
    if (!sbx_handle_is_open(file) || !ReadFile(file, block, sizeof block, &got, NULL)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "read", arguments[0]);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "read %s", arguments[0]);
}

/* Opens an existing thing for reading and no more: a drive, a device, a pipe. */
static void try_open(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    AUTO_HANDLE file =
        open_file(arguments[0], GENERIC_READ, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
    if (!sbx_handle_is_open(file)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "open", arguments[0]);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "opened %s", arguments[0]);
}

static void write_as(const char *name, DWORD how, DWORD access, struct sbx_reply *reply)
{
    DWORD put;
    AUTO_HANDLE file = open_file(name, access, how, FILE_ATTRIBUTE_NORMAL);
    if (!sbx_handle_is_open(file) || !WriteFile(file, "x", 1, &put, NULL)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "write", name);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "wrote %s", name);
}

static void try_write(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    write_as(arguments[0], OPEN_ALWAYS, GENERIC_WRITE, reply);
}

static void try_append(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    write_as(arguments[0], OPEN_EXISTING, FILE_APPEND_DATA | SYNCHRONIZE, reply);
}

static void try_create(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    write_as(arguments[0], CREATE_ALWAYS, GENERIC_WRITE, reply);
}

static void try_directory(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    if (!CreateDirectoryW(sbx_attempt_wide(arguments[0]), NULL)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "CreateDirectoryW", arguments[0]);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "made %s", arguments[0]);
}

static void try_list(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    char pattern[1024];
    WIN32_FIND_DATAW entry;
    (void)snprintf(pattern, sizeof pattern, "%.1000s\\*", arguments[0]);
    HANDLE find = FindFirstFileW(sbx_attempt_wide(pattern), &entry);
    if (find == INVALID_HANDLE_VALUE) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "FindFirstFileW", arguments[0]);
        return;
    }
    (void)FindClose(find);
    sbx_reply(reply, SBX_ANSWER_DONE, "listed %s", arguments[0]);
}

static void try_rename(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    const wchar_t *from = sbx_attempt_wide(arguments[0]);
    const wchar_t *to = sbx_attempt_wide(arguments[1]);
    if (!MoveFileExW(from, to, 0)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "MoveFileExW", arguments[0]);
        return;
    }
    (void)MoveFileExW(to, from, 0);
    sbx_reply(reply, SBX_ANSWER_DONE, "renamed %s to %s", arguments[0], arguments[1]);
}

static void try_delete(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    if (!DeleteFileW(sbx_attempt_wide(arguments[0]))) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "DeleteFileW", arguments[0]);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "removed %s", arguments[0]);
}

static void try_hide(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    const wchar_t *name = sbx_attempt_wide(arguments[0]);
    DWORD old = GetFileAttributesW(name);
    if (old == INVALID_FILE_ATTRIBUTES || !SetFileAttributesW(name, old ^ FILE_ATTRIBUTE_HIDDEN)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "SetFileAttributesW", arguments[0]);
        return;
    }
    (void)SetFileAttributesW(name, old);
    sbx_reply(reply, SBX_ANSWER_DONE, "changed the attributes of %s", arguments[0]);
}

/* Opens it with these rights, and does nothing with them. */
static void try_may(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    AUTO_HANDLE file = open_file(arguments[0], (DWORD)sbx_attempt_number(arguments[1]),
                                 OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
    if (!sbx_handle_is_open(file)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "open with those rights", arguments[0]);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "opened %s with %s", arguments[0], arguments[1]);
}

/* All that a program does with a file of its own. */
static void try_cycle(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    static const struct {
        const char *name;
        void (*run)(const char *const *arguments, size_t count, struct sbx_reply *reply);
    } steps[] = {{"create", try_create}, {"append", try_append}, {"read", try_read},
                 {"hide", try_hide},     {"rename", try_rename}, {"delete", try_delete}};
    char file[1024];
    char other[1024];
    (void)count;
    (void)snprintf(file, sizeof file, "%.1000s\\cycle", arguments[0]);
    (void)snprintf(other, sizeof other, "%.1000s\\cycle renamed", arguments[0]);
    const char *names[] = {file, other};
    for (size_t i = 0; i < SBX_COUNT(steps); i++) {
        steps[i].run(names, 2, reply);
        if (reply->answer != SBX_ANSWER_DONE) {
            return;
        }
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "made, wrote, read, changed, renamed and removed %s", file);
}

/* ---- owners and lists ---- */

static void try_owner(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = NULL;
    AUTO_ARENA arena;
    PSID owner = NULL;
    sbx_arena_init(&arena, 4096);
    DWORD raw =
        GetNamedSecurityInfoW(sbx_attempt_wide(arguments[0]), SE_FILE_OBJECT,
                              OWNER_SECURITY_INFORMATION, &owner, NULL, NULL, NULL, &descriptor);
    if (raw != ERROR_SUCCESS) {
        sbx_reply_win32(reply, raw, "GetNamedSecurityInfoW", arguments[0]);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "%s", sbx_sid_text(&arena, owner));
}

/* Opens it with the right to change who may do what, and writes back what it has. */
static void try_list_change(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    BYTE descriptor[4096];
    DWORD needed;
    AUTO_HANDLE file = open_file(arguments[0], READ_CONTROL | WRITE_DAC, OPEN_EXISTING,
                                 FILE_FLAG_BACKUP_SEMANTICS);
    if (!sbx_handle_is_open(file) ||
        !GetKernelObjectSecurity(file, DACL_SECURITY_INFORMATION, descriptor, sizeof descriptor,
                                 &needed) ||
        !SetKernelObjectSecurity(file, DACL_SECURITY_INFORMATION, descriptor)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "change the access list of", arguments[0]);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "changed the access list of %s", arguments[0]);
}

static void try_owner_change(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    BYTE descriptor[4096];
    DWORD needed;
    AUTO_HANDLE file = open_file(arguments[0], READ_CONTROL | WRITE_OWNER, OPEN_EXISTING,
                                 FILE_FLAG_BACKUP_SEMANTICS);
    if (!sbx_handle_is_open(file) ||
        !GetKernelObjectSecurity(file, OWNER_SECURITY_INFORMATION, descriptor, sizeof descriptor,
                                 &needed) ||
        !SetKernelObjectSecurity(file, OWNER_SECURITY_INFORMATION, descriptor)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "take", arguments[0]);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "set the owner of %s", arguments[0]);
}

/* As Python's mkdir(mode=0o700) does since 3.12: a list for the owner, SYSTEM and Administrators that inherits
 * nothing. Then a file in it, as pytest wants. */
static void try_private(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = NULL;
    char name[1024];
    if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(
            L"D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;OW)", SDDL_REVISION_1, &descriptor,
            NULL)) {
        sbx_reply(reply, SBX_ANSWER_BROKEN, "no descriptor: %lu", GetLastError());
        return;
    }
    SECURITY_ATTRIBUTES attributes = {sizeof attributes, descriptor, FALSE};
    if (!CreateDirectoryW(sbx_attempt_wide(arguments[0]), &attributes)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "CreateDirectoryW", arguments[0]);
        return;
    }
    (void)snprintf(name, sizeof name, "%.1000s\\inner", arguments[0]);
    write_as(name, CREATE_NEW, GENERIC_WRITE, reply);
    (void)DeleteFileW(sbx_attempt_wide(name));
    (void)RemoveDirectoryW(sbx_attempt_wide(arguments[0]));
}

/* ---- the registry ---- */

static void try_registry(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    HKEY key = NULL;
    const wchar_t *name = sbx_attempt_wide(arguments[0]);
    LSTATUS raw = RegCreateKeyExW(HKEY_CURRENT_USER, name, 0, NULL, 0, KEY_WRITE, NULL, &key, NULL);
    if (raw == ERROR_SUCCESS) {
        raw = RegSetValueExW(key, L"written", 0, REG_SZ, (const BYTE *)L"", sizeof(wchar_t));
        (void)RegCloseKey(key);
    }
    if (raw != ERROR_SUCCESS) {
        sbx_reply_win32(reply, (DWORD)raw, "write below HKCU", arguments[0]);
        return;
    }
    (void)RegDeleteKeyW(HKEY_CURRENT_USER, name);
    sbx_reply(reply, SBX_ANSWER_DONE, "wrote the registry key HKCU\\%s", arguments[0]);
}

const struct sbx_attempt sbx_attempts_file[] = {
    {"nothing", "", "starts and ends", 0, try_nothing},
    {"read", "FILE", "reads a file", 1, try_read},
    {"open", "NAME", "opens a file, drive, device or pipe for reading", 1, try_open},
    {"write", "FILE", "makes or overwrites a file", 1, try_write},
    {"append", "FILE", "appends to a file that is there", 1, try_append},
    {"create", "FILE", "makes a file anew", 1, try_create},
    {"directory", "DIR", "makes a directory", 1, try_directory},
    {"list", "DIR", "lists a directory", 1, try_list},
    {"rename", "FROM TO", "renames, and back", 2, try_rename},
    {"delete", "FILE", "removes a file", 1, try_delete},
    {"hide", "FILE", "changes attributes, and back", 1, try_hide},
    {"may", "FILE RIGHTS", "opens with rights", 2, try_may},
    {"cycle", "DIR", "makes, uses and removes a file", 1, try_cycle},
    {"owner", "FILE", "tells the owner", 1, try_owner},
    {"list-change", "FILE", "writes an access list", 1, try_list_change},
    {"owner-change", "FILE", "writes the owner", 1, try_owner_change},
    {"private", "DIR", "makes a directory for the owner alone, and a file in it", 1, try_private},
    {"registry", "KEY", "writes a key below HKCU, and removes it", 1, try_registry},
    SBX_SELFTEST_ALONE,
};
