/* Normal form of file rules, and the decision about one path. */
#include <stdlib.h>
#include <string.h>

#include "common/base/sort.h"
#include "common/policy/policy.h"

#include "common/base/banned.h"

/* Literals before globs, parents before children, the stronger layer first for one path. Spellings that
 * differ in case are one path where the rules say so, and only the last word on their order. */
static int compare_rules(const void *left, const void *right)
{
    const struct sbx_rule *a = (const struct sbx_rule *)left;
    const struct sbx_rule *b = (const struct sbx_rule *)right;
    if (a->is_glob != b->is_glob) return a->is_glob ? 1 : -1;
    int order = sbx_path_compare(a->path, b->path);
    if (order != 0 && !sbx_path_eq(a->path, b->path)) return order;
    if (a->by != b->by) return a->by > b->by ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->access != b->access) return a->access > b->access ? -1 : 1;
    if (order != 0) return order;
    return (a->order > b->order) - (a->order < b->order);
}

static bool from_lists(const struct sbx_rule *rule)
{
    return strncmp(rule->key_path, "fs_", 3) == 0;
}

static struct sbx_str shown_path(const struct sbx_rule *rule)
{
    return (struct sbx_str){rule->path.text, rule->path.len};
}

/* Two rules of one layer for one path. `kept` has the wider access (sorting put it first). */
static void settle_equal(const struct sbx_rule *kept, const struct sbx_rule *other,
                         struct sbx_findings *findings)
{
    if (kept->by == SBX_BY_PRESET || kept->by > SBX_BY_FLAG) return;
    bool same = kept->access == other->access && kept->kind == other->kind;
    bool lists = from_lists(kept) && from_lists(other); /* writable paths are readable too */
    if (same || lists) {
        sbx_findings_add(findings, SBX_F_PATH_DUPLICATE, &other->at, other->key_path,
                         shown_path(other), "\"%s\" is listed twice (also %s)", other->path.text,
                         kept->key_path);
        return;
    }
    struct sbx_finding *finding = sbx_findings_add(
        findings, SBX_F_CONFLICT, &other->at, other->key_path, shown_path(other),
        "\"%s\" is %s here and %s in %s", other->path.text,
        other->kind == SBX_RULE_HOST ? sbx_name_text(sbx_access_names, (int)other->access)
                                     : sbx_name_text(sbx_rule_kind_names, (int)other->kind),
        kept->kind == SBX_RULE_HOST ? sbx_name_text(sbx_access_names, (int)kept->access)
                                    : sbx_name_text(sbx_rule_kind_names, (int)kept->kind),
        kept->key_path);
    sbx_finding_hint(findings, finding, "keep one of the two entries");
}

/* ---- views of paths ---- */

static size_t root_len(struct sbx_path path)
{
    return path.rules == SBX_PATH_WINDOWS ? sizeof "C:\\" - 1 : 1;
}

struct sbx_path sbx_path_up(struct sbx_path path)
{
    size_t name = sbx_path_name(path).len;
    if (name == 0) return path;
    path.len -= name;
    if (path.len > root_len(path)) path.len--;
    return path;
}

struct sbx_path sbx_glob_base(struct sbx_path glob)
{
    struct sbx_path base = {glob.text, root_len(glob), glob.rules};
    struct sbx_str name = sbx_path_component(glob, 0);
    for (size_t i = 1; name.len > 0 && !sbx_path_is_glob(name); i++) {
        base.len = (size_t)(name.ptr - glob.text) + name.len;
        name = sbx_path_component(glob, i);
    }
    return base;
}

/* ---- protections ---- */

const struct sbx_protect_row *sbx_protection_between(const struct sbx_policy *policy,
                                                     struct sbx_path root, struct sbx_path path)
{
    const struct sbx_protect_row *file_only = NULL;
    struct sbx_path at = path;
    while (sbx_path_contains(root, at) && !sbx_path_eq(root, at)) {
        for (size_t i = 0; i < policy->protect_count; i++) {
            const struct sbx_protect_row *row = &policy->protect[i];
            if (row->file_only && at.len != path.len) continue;
            if (!sbx_path_ends_in(at, sbx_str(row->pattern))) continue;
            if (!row->file_only) return row;
            file_only = row;
        }
        at = sbx_path_up(at);
    }
    return file_only;
}

