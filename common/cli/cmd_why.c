/* sbx why: the rule that decides, and the line that would change it. A line is only offered when the policy
 * made with it really allows what was asked. */
#include <string.h>

#include "common/cli/report.h"
#include "common/policy/value_print.h"

#include "common/base/banned.h"

/* What is asked about; one of the three. */
struct target {
    struct sbx_str host;
    uint16_t port;
};

struct question {
    enum sbx_option_id kind; /* SBX_OPT_PATH, SBX_OPT_URL or SBX_OPT_ENV */
    const char *subject;     /* "write /code/x" */
    struct sbx_path path;
    bool is_write;
    struct target target;
    const char *name;
};

struct answer {
    bool is_allowed;
    struct sbx_buf rule;   /* what decides */
    struct sbx_buf change; /* the manifest line that would allow it; empty when nothing would */
    struct sbx_buf flag;   /* the same as a flag */
    const char *obstacle;  /* why no line would */
};

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

/* The check is on the file, not on the string: links are resolved where there is something to resolve. */
static enum sbx_code asked_path(struct sbx_cli *cli, const struct sbx_context *context,
                                struct sbx_path *out, struct sbx_err *err)
{
    const char *text = cli->args.values[SBX_OPT_PATH];
    struct sbx_err ignored = {0};
    if (!context->is_assumed && sbx_os_real_path(&cli->arena, text, out, &ignored) == SBX_OK)
        return SBX_OK;
    enum sbx_path_rules rules = context->cwd.rules;
    enum sbx_path_problem problem = sbx_path_make(&cli->arena, rules, sbx_str(text), out);
    if (problem == SBX_PATH_NOT_ABSOLUTE)
        problem = sbx_path_join(&cli->arena, context->cwd, sbx_str(text), out);
    if (problem == SBX_PATH_OK) return SBX_OK;
    return sbx_err_set(err, SBX_E_USAGE, "\"%s\" %s", text, sbx_path_problem_text(problem));
}

/* Is there a file of the host that a private directory of the box hides? */
static bool is_hidden(const struct sbx_policy *policy, const struct sbx_decision *decision,
                      struct sbx_path path)
{
    const struct sbx_rule *rule = decision->rule;
    if (rule == NULL || rule->kind != SBX_RULE_TMPFS || sbx_path_eq(rule->path, path)) return false;
    enum sbx_node node = sbx_context_lookup(&policy->context, path);
    return node != SBX_NODE_MISSING && node != SBX_NODE_UNKNOWN;
}

static bool path_allowed(struct sbx_arena *arena, const struct sbx_policy *policy,
                         const struct question *question, struct sbx_buf *rule)
{
    struct sbx_decision decision = sbx_policy_decide(arena, policy, question->path);
    path_rule(&decision, rule);
    if (is_hidden(policy, &decision, question->path)) {
        sbx_buf_add_text(rule, "; it is private and empty, the host's files are not in it");
        return false;
    }
    return decision.access >= (question->is_write ? SBX_ACCESS_WRITE : SBX_ACCESS_READ);
}

/* ---- variables ---- */

static bool same_variable(const struct sbx_policy *policy, const char *a, const char *b)
{
    return policy->context.platform == SBX_WINDOWS ? sbx_str_is_nocase(sbx_str(a), b)
                                                   : sbx_text_eq(a, b);
}

static bool env_allowed(const struct sbx_policy *policy, const char *name, struct sbx_buf *rule)
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

/* ---- requests ---- */

static bool parse_port(struct sbx_str text, uint16_t *out)
{
    uint64_t port;
    if (!sbx_str_to_u64(text, &port) || port == 0 || port > 65535) return false;
    *out = (uint16_t)port;
    return true;
}

/* scheme://host[:port]/… ; without a scheme, https. */
static bool parse_url(struct sbx_str url, struct target *out)
{
    out->port = 443;
    if (sbx_str_starts(url, "http://")) out->port = 80;
    const char *mark = url.len > 3 ? strstr(url.ptr, "://") : NULL;
    if (mark != NULL) url = sbx_str(mark + 3);
    size_t end = 0;
    while (end < url.len && strchr("/?#", url.ptr[end]) == NULL) end++;
    struct sbx_str authority = {url.ptr, end};
    if (authority.len == 0 || memchr(authority.ptr, '@', authority.len) != NULL) return false;
    size_t colon = authority.len;
    while (colon > 0 && authority.ptr[colon - 1] != ':' && authority.ptr[colon - 1] != ']') colon--;
    bool has_port = colon > 0 && authority.ptr[colon - 1] == ':';
    out->host = (struct sbx_str){authority.ptr, has_port ? colon - 1 : authority.len};
    if (!has_port) return out->host.len > 0;
    struct sbx_str port = {authority.ptr + colon, authority.len - colon};
    return out->host.len > 0 && parse_port(port, &out->port);
}

