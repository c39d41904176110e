/* The one table of options and the one parser. Flags of manifest keys come from the key table; the rest is
 * here. Help, completion and man page are made from both. */
#ifndef SBX_CLI_OPTIONS_H
#define SBX_CLI_OPTIONS_H

#include "common/policy/manifest_keys.h"
#include "common/run/run.h"

/* Commands, as bits in an option's mask. */
enum sbx_command_id {
    SBX_CMD_RUN,
    SBX_CMD_SHELL,
    SBX_CMD_EXPLAIN,
    SBX_CMD_WHY,
    SBX_CMD_VERIFY,
    SBX_CMD_INIT,
    SBX_CMD_PROFILE,
    SBX_CMD_TRUST,
    SBX_CMD_WORKSPACE,
    SBX_CMD_DOCTOR,
    SBX_CMD_SELFTEST,
    SBX_CMD_SERVE,
    SBX_CMD_SERVICE,
    SBX_CMD_MCP,
    SBX_CMD_SCHEMA,
    SBX_CMD_COMPLETION,
    SBX_CMD_VERSION,
    SBX_CMD_HELP,
    SBX_CMD_COUNT
};

/* Options that are not manifest keys. */
enum sbx_option_id {
    SBX_OPT_MANIFEST,
    SBX_OPT_NO_MANIFEST,
    SBX_OPT_PLATFORM,
    SBX_OPT_DRY_RUN,
    SBX_OPT_TTY,
    SBX_OPT_JSON,
    SBX_OPT_RESULT,
    SBX_OPT_JSON_FD,
    SBX_OPT_EVIDENCE,
    SBX_OPT_SERVICE,
    SBX_OPT_STDIO,
    SBX_OPT_PATH,
    SBX_OPT_OP,
    SBX_OPT_URL,
    SBX_OPT_ENV,
    SBX_OPT_TEMPLATE,
    SBX_OPT_LIST,
    SBX_OPT_REMOVE,
    SBX_OPT_WRITE,
    SBX_OPT_ALL,
    SBX_OPT_ONLY,
    SBX_OPT_GROUP,
    SBX_OPT_LONG,
    SBX_OPT_QUIET,
    SBX_OPT_VERBOSE,
    SBX_OPT_COLOR,
    SBX_OPT_HELP,
    SBX_OPT_COUNT
};

struct sbx_option_row {
    enum sbx_option_id id;
    const char *flag;
    char short_flag;
    const char *meta; /* NULL: takes no value */
    const char *help;
    unsigned commands; /* bit (1 << enum sbx_command_id) */
};
extern const struct sbx_option_row sbx_option_rows[SBX_OPT_COUNT]; /* indexed by id */

/* One flag of any kind as help, completion and parser see it. */
struct sbx_flag_view {
    const char *flag;
    char short_flag;
    const char *meta; /* NULL: takes no value */
    const char *help;
    const struct sbx_name *words;        /* what the value can be, or NULL */
    const struct sbx_option_row *option; /* one of these three is set */
    const struct sbx_key_row *key;
    const struct sbx_flag_alias *alias;
};

/* The index-th flag of a command: options first, then key flags, then aliases; false past the end. */
bool sbx_flag_at(enum sbx_command_id command, size_t index, struct sbx_flag_view *out);

/* What was typed. Texts point into argv. */
struct sbx_cli_args {
    enum sbx_command_id command;
    const char *values[SBX_OPT_COUNT]; /* of options that take one */
    bool given[SBX_OPT_COUNT];
    struct sbx_manifest flags; /* key flags; findings say what was wrong with them */
    const char *const *words;  /* all of it, as typed after the command's name */
    size_t word_count;
    const char *const *rest; /* the command to run, or the operands; NULL-terminated */
    size_t rest_count;
};

/* Parses what follows the command's name. For commands that run something, the first word that is not
 * an option starts the command; elsewhere options and operands may be mixed. SBX_E_USAGE with a hint.
 * `rest` of mixed operands lives in the arena. */
enum sbx_code sbx_cli_parse(struct sbx_arena *arena, enum sbx_command_id command, int argc,
                            const char *const *argv, struct sbx_findings *findings,
                            struct sbx_cli_args *out, struct sbx_err *err) SBX_MUST_USE;

#endif
