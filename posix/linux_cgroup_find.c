/* Where a group of our own can be made: mounts, our own groups, permissions. Looks only. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/linux_cgroup_internal.h"

#include "common/base/banned.h"

static int make_dir(int parent_fd, const char *name)
{
    return mkdirat(parent_fd, name, 0755);
}

static int remove_dir(int parent_fd, const char *name)
{
    return unlinkat(parent_fd, name, AT_REMOVEDIR);
}

const struct sbx_cgroup_kernel sbx_cgroup_real = {
    .groups = "/proc/self/cgroup",
    .mounts = "/proc/self/mountinfo",
    .places_v2 = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", NULL},
    .magic_v1 = CGROUP_SUPER_MAGIC,
    .magic_v2 = CGROUP2_SUPER_MAGIC,
    .make_dir = make_dir,
    .remove_dir = remove_dir,
};

/* ---- texts of /proc --------------------------------------------------------------------------- */

enum { MOUNTS_MAX = 1024 * 1024, GROUPS_MAX = 16 * 1024, PATH_ROOM = 4096 };

/* A whole file; the empty view when it cannot be read. */
static struct sbx_str slurp(struct sbx_arena *arena, const char *path, size_t max)
{
    struct sbx_str text = {NULL, 0};
    char *bytes = sbx_arena_alloc(arena, max, 1);
    if (bytes != NULL && sbx_cgroup_file_read(AT_FDCWD, path, bytes, max)) {
        text = sbx_str(bytes);
    }
    return text;
}

/* Both texts, read once: a mountinfo costs more than all the rest, so it is read when something is looked for
 * in it. */
struct texts {
    const struct sbx_cgroup_kernel *kernel;
    struct sbx_arena *arena;
    struct sbx_str groups;
    struct sbx_str mounts; /* see mounts_of */
    bool has_mounts;
};

static struct texts read_texts(const struct sbx_cgroup_kernel *kernel, struct sbx_arena *arena)
{
    sbx_arena_init(arena, (size_t)2 * MOUNTS_MAX);
    return (struct texts){
        .kernel = kernel, .arena = arena, .groups = slurp(arena, kernel->groups, GROUPS_MAX)};
}

static struct sbx_str mounts_of(struct texts *texts)
{
    if (!texts->has_mounts) {
        texts->mounts = slurp(texts->arena, texts->kernel->mounts, MOUNTS_MAX);
        texts->has_mounts = true;
    }
    return texts->mounts;
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
    return !sbx_str_contains(out->place, "\\") && !sbx_str_contains(out->root, "\\");
}

/* A mount may show only a part of the hierarchy, from `root` on; groups are told from its top. */
static bool path_below(struct sbx_str group, struct sbx_str root, struct sbx_str *out)
{
    if (root.len <= 1) {
        *out = group;
        return true;
    }
    if (group.len < root.len || memcmp(group.ptr, root.ptr, root.len) != 0 ||
        (group.len > root.len && group.ptr[root.len] != '/')) {
        return false;
    }
    *out = (struct sbx_str){group.ptr + root.len, group.len - root.len};
    return true;
}

/* ---- directories ------------------------------------------------------------------------------ */

/* Part by part, so that no symbolic link and no ".." leads elsewhere; -1 when it does not exist. */
static int open_below(int top, struct sbx_str path)
{
    AUTO_FD at = SBX_TAKE(top, -1);
    while (path.len > 0) {
        struct sbx_str part;
        char name[256];
        (void)sbx_str_split(path, '/', &part, &path);
        if (part.len == 0) {
            continue;
        }
        if (part.len >= sizeof name || sbx_str_is(part, "..") || sbx_str_is(part, ".")) {
            return -1;
        }
        memcpy(name, part.ptr, part.len);
        name[part.len] = '\0';
        int next = sbx_cgroup_file_open(at, name, O_RDONLY | O_DIRECTORY);
        if (next < 0) {
            return -1;
        }
        sbx_fd_close(&at);
        at = next;
    }
    return SBX_TAKE(at, -1);
}

