/* What posix/ asks of the one kernel it runs on beyond POSIX: linux_*.c, or plain_system.c where
 * there is nothing better. */
#ifndef SBX_POSIX_SYSTEM_H
#define SBX_POSIX_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "common/os.h"

struct sbx_system_traits {
    enum sbx_platform platform;
    enum sbx_path_rules rules;
    const char *own_dir; /* sbx's directory below home; NULL: the XDG base directories */
};
extern const struct sbx_system_traits sbx_system;

/* From now on no other process of the user reads this one's memory, traces it or gets a core file of it, until
 * it executes another program. Does nothing where the kernel cannot. */
void sbx_system_harden(void);

/* As pipe(2), both ends close-on-exec. */
bool sbx_system_pipe(int ends[2]) SBX_MUST_USE;

/* The running program's path, NUL-terminated; false with errno. */
bool sbx_system_self(char *out, size_t size) SBX_MUST_USE;

/* The largest memory of a process in this account of resources. */
uint64_t sbx_system_peak_bytes(const struct rusage *usage);

/* ---- between fork and exec: async-signal-safe ---- */

/* Closes every descriptor from `first` on. */
void sbx_system_close_from(int first);

/* The calling process is killed when its parent, which must be `parent`, dies. False when `parent`
 * has died already. Does nothing where the kernel cannot. */
bool sbx_system_die_with(pid_t parent) SBX_MUST_USE;

/* ---- process trees ---- */

/* A descriptor that is readable once this child, which nobody has waited for, has ended; -1 with errno, also where
 * the kernel has none. */
int sbx_system_watch(pid_t child) SBX_MUST_USE;

/* From now on orphans below the calling process become its own children; false where the kernel
 * cannot. */
bool sbx_system_adopt_orphans(void) SBX_MUST_USE;

/* Sends a signal to every descendant of the calling process (which adopts orphans and does not
 * reap meanwhile), as far as they are seen. */
void sbx_system_signal_tree(int signal_number);

/* Sends a signal to the calling process' direct children only. No other process can be hit: a
 * child's number stays its own until it is reaped. */
void sbx_system_signal_children(int signal_number);

#endif
