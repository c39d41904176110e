/* manifest → policy: preset, places, defaults and ceiling put together; every problem is a finding. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sort.h"
#include "common/policy/manifest_keys.h"
#include "common/policy/policy.h"

#include "common/base/banned.h"

struct resolve {
    struct sbx_arena *arena;
    const struct sbx_manifest *manifest;
    const struct sbx_ceiling *ceiling;
    struct sbx_findings *findings;
    struct sbx_policy *policy;
};

static bool has(const struct resolve *r, enum sbx_key key)
{
    return sbx_manifest_has(r->manifest, key);
}

/* ---- keys of other platforms ---- */

static void check_platform(const struct resolve *r)
{
    enum sbx_platform platform = r->policy->context.platform;
    for (size_t i = 0; i < SBX_KEY_COUNT; i++) {
        const struct sbx_key_row *row = &sbx_key_rows[i];
        if (!has(r, row->key) || (row->platforms & (1u << platform))) continue;
        struct sbx_finding *finding =
            sbx_findings_add(r->findings, SBX_F_PLATFORM_UNSUPPORTED, &r->manifest->at[row->key],
                             row->name, (struct sbx_str){0}, "\"%s\" does not exist on %s",
                             row->name, sbx_name_text(sbx_platform_names, (int)platform));
        sbx_finding_hint(r->findings, finding, "remove it from the manifest for this platform");
    }
}

/* ---- overrides of the preset ---- */

static void note_override(const struct resolve *r, enum sbx_key key, const char *from,
                          const char *to)
{
    if (sbx_text_eq(from, to)) return;
    struct sbx_policy *policy = r->policy;
    struct sbx_override *slot =
        (struct sbx_override *)sbx_arena_push(r->arena, &policy->overrides, &policy->override_count,
                                              &policy->override_capacity, sizeof *slot);
    if (slot == NULL) {
        r->findings->out_of_memory = true;
        return;
    }
    *slot = (struct sbx_override){sbx_key_rows[key].name, from, to, r->manifest->at[key]};
}

/* ---- network ---- */

static void host_finding(const struct resolve *r, const struct sbx_text *text, const char *key_path,
                         enum sbx_host_problem problem, const char *why)
{
    if (problem == SBX_HOST_NO_MEMORY) {
        r->findings->out_of_memory = true;
        return;
    }
    enum sbx_finding_code code = problem == SBX_HOST_SHARED_PLATFORM ? SBX_F_SHARED_PLATFORM_APEX
                                                                     : SBX_F_HOST_PATTERN_INVALID;
    /* `why` is the problem, "; ", and the remedy. */
    const char *remedy = why == NULL ? NULL : strstr(why, "; ");
    struct sbx_str problem_text = sbx_str(why == NULL ? "is not a host" : why);
    if (remedy != NULL) problem_text.len = (size_t)(remedy - why);
    struct sbx_finding *finding =
        sbx_findings_add(r->findings, code, &text->at, key_path, text->text, "\"%.*s\" %.*s",
                         SBX_STR_ARG(text->text), SBX_STR_ARG(problem_text));
    if (remedy != NULL) sbx_finding_hint(r->findings, finding, "%s", remedy + 2);
}

static int compare_hosts(const void *a, const void *b)
{
    return sbx_host_compare((const struct sbx_host_pattern *)a, (const struct sbx_host_pattern *)b);
}

typedef enum sbx_host_problem host_reader(struct sbx_arena *, struct sbx_str,
                                          struct sbx_host_pattern *, const char **);

