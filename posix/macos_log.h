/* What the system's log says about the refusals of one box, where the caller may read it. */
#ifndef SBX_POSIX_MACOS_LOG_H
#define SBX_POSIX_MACOS_LOG_H

#include "common/base/arena.h"
#include "common/run/record.h"

/* Adds events to the record. `tag` is the box's, `seconds` how far to look back. Waits three seconds at most; a log that cannot
 * be read (an account that is not an administrator's, another sandbox) adds nothing. */
void sbx_macos_log_read(struct sbx_arena *arena, const char *tag, unsigned seconds,
                        struct sbx_run_record *record);

#endif
