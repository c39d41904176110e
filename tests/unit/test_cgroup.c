/* Control groups of this machine: limits that hold, figures that are right, nothing left behind.
 * Each wall is tried inside a group and, as a control, outside or with a wider limit. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fd.h"
#include "tests/check.h"
#include "tests/unit/cgroup_child.h"

#include "common/base/banned.h"

static struct sbx_err err;

/* A group with these limits, or a skip. */
static bool make(struct sbx_cgroup *group, struct sbx_cgroup_limits limits)
{
    *group = (struct sbx_cgroup){0};
    if (sbx_cgroup_usable() == SBX_CGROUP_NONE) {
        sbx_test_skip("cgroup", geteuid() == 0
                                    ? "root, but no group with memory, pids and cpu can be made"
                                    : "not root, and no group of version 2 is delegated");
        return false;
    }
    return CHECK_CODE(sbx_cgroup_make(&limits, group, &err), SBX_OK, &err);
}

/* ---- limits ------------------------------------------------------------------------------------ */

static void memory_limit_holds(void)
{
    struct sbx_cgroup group;
    struct sbx_cgroup_usage usage = {0};
    if (!make(&group, (struct sbx_cgroup_limits){.memory_bytes = 32 * MIB})) {
        return;
    }
    CHECK_INT(child_run(&group, child_touch, 16 * MIB), 0);
    sbx_cgroup_usage(&group, &usage);
    CHECK_U64(usage.oom_kills, 0);
    CHECK_INT(child_run(&group, child_touch, 64 * MIB), 128 + SIGKILL);
    sbx_cgroup_usage(&group, &usage);
    CHECK(usage.oom_kills > 0);
    CHECK(usage.peak_memory_bytes > 16 * MIB && usage.peak_memory_bytes <= 32 * MIB);
    end_group(&group);
    CHECK_INT(child_run(NULL, child_touch, 64 * MIB), 0);
}

static void memory_is_summed(void)
{
    struct sbx_cgroup group;
    struct sbx_cgroup_usage usage = {0};
    if (!make(&group, (struct sbx_cgroup_limits){.memory_bytes = 32 * MIB})) {
        return;
    }
    /* Neither of the two takes more than 24. */
    CHECK(child_run(&group, child_touch_two, 48 * MIB) != 0);
    sbx_cgroup_usage(&group, &usage);
    CHECK(usage.oom_kills > 0);
    end_group(&group);

    if (make(&group, (struct sbx_cgroup_limits){.memory_bytes = 96 * MIB})) {
        CHECK_INT(child_run(&group, child_touch_two, 48 * MIB), 0);
        sbx_cgroup_usage(&group, &usage);
        CHECK_U64(usage.oom_kills, 0);
        CHECK(usage.peak_memory_bytes > 40 * MIB);
        end_group(&group);
    }
}

static void process_limit_holds(void)
{
    struct sbx_cgroup group;
    struct sbx_cgroup_usage usage = {0};
    if (!make(&group, (struct sbx_cgroup_limits){.processes = 7, .own_processes = 1})) {
        return;
    }
    CHECK_INT(child_run(&group, child_fork_count, 6), 6);
    sbx_cgroup_usage(&group, &usage);
    CHECK_U64(usage.pids_refused, 0);
    CHECK_INT(child_run(&group, child_fork_count, 20), 7);
    sbx_cgroup_usage(&group, &usage);
    CHECK(usage.pids_refused > 0);
    end_group(&group);
    CHECK_INT(child_run(NULL, child_fork_count, 20), 20);
}

