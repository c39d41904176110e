/* Runs a small program of the system and reads what it says. */
#ifndef SBX_POSIX_CAPTURE_H
#define SBX_POSIX_CAPTURE_H

#include <stddef.h>

#include "common/base/attr.h"
#include "common/base/err.h"

/* With an empty environment, no input, both outputs together into `out` (cut at size - 1), at most timeout_ms.
 * *status is the exit status, or 128 and the signal. False with errno when it could not be started or did not
 * end in time. Whatever it started ends with it, and all of it with sbx. */
bool sbx_capture(const char *const *argv, unsigned timeout_ms, char *out, size_t size,
                 int *status) SBX_MUST_USE;

#endif
