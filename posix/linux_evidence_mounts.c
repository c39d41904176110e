/* Evidence about mounts: what the kernel lists in the box against the plan. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/linux_evidence.h"

#include "common/base/banned.h"

enum { MOUNTINFO_MAX = 4 << 20 };

/* One line of mountinfo. */
struct line {
    unsigned long id, parent;
    const char *place; /* unescaped */
    const char *kind;
    bool is_read_only, no_set_id, no_devices;
    bool is_known; /* planned, or below something planned */
};

struct table {
    struct line *items;
    size_t count, capacity;
};

/* "\040" and the like, in place. */
static void unescape(char *text)
{
    char *out = text;
    for (const char *in = text; *in != '\0';) {
        if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] != '\0' && in[3] != '\0') {
            *out++ = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
            in += 4;
        } else {
            *out++ = *in++;
        }
    }
    *out = '\0';
}

static bool has_option(const char *options, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = options; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == '\0')) {
            return true;
        }
    }
    return false;
}

/* id parent device root PLACE OPTIONS optional… - KIND source super-options */
static bool parse(char *text, struct line *out)
{
    char *field[6];
    char *rest = NULL;
    char *word = strtok_r(text, " ", &rest);
    for (size_t i = 0; i < SBX_COUNT(field); i++) {
        if (word == NULL) {
            return false;
        }
        field[i] = word;
        word = strtok_r(NULL, " ", &rest);
    }
    while (word != NULL && strcmp(word, "-") != 0) {
        word = strtok_r(NULL, " ", &rest);
    }
    const char *kind = strtok_r(NULL, " ", &rest);
    (void)strtok_r(NULL, " ", &rest);
    const char *super = strtok_r(NULL, " ", &rest);
    if (kind == NULL) {
        return false;
    }
    out->id = strtoul(field[0], NULL, 10);
    out->parent = strtoul(field[1], NULL, 10);
    unescape(field[4]);
    out->place = field[4];
    out->kind = kind;
    out->is_read_only =
        has_option(field[5], "ro") || (super != NULL && has_option(super, "ro"));
    out->no_set_id = has_option(field[5], "nosuid");
    out->no_devices = has_option(field[5], "nodev");
    return true;
}

static char *read_whole(struct sbx_arena *arena, pid_t pid)
{
    char path[64];
    AUTO_BUF text;
    sbx_buf_init(&text, MOUNTINFO_MAX);
    (void)snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)pid);
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
    char block[16384];
    ssize_t got = fd < 0 ? -1 : 0;
    while (fd >= 0 && (got = sbx_fd_read(fd, block, sizeof block)) > 0) {
        sbx_buf_add(&text, block, (size_t)got);
    }
    return got < 0 || text.failed ? NULL : sbx_arena_copy(arena, sbx_buf_text(&text), text.len);
}

static bool read_table(struct sbx_evidence_list *list, pid_t pid, struct table *out)
{
    char *rest = NULL;
    char *text = read_whole(list->arena, pid);
    if (text == NULL) {
        return false;
    }
    for (char *row = strtok_r(text, "\n", &rest); row != NULL; row = strtok_r(NULL, "\n", &rest)) {
        struct line *line = (struct line *)sbx_arena_push(list->arena, &out->items, &out->count,
                                                          &out->capacity, sizeof *line);
        if (line == NULL || !parse(row, line)) {
            return false;
        }
    }
    return out->count > 0;
}

/* The uppermost mount at a place: the last of its name. */
static struct line *find(const struct table *table, const char *place)
{
    for (size_t i = table->count; i-- > 0;) {
        if (strcmp(table->items[i].place, place) == 0) {
            return &table->items[i];
        }
    }
    return NULL;
}

static bool is_same_file(pid_t pid, const struct sbx_mount *mount)
{
    char *path = NULL;
    struct stat info;
    size_t size = strlen(mount->path) + 64;
    path = (char *)malloc(size);
    if (path == NULL) {
        return false;
    }
    (void)snprintf(path, size, "/proc/%d/root%s", (int)pid, mount->path);
    bool is_same = lstat(path, &info) == 0 && info.st_dev == mount->device &&
                   info.st_ino == mount->inode;
    free(path);
    return is_same;
}

struct expected {
    const char *kind; /* of the file system; NULL: that of the host */
    bool is_read_only, is_bind;
    bool no_devices;
};

static struct expected expect(const struct sbx_mount *mount)
{
    static const struct expected rows[] = {
        [SBX_MOUNT_WRITE] = {NULL, false, true, true},
        [SBX_MOUNT_READ] = {NULL, true, true, true},
        [SBX_MOUNT_TMPFS] = {"tmpfs", false, false, true},
        [SBX_MOUNT_MASK] = {"tmpfs", true, false, true},
        [SBX_MOUNT_MASK_FILE] = {NULL, true, false, true},
        [SBX_MOUNT_PROC] = {"proc", false, false, true},
        [SBX_MOUNT_DEV] = {"tmpfs", true, false, true},
        [SBX_MOUNT_LINK] = {NULL, false, false, false},
    };
    return rows[mount->kind];
}

