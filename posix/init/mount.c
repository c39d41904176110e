/* The mounts of a box. Everything is done by descriptor: a path is resolved once, without following a link, and what it
 * leads to must be the very file that sbx saw. */
#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <stddef.h>

#include "posix/init/mount.h"
#include "posix/init/sys.h"
#include "posix/init/text.h"

#include "common/base/banned.h"

enum {
    NOT_THERE = -2,
    CHANGED = -116, /* ESTALE: another file than the planned one */
    PATH_BYTES = 4096,
};

/* What programs expect in /dev, besides what is linked or mounted there. */
static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                      "/dev/random", "/dev/urandom", "/dev/tty"};
enum { DEVICES = sizeof devices / sizeof devices[0] };

static const struct {
    const char *name, *target;
} device_links[] = {
    {"ptmx", "pts/ptmx"},          {"fd", "/proc/self/fd"},       {"stdin", "/proc/self/fd/0"},
    {"stdout", "/proc/self/fd/1"}, {"stderr", "/proc/self/fd/2"}, {"core", "/proc/kcore"},
};

static struct {
    long proc;            /* until it is placed, as the next */
    long device[DEVICES]; /* clones */
    long empty; /* an empty directory that is placed somewhere, to be used again; -1: none */
} taken;

/* ---- calls --------------------------------------------------------------------------------------- */

long init_make_fs(const char *kind, const char *mode, const char *size, bool is_read_only)
{
    const char *const options[][2] = {{"mode", mode}, {"size", size}};
    long fs = SYS2(fsopen, kind, FSOPEN_CLOEXEC);
    long answer = fs;
    for (size_t i = 0; i < 2 && answer >= 0; i++) {
        if (options[i][1] != NULL) {
            answer = SYS5(fsconfig, fs, FSCONFIG_SET_STRING, options[i][0], options[i][1], 0);
        }
    }
    if (answer >= 0) {
        answer = SYS5(fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0);
    }
    if (answer >= 0) {
        answer =
            SYS3(fsmount, fs, FSMOUNT_CLOEXEC,
                 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (is_read_only ? MOUNT_ATTR_RDONLY : 0));
    }
    if (fs >= 0) {
        (void)SYS1(close, fs);
    }
    return answer;
}

static long restrict_mount(long fd, const char *path, unsigned flags, bool is_read_only)
{
    struct mount_attr value = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                           (is_read_only ? MOUNT_ATTR_RDONLY : 0)};
    return SYS5(mount_setattr, fd, path, flags, &value, sizeof value);
}

long init_restrict(long fd, const char *path, bool is_read_only)
{
    return restrict_mount(fd, path, path[0] == '\0' ? AT_EMPTY_PATH : AT_RECURSIVE, is_read_only);
}

static void must(const struct init *init, const struct sbx_init_mount *mount, int32_t step,
                 long answer)
{
    if (answer < 0) {
        init_fail_at(step, answer, (const char *)init_at(init, mount->path));
    }
}

static long clone_of(long fd, const char *path)
{
    return SYS3(open_tree, fd, path,
                OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW |
                    AT_NO_AUTOMOUNT | (path[0] == '\0' ? AT_EMPTY_PATH : 0));
}

/* ---- sources ------------------------------------------------------------------------------------- */

static long check_source(const struct sbx_init_mount *mount, long fd)
{
    struct statx info = {.stx_ino = 0};
    long answer =
        fd < 0 ? fd : SYS5(statx, fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_INO, &info);
    if (answer < 0) {
        return answer;
    }
    return info.stx_dev_major == mount->device_major && info.stx_dev_minor == mount->device_minor &&
                   info.stx_ino == mount->inode
               ? fd
               : CHANGED;
}

/* The host's file or directory with everything mounted below it, as it may be seen in the box. */
static long take_source(const struct init *init, const struct sbx_init_mount *mount)
{
    long fd = clone_of(AT_FDCWD, (const char *)init_at(init, mount->path));
    must(init, mount, SBX_INIT_STEP_SOURCE, check_source(mount, fd));
    must(init, mount, SBX_INIT_STEP_SOURCE,
         restrict_mount(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, mount->kind == SBX_BUILD_READ));
    return fd;
}

/* A new one may only be made as long as the host's can be seen whole. With it the right to make user namespaces ends:
 * through the new one, since a container may have made the host's settings read-only. Nobody in the box has the
 * capability to raise it again. */
