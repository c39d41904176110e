/* The model of the NT kernel: handles, waits, threads, tokens, processes and jobs as the documentation has them. */
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/ntmodel/nt_model.h"
#include "tests/unit/nt_run.h"
#include "win/sid.h"

#include "common/base/banned.h"

const struct sbx_winapi *sbx_win(void)
{
    return nt_model_table();
}

static struct nt_model *plain(void)
{
    return nt_model_new(&(struct nt_world){0});
}

/* ---- a whole run ------------------------------------------------------------------------------------- */

struct seen {
    unsigned ran;
    DWORD secret;
    DWORD system;
    DWORD folder;
    DWORD parent;
    DWORD loopback;
    unsigned handles;
    bool is_box;
};

static DWORD look_around(struct nt_process *self, void *state)
{
    struct seen *seen = state;
    seen->ran++;
    seen->secret = nt_box_read(self, L"C:\\Users\\user\\notes.txt", NULL, 0);
    seen->system = nt_box_read(self, L"C:\\Windows\\win.ini", NULL, 0);
    seen->folder =
        nt_box_write(self, L"C:\\Users\\user\\AppData\\Local\\Packages\\sbx.test\\AC\\x", "x");
    seen->parent = nt_box_open_process(self, nt_box_parent_id(self), PROCESS_TERMINATE);
    seen->loopback = nt_box_connect(self, NT_PEER_HOST);
    seen->is_box = nt_box_token(self)->is_appcontainer;
    seen->handles = nt_box_handles(self);
    (void)nt_box_print(self, 1, "hello from the box\n");
    return 7;
}

static void a_whole_run_leaves_nothing(void)
{
    struct seen seen = {0};
    struct nt_model *model =
        nt_model_new(&(struct nt_world){.actor = look_around, .actor_state = &seen});
    struct nt_run run = {0};
    nt_run(&run);
    CHECK_TEXT(run.failed, NULL);
    CHECK_U64(run.exit_code, 7);
    CHECK_TEXT(run.output, "hello from the box\n");
    CHECK_U64(run.integrity, 0x1000);
    CHECK(run.was_in_job);
    CHECK(run.was_box);
    CHECK_U64(seen.ran, 1);
    CHECK_U64(seen.secret, ERROR_ACCESS_DENIED);
    CHECK_U64(seen.system, 0);
    CHECK_U64(seen.folder, 0);
    CHECK_U64(seen.parent, ERROR_ACCESS_DENIED);
    CHECK_U64(seen.loopback, 10013);
    CHECK_U64(seen.handles, 1); /* the pipe, nothing else of the launcher's */
    CHECK(seen.is_box);
    CHECK_TEXT(nt_model_leftovers(model), "");
    CHECK_U64(nt_model_processes(model), 0);
    nt_model_free(model);
}

static void a_run_costs_little(void)
{
    enum { RUNS = 200 };
    ULONGLONG begin = GetTickCount64();
    unsigned clean = 0;
    for (int i = 0; i < RUNS; i++) {
        struct seen seen = {0};
        struct nt_model *model =
            nt_model_new(&(struct nt_world){.actor = look_around, .actor_state = &seen});
        struct nt_run run = {0};
        nt_run(&run);
        clean += run.exit_code == 7 && nt_model_leftovers(model)[0] == '\0';
        nt_model_free(model);
    }
    ULONGLONG spent = GetTickCount64() - begin;
    printf("# a run with a world of its own: %llu us\n", spent * 1000 / RUNS);
    CHECK_U64(clean, RUNS);
    CHECK(spent < 20000); /* far above what it takes, for a machine that does other things too */
}

/* ---- handles ------------------------------------------------------------------------------------------ */

static void a_closed_handle_is_never_good_again(void)
{
    struct nt_model *model = plain();
    HANDLE event = sbx_win()->CreateEventW(NULL, TRUE, FALSE, NULL);
    CHECK_U64((ULONG_PTR)event % 4, 0);
    CHECK(sbx_win()->CloseHandle(event));
    HANDLE other = sbx_win()->CreateEventW(NULL, TRUE, FALSE, NULL);
    CHECK(other != event);
    CHECK_U64(nt_model_bad_handles(model), 0);
    CHECK(!sbx_win()->SetEvent(event));
    CHECK_U64(GetLastError(), ERROR_INVALID_HANDLE);
    CHECK(!sbx_win()->CloseHandle(event));
    CHECK_U64(nt_model_bad_handles(model), 2);
    CHECK(strstr(nt_model_leftovers(model), "handle: ") != NULL);
    CHECK(sbx_win()->CloseHandle(other));
    CHECK_TEXT(nt_model_leftovers(model), "bad handles: 2 uses\n");
    nt_model_free(model);
}

