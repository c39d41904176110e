/* Landlock as sbx uses it: which rights the running kernel knows, and which a box gets where. */
#ifndef SBX_POSIX_LINUX_LANDLOCK_H
#define SBX_POSIX_LINUX_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attr.h"
#include "common/base/err.h"
#include "posix/landlock_abi.h"

/* Everything that an ABI version can handle; 0 for version 0. A version that is newer than this sbx gives
 * what this sbx knows. */
uint64_t sbx_landlock_files(unsigned abi);
uint64_t sbx_landlock_network(unsigned abi);
uint64_t sbx_landlock_scopes(unsigned abi);

/* Rights below a path: reading and executing, besides them changing, and what a device needs. Only what the
 * version knows. For anything but a directory the rights on directories are left out. */
uint64_t sbx_landlock_read(unsigned abi, bool is_directory);
uint64_t sbx_landlock_write(unsigned abi, bool is_directory);
uint64_t sbx_landlock_device(unsigned abi, bool is_terminal);

/* An empty ruleset as a descriptor (close-on-exec), and one path or port in it. SBX_E_IO with the call on
 * failure. */
enum sbx_code sbx_landlock_open(uint64_t files, uint64_t network, uint64_t scoped, int *out,
                                struct sbx_err *err) SBX_MUST_USE;
enum sbx_code sbx_landlock_allow(int ruleset, int path_fd, uint64_t access,
                                 struct sbx_err *err) SBX_MUST_USE;

#endif
