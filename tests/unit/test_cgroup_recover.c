/* Groups of dead owners go, all others stay; several sbx at once do not disturb each other. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/fd.h"
#include "tests/check.h"
#include "tests/unit/cgroup_child.h"

#include "common/base/banned.h"

static struct sbx_err err;
static const struct sbx_cgroup_limits limits = {.processes = 20};

static bool find(struct sbx_cgroup *found)
{
    sbx_cgroup_find(&sbx_cgroup_real, SBX_CGROUP_NEED, found);
    if (found->version == SBX_CGROUP_NONE) {
        sbx_test_skip("cgroup", geteuid() == 0 ? "root, but no group can be made"
                                               : "not root, and no group is delegated");
    }
    return found->version != SBX_CGROUP_NONE;
}

/* ---- owners ------------------------------------------------------------------------------------- */

/* Another process that made a group and put a child into it. */
struct owner {
    pid_t pid;
    pid_t child;
    pid_t heir; /* a process forked from the owner that keeps the group open; 0: none */
    int alive;  /* its end closes the owner's and the heir's waiting */
};

static void owner_main(int report, int wait_fd, bool has_heir)
{
    struct sbx_cgroup group = {0};
    pid_t pids[2] = {0, 0};
    int inside[2] = {-1, -1};
    char byte = 0;
    if (sbx_cgroup_make(&limits, &group, &err) != SBX_OK || !sbx_fd_pipe(&inside[0], &inside[1])) {
        _exit(1);
    }
    pids[0] = fork();
    if (pids[0] == 0) {
        /* Not tied to the owner, as what a box started may not be. */
        sbx_fd_close(&report);
        bool is_in = sbx_cgroup_enter_self(&group) && sbx_fd_write_all(inside[1], &byte, 1);
        sbx_cgroup_release(&group);
        (void)alarm(60);
        _exit(is_in ? child_sleep(0) : 99);
    }
    sbx_fd_close(&inside[1]);
    if (has_heir && (pids[1] = fork()) == 0) {
        sbx_fd_close(&report);
        (void)alarm(60);
        (void)!sbx_fd_read(wait_fd, &byte, 1);
        _exit(0);
    }
    /* In every hierarchy, not only in the first. */
    if (sbx_fd_read(inside[0], &byte, 1) != 1 || !sbx_fd_write_all(report, pids, sizeof pids)) {
        _exit(2);
    }
    (void)alarm(60);
    (void)!sbx_fd_read(wait_fd, &byte, 1);
    _exit(0);
}

static bool owner_start(struct owner *owner, bool has_heir)
{
    AUTO_FD report = -1;
    AUTO_FD report_end = -1;
    AUTO_FD wait_fd = -1;
    AUTO_FD wait_end = -1;
    pid_t pids[2] = {0, 0};
    if (!sbx_fd_pipe(&report, &report_end) || !sbx_fd_pipe(&wait_fd, &wait_end)) {
        return CHECK(false);
    }
    owner->pid = fork();
    if (owner->pid == 0) {
        sbx_fd_close(&wait_end);
        owner_main(report_end, wait_fd, has_heir);
    }
    sbx_fd_close(&report_end);
    bool is_up = sbx_fd_read(report, pids, sizeof pids) == (ssize_t)sizeof pids;
    owner->child = pids[0];
    owner->heir = pids[1];
    owner->alive = SBX_TAKE(wait_end, -1);
    return CHECK(is_up);
}

static void owner_die(struct owner *owner)
{
    (void)kill(owner->pid, SIGKILL);
    CHECK_INT(child_wait(owner->pid), 128 + SIGKILL);
}

/* A process that is not our child: gone, or dead and not yet waited for by its new parent. */
static bool is_alive(pid_t pid)
{
    char path[64];
    char text[512] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (!sbx_cgroup_file_read(AT_FDCWD, path, text, sizeof text)) {
        return false;
    }
    const char *at = strrchr(text, ')');
    return at != NULL && at[1] != '\0' && at[2] != 'Z' && at[2] != 'X';
}

