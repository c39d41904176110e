/* From policy to mounts. */
#include "posix/linux_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base/sort.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/linux_process.h"

#include "common/base/banned.h"

const struct sbx_name sbx_mount_kind_names[] = {
    {SBX_MOUNT_WRITE, "write"}, {SBX_MOUNT_READ, "read-only"},   {SBX_MOUNT_TMPFS, "tmpfs"},
    {SBX_MOUNT_MASK, "masked"}, {SBX_MOUNT_MASK_FILE, "masked"}, {SBX_MOUNT_LINK, "link"},
    {SBX_MOUNT_PROC, "proc"},   {SBX_MOUNT_DEV, "dev"},          {0, NULL}};

/* Parts of /proc that change the machine or tell about it, and are the same in every namespace. Root without
 * capabilities may still write to some: their files only look at the user. */
static const struct {
    const char *path;
    bool is_masked;
} proc_parts[] = {
    {"/proc/acpi", true},           {"/proc/asound", true},
    {"/proc/bus", false},           {"/proc/fs", false},
    {"/proc/irq", false},           {"/proc/kcore", true},
    {"/proc/keys", true},           {"/proc/latency_stats", true},
    {"/proc/mtrr", false},          {"/proc/sched_debug", true},
    {"/proc/scsi", true},           {"/proc/sys", false},
    {"/proc/sysrq-trigger", false}, {"/proc/timer_list", true},
};

struct making {
    struct sbx_arena *arena;
    const struct sbx_policy *policy;
    struct sbx_mounts *out;
    struct sbx_err *err;
};

void sbx_mounts_release(struct sbx_mounts *mounts)
{
    for (size_t i = 0; mounts != NULL && i < mounts->count; i++) {
        sbx_fd_close(&mounts->items[i].fd);
    }
}

static struct sbx_mount *push(struct making *making, enum sbx_mount_kind kind, const char *path)
{
    struct sbx_mounts *out = making->out;
    struct sbx_mount *mount = (struct sbx_mount *)sbx_arena_push(
        making->arena, &out->items, &out->count, &out->capacity, sizeof *mount);
    if (mount != NULL) {
        mount->kind = kind;
        mount->fd = -1;
        mount->path = sbx_arena_copy(making->arena, path, strlen(path));
        if (mount->path != NULL) {
            return mount;
        }
        out->count--;
    }
    (void)sbx_err_nomem(making->err);
    return NULL;
}

/* ---- real paths ---------------------------------------------------------------------------------- */

/* Where a walk along a path is: everything in `real` is a directory, `rest` is still to go. */
struct walk {
    char real[PATH_MAX], rest[PATH_MAX];
};

/* Takes the next name into `real`; false at the end, or when it does not fit. */
static bool step(struct walk *walk)
{
    size_t skip = strspn(walk->rest, "/");
    size_t len = strcspn(walk->rest + skip, "/");
    size_t have = strlen(walk->real);
    const char *name = walk->rest + skip;
    if (len == 0 || have + 1 + len >= sizeof walk->real) {
        return false;
    }
    if (len == 2 && memcmp(name, "..", 2) == 0) {
        char *last = strrchr(walk->real, '/');
        walk->real[last == NULL ? 0 : last - walk->real] = '\0';
    } else if (len != 1 || name[0] != '.') {
        (void)snprintf(walk->real + have, sizeof walk->real - have, "/%.*s", (int)len, name);
    }
    memmove(walk->rest, name + len, strlen(name + len) + 1);
    return true;
}

/* What was stepped on is a link: the walk goes on where it leads. False when that does not fit. */
static bool turn(struct walk *walk, const char *target)
{
    char rest[PATH_MAX];
    int len = snprintf(rest, sizeof rest, "%s%s", target, walk->rest);
    char *last = strrchr(walk->real, '/');
    if (len < 0 || (size_t)len >= sizeof rest || last == NULL) {
        return false;
    }
    memcpy(walk->rest, rest, (size_t)len + 1);
    walk->real[target[0] == '/' ? 0 : last - walk->real] = '\0';
    return true;
}

