/* The service installed and removed: a table of steps, each with its undo. */
#include "win/scm.h"

#include <wchar.h>

#include "win/eventlog.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/service_data.h"
#include "win/wide.h"

#include "common/base/banned.h"

struct install {
    struct sbx_arena *arena;
    struct sbx_manager_report *report;
    SC_HANDLE manager;
    SC_HANDLE service;
    wchar_t *image; /* sbx.exe, absolute */
};

/* ---- what is set ------------------------------------------------------------------------------ */

/* The structures want writable texts, which nobody writes. */
static wchar_t *text_of(const wchar_t *text)
{
    return (wchar_t *)(ULONG_PTR)text;
}

static BOOL set_description(SC_HANDLE service)
{
    SERVICE_DESCRIPTIONW value = {.lpDescription = text_of(SBX_SERVICE_DESCRIPTION)};
    return sbx_win()->ChangeServiceConfig2W(service, SERVICE_CONFIG_DESCRIPTION, &value);
}

static BOOL set_delayed(SC_HANDLE service)
{
    SERVICE_DELAYED_AUTO_START_INFO value = {.fDelayedAutostart = TRUE};
    return sbx_win()->ChangeServiceConfig2W(service, SERVICE_CONFIG_DELAYED_AUTO_START_INFO,
                                            &value);
}

static BOOL set_restart(SC_HANDLE service)
{
    SC_ACTION actions[] = {{SC_ACTION_RESTART, SBX_SERVICE_RESTART_FIRST_MS},
                           {SC_ACTION_RESTART, SBX_SERVICE_RESTART_SECOND_MS},
                           {SC_ACTION_NONE, 0}};
    SERVICE_FAILURE_ACTIONSW value = {.dwResetPeriod = SBX_SERVICE_FAILURE_RESET_SECS,
                                      .cActions = SBX_COUNT(actions),
                                      .lpsaActions = actions};
    return sbx_win()->ChangeServiceConfig2W(service, SERVICE_CONFIG_FAILURE_ACTIONS, &value);
}

/* A service that stops by itself with an error counts as failed too. */
static BOOL set_restart_flag(SC_HANDLE service)
{
    SERVICE_FAILURE_ACTIONS_FLAG value = {.fFailureActionsOnNonCrashFailures = TRUE};
    return sbx_win()->ChangeServiceConfig2W(service, SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, &value);
}

static BOOL set_sid(SC_HANDLE service)
{
    SERVICE_SID_INFO value = {.dwServiceSidType = SERVICE_SID_TYPE_UNRESTRICTED};
    return sbx_win()->ChangeServiceConfig2W(service, SERVICE_CONFIG_SERVICE_SID_INFO, &value);
}

static BOOL set_privileges(SC_HANDLE service)
{
    SERVICE_REQUIRED_PRIVILEGES_INFOW value = {.pmszRequiredPrivileges =
                                                   text_of(sbx_service_privileges)};
    return sbx_win()->ChangeServiceConfig2W(service, SERVICE_CONFIG_REQUIRED_PRIVILEGES_INFO,
                                            &value);
}

static BOOL set_preshutdown(SC_HANDLE service)
{
    SERVICE_PRESHUTDOWN_INFO value = {.dwPreshutdownTimeout = SBX_SERVICE_PRESHUTDOWN_MS};
    return sbx_win()->ChangeServiceConfig2W(service, SERVICE_CONFIG_PRESHUTDOWN_INFO, &value);
}

static const struct setting {
    const char *what;
    BOOL (*set)(SC_HANDLE service);
} settings[] = {
    {"the description", set_description},
    {"the delayed start", set_delayed},
    {"the restart after a crash", set_restart},
    {"the restart after an error", set_restart_flag},
    {"the service SID", set_sid},
    {"the list of privileges", set_privileges},
    {"the time before a shutdown", set_preshutdown},
};

/* ---- steps ------------------------------------------------------------------------------------ */

