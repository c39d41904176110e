/* The measurements of the self-test on Windows: the processes, tokens and jobs are real ones of Wine, which has no
 * AppContainer; those few calls are played here. */
#include <windows.h>

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tests/unit/played_sbx.h"
#include "win/selftest_raw.h"
#include "win/sid.h"

#include "common/base/banned.h"

/* ---- the calls that Wine lacks ------------------------------------------------------------------ */

static struct {
    bool has_none; /* as on a Windows without AppContainers */
    bool has_no_token;
    int profiles; /* that are there now */
    wchar_t name[64];
    wchar_t folder[1024];
    int starts;     /* with the SID of a profile */
    HANDLE jobs[2]; /* of the last start */
    size_t job_count;
    size_t is_in;      /* so many of them */
    DWORD flags, seen; /* of the last start; of all */
    DWORD restricting; /* the last token's flags, and the level that it was given */
    DWORD level;
} windows;

static HRESULT WINAPI create_profile(PCWSTR name, PCWSTR shown, PCWSTR text,
                                     PSID_AND_ATTRIBUTES capabilities, DWORD count, PSID *out)
{
    SID_IDENTIFIER_AUTHORITY packages = {{0, 0, 0, 0, 0, 15}};
    (void)shown;
    (void)text;
    (void)capabilities;
    (void)count;
    (void)_snwprintf(windows.name, SBX_COUNT(windows.name), L"%ls", name);
    windows.profiles++;
    return AllocateAndInitializeSid(&packages, 8, 2, 1, 2, 3, 4, 5, 6, 7, out) ? S_OK : E_FAIL;
}

static HRESULT WINAPI delete_profile(PCWSTR name)
{
    windows.profiles -= wcscmp(name, windows.name) == 0 ? 1 : 0;
    return S_OK;
}

static HRESULT WINAPI find_folder(PCWSTR sid, PWSTR *out)
{
    size_t bytes = (wcslen(windows.folder) + 1) * sizeof(wchar_t);
    if (wcscmp(sid, L"S-1-15-2-1-2-3-4-5-6-7") != 0) {
        return E_INVALIDARG;
    }
    *out = (PWSTR)CoTaskMemAlloc(bytes);
    memcpy(*out, windows.folder, bytes);
    return S_OK;
}

static struct sbx_winapi real;

static BOOL WINAPI update_attribute(LPPROC_THREAD_ATTRIBUTE_LIST list, DWORD flags, DWORD_PTR which,
                                    PVOID value, SIZE_T size, PVOID before, PSIZE_T returned)
{
    if (which == PROC_THREAD_ATTRIBUTE_SECURITY_CAPABILITIES) {
        const SECURITY_CAPABILITIES *security = (const SECURITY_CAPABILITIES *)value;
        windows.starts += security->AppContainerSid != NULL ? 1 : 0;
        return TRUE;
    }
    if (which == PROC_THREAD_ATTRIBUTE_JOB_LIST) {
        windows.job_count = size / sizeof(HANDLE);
        memcpy(windows.jobs, value, size);
    }
    return real.UpdateProcThreadAttribute(list, flags, which, value, size, before, returned);
}

static BOOL WINAPI create_as_user(HANDLE token, LPCWSTR program, LPWSTR line,
                                  LPSECURITY_ATTRIBUTES process, LPSECURITY_ATTRIBUTES thread,
                                  BOOL inherits, DWORD flags, LPVOID environment, LPCWSTR directory,
                                  LPSTARTUPINFOW info, LPPROCESS_INFORMATION out)
{
    BOOL is_made = real.CreateProcessAsUserW(token, program, line, process, thread, inherits, flags,
                                             environment, directory, info, out);
    windows.flags = flags;
    windows.seen |= flags;
    windows.is_in = 0;
    for (size_t i = 0; is_made && i < windows.job_count; i++) {
        BOOL is_in = FALSE;
        windows.is_in += IsProcessInJob(out->hProcess, windows.jobs[i], &is_in) && is_in ? 1 : 0;
    }
    return is_made;
}

/* Wine 8 says that it has done these two, and leaves privileges and level as they were. */
static BOOL WINAPI restrict_token(HANDLE token, DWORD flags, DWORD denied_count,
                                  PSID_AND_ATTRIBUTES denied, DWORD privilege_count,
                                  PLUID_AND_ATTRIBUTES privileges, DWORD restricted_count,
                                  PSID_AND_ATTRIBUTES restricted, PHANDLE out)
{
    windows.restricting = flags;
    windows.level = 0;
    if (windows.has_no_token) {
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return FALSE;
    }
    return real.CreateRestrictedToken(token, flags, denied_count, denied, privilege_count,
                                      privileges, restricted_count, restricted, out);
}

