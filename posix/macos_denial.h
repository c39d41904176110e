/* A line of the system's log that tells of a refusal. Pure text; what is in it is data of whoever caused it. */
#ifndef SBX_POSIX_MACOS_DENIAL_H
#define SBX_POSIX_MACOS_DENIAL_H

#include <stdbool.h>

#include "common/base/attr.h"
#include "common/base/str.h"
#include "common/run/record.h"

#define SBX_DENIAL_PATH_MAX 1024

struct sbx_macos_denial {
    enum sbx_operation operation;
    char path[SBX_DENIAL_PATH_MAX + 1]; /* absolute; of a service or an address empty */
};

/* One object of `log show --style ndjson`. True when the kernel wrote it, it carries `tag`, and it tells of a refusal that a
 * person can do something about. Any process may log a text that looks like it, but not as the kernel. */
bool sbx_macos_denial_read(struct sbx_str line, const char *tag,
                           struct sbx_macos_denial *out) SBX_MUST_USE;

#endif
