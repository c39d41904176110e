/* The plan: put together, and digested. */
#include "common/policy/plan.h"

#include <string.h>

#include "common/base/utf8.h"

#include "common/base/banned.h"

enum sbx_backend_id sbx_plan_backend(const struct sbx_selection *selection,
                                     const struct sbx_policy *policy)
{
    if (selection->backend != SBX_BACKEND_FAIL_CLOSED) return selection->backend;
    if (policy->preset->needs_two_keys) return SBX_BACKEND_NONE;
    if (policy->preset->is_external) return SBX_BACKEND_EXTERNAL;
    return sbx_backend_order(policy->context.platform)[0];
}

static void add_note(struct sbx_arena *arena, struct sbx_plan *plan, const char *text, bool *failed)
{
    const char **slot = (const char **)sbx_arena_push(arena, &plan->notes, &plan->note_count,
                                                      &plan->note_capacity, sizeof *slot);
    if (slot == NULL || text == NULL)
        *failed = true;
    else
        *slot = text;
}

static bool has_rule(const struct sbx_policy *policy, enum sbx_rule_kind kind)
{
    for (size_t i = 0; i < policy->rules.count; i++)
        if (policy->rules.items[i].kind == kind) return true;
    return false;
}

static bool has_glob(const struct sbx_policy *policy)
{
    for (size_t i = 0; i < policy->rules.count; i++)
        if (policy->rules.items[i].is_glob && policy->rules.items[i].by != SBX_BY_PRESET)
            return true;
    return false;
}

static void collect_notes(struct sbx_arena *arena, struct sbx_plan *plan, bool *failed)
{
    const struct sbx_policy *policy = plan->policy;
    if (policy->context.is_assumed)
        add_note(arena, plan,
                 "made for another machine: places and facts are assumed, nothing was looked up",
                 failed);
    if (plan->backend == SBX_BACKEND_NONE)
        add_note(arena, plan, "NO isolation: files, network and processes of the host are open",
                 failed);
    if (policy->network == SBX_NET_INHERIT && plan->backend != SBX_BACKEND_NONE)
        add_note(arena, plan,
                 plan->backend == SBX_BACKEND_APPCONTAINER
                     ? "network inherit: loopback services of the host stay out of reach"
                 : plan->platform == SBX_LINUX
                     ? "network inherit: loopback services and abstract sockets of the host are "
                       "reachable"
                     : "network inherit: loopback services of the host are reachable",
                 failed);
    if (plan->backend == SBX_BACKEND_APPCONTAINER && policy->protect_count > 0 &&
        policy->protected_root_count > 0)
        add_note(arena, plan,
                 "protected names that do not exist yet are watched: making one ends the run",
                 failed);
    if (has_glob(policy) && plan->backend != SBX_BACKEND_NONE)
        add_note(arena, plan,
                 "globs cover files that exist at the start; ones the host creates during the run "
                 "are not covered",
                 failed);
    if (plan->backend == SBX_BACKEND_LANDLOCK && has_rule(policy, SBX_RULE_TMPFS))
        add_note(arena, plan, "no private /tmp without mounts: /tmp is closed, TMPDIR is private",
                 failed);
    if (policy->image != NULL && !(sbx_backend_row(plan->backend)->can & SBX_CAN_IMAGE))
        add_note(arena, plan, "image has no meaning for this backend and is ignored", failed);
    if (policy->env_count == 0 && policy->env_pass_count == 0)
        add_note(arena, plan,
                 "no variable reaches the command, not even PATH; pass some with -E NAME", failed);
}

/* ---- the digest: compact JSON of everything that decides what the box may do ---- */

static void digest_rules(struct sbx_jsonw *json, const struct sbx_policy *policy)
{
    sbx_jsonw_key(json, "rules");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        sbx_jsonw_object(json);
        sbx_jsonw_pair_str(json, "path", (struct sbx_str){rule->path.text, rule->path.len});
        sbx_jsonw_pair_bool(json, "glob", rule->is_glob);
        sbx_jsonw_pair_text(json, "access", sbx_name_text(sbx_access_names, (int)rule->access));
        sbx_jsonw_pair_text(json, "kind", sbx_name_text(sbx_rule_kind_names, (int)rule->kind));
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "protect");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < policy->protect_count; i++)
        sbx_jsonw_text(json, policy->protect[i].pattern);
    sbx_jsonw_end(json);
}

