/* Kernel handles that have one owner. */
#ifndef SBX_WIN_HANDLE_H
#define SBX_WIN_HANDLE_H

#include <stdbool.h>

#include "common/base/attr.h"
#include "win/winapi.h"

/* CreateFileW fails with INVALID_HANDLE_VALUE, everything else with NULL: neither is a handle. */
static inline bool sbx_handle_is_open(HANDLE handle)
{
    return handle != NULL && handle != INVALID_HANDLE_VALUE;
}

/* Leaves NULL there; the last error stays as it was. */
static inline void sbx_handle_close(HANDLE *handle)
{
    if (sbx_handle_is_open(*handle)) {
        DWORD saved = GetLastError();
        (void)sbx_win()->CloseHandle(*handle);
        SetLastError(saved);
    }
    *handle = NULL;
}
#define AUTO_HANDLE SBX_CLEANUP(sbx_handle_close) HANDLE

/* Did the thread or process end within that time? A wait that fails says nothing about it: it is asked once more. */
static inline bool sbx_handle_has_ended(HANDLE handle, DWORD wait_ms)
{
    DWORD got = sbx_win()->WaitForSingleObject(handle, wait_ms);
    if (got == WAIT_FAILED) {
        got = sbx_win()->WaitForSingleObject(handle, wait_ms);
    }
    return got == WAIT_OBJECT_0;
}

/* For what the system gives out with LocalAlloc. */
static inline void sbx_local_free(void *pointer)
{
    (void)sbx_win()->LocalFree(*(HLOCAL *)pointer);
}
#define AUTO_LOCAL SBX_CLEANUP(sbx_local_free)

#endif
