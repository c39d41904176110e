/* Split filesystem policy: rules of preset, manifest, administrator and sbx itself, in normal form. */
#include <string.h>

#include "common/policy/policy.h"

#include "common/base/banned.h"

/* Rules are compared with each other, so their number and depth is what hostile input would choose. No real
 * policy comes near these. */
#define RULES_MAX 4096
#define GLOBS_MAX 256
#define NAMES_MAX 64 /* of one path */
#define PROTECT_MAX 256

/* What the collecting functions share. */
struct collect {
    struct sbx_arena *arena;
    struct sbx_findings *findings;
    struct sbx_policy *policy;
    size_t globs;
};

/* Flags are "-w" and "--write"; "-" is a manifest from standard input, and what has a line is a file. */
static enum sbx_layer_of_rule layer_of(const struct sbx_origin *at)
{
    bool is_flag =
        at->source != NULL && at->source[0] == '-' && at->source[1] != '\0' && at->place.line == 0;
    return is_flag ? SBX_BY_FLAG : SBX_BY_MANIFEST;
}

static void push_rule(struct collect *collect, const struct sbx_rule *rule)
{
    struct sbx_rules *rules = &collect->policy->rules;
    struct sbx_rule *slot = (struct sbx_rule *)sbx_arena_push(
        collect->arena, &rules->items, &rules->count, &rules->capacity, sizeof *slot);
    if (slot == NULL)
        collect->findings->out_of_memory = true;
    else
        *slot = *rule;
    if (slot != NULL) slot->order = rules->count;
}

/* ---- what may never be granted ---- */

/* Does the first name of a glob match the directory? "**" starts below every directory and means none. */
static bool glob_enters(struct sbx_arena *arena, struct sbx_path glob, struct sbx_path directory)
{
    struct sbx_str first = sbx_path_component(glob, 0);
    struct sbx_path top;
    if (sbx_str_is(first, "**")) return sbx_path_glob_match(glob, directory);
    const char *text = sbx_arena_printf(arena, "/%.*s", SBX_STR_ARG(first));
    if (text == NULL || sbx_path_make_glob(arena, glob.rules, sbx_str(text), &top) != SBX_PATH_OK)
        return true;
    return sbx_path_glob_match(top, directory);
}

/* Kernel interfaces are private to the box, never bound from the host. */
static bool is_kernel_path(struct sbx_arena *arena, const struct sbx_context *context,
                           const struct sbx_rule *rule)
{
    static const char *const directories[] = {"/proc", "/dev", "/sys"};
    if (context->platform == SBX_WINDOWS) return false;
    for (size_t i = 0; i < SBX_COUNT(directories); i++) {
        struct sbx_path directory = {directories[i], strlen(directories[i]), rule->path.rules};
        if (rule->is_glob ? glob_enters(arena, rule->path, directory)
                          : sbx_path_contains(directory, rule->path))
            return true;
    }
    return false;
}

static bool check_root(struct collect *collect, const struct sbx_rule *rule)
{
    struct sbx_str shown = {rule->path.text, rule->path.len};
    bool is_windows = collect->policy->context.platform == SBX_WINDOWS;
    if (!sbx_path_is_root(rule->path)) return true;
    if (rule->access == SBX_ACCESS_WRITE) {
        struct sbx_finding *finding =
            sbx_findings_add(collect->findings, SBX_F_PATH_FORBIDDEN, &rule->at, rule->key_path,
                             shown, "the whole disk cannot be made writable: that is no sandbox");
        sbx_finding_hint(collect->findings, finding,
                         "start in, or list, the directories the command writes to; or use mode "
                         "danger-full-access with its two keys");
        return false;
    }
    if (!is_windows) return true;
    struct sbx_finding *finding = sbx_findings_add(
        collect->findings, SBX_F_POLICY_UNSUPPORTED, &rule->at, rule->key_path, shown,
        "a whole drive cannot be granted on Windows: an entry would have to be written to every "
        "file");
    sbx_finding_hint(collect->findings, finding, "list the directories the command needs");
    return false;
}