static void a_handle_has_the_rights_it_was_given(void)
{
    struct nt_model *model = plain();
    HANDLE event = sbx_win()->CreateEventW(NULL, TRUE, FALSE, NULL);
    HANDLE weak = NULL;
    HANDLE self = sbx_win()->GetCurrentProcess();
    CHECK(sbx_win()->DuplicateHandle(self, event, self, &weak, SYNCHRONIZE, TRUE, 0));
    DWORD flags = 0;
    CHECK(sbx_win()->GetHandleInformation(weak, &flags));
    CHECK_U64(flags, HANDLE_FLAG_INHERIT);
    CHECK(!sbx_win()->SetEvent(weak));
    CHECK_U64(GetLastError(), ERROR_ACCESS_DENIED);
    CHECK(sbx_win()->SetEvent(event));
    CHECK_U64(sbx_win()->WaitForSingleObject(weak, 0), WAIT_OBJECT_0);
    HANDLE strong = NULL;
    CHECK(!sbx_win()->DuplicateHandle(self, weak, self, &strong, EVENT_MODIFY_STATE, FALSE, 0));
    CHECK_U64(GetLastError(), ERROR_ACCESS_DENIED);
    CHECK(sbx_win()->SetHandleInformation(weak, HANDLE_FLAG_PROTECT_FROM_CLOSE,
                                          HANDLE_FLAG_PROTECT_FROM_CLOSE));
    CHECK(!sbx_win()->CloseHandle(weak));
    CHECK(sbx_win()->SetHandleInformation(weak, HANDLE_FLAG_PROTECT_FROM_CLOSE, 0));
    CHECK(sbx_win()->CloseHandle(weak));
    CHECK(sbx_win()->CloseHandle(event));
    nt_model_free(model);
}

/* ---- waits and threads ---------------------------------------------------------------------------------- */

static DWORD WINAPI hold_mutex(void *name)
{
    HANDLE mutex = sbx_win()->CreateMutexW(NULL, TRUE, name);
    return mutex != NULL ? 0 : 1; /* ends without releasing it */
}

static void a_mutex_of_a_dead_thread_is_abandoned(void)
{
    struct nt_model *model = plain();
    wchar_t name[] = L"Local\\sbx.test";
    HANDLE thread = sbx_win()->CreateThread(NULL, 0, hold_mutex, name, 0, NULL);
    CHECK_U64(sbx_win()->WaitForSingleObject(thread, 5000), WAIT_OBJECT_0);
    HANDLE mutex = sbx_win()->CreateMutexW(NULL, FALSE, L"Local\\SBX.test");
    CHECK_U64(GetLastError(), ERROR_ALREADY_EXISTS);
    CHECK_U64(sbx_win()->WaitForSingleObject(mutex, 0), WAIT_ABANDONED);
    CHECK(strstr(nt_model_leftovers(model), "mutex: ") != NULL);
    CHECK(sbx_win()->ReleaseMutex(mutex));
    CHECK(!sbx_win()->ReleaseMutex(mutex));
    CHECK_U64(GetLastError(), ERROR_NOT_OWNER);
    nt_model_free(model);
}

