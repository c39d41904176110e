/* The plan for people and for programs. */
#include <inttypes.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/policy/plan.h"

#include "common/base/banned.h"

#define LABEL_WIDTH 10

void sbx_origin_print(const struct sbx_origin *at, struct sbx_buf *out)
{
    if (at->source == NULL) {
        sbx_buf_add_text(out, "sbx");
        return;
    }
    sbx_buf_add_visible(out, sbx_str(at->source), false);
    if (at->place.line != 0) sbx_buf_printf(out, ":%" PRIu32, at->place.line);
}

static void label(struct sbx_buf *out, const char *text)
{
    sbx_buf_printf(out, "%-*s", LABEL_WIDTH, text);
}

/* Pads what was written since `start` to `width`, at least one space. */
static void pad_to(struct sbx_buf *out, size_t start, size_t width)
{
    size_t used = sbx_utf8_count(out->data + start, out->len - start);
    sbx_buf_add_repeat(out, ' ', used < width ? width - used : 1);
}

static const char *rule_word(const struct sbx_rule *rule)
{
    return rule->kind == SBX_RULE_HOST ? sbx_name_text(sbx_access_names, (int)rule->access)
                                       : sbx_name_text(sbx_rule_kind_names, (int)rule->kind);
}

static void print_rules(const struct sbx_plan *plan, struct sbx_buf *out)
{
    const struct sbx_policy *policy = plan->policy;
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        label(out, i == 0 ? "files" : "");
        size_t start = out->len;
        sbx_buf_printf(out, "%-7s", rule_word(rule));
        sbx_buf_add_visible(out, (struct sbx_str){rule->path.text, rule->path.len}, false);
        if (rule->node == SBX_NODE_MISSING) sbx_buf_add_text(out, " (absent)");
        if (out->failed) return;
        pad_to(out, start, 54);
        sbx_origin_print(&rule->at, out);
        sbx_buf_add_char(out, '\n');
    }
    if (policy->rules.count == 0) {
        label(out, "files");
        sbx_buf_add_text(out, plan->backend == SBX_BACKEND_NONE
                                  ? "everything the caller may reach\n"
                                  : "nothing\n");
    }
}

static void print_protections(const struct sbx_plan *plan, struct sbx_buf *out)
{
    const struct sbx_policy *policy = plan->policy;
    for (size_t i = 0; i < policy->protected_root_count; i++) {
        label(out, i == 0 ? "protected" : "");
        sbx_buf_add_text(out, "read   ");
        struct sbx_path root = policy->protected_roots[i];
        sbx_buf_add_visible(out, (struct sbx_str){root.text, root.len}, false);
        sbx_buf_printf(out, "%s: %zu names at any depth\n",
                       plan->platform == SBX_WINDOWS ? "\\**" : "/**", policy->protect_count);
    }
    if (policy->protected_root_count == 0) return;
    size_t column = 200;
    for (size_t i = 0; i < policy->protect_count; i++) {
        size_t len = strlen(policy->protect[i].pattern) + 1;
        if (column + len > 90) {
            sbx_buf_add_text(out, i == 0 ? "" : "\n");
            label(out, "");
            sbx_buf_add_text(out, "       ");
            column = LABEL_WIDTH + 7;
        } else {
            sbx_buf_add_char(out, ' ');
        }
        sbx_buf_add_visible(out, sbx_str(policy->protect[i].pattern), false);
        column += len;
    }
    sbx_buf_add_char(out, '\n');
}

static void print_host_list(const char *word, const struct sbx_host_pattern *hosts, size_t count,
                            struct sbx_buf *out)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 4u << 20);
    for (size_t i = 0; i < count; i++) {
        const char *text = sbx_host_text(&arena, &hosts[i]);
        sbx_buf_printf(out, "%s%s", i == 0 ? word : " ", text == NULL ? "?" : text);
    }
}

static void print_network(const struct sbx_plan *plan, struct sbx_buf *out)
{
    const struct sbx_policy *policy = plan->policy;
    label(out, "network");
    sbx_buf_add_text(out, sbx_name_text(sbx_net_kind_names, (int)policy->network));
    print_host_list(": ", policy->hosts, policy->host_count, out);
    print_host_list("; local: ", policy->local, policy->local_count, out);
    if (policy->network == SBX_NET_ALLOW_HOSTS && policy->host_count == 0 &&
        policy->local_count == 0)
        sbx_buf_add_text(out, ": no host (an empty list allows nothing)");
    sbx_buf_add_char(out, '\n');
}

static void print_limits(const struct sbx_plan *plan, struct sbx_buf *out)
{
    const struct sbx_limits *limits = &plan->policy->limits;
    label(out, "limits");
    sbx_buf_add_text(out, "time ");
    if (plan->timeout_ns == SBX_PLAN_SESSION_NS)
        sbx_buf_add_text(out, "not limited (365 days at most)");
    else
        sbx_duration_print(plan->timeout_ns, out);
    if (plan->timeout_is_default) sbx_buf_add_text(out, " (default)");
    if (plan->memory_bytes != 0) {
        sbx_buf_add_text(out, " | memory ");
        sbx_bytes_print(plan->memory_bytes, out);
    }
    if (plan->process_memory_bytes != 0 && plan->process_memory_bytes != plan->memory_bytes) {
        sbx_buf_add_text(out, ", a process ");
        sbx_bytes_print(plan->process_memory_bytes, out);
    }
    if (plan->memory_is_default) sbx_buf_add_text(out, " (default)");
    if (limits->cpu_secs != 0) sbx_buf_printf(out, " | cpu %" PRIu64 "s", limits->cpu_secs);
    if (limits->processes != 0) sbx_buf_printf(out, " | processes %" PRIu64, limits->processes);
    if (limits->output_bytes != 0) {
        sbx_buf_add_text(out, " | output ");
        sbx_bytes_print(limits->output_bytes, out);
    }
    sbx_buf_add_char(out, '\n');
}

