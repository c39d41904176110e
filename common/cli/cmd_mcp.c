/* sbx mcp: boxes as a tool of an agent's host. The options here are the ceiling: what a model asks for besides
 * is compared with them, policy against policy, before anything is started. */
#include <inttypes.h>

#include "common/cli/report.h"
#include "common/mcp/server.h"
#include "common/policy/widen.h"

#include "common/base/banned.h"

enum { RULES_TOLD = 24 };

/* One command line, resolved: everything it needs lives in `cli`. */
struct resolved {
    struct sbx_cli cli;
    struct sbx_setup setup;
    struct sbx_policy policy;
};

static void forget(struct resolved *resolved)
{
    sbx_arena_release(&resolved->cli.arena);
}

/* False when it cannot be resolved; *why says why. */
static bool resolve(struct resolved *out, const char *const *words, size_t count,
                    struct sbx_buf *why)
{
    *out = (struct resolved){0};
    struct sbx_cli *cli = &out->cli;
    struct sbx_err err = {0};
    sbx_arena_init(&cli->arena, (size_t)64 << 20);
    sbx_findings_init(&cli->findings, &cli->arena);
    enum sbx_code code = sbx_cli_parse(&cli->arena, SBX_CMD_MCP, (int)count, words, &cli->findings,
                                       &cli->args, &err);
    if (code == SBX_OK) code = sbx_setup_make(cli, &out->setup, &err);
    if (code == SBX_OK)
        sbx_policy_resolve(&cli->arena, &out->setup.manifest, &out->setup.context,
                           &out->setup.ceiling, &cli->findings, &out->policy);
    if (code == SBX_OK && sbx_findings_ok(&cli->findings)) return true;
    sbx_cli_print_failure(cli, &err, why);
    return false;
}

/* ---- the ceiling ---- */

struct ceiling {
    const char *const *words;
    size_t count;
};

static bool has_reason(const char *const *reasons, size_t count, const char *reason)
{
    for (size_t i = 0; i < count; i++)
        if (sbx_text_eq(reasons[i], reason)) return true;
    return false;
}

/* What a policy is said to widen compared with itself is what it is, not what was added. */
static bool is_within(struct sbx_arena *arena, const struct sbx_policy *base,
                      const struct sbx_policy *wanted, struct sbx_buf *why)
{
    const char **given = NULL;
    const char **asked = NULL;
    size_t given_count = 0;
    size_t asked_count = 0;
    if (!sbx_policy_widens(arena, base, base, &given, &given_count) ||
        !sbx_policy_widens(arena, base, wanted, &asked, &asked_count)) {
        sbx_buf_add_text(why, "out of memory");
        return false;
    }
    for (size_t i = 0; i < asked_count; i++) {
        if (has_reason(given, given_count, asked[i])) continue;
        sbx_buf_printf(why, "%s%s", why->len == 0 ? "this allows more than the user does: " : "; ",
                       asked[i]);
    }
    return why->len == 0;
}

/* ---- the user's options with a model's in their place ---- */

static bool flag_view(struct sbx_str name, char short_flag, struct sbx_flag_view *out)
{
    for (size_t i = 0; sbx_flag_at(SBX_CMD_MCP, i, out); i++)
        if (short_flag != 0 ? out->short_flag == short_flag : sbx_str_is(name, out->flag))
            return true;
    return false;
}

/* One option as typed, which the parser has accepted: its key (SBX_KEY_COUNT for others), and whether its
 * value is the next word. */
static enum sbx_key key_of(const char *word, bool *takes_next)
{
    struct sbx_flag_view view = {0};
    struct sbx_str name;
    struct sbx_str value;
    bool is_known = false;
    *takes_next = false;
    if (word[0] == '-' && word[1] == '-') {
        bool has_value = sbx_str_split(sbx_str(word + 2), '=', &name, &value);
        is_known = flag_view(name, 0, &view);
        *takes_next = is_known && view.meta != NULL && !has_value;
    } else {
        for (const char *c = word + 1; *c != '\0'; c++) {
            is_known = flag_view((struct sbx_str){0}, *c, &view);
            if (!is_known || view.meta == NULL) continue;
            *takes_next = c[1] == '\0';
            break;
        }
    }
    if (!is_known || view.option != NULL) return SBX_KEY_COUNT;
    return view.alias != NULL ? view.alias->key : view.key->key;
}

/* Keys of which there is one, and profile and mode are one: a model's takes the place of the user's. What the sum
 * allows is compared afterwards. */
static bool replaces(enum sbx_key asked, enum sbx_key given)
{
    static const enum sbx_key single[] = {SBX_KEY_NETWORK, SBX_KEY_SYSCALL_POLICY, SBX_KEY_TIMEOUT,
                                          SBX_KEY_MAX_MEMORY_BYTES, SBX_KEY_CWD};
    bool is_preset = asked == SBX_KEY_PROFILE || asked == SBX_KEY_MODE;
    if (is_preset) return given == SBX_KEY_PROFILE || given == SBX_KEY_MODE;
    for (size_t i = 0; i < SBX_COUNT(single); i++)
        if (asked == single[i] && given == single[i]) return true;
    return false;
}