/* --url METHOD URL: the method came as the option's value, the address as operand. */
static enum sbx_code asked_url(struct sbx_cli *cli, struct target *out, struct sbx_err *err)
{
    const char *url = cli->args.values[SBX_OPT_URL];
    if (cli->args.rest_count == 1) {
        for (const char *c = url; *c != '\0'; c++)
            if (*c < 'A' || *c > 'Z')
                return sbx_err_set(err, SBX_E_USAGE, "\"%s\" is not a method such as GET", url);
        url = cli->args.rest[0];
    }
    if (parse_url(sbx_str(url), out)) return SBX_OK;
    return sbx_err_set(err, SBX_E_USAGE, "\"%s\" is not an address with a host", url);
}

static const struct sbx_host_pattern *matching(const struct sbx_host_pattern *list, size_t count,
                                               const struct target *target)
{
    for (size_t i = 0; i < count; i++)
        if (sbx_host_matches(&list[i], target->host, target->port)) return &list[i];
    return NULL;
}

static bool url_allowed(struct sbx_arena *arena, const struct sbx_policy *policy,
                        const struct target *target, struct sbx_buf *rule)
{
    if (policy->network == SBX_NET_INHERIT) {
        sbx_buf_add_text(rule, "network inherit: the host's network");
        return true;
    }
    if (policy->network == SBX_NET_DENY) {
        sbx_buf_add_text(rule, "network deny: nothing is reachable");
        return false;
    }
    const struct sbx_host_pattern *pattern = matching(policy->hosts, policy->host_count, target);
    if (pattern == NULL) pattern = matching(policy->local, policy->local_count, target);
    if (pattern == NULL) {
        sbx_buf_add_text(rule, "network allow_hosts does not list it");
        return false;
    }
    const char *text = sbx_host_text(arena, pattern);
    sbx_buf_printf(rule, "network allow_hosts lists %s", text == NULL ? "it" : text);
    return true;
}

/* ---- the decision ---- */

static bool decide(struct sbx_arena *arena, const struct sbx_policy *policy,
                   const struct question *question, struct sbx_buf *rule)
{
    if (question->kind == SBX_OPT_PATH) return path_allowed(arena, policy, question, rule);
    if (question->kind == SBX_OPT_URL) return url_allowed(arena, policy, &question->target, rule);
    return env_allowed(policy, question->name, rule);
}

/* ---- what would change it ---- */

struct candidate {
    const char *flag; /* "-w" */
    enum sbx_key key;
    const char *text;   /* the flag's value */
    const char *prefix; /* of the value as the key's reader takes it (--local is --net local=…) */
};

static void add_list(const char *key, const struct sbx_texts *list, struct sbx_buf *out)
{
    sbx_buf_printf(out, "%s = [", key);
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0) sbx_buf_add_text(out, ", ");
        sbx_toml_print_string(list->items[i].text, out);
    }
    sbx_buf_add_char(out, ']');
}

/* The whole line, with what the key held already: pasted over the old one it takes nothing away. */
static void add_line(const struct sbx_manifest *with, enum sbx_key key, struct sbx_buf *out)
{
    if (key == SBX_KEY_FS_READ_ALLOW) add_list("fs_read_allow", &with->fs_read_allow, out);
    if (key == SBX_KEY_FS_WRITE_ALLOW) add_list("fs_write_allow", &with->fs_write_allow, out);
    if (key == SBX_KEY_ENV_PASS) add_list("env_pass", &with->env_pass, out);
    if (key != SBX_KEY_NETWORK) return;
    sbx_buf_add_text(out, "network = { kind = \"allow_hosts\", ");
    add_list("hosts", &with->network.hosts, out);
    if (with->network.local.count > 0) {
        sbx_buf_add_text(out, ", ");
        add_list("local", &with->network.local, out);
    }
    sbx_buf_add_text(out, " }");
}

