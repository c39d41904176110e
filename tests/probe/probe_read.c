/* Attacks that read what the box was not given. */
#include "tests/probe/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/banned.h"

static void outside_file(void)
{
    probe_secret(probe_path("outside", "secret"));
}

static void dotdot(void)
{
    probe_secret(probe_path("ro", "../outside/secret"));
}

static void dotdot_relative(void)
{
    if (chdir(probe_place("ro")) != 0) probe_broken("chdir to the readable directory");
    probe_secret("../outside/secret");
}

static void through_link(const char *name)
{
    const char *link = probe_path("work", "link-to-secret");
    (void)unlink(link);
    if (symlink(name, link) != 0) probe_settle(-1, "symlink");
    probe_secret(link);
}

static void link_out(void)
{
    through_link(probe_path("outside", "secret"));
}

static void link_relative(void)
{
    through_link("../outside/secret");
}

static void planted_link(void)
{
    probe_secret(probe_path("work", "planted-link"));
}

static void launcher_root(void)
{
    probe_secret(
        probe_format("/proc/%d/root%s/secret", (int)probe_launcher(), probe_place("outside")));
}

static void own_root(void)
{
    probe_secret(probe_format("/proc/self/root%s/secret", probe_place("outside")));
}

static void own_cwd(void)
{
    if (chdir(probe_place("work")) != 0) probe_broken("chdir to the workspace");
    probe_secret("/proc/self/cwd/../outside/secret");
}

static void host_root(void)
{
    probe_secret(
        probe_format("/proc/%ld/root%s/secret", probe_number("hostpid"), probe_place("outside")));
}

static void host_environ(void)
{
    char text[4000];
    ssize_t length =
        probe_slurp(probe_format("/proc/%ld/environ", probe_number("hostpid")), text, sizeof(text));
    if (length < 0) probe_settle(-1, "environment of a host process");
    probe_done("environment of a host process: %zd bytes", length);
}

static void host_memory(void)
{
    int fd = open(probe_format("/proc/%ld/mem", probe_number("hostpid")), O_RDONLY | O_CLOEXEC);
    probe_settle(fd, "memory of a host process");
}

/* Anything of a masked file counts, whatever it holds: the true one is never empty. */
static void any_bytes(const char *path)
{
    char text[64];
    ssize_t length = probe_slurp(path, text, sizeof(text));
    if (length < 0) probe_settle(-1, path);
    if (length == 0) probe_absent("%s is empty", path);
    probe_done("read %s", path);
}

static void shadow(void)
{
    any_bytes("/etc/shadow");
}

static void shadow_others(void)
{
    static const char *const names[] = {"/etc/gshadow", "/etc/shadow-", "/etc/gshadow-",
                                        "/etc/sudoers"};
    char text[64];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (probe_slurp(names[i], text, sizeof(text)) > 0) probe_done("read %s", names[i]);
    }
    probe_absent("none can be read");
}

static void host_keys(void)
{
    glob_t found = {0};
    if (glob("/etc/ssh/ssh_host_*_key", 0, NULL, &found) != 0) probe_absent("none present");
    any_bytes(found.gl_pathv[0]);
}

static void denied_child(void)
{
    probe_secret(probe_path("ro", "denied/secret"));
}

static void denied_names(void)
{
    DIR *directory = opendir(probe_path("ro", "denied"));
    if (directory == NULL) probe_settle(-1, "list the denied directory");
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, "secret") == 0) probe_done("saw a name in it");
    }
    probe_absent("no name in it");
}

static void denied_glob(void)
{
    probe_secret(probe_path("work", "lib/hidden.env"));
}

static void denied_below_write(void)
{
    probe_secret(probe_path("work", "secrets/key"));
}

static void unmount_mask(void)
{
    if (umount2(probe_path("ro", "denied"), MNT_DETACH) != 0 && errno != EINVAL) {
        probe_settle(-1, "unmount the mask");
    }
    probe_secret(probe_path("ro", "denied/secret"));
}

struct handle {
    struct file_handle head;
    unsigned char bytes[128];
};

static void by_handle(void)
{
    struct handle handle = {.head = {.handle_bytes = 128}};
    int mount_id = 0;
    const char *work = probe_place("work");
    if (syscall(SYS_name_to_handle_at, AT_FDCWD, work, &handle.head, &mount_id, 0) != 0) {
        /* One that was not given out: the answer still tells whether the call is reached. */
        handle.head.handle_bytes = 8;
        handle.head.handle_type = 1;
    }
    int mount = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (mount < 0) probe_broken("open the workspace");
    probe_reached(syscall(SYS_open_by_handle_at, mount, &handle.head, O_RDONLY),
                  "open_by_handle_at");
}

