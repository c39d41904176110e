/* A macOS box from plan to record. */
#ifndef SBX_POSIX_MACOS_LAUNCH_H
#define SBX_POSIX_MACOS_LAUNCH_H

#include "common/run/backend.h"

/* Is this process under a profile already? Then no other can be applied. */
bool sbx_macos_is_nested(void);

/* As sbx_backend.run. */
enum sbx_code sbx_macos_run(struct sbx_arena *arena, const struct sbx_plan *plan,
                            const struct sbx_selection *selection, struct sbx_run_record *out,
                            struct sbx_err *err);

#endif
