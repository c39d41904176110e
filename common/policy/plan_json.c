/* The plan as JSON: one object, stable keys (docs/MANIFEST.md), values of variables left out. */
#include "common/policy/plan.h"

#include "common/base/banned.h"

static void json_origin(struct sbx_jsonw *json, const struct sbx_origin *at)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 8192);
    sbx_origin_print(at, &text);
    sbx_jsonw_pair_text(json, "origin", sbx_buf_text(&text));
}

static void json_rules(struct sbx_jsonw *json, const struct sbx_policy *policy)
{
    sbx_jsonw_key(json, "files");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        sbx_jsonw_object(json);
        sbx_jsonw_pair_str(json, "path", (struct sbx_str){rule->path.text, rule->path.len});
        sbx_jsonw_pair_text(json, "access", sbx_name_text(sbx_access_names, (int)rule->access));
        sbx_jsonw_pair_text(json, "kind", sbx_name_text(sbx_rule_kind_names, (int)rule->kind));
        sbx_jsonw_pair_bool(json, "glob", rule->is_glob);
        json_origin(json, &rule->at);
        sbx_jsonw_pair_text(json, "key", rule->key_path);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "protect");
    sbx_jsonw_object(json);
    sbx_jsonw_key(json, "roots");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < policy->protected_root_count; i++)
        sbx_jsonw_text(json, policy->protected_roots[i].text);
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "names");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < policy->protect_count; i++)
        sbx_jsonw_text(json, policy->protect[i].pattern);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
}

static void json_host_list(struct sbx_jsonw *json, const char *key,
                           const struct sbx_host_pattern *hosts, size_t count)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 4u << 20);
    sbx_jsonw_key(json, key);
    sbx_jsonw_array(json);
    for (size_t i = 0; i < count; i++) sbx_jsonw_text(json, sbx_host_text(&arena, &hosts[i]));
    sbx_jsonw_end(json);
}

static void json_network(struct sbx_jsonw *json, const struct sbx_policy *policy)
{
    sbx_jsonw_key(json, "network");
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "kind", sbx_name_text(sbx_net_kind_names, (int)policy->network));
    json_host_list(json, "hosts", policy->hosts, policy->host_count);
    json_host_list(json, "local", policy->local, policy->local_count);
    sbx_jsonw_end(json);
}

static void json_limit(struct sbx_jsonw *json, const char *key, uint64_t value)
{
    sbx_jsonw_key(json, key);
    if (value == 0)
        sbx_jsonw_null(json);
    else
        sbx_jsonw_u64(json, value);
}

static void json_limits(struct sbx_jsonw *json, const struct sbx_plan *plan)
{
    const struct sbx_limits *limits = &plan->policy->limits;
    sbx_jsonw_key(json, "limits");
    sbx_jsonw_object(json);
    sbx_jsonw_pair_u64(json, "timeout_ms", plan->timeout_ns / 1000000);
    json_limit(json, "memory_bytes", plan->memory_bytes);
    json_limit(json, "process_memory_bytes", plan->process_memory_bytes);
    json_limit(json, "cpu_secs", limits->cpu_secs);
    json_limit(json, "processes", limits->processes);
    json_limit(json, "output_bytes", limits->output_bytes);
    sbx_jsonw_end(json);
}

static void json_texts(struct sbx_jsonw *json, const char *key, const char *const *texts,
                       size_t count)
{
    sbx_jsonw_key(json, key);
    sbx_jsonw_array(json);
    for (size_t i = 0; i < count; i++) sbx_jsonw_text(json, texts[i]);
    sbx_jsonw_end(json);
}

static void json_env(struct sbx_jsonw *json, const struct sbx_policy *policy)
{
    sbx_jsonw_key(json, "env");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < policy->env_count; i++) sbx_jsonw_text(json, policy->env[i].name);
    sbx_jsonw_end(json);
    json_texts(json, "env_pass", policy->env_pass, policy->env_pass_count);
}

