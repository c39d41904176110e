/* The mounts of a process as the kernel lists them in /proc/PID/mountinfo. */
#ifndef SBX_POSIX_LINUX_MOUNTINFO_H
#define SBX_POSIX_LINUX_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"

struct sbx_mountinfo {
    uint64_t id, parent;
    unsigned major, minor; /* of the file system */
    const char *root;      /* what of the file system is mounted; unescaped, as is the place */
    const char *place;
    const char *kind;
    bool is_read_only, no_set_id, no_devices;
    bool is_shared; /* what is mounted below it goes to other namespaces, or comes from them */
    bool is_known;  /* for the reader's use */
};

struct sbx_mountinfo_list {
    struct sbx_mountinfo *items; /* in the order they were made */
    size_t count, capacity;
};

/* The file of an open /proc/PID. False when it cannot be read whole, or a line of it is not understood. */
bool sbx_mountinfo_read(struct sbx_arena *arena, int proc_dir,
                        struct sbx_mountinfo_list *out) SBX_MUST_USE;

/* The same of a text, which is changed and must outlive the list. */
bool sbx_mountinfo_parse(struct sbx_arena *arena, char *text,
                         struct sbx_mountinfo_list *out) SBX_MUST_USE;

#endif
