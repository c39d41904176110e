/* A service control manager and a registry behind the table of calls. */
#include "tests/unit/service_world.h"

#include <string.h>
#include <wchar.h>

#include "win/service_data.h"

#include "common/base/banned.h"

struct service_world service_world;

static unsigned calls;
static unsigned fail_at;
static DWORD fail_code;
static const char *failed;

#define MANAGER ((SC_HANDLE)0x5000)
#define SERVICE ((SC_HANDLE)0x6000)
#define KEY ((HKEY)0x7000)

void service_world_reset(void)
{
    memset(&service_world, 0, sizeof service_world);
    service_world.state = SERVICE_STOPPED;
    service_world_fail(0, 0);
}

void service_world_fail(unsigned n, DWORD code)
{
    calls = 0;
    fail_at = n;
    fail_code = code;
    failed = NULL;
}

const char *service_world_failed(void)
{
    return failed;
}

static bool fails(const char *name)
{
    if (++calls != fail_at) {
        return false;
    }
    failed = name;
    SetLastError(fail_code);
    return true;
}

static BOOL answer(bool is_done, DWORD otherwise)
{
    if (!is_done) {
        SetLastError(otherwise);
    }
    return is_done;
}

/* ---- the manager ------------------------------------------------------------------------------ */

static SC_HANDLE WINAPI open_manager(LPCWSTR machine, LPCWSTR database, DWORD access)
{
    (void)machine;
    (void)database;
    if (fails("OpenSCManagerW") ||
        !answer(!service_world.is_user || (access & SC_MANAGER_CREATE_SERVICE) == 0,
                ERROR_ACCESS_DENIED)) {
        return NULL;
    }
    service_world.open++;
    return MANAGER;
}

static SC_HANDLE WINAPI open_service(SC_HANDLE manager, LPCWSTR name, DWORD access)
{
    DWORD harmless = SERVICE_QUERY_STATUS | SERVICE_QUERY_CONFIG;
    if (fails("OpenServiceW") ||
        !answer(manager == MANAGER && wcscmp(name, SBX_SERVICE_NAME) == 0 &&
                    service_world.is_installed,
                ERROR_SERVICE_DOES_NOT_EXIST) ||
        !answer(!service_world.is_user || (access & ~harmless) == 0, ERROR_ACCESS_DENIED)) {
        return NULL;
    }
    service_world.open++;
    return SERVICE;
}

static SC_HANDLE WINAPI create_service(SC_HANDLE manager, LPCWSTR name, LPCWSTR display,
                                       DWORD access, DWORD type, DWORD start, DWORD severity,
                                       LPCWSTR image, LPCWSTR group, LPDWORD tag,
                                       LPCWSTR dependencies, LPCWSTR account, LPCWSTR password)
{
    (void)display;
    (void)access;
    (void)severity;
    (void)group;
    (void)tag;
    (void)dependencies;
    (void)password;
    if (fails("CreateServiceW") ||
        !answer(manager == MANAGER && type == SERVICE_WIN32_OWN_PROCESS &&
                    start == SERVICE_AUTO_START && account == NULL &&
                    wcscmp(name, SBX_SERVICE_NAME) == 0,
                ERROR_INVALID_PARAMETER) ||
        !answer(!service_world.is_installed, ERROR_SERVICE_EXISTS)) {
        return NULL;
    }
    service_world.is_installed = true;
    service_world.state = SERVICE_STOPPED;
    wmemcpy(service_world.image, image, wcslen(image) + 1);
    service_world.open++;
    return SERVICE;
}

static BOOL WINAPI close_service(SC_HANDLE handle)
{
    (void)handle;
    service_world.open--;
    if (service_world.open == 0 && service_world.is_marked) {
        service_world.is_installed = false;
        service_world.is_marked = false;
        service_world.has_mark = false;
    }
    return TRUE;
}

static BOOL WINAPI delete_service(SC_HANDLE service)
{
    if (fails("DeleteService")) {
        return FALSE;
    }
    service_world.is_marked = true;
    return answer(service == SERVICE, ERROR_INVALID_HANDLE);
}

static BOOL WINAPI change_config(SC_HANDLE service, DWORD which, LPVOID value)
{
    if (fails("ChangeServiceConfig2W") ||
        !answer(which != service_world.unknown_level, ERROR_INVALID_LEVEL)) {
        return FALSE;
    }
    service_world.settings |= 1u << which;
    if (which == SERVICE_CONFIG_DELAYED_AUTO_START_INFO) {
        service_world.is_delayed =
            ((SERVICE_DELAYED_AUTO_START_INFO *)value)->fDelayedAutostart != FALSE;
    }
    if (which == SERVICE_CONFIG_REQUIRED_PRIVILEGES_INFO) {
        const wchar_t *list = ((SERVICE_REQUIRED_PRIVILEGES_INFOW *)value)->pmszRequiredPrivileges;
        size_t len = 0;
        while (list[len] != L'\0' || list[len + 1] != L'\0') len++;
        wmemcpy(service_world.privileges, list, len + 2);
    }
    return answer(service == SERVICE, ERROR_INVALID_HANDLE);
}