static void fresh_proc(void)
{
    const char *target = probe_path("work", "mnt");
    probe_make_directory(target);
    probe_settle(mount("proc", target, "proc", 0, NULL), "mount a fresh procfs");
}

static void kcore(void)
{
    any_bytes("/proc/kcore");
}

static void kallsyms(void)
{
    static char text[4000];
    if (probe_slurp("/proc/kallsyms", text, sizeof(text)) < 0) probe_settle(-1, "kallsyms");
    for (const char *at = text; at[0] != '\0' && strchr(at, '\n') != NULL;
         at = strchr(at, '\n') + 1) {
        if (strtoull(at, NULL, 16) != 0) probe_done("kernel addresses are shown");
    }
    probe_absent("zeroed");
}

static void mountinfo(void)
{
    static char text[1 << 18];
    if (probe_slurp("/proc/self/mountinfo", text, sizeof(text)) < 0) {
        probe_settle(-1, "mountinfo");
    }
    /* Without a mount below the world there is still the disk that carries the root. */
    if (strstr(text, probe_place("world")) != NULL || strstr(text, " /dev/") != NULL) {
        probe_done("host paths or devices are visible");
    }
    probe_absent("nothing of the host in it");
}

static void block_device(void)
{
    static const char *const patterns[] = {"/dev/vd*",  "/dev/sd*", "/dev/nvme*", "/dev/loop*",
                                           "/dev/dm-*", "/dev/mem", "/dev/port",  "/dev/kmem"};
    int seen = 0;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        glob_t found = {0};
        if (glob(patterns[i], 0, NULL, &found) != 0) continue;
        for (size_t k = 0; k < found.gl_pathc; k++, seen++) {
            if (open(found.gl_pathv[k], O_RDONLY | O_CLOEXEC | O_NONBLOCK) >= 0) {
                probe_done("opened %s", found.gl_pathv[k]);
            }
        }
        globfree(&found);
    }
    probe_absent("%d devices seen, none can be opened", seen);
}

static void odd_device(void)
{
    static const char *const names[] = {"/dev/kvm", "/dev/fuse", "/dev/kmsg", "/dev/vsock",
                                        "/dev/userfaultfd"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (open(names[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK) >= 0)
            probe_done("opened %s", names[i]);
    }
    probe_absent("none can be opened");
}

static void home(void)
{
    probe_secret(probe_path("home", ".ssh/id_test"));
}

const struct probe probe_read[] = {
    {"R01", "read a host file outside every allow list", outside_file},
    {"R02", "dot-dot traversal out of an allowed directory", dotdot},
    {"R02b", "the same from that directory as working directory", dotdot_relative},
    {"R03", "symlink made in a writable directory to an outside secret", link_out},
    {"R03b", "the same with a relative target", link_relative},
    {"R03c", "symlink that lay in the workspace before the start", planted_link},
    {"R04", "/proc/PID/root of the launcher to the host's root", launcher_root},
    {"R04b", "/proc/self/root", own_root},
    {"R04c", "/proc/self/cwd and dot-dot", own_cwd},
    {"R05", "/etc/shadow", shadow},
    {"R05b", "gshadow, sudoers and their copies", shadow_others},
    {"R06", "SSH host private key", host_keys},
    {"R07", "denied child of an allowed parent", denied_child},
    {"R07b", "names in a denied directory", denied_names},
    {"R07c", "denied child of a writable parent", denied_below_write},
    {"R08", "unmount the deny mask and read below it", unmount_mask},
    {"R09", "open_by_handle_at", by_handle},
    {"R10", "new mount of a fresh procfs", fresh_proc},
    {"R11", "/proc/kcore readable", kcore},
    {"R12", "kernel addresses in /proc/kallsyms", kallsyms},
    {"R13", "host paths in /proc/self/mountinfo", mountinfo},
    {"LF13", "/proc/PID/root of a host process", host_root},
    {"LF13b", "environment of a host process", host_environ},
    {"LF13c", "memory of a host process", host_memory},
    {"LF16", "file that a denying glob names", denied_glob},
    {"D01", "block device or physical memory", block_device},
    {"D02", "kvm, fuse, kernel log and other devices", odd_device},
    {"D03", "SSH key of the caller's home", home},
    {NULL, NULL, NULL}};
