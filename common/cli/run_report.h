/* What is told after a run: what the box denied, and what was read back of it. */
#ifndef SBX_CLI_RUN_REPORT_H
#define SBX_CLI_RUN_REPORT_H

#include "common/cli/setup.h"
#include "common/run/denial.h"

/* "sbx: denied: write to "/etc/x": … / fix: …"; the first three, all of them when verbose. Nothing when
 * there is none. */
void sbx_denials_print(const struct sbx_cli *cli, const struct sbx_setup *setup,
                       const struct sbx_prepared *prepared, const struct sbx_denials *denials,
                       struct sbx_buf *out);

/* "denials": […], "denials_left_out": N */
void sbx_denials_json(const struct sbx_denials *denials, struct sbx_jsonw *json);

/* "evidence: namespaces.user  wanted …  got …  ok", aligned, a line each. */
void sbx_evidence_print(const struct sbx_cli *cli, const struct sbx_prepared *prepared,
                        const struct sbx_run_record *record, struct sbx_buf *out);

/* "evidence": […] */
void sbx_evidence_json(const struct sbx_run_record *record, struct sbx_jsonw *json);

#endif