/* ---- redundancy ---- */

/* Would a glob decide for the path, or for a directory between it and the rule above? Most are ruled out by one
 * match, where asking each directory would be many. */
static bool glob_intervenes(const struct sbx_rules *rules, const struct sbx_rule *rule,
                            const struct sbx_rule *above)
{
    for (size_t g = 0; g < rules->count; g++) {
        if (!rules->items[g].is_glob || !sbx_path_glob_covers(rules->items[g].path, rule->path))
            continue;
        struct sbx_path path = rule->path;
        while (above == NULL || !sbx_path_eq(path, above->path)) {
            if (sbx_path_glob_match(rules->items[g].path, path)) return true;
            if (sbx_path_is_root(path)) break;
            path = sbx_path_up(path);
        }
    }
    return false;
}

/* It says only what the rule above it says already; without one, nothing is visible. The administrator's
 * rules stay: they also hold against globs below them. */
static bool is_redundant(const struct sbx_policy *policy, const struct sbx_rule *rule,
                         const struct sbx_rule *above)
{
    if (rule->is_glob || rule->kind != SBX_RULE_HOST || rule->by == SBX_BY_ADMINISTRATOR)
        return false;
    enum sbx_access around = above == NULL ? SBX_ACCESS_NONE : above->access;
    bool is_private = above != NULL && above->kind != SBX_RULE_HOST;
    if (is_private || around != rule->access) return false;
    /* An entry that lifts a protection says something. */
    if (above != NULL && rule->access == SBX_ACCESS_WRITE &&
        sbx_protection_between(policy, above->path, rule->path) != NULL)
        return false;
    return !glob_intervenes(&policy->rules, rule, above);
}

static void drop_equal(struct sbx_rules *rules, struct sbx_findings *findings)
{
    size_t kept = 0;
    for (size_t i = 0; i < rules->count; i++) {
        struct sbx_rule *rule = &rules->items[i];
        struct sbx_rule *last = kept == 0 ? NULL : &rules->items[kept - 1];
        bool is_equal =
            last != NULL && last->is_glob == rule->is_glob && sbx_path_eq(last->path, rule->path);
        if (!is_equal)
            rules->items[kept++] = *rule;
        else if (last->by == rule->by)
            settle_equal(last, rule, findings);
    }
    rules->count = kept;
}

/* What contains the rule at `index` contains the rule before it too, or is that rule: parents come first. */
static size_t find_above(const struct sbx_rule *rules, size_t index)
{
    size_t at = rules[index].is_glob ? 0 : index;
    while (at > 0 && !sbx_path_contains(rules[at - 1].path, rules[index].path))
        at = rules[at - 1].above;
    return at;
}

static void drop_redundant(struct sbx_policy *policy, struct sbx_findings *findings)
{
    struct sbx_rules *rules = &policy->rules;
    size_t kept = 0;
    for (size_t i = 0; i < rules->count; i++) {
        struct sbx_rule rule = rules->items[i];
        rules->items[kept] = rule;
        size_t found = find_above(rules->items, kept);
        rules->items[kept].above = found;
        const struct sbx_rule *above = found == 0 ? NULL : &rules->items[found - 1];
        if (!is_redundant(policy, &rule, above)) {
            kept++;
        } else if (rule.by == SBX_BY_MANIFEST || rule.by == SBX_BY_FLAG) {
            sbx_findings_add(findings, SBX_F_RULE_REDUNDANT, &rule.at, rule.key_path,
                             shown_path(&rule), "\"%s\" is already %s%s%s", rule.path.text,
                             sbx_name_text(sbx_access_names, (int)rule.access),
                             above == NULL ? "" : " through ",
                             above == NULL ? "" : above->path.text);
        }
    }
    rules->count = kept;
}