/* A private root has no links of its own: those of the host on the way are made again, all of them, so that the
 * path works as it was given. */
static enum sbx_code add_links(struct making *making, const char *path)
{
    enum { MOST_LINKS = 40 }; /* as the kernel follows */
    struct walk walk;
    char target[PATH_MAX];
    int links = 0;
    size_t len = strlen(path);
    if (making->out->has_host_root || len >= sizeof walk.rest) {
        return SBX_OK;
    }
    walk.real[0] = '\0';
    memcpy(walk.rest, path, len + 1);
    while (links < MOST_LINKS && step(&walk)) {
        ssize_t got = readlink(walk.real, target, sizeof target - 1);
        if (got <= 0) {
            continue;
        }
        target[got] = '\0';
        struct sbx_mount *mount = push(making, SBX_MOUNT_LINK, walk.real);
        if (mount == NULL) {
            return SBX_E_NOMEM;
        }
        mount->link = sbx_arena_copy(making->arena, target, (size_t)got);
        if (mount->link == NULL) {
            return sbx_err_nomem(making->err);
        }
        links++;
        if (!turn(&walk, target)) {
            break;
        }
    }
    return SBX_OK;
}

/* The host's file or directory under its real name. `flags` may have O_NOFOLLOW. *out is NULL when it is absent
 * or out of the caller's reach, and `must_exist` is false. */
static enum sbx_code add_host(struct making *making, enum sbx_mount_kind kind, const char *path,
                              int flags, bool must_exist, struct sbx_mount **out)
{
    char name[PATH_MAX];
    struct stat info;
    bool is_real = false;
    *out = NULL;
    AUTO_FD fd = sbx_path_open(path, flags, &is_real);
    if (fd < 0) {
        int raw = errno;
        bool is_away = raw == ENOENT || raw == ENOTDIR || raw == EACCES || raw == ELOOP;
        return is_away && !must_exist ? SBX_OK
                                      : sbx_err_errno(making->err, raw, "open",
                                                      "cannot open \"%s\" for the box", path);
    }
    if (fstat(fd, &info) != 0 || (!is_real && !sbx_fd_name(fd, name))) {
        int raw = errno;
        return sbx_err_errno(making->err, raw, "fstat", "cannot look at \"%s\"", path);
    }
    /* What is mounted read-only outside cannot be written inside either, and says so itself. */
    struct statvfs whole;
    if (kind == SBX_MOUNT_WRITE && fstatvfs(fd, &whole) == 0 && (whole.f_flag & ST_RDONLY) != 0) {
        kind = SBX_MOUNT_READ;
    }
    struct sbx_mount *mount = push(making, kind, is_real ? path : name);
    if (mount == NULL) {
        return SBX_E_NOMEM;
    }
    mount->is_directory = S_ISDIR(info.st_mode);
    mount->is_link = S_ISLNK(info.st_mode);
    mount->device = info.st_dev;
    mount->inode = info.st_ino;
    mount->fd = SBX_TAKE(fd, -1);
    if (kind == SBX_MOUNT_MASK && !mount->is_directory) {
        mount->kind = SBX_MOUNT_MASK_FILE;
    }
    *out = mount;
    return SBX_OK;
}

/* ---- rules --------------------------------------------------------------------------------------- */

static enum sbx_code add_tmpfs(struct making *making, const struct sbx_rule *rule)
{
    char real[PATH_MAX];
    bool is_real = false;
    AUTO_FD fd = sbx_path_open(rule->path.text, O_DIRECTORY, &is_real);
    bool is_other = fd >= 0 && !is_real && sbx_fd_name(fd, real);
    struct sbx_mount *mount = push(making, SBX_MOUNT_TMPFS, is_other ? real : rule->path.text);
    if (mount == NULL) {
        return SBX_E_NOMEM;
    }
    mount->size_bytes = SBX_PLAN_TMPFS_BYTES;
    mount->is_directory = true;
    return SBX_OK;
}

