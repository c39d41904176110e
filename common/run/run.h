/* The pipeline, and the first page to read: manifest → policy → selection → plan are pure; only then does
 * a backend touch the host. */
#ifndef SBX_RUN_RUN_H
#define SBX_RUN_RUN_H

#include "common/policy/plan.h"
#include "common/policy/select.h"
#include "common/run/backend.h"
#include "common/run/probe.h"

struct sbx_prepare_input {
    const struct sbx_manifest *manifest; /* file and flags merged */
    const struct sbx_context *context;
    const struct sbx_ceiling *ceiling;
    const char *request;        /* SBX_SANDBOX */
    const char *opt_in;         /* SBX_ALLOW_NO_SANDBOX */
    const char *const *command; /* NULL-terminated, may be empty */
    bool wants_terminal;        /* one of the command's own; then the caller's TERM is passed too */
    bool will_run;              /* at once, when nothing speaks against it */
    bool is_session; /* a person's: it lasts until it is left, unless a timeout is declared */
    struct sbx_probe_cache *probes; /* not used when the context is assumed */
};

/* Everything decided before a process exists. Lives in the arena it was made in. */
struct sbx_prepared {
    struct sbx_policy policy;
    struct sbx_facts facts;
    struct sbx_selection selection;
    struct sbx_plan
        plan; /* for the chosen backend, or for the one that would be used if it worked */
};

/* A run is about to be prepared, with this SBX_SANDBOX: a backend may begin what does not depend on the manifest. */
void sbx_run_expect(const char *request);
/* There will be none: whatever was begun for it is gone afterwards. */
void sbx_run_expect_nothing(void);

/* SBX_E_INVALID when the findings have errors (then *out is incomplete). Selecting fail-closed is a
 * success here: the refusal comes when it is run. */
enum sbx_code sbx_prepare(struct sbx_arena *arena, const struct sbx_prepare_input *input,
                          struct sbx_findings *findings, struct sbx_prepared *out,
                          struct sbx_err *err) SBX_MUST_USE;

/* Runs what was prepared with the backend that was selected. */
enum sbx_code sbx_run(struct sbx_arena *arena, const struct sbx_prepared *prepared,
                      struct sbx_run_record *out, struct sbx_err *err) SBX_MUST_USE;

#endif