static void check_one(struct sbx_evidence_list *list, pid_t pid, const struct sbx_mount *mount,
                      struct line *line)
{
    struct expected want = expect(mount);
    char what[400];
    char wanted[64];
    char got[96];
    (void)snprintf(what, sizeof what, "mount.%.380s", mount->path);
    (void)snprintf(wanted, sizeof wanted, "%s %s nosuid nodev", want.kind == NULL ? "bind" : want.kind,
                   want.is_read_only ? "ro" : "rw");
    if (line == NULL) {
        sbx_evidence_add(list, what, wanted, "missing", false);
        return;
    }
    line->is_known = true;
    bool is_right = !want.is_bind || is_same_file(pid, mount);
    (void)snprintf(got, sizeof got, "%s %s%s%s%s", want.kind == NULL ? "bind" : line->kind,
                   line->is_read_only ? "ro" : "rw", line->no_set_id ? " nosuid" : "",
                   line->no_devices ? " nodev" : "", is_right ? "" : " of another file");
    sbx_evidence_same(list, what, wanted, got);
}

static bool is_within(const char *outer, const char *inner)
{
    size_t len = strlen(outer);
    return len == 1 || (strncmp(outer, inner, len) == 0 && (inner[len] == '/' || inner[len] == '\0'));
}

/* No path leads to it: something is mounted over it, or over a directory on the way from its parent, or its
 * parent is hidden. */
static bool is_hidden(const struct table *table, const struct line *line)
{
    enum { DEEPEST = 64 };
    for (int depth = 0; depth < DEEPEST; depth++) {
        const struct line *parent = NULL;
        for (size_t i = 0; i < table->count; i++) {
            const struct line *other = &table->items[i];
            bool covers = other->parent == line->id && strcmp(other->place, line->place) == 0;
            bool is_between = other != line && other->parent == line->parent &&
                              is_within(other->place, line->place) && strcmp(other->place, "/") != 0;
            if (other->id != line->id && (covers || is_between)) {
                return true;
            }
            if (other->id == line->parent && other->id != line->id) {
                parent = other;
            }
        }
        if (parent == NULL) {
            return false;
        }
        /* On the way up only what lies over the parent's own root counts: it holds this one's place. */
        line = parent;
    }
    return false;
}

/* Everything else that is mounted must be the host's, below something planned, and not writable where the
 * plan says read-only. */
static void check_rest(struct sbx_evidence_list *list, const struct table *table,
                       const struct sbx_mounts *mounts)
{
    char got[400] = "none";
    bool ok = true;
    for (size_t i = 0; i < table->count; i++) {
        const struct line *line = &table->items[i];
        if (line->is_known) {
            continue;
        }
        const struct sbx_mount *above = NULL;
        for (size_t m = 0; m < mounts->count; m++) {
            const struct sbx_mount *mount = &mounts->items[m];
            if (is_within(mount->path, line->place) && mount->kind != SBX_MOUNT_LINK) {
                above = mount; /* parents come first, so the last is the nearest */
            }
        }
        bool is_writable = above != NULL && (above->kind == SBX_MOUNT_WRITE ||
                                             above->kind == SBX_MOUNT_DEV);
        bool is_root = strcmp(line->place, "/") == 0 && !mounts->has_host_root;
        bool is_open = !line->is_read_only && !is_writable;
        bool is_strange = above == NULL && !is_root;
        if ((is_open || is_strange) && !is_hidden(table, line)) {
            ok = false;
            (void)snprintf(got, sizeof got, "%.300s %s", line->place,
                           is_open ? "is writable" : "was not planned");
        }
    }
    sbx_evidence_add(list, "mounts.unplanned-or-writable", "none", got, ok);
}

/* The plan's order is the kernel's: a mount that came before its parent would be hidden by it. */
static void check_order(struct sbx_evidence_list *list, const struct table *table,
                        const struct sbx_mounts *mounts)
{
    const struct line *last = NULL;
    const char *wrong = NULL;
    for (size_t i = 0; i < mounts->count; i++) {
        const struct line *line = find(table, mounts->items[i].path);
        if (line != NULL && mounts->items[i].kind != SBX_MOUNT_LINK) {
            if (last != NULL && line < last) {
                wrong = mounts->items[i].path;
            }
            last = line;
        }
    }
    sbx_evidence_add(list, "mounts.order", "as planned", wrong == NULL ? "as planned" : wrong,
                     wrong == NULL);
}

void sbx_evidence_mounts(struct sbx_evidence_list *list, pid_t pid, const struct sbx_mounts *mounts)
{
    struct table table = {0};
    if (!read_table(list, pid, &table)) {
        sbx_evidence_add(list, "mounts", "readable", "unreadable", false);
        return;
    }
    for (size_t i = 0; i < mounts->count; i++) {
        if (mounts->items[i].kind != SBX_MOUNT_LINK) {
            check_one(list, pid, &mounts->items[i], find(&table, mounts->items[i].path));
        }
    }
    check_order(list, &table, mounts);
    check_rest(list, &table, mounts);
}
