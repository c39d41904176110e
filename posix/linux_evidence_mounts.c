/* Evidence about mounts: what the kernel lists in the box against the plan. */
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/linux_evidence.h"
#include "posix/linux_line.h"
#include "posix/linux_mountindex.h"
#include "posix/linux_own.h"

#include "common/base/banned.h"

struct look {
    struct sbx_evidence_list *list;
    const struct sbx_mounts *mounts;
    const struct sbx_policy *policy;
    struct sbx_mountinfo_list inside_list;
    struct sbx_mountindex inside; /* of the box */
    struct sbx_own *own;
    bool is_own_early;         /* what is not found there may be found in a newer list */
    struct sbx_places planned; /* by path; a link has none */
    bool *locked;              /* of each planned one: its path leads to it, and it is read-only */
    int root_fd;               /* of the box */
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
    if (syscall(SYS_statx, look->root_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
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
        return sbx_mountindex_at(&look->inside, path);
    }
    struct sbx_mountinfo *line = sbx_mountindex_id(&look->inside, seen->mount_id);
    return line != NULL && strcmp(line->place, path) == 0 ? line : NULL;
}

/* A file system that was made for this box: nothing of the host's is in it. */
static bool is_own(const struct look *look, const struct sbx_mountinfo *line)
{
    const struct sbx_mountinfo_list *own = look->own->mounts.list;
    for (size_t i = 0; i < own->count; i++) {
        if (own->items[i].major == line->major && own->items[i].minor == line->minor) {
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
    struct statfs info;
    AUTO_FD fd = openat(look->root_fd, path + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 || fstatfs(fd, &info) != 0 ? 0 : (uint64_t)info.f_blocks * (uint64_t)info.f_bsize;
}

/* A tmpfs counts in pages. */
static uint64_t in_pages(uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

/* "tmpfs ro nosuid nodev mode 0000 4096 bytes" */
struct words {
    const char *what;
    bool is_read_only, no_set_id, no_devices;
    unsigned mode;
    uint64_t bytes;
};

static void describe(struct sbx_line *out, const struct words *words, const struct expected *want)
{
    sbx_line_set(out, words->what);
    sbx_line_add(out, words->is_read_only ? " ro" : " rw");
    sbx_line_add(out, words->no_set_id ? " nosuid" : "");
    sbx_line_add(out, words->no_devices ? " nodev" : "");
    if (want->has_mode) {
        sbx_line_add(out, " mode ");
        sbx_line_octal(out, words->mode, 4);
    }
    if (want->has_size) {
        sbx_line_add(out, " ");
        sbx_line_number(out, words->bytes);
        sbx_line_add(out, " bytes");
    }
}

static bool are_same(const struct words *a, const struct words *b)
{
    return strcmp(a->what, b->what) == 0 && a->is_read_only == b->is_read_only &&
           a->no_set_id == b->no_set_id && a->no_devices == b->no_devices && a->mode == b->mode &&
           a->bytes == b->bytes;
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

static struct words planned_words(const struct sbx_mount *mount, const struct expected *want)
{
    bool is_mask = mount->kind == SBX_MOUNT_MASK;
    return (struct words){
        .what = mount->kind == SBX_MOUNT_MASK_FILE ? "null device"
                : want->kind == NULL               ? "bind"
                                                   : want->kind,
        .is_read_only = want->is_read_only,
        .no_set_id = true,
        .no_devices = true,
        .mode = !want->has_mode      ? 0
                : !is_mask           ? 01777
                : mount->is_reopened ? 0111
                                     : 0,
        .bytes = want->has_size ? in_pages(is_mask ? SBX_MOUNTS_MASK_BYTES : mount->size_bytes) : 0,
    };
}

static void check_mount(const struct look *look, size_t index)
{
    const struct sbx_mount *mount = &look->mounts->items[index];
    const struct expected *want = &expectations[mount->kind];
    struct words planned = planned_words(mount, want);
    struct seen seen = see(look, mount->path);
    struct sbx_mountinfo *line = mount_at(look, mount->path, &seen);
    struct sbx_line what;
    struct sbx_line wanted;
    struct sbx_line got;
    sbx_line_set(&what, "mount.");
    sbx_line_add(&what, mount->path);
    describe(&wanted, &planned, want);
    if (line == NULL) {
        sbx_evidence_add(look->list, what.text, wanted.text, "missing", false);
        return;
    }
    line->is_known = true;
    look->locked[index] = seen.mount_id != 0 && line->is_read_only;
    struct words found = {
        .what = nature(look, mount, line, &seen),
        .is_read_only = line->is_read_only,
        .no_set_id = line->no_set_id,
        .no_devices = line->no_devices,
        .mode = want->has_mode ? seen.mode : 0,
        .bytes = want->has_size ? bytes_of(look, mount->path) : 0,
    };
    bool is_same = are_same(&planned, &found);
    if (!is_same) {
        describe(&got, &found, want);
    }
    sbx_evidence_add(look->list, what.text, wanted.text, is_same ? wanted.text : got.text, is_same);
}

static void check_link(const struct look *look, const struct sbx_mount *mount)
{
    struct sbx_line what;
    char got[4096];
    ssize_t len = readlinkat(look->root_fd, mount->path + 1, got, sizeof got - 1);
    got[len > 0 ? len : 0] = '\0';
    sbx_line_set(&what, "link.");
    sbx_line_add(&what, mount->path);
    sbx_evidence_same(look->list, what.text, mount->link, len > 0 ? got : "missing");
}

/* The plan's order is the kernel's: a mount that came before its parent would be hidden by it. */
static void check_order(const struct look *look)
{
    const struct sbx_mountinfo *last = NULL;
    const char *wrong = NULL;
    for (size_t i = 0; i < look->mounts->count; i++) {
        const struct sbx_mount *mount = &look->mounts->items[i];
        const struct sbx_mountinfo *line =
            mount->kind == SBX_MOUNT_LINK ? NULL : sbx_mountindex_at(&look->inside, mount->path);
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

static bool is_listed(const struct sbx_mountindex *own, const struct sbx_mountinfo *line)
{
    struct sbx_str place = sbx_str(line->place);
    long at = SBX_PLACES_NONE;
    while ((at = sbx_places_find(&own->places, place, at)) != SBX_PLACES_NONE) {
        const struct sbx_mountinfo *other = &own->list->items[at];
        if (other->major == line->major && other->minor == line->minor &&
            strcmp(other->root, line->root) == 0) {
            return true;
        }
    }
    return false;
}

/* A bind takes along what is mounted below its source: the very same, at the very same place. The host may have
 * mounted it after its mounts were listed; so they are listed again before it counts as a stranger's. */
static bool came_along(struct look *look, const struct sbx_mountinfo *line)
{
    if (is_listed(&look->own->mounts, line)) {
        return true;
    }
    if (!look->is_own_early) {
        return false;
    }
    look->is_own_early = false;
    return sbx_own_list_mounts(look->own, look->list->arena) && is_listed(&look->own->mounts, line);
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
static const char *objection(struct look *look, const struct sbx_mountinfo *line)
{
    long nearest = sbx_places_above(&look->planned, sbx_str(line->place));
    const struct sbx_mount *above =
        nearest == SBX_PLACES_NONE ? NULL : &look->mounts->items[nearest];
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

/* So that what follows it is seen as well. */
static struct sbx_str cut(const char *place)
{
    enum { MOST = 300 };
    struct sbx_str text = sbx_str(place);
    text.len = text.len < MOST ? text.len : MOST;
    return text;
}

static void check_rest(struct look *look)
{
    struct sbx_line got;
    const char *shared = "none";
    sbx_line_set(&got, "none");
    for (size_t i = 0; i < look->inside_list.count; i++) {
        const struct sbx_mountinfo *line = &look->inside_list.items[i];
        const char *wrong = line->is_known ? NULL : objection(look, line);
        if (wrong != NULL && !sbx_mountindex_is_hidden(&look->inside, line)) {
            got.len = 0;
            sbx_line_add_str(&got, cut(line->place));
            sbx_line_add(&got, " ");
            sbx_line_add(&got, wrong);
        }
        if (line->is_shared) {
            shared = line->place;
        }
    }
    sbx_evidence_same(look->list, "mounts.unplanned-or-writable", "none", got.text);
    sbx_evidence_same(look->list, "mounts.shared-with-the-host", "none", shared);
}

static bool open_look(struct look *look, const struct sbx_proc *proc)
{
    struct sbx_arena *arena = look->list->arena;
    const struct sbx_mounts *mounts = look->mounts;
    look->root_fd = openat(proc->dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    look->is_own_early = look->own->has_mounts;
    look->locked = SBX_NEW_ARRAY(arena, bool, mounts->count);
    if (look->root_fd < 0 || look->locked == NULL ||
        !sbx_mountinfo_read(arena, proc->dir, &look->inside_list) ||
        !sbx_mountindex_make(arena, &look->inside_list, &look->inside) ||
        (!look->is_own_early && !sbx_own_list_mounts(look->own, arena)) ||
        !sbx_places_init(&look->planned, arena, mounts->count)) {
        return false;
    }
    for (size_t i = 0; i < mounts->count; i++) {
        bool is_link = mounts->items[i].kind == SBX_MOUNT_LINK;
        sbx_places_add(&look->planned, is_link ? "" : mounts->items[i].path);
    }
    return true;
}

static void close_look(struct look *look)
{
    sbx_fd_close(&look->root_fd);
}

const bool *sbx_evidence_mounts(struct sbx_evidence_list *list, const struct sbx_proc *proc,
                                const struct sbx_policy *policy, const struct sbx_mounts *mounts,
                                struct sbx_own *own)
{
    SBX_CLEANUP(close_look)
    struct look look = {
        .list = list, .mounts = mounts, .policy = policy, .own = own, .root_fd = -1};
    if (!open_look(&look, proc)) {
        sbx_evidence_add(list, "mounts", "readable", "unreadable", false);
        return NULL;
    }
    for (size_t i = 0; i < mounts->count; i++) {
        if (mounts->items[i].kind == SBX_MOUNT_LINK) {
            check_link(&look, &mounts->items[i]);
        } else {
            check_mount(&look, i);
        }
    }
    if (!mounts->has_own_order) {
        check_order(&look);
    }
    check_rest(&look);
    return look.locked;
}
