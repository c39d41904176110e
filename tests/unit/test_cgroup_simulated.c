/* Version 2 against a directory of plain files that plays a delegated group: finding, limits, figures.
 * Every case is called simulated: no kernel was asked. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/fd.h"
#include "tests/check.h"
#include "tests/unit/cgroup_child.h"

#include "common/base/banned.h"

static struct sbx_err err;

/* ---- a hierarchy of plain files ------------------------------------------------------------------ */

#define LEAF "user.slice/app.slice/shell.scope"

static char root[64]; /* plays the mount */
static char groups_file[96];
static char mounts_file[96];

static void put(const char *path, const char *text)
{
    char whole[512];
    (void)snprintf(whole, sizeof whole, "%s/%s", root, path);
    AUTO_FD fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && sbx_fd_write_all(fd, text, strlen(text)));
}

static const char *get(const char *path)
{
    static char text[SBX_CGROUP_TEXT];
    char whole[512];
    (void)snprintf(whole, sizeof whole, "%s/%s", root, path);
    return sbx_cgroup_file_read(AT_FDCWD, whole, text, sizeof text) ? text : "(none)";
}

/* What the kernel puts into a new directory; as little as an old one does, when `is_old`. */
static bool is_old;

static int play_make_dir(int parent_fd, const char *name)
{
    static const struct {
        const char *file, *text;
        bool is_new;
    } files[] = {
        {"cgroup.procs", "", false},
        {"cgroup.events", "populated 0\nfrozen 1\n", false},
        {"cgroup.freeze", "0\n", false},
        {"cgroup.kill", "", true},
        {"cpu.stat", "usage_usec 1234567\nuser_usec 1\n", false},
        {"memory.max", "max\n", false},
        {"memory.swap.max", "max\n", true},
        {"memory.oom.group", "0\n", true},
        {"memory.peak", "777216\n", true},
        {"memory.events", "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n", false},
        {"pids.max", "max\n", false},
        {"pids.events", "max 5\n", false},
        {"pids.peak", "9\n", true},
    };
    if (mkdirat(parent_fd, name, 0755) != 0) {
        return -1;
    }
    AUTO_FD dir = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < SBX_COUNT(files); i++) {
        if (files[i].is_new && is_old) {
            continue;
        }
        AUTO_FD fd = openat(dir, files[i].file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        (void)!sbx_fd_write_all(fd, files[i].text, strlen(files[i].text));
    }
    return 0;
}

/* As the kernel: the files do not count, processes do. */
static int play_remove_dir(int parent_fd, const char *name)
{
    AUTO_FD dir = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char text[64] = "";
    if (dir < 0) {
        return -1;
    }
    if (!sbx_cgroup_file_read(dir, "cgroup.procs", text, sizeof text) || text[0] != '\0') {
        errno = EBUSY;
        return -1;
    }
    static const char *const files[] = {
        "cgroup.procs", "cgroup.events",   "cgroup.freeze",    "cgroup.kill", "cpu.stat",
        "memory.max",   "memory.swap.max", "memory.oom.group", "memory.peak", "memory.events",
        "pids.max",     "pids.events",     "pids.peak"};
    for (size_t i = 0; i < SBX_COUNT(files); i++) {
        (void)unlinkat(dir, files[i], 0);
    }
    return unlinkat(parent_fd, name, AT_REMOVEDIR);
}

static const struct sbx_cgroup_kernel played = {
    .groups = groups_file,
    .mounts = mounts_file,
    .make_dir = play_make_dir,
    .remove_dir = play_remove_dir,
};

static void put_texts(const char *group, const char *mount_root)
{
    char text[512];
    (void)snprintf(text, sizeof text,
                   "22 1 0:20 / /proc rw - proc proc rw\n"
                   "31 23 0:28 %s %s rw,relatime shared:1 - cgroup2 cgroup2 rw,nsdelegate\n",
                   mount_root, root);
    put("mounts", text);
    (void)snprintf(text, sizeof text, "0::%s\n", group);
    put("groups", text);
}