/* Presets are asked too: ":cwd" may be anywhere. */
static bool check_grant(struct collect *collect, const struct sbx_rule *rule)
{
    const struct sbx_context *context = &collect->policy->context;
    struct sbx_str shown = {rule->path.text, rule->path.len};
    if (rule->access == SBX_ACCESS_NONE) return true;
    if (is_kernel_path(collect->arena, context, rule)) {
        struct sbx_finding *finding = sbx_findings_add(
            collect->findings, SBX_F_PATH_FORBIDDEN, &rule->at, rule->key_path, shown,
            "\"%s\" is an interface of the kernel and cannot be granted", rule->path.text);
        sbx_finding_hint(collect->findings, finding,
                         "remove the entry: every box has its own /proc and /dev");
        return false;
    }
    if (!check_root(collect, rule)) return false;
    const struct sbx_path own[] = {context->state_dir, context->config_dir};
    for (size_t i = 0; i < SBX_COUNT(own); i++) {
        if (own[i].len == 0 || rule->access != SBX_ACCESS_WRITE || rule->is_glob ||
            !sbx_path_contains(own[i], rule->path))
            continue;
        struct sbx_finding *finding = sbx_findings_add(
            collect->findings, SBX_F_PATH_FORBIDDEN, &rule->at, rule->key_path, shown,
            "\"%s\" belongs to sbx and is never writable in a box", rule->path.text);
        sbx_finding_hint(collect->findings, finding, "write to another directory");
        return false;
    }
    return true;
}

/* Finds what is too much; true when the rule may be kept. */
static bool check_size(struct collect *collect, const struct sbx_rule *rule)
{
    struct sbx_str shown = {rule->path.text, rule->path.len};
    if (sbx_path_depth(rule->path) > NAMES_MAX) {
        struct sbx_finding *finding =
            sbx_findings_add(collect->findings, SBX_F_PATH_TOO_LONG, &rule->at, rule->key_path,
                             shown, "\"%s\" has more than %d names", rule->path.text, NAMES_MAX);
        sbx_finding_hint(collect->findings, finding, "grant a directory closer to the root");
        return false;
    }
    collect->globs += rule->is_glob ? 1 : 0;
    if (collect->globs <= GLOBS_MAX && collect->policy->rules.count < RULES_MAX) return true;
    struct sbx_finding *finding =
        sbx_findings_add(collect->findings, SBX_F_OUT_OF_RANGE, &rule->at, rule->key_path, shown,
                         "there are more than %d globs or %d paths", GLOBS_MAX, RULES_MAX);
    sbx_finding_hint(collect->findings, finding, "grant the directories above them");
    return false;
}

/* ---- collecting ---- */

static void add_path(struct collect *collect, const struct sbx_text *text, const char *key_path,
                     enum sbx_access access, enum sbx_rule_kind kind, bool allow_glob)
{
    struct sbx_rule rule = {.access = access,
                            .kind = kind,
                            .by = layer_of(&text->at),
                            .at = text->at,
                            .key_path = key_path};
    rule.is_glob = allow_glob && sbx_path_is_glob(text->text);
    if (rule.is_glob && access == SBX_ACCESS_WRITE) {
        struct sbx_finding *finding =
            sbx_findings_add(collect->findings, SBX_F_BAD_VALUE, &text->at, key_path, text->text,
                             "a glob can be \"read\" or \"none\", not \"write\"");
        sbx_finding_hint(collect->findings, finding, "name the writable directory itself");
        return;
    }
    if (sbx_place_expand(collect->arena, &collect->policy->context, text, key_path, rule.is_glob,
                         collect->findings, &rule.path) != SBX_OK)
        return;
    if (!check_grant(collect, &rule) || !check_size(collect, &rule)) return;
    if (!rule.is_glob) rule.node = sbx_context_lookup(&collect->policy->context, rule.path);
    push_rule(collect, &rule);
}

