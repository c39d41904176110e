/* Normal form of file rules, and the decision about one path. */
#include <stdlib.h>
#include <string.h>

#include "common/policy/policy.h"

#include "common/base/banned.h"

/* Literals before globs, parents before children, the stronger layer first for one path. */
static int compare_rules(const void *left, const void *right) {
    const struct sbx_rule *a = (const struct sbx_rule *)left;
    const struct sbx_rule *b = (const struct sbx_rule *)right;
    if (a->is_glob != b->is_glob) return a->is_glob ? 1 : -1;
    int order = sbx_path_compare(a->path, b->path);
    if (order != 0) return order;
    if (a->by != b->by) return a->by > b->by ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->access != b->access) return a->access > b->access ? -1 : 1;
    return 0;
}

static bool from_lists(const struct sbx_rule *rule) {
    return strncmp(rule->key_path, "fs_", 3) == 0;
}

static struct sbx_str shown_path(const struct sbx_rule *rule) {
    return (struct sbx_str){rule->path.text, rule->path.len};
}

/* Two rules of one layer for one path. `kept` has the wider access (sorting put it first). */
static void settle_equal(const struct sbx_rule *kept, const struct sbx_rule *other,
                         struct sbx_findings *findings) {
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

/* The nearest rule above `index` that covers its path; literals are sorted, parents first. */
static const struct sbx_rule *enclosing(const struct sbx_rule *rules, size_t index) {
    for (size_t i = index; i-- > 0;)
        if (!rules[i].is_glob && sbx_path_contains(rules[i].path, rules[index].path))
            return &rules[i];
    return NULL;
}

/* Would a glob decide for the path, or for a directory between it and the rule above? */
static bool glob_intervenes(struct sbx_arena *arena, const struct sbx_rules *rules,
                            const struct sbx_rule *rule, const struct sbx_rule *above) {
    for (size_t g = 0; g < rules->count; g++) {
        if (!rules->items[g].is_glob) continue;
        struct sbx_path path = rule->path;
        while (path.text != NULL) {
            if (above != NULL && sbx_path_eq(path, above->path)) break;
            if (sbx_path_glob_match(rules->items[g].path, path)) return true;
            if (sbx_path_is_root(path)) break;
            path = sbx_path_parent(arena, path);
        }
    }
    return false;
}

/* It says only what the rule above it says already; without one, nothing is visible. */
static bool is_redundant(struct sbx_arena *arena, const struct sbx_rules *rules,
                         const struct sbx_rule *rule, const struct sbx_rule *above) {
    if (rule->is_glob || rule->kind != SBX_RULE_HOST) return false;
    if (above == NULL) {
        if (rule->access != SBX_ACCESS_NONE) return false;
    } else if (above->kind != SBX_RULE_HOST || above->access != rule->access) {
        return false;
    }
    return !glob_intervenes(arena, rules, rule, above);
}

static void drop_equal(struct sbx_rules *rules, struct sbx_findings *findings) {
    size_t kept = 0;
    for (size_t i = 0; i < rules->count; i++) {
        struct sbx_rule *rule = &rules->items[i];
        struct sbx_rule *last = kept == 0 ? NULL : &rules->items[kept - 1];
        bool is_equal = last != NULL && last->is_glob == rule->is_glob &&
                        sbx_path_eq(last->path, rule->path);
        if (!is_equal)
            rules->items[kept++] = *rule;
        else if (last->by == rule->by)
            settle_equal(last, rule, findings);
    }
    rules->count = kept;
}

static void drop_redundant(struct sbx_arena *arena, struct sbx_rules *rules,
                           struct sbx_findings *findings) {
    size_t kept = 0;
    for (size_t i = 0; i < rules->count; i++) {
        struct sbx_rule rule = rules->items[i];
        rules->items[kept] = rule;
        const struct sbx_rule *above = rule.is_glob ? NULL : enclosing(rules->items, kept);
        if (!is_redundant(arena, rules, &rule, above)) {
            kept++;
        } else if (rule.by == SBX_BY_MANIFEST || rule.by == SBX_BY_FLAG) {
            sbx_findings_add(findings, SBX_F_RULE_REDUNDANT, &rule.at, rule.key_path,
                             shown_path(&rule), "\"%s\" is already %s%s%s", rule.path.text,
                             sbx_name_text(sbx_access_names, (int)rule.access),
                             above == NULL ? "" : " through ", above == NULL ? "" : above->path.text);
        }
    }
    rules->count = kept;
}

void sbx_rules_normalise(struct sbx_arena *arena, struct sbx_rules *rules,
                         struct sbx_findings *findings) {
    if (rules->count > 1) qsort(rules->items, rules->count, sizeof *rules->items, compare_rules);
    drop_equal(rules, findings);
    drop_redundant(arena, rules, findings);
}

/* ---- decision ---- */

/* A candidate decides for the path it matched; the deepest match wins, then the literal, then the
 * protection, then the stricter glob. */
struct candidate {
    size_t depth;
    int rank; /* 3 literal, 2 protection, 1 glob */
    struct sbx_decision decision;
};

static void offer(struct candidate *best, const struct candidate *other) {
    bool wins = other->depth > best->depth ||
                (other->depth == best->depth && other->rank > best->rank) ||
                (other->depth == best->depth && other->rank == best->rank &&
                 other->decision.access < best->decision.access);
    if (wins) *best = *other;
}

static void offer_literals(const struct sbx_policy *policy, struct sbx_path path,
                           struct candidate *best) {
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        if (rule->is_glob || !sbx_path_contains(rule->path, path)) continue;
        struct candidate literal = {sbx_path_depth(rule->path) + 1, 3,
                                    {.access = rule->access, .rule = rule}};
        offer(best, &literal);
    }
}

