/* Private directories on the host. */
#include "posix/linux_scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/linux_process.h"

#include "common/base/banned.h"

#define PREFIX "sbx-tmp-"

struct entry { /* as getdents64 writes it */
    uint64_t inode;
    int64_t next;
    uint16_t length;
    uint8_t type;
    char name[];
};

union block {
    struct entry first;
    char bytes[8192];
};

/* The next entry of a block that is not the directory itself or the one above; NULL at its end. */
static const struct entry *next_entry(const union block *block, long length, long *at)
{
    while (*at < length) {
        const struct entry *entry = (const struct entry *)(const void *)(block->bytes + *at);
        *at += entry->length;
        if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0) {
            return entry;
        }
    }
    return NULL;
}

/* What was in the box may have any mode. By descriptor: a link of that name is not followed. */
static void open_up(int directory, const char *name)
{
    char path[64];
    AUTO_FD fd = openat(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        (void)!chmod(path, 0700);
    }
}

static bool remove_entry(int directory, const char *name)
{
    return unlinkat(directory, name, 0) == 0 || unlinkat(directory, name, AT_REMOVEDIR) == 0;
}

/* Removes what can be removed at once. *deeper is something that cannot, or NULL; true when anything went. */
static bool remove_here(int directory, union block *block, const char **deeper)
{
    bool removed_any = false;
    for (;;) {
        (void)lseek(directory, 0, SEEK_SET);
        long got = syscall(SYS_getdents64, directory, block, sizeof *block);
        bool removed = false;
        long at = 0;
        *deeper = NULL;
        for (const struct entry *entry; (entry = next_entry(block, got, &at)) != NULL;) {
            if (remove_entry(directory, entry->name)) {
                removed = true;
            } else {
                *deeper = entry->name;
            }
        }
        if (!removed) {
            return removed_any;
        }
        removed_any = true;
    }
}

/* Removes everything in an open directory. Each level is entered by descriptor and left by "..", so that a tree
 * of any depth needs no stack; the directory is nobody else's, and no process that could move it is left. */
static void empty(int directory)
{
    union block block;
    size_t depth = 0;
    bool came_up = false;
    AUTO_FD here = fcntl(directory, F_DUPFD_CLOEXEC, 0);
    while (here >= 0) {
        const char *deeper = NULL;
        bool removed = remove_here(here, &block, &deeper);
        if ((came_up && !removed) || (deeper == NULL && depth == 0)) {
            return; /* what is below cannot be removed, or all is done */
        }
        came_up = deeper == NULL;
        depth = came_up ? depth - 1 : depth + 1;
        if (!came_up) {
            open_up(here, deeper);
        }
        AUTO_FD next =
            openat(here, came_up ? ".." : deeper, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        sbx_fd_close(&here);
        here = SBX_TAKE(next, -1);
    }
}

void sbx_scratch_remove(const char *path)
{
    open_up(AT_FDCWD, path);
    AUTO_FD directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory >= 0) {
        empty(directory);
        (void)rmdir(path);
    }
}

static void remove_dead(const char *base)
{
    DIR *dir = opendir(base);
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        char *end = NULL;
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0) {
            continue;
        }
        long pid = strtol(entry->d_name + strlen(PREFIX), &end, 10);
        unsigned long long start = *end == '-' ? strtoull(end + 1, &end, 10) : 0;
        char path[512];
        struct stat info;
        int len = snprintf(path, sizeof path, "%s/%s", base, entry->d_name);
        if (*end == '-' && start != 0 && sbx_process_is_dead((pid_t)pid, start) && len > 0 &&
            (size_t)len < sizeof path && lstat(path, &info) == 0 && S_ISDIR(info.st_mode) &&
            info.st_uid == geteuid()) {
            sbx_scratch_remove(path);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

enum sbx_code sbx_scratch_make(const char *base, char *out, size_t size, struct sbx_err *err)
{
    uint64_t start = 0;
    char path[512];
    remove_dead(base);
    (void)!sbx_process_start(getpid(),
                             &start); /* without it the directory is never taken for a dead one's */
    int len = snprintf(path, sizeof path, "%s/" PREFIX "%ld-%llu-XXXXXX", base, (long)getpid(),
                       (unsigned long long)start);
    if (len < 0 || (size_t)len >= sizeof path || (size_t)len >= size) {
        return sbx_err_set(err, SBX_E_LIMIT, "the name of the temporary directory is too long");
    }
    if (mkdtemp(path) == NULL) {
        int raw = errno;
        return sbx_err_errno(err, raw, "mkdtemp", "cannot make a private directory in \"%s\"",
                             base);
    }
    memcpy(out, path, (size_t)len + 1);
    return SBX_OK;
}
