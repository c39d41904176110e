/* The service asked about, started and stopped. */
#include "win/scm.h"

#include "win/eventlog.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/service_data.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { POLL_MS = 50, PATIENCE_MS = 30000, CONFIG_BYTES = 16384 };

static const struct {
    DWORD raw;
    const char *text, *hint;
} reasons[] = {
    {ERROR_ACCESS_DENIED, "the system does not let this user do it",
     "start sbx from a console that was opened \"as administrator\""},
    {ERROR_SERVICE_DISABLED, "the service is disabled",
     "\"sc config sbx start= delayed-auto\" enables it"},
    {ERROR_SERVICE_MARKED_FOR_DELETE, "the service is being removed",
     "close what shows the services of this machine, then install it again"},
    {ERROR_SERVICE_REQUEST_TIMEOUT, "the service did not answer in time",
     "its events are in the Application log, source sbx"},
    {ERROR_SERVICE_DOES_NOT_EXIST, "the service is not installed", "sbx service install"},
};

static enum sbx_code fail(struct sbx_err *err, DWORD raw, const char *call, const char *what)
{
    for (size_t i = 0; i < SBX_COUNT(reasons); i++) {
        if (reasons[i].raw == raw) {
            enum sbx_code code = raw == ERROR_ACCESS_DENIED            ? SBX_E_DENIED
                                 : raw == ERROR_SERVICE_DOES_NOT_EXIST ? SBX_E_NOT_FOUND
                                                                       : SBX_E_INVALID;
            (void)sbx_err_os(err, code, SBX_OS_WIN32, raw, call, "%s: %s", what, reasons[i].text);
            (void)sbx_err_hint(err, "%s", reasons[i].hint);
            return code;
        }
    }
    return sbx_err_win32(err, raw, call, "%s", what);
}

enum sbx_code sbx_scm_open(DWORD manager_access, DWORD service_access, SC_HANDLE *manager,
                           SC_HANDLE *service, struct sbx_err *err)
{
    SC_HANDLE opened = sbx_win()->OpenSCManagerW(NULL, NULL, manager_access);
    if (opened == NULL) {
        DWORD raw = GetLastError();
        return fail(err, raw, "OpenSCManagerW", "cannot ask the service control manager");
    }
    *manager = opened;
    SC_HANDLE found = sbx_win()->OpenServiceW(opened, SBX_SERVICE_NAME, service_access);
    if (found == NULL) {
        DWORD raw = GetLastError();
        return fail(err, raw, "OpenServiceW", "cannot open the service");
    }
    *service = found;
    return SBX_OK;
}

/* ---- state ------------------------------------------------------------------------------------ */

static enum sbx_code query(SC_HANDLE service, SERVICE_STATUS_PROCESS *out, struct sbx_err *err)
{
    SERVICE_STATUS_PROCESS status = {0};
    DWORD needed = 0;
    if (!sbx_win()->QueryServiceStatusEx(service, SC_STATUS_PROCESS_INFO, (LPBYTE)&status,
                                         sizeof status, &needed)) {
        DWORD raw = GetLastError();
        return fail(err, raw, "QueryServiceStatusEx", "cannot ask how the service is");
    }
    *out = status;
    return SBX_OK;
}

static enum sbx_manager_state state_of(DWORD state)
{
    switch (state) {
    case SERVICE_START_PENDING:
    case SERVICE_CONTINUE_PENDING:
        return SBX_MANAGER_STARTING;
    case SERVICE_RUNNING:
    case SERVICE_PAUSE_PENDING:
    case SERVICE_PAUSED:
        return SBX_MANAGER_RUNNING;
    case SERVICE_STOP_PENDING:
        return SBX_MANAGER_STOPPING;
    default:
        return SBX_MANAGER_STOPPED;
    }
}

/* Which states lie on the way to one. A service that was told to stop may not have said so yet. */
static bool is_on_the_way(DWORD state, DWORD wanted)
{
    return wanted == SERVICE_RUNNING ? state == SERVICE_START_PENDING
                                     : state == SERVICE_STOP_PENDING || state == SERVICE_RUNNING;
}

