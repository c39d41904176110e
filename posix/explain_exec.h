/* Why a program that was found could not be executed, in words. */
#ifndef SBX_POSIX_EXPLAIN_EXEC_H
#define SBX_POSIX_EXPLAIN_EXEC_H

#include "common/base/err.h"

/* Fills *err for the errno of an execve of `path`: SBX_E_NOT_FOUND or SBX_E_DENIED. */
enum sbx_code sbx_explain_exec(const char *path, int raw, struct sbx_err *err);

#endif