/* One hierarchy as this process sees it. */
struct hierarchy {
    struct texts *texts;
    const char *controller; /* "" for version 2 */
    long magic;             /* 0: any */
};

/* What of its file system is mounted where `fd` is, as mountinfo tells; false when the kernel does not say. Numbers:
 * statx and statmount are newer (6.8) than the headers of many systems, and the same on every architecture. */
static bool mount_root(int fd, char out[PATH_ROOM], struct sbx_str *root)
{
    enum {
        STATMOUNT = 457,
        UNIQUE_ID = 0x4000,
        ID_AT = 0x90,
        ROOT = 8,
        ROOT_AT = 0x68,
        TEXTS_AT = 512
    };
    struct {
        uint32_t size, spare;
        uint64_t id, wanted;
    } request = {.size = sizeof request, .wanted = ROOT};
    _Alignas(8) char about[256];
    _Alignas(8) char mount[TEXTS_AT + PATH_ROOM];
    uint32_t mask = 0;
    uint64_t got = 0;
    uint32_t at = 0;
    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, UNIQUE_ID, about) != 0) {
        return false;
    }
    memcpy(&mask, about, sizeof mask);
    memcpy(&request.id, about + ID_AT, sizeof request.id);
    if ((mask & UNIQUE_ID) == 0 || syscall(STATMOUNT, &request, mount, sizeof mount, 0) != 0) {
        return false;
    }
    memcpy(&got, mount + 8, sizeof got);
    memcpy(&at, mount + ROOT_AT, sizeof at);
    const char *text = mount + TEXTS_AT + at;
    if ((got & ROOT) == 0 || at >= PATH_ROOM || memchr(text, '\0', PATH_ROOM - at) == NULL) {
        return false;
    }
    memcpy(out, text, strlen(text) + 1);
    *root = sbx_str(out);
    return true;
}

/* Version 2 has one hierarchy, so that any of its mounts that shows the group will do. */
static int open_usual(const struct hierarchy *h, struct sbx_str group)
{
    const char *const *place = h->texts->kernel->places_v2;
    for (; *h->controller == '\0' && *place != NULL; place++) {
        char text[PATH_ROOM];
        struct statfs about = {0};
        struct sbx_str root = {NULL, 0};
        struct sbx_str below = {NULL, 0};
        AUTO_FD top = sbx_cgroup_file_open(AT_FDCWD, *place, O_RDONLY | O_DIRECTORY);
        if (top >= 0 && fstatfs(top, &about) == 0 && (long)about.f_type == h->magic &&
            mount_root(top, text, &root) && path_below(group, root, &below)) {
            return open_below(SBX_TAKE(top, -1), below);
        }
    }
    return -1;
}

/* Opens the group `levels_up` above our own (0 or 1) and tells its path; -1 when it is not to be
 * seen. */
static int open_group(const struct hierarchy *h, unsigned levels_up, struct sbx_str *path)
{
    struct sbx_str group = {NULL, 0};
    if (!sbx_cgroup_path_in(h->texts->groups, h->controller, &group)) {
        return -1;
    }
    while (levels_up-- > 0) {
        if (group.len <= 1) {
            return -1;
        }
        do {
            group.len--;
        } while (group.len > 1 && group.ptr[group.len] != '/');
    }
    int usual = open_usual(h, group);
    if (usual >= 0) {
        *path = group;
        return usual;
    }
    struct sbx_str mounts = mounts_of(h->texts);
    while (mounts.len > 0) {
        struct sbx_str line;
        struct sbx_str below = {NULL, 0};
        struct mount mount = {0};
        char place[PATH_ROOM];
        (void)sbx_str_split(mounts, '\n', &line, &mounts);
        if (!parse_mount(line, &mount) ||
            !sbx_str_is(mount.kind, *h->controller == '\0' ? "cgroup2" : "cgroup") ||
            (*h->controller != '\0' && !sbx_cgroup_has_word(mount.options, ',', h->controller)) ||
            !path_below(group, mount.root, &below) || mount.place.len >= sizeof place) {
            continue;
        }
        memcpy(place, mount.place.ptr, mount.place.len);
        place[mount.place.len] = '\0';
        /* Something else may be mounted over it. */
        AUTO_FD top = sbx_cgroup_file_open(AT_FDCWD, place, O_RDONLY | O_DIRECTORY);
        struct statfs about = {0};
        if (top < 0 || fstatfs(top, &about) != 0 ||
            (h->magic != 0 && (long)about.f_type != h->magic)) {
            continue;
        }
        int fd = open_below(SBX_TAKE(top, -1), below);
        if (fd >= 0) {
            *path = group;
            return fd;
        }
    }
    return -1;
}

