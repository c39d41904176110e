/* Attacks that gain rights, or use ones the box should not have. */
#include "tests/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/banned.h"

/* A field of /proc/self/status as a number of this base. */
static unsigned long long status_field(const char *name, int base)
{
    char text[4000];
    if (probe_slurp("/proc/self/status", text, sizeof(text)) < 0) {
        probe_broken("/proc/self/status: %s", strerrorname_np(errno));
    }
    const char *at = strstr(text, name);
    if (at == NULL) probe_broken("no field %s", name);
    return strtoull(at + strlen(name), NULL, base);
}

static void new_privileges(void)
{
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0) probe_done("no_new_privs is not set");
    probe_absent("no_new_privs is set");
}

static void capabilities(void)
{
    static const char *const names[] = {"CapEff:", "CapPrm:", "CapInh:", "CapAmb:"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        unsigned long long set = status_field(names[i], 16);
        if (set != 0) probe_done("%s %llx", names[i], set);
    }
    probe_absent("none");
}

static void bounding(void)
{
    unsigned long long set = status_field("CapBnd:", 16);
    if (set != 0) probe_done("%llx", set);
    probe_absent("empty");
}

static void no_filter(void)
{
    int mode = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
    if (mode == 0) probe_done("no system call filter");
    if (mode < 0) probe_settle(-1, "filter");
    probe_absent("filter mode %d", mode);
}

static void user_namespace(void)
{
    probe_settle(unshare(CLONE_NEWUSER), "unshare a user namespace");
}

static void user_namespace_clone(void)
{
    long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) _exit(0);
    probe_settle(child, "clone a user namespace");
}

static void other_namespaces(void)
{
    static const int flags[] = {CLONE_NEWNS,  CLONE_NEWPID, CLONE_NEWNET,
                                CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (unshare(flags[i]) == 0) probe_done("unshare %#x", (unsigned)flags[i]);
    }
    probe_denied("unshare");
}

static void nested_remount(void)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) probe_settle(-1, "nested namespaces");
    (void)mount(NULL, probe_place("ro"), NULL, MS_REMOUNT | MS_BIND, NULL);
    probe_settle(probe_scribble(probe_path("ro", "file")), "wrote after a nested remount");
}

static void nested_unmount(void)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) probe_settle(-1, "nested namespaces");
    (void)umount2(probe_path("ro", "denied"), MNT_DETACH);
    probe_secret(probe_path("ro", "denied/secret"));
}

static void join_launcher(void)
{
    int fd = open(probe_format("/proc/%d/ns/mnt", (int)probe_launcher()), O_RDONLY | O_CLOEXEC);
    if (fd < 0) probe_settle(-1, "namespace of the launcher");
    probe_settle(setns(fd, CLONE_NEWNS), "joined the mount namespace of the launcher");
}

static void join_host(void)
{
    int fd = open(probe_format("/proc/%ld/ns/mnt", probe_number("hostpid")), O_RDONLY | O_CLOEXEC);
    if (fd < 0) probe_settle(-1, "namespace of a host process");
    probe_settle(setns(fd, CLONE_NEWNS), "joined the mount namespace of the host");
}

static void change_root(void)
{
    probe_settle(chroot(probe_place("work")), "chroot");
}

static void host_name(void)
{
    char name[256] = {0};
    if (gethostname(name, sizeof(name) - 1) != 0) probe_broken("gethostname");
    /* To what it is already: nothing changes where it is allowed. */
    probe_settle(sethostname(name, strlen(name)), "sethostname");
}

static void mount_over(void)
{
    const char *target = "/etc";
    if (probe_on_host()) {
        target = probe_path("work", "mnt");
        probe_make_directory(target);
    }
    probe_settle(mount("tmpfs", target, "tmpfs", 0, NULL), "mounted a tmpfs");
}

static void other_user(void)
{
    probe_settle(syscall(SYS_setresuid, 1, 1, 1), "became another user");
}

static void other_groups(void)
{
    gid_t groups[1] = {0};
    probe_settle(syscall(SYS_setgroups, 1, groups), "took another group");
}

static void set_user_id_program(void)
{
    pid_t child = fork();
    if (child == 0) {
        (void)execl(probe_path("tools", "probe-set-user-id"), "sbx-probe", "--euid", (char *)NULL);
        _exit(9);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    if (getuid() == 0) probe_absent("root gains nothing by this");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) probe_done("became root");
    probe_absent("it ran without new rights (%d)", status);
}

const struct probe probe_privilege[] = {
    {"V01", "no_new_privs is not set", new_privileges},
    {"V02", "capabilities", capabilities},
    {"V02b", "capabilities in the bounding set", bounding},
    {"V03", "nested user namespace: unshare", user_namespace},
    {"V03b", "nested user namespace: clone", user_namespace_clone},
    {"V03c", "nested namespaces of other kinds", other_namespaces},
    {"V04", "setns to the launcher's mount namespace", join_launcher},
    {"V04b", "setns to the host's mount namespace", join_host},
    {"V05", "chroot", change_root},
    {"V06", "sethostname", host_name},
    {"V07", "mount a tmpfs over /etc", mount_over},
    {"V08", "no system call filter", no_filter},
    {"V09", "become another user", other_user},
    {"V09b", "take another group", other_groups},
    {"LK10", "set-user-ID program", set_user_id_program},
    {"LF17", "remount in a nested user namespace", nested_remount},
    {"LF17b", "unmount a mask in a nested user namespace", nested_unmount},
    {NULL, NULL, NULL}};
