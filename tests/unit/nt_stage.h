/* The same small scenario on two kernels: the real table under Wine and the model. A scenario acts through the table of
 * its stage and writes what it was answered; the two texts must be equal. */
#ifndef SBX_TESTS_UNIT_NT_STAGE_H
#define SBX_TESTS_UNIT_NT_STAGE_H

#include <stdbool.h>

#include "common/base/attr.h"
#include "win/winapi.h"

struct nt_stage {
    const struct sbx_winapi *win;
    wchar_t directory[MAX_PATH]; /* empty at the start, ends with a backslash */
    wchar_t program[MAX_PATH];   /* what nt_stage_start runs */
    char *text;
    size_t len;
    size_t room;
};

/* Runs it on both and checks that the texts are equal; `least` is how many lines it must have written. */
void nt_stage_compare(void (*scenario)(struct nt_stage *stage), size_t least);

/* One line of the text. */
void nt_stage_say(struct nt_stage *stage, const char *format, ...) SBX_PRINTF(2, 3);

/* "name: 0" or the last error. */
void nt_stage_told(struct nt_stage *stage, const char *name, BOOL done);

/* A path below the directory; valid until the next but one call. */
const wchar_t *nt_stage_path(struct nt_stage *stage, const wchar_t *name);

/* Starts the program with a task for it, see nt_stage_task. */
BOOL nt_stage_start(struct nt_stage *stage, const char *task, BOOL inherits, DWORD flags,
                    LPPROC_THREAD_ATTRIBUTE_LIST list, PROCESS_INFORMATION *out);

/* Waits for its end, closes both handles and gives its exit code. */
DWORD nt_stage_finish(struct nt_stage *stage, PROCESS_INFORMATION *child);

/* What the program does on the real stage: main calls it first. False when there is no task in the arguments.
 *   exit N      exits with N
 *   sleep       sleeps for good
 *   tree        starts one that sleeps, then sleeps
 *   handle N    exits with 1 when it has this handle
 *   breakaway   exits with the code of starting a process outside of its job */
bool nt_stage_task(int argc, char **argv, int *status);

#endif