static void waits_take_what_they_wait_for(void)
{
    struct nt_model *model = plain();
    HANDLE pair[2] = {sbx_win()->CreateEventW(NULL, FALSE, TRUE, NULL),
                      sbx_win()->CreateEventW(NULL, TRUE, FALSE, NULL)};
    CHECK_U64(sbx_win()->WaitForMultipleObjects(2, pair, TRUE, 0), WAIT_TIMEOUT);
    CHECK_U64(sbx_win()->WaitForMultipleObjects(2, pair, FALSE, 0), WAIT_OBJECT_0);
    CHECK_U64(sbx_win()->WaitForMultipleObjects(2, pair, FALSE, 10), WAIT_TIMEOUT);
    CHECK(sbx_win()->SetEvent(pair[1]));
    CHECK_U64(sbx_win()->WaitForMultipleObjects(2, pair, FALSE, 0), WAIT_OBJECT_0 + 1);
    CHECK(sbx_win()->SetEvent(pair[0]));
    CHECK_U64(sbx_win()->WaitForMultipleObjects(2, pair, TRUE, 0), WAIT_OBJECT_0);
    CHECK_U64(sbx_win()->WaitForMultipleObjects(0, pair, TRUE, 0), WAIT_FAILED);
    CHECK_U64(GetLastError(), ERROR_INVALID_PARAMETER);
    HANDLE twice[2] = {pair[0], pair[0]};
    CHECK_U64(sbx_win()->WaitForMultipleObjects(2, twice, TRUE, 0), WAIT_FAILED);
    nt_model_free(model);
}

static volatile LONG steps;

static _Noreturn DWORD WINAPI step_forever(void *unused)
{
    (void)unused;
    for (;;) {
        (void)InterlockedIncrement(&steps);
        sbx_win()->Sleep(1);
    }
}

static void a_suspended_thread_runs_when_it_is_resumed(void)
{
    struct nt_model *model = plain();
    steps = 0;
    HANDLE thread = sbx_win()->CreateThread(NULL, 0, step_forever, NULL, CREATE_SUSPENDED, NULL);
    Sleep(20);
    CHECK_INT(steps, 0);
    CHECK_U64(sbx_win()->ResumeThread(thread), 1);
    while (steps < 3) {
        Sleep(1);
    }
    nt_model_free(model); /* ends the thread too */
    LONG before = steps;
    Sleep(20);
    CHECK_INT(steps, before);
}

/* ---- pipes ------------------------------------------------------------------------------------------------ */

static void a_pipe_ends_when_its_other_end_is_closed(void)
{
    struct nt_model *model = plain();
    HANDLE read = NULL;
    HANDLE write = NULL;
    char bytes[8] = {0};
    DWORD got = 0;
    CHECK(sbx_win()->CreatePipe(&read, &write, NULL, 0));
    CHECK_U64(sbx_win()->GetFileType(read), FILE_TYPE_PIPE);
    CHECK(sbx_win()->WriteFile(write, "abc", 3, &got, NULL));
    CHECK(!sbx_win()->WriteFile(read, "abc", 3, &got, NULL));
    CHECK_U64(GetLastError(), ERROR_ACCESS_DENIED);
    CHECK(sbx_win()->ReadFile(read, bytes, 2, &got, NULL));
    CHECK_U64(got, 2);
    CHECK(sbx_win()->CloseHandle(write));
    CHECK(sbx_win()->ReadFile(read, bytes, sizeof bytes, &got, NULL));
    CHECK_U64(got, 1);
    CHECK(!sbx_win()->ReadFile(read, bytes, sizeof bytes, &got, NULL));
    CHECK_U64(GetLastError(), ERROR_BROKEN_PIPE);
    CHECK(sbx_win()->CloseHandle(read));
    CHECK(sbx_win()->CreatePipe(&read, &write, NULL, 0));
    CHECK(sbx_win()->CloseHandle(read));
    CHECK(!sbx_win()->WriteFile(write, "abc", 3, &got, NULL));
    CHECK_U64(GetLastError(), ERROR_NO_DATA);
    nt_model_free(model);
}

struct blocked {
    HANDLE read;
    DWORD code;
};

static DWORD WINAPI read_blocked(void *state)
{
    struct blocked *blocked = state;
    char byte;
    DWORD got;
    blocked->code = sbx_win()->ReadFile(blocked->read, &byte, 1, &got, NULL) ? 0 : GetLastError();
    return 0;
}

static void a_blocked_read_can_be_cancelled(void)
{
    struct nt_model *model = plain();
    struct blocked blocked = {0};
    HANDLE write = NULL;
    CHECK(sbx_win()->CreatePipe(&blocked.read, &write, NULL, 0));
    HANDLE thread = sbx_win()->CreateThread(NULL, 0, read_blocked, &blocked, 0, NULL);
    while (!sbx_win()->CancelSynchronousIo(thread)) {
        CHECK_U64(GetLastError(), ERROR_NOT_FOUND);
        Sleep(1);
    }
    CHECK_U64(sbx_win()->WaitForSingleObject(thread, 5000), WAIT_OBJECT_0);
    CHECK_U64(blocked.code, ERROR_OPERATION_ABORTED);
    nt_model_free(model);
}