static void limits_are_read_back(void)
{
    struct sbx_cgroup group;
    struct sbx_cgroup_item item = {0};
    if (!make(&group, (struct sbx_cgroup_limits){
                          .memory_bytes = 40 * MIB + 5, .processes = 9, .own_processes = 2})) {
        return;
    }
    bool has_memory = false;
    bool has_processes = false;
    size_t count = 0;
    for (; sbx_cgroup_evidence(&group, count, &item); count++) {
        CHECK(item.is_equal);
        CHECK_TEXT(item.got, item.wanted);
        has_memory |= sbx_text_eq(item.got, "41943040");
        has_processes |= sbx_text_eq(item.file, "pids.max") && sbx_text_eq(item.got, "11");
    }
    CHECK(has_memory && has_processes);
    CHECK(count >= 3);

    /* The evidence is what the kernel says now. */
    const struct sbx_cgroup_place *pids = &group.place[0];
    while ((pids->controllers & SBX_CONTROLLER_PIDS) == 0) {
        pids++;
    }
    CHECK(sbx_cgroup_file_write(pids->group_fd, "pids.max", "max"));
    CHECK(sbx_cgroup_evidence(&group, count - 1, &item));
    CHECK_TEXT(item.got, "max");
    CHECK(!item.is_equal);
    end_group(&group);
}

static void changed_limit_is_refused(void)
{
    struct sbx_cgroup group;
    struct sbx_cgroup found = {0};
    if (!make(&group, (struct sbx_cgroup_limits){.counts_cpu = true})) {
        return;
    }
    end_group(&group);
    /* More than the kernel can count: it takes the number and keeps a smaller one. */
    struct sbx_cgroup_limits limits = {.memory_bytes = UINT64_MAX - 4095};
    group.name[0] = 'x';
    CHECK_CODE(sbx_cgroup_make(&limits, &group, &err), SBX_E_VERIFY, &err);
    CHECK_INT(group.name[0], 'x');
    sbx_cgroup_find(&sbx_cgroup_real, SBX_CGROUP_NEED, &found);
    CHECK_U64(count_named(&found, own_prefix(getpid())), 0);
    sbx_cgroup_release(&found);
}

/* ---- figures and membership --------------------------------------------------------------------- */

static void processor_time_is_counted(void)
{
    struct sbx_cgroup group;
    struct sbx_cgroup_usage usage = {0};
    if (!make(&group, (struct sbx_cgroup_limits){.counts_cpu = true})) {
        return;
    }
    CHECK_INT(child_run(&group, child_burn, 150), 0);
    sbx_cgroup_usage(&group, &usage);
    CHECK(usage.cpu_ns > 100 * UINT64_C(1000000));
    CHECK(usage.cpu_ns < 2000 * UINT64_C(1000000));
    uint64_t before = usage.cpu_ns;
    CHECK_INT(child_run(NULL, child_burn, 150), 0);
    sbx_cgroup_usage(&group, &usage);
    CHECK_U64(usage.cpu_ns, before);
    end_group(&group);
}

static void membership_is_read_back(void)
{
    struct sbx_cgroup group;
    char before[SBX_CGROUP_TEXT] = "";
    char after[SBX_CGROUP_TEXT] = "";
    CHECK(sbx_cgroup_file_read(AT_FDCWD, "/proc/self/cgroup", before, sizeof before));
    if (!make(&group, (struct sbx_cgroup_limits){.processes = 5})) {
        return;
    }
    pid_t inside = child_start(&group, child_sleep, 0);
    pid_t outside = child_start(NULL, child_sleep, 0);
    CHECK(await_processes(&group, 1));
    for (int i = 0; i < 1000 && !sbx_cgroup_holds(&group, inside); i++) {
        sbx_cgroup_pause(1);
    }
    CHECK(sbx_cgroup_holds(&group, inside));
    CHECK(!sbx_cgroup_holds(&group, outside));
    CHECK(!sbx_cgroup_holds(&group, getpid()));
    struct sbx_cgroup_usage usage = {0};
    sbx_cgroup_usage(&group, &usage);
    CHECK_U64(usage.processes, 1);
    CHECK(sbx_cgroup_file_read(AT_FDCWD, "/proc/self/cgroup", after, sizeof after));
    CHECK_TEXT(after, before);
    end_group(&group);
    CHECK_INT(child_wait(inside), 128 + SIGKILL);
    CHECK_INT(waitpid(outside, NULL, WNOHANG), 0);
    (void)kill(outside, SIGKILL);
    CHECK_INT(child_wait(outside), 128 + SIGKILL);
}