void sbx_rules_normalise(struct sbx_policy *policy, struct sbx_findings *findings)
{
    struct sbx_rules *rules = &policy->rules;
    if (rules->count > 1) sbx_sort(rules->items, rules->count, sizeof *rules->items, compare_rules);
    drop_equal(rules, findings);
    drop_redundant(policy, findings);
}

/* ---- decision ---- */

/* The deepest rule that covers the path wins; at one depth the literal, then the stricter glob. */
struct candidate {
    size_t depth;
    struct sbx_decision decision;
};

static void offer(struct candidate *best, const struct sbx_rule *rule, size_t depth)
{
    const struct sbx_rule *held = best->decision.rule;
    bool wins =
        held == NULL || depth > best->depth ||
        (depth == best->depth && held->is_glob && (!rule->is_glob || rule->access < held->access));
    if (wins) *best = (struct candidate){depth, {.access = rule->access, .rule = rule}};
}

/* How deep the glob matches on the way to the path; false when it does not. */
static bool glob_depth(struct sbx_path glob, struct sbx_path path, size_t *depth)
{
    if (!sbx_path_glob_covers(glob, path)) return false;
    *depth = sbx_path_depth(path);
    while (!sbx_path_glob_match(glob, path)) {
        if (*depth == 0) return false;
        path = sbx_path_up(path);
        *depth -= 1;
    }
    return true;
}

/* How many literal rules are not behind the path in their order: what contains it is the last of them, or contains
 * that. */
static size_t count_until(const struct sbx_rules *rules, struct sbx_path path)
{
    size_t low = 0;
    size_t high = rules->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct sbx_rule *rule = &rules->items[middle];
        bool is_behind = rule->is_glob ||
                         (sbx_path_compare(rule->path, path) > 0 && !sbx_path_eq(rule->path, path));
        low = is_behind ? low : middle + 1;
        high = is_behind ? middle : high;
    }
    return low;
}

static struct sbx_decision decide_by_rules(const struct sbx_policy *policy, struct sbx_path path)
{
    const struct sbx_rules *rules = &policy->rules;
    struct candidate best = {0, {.access = SBX_ACCESS_NONE}};
    const struct sbx_rule *forbidden = NULL;
    for (size_t at = count_until(rules, path); at > 0; at = rules->items[at - 1].above) {
        const struct sbx_rule *rule = &rules->items[at - 1];
        if (!sbx_path_contains(rule->path, path)) continue;
        if (rule->by == SBX_BY_ADMINISTRATOR) forbidden = rule;
        offer(&best, rule, sbx_path_depth(rule->path));
    }
    if (forbidden != NULL)
        return (struct sbx_decision){.access = forbidden->access, .rule = forbidden};
    size_t first_glob = rules->count;
    while (first_glob > 0 && rules->items[first_glob - 1].is_glob) first_glob--;
    for (size_t i = first_glob; i < rules->count; i++) {
        const struct sbx_rule *rule = &rules->items[i];
        size_t depth;
        if (glob_depth(rule->path, path, &depth)) offer(&best, rule, depth);
    }
    return best.decision;
}

struct sbx_decision sbx_policy_decide(struct sbx_arena *arena, const struct sbx_policy *policy,
                                      struct sbx_path path)
{
    (void)arena;
    struct sbx_decision decision = decide_by_rules(policy, path);
    /* A protection only takes writing away: where nothing was readable nothing becomes so. What is private
     * to the box needs none. */
    if (decision.access != SBX_ACCESS_WRITE || decision.rule->kind != SBX_RULE_HOST)
        return decision;
    const struct sbx_protect_row *row = sbx_protection_between(policy, decision.rule->path, path);
    if (row == NULL) return decision;
    return (struct sbx_decision){.access = SBX_ACCESS_READ,
                                 .protection = row,
                                 .protected_root = decision.rule->path,
                                 .maybe_writable = row->file_only};
}
