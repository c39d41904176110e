/* sbx-init: the mounts of a box, from the rows of its plan. */
#ifndef SBX_INIT_MOUNT_H
#define SBX_INIT_MOUNT_H

#include <stdbool.h>

#include "posix/init/init.h"

/* A new file system, not yet anywhere: its descriptor, or a negative errno. Texts may be NULL. */
long init_make_fs(const char *kind, const char *mode, const char *size, bool is_read_only);

/* No set-user-ID programs and no devices, on request read-only: the mount at a path, or with "" the one of the
 * descriptor, and with a path every mount below it too. */
long init_restrict(long fd, const char *path, bool is_read_only);

/* What every box has: a new /proc and the devices, held until they are placed. Ends the box on failure, as do the next
 * two. */
void init_take_system(void);

/* While the host's files are still in reach: holds those that would be covered. */
void init_take_sources(const struct init *init);

/* Parents first, as the rows are. */
void init_place_mounts(const struct init *init);

#endif
