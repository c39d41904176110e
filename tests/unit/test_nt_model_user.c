/* The model of the NT kernel: window stations, desktops, consoles and pseudo consoles. */
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/ntmodel/nt_model.h"
#include "tests/unit/nt_run.h"

#include "common/base/banned.h"

const struct sbx_winapi *sbx_win(void)
{
    return nt_model_table();
}

static void name_of(HANDLE object, char *out, size_t max)
{
    wchar_t name[64] = L"";
    DWORD needed = 0;
    CHECK(sbx_win()->GetUserObjectInformationW(object, UOI_NAME, name, sizeof name, &needed));
    size_t i = 0;
    for (; name[i] != 0 && i + 1 < max; i++) {
        out[i] = (char)name[i];
    }
    out[i] = '\0';
}

/* ---- stations ------------------------------------------------------------------------------------------- */

static void the_first_station_is_that_of_the_session(void)
{
    char name[64];
    struct nt_model *model = nt_model_new(&(struct nt_world){0});
    name_of(sbx_win()->GetProcessWindowStation(), name, sizeof name);
    CHECK_TEXT(name, "WinSta0");
    name_of(sbx_win()->GetThreadDesktop(sbx_win()->GetCurrentThreadId()), name, sizeof name);
    CHECK_TEXT(name, "Default");
    nt_model_free(model);
    model = nt_model_new(&(struct nt_world){.is_service = true});
    name_of(sbx_win()->GetProcessWindowStation(), name, sizeof name);
    CHECK_TEXT(name, "Service-0x0-3e7$");
    SECURITY_INFORMATION which = DACL_SECURITY_INFORMATION;
    DWORD needed = 0;
    CHECK(!sbx_win()->GetUserObjectSecurity(sbx_win()->GetProcessWindowStation(), &which, NULL, 0,
                                            &needed));
    CHECK_U64(GetLastError(), ERROR_INSUFFICIENT_BUFFER);
    CHECK(needed > 0);
    nt_model_free(model);
}

static const wchar_t box_sddl[] =
    L"D:(A;;GA;;;SY)(A;;GA;;;S-1-5-21-1004336348-1177238915-682003330-1001)(A;;GA;;;AC)"
    L"S:(ML;;NW;;;LW)";

static void a_private_station_serves_where_the_first_does_not(void)
{
    static const wchar_t powershell[] =
        L"C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe";
    struct nt_model *model = nt_model_new(&(struct nt_world){.is_service = true});
    CHECK(sbx_win()->AllocConsole());
    SECURITY_ATTRIBUTES security = {.nLength = sizeof security};
    CHECK(sbx_win()->ConvertStringSecurityDescriptorToSecurityDescriptorW(
        box_sddl, SDDL_REVISION_1, &security.lpSecurityDescriptor, NULL));
    CHECK(sbx_win()->CreateWindowStationW(L"mine", 0, MAXIMUM_ALLOWED, &security) == NULL);
    CHECK_U64(GetLastError(), ERROR_ACCESS_DENIED); /* a name is for administrators */
    HWINSTA before = sbx_win()->GetProcessWindowStation();
    HWINSTA station = sbx_win()->CreateWindowStationW(NULL, 0, MAXIMUM_ALLOWED, &security);
    CHECK(station != NULL);
    CHECK(sbx_win()->CreateWindowStationW(NULL, 1, MAXIMUM_ALLOWED, &security) == NULL);
    CHECK_U64(GetLastError(), ERROR_ALREADY_EXISTS);
    CHECK(sbx_win()->SetProcessWindowStation(station));
    CHECK(strstr(nt_model_leftovers(model), "station: ") != NULL);
    CHECK(!sbx_win()->CloseWindowStation(station)); /* it is in use */
    HDESK desktop =
        sbx_win()->CreateDesktopExW(L"box", NULL, NULL, 0, MAXIMUM_ALLOWED, &security, 512, NULL);
    CHECK(desktop != NULL);
    CHECK(sbx_win()->SetProcessWindowStation(before));
    char name[64];
    wchar_t full[128];
    name_of(station, name, sizeof name);
    (void)swprintf(full, 128, L"%hs\\box", name);
    struct nt_run run = {.program = powershell};
    nt_run(&run);
    CHECK_U64(run.exit_code, 0xC0000142);
    run = (struct nt_run){.program = powershell, .desktop = full};
    nt_run(&run);
    CHECK_U64(run.exit_code, 0);
    CHECK(!sbx_win()->CloseHandle(desktop)); /* not by that call */
    CHECK(sbx_win()->CloseDesktop(desktop));
    CHECK(sbx_win()->CloseWindowStation(station));
    CHECK(sbx_win()->LocalFree(security.lpSecurityDescriptor) == NULL);
    CHECK_TEXT(nt_model_leftovers(model), "bad handles: 1 uses\n");
    nt_model_free(model);
}

/* ---- consoles ------------------------------------------------------------------------------------------------ */

static volatile LONG ctrl_events;

static BOOL WINAPI count_ctrl(DWORD event)
{
    (void)InterlockedIncrement(&ctrl_events);
    return event == CTRL_C_EVENT;
}