/* Waits until the service is in that state. As long as it moves (the checkpoint grows) it gets more time. */
static enum sbx_code await(SC_HANDLE service, DWORD wanted, SERVICE_STATUS_PROCESS *out,
                           struct sbx_err *err)
{
    SERVICE_STATUS_PROCESS status = {0};
    ULONGLONG since = sbx_win()->GetTickCount64();
    DWORD checkpoint = 0;
    enum sbx_code code = query(service, &status, err);
    while (code == SBX_OK && is_on_the_way(status.dwCurrentState, wanted)) {
        ULONGLONG now = sbx_win()->GetTickCount64();
        if (status.dwCheckPoint != checkpoint) {
            checkpoint = status.dwCheckPoint;
            since = now;
        }
        if (now - since > PATIENCE_MS) {
            return fail(err, ERROR_SERVICE_REQUEST_TIMEOUT, "QueryServiceStatusEx",
                        "the service does not go on");
        }
        sbx_win()->Sleep(POLL_MS);
        code = query(service, &status, err);
    }
    if (code == SBX_OK && status.dwCurrentState != wanted) {
        DWORD raw = status.dwWin32ExitCode == ERROR_SERVICE_SPECIFIC_ERROR
                        ? status.dwServiceSpecificExitCode
                        : status.dwWin32ExitCode;
        return sbx_err_os(err, SBX_E_UNAVAILABLE, SBX_OS_WIN32, raw, "QueryServiceStatusEx",
                          "the service ended: its events are in the Application log, source sbx");
    }
    *out = status;
    return code;
}

/* ---- stopping and starting -------------------------------------------------------------------- */

/* A manager may not have noticed yet that the process is gone. */
static bool is_gone(DWORD id)
{
    AUTO_HANDLE process = sbx_win()->OpenProcess(SYNCHRONIZE, FALSE, id);
    return process == NULL ? GetLastError() == ERROR_INVALID_PARAMETER
                           : sbx_handle_has_ended(process, 0);
}

enum sbx_code sbx_scm_stop(SC_HANDLE service, struct sbx_err *err)
{
    SERVICE_STATUS_PROCESS status = {0};
    enum sbx_code code = await(service, SERVICE_RUNNING, &status, err);
    if (code == SBX_E_UNAVAILABLE) { /* it is in neither state: stopping or stopped */
        code = query(service, &status, err);
    }
    if (code != SBX_OK || status.dwCurrentState == SERVICE_STOPPED) {
        return code;
    }
    SERVICE_STATUS answer = {0};
    if (status.dwCurrentState != SERVICE_STOP_PENDING &&
        !sbx_win()->ControlService(service, SERVICE_CONTROL_STOP, &answer)) {
        DWORD raw = GetLastError();
        if (is_gone(status.dwProcessId)) {
            return SBX_OK;
        }
        if (raw != ERROR_SERVICE_NOT_ACTIVE) {
            return fail(err, raw, "ControlService", "cannot stop the service");
        }
    }
    return await(service, SERVICE_STOPPED, &status, err);
}

static enum sbx_code stop(struct sbx_manager_report *report, struct sbx_err *err)
{
    AUTO_SCM manager = NULL;
    AUTO_SCM service = NULL;
    (void)report;
    enum sbx_code code = sbx_scm_open(SC_MANAGER_CONNECT, SERVICE_STOP | SERVICE_QUERY_STATUS,
                                      &manager, &service, err);
    return code == SBX_OK ? sbx_scm_stop(service, err) : code;
}

static enum sbx_code start(struct sbx_manager_report *report, struct sbx_err *err)
{
    AUTO_SCM manager = NULL;
    AUTO_SCM service = NULL;
    SERVICE_STATUS_PROCESS status;
    enum sbx_code code = sbx_scm_open(SC_MANAGER_CONNECT, SERVICE_START | SERVICE_QUERY_STATUS,
                                      &manager, &service, err);
    if (code != SBX_OK) {
        return code;
    }
    if (!sbx_win()->StartServiceW(service, 0, NULL)) {
        DWORD raw = GetLastError();
        if (raw != ERROR_SERVICE_ALREADY_RUNNING) {
            return fail(err, raw, "StartServiceW", "cannot start the service");
        }
        sbx_scm_remark(report, "the service ran already");
    }
    return await(service, SERVICE_RUNNING, &status, err);
}

