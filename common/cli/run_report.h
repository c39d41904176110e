/* What is told after a run: what the box denied, and what was read back of it. */
#ifndef SBX_CLI_RUN_REPORT_H
#define SBX_CLI_RUN_REPORT_H

#include "common/cli/setup.h"
#include "common/run/report.h"

/* "sbx: denied: write to "/etc/x": … / fix: …"; the first three, all of them when verbose. Nothing when
 * there is none. */
void sbx_denials_print(const struct sbx_cli *cli, const struct sbx_setup *setup,
                       const struct sbx_prepared *prepared, const struct sbx_denials *denials,
                       struct sbx_buf *out);

/* "evidence: namespaces.user  wanted …  got …  ok", aligned, a line each. */
void sbx_evidence_print(const struct sbx_cli *cli, const struct sbx_prepared *prepared,
                        const struct sbx_run_record *record, struct sbx_buf *out);

/* "sbx: warning: …" for what could not be undone, "sbx: note: …" for what may explain an early end. */
void sbx_remarks_print(const struct sbx_cli *cli, const struct sbx_run_record *record,
                       struct sbx_buf *out);

/* Says on standard error, if that is a terminal, how far long work is. sbx_progress_end before anything
 * else is said. */
struct sbx_progress_line {
    struct sbx_progress hook;
    uint64_t begin_ns, last_ns;
    bool is_shown;
};
void sbx_progress_begin(struct sbx_progress_line *line, const struct sbx_cli *cli);
void sbx_progress_end(struct sbx_progress_line *line);

#endif