static void remove_named(int parent, const char *prefix)
{
    DIR *dir = fdopendir(openat(parent, ".", O_RDONLY | O_DIRECTORY));
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            CHECK_INT(unlinkat(parent, entry->d_name, AT_REMOVEDIR), 0);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

/* ---- cases -------------------------------------------------------------------------------------- */

static void dead_owners_group_goes(void)
{
    struct sbx_cgroup found = {0};
    struct owner owner = {0};
    if (!find(&found) || !owner_start(&owner, false)) {
        return;
    }
    sbx_cgroup_recover();
    CHECK_U64(count_named(&found, own_prefix(owner.pid)), found.place_count);
    CHECK(is_alive(owner.child));
    owner_die(&owner);
    CHECK_U64(count_named(&found, own_prefix(owner.pid)), found.place_count);
    CHECK(is_alive(owner.child));
    sbx_cgroup_recover();
    CHECK_U64(count_named(&found, own_prefix(owner.pid)), 0);
    CHECK(!is_alive(owner.child));
    sbx_fd_close(&owner.alive);
    sbx_cgroup_release(&found);
}

static void partly_removed_group_goes(void)
{
    struct sbx_cgroup found = {0};
    struct owner owner = {0};
    if (!find(&found)) {
        return;
    }
    if (found.place_count < 2) {
        sbx_test_skip("cgroup-v1", "a group of version 2 has one part");
        sbx_cgroup_release(&found);
        return;
    }
    if (!owner_start(&owner, false)) {
        return;
    }
    owner_die(&owner);
    (void)kill(owner.child, SIGKILL);
    for (int i = 0; i < 1000 && is_alive(owner.child); i++) {
        sbx_cgroup_pause(1);
    }
    /* As left by an sbx that died while it was removing. */
    remove_named(found.place[0].parent_fd, own_prefix(owner.pid));
    CHECK_U64(count_named(&found, own_prefix(owner.pid)), found.place_count - 1);
    sbx_cgroup_recover();
    CHECK_U64(count_named(&found, own_prefix(owner.pid)), 0);
    sbx_fd_close(&owner.alive);
    sbx_cgroup_release(&found);
}

static void heir_keeps_the_group(void)
{
    struct sbx_cgroup found = {0};
    struct owner owner = {0};
    if (!find(&found) || !owner_start(&owner, true)) {
        return;
    }
    owner_die(&owner);
    sbx_cgroup_recover();
    CHECK_U64(count_named(&found, own_prefix(owner.pid)), found.place_count);
    CHECK(is_alive(owner.child));
    sbx_fd_close(&owner.alive);
    for (int i = 0; i < 5000 && is_alive(owner.heir); i++) {
        sbx_cgroup_pause(1);
    }
    CHECK(!is_alive(owner.heir));
    sbx_cgroup_recover();
    CHECK_U64(count_named(&found, own_prefix(owner.pid)), 0);
    CHECK(!is_alive(owner.child));
    sbx_cgroup_release(&found);
}

/* The number of a process that has just ended. */
static pid_t dead_pid(void)
{
    pid_t pid = child_start(NULL, child_is_inside, 0);
    CHECK_INT(child_wait(pid), 0);
    return pid;
}

static void other_names_stay(void)
{
    static const struct {
        const char *before, *after;
    } names[] = {{"sbx-", "-1"},  {"sbx-0", "-1-1"}, {"sbx-", "-1-1x"},  {"sbx-", "-0-1"},
                 {"sbx-", "-1-"}, {"SBX-", "-1-1"},  {"sbx-", "-1-1-1"}, {"sbx-", "-1-01"}};
    struct sbx_cgroup found = {0};
    if (!find(&found)) {
        return;
    }
    int parent = found.place[found.place_count - 1].parent_fd;
    int pid = (int)dead_pid();
    char name[64];
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        (void)snprintf(name, sizeof name, "%s%d%s", names[i].before, pid, names[i].after);
        CHECK_INT(mkdirat(parent, name, 0755), 0);
        sbx_cgroup_recover();
        CHECK_INT(unlinkat(parent, name, AT_REMOVEDIR), 0);
    }
    /* The control: a right name of a dead owner goes. */
    (void)snprintf(name, sizeof name, "sbx-%d-1-1", pid);
    CHECK_INT(mkdirat(parent, name, 0755), 0);
    sbx_cgroup_recover();
    CHECK_INT(unlinkat(parent, name, AT_REMOVEDIR), -1);
    CHECK_INT(errno, ENOENT);
    sbx_cgroup_release(&found);
}

