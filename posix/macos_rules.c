/* File rules under the names that the kernel of macOS has for files. */
#include "posix/macos_rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

/* ---- names ---- */

/* Of what is not there, the directory above is asked, and so on to the root. */
static bool resolve(struct sbx_arena *arena, const struct sbx_macos_host *host,
                    struct sbx_path path, struct sbx_path *out)
{
    for (struct sbx_path at = path;; at = sbx_path_up(at)) {
        const char *asked = sbx_arena_copy(arena, at.text, at.len);
        const char *real = asked == NULL ? NULL : host->real(host->state, arena, asked);
        if (asked == NULL) {
            return false;
        }
        if (real != NULL) {
            bool is_root = strcmp(real, "/") == 0;
            const char *rest = path.text + at.len;
            const char *text =
                path.len == at.len
                    ? real
                    : sbx_arena_printf(arena, "%s%s%.*s", is_root ? "" : real,
                                       rest[0] == '/' ? "" : "/", (int)(path.len - at.len), rest);
            *out = (struct sbx_path){text, text == NULL ? 0 : strlen(text), path.rules};
            return text != NULL;
        }
        if (sbx_path_is_root(at)) {
            *out = path;
            return true;
        }
    }
}

bool sbx_macos_real(struct sbx_arena *arena, const struct sbx_macos_host *host,
                    struct sbx_path path, struct sbx_path *out)
{
    struct sbx_path plain;
    struct sbx_path real;
    if (!sbx_place_unalias(arena, path, &plain)) {
        return false;
    }
    if (host == NULL) {
        *out = plain;
        return true;
    }
    return resolve(arena, host, plain, &real) && sbx_place_unalias(arena, real, out);
}

/* ---- rules ---- */

static enum sbx_code push(struct sbx_arena *arena, struct sbx_macos_rules *rules,
                          const struct sbx_macos_rule *rule, struct sbx_err *err)
{
    struct sbx_macos_rule *slot = (struct sbx_macos_rule *)sbx_arena_push(
        arena, &rules->items, &rules->count, &rules->capacity, sizeof *slot);
    if (slot == NULL) {
        return sbx_err_nomem(err);
    }
    *slot = *rule;
    return SBX_OK;
}

static enum sbx_code push_glob(struct sbx_arena *arena, const struct sbx_rule *rule,
                               struct sbx_macos_rules *rules, struct sbx_err *err)
{
    struct sbx_path plain;
    if (!sbx_place_unalias(arena, rule->path, &plain)) {
        return sbx_err_nomem(err);
    }
    struct sbx_macos_glob *slot = (struct sbx_macos_glob *)sbx_arena_push(
        arena, &rules->globs, &rules->glob_count, &rules->glob_capacity, sizeof *slot);
    if (slot == NULL) {
        return sbx_err_nomem(err);
    }
    *slot = (struct sbx_macos_glob){{plain.text, plain.len}, rule->access};
    return SBX_OK;
}

static enum sbx_code push_literal(struct sbx_arena *arena, const struct sbx_rule *rule,
                                  const struct sbx_macos_host *host, struct sbx_macos_rules *rules,
                                  struct sbx_err *err)
{
    struct sbx_macos_rule made = {.access = rule->access, .kind = rule->kind, .by = rule->by};
    if (!sbx_place_unalias(arena, rule->path, &made.given) ||
        !sbx_macos_real(arena, host, rule->path, &made.path)) {
        return sbx_err_nomem(err);
    }
    if (rule->access == SBX_ACCESS_WRITE && !sbx_path_eq(made.given, made.path)) {
        sbx_err_set(err, SBX_E_INVALID, "\"%s\" leads through a symbolic link to \"%s\"",
                    rule->path.text, made.path.text);
        return sbx_err_hint(err, "write the real path into the manifest");
    }
    return push(arena, rules, &made, err);
}

/* Parents first; of one path the stronger layer first, then the stricter access. */
static int compare(const void *left, const void *right)
{
    const struct sbx_macos_rule *a = (const struct sbx_macos_rule *)left;
    const struct sbx_macos_rule *b = (const struct sbx_macos_rule *)right;
    if (!sbx_path_eq(a->path, b->path)) {
        return sbx_path_compare(a->path, b->path);
    }
    if (a->by != b->by) {
        return a->by > b->by ? -1 : 1;
    }
    return (a->access > b->access) - (a->access < b->access);
}

/* Two names of the policy may be one file. */
static void settle(struct sbx_macos_rules *rules)
{
    qsort(rules->items, rules->count, sizeof rules->items[0], compare);
    size_t kept = 0;
    for (size_t i = 0; i < rules->count; i++) {
        if (kept == 0 || !sbx_path_eq(rules->items[kept - 1].path, rules->items[i].path)) {
            rules->items[kept++] = rules->items[i];
        }
    }
    rules->count = kept;
}

static void find_above(struct sbx_macos_rules *rules)
{
    for (size_t i = 0; i < rules->count; i++) {
        struct sbx_macos_rule *rule = &rules->items[i];
        size_t at = i;
        while (at > 0 && !sbx_path_contains(rules->items[at - 1].path, rule->path)) {
            at = rules->items[at - 1].above;
        }
        rule->above = at;
        const struct sbx_macos_rule *above = at == 0 ? NULL : &rules->items[at - 1];
        rule->is_below_final =
            above != NULL && (above->is_below_final || above->by == SBX_BY_ADMINISTRATOR);
    }
}

/* ---- what git is led to ---- */

