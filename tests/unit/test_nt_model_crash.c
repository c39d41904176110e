/* The model of the NT kernel: launchers that die at any call, power that fails, calls that fail or stall. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/ntmodel/nt_model.h"
#include "tests/ntmodel/nt_wrap.h"
#include "tests/unit/nt_run.h"

#include "common/base/banned.h"

static struct nt_wrap wrap;
static bool is_wrapped;

const struct sbx_winapi *sbx_win(void)
{
    return is_wrapped ? nt_wrap_table(&wrap) : nt_model_table();
}

static DWORD print_and_wait(struct nt_process *self, void *state)
{
    (void)state;
    (void)nt_box_print(self, 1, "here\n");
    nt_box_sleep(self, 1);
    return 3;
}

static void run_once(void *state)
{
    nt_run(state);
}

/* ---- death ------------------------------------------------------------------------------------------------ */

static void a_launcher_that_dies_at_any_call_leaves_no_process(void)
{
    unsigned total = 0;
    unsigned deaths = 0;
    unsigned with_profile = 0;
    for (unsigned n = 1; n <= total + 1; n++) {
        struct nt_model *model = nt_model_new(&(struct nt_world){.actor = print_and_wait});
        struct nt_run run = {0};
        nt_model_crash_after(model, n);
        bool lived = nt_launcher_run(model, run_once, &run);
        if (n == 1) { /* how many calls there are is known from a run that lives */
            struct nt_model *other = nt_model_new(&(struct nt_world){.actor = print_and_wait});
            struct nt_run whole = {0};
            CHECK(nt_launcher_run(other, run_once, &whole));
            CHECK_U64(whole.exit_code, 3);
            total = nt_model_calls_total(other);
            nt_model_free(other);
        }
        CHECK(lived == (n > total));
        deaths += !lived;
        CHECK_U64(nt_model_processes(model), 0);
        with_profile += nt_model_has_profile(model, L"sbx.test");
        nt_model_free(model);
    }
    printf("# %u calls, %u deaths, %u left a profile\n", total, deaths, with_profile);
    CHECK(total > 40);
    CHECK_U64(deaths, total);
    CHECK(with_profile > 20); /* what recovery is for */
}

struct second {
    HRESULT result;
    DWORD id;
};

static void clean_up(void *state)
{
    struct second *second = state;
    second->result = sbx_win()->DeleteAppContainerProfile(L"sbx.test");
    second->id = sbx_win()->GetCurrentProcessId();
}

static void a_second_launcher_finds_what_the_first_left(void)
{
    struct nt_model *model = nt_model_new(&(struct nt_world){.actor = print_and_wait});
    struct nt_run run = {0};
    struct second second = {0};
    nt_model_crash_after(model, 30);
    CHECK(!nt_launcher_run(model, run_once, &run));
    DWORD first = nt_model_launcher_id(model);
    CHECK(nt_model_has_profile(model, L"sbx.test"));
    CHECK(strstr(nt_model_leftovers(model), "profile: sbx.test\n") != NULL);
    CHECK(nt_launcher_run(model, clean_up, &second));
    CHECK_INT(second.result, S_OK);
    CHECK(second.id != first);
    CHECK_TEXT(nt_model_leftovers(model), "");
    nt_model_next_id(model, first);
    CHECK(nt_launcher_run(model, clean_up, &second));
    CHECK_U64(second.id, first);
    nt_model_free(model);
}

static void hold_a_mutex(void *state)
{
    (void)state;
    HANDLE mutex = sbx_win()->CreateMutexW(NULL, TRUE, L"Local\\sbx.recover");
    sbx_win()->Sleep(1);
    (void)sbx_win()->ReleaseMutex(mutex);
}

static void take_the_mutex(void *state)
{
    HANDLE mutex = sbx_win()->CreateMutexW(NULL, FALSE, L"Local\\sbx.recover");
    *(DWORD *)state = sbx_win()->WaitForSingleObject(mutex, 0);
    (void)sbx_win()->ReleaseMutex(mutex);
    (void)sbx_win()->CloseHandle(mutex);
}

static void a_mutex_goes_with_the_last_handle_of_the_dead(void)
{
    struct nt_model *model = nt_model_new(&(struct nt_world){0});
    DWORD waited = 0;
    nt_model_crash_after(model, 2);
    CHECK(!nt_launcher_run(model, hold_a_mutex, NULL));
    CHECK(nt_launcher_run(model, take_the_mutex, &waited));
    CHECK_U64(waited, WAIT_OBJECT_0); /* a new one: nobody held the old one open */
    CHECK_TEXT(nt_model_leftovers(model), "");
    nt_model_free(model);
}

static void wait_for_the_second(void *state)
{
    HANDLE *ids = state;
    HANDLE event = sbx_win()->CreateEventW(NULL, TRUE, FALSE, L"Local\\sbx.second");
    ids[0] = (HANDLE)(ULONG_PTR)sbx_win()->GetCurrentProcessId();
    (void)sbx_win()->WaitForSingleObject(event, INFINITE);
    (void)sbx_win()->CloseHandle(event);
}