static const char *index_key(struct collect *collect, const char *name, size_t index)
{
    const char *key = sbx_arena_printf(collect->arena, "%s[%zu]", name, index);
    return key == NULL ? name : key;
}

static void add_list(struct collect *collect, const struct sbx_texts *list, const char *name,
                     enum sbx_access access, enum sbx_rule_kind kind)
{
    for (size_t i = 0; i < list->count; i++)
        add_path(collect, &list->items[i], index_key(collect, name, i), access, kind, false);
}

static void add_table(struct collect *collect, const struct sbx_fs_entries *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct sbx_fs_entry *entry = &list->items[i];
        const char *key =
            sbx_arena_printf(collect->arena, "filesystem.\"%.*s\"", SBX_STR_ARG(entry->path.text));
        add_path(collect, &entry->path, key == NULL ? "filesystem" : key, entry->access,
                 SBX_RULE_HOST, true);
    }
}

static void add_preset(struct collect *collect)
{
    const struct sbx_preset_row *preset = collect->policy->preset;
    const struct sbx_context *context = &collect->policy->context;
    for (size_t g = 0; preset->rules[g] != NULL; g++) {
        for (const struct sbx_preset_rule *row = preset->rules[g]; row->path != NULL; row++) {
            if (!(row->platforms & (1u << context->platform))) continue;
            struct sbx_text text = {sbx_str(row->path),
                                    {.source = sbx_preset_source(preset->preset)}};
            struct sbx_rule rule = {.access = row->access,
                                    .kind = row->kind,
                                    .is_optional = row->is_optional,
                                    .by = SBX_BY_PRESET,
                                    .at = text.at,
                                    .key_path = "preset"};
            rule.is_glob = sbx_path_is_glob(text.text);
            if (sbx_place_expand(collect->arena, context, &text, "preset", rule.is_glob,
                                 collect->findings, &rule.path) != SBX_OK ||
                !check_grant(collect, &rule))
                continue;
            if (!rule.is_glob && row->kind != SBX_RULE_TMPFS)
                rule.node = sbx_context_lookup(context, rule.path);
            /* A mask of a file that is not there still keeps it from appearing. */
            if (row->is_optional && rule.node == SBX_NODE_MISSING && rule.access != SBX_ACCESS_NONE)
                continue;
            push_rule(collect, &rule);
        }
    }
}

/* ---- the administrator's forbidden paths ---- */

static void add_forbidden(struct collect *collect, const struct sbx_ceiling *ceiling)
{
    for (size_t i = 0; i < ceiling->forbid_paths.count; i++) {
        const struct sbx_text *text = &ceiling->forbid_paths.items[i];
        struct sbx_rule mask = {.access = SBX_ACCESS_NONE,
                                .by = SBX_BY_ADMINISTRATOR,
                                .at = text->at,
                                .key_path = index_key(collect, "forbid_paths", i)};
        if (sbx_place_expand(collect->arena, &collect->policy->context, text, mask.key_path, false,
                             collect->findings, &mask.path) != SBX_OK)
            continue;
        struct sbx_rules *rules = &collect->policy->rules;
        size_t kept = 0;
        for (size_t k = 0; k < rules->count; k++) {
            struct sbx_rule *rule = &rules->items[k];
            struct sbx_path reached = rule->is_glob ? sbx_glob_base(rule->path) : rule->path;
            bool inside = rule->access != SBX_ACCESS_NONE && sbx_path_contains(mask.path, reached);
            if (inside && rule->by != SBX_BY_PRESET) {
                struct sbx_finding *finding = sbx_findings_add(
                    collect->findings, SBX_F_CEILING_EXCEEDED, &rule->at, rule->key_path,
                    (struct sbx_str){rule->path.text, rule->path.len},
                    "\"%s\" is forbidden by the administrator (%s, forbid_paths \"%s\")",
                    rule->path.text, ceiling->source, mask.path.text);
                sbx_finding_hint(collect->findings, finding,
                                 "remove the entry, or ask the administrator");
            }
            if (!inside) rules->items[kept++] = *rule;
        }
        rules->count = kept;
        mask.node = sbx_context_lookup(&collect->policy->context, mask.path);
        push_rule(collect, &mask);
    }
}

