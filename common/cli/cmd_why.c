/* sbx why: the rule that decides, and the line that would change it. */
#include <string.h>

#include "common/cli/report.h"
#include "common/policy/value_print.h"

#include "common/base/banned.h"

struct answer {
    bool is_allowed;
    const char *subject; /* "write /code/x" */
    struct sbx_buf rule; /* what decides */
    struct sbx_buf change; /* the manifest line that would allow it; empty when nothing would */
    struct sbx_buf flag;   /* the same as a flag */
};

/* ---- paths ---- */

static void rule_text(const struct sbx_rule *rule, struct sbx_buf *out) {
    sbx_buf_printf(out, "%s = %s  ", rule->path.text,
                   rule->kind == SBX_RULE_HOST
                       ? sbx_name_text(sbx_access_names, (int)rule->access)
                       : sbx_name_text(sbx_rule_kind_names, (int)rule->kind));
    sbx_origin_print(&rule->at, out);
}

static void path_rule(const struct sbx_decision *decision, struct sbx_buf *out) {
    if (decision->protection != NULL) {
        sbx_buf_printf(out, "protected: %s below %s (%s)%s", decision->protection->pattern,
                       decision->protected_root.text, decision->protection->reason,
                       decision->maybe_writable ? "; a directory of that name is writable" : "");
        return;
    }
    if (decision->rule != NULL)
        rule_text(decision->rule, out);
    else
        sbx_buf_add_text(out, "no rule covers it, so it is not there");
}

static void path_change(struct sbx_path path, bool is_write, struct sbx_buf *change,
                        struct sbx_buf *flag) {
    const char *key = is_write ? "fs_write_allow" : "fs_read_allow";
    sbx_buf_printf(change, "%s = [", key);
    sbx_toml_print_string((struct sbx_str){path.text, path.len}, change);
    sbx_buf_add_char(change, ']');
    sbx_buf_printf(flag, "%s %s", is_write ? "-w" : "-r", path.text);
}

/* The check is on the file, not on the string: links are resolved where there is something to resolve. */
static enum sbx_code asked_path(struct sbx_cli *cli, const struct sbx_context *context,
                                struct sbx_path *out, struct sbx_err *err) {
    const char *text = cli->args.values[SBX_OPT_PATH];
    struct sbx_err ignored = {0};
    if (!context->is_assumed &&
        sbx_os_real_path(&cli->arena, text, out, &ignored) == SBX_OK)
        return SBX_OK;
    enum sbx_path_rules rules = context->cwd.rules;
    enum sbx_path_problem problem = sbx_path_make(&cli->arena, rules, sbx_str(text), out);
    if (problem == SBX_PATH_NOT_ABSOLUTE)
        problem = sbx_path_join(&cli->arena, context->cwd, sbx_str(text), out);
    if (problem == SBX_PATH_OK) return SBX_OK;
    return sbx_err_set(err, SBX_E_USAGE, "\"%s\" %s", text, sbx_path_problem_text(problem));
}

static enum sbx_code why_path(struct sbx_cli *cli, const struct sbx_prepared *prepared,
                              struct answer *answer, struct sbx_err *err) {
    struct sbx_path path;
    enum sbx_code code = asked_path(cli, &prepared->policy.context, &path, err);
    if (code != SBX_OK) return code;
    const char *op = cli->args.values[SBX_OPT_OP];
    if (op == NULL) op = "read";
    bool is_write = sbx_text_eq(op, "write");
    struct sbx_decision decision = sbx_policy_decide(&cli->arena, &prepared->policy, path);
    bool is_open = prepared->plan.backend == SBX_BACKEND_NONE;
    answer->is_allowed =
        is_open || decision.access >= (is_write ? SBX_ACCESS_WRITE : SBX_ACCESS_READ);
    answer->subject = sbx_arena_printf(&cli->arena, "%s %s", op, path.text);
    if (is_open)
        sbx_buf_add_text(&answer->rule, "there is no sandbox");
    else
        path_rule(&decision, &answer->rule);
    if (!answer->is_allowed) path_change(path, is_write, &answer->change, &answer->flag);
    return SBX_OK;
}

