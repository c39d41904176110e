/* An errno as one of our codes, with its meaning in words. */
#ifndef SBX_POSIX_FAULT_H
#define SBX_POSIX_FAULT_H

#include "common/base/fault.h"

/* SBX_E_NOT_FOUND, SBX_E_DENIED, SBX_E_NOMEM, SBX_E_INVALID, or SBX_E_IO for any other. */
enum sbx_code sbx_errno_code(int raw);

/* "no such file or directory", lower case; "system error" for a rare one (the number is in the
 * error anyway). */
const char *sbx_errno_text(int raw);

/* Fills *err with "<formatted>: <meaning>" and the code of `raw`, and returns that code. */
enum sbx_code sbx_err_errno(struct sbx_err *err, int raw, const char *call, const char *format, ...)
    SBX_PRINTF(4, 5);

#endif