/* With git = "commit" only what git runs is locked in it, also where a rule names it; otherwise all, and a rule may lift that. */
static bool is_open_to_box(struct sbx_arena *arena, const struct sbx_policy *policy,
                           struct sbx_path path)
{
    struct sbx_decision decision = sbx_policy_decide(arena, policy, path);
    const struct sbx_rule *rule = decision.rule;
    if (decision.access != SBX_ACCESS_WRITE || rule == NULL || rule->kind != SBX_RULE_HOST) {
        return false;
    }
    return policy->git == SBX_GIT_COMMIT || !sbx_path_eq(rule->path, path);
}

bool sbx_macos_is_plain(struct sbx_path path)
{
    for (size_t i = 0; i < path.len; i++) {
        if ((unsigned char)path.text[i] < 0x20 || path.text[i] == 0x7f) {
            return false;
        }
    }
    return strstr(path.text, "**") == NULL;
}

static bool has_git(const struct sbx_macos_rules *rules, struct sbx_path path)
{
    for (size_t i = 0; i < rules->git_count; i++) {
        if (sbx_path_eq(rules->git[i], path)) {
            return true;
        }
    }
    return false;
}

enum sbx_code sbx_macos_rules_add_git(struct sbx_arena *arena, const struct sbx_policy *policy,
                                      struct sbx_path path, struct sbx_macos_rules *rules,
                                      struct sbx_err *err)
{
    struct sbx_path plain;
    if (!sbx_place_unalias(arena, path, &plain)) {
        return sbx_err_nomem(err);
    }
    plain.text = sbx_arena_copy(arena, plain.text, plain.len);
    if (plain.text == NULL) {
        return sbx_err_nomem(err);
    }
    if (!sbx_macos_is_plain(plain)) {
        sbx_err_set(err, SBX_E_INVALID, "a \".git\" file or link leads to \"%s\"", plain.text);
        return sbx_err_hint(err, "rename that directory: such a name cannot be protected");
    }
    if (!is_open_to_box(arena, policy, plain) || has_git(rules, plain)) {
        return SBX_OK;
    }
    if (rules->git_count >= SBX_MACOS_GIT_MAX) {
        sbx_err_set(err, SBX_E_LIMIT, "\".git\" files lead to more than %zu writable directories",
                    SBX_MACOS_GIT_MAX);
        return sbx_err_hint(err, "make a smaller directory writable");
    }
    struct sbx_path *slot = (struct sbx_path *)sbx_arena_push(arena, &rules->git, &rules->git_count,
                                                              &rules->git_capacity, sizeof *slot);
    if (slot == NULL) {
        return sbx_err_nomem(err);
    }
    *slot = plain;
    return SBX_OK;
}

/* Is it "worktrees/NAME" of a repository that git is led to as well? */
static bool is_worktree(const struct sbx_macos_rules *rules, struct sbx_path path)
{
    struct sbx_path above = sbx_path_up(path);
    return sbx_str_ends((struct sbx_str){above.text, above.len}, "/worktrees") &&
           has_git(rules, sbx_path_up(above));
}

/* Worktrees of one repository are one place, under any name: a dozen of them would not fit into a rule of Seatbelt. */
static enum sbx_code join_worktrees(struct sbx_arena *arena, struct sbx_macos_rules *rules,
                                    struct sbx_err *err)
{
    struct sbx_macos_rules joined = {.git =
                                         SBX_NEW_ARRAY(arena, struct sbx_path, rules->git_count)};
    if (joined.git == NULL) {
        return sbx_err_nomem(err);
    }
    for (size_t i = 0; i < rules->git_count; i++) {
        struct sbx_path path = rules->git[i];
        if (is_worktree(rules, path)) {
            struct sbx_path above = sbx_path_up(path);
            path.text = sbx_arena_printf(arena, "%.*s/*", (int)above.len, above.text);
            path.len = above.len + 2;
        }
        if (path.text == NULL) {
            return sbx_err_nomem(err);
        }
        if (!has_git(&joined, path)) {
            joined.git[joined.git_count++] = path;
        }
    }
    rules->git = joined.git;
    rules->git_count = joined.git_count;
    return SBX_OK;
}

/* ---- all of it ---- */

enum sbx_code sbx_macos_rules_make(struct sbx_arena *arena, const struct sbx_policy *policy,
                                   const struct sbx_macos_host *host, struct sbx_path scratch,
                                   struct sbx_macos_rules *out, struct sbx_err *err)
{
    struct sbx_macos_rules rules = {0};
    enum sbx_code code = SBX_OK;
    bool has_root = false;
    for (size_t i = 0; i < policy->rules.count && code == SBX_OK; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        has_root |= sbx_path_is_root(rule->path);
        code = rule->is_glob ? push_glob(arena, rule, &rules, err)
                             : push_literal(arena, rule, host, &rules, err);
    }
    if (code == SBX_OK && !has_root) {
        /* Where nothing is said nothing is open. */
        struct sbx_path root = {"/", 1, SBX_PATH_MACOS};
        code = push(arena, &rules, &(struct sbx_macos_rule){.path = root, .given = root}, err);
    }
    if (code == SBX_OK && scratch.len > 0) {
        code = push(
            arena, &rules,
            &(struct sbx_macos_rule){
                .path = scratch, .given = scratch, .access = SBX_ACCESS_WRITE, .by = SBX_BY_SBX},
            err);
    }
    if (code != SBX_OK) {
        return code;
    }
    settle(&rules);
    find_above(&rules);
    if (host != NULL && host->find_git != NULL) {
        code = host->find_git(host, arena, policy, &rules, err);
    }
    if (code == SBX_OK && rules.git_count > 1) {
        code = join_worktrees(arena, &rules, err);
    }
    if (code == SBX_OK) {
        *out = rules;
    }
    return code;
}