static void put_group(const char *path, const char *controllers, const char *handed_down,
                      const char *processes)
{
    char name[256];
    const struct {
        const char *file, *text;
    } files[] = {{"cgroup.controllers", controllers},
                 {"cgroup.subtree_control", handed_down},
                 {"cgroup.procs", processes},
                 {"cgroup.events", "populated 1\nfrozen 0\n"}};
    (void)snprintf(name, sizeof name, "%s/%s", root, path);
    CHECK(mkdir(name, 0755) == 0 || errno == EEXIST);
    for (size_t i = 0; i < SBX_COUNT(files); i++) {
        (void)snprintf(name, sizeof name, "%s/%s", path, files[i].file);
        put(name, files[i].text);
    }
}

/* A session as systemd gives it to a user: the shell in a leaf, the slice above without processes. */
static bool play_session(const char *handed_down, const char *processes)
{
    const char *temp = getenv("TMPDIR");
    (void)snprintf(root, sizeof root, "%.40s/sbx-cgroup-XXXXXX", temp != NULL ? temp : "/tmp");
    if (!CHECK(mkdtemp(root) != NULL)) {
        return false;
    }
    (void)snprintf(groups_file, sizeof groups_file, "%s/groups", root);
    (void)snprintf(mounts_file, sizeof mounts_file, "%s/mounts", root);
    is_old = false;
    put_group(".", "cpu memory pids\n", "cpu memory pids\n", "1\n");
    put_group("user.slice", "cpu memory pids\n", "cpu memory pids\n", "");
    put_group("user.slice/app.slice", "cpu memory pids\n", handed_down, processes);
    put_group(LEAF, handed_down, "", "4711\n");
    put_texts("/" LEAF, "/");
    return true;
}

static void remove_session(void)
{
    static const char *const dirs[] = {LEAF, "user.slice/app.slice", "user.slice", "."};
    static const char *const files[] = {"cgroup.controllers", "cgroup.subtree_control",
                                        "cgroup.procs", "cgroup.events"};
    char name[256];
    (void)unlink(groups_file);
    (void)unlink(mounts_file);
    for (size_t i = 0; i < SBX_COUNT(dirs); i++) {
        for (size_t j = 0; j < SBX_COUNT(files); j++) {
            (void)snprintf(name, sizeof name, "%s/%s/%s", root, dirs[i], files[j]);
            (void)unlink(name);
        }
        (void)snprintf(name, sizeof name, "%s/%s", root, dirs[i]);
        CHECK_INT(rmdir(i + 1 == SBX_COUNT(dirs) ? root : name), 0);
    }
}

/* Where a group could be made: a path, or "(none)". */
static const char *found_path(void)
{
    static struct sbx_cgroup found;
    bool is_found = sbx_cgroup_find_one(&played, SBX_CGROUP_V2, SBX_CGROUP_NEED, &found);
    if (is_found) {
        sbx_cgroup_release(&found);
    }
    return is_found ? found.place[0].path : "(none)";
}

static void simulated_sibling(void)
{
    if (!play_session("memory pids\n", "")) {
        return;
    }
    CHECK_TEXT(found_path(), "/user.slice/app.slice");
    /* Not handed down yet, but it can be. */
    put("user.slice/app.slice/cgroup.subtree_control", "\n");
    CHECK_TEXT(found_path(), "/user.slice/app.slice");
    CHECK_TEXT(get("user.slice/app.slice/cgroup.subtree_control"), "");
    /* Not while there is a process in it, and not a controller that it does not have. */
    put("user.slice/app.slice/cgroup.procs", "12\n");
    CHECK_TEXT(found_path(), "(none)");
    put("user.slice/app.slice/cgroup.procs", "");
    put("user.slice/app.slice/cgroup.controllers", "cpu pids\n");
    CHECK_TEXT(found_path(), "(none)");
    put("user.slice/app.slice/cgroup.subtree_control", "memory-like pids\n");
    CHECK_TEXT(found_path(), "(none)");
    remove_session();
}

static void simulated_top(void)
{
    if (!play_session("memory pids\n", "")) {
        return;
    }
    /* The top divides itself with processes in it. */
    put_texts("/", "/");
    put("cgroup.subtree_control", "\n");
    CHECK_TEXT(found_path(), "(none)");
    char name[96];
    (void)snprintf(name, sizeof name, "%s/cgroup.events", root);
    CHECK_INT(unlink(name), 0);
    CHECK_TEXT(found_path(), "/");
    remove_session();
}

