/* Watching the directories that a plan is searched in. */
#include "posix/pool_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "posix/fd.h"

#include "common/base/banned.h"

#define ARENA_BYTES ((size_t)4 << 20)
#define XFS_MAGIC 0x58465342 /* not in every kernel's headers */

enum { DIRECTORIES_MAX = 4096, LINKS_MAX = 64, DEPTH_MAX = 64, ROUNDS = 16 };

struct sbx_pool_spot {
    const char *path;
    uint64_t device, inode; /* both 0: nothing is there */
};

/* Modified files count too: a ".git" file says where its repository is. */
static const uint32_t wanted = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                               IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB | IN_MODIFY | IN_ONLYDIR;

void sbx_pool_watch_init(struct sbx_pool_watch *watch)
{
    *watch = (struct sbx_pool_watch){.fd = -1};
    sbx_arena_init(&watch->arena, ARENA_BYTES);
}

void sbx_pool_watch_release(struct sbx_pool_watch *watch)
{
    sbx_fd_close(&watch->fd);
    sbx_arena_release(&watch->arena);
}

/* ---- single paths -------------------------------------------------------------------------------- */

static void look_at(const char *path, struct sbx_pool_spot *out)
{
    struct stat info;
    bool is_there = stat(path, &info) == 0;
    out->device = is_there ? info.st_dev : 0;
    out->inode = is_there ? info.st_ino : 0;
}

static bool add_spot(struct sbx_pool_watch *watch, const char *path, size_t len)
{
    struct sbx_pool_spot *spot = (struct sbx_pool_spot *)sbx_arena_push(
        &watch->arena, &watch->spots, &watch->spot_count, &watch->spot_capacity, sizeof *spot);
    const char *text = sbx_arena_copy(&watch->arena, path, len);
    if (spot == NULL || text == NULL) {
        return false;
    }
    spot->path = text;
    look_at(text, spot);
    return true;
}

static bool spots_hold(const struct sbx_pool_watch *watch)
{
    for (size_t i = 0; i < watch->spot_count; i++) {
        struct sbx_pool_spot now;
        look_at(watch->spots[i].path, &now);
        if (now.device != watch->spots[i].device || now.inode != watch->spots[i].inode) {
            return false;
        }
    }
    return true;
}

/* ---- directories --------------------------------------------------------------------------------- */

/* Changes by another machine, or by a program that is the file system, are not reported. */
static bool is_watchable(struct sbx_pool_watch *watch, int fd)
{
    static const unsigned long kinds[] = {EXT4_SUPER_MAGIC, XFS_MAGIC,        BTRFS_SUPER_MAGIC,
                                          TMPFS_MAGIC,      F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC,
                                          RAMFS_MAGIC};
    struct stat info;
    struct statfs place;
    if (fstat(fd, &info) != 0) {
        return false;
    }
    if (watch->device == info.st_dev) {
        return true;
    }
    bool is_known = false;
    if (fstatfs(fd, &place) == 0) {
        for (size_t i = 0; i < SBX_COUNT(kinds); i++) {
            is_known |= (unsigned long)place.f_type == kinds[i];
        }
    }
    watch->device = is_known ? info.st_dev : watch->device;
    return is_known;
}

static bool watch_fd(const struct sbx_pool_watch *watch, int fd)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return inotify_add_watch(watch->fd, path, wanted) >= 0;
}

struct walk {
    struct sbx_pool_watch *watch;
    char path[PATH_MAX];
};

static bool watch_below(struct walk *walk, int above, const char *name, size_t len, int depth);

static bool take_entry(struct walk *walk, int fd, const struct dirent *entry, size_t len, int depth)
{
    struct stat info;
    const char *name = entry->d_name;
    unsigned type = entry->d_type;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        return true;
    }
    if (type == DT_UNKNOWN && fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
        type = S_ISDIR(info.st_mode) ? DT_DIR : S_ISLNK(info.st_mode) ? DT_LNK : DT_REG;
    }
    if (type != DT_DIR && type != DT_LNK) {
        return true;
    }
    size_t more = strlen(name) + 1;
    if (len + more >= sizeof walk->path) {
        return false;
    }
    walk->path[len] = '/';
    memcpy(walk->path + len + 1, name, more);
    if (type == DT_DIR) {
        return watch_below(walk, fd, name, len + more, depth + 1);
    }
    /* Where a link leads may matter, and lies anywhere. */
    return walk->watch->link_count++ < LINKS_MAX && add_spot(walk->watch, walk->path, len + more);
}

