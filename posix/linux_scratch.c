/* Private directories on the host. */
#include "posix/linux_scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix/fault.h"
#include "posix/fd.h"

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

/* Moves what is in a directory up to where it is; false when nothing could be moved or removed. The new names
 * cannot be guessed: the box could have made them before. */
static bool pull_up(int directory, const char *name)
{
    union block block;
    bool moved = false;
    open_up(directory, name);
    AUTO_FD below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    long got = below < 0 ? 0 : syscall(SYS_getdents64, below, &block, sizeof block);
    long at = 0;
    for (const struct entry *entry; (entry = next_entry(&block, got, &at)) != NULL;) {
        char fresh[32];
        uint64_t number = 0;
        if (remove_entry(below, entry->name)) {
            moved = true;
            continue;
        }
        open_up(below, entry->name); /* a directory that cannot be written cannot be moved */
        if (getrandom(&number, sizeof number, 0) == (ssize_t)sizeof number) {
            (void)snprintf(fresh, sizeof fresh, ".sbx-%016llx", (unsigned long long)number);
            moved |= renameat(below, entry->name, directory, fresh) == 0;
        }
    }
    return moved;
}

/* Removes everything in an open directory. What lies deeper is pulled up level by level, so that a tree of any
 * depth needs two descriptors and no stack; the directory is nobody else's. */
static void empty(int directory)
{
    for (;;) {
        union block block;
        (void)lseek(directory, 0, SEEK_SET);
        long got = syscall(SYS_getdents64, directory, &block, sizeof block);
        bool removed_any = false;
        const char *deeper = NULL;
        long at = 0;
        for (const struct entry *entry; (entry = next_entry(&block, got, &at)) != NULL;) {
            if (remove_entry(directory, entry->name)) {
                removed_any = true;
            } else if (deeper == NULL) {
                deeper = entry->name;
            }
        }
        if (!removed_any && (deeper == NULL || !pull_up(directory, deeper))) {
            return;
        }
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

/* A process' start time, which with its number is its own for good; 0 when there is no such process. */
static unsigned long long start_of(long pid)
{
    char path[64];
    char text[1024];
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : sbx_fd_read(fd, text, sizeof text - 1);
    if (got <= 0) {
        return 0;
    }
    text[got] = '\0';
    char *at = strrchr(text, ')');
    for (int i = 0; at != NULL && i < 20; i++) {
        at = strchr(at + 1, ' ');
    }
    return at == NULL ? 0 : strtoull(at + 1, NULL, 10);
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
        if (*end == '-' && start != 0 && start_of(pid) != start && len > 0 &&
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
    remove_dead(base);
    char path[512];
    int len = snprintf(path, sizeof path, "%s/" PREFIX "%ld-%llu-XXXXXX", base, (long)getpid(),
                       start_of(getpid()));
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
