/* What codes of Windows mean for a box: why it could not be started, why a command ended at once. Data. */
#ifndef SBX_WIN_DIAGNOSE_H
#define SBX_WIN_DIAGNOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/err.h"

/* Adds cause and remedy to an error of sbx_process_create, and sets the code that the cause deserves
 * (SBX_E_DENIED: the program cannot be executed in a box). Returns that code. */
enum sbx_code sbx_diagnose_start(struct sbx_err *err);

struct sbx_ending {
    uint32_t exit_code;
    bool was_silent; /* it wrote nothing */
    const char *program;
    const char *directory;      /* of the program, */
    bool directory_is_readable; /* in the box */
    const char *desktop;
    const char *console;
};

/* Why a command that ended with such a code may have; NULL: the code says nothing. In `arena`. */
const char *sbx_diagnose_end(struct sbx_arena *arena, const struct sbx_ending *ending);

#endif
