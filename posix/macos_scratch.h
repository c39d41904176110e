/* A private directory on the host for one box: its TMPDIR. Nothing can be mounted, so /tmp itself stays closed. */
#ifndef SBX_POSIX_MACOS_SCRATCH_H
#define SBX_POSIX_MACOS_SCRATCH_H

#include <stddef.h>

#include "common/base/attr.h"
#include "common/base/err.h"

/* Makes one below `base`, mode 0700, named after this process; removes those of dead owners first. `out` gets its real
 * name. */
enum sbx_code sbx_macos_scratch_make(const char *base, char *out, size_t size,
                                     struct sbx_err *err) SBX_MUST_USE;

/* Removes it with everything in it, without following links. */
void sbx_macos_scratch_remove(const char *path);

#endif
