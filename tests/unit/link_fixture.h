/* Symbolic links for tests on Windows and on Wine. */
#ifndef SBX_TESTS_LINK_FIXTURE_H
#define SBX_TESTS_LINK_FIXTURE_H

#include <stdbool.h>

/* `path` becomes a link to `target` (both absolute); false when this system lets nobody make one. Wine's
 * CreateSymbolicLinkW does nothing and says so to nobody; there the link is one of Unix, which Wine shows as what it
 * leads to: without a reparse tag, but with another final name. */
bool link_make(const char *path, const char *target, bool is_directory);

#endif
