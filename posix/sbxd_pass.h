/* A connected socket from the system service to a worker: one message, one byte, one descriptor. */
#ifndef SBX_POSIX_SBXD_PASS_H
#define SBX_POSIX_SBXD_PASS_H

#include <stdbool.h>

#include "common/base/attr.h"

/* Two ends that keep messages apart, not inherited. */
bool sbxd_pass_pair(int ends[2]) SBX_MUST_USE;

/* Does not wait; false with errno. The descriptor stays the caller's. */
bool sbxd_pass_send(int to, int fd) SBX_MUST_USE;

enum sbxd_passed { SBXD_PASSED_NOTHING, SBXD_PASSED_FD, SBXD_PASSED_END };
enum sbxd_passed sbxd_pass_receive(int from, int *fd) SBX_MUST_USE;

#endif