/* Trust store and settings of sbx: whoever writes them decides about the next run. Asked of the normal form,
 * so that a directory the manifest closes is not opened by this. */
static void add_own(struct collect *collect)
{
    struct sbx_policy *policy = collect->policy;
    const struct sbx_path own[] = {policy->context.state_dir, policy->context.config_dir};
    bool is_writable[SBX_COUNT(own)] = {false};
    for (size_t i = 0; i < SBX_COUNT(own); i++) {
        if (own[i].len == 0) continue;
        struct sbx_decision now = sbx_policy_decide(collect->arena, policy, own[i]);
        is_writable[i] = now.access == SBX_ACCESS_WRITE && now.rule->kind == SBX_RULE_HOST;
    }
    for (size_t i = 0; i < SBX_COUNT(own); i++) {
        if (!is_writable[i]) continue;
        struct sbx_rule rule = {.path = own[i],
                                .access = SBX_ACCESS_READ,
                                .by = SBX_BY_SBX,
                                .key_path = "sbx",
                                .node = sbx_context_lookup(&policy->context, own[i])};
        push_rule(collect, &rule);
    }
    sbx_rules_normalise(policy, collect->findings);
}

/* ---- existence ---- */

static bool below_writable(const struct sbx_rules *rules, const struct sbx_rule *inner)
{
    for (size_t i = 0; i < rules->count; i++) {
        const struct sbx_rule *outer = &rules->items[i];
        if (outer != inner && !outer->is_glob && outer->kind == SBX_RULE_HOST &&
            outer->access == SBX_ACCESS_WRITE && sbx_path_contains(outer->path, inner->path))
            return true;
    }
    return false;
}

/* A denied path, and a read-only one inside a writable one, may be absent: the box cannot create it. */
static void check_existence(struct collect *collect)
{
    const struct sbx_rules *rules = &collect->policy->rules;
    for (size_t i = 0; i < rules->count; i++) {
        const struct sbx_rule *rule = &rules->items[i];
        if (rule->is_glob || rule->is_optional || rule->kind == SBX_RULE_TMPFS ||
            rule->by > SBX_BY_FLAG || rule->access == SBX_ACCESS_NONE)
            continue;
        struct sbx_str shown = {rule->path.text, rule->path.len};
        if (rule->node == SBX_NODE_MISSING) {
            if (rule->access == SBX_ACCESS_READ && below_writable(rules, rule)) continue;
            struct sbx_finding *finding =
                sbx_findings_add(collect->findings, SBX_F_PATH_MISSING, &rule->at, rule->key_path,
                                 shown, "\"%s\" does not exist", rule->path.text);
            sbx_finding_hint(collect->findings, finding, "create it first, or remove the entry");
        } else if (rule->kind == SBX_RULE_SOCKET && rule->node != SBX_NODE_SOCKET &&
                   rule->node != SBX_NODE_UNKNOWN) {
            sbx_findings_add(collect->findings, SBX_F_BAD_VALUE, &rule->at, rule->key_path, shown,
                             "\"%s\" is not a socket", rule->path.text);
        }
    }
}

/* ---- protections ---- */

static bool add_protect_row(struct collect *collect, size_t *capacity,
                            const struct sbx_protect_row *row)
{
    struct sbx_policy *policy = collect->policy;
    for (size_t i = 0; i < policy->protect_count; i++)
        if (sbx_text_eq(policy->protect[i].pattern, row->pattern)) return true;
    struct sbx_protect_row *slot = (struct sbx_protect_row *)sbx_arena_push(
        collect->arena, &policy->protect, &policy->protect_count, capacity, sizeof *slot);
    if (slot == NULL) {
        collect->findings->out_of_memory = true;
        return false;
    }
    *slot = *row;
    return true;
}