static BOOL WINAPI set_token(HANDLE token, TOKEN_INFORMATION_CLASS which, LPVOID value, DWORD size)
{
    if (which == TokenIntegrityLevel) {
        windows.level = sbx_sid_last(((const TOKEN_MANDATORY_LABEL *)value)->Label.Sid);
    }
    return real.SetTokenInformation(token, which, value, size);
}

const struct sbx_winapi *sbx_win(void)
{
    static struct sbx_winapi table;
    static struct sbx_winapi without;
    if (table.CloseHandle == NULL) {
        sbx_winapi_load(&real);
        without = real;
        without.CreateAppContainerProfile = NULL;
        table = real;
        table.CreateAppContainerProfile = create_profile;
        table.DeleteAppContainerProfile = delete_profile;
        table.GetAppContainerFolderPath = find_folder;
        table.UpdateProcThreadAttribute = update_attribute;
        table.CreateProcessAsUserW = create_as_user;
        table.CreateRestrictedToken = restrict_token;
        table.SetTokenInformation = set_token;
    }
    return windows.has_none ? &without : &table;
}

/* ---- one start ---------------------------------------------------------------------------------- */

static struct sbx_raw_end start(const struct sbx_raw_plan *plan, const wchar_t *line)
{
    struct sbx_raw_profile profile;
    struct sbx_raw_end end = {.call = "none"};
    CHECK_INT(sbx_raw_open(&profile), S_OK);
    CHECK_INT(windows.profiles, 1);
    CHECK(profile.folder != NULL && wcscmp(profile.folder, windows.folder) == 0);
    sbx_raw_run(&profile, plan, line, &end);
    sbx_raw_close(&profile);
    CHECK_INT(windows.profiles, 0);
    return end;
}

/* What this program as an attempt ends with: 0 for DONE, 42 for ABSENT. */
static void check_attempt(const struct sbx_raw_plan *plan, const wchar_t *words, DWORD status)
{
    struct sbx_raw_plan silent = *plan; /* its answer is not for our output */
    wchar_t line[1024];
    silent.flags |= CREATE_NO_WINDOW;
    (void)_snwprintf(line, SBX_COUNT(line), L"\"%ls\" selftest --probe %ls",
                     sbx_attempt_wide(sbx_selftest_place(played(), "copy")), words);
    struct sbx_raw_end end = start(&silent, line);
    CHECK_TEXT(end.call, NULL);
    CHECK_U64(end.raw, 0);
    CHECK_U64(end.status, status);
}

static void a_token_is_as_its_plan_says(void)
{
    struct sbx_raw_plan plain = {.token = SBX_RAW_PLAIN};
    struct sbx_raw_plan restricted = {.token = SBX_RAW_RESTRICTED};
    struct sbx_raw_plan low = {.token = SBX_RAW_RESTRICTED_LOW};
    check_attempt(&plain, L"nothing", 0);
    CHECK_U64(windows.restricting, 0);
    check_attempt(&restricted, L"nothing", 0);
    CHECK_U64(windows.restricting, DISABLE_MAX_PRIVILEGE);
    CHECK_U64(windows.level, 0);
    check_attempt(&low, L"nothing", 0);
    CHECK_U64(windows.restricting, DISABLE_MAX_PRIVILEGE);
    CHECK_U64(windows.level, SECURITY_MANDATORY_LOW_RID);
}

static void denied_groups_are_not_enabled(void)
{
    struct sbx_raw_plan plan = {.token = SBX_RAW_RESTRICTED};
    BOOL is_admin = FALSE;
    CHECK(CheckTokenMembership(NULL, sbx_sid_known(SBX_SID_ADMINISTRATORS), &is_admin));
    check_attempt(&plan, L"admin", is_admin ? 0 : 42);
    plan.deny = SBX_RAW_DENY_ADMINS | SBX_RAW_DENY_USERS;
    check_attempt(&plan, L"admin", 42);
}

static void a_process_is_in_the_jobs_of_its_plan(void)
{
    struct sbx_raw_plan plan = {.token = SBX_RAW_RESTRICTED_LOW};
    int starts = windows.starts;
    check_attempt(&plan, L"nothing", 0);
    CHECK_U64(windows.job_count, 1);
    CHECK_U64(windows.is_in, 1);
    CHECK_U64(windows.flags, EXTENDED_STARTUPINFO_PRESENT | CREATE_NO_WINDOW);
    plan.ui = 0xff;
    plan.ui_apart = true;
    check_attempt(&plan, L"nothing", 0);
    CHECK_U64(windows.job_count, 2);
    CHECK_INT(windows.starts, starts + 2);
}

