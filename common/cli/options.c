/* The one table of options. */
#include "common/cli/options.h"

#include "common/base/banned.h"

#define BIT(command) (1u << SBX_CMD_##command)
#define ALL_COMMANDS ((1u << SBX_CMD_COUNT) - 1)
#define RUNNERS (BIT(RUN) | BIT(SHELL))
#define PLANNERS (RUNNERS | BIT(EXPLAIN) | BIT(WHY))
#define POLICIES (PLANNERS | BIT(MCP)) /* whose options are a policy */
#define REPORTERS                                                                                  \
    (PLANNERS | BIT(VERIFY) | BIT(INIT) | BIT(PROFILE) | BIT(TRUST) | BIT(WORKSPACE) |             \
     BIT(DOCTOR) | BIT(SELFTEST) | BIT(SERVICE) | BIT(VERSION) | BIT(HELP))

const struct sbx_option_row sbx_option_rows[SBX_OPT_COUNT] = {
    [SBX_OPT_MANIFEST] =
        {SBX_OPT_MANIFEST, "manifest", 'f', "FILE",
         "use this manifest (TOML, or JSON by its .json name; - is standard input)",
         POLICIES | BIT(WORKSPACE)},
    [SBX_OPT_NO_MANIFEST] = {SBX_OPT_NO_MANIFEST, "no-manifest", 0, NULL,
                             "do not look for sbx.toml", POLICIES | BIT(WORKSPACE)},
    [SBX_OPT_PLATFORM] = {SBX_OPT_PLATFORM, "platform", 0, "NAME",
                          "plan for linux, macos or windows instead of this machine",
                          BIT(EXPLAIN) | BIT(WHY) | BIT(VERIFY) | BIT(PROFILE)},
    [SBX_OPT_DRY_RUN] = {SBX_OPT_DRY_RUN, "dry-run", 0, NULL, "print the plan and run nothing",
                         RUNNERS},
    [SBX_OPT_TTY] = {SBX_OPT_TTY, "tty", 0, NULL,
                     "a terminal of its own for the command, which also gets the caller's TERM",
                     RUNNERS | BIT(EXPLAIN)},
    [SBX_OPT_JSON] =
        {SBX_OPT_JSON, "json", 0, NULL,
         "one JSON object instead of text; run and shell: after the command, on standard error",
         ALL_COMMANDS},
    [SBX_OPT_RESULT] = {SBX_OPT_RESULT, "result", 0, "FILE", "write the JSON outcome to FILE",
                        RUNNERS},
    [SBX_OPT_JSON_FD] = {SBX_OPT_JSON_FD, "json-fd", 0, "N",
                         "write the JSON outcome to descriptor N", RUNNERS},
    [SBX_OPT_EVIDENCE] = {SBX_OPT_EVIDENCE, "evidence", 0, NULL,
                          "say what was read back of the box after it was built", RUNNERS},
    [SBX_OPT_STDIO] = {SBX_OPT_STDIO, "stdio", 0, NULL, "one client, on standard input and output",
                       BIT(SERVE)},
    [SBX_OPT_SERVICE] = {SBX_OPT_SERVICE, "service", 0, NULL,
                         "let the service run it, in a box it keeps ready; the command, its "
                         "streams and its status are the same",
                         BIT(RUN)},
    [SBX_OPT_PATH] = {SBX_OPT_PATH, "path", 0, "PATH", "the path asked about", BIT(WHY)},
    [SBX_OPT_OP] = {SBX_OPT_OP, "op", 0, "OP", "read, write or exec (default read)", BIT(WHY)},
    [SBX_OPT_URL] = {SBX_OPT_URL, "url", 0, "[METHOD] URL", "the request asked about", BIT(WHY)},
    [SBX_OPT_ENV] = {SBX_OPT_ENV, "env", 0, "NAME", "the variable asked about", BIT(WHY)},
    [SBX_OPT_TEMPLATE] = {SBX_OPT_TEMPLATE, "template", 0, "NAME",
                          "default, node, python, rust, go, c or dotnet", BIT(INIT)},
    [SBX_OPT_LIST] = {SBX_OPT_LIST, "list", 0, NULL,
                      "list the trusted manifests; selftest: its cases, and try none",
                      BIT(TRUST) | BIT(SELFTEST)},
    [SBX_OPT_REMOVE] = {SBX_OPT_REMOVE, "remove", 0, NULL, "no longer trust FILE", BIT(TRUST)},
    [SBX_OPT_WRITE] = {SBX_OPT_WRITE, "write", 'w', NULL, "the box may also write there",
                       BIT(WORKSPACE)},
    [SBX_OPT_ALL] = {SBX_OPT_ALL, "all", 0, NULL, "every place", BIT(WORKSPACE)},
    [SBX_OPT_ONLY] = {SBX_OPT_ONLY, "only", 0, "TEXT", "only cases whose id contains TEXT",
                      BIT(SELFTEST)},
    [SBX_OPT_GROUP] = {SBX_OPT_GROUP, "group", 0, "NAME", "only cases of this group",
                       BIT(SELFTEST)},
    [SBX_OPT_LONG] = {SBX_OPT_LONG, "long", 0, NULL,
                      "also what takes minutes, or touches the clipboard or a tool's directory",
                      BIT(SELFTEST)},
    [SBX_OPT_QUIET] = {SBX_OPT_QUIET, "quiet", 'q', NULL, "no hints and notes; errors stay",
                       REPORTERS},
    [SBX_OPT_VERBOSE] = {SBX_OPT_VERBOSE, "verbose", 'v', NULL, "say more", REPORTERS},
    [SBX_OPT_COLOR] = {SBX_OPT_COLOR, "color", 0, "WHEN",
                       "auto, always or never (default auto; NO_COLOR is honoured)", ALL_COMMANDS},
    [SBX_OPT_HELP] = {SBX_OPT_HELP, "help", 'h', NULL, "help on this command", ALL_COMMANDS},
};