static void offer_globs(const struct sbx_policy *policy, struct sbx_path ancestor, size_t depth,
                        struct candidate *best) {
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        if (!rule->is_glob || !sbx_path_glob_match(rule->path, ancestor)) continue;
        struct candidate glob = {depth + 1, 1, {.access = rule->access, .rule = rule}};
        offer(best, &glob);
    }
}

static void offer_protections(struct sbx_arena *arena, const struct sbx_policy *policy,
                              struct sbx_path ancestor, size_t depth, struct candidate *best) {
    for (size_t r = 0; r < policy->protected_root_count; r++) {
        struct sbx_path root = policy->protected_roots[r];
        if (!sbx_path_contains(root, ancestor) || sbx_path_eq(root, ancestor)) continue;
        for (size_t i = 0; i < policy->protect_count; i++) {
            const struct sbx_protect_row *row = &policy->protect[i];
            const char *text = sbx_arena_printf(arena, "%s/**/%s",
                                                sbx_path_is_root(root) ? "" : root.text, row->pattern);
            struct sbx_path pattern;
            if (text == NULL ||
                sbx_path_make_glob(arena, root.rules, sbx_str(text), &pattern) != SBX_PATH_OK ||
                !sbx_path_glob_match(pattern, ancestor))
                continue;
            struct candidate locked = {depth + 1, 2,
                                       {.access = SBX_ACCESS_READ,
                                        .protection = row,
                                        .protected_root = root,
                                        .maybe_writable = row->file_only}};
            offer(best, &locked);
        }
    }
}

struct sbx_decision sbx_policy_decide(struct sbx_arena *arena, const struct sbx_policy *policy,
                                      struct sbx_path path) {
    struct candidate best = {0, 0, {.access = SBX_ACCESS_NONE}};
    offer_literals(policy, path, &best);
    struct sbx_path ancestor = path;
    while (ancestor.text != NULL) {
        size_t depth = sbx_path_depth(ancestor);
        offer_globs(policy, ancestor, depth, &best);
        offer_protections(arena, policy, ancestor, depth, &best);
        if (sbx_path_is_root(ancestor)) break;
        ancestor = sbx_path_parent(arena, ancestor);
    }
    /* A protection only takes writing away: where nothing was readable nothing becomes so. */
    if (best.decision.protection != NULL) {
        struct candidate under = {0, 0, {.access = SBX_ACCESS_NONE}};
        offer_literals(policy, path, &under);
        if (under.decision.access == SBX_ACCESS_NONE) return under.decision;
    }
    return best.decision;
}
