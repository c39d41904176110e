/* The proof before release: what the kernel really made of a suspended process, next to the plan. */
#ifndef SBX_WIN_VERIFY_H
#define SBX_WIN_VERIFY_H

#include "common/run/evidence.h"
#include "win/job.h"
#include "win/token.h"

struct sbx_verify_plan {
    HANDLE process;
    HANDLE job;
    const struct sbx_job_limits *limits;
    PSID package;
    const SID_AND_ATTRIBUTES *capabilities;
    DWORD capability_count;
    enum sbx_rung rung;
    DWORD session;
    const wchar_t *program; /* with the \\?\ prefix or without */
    bool is_strict;
};

/* Adds one item per property; one that cannot be read counts as different. */
void sbx_verify_process(struct sbx_evidence_list *list, const struct sbx_verify_plan *plan);

#endif