/* First watched, then read: what appears meanwhile is read or reported. */
static bool watch_below(struct walk *walk, int above, const char *name, size_t len, int depth)
{
    struct sbx_pool_watch *watch = walk->watch;
    int follow = depth == 0 ? 0 : O_NOFOLLOW;
    AUTO_FD fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | follow);
    if (fd < 0 && depth == 0 && (errno == ENOENT || errno == ENOTDIR)) {
        return true; /* its spot tells when that changes */
    }
    if (fd < 0 && errno == ENOENT) {
        return true; /* gone again: reported */
    }
    if (fd < 0 || depth > DEPTH_MAX || watch->directory_count++ >= DIRECTORIES_MAX ||
        !is_watchable(watch, fd) || !watch_fd(watch, fd)) {
        return false;
    }
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        return false;
    }
    bool ok = true;
    for (const struct dirent *entry; ok && (entry = readdir(dir)) != NULL;) {
        ok = take_entry(walk, fd, entry, len, depth);
    }
    (void)SBX_TAKE(fd, -1);
    (void)closedir(dir);
    return ok;
}

static bool watch_tree(struct sbx_pool_watch *watch, struct sbx_path path)
{
    struct walk walk = {.watch = watch};
    if (path.len <= 1 || path.len >= sizeof walk.path) {
        return false; /* the whole machine */
    }
    memcpy(walk.path, path.text, path.len);
    walk.path[path.len] = '\0';
    return watch_below(&walk, AT_FDCWD, walk.path, path.len, 0);
}

/* Names are searched below what is writable and where globs begin; of the rest each path counts alone. */
static bool watch_rule(struct sbx_pool_watch *watch, const struct sbx_rule *rule)
{
    struct sbx_path path = rule->path;
    if (rule->is_glob) {
        path = sbx_glob_base(path);
        path = sbx_path_glob_match(rule->path, path) ? sbx_path_up(path) : path;
    }
    bool is_searched =
        rule->is_glob || (rule->kind == SBX_RULE_HOST && rule->access == SBX_ACCESS_WRITE);
    return add_spot(watch, path.text, path.len) && (!is_searched || watch_tree(watch, path));
}

void sbx_pool_watch_begin(struct sbx_pool_watch *watch, const struct sbx_policy *policy)
{
    uint64_t epoch = watch->epoch + 1;
    bool was_hopeless = watch->is_hopeless;
    sbx_pool_watch_release(watch);
    sbx_pool_watch_init(watch);
    watch->epoch = epoch;
    watch->is_hopeless = was_hopeless;
    if (was_hopeless) {
        return;
    }
    watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    bool ok = watch->fd >= 0;
    for (size_t i = 0; i < policy->rules.count && ok; i++) {
        ok = watch_rule(watch, &policy->rules.items[i]);
    }
    watch->is_complete = ok;
    watch->is_hopeless = !ok;
    if (!ok) {
        sbx_fd_close(&watch->fd);
    }
}

/* ---- what happened ------------------------------------------------------------------------------- */

/* Anything new may be a directory, or a link, which is not watched yet. */
static bool is_harmless(const struct inotify_event *event)
{
    return (event->mask &
            ~(uint32_t)(IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM | IN_ISDIR)) == 0;
}

static void take_events(struct sbx_pool_watch *watch, const char *bytes, size_t len)
{
    for (size_t at = 0; at + sizeof(struct inotify_event) <= len;) {
        struct inotify_event event;
        memcpy(&event, bytes + at, sizeof event);
        watch->is_complete &= is_harmless(&event);
        at += sizeof event + event.len;
    }
}

bool sbx_pool_watch_holds(struct sbx_pool_watch *watch)
{
    char bytes[4096];
    for (int i = 0; i < ROUNDS && watch->is_complete; i++) {
        ssize_t got = read(watch->fd, bytes, sizeof bytes);
        if (got < 0 && errno == EAGAIN) {
            break;
        }
        watch->epoch++;
        if (got <= 0 || i == ROUNDS - 1) {
            watch->is_complete = false;
        } else {
            take_events(watch, bytes, (size_t)got);
        }
    }
    if (watch->is_complete && !spots_hold(watch)) {
        watch->is_complete = false;
        watch->epoch++;
    }
    return watch->is_complete;
}
