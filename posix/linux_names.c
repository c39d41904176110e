/* Finding what of a policy must be mounted by name: where to start, what the policy says, and the list. */
#include "posix/linux_names.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/sort.h"
#include "posix/fd.h"
#include "posix/git_file.h"
#include "posix/linux_names_internal.h"

#include "common/base/banned.h"

#define SCRATCH_BYTES ((size_t)512 << 20)
#define LISTING_BYTES ((size_t)256 << 20) /* of one directory */

/* ---- what the policy says ---- */

/* Names on disk may hold control characters, which paths of a policy never do; some of them mean a separator or
 * an end to comparisons. No pattern names a byte that is not UTF-8, and every wildcard takes it for one
 * character. */
static struct sbx_path without_control(struct sbx_path path, char out[PATH_MAX])
{
    bool is_clean = true;
    for (size_t i = 0; i < path.len; i++) {
        is_clean &= (unsigned char)path.text[i] >= 0x20 && path.text[i] != 0x7f;
    }
    if (is_clean || path.len >= PATH_MAX) {
        return path;
    }
    for (size_t i = 0; i < path.len; i++) {
        bool is_control = (unsigned char)path.text[i] < 0x20 || path.text[i] == 0x7f;
        out[i] = is_control ? (char)0xff : path.text[i];
    }
    out[path.len] = '\0';
    return (struct sbx_path){out, path.len, path.rules};
}

static const struct sbx_rule *literal_at(const struct sbx_policy *policy, struct sbx_path path)
{
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        if (!rule->is_glob && rule->path.len == path.len && sbx_path_eq(rule->path, path)) {
            return rule;
        }
    }
    return NULL;
}

struct sbx_decision sbx_names_decide(struct sbx_names_walk *walk, struct sbx_path path,
                                     bool is_directory)
{
    char text[PATH_MAX];
    struct sbx_decision decision =
        sbx_policy_decide(&walk->scratch, walk->policy, without_control(path, text));
    if (decision.maybe_writable && is_directory) {
        decision = (struct sbx_decision){.access = SBX_ACCESS_WRITE,
                                         .rule = literal_at(walk->policy, decision.protected_root)};
    }
    return decision;
}

bool sbx_names_is_literal(const struct sbx_decision *decision, struct sbx_path path)
{
    return decision->rule != NULL && !decision->rule->is_glob &&
           sbx_path_eq(decision->rule->path, path);
}

struct sbx_names_region sbx_names_region_of(const struct sbx_decision *decision)
{
    const struct sbx_rule *rule = decision->rule;
    struct sbx_names_region region = {.access = decision->access};
    if (rule != NULL) {
        bool is_masked = rule->is_glob && decision->access == SBX_ACCESS_NONE;
        region.is_closed =
            is_masked || rule->kind != SBX_RULE_HOST || rule->by == SBX_BY_ADMINISTRATOR;
    }
    return region;
}

/* Protections take away writing only; a glob that says what holds anyway changes nothing. Where the box cannot
 * write, the names that a glob begins with need not be looked for: it has a start of its own behind them. */
static bool matters_in(const struct sbx_names_pattern *pattern, struct sbx_names_region region)
{
    return pattern->row != NULL ? region.access == SBX_ACCESS_WRITE
                                : region.access != pattern->rule->access;
}

bool sbx_names_may_want(const struct sbx_names_walk *walk, struct sbx_names_region region,
                        struct sbx_path path)
{
    for (size_t i = 0; !region.is_closed && i < walk->matcher.count; i++) {
        const struct sbx_names_pattern *pattern = &walk->matcher.patterns[i];
        if (matters_in(pattern, region) &&
            (region.access == SBX_ACCESS_WRITE || sbx_path_contains(pattern->start, path))) {
            return true;
        }
    }
    return false;
}

bool sbx_names_wants_below(const struct sbx_names_walk *walk, struct sbx_names_region region,
                           const uint64_t *states)
{
    for (size_t i = 0; !region.is_closed && i < walk->matcher.count; i++) {
        const struct sbx_names_pattern *pattern = &walk->matcher.patterns[i];
        bool matters = matters_in(pattern, region);
        bool is_beyond =
            region.access == SBX_ACCESS_WRITE || states[i] >> pattern->start_depth != 0;
        if (matters && is_beyond && sbx_names_continues(pattern, states[i])) {
            return true;
        }
    }
    return false;
}

/* ---- where to start ---- */

static enum sbx_code push_start(struct sbx_names_walk *walk, struct sbx_path path, bool is_git,
                                struct sbx_err *err)
{
    struct sbx_names_start *start = (struct sbx_names_start *)sbx_arena_push(
        &walk->scratch, &walk->starts, &walk->start_count, &walk->start_capacity, sizeof *start);
    const char *text = sbx_arena_copy(&walk->scratch, path.text, path.len);
    if (start == NULL || text == NULL) {
        return sbx_err_nomem(err);
    }
    *start = (struct sbx_names_start){.path = {text, path.len, path.rules}, .is_git = is_git};
    return SBX_OK;
}