static enum sbx_code find_image(struct install *install, struct sbx_err *err)
{
    wchar_t *image = SBX_NEW_ARRAY(install->arena, wchar_t, SBX_WIDE_PATH_MAX);
    if (image == NULL) {
        return sbx_err_nomem(err);
    }
    DWORD len = sbx_win()->GetModuleFileNameW(NULL, image, SBX_WIDE_PATH_MAX);
    DWORD raw = GetLastError();
    if (len == 0 || len >= SBX_WIDE_PATH_MAX) {
        return sbx_err_win32(err, raw, "GetModuleFileNameW", "cannot find the program sbx.exe");
    }
    install->image = image;
    return SBX_OK;
}

static enum sbx_code open_manager(struct install *install, struct sbx_err *err)
{
    enum sbx_code code =
        sbx_scm_open(SC_MANAGER_CONNECT | SC_MANAGER_CREATE_SERVICE, SERVICE_QUERY_STATUS,
                     &install->manager, &install->service, err);
    if (code == SBX_OK) {
        sbx_scm_close(&install->service);
        (void)sbx_err_set(err, SBX_E_INVALID, "the service is installed already");
        return sbx_err_hint(err, "sbx service uninstall removes it");
    }
    return code == SBX_E_NOT_FOUND && install->manager != NULL ? SBX_OK : code;
}

static enum sbx_code register_source(struct install *install, struct sbx_err *err)
{
    return sbx_eventlog_register(install->image, err);
}

static void unregister_source(struct install *install)
{
    (void)install;
    bool was_there = false;
    struct sbx_err ignored;
    if (sbx_eventlog_unregister(&was_there, &ignored) != SBX_OK) {
        (void)!sbx_eventlog_unregister(&was_there, &ignored);
    }
}

/* "C:\…\sbx.exe" service run: quoted, or a space in the path would let another program be started. */
static wchar_t *command_line(struct install *install)
{
    static const wchar_t rest[] = L"\" service run";
    size_t len = wcslen(install->image);
    wchar_t *line = SBX_NEW_ARRAY(install->arena, wchar_t, len + SBX_COUNT(rest) + 1);
    if (line != NULL) {
        line[0] = L'"';
        wmemcpy(line + 1, install->image, len);
        wmemcpy(line + 1 + len, rest, SBX_COUNT(rest));
    }
    return line;
}

static enum sbx_code create(struct install *install, struct sbx_err *err)
{
    wchar_t *line = command_line(install);
    if (line == NULL) {
        return sbx_err_nomem(err);
    }
    install->service = sbx_win()->CreateServiceW(
        install->manager, SBX_SERVICE_NAME, SBX_SERVICE_DISPLAY,
        SERVICE_CHANGE_CONFIG | SERVICE_QUERY_STATUS | SERVICE_START | DELETE | WRITE_DAC,
        SERVICE_WIN32_OWN_PROCESS, SERVICE_AUTO_START, SERVICE_ERROR_NORMAL, line, NULL, NULL, NULL,
        NULL, NULL);
    DWORD raw = GetLastError();
    if (install->service == NULL) {
        (void)sbx_err_win32(err, raw, "CreateServiceW", "cannot register the service");
        return raw == ERROR_SERVICE_MARKED_FOR_DELETE
                   ? sbx_err_hint(err, "an old one is being removed: close what shows the services "
                                       "of this machine, then try again")
                   : err->code;
    }
    return SBX_OK;
}

static void remove_service(struct install *install)
{
    if (!sbx_win()->DeleteService(install->service)) {
        (void)sbx_win()->DeleteService(install->service);
    }
}

static enum sbx_code configure(struct install *install, struct sbx_err *err)
{
    for (size_t i = 0; i < SBX_COUNT(settings); i++) {
        if (settings[i].set(install->service)) {
            continue;
        }
        DWORD raw = GetLastError();
        if (raw != ERROR_INVALID_LEVEL) {
            return sbx_err_win32(err, raw, "ChangeServiceConfig2W", "cannot set %s of the service",
                                 settings[i].what);
        }
        sbx_scm_remark(
            install->report,
            sbx_arena_printf(install->arena, "this Windows does not know %s", settings[i].what));
    }
    return SBX_OK;
}