/* Makes the policy with the candidate in it and asks again. */
static bool try_candidate(struct sbx_cli *cli, const struct sbx_setup *setup,
                          const struct question *question, const struct candidate *candidate,
                          struct answer *answer)
{
    struct sbx_arena *arena = &cli->arena;
    struct sbx_manifest over = {0};
    struct sbx_manifest with;
    struct sbx_policy policy;
    struct sbx_findings findings;
    struct sbx_err ignored = {0};
    const char *text = sbx_arena_printf(arena, "%s%s", candidate->prefix, candidate->text);
    sbx_findings_init(&findings, arena);
    if (text == NULL) return false;
    sbx_manifest_read_flag(arena, candidate->flag, candidate->key, sbx_str(text), &findings, &over);
    if (sbx_manifest_merge(arena, &setup->manifest, &over, &with, &ignored) != SBX_OK) return false;
    sbx_policy_resolve(arena, &with, &setup->context, &setup->ceiling, &findings, &policy);
    for (size_t i = 0; i < findings.count && answer->obstacle == NULL; i++)
        if (findings.items[i].level == SBX_LEVEL_ERROR) answer->obstacle = findings.items[i].text;
    if (!sbx_findings_ok(&findings)) return false;
    AUTO_BUF rule;
    sbx_buf_init(&rule, 64u << 10);
    if (!decide(arena, &policy, question, &rule)) return false;
    add_line(&with, candidate->key, &answer->change);
    sbx_buf_printf(&answer->flag, "%s ", candidate->flag);
    sbx_word_add(&answer->flag, policy.context.platform, candidate->text);
    return true;
}

/* Narrowest first. */
static void find_change(struct sbx_cli *cli, const struct sbx_setup *setup,
                        const struct question *question, struct answer *answer)
{
    struct candidate list[2] = {{NULL, SBX_KEY_COUNT, NULL, ""}, {NULL, SBX_KEY_COUNT, NULL, ""}};
    const struct target *target = &question->target;
    bool is_web = target->port == 80 || target->port == 443;
    if (question->kind == SBX_OPT_PATH) {
        list[0] = question->is_write
                      ? (struct candidate){"-w", SBX_KEY_FS_WRITE_ALLOW, question->path.text, ""}
                      : (struct candidate){"-r", SBX_KEY_FS_READ_ALLOW, question->path.text, ""};
    } else if (question->kind == SBX_OPT_ENV) {
        list[0] = (struct candidate){"-E", SBX_KEY_ENV_PASS, question->name, ""};
    } else {
        const char *with_port = sbx_arena_printf(&cli->arena, "%.*s:%u", SBX_STR_ARG(target->host),
                                                 (unsigned)target->port);
        const char *host = sbx_arena_printf(&cli->arena, "%.*s", SBX_STR_ARG(target->host));
        list[0] = (struct candidate){"--net", SBX_KEY_NETWORK, is_web ? host : with_port, ""};
        list[1] = (struct candidate){"--local", SBX_KEY_NETWORK, with_port, "local="};
    }
    for (size_t i = 0; i < SBX_COUNT(list) && list[i].text != NULL; i++)
        if (try_candidate(cli, setup, question, &list[i], answer)) return;
    if (answer->obstacle == NULL) answer->obstacle = "another rule or sbx itself closes it";
}

/* ---- answer ---- */

static int print_json(struct sbx_cli *cli, const struct question *question,
                      const struct answer *answer, int status)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    struct sbx_jsonw json;
    bool has_change = answer->change.len > 0;
    sbx_report_open(&json, &text, cli);
    sbx_jsonw_pair_bool(&json, "ok", true);
    sbx_jsonw_pair_bool(&json, "allowed", answer->is_allowed);
    sbx_jsonw_pair_text(&json, "subject", question->subject);
    sbx_jsonw_pair_text(&json, "rule", sbx_buf_text(&answer->rule));
    sbx_jsonw_pair_text(&json, "change", has_change ? sbx_buf_text(&answer->change) : NULL);
    sbx_jsonw_pair_text(&json, "flag", has_change ? sbx_buf_text(&answer->flag) : NULL);
    sbx_jsonw_pair_text(&json, "obstacle", has_change ? NULL : answer->obstacle);
    return sbx_report_close(&json, status);
}