static void sort_protect(struct sbx_policy *policy)
{
    for (size_t i = 1; i < policy->protect_count; i++) {
        struct sbx_protect_row moved = policy->protect[i];
        size_t j = i;
        while (j > 0 && strcmp(moved.pattern, policy->protect[j - 1].pattern) < 0) {
            policy->protect[j] = policy->protect[j - 1];
            j--;
        }
        policy->protect[j] = moved;
    }
}

/* A name that can be no file of this platform would protect nothing. */
static void check_protect_name(struct collect *collect, const struct sbx_text *name, size_t index)
{
    bool is_windows = collect->policy->context.platform == SBX_WINDOWS;
    const char *text = sbx_arena_printf(collect->arena, "%s%.*s", is_windows ? "C:\\" : "/",
                                        SBX_STR_ARG(name->text));
    struct sbx_path path;
    if (text == NULL) {
        collect->findings->out_of_memory = true;
        return;
    }
    enum sbx_path_problem problem =
        sbx_path_make(collect->arena, sbx_platform_path_rules(collect->policy->context.platform),
                      sbx_str(text), &path);
    if (problem == SBX_PATH_OK) return;
    struct sbx_finding *finding = sbx_findings_add(
        collect->findings, SBX_F_BAD_VALUE, &name->at, index_key(collect, "protect", index),
        name->text, "\"%.*s\" %s", SBX_STR_ARG(name->text), sbx_path_problem_text(problem));
    sbx_finding_hint(collect->findings, finding, "write the name as it is on disk");
}

static void resolve_protect(struct collect *collect, const struct sbx_manifest *manifest)
{
    struct sbx_policy *policy = collect->policy;
    size_t capacity = 0;
    bool has_key = sbx_manifest_has(manifest, SBX_KEY_PROTECT);
    bool with_defaults = !has_key || manifest->protect.with_defaults;
    for (const struct sbx_protect_row *row = sbx_protect_defaults; row->pattern != NULL; row++) {
        if (!with_defaults) break;
        bool is_git = sbx_text_eq(row->pattern, ".git") && policy->git == SBX_GIT_COMMIT;
        if (!is_git && !add_protect_row(collect, &capacity, row)) return;
    }
    bool lists_git = false;
    size_t names = has_key ? manifest->protect.names.count : 0;
    if (names > PROTECT_MAX) {
        struct sbx_finding *finding = sbx_findings_add(
            collect->findings, SBX_F_OUT_OF_RANGE, &manifest->at[SBX_KEY_PROTECT], "protect",
            (struct sbx_str){0}, "\"protect\" has more than %d names", PROTECT_MAX);
        sbx_finding_hint(collect->findings, finding, "use a glob in the filesystem table");
        names = PROTECT_MAX;
    }
    for (size_t i = 0; i < names; i++) {
        struct sbx_str name = manifest->protect.names.items[i].text;
        check_protect_name(collect, &manifest->protect.names.items[i], i);
        lists_git |= sbx_str_is(name, ".git");
        if (sbx_str_is(name, ".git") && policy->git == SBX_GIT_COMMIT) continue;
        struct sbx_protect_row row = {name.ptr, false, "listed in protect"};
        if (!add_protect_row(collect, &capacity, &row)) return;
    }
    if (policy->git == SBX_GIT_COMMIT && (with_defaults || lists_git))
        for (const struct sbx_protect_row *row = sbx_protect_git_commit; row->pattern != NULL;
             row++)
            if (!add_protect_row(collect, &capacity, row)) return;
    sort_protect(policy);
}

