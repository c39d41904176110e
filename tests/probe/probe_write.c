/* Attacks that write where the box may not, or leave something behind that acts later. */
#include "tests/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/base/banned.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

static void read_only_bind(void)
{
    probe_settle(probe_scribble(probe_path("ro", "file")), "wrote");
}

static void create_in_read_only(void)
{
    probe_settle(probe_scribble(probe_path("ro", "new")), "created");
}

static void remount(void)
{
    if (mount(NULL, probe_place("ro"), NULL, MS_REMOUNT | MS_BIND, NULL) != 0 && errno != EINVAL) {
        probe_settle(-1, "remount read-write");
    }
    read_only_bind();
}

static void remount_attributes(void)
{
    unsigned long long attributes[4] = {0, 1, 0, 0}; /* clear MOUNT_ATTR_RDONLY */
    if (syscall(SYS_mount_setattr, AT_FDCWD, probe_place("ro"), 0, attributes,
                sizeof(attributes)) != 0 &&
        errno != EINVAL) {
        probe_settle(-1, "mount_setattr read-write");
    }
    read_only_bind();
}

static void in_root(void)
{
    /* Unnamed, so that nothing is left where it works. */
    probe_settle(open("/", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), "made a file in /");
}

static void in_var_tmp(void)
{
    probe_settle(open("/var/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), "made a file there");
}

static void in_host_shm(void)
{
    const char *path = probe_format("/dev/shm/%s", probe_place("shmfile"));
    if (access(path, F_OK) != 0) probe_absent("the host's file is not there");
    probe_settle(open(path, O_WRONLY | O_CLOEXEC), "opened the host's file for writing");
}

static void outside_file(void)
{
    probe_settle(probe_scribble(probe_path("outside", "created")), "created outside");
}

static void through_link(void)
{
    const char *link = probe_path("work", "way-out");
    (void)unlink(link);
    if (symlink(probe_path("outside", "created"), link) != 0) probe_settle(-1, "symlink");
    probe_settle(probe_scribble(link), "created outside");
}

static void through_directory_link(void)
{
    const char *link = probe_path("work", "way-out-directory");
    (void)unlink(link);
    if (symlink(probe_place("outside"), link) != 0) probe_settle(-1, "symlink");
    probe_settle(probe_scribble(probe_format("%s/created", link)), "created outside");
}

static void rename_out(void)
{
    const char *from = probe_path("work", "to-go-out");
    probe_make(from);
    probe_settle(rename(from, probe_path("outside", "moved")), "moved a file out");
}

static void link_in(void)
{
    probe_settle(link(probe_path("outside", "secret"), probe_path("work", "pulled-in")),
                 "linked an outside file into the workspace");
}

static void host_root(void)
{
    probe_settle(probe_scribble(probe_format("/proc/%ld/root%s/created", probe_number("hostpid"),
                                             probe_place("outside"))),
                 "created outside");
}

static void hard_link(void)
{
    probe_settle(probe_scribble(probe_path("work", "hard-linked")),
                 "wrote through a hard link that was there before");
}

static void device_node(mode_t kind, const char *what)
{
    const char *path = probe_path("work", "node");
    (void)unlink(path);
    int made = mknod(path, kind | 0600, makedev(kind == S_IFBLK ? 7 : 1, 3));
    int error = errno;
    if (made == 0) (void)unlink(path);
    errno = error;
    probe_settle(made, what);
}

static void block_node(void)
{
    device_node(S_IFBLK, "made a block device");
}

static void character_node(void)
{
    device_node(S_IFCHR, "made a character device");
}

/* A call may be refused or the bits dropped: what counts is what is on the disk. */
static void set_id(const char *path, int result)
{
    int error = errno;
    struct stat found = {0};
    if (lstat(path, &found) == 0 && (found.st_mode & (S_ISUID | S_ISGID)) != 0) {
        probe_done("mode %04o uid %u", found.st_mode & 07777u, found.st_uid);
    }
    errno = error;
    if (result == 0) probe_absent("the bits were dropped");
    probe_denied("set-user-ID");
}

static void set_id_chmod(void)
{
    const char *path = probe_path("work", "set-id-chmod");
    probe_make(path);
    set_id(path, chmod(path, 04755));
}

static void set_id_fchmod(void)
{
    const char *path = probe_path("work", "set-id-fchmod");
    probe_make(path);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) probe_broken("open");
    set_id(path, fchmod(fd, 02755));
}

static void set_id_fchmodat2(void)
{
    const char *path = probe_path("work", "set-id-fchmodat2");
    probe_make(path);
    set_id(path, (int)syscall(SYS_fchmodat2, AT_FDCWD, path, 04755, 0));
}

static void set_id_open(void)
{
    const char *path = probe_path("work", "set-id-open");
    (void)unlink(path);
    set_id(path, open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 04755) < 0 ? -1 : 0);
}

