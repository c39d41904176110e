/* Attempts to have other processes of the system do something: services, tasks, COM, WMI, the shell. */
#define COBJMACROS
#include "win/selftest.h"

#include <shellapi.h>
#include <stdio.h>
#include <wbemcli.h>

#include "win/handle.h"

#include "common/base/banned.h"

#define WAIT_MS 20000

/* Not in every import library. */
static const GUID wbem_locator_class = {
    0x4590f811, 0x1d3a, 0x11d0, {0x89, 0x1f, 0x00, 0xaa, 0x00, 0x4b, 0x2e, 0x24}};
static const GUID wbem_locator = {
    0xdc12a687, 0x737f, 0x11cf, {0x88, 0x4d, 0x00, 0xaa, 0x00, 0x4b, 0x2e, 0x24}};
static const GUID unknown = {0, 0, 0, {0xc0, 0, 0, 0, 0, 0, 0, 0x46}};

/* ---- services and tasks ---- */

static void try_services(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    SC_HANDLE manager =
        OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT | SC_MANAGER_ENUMERATE_SERVICE);
    if (manager == NULL) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "OpenSCManagerW", "");
        return;
    }
    (void)CloseServiceHandle(manager);
    sbx_reply(reply, SBX_ANSWER_DONE, "opened the service manager");
}

/* Runs a program of System32 to its end; false with the last error when it cannot be started. */
static bool run_line(const char *text, DWORD *status)
{
    STARTUPINFOW info = {.cb = sizeof info};
    PROCESS_INFORMATION child = {0};
    if (!CreateProcessW(NULL, sbx_attempt_wide(text), NULL, NULL, FALSE, 0, NULL, NULL, &info,
                        &child)) {
        return false;
    }
    *status = STILL_ACTIVE;
    (void)WaitForSingleObject(child.hProcess, WAIT_MS);
    (void)GetExitCodeProcess(child.hProcess, status);
    (void)TerminateProcess(child.hProcess, 1);
    sbx_handle_close(&child.hThread);
    sbx_handle_close(&child.hProcess);
    return true;
}

static void try_task(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    char line[512];
    DWORD status;
    (void)snprintf(line, sizeof line,
                   "schtasks.exe /Create /F /SC ONCE /ST 23:59 /TN %.64s /TR \"cmd.exe /c exit\"",
                   arguments[0]);
    if (!run_line(line, &status)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "schtasks", arguments[0]);
        return;
    }
    if (status != 0) { /* one that did not even start has not been refused */
        sbx_reply(reply, status >= 0xc0000000 ? SBX_ANSWER_BROKEN : SBX_ANSWER_DENIED,
                  "schtasks /Create ended with 0x%lx", status);
        return;
    }
    (void)snprintf(line, sizeof line, "schtasks.exe /Delete /F /TN %.64s", arguments[0]);
    (void)run_line(line, &status);
    sbx_reply(reply, SBX_ANSWER_DONE, "made the task %s, and removed it", arguments[0]);
}

/* ---- COM ---- */

static void try_class(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    CLSID id;
    IUnknown *object = NULL;
    HRESULT result = CoInitializeEx(NULL, COINIT_MULTITHREADED);
    if (SUCCEEDED(result)) {
        result = CLSIDFromString(sbx_attempt_wide(arguments[0]), &id);
    }
    if (SUCCEEDED(result)) {
        result = CoCreateInstance(&id, NULL, CLSCTX_LOCAL_SERVER, &unknown, (void **)&object);
    }
    if (FAILED(result)) {
        sbx_reply_hresult(reply, result, "CoCreateInstance", arguments[0]);
        return;
    }
    (void)IUnknown_Release(object);
    sbx_reply(reply, SBX_ANSWER_DONE, "has an object of the server %s", arguments[0]);
}

/* ---- WMI: Win32_Process.Create, whose process is in nobody's job ---- */

static HRESULT connect_wmi(IWbemServices **out)
{
    IWbemLocator *locator = NULL;
    wchar_t place[] = L"ROOT\\CIMV2";
    HRESULT result = CoInitializeEx(NULL, COINIT_MULTITHREADED);
    if (SUCCEEDED(result)) {
        result = CoCreateInstance(&wbem_locator_class, NULL, CLSCTX_INPROC_SERVER, &wbem_locator,
                                  (void **)&locator);
    }
    if (FAILED(result)) {
        return result;
    }
    result = IWbemLocator_ConnectServer(locator, place, NULL, NULL, NULL, 0, NULL, NULL, out);
    (void)IWbemLocator_Release(locator);
    if (SUCCEEDED(result)) {
        result =
            CoSetProxyBlanket((IUnknown *)*out, RPC_C_AUTHN_WINNT, RPC_C_AUTHZ_NONE, NULL,
                              RPC_C_AUTHN_LEVEL_CALL, RPC_C_IMP_LEVEL_IMPERSONATE, NULL, EOAC_NONE);
    }
    return result;
}