/* ---- the front -------------------------------------------------------------------------------- */

static const char *start_text(SC_HANDLE service, DWORD type)
{
    SERVICE_DELAYED_AUTO_START_INFO delayed = {0};
    DWORD needed = 0;
    if (type == SERVICE_DISABLED) {
        return "disabled";
    }
    if (type != SERVICE_AUTO_START) {
        return "on demand";
    }
    return sbx_win()->QueryServiceConfig2W(service, SERVICE_CONFIG_DELAYED_AUTO_START_INFO,
                                           (LPBYTE)&delayed, sizeof delayed, &needed) &&
                   delayed.fDelayedAutostart
               ? "automatic (delayed)"
               : "automatic";
}

static void describe(struct sbx_arena *arena, SC_HANDLE service, struct sbx_manager_report *report)
{
    DWORD needed = 0;
    QUERY_SERVICE_CONFIGW *config = sbx_arena_alloc(arena, 1, CONFIG_BYTES);
    if (config == NULL || !sbx_win()->QueryServiceConfigW(service, config, CONFIG_BYTES, &needed)) {
        return;
    }
    const char *program = NULL;
    if (sbx_wide_to(arena, config->lpBinaryPathName, &program, NULL) == SBX_OK) {
        report->program = program;
    }
    report->start = start_text(service, config->dwStartType);
}

static enum sbx_code look(struct sbx_arena *arena, struct sbx_manager_report *report,
                          struct sbx_err *err)
{
    AUTO_SCM manager = NULL;
    AUTO_SCM service = NULL;
    report->has_events = sbx_eventlog_is_registered();
    enum sbx_code code = sbx_scm_open(
        SC_MANAGER_CONNECT, SERVICE_QUERY_STATUS | SERVICE_QUERY_CONFIG, &manager, &service, err);
    if (code == SBX_E_NOT_FOUND && manager != NULL) {
        report->state = SBX_MANAGER_ABSENT;
        return SBX_OK;
    }
    SERVICE_STATUS_PROCESS status = {0};
    if (code == SBX_OK) {
        code = query(service, &status, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    report->state = state_of(status.dwCurrentState);
    report->pid = report->state == SBX_MANAGER_STOPPED ? 0 : (uint32_t)status.dwProcessId;
    report->endpoint = SBX_SERVICE_PIPE_TEXT;
    describe(arena, service, report);
    return SBX_OK;
}

enum sbx_code sbx_manager_status(struct sbx_arena *arena, struct sbx_manager_report *out,
                                 struct sbx_err *err)
{
    struct sbx_manager_report report = {0};
    enum sbx_code code = look(arena, &report, err);
    if (code == SBX_OK && report.state == SBX_MANAGER_ABSENT) {
        sbx_scm_remark(&report, "the service is not installed; sbx run needs none");
    }
    if (code == SBX_OK) {
        *out = report;
    }
    return code;
}

enum sbx_code sbx_manager_change(struct sbx_arena *arena, enum sbx_manager_verb verb,
                                 struct sbx_manager_report *out, struct sbx_err *err)
{
    struct sbx_manager_report report = {0};
    enum sbx_code code = SBX_E_INTERNAL;
    switch (verb) {
    case SBX_MANAGER_INSTALL:
        code = sbx_scm_install(arena, &report, err);
        break;
    case SBX_MANAGER_UNINSTALL:
        code = sbx_scm_uninstall(arena, &report, err);
        break;
    case SBX_MANAGER_START:
        code = start(&report, err);
        break;
    case SBX_MANAGER_STOP:
        code = stop(&report, err);
        break;
    }
    if (code == SBX_OK) { /* what is read afterwards cannot undo what was done */
        struct sbx_manager_report after = report;
        struct sbx_err ignored;
        *out = look(arena, &after, &ignored) == SBX_OK ? after : report;
    }
    return code;
}
