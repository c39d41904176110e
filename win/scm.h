/* The SCM service of sbx: parts that install, control and run it. common/run/manager.h is the front. */
#ifndef SBX_WIN_SCM_H
#define SBX_WIN_SCM_H

#include "common/run/manager.h"
#include "win/winapi.h"

static inline void sbx_scm_close(SC_HANDLE *handle)
{
    if (*handle != NULL) {
        DWORD saved = GetLastError();
        (void)sbx_win()->CloseServiceHandle(*handle);
        SetLastError(saved);
    }
    *handle = NULL;
}
#define AUTO_SCM SBX_CLEANUP(sbx_scm_close) SC_HANDLE

/* More than fit are left out. */
static inline void sbx_scm_remark(struct sbx_manager_report *report, const char *text)
{
    if (text != NULL && report->remark_count < SBX_MANAGER_REMARKS) {
        report->remarks[report->remark_count++] = text;
    }
}

/* Opens the manager and, where there is one, the service. Not installed: SBX_E_NOT_FOUND with the manager open.
 * SBX_E_DENIED has the remedy. */
enum sbx_code sbx_scm_open(DWORD manager_access, DWORD service_access, SC_HANDLE *manager,
                           SC_HANDLE *service, struct sbx_err *err) SBX_MUST_USE;

/* Registers the event source and the service; whatever fails, what was made is taken away again. What this Windows does
 * not know of a service's settings is a remark. */
enum sbx_code sbx_scm_install(struct sbx_arena *arena, struct sbx_manager_report *report,
                              struct sbx_err *err) SBX_MUST_USE;

/* Stops and removes it, then the source and the mark. What is not there is passed over, so that a removal that failed
 * is finished by the next. */
enum sbx_code sbx_scm_uninstall(struct sbx_arena *arena, struct sbx_manager_report *report,
                                struct sbx_err *err) SBX_MUST_USE;

/* Asks it to stop, unless it is stopped, and waits until it is. */
enum sbx_code sbx_scm_stop(SC_HANDLE service, struct sbx_err *err) SBX_MUST_USE;

#endif
