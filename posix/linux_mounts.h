/* What is mounted in a box, in order: computed from the policy before anything is mounted, then carried out by a
 * backend and compared with what the kernel really has. Source and place of a bind are the same path. */
#ifndef SBX_POSIX_LINUX_MOUNTS_H
#define SBX_POSIX_LINUX_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/policy/plan.h"
#include "posix/linux_names.h"

enum sbx_mount_kind {
    SBX_MOUNT_WRITE,     /* the host's, writable */
    SBX_MOUNT_READ,      /* the host's, read-only with everything mounted below it */
    SBX_MOUNT_TMPFS,     /* private, empty, writable, bounded */
    SBX_MOUNT_MASK,      /* an empty directory that cannot be listed; read-only */
    SBX_MOUNT_MASK_FILE, /* a file that cannot be opened */
    SBX_MOUNT_LINK,      /* a symbolic link of the host, made again in a private directory */
    SBX_MOUNT_PROC,
    SBX_MOUNT_DEV,
};
extern const struct sbx_name sbx_mount_kind_names[];

struct sbx_mount {
    enum sbx_mount_kind kind;
    const char *path;  /* absolute and real: no component is a link when it was looked at */
    const char *link;  /* of a link: its text */
    bool is_directory; /* of a bind */
    bool is_link;      /* of a bind: refused by whoever asked for it */
    bool is_rule;      /* a rule names it; otherwise a pattern found it */
    bool is_reopened;  /* of a mask: something below it is there again */
    int fd;            /* of a bind: the source, which it pins; -1 otherwise */
    uint64_t device, inode;
    uint64_t size_bytes; /* of a tmpfs */
    enum sbx_access access;
    size_t above; /* see sbx_mounts_above: 1 + its index, 0 without one */
};

#define SBX_MOUNTS_MASK_BYTES 4096 /* size of a masking directory: nothing is ever in it */

/* Owns the descriptors. */
struct sbx_mounts {
    struct sbx_mount *items; /* parents first */
    size_t count, capacity;
    bool has_host_root; /* "/" is the host's; otherwise a private directory, read-only at the end */
    /* The backend holds sources before it mounts them: the kernel lists them in that order, and only the number of the
     * mount at a place tells that nothing covers it. */
    bool has_own_order;
};

void sbx_mounts_release(struct sbx_mounts *mounts);
#define AUTO_MOUNTS SBX_CLEANUP(sbx_mounts_release) struct sbx_mounts

/* Opens every granted path by descriptor. A path that was there when the policy was made and is not any more is
 * an error that names it; so is one that cannot be held. */
enum sbx_code sbx_mounts_make(struct sbx_arena *arena, const struct sbx_policy *policy,
                              const struct sbx_found_list *found, struct sbx_mounts *out,
                              struct sbx_err *err) SBX_MUST_USE;

/* The nearest mount that contains item `index`, or NULL: a private root. */
const struct sbx_mount *sbx_mounts_above(const struct sbx_mounts *mounts, size_t index);

/* The index of the one at that very path, which may be a link; mounts->count when there is none. */
size_t sbx_mounts_at(const struct sbx_mounts *mounts, const char *path);

#endif