enum sbx_code sbx_names_add_start(struct sbx_names_walk *walk, struct sbx_path path, bool is_git,
                                  struct sbx_err *err)
{
    for (size_t i = 0; i < walk->start_count; i++) {
        if (walk->starts[i].is_git == is_git && sbx_path_eq(walk->starts[i].path, path)) {
            return SBX_OK;
        }
    }
    return push_start(walk, path, is_git, err);
}

static int compare_starts(const void *left, const void *right)
{
    return sbx_path_compare(((const struct sbx_names_start *)left)->path,
                            ((const struct sbx_names_start *)right)->path);
}

/* Every literal rule, since what holds below it is its own; and where a glob begins. No two literal rules have one
 * path. */
static enum sbx_code collect_starts(struct sbx_names_walk *walk, struct sbx_err *err)
{
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; code == SBX_OK && i < walk->policy->rules.count; i++) {
        const struct sbx_rule *rule = &walk->policy->rules.items[i];
        if (rule->is_glob) {
            code = sbx_names_add_start(walk, sbx_names_glob_start(rule->path), false, err);
        } else if (rule->kind == SBX_RULE_HOST) {
            code = push_start(walk, rule->path, false, err);
        }
    }
    if (walk->start_count > 1) {
        sbx_sort(walk->starts, walk->start_count, sizeof *walk->starts, compare_starts);
    }
    walk->sorted_count = walk->start_count;
    return code;
}

/* ---- the list ---- */

static enum sbx_code too_many(const struct sbx_names_walk *walk, struct sbx_err *err)
{
    (void)sbx_err_set(err, SBX_E_LIMIT,
                      "more than %zu protected files and matches of globs would have to be mounted",
                      walk->limits->names);
    return sbx_err_hint(err, "make a smaller directory writable, or use a rule for a directory "
                             "instead of a glob for its files");
}

enum sbx_code sbx_names_report(struct sbx_names_walk *walk, const struct sbx_found *found,
                               struct sbx_err *err)
{
    /* Some may yet turn out to be said twice, by links to one place. */
    if (walk->found.count >= walk->limits->names * 4) {
        return too_many(walk, err);
    }
    struct sbx_found *slot =
        (struct sbx_found *)sbx_arena_push(&walk->scratch, &walk->found.items, &walk->found.count,
                                           &walk->found.capacity, sizeof *slot);
    if (slot == NULL) {
        return sbx_err_nomem(err);
    }
    *slot = *found;
    return SBX_OK;
}

static struct sbx_path path_of(const struct sbx_found *found)
{
    return (struct sbx_path){found->path, strlen(found->path), SBX_PATH_POSIX};
}

/* Of two for one path the stricter is first, then the one that knows more. */
static int compare_found(const void *left, const void *right)
{
    const struct sbx_found *a = (const struct sbx_found *)left;
    const struct sbx_found *b = (const struct sbx_found *)right;
    int order = sbx_path_compare(path_of(a), path_of(b));
    if (order == 0) {
        order = (int)a->access - (int)b->access;
    }
    return order != 0 ? order : (int)b->target_open - (int)a->target_open;
}