static bool may_write(int dir, const char *name)
{
    return faccessat(dir, name, W_OK, AT_EACCESS) == 0;
}

/* Adds a place that owns `fd` and is called `path`; false when it does not fit. */
static bool add_place(struct sbx_cgroup *found, int *fd, struct sbx_str path, unsigned controllers)
{
    struct sbx_cgroup_place *place = &found->place[found->place_count];
    if (found->place_count == SBX_COUNT(found->place) ||
        path.len + SBX_CGROUP_NAME_MAX + 2 > sizeof place->path) {
        return false;
    }
    *place = (struct sbx_cgroup_place){
        .controllers = controllers, .parent_fd = SBX_TAKE(*fd, -1), .group_fd = -1, .procs_fd = -1};
    memcpy(place->path, path.ptr, path.len);
    found->place_count++;
    return true;
}

/* ---- version 2 -------------------------------------------------------------------------------- */

static bool lists_all(int dir, const char *name, unsigned need)
{
    char text[SBX_CGROUP_TEXT];
    if (!sbx_cgroup_file_read(dir, name, text, sizeof text)) {
        return false;
    }
    for (size_t i = 0; i < SBX_COUNT(sbx_controller_names); i++) {
        const struct sbx_controller_name *row = &sbx_controller_names[i];
        if ((need & (unsigned)row->bit) != 0 && row->v2 != NULL &&
            !sbx_cgroup_has_word(sbx_str(text), ' ', row->v2)) {
            return false;
        }
    }
    return true;
}

/* Groups below this one can be limited: it hands the controllers down already, or it can be told to.
 * The kernel refuses the latter while processes are in it, but for the top of everything, which alone
 * has no cgroup.events. Putting a process into a group below takes the right to write this one's
 * cgroup.procs, since the process comes from here or from below. */
static bool can_divide(int dir, unsigned need)
{
    if (!may_write(dir, ".") || !may_write(dir, "cgroup.procs")) {
        return false;
    }
    if (lists_all(dir, "cgroup.subtree_control", need)) {
        return true;
    }
    char processes[64];
    bool is_top = faccessat(dir, "cgroup.events", F_OK, 0) != 0 && errno == ENOENT;
    bool is_empty = sbx_cgroup_file_read(dir, "cgroup.procs", processes, sizeof processes) &&
                    processes[0] == '\0';
    return (is_top || is_empty) && lists_all(dir, "cgroup.controllers", need) &&
           may_write(dir, "cgroup.subtree_control");
}

bool sbx_cgroup_hand_down(const struct sbx_cgroup_place *place)
{
    if (lists_all(place->parent_fd, "cgroup.subtree_control", place->controllers)) {
        return true;
    }
    char text[64] = "";
    for (size_t i = 0; i < SBX_COUNT(sbx_controller_names); i++) {
        const struct sbx_controller_name *row = &sbx_controller_names[i];
        if ((place->controllers & (unsigned)row->bit) != 0 && row->v2 != NULL) {
            size_t used = strlen(text);
            (void)snprintf(text + used, sizeof text - used, "%s+%s", used > 0 ? " " : "", row->v2);
        }
    }
    return sbx_cgroup_file_write(place->parent_fd, "cgroup.subtree_control", text);
}

