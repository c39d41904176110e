/* Attacks on files that may be read but not changed: everything about a file besides its bytes. */
#include "tests/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/base/banned.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

/* Each runs on a file of the readable directory, and again on one that was not given at all. */
static int change_chmod(const char *path)
{
    return chmod(path, 0600);
}

static int change_fchmod(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -1 : fchmod(fd, 0600);
}

static int change_fchmodat2(const char *path)
{
    return (int)syscall(SYS_fchmodat2, AT_FDCWD, path, 0600, 0);
}

static int change_chown(const char *path)
{
    return chown(path, getuid(), getgid());
}

static int change_fchown(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -1 : fchown(fd, getuid(), getgid());
}

static int change_times(const char *path)
{
    struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    return utimensat(AT_FDCWD, path, times, 0);
}

static int change_own_times(const char *path)
{
    struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -1 : futimens(fd, times);
}

static int change_utimes(const char *path)
{
    struct timeval times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    return (int)syscall(SYS_utimes, path, times);
}

static int change_xattr(const char *path)
{
    return setxattr(path, "user.sbx-probe", "x", 1, 0);
}

static int change_fxattr(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -1 : fsetxattr(fd, "user.sbx-probe", "x", 1, 0);
}

static int change_remove_xattr(const char *path)
{
    return removexattr(path, "user.sbx-planted");
}

static int change_truncate(const char *path)
{
    return truncate(path, 1);
}

static int change_rename(const char *path)
{
    return rename(path, probe_format("%s-renamed", path));
}

static int change_rename_in(const char *path)
{
    return rename(path, probe_path("work", "carried-off"));
}

static int change_link(const char *path)
{
    return link(path, probe_path("work", "second-name"));
}

static int change_unlink(const char *path)
{
    return unlink(path);
}

static int change_flags(const char *path)
{
    int flags = FS_NODUMP_FL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -1 : (int)syscall(SYS_ioctl, fd, FS_IOC_SETFLAGS, &flags);
}

#define CHANGE(name)                                                                               \
    static void ro_##name(void)                                                                    \
    {                                                                                              \
        probe_settle(change_##name(probe_path("ro", "for-" #name)), #name);                        \
    }                                                                                              \
    static void out_##name(void)                                                                   \
    {                                                                                              \
        probe_settle(change_##name(probe_path("outside", "for-" #name)), #name);                   \
    }

CHANGE(chmod)
CHANGE(fchmod)
CHANGE(fchmodat2)
CHANGE(chown)
CHANGE(fchown)
CHANGE(times)
CHANGE(own_times)
CHANGE(utimes)
CHANGE(xattr)
CHANGE(fxattr)
CHANGE(remove_xattr)
CHANGE(truncate)
CHANGE(rename)
CHANGE(rename_in)
CHANGE(link)
CHANGE(unlink)
CHANGE(flags)

/* A second name for a file that may be read, and then a write through it. */
static void link_and_write(void)
{
    const char *alias = probe_path("work", "alias-of-read-only");
    (void)unlink(alias);
    if (link(probe_path("ro", "file"), alias) != 0) probe_settle(-1, "link");
    probe_settle(probe_scribble(alias), "wrote a read-only file through a new name");
}

const struct probe probe_change[] = {
    {"W14", "chmod of a read-only file", ro_chmod},
    {"W14b", "utimensat of a read-only file", ro_times},
    {"LF10a", "fchmod of a read-only file", ro_fchmod},
    {"LF10b", "fchmodat2 of a read-only file", ro_fchmodat2},
    {"LF10c", "chown of a read-only file", ro_chown},
    {"LF10d", "fchown of a read-only file", ro_fchown},
    {"LF10e", "futimens of a read-only file", ro_own_times},
    {"LF10f", "utimes of a read-only file", ro_utimes},
    {"LF10g", "setxattr on a read-only file", ro_xattr},
    {"LF10h", "fsetxattr on a read-only file", ro_fxattr},
    {"LF10i", "removexattr on a read-only file", ro_remove_xattr},
    {"LF10j", "truncate of a read-only file", ro_truncate},
    {"LF10k", "rename of a read-only file", ro_rename},
    {"LF10l", "rename of a read-only file into the workspace", ro_rename_in},
    {"LF10m", "hard link of a read-only file in the workspace", ro_link},
    {"LF10n", "unlink of a read-only file", ro_unlink},
    {"LF10o", "inode flags of a read-only file", ro_flags},
    {"S10", "hard link to a read-only file made inside, then write", link_and_write},
    {"LF10A", "chmod of a file that was not given", out_chmod},
    {"LF10B", "fchmod of a file that was not given", out_fchmod},
    {"LF10C", "fchmodat2 of a file that was not given", out_fchmodat2},
    {"LF10D", "chown of a file that was not given", out_chown},
    {"LF10E", "fchown of a file that was not given", out_fchown},
    {"LF10F", "utimensat of a file that was not given", out_times},
    {"LF10G", "futimens of a file that was not given", out_own_times},
    {"LF10H", "utimes of a file that was not given", out_utimes},
    {"LF10I", "setxattr on a file that was not given", out_xattr},
    {"LF10J", "fsetxattr on a file that was not given", out_fxattr},
    {"LF10K", "removexattr on a file that was not given", out_remove_xattr},
    {"LF10L", "truncate of a file that was not given", out_truncate},
    {"LF10M", "rename of a file that was not given", out_rename},
    {"LF10N", "rename of a file that was not given into the workspace", out_rename_in},
    {"LF10O", "hard link of a file that was not given", out_link},
    {"LF10P", "unlink of a file that was not given", out_unlink},
    {"LF10Q", "inode flags of a file that was not given", out_flags},
    {NULL, NULL, NULL}};