/* The link can be replaced while the box runs, and then nothing hides what comes to stand there. */
static enum sbx_code refuse_linked_mask(const struct sbx_rule *rule, struct sbx_err *err)
{
    char real[PATH_MAX];
    (void)sbx_err_set(err, SBX_E_UNSUPPORTED,
                      "\"%s\" is to be closed but is a symbolic link, which a mount cannot hold",
                      rule->path.text);
    return sbx_err_hint(err, "close what it leads to: \"%s\"",
                        realpath(rule->path.text, real) == NULL ? "(nothing now)" : real);
}

static enum sbx_code add_rule(struct making *making, const struct sbx_rule *rule)
{
    static const enum sbx_mount_kind kinds[] = {[SBX_ACCESS_NONE] = SBX_MOUNT_MASK,
                                                [SBX_ACCESS_READ] = SBX_MOUNT_READ,
                                                [SBX_ACCESS_WRITE] = SBX_MOUNT_WRITE};
    struct sbx_mount *mount = NULL;
    if (rule->kind == SBX_RULE_TMPFS) {
        return add_tmpfs(making, rule);
    }
    /* Connecting to a socket needs no more than its name; the mount is read-only. */
    enum sbx_mount_kind kind = rule->kind == SBX_RULE_SOCKET ? SBX_MOUNT_READ : kinds[rule->access];
    /* What is read-only below something writable and not there is kept from being made. */
    const struct sbx_rule *above =
        rule->above == 0 ? NULL : &making->policy->rules.items[rule->above - 1];
    bool is_carved =
        above != NULL && above->access == SBX_ACCESS_WRITE && rule->access == SBX_ACCESS_READ;
    bool must_exist = !rule->is_optional && rule->access != SBX_ACCESS_NONE && !is_carved &&
                      rule->by != SBX_BY_SBX && rule->by != SBX_BY_ADMINISTRATOR;
    /* What is to be hidden must not be a link: looked at and held in one step. */
    bool is_strict = rule->access == SBX_ACCESS_NONE && rule->by != SBX_BY_PRESET;
    enum sbx_code code =
        add_host(making, kind, rule->path.text, is_strict ? O_NOFOLLOW : 0, must_exist, &mount);
    if (mount != NULL) {
        mount->is_rule = true;
        if (mount->is_link) {
            return refuse_linked_mask(rule, making->err);
        }
    } else if (code == SBX_OK && rule->access == SBX_ACCESS_NONE && rule->by != SBX_BY_PRESET &&
               (rule->node == SBX_NODE_FILE || rule->node == SBX_NODE_DIRECTORY) &&
               access(rule->path.text, F_OK) != 0 && errno == ENOENT) {
        (void)sbx_err_set(making->err, SBX_E_INVALID,
                          "\"%s\" is to be closed, and went away while sbx started",
                          rule->path.text);
        return sbx_err_hint(making->err, "something moves it; try again when it is at rest");
    }
    if (code == SBX_OK && mount != NULL && mount->kind != SBX_MOUNT_MASK &&
        mount->kind != SBX_MOUNT_MASK_FILE) {
        code = add_links(making, rule->path.text);
    }
    return code;
}

static enum sbx_code add_rules(struct making *making)
{
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; i < making->policy->rules.count && code == SBX_OK; i++) {
        const struct sbx_rule *rule = &making->policy->rules.items[i];
        if (!rule->is_glob) {
            code = add_rule(making, rule);
        }
    }
    return code;
}

/* What cannot be held is a refusal: a link named like a protected path could be replaced by the box. */
static enum sbx_code refuse_link(const struct sbx_found *found, struct sbx_err *err)
{
    (void)sbx_err_set(
        err, SBX_E_UNSUPPORTED,
        "\"%s\" is a symbolic link where a protected name belongs, and a mount cannot "
        "hold it",
        found->path);
    return sbx_err_hint(err, "replace the link by what it leads to, or leave its directory out of "
                             "the writable paths");
}