static void resolve_hosts(const struct resolve *r, const struct sbx_texts *list, const char *name,
                          host_reader *read, struct sbx_host_pattern **out, size_t *count)
{
    struct sbx_host_pattern *hosts = SBX_NEW_ARRAY(r->arena, struct sbx_host_pattern, list->count);
    if (hosts == NULL) {
        r->findings->out_of_memory = true;
        return;
    }
    size_t used = 0;
    for (size_t i = 0; i < list->count; i++) {
        const char *why = NULL;
        const char *key = sbx_arena_printf(r->arena, "network.%s[%zu]", name, i);
        enum sbx_host_problem problem = read(r->arena, list->items[i].text, &hosts[used], &why);
        if (problem == SBX_HOST_OK)
            used++;
        else
            host_finding(r, &list->items[i], key == NULL ? name : key, problem, why);
    }
    if (used > 1) sbx_sort(hosts, used, sizeof *hosts, compare_hosts);
    size_t kept = 0;
    for (size_t i = 0; i < used; i++)
        if (kept == 0 || compare_hosts(&hosts[kept - 1], &hosts[i]) != 0) hosts[kept++] = hosts[i];
    *out = hosts;
    *count = kept;
}

static void resolve_network(const struct resolve *r)
{
    struct sbx_policy *policy = r->policy;
    policy->network = policy->preset->network;
    if (has(r, SBX_KEY_NETWORK)) {
        policy->network = r->manifest->network.kind;
        note_override(r, SBX_KEY_NETWORK,
                      sbx_name_text(sbx_net_kind_names, (int)policy->preset->network),
                      sbx_name_text(sbx_net_kind_names, (int)policy->network));
        resolve_hosts(r, &r->manifest->network.hosts, "hosts", sbx_host_parse, &policy->hosts,
                      &policy->host_count);
        resolve_hosts(r, &r->manifest->network.local, "local", sbx_host_parse_local, &policy->local,
                      &policy->local_count);
    }
    if (policy->network <= r->ceiling->max_network) return;
    if (has(r, SBX_KEY_NETWORK)) {
        sbx_findings_add(r->findings, SBX_F_CEILING_EXCEEDED, &r->manifest->at[SBX_KEY_NETWORK],
                         "network", (struct sbx_str){0},
                         "the administrator allows at most network \"%s\" (%s, max_network)",
                         sbx_name_text(sbx_net_kind_names, (int)r->ceiling->max_network),
                         r->ceiling->source);
        return;
    }
    policy->network = r->ceiling->max_network;
}

/* ---- limits ---- */

/* One row per limit: where it is in manifest, policy and ceiling. */
struct limit_row {
    enum sbx_key key;
    size_t manifest, policy, ceiling;
    void (*print)(uint64_t, struct sbx_buf *);
};

static void print_number(uint64_t number, struct sbx_buf *out)
{
    sbx_buf_printf(out, "%" PRIu64, number);
}

