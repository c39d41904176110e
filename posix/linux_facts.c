/* What this Linux can enforce: Landlock, seccomp, a control group of our own. */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fd.h"
#include "posix/system.h"

#include "common/base/banned.h"

/* Not in the headers of older systems; the same on every architecture. */
#define LANDLOCK_CREATE_RULESET 444
#define LANDLOCK_VERSION_FLAG 1U

static unsigned landlock_abi(void)
{
    long version = syscall(LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_VERSION_FLAG);
    return version > 0 ? (unsigned)version : 0;
}

/* Filters that can refuse a call with an errno are what a box needs. */
static bool has_seccomp(void)
{
    uint32_t action = SECCOMP_RET_ERRNO;
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 &&
           syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* ---- control groups -------------------------------------------------------------------------- */

enum { PROC_MAX = 256 * 1024 };

/* A whole small file of /proc or /sys; the empty view when it cannot be read. */
static struct sbx_str slurp(struct sbx_arena *arena, const char *path, size_t max)
{
    struct sbx_str text = {NULL, 0};
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return text;
    }
    char *bytes = sbx_arena_alloc(arena, max, 1);
    if (bytes == NULL) {
        return text;
    }
    size_t len = 0;
    ssize_t got;
    while (len < max && (got = sbx_fd_read(fd, bytes + len, max - len)) > 0) {
        len += (size_t)got;
    }
    return (struct sbx_str){bytes, len};
}

static bool has_word(struct sbx_str text, char separator, const char *word)
{
    while (text.len > 0) {
        struct sbx_str head;
        (void)sbx_str_split(text, separator, &head, &text);
        if (sbx_str_is(head, word)) {
            return true;
        }
    }
    return false;
}

/* The caller's group in the hierarchy of `controller` ("" for version 2), from the lines
 * "4:memory:/path" of /proc/self/cgroup. */
static bool own_group(struct sbx_str lines, const char *controller, struct sbx_str *out)
{
    while (lines.len > 0) {
        struct sbx_str line;
        struct sbx_str id;
        struct sbx_str controllers;
        (void)sbx_str_split(lines, '\n', &line, &lines);
        if (!sbx_str_split(line, ':', &id, &line) || !sbx_str_split(line, ':', &controllers, out)) {
            continue;
        }
        if (*controller == '\0' ? controllers.len == 0 : has_word(controllers, ',', controller)) {
            return true;
        }
    }
    return false;
}

struct mount {
    struct sbx_str root;
    struct sbx_str place;
    struct sbx_str kind;
    struct sbx_str options;
};

/* "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:1 - tmpfs source rw,mode=755" */
static bool parse_mount(struct sbx_str line, struct mount *out)
{
    struct sbx_str field;
    for (int i = 0; i < 3; i++) {
        (void)sbx_str_split(line, ' ', &field, &line);
    }
    (void)sbx_str_split(line, ' ', &out->root, &line);
    (void)sbx_str_split(line, ' ', &out->place, &line);
    do {
        if (!sbx_str_split(line, ' ', &field, &line)) {
            return false;
        }
    } while (!sbx_str_is(field, "-"));
    (void)sbx_str_split(line, ' ', &out->kind, &line);
    (void)sbx_str_split(line, ' ', &field, &out->options);
    /* The kernel writes a space in a path as \040; no cgroup mount of this world has one. */
    return !sbx_str_contains(out->place, "\\");
}

/* Directory of the caller's own group, or NULL. `controller` as for own_group. */
static const char *group_dir(struct sbx_arena *arena, struct sbx_str mounts, struct sbx_str groups,
                             const char *controller)
{
    struct sbx_str group;
    if (!own_group(groups, controller, &group)) {
        return NULL;
    }
    const char *kind = *controller == '\0' ? "cgroup2" : "cgroup";
    while (mounts.len > 0) {
        struct sbx_str line;
        struct mount mount;
        (void)sbx_str_split(mounts, '\n', &line, &mounts);
        if (!parse_mount(line, &mount) || !sbx_str_is(mount.kind, kind) ||
            (*controller != '\0' && !has_word(mount.options, ',', controller))) {
            continue;
        }
        /* A mount may show only a part of the hierarchy; the group is told from its top. */
        struct sbx_str below = group;
        if (mount.root.len > 1) {
            if (group.len < mount.root.len ||
                memcmp(group.ptr, mount.root.ptr, mount.root.len) != 0) {
                continue;
            }
            below.ptr += mount.root.len;
            below.len -= mount.root.len;
        }
        return sbx_arena_printf(arena, SBX_STR_FMT SBX_STR_FMT, SBX_STR_ARG(mount.place),
                                SBX_STR_ARG(below));
    }
    return NULL;
}

static bool may_write(struct sbx_arena *arena, const char *dir, const char *name)
{
    if (dir == NULL) {
        return false;
    }
    const char *path = sbx_arena_printf(arena, "%s/%s", dir, name);
    return path != NULL && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

/* Version 2 when our own group is ours to divide and has the controllers we need; version 1 is only
 * root's. */
static enum sbx_cgroup usable_cgroup(struct sbx_arena *arena)
{
    struct sbx_str mounts = slurp(arena, "/proc/self/mountinfo", PROC_MAX);
    struct sbx_str groups = slurp(arena, "/proc/self/cgroup", 16u << 10);
    const char *dir = group_dir(arena, mounts, groups, "");
    if (may_write(arena, dir, ".") && may_write(arena, dir, "cgroup.procs")) {
        const char *path = sbx_arena_printf(arena, "%s/cgroup.controllers", dir);
        struct sbx_str list = path == NULL ? sbx_str(NULL) : slurp(arena, path, 1024);
        if (list.len > 0 && list.ptr[list.len - 1] == '\n') {
            list.len--;
        }
        if (has_word(list, ' ', "memory") && has_word(list, ' ', "pids")) {
            return SBX_CGROUP_V2;
        }
    }
    if (geteuid() == 0 && may_write(arena, group_dir(arena, mounts, groups, "memory"), ".") &&
        may_write(arena, group_dir(arena, mounts, groups, "pids"), ".")) {
        return SBX_CGROUP_V1;
    }
    return SBX_CGROUP_NONE;
}

void sbx_os_facts(struct sbx_arena *arena, struct sbx_facts *out)
{
    out->platform = sbx_system.platform;
    out->is_assumed = false;
    out->is_root = geteuid() == 0;
    out->landlock_abi = landlock_abi();
    out->has_seccomp = has_seccomp();

    /* The texts of /proc are not wanted after this: they live in an arena of their own. */
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, (size_t)2 * PROC_MAX);
    out->cgroup = usable_cgroup(&scratch);

    struct utsname name;
    const char *kernel = NULL;
    if (uname(&name) == 0) {
        kernel = sbx_arena_printf(arena, "%s %s", name.sysname, name.release);
    }
    out->kernel = kernel != NULL ? kernel : "unknown";
}
