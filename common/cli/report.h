/* Parts of JSON and text reports that several commands share. */
#ifndef SBX_CLI_REPORT_H
#define SBX_CLI_REPORT_H

#include "common/cli/command.h"
#include "common/cli/setup.h"
#include "common/run/report.h"

/* {"schema_version": 1, "command": NAME, …: opens the object every --json answer is. */
void sbx_report_open(struct sbx_jsonw *json, struct sbx_buf *buf, const struct sbx_cli *cli);
/* Closes it, with a newline, and writes it; status when it was written. */
int sbx_report_close(struct sbx_jsonw *json, int status);

/* "manifest  /code/sbx.toml (trusted)" and "backend …" as explain and run --dry-run print them. */
void sbx_report_head(const struct sbx_setup *setup, const struct sbx_prepared *prepared,
                     struct sbx_buf *out);

/* Explains on standard output, as text or JSON. */
int sbx_report_plan(struct sbx_cli *cli, const struct sbx_setup *setup,
                    const struct sbx_prepared *prepared);

#endif