#define LIMIT(key, field, limit, print)                                                            \
    {                                                                                              \
        key, offsetof(struct sbx_manifest, field), offsetof(struct sbx_limits, limit),             \
            offsetof(struct sbx_ceiling, max_##limit), print                                       \
    }
static const struct limit_row limit_rows[] = {
    LIMIT(SBX_KEY_TIMEOUT, timeout_ns, timeout_ns, sbx_duration_print),
    LIMIT(SBX_KEY_MAX_MEMORY_BYTES, max_memory_bytes, memory_bytes, sbx_bytes_print),
    LIMIT(SBX_KEY_MAX_CPU_SECS, max_cpu_secs, cpu_secs, print_number),
    LIMIT(SBX_KEY_MAX_PROCESSES, max_processes, processes, print_number),
    LIMIT(SBX_KEY_MAX_OUTPUT_BYTES, max_output_bytes, output_bytes, sbx_bytes_print),
};

static uint64_t *number_at(void *base, size_t offset)
{
    return (uint64_t *)((char *)base + offset);
}

static uint64_t number_of(const void *base, size_t offset)
{
    return *(const uint64_t *)((const char *)base + offset);
}

static void apply_limit(const struct resolve *r, const struct limit_row *row)
{
    uint64_t *limit = number_at(&r->policy->limits, row->policy);
    uint64_t ceiling = number_of(r->ceiling, row->ceiling);
    if (has(r, row->key)) *limit = number_of(r->manifest, row->manifest);
    if (ceiling == 0 || (*limit != 0 && *limit <= ceiling)) return;
    if (!has(r, row->key)) {
        /* Not asked for, so not an error: the administrator's bound applies. To time it applies on top of
         * the backend's default, which may be smaller. */
        if (row->key == SBX_KEY_TIMEOUT)
            r->policy->limits.timeout_max_ns = ceiling;
        else
            *limit = ceiling;
        return;
    }
    AUTO_BUF text;
    sbx_buf_init(&text, 64);
    row->print(ceiling, &text);
    const char *name = sbx_key_rows[row->key].name;
    struct sbx_finding *finding =
        sbx_findings_add(r->findings, SBX_F_CEILING_EXCEEDED, &r->manifest->at[row->key], name,
                         (struct sbx_str){0}, "\"%s\" is above the administrator's %s (%s)", name,
                         sbx_buf_text(&text), r->ceiling->source);
    sbx_finding_hint(r->findings, finding, "write at most %s", sbx_buf_text(&text));
}

static void resolve_limits(const struct resolve *r)
{
    struct sbx_policy *policy = r->policy;
    policy->limits.processes = policy->context.platform == SBX_WINDOWS
                                   ? policy->preset->windows_processes
                                   : policy->preset->processes;
    for (size_t i = 0; i < SBX_COUNT(limit_rows); i++) apply_limit(r, &limit_rows[i]);
    const uint64_t small = (uint64_t)256 << 20;
    if (has(r, SBX_KEY_MAX_MEMORY_BYTES) && policy->limits.memory_bytes < small) {
        struct sbx_finding *finding = sbx_findings_add(
            r->findings, SBX_F_LIMIT_TOO_SMALL, &r->manifest->at[SBX_KEY_MAX_MEMORY_BYTES],
            "max_memory_bytes", (struct sbx_str){0},
            "node and go do not start below 256 MiB, java not below 512 MiB");
        sbx_finding_hint(r->findings, finding, "raise it if the command uses one of them");
    }
}

/* ---- environment ---- */

static bool same_name(const struct resolve *r, const char *a, struct sbx_str b)
{
    return r->policy->context.platform == SBX_WINDOWS ? sbx_str_is_nocase(b, a) : sbx_str_is(b, a);
}

/* Variables that make a loader, shell or interpreter run other code; in the box only, but people who
 * copy them from the host's environment rarely mean it. */
static bool is_loader_variable(const struct resolve *r, struct sbx_str name)
{
    static const char *const exact[] = {"BASH_ENV",          "ENV",
                                        "NODE_OPTIONS",      "PYTHONSTARTUP",
                                        "PYTHONPATH",        "PERL5OPT",
                                        "PERL5LIB",          "RUBYOPT",
                                        "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
                                        "JDK_JAVA_OPTIONS",  "GIT_SSH_COMMAND",
                                        "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND",
                                        "COR_PROFILER",      "DOTNET_STARTUP_HOOKS"};
    for (size_t i = 0; i < SBX_COUNT(exact); i++)
        if (same_name(r, exact[i], name)) return true;
    return sbx_str_starts(name, "LD_") || sbx_str_starts(name, "DYLD_");
}

static bool env_name_ok(struct sbx_str name)
{
    if (name.len == 0) return false;
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        if (c < 0x20 || c == 0x7f || c == '=') return false;
    }
    return true;
}

static bool check_env_name(const struct resolve *r, const struct sbx_text *name,
                           const char *key_path)
{
    if (!env_name_ok(name->text)) {
        struct sbx_finding *finding =
            sbx_findings_add(r->findings, SBX_F_ENV_NAME_INVALID, &name->at, key_path, name->text,
                             "\"%.*s\" is not a variable's name", SBX_STR_ARG(name->text));
        sbx_finding_hint(r->findings, finding, "a name is not empty and has no '='");
        return false;
    }
    if (is_loader_variable(r, name->text)) {
        sbx_findings_add(r->findings, SBX_F_ENV_LOADER, &name->at, key_path, name->text,
                         "\"%.*s\" makes programs in the box load other code",
                         SBX_STR_ARG(name->text));
    }
    return true;
}

