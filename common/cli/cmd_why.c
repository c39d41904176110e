/* sbx why: the rule that decides, and the line that would change it. A line is only offered when the policy
 * made with it really allows what was asked. */
#include <string.h>

#include "common/cli/report.h"
#include "common/policy/remedy.h"

#include "common/base/banned.h"

/* What is asked about, and how it is said. */
struct asked {
    enum sbx_option_id option; /* SBX_OPT_PATH, SBX_OPT_URL or SBX_OPT_ENV */
    const char *subject;       /* "write /code/x" */
    struct sbx_question question;
};

struct answer {
    bool is_allowed;
    struct sbx_buf rule; /* what decides */
    struct sbx_remedy remedy;
};

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

/* ---- requests ---- */

static bool parse_port(struct sbx_str text, uint16_t *out)
{
    uint64_t port;
    if (!sbx_str_to_u64(text, &port) || port == 0 || port > 65535) return false;
    *out = (uint16_t)port;
    return true;
}

/* scheme://host[:port]/… ; without a scheme, https. */
static bool parse_url(struct sbx_str url, struct sbx_question *out)
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
static enum sbx_code asked_url(struct sbx_cli *cli, struct sbx_question *out, struct sbx_err *err)
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

/* ---- answer ---- */

static int print_json(struct sbx_cli *cli, const struct asked *asked, const struct answer *answer,
                      int status)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    struct sbx_jsonw json;
    sbx_report_open(&json, &text, cli);
    sbx_jsonw_pair_bool(&json, "ok", true);
    sbx_jsonw_pair_bool(&json, "allowed", answer->is_allowed);
    sbx_jsonw_pair_text(&json, "subject", asked->subject);
    sbx_jsonw_pair_text(&json, "rule", sbx_buf_text(&answer->rule));
    sbx_jsonw_pair_text(&json, "change", answer->remedy.line);
    sbx_jsonw_pair_text(&json, "flag", answer->remedy.flag);
    sbx_jsonw_pair_bool(&json, "needs_file", answer->remedy.needs_file);
    sbx_jsonw_pair_text(&json, "obstacle", answer->remedy.obstacle);
    return sbx_report_close(&json, status);
}

static int print_answer(struct sbx_cli *cli, const struct asked *asked, const struct answer *answer)
{
    int status = answer->is_allowed ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
    if (cli->out.json) return print_json(cli, asked, answer, status);
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    sbx_tone_add(&text, cli->out.colour_stdout, answer->is_allowed ? SBX_TONE_GOOD : SBX_TONE_BAD,
                 answer->is_allowed ? "allowed" : "denied");
    sbx_buf_add_text(&text, ": ");
    sbx_buf_add_visible(&text, sbx_str(asked->subject), false);
    sbx_buf_add_text(&text, "\n  by:  ");
    sbx_buf_add_visible(&text, sbx_buf_str(&answer->rule), false);
    if (answer->remedy.line != NULL) {
        sbx_buf_add_text(&text, "\n  fix: ");
        sbx_buf_add_visible(&text, sbx_str(answer->remedy.line), false);
        sbx_buf_add_text(&text, "   or: sbx run ");
        sbx_buf_add_visible(&text, sbx_str(answer->remedy.flag), false);
        if (answer->remedy.needs_file)
            sbx_buf_add_text(&text,
                             "\n  note: it does not exist yet: make it outside the box first");
    } else if (!answer->is_allowed) {
        sbx_buf_add_text(&text, "\n  fix: no manifest line allows it as things are: ");
        sbx_buf_add_visible(&text, sbx_str(answer->remedy.obstacle), false);
    }
    sbx_buf_add_char(&text, '\n');
    return sbx_output_write(SBX_STDOUT, &text) ? status : SBX_EXIT_NEGATIVE;
}

