/* A Win32 error as one of our codes, with its meaning in words. */
#ifndef SBX_WIN_FAULT_H
#define SBX_WIN_FAULT_H

#include <windows.h>

#include "common/base/fault.h"

/* Not in every header. */
#define SBX_ERROR_VIRUS_INFECTED 225
#define SBX_ERROR_ELEVATION_REQUIRED 740
#define SBX_ERROR_SYSTEM_INTEGRITY_POLICY 4551

/* SBX_E_NOT_FOUND, SBX_E_DENIED, SBX_E_NOMEM, SBX_E_INVALID, or SBX_E_IO for any other. */
enum sbx_code sbx_win32_code(DWORD raw);

/* "the file does not exist", lower case; "system error" for a rare one (the number is in the error
 * anyway). */
const char *sbx_win32_text(DWORD raw);

/* Fills *err with "<formatted>: <meaning>" and the code of `raw`, and returns that code. */
enum sbx_code sbx_err_win32(struct sbx_err *err, DWORD raw, const char *call, const char *format,
                            ...) SBX_PRINTF(4, 5);

#endif
