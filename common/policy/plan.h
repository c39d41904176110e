/* The plan: what will be done, as a flat list that can be printed, compared and consented to. */
#ifndef SBX_POLICY_PLAN_H
#define SBX_POLICY_PLAN_H

#include "common/base/jsonw.h"
#include "common/base/sha256.h"
#include "common/policy/backends.h"
#include "common/policy/select.h"

/* Fixed bounds of every box. */
#define SBX_PLAN_DESCRIPTORS 1024
#define SBX_PLAN_TMPFS_BYTES ((uint64_t)512 << 20)
#define SBX_PLAN_TMPFS_INODES 65536
#define SBX_PLAN_SESSION_NS                                                                        \
    (UINT64_C(365) * 86400 * 1000000000) /* the time of an interactive shell */
#define SBX_PLAN_FILE_BYTES ((uint64_t)256 << 30)
#define SBX_PLAN_WINDOWS_PROCESS_MEMORY ((uint64_t)1 << 30)
#define SBX_PLAN_WINDOWS_JOB_MEMORY ((uint64_t)2 << 30)

struct sbx_plan {
    enum sbx_platform platform;
    enum sbx_backend_id backend; /* the one described; never fail-closed */
    const struct sbx_policy *policy;
    const struct sbx_facts *facts;
    const char *const *command; /* NULL-terminated; may be empty for explain */
    bool wants_terminal;        /* the command gets a terminal of its own; not part of the digest */
    uint64_t timeout_ns;        /* never 0 */
    bool timeout_is_default;
    uint64_t memory_bytes;         /* of the whole tree; 0: none */
    uint64_t process_memory_bytes; /* of one process, where the backend holds that too; 0: none */
    bool memory_is_default;
    const char **layers;
    size_t layer_count;
    const struct sbx_step_text *steps;
    struct sbx_tier_entry tiers[SBX_DIM_COUNT];
    const char **notes; /* what a reader should know before it runs */
    size_t note_count, note_capacity;
};

/* policy → plan for one backend. Pure. */
enum sbx_code sbx_plan_make(struct sbx_arena *arena, const struct sbx_policy *policy,
                            const struct sbx_facts *facts, enum sbx_backend_id backend,
                            const char *const *command, struct sbx_plan *out,
                            struct sbx_err *err) SBX_MUST_USE;

/* Of everything that decides what the box may do: equal policies have equal digests, however they were written.
 * Made when it is asked for, which most runs do not. False, and an empty text, when memory is gone. */
bool sbx_plan_digest(const struct sbx_plan *plan, char out[SBX_SHA256_HEX]) SBX_MUST_USE;

/* The same in two steps, for many commands under one plan: the plan without its command, which is most of the work, and
 * one command. What was begun can be ended any number of times. */
bool sbx_plan_digest_begin(const struct sbx_plan *plan, struct sbx_sha256 *out) SBX_MUST_USE;
bool sbx_plan_digest_end(const struct sbx_sha256 *begun, const char *const *command,
                         char out[SBX_SHA256_HEX]) SBX_MUST_USE;

/* The backend to describe: the chosen one, or, where sbx would refuse, the first of the platform. */
enum sbx_backend_id sbx_plan_backend(const struct sbx_selection *selection,
                                     const struct sbx_policy *policy);

/* Values of variables are never printed. With origins: where each rule was said. */
void sbx_plan_print_text(const struct sbx_plan *plan, struct sbx_buf *out);
void sbx_plan_print_json(const struct sbx_plan *plan, struct sbx_jsonw *json);

/* "sbx.toml:4", "-w", "profile strict", "protected": where something was said. */
void sbx_origin_print(const struct sbx_origin *at, struct sbx_buf *out);

#endif