static enum sbx_code make_question(struct sbx_cli *cli, const struct sbx_context *context,
                                   struct asked *out, struct sbx_err *err)
{
    enum sbx_code code = SBX_OK;
    struct sbx_question *question = &out->question;
    const char *op = cli->args.values[SBX_OPT_OP];
    if (op == NULL) op = "read";
    question->is_write = sbx_text_eq(op, "write");
    question->name = cli->args.values[SBX_OPT_ENV];
    if (out->option == SBX_OPT_PATH) {
        question->kind = SBX_ASK_PATH;
        code = asked_path(cli, context, &question->path, err);
        if (code == SBX_OK)
            out->subject = sbx_arena_printf(&cli->arena, "%s %s", op, question->path.text);
    } else if (out->option == SBX_OPT_URL) {
        question->kind = SBX_ASK_HOST;
        code = asked_url(cli, question, err);
        if (code == SBX_OK)
            out->subject = sbx_arena_printf(&cli->arena, "request to %.*s:%u",
                                            SBX_STR_ARG(question->host), (unsigned)question->port);
    } else {
        question->kind = SBX_ASK_VARIABLE;
        out->subject = sbx_arena_printf(&cli->arena, "variable %s", question->name);
    }
    if (code == SBX_OK && out->subject == NULL) return sbx_err_nomem(err);
    return code;
}

static int answer_question(struct sbx_cli *cli, const struct sbx_setup *setup,
                           const struct sbx_prepared *prepared, struct asked *asked)
{
    struct sbx_err err = {0};
    if (make_question(cli, &prepared->policy.context, asked, &err) != SBX_OK)
        return sbx_cli_fail(cli, &err, SBX_EXIT_USAGE);
    struct answer answer = {.remedy = {.obstacle = NULL}};
    struct sbx_remedy_input made_from = {&setup->manifest, &setup->context, &setup->ceiling};
    sbx_buf_init(&answer.rule, 64u << 10);
    /* Without a sandbox only the environment is still held. */
    if (prepared->plan.backend == SBX_BACKEND_NONE && asked->option != SBX_OPT_ENV) {
        answer.is_allowed = true;
        sbx_buf_add_text(&answer.rule, "there is no sandbox");
    } else {
        answer.is_allowed =
            sbx_question_allowed(&cli->arena, &prepared->policy, &asked->question, &answer.rule);
    }
    if (!answer.is_allowed &&
        !sbx_remedy_find(&cli->arena, &made_from, &asked->question, &answer.remedy))
        answer.remedy.obstacle = "there is no memory to look for one";
    int status = print_answer(cli, asked, &answer);
    sbx_buf_release(&answer.rule);
    return status;
}

int sbx_cmd_why(struct sbx_cli *cli)
{
    static const enum sbx_option_id kinds[] = {SBX_OPT_PATH, SBX_OPT_URL, SBX_OPT_ENV};
    struct asked asked = {.option = SBX_OPT_COUNT};
    size_t count = 0;
    for (size_t i = 0; i < SBX_COUNT(kinds); i++) {
        if (!cli->args.given[kinds[i]]) continue;
        asked.option = kinds[i];
        count++;
    }
    if (count != 1) return sbx_cli_usage(cli, "ask with one of --path, --url and --env");
    if (cli->args.given[SBX_OPT_OP] && asked.option != SBX_OPT_PATH)
        return sbx_cli_usage(cli, "--op belongs to --path");
    if (cli->args.rest_count > (asked.option == SBX_OPT_URL ? 1u : 0u))
        return sbx_cli_usage(cli, "unexpected \"%s\"", cli->args.rest[0]);
    static const char *const no_command[] = {NULL};
    static struct sbx_prepared prepared;
    struct sbx_setup setup;
    struct sbx_err err = {0};
    /* Neither "allowed" nor "denied": the question could not be answered. */
    if (sbx_setup_prepare(cli, no_command, &setup, &prepared, &err) != SBX_OK)
        return sbx_cli_fail(cli, &err, SBX_EXIT_USAGE);
    return answer_question(cli, &setup, &prepared, &asked);
}