/* ---- tokens ------------------------------------------------------------------------------------------------ */

static void a_token_is_asked_by_the_buffer_protocol(void)
{
    struct nt_model *model = plain();
    HANDLE token = NULL;
    DWORD size = 0;
    _Alignas(8) BYTE room[4096];
    CHECK(sbx_win()->OpenProcessToken(sbx_win()->GetCurrentProcess(), TOKEN_QUERY, &token));
    CHECK(!sbx_win()->GetTokenInformation(token, TokenGroups, NULL, 0, &size));
    CHECK_U64(GetLastError(), ERROR_INSUFFICIENT_BUFFER);
    CHECK(size > 0 && size < sizeof room);
    CHECK(sbx_win()->GetTokenInformation(token, TokenGroups, room, size, &size));
    const TOKEN_GROUPS *groups = (const TOKEN_GROUPS *)(const void *)room;
    bool has_users = false;
    for (DWORD i = 0; i < groups->GroupCount; i++) {
        has_users = has_users || sbx_sid_is(groups->Groups[i].Sid, SBX_SID_USERS);
    }
    CHECK(has_users);
    DWORD box = 9;
    CHECK(sbx_win()->GetTokenInformation(token, TokenIsAppContainer, &box, sizeof box, &size));
    CHECK_U64(box, 0);
    TOKEN_MANDATORY_LABEL label = {{sbx_sid_known(SBX_SID_LOW_INTEGRITY), SE_GROUP_INTEGRITY}};
    CHECK(!sbx_win()->SetTokenInformation(token, TokenIntegrityLevel, &label, sizeof label));
    CHECK_U64(GetLastError(), ERROR_ACCESS_DENIED); /* no right to adjust the default */
    HANDLE restricted = NULL;
    CHECK(!sbx_win()->CreateRestrictedToken(token, 0, 0, NULL, 0, NULL, 0, NULL, &restricted));
    CHECK_U64(GetLastError(), ERROR_ACCESS_DENIED); /* nor to duplicate */
    CHECK(sbx_win()->CloseHandle(token));
    nt_model_free(model);
}

static void access_check_wants_an_impersonation_token(void)
{
    struct nt_model *model = plain();
    HANDLE token = NULL;
    HANDLE copy = NULL;
    PSECURITY_DESCRIPTOR descriptor = NULL;
    GENERIC_MAPPING mapping = {1, 2, 4, 7};
    PRIVILEGE_SET set;
    DWORD size = sizeof set;
    DWORD granted = 0;
    BOOL allowed = FALSE;
    CHECK(sbx_win()->OpenProcessToken(sbx_win()->GetCurrentProcess(), TOKEN_QUERY | TOKEN_DUPLICATE,
                                      &token));
    CHECK(sbx_win()->ConvertStringSecurityDescriptorToSecurityDescriptorW(
        L"O:BAG:BAD:(A;;0x3;;;BU)", SDDL_REVISION_1, &descriptor, NULL));
    CHECK(!sbx_win()->AccessCheck(descriptor, token, 1, &mapping, &set, &size, &granted, &allowed));
    CHECK_U64(GetLastError(), ERROR_NO_IMPERSONATION_TOKEN);
    CHECK(sbx_win()->DuplicateTokenEx(token, 0, NULL, SecurityIdentification, TokenImpersonation,
                                      &copy));
    CHECK(sbx_win()->AccessCheck(descriptor, copy, 2, &mapping, &set, &size, &granted, &allowed));
    CHECK(allowed && granted == 2);
    CHECK(sbx_win()->AccessCheck(descriptor, copy, 4, &mapping, &set, &size, &granted, &allowed));
    CHECK(!allowed);
    CHECK(!sbx_win()->AccessCheck(descriptor, copy, GENERIC_READ, &mapping, &set, &size, &granted,
                                  &allowed));
    CHECK_U64(GetLastError(), ERROR_GENERIC_NOT_MAPPED);
    CHECK(strstr(nt_model_leftovers(model), "memory: of Convert") != NULL);
    CHECK(sbx_win()->LocalFree(descriptor) == NULL);
    nt_model_free(model);
}