static BOOL WINAPI set_security(SC_HANDLE service, SECURITY_INFORMATION which,
                                PSECURITY_DESCRIPTOR value)
{
    if (fails("SetServiceObjectSecurity")) {
        return FALSE;
    }
    service_world.is_protected = which == DACL_SECURITY_INFORMATION && value != NULL;
    return answer(service == SERVICE, ERROR_INVALID_HANDLE);
}

static BOOL WINAPI query_status(SC_HANDLE service, SC_STATUS_TYPE which, LPBYTE out, DWORD size,
                                LPDWORD needed)
{
    (void)needed;
    (void)which;
    if (fails("QueryServiceStatusEx") ||
        !answer(service == SERVICE && size >= sizeof(SERVICE_STATUS_PROCESS),
                ERROR_INSUFFICIENT_BUFFER)) {
        return FALSE;
    }
    if (service_world.state == SERVICE_STOP_PENDING && !service_world.never_stops &&
        service_world.polls_to_stop-- == 0) {
        service_world.state = SERVICE_STOPPED;
    }
    SERVICE_STATUS_PROCESS status = {
        .dwServiceType = SERVICE_WIN32_OWN_PROCESS,
        .dwCurrentState = service_world.state,
        .dwProcessId = service_world.state == SERVICE_STOPPED ? 0 : 4321,
        .dwWin32ExitCode = service_world.exit_code == 0 ? NO_ERROR : ERROR_SERVICE_SPECIFIC_ERROR,
        .dwServiceSpecificExitCode = service_world.exit_code,
    };
    memcpy(out, &status, sizeof status);
    return TRUE;
}

static BOOL WINAPI query_config(SC_HANDLE service, LPQUERY_SERVICE_CONFIGW out, DWORD size,
                                LPDWORD needed)
{
    (void)needed;
    if (fails("QueryServiceConfigW") ||
        !answer(service == SERVICE && size >= sizeof *out, ERROR_INSUFFICIENT_BUFFER)) {
        return FALSE;
    }
    *out = (QUERY_SERVICE_CONFIGW){.dwStartType = SERVICE_AUTO_START,
                                   .lpBinaryPathName = service_world.image};
    return TRUE;
}

static BOOL WINAPI query_config2(SC_HANDLE service, DWORD which, LPBYTE out, DWORD size,
                                 LPDWORD needed)
{
    (void)needed;
    SERVICE_DELAYED_AUTO_START_INFO info = {.fDelayedAutostart = service_world.is_delayed};
    if (fails("QueryServiceConfig2W") ||
        !answer(service == SERVICE && which == SERVICE_CONFIG_DELAYED_AUTO_START_INFO &&
                    size >= sizeof info,
                ERROR_INVALID_LEVEL)) {
        return FALSE;
    }
    memcpy(out, &info, sizeof info);
    return TRUE;
}

static BOOL WINAPI start_service(SC_HANDLE service, DWORD count, LPCWSTR *arguments)
{
    (void)count;
    (void)arguments;
    if (fails("StartServiceW") ||
        !answer(service_world.state == SERVICE_STOPPED, ERROR_SERVICE_ALREADY_RUNNING)) {
        return FALSE;
    }
    service_world.state = service_world.exit_code == 0 ? SERVICE_RUNNING : SERVICE_STOPPED;
    return answer(service == SERVICE, ERROR_INVALID_HANDLE);
}

static BOOL WINAPI control_service(SC_HANDLE service, DWORD control, LPSERVICE_STATUS out)
{
    (void)out;
    if (fails("ControlService") ||
        !answer(service_world.state == SERVICE_RUNNING, ERROR_SERVICE_NOT_ACTIVE)) {
        return FALSE;
    }
    service_world.state = SERVICE_STOP_PENDING;
    return answer(service == SERVICE && control == SERVICE_CONTROL_STOP, ERROR_INVALID_PARAMETER);
}

/* ---- the registry ----------------------------------------------------------------------------- */

static bool *key_of(LPCWSTR name)
{
    return wcscmp(name, SBX_EVENT_SOURCE_KEY) == 0    ? &service_world.has_source
           : wcscmp(name, SBX_SERVICE_ALIVE_KEY) == 0 ? &service_world.has_mark
                                                      : NULL;
}