static int print_answer(struct sbx_cli *cli, const struct question *question,
                        const struct answer *answer)
{
    int status = answer->is_allowed ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
    if (cli->out.json) return print_json(cli, question, answer, status);
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    sbx_tone_add(&text, cli->out.colour_stdout, answer->is_allowed ? SBX_TONE_GOOD : SBX_TONE_BAD,
                 answer->is_allowed ? "allowed" : "denied");
    sbx_buf_add_text(&text, ": ");
    sbx_buf_add_visible(&text, sbx_str(question->subject), false);
    sbx_buf_add_text(&text, "\n  by:  ");
    sbx_buf_add_visible(&text, sbx_buf_str(&answer->rule), false);
    if (answer->change.len > 0) {
        sbx_buf_add_text(&text, "\n  fix: ");
        sbx_buf_add_visible(&text, sbx_buf_str(&answer->change), false);
        sbx_buf_add_text(&text, "   or: sbx run ");
        sbx_buf_add_visible(&text, sbx_buf_str(&answer->flag), false);
    } else if (!answer->is_allowed) {
        sbx_buf_add_text(&text, "\n  fix: no manifest line allows it as things are: ");
        sbx_buf_add_visible(&text, sbx_str(answer->obstacle), false);
    }
    sbx_buf_add_char(&text, '\n');
    return sbx_output_write(SBX_STDOUT, &text) ? status : SBX_EXIT_NEGATIVE;
}

static enum sbx_code make_question(struct sbx_cli *cli, const struct sbx_context *context,
                                   struct question *out, struct sbx_err *err)
{
    enum sbx_code code = SBX_OK;
    const char *op = cli->args.values[SBX_OPT_OP];
    if (op == NULL) op = "read";
    out->is_write = sbx_text_eq(op, "write");
    out->name = cli->args.values[SBX_OPT_ENV];
    if (out->kind == SBX_OPT_PATH) {
        code = asked_path(cli, context, &out->path, err);
        if (code == SBX_OK)
            out->subject = sbx_arena_printf(&cli->arena, "%s %s", op, out->path.text);
    } else if (out->kind == SBX_OPT_URL) {
        code = asked_url(cli, &out->target, err);
        if (code == SBX_OK)
            out->subject =
                sbx_arena_printf(&cli->arena, "request to %.*s:%u", SBX_STR_ARG(out->target.host),
                                 (unsigned)out->target.port);
    } else {
        out->subject = sbx_arena_printf(&cli->arena, "variable %s", out->name);
    }
    if (code == SBX_OK && out->subject == NULL) return sbx_err_nomem(err);
    return code;
}

static int answer_question(struct sbx_cli *cli, const struct sbx_setup *setup,
                           const struct sbx_prepared *prepared, struct question *question)
{
    struct sbx_err err = {0};
    if (make_question(cli, &prepared->policy.context, question, &err) != SBX_OK)
        return sbx_cli_fail(cli, &err, SBX_EXIT_USAGE);
    struct answer answer = {0};
    sbx_buf_init(&answer.rule, 64u << 10);
    sbx_buf_init(&answer.change, 256u << 10);
    sbx_buf_init(&answer.flag, 64u << 10);
    /* Without a sandbox only the environment is still held. */
    if (prepared->plan.backend == SBX_BACKEND_NONE && question->kind != SBX_OPT_ENV) {
        answer.is_allowed = true;
        sbx_buf_add_text(&answer.rule, "there is no sandbox");
    } else {
        answer.is_allowed = decide(&cli->arena, &prepared->policy, question, &answer.rule);
    }
    if (!answer.is_allowed) find_change(cli, setup, question, &answer);
    int status = print_answer(cli, question, &answer);
    sbx_buf_release(&answer.rule);
    sbx_buf_release(&answer.change);
    sbx_buf_release(&answer.flag);
    return status;
}

int sbx_cmd_why(struct sbx_cli *cli)
{
    static const enum sbx_option_id kinds[] = {SBX_OPT_PATH, SBX_OPT_URL, SBX_OPT_ENV};
    struct question question = {.kind = SBX_OPT_COUNT};
    size_t asked = 0;
    for (size_t i = 0; i < SBX_COUNT(kinds); i++) {
        if (!cli->args.given[kinds[i]]) continue;
        question.kind = kinds[i];
        asked++;
    }
    if (asked != 1) return sbx_cli_usage(cli, "ask with one of --path, --url and --env");
    if (cli->args.given[SBX_OPT_OP] && question.kind != SBX_OPT_PATH)
        return sbx_cli_usage(cli, "--op belongs to --path");
    if (cli->args.rest_count > (question.kind == SBX_OPT_URL ? 1u : 0u))
        return sbx_cli_usage(cli, "unexpected \"%s\"", cli->args.rest[0]);
    static const char *const no_command[] = {NULL};
    static struct sbx_prepared prepared;
    struct sbx_setup setup;
    struct sbx_err err = {0};
    /* Neither "allowed" nor "denied": the question could not be answered. */
    if (sbx_setup_prepare(cli, no_command, &setup, &prepared, &err) != SBX_OK)
        return sbx_cli_fail(cli, &err, SBX_EXIT_USAGE);
    return answer_question(cli, &setup, &prepared, &question);
}