static void collect_protected_roots(struct collect *collect)
{
    struct sbx_policy *policy = collect->policy;
    size_t capacity = 0;
    if (policy->protect_count == 0) return;
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        if (rule->is_glob || rule->kind != SBX_RULE_HOST || rule->access != SBX_ACCESS_WRITE)
            continue;
        struct sbx_path *slot = (struct sbx_path *)sbx_arena_push(
            collect->arena, &policy->protected_roots, &policy->protected_root_count, &capacity,
            sizeof *slot);
        if (slot == NULL) {
            collect->findings->out_of_memory = true;
            return;
        }
        *slot = rule->path;
    }
}

/* What makes an explicit rule an exception: a protection between it and the writable rule above it, or its own
 * name where there is none. */
static const struct sbx_protect_row *removed_protection(const struct sbx_policy *policy,
                                                        size_t index)
{
    const struct sbx_rule *rule = &policy->rules.items[index];
    const struct sbx_rule *above = rule->above == 0 ? NULL : &policy->rules.items[rule->above - 1];
    bool is_inside =
        above != NULL && above->access == SBX_ACCESS_WRITE && above->kind == SBX_RULE_HOST;
    struct sbx_path root = is_inside ? above->path : sbx_path_up(rule->path);
    return sbx_protection_between(policy, root, rule->path);
}

/* Writing to a protected path is allowed when it is said in so many words, and warned about. */
static void warn_unprotected(struct collect *collect, const struct sbx_manifest *manifest)
{
    struct sbx_policy *policy = collect->policy;
    bool writes = false;
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        if (rule->is_glob || rule->access != SBX_ACCESS_WRITE || rule->kind != SBX_RULE_HOST)
            continue;
        writes = true;
        const struct sbx_protect_row *row = removed_protection(policy, i);
        if (row == NULL) continue;
        struct sbx_finding *finding =
            sbx_findings_add(collect->findings, SBX_F_PROTECTION_REMOVED, &rule->at, rule->key_path,
                             (struct sbx_str){rule->path.text, rule->path.len},
                             "\"%s\" is protected by default (%s) and becomes writable: %s",
                             rule->path.text, row->pattern, row->reason);
        sbx_finding_hint(collect->findings, finding,
                         "remove the entry unless the command must change it");
    }
    if (!writes || !sbx_manifest_has(manifest, SBX_KEY_PROTECT) || manifest->protect.with_defaults)
        return;
    struct sbx_finding *finding = sbx_findings_add(
        collect->findings, SBX_F_PROTECTION_REMOVED, &manifest->at[SBX_KEY_PROTECT], "protect",
        (struct sbx_str){0}, "the built-in names (.git, .vscode …) are no longer protected");
    sbx_finding_hint(collect->findings, finding, "put \"defaults\" into the list");
}

void sbx_fspolicy_resolve(struct sbx_arena *arena, const struct sbx_manifest *manifest,
                          const struct sbx_ceiling *ceiling, struct sbx_findings *findings,
                          struct sbx_policy *policy)
{
    struct collect collect = {.arena = arena, .findings = findings, .policy = policy};
    add_preset(&collect);
    add_list(&collect, &manifest->fs_read_allow, "fs_read_allow", SBX_ACCESS_READ, SBX_RULE_HOST);
    add_list(&collect, &manifest->fs_write_allow, "fs_write_allow", SBX_ACCESS_WRITE,
             SBX_RULE_HOST);
    add_table(&collect, &manifest->filesystem);
    add_list(&collect, &manifest->tmpfs, "tmpfs", SBX_ACCESS_WRITE, SBX_RULE_TMPFS);
    add_list(&collect, &manifest->unix_sockets, "unix_sockets", SBX_ACCESS_WRITE, SBX_RULE_SOCKET);
    add_forbidden(&collect, ceiling);
    check_existence(&collect);
    resolve_protect(&collect, manifest);
    sbx_rules_normalise(policy, findings);
    add_own(&collect);
    warn_unprotected(&collect, manifest);
    collect_protected_roots(&collect);
}
