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
static void add(struct widen *w, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    sbx_text_vformat(text, sizeof text, format, args);
    va_end(args);
    AUTO_BUF shown;
    sbx_buf_init(&shown, 8 * sizeof text);
    sbx_buf_add_visible(&shown, sbx_str(text), false);
    const char *copy = sbx_arena_copy(w->arena, sbx_buf_text(&shown), shown.len);
    const char **slot =
        (const char **)sbx_arena_push(w->arena, &w->reasons, &w->count, &w->capacity, sizeof *slot);
    if (slot == NULL || copy == NULL) w->failed = true;
    if (slot != NULL) *slot = copy == NULL ? "it allows more" : copy;
}

/* What of the host is open at the path: what is private to the box opens nothing. */
static enum sbx_access host_access(struct widen *w, const struct sbx_policy *policy,
                                   struct sbx_path path)
{
    struct sbx_decision decision = sbx_policy_decide(w->arena, policy, path);
    bool is_private = decision.rule != NULL && decision.rule->kind != SBX_RULE_HOST;
    return is_private ? SBX_ACCESS_NONE : decision.access;
}

static bool has_socket(const struct sbx_policy *policy, struct sbx_path path)
{
    for (size_t i = 0; i < policy->rules.count; i++)
        if (policy->rules.items[i].kind == SBX_RULE_SOCKET &&
            sbx_path_eq(policy->rules.items[i].path, path))
            return true;
    return false;
}

/* Access changes only where a rule of either side starts, so those paths are enough; globs are below. */
static void compare_rules(struct widen *w)
{
    for (size_t i = 0; i < w->other->rules.count; i++) {
        const struct sbx_rule *rule = &w->other->rules.items[i];
        if (rule->is_glob || rule->access == SBX_ACCESS_NONE) continue;
        if (rule->kind == SBX_RULE_SOCKET) {
            if (!has_socket(w->base, rule->path))
                add(w, "it opens the host socket %s", rule->path.text);
        } else if (rule->kind == SBX_RULE_HOST &&
                   host_access(w, w->base, rule->path) < rule->access) {
            add(w, "it makes %s %s", rule->path.text,
                rule->access == SBX_ACCESS_WRITE ? "writable" : "readable");
        }
    }
    /* What the base closes, or hides behind a private directory, may not be open in the other. */
    for (size_t i = 0; i < w->base->rules.count; i++) {
        const struct sbx_rule *rule = &w->base->rules.items[i];
        if (rule->is_glob || rule->kind == SBX_RULE_SOCKET) continue;
        struct sbx_decision theirs = sbx_policy_decide(w->arena, w->other, rule->path);
        bool is_said = theirs.rule != NULL && sbx_path_eq(theirs.rule->path, rule->path);
        if (!is_said && host_access(w, w->other, rule->path) > host_access(w, w->base, rule->path))
            add(w, "it reopens %s", rule->path.text);
    }
}

static bool has_same_glob(const struct sbx_policy *policy, const struct sbx_rule *glob)
{
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        if (rule->is_glob && sbx_path_eq(rule->path, glob->path) && rule->access <= glob->access)
            return true;
    }
    return false;
}

/* Is all that the glob may match readable in the base? Asked of the directory above its matches: that one is
 * readable, and nothing in the base closes anything there. */
static bool is_readable_below(struct widen *w, const struct sbx_rule *glob)
{
    struct sbx_path top = sbx_glob_base(glob->path);
    if (host_access(w, w->base, top) == SBX_ACCESS_NONE) return false;
    for (size_t i = 0; i < w->base->rules.count; i++) {
        const struct sbx_rule *rule = &w->base->rules.items[i];
        struct sbx_path start = rule->is_glob ? sbx_glob_base(rule->path) : rule->path;
        bool closes = rule->access == SBX_ACCESS_NONE || rule->kind == SBX_RULE_TMPFS;
        bool meets =
            sbx_path_contains(top, start) || (rule->is_glob && sbx_path_contains(start, top));
        if (closes && meets) return false;
    }
    return true;
}

static void compare_globs(struct widen *w)
{
    for (size_t i = 0; i < w->base->rules.count; i++) {
        const struct sbx_rule *rule = &w->base->rules.items[i];
        if (rule->is_glob && w->other->rules.count > 0 && !has_same_glob(w->other, rule))
            add(w, "it no longer closes %s", rule->path.text);
    }
    for (size_t i = 0; i < w->other->rules.count; i++) {
        const struct sbx_rule *rule = &w->other->rules.items[i];
        if (rule->is_glob && rule->access != SBX_ACCESS_NONE && !has_same_glob(w->base, rule) &&
            !is_readable_below(w, rule))
            add(w, "it makes %s readable", rule->path.text);
    }
}

static bool protects(const struct sbx_policy *policy, const struct sbx_protect_row *row)
{
    for (size_t i = 0; i < policy->protect_count; i++)
        if (sbx_text_eq(policy->protect[i].pattern, row->pattern) &&
            (row->file_only || !policy->protect[i].file_only))
            return true;
    return false;
}

