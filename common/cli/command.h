/* The table of subcommands, and what their handlers work with. */
#ifndef SBX_CLI_COMMAND_H
#define SBX_CLI_COMMAND_H

#include "common/cli/options.h"
#include "common/cli/output.h"

#define SBX_EXIT_OK 0
#define SBX_EXIT_NEGATIVE 1 /* findings, denied, something failed in doctor */
#define SBX_EXIT_USAGE 2    /* commands other than run */
#define SBX_EXIT_LIMIT 124
#define SBX_EXIT_REFUSED 125
#define SBX_EXIT_CANNOT_EXECUTE 126
#define SBX_EXIT_NOT_FOUND 127

/* See attended.h. */
struct sbx_attended {
    bool is_attended;
    int events_fd, manifest_fd; /* -1: none */
};

struct sbx_cli {
    struct sbx_attended attended;
    struct sbx_arena arena;
    struct sbx_findings findings;
    struct sbx_cli_args args;
    struct sbx_output out;
    struct sbx_probe_cache probes;
};

struct sbx_command_row {
    enum sbx_command_id id;
    const char *name;
    const char *usage;    /* after "sbx NAME " */
    const char *summary;  /* one line */
    const char *details;  /* further paragraphs of its help, or NULL */
    const char *examples; /* lines for help and man page, or NULL */
    int (*handle)(struct sbx_cli *cli);
};
extern const struct sbx_command_row sbx_command_rows[SBX_CMD_COUNT]; /* indexed by id */

/* Does it start a command, whose streams and status are its own? */
bool sbx_command_runs(enum sbx_command_id id);

/* Status for a wrong command line of that command. */
int sbx_usage_status(enum sbx_command_id id);

/* Prints the error (text on stderr; with --json an object on stdout, run: where its outcome goes) and
 * returns `status`. */
int sbx_cli_fail(struct sbx_cli *cli, const struct sbx_err *err, int status);

/* Findings and error as text. */
void sbx_cli_print_failure(const struct sbx_cli *cli, const struct sbx_err *err,
                           struct sbx_buf *out);

/* The same for a run that did not come to its plan: also --result and --json-fd get the outcome. */
int sbx_run_refuse(struct sbx_cli *cli, const struct sbx_err *err, int status);

/* A wrong command line: the message, then where the help is. */
int sbx_cli_usage(struct sbx_cli *cli, const char *format, ...) SBX_PRINTF(2, 3);

int sbx_cmd_run(struct sbx_cli *cli);
int sbx_cmd_shell(struct sbx_cli *cli);
int sbx_cmd_explain(struct sbx_cli *cli);
int sbx_cmd_why(struct sbx_cli *cli);
int sbx_cmd_verify(struct sbx_cli *cli);
int sbx_cmd_init(struct sbx_cli *cli);
int sbx_cmd_profile(struct sbx_cli *cli);
int sbx_cmd_trust(struct sbx_cli *cli);
int sbx_cmd_workspace(struct sbx_cli *cli);
int sbx_cmd_doctor(struct sbx_cli *cli);
int sbx_cmd_selftest(struct sbx_cli *cli);
int sbx_cmd_serve(struct sbx_cli *cli);
int sbx_cmd_service(struct sbx_cli *cli);
int sbx_cmd_mcp(struct sbx_cli *cli);
int sbx_cmd_schema(struct sbx_cli *cli);
int sbx_cmd_completion(struct sbx_cli *cli);
int sbx_cmd_version(struct sbx_cli *cli);
int sbx_cmd_help(struct sbx_cli *cli);

/* Help texts, also used for man pages (help.c). */
void sbx_help_overview(struct sbx_buf *out);
void sbx_help_command(enum sbx_command_id id, struct sbx_buf *out);
void sbx_help_codes(struct sbx_buf *out);

/* Shows a command's help, or with SBX_CMD_COUNT the overview, as text or JSON; the exit status. */
int sbx_help_show(struct sbx_cli *cli, enum sbx_command_id id);
int sbx_help_show_codes(struct sbx_cli *cli);

#endif