static void tell_the_first(void *state)
{
    HANDLE *ids = state;
    HANDLE event = sbx_win()->CreateEventW(NULL, TRUE, FALSE, L"Local\\sbx.second");
    ids[1] = (HANDLE)(ULONG_PTR)sbx_win()->GetCurrentProcessId();
    (void)sbx_win()->SetEvent(event);
    (void)sbx_win()->CloseHandle(event);
}

static void two_launchers_live_at_the_same_time(void)
{
    struct nt_model *model = nt_model_new(&(struct nt_world){0});
    HANDLE ids[2] = {NULL, NULL};
    struct nt_launcher *first = nt_launcher_begin(model, wait_for_the_second, ids);
    while (nt_model_calls(model, SBX_CALL_WaitForSingleObject) == 0) {
        Sleep(1);
    }
    CHECK(nt_launcher_run(model, tell_the_first, ids));
    CHECK(nt_launcher_end(first));
    CHECK(ids[0] != NULL && ids[1] != NULL && ids[0] != ids[1]);
    CHECK_TEXT(nt_model_leftovers(model), "");
    nt_model_free(model);
}

/* ---- power -------------------------------------------------------------------------------------------------- */

static void write_two_files(void *state)
{
    (void)state;
    static const wchar_t *const paths[] = {L"C:\\Users\\user\\project\\flushed",
                                           L"C:\\Users\\user\\project\\lost"};
    for (size_t i = 0; i < SBX_COUNT(paths); i++) {
        DWORD put;
        HANDLE file = sbx_win()->CreateFileW(paths[i], GENERIC_WRITE, 0, NULL, CREATE_NEW, 0, NULL);
        (void)sbx_win()->WriteFile(file, "text", 4, &put, NULL);
        if (i == 0) {
            (void)sbx_win()->FlushFileBuffers(file);
        }
        (void)sbx_win()->CloseHandle(file);
    }
    sbx_win()->Sleep(0);
}

static void what_was_not_flushed_is_lost_with_the_power(void)
{
    for (int pass = 0; pass < 2; pass++) {
        struct nt_model *model = nt_model_new(&(struct nt_world){0});
        if (pass == 0) {
            nt_model_crash_after(model, 7);
        } else {
            nt_model_power_fails_after(model, 7);
        }
        CHECK(!nt_launcher_run(model, write_two_files, NULL));
        CHECK_TEXT(nt_text(model, L"C:\\Users\\user\\project\\flushed", NULL), "text");
        CHECK_TEXT(nt_text(model, L"C:\\Users\\user\\project\\lost", NULL),
                   pass == 0 ? "text" : "");
        nt_model_free(model);
    }
}

/* ---- calls that fail ------------------------------------------------------------------------------------------- */

static void each_call_fails_in_the_way_it_tells(void)
{
    struct nt_model *model = nt_model_new(&(struct nt_world){.actor = print_and_wait});
    struct nt_run run = {0};
    is_wrapped = true;
    nt_wrap_begin(&wrap, nt_model_table());
    nt_run(&run);
    CHECK_U64(run.exit_code, 3);
    unsigned total = wrap.count;
    CHECK_U64(total, nt_model_calls_total(model));
    CHECK(total < 128);
    char *trace = nt_wrap_trace(&wrap);
    CHECK(strstr(trace, "CreateProcessAsUserW\n") != NULL);
    CHECK(strstr(trace, "CreateProcessAsUserW\n") < strstr(trace, "ResumeThread\n"));
    free(trace);
    unsigned failed = 0;
    unsigned named = 0;
    enum sbx_winapi_id ids[128];
    for (unsigned n = 1; n <= total; n++) {
        ids[n - 1] = wrap.calls[n - 1].id;
        CHECK(wrap.calls[n - 1].is_back);
    }
    for (unsigned n = 1; n <= total; n++) {
        if (ids[n - 1] == SBX_CALL_CloseHandle) {
            continue; /* an end of the pipe that stays open is read from for ever */
        }
        nt_wrap_begin(&wrap, nt_model_table());
        nt_wrap_fail(&wrap, n, ERROR_NOT_ENOUGH_MEMORY);
        run = (struct nt_run){0};
        nt_run(&run);
        failed += wrap.has_failed;
        named += wrap.has_failed && run.failed != NULL &&
                 (run.code == ERROR_NOT_ENOUGH_MEMORY ||
                  run.code == (DWORD)HRESULT_FROM_WIN32(ERROR_NOT_ENOUGH_MEMORY));
        CHECK_U64(nt_model_processes(model), 0);
        (void)nt_model_table()->DeleteAppContainerProfile(L"sbx.test");
    }
    printf("# %u calls, %u could fail, %u were told\n", total, failed, named);
    CHECK(failed > total / 2);
    CHECK(named > 15);
    is_wrapped = false;
    nt_wrap_end(&wrap);
    nt_model_free(model);
}

static bool refuse_events(void *state, enum sbx_winapi_id id, unsigned n)
{
    unsigned *last = state;
    *last = n;
    if (id == SBX_CALL_CreateEventW) {
        SetLastError(ERROR_TOO_MANY_OPEN_FILES);
        return false;
    }
    return true;
}

