/* Evidence about mounts: what the kernel lists in the box against the plan. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/linux_evidence.h"
#include "posix/linux_mountinfo.h"

#include "common/base/banned.h"

struct look {
    struct sbx_evidence_list *list;
    const struct sbx_mounts *mounts;
    const struct sbx_policy *policy;
    struct sbx_mountinfo_list inside, own; /* of the box, and of sbx */
    int root_fd;                           /* of the box */
};

/* What lies at a place, seen from the box's root. No component of a planned path is a link, so that none can
 * lead out of it. */
struct seen {
    bool is_there;
    uint64_t mount_id; /* 0: this kernel does not tell (before 5.8) */
    uint64_t device, inode;
    unsigned type, mode;
    dev_t node; /* of a device file */
};

static struct seen see(const struct look *look, const char *path)
{
    struct statx info = {0};
    const char *name = path[1] == '\0' ? "." : path + 1;
    if (statx(look->root_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
              STATX_BASIC_STATS | STATX_MNT_ID, &info) != 0) {
        return (struct seen){.is_there = false};
    }
    return (struct seen){
        .is_there = true,
        .mount_id = (info.stx_mask & STATX_MNT_ID) != 0 ? info.stx_mnt_id : 0,
        .device = makedev(info.stx_dev_major, info.stx_dev_minor),
        .inode = info.stx_ino,
        .type = info.stx_mode & S_IFMT,
        .mode = info.stx_mode & 07777u,
        .node = makedev(info.stx_rdev_major, info.stx_rdev_minor),
    };
}

/* The mount that the path really leads to. A mount of that name that something else hides is not it. */
static struct sbx_mountinfo *mount_at(const struct look *look, const char *path,
                                      const struct seen *seen)
{
    if (!seen->is_there) {
        return NULL;
    }
    if (seen->mount_id == 0) {
        return sbx_mountinfo_at(&look->inside, path);
    }
    for (size_t i = 0; i < look->inside.count; i++) {
        struct sbx_mountinfo *line = &look->inside.items[i];
        if (line->id == seen->mount_id) {
            return strcmp(line->place, path) == 0 ? line : NULL;
        }
    }
    return NULL;
}

/* A file system that was made for this box: nothing of the host's is in it. */
static bool is_own(const struct look *look, const struct sbx_mountinfo *line)
{
    for (size_t i = 0; i < look->own.count; i++) {
        if (look->own.items[i].major == line->major && look->own.items[i].minor == line->minor) {
            return false;
        }
    }
    return true;
}

/* ---- what was planned ---------------------------------------------------------------------------- */

struct expected {
    const char *kind; /* of a file system of the box's own; NULL: something of the host */
    bool is_read_only;
    bool has_mode, has_size;
};

static const struct expected expectations[] = {
    [SBX_MOUNT_WRITE] = {NULL, false, false, false},
    [SBX_MOUNT_READ] = {NULL, true, false, false},
    [SBX_MOUNT_MASK_FILE] = {NULL, true, false, false},
    [SBX_MOUNT_TMPFS] = {"tmpfs", false, true, true},
    [SBX_MOUNT_MASK] = {"tmpfs", true, true, true},
    [SBX_MOUNT_PROC] = {"proc", false, false, false},
    [SBX_MOUNT_DEV] = {"tmpfs", true, false, false},
    [SBX_MOUNT_LINK] = {NULL, false, false, false},
};

