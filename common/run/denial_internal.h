/* What the parts of denial detection share. */
#ifndef SBX_RUN_DENIAL_INTERNAL_H
#define SBX_RUN_DENIAL_INTERNAL_H

#include "common/policy/remedy.h"
#include "common/run/complaint.h"
#include "common/run/denial.h"

/* One denial before it is explained. */
struct sbx_suspect {
    enum sbx_denial_kind kind;
    enum sbx_operation operation;
    bool is_exact;
    int rank;             /* more is more relevant */
    const char *subject;  /* as it is shown; NULL: not known */
    struct sbx_path path; /* of files and sockets; NULL text: none */
    struct sbx_decision decision;
    struct sbx_str host;
    uint16_t port;
    bool is_refused_outside; /* the host refuses it too */
    bool is_unclean;         /* `path` is only the part of the subject that is valid text */
};

/* The path that `text` means to a command in `cwd`, ".." taken as text; false for what cannot be one. */
bool sbx_suspect_path(struct sbx_arena *arena, struct sbx_path cwd, struct sbx_str text,
                      struct sbx_path *out);

/* Is it a denial that `complaint` is about `path`? Then *out is one, its path still the caller's. */
bool sbx_suspect_judge(const struct sbx_denial_input *input, const struct sbx_complaint *complaint,
                       const struct sbx_complaint_name *name, struct sbx_path path,
                       struct sbx_suspect *out);

/* New unix sockets are refused as such. */
bool sbx_plan_refuses_sockets(const struct sbx_plan *plan);

bool sbx_operation_writes(enum sbx_operation operation);

/* Says by what, why, and what would allow it. False without memory. */
bool sbx_suspect_explain(struct sbx_arena *arena, const struct sbx_denial_input *input,
                         const struct sbx_suspect *suspect, struct sbx_denial *out) SBX_MUST_USE;

#endif
