/* Desktops on the real system: where the system keeps no access list of a window station the box is refused, the
 * caller stays on its own station, and nothing is left. */
#include <windows.h>

#include <string.h>

#include "tests/check.h"
#include "tests/unit/win_fixture.h"
#include "win/desktop.h"
#include "win/sid.h"

#include "common/base/banned.h"

static struct sbx_err err;

static bool keeps_lists(void)
{
    SECURITY_INFORMATION which = DACL_SECURITY_INFORMATION;
    _Alignas(8) char room[4096];
    DWORD size;
    BOOL has_list = FALSE;
    BOOL is_default = FALSE;
    PACL list = NULL;
    return GetUserObjectSecurity(GetProcessWindowStation(), &which, room, sizeof room, &size) &&
           GetSecurityDescriptorDacl(room, &has_list, &list, &is_default) && has_list;
}

static void a_station_without_a_list_is_refused(void)
{
    struct sbx_sid package;
    CHECK(sbx_sid_parse("S-1-15-2-1-2-3-4-5-6-7", &package));
    if (keeps_lists()) {
        sbx_test_skip("wine", "this system keeps the lists of stations: its selftest shows them");
        return;
    }
    HWINSTA station = GetProcessWindowStation();
    HDESK desktop = GetThreadDesktop(GetCurrentThreadId());
    size_t before = 0;
    for (int round = 0; round < 4; round++) {
        WIN_ARENA(arena);
        struct sbx_desktop out = {.text = "untouched"};
        CHECK_CODE(sbx_desktop_open(&arena, sbx_sid_known(SBX_SID_ADMINISTRATORS), package.bytes,
                                    &out, &err),
                   SBX_E_UNSUPPORTED, &err);
        CHECK_TEXT(err.text, "the window station of this logon session does not admit packages");
        CHECK(strstr(err.hint, "start sbx elevated") != NULL);
        CHECK_TEXT(out.text, "untouched");
        CHECK(out.station == NULL && out.desktop == NULL);
        before = round == 1 ? win_open_handles() : before;
    }
    CHECK_U64(win_open_handles(), before);
    CHECK(GetProcessWindowStation() == station);
    CHECK(GetThreadDesktop(GetCurrentThreadId()) == desktop);
}

static void closing_closes_what_is_there(void)
{
    struct sbx_desktop made = {
        .station = CreateWindowStationW(L"sbx-test", 0, WINSTA_ALL_ACCESS, NULL),
    };
    HWINSTA station = made.station;
    DWORD flags;
    CHECK(station != NULL && GetHandleInformation(station, &flags));
    sbx_desktop_close(&made);
    CHECK(made.station == NULL && made.desktop == NULL);
    CHECK(!GetHandleInformation(station, &flags));
    sbx_desktop_close(&made); /* nothing */
}

/* A desktop of its own is where a child lands, here too: what sbx makes would be used. */
static void a_child_lands_on_the_desktop_it_is_given(void)
{
    WIN_ARENA(arena);
    struct sbx_process_plan plan;
    HDESK desktop = CreateDesktopW(L"sbx-test-own", NULL, NULL, 0, GENERIC_ALL, NULL);
    CHECK(desktop != NULL);
    CHECK(win_birth(&arena, (const char *[]){"desktop", scratch("desktop"), NULL}, &plan));
    wchar_t name[] = L"WinSta0\\sbx-test-own";
    STARTUPINFOW info = {.cb = sizeof info, .lpDesktop = name};
    PROCESS_INFORMATION born = {0};
    CHECK(CreateProcessW(plan.program, plan.command_line, NULL, NULL, FALSE,
                         CREATE_UNICODE_ENVIRONMENT, plan.environment, NULL, &info, &born));
    CHECK_INT(WaitForSingleObject(born.hProcess, 30000), WAIT_OBJECT_0);
    CHECK_TEXT(actor_read(scratch("desktop")), "WinSta0\\sbx-test-own");
    (void)CloseHandle(born.hThread);
    (void)CloseHandle(born.hProcess);
    struct sbx_desktop made = {.desktop = desktop};
    sbx_desktop_close(&made);
    DWORD flags;
    CHECK(!GetHandleInformation(desktop, &flags));
}

static const struct sbx_test tests[] = {
    {"a station whose list cannot be read back is refused, and nothing is left",
     a_station_without_a_list_is_refused},
    {"closing closes what is there, once", closing_closes_what_is_there},
    {"a child lands on the desktop it is given", a_child_lands_on_the_desktop_it_is_given},
};

ACTOR_TEST_MAIN("desktops", tests)