static bool in_env(const struct resolve *r, struct sbx_str name)
{
    for (size_t i = 0; i < r->policy->env_count; i++)
        if (same_name(r, r->policy->env[i].name, name)) return true;
    return false;
}

static bool in_env_pass(const struct resolve *r, struct sbx_str name)
{
    for (size_t i = 0; i < r->policy->env_pass_count; i++)
        if (same_name(r, r->policy->env_pass[i], name)) return true;
    return false;
}

static bool in_preset(const struct resolve *r, struct sbx_str name)
{
    const char *const *names = r->policy->preset->env_pass;
    for (size_t i = 0; names[i] != NULL; i++)
        if (same_name(r, names[i], name) && !in_env(r, name)) return true;
    return false;
}

static void env_duplicate(const struct resolve *r, const struct sbx_text *name,
                          const char *key_path)
{
    sbx_findings_add(r->findings, SBX_F_ENV_DUPLICATE, &name->at, key_path, name->text,
                     "\"%.*s\" is listed twice", SBX_STR_ARG(name->text));
}

static void resolve_env_pairs(const struct resolve *r)
{
    const struct sbx_env_pairs *list = &r->manifest->env;
    struct sbx_policy *policy = r->policy;
    policy->env = SBX_NEW_ARRAY(r->arena, struct sbx_pair, list->count);
    if (policy->env == NULL) {
        r->findings->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct sbx_env_pair *pair = &list->items[i];
        const char *key = sbx_arena_printf(r->arena, "env[%zu]", i);
        if (key == NULL) key = "env";
        if (!check_env_name(r, &pair->name, key)) continue;
        if (pair->value.len > 0 && memchr(pair->value.ptr, 0, pair->value.len) != NULL) {
            sbx_findings_add(r->findings, SBX_F_BAD_VALUE, &pair->name.at, key, pair->name.text,
                             "the value of \"%.*s\" has a NUL character",
                             SBX_STR_ARG(pair->name.text));
            continue;
        }
        if (in_env(r, pair->name.text)) {
            env_duplicate(r, &pair->name, key);
            continue;
        }
        policy->env[policy->env_count++] = (struct sbx_pair){pair->name.text.ptr, pair->value.ptr};
    }
}

static void resolve_env_pass(const struct resolve *r)
{
    const struct sbx_texts *list = &r->manifest->env_pass;
    struct sbx_policy *policy = r->policy;
    size_t preset_count = 0;
    while (policy->preset->env_pass[preset_count] != NULL) preset_count++;
    policy->env_pass = SBX_NEW_ARRAY(r->arena, const char *, list->count + preset_count);
    if (policy->env_pass == NULL) {
        r->findings->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < preset_count; i++)
        if (!in_env(r, sbx_str(policy->preset->env_pass[i])))
            policy->env_pass[policy->env_pass_count++] = policy->preset->env_pass[i];
    for (size_t i = 0; i < list->count; i++) {
        const char *key = sbx_arena_printf(r->arena, "env_pass[%zu]", i);
        if (key == NULL) key = "env_pass";
        if (!check_env_name(r, &list->items[i], key)) continue;
        /* What the preset passes too may be said again. */
        if (in_preset(r, list->items[i].text)) continue;
        if (in_env(r, list->items[i].text) || in_env_pass(r, list->items[i].text))
            env_duplicate(r, &list->items[i], key);
        else
            policy->env_pass[policy->env_pass_count++] = list->items[i].text.ptr;
    }
}