/* ---- variables ---- */

static enum sbx_code why_env(struct sbx_cli *cli, const struct sbx_prepared *prepared,
                             struct answer *answer, struct sbx_err *err) {
    (void)err;
    const char *name = cli->args.values[SBX_OPT_ENV];
    const struct sbx_policy *policy = &prepared->policy;
    answer->subject = sbx_arena_printf(&cli->arena, "variable %s", name);
    for (size_t i = 0; i < policy->env_count; i++)
        if (sbx_text_eq(policy->env[i].name, name)) {
            answer->is_allowed = true;
            sbx_buf_add_text(&answer->rule, "env declares it");
        }
    for (size_t i = 0; i < policy->env_pass_count; i++)
        if (sbx_text_eq(policy->env_pass[i], name)) {
            answer->is_allowed = true;
            sbx_buf_add_text(&answer->rule, "env_pass copies the caller's, when it is set");
        }
    if (answer->is_allowed) return SBX_OK;
    sbx_buf_add_text(&answer->rule, "the host's environment is dropped, and nothing declares it");
    sbx_buf_add_text(&answer->change, "env_pass = [");
    sbx_toml_print_string(sbx_str(name), &answer->change);
    sbx_buf_add_char(&answer->change, ']');
    sbx_buf_printf(&answer->flag, "-E %s", name);
    return SBX_OK;
}

/* ---- requests ---- */

struct target {
    struct sbx_str host;
    uint16_t port;
};

static bool parse_port(struct sbx_str text, uint16_t *out) {
    uint64_t port;
    if (!sbx_str_to_u64(text, &port) || port == 0 || port > 65535) return false;
    *out = (uint16_t)port;
    return true;
}

