/* Version 2 in the machine's own hierarchy, which may have no controllers: making, entering, ending,
 * removing, delegating. Limits and figures: test_cgroup_simulated.c. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
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

/* A group that needs no controller: every one of version 2 counts processor time. */
static bool make_real(struct sbx_cgroup *group)
{
    struct sbx_cgroup_limits limits = {.counts_cpu = true};
    *group = (struct sbx_cgroup){0};
    if (!sbx_cgroup_find_one(&sbx_cgroup_real, SBX_CGROUP_V2, SBX_CONTROLLER_CPU, group)) {
        sbx_test_skip("cgroup2", "no group of version 2 that this user may divide");
        return false;
    }
    return CHECK_CODE(sbx_cgroup_make_at(group, &limits, &err), SBX_OK, &err);
}

static void real_birth_inside(void)
{
    struct sbx_cgroup group;
    struct sbx_cgroup_usage usage = {0};
    if (!make_real(&group)) {
        return;
    }
    CHECK(sbx_cgroup_clone_fd(&group) >= 0);
    pid_t born = child_clone(&group, child_sleep, 0);
    CHECK(born > 0);
    CHECK(sbx_cgroup_holds(&group, born));
    CHECK(!sbx_cgroup_holds(&group, getpid()));
    CHECK_INT(child_wait(child_clone(&group, child_burn, 150)), 0);
    pid_t moved = child_start(&group, child_sleep, 0);
    CHECK(await_processes(&group, 2));
    sbx_cgroup_usage(&group, &usage);
    CHECK(usage.cpu_ns > 100 * UINT64_C(1000000) && usage.cpu_ns < 2000 * UINT64_C(1000000));
    end_group(&group);
    CHECK_INT(child_wait(born), 128 + SIGKILL);
    CHECK_INT(child_wait(moved), 128 + SIGKILL);
}

static void end_tree(bool has_kill_file)
{
    struct sbx_cgroup group;
    if (!make_real(&group)) {
        return;
    }
    /* Few generations with many processes: nothing else bounds it here. */
    pid_t pid[40];
    for (size_t i = 0; i < SBX_COUNT(pid); i++) {
        pid[i] = child_clone(&group, i % 2 == 0 ? child_sleep : child_stop, 0);
    }
    CHECK(await_processes(&group, SBX_COUNT(pid)));
    pid_t stranger = child_start(NULL, child_sleep, 0);
    if (!has_kill_file) {
        struct sbx_cgroup_usage usage = {.processes = 1};
        sbx_cgroup_kill_frozen(&group);
        for (int i = 0; i < 1000 && usage.processes > 0; i++) {
            sbx_cgroup_usage(&group, &usage);
            sbx_cgroup_pause(1);
        }
        CHECK_U64(usage.processes, 0);
    }
    end_group(&group);
    for (size_t i = 0; i < SBX_COUNT(pid); i++) {
        CHECK_INT(child_wait(pid[i]), 128 + SIGKILL);
    }
    CHECK_INT(waitpid(stranger, NULL, WNOHANG), 0);
    (void)kill(stranger, SIGKILL);
    CHECK_INT(child_wait(stranger), 128 + SIGKILL);
}

static void real_kill(void)
{
    end_tree(true);
}

static void real_kill_by_freezing(void)
{
    end_tree(false);
}

static void real_recovery(void)
{
    struct sbx_cgroup group;
    if (!make_real(&group)) {
        return;
    }
    /* A group of a dead process of ours, with a process in it. */
    struct sbx_cgroup dead = group;
    pid_t pid = child_start(NULL, child_is_inside, 0);
    CHECK_INT(child_wait(pid), 0);
    (void)snprintf(dead.name, sizeof dead.name, "sbx-%d-1-0", (int)pid);
    CHECK_INT(mkdirat(group.place[0].parent_fd, dead.name, 0755), 0);
    dead.place[0].group_fd = openat(group.place[0].parent_fd, dead.name, O_RDONLY | O_DIRECTORY);
    pid_t inside = child_clone(&dead, child_sleep, 0);
    CHECK(inside > 0);
    CHECK(await_processes(&dead, 1));
    sbx_fd_close(&dead.place[0].group_fd);

    /* The finder's view of the same place. */
    struct sbx_cgroup found = {0};
    CHECK(sbx_cgroup_find_one(&sbx_cgroup_real, SBX_CGROUP_V2, SBX_CONTROLLER_CPU, &found));
    sbx_cgroup_recover_at(&found);
    CHECK_U64(count_named(&found, dead.name), 0);
    CHECK_INT(child_wait(inside), 128 + SIGKILL);
    CHECK_U64(count_named(&found, group.name), 1);
    sbx_cgroup_release(&found);
    end_group(&group);
}

