/* The proof before release, on a real suspended process that is in no container: what is true passes, what is not is
 * named, one by one; and which calls this system lacks. */
#include <windows.h>

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/unit/win_fixture.h"
#include "win/appcontainer.h"
#include "win/handle.h"
#include "win/job.h"
#include "win/mitigation.h"
#include "win/sid.h"
#include "win/verify.h"

#include "common/base/banned.h"

static struct sbx_err err;
static const struct sbx_job_limits limits = {64 << 20, 128 << 20, 10, 8};

struct held {
    struct sbx_arena arena;
    struct sbx_process_plan plan;
    struct sbx_process process;
    HANDLE job;
    struct sbx_sid package;
    SID_AND_ATTRIBUTES capabilities[1];
    struct sbx_verify_plan verify;
    struct sbx_evidence_list list;
};

static void hold(struct held *held)
{
    *held = (struct held){0};
    sbx_arena_init(&held->arena, 16 << 20);
    struct sbx_caller caller = {0};
    CHECK_CODE(sbx_token_caller(&held->arena, &caller, &err), SBX_OK, &err);
    CHECK_CODE(sbx_job_open(&limits, &held->job, &err), SBX_OK, &err);
    CHECK(win_birth(&held->arena, (const char *[]){"exit", "0", NULL}, &held->plan));
    held->plan.job = held->job;
    CHECK_CODE(sbx_process_create(&held->plan, &held->process, &err), SBX_OK, &err);
    CHECK(sbx_sid_parse("S-1-15-2-1-2-3-4-5-6-7", &held->package));
    held->capabilities[0].Sid = sbx_sid_known(SBX_SID_INTERNET_CLIENT);
    held->capabilities[0].Attributes = SE_GROUP_ENABLED;
    held->verify = (struct sbx_verify_plan){
        .process = held->process.process,
        .job = held->job,
        .limits = &limits,
        .package = held->package.bytes,
        .capabilities = held->capabilities,
        .capability_count = 1,
        .rung = SBX_RUNG_NO_USERS,
        .session = caller.session,
        .program = held->plan.program,
        .is_strict = true,
    };
}

static void prove(struct held *held)
{
    sbx_evidence_init(&held->list, &held->arena);
    sbx_verify_process(&held->list, &held->verify);
}

static void let_go(struct held *held)
{
    CHECK(sbx_job_end(held->job));
    sbx_handle_close(&held->process.process);
    sbx_handle_close(&held->process.thread);
    sbx_handle_close(&held->job);
    sbx_arena_release(&held->arena);
}

static const struct sbx_evidence *item(const struct held *held, const char *what)
{
    static const struct sbx_evidence none = {"", "", "", false};
    for (size_t i = 0; i < held->list.count; i++) {
        if (strcmp(held->list.items[i].what, what) == 0) {
            return &held->list.items[i];
        }
    }
    printf("# no item %s\n", what);
    return &none;
}

/* ---- items ------------------------------------------------------------------------------------- */

static void what_is_true_passes(void)
{
    struct held held;
    hold(&held);
    prove(&held);
    CHECK(item(&held, "process.job")->ok);
    CHECK(item(&held, "process.image")->ok);
    CHECK(item(&held, "token.session")->ok);
    let_go(&held);
}

static void a_plain_process_is_found_out(void)
{
    struct held held;
    hold(&held);
    prove(&held);
    CHECK_CODE(sbx_evidence_verdict(&held.list, &err), SBX_E_VERIFY, &err);
    static const char *const wrong[] = {"token.integrity",
                                        "token.appcontainer",
                                        "token.package",
                                        "token.capabilities",
                                        "token.groups",
                                        "token.privileges",
                                        "mitigation.extension-points",
                                        "mitigation.fonts",
                                        "mitigation.images",
                                        "mitigation.handles"};
    for (size_t i = 0; i < SBX_COUNT(wrong); i++) {
        if (!CHECK(!item(&held, wrong[i])->ok)) {
            printf("# %s: %s\n", wrong[i], item(&held, wrong[i])->got);
        }
    }
    CHECK_TEXT(item(&held, "token.appcontainer")->got, "no");
    CHECK_TEXT(item(&held, "token.package")->got, "none");
    CHECK_TEXT(item(&held, "token.package")->wanted, "S-1-15-2-1-2-3-4-5-6-7");
    let_go(&held);
}