static void combine(struct sbx_arena *arena, const struct ceiling *ceiling, const char *const *more,
                    size_t count, struct sbx_mcp_words *out)
{
    bool takes_next = false;
    for (size_t i = 0; i < ceiling->count; i += 1 + (size_t)takes_next) {
        enum sbx_key given = key_of(ceiling->words[i], &takes_next);
        bool is_replaced = false;
        for (size_t k = 0; k < count; k++) {
            bool unused;
            is_replaced |= replaces(key_of(more[k], &unused), given);
        }
        if (is_replaced) continue;
        sbx_mcp_words_add(arena, out, ceiling->words[i]);
        if (takes_next && i + 1 < ceiling->count)
            sbx_mcp_words_add(arena, out, ceiling->words[i + 1]);
    }
    for (size_t i = 0; i < count; i++) sbx_mcp_words_add(arena, out, more[i]);
}

static bool options(void *state, struct sbx_arena *arena, const char *const *more, size_t count,
                    struct sbx_mcp_words *out, struct sbx_buf *why)
{
    const struct ceiling *ceiling = (const struct ceiling *)state;
    SBX_CLEANUP(forget) struct resolved base;
    SBX_CLEANUP(forget) struct resolved wanted = {0};
    AUTO_BUF unused;
    sbx_buf_init(&unused, 16u << 20);
    combine(arena, ceiling, more, count, out);
    if (out->failed) {
        sbx_buf_add_text(why, "out of memory");
        return false;
    }
    if (!resolve(&base, ceiling->words, ceiling->count, &unused)) return true; /* so will the run */
    return resolve(&wanted, out->items, out->count, why) &&
           is_within(&wanted.cli.arena, &base.policy, &wanted.policy, why);
}

/* ---- what a model is told ---- */

static const char *rule_word(const struct sbx_rule *rule)
{
    if (rule->kind == SBX_RULE_HOST)
        return rule->access == SBX_ACCESS_WRITE  ? "read and write"
               : rule->access == SBX_ACCESS_READ ? "read"
                                                 : "no access to";
    return rule->kind == SBX_RULE_TMPFS ? "private, empty, writable:" : "connect to";
}

static void describe(const struct resolved *resolved, struct sbx_buf *out)
{
    const struct sbx_policy *policy = &resolved->policy;
    sbx_buf_printf(out, "What boxes may do here (%s, the narrower path wins):\n",
                   resolved->setup.found == SBX_FOUND_NOTHING ? "no manifest"
                                                              : "as the manifest says");
    for (size_t i = 0; i < policy->rules.count && i < RULES_TOLD; i++) {
        struct sbx_path path = policy->rules.items[i].path;
        sbx_buf_printf(out, "- %s ", rule_word(&policy->rules.items[i]));
        sbx_buf_add_visible(out, (struct sbx_str){path.text, path.len}, false);
        sbx_buf_add_char(out, '\n');
    }
    if (policy->rules.count > RULES_TOLD)
        sbx_buf_printf(out, "- and %zu more rules (tool explain)\n",
                       policy->rules.count - RULES_TOLD);
    sbx_buf_printf(out, "- network: %s\n", sbx_name_text(sbx_net_kind_names, (int)policy->network));
    sbx_buf_add_text(out, "- time: ");
    if (policy->limits.timeout_ns == 0)
        sbx_buf_add_text(out, "30s (Windows: 60s) unless timeout_ms asks otherwise,");
    else
        sbx_duration_print(policy->limits.timeout_ns, out);
    sbx_buf_add_text(out, " for each command\n");
}

static enum sbx_code serve(struct sbx_cli *cli, const struct ceiling *ceiling, struct sbx_err *err)
{
    struct sbx_path self;
    enum sbx_code code = sbx_os_self(&cli->arena, &self, err);
    if (code != SBX_OK) return code;
    SBX_CLEANUP(forget) struct resolved base;
    AUTO_BUF allowed;
    AUTO_BUF why;
    sbx_buf_init(&allowed, 64u << 10);
    sbx_buf_init(&why, 16u << 20);
    if (resolve(&base, ceiling->words, ceiling->count, &why)) {
        describe(&base, &allowed);
    } else {
        sbx_buf_add_text(&allowed, "At present nothing can run: ");
        sbx_buf_add_text(&allowed, sbx_buf_text(&why));
    }
    struct ceiling state = *ceiling;
    struct sbx_mcp_config config = {.version = SBX_VERSION,
                                    .program = self.text,
                                    .allowed = sbx_buf_text(&allowed),
                                    .options = options,
                                    .state = &state};
    return sbx_mcp_serve(&config, err);
}

int sbx_cmd_mcp(struct sbx_cli *cli)
{
    struct sbx_err err = {0};
    if (cli->args.rest_count > 0)
        return sbx_cli_usage(cli, "sbx mcp takes no command, but \"%s\" is given",
                             cli->args.rest[0]);
    if (sbx_text_eq(cli->args.values[SBX_OPT_MANIFEST], "-"))
        return sbx_cli_usage(cli, "the manifest cannot come from standard input, which is the "
                                  "host's");
    const char **words = SBX_NEW_ARRAY(&cli->arena, const char *, cli->args.word_count + 1);
    if (words == NULL) {
        (void)sbx_err_nomem(&err);
        return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    }
    struct ceiling ceiling = {.words = words};
    for (size_t i = 0; i < cli->args.word_count; i++) /* the form of our own errors */
        if (!sbx_text_eq(cli->args.words[i], "--json")) words[ceiling.count++] = cli->args.words[i];
    if (!sbx_findings_ok(&cli->findings)) {
        (void)sbx_err_set(&err, SBX_E_INVALID, "the options have errors");
        return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    }
    if (serve(cli, &ceiling, &err) != SBX_OK) return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    return SBX_EXIT_OK;
}