static void descriptors_do_not_leak(void)
{
    struct sbx_cgroup group;
    if (!make(&group, (struct sbx_cgroup_limits){.processes = 5})) {
        return;
    }
    for (size_t i = 0; i < group.place_count; i++) {
        CHECK_INT(fcntl(group.place[i].parent_fd, F_GETFD), FD_CLOEXEC);
        CHECK_INT(fcntl(group.place[i].group_fd, F_GETFD), FD_CLOEXEC);
        CHECK_INT(fcntl(group.place[i].procs_fd, F_GETFD), FD_CLOEXEC);
    }
    end_group(&group);
}

static void no_limit_no_group(void)
{
    struct sbx_cgroup group = {.place_count = 3};
    struct sbx_cgroup_limits limits = {.own_processes = 4};
    struct sbx_cgroup_usage usage = {.cpu_ns = 1};
    struct sbx_cgroup_item item = {0};
    CHECK_CODE(sbx_cgroup_make(&limits, &group, &err), SBX_OK, &err);
    CHECK_INT(group.version, SBX_CGROUP_NONE);
    CHECK_U64(group.place_count, 0);
    CHECK(sbx_cgroup_enter_self(&group));
    CHECK(sbx_cgroup_holds(&group, getpid()));
    CHECK_INT(sbx_cgroup_clone_fd(&group), -1);
    sbx_cgroup_usage(&group, &usage);
    CHECK_U64(usage.cpu_ns, 0);
    CHECK(!sbx_cgroup_evidence(&group, 0, &item));
    CHECK(sbx_cgroup_kill(&group));
    CHECK(sbx_cgroup_remove(&group));
    sbx_cgroup_release(&group);
}

/* ---- the end ------------------------------------------------------------------------------------ */

