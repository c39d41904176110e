/* Processes that lose their parent because it is killed: bwrap has a moment in which its second process outlives the
 * first and waits for it for ever. */
#ifndef SBX_POSIX_LINUX_ORPHANS_H
#define SBX_POSIX_LINUX_ORPHANS_H

#include <stdbool.h>

#include "common/base/attr.h"

/* From now on they become children of the calling process. False, and nothing has changed, when it has children
 * already: whoever executed sbx may have had some, and theirs could not be told apart. */
bool sbx_orphans_adopt(void) SBX_MUST_USE;

/* Kills every child and whatever becomes one, until there is none, for at most two seconds. Async-signal-safe. */
void sbx_orphans_end(void);

/* From now on they are somebody else's again: whoever goes on after a run does not wait for them. */
void sbx_orphans_leave(void);

#endif
