/* What /proc tells of processes and descriptors, where more than one mechanism asks. No allocation. */
#ifndef SBX_POSIX_LINUX_PROCESS_H
#define SBX_POSIX_LINUX_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/attr.h"

/* When a process was started, in the kernel's ticks; with its number that is its own for good. 0 when it has ended
 * and was not waited for. False when it cannot be told. */
bool sbx_process_start(pid_t pid, uint64_t *out) SBX_MUST_USE;

/* Whether the process that had this number and start is gone. When in doubt it is alive: its /proc may be hidden. */
bool sbx_process_is_dead(pid_t pid, uint64_t start);

/* The absolute name of an open file as the kernel knows it now, which may end in " (deleted)". False when it has none,
 * or one that is too long. */
bool sbx_fd_name(int fd, char out[PATH_MAX]) SBX_MUST_USE;

/* As open with O_PATH, of a path that is absolute and clean, following the links of the disk and none of /proc that
 * lead from one process into another's files. *is_real: no link was on the way, so that the path is the name that
 * sbx_fd_name would tell. -1 with errno. */
int sbx_path_open(const char *path, int flags, bool *is_real) SBX_MUST_USE;

#endif
