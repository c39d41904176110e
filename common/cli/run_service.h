/* sbx run --service: the same run, carried out by the service. What the command line reads and says stays here; only the box is
 * built elsewhere. */
#ifndef SBX_CLI_RUN_SERVICE_H
#define SBX_CLI_RUN_SERVICE_H

#include "common/cli/setup.h"
#include "common/run/report.h"

/* Runs what the command line says; report->setup is made. The exit status. */
int sbx_run_by_service(struct sbx_cli *cli, struct sbx_run_report *report);

/* ---- of run_service_told.c ---- */

/* An outcome object of somebody else back into what is told from it. Texts live in the arena. Each false: it is not one. */
struct sbx_told {
    struct sbx_run_record record;
    struct sbx_denials denials;
    bool has_error;
    struct sbx_err err;
    uint32_t status;
};
bool sbx_told_read(struct sbx_arena *arena, struct sbx_str object,
                   struct sbx_told *out) SBX_MUST_USE;

/* ---- of cmd_run.c: the same words for both kinds of runs ---- */

/* The outcome object, where --result, --json-fd or --json want it; nothing without. */
void sbx_run_send(const struct sbx_cli *cli, const struct sbx_buf *text);

/* What people are told before a run. */
void sbx_run_tell_start(const struct sbx_cli *cli, const struct sbx_prepared *prepared);

/* What people are told after a run: of report->prepared, record and denials. */
void sbx_run_tell(const struct sbx_cli *cli, const struct sbx_run_report *report);

/* What people are told when nothing ran. Sets the report's error and status. */
void sbx_run_tell_refusal(struct sbx_cli *cli, struct sbx_run_report *report,
                          const struct sbx_err *err, uint32_t status);

#endif
