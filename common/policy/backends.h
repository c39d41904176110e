/* What each backend can represent, which layers and steps it consists of, and how well it holds each
 * dimension. Data and pure functions: a Linux machine describes the Windows backend too. How a backend
 * is carried out is in posix/ and win/. */
#ifndef SBX_POLICY_BACKENDS_H
#define SBX_POLICY_BACKENDS_H

#include "common/policy/facts.h"
#include "common/policy/policy.h"

/* Shapes of policy a backend can represent. */
enum sbx_can {
    SBX_CAN_MASK_READ = 1u << 0,   /* a narrower rule below a readable path */
    SBX_CAN_CARVE_WRITE = 1u << 1, /* a narrower rule below a writable path */
    SBX_CAN_PROTECT = 1u << 2,     /* names at any depth, also when absent */
    SBX_CAN_TMPFS = 1u << 3,
    SBX_CAN_SOCKETS = 1u << 4,
    SBX_CAN_NET_DENY = 1u << 5,
    SBX_CAN_ALLOW_HOSTS = 1u << 6, /* with the egress gate */
    SBX_CAN_IDENTITY = 1u << 7,
    SBX_CAN_RAW_ARGS = 1u << 8,
    SBX_CAN_DEEP_GLOBS = 1u << 9, /* globs with ** */
    SBX_CAN_IMAGE = 1u << 10,
    SBX_CAN_TERMINAL = 1u << 11, /* a terminal of the command's own */
};

/* One line of a plan: what is done, and how it is undone (NULL: it ends with the process). */
struct sbx_step_text {
    const char *apply;
    const char *revert;
};

struct sbx_backend_row {
    enum sbx_backend_id id;
    unsigned platforms;
    unsigned can;
    bool is_sandbox; /* not `none`, not `fail-closed` */
    uint64_t default_timeout_ns;
    const char *summary;
    const char *remedy;                /* when it is missing on its platform */
    const struct sbx_step_text *steps; /* ends with apply NULL */
};

const struct sbx_backend_row *sbx_backend_row(enum sbx_backend_id id);

/* Backends of a platform, strongest first; ends with SBX_BACKEND_COUNT. The one table of that order. */
const enum sbx_backend_id *sbx_backend_order(enum sbx_platform platform);

/* Can the backend represent this policy? Each entry it cannot is a policy-unsupported finding that names
 * it (findings may be NULL to ask only). */
bool sbx_backend_accepts(enum sbx_backend_id id, const struct sbx_policy *policy,
                         const struct sbx_facts *facts, struct sbx_findings *findings);

/* How well one dimension is held. */
struct sbx_tier_entry {
    enum sbx_tier tier;
    bool is_asked; /* the policy restricts it; otherwise nothing has to be held */
    const char *mechanism;
    const char *reason; /* why not better, or NULL */
};
void sbx_backend_tiers(enum sbx_backend_id id, const struct sbx_policy *policy,
                       const struct sbx_facts *facts, struct sbx_tier_entry out[SBX_DIM_COUNT]);

/* Layers in the order they are applied, as texts; the arena holds them. NULL without memory. */
const char **sbx_backend_layers(struct sbx_arena *arena, enum sbx_backend_id id,
                                const struct sbx_policy *policy, const struct sbx_facts *facts,
                                size_t *count);

#endif
