/* What sbx-init is told about names: where the box may make them, and which not. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "posix/fd.h"
#include "posix/linux_launch.h"
#include "posix/linux_process.h"

#include "common/base/banned.h"

enum { COMPONENTS_MAX = 60 }; /* of a pattern: sbx-init keeps its places in the bits of a word */

struct rows {
    struct sbx_init_place *places;
    size_t place_count, place_capacity;
    struct sbx_init_pattern *patterns;
    size_t pattern_count, pattern_capacity;
    bool has_writable, has_closed;
};

static enum sbx_code add_place(struct sbx_launch *launch, struct rows *rows, const char *path,
                               uint64_t kind, struct sbx_err *err)
{
    struct sbx_init_place *place = (struct sbx_init_place *)sbx_arena_push(
        launch->arena, &rows->places, &rows->place_count, &rows->place_capacity, sizeof *place);
    if (place == NULL) {
        return sbx_err_nomem(err);
    }
    place->path = sbx_init_block_text(&launch->block, path);
    place->kind = kind;
    rows->has_writable |= kind == SBX_PLACE_WRITABLE;
    rows->has_closed |= kind == SBX_PLACE_CLOSED || kind == SBX_PLACE_PINNED;
    return SBX_OK;
}

static enum sbx_code add_pattern(struct sbx_launch *launch, struct rows *rows, const char *text,
                                 uint64_t flags, struct sbx_err *err)
{
    size_t components = 1;
    for (const char *at = text; *at != '\0'; at++) {
        components += *at == '/';
    }
    if (components > COMPONENTS_MAX) {
        return sbx_err_set(err, SBX_E_LIMIT, "the pattern \"%s\" has more than %d components", text,
                           COMPONENTS_MAX);
    }
    struct sbx_init_pattern *pattern = (struct sbx_init_pattern *)sbx_arena_push(
        launch->arena, &rows->patterns, &rows->pattern_count, &rows->pattern_capacity,
        sizeof *pattern);
    if (pattern == NULL) {
        return sbx_err_nomem(err);
    }
    pattern->text = sbx_init_block_text(&launch->block, text);
    pattern->flags = flags;
    return SBX_OK;
}

/* As realpath, which asks once for every name on the way: only where one of them is a link that is worth it. */
static bool find_real(const char *path, char out[PATH_MAX])
{
    bool is_real = false;
    AUTO_FD fd = sbx_path_open(path, 0, &is_real);
    if (is_real) {
        memcpy(out, path, strlen(path) + 1);
        return true;
    }
    return (fd >= 0 || errno != ENOENT) && realpath(path, out) != NULL;
}

/* A path that does not exist, under the real name of the part that does. */
static const char *real_name(struct sbx_arena *arena, const char *path)
{
    char part[PATH_MAX];
    char real[PATH_MAX];
    size_t len = strlen(path);
    if (len >= sizeof part) {
        return path;
    }
    memcpy(part, path, len + 1);
    while (len > 1) {
        if (find_real(part, real)) {
            const char *rest = path + len;
            return sbx_arena_printf(arena, "%s%s", strcmp(real, "/") == 0 ? "" : real, rest);
        }
        while (len > 1 && part[len - 1] != '/') {
            len--;
        }
        part[--len == 0 ? len = 1 : len] = '\0';
    }
    return path;
}

/* Rules for paths that are not there: the box must not make them. What is mounted is there, and need not be asked for. */
static enum sbx_code add_absent(struct sbx_launch *launch, struct rows *rows,
                                const struct sbx_mounts *mounts, struct sbx_err *err)
{
    const struct sbx_policy *policy = launch->plan->policy;
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; i < policy->rules.count && code == SBX_OK; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        struct stat info;
        if (rule->kind != SBX_RULE_HOST || rule->access == SBX_ACCESS_WRITE) {
            continue;
        }
        if (rule->is_glob) {
            code = add_pattern(launch, rows, rule->path.text, SBX_PATTERN_ANCHORED, err);
        } else if (sbx_mounts_at(mounts, rule->path.text) == mounts->count &&
                   stat(rule->path.text, &info) != 0 && errno == ENOENT) {
            const char *name = real_name(launch->arena, rule->path.text);
            code = name == NULL ? sbx_err_nomem(err)
                                : add_place(launch, rows, name, SBX_PLACE_PINNED, err);
        }
    }
    return code;
}

/* What is locked inside something writable stays closed when a directory above it is moved away and made
 * again. Elsewhere the mount itself answers, in the kernel's own words. */