static void set_id_creat(void)
{
    const char *path = probe_path("work", "set-id-creat");
    (void)unlink(path);
    set_id(path, syscall(SYS_creat, path, 04755) < 0 ? -1 : 0);
}

static void set_id_mkdir(void)
{
    const char *path = probe_path("work", "set-id-mkdir");
    (void)rmdir(path);
    if (mkdir(path, 0755) != 0) probe_broken("mkdir");
    set_id(path, chmod(path, 02755));
}

static void set_id_mknod(void)
{
    const char *path = probe_path("work", "set-id-mknod");
    (void)unlink(path);
    set_id(path, mknod(path, S_IFREG | 04755, 0));
}

static void set_id_tmpfile(void)
{
    const char *path = probe_path("work", "set-id-tmpfile");
    (void)unlink(path);
    int fd = open(probe_place("work"), O_TMPFILE | O_WRONLY | O_CLOEXEC, 04755);
    if (fd < 0) set_id(path, -1);
    set_id(path, linkat(AT_FDCWD, probe_format("/proc/self/fd/%d", fd), AT_FDCWD, path,
                        AT_SYMLINK_FOLLOW));
}

static void set_id_openat2(void)
{
    const char *path = probe_path("work", "set-id-openat2");
    (void)unlink(path);
    unsigned long long how[3] = {O_WRONLY | O_CREAT | O_CLOEXEC, 04755, 0};
    set_id(path, syscall(SYS_openat2, AT_FDCWD, path, how, sizeof(how)) < 0 ? -1 : 0);
}

/* Opened and nothing else: a value written there is the whole machine's. */
static void open_for_writing(const char *const *names)
{
    int last = ENOENT;
    for (; *names != NULL; names++) {
        if (open(*names, O_WRONLY | O_CLOEXEC) >= 0) probe_done("%s is writable", *names);
        last = errno == ENOENT ? last : errno;
    }
    errno = last;
    probe_settle(-1, "open for writing");
}

static void core_pattern(void)
{
    static const char *const names[] = {"/proc/sys/kernel/core_pattern", NULL};
    open_for_writing(names);
}

static void other_sysctl(void)
{
    static const char *const names[] = {
        "/proc/sys/kernel/modprobe", "/proc/sys/vm/overcommit_memory",
        "/proc/sys/fs/protected_symlinks", "/proc/sys/kernel/hostname", NULL};
    open_for_writing(names);
}

static void net_sysctl(void)
{
    static const char *const names[] = {"/proc/sys/net/ipv4/ip_forward", NULL};
    open_for_writing(names);
}

static void proc_switches(void)
{
    static const char *const names[] = {"/proc/sysrq-trigger", "/proc/irq/default_smp_affinity",
                                        "/proc/mtrr", NULL};
    open_for_writing(names);
}

static void sysfs(void)
{
    static const char *const names[] = {"/sys/kernel/uevent_helper",
                                        "/sys/power/state",
                                        "/sys/module/kernel/parameters/panic",
                                        "/sys/kernel/mm/transparent_hugepage/enabled",
                                        "/sys/kernel/profiling",
                                        NULL};
    open_for_writing(names);
}

static void cgroupfs(void)
{
    static const char *const names[] = {
        "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/cgroup.procs",
        "/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/memory/release_agent", NULL};
    open_for_writing(names);
}