static void digest_hosts(struct sbx_jsonw *json, const char *key,
                         const struct sbx_host_pattern *hosts, size_t count)
{
    sbx_jsonw_key(json, key);
    sbx_jsonw_array(json);
    for (size_t i = 0; i < count; i++) {
        sbx_jsonw_object(json);
        sbx_jsonw_pair_u64(json, "form", (uint64_t)hosts[i].form);
        sbx_jsonw_pair_text(json, "host", hosts[i].host);
        sbx_jsonw_pair_u64(json, "port", hosts[i].port);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
}

static void digest_identity(struct sbx_jsonw *json, const char *key, bool is_set,
                            const struct sbx_identity *identity)
{
    if (!is_set) return;
    if (identity->is_id)
        sbx_jsonw_pair_u64(json, key, identity->id);
    else
        sbx_jsonw_pair_str(json, key, identity->name);
}

/* Arguments may be any bytes, and JSON would make one text of different ones. */
static void digest_text(struct sbx_jsonw *json, const char *text)
{
    size_t len = strlen(text);
    if (sbx_utf8_valid(text, len, NULL)) {
        sbx_jsonw_text(json, text);
        return;
    }
    char hex[SBX_SHA256_HEX];
    sbx_sha256_hex(text, len, hex);
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "bytes", hex);
    sbx_jsonw_end(json);
}

static void digest_texts(struct sbx_jsonw *json, const char *key, const char *const *texts,
                         size_t count)
{
    sbx_jsonw_key(json, key);
    sbx_jsonw_array(json);
    for (size_t i = 0; i < count; i++) digest_text(json, texts[i]);
    sbx_jsonw_end(json);
}

static void digest_limits(struct sbx_jsonw *json, const struct sbx_plan *plan)
{
    const struct sbx_limits *limits = &plan->policy->limits;
    sbx_jsonw_pair_u64(json, "timeout_ns", plan->timeout_ns);
    sbx_jsonw_pair_u64(json, "memory", plan->memory_bytes);
    sbx_jsonw_pair_u64(json, "process_memory", plan->process_memory_bytes);
    sbx_jsonw_pair_u64(json, "cpu", limits->cpu_secs);
    sbx_jsonw_pair_u64(json, "processes", limits->processes);
    sbx_jsonw_pair_u64(json, "output", limits->output_bytes);
}

static void digest_env(struct sbx_jsonw *json, const struct sbx_policy *policy)
{
    sbx_jsonw_key(json, "env");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < policy->env_count; i++) {
        digest_text(json, policy->env[i].name);
        digest_text(json, policy->env[i].value);
    }
    sbx_jsonw_end(json);
    digest_texts(json, "env_pass", policy->env_pass, policy->env_pass_count);
}

/* All but the command, which is the last member. */
bool sbx_plan_digest_begin(const struct sbx_plan *plan, struct sbx_sha256 *out)
{
    const struct sbx_policy *policy = plan->policy;
    AUTO_BUF text;
    sbx_buf_init(&text, 64u << 20);
    struct sbx_jsonw json;
    sbx_jsonw_init(&json, &text, false);
    sbx_jsonw_object(&json);
    sbx_jsonw_pair_text(&json, "platform", sbx_name_text(sbx_platform_names, (int)plan->platform));
    sbx_jsonw_pair_text(&json, "backend", sbx_name_text(sbx_backend_names, (int)plan->backend));
    digest_rules(&json, policy);
    sbx_jsonw_pair_text(&json, "network", sbx_name_text(sbx_net_kind_names, (int)policy->network));
    digest_hosts(&json, "hosts", policy->hosts, policy->host_count);
    digest_hosts(&json, "local", policy->local, policy->local_count);
    sbx_jsonw_pair_text(&json, "syscalls",
                        sbx_name_text(sbx_syscalls_names, (int)policy->syscalls));
    digest_limits(&json, plan);
    digest_env(&json, policy);
    sbx_jsonw_pair_text(&json, "cwd", policy->cwd.text);
    digest_identity(&json, "user", policy->has_user, &policy->user);
    digest_identity(&json, "group", policy->has_group, &policy->group);
    if (policy->image != NULL) sbx_jsonw_pair_text(&json, "image", policy->image);
    digest_texts(&json, "raw_args", policy->raw_args, policy->raw_arg_count);
    digest_texts(&json, "layers", plan->layers, plan->layer_count);
    if (text.failed) return false;
    sbx_sha256_init(out);
    sbx_sha256_add(out, text.data, text.len);
    return true;
}