static void a_hook_sees_each_call_and_may_refuse_it(void)
{
    struct nt_model *model = nt_model_new(&(struct nt_world){0});
    unsigned last = 0;
    nt_model_before(model, refuse_events, &last);
    HANDLE mutex = sbx_win()->CreateMutexW(NULL, FALSE, NULL);
    CHECK(mutex != NULL);
    CHECK(sbx_win()->CreateEventW(NULL, TRUE, FALSE, NULL) == NULL);
    CHECK_U64(GetLastError(), ERROR_TOO_MANY_OPEN_FILES);
    CHECK(sbx_win()->CloseHandle(mutex));
    CHECK_U64(last, 3);
    CHECK_U64(nt_model_calls(model, SBX_CALL_CreateEventW), 1);
    CHECK_U64(nt_model_calls_total(model), 3);
    nt_model_free(model);
}

static void a_windows_without_an_export_has_an_empty_slot(void)
{
    struct nt_model *model = nt_model_new(&(struct nt_world){.build = 17763});
    struct sbx_err err = {0};
    CHECK_CODE(sbx_winapi_check(sbx_win(), &err), SBX_OK, &err);
    nt_model_lacks(model, SBX_CALL_CreateAppContainerProfile);
    CHECK_CODE(sbx_winapi_check(sbx_win(), &err), SBX_E_UNSUPPORTED, &err);
    CHECK(strstr(err.text, "CreateAppContainerProfile") != NULL);
    nt_model_free(model);
    model = nt_model_new(&(struct nt_world){0});
    CHECK(sbx_win()->CreateAppContainerProfile != NULL);
    RTL_OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
    CHECK_INT(sbx_win()->RtlGetVersion(&version), 0);
    CHECK_U64(version.dwBuildNumber, 22631);
    nt_model_free(model);
}

/* ---- calls that stall ------------------------------------------------------------------------------------------ */

struct slow {
    bool came_back;
    DWORD waited;
    ULONGLONG took_ms; /* in the time of the model */
};

static DWORD WINAPI make_a_profile(void *state)
{
    PSID sid = NULL;
    (void)sbx_win()->CreateAppContainerProfile(L"sbx.slow", L"x", L"x", NULL, 0, &sid);
    (void)sbx_win()->FreeSid(sid);
    ((struct slow *)state)->came_back = true;
    return 0;
}

static void wait_for_the_profile(void *state)
{
    struct slow *slow = state;
    ULONGLONG begin = sbx_win()->GetTickCount64();
    HANDLE thread = sbx_win()->CreateThread(NULL, 0, make_a_profile, slow, 0, NULL);
    slow->waited = sbx_win()->WaitForSingleObject(thread, 15000);
    slow->took_ms = sbx_win()->GetTickCount64() - begin;
    (void)sbx_win()->CloseHandle(thread);
}

static void a_service_that_stalls_is_given_up_at_once_in_our_time(void)
{
    struct nt_model *model = nt_model_new(&(struct nt_world){0});
    struct slow slow = {0};
    ULONGLONG begin = GetTickCount64();
    CHECK(nt_launcher_run(model, wait_for_the_profile, &slow));
    CHECK(slow.came_back);
    CHECK_U64(slow.waited, WAIT_OBJECT_0);
    (void)nt_model_table()->DeleteAppContainerProfile(L"sbx.slow");
    nt_model_stall(model, SBX_CALL_CreateAppContainerProfile);
    slow = (struct slow){0};
    CHECK(nt_launcher_run(model, wait_for_the_profile, &slow));
    CHECK(!slow.came_back);
    CHECK_U64(slow.waited, WAIT_TIMEOUT);
    CHECK(slow.took_ms >= 15000);
    CHECK(GetTickCount64() - begin < 10000); /* fifteen seconds of the model are none of ours */
    CHECK_TEXT(nt_model_leftovers(model), "threads: 1 of the launcher\n");
    nt_model_free(model); /* ends it where it is */
    CHECK(!slow.came_back);
}

static const struct sbx_test tests[] = {
    {"a launcher that dies at any call leaves no process",
     a_launcher_that_dies_at_any_call_leaves_no_process},
    {"a second launcher finds what the first left", a_second_launcher_finds_what_the_first_left},
    {"a mutex goes with the last handle of the dead",
     a_mutex_goes_with_the_last_handle_of_the_dead},
    {"two launchers live at the same time", two_launchers_live_at_the_same_time},
    {"what was not flushed is lost with the power", what_was_not_flushed_is_lost_with_the_power},
    {"each call fails in the way it tells", each_call_fails_in_the_way_it_tells},
    {"a hook sees each call and may refuse it", a_hook_sees_each_call_and_may_refuse_it},
    {"a Windows without an export has an empty slot",
     a_windows_without_an_export_has_an_empty_slot},
    {"a service that stalls is given up at once in our time",
     a_service_that_stalls_is_given_up_at_once_in_our_time},
};
SBX_TEST_MAIN("simulated_nt_model_crash", tests)