static void immutable(void)
{
    const char *path = probe_path("work", "immutable");
    probe_make(path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int before = 0;
    (void)ioctl(fd, FS_IOC_GETFLAGS,
                &before); /* the others stay: a file system may not let go of them */
    int flags = before | FS_APPEND_FL;
    int result = ioctl(fd, FS_IOC_SETFLAGS, &flags);
    int error = errno;
    if (result == 0) (void)ioctl(fd, FS_IOC_SETFLAGS, &before);
    errno = error;
    probe_settle(result, "set the append-only flag");
}

static void file_capability(void)
{
    static const unsigned char value[20] = {1, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    const char *path = probe_path("work", "capable");
    probe_make(path);
    int result = setxattr(path, "security.capability", value, sizeof(value), 0);
    int error = errno;
    if (result == 0) (void)removexattr(path, "security.capability");
    errno = error;
    probe_settle(result, "gave a file capabilities");
}

static void access_list(void)
{
    /* Version 2: owner rw, user 1 rw, group r, mask rw, others none. */
    static const unsigned char value[] = {
        2, 0, 0,    0,    1,    0,    6,  0, 0xff, 0xff, 0xff, 0xff, 2,    0,   6,
        0, 1, 0,    0,    0,    4,    0,  4, 0,    0xff, 0xff, 0xff, 0xff, 16,  0,
        6, 0, 0xff, 0xff, 0xff, 0xff, 32, 0, 0,    0,    0xff, 0xff, 0xff, 0xff};
    const char *path = probe_path("work", "listed");
    probe_make(path);
    probe_settle(setxattr(path, "system.posix_acl_access", value, sizeof(value), 0),
                 "gave another user access to an own file");
}

const struct probe probe_write[] = {
    {"W01", "write to a read-only path", read_only_bind},
    {"W01b", "create in a read-only directory", create_in_read_only},
    {"W02", "remount a read-only bind read-write, then write", remount},
    {"W02b", "the same with mount_setattr", remount_attributes},
    {"W03", "create a file in /", in_root},
    {"W03b", "create a file in /var/tmp", in_var_tmp},
    {"W03c", "write outside every allow list", outside_file},
    {"W04", "write via a symlink that leaves the writable directory", through_link},
    {"W04b", "the same with a symlink to a directory", through_directory_link},
    {"W04c", "rename a file out of the workspace", rename_out},
    {"W04d", "hard-link an outside file into the workspace", link_in},
    {"W04e", "write through /proc/PID/root of a host process", host_root},
    {"W05", "write through a hard link that was there before", hard_link},
    {"W11", "mknod of a block device", block_node},
    {"W11b", "mknod of a character device", character_node},
    {"W12", "leave a set-user-ID file: chmod", set_id_chmod},
    {"W12b", "leave a set-group-ID file: fchmod", set_id_fchmod},
    {"W12c", "leave a set-user-ID file: fchmodat2", set_id_fchmodat2},
    {"W12d", "leave a set-user-ID file: mode of openat", set_id_open},
    {"W12e", "leave a set-user-ID file: mode of creat", set_id_creat},
    {"W12f", "leave a set-group-ID directory: chmod", set_id_mkdir},
    {"W12g", "leave a set-user-ID file: mode of mknod", set_id_mknod},
    {"W12h", "leave a set-user-ID file: O_TMPFILE and linkat", set_id_tmpfile},
    {"W12i", "leave a set-user-ID file: mode of openat2", set_id_openat2},
    {"W13", "open kernel.core_pattern for writing", core_pattern},
    {"W13b", "open other host-wide settings for writing", other_sysctl},
    {"W13c", "open the network's settings for writing", net_sysctl},
    {"W13d", "open sysrq-trigger and its like for writing", proc_switches},
    {"W13e", "open switches of sysfs for writing", sysfs},
    {"W13f", "open the cgroup file system for writing", cgroupfs},
    {"W16", "append-only or immutable flag on a writable file", immutable},
    {"Z04", "leave a file with capabilities", file_capability},
    {"Z04b", "leave an access list for another user", access_list},
    {"LF11", "write a file of the host's /dev/shm", in_host_shm},
    {NULL, NULL, NULL}};
