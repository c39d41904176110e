/* Finding and signalling the processes below this one. No allocation: the keeper that calls it is a
 * forked process without exec. */
#include "posix/linux_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/system.h"

#include "common/base/banned.h"

static void add(struct sbx_tree *tree, pid_t pid, pid_t parent)
{
    if (tree->count < SBX_TREE_MAX) {
        tree->node[tree->count].pid = pid;
        tree->node[tree->count].parent = parent;
        tree->count++;
    }
}

/* ---- the kernel's list of children ----------------------------------------------------------- */

bool sbx_tree_add_listed(struct sbx_tree *tree, pid_t parent)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    /* Numbers, each followed by a space; one may be cut by the end of the block. */
    long number = 0;
    char block[4096];
    ssize_t got;
    while ((got = sbx_fd_read(fd, block, sizeof block)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (block[i] >= '0' && block[i] <= '9') {
                number = number * 10 + (block[i] - '0');
            } else if (number > 0) {
                add(tree, (pid_t)number, parent);
                number = 0;
            }
        }
    }
    return got == 0;
}

/* ---- every process of the machine -------------------------------------------------------------- */

pid_t sbx_tree_parent_of(pid_t pid)
{
    char text[512];
    (void)snprintf(text, sizeof text, "/proc/%d/stat", (int)pid);
    AUTO_FD fd = open(text, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    ssize_t got = sbx_fd_read(fd, text, sizeof text - 1);
    if (got <= 0) {
        return -1;
    }
    text[got] = '\0';
    /* "pid (name) state parent …"; a name may hold parentheses, what follows may not. */
    const char *at = strrchr(text, ')');
    if (at == NULL || strlen(at) < 5) {
        return -1;
    }
    long parent = 0;
    for (at += 4; *at >= '0' && *at <= '9'; at++) {
        parent = parent * 10 + (*at - '0');
    }
    return (pid_t)parent;
}

static pid_t pid_named(const char *name)
{
    long pid = 0;
    for (; *name >= '0' && *name <= '9' && pid < INT32_MAX / 10; name++) {
        pid = pid * 10 + (*name - '0');
    }
    return *name == '\0' ? (pid_t)pid : 0;
}

bool sbx_tree_add_scanned(struct sbx_tree *tree, pid_t parent)
{
    AUTO_FD dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) {
        return false;
    }
    /* getdents64 rather than readdir, which allocates. Offsets: the kernel's struct linux_dirent64. */
    enum { LENGTH_AT = 16, NAME_AT = 19 };
    char block[8192];
    long got;
    while ((got = syscall(SYS_getdents64, dir, block, sizeof block)) > 0) {
        unsigned short length;
        for (long at = 0; at < got; at += length) {
            memcpy(&length, block + at + LENGTH_AT, sizeof length);
            pid_t pid = pid_named(block + at + NAME_AT);
            if (pid > 0 && sbx_tree_parent_of(pid) == parent) {
                add(tree, pid, parent);
            }
        }
    }
    return got == 0;
}

static void add_children(struct sbx_tree *tree, pid_t parent)
{
    size_t before = tree->count;
    if (!sbx_tree_add_listed(tree, parent)) {
        tree->count = before;
        (void)!sbx_tree_add_scanned(tree, parent);
    }
}

/* ---- signals ------------------------------------------------------------------------------------- */

/* Too large for a stack; the keeper has one thread. */
static struct sbx_tree found;

/* A grandchild may be reaped by its parent, and its number taken by a stranger, between finding and
 * signalling it. A pidfd pins the process: it is signalled only if it still has the parent it was
 * found under. */
static void signal_pinned(pid_t pid, pid_t parent, int signal_number)
{
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_send_signal)
    AUTO_FD pin = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pin >= 0) {
        pid_t now = sbx_tree_parent_of(pid);
        if (now == parent || now == getpid()) {
            (void)syscall(SYS_pidfd_send_signal, pin, signal_number, NULL, 0);
        }
        return;
    }
    if (errno != ENOSYS) {
        return;
    }
#endif
    if (sbx_tree_parent_of(pid) == parent) {
        (void)kill(pid, signal_number);
    }
}

void sbx_system_signal_tree(int signal_number)
{
    found.count = 0;
    add_children(&found, getpid());
    for (size_t i = 0; i < found.count; i++) {
        add_children(&found, found.node[i].pid);
    }
    for (size_t i = 0; i < found.count; i++) {
        signal_pinned(found.node[i].pid, found.node[i].parent, signal_number);
    }
}

void sbx_system_signal_children(int signal_number)
{
    found.count = 0;
    add_children(&found, getpid());
    for (size_t i = 0; i < found.count; i++) {
        (void)kill(found.node[i].pid, signal_number);
    }
}