static const struct sbx_name op_words[] = {{0, "read"}, {1, "write"}, {2, "exec"}, {0, NULL}};
static const struct sbx_name color_words[] = {{0, "auto"}, {1, "always"}, {2, "never"}, {0, NULL}};
static const struct sbx_name template_words[] = {{0, "default"}, {1, "node"}, {2, "python"},
                                                 {3, "rust"},    {4, "go"},   {5, "c"},
                                                 {6, "dotnet"},  {0, NULL}};

static const struct sbx_name *words_of(enum sbx_option_id id)
{
    static const struct sbx_name *const words[SBX_OPT_COUNT] = {
        [SBX_OPT_PLATFORM] = sbx_platform_names,
        [SBX_OPT_OP] = op_words,
        [SBX_OPT_COLOR] = color_words,
        [SBX_OPT_TEMPLATE] = template_words,
    };
    return words[id];
}

static bool takes_keys(enum sbx_command_id command)
{
    return (POLICIES & (1u << command)) != 0;
}

static bool option_at(enum sbx_command_id command, size_t *index, struct sbx_flag_view *out)
{
    for (size_t i = 0; i < SBX_OPT_COUNT; i++) {
        const struct sbx_option_row *row = &sbx_option_rows[i];
        if (!(row->commands & (1u << command))) continue;
        if ((*index)-- > 0) continue;
        *out = (struct sbx_flag_view){.flag = row->flag,
                                      .short_flag = row->short_flag,
                                      .meta = row->meta,
                                      .help = row->help,
                                      .words = words_of(row->id),
                                      .option = row};
        return true;
    }
    return false;
}

bool sbx_flag_at(enum sbx_command_id command, size_t index, struct sbx_flag_view *out)
{
    if (option_at(command, &index, out)) return true;
    if (!takes_keys(command)) return false;
    if (index < SBX_KEY_COUNT) {
        const struct sbx_key_row *row = &sbx_key_rows[index];
        *out = (struct sbx_flag_view){.flag = row->flag,
                                      .short_flag = row->short_flag,
                                      .meta = row->meta,
                                      .help = row->help,
                                      .words = row->names,
                                      .key = row};
        return true;
    }
    index -= SBX_KEY_COUNT;
    for (size_t i = 0; sbx_flag_aliases[i].flag != NULL; i++) {
        if (index-- > 0) continue;
        const struct sbx_flag_alias *row = &sbx_flag_aliases[i];
        *out = (struct sbx_flag_view){.flag = row->flag,
                                      .short_flag = row->short_flag,
                                      .meta = row->meta,
                                      .help = row->help,
                                      .alias = row};
        return true;
    }
    return false;
}