static enum sbx_code protect(struct install *install, struct sbx_err *err)
{
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = NULL;
    if (!sbx_win()->ConvertStringSecurityDescriptorToSecurityDescriptorW(
            sbx_service_sddl, SDDL_REVISION_1, &descriptor, NULL)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "ConvertStringSecurityDescriptorToSecurityDescriptorW",
                             "cannot say who may control the service");
    }
    if (!sbx_win()->SetServiceObjectSecurity(install->service, DACL_SECURITY_INFORMATION,
                                             descriptor)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "SetServiceObjectSecurity",
                             "cannot say who may control the service");
    }
    return SBX_OK;
}

static const struct step {
    enum sbx_code (*apply)(struct install *install, struct sbx_err *err);
    void (*undo)(struct install *install); /* NULL: nothing was changed */
} steps[] = {
    {find_image, NULL},       {open_manager, NULL}, {register_source, unregister_source},
    {create, remove_service}, {configure, NULL},    {protect, NULL},
};

enum sbx_code sbx_scm_install(struct sbx_arena *arena, struct sbx_manager_report *report,
                              struct sbx_err *err)
{
    struct install install = {.arena = arena, .report = report};
    enum sbx_code code = SBX_OK;
    size_t done = 0;
    while (code == SBX_OK && done < SBX_COUNT(steps)) {
        code = steps[done].apply(&install, err);
        done += code == SBX_OK ? 1 : 0;
    }
    while (code != SBX_OK && done-- > 0) {
        if (steps[done].undo != NULL) {
            steps[done].undo(&install);
        }
    }
    sbx_scm_close(&install.service);
    sbx_scm_close(&install.manager);
    return code;
}

/* ---- removing --------------------------------------------------------------------------------- */

static enum sbx_code remove_installed(bool *was_there, struct sbx_err *err)
{
    AUTO_SCM manager = NULL;
    AUTO_SCM service = NULL;
    enum sbx_code code = sbx_scm_open(
        SC_MANAGER_CONNECT, SERVICE_STOP | SERVICE_QUERY_STATUS | DELETE, &manager, &service, err);
    if (code == SBX_E_NOT_FOUND && manager != NULL) {
        return SBX_OK;
    }
    if (code == SBX_OK) {
        code = sbx_scm_stop(service, err);
    }
    if (code == SBX_OK && !sbx_win()->DeleteService(service)) {
        DWORD raw = GetLastError();
        if (raw != ERROR_SERVICE_MARKED_FOR_DELETE) {
            return sbx_err_win32(err, raw, "DeleteService", "cannot remove the service");
        }
    }
    *was_there = code == SBX_OK;
    return code;
}

enum sbx_code sbx_scm_uninstall(struct sbx_arena *arena, struct sbx_manager_report *report,
                                struct sbx_err *err)
{
    (void)arena;
    bool had_service = false;
    bool had_source = false;
    enum sbx_code code = remove_installed(&had_service, err);
    if (code == SBX_OK) {
        /* A service that crashed left its mark; the keys of a removed service may be gone with it. */
        LSTATUS raw = sbx_win()->RegDeleteKeyExW(HKEY_LOCAL_MACHINE, SBX_SERVICE_ALIVE_KEY,
                                                 KEY_WOW64_64KEY, 0);
        if (raw != ERROR_SUCCESS && raw != ERROR_FILE_NOT_FOUND && raw != ERROR_KEY_DELETED) {
            return sbx_err_win32(err, (DWORD)raw, "RegDeleteKeyExW",
                                 "cannot remove the mark of the service");
        }
        code = sbx_eventlog_unregister(&had_source, err);
    }
    if (code == SBX_OK && !had_service) {
        sbx_scm_remark(report, had_source ? "the service was not installed; its event source was"
                                          : "the service was not installed");
    }
    return code;
}