static HRESULT create_by_wmi(IWbemServices *services, LONG *answer)
{
    IWbemClassObject *class = NULL;
    IWbemClassObject *shape = NULL;
    IWbemClassObject *words = NULL;
    IWbemClassObject *told = NULL;
    wchar_t class_name[] = L"Win32_Process";
    wchar_t method[] = L"Create";
    wchar_t line[] = L"cmd.exe /c exit";
    VARIANT value = {.vt = VT_BSTR, .bstrVal = line};
    VARIANT status = {.vt = VT_EMPTY};
    HRESULT result = IWbemServices_GetObject(services, class_name, 0, NULL, &class, NULL);
    if (SUCCEEDED(result)) {
        result = IWbemClassObject_GetMethod(class, method, 0, &shape, NULL);
    }
    if (SUCCEEDED(result)) {
        result = IWbemClassObject_SpawnInstance(shape, 0, &words);
    }
    if (SUCCEEDED(result)) {
        result = IWbemClassObject_Put(words, L"CommandLine", 0, &value, 0);
    }
    if (SUCCEEDED(result)) {
        result =
            IWbemServices_ExecMethod(services, class_name, method, 0, NULL, words, &told, NULL);
    }
    if (SUCCEEDED(result)) {
        result = IWbemClassObject_Get(told, L"ReturnValue", 0, &status, NULL, NULL);
        *answer = status.lVal;
    }
    return result; /* the process ends, and with it what was not released */
}

static void try_wmi(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    IWbemServices *services = NULL;
    LONG answer = -1;
    HRESULT result = connect_wmi(&services);
    if (FAILED(result)) {
        sbx_reply_hresult(reply, result, "connect to WMI", "ROOT\\CIMV2");
        return;
    }
    result = create_by_wmi(services, &answer);
    if (FAILED(result)) {
        sbx_reply_hresult(reply, result, "WMI", "Win32_Process.Create");
    } else if (answer == 2) { /* access denied, in the words of that method */
        sbx_reply(reply, SBX_ANSWER_DENIED, "Win32_Process.Create says %ld", answer);
    } else {
        sbx_reply(reply, answer == 0 ? SBX_ANSWER_DONE : SBX_ANSWER_BROKEN,
                  "Win32_Process.Create says %ld", answer);
    }
}

/* ---- the shell ---- */

/* Is what the shell starts still in the box? */
static void try_shell(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    SHELLEXECUTEINFOW info = {.cbSize = sizeof info,
                              .fMask = SEE_MASK_NOCLOSEPROCESS | SEE_MASK_FLAG_NO_UI,
                              .lpFile = L"cmd.exe",
                              .lpParameters = L"/c ping -n 3 127.0.0.1 >nul",
                              .nShow = SW_HIDE};
    DWORD is_container = 0;
    DWORD len;
    if (!ShellExecuteExW(&info) || info.hProcess == NULL) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "ShellExecuteExW", "cmd.exe");
        return;
    }
    AUTO_HANDLE process = info.hProcess;
    AUTO_HANDLE token = NULL;
    if (!OpenProcessToken(process, TOKEN_QUERY, &token) ||
        !GetTokenInformation(token, TokenIsAppContainer, &is_container, sizeof is_container,
                             &len)) {
        sbx_reply(reply, SBX_ANSWER_BROKEN, "the started process does not say what it is: %lu",
                  GetLastError());
        return;
    }
    if (is_container != 0) {
        sbx_reply(reply, SBX_ANSWER_DENIED, "what the shell starts is in the AppContainer too");
    } else {
        sbx_reply(reply, SBX_ANSWER_DONE, "the shell started a process outside any AppContainer");
    }
}

const struct sbx_attempt sbx_attempts_system[] = {
    {"services", "", "opens the service manager", 0, try_services},
    {"task", "NAME", "makes a scheduled task, and removes it", 1, try_task},
    {"class", "CLSID", "has COM start a server outside", 1, try_class},
    {"wmi", "", "has WMI start a process", 0, try_wmi},
    {"shell", "", "has the shell start a process outside", 0, try_shell},
    SBX_SELFTEST_ALONE,
};