static void kill_ends_a_bomb(void)
{
    struct sbx_cgroup group;
    struct sbx_cgroup_usage usage = {0};
    if (!make(&group, (struct sbx_cgroup_limits){.processes = 50})) {
        return;
    }
    /* The bomb's orphans become children of the test, which waits for them. */
    CHECK_INT(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    pid_t stranger = child_start(NULL, child_sleep, 0);
    pid_t bomb = child_start(&group, child_bomb, 1000);
    pid_t stopped = child_start(&group, child_stop, 0);
    CHECK(await_processes(&group, 45));
    sbx_cgroup_usage(&group, &usage);
    CHECK(usage.processes <= 50);
    uint64_t begin = sbx_cgroup_clock_ms();
    end_group(&group);
    CHECK(sbx_cgroup_clock_ms() - begin < 2000);
    printf("# a bomb of %u processes was gone after %u ms\n", (unsigned)usage.processes,
           (unsigned)(sbx_cgroup_clock_ms() - begin));
    CHECK_INT(child_wait(bomb), 128 + SIGKILL);
    CHECK_INT(child_wait(stopped), 128 + SIGKILL);
    CHECK_INT(waitpid(stranger, NULL, WNOHANG), 0);
    (void)kill(stranger, SIGKILL);
    CHECK_INT(child_wait(stranger), 128 + SIGKILL);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    CHECK_INT(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

static void populated_group_is_not_removed(void)
{
    struct sbx_cgroup group;
    if (!make(&group, (struct sbx_cgroup_limits){.processes = 5})) {
        return;
    }
    pid_t pid = child_start(&group, child_sleep, 0);
    /* In every hierarchy: one that it has not reached yet is empty, and would go. */
    bool is_inside = false;
    for (int i = 0; i < 5000 && !is_inside; i++) {
        is_inside = sbx_cgroup_holds(&group, pid);
        sbx_cgroup_pause(1);
    }
    CHECK(is_inside);
    uint64_t begin = sbx_cgroup_clock_ms();
    CHECK(!sbx_cgroup_remove(&group));
    CHECK(sbx_cgroup_clock_ms() - begin < 3000);
    end_group(&group);
    CHECK_INT(child_wait(pid), 128 + SIGKILL);
}

/* ---- failures ----------------------------------------------------------------------------------- */

static int failing_call;

static int failing_make_dir(int parent_fd, const char *name)
{
    if (--failing_call == 0) {
        errno = ENOSPC;
        return -1;
    }
    return sbx_cgroup_real.make_dir(parent_fd, name);
}

static void failed_make_leaves_nothing(void)
{
    struct sbx_cgroup found = {0};
    struct sbx_cgroup_kernel faulty = sbx_cgroup_real;
    faulty.make_dir = failing_make_dir;
    sbx_cgroup_find(&faulty, SBX_CGROUP_NEED, &found);
    if (found.version == SBX_CGROUP_NONE) {
        sbx_test_skip("cgroup", "no group can be made");
        return;
    }
    struct sbx_cgroup_limits limits = {.memory_bytes = 32 * MIB};
    for (size_t call = 1; call <= found.place_count; call++) {
        failing_call = (int)call;
        CHECK_CODE(sbx_cgroup_make_at(&found, &limits, &err), SBX_E_UNSUPPORTED, &err);
        CHECK_INT(err.raw, ENOSPC);
        CHECK_U64(count_named(&found, own_prefix(getpid())), 0);
    }
    failing_call = 0;
    if (CHECK_CODE(sbx_cgroup_make_at(&found, &limits, &err), SBX_OK, &err)) {
        CHECK_U64(count_named(&found, own_prefix(getpid())), found.place_count);
        end_group(&found);
    }
}

/* In a child: 0 when an ordinary user gets the answer that the facts promise. */
static int ordinary_user(uint64_t number)
{
    if (setgroups(0, NULL) != 0 || setgid((gid_t)number) != 0 || setuid((uid_t)number) != 0) {
        return 1;
    }
    struct sbx_cgroup group = {.name = "x"};
    struct sbx_cgroup_limits limits = {.memory_bytes = 32 * MIB, .processes = 5};
    if (sbx_cgroup_usable() != SBX_CGROUP_NONE) {
        return 2;
    }
    sbx_cgroup_recover();
    if (sbx_cgroup_make(&limits, &group, &err) != SBX_E_UNSUPPORTED) {
        return 3;
    }
    return strcmp(group.name, "x") == 0 && err.hint[0] != '\0' ? 0 : 4;
}

static void ordinary_users_are_told(void)
{
    struct sbx_cgroup found = {0};
    if (geteuid() != 0) {
        sbx_test_skip("root", "becoming another user takes root");
        return;
    }
    sbx_cgroup_find(&sbx_cgroup_real, SBX_CGROUP_NEED, &found);
    pid_t pid = child_start(NULL, ordinary_user, 65534);
    CHECK_INT(child_wait(pid), 0);
    CHECK_U64(count_named(&found, own_prefix(pid)), 0);
    sbx_cgroup_release(&found);
}

static const struct sbx_test tests[] = {
    {"a tree that takes more memory than its group has is killed and counted", memory_limit_holds},
    {"memory is summed up over the processes of the tree", memory_is_summed},
    {"the limit of processes refuses the next fork and counts it", process_limit_holds},
    {"every limit is read back from the kernel, each time it is asked", limits_are_read_back},
    {"a limit that the kernel changes is refused, and nothing is left", changed_limit_is_refused},
    {"processor time of the tree, and of nobody else, is counted", processor_time_is_counted},
    {"who is in the group is what the kernel says, and the caller is not", membership_is_read_back},
    {"no descriptor of a group survives an exec", descriptors_do_not_leak},
    {"without a limit there is no group", no_limit_no_group},
    {"a fork bomb with a stopped process is ended whole, and no stranger", kill_ends_a_bomb},
    {"a group with a process is not removed, in bounded time", populated_group_is_not_removed},
    {"whichever part of a group fails, nothing is left", failed_make_leaves_nothing},
    {"an ordinary user without a delegated group is told so, and nothing is left",
     ordinary_users_are_told},
};
SBX_TEST_MAIN("cgroup", tests)