static bool find_v2(struct texts *texts, unsigned need, struct sbx_cgroup *out)
{
    struct hierarchy h = {.texts = texts, .controller = "", .magic = texts->kernel->magic_v2};
    /* Our own group has us in it, so it can be divided only at the top; else our new group becomes
     * its sibling. */
    for (unsigned levels_up = 0; levels_up <= 1; levels_up++) {
        struct sbx_cgroup found = {.version = SBX_CGROUP_V2, .kernel = texts->kernel};
        struct sbx_str path = {NULL, 0};
        AUTO_FD dir = open_group(&h, levels_up, &path);
        if (dir >= 0 && can_divide(dir, need) && add_place(&found, &dir, path, need)) {
            *out = found;
            return true;
        }
    }
    return false;
}

/* ---- version 1 -------------------------------------------------------------------------------- */

/* Two controllers may share a hierarchy. */
static bool join_place(struct sbx_cgroup *found, int dir, unsigned controller)
{
    struct stat a = {0};
    struct stat b = {0};
    if (fstat(dir, &a) != 0) {
        return false;
    }
    for (size_t i = 0; i < found->place_count; i++) {
        if (fstat(found->place[i].parent_fd, &b) == 0 && a.st_dev == b.st_dev &&
            a.st_ino == b.st_ino) {
            found->place[i].controllers |= controller;
            return true;
        }
    }
    return false;
}

static bool find_v1(struct texts *texts, unsigned need, struct sbx_cgroup *out)
{
    if (geteuid() != 0) {
        return false;
    }
    struct hierarchy h = {.texts = texts, .magic = texts->kernel->magic_v1};
    AUTO_CGROUP found = {.version = SBX_CGROUP_V1, .kernel = texts->kernel};
    for (size_t i = 0; i < SBX_COUNT(sbx_controller_names); i++) {
        struct sbx_str path = {NULL, 0};
        unsigned bit = (unsigned)sbx_controller_names[i].bit;
        h.controller = sbx_controller_names[i].v1;
        AUTO_FD dir = open_group(&h, 0, &path);
        bool is_there = dir >= 0 && may_write(dir, ".") &&
                        (join_place(&found, dir, bit) || add_place(&found, &dir, path, bit));
        if (!is_there && (need & bit) != 0) {
            return false;
        }
    }
    if (found.place_count == 0) {
        return false;
    }
    *out = SBX_TAKE(found, (struct sbx_cgroup){0});
    return true;
}

/* ---- both ------------------------------------------------------------------------------------- */

bool sbx_cgroup_find_one(const struct sbx_cgroup_kernel *kernel, enum sbx_cgroup_version version,
                         unsigned need, struct sbx_cgroup *out)
{
    AUTO_ARENA arena;
    struct texts texts = read_texts(kernel, &arena);
    return version == SBX_CGROUP_V2 ? find_v2(&texts, need, out) : find_v1(&texts, need, out);
}

void sbx_cgroup_find(const struct sbx_cgroup_kernel *kernel, unsigned need, struct sbx_cgroup *out)
{
    AUTO_ARENA arena;
    struct texts texts = read_texts(kernel, &arena);
    if (!find_v2(&texts, need, out) && !find_v1(&texts, need, out)) {
        *out = (struct sbx_cgroup){.kernel = kernel};
    }
}

static struct {
    bool is_known;
    enum sbx_cgroup_version version;
} early;

enum sbx_cgroup_version sbx_cgroup_usable(void)
{
    AUTO_CGROUP found = {0};
    if (early.is_known) {
        early.is_known = false;
        return early.version;
    }
    sbx_cgroup_find(&sbx_cgroup_real, SBX_CGROUP_NEED, &found);
    return found.version;
}

enum sbx_cgroup_version sbx_cgroup_usable_early(void)
{
    early.version = sbx_cgroup_usable();
    early.is_known = true;
    return early.version;
}

void sbx_cgroup_release(struct sbx_cgroup *group)
{
    for (size_t i = 0; i < group->place_count; i++) {
        sbx_fd_close(&group->place[i].procs_fd);
        sbx_fd_close(&group->place[i].group_fd);
        sbx_fd_close(&group->place[i].parent_fd);
    }
    group->place_count = 0;
    group->version = SBX_CGROUP_NONE;
}