static uint64_t bytes_of(const struct look *look, const char *path)
{
    char place[64];
    struct statfs info;
    AUTO_FD fd = openat(look->root_fd, path + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    (void)snprintf(place, sizeof place, "/proc/self/fd/%d", fd);
    return fd < 0 || statfs(place, &info) != 0 ? 0
                                               : (uint64_t)info.f_blocks * (uint64_t)info.f_bsize;
}

/* A tmpfs counts in pages. */
static uint64_t in_pages(uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static void describe(char *out, size_t size, const char *what, bool is_read_only, const char *flags)
{
    (void)snprintf(out, size, "%s %s%s", what, is_read_only ? "ro" : "rw", flags);
}

static void add_detail(char *out, size_t size, const struct expected *want, unsigned mode,
                       uint64_t bytes)
{
    size_t len = strlen(out);
    if (want->has_mode && len < size) {
        (void)snprintf(out + len, size - len, " mode %04o", mode);
        len = strlen(out);
    }
    if (want->has_size && len < size) {
        (void)snprintf(out + len, size - len, " %" PRIu64 " bytes", bytes);
    }
}

static bool is_null_device(const struct seen *seen)
{
    return seen->type == S_IFCHR && seen->node == makedev(1, 3);
}

/* What a mount is, in the words of the plan. */
static const char *nature(const struct look *look, const struct sbx_mount *mount,
                          const struct sbx_mountinfo *line, const struct seen *seen)
{
    if (mount->kind == SBX_MOUNT_MASK_FILE) {
        return is_null_device(seen) ? "null device" : "file";
    }
    if (expectations[mount->kind].kind == NULL) {
        bool is_right = seen->device == mount->device && seen->inode == mount->inode;
        return is_right ? "bind" : "bind of another file";
    }
    return is_own(look, line) ? line->kind : "of the host:";
}

static void check_mount(const struct look *look, const struct sbx_mount *mount)
{
    const struct expected *want = &expectations[mount->kind];
    struct seen seen = see(look, mount->path);
    struct sbx_mountinfo *line = mount_at(look, mount->path, &seen);
    char what[400];
    char wanted[128];
    char got[160];
    unsigned mode = mount->kind != SBX_MOUNT_MASK ? 01777 : mount->is_reopened ? 0111 : 0;
    const char *name = mount->kind == SBX_MOUNT_MASK_FILE ? "null device"
                       : want->kind == NULL               ? "bind"
                                                          : want->kind;
    (void)snprintf(what, sizeof what, "mount.%.380s", mount->path);
    describe(wanted, sizeof wanted, name, want->is_read_only, " nosuid nodev");
    add_detail(wanted, sizeof wanted, want, mode,
               in_pages(mount->kind == SBX_MOUNT_MASK ? SBX_MOUNTS_MASK_BYTES : mount->size_bytes));
    if (line == NULL) {
        sbx_evidence_add(look->list, what, wanted, "missing", false);
        return;
    }
    line->is_known = true;
    describe(got, sizeof got, nature(look, mount, line, &seen), line->is_read_only,
             line->no_set_id    ? line->no_devices ? " nosuid nodev" : " nosuid"
             : line->no_devices ? " nodev"
                                : "");
    add_detail(got, sizeof got, want, seen.mode, want->has_size ? bytes_of(look, mount->path) : 0);
    sbx_evidence_same(look->list, what, wanted, got);
}

static void check_link(const struct look *look, const struct sbx_mount *mount)
{
    char what[400];
    char got[4096] = "";
    ssize_t len = readlinkat(look->root_fd, mount->path + 1, got, sizeof got - 1);
    got[len > 0 ? len : 0] = '\0';
    (void)snprintf(what, sizeof what, "link.%.380s", mount->path);
    sbx_evidence_same(look->list, what, mount->link, len > 0 ? got : "missing");
}

/* The plan's order is the kernel's: a mount that came before its parent would be hidden by it. */
static void check_order(const struct look *look)
{
    const struct sbx_mountinfo *last = NULL;
    const char *wrong = NULL;
    for (size_t i = 0; i < look->mounts->count; i++) {
        const struct sbx_mount *mount = &look->mounts->items[i];
        const struct sbx_mountinfo *line =
            mount->kind == SBX_MOUNT_LINK ? NULL : sbx_mountinfo_at(&look->inside, mount->path);
        if (line != NULL) {
            wrong = last != NULL && line < last ? mount->path : wrong;
            last = line;
        }
    }
    sbx_evidence_add(look->list, "mounts.order", "as planned", wrong == NULL ? "as planned" : wrong,
                     wrong == NULL);
}

/* ---- what was not planned ------------------------------------------------------------------------ */

/* What bwrap itself puts below its /dev: the same devices as outside, and pseudo-terminals. */
static bool is_plain_device(const struct look *look, const struct sbx_mountinfo *line)
{
    static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                          "/dev/random", "/dev/urandom", "/dev/tty"};
    if (strcmp(line->place, "/dev/pts") == 0) {
        return strcmp(line->kind, "devpts") == 0 && is_own(look, line);
    }
    for (size_t i = 0; i < SBX_COUNT(devices); i++) {
        struct stat outside;
        if (strcmp(line->place, devices[i]) == 0) {
            struct seen seen = see(look, line->place);
            return seen.is_there && seen.type == S_IFCHR && stat(devices[i], &outside) == 0 &&
                   S_ISCHR(outside.st_mode) && outside.st_rdev == seen.node;
        }
    }
    return false;
}

/* A bind takes along what is mounted below its source: the very same, at the very same place. */
static bool came_along(const struct look *look, const struct sbx_mountinfo *line)
{
    for (size_t i = 0; i < look->own.count; i++) {
        const struct sbx_mountinfo *own = &look->own.items[i];
        if (own->major == line->major && own->minor == line->minor &&
            strcmp(own->root, line->root) == 0 && strcmp(own->place, line->place) == 0) {
            return true;
        }
    }
    return false;
}

/* The administrator let the manifest ask for it: empty file systems only. */
static bool is_raw(const struct look *look, const struct sbx_mountinfo *line)
{
    const struct sbx_policy *policy = look->policy;
    for (size_t i = 0; i + 1 < policy->raw_arg_count; i++) {
        bool is_kind = strcmp(policy->raw_args[i], "--tmpfs") == 0 ||
                       strcmp(policy->raw_args[i], "--mqueue") == 0;
        if (is_kind && strcmp(policy->raw_args[i] + 2, line->kind) == 0 &&
            strcmp(policy->raw_args[i + 1], line->place) == 0) {
            return is_own(look, line);
        }
    }
    return false;
}

/* NULL when it may be there. */
static const char *objection(const struct look *look, const struct sbx_mountinfo *line)
{
    const struct sbx_mount *above = NULL;
    for (size_t i = 0; i < look->mounts->count; i++) {
        const struct sbx_mount *mount = &look->mounts->items[i];
        if (mount->kind != SBX_MOUNT_LINK && sbx_mountinfo_is_within(mount->path, line->place)) {
            above = mount; /* parents come first, so the last is the nearest */
        }
    }
    if (is_raw(look, line)) {
        return NULL;
    }
    if (above == NULL) { /* the private root */
        bool is_root = strcmp(line->place, "/") == 0 && !look->mounts->has_host_root;
        return !is_root              ? "was not planned"
               : !is_own(look, line) ? "is the host's"
               : !line->is_read_only ? "is writable"
                                     : NULL;
    }
    if (above->kind == SBX_MOUNT_DEV) {
        return is_plain_device(look, line) ? NULL : "was not planned";
    }
    if ((above->kind != SBX_MOUNT_WRITE && above->kind != SBX_MOUNT_READ) ||
        !came_along(look, line)) {
        return "was not planned";
    }
    return above->kind == SBX_MOUNT_READ && !line->is_read_only ? "is writable" : NULL;
}

static void check_rest(const struct look *look)
{
    char got[400] = "none";
    char shared[400] = "none";
    for (size_t i = 0; i < look->inside.count; i++) {
        const struct sbx_mountinfo *line = &look->inside.items[i];
        const char *wrong = line->is_known ? NULL : objection(look, line);
        if (wrong != NULL && !sbx_mountinfo_is_hidden(&look->inside, line)) {
            (void)snprintf(got, sizeof got, "%.300s %s", line->place, wrong);
        }
        if (line->is_shared) {
            (void)snprintf(shared, sizeof shared, "%.300s", line->place);
        }
    }
    sbx_evidence_same(look->list, "mounts.unplanned-or-writable", "none", got);
    sbx_evidence_same(look->list, "mounts.shared-with-the-host", "none", shared);
}

void sbx_evidence_mounts(struct sbx_evidence_list *list, pid_t pid, const struct sbx_policy *policy,
                         const struct sbx_mounts *mounts)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
    AUTO_FD root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct look look = {.list = list, .mounts = mounts, .policy = policy, .root_fd = root};
    if (root < 0 || !sbx_mountinfo_read(list->arena, pid, &look.inside) ||
        !sbx_mountinfo_read(list->arena, getpid(), &look.own)) {
        sbx_evidence_add(list, "mounts", "readable", "unreadable", false);
        return;
    }
    for (size_t i = 0; i < mounts->count; i++) {
        if (mounts->items[i].kind == SBX_MOUNT_LINK) {
            check_link(&look, &mounts->items[i]);
        } else {
            check_mount(&look, &mounts->items[i]);
        }
    }
    check_order(&look);
    check_rest(&look);
}