static void simulated_view(void)
{
    if (!play_session("memory pids\n", "")) {
        return;
    }
    /* A mount that shows a part of the hierarchy. */
    put_texts("/machine/" LEAF, "/machine");
    CHECK_TEXT(found_path(), "/machine/user.slice/app.slice");
    put_texts("/machine2/" LEAF, "/machine");
    CHECK_TEXT(found_path(), "(none)");
    put_texts("/../" LEAF, "/");
    CHECK_TEXT(found_path(), "(none)");
    put_texts("/user.slice/../" LEAF, "/");
    CHECK_TEXT(found_path(), "(none)");
    /* The kernel's own files are told by their file system. */
    struct sbx_cgroup_kernel strict = played;
    struct sbx_cgroup found = {0};
    put_texts("/" LEAF, "/");
    strict.magic_v2 = sbx_cgroup_real.magic_v2;
    CHECK(!sbx_cgroup_find_one(&strict, SBX_CGROUP_V2, SBX_CGROUP_NEED, &found));
    CHECK_TEXT(found_path(), "/user.slice/app.slice");
    remove_session();
}

static void simulated_link(void)
{
    if (!play_session("memory pids\n", "")) {
        return;
    }
    char name[96];
    (void)snprintf(name, sizeof name, "%s/linked.slice", root);
    CHECK_INT(symlink("user.slice", name), 0);
    put_texts("/linked.slice/app.slice/shell.scope", "/");
    CHECK_TEXT(found_path(), "(none)");
    put_texts("/" LEAF, "/");
    CHECK_TEXT(found_path(), "/user.slice/app.slice");
    CHECK_INT(unlink(name), 0);
    remove_session();
}

/* In a child that has become another user. */
static int finds_nothing(uint64_t user)
{
    if (setgroups(0, NULL) != 0 || setgid((gid_t)user) != 0 || setuid((uid_t)user) != 0) {
        return 2;
    }
    return strcmp(found_path(), "(none)") == 0 ? 0 : 1;
}

static int finds_the_slice(uint64_t user)
{
    int status = finds_nothing(user);
    return status == 1 && strcmp(found_path(), "/user.slice/app.slice") == 0 ? 0 : 1;
}

static void simulated_permissions(void)
{
    if (geteuid() != 0) {
        sbx_test_skip("root", "becoming another user takes root");
        return;
    }
    if (!play_session("memory pids\n", "")) {
        return;
    }
    char name[160];
    CHECK_INT(chmod(root, 0755), 0);
    CHECK_INT(child_run(NULL, finds_nothing, 65534), 0);
    (void)snprintf(name, sizeof name, "%s/user.slice/app.slice", root);
    CHECK_INT(chown(name, 65534, 65534), 0);
    CHECK_INT(child_run(NULL, finds_nothing, 65534), 0);
    /* Also to be the common ancestor of where a process comes from and goes to. */
    (void)snprintf(name, sizeof name, "%s/user.slice/app.slice/cgroup.procs", root);
    CHECK_INT(chown(name, 65534, 65534), 0);
    CHECK_INT(child_run(NULL, finds_the_slice, 65534), 0);
    remove_session();
}

/* ---- simulated limits --------------------------------------------------------------------------- */

static bool make_played(struct sbx_cgroup *group, const struct sbx_cgroup_limits *limits)
{
    *group = (struct sbx_cgroup){0};
    return CHECK(sbx_cgroup_find_one(&played, SBX_CGROUP_V2, SBX_CGROUP_NEED, group)) &&
           CHECK_CODE(sbx_cgroup_make_at(group, limits, &err), SBX_OK, &err);
}

static void check_file(const struct sbx_cgroup *group, const char *file, const char *want)
{
    char path[256];
    (void)snprintf(path, sizeof path, "user.slice/app.slice/%s/%s", group->name, file);
    CHECK_TEXT(get(path), want);
}

