/* One suspended process, born into a job, with the streams it is given and no other handle; boxed where a token and
 * a container are given. */
#ifndef SBX_WIN_PROCESS_H
#define SBX_WIN_PROCESS_H

#include <stdbool.h>

#include "common/base/err.h"
#include "win/winapi.h"

/* What makes a process a boxed one. */
struct sbx_container {
    HANDLE token;
    PSID package;
    SID_AND_ATTRIBUTES *capabilities;
    DWORD capability_count;
    DWORD64 mitigations;
    const wchar_t *desktop;
    HPCON console; /* NULL: it gets a hidden one of its own */
};

struct sbx_process_plan {
    const wchar_t *program; /* absolute */
    wchar_t *command_line;
    wchar_t *environment;
    const wchar_t *directory; /* NULL: ours */
    HANDLE stream[3];         /* in, out, err: borrowed; one that is not open is left out */
    HANDLE extra;             /* likewise, as descriptor 3 of its C runtime */
    bool is_hidden;           /* no console window, where there is no console to share */
    HANDLE job;
    const struct sbx_container *container; /* NULL: not boxed */
    HANDLE token;           /* whose process it is; NULL: ours. A boxed one has its container's */
    const wchar_t *desktop; /* with a token: where its windows would be */
};

/* Both handles are the caller's. */
struct sbx_process {
    HANDLE process;
    HANDLE thread;
    bool is_job_late; /* the system refused the job list: it was put into the job while suspended */
};

/* SBX_E_NOT_FOUND and SBX_E_DENIED when the program cannot be run; nothing is left on failure. */
enum sbx_code sbx_process_create(const struct sbx_process_plan *plan, struct sbx_process *out,
                                 struct sbx_err *err) SBX_MUST_USE;

#endif
