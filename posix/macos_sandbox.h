/* Calls of libSystem that have no public header; every name here is in its list of exports (scripts/macos-sdk). */
#ifndef SBX_POSIX_MACOS_SANDBOX_H
#define SBX_POSIX_MACOS_SANDBOX_H

#include <spawn.h>
#include <stdint.h>
#include <sys/types.h>

/* Compiles a profile and puts the calling process under it, for good. `parameters` is name, value, name … NULL. Not 0:
 * *error says why. */
extern int sandbox_init_with_parameters(const char *profile, uint64_t flags,
                                        const char *const parameters[], char **error);
extern void sandbox_free_error(char *error);

/* 0: the process may; 1: it may not, or, without an operation, it is under a profile; -1: errno. It takes its last arguments
 * as printf does: a call through another prototype passes garbage on arm64. */
extern int sandbox_check(pid_t pid, const char *operation, int type, ...);
extern const int SANDBOX_CHECK_NO_REPORT;
enum { SBX_CHECK_NONE = 0, SBX_CHECK_PATH = 1, SBX_CHECK_GLOBAL_NAME = 2 };

/* A limit of memory, in MiB, for one spawned process and not for what it forks; the kernel kills it there. Priority -1 is the
 * usual band. */
enum { SBX_JETSAM_ACTIVE_FATAL = 0x04, SBX_JETSAM_INACTIVE_FATAL = 0x08 };
extern int posix_spawnattr_setjetsam_ext(posix_spawnattr_t *attributes, short flags, int priority,
                                         int active_mebibytes, int inactive_mebibytes);

#endif
