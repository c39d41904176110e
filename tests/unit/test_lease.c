/* Leases (win/lease.h) with real files, real processes and a real directory; only the deletion of a profile, which
 * Wine does not have, is recorded here instead. */
#include <windows.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/unit/os_actor.h"
#include "win/handle.h"
#include "win/lease.h"
#include "win/state.h"
#include "win/wide.h"

#include "common/base/banned.h"

static struct sbx_err err;
static struct sbx_arena arena;

/* ---- the table ------------------------------------------------------------------------------ */

static wchar_t deleted[16][64];
static LONG deleted_count;
static HRESULT deletion = S_OK;

static HRESULT WINAPI delete_profile(PCWSTR name)
{
    LONG at = InterlockedIncrement(&deleted_count) - 1;
    if (at < (LONG)SBX_COUNT(deleted)) {
        (void)swprintf(deleted[at], SBX_COUNT(deleted[at]), L"%ls", name);
    }
    return deletion;
}

const struct sbx_winapi *sbx_win(void)
{
    static struct sbx_winapi table;
    static bool is_loaded;
    if (!is_loaded) {
        sbx_winapi_load(&table);
        table.DeleteAppContainerProfile = delete_profile;
        is_loaded = true;
    }
    return &table;
}

static bool was_deleted(const wchar_t *name)
{
    for (LONG i = 0; i < deleted_count && i < (LONG)SBX_COUNT(deleted); i++) {
        if (wcscmp(deleted[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- a state directory ----------------------------------------------------------------------- */

static struct sbx_path state_dir;

static const char *below(const char *name)
{
    const char *text = sbx_arena_printf(&arena, "%s\\%s", state_dir.text, name);
    return text == NULL ? "" : text;
}

static void new_state(const char *name)
{
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_WINDOWS, sbx_str(scratch(name)), &state_dir),
              SBX_PATH_OK);
    deleted_count = 0;
    deletion = S_OK;
    err = (struct sbx_err){0};
}

static size_t count_in(const char *directory, const char *suffix)
{
    WIN32_FIND_DATAW found;
    wchar_t *pattern = NULL;
    size_t count = 0;
    const char *all = sbx_arena_printf(&arena, "%s\\*%s", below(directory), suffix);
    /* The pattern has a star, which is no path. */
    if (all == NULL || sbx_wide_from(&arena, all, &pattern, &err) != SBX_OK) {
        return 99;
    }
    HANDLE find = FindFirstFileW(pattern, &found);
    if (find == INVALID_HANDLE_VALUE) {
        return 0;
    }
    do {
        count += (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0 ? 1 : 0;
    } while (FindNextFileW(find, &found));
    (void)FindClose(find);
    return count;
}

static struct sbx_recovery recover(void)
{
    struct sbx_recovery result = {.undone = 99};
    CHECK_CODE(sbx_lease_recover(&arena, state_dir, &result, &err), SBX_OK, &err);
    return result;
}

/* ---- another process -------------------------------------------------------------------------- */

/* "--holder STATE PROFILE READY": holds a lease until it is killed. */
static int hold(char **argv)
{
    struct sbx_lease *lease = NULL;
    if (sbx_path_make(&arena, SBX_PATH_WINDOWS, sbx_str(argv[2]), &state_dir) != SBX_PATH_OK ||
        sbx_lease_open(state_dir, argv[3], &lease, &err) != SBX_OK ||
        sbx_lease_mark(lease, SBX_LEASE_RUNNING, &err) != SBX_OK) {
        return 1;
    }
    actor_write(argv[4], "1");
    Sleep(60000);
    return 0;
}

/* "--recoverer STATE READY": recovers, and writes how many it undid. */
static int recover_apart(char **argv)
{
    char text[32];
    struct sbx_recovery result = {0};
    if (sbx_path_make(&arena, SBX_PATH_WINDOWS, sbx_str(argv[2]), &state_dir) != SBX_PATH_OK ||
        sbx_lease_recover(&arena, state_dir, &result, &err) != SBX_OK) {
        return 1;
    }
    (void)snprintf(text, sizeof text, "%zu", result.undone);
    actor_write(argv[3], text);
    return 0;
}

static HANDLE start(const char *verb, const char *profile, const char *ready)
{
    wchar_t *line = NULL;
    STARTUPINFOW info = {.cb = sizeof info};
    PROCESS_INFORMATION process = {0};
    const char *text = profile == NULL
                           ? sbx_arena_printf(&arena, "\"%s\" %s \"%s\" \"%s\"", actor_program(),
                                              verb, state_dir.text, ready)
                           : sbx_arena_printf(&arena, "\"%s\" %s \"%s\" %s \"%s\"", actor_program(),
                                              verb, state_dir.text, profile, ready);
    CHECK_CODE(sbx_wide_from(&arena, text, &line, &err), SBX_OK, &err);
    CHECK(CreateProcessW(NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &info, &process));
    (void)CloseHandle(process.hThread);
    return process.hProcess;
}

static bool await_file(const char *path)
{
    for (int i = 0; i < 1000 && actor_read(path)[0] == '\0'; i++) {
        actor_sleep_ms(10);
    }
    return actor_read(path)[0] != '\0';
}

static void kill(HANDLE *process)
{
    CHECK(TerminateProcess(*process, 9));
    CHECK_INT(WaitForSingleObject(*process, 60000), WAIT_OBJECT_0);
    sbx_handle_close(process);
}

/* ---- tests ------------------------------------------------------------------------------------ */

static void a_lease_is_on_disk_until_it_is_closed(void)
{
    struct sbx_lease *lease = NULL;
    new_state("one");
    CHECK_CODE(sbx_lease_open(state_dir, "sbx.1.aa", &lease, &err), SBX_OK, &err);
    if (lease == NULL) {
        return;
    }
    CHECK_U64(count_in("leases", ".lease"), 1);
    CHECK_U64(count_in("leases", ".new"), 0);
    CHECK(sbx_str_starts(sbx_str(sbx_lease_name(lease)), "leases\\"));
    const char *text = actor_read(below(sbx_lease_name(lease)));
    CHECK(strstr(text, "state prepared\n") != NULL);
    CHECK(strstr(text, "profile sbx.1.aa\n") != NULL);
    CHECK_CODE(sbx_lease_mark(lease, SBX_LEASE_RUNNING, &err), SBX_OK, &err);
    CHECK(strstr(actor_read(below(sbx_lease_name(lease))), "state running\n") != NULL);
    CHECK_CODE(sbx_lease_mark(lease, SBX_LEASE_EXITED, &err), SBX_OK, &err);
    CHECK(strstr(actor_read(below(sbx_lease_name(lease))), "state exited\n") != NULL);
    CHECK_CODE(sbx_lease_close(lease, &err), SBX_OK, &err);
    CHECK_U64(count_in("leases", ""), 0);
}

static void the_lease_of_a_living_run_is_not_touched(void)
{
    struct sbx_lease *lease = NULL;
    new_state("living");
    CHECK_CODE(sbx_lease_open(state_dir, "sbx.1.bb", &lease, &err), SBX_OK, &err);
    struct sbx_recovery result = recover();
    CHECK_U64(result.undone + result.kept + result.quarantined, 0);
    CHECK_U64(count_in("leases", ".lease"), 1);
    CHECK_INT(deleted_count, 0);
    sbx_lease_abandon(lease);
    CHECK_U64(count_in("leases", ".lease"), 1);
    result = recover(); /* we are still alive */
    CHECK_U64(result.undone, 0);
}

static void what_a_killed_run_left_is_undone_by_the_next_one(void)
{
    new_state("killed");
    const char *ready = scratch("killed-ready");
    HANDLE holder = start("--holder", "sbx.1.cc", ready);
    CHECK(await_file(ready));
    struct sbx_recovery result = recover();
    CHECK_U64(result.undone, 0); /* it lives */
    CHECK_U64(count_in("leases", ".lease"), 1);
    kill(&holder);
    result = recover();
    CHECK_U64(result.undone, 1);
    CHECK_U64(result.kept, 0);
    CHECK(result.first_remark == NULL);
    CHECK(was_deleted(L"sbx.1.cc"));
    CHECK_U64(count_in("leases", ".lease"), 0);
    deleted_count = 0;
    result = recover();
    CHECK_U64(result.undone, 0);
    CHECK_INT(deleted_count, 0);
}

static void what_cannot_be_undone_stays_and_is_told(void)
{
    new_state("kept");
    const char *ready = scratch("kept-ready");
    HANDLE holder = start("--holder", "sbx.1.dd", ready);
    CHECK(await_file(ready));
    kill(&holder);
    deletion = E_ACCESSDENIED;
    struct sbx_recovery result = recover();
    CHECK_U64(result.undone, 0);
    CHECK_U64(result.kept, 1);
    CHECK(result.first_remark != NULL && strstr(result.first_remark, ".lease") != NULL);
    CHECK_U64(count_in("leases", ".lease"), 1);
    deletion = HRESULT_FROM_WIN32(ERROR_NOT_FOUND); /* it was never made */
    result = recover();
    CHECK_U64(result.undone, 1);
    CHECK_U64(count_in("leases", ".lease"), 0);
}

static void a_used_process_id_is_another_process(void)
{
    AUTO_ARENA scratch_arena;
    AUTO_STATE state = {0};
    struct sbx_record record = {.kind = SBX_RECORD_LEASE, .profile = "sbx.1.ee", .since = 1};
    sbx_arena_init(&scratch_arena, 4 << 20);
    new_state("reused");
    CHECK_CODE(sbx_owner_self(&scratch_arena, &record.owner, &err), SBX_OK, &err);
    CHECK(sbx_owner_is_alive(&record.owner));
    CHECK_CODE(sbx_state_open(&scratch_arena, state_dir, "leases", &state, &err), SBX_OK, &err);
    struct sbx_record_owner self = record.owner;
    record.owner.created--;
    CHECK(!sbx_owner_is_alive(&record.owner));
    CHECK_CODE(sbx_state_write(&state, "created.lease", &record, &err), SBX_OK, &err);
    record.owner = self;
    record.owner.image = "C:\\another.exe";
    CHECK(!sbx_owner_is_alive(&record.owner));
    CHECK_CODE(sbx_state_write(&state, "image.lease", &record, &err), SBX_OK, &err);
    record.owner = self;
    CHECK_CODE(sbx_state_write(&state, "self.lease", &record, &err), SBX_OK, &err);
    struct sbx_recovery result = recover();
    CHECK_U64(result.undone, 2);
    CHECK_U64(count_in("leases", ".lease"), 1);
    CHECK(actor_read(below("leases\\self.lease"))[0] != '\0');
}

static void damaged_leases_go_to_quarantine(void)
{
    AUTO_ARENA scratch_arena;
    AUTO_STATE state = {0};
    sbx_arena_init(&scratch_arena, 4 << 20);
    new_state("damaged");
    CHECK_CODE(sbx_state_open(&scratch_arena, state_dir, "leases", &state, &err), SBX_OK, &err);
    actor_write(below("leases\\empty.lease"), "");
    actor_write(below("leases\\text.lease"), "profile sbx.1.ff\n");
    actor_write(below("leases\\readme.txt"), "not a lease");
    struct sbx_recovery result = recover();
    CHECK_U64(result.quarantined, 2);
    CHECK_U64(result.undone + result.kept, 0);
    CHECK(result.first_remark != NULL && strstr(result.first_remark, "quarantine") != NULL);
    CHECK_INT(deleted_count, 0);
    CHECK_U64(count_in("leases", ".lease"), 0);
    CHECK_U64(count_in("leases\\quarantine", ".lease"), 2);
    CHECK_TEXT(actor_read(below("leases\\quarantine\\text.lease")), "profile sbx.1.ff\n");
    CHECK_TEXT(actor_read(below("leases\\readme.txt")), "not a lease");
    result = recover();
    CHECK_U64(result.quarantined, 0);
    /* The same name again: the older one is replaced, nothing is stuck. */
    actor_write(below("leases\\text.lease"), "again\n");
    result = recover();
    CHECK_U64(result.quarantined, 1);
}

static void a_write_that_was_not_finished_is_removed(void)
{
    AUTO_ARENA scratch_arena;
    AUTO_STATE state = {0};
    struct sbx_record_owner self;
    char mine[128];
    sbx_arena_init(&scratch_arena, 4 << 20);
    new_state("unfinished");
    CHECK_CODE(sbx_state_open(&scratch_arena, state_dir, "leases", &state, &err), SBX_OK, &err);
    CHECK_CODE(sbx_owner_self(&scratch_arena, &self, &err), SBX_OK, &err);
    (void)snprintf(mine, sizeof mine, "leases\\%lu-%llu-00000001.lease.new",
                   (unsigned long)self.pid, (unsigned long long)self.created);
    actor_write(below("leases\\4294967291-1-00000001.lease.new"), "sbx-rec");
    actor_write(below(mine), "sbx-rec");
    struct sbx_recovery result = recover();
    CHECK_U64(result.quarantined + result.kept + result.undone, 0);
    CHECK_U64(count_in("leases", ".new"), 1);
    CHECK_TEXT(actor_read(below(mine)), "sbx-rec"); /* its writer lives */
}

static void two_recoveries_at_once_undo_each_lease_once(void)
{
    HANDLE holders[4];
    HANDLE recoverers[4];
    new_state("crowd");
    for (size_t i = 0; i < SBX_COUNT(holders); i++) {
        char ready[32];
        char profile[32];
        (void)snprintf(ready, sizeof ready, "crowd-%zu", i);
        (void)snprintf(profile, sizeof profile, "sbx.1.a%zu", i);
        holders[i] = start("--holder", profile, scratch(ready));
        CHECK(await_file(scratch(ready)));
    }
    for (size_t i = 0; i < SBX_COUNT(holders); i++) {
        kill(&holders[i]);
    }
    for (size_t i = 0; i < SBX_COUNT(recoverers); i++) {
        char ready[32];
        (void)snprintf(ready, sizeof ready, "recovered-%zu", i);
        recoverers[i] = start("--recoverer", NULL, scratch(ready));
    }
    uint64_t total = 0;
    for (size_t i = 0; i < SBX_COUNT(recoverers); i++) {
        char ready[32];
        uint64_t undone = 0;
        DWORD status = 99;
        (void)snprintf(ready, sizeof ready, "recovered-%zu", i);
        CHECK_INT(WaitForSingleObject(recoverers[i], 60000), WAIT_OBJECT_0);
        CHECK(GetExitCodeProcess(recoverers[i], &status));
        CHECK_U64(status, 0);
        sbx_handle_close(&recoverers[i]);
        CHECK(sbx_str_to_u64(sbx_str(actor_read(scratch(ready))), &undone));
        total += undone;
    }
    CHECK_U64(total, SBX_COUNT(holders));
    CHECK_U64(count_in("leases", ".lease"), 0);
}

static void a_recovery_that_another_one_does_is_not_waited_for_in_vain(void)
{
    AUTO_ARENA scratch_arena;
    AUTO_STATE state = {0};
    AUTO_HANDLE held = NULL;
    HANDLE second = NULL;
    sbx_arena_init(&scratch_arena, 4 << 20);
    new_state("busy");
    CHECK_CODE(sbx_state_open(&scratch_arena, state_dir, "leases", &state, &err), SBX_OK, &err);
    CHECK_CODE(sbx_state_lock(&state, 0, &held, &err), SBX_OK, &err);
    CHECK_CODE(sbx_state_lock(&state, 50, &second, &err), SBX_E_UNAVAILABLE, &err);
    CHECK(strstr(err.text, "another sbx") != NULL);
    sbx_handle_close(&held);
    CHECK_CODE(sbx_state_lock(&state, 0, &held, &err), SBX_OK, &err);
}

static void a_state_directory_that_is_a_file_is_refused(void)
{
    struct sbx_lease *lease = NULL;
    new_state("file");
    actor_write(state_dir.text, "not a directory");
    CHECK_CODE(sbx_lease_open(state_dir, "sbx.1.ab", &lease, &err), SBX_E_UNTRUSTED, &err);
    CHECK(strstr(err.text, "no directory") != NULL);
    CHECK(err.hint[0] != '\0');
    CHECK(lease == NULL);
}

static void a_name_that_is_not_ours_gets_no_lease(void)
{
    struct sbx_lease *lease = NULL;
    new_state("names");
    CHECK_CODE(sbx_lease_open(state_dir, "Microsoft.Edge", &lease, &err), SBX_E_INTERNAL, &err);
    CHECK_CODE(sbx_lease_open(state_dir, "sbx.a\nb", &lease, &err), SBX_E_INTERNAL, &err);
    CHECK(lease == NULL);
    CHECK_U64(count_in("leases", ""), 0);
}

static const struct sbx_test tests[] = {
    {"a lease is on disk until it is closed", a_lease_is_on_disk_until_it_is_closed},
    {"the lease of a living run is not touched", the_lease_of_a_living_run_is_not_touched},
    {"what a killed run left is undone by the next one",
     what_a_killed_run_left_is_undone_by_the_next_one},
    {"what cannot be undone stays and is told", what_cannot_be_undone_stays_and_is_told},
    {"a process id that is used again is another process", a_used_process_id_is_another_process},
    {"damaged leases go to quarantine and nothing is undone for them",
     damaged_leases_go_to_quarantine},
    {"a write that was not finished is removed", a_write_that_was_not_finished_is_removed},
    {"recoveries at once undo each lease once", two_recoveries_at_once_undo_each_lease_once},
    {"a lock that another one holds is waited for with a bound",
     a_recovery_that_another_one_does_is_not_waited_for_in_vain},
    {"a state directory that is a file is refused", a_state_directory_that_is_a_file_is_refused},
    {"a name that is not ours gets no lease", a_name_that_is_not_ours_gets_no_lease},
};

int main(int argc, char **argv)
{
    sbx_arena_init(&arena, (size_t)64 << 20);
    actor_init(argv[0]);
    if (argc == 5 && sbx_text_eq(argv[1], "--holder")) {
        return hold(argv);
    }
    if (argc == 4 && sbx_text_eq(argv[1], "--recoverer")) {
        return recover_apart(argv);
    }
    int status = sbx_test_main(argc, argv, "lease", tests, SBX_COUNT(tests));
    actor_end();
    return status;
}
