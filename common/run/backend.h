/* A way to build a box, as a vtable; several live in one process. What a backend can represent and how
 * well it holds is data (policy/backends.h); this is how it is carried out. */
#ifndef SBX_RUN_BACKEND_H
#define SBX_RUN_BACKEND_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/policy/plan.h"
#include "common/run/record.h"

struct sbx_backend {
    enum sbx_backend_id id;

    /* Can it be used on this machine? Answers by really trying. *out gets PASSED with a version or FAILED
     * with reason and remedy; texts live in `arena`. */
    void (*probe)(struct sbx_arena *arena, struct sbx_probe *out);

    /* Carries the plan out to its end. On failure nothing of the box is left; SBX_E_NOT_FOUND and
     * SBX_E_DENIED: the command cannot be found or executed; other codes: sbx failed or refused. What
     * *out points to lives in `arena`. */
    enum sbx_code (*run)(struct sbx_arena *arena, const struct sbx_plan *plan,
                         const struct sbx_selection *selection, struct sbx_run_record *out,
                         struct sbx_err *err);

    /* This policy will probably be carried out next, by this backend: what any box for it takes can begin while the
     * rest is decided. Without a policy: one that is not known yet, and most are alike in what matters here; it is told
     * later, and what was begun is given up where it does not fit. Nothing may be changed but what `forget` undoes at
     * once, and nothing of the command's may run. NULL, both: nothing can begin. */
    void (*expect)(const struct sbx_policy *policy);
    void (*forget)(void);
};

/* Backends of this build, in any order (policy/backends.h has the order); NULL for one that is not built
 * in. `none` and `fail-closed` always are. */
const struct sbx_backend *sbx_backend_find(enum sbx_backend_id id);

/* Backends that posix/ or win/ bring; ends with NULL. Implemented there. */
const struct sbx_backend *const *sbx_platform_backends(void);

extern const struct sbx_backend sbx_backend_none;
extern const struct sbx_backend sbx_backend_fail_closed;

#endif
