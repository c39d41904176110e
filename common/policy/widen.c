/* Does a policy allow more than another? */
#include "common/policy/widen.h"

#include <stdarg.h>

#include "common/base/buf.h"

#include "common/base/banned.h"

struct widen {
    struct sbx_arena *arena;
    const struct sbx_policy *base, *other;
    const char **reasons;
    size_t count, capacity;
    bool failed;
};

static void add(struct widen *w, const char *format, ...) SBX_PRINTF(2, 3);
static void add(struct widen *w, const char *format, ...) {
    AUTO_BUF text;
    sbx_buf_init(&text, 8192);
    va_list args;
    va_start(args, format);
    sbx_buf_vprintf(&text, format, args);
    va_end(args);
    const char *copy = sbx_arena_copy(w->arena, sbx_buf_text(&text), text.len);
    const char **slot = (const char **)sbx_arena_push(w->arena, &w->reasons, &w->count,
                                                      &w->capacity, sizeof *slot);
    if (copy == NULL || slot == NULL)
        w->failed = true;
    else
        *slot = copy;
}

static void compare_rules(struct widen *w) {
    for (size_t i = 0; i < w->other->rules.count; i++) {
        const struct sbx_rule *rule = &w->other->rules.items[i];
        if (rule->is_glob || rule->access == SBX_ACCESS_NONE || rule->by == SBX_BY_PRESET) continue;
        if (rule->kind == SBX_RULE_SOCKET) {
            add(w, "it opens the host socket %s", rule->path.text);
        } else if (rule->kind == SBX_RULE_HOST &&
                   sbx_policy_decide(w->arena, w->base, rule->path).access < rule->access) {
            add(w, "it makes %s %s", rule->path.text,
                rule->access == SBX_ACCESS_WRITE ? "writable" : "readable");
        }
    }
    /* What the base closes may not be open in the other. */
    for (size_t i = 0; i < w->base->rules.count; i++) {
        const struct sbx_rule *rule = &w->base->rules.items[i];
        if (rule->is_glob || rule->kind != SBX_RULE_HOST) continue;
        struct sbx_decision theirs = sbx_policy_decide(w->arena, w->other, rule->path);
        if (theirs.access > rule->access && theirs.rule != NULL &&
            theirs.rule->kind == SBX_RULE_HOST && !sbx_path_eq(theirs.rule->path, rule->path))
            add(w, "it reopens %s", rule->path.text);
    }
}

static bool has_same_glob(const struct sbx_policy *policy, const struct sbx_rule *glob) {
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        if (rule->is_glob && sbx_path_eq(rule->path, glob->path) && rule->access <= glob->access)
            return true;
    }
    return false;
}

static void compare_globs(struct widen *w) {
    for (size_t i = 0; i < w->base->rules.count; i++) {
        const struct sbx_rule *rule = &w->base->rules.items[i];
        if (rule->is_glob && w->other->rules.count > 0 && !has_same_glob(w->other, rule))
            add(w, "it no longer closes %s", rule->path.text);
    }
}

static bool protects(const struct sbx_policy *policy, const char *pattern) {
    for (size_t i = 0; i < policy->protect_count; i++)
        if (sbx_text_eq(policy->protect[i].pattern, pattern) && !policy->protect[i].file_only)
            return true;
    return false;
}

static void compare_protections(struct widen *w) {
    bool writes = false;
    for (size_t i = 0; i < w->other->rules.count; i++)
        writes |= w->other->rules.items[i].access == SBX_ACCESS_WRITE &&
                  w->other->rules.items[i].kind == SBX_RULE_HOST;
    if (!writes) return;
    if (w->other->git == SBX_GIT_COMMIT && w->base->git != SBX_GIT_COMMIT) {
        add(w, "git = \"commit\" makes the repository's objects and refs writable");
    }
    for (size_t i = 0; i < w->base->protect_count; i++) {
        const char *pattern = w->base->protect[i].pattern;
        bool is_git = sbx_text_eq(pattern, ".git") && w->other->git == SBX_GIT_COMMIT;
        if (!is_git && !protects(w->other, pattern)) add(w, "it no longer protects %s", pattern);
    }
}

/* Harmless facts about terminal and language; everything else of the caller's may be a secret. */
static bool is_plain_variable(const char *name) {
    static const char *const plain[] = {"PATH", "TERM",  "LANG",      "LANGUAGE", "TZ",
                                        "HOME", "USER",  "COLORTERM", "NO_COLOR", "SHELL",
                                        "PWD",  "SHLVL", "LOGNAME"};
    for (size_t i = 0; i < SBX_COUNT(plain); i++)
        if (sbx_text_eq(name, plain[i])) return true;
    return sbx_str_starts(sbx_str(name), "LC_");
}

static void compare_rest(struct widen *w) {
    const struct sbx_policy *base = w->base;
    const struct sbx_policy *other = w->other;
    if (other->preset->needs_two_keys) add(w, "it asks for no sandbox at all");
    if (other->preset->is_external) add(w, "it hands the run to an external engine");
    if (other->network > base->network)
        add(w, "network is %s", sbx_name_text(sbx_net_kind_names, (int)other->network));
    if (other->syscalls < base->syscalls) add(w, "syscall_policy is no longer strict");
    if (other->raw_arg_count > 0) add(w, "it passes raw arguments to bwrap");
    if (other->has_user || other->has_group) add(w, "it changes the user or group");
    if (base->require & ~other->require) add(w, "it shortens require");
    for (size_t i = 0; i < other->env_pass_count; i++)
        if (!is_plain_variable(other->env_pass[i]))
            add(w, "it passes the caller's variable %s on", other->env_pass[i]);
}

bool sbx_policy_widens(struct sbx_arena *arena, const struct sbx_policy *base,
                       const struct sbx_policy *other, const char ***reasons, size_t *count) {
    struct widen w = {.arena = arena, .base = base, .other = other};
    compare_rest(&w);
    compare_rules(&w);
    compare_globs(&w);
    compare_protections(&w);
    *reasons = w.reasons;
    *count = w.count;
    return !w.failed;
}