static long make_proc(void)
{
    long fd = init_make_fs("proc", NULL, NULL, false);
    if (fd < 0) {
        init_fail(SBX_INIT_STEP_PROC, fd);
    }
    long limit = SYS4(openat, fd, "sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC, 0);
    long answer = limit < 0 ? limit : SYS3(write, limit, "0", 1);
    if (answer < 0) {
        init_fail(SBX_INIT_STEP_USERNS, answer);
    }
    (void)SYS1(close, limit);
    return fd;
}

void init_take_system(void)
{
    taken.proc = make_proc();
    for (size_t i = 0; i < DEVICES; i++) {
        taken.device[i] = clone_of(AT_FDCWD, devices[i]);
    }
}

static struct sbx_init_mount *rows(const struct init *init)
{
    return (struct sbx_init_mount *)init_at(init, init->plan->mounts.at);
}

void init_take_sources(const struct init *init)
{
    struct sbx_init_mount *row = rows(init);
    for (uint32_t i = 0; i < init->plan->mounts.count; i++) {
        if ((row[i].flags & SBX_BUILD_EARLY) != 0) {
            row[i].fd = (int32_t)take_source(init, &row[i]);
        }
    }
}

/* ---- places -------------------------------------------------------------------------------------- */

static long open_place(const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    return SYS4(openat2, AT_FDCWD, path, &how, sizeof how);
}

/* In a directory of the box's own; nothing is ever made in one of the host. */
static long make_place(const char *path, uint32_t from, bool is_directory)
{
    char part[PATH_BYTES];
    size_t length = text_length(path);
    if (length >= sizeof part) {
        return -36; /* ENAMETOOLONG */
    }
    for (size_t i = 0; i < length; i++) {
        part[i] = path[i];
        part[i + 1] = '\0';
        if (i > from && path[i + 1] == '/') {
            (void)SYS3(mkdirat, AT_FDCWD, part, 0755);
        }
    }
    if (is_directory) {
        return SYS3(mkdirat, AT_FDCWD, path, 0755);
    }
    long fd = SYS4(openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    return fd < 0 ? fd : SYS1(close, fd);
}

static long place_of(const struct init *init, const struct sbx_init_mount *mount)
{
    const char *path = (const char *)init_at(init, mount->path);
    long fd = open_place(path);
    if (fd == NOT_THERE && (mount->flags & SBX_BUILD_IN_PRIVATE) != 0) {
        must(init, mount, SBX_INIT_STEP_PLACE,
             make_place(path, mount->private_bytes, (mount->flags & SBX_BUILD_IS_DIRECTORY) != 0));
        fd = open_place(path);
    }
    must(init, mount, SBX_INIT_STEP_PLACE, fd);
    return fd;
}

static void attach(const struct init *init, const struct sbx_init_mount *mount, long fd)
{
    long place = place_of(init, mount);
    must(init, mount, SBX_INIT_STEP_MOUNT,
         SYS5(move_mount, fd, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
    (void)SYS1(close, place);
}

static void attach_and_close(const struct init *init, const struct sbx_init_mount *mount, long fd)
{
    attach(init, mount, fd);
    (void)SYS1(close, fd);
}

/* ---- kinds --------------------------------------------------------------------------------------- */

static void place_bind(const struct init *init, struct sbx_init_mount *mount)
{
    bool is_early = (mount->flags & SBX_BUILD_EARLY) != 0;
    attach_and_close(init, mount, is_early ? mount->fd : take_source(init, mount));
}

static void place_tmpfs(const struct init *init, struct sbx_init_mount *mount)
{
    long fd = init_make_fs("tmpfs", "1777", (const char *)init_at(init, mount->text), false);
    must(init, mount, SBX_INIT_STEP_MOUNT, fd);
    attach_and_close(init, mount, fd);
}

/* Passing through is needed to what is opened again below; all others are the same empty directory. */
static void place_mask(const struct init *init, struct sbx_init_mount *mount)
{
    const char *size = (const char *)init_at(init, mount->text);
    if ((mount->flags & SBX_BUILD_IS_REOPENED) != 0) {
        long fd = init_make_fs("tmpfs", "0111", size, false);
        must(init, mount, SBX_INIT_STEP_MOUNT, fd);
        attach(init, mount, fd);
        mount->fd = (int32_t)fd; /* read-only when all below it is there */
    } else if (taken.empty >= 0) {
        long fd = clone_of(taken.empty, "");
        must(init, mount, SBX_INIT_STEP_MOUNT, fd);
        attach_and_close(init, mount, fd);
    } else {
        taken.empty = init_make_fs("tmpfs", "0000", size, true);
        must(init, mount, SBX_INIT_STEP_MOUNT, taken.empty);
        attach(init, mount, taken.empty);
    }
}

/* The null device, on a mount without devices. */
static void place_mask_file(const struct init *init, struct sbx_init_mount *mount)
{
    long fd = clone_of(AT_FDCWD, devices[0]);
    must(init, mount, SBX_INIT_STEP_MOUNT, fd);
    must(init, mount, SBX_INIT_STEP_MOUNT, restrict_mount(fd, "", AT_EMPTY_PATH, true));
    attach_and_close(init, mount, fd);
}

static void place_link(const struct init *init, struct sbx_init_mount *mount)
{
    const char *path = (const char *)init_at(init, mount->path);
    const char *target = (const char *)init_at(init, mount->text);
    long answer = SYS3(symlinkat, target, AT_FDCWD, path);
    if (answer == NOT_THERE) {
        /* Its directory, made as the one above a file that is then not needed. */
        must(init, mount, SBX_INIT_STEP_PLACE, make_place(path, mount->private_bytes, false));
        must(init, mount, SBX_INIT_STEP_PLACE, SYS3(unlinkat, AT_FDCWD, path, 0));
        answer = SYS3(symlinkat, target, AT_FDCWD, path);
    }
    must(init, mount, SBX_INIT_STEP_PLACE, answer);
}

static void place_proc(const struct init *init, struct sbx_init_mount *mount)
{
    attach_and_close(init, mount, taken.proc);
}

static void place_dev(const struct init *init, struct sbx_init_mount *mount)
{
    long fd = init_make_fs("tmpfs", "0755", NULL, false);
    must(init, mount, SBX_INIT_STEP_DEVICES, fd);
    attach(init, mount, fd);
    mount->fd = (int32_t)fd;
    for (size_t i = 0; i < DEVICES; i++) {
        const char *name = devices[i] + sizeof "/dev/" - 1;
        if (taken.device[i] == NOT_THERE) {
            continue; /* the host has none either */
        }
        must(init, mount, SBX_INIT_STEP_DEVICES, taken.device[i]);
        long file = SYS4(openat, fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        must(init, mount, SBX_INIT_STEP_DEVICES, file);
        (void)SYS1(close, file);
        must(init, mount, SBX_INIT_STEP_DEVICES,
             SYS5(move_mount, taken.device[i], "", fd, name, MOVE_MOUNT_F_EMPTY_PATH));
        (void)SYS1(close, taken.device[i]);
    }
    for (size_t i = 0; i < sizeof device_links / sizeof device_links[0]; i++) {
        must(init, mount, SBX_INIT_STEP_DEVICES,
             SYS3(symlinkat, device_links[i].target, fd, device_links[i].name));
    }
    must(init, mount, SBX_INIT_STEP_DEVICES, SYS3(mkdirat, fd, "shm", 0755));
    must(init, mount, SBX_INIT_STEP_DEVICES, SYS3(mkdirat, fd, "pts", 0755));
    must(init, mount, SBX_INIT_STEP_DEVICES,
         SYS5(mount, "devpts", "/dev/pts", "devpts", 2 | 8 /* nosuid, noexec */,
              "newinstance,ptmxmode=0666,mode=620"));
}

void init_place_mounts(const struct init *init)
{
    static void (*const place[])(const struct init *, struct sbx_init_mount *) = {
        [SBX_BUILD_WRITE] = place_bind,          [SBX_BUILD_READ] = place_bind,
        [SBX_BUILD_TMPFS] = place_tmpfs,         [SBX_BUILD_MASK] = place_mask,
        [SBX_BUILD_MASK_FILE] = place_mask_file, [SBX_BUILD_LINK] = place_link,
        [SBX_BUILD_PROC] = place_proc,           [SBX_BUILD_DEV] = place_dev,
    };
    struct sbx_init_mount *row = rows(init);
    uint32_t count = init->plan->mounts.count;
    uint32_t first = (init->plan->flags & SBX_INIT_HOST_ROOT) != 0 ? 1 : 0; /* the root itself */
    taken.empty = -1;
    /* Closed files are made of a device, wherever they are in the order. */
    for (uint32_t i = first; i < count; i++) {
        if (row[i].kind == SBX_BUILD_DEV) {
            place_dev(init, &row[i]);
        }
    }
    for (uint32_t i = first; i < count; i++) {
        if (row[i].kind != SBX_BUILD_DEV) {
            place[row[i].kind](init, &row[i]);
        }
    }
    for (uint32_t i = count; i-- > first;) {
        bool is_open = row[i].kind == SBX_BUILD_DEV ||
                       (row[i].kind == SBX_BUILD_MASK && (row[i].flags & SBX_BUILD_IS_REOPENED));
        if (is_open) {
            must(init, &row[i], SBX_INIT_STEP_MOUNT, init_restrict(row[i].fd, "", true));
        }
    }
}