static void json_identity(struct sbx_jsonw *json, const char *key, bool is_set,
                          const struct sbx_identity *identity)
{
    sbx_jsonw_key(json, key);
    if (!is_set)
        sbx_jsonw_null(json);
    else if (identity->is_id)
        sbx_jsonw_u64(json, identity->id);
    else
        sbx_jsonw_str(json, identity->name);
}

static void json_expert(struct sbx_jsonw *json, const struct sbx_policy *policy)
{
    json_identity(json, "user", policy->has_user, &policy->user);
    json_identity(json, "group", policy->has_group, &policy->group);
    sbx_jsonw_pair_text(json, "image", policy->image);
    json_texts(json, "raw_args", policy->raw_args, policy->raw_arg_count);
}

static void json_tiers(struct sbx_jsonw *json, const struct sbx_plan *plan)
{
    sbx_jsonw_key(json, "tiers");
    sbx_jsonw_object(json);
    for (int i = 0; i < SBX_DIM_COUNT; i++) {
        const struct sbx_tier_entry *entry = &plan->tiers[i];
        sbx_jsonw_key(json, sbx_name_text(sbx_dimension_names, i));
        sbx_jsonw_object(json);
        sbx_jsonw_pair_text(json, "tier", sbx_name_text(sbx_tier_names, (int)entry->tier));
        sbx_jsonw_pair_bool(json, "asked", entry->is_asked);
        sbx_jsonw_pair_bool(json, "required", (plan->policy->require & (1u << i)) != 0);
        sbx_jsonw_pair_text(json, "mechanism", entry->mechanism);
        sbx_jsonw_pair_text(json, "reason", entry->reason);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
}

static void json_steps(struct sbx_jsonw *json, const struct sbx_plan *plan)
{
    sbx_jsonw_key(json, "steps");
    sbx_jsonw_array(json);
    for (size_t i = 0; plan->steps[i].apply != NULL; i++) {
        sbx_jsonw_object(json);
        sbx_jsonw_pair_text(json, "apply", plan->steps[i].apply);
        sbx_jsonw_pair_text(json, "revert", plan->steps[i].revert);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
}

static void json_overrides(struct sbx_jsonw *json, const struct sbx_policy *policy)
{
    sbx_jsonw_key(json, "overrides");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < policy->override_count; i++) {
        const struct sbx_override *row = &policy->overrides[i];
        sbx_jsonw_object(json);
        sbx_jsonw_pair_text(json, "key", row->key);
        sbx_jsonw_pair_text(json, "from", row->from);
        sbx_jsonw_pair_text(json, "to", row->to);
        json_origin(json, &row->at);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
}

void sbx_plan_print_json(const struct sbx_plan *plan, struct sbx_jsonw *json)
{
    const struct sbx_policy *policy = plan->policy;
    size_t words = 0;
    while (plan->command[words] != NULL) words++;
    char digest[SBX_SHA256_HEX];
    json->buf->failed |= !sbx_plan_digest(plan, digest);
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "digest", digest);
    sbx_jsonw_pair_text(json, "platform", sbx_name_text(sbx_platform_names, (int)plan->platform));
    sbx_jsonw_pair_text(json, "backend", sbx_name_text(sbx_backend_names, (int)plan->backend));
    sbx_jsonw_pair_text(json, "preset", policy->preset->name);
    json_texts(json, "command", plan->command, words);
    sbx_jsonw_pair_text(json, "cwd", policy->cwd.text);
    json_rules(json, policy);
    json_network(json, policy);
    sbx_jsonw_pair_text(json, "syscalls", sbx_name_text(sbx_syscalls_names, (int)policy->syscalls));
    json_limits(json, plan);
    sbx_jsonw_pair_bool(json, "terminal", plan->wants_terminal);
    json_env(json, policy);
    json_expert(json, policy);
    json_tiers(json, plan);
    json_texts(json, "layers", plan->layers, plan->layer_count);
    json_steps(json, plan);
    json_overrides(json, policy);
    json_texts(json, "notes", plan->notes, plan->note_count);
    sbx_jsonw_end(json);
}
