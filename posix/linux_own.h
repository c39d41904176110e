/* What sbx itself is, to compare a box with: read while the box is being made, when there is time. */
#ifndef SBX_POSIX_LINUX_OWN_H
#define SBX_POSIX_LINUX_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "posix/linux_mountindex.h"
#include "posix/linux_mountinfo.h"

enum sbx_namespace {
    SBX_NAMESPACE_USER,
    SBX_NAMESPACE_MNT,
    SBX_NAMESPACE_PID,
    SBX_NAMESPACE_NET,
    SBX_NAMESPACE_IPC,
    SBX_NAMESPACE_UTS,
    SBX_NAMESPACE_CGROUP,
    SBX_NAMESPACES
};

struct sbx_namespace_name {
    const char *path; /* below /proc/PID */
    const char *what; /* as evidence */
};
extern const struct sbx_namespace_name sbx_namespace_names[SBX_NAMESPACES];

enum { SBX_NAMESPACE_BYTES = 48 }; /* "cgroup:[4026531835]" */

/* {0} knows nothing. */
struct sbx_own {
    bool is_read;
    int64_t filters; /* seccomp programs it runs under; -1: the kernel does not tell */
    char namespaces[SBX_NAMESPACES][SBX_NAMESPACE_BYTES]; /* "": unreadable */
    bool has_mounts;
    struct sbx_mountinfo_list mount_list;
    struct sbx_mountindex mounts; /* of that list; where the structure lies, it stays */
};

/* Where something cannot be read it stays unknown, and so different from whatever is compared with it. */
void sbx_own_read(struct sbx_own *own, struct sbx_arena *arena, bool with_mounts);

/* Lists the mounts, again when they are known. False leaves none. */
bool sbx_own_list_mounts(struct sbx_own *own, struct sbx_arena *arena) SBX_MUST_USE;

#endif
