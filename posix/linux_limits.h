/* The limits of a box that its first process sets: of resources, and a last one of time. */
#ifndef SBX_POSIX_LINUX_LIMITS_H
#define SBX_POSIX_LINUX_LIMITS_H

#include "posix/linux_launch.h"

/* Writes them into the block. Whether there is a control group is known by then. */
void sbx_launch_limits(struct sbx_launch *launch);

#endif