static uint64_t place_kind(const struct sbx_mounts *mounts, size_t index)
{
    const struct sbx_mount *mount = &mounts->items[index];
    const struct sbx_mount *above = sbx_mounts_above(mounts, index);
    bool is_locked = mount->kind == SBX_MOUNT_READ || mount->kind == SBX_MOUNT_MASK ||
                     mount->kind == SBX_MOUNT_MASK_FILE;
    if (mount->kind == SBX_MOUNT_WRITE) {
        return SBX_PLACE_WRITABLE;
    }
    if (is_locked && above != NULL && above->kind == SBX_MOUNT_WRITE) {
        return mount->is_rule ? SBX_PLACE_PINNED : SBX_PLACE_CLOSED;
    }
    if (mount->kind == SBX_MOUNT_TMPFS && above != NULL && above->kind == SBX_MOUNT_WRITE) {
        return SBX_PLACE_PRIVATE;
    }
    return SBX_PLACE_FREE;
}

/* What a rule makes writable is open as a whole, also where it lies in something writable and needs no mount of
 * its own: a protected name above it no longer counts. Before the mounts, of which the stricter stay. */
static enum sbx_code add_writable(struct sbx_launch *launch, struct rows *rows, struct sbx_err *err)
{
    const struct sbx_policy *policy = launch->plan->policy;
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; i < policy->rules.count && code == SBX_OK; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        char real[PATH_MAX];
        if (rule->kind == SBX_RULE_HOST && rule->access == SBX_ACCESS_WRITE && !rule->is_glob &&
            find_real(rule->path.text, real)) {
            code = add_place(launch, rows, real, SBX_PLACE_WRITABLE, err);
        }
    }
    return code;
}

/* A directory that a ".git" file names is another ".git" under a name of its own. */
static enum sbx_code add_git_directories(struct sbx_launch *launch, struct rows *rows,
                                         const struct sbx_found_list *found, struct sbx_err *err)
{
    static const char prefix[] = ".git/";
    const struct sbx_policy *policy = launch->plan->policy;
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; i < found->git_directory_count * policy->protect_count && code == SBX_OK;
         i++) {
        const struct sbx_protect_row *row = &policy->protect[i % policy->protect_count];
        if (strncmp(row->pattern, prefix, strlen(prefix)) == 0) {
            const char *text = sbx_arena_printf(launch->arena, "%s/%s",
                                                found->git_directories[i / policy->protect_count],
                                                row->pattern + strlen(prefix));
            code = text == NULL ? sbx_err_nomem(err)
                                : add_pattern(launch, rows, text, SBX_PATTERN_ANCHORED, err);
        }
    }
    return code;
}

enum sbx_code sbx_launch_names(struct sbx_launch *launch, const struct sbx_mounts *mounts,
                               const struct sbx_found_list *found, struct sbx_err *err)
{
    const struct sbx_policy *policy = launch->plan->policy;
    struct rows rows = {0};
    enum sbx_code code = add_writable(launch, &rows, err);
    /* Of equal paths the last counts: the mount. */
    for (size_t i = 0; i < mounts->count && code == SBX_OK; i++) {
        const struct sbx_mount *mount = &mounts->items[i];
        code = add_place(launch, &rows, mount->path, place_kind(mounts, i), err);
    }
    if (code == SBX_OK) {
        code = add_absent(launch, &rows, mounts, err);
    }
    for (size_t i = 0; i < policy->protect_count && code == SBX_OK; i++) {
        code = add_pattern(launch, &rows, policy->protect[i].pattern,
                           policy->protect[i].file_only ? SBX_PATTERN_FILE_ONLY : 0, err);
    }
    if (code == SBX_OK) {
        code = add_git_directories(launch, &rows, found, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    if (rows.has_writable && (rows.pattern_count > 0 || rows.has_closed)) {
        struct sbx_init_plan *plan = &launch->block.plan;
        plan->places = sbx_init_block_array(&launch->block, rows.places, rows.place_count,
                                            sizeof rows.places[0]);
        plan->patterns = sbx_init_block_array(&launch->block, rows.patterns, rows.pattern_count,
                                              sizeof rows.patterns[0]);
        launch->watches_names = true;
        launch->watch = SBX_FILTER_NAMES;
        /* A domain of the box's own making would not bind sbx-init, which makes names for it. */
        sbx_launch_filter(launch, SBX_FILTER_NO_LANDLOCK);
    }
    return SBX_OK;
}

enum sbx_code sbx_launch_changes(struct sbx_launch *launch, struct sbx_err *err)
{
    struct rows rows = {0};
    enum sbx_code code = add_writable(launch, &rows, err);
    if (code == SBX_OK && launch->scratch[0] != '\0') {
        code = add_place(launch, &rows, launch->scratch, SBX_PLACE_WRITABLE, err);
    }
    if (code == SBX_OK) {
        launch->block.plan.places = sbx_init_block_array(&launch->block, rows.places,
                                                         rows.place_count, sizeof rows.places[0]);
        launch->watches_names = true;
        launch->watch = SBX_FILTER_CHANGES;
    }
    return code;
}
