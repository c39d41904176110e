/* Cases: what the boxes of this test left on the machine. They run last. */
#include <windows.h>

#include <stdio.h>
#include <string.h>
#include <tlhelp32.h>

#include "common/os.h"
#include "win/handle.h"
#include "win/selftest.h"
#include "win/wide.h"

#include "common/base/banned.h"

#define MAPPINGS                                                                                   \
    L"Software\\Classes\\Local Settings\\Software\\Microsoft\\Windows\\CurrentVersion\\"           \
    L"AppContainer\\Mappings"

/* ---- leases ---- */

/* Those of other runs that go on meanwhile count too: who tests, tests alone. */
static void find_leases(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                        struct sbx_selftest_result *result)
{
    (void)row;
    WIN32_FIND_DATAW entry;
    size_t found = 0;
    if (!sbx_selftest_has_box(t, result)) {
        return;
    }
    const char *pattern = sbx_selftest_expand(t, "{state}\\leases");
    wchar_t *directory = pattern == NULL ? NULL : sbx_selftest_wide(t, pattern);
    wchar_t name[1200];
    if (directory == NULL || wcslen(directory) > 1000) {
        sbx_selftest_say(t, result, SBX_SELFTEST_ERROR, "out of memory");
        return;
    }
    (void)_snwprintf(name, SBX_COUNT(name), L"%ls\\*.lease", directory);
    HANDLE find = FindFirstFileW(name, &entry);
    for (BOOL more = find != INVALID_HANDLE_VALUE; more; more = FindNextFileW(find, &entry)) {
        found++;
    }
    if (find != INVALID_HANDLE_VALUE) {
        (void)FindClose(find);
    }
    sbx_selftest_say(t, result, found == 0 ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL,
                     "%zu leases in %s", found, pattern);
}

/* ---- profiles ---- */

static bool is_ours(HKEY mappings, const wchar_t *sid)
{
    wchar_t moniker[256];
    DWORD size = sizeof moniker;
    return RegGetValueW(mappings, sid, L"Moniker", RRF_RT_REG_SZ, NULL, moniker, &size) ==
               ERROR_SUCCESS &&
           _wcsnicmp(moniker, L"sbx.", 4) == 0;
}

/* The system keeps a list of the AppContainers of each user. */
static void find_profiles(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                          struct sbx_selftest_result *result)
{
    (void)row;
    HKEY mappings = NULL;
    size_t seen = 0;
    size_t ours = 0;
    if (!sbx_selftest_has_box(t, result)) {
        return;
    }
    LSTATUS raw = RegOpenKeyExW(HKEY_CURRENT_USER, MAPPINGS, 0, KEY_READ, &mappings);
    if (raw != ERROR_SUCCESS) {
        sbx_selftest_say(t, result, SBX_SELFTEST_CANNOT, "the system's list cannot be read: %ld",
                         (long)raw);
        return;
    }
    for (DWORD i = 0;; i++) {
        wchar_t sid[256];
        DWORD len = SBX_COUNT(sid);
        if (RegEnumKeyExW(mappings, i, sid, &len, NULL, NULL, NULL, NULL) != ERROR_SUCCESS) {
            break;
        }
        seen++;
        ours += is_ours(mappings, sid);
    }
    (void)RegCloseKey(mappings);
    sbx_selftest_say(t, result, ours == 0 ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL,
                     "%zu AppContainers are known for this user, %zu of them sbx's", seen, ours);
}

/* ---- processes ---- */

static bool runs(DWORD pid, const wchar_t *program)
{
    wchar_t name[1024];
    DWORD size = SBX_COUNT(name);
    AUTO_HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, pid);
    return process != NULL && QueryFullProcessImageNameW(process, 0, name, &size) &&
           _wcsicmp(name, program) == 0;
}

static void find_processes(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                           struct sbx_selftest_result *result)
{
    (void)row;
    PROCESSENTRY32W entry = {.dwSize = sizeof entry};
    wchar_t *copy = NULL;
    size_t seen = 0;
    size_t left = 0;
    if (!sbx_selftest_has_box(t, result)) {
        return;
    }
    AUTO_HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    if (!sbx_handle_is_open(all) ||
        sbx_wide_from(&t->arena, sbx_selftest_place(t, "copy"), &copy, NULL) != SBX_OK) {
        sbx_selftest_say(t, result, SBX_SELFTEST_ERROR, "the processes cannot be listed: %lu",
                         GetLastError());
        return;
    }
    for (BOOL more = Process32FirstW(all, &entry); more; more = Process32NextW(all, &entry)) {
        seen++;
        left += runs(entry.th32ProcessID, copy);
    }
    sbx_selftest_say(t, result, left == 0 && seen > 0 ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL,
                     "%zu processes were looked at, %zu of them a box's", seen, left);
}

/* ---- grants ---- */

static bool ask_workspace(struct sbx_selftest *t, const char *verb, const char *path,
                          struct sbx_selftest_ended *out, struct sbx_selftest_result *result)
{
    const char *argv[] = {sbx_selftest_place(t, "program"), "workspace", verb, path, NULL};
    struct sbx_selftest_spawn spawn = {.argv = argv,
                                       .cwd = sbx_selftest_place(t, "bin"),
                                       .timeout_ns = 120u * UINT64_C(1000000000)};
    struct sbx_err err = {0};
    if (sbx_selftest_spawn(&t->arena, &spawn, out, &err) != SBX_OK) {
        sbx_selftest_say(t, result, SBX_SELFTEST_ERROR, "%s", err.text);
        return false;
    }
    if (out->status == 2) {
        sbx_selftest_say(t, result, SBX_SELFTEST_CANNOT, "this build has no sbx workspace");
        return false;
    }
    return true;
}

/* Before they are taken back the list has them, afterwards it does not. */
static void find_grants(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                        struct sbx_selftest_result *result)
{
    (void)row;
    static const char *const names[] = {"bin", "inside", "outside", "guarded"};
    struct sbx_selftest_ended before;
    struct sbx_selftest_ended after;
    struct sbx_selftest_ended ended;
    const char *root = sbx_selftest_place(t, "root");
    if (!sbx_selftest_has_box(t, result) || !ask_workspace(t, "list", "--json", &before, result)) {
        return;
    }
    const char *escaped = sbx_selftest_expand_toml(t, "{root}");
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        if (!ask_workspace(t, "remove", sbx_selftest_place(t, names[i]), &ended, result)) {
            return;
        }
    }
    if (!ask_workspace(t, "list", "--json", &after, result)) {
        return;
    }
    bool was_there = escaped != NULL && sbx_str_contains(before.out, escaped);
    bool is_there = escaped == NULL || sbx_str_contains(after.out, escaped);
    sbx_selftest_say(t, result, was_there && !is_there ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL,
                     "sbx workspace list %s %s before, and %s after they were taken back",
                     was_there ? "has roots below" : "has no root below", root,
                     is_there ? "still has some" : "has none");
}

static const struct sbx_selftest_case cases[] = {
    {.id = "leftovers.processes", .promise = "no process of a box is left", .run = find_processes},
    {.id = "leftovers.leases", .promise = "no lease of a run is left", .run = find_leases},
    {.id = "leftovers.profiles",
     .promise = "no AppContainer profile of a box is left",
     .run = find_profiles},
    {.id = "leftovers.grants",
     .promise = "grants are listed, and gone when they are taken back",
     .run = find_grants},
};
const struct sbx_selftest_group sbx_selftest_leftovers_group = {"leftovers", cases,
                                                                SBX_COUNT(cases)};
