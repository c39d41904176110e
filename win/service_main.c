/* The service as the service control manager starts it: says how it is, and serves. */
#include "win/scm.h"

#include <wtsapi32.h>

#include "win/fault.h"
#include "win/handle.h"
#include "win/service_data.h"
#include "win/service_loop.h"

#include "common/base/banned.h"

enum { WAIT_HINT_MS = 5000, FAILED_CODE = 1 };

#define ACCEPTED (SERVICE_ACCEPT_STOP | SERVICE_ACCEPT_PRESHUTDOWN | SERVICE_ACCEPT_SESSIONCHANGE)

/* The manager calls back on threads of its own, with nothing but this. */
struct service {
    SERVICE_STATUS_HANDLE handle;
    SERVICE_STATUS status;
    SRWLOCK lock; /* of the status */
    const char *why;
    struct sbx_service_loop loop;
};
static struct service self = {.status.dwServiceType = SERVICE_WIN32_OWN_PROCESS,
                              .why = "it was told to"};

/* ---- how it is -------------------------------------------------------------------------------- */

/* A pending state counts its checkpoint up each time, which tells the manager that it is not stuck. */
static void say(DWORD state, DWORD exit_code)
{
    AcquireSRWLockExclusive(&self.lock);
    bool is_pending = state == SERVICE_START_PENDING || state == SERVICE_STOP_PENDING;
    bool is_backwards =
        self.status.dwCurrentState == SERVICE_STOP_PENDING && state == SERVICE_RUNNING;
    if (!is_backwards) {
        self.status.dwCheckPoint = is_pending ? self.status.dwCheckPoint + 1 : 0;
        self.status.dwCurrentState = state;
        self.status.dwControlsAccepted = state == SERVICE_RUNNING ? ACCEPTED : 0;
        self.status.dwWin32ExitCode =
            exit_code == NO_ERROR ? NO_ERROR : ERROR_SERVICE_SPECIFIC_ERROR;
        self.status.dwServiceSpecificExitCode = exit_code;
        self.status.dwWaitHint = is_pending ? WAIT_HINT_MS : 0;
        (void)sbx_win()->SetServiceStatus(self.handle, &self.status);
    }
    ReleaseSRWLockExclusive(&self.lock);
}

static void still_ending(void *owner)
{
    (void)owner;
    say(SERVICE_STOP_PENDING, NO_ERROR);
}

static void stop(const char *why)
{
    self.why = why;
    say(SERVICE_STOP_PENDING, NO_ERROR);
    (void)sbx_win()->SetEvent(self.loop.stop);
}

static DWORD WINAPI control(DWORD code, DWORD event, void *data, void *context)
{
    (void)context;
    switch (code) {
    case SERVICE_CONTROL_STOP:
        stop("it was told to");
        return NO_ERROR;
    case SERVICE_CONTROL_PRESHUTDOWN:
        stop("the machine shuts down");
        return NO_ERROR;
    case SERVICE_CONTROL_SESSIONCHANGE:
        if (event == WTS_SESSION_LOGOFF && data != NULL) {
            sbx_service_loop_log_off(&self.loop,
                                     ((const WTSSESSION_NOTIFICATION *)data)->dwSessionId);
        }
        return NO_ERROR;
    case SERVICE_CONTROL_INTERROGATE:
        return NO_ERROR;
    default:
        return ERROR_CALL_NOT_IMPLEMENTED;
    }
}

/* ---- the mark of a running service ------------------------------------------------------------ */

/* Volatile, so that it does not outlive the machine's run. True: one was there, of a service that was not stopped. */
static bool set_mark(void)
{
    HKEY key = NULL;
    DWORD disposition = 0;
    if (sbx_win()->RegCreateKeyExW(HKEY_LOCAL_MACHINE, SBX_SERVICE_ALIVE_KEY, 0, NULL,
                                   REG_OPTION_VOLATILE, KEY_QUERY_VALUE | KEY_WOW64_64KEY, NULL,
                                   &key, &disposition) != ERROR_SUCCESS) {
        return false;
    }
    (void)sbx_win()->RegCloseKey(key);
    return disposition == REG_OPENED_EXISTING_KEY;
}

static void clear_mark(void)
{
    (void)sbx_win()->RegDeleteKeyExW(HKEY_LOCAL_MACHINE, SBX_SERVICE_ALIVE_KEY, KEY_WOW64_64KEY, 0);
}

/* ---- serving ---------------------------------------------------------------------------------- */

static enum sbx_code serve(struct sbx_err *err)
{
    say(SERVICE_START_PENDING, NO_ERROR);
    enum sbx_code code = sbx_service_loop_open(&self.loop, err);
    if (code != SBX_OK) {
        return code;
    }
    self.loop.progress = still_ending;
    if (set_mark()) {
        sbx_eventlog_tell(&self.loop.log, SBX_EVENT_RECOVERED, NULL, 0);
    }
    say(SERVICE_RUNNING, NO_ERROR);
    sbx_eventlog_tell(&self.loop.log, SBX_EVENT_STARTED,
                      (const char *[]){SBX_VERSION, SBX_SERVICE_PIPE_TEXT}, 2);
    return sbx_service_loop_run(&self.loop, err);
}

static void WINAPI service_main(DWORD argc, LPWSTR *argv)
{
    (void)argc;
    (void)argv;
    struct sbx_err err = {0};
    InitializeSRWLock(&self.lock);
    self.handle = sbx_win()->RegisterServiceCtrlHandlerExW(SBX_SERVICE_NAME, control, NULL);
    if (self.handle == NULL) {
        return;
    }
    sbx_eventlog_open(&self.loop.log);
    enum sbx_code code = serve(&err);
    if (code == SBX_OK) {
        clear_mark();
        sbx_eventlog_tell(&self.loop.log, SBX_EVENT_STOPPED, (const char *[]){self.why}, 1);
    } else {
        sbx_eventlog_tell(&self.loop.log, SBX_EVENT_FAILED, (const char *[]){err.text}, 1);
    }
    sbx_service_loop_close(&self.loop);
    sbx_eventlog_close(&self.loop.log);
    say(SERVICE_STOPPED, code == SBX_OK ? NO_ERROR : err.raw != 0 ? (DWORD)err.raw : FAILED_CODE);
}

enum sbx_code sbx_manager_run(struct sbx_err *err)
{
    wchar_t name[] = SBX_SERVICE_NAME;
    const SERVICE_TABLE_ENTRYW table[] = {{name, service_main}, {NULL, NULL}};
    if (sbx_win()->StartServiceCtrlDispatcherW(table)) {
        return SBX_OK;
    }
    DWORD raw = GetLastError();
    if (raw == ERROR_FAILED_SERVICE_CONTROLLER_CONNECT) {
        (void)sbx_err_os(err, SBX_E_INVALID, SBX_OS_WIN32, raw, "StartServiceCtrlDispatcherW",
                         "only the service control manager can start the service");
        return sbx_err_hint(err, "sbx service start");
    }
    return sbx_err_win32(err, raw, "StartServiceCtrlDispatcherW", "cannot serve");
}