static void another_image_is_found_out(void)
{
    struct held held;
    hold(&held);
    held.verify.program = L"\\\\?\\C:\\windows\\system32\\cmd.exe";
    prove(&held);
    CHECK(!item(&held, "process.image")->ok);
    CHECK_TEXT(item(&held, "process.image")->wanted, "C:\\windows\\system32\\cmd.exe");
    /* The prefix and case do not matter. */
    wchar_t *upper = SBX_NEW_ARRAY(&held.arena, wchar_t, wcslen(held.plan.program) + 5);
    wmemcpy(upper, L"\\\\?\\", 4);
    wmemcpy(upper + 4, held.plan.program, wcslen(held.plan.program) + 1);
    (void)CharUpperW(upper + 4);
    held.verify.program = upper;
    prove(&held);
    CHECK(item(&held, "process.image")->ok);
    let_go(&held);
}

static void another_job_and_session_are_found_out(void)
{
    struct held held;
    hold(&held);
    AUTO_HANDLE other = NULL;
    CHECK_CODE(sbx_job_open(&limits, &other, &err), SBX_OK, &err);
    held.verify.job = other;
    held.verify.session++;
    prove(&held);
    CHECK_TEXT(item(&held, "process.job")->got, "outside");
    CHECK(!item(&held, "process.job")->ok);
    CHECK(!item(&held, "token.session")->ok);
    let_go(&held);
}

static void what_is_no_process_proves_nothing(void)
{
    struct held held;
    hold(&held);
    AUTO_HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL);
    held.verify.process = event;
    prove(&held);
    for (size_t i = 0; i < held.list.count; i++) {
        CHECK(!held.list.items[i].ok);
    }
    CHECK_TEXT(item(&held, "token")->got, "OpenProcessToken failed");
    CHECK_TEXT(item(&held, "process.image")->got, "unreadable");
    let_go(&held);
}

static void without_memory_nothing_is_proven(void)
{
    struct held held;
    hold(&held);
    AUTO_ARENA small;
    sbx_arena_init(&small, 256);
    sbx_evidence_init(&held.list, &small);
    sbx_verify_process(&held.list, &held.verify);
    CHECK_CODE(sbx_evidence_verdict(&held.list, &err), SBX_E_VERIFY, &err);
    let_go(&held);
}

/* ---- mitigations ------------------------------------------------------------------------------- */

static void the_strict_set_contains_the_ordinary_one(void)
{
    DWORD64 ordinary = sbx_mitigation_policy(false);
    DWORD64 strict = sbx_mitigation_policy(true);
    CHECK((ordinary & strict) == ordinary && strict != ordinary);
    CHECK((ordinary & PROCESS_CREATION_MITIGATION_POLICY_EXTENSION_POINT_DISABLE_ALWAYS_ON) != 0);
    CHECK((ordinary & PROCESS_CREATION_MITIGATION_POLICY_IMAGE_LOAD_NO_REMOTE_ALWAYS_ON) != 0);
    /* What would keep ordinary tools from starting is in neither. */
    static const DWORD64 never[] = {
        PROCESS_CREATION_MITIGATION_POLICY_WIN32K_SYSTEM_CALL_DISABLE_ALWAYS_ON,
        PROCESS_CREATION_MITIGATION_POLICY_PROHIBIT_DYNAMIC_CODE_ALWAYS_ON,
        PROCESS_CREATION_MITIGATION_POLICY_BLOCK_NON_MICROSOFT_BINARIES_ALWAYS_ON,
    };
    for (size_t i = 0; i < SBX_COUNT(never); i++) {
        CHECK((strict & never[i]) != never[i]);
    }
}

/* ---- what this system lacks -------------------------------------------------------------------- */

