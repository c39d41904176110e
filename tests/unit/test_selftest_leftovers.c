/* Cases of the self-test on Windows about what boxes leave: what is planted here must be found. */
#include <windows.h>

#include <stdio.h>
#include <string.h>

#include "common/os.h"
#include "tests/unit/os_actor.h"
#include "tests/unit/played_sbx.h"
#include "win/handle.h"

#include "common/base/banned.h"

#define CONTAINERS                                                                                 \
    L"Software\\Classes\\Local "                                                                   \
    L"Settings\\Software\\Microsoft\\Windows\\CurrentVersion\\AppContainer"
#define MAPPINGS CONTAINERS L"\\Mappings"

/* ---- leftovers ---------------------------------------------------------------------------------- */

static void a_process_of_a_box_that_is_left_is_found(void)
{
    PROCESS_INFORMATION child = {0};
    STARTUPINFOW info = {.cb = sizeof info};
    wchar_t line[1024];
    played_well();
    played_check(played_find("leftovers.processes"), "pass", ", 0 of them a box's");
    (void)_snwprintf(line, SBX_COUNT(line), L"\"%ls\" selftest --probe sleep 60000",
                     sbx_attempt_wide(sbx_selftest_place(played(), "copy")));
    CHECK(CreateProcessW(NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &info, &child));
    played_check(played_find("leftovers.processes"), "fail", ", 1 of them a box's");
    CHECK(TerminateProcess(child.hProcess, 0));
    CHECK_INT(WaitForSingleObject(child.hProcess, 30000), WAIT_OBJECT_0);
    sbx_handle_close(&child.hThread);
    sbx_handle_close(&child.hProcess);
}

static void a_lease_that_is_left_is_found(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1u << 20);
    const char *state = sbx_arena_printf(&arena, "%s", played_path("state"));
    const char *before = sbx_selftest_place(played(), "state");
    played_place("state", state);
    played_well();
    played_check(played_find("leftovers.leases"), "pass", "0 leases in ");
    actor_write(played_path("state\\leases\\1.lease"), "x");
    actor_write(played_path("state\\leases\\2.lease"), "x");
    actor_write(played_path("state\\leases\\other.txt"), "x");
    played_check(played_find("leftovers.leases"), "fail", "2 leases in ");
    played_place("state", before);
    sbx_selftest_remove(state);
}

static void set_profile(const wchar_t *sid, const wchar_t *moniker)
{
    wchar_t key[512];
    (void)_snwprintf(key, SBX_COUNT(key), L"%ls\\%ls", MAPPINGS, sid);
    CHECK_INT(RegSetKeyValueW(HKEY_CURRENT_USER, key, L"Moniker", REG_SZ, moniker,
                              (DWORD)((wcslen(moniker) + 1) * sizeof(wchar_t))),
              ERROR_SUCCESS);
}

static void a_profile_that_is_left_is_found(void)
{
    HKEY mappings;
    if (RegOpenKeyExW(HKEY_CURRENT_USER, MAPPINGS, 0, KEY_READ, &mappings) == ERROR_SUCCESS) {
        (void)RegCloseKey(mappings);
        sbx_test_skip("no-mappings", "this user has AppContainers, which are not ours to change");
        return;
    }
    played_well();
    played_check(played_find("leftovers.profiles"), "cannot", "list cannot be read: 2");
    set_profile(L"S-1-15-2-1-2-3", L"microsoft.something");
    played_check(played_find("leftovers.profiles"), "pass", "1 AppContainers are known");
    set_profile(L"S-1-15-2-4-5-6", L"SBX.box.1");
    played_check(played_find("leftovers.profiles"), "fail",
                 "2 AppContainers are known for this user, 1 of");
    CHECK_INT(RegDeleteTreeW(HKEY_CURRENT_USER, MAPPINGS), ERROR_SUCCESS);
    (void)RegDeleteKeyW(HKEY_CURRENT_USER,
                        CONTAINERS); /* unless somebody else has something there */
}

static void grants_are_listed_and_then_gone(void)
{
    const struct sbx_selftest_case *row = played_find("leftovers.grants");
    played_well();
    played_check(row, "pass", "has roots below");
    CHECK(played_log_has("workspace list --json\n"));
    CHECK(played_log_has("\\guarded\n"));
    CHECK(played_log_has("\\outside\n"));
    played_well();
    played_workspace(PLAY_FORGETS);
    played_check(row, "fail", "has no root below");
    played_workspace(PLAY_KEEPS);
    played_check(row, "fail", "still has some after they were taken back");
    played_workspace(PLAY_UNKNOWN);
    played_check(row, "cannot", "this build has no sbx workspace");
}

static const struct sbx_test tests[] = {
    {"a process of a box that is left is found", a_process_of_a_box_that_is_left_is_found},
    {"a lease that is left is found", a_lease_that_is_left_is_found},
    {"a profile that is left is found", a_profile_that_is_left_is_found},
    {"grants are listed, and then gone", grants_are_listed_and_then_gone},
};
PLAYED_TEST_MAIN("selftest leftovers", tests)