static int compare_pairs(const void *a, const void *b)
{
    return strcmp(((const struct sbx_pair *)a)->name, ((const struct sbx_pair *)b)->name);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void resolve_env(const struct resolve *r)
{
    resolve_env_pairs(r);
    resolve_env_pass(r);
    struct sbx_policy *policy = r->policy;
    if (policy->env_count > 1)
        sbx_sort(policy->env, policy->env_count, sizeof *policy->env, compare_pairs);
    if (policy->env_pass_count > 1)
        sbx_sort(policy->env_pass, policy->env_pass_count, sizeof *policy->env_pass, compare_names);
}

/* ---- the rest ---- */

/* Is the directory there in the box? A private one starts empty: it is there, nothing below it is. */
static bool is_in_box(const struct resolve *r, struct sbx_path path)
{
    const struct sbx_policy *policy = r->policy;
    if (policy->preset->needs_two_keys) return true;
    struct sbx_decision decision = sbx_policy_decide(r->arena, policy, path);
    if (decision.access == SBX_ACCESS_NONE) return false;
    return decision.rule == NULL || decision.rule->kind == SBX_RULE_HOST ||
           sbx_path_eq(decision.rule->path, path);
}

static void resolve_cwd(const struct resolve *r)
{
    struct sbx_policy *policy = r->policy;
    if (!has(r, SBX_KEY_CWD)) {
        policy->cwd =
            is_in_box(r, policy->context.cwd) ? policy->context.cwd : policy->context.system_root;
        return;
    }
    struct sbx_text text = {r->manifest->cwd, r->manifest->at[SBX_KEY_CWD]};
    if (sbx_place_expand(r->arena, &policy->context, &text, "cwd", false, r->findings,
                         &policy->cwd) != SBX_OK)
        return;
    enum sbx_node node = sbx_context_lookup(&policy->context, policy->cwd);
    if (!is_in_box(r, policy->cwd)) {
        struct sbx_finding *finding =
            sbx_findings_add(r->findings, SBX_F_CONFLICT, &text.at, "cwd", text.text,
                             "\"%s\" is not readable in the box", policy->cwd.text);
        sbx_finding_hint(r->findings, finding, "add it to fs_read_allow, or choose another cwd");
    } else if (node == SBX_NODE_MISSING) {
        sbx_findings_add(r->findings, SBX_F_PATH_MISSING, &text.at, "cwd", text.text,
                         "\"%s\" does not exist", policy->cwd.text);
    } else if (node != SBX_NODE_DIRECTORY && node != SBX_NODE_UNKNOWN) {
        sbx_findings_add(r->findings, SBX_F_BAD_VALUE, &text.at, "cwd", text.text,
                         "\"%s\" is not a directory", policy->cwd.text);
    }
}

static void warn_sockets(const struct resolve *r)
{
    static const char *const names[] = {
        "docker.sock", "podman.sock", "containerd.sock", "crio.sock", "system_bus_socket",
        "libvirt-sock",
        /* session bus, systemd, BuildKit, LXD and Incus, snapd, X11 */
        "bus", "private", "buildkitd.sock", "unix.socket", "snapd.socket", "X0"};
    for (size_t i = 0; i < r->policy->rules.count; i++) {
        const struct sbx_rule *rule = &r->policy->rules.items[i];
        if (rule->kind != SBX_RULE_SOCKET || rule->by == SBX_BY_PRESET) continue;
        for (size_t k = 0; k < SBX_COUNT(names); k++) {
            if (!sbx_str_is(sbx_path_name(rule->path), names[k])) continue;
            struct sbx_finding *finding = sbx_findings_add(
                r->findings, SBX_F_SOCKET_ROOT_EQUIVALENT, &rule->at, rule->key_path,
                (struct sbx_str){rule->path.text, rule->path.len},
                "whoever reaches \"%s\" can start programs outside the box", rule->path.text);
            sbx_finding_hint(r->findings, finding, "remove it unless that is what you want");
        }
    }
}

static void resolve_raw_args(const struct resolve *r)
{
    struct sbx_policy *policy = r->policy;
    const struct sbx_texts *list = &r->manifest->raw_args;
    sbx_rawargs_check(r->arena, r->manifest, r->ceiling, policy, r->findings);
    policy->raw_args = SBX_NEW_ARRAY(r->arena, const char *, list->count);
    if (policy->raw_args == NULL) {
        r->findings->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < list->count; i++) policy->raw_args[i] = list->items[i].text.ptr;
    policy->raw_arg_count = list->count;
}

/* Whoever requires a limit that is not set believes in a wall that is not there. */
static void note_unused_requirements(const struct resolve *r)
{
    const struct sbx_policy *policy = r->policy;
    const struct sbx_limits *limits = &policy->limits;
    const bool restricted[] = {
        [SBX_DIM_FILESYSTEM] = true,
        [SBX_DIM_NETWORK] = policy->network != SBX_NET_INHERIT,
        [SBX_DIM_SYSCALLS] = policy->syscalls == SBX_SYSCALLS_STRICT,
        /* A job object always has a bound. */
        [SBX_DIM_MEMORY] = limits->memory_bytes != 0 || policy->context.platform == SBX_WINDOWS,
        [SBX_DIM_CPU] = limits->cpu_secs != 0,
        [SBX_DIM_PROCESSES] = limits->processes != 0,
    };
    for (size_t i = 0; has(r, SBX_KEY_REQUIRE) && i < SBX_COUNT(restricted); i++) {
        if (restricted[i] || !(policy->require & (1u << i))) continue;
        const char *name = sbx_name_text(sbx_dimension_names, (int)i);
        struct sbx_finding *finding = sbx_findings_add(
            r->findings, SBX_F_REQUIRE_UNUSED, &r->manifest->at[SBX_KEY_REQUIRE], "require",
            sbx_str(name), "require lists \"%s\", but nothing restricts it", name);
        sbx_finding_hint(r->findings, finding, "set the limit or policy it is about");
    }
}

static void resolve_choices(const struct resolve *r)
{
    const struct sbx_manifest *manifest = r->manifest;
    struct sbx_policy *policy = r->policy;
    policy->git = has(r, SBX_KEY_GIT) ? (enum sbx_git_mode)manifest->git : SBX_GIT_READ_ONLY;
    policy->syscalls = policy->preset->syscalls;
    if (has(r, SBX_KEY_SYSCALL_POLICY)) {
        policy->syscalls = (enum sbx_syscalls)manifest->syscall_policy;
        note_override(r, SBX_KEY_SYSCALL_POLICY,
                      sbx_name_text(sbx_syscalls_names, (int)policy->preset->syscalls),
                      sbx_name_text(sbx_syscalls_names, (int)policy->syscalls));
    }
    policy->has_user = has(r, SBX_KEY_USER);
    policy->has_group = has(r, SBX_KEY_GROUP);
    policy->user = manifest->user;
    policy->group = manifest->group;
    policy->image = has(r, SBX_KEY_IMAGE) ? manifest->image.ptr : NULL;
    policy->require_is_explicit = has(r, SBX_KEY_REQUIRE);
    policy->require = policy->require_is_explicit
                          ? manifest->require
                          : (1u << SBX_DIM_FILESYSTEM) | (1u << SBX_DIM_NETWORK);
}

void sbx_policy_resolve(struct sbx_arena *arena, const struct sbx_manifest *manifest,
                        const struct sbx_context *context, const struct sbx_ceiling *ceiling,
                        struct sbx_findings *findings, struct sbx_policy *out)
{
    *out = (struct sbx_policy){.context = *context, .preset = sbx_preset_of(manifest)};
    out->preset_at.source = "declared";
    if (sbx_manifest_has(manifest, SBX_KEY_PROFILE)) out->preset_at = manifest->at[SBX_KEY_PROFILE];
    if (sbx_manifest_has(manifest, SBX_KEY_MODE)) out->preset_at = manifest->at[SBX_KEY_MODE];
    struct resolve r = {arena, manifest, ceiling, findings, out};
    check_platform(&r);
    resolve_network(&r); /* before the choices: overrides are listed in the order of the keys */
    resolve_choices(&r);
    resolve_limits(&r);
    resolve_env(&r);
    sbx_fspolicy_resolve(arena, manifest, ceiling, findings, out);
    resolve_raw_args(&r);
    warn_sockets(&r);
    resolve_cwd(&r);
    note_unused_requirements(&r);
}
