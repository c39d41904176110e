/* Which backend runs this policy: a decision table over facts. Pure; when a fact is missing it says which
 * backend to probe and is asked again. */
#ifndef SBX_POLICY_SELECT_H
#define SBX_POLICY_SELECT_H

#include "common/policy/backends.h"
#include "common/policy/ceiling.h"

struct sbx_select_input {
    enum sbx_platform platform;
    const char *request; /* SBX_SANDBOX, or NULL / "" */
    const char *opt_in;  /* SBX_ALLOW_NO_SANDBOX, or NULL */
    const struct sbx_policy *policy;
    const struct sbx_facts *facts;
    const struct sbx_ceiling *ceiling;
};

/* What became of one backend while the table was walked. */
enum sbx_verdict {
    SBX_VERDICT_CHOSEN,
    SBX_VERDICT_UNAVAILABLE,   /* its probe failed, or it is not built in */
    SBX_VERDICT_CANNOT,        /* it cannot represent this policy */
    SBX_VERDICT_BELOW_REQUIRE, /* a required dimension would not be enforced */
    SBX_VERDICT_NOT_REACHED,   /* a stronger one was chosen */
    SBX_VERDICT_NOT_ASKED,     /* needs SBX_SANDBOX=… */
    SBX_VERDICT_FORBIDDEN,     /* by the administrator, or for want of a key */
};
extern const struct sbx_name sbx_verdict_names[];

struct sbx_tried {
    enum sbx_backend_id backend;
    enum sbx_verdict verdict;
    bool is_built;      /* false: no change of this machine would help */
    const char *reason; /* NULL when there is nothing to add */
    const char *remedy;
};

struct sbx_selection {
    bool needs_probe; /* probe `backend`, put the answer into the facts, ask again */
    enum sbx_backend_id backend;
    const char *row; /* the row of the table that matched, as printed by explain and doctor */
    const char *why; /* of a refusal: one sentence */
    const char
        *remedy;     /* of a refusal: what to do about just this; NULL: what the platform needs */
    bool may_opt_in; /* the two keys would be accepted for this policy */
    bool warns;      /* `none` was chosen */
    struct sbx_tried tried[SBX_BACKEND_COUNT];
    size_t tried_count;
};

/* SBX_ALLOW_NO_SANDBOX: "1" or "true" in any case; nothing else. */
bool sbx_opt_in_is_set(const char *text);

void sbx_select(struct sbx_arena *arena, const struct sbx_select_input *input,
                struct sbx_selection *out);

/* Why nothing was chosen, as findings with stable codes, for programs. */
void sbx_selection_findings(const struct sbx_selection *selection, struct sbx_findings *findings);

/* The table itself, for docs and doctor: condition and backend; false past the end. */
bool sbx_select_row_at(size_t index, const char **condition, const char **backend);

/* What to do about a refusal, in one sentence. */
const char *sbx_selection_remedy(const struct sbx_selection *selection, enum sbx_platform platform);

/* The refusal of fail-closed: what was tried, why each failed, what to do. */
void sbx_selection_refusal(const struct sbx_selection *selection, enum sbx_platform platform,
                           struct sbx_buf *out);

#endif
