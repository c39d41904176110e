/* Kernel handles that have one owner. */
#ifndef SBX_WIN_HANDLE_H
#define SBX_WIN_HANDLE_H

#include <stdbool.h>
#include <windows.h>

#include "common/base/attr.h"

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
        (void)CloseHandle(*handle);
        SetLastError(saved);
    }
    *handle = NULL;
}
#define AUTO_HANDLE SBX_CLEANUP(sbx_handle_close) HANDLE

/* For what the system gives out with LocalAlloc. */
static inline void sbx_local_free(void *pointer)
{
    (void)LocalFree(*(HLOCAL *)pointer);
}
#define AUTO_LOCAL SBX_CLEANUP(sbx_local_free)

#endif