static void simulated_limits(void)
{
    struct sbx_cgroup group;
    struct sbx_cgroup_item item = {0};
    const struct sbx_cgroup_limits limits = {
        .memory_bytes = 64 * MIB + 1, .processes = 30, .own_processes = 3};
    if (!play_session("\n", "") || !make_played(&group, &limits)) {
        return;
    }
    CHECK_TEXT(get("user.slice/app.slice/cgroup.subtree_control"), "+memory +pids");
    check_file(&group, "memory.max", "67108864");
    check_file(&group, "memory.swap.max", "0");
    check_file(&group, "memory.oom.group", "1");
    check_file(&group, "pids.max", "33");
    static const char *const files[] = {"memory.max", "memory.swap.max", "memory.oom.group",
                                        "pids.max"};
    for (size_t i = 0; i < SBX_COUNT(files); i++) {
        CHECK(sbx_cgroup_evidence(&group, i, &item));
        CHECK_TEXT(item.file, files[i]);
        CHECK(item.is_equal);
    }
    CHECK(!sbx_cgroup_evidence(&group, SBX_COUNT(files), &item));
    struct sbx_cgroup_usage usage = {0};
    sbx_cgroup_usage(&group, &usage);
    CHECK_U64(usage.cpu_ns, UINT64_C(1234567000));
    CHECK_U64(usage.peak_memory_bytes, 777216);
    CHECK_U64(usage.memory_hits, 12);
    CHECK_U64(usage.oom_kills, 2);
    CHECK_U64(usage.pids_refused, 5);
    CHECK_U64(usage.peak_processes, 9);
    end_group(&group);
    remove_session();
}

static void simulated_old_kernel(void)
{
    struct sbx_cgroup group;
    struct sbx_cgroup_item item = {0};
    struct sbx_cgroup_usage usage = {0};
    const struct sbx_cgroup_limits limits = {.memory_bytes = 64 * MIB, .processes = 30};
    if (!play_session("memory pids\n", "")) {
        return;
    }
    is_old = true;
    if (make_played(&group, &limits)) {
        check_file(&group, "memory.max", "67108864");
        check_file(&group, "memory.swap.max", "(none)");
        CHECK(sbx_cgroup_evidence(&group, 1, &item));
        CHECK_TEXT(item.file, "pids.max");
        CHECK(!sbx_cgroup_evidence(&group, 2, &item));
        sbx_cgroup_usage(&group, &usage);
        CHECK_U64(usage.peak_memory_bytes, 0);
        CHECK_U64(usage.cpu_ns, UINT64_C(1234567000));
        end_group(&group);
    }
    remove_session();
}

/* The lists of processes say what the test writes; what /proc says decides who is killed. */
static void simulated_kill(void)
{
    struct sbx_cgroup group;
    const struct sbx_cgroup_limits limits = {.processes = 30};
    if (!play_session("memory pids\n", "")) {
        return;
    }
    pid_t stranger = child_start(NULL, child_sleep, 0);
    for (int old = 0; old <= 1; old++) {
        is_old = old == 1;
        if (!make_played(&group, &limits)) {
            continue;
        }
        char path[256];
        char text[32];
        (void)snprintf(path, sizeof path, "user.slice/app.slice/%s/cgroup.procs", group.name);
        (void)snprintf(text, sizeof text, "%d\n", (int)stranger);
        put(path, text);
        uint64_t begin = sbx_cgroup_clock_ms();
        CHECK(!sbx_cgroup_kill(&group));
        CHECK(sbx_cgroup_clock_ms() - begin < 4000);
        check_file(&group, "cgroup.kill", old == 1 ? "(none)" : "1");
        check_file(&group, "cgroup.freeze", "0");
        CHECK(!sbx_cgroup_remove(&group));
        put(path, "");
        end_group(&group);
    }
    CHECK_INT(waitpid(stranger, NULL, WNOHANG), 0);
    (void)kill(stranger, SIGKILL);
    CHECK_INT(child_wait(stranger), 128 + SIGKILL);
    remove_session();
}

static const struct sbx_test tests[] = {
    {"simulated: beside our leaf, where the group above may be divided", simulated_sibling},
    {"simulated: in our own group only at the top", simulated_top},
    {"simulated: a mount of a part of the hierarchy, and groups outside it", simulated_view},
    {"simulated: no symbolic link is followed", simulated_link},
    {"simulated: only where directory and cgroup.procs may be written", simulated_permissions},
    {"simulated: limits are written and read back, figures are read", simulated_limits},
    {"simulated: files that an older kernel lacks are not missed", simulated_old_kernel},
    {"simulated: a list of processes alone kills nobody, in bounded time", simulated_kill},
};
SBX_TEST_MAIN("cgroup_simulated", tests)