static void the_call_that_fails_is_named(void)
{
    struct sbx_raw_plan plan = {.token = SBX_RAW_PLAIN};
    struct sbx_raw_end end = start(&plan, L"C:\\no-such-program.exe");
    CHECK_TEXT(end.call, "CreateProcessW");
    CHECK_U64(end.raw, ERROR_FILE_NOT_FOUND);
    plan.token = SBX_RAW_RESTRICTED;
    end = start(&plan, L"C:\\no-such-program.exe");
    CHECK_TEXT(end.call, "CreateProcessAsUserW");
    CHECK_U64(end.raw, ERROR_FILE_NOT_FOUND);
    windows.has_no_token = true;
    end = start(&plan, L"cmd.exe /c exit 0");
    windows.has_no_token = false;
    CHECK_TEXT(end.call, "CreateRestrictedToken");
    CHECK_U64(end.raw, ERROR_NOT_ENOUGH_MEMORY);
}

/* ---- the cases ---------------------------------------------------------------------------------- */

static void without_a_profile_nothing_is_measured(void)
{
    struct sbx_raw_profile profile;
    windows.has_none = true;
    CHECK_INT(sbx_raw_open(&profile), E_NOTIMPL);
    CHECK(profile.sid == NULL);
    sbx_raw_close(&profile);
    played_check(played_find("matrix.console-cmd"), "cannot",
                 "no AppContainer profile: 0x80004001");
    played_check(played_find("matrix.tokens"), "cannot", "no AppContainer profile: 0x80004001");
    windows.has_none = false;
}

static void a_program_that_is_not_there_is_not_measured(void)
{
    static const char *const ids[] = {"matrix.console-cmd", "matrix.limits-cmd", "matrix.jobs"};
    for (size_t i = 0; i < SBX_COUNT(ids); i++) {
        struct sbx_selftest_case row = played_row(ids[i], "no-such-program.exe --version");
        played_check(&row, "cannot", "the program is not installed");
    }
}

static void every_console_is_tried_with_every_token(void)
{
    windows.seen = 0;
    played_check(played_find("matrix.console-cmd"), "pass",
                 "inherited console, plain: 0x7; inherited console, restricted: 0x7; inherited "
                 "console, restricted+low: 0x7; no window, plain: 0x7; ");
    CHECK_U64(windows.seen & (CREATE_NO_WINDOW | CREATE_NEW_CONSOLE | DETACHED_PROCESS),
              CREATE_NO_WINDOW | CREATE_NEW_CONSOLE | DETACHED_PROCESS);
    CHECK_INT(windows.profiles, 0);
}

static void desktop_limits_and_lists_of_jobs_are_tried(void)
{
    played_check(played_find("matrix.limits-cmd"), "pass", "limits 0x0: 0x7; limits 0xff: 0x7; ");
    played_check(
        played_find("matrix.jobs"), "pass",
        "one job: 0x7; one job with desktop limits: 0x7; two jobs, one with desktop limits");
    CHECK_U64(windows.job_count, 2);
}

static void each_token_is_tried_on_three_places(void)
{
    (void)_snwprintf(windows.folder, SBX_COUNT(windows.folder), L"%ls",
                     sbx_attempt_wide(sbx_selftest_place(played(), "inside")));
    played_check(played_find("matrix.tokens"), "pass",
                 "nobody denied, system: 0x0; nobody denied, workspace: 0x0; nobody denied, own "
                 "folder: 0x0; administrators denied, system: 0x0");
    CHECK(sbx_selftest_exists(played_path("raw\\sbx.exe")));
    /* A second time its directory is in the way. */
    played_check(played_find("matrix.tokens"), "error", "no directory could be opened to it: 183");
    sbx_selftest_remove(played_path("raw"));
}

static const struct sbx_test tests[] = {
    {"a token is as its plan says", a_token_is_as_its_plan_says},
    {"denied groups are not enabled", denied_groups_are_not_enabled},
    {"a process is in the jobs of its plan", a_process_is_in_the_jobs_of_its_plan},
    {"the call that fails is named", the_call_that_fails_is_named},
    {"without a profile nothing is measured", without_a_profile_nothing_is_measured},
    {"a program that is not there is not measured", a_program_that_is_not_there_is_not_measured},
    {"every console is tried with every token", every_console_is_tried_with_every_token},
    {"desktop limits and lists of jobs are tried", desktop_limits_and_lists_of_jobs_are_tried},
    {"each token is tried on three places", each_token_is_tried_on_three_places},
};
PLAYED_TEST_MAIN("selftest matrix", tests)
