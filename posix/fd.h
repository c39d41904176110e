/* File descriptors that have one owner. */
#ifndef SBX_POSIX_FD_H
#define SBX_POSIX_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/attr.h"

/* Closes *fd unless it is negative, and leaves -1 there; errno stays as it was. */
void sbx_fd_close(int *fd);
#define AUTO_FD SBX_CLEANUP(sbx_fd_close) int

/* As read(2), again after an interruption. */
ssize_t sbx_fd_read(int fd, void *bytes, size_t len) SBX_MUST_USE;

/* Writes all of it, waiting for a descriptor that does not block; false with errno. */
bool sbx_fd_write_all(int fd, const void *bytes, size_t len) SBX_MUST_USE;

/* Two ends of a pipe, both close-on-exec and above the standard streams; false with errno. */
bool sbx_fd_pipe(int *read_end, int *write_end) SBX_MUST_USE;

/* Opens `rest` ("" for itself) below `root` name by name, which no rename on the way can lead astray: directories on the way
 * with `way`, never through a link, the last one with `flags` as asked, so that a place that may not be entered can still
 * be looked at. -1 with errno. */
int sbx_fd_open_below(int root, const char *rest, int way, int flags) SBX_MUST_USE;

bool sbx_fd_set_nonblocking(int fd) SBX_MUST_USE;

#endif