static void living_owner_needs_no_lock(void)
{
    struct sbx_cgroup found = {0};
    char name[SBX_CGROUP_NAME_MAX] = "";
    if (!find(&found)) {
        return;
    }
    /* As between the making of a directory and its lock. */
    int parent = found.place[found.place_count - 1].parent_fd;
    CHECK(sbx_cgroup_name_next(name));
    CHECK_INT(mkdirat(parent, name, 0755), 0);
    sbx_cgroup_recover();
    CHECK_INT(unlinkat(parent, name, AT_REMOVEDIR), 0);
    /* A living process with the number of a dead owner, which was started at another time. */
    (void)snprintf(name, sizeof name, "%s1-1", own_prefix(getpid()));
    CHECK_INT(mkdirat(parent, name, 0755), 0);
    sbx_cgroup_recover();
    CHECK_INT(unlinkat(parent, name, AT_REMOVEDIR), -1);
    CHECK_INT(errno, ENOENT);
    sbx_cgroup_release(&found);
}

static void other_users_stay(void)
{
    struct sbx_cgroup found = {0};
    if (!find(&found)) {
        return;
    }
    if (geteuid() != 0) {
        sbx_test_skip("root", "giving a directory to another user takes root");
        sbx_cgroup_release(&found);
        return;
    }
    int parent = found.place[found.place_count - 1].parent_fd;
    char name[64];
    (void)snprintf(name, sizeof name, "sbx-%d-1-1", (int)dead_pid());
    CHECK_INT(mkdirat(parent, name, 0755), 0);
    CHECK_INT(fchownat(parent, name, 65534, 65534, AT_SYMLINK_NOFOLLOW), 0);
    sbx_cgroup_recover();
    CHECK_INT(unlinkat(parent, name, AT_REMOVEDIR), 0);
    sbx_cgroup_release(&found);
}

/* ---- several at once ---------------------------------------------------------------------------- */

/* In a child: makes and removes groups while others do, too. */
static int maker(uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++) {
        struct sbx_cgroup group = {0};
        sbx_cgroup_recover();
        if (sbx_cgroup_make(&limits, &group, &err) != SBX_OK) {
            return 1;
        }
        pid_t pid = child_start(&group, child_is_inside, 0);
        if (child_wait(pid) != 0) {
            return 2;
        }
        if (!sbx_cgroup_kill(&group) || !sbx_cgroup_remove(&group)) {
            return 3;
        }
        sbx_cgroup_release(&group);
    }
    return 0;
}

static void makers_do_not_disturb_each_other(void)
{
    struct sbx_cgroup found = {0};
    pid_t pid[4];
    if (!find(&found)) {
        return;
    }
    for (size_t i = 0; i < SBX_COUNT(pid); i++) {
        pid[i] = child_start(NULL, maker, 25);
    }
    for (size_t i = 0; i < SBX_COUNT(pid); i++) {
        CHECK_INT(child_wait(pid[i]), 0);
        CHECK_U64(count_named(&found, own_prefix(pid[i])), 0);
    }
    sbx_cgroup_release(&found);
}

static const struct sbx_test tests[] = {
    {"the group of an owner that was killed goes, with the processes in it",
     dead_owners_group_goes},
    {"a group that was removed in part goes", partly_removed_group_goes},
    {"a group that a process of its dead owner keeps open stays until that one ends",
     heir_keeps_the_group},
    {"a directory with another name stays", other_names_stay},
    {"a group of a living owner stays, but not of one whose number another process has",
     living_owner_needs_no_lock},
    {"a group of another user stays", other_users_stay},
    {"several makers at once do not disturb each other", makers_do_not_disturb_each_other},
};
SBX_TEST_MAIN("cgroup_recover", tests)