/* In a child that becomes an ordinary user in a leaf of a delegated group; 0 when all went well. */
static int divide_delegated(uint64_t user)
{
    struct sbx_cgroup group = {0};
    const struct sbx_cgroup_limits limits = {.counts_cpu = true};
    if (setgroups(0, NULL) != 0 || setgid((gid_t)user) != 0 || setuid((uid_t)user) != 0) {
        return 1;
    }
    if (!sbx_cgroup_find_one(&sbx_cgroup_real, SBX_CGROUP_V2, SBX_CONTROLLER_CPU, &group)) {
        return 2;
    }
    if (sbx_cgroup_make_at(&group, &limits, &err) != SBX_OK) {
        return 3;
    }
    pid_t born = child_clone(&group, child_sleep, 0);
    if (born < 0 || !sbx_cgroup_holds(&group, born)) {
        return 4;
    }
    pid_t moved = child_start(&group, child_sleep, 0);
    if (!await_processes(&group, 2) || !sbx_cgroup_kill(&group) || !sbx_cgroup_remove(&group)) {
        return 5;
    }
    return child_wait(born) == 128 + SIGKILL && child_wait(moved) == 128 + SIGKILL ? 0 : 6;
}

static int enter_and_divide(uint64_t leaf_fd)
{
    return sbx_cgroup_file_write((int)leaf_fd, "cgroup.procs", "0") ? divide_delegated(65534) : 99;
}

static void real_delegation(void)
{
    struct sbx_cgroup found = {0};
    if (geteuid() != 0 ||
        !sbx_cgroup_find_one(&sbx_cgroup_real, SBX_CGROUP_V2, SBX_CONTROLLER_CPU, &found)) {
        sbx_test_skip("cgroup2", "delegating a group of version 2 takes root and one to divide");
        return;
    }
    char name[64];
    (void)snprintf(name, sizeof name, "sbx-test-%d", (int)getpid());
    CHECK_INT(mkdirat(found.place[0].parent_fd, name, 0755), 0);
    AUTO_FD slice = openat(found.place[0].parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK_INT(mkdirat(slice, "leaf", 0755), 0);
    AUTO_FD leaf = openat(slice, "leaf", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* The slice belongs to the user, but not yet the right to move processes within it. */
    CHECK_INT(fchown(slice, 65534, 65534), 0);
    CHECK_INT(child_run(NULL, enter_and_divide, (uint64_t)leaf), 2);
    CHECK_INT(fchownat(slice, "cgroup.procs", 65534, 65534, AT_SYMLINK_NOFOLLOW), 0);
    CHECK_INT(child_run(NULL, enter_and_divide, (uint64_t)leaf), 0);
    /* Nothing is left: both can be removed. */
    CHECK_INT(unlinkat(slice, "leaf", AT_REMOVEDIR), 0);
    CHECK_INT(unlinkat(found.place[0].parent_fd, name, AT_REMOVEDIR), 0);
    sbx_cgroup_release(&found);
}

static const struct sbx_test tests[] = {
    {"a process is born in the group, held and counted there", real_birth_inside},
    {"the kernel's own kill ends forty processes, sleeping and stopped", real_kill},
    {"freezing and killing ends them where the kernel has no kill", real_kill_by_freezing},
    {"the group of a dead owner goes, that of a living one stays", real_recovery},
    {"an ordinary user makes one beside its leaf, where that was delegated", real_delegation},
};
SBX_TEST_MAIN("cgroup_v2", tests)
