/* One suspended process, born into a job, with three handles and no more. */
#ifndef SBX_WIN_PROCESS_H
#define SBX_WIN_PROCESS_H

#include <windows.h>

#include "common/base/err.h"

struct sbx_process_plan {
    const wchar_t *program; /* absolute */
    wchar_t *command_line;
    wchar_t *environment;
    const wchar_t *directory; /* NULL: ours */
    HANDLE stream[3];         /* in, out, err: borrowed; one that is not open is left out */
    HANDLE job;
};

/* Both handles are the caller's. */
struct sbx_process {
    HANDLE process;
    HANDLE thread;
};

/* SBX_E_NOT_FOUND and SBX_E_DENIED when the program cannot be run; nothing is left on failure. */
enum sbx_code sbx_process_create(const struct sbx_process_plan *plan, struct sbx_process *out,
                                 struct sbx_err *err) SBX_MUST_USE;

#endif
