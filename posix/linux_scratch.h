/* A private directory on the host for one box, in place of a private /tmp where nothing can be mounted. */
#ifndef SBX_POSIX_LINUX_SCRATCH_H
#define SBX_POSIX_LINUX_SCRATCH_H

#include <stddef.h>

#include "common/base/attr.h"
#include "common/base/err.h"

/* Makes one below `base`, mode 0700, named after this process so that a later run can tell that its owner is
 * dead; removes those of dead owners first. */
enum sbx_code sbx_scratch_make(const char *base, char *out, size_t size,
                               struct sbx_err *err) SBX_MUST_USE;

/* Removes it with everything in it, without following links. No allocation. */
void sbx_scratch_remove(const char *path);

#endif
