/* What is told to programs about a run: the outcome object of `sbx run --json`, which is also the service's result, and the
 * parts that other answers share with it. */
#ifndef SBX_RUN_REPORT_H
#define SBX_RUN_REPORT_H

#include "common/base/jsonw.h"
#include "common/run/denial.h"
#include "common/run/run.h"
#include "common/run/setup.h"

/* What it is made from; the parts that were reached. */
struct sbx_run_report {
    const char *command; /* "run" or "shell" */
    const struct sbx_findings *findings;
    const struct sbx_setup *setup;
    const struct sbx_prepared *prepared; /* NULL: nothing was decided */
    const struct sbx_outcome *outcome;   /* NULL: nothing was run */
    const struct sbx_run_record *record; /* NULL: no box was tried */
    const struct sbx_denials *denials;   /* of what was run */
    const struct sbx_err *err;           /* NULL: it ran */
    uint32_t status;
    bool has_evidence;  /* as a part of it */
    const char *digest; /* of the plan, where it is known already; NULL: it is made */
};

/* The whole object, on one line with its end. */
void sbx_run_report_json(const struct sbx_run_report *report, struct sbx_buf *text);

void sbx_findings_json(const struct sbx_findings *findings, struct sbx_jsonw *json);
void sbx_err_json(const struct sbx_err *err, struct sbx_jsonw *json);
void sbx_report_selection(const struct sbx_selection *selection, struct sbx_jsonw *json);
void sbx_report_manifest(const struct sbx_setup *setup, struct sbx_jsonw *json);

/* "found, trusted": how the manifest came here. */
const char *sbx_report_found(const struct sbx_setup *setup);

/* "denials": […], "denials_left_out": N */
void sbx_denials_json(const struct sbx_denials *denials, struct sbx_jsonw *json);

/* "evidence": […] */
void sbx_evidence_json(const struct sbx_evidence *evidence, size_t count, struct sbx_jsonw *json);

/* "warnings": […], "diagnosis": … */
void sbx_remarks_json(const struct sbx_run_record *record, struct sbx_jsonw *json);

#endif
