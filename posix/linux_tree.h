/* Finding the processes below this one in /proc. */
#ifndef SBX_POSIX_LINUX_TREE_H
#define SBX_POSIX_LINUX_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/attr.h"

enum { SBX_TREE_MAX = 4096 };

/* A tree larger than this is listed in part; ending it goes in rounds and reaches the rest. */
struct sbx_tree {
    size_t count;
    struct {
        pid_t pid;
        pid_t parent;
    } node[SBX_TREE_MAX];
};

/* Children of `parent` from the kernel's own list; false when the kernel has none or /proc is
 * missing. Appends. */
bool sbx_tree_add_listed(struct sbx_tree *tree, pid_t parent) SBX_MUST_USE;

/* The same by reading every process of the machine. */
bool sbx_tree_add_scanned(struct sbx_tree *tree, pid_t parent) SBX_MUST_USE;

/* The parent of a process, or -1. */
pid_t sbx_tree_parent_of(pid_t pid);

#endif
