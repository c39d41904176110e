/* The mounts of a process as the kernel lists them in /proc/PID/mountinfo. */
#ifndef SBX_POSIX_LINUX_MOUNTINFO_H
#define SBX_POSIX_LINUX_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/arena.h"

struct sbx_mountinfo {
    unsigned long id, parent;
    unsigned major, minor; /* of the file system */
    const char *root;      /* what of the file system is mounted; unescaped, as is the place */
    const char *place;
    const char *kind;
    bool is_read_only, no_set_id, no_devices;
    bool
        is_shared; /* what is mounted below it goes to other namespaces, or comes from them and back */
    bool is_known; /* for the reader's use */
};

struct sbx_mountinfo_list {
    struct sbx_mountinfo *items; /* in the order they were made */
    size_t count, capacity;
};

/* False when it cannot be read whole, or a line of it is not understood. */
bool sbx_mountinfo_read(struct sbx_arena *arena, pid_t pid,
                        struct sbx_mountinfo_list *out) SBX_MUST_USE;

/* The same of a text, which is changed and must outlive the list. */
bool sbx_mountinfo_parse(struct sbx_arena *arena, char *text,
                         struct sbx_mountinfo_list *out) SBX_MUST_USE;

/* The last of that name; NULL when there is none. */
struct sbx_mountinfo *sbx_mountinfo_at(const struct sbx_mountinfo_list *list, const char *place);

/* No path leads to it: something is mounted over it, or over a directory on the way from its parent, or its
 * parent is hidden. */
bool sbx_mountinfo_is_hidden(const struct sbx_mountinfo_list *list,
                             const struct sbx_mountinfo *line);

/* `inner` is `outer` or lies below it. */
bool sbx_mountinfo_is_within(const char *outer, const char *inner);

#endif