bool sbx_plan_digest_end(const struct sbx_sha256 *begun, const char *const *command,
                         char out[SBX_SHA256_HEX])
{
    struct sbx_sha256 hash = *begun;
    struct sbx_jsonw json;
    AUTO_BUF text;
    sbx_buf_init(&text, 64u << 20);
    sbx_jsonw_init(&json, &text, false);
    sbx_jsonw_object(&json);
    size_t words = 0;
    while (command[words] != NULL) words++;
    digest_texts(&json, "command", command, words);
    sbx_jsonw_end(&json);
    out[0] = '\0';
    if (text.failed) return false;
    text.data[0] = ','; /* one more member of the object that was begun */
    sbx_sha256_add(&hash, text.data, text.len);
    sbx_sha256_end_hex(&hash, out);
    return true;
}

bool sbx_plan_digest(const struct sbx_plan *plan, char out[SBX_SHA256_HEX])
{
    struct sbx_sha256 begun;
    out[0] = '\0';
    return sbx_plan_digest_begin(plan, &begun) && sbx_plan_digest_end(&begun, plan->command, out);
}

/* 30 s, but 60 s on Windows, also without a sandbox. */
static uint64_t default_timeout_ns(const struct sbx_backend_row *row, enum sbx_platform platform)
{
    const struct sbx_backend_row *windows = sbx_backend_row(SBX_BACKEND_APPCONTAINER);
    return !row->is_sandbox && platform == SBX_WINDOWS ? windows->default_timeout_ns
                                                       : row->default_timeout_ns;
}

/* A job always has a limit: 1 GiB a process and 2 GiB a job when nothing is said. */
static void set_memory(struct sbx_plan *plan)
{
    plan->memory_bytes = plan->policy->limits.memory_bytes;
    if (plan->backend != SBX_BACKEND_APPCONTAINER) return;
    plan->process_memory_bytes = plan->memory_bytes;
    if (plan->memory_bytes != 0) return;
    plan->memory_is_default = true;
    plan->memory_bytes = SBX_PLAN_WINDOWS_JOB_MEMORY;
    plan->process_memory_bytes = SBX_PLAN_WINDOWS_PROCESS_MEMORY;
}

enum sbx_code sbx_plan_make(struct sbx_arena *arena, const struct sbx_policy *policy,
                            const struct sbx_facts *facts, enum sbx_backend_id backend,
                            const char *const *command, struct sbx_plan *out, struct sbx_err *err)
{
    const struct sbx_backend_row *row = sbx_backend_row(backend);
    struct sbx_plan plan = {.platform = policy->context.platform,
                            .backend = backend,
                            .policy = policy,
                            .facts = facts,
                            .command = command,
                            .timeout_ns = policy->limits.timeout_ns,
                            .steps = row->steps};
    if (plan.timeout_ns == 0) {
        plan.timeout_ns = default_timeout_ns(row, plan.platform);
        plan.timeout_is_default = true;
        uint64_t bound = policy->limits.timeout_max_ns;
        if (bound != 0 && bound < plan.timeout_ns) plan.timeout_ns = bound;
    }
    set_memory(&plan);
    plan.layers = sbx_backend_layers(arena, backend, policy, facts, &plan.layer_count);
    if (plan.layers == NULL) return sbx_err_nomem(err);
    sbx_backend_tiers(backend, policy, facts, plan.tiers);
    bool failed = false;
    collect_notes(arena, &plan, &failed);
    if (failed) return sbx_err_nomem(err);
    *out = plan;
    return SBX_OK;
}