/* Also without a writable path: flags put on top may add one. */
static void compare_protections(struct widen *w)
{
    if (w->other->git == SBX_GIT_COMMIT && w->base->git != SBX_GIT_COMMIT)
        add(w, "git = \"commit\" makes the repository's objects and refs writable");
    for (size_t i = 0; i < w->base->protect_count; i++) {
        const struct sbx_protect_row *row = &w->base->protect[i];
        bool is_git = sbx_text_eq(row->pattern, ".git") && w->other->git == SBX_GIT_COMMIT;
        bool is_covered =
            sbx_str_starts(sbx_str(row->pattern), ".git/") && w->other->git != SBX_GIT_COMMIT;
        const struct sbx_protect_row git = {".git", true, NULL};
        if (is_git || is_covered) row = &git;
        if (!protects(w->other, row)) add(w, "it no longer protects %s", row->pattern);
    }
}

/* Harmless facts about terminal and language; everything else of the caller's may be a secret. */
static bool is_plain_variable(const char *name)
{
    static const char *const plain[] = {"PATH", "TERM",  "LANG",      "LANGUAGE", "TZ",
                                        "HOME", "USER",  "COLORTERM", "NO_COLOR", "SHELL",
                                        "PWD",  "SHLVL", "LOGNAME"};
    for (size_t i = 0; i < SBX_COUNT(plain); i++)
        if (sbx_text_eq(name, plain[i])) return true;
    return sbx_str_starts(sbx_str(name), "LC_");
}

static bool passes(const struct sbx_policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->env_pass_count; i++)
        if (sbx_text_eq(policy->env_pass[i], name)) return true;
    return false;
}

static void compare_hosts(struct widen *w, const struct sbx_host_pattern *base, size_t base_count,
                          const struct sbx_host_pattern *other, size_t other_count)
{
    for (size_t i = 0; i < other_count; i++) {
        bool is_there = false;
        for (size_t k = 0; k < base_count; k++)
            is_there |= sbx_host_compare(&base[k], &other[i]) == 0;
        const char *text = sbx_host_text(w->arena, &other[i]);
        if (!is_there) add(w, "it reaches %s", text == NULL ? "another host" : text);
    }
}

static void compare_network(struct widen *w)
{
    const struct sbx_policy *base = w->base;
    const struct sbx_policy *other = w->other;
    if (other->network > base->network) {
        add(w, "network is %s", sbx_name_text(sbx_net_kind_names, (int)other->network));
    } else if (other->network == SBX_NET_ALLOW_HOSTS && base->network == SBX_NET_ALLOW_HOSTS) {
        compare_hosts(w, base->hosts, base->host_count, other->hosts, other->host_count);
        compare_hosts(w, base->local, base->local_count, other->local, other->local_count);
    }
}

/* Where the base sets a bound, a larger one or none is more. How long a run may take by default is no bound. */
static void compare_limits(struct widen *w)
{
    const struct sbx_limits *base = &w->base->limits;
    const struct sbx_limits *other = &w->other->limits;
    const struct {
        const char *name;
        uint64_t base, other;
    } rows[] = {
        {"timeout", base->timeout_ns, other->timeout_ns},
        {"max_memory_bytes", base->memory_bytes, other->memory_bytes},
        {"max_cpu_secs", base->cpu_secs, other->cpu_secs},
        {"max_processes", base->processes, other->processes},
        {"max_output_bytes", base->output_bytes, other->output_bytes},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++)
        if (rows[i].base != 0 && (rows[i].other == 0 || rows[i].other > rows[i].base))
            add(w, "it raises %s", rows[i].name);
}

static void compare_rest(struct widen *w)
{
    const struct sbx_policy *base = w->base;
    const struct sbx_policy *other = w->other;
    if (other->preset->needs_two_keys) add(w, "it asks for no sandbox at all");
    if (other->preset->is_external) add(w, "it hands the run to an external engine");
    if (other->syscalls < base->syscalls) add(w, "syscall_policy is no longer strict");
    if (other->raw_arg_count > 0) add(w, "it passes raw arguments to bwrap");
    if (other->has_user || other->has_group) add(w, "it changes the user or group");
    if (other->image != NULL && !sbx_text_eq(other->image, base->image))
        add(w, "it chooses the container image %s", other->image);
    if (base->require & ~other->require) add(w, "it shortens require");
    for (size_t i = 0; i < other->env_pass_count; i++)
        if (!is_plain_variable(other->env_pass[i]) && !passes(base, other->env_pass[i]))
            add(w, "it passes the caller's variable %s on", other->env_pass[i]);
}

bool sbx_policy_widens(struct sbx_arena *arena, const struct sbx_policy *base,
                       const struct sbx_policy *other, const char ***reasons, size_t *count)
{
    struct widen w = {.arena = arena, .base = base, .other = other};
    compare_rest(&w);
    compare_network(&w);
    compare_limits(&w);
    compare_rules(&w);
    compare_globs(&w);
    compare_protections(&w);
    *reasons = w.reasons;
    *count = w.count;
    return !w.failed;
}