static void missing_calls_are_named(void)
{
    static const char *const needed[] = {"CreateAppContainerProfile", "DeleteAppContainerProfile",
                                         "DeriveAppContainerSidFromAppContainerName",
                                         "GetAppContainerFolderPath",
                                         "DeriveCapabilitySidsFromName"};
    struct sbx_winapi table = *sbx_win();
    HMODULE userenv = LoadLibraryW(L"userenv.dll");
    CHECK(userenv != NULL);
    enum sbx_code code = sbx_winapi_check(&table, &err);
    if (GetProcAddress(userenv, needed[0]) != NULL) {
        sbx_test_skip("wine", "this system has AppContainers");
        return;
    }
    CHECK_CODE(code, SBX_E_UNSUPPORTED, &err);
    CHECK(strstr(err.text, "this Windows lacks ") == err.text);
    CHECK_TEXT(err.hint, "AppContainer boxes need Windows 10 1809 or newer");
    for (size_t i = 0; i < SBX_COUNT(needed); i++) {
        CHECK(strstr(err.text, needed[i]) != NULL);
    }
    CHECK(strstr(err.text, "(userenv.dll)") != NULL &&
          strstr(err.text, "(kernelbase.dll)") != NULL);
    CHECK(strstr(err.text, "CreateProcessW") == NULL);
}

static void the_table_is_filled(void)
{
    const struct sbx_winapi *win = sbx_win();
    CHECK(win == sbx_win());
    CHECK(win->CreateProcessW == CreateProcessW);
    for (size_t i = 0; i < SBX_CALL_COUNT; i++) {
        const struct sbx_winapi_row *row = &sbx_winapi_rows[i];
        FARPROC address = *(const FARPROC *)(const void *)((const char *)win + row->slot);
        if (!CHECK(row->need != SBX_NEED_ALWAYS || address != NULL)) {
            printf("# %s\n", row->name);
        }
        CHECK(strstr(row->dll, ".dll") != NULL);
    }
}

/* ---- profiles ---------------------------------------------------------------------------------- */

static void names_of_profiles_are_short_and_different(void)
{
    WIN_ARENA(arena);
    const char *last = "";
    for (int i = 0; i < 100; i++) {
        const char *name = NULL;
        CHECK_CODE(sbx_profile_name(&arena, &name, &err), SBX_OK, &err);
        CHECK(strlen(name) <= SBX_PROFILE_NAME_MAX);
        CHECK(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.") == strlen(name));
        CHECK(strcmp(name, last) != 0);
        last = name;
    }
    char pid[32];
    (void)snprintf(pid, sizeof pid, "sbx.%lu.", GetCurrentProcessId());
    CHECK(strstr(last, pid) == last);
}

static void profiles_that_cannot_be_are_refused(void)
{
    WIN_ARENA(arena);
    struct sbx_profile profile = {.name = "untouched"};
    char name[SBX_PROFILE_NAME_MAX + 2];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK_CODE(sbx_profile_create(&arena, name, &profile, &err), SBX_E_INTERNAL, &err);
    CHECK_TEXT(profile.name, "untouched");
    if (sbx_win()->DeleteAppContainerProfile == NULL) {
        CHECK_CODE(sbx_profile_delete("sbx.1.2", &err), SBX_E_UNSUPPORTED, &err);
        CHECK(strstr(err.text, "no AppContainer profiles") != NULL);
    }
}

static const struct sbx_test tests[] = {
    {"what is true of a held process passes", what_is_true_passes},
    {"a process without a container differs in every wall", a_plain_process_is_found_out},
    {"another image differs; prefix and case do not", another_image_is_found_out},
    {"another job and another session differ", another_job_and_session_are_found_out},
    {"what is no process proves nothing", what_is_no_process_proves_nothing},
    {"without memory nothing is proven", without_memory_nothing_is_proven},
    {"the strict mitigations contain the ordinary ones, and neither those that tools die of",
     the_strict_set_contains_the_ordinary_one},
    {"calls that this system lacks are named, each with its library", missing_calls_are_named},
    {"every linked call is in the table", the_table_is_filled},
    {"names of profiles are short, plain and different", names_of_profiles_are_short_and_different},
    {"profiles that cannot be are refused", profiles_that_cannot_be_are_refused},
};

ACTOR_TEST_MAIN("proof before release", tests)