static enum sbx_code add_found(struct making *making, const struct sbx_found_list *found)
{
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; i < found->count && code == SBX_OK; i++) {
        const struct sbx_found *item = &found->items[i];
        struct sbx_mount *mount = NULL;
        if (item->is_symlink) {
            /* Replacing it needs its removal, which the box is not kept from: refuse. */
            code = item->access == SBX_ACCESS_NONE && !item->target_open
                       ? SBX_OK
                       : refuse_link(item, making->err);
            continue;
        }
        code = add_host(making, item->access == SBX_ACCESS_NONE ? SBX_MOUNT_MASK : SBX_MOUNT_READ,
                        item->path, O_NOFOLLOW, false, &mount);
    }
    return code;
}

static enum sbx_code add_system(struct making *making)
{
    enum sbx_code code = SBX_OK;
    if (push(making, SBX_MOUNT_PROC, "/proc") == NULL ||
        push(making, SBX_MOUNT_DEV, "/dev") == NULL) {
        return SBX_E_NOMEM;
    }
    struct sbx_mount *shm = push(making, SBX_MOUNT_TMPFS, "/dev/shm");
    if (shm == NULL) {
        return SBX_E_NOMEM;
    }
    shm->size_bytes = SBX_PLAN_TMPFS_BYTES;
    for (size_t i = 0; i < SBX_COUNT(proc_parts) && code == SBX_OK; i++) {
        struct sbx_mount *mount = NULL;
        code = add_host(making, proc_parts[i].is_masked ? SBX_MOUNT_MASK : SBX_MOUNT_READ,
                        proc_parts[i].path, O_NOFOLLOW, false, &mount);
    }
    return code;
}

/* ---- order --------------------------------------------------------------------------------------- */

/* Parents first: a separator sorts before every other byte. */
static int compare_paths(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    int left = *a == '/' ? 0 : (unsigned char)*a;
    int right = *b == '/' ? 0 : (unsigned char)*b;
    return *a == *b ? 0 : *a == '\0' ? -1 : *b == '\0' ? 1 : left - right;
}

/* Of equal paths the stricter comes first and stays. */
static int strictness(enum sbx_mount_kind kind)
{
    static const int rank[] = {
        [SBX_MOUNT_MASK] = 0,  [SBX_MOUNT_MASK_FILE] = 0, [SBX_MOUNT_PROC] = 1,
        [SBX_MOUNT_DEV] = 1,   [SBX_MOUNT_TMPFS] = 2,     [SBX_MOUNT_READ] = 3,
        [SBX_MOUNT_WRITE] = 4, [SBX_MOUNT_LINK] = 5};
    return rank[kind];
}

static int compare_mounts(const void *a, const void *b)
{
    const struct sbx_mount *left = (const struct sbx_mount *)a;
    const struct sbx_mount *right = (const struct sbx_mount *)b;
    int order = compare_paths(left->path, right->path);
    return order != 0 ? order : strictness(left->kind) - strictness(right->kind);
}

static bool is_below(const char *outer, const char *inner)
{
    size_t len = strlen(outer);
    return len == 1 ? inner[1] != '\0' : strncmp(outer, inner, len) == 0 && inner[len] == '/';
}

/* What contains the item contains the one before it too, or is that one: parents come first. */
static size_t find_above(const struct sbx_mount *items, size_t index)
{
    size_t at = index;
    while (at > 0 && (items[at - 1].kind == SBX_MOUNT_LINK ||
                      !is_below(items[at - 1].path, items[index].path))) {
        at = items[at - 1].above;
    }
    return at;
}

static struct sbx_mount *item_above(const struct sbx_mounts *mounts, size_t index)
{
    size_t above = mounts->items[index].above;
    return above == 0 ? NULL : &mounts->items[above - 1];
}

const struct sbx_mount *sbx_mounts_above(const struct sbx_mounts *mounts, size_t index)
{
    return item_above(mounts, index);
}