/* scheme://host[:port]/… ; without a scheme, https. */
static bool parse_url(struct sbx_str url, struct target *out) {
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

static const struct sbx_host_pattern *matching(const struct sbx_host_pattern *list, size_t count,
                                               const struct target *target) {
    for (size_t i = 0; i < count; i++)
        if (sbx_host_matches(&list[i], target->host, target->port)) return &list[i];
    return NULL;
}

static void url_by_hosts(struct sbx_cli *cli, const struct sbx_policy *policy,
                         const struct target *target, struct answer *answer) {
    const struct sbx_host_pattern *pattern =
        matching(policy->hosts, policy->host_count, target);
    if (pattern == NULL) pattern = matching(policy->local, policy->local_count, target);
    if (pattern != NULL) {
        const char *text = sbx_host_text(&cli->arena, pattern);
        answer->is_allowed = true;
        sbx_buf_printf(&answer->rule, "network allow_hosts lists %s", text == NULL ? "it" : text);
        return;
    }
    sbx_buf_add_text(&answer->rule, "network allow_hosts does not list it");
}

static enum sbx_code why_url(struct sbx_cli *cli, const struct sbx_prepared *prepared,
                             struct answer *answer, struct sbx_err *err) {
    const char *url = cli->args.values[SBX_OPT_URL];
    /* --url METHOD URL: the method came as the option's value, the address as operand. */
    if (cli->args.rest_count == 1) url = cli->args.rest[0];
    struct target target;
    if (!parse_url(sbx_str(url), &target))
        return sbx_err_set(err, SBX_E_USAGE, "\"%s\" is not an address with a host", url);
    const struct sbx_policy *policy = &prepared->policy;
    answer->subject = sbx_arena_printf(&cli->arena, "request to %.*s:%u", SBX_STR_ARG(target.host),
                                       (unsigned)target.port);
    if (policy->network == SBX_NET_INHERIT) {
        answer->is_allowed = true;
        sbx_buf_add_text(&answer->rule, "network inherit: the host's network");
        return SBX_OK;
    }
    if (policy->network == SBX_NET_DENY)
        sbx_buf_add_text(&answer->rule, "network deny: nothing is reachable");
    else
        url_by_hosts(cli, policy, &target, answer);
    if (answer->is_allowed) return SBX_OK;
    sbx_buf_add_text(&answer->change, "network = { kind = \"allow_hosts\", hosts = [");
    sbx_toml_print_string(target.host, &answer->change);
    sbx_buf_add_text(&answer->change, "] }");
    sbx_buf_printf(&answer->flag, "--net %.*s", SBX_STR_ARG(target.host));
    return SBX_OK;
}

/* ---- answer ---- */

static int print_answer(struct sbx_cli *cli, const struct answer *answer) {
    int status = answer->is_allowed ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    if (cli->out.json) {
        struct sbx_jsonw json;
        sbx_report_open(&json, &text, cli);
        sbx_jsonw_pair_bool(&json, "ok", true);
        sbx_jsonw_pair_bool(&json, "allowed", answer->is_allowed);
        sbx_jsonw_pair_text(&json, "subject", answer->subject);
        sbx_jsonw_pair_text(&json, "rule", sbx_buf_text(&answer->rule));
        sbx_jsonw_pair_text(&json, "change",
                            answer->change.len == 0 ? NULL : sbx_buf_text(&answer->change));
        sbx_jsonw_pair_text(&json, "flag",
                            answer->flag.len == 0 ? NULL : sbx_buf_text(&answer->flag));
        return sbx_report_close(&json, status);
    }
    sbx_tone_add(&text, cli->out.colour_stdout, answer->is_allowed ? SBX_TONE_GOOD : SBX_TONE_BAD,
                 answer->is_allowed ? "allowed" : "denied");
    sbx_buf_add_text(&text, ": ");
    sbx_buf_add_visible(&text, sbx_str(answer->subject), false);
    sbx_buf_add_text(&text, "\n  by:  ");
    sbx_buf_add_visible(&text, sbx_buf_str(&answer->rule), false);
    if (answer->change.len > 0) {
        sbx_buf_add_text(&text, "\n  fix: ");
        sbx_buf_add_visible(&text, sbx_buf_str(&answer->change), false);
        sbx_buf_add_text(&text, "   or: sbx run ");
        sbx_buf_add_visible(&text, sbx_buf_str(&answer->flag), false);
    }
    sbx_buf_add_char(&text, '\n');
    return sbx_output_write(SBX_STDOUT, &text) ? status : SBX_EXIT_NEGATIVE;
}

typedef enum sbx_code why_handler(struct sbx_cli *, const struct sbx_prepared *, struct answer *,
                                  struct sbx_err *);

int sbx_cmd_why(struct sbx_cli *cli) {
    static const struct {
        enum sbx_option_id option;
        why_handler *handle;
    } questions[] = {
        {SBX_OPT_PATH, why_path}, {SBX_OPT_URL, why_url}, {SBX_OPT_ENV, why_env}};
    why_handler *handle = NULL;
    size_t asked = 0;
    for (size_t i = 0; i < SBX_COUNT(questions); i++) {
        if (!cli->args.given[questions[i].option]) continue;
        handle = questions[i].handle;
        asked++;
    }
    if (asked != 1) return sbx_cli_usage(cli, "ask with one of --path, --url and --env");
    bool takes_operand = handle == why_url;
    if (cli->args.rest_count > (takes_operand ? 1u : 0u))
        return sbx_cli_usage(cli, "unexpected \"%s\"", cli->args.rest[0]);
    static const char *const no_command[] = {NULL};
    static struct sbx_prepared prepared;
    struct sbx_setup setup;
    struct sbx_err err = {0};
    if (sbx_setup_prepare(cli, no_command, &setup, &prepared, &err) != SBX_OK)
        return sbx_cli_fail(cli, &err, SBX_EXIT_USAGE);
    struct answer answer = {0};
    sbx_buf_init(&answer.rule, 64u << 10);
    sbx_buf_init(&answer.change, 64u << 10);
    sbx_buf_init(&answer.flag, 64u << 10);
    int status = handle(cli, &prepared, &answer, &err) == SBX_OK
                     ? print_answer(cli, &answer)
                     : sbx_cli_fail(cli, &err, SBX_EXIT_USAGE);
    sbx_buf_release(&answer.rule);
    sbx_buf_release(&answer.change);
    sbx_buf_release(&answer.flag);
    return status;
}