static void a_console_is_one_only_where_there_is_one(void)
{
    DWORD mode = 0;
    CONSOLE_SCREEN_BUFFER_INFO screen;
    struct nt_model *model = nt_model_new(&(struct nt_world){0});
    HANDLE out = sbx_win()->GetStdHandle(STD_OUTPUT_HANDLE);
    CHECK_U64(sbx_win()->GetFileType(out), FILE_TYPE_PIPE);
    CHECK(!sbx_win()->GetConsoleMode(out, &mode));
    CHECK_U64(GetLastError(), ERROR_INVALID_HANDLE);
    DWORD put;
    CHECK(sbx_win()->WriteFile(out, "said\n", 5, &put, NULL));
    CHECK_TEXT(nt_model_output(model, 1), "said\n");
    nt_model_input(model, "asked\n");
    char text[16] = "";
    HANDLE in = sbx_win()->GetStdHandle(STD_INPUT_HANDLE);
    CHECK(sbx_win()->ReadFile(in, text, sizeof text - 1, &put, NULL));
    CHECK_TEXT(text, "asked\n");
    CHECK(!sbx_win()->ReadFile(in, text, sizeof text - 1, &put, NULL));
    CHECK_U64(GetLastError(), ERROR_BROKEN_PIPE);
    CHECK(!nt_model_ctrl(model, CTRL_C_EVENT));
    CHECK(sbx_win()->SetConsoleCtrlHandler(count_ctrl, TRUE));
    CHECK(nt_model_ctrl(model, CTRL_C_EVENT));
    CHECK(!nt_model_ctrl(model, CTRL_CLOSE_EVENT));
    CHECK_INT(ctrl_events, 2);
    CHECK_TEXT(nt_model_leftovers(model), "console handler\n");
    CHECK(sbx_win()->SetConsoleCtrlHandler(count_ctrl, FALSE));
    CHECK_U64(nt_model_bad_handles(model), 0);
    nt_model_free(model);
    model = nt_model_new(&(struct nt_world){.is_on_console = true});
    out = sbx_win()->GetStdHandle(STD_OUTPUT_HANDLE);
    CHECK_U64(sbx_win()->GetFileType(out), FILE_TYPE_CHAR);
    CHECK(sbx_win()->GetConsoleMode(out, &mode));
    CHECK(sbx_win()->SetConsoleMode(out, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING));
    CHECK(sbx_win()->GetConsoleScreenBufferInfo(out, &screen));
    nt_model_free(model);
}

static DWORD talk(struct nt_process *self, void *state)
{
    char *heard = state;
    size_t len = 0;
    (void)nt_box_input(self, heard, 15, &len);
    (void)nt_box_print(self, 1, "on the console\r\n");
    return strcmp(nt_box_console(self), "pseudo") == 0 ? 4 : 1;
}

static void a_pseudo_console_carries_both_ways(void)
{
    char heard[16] = "";
    struct nt_model *model = nt_model_new(
        &(struct nt_world){.has_no_console = true, .actor = talk, .actor_state = heard});
    HANDLE ends[4];
    HPCON console = NULL;
    CHECK(sbx_win()->CreatePipe(&ends[0], &ends[1], NULL, 0));
    CHECK(sbx_win()->CreatePipe(&ends[2], &ends[3], NULL, 0));
    CHECK_INT(sbx_win()->CreatePseudoConsole((COORD){0, 25}, ends[0], ends[3], 0, &console),
              E_INVALIDARG);
    CHECK_INT(sbx_win()->CreatePseudoConsole((COORD){80, 25}, ends[0], ends[3], 0, &console), S_OK);
    CHECK_INT(sbx_win()->ResizePseudoConsole(console, (COORD){100, 30}), S_OK);
    CHECK(sbx_win()->CloseHandle(ends[0]));
    CHECK(sbx_win()->CloseHandle(ends[3]));
    _Alignas(16) unsigned char room[256];
    SIZE_T size = sizeof room;
    STARTUPINFOEXW info = {.StartupInfo.cb = sizeof info, .lpAttributeList = (void *)room};
    PROCESS_INFORMATION child;
    CHECK(sbx_win()->InitializeProcThreadAttributeList(info.lpAttributeList, 1, 0, &size));
    CHECK(sbx_win()->UpdateProcThreadAttribute(info.lpAttributeList, 0,
                                               PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE, console,
                                               sizeof console, NULL, NULL));
    CHECK(sbx_win()->CreateProcessW(L"C:\\Windows\\System32\\cmd.exe", NULL, NULL, NULL, FALSE,
                                    EXTENDED_STARTUPINFO_PRESENT, NULL, NULL, &info.StartupInfo,
                                    &child));
    DWORD put;
    char text[32] = "";
    CHECK(sbx_win()->WriteFile(ends[1], "key", 3, &put, NULL));
    CHECK(sbx_win()->ReadFile(ends[2], text, sizeof text - 1, &put, NULL));
    CHECK_TEXT(text, "on the console\r\n");
    CHECK_U64(sbx_win()->WaitForSingleObject(child.hProcess, 5000), WAIT_OBJECT_0);
    CHECK_TEXT(heard, "key");
    DWORD code = 0;
    CHECK(sbx_win()->GetExitCodeProcess(child.hProcess, &code));
    CHECK_U64(code, 4);
    sbx_win()->ClosePseudoConsole(console);
    CHECK(!sbx_win()->ReadFile(ends[2], text, sizeof text, &put, NULL));
    CHECK_U64(GetLastError(), ERROR_BROKEN_PIPE);
    nt_model_free(model);
}

static const struct sbx_test tests[] = {
    {"the first station is that of the session", the_first_station_is_that_of_the_session},
    {"a private station serves where the first does not",
     a_private_station_serves_where_the_first_does_not},
    {"a console is one only where there is one", a_console_is_one_only_where_there_is_one},
    {"a pseudo console carries both ways", a_pseudo_console_carries_both_ways},
};
SBX_TEST_MAIN("simulated_nt_model_user", tests)