static LSTATUS WINAPI create_key(HKEY parent, LPCWSTR name, DWORD reserved, LPWSTR type,
                                 DWORD options, REGSAM access, LPSECURITY_ATTRIBUTES security,
                                 PHKEY out, LPDWORD disposition)
{
    (void)reserved;
    (void)type;
    (void)options;
    (void)access;
    (void)security;
    bool *key = key_of(name);
    if (fails("RegCreateKeyExW")) {
        return (LSTATUS)fail_code;
    }
    if (parent != HKEY_LOCAL_MACHINE || key == NULL || service_world.is_user) {
        return ERROR_ACCESS_DENIED;
    }
    *disposition = *key ? REG_OPENED_EXISTING_KEY : REG_CREATED_NEW_KEY;
    *key = true;
    *out = KEY;
    service_world.open++;
    return ERROR_SUCCESS;
}

static LSTATUS WINAPI open_key(HKEY parent, LPCWSTR name, DWORD options, REGSAM access, PHKEY out)
{
    (void)options;
    (void)access;
    bool *key = key_of(name);
    if (fails("RegOpenKeyExW")) {
        return (LSTATUS)fail_code;
    }
    if (parent != HKEY_LOCAL_MACHINE || key == NULL || !*key) {
        return ERROR_FILE_NOT_FOUND;
    }
    *out = KEY;
    service_world.open++;
    return ERROR_SUCCESS;
}

static LSTATUS WINAPI set_value(HKEY key, LPCWSTR name, DWORD reserved, DWORD type,
                                const BYTE *value, DWORD size)
{
    (void)name;
    (void)reserved;
    (void)type;
    (void)value;
    (void)size;
    if (fails("RegSetValueExW")) {
        return (LSTATUS)fail_code;
    }
    service_world.source_values++;
    return key == KEY ? ERROR_SUCCESS : ERROR_INVALID_HANDLE;
}

static LSTATUS WINAPI delete_key(HKEY parent, LPCWSTR name, REGSAM view, DWORD reserved)
{
    (void)view;
    (void)reserved;
    bool *key = key_of(name);
    if (fails("RegDeleteKeyExW")) {
        return (LSTATUS)fail_code;
    }
    if (parent != HKEY_LOCAL_MACHINE || key == NULL || !*key) {
        return ERROR_FILE_NOT_FOUND;
    }
    *key = false;
    return ERROR_SUCCESS;
}

static LSTATUS WINAPI close_key(HKEY key)
{
    service_world.open--;
    return key == KEY ? ERROR_SUCCESS : ERROR_INVALID_HANDLE;
}

/* ---- the rest --------------------------------------------------------------------------------- */

static DWORD WINAPI module_name(HMODULE module, LPWSTR out, DWORD size)
{
    static const wchar_t name[] = L"C:\\Program Files\\sbx\\sbx.exe";
    if (fails("GetModuleFileNameW") ||
        !answer(module == NULL && size >= SBX_COUNT(name), ERROR_INSUFFICIENT_BUFFER)) {
        return 0;
    }
    wmemcpy(out, name, SBX_COUNT(name));
    return SBX_COUNT(name) - 1;
}

static BOOL WINAPI convert(LPCWSTR text, DWORD revision, PSECURITY_DESCRIPTOR *out, PULONG size)
{
    return !fails("ConvertStringSecurityDescriptorToSecurityDescriptorW") &&
           ConvertStringSecurityDescriptorToSecurityDescriptorW(text, revision, out, size);
}

static void WINAPI sleep_on(DWORD ms)
{
    service_world.now_ms += ms;
}

static ULONGLONG WINAPI tick(void)
{
    return service_world.now_ms;
}

const struct sbx_winapi *sbx_win(void)
{
    static struct sbx_winapi table;
    if (table.CloseHandle == NULL) {
        sbx_winapi_load(&table);
        table.OpenSCManagerW = open_manager;
        table.OpenServiceW = open_service;
        table.CreateServiceW = create_service;
        table.CloseServiceHandle = close_service;
        table.DeleteService = delete_service;
        table.ChangeServiceConfig2W = change_config;
        table.SetServiceObjectSecurity = set_security;
        table.QueryServiceStatusEx = query_status;
        table.QueryServiceConfigW = query_config;
        table.QueryServiceConfig2W = query_config2;
        table.StartServiceW = start_service;
        table.ControlService = control_service;
        table.RegCreateKeyExW = create_key;
        table.RegOpenKeyExW = open_key;
        table.RegSetValueExW = set_value;
        table.RegDeleteKeyExW = delete_key;
        table.RegCloseKey = close_key;
        table.GetModuleFileNameW = module_name;
        table.ConvertStringSecurityDescriptorToSecurityDescriptorW = convert;
        table.Sleep = sleep_on;
        table.GetTickCount64 = tick;
    }
    return &table;
}