size_t sbx_mounts_at(const struct sbx_mounts *mounts, const char *path)
{
    size_t low = 0;
    size_t high = mounts->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_paths(mounts->items[middle].path, path);
        if (order == 0) {
            return middle;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return mounts->count;
}

static bool is_same_again(const struct sbx_mount *mount, const struct sbx_mount *above)
{
    bool is_host = mount->kind == SBX_MOUNT_READ || mount->kind == SBX_MOUNT_WRITE;
    bool is_hidden = mount->kind == SBX_MOUNT_MASK || mount->kind == SBX_MOUNT_MASK_FILE;
    if (above == NULL) {
        return is_hidden; /* nothing is there to be hidden */
    }
    bool above_is_empty = above->kind == SBX_MOUNT_TMPFS || above->kind == SBX_MOUNT_MASK;
    return (is_host && mount->kind == above->kind) || (is_hidden && above_is_empty) ||
           (mount->kind == SBX_MOUNT_LINK && !above_is_empty);
}

/* Drops what says nothing new, and a private directory that would have to be made on the host. */
static enum sbx_code settle(struct making *making)
{
    struct sbx_mounts *out = making->out;
    size_t kept = 0;
    size_t count = out->count;
    for (size_t i = 0; i < count; i++) {
        struct sbx_mount mount = out->items[i];
        out->items[kept] = mount; /* so that "above" is asked about what is kept */
        out->items[kept].above = find_above(out->items, kept);
        bool is_double = kept > 0 && strcmp(out->items[kept - 1].path, mount.path) == 0;
        if (is_double || is_same_again(&mount, sbx_mounts_above(out, kept))) {
            sbx_fd_close(&out->items[kept].fd);
            continue;
        }
        kept++;
    }
    out->count = kept;
    for (size_t i = 0; i < kept; i++) {
        struct sbx_mount *above = item_above(out, i);
        if (above != NULL && above->kind == SBX_MOUNT_MASK) {
            above->is_reopened = true;
        }
    }
    return SBX_OK;
}

/* A mount point that is missing in a directory of the host would be made there, and stay. */
static enum sbx_code check_places(const struct making *making)
{
    const struct sbx_mounts *out = making->out;
    for (size_t i = 0; i < out->count; i++) {
        const struct sbx_mount *mount = &out->items[i];
        const struct sbx_mount *above = sbx_mounts_above(out, i);
        struct stat info;
        bool on_host =
            (above != NULL && (above->kind == SBX_MOUNT_READ || above->kind == SBX_MOUNT_WRITE));
        if (on_host && mount->kind == SBX_MOUNT_TMPFS &&
            (lstat(mount->path, &info) != 0 || !S_ISDIR(info.st_mode))) {
            (void)sbx_err_set(making->err, SBX_E_INVALID,
                              "the private directory \"%s\" has no place: it does not exist on the "
                              "host",
                              mount->path);
            return sbx_err_hint(making->err, "create it first, or leave it out of \"tmpfs\"");
        }
    }
    return SBX_OK;
}

static bool reads_root(const struct sbx_policy *policy)
{
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        if (!rule->is_glob && rule->kind == SBX_RULE_HOST && sbx_path_is_root(rule->path)) {
            return rule->access != SBX_ACCESS_NONE;
        }
    }
    return false;
}

enum sbx_code sbx_mounts_make(struct sbx_arena *arena, const struct sbx_policy *policy,
                              const struct sbx_found_list *found, struct sbx_mounts *out,
                              struct sbx_err *err)
{
    AUTO_MOUNTS mounts = {.has_host_root = reads_root(policy)};
    struct making making = {arena, policy, &mounts, err};
    enum sbx_code code = add_rules(&making);
    if (code == SBX_OK) {
        code = add_system(&making);
    }
    if (code == SBX_OK) {
        code = add_found(&making, found);
    }
    if (code != SBX_OK) {
        return code;
    }
    sbx_sort(mounts.items, mounts.count, sizeof mounts.items[0], compare_mounts);
    code = settle(&making);
    if (code == SBX_OK) {
        code = check_places(&making);
    }
    if (code != SBX_OK) {
        return code;
    }
    *out = mounts;
    mounts = (struct sbx_mounts){0};
    return SBX_OK;
}
