/* What several files of win/ ask of the system. */
#ifndef SBX_WIN_SYSTEM_H
#define SBX_WIN_SYSTEM_H

#include <stdbool.h>

#include "common/os.h"

/* The Windows directory of this machine. */
enum sbx_code sbx_system_directory(struct sbx_arena *arena, struct sbx_path *out,
                                   struct sbx_err *err) SBX_MUST_USE;

/* An elevated administrator. */
bool sbx_system_is_elevated(void);

#endif
