/* What the backends that mount share: bwrap carries the mounts out by a helper, native by sbx-init. */
#ifndef SBX_POSIX_LINUX_MOUNTED_H
#define SBX_POSIX_LINUX_MOUNTED_H

#include "posix/linux_launch.h"

/* Finds the names that matter, makes the mounts, and writes into the block of `launch` what sbx-init has to know
 * about both: where names may be made, and the rules of Landlock. */
enum sbx_code sbx_mounted_prepare(struct sbx_launch *launch, struct sbx_mounts *mounts,
                                  struct sbx_err *err) SBX_MUST_USE;

struct sbx_mounted {
    const struct sbx_mounts *mounts;
    pid_t first;  /* sbx-init, as seen from here; -1: not known */
    pid_t inside; /* the held process, as seen in the box */
    int probe;    /* errno of the access that Landlock must refuse */
};

/* Reads back the mounts of a box whose first process has made them all, and that no user namespace can be made in it. */
void sbx_mounted_look(struct sbx_launch *launch, const struct sbx_mounts *mounts, pid_t first);

/* Reads back all of a box with namespaces and mounts, but for what was seen in a first look and cannot have changed. */
void sbx_mounted_verify(struct sbx_launch *launch, const struct sbx_mounted *box);

#endif
