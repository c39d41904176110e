/* Questions to a policy: the decision, and the rule it comes from. */
#include "common/policy/question.h"

#include "common/policy/plan.h"

#include "common/base/banned.h"

/* ---- paths ---- */

static void rule_text(const struct sbx_rule *rule, struct sbx_buf *out)
{
    sbx_buf_printf(out, "%.*s = %s  ", (int)rule->path.len, rule->path.text,
                   rule->kind == SBX_RULE_HOST
                       ? sbx_name_text(sbx_access_names, (int)rule->access)
                       : sbx_name_text(sbx_rule_kind_names, (int)rule->kind));
    sbx_origin_print(&rule->at, out);
}

static void path_rule(const struct sbx_decision *decision, struct sbx_buf *out)
{
    if (decision->protection != NULL) {
        sbx_buf_printf(out, "protected: %s below %.*s (%s)%s", decision->protection->pattern,
                       (int)decision->protected_root.len, decision->protected_root.text,
                       decision->protection->reason,
                       decision->maybe_writable ? "; a directory of that name is writable" : "");
        return;
    }
    if (decision->rule != NULL)
        rule_text(decision->rule, out);
    else
        sbx_buf_add_text(out, "no rule covers it, so it is not there");
}

bool sbx_policy_hides(const struct sbx_policy *policy, const struct sbx_decision *decision,
                      struct sbx_path path)
{
    const struct sbx_rule *rule = decision->rule;
    if (rule == NULL || rule->kind != SBX_RULE_TMPFS || sbx_path_eq(rule->path, path)) return false;
    enum sbx_node node = sbx_context_lookup(&policy->context, path);
    return node != SBX_NODE_MISSING && node != SBX_NODE_UNKNOWN;
}

static bool path_allowed(struct sbx_arena *arena, const struct sbx_policy *policy,
                         const struct sbx_question *question, struct sbx_buf *rule)
{
    struct sbx_decision decision = sbx_policy_decide(arena, policy, question->path);
    path_rule(&decision, rule);
    if (sbx_policy_hides(policy, &decision, question->path)) {
        sbx_buf_add_text(rule, "; it is private and empty, the host's files are not in it");
        return false;
    }
    return decision.access >= (question->is_write ? SBX_ACCESS_WRITE : SBX_ACCESS_READ);
}

static bool socket_allowed(const struct sbx_policy *policy, struct sbx_path path,
                           struct sbx_buf *rule)
{
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *item = &policy->rules.items[i];
        if (item->kind != SBX_RULE_SOCKET || path.text == NULL || !sbx_path_eq(item->path, path))
            continue;
        rule_text(item, rule);
        return true;
    }
    sbx_buf_printf(rule, "network %s: unix_sockets does not list it",
                   sbx_name_text(sbx_net_kind_names, (int)policy->network));
    return false;
}

/* ---- variables and calls ---- */

static bool same_variable(const struct sbx_policy *policy, const char *a, const char *b)
{
    return policy->context.platform == SBX_WINDOWS ? sbx_str_is_nocase(sbx_str(a), b)
                                                   : sbx_text_eq(a, b);
}

static bool variable_allowed(const struct sbx_policy *policy, const char *name,
                             struct sbx_buf *rule)
{
    for (size_t i = 0; i < policy->env_count; i++) {
        if (!same_variable(policy, policy->env[i].name, name)) continue;
        sbx_buf_add_text(rule, "env declares it");
        return true;
    }
    for (size_t i = 0; i < policy->env_pass_count; i++) {
        if (!same_variable(policy, policy->env_pass[i], name)) continue;
        sbx_buf_add_text(rule, "env_pass copies the caller's, when it is set");
        return true;
    }
    sbx_buf_add_text(rule, "the host's environment is dropped, and nothing declares it");
    return false;
}

static bool calls_allowed(const struct sbx_policy *policy, struct sbx_buf *rule)
{
    bool is_strict = policy->syscalls == SBX_SYSCALLS_STRICT;
    sbx_buf_add_text(rule, is_strict
                               ? "syscall_policy strict: only system calls everyday tools need"
                               : "syscall_policy inherit: all but known escapes");
    return !is_strict;
}

/* ---- requests ---- */

static const struct sbx_host_pattern *matching(const struct sbx_host_pattern *list, size_t count,
                                               const struct sbx_question *question)
{
    for (size_t i = 0; i < count; i++)
        if (sbx_host_matches(&list[i], question->host, question->port)) return &list[i];
    return NULL;
}

static bool host_allowed(struct sbx_arena *arena, const struct sbx_policy *policy,
                         const struct sbx_question *question, struct sbx_buf *rule)
{
    if (policy->network == SBX_NET_INHERIT) {
        sbx_buf_add_text(rule, "network inherit: the host's network");
        return true;
    }
    if (policy->network == SBX_NET_DENY) {
        sbx_buf_add_text(rule, "network deny: nothing is reachable");
        return false;
    }
    const struct sbx_host_pattern *pattern = matching(policy->hosts, policy->host_count, question);
    if (pattern == NULL) pattern = matching(policy->local, policy->local_count, question);
    if (pattern == NULL) {
        sbx_buf_add_text(rule, "network allow_hosts does not list it");
        return false;
    }
    const char *text = sbx_host_text(arena, pattern);
    sbx_buf_printf(rule, "network allow_hosts lists %s", text == NULL ? "it" : text);
    return true;
}

bool sbx_question_allowed(struct sbx_arena *arena, const struct sbx_policy *policy,
                          const struct sbx_question *question, struct sbx_buf *rule)
{
    switch (question->kind) {
    case SBX_ASK_PATH:
        return path_allowed(arena, policy, question, rule);
    case SBX_ASK_SOCKET:
        return socket_allowed(policy, question->path, rule);
    case SBX_ASK_HOST:
        return host_allowed(arena, policy, question, rule);
    case SBX_ASK_VARIABLE:
        return variable_allowed(policy, question->name, rule);
    case SBX_ASK_CALLS:
        break;
    }
    return calls_allowed(policy, rule);
}