/* In a list that is sorted already. */
static const struct sbx_found *entry_at(const struct sbx_found *items, size_t count,
                                        struct sbx_path path)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = sbx_path_compare(path_of(&items[middle]), path);
        if (order == 0) {
            return &items[middle];
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

/* Does an entry above already say as much, with no literal rule between the two? */
static bool is_covered(const struct sbx_names_walk *walk, const struct sbx_found *kept,
                       size_t count, const struct sbx_found *found)
{
    struct sbx_path path = path_of(found);
    while (!sbx_path_is_root(path)) {
        path = sbx_path_up(path);
        if (literal_at(walk->policy, path) != NULL) {
            return false;
        }
        const struct sbx_found *above = entry_at(kept, count, path);
        if (above != NULL) {
            return above->access <= found->access;
        }
    }
    return false;
}

/* The walk itself finds no path twice and nothing below what it closed: only where links lead may be. */
static enum sbx_code settle(struct sbx_names_walk *walk, struct sbx_err *err)
{
    struct sbx_found *items = walk->found.items;
    size_t kept = 0;
    if (walk->found.count > 1) {
        sbx_sort(items, walk->found.count, sizeof *items, compare_found);
    }
    for (size_t i = 0; i < walk->found.count; i++) {
        bool is_again = kept > 0 && sbx_text_eq(items[kept - 1].path, items[i].path);
        if (is_again) {
            items[kept - 1].target_open |= items[i].target_open;
        } else if (!walk->has_targets || !is_covered(walk, items, kept, &items[i])) {
            items[kept++] = items[i];
        }
    }
    walk->found.count = kept;
    return kept > walk->limits->names ? too_many(walk, err) : SBX_OK;
}

static enum sbx_code hand_over_git(struct sbx_arena *arena, const struct sbx_names_walk *walk,
                                   struct sbx_found_list *list, struct sbx_err *err)
{
    list->git_directories = SBX_NEW_ARRAY(arena, const char *, walk->start_count);
    if (list->git_directories == NULL) {
        return sbx_err_nomem(err);
    }
    for (size_t i = 0; i < walk->start_count; i++) {
        const struct sbx_names_start *start = &walk->starts[i];
        if (start->is_git) {
            const char *path = sbx_arena_copy(arena, start->path.text, start->path.len);
            if (path == NULL) {
                return sbx_err_nomem(err);
            }
            list->git_directories[list->git_directory_count++] = path;
        }
    }
    return SBX_OK;
}

/* From scratch memory into the caller's. */
static enum sbx_code hand_over(struct sbx_arena *arena, const struct sbx_names_walk *walk,
                               struct sbx_found_list *out, struct sbx_err *err)
{
    struct sbx_found_list list = walk->found;
    list.entries = walk->reader.entries;
    list.capacity = list.count;
    list.items = SBX_NEW_ARRAY(arena, struct sbx_found, list.count);
    if (list.items == NULL) {
        return sbx_err_nomem(err);
    }
    for (size_t i = 0; i < list.count; i++) {
        struct sbx_found *item = &list.items[i];
        *item = walk->found.items[i];
        item->path = sbx_arena_copy(arena, item->path, strlen(item->path));
        if (item->link != NULL) {
            item->link = sbx_arena_copy(arena, item->link, strlen(item->link));
        }
        if (item->path == NULL || (item->is_symlink && item->link == NULL)) {
            return sbx_err_nomem(err);
        }
    }
    enum sbx_code code = hand_over_git(arena, walk, &list, err);
    if (code == SBX_OK) {
        *out = list;
    }
    return code;
}

/* ---- all of it ---- */

static void release_walk(struct sbx_names_walk *walk)
{
    sbx_fd_close(&walk->cache_dir);
    sbx_buf_release(&walk->reader.work);
    sbx_arena_release(&walk->scratch);
}

static enum sbx_code prepare(struct sbx_names_walk *walk, const char *cache_dir,
                             struct sbx_err *err)
{
    enum sbx_code code = sbx_names_compile(&walk->scratch, walk->policy, &walk->matcher, err);
    if (code != SBX_OK) {
        return code;
    }
    walk->next = SBX_NEW_ARRAY(&walk->scratch, uint64_t, walk->matcher.count);
    walk->reader.arena = &walk->scratch;
    walk->reader.matcher = &walk->matcher;
    walk->reader.block = SBX_NEW_ARRAY(&walk->scratch, char, SBX_NAMES_BLOCK_BYTES);
    if (walk->next == NULL || walk->reader.block == NULL) {
        return sbx_err_nomem(err);
    }
    walk->git_row = sbx_git_row(walk->policy);
    if (cache_dir != NULL && walk->matcher.count > 0) {
        walk->cache_dir = sbx_names_cache_open_dir(walk->policy, cache_dir);
        sbx_sha256_init(&walk->patterns);
        sbx_names_digest(&walk->matcher, &walk->patterns);
    }
    return collect_starts(walk, err);
}

enum sbx_code sbx_names_find_within(struct sbx_arena *arena, const struct sbx_policy *policy,
                                    const char *cache_dir, const struct sbx_names_limits *limits,
                                    struct sbx_found_list *out, struct sbx_err *err)
{
    SBX_CLEANUP(release_walk)
    struct sbx_names_walk walk = {.policy = policy, .limits = limits, .cache_dir = -1};
    sbx_arena_init(&walk.scratch, SCRATCH_BYTES);
    sbx_buf_init(&walk.reader.work, LISTING_BYTES);
    enum sbx_code code = prepare(&walk, cache_dir, err);
    /* A walk may add starts behind: what ".git" files name. */
    for (size_t i = 0; code == SBX_OK && i < walk.start_count; i++) {
        if (!walk.starts[i].is_done) {
            code = sbx_names_walk_start(&walk, i, err);
        }
    }
    if (code == SBX_OK) {
        code = settle(&walk, err);
    }
    return code == SBX_OK ? hand_over(arena, &walk, out, err) : code;
}

enum sbx_code sbx_names_find(struct sbx_arena *arena, const struct sbx_policy *policy,
                             const char *cache_dir, struct sbx_found_list *out, struct sbx_err *err)
{
    static const struct sbx_names_limits limits = {SBX_NAMES_MAX, SBX_NAMES_ENTRIES_MAX};
    return sbx_names_find_within(arena, policy, cache_dir, &limits, out, err);
}