/* ---- profiles ------------------------------------------------------------------------------------------------- */

static void a_profile_is_made_once_and_deleted_twice(void)
{
    struct nt_model *model = plain();
    PSID sid = NULL;
    PSID derived = NULL;
    PSID twice = NULL;
    CHECK_INT(sbx_win()->CreateAppContainerProfile(L"sbx.one", L"x", L"x", NULL, 0, &sid), S_OK);
    CHECK_U64((DWORD)sbx_win()->CreateAppContainerProfile(L"SBX.one", L"x", L"x", NULL, 0, &twice),
              0x800700B7);
    CHECK(twice == NULL);
    CHECK_INT(sbx_win()->DeriveAppContainerSidFromAppContainerName(L"sbx.ONE", &derived), S_OK);
    CHECK(sbx_sid_eq(sid, derived));
    CHECK_U64((DWORD)sbx_win()->CreateAppContainerProfile(L"a/b", L"x", L"x", NULL, 0, &twice),
              (DWORD)E_INVALIDARG);
    CHECK(nt_exists(model, L"C:\\Users\\user\\AppData\\Local\\Packages\\sbx.one\\AC"));
    CHECK(strstr(nt_model_leftovers(model), "profile: sbx.one\n") != NULL);
    CHECK_INT(sbx_win()->DeleteAppContainerProfile(L"sbx.one"), S_OK);
    CHECK_INT(sbx_win()->DeleteAppContainerProfile(L"sbx.one"), S_OK);
    (void)sbx_win()->FreeSid(sid);
    (void)sbx_win()->FreeSid(derived);
    CHECK_TEXT(nt_model_leftovers(model), "");
    nt_model_free(model);
}

/* The numbers are those of Microsoft's own tool for the well-known name. */
static void capabilities_are_derived_as_windows_does(void)
{
    struct nt_model *model = plain();
    static const wchar_t *const names[] = {L"registryRead", L"internetClient"};
    static const char *const want[] = {
        "S-1-15-3-1024-1065365936-1281604716-3511738428-1654721687-432734479-3232135806-"
        "4053264122-3456934681",
        "S-1-15-3-1",
    };
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        PSID *groups = NULL;
        PSID *capabilities = NULL;
        DWORD group_count = 0;
        DWORD count = 0;
        char text[NT_SID_TEXT_MAX] = "";
        CHECK(sbx_win()->DeriveCapabilitySidsFromName(names[i], &groups, &group_count,
                                                      &capabilities, &count));
        CHECK_U64(count, 1);
        (void)nt_sid_print(capabilities[0], text, sizeof text);
        CHECK_TEXT(text, want[i]);
        (void)sbx_win()->LocalFree(capabilities[0]);
        (void)sbx_win()->LocalFree(capabilities);
        (void)sbx_win()->LocalFree(groups[0]);
        (void)sbx_win()->LocalFree(groups);
    }
    CHECK_TEXT(nt_model_leftovers(model), "");
    nt_model_free(model);
}

static const struct sbx_test tests[] = {
    {"a whole run leaves nothing", a_whole_run_leaves_nothing},
    {"a run costs little", a_run_costs_little},
    {"a closed handle is never good again", a_closed_handle_is_never_good_again},
    {"a handle has the rights it was given", a_handle_has_the_rights_it_was_given},
    {"a mutex of a dead thread is abandoned", a_mutex_of_a_dead_thread_is_abandoned},
    {"waits take what they wait for", waits_take_what_they_wait_for},
    {"a suspended thread runs when it is resumed", a_suspended_thread_runs_when_it_is_resumed},
    {"a pipe ends when its other end is closed", a_pipe_ends_when_its_other_end_is_closed},
    {"a blocked read can be cancelled", a_blocked_read_can_be_cancelled},
    {"a token is asked by the buffer protocol", a_token_is_asked_by_the_buffer_protocol},
    {"AccessCheck wants an impersonation token", access_check_wants_an_impersonation_token},
    {"a profile is made once and deleted twice", a_profile_is_made_once_and_deleted_twice},
    {"capabilities are derived as Windows does", capabilities_are_derived_as_windows_does},
};
SBX_TEST_MAIN("simulated_nt_model", tests)