static void print_identity(const char *name, const struct sbx_identity *identity,
                           struct sbx_buf *out)
{
    label(out, name);
    if (identity->is_id)
        sbx_buf_printf(out, "%" PRIu32, identity->id);
    else
        sbx_buf_add_visible(out, identity->name, false);
    sbx_buf_add_char(out, '\n');
}

static void print_expert(const struct sbx_policy *policy, struct sbx_buf *out)
{
    if (policy->has_user) print_identity("user", &policy->user, out);
    if (policy->has_group) print_identity("group", &policy->group, out);
    if (policy->image != NULL) {
        label(out, "image");
        sbx_buf_add_visible(out, sbx_str(policy->image), false);
        sbx_buf_add_char(out, '\n');
    }
    for (size_t i = 0; i < policy->raw_arg_count; i++) {
        label(out, i == 0 ? "raw args" : "");
        sbx_buf_add_visible(out, sbx_str(policy->raw_args[i]), true);
        sbx_buf_add_char(out, '\n');
    }
}

static void print_env(const struct sbx_plan *plan, struct sbx_buf *out)
{
    const struct sbx_policy *policy = plan->policy;
    label(out, "env");
    for (size_t i = 0; i < policy->env_count; i++) {
        sbx_buf_add_visible(out, sbx_str(policy->env[i].name), false);
        sbx_buf_add_char(out, ' ');
    }
    for (size_t i = 0; i < policy->env_pass_count; i++) {
        sbx_buf_add_visible(out, sbx_str(policy->env_pass[i]), false);
        sbx_buf_add_text(out, "(passed) ");
    }
    sbx_buf_add_text(out, policy->env_count + policy->env_pass_count == 0
                              ? "nothing (host environment dropped)\n"
                              : "(host environment dropped)\n");
}

static void print_tiers(const struct sbx_plan *plan, struct sbx_buf *out)
{
    for (int i = 0; i < SBX_DIM_COUNT; i++) {
        const struct sbx_tier_entry *entry = &plan->tiers[i];
        label(out, i == 0 ? "held" : "");
        sbx_buf_printf(out, "%-12s%-12s%s", sbx_name_text(sbx_dimension_names, i),
                       sbx_name_text(sbx_tier_names, (int)entry->tier), entry->mechanism);
        if (entry->reason != NULL)
            sbx_buf_printf(out, "%s%s%s", strcmp(entry->mechanism, "-") == 0 ? " " : " (",
                           entry->reason, strcmp(entry->mechanism, "-") == 0 ? "" : ")");
        if (plan->policy->require & (1u << i)) sbx_buf_add_text(out, "  [required]");
        sbx_buf_add_char(out, '\n');
    }
}

static void print_lists(const struct sbx_plan *plan, struct sbx_buf *out)
{
    for (size_t i = 0; i < plan->layer_count; i++) {
        label(out, i == 0 ? "layers" : "");
        sbx_buf_printf(out, "%s\n", plan->layers[i]);
    }
    for (size_t i = 0; plan->steps[i].apply != NULL; i++) {
        label(out, i == 0 ? "steps" : "");
        sbx_buf_printf(out, "%zu. %s", i + 1, plan->steps[i].apply);
        if (plan->steps[i].revert != NULL)
            sbx_buf_printf(out, " / undo: %s", plan->steps[i].revert);
        sbx_buf_add_char(out, '\n');
    }
}

static void print_overrides(const struct sbx_plan *plan, struct sbx_buf *out)
{
    for (size_t i = 0; i < plan->policy->override_count; i++) {
        const struct sbx_override *row = &plan->policy->overrides[i];
        label(out, i == 0 ? "overrides" : "");
        sbx_buf_printf(out, "%s: %s instead of %s  ", row->key, row->to, row->from);
        sbx_origin_print(&row->at, out);
        sbx_buf_add_char(out, '\n');
    }
}

void sbx_plan_print_text(const struct sbx_plan *plan, struct sbx_buf *out)
{
    const struct sbx_policy *policy = plan->policy;
    label(out, "preset");
    if (policy->preset->preset == SBX_PRESET_DECLARED) {
        sbx_buf_add_text(out, "none named: the system read-only, and what the manifest declares");
    } else {
        sbx_buf_printf(out, "%s %s  ", policy->preset->word, policy->preset->name);
        sbx_origin_print(&policy->preset_at, out);
    }
    sbx_buf_add_char(out, '\n');
    print_overrides(plan, out);
    print_rules(plan, out);
    print_protections(plan, out);
    print_network(plan, out);
    label(out, "syscalls");
    sbx_buf_printf(out, "%s\n", sbx_name_text(sbx_syscalls_names, (int)policy->syscalls));
    print_limits(plan, out);
    print_env(plan, out);
    if (plan->wants_terminal) {
        label(out, "terminal");
        sbx_buf_add_text(out, "one of its own\n");
    }
    label(out, "cwd");
    sbx_buf_add_visible(out, (struct sbx_str){policy->cwd.text, policy->cwd.len}, false);
    sbx_buf_add_char(out, '\n');
    print_expert(policy, out);
    print_tiers(plan, out);
    print_lists(plan, out);
    for (size_t i = 0; i < plan->note_count; i++) {
        label(out, i == 0 ? "notes" : "");
        sbx_buf_printf(out, "%s\n", plan->notes[i]);
    }
    label(out, "digest");
    char digest[SBX_SHA256_HEX];
    out->failed |= !sbx_plan_digest(plan, digest);
    sbx_buf_printf(out, "%s\n", digest);
}
