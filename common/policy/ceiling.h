/* The administrator's ceiling: policy.toml, an upper bound on every manifest. */
#ifndef SBX_POLICY_CEILING_H
#define SBX_POLICY_CEILING_H

#include "common/policy/facts.h"
#include "common/policy/manifest.h"

struct sbx_ceiling {
    bool is_present;
    const char *source;   /* file name, for messages */
    bool allow_raw_bwrap; /* default false */
    bool allow_none;      /* default true: the two keys work */
    bool has_backend;
    enum sbx_backend_id backend; /* forced */
    struct sbx_texts forbid_paths;
    enum sbx_net_kind max_network; /* default inherit */
    uint64_t max_timeout_ns;       /* 0: none; likewise below */
    uint64_t max_memory_bytes;
    uint64_t max_cpu_secs;
    uint64_t max_processes;
    uint64_t max_output_bytes;
    struct sbx_texts sessions; /* user names that may open sessions; default nobody */
};

/* No file: nothing is bounded, raw arguments are off, nobody may open sessions. */
void sbx_ceiling_init(struct sbx_ceiling *ceiling);

/* Reads the file's table; every problem is a finding, and any error means nothing may run. */
void sbx_ceiling_read(struct sbx_arena *arena, const char *source, const struct sbx_value *root,
                      struct sbx_findings *findings, struct sbx_ceiling *out);

/* Rows for docs: name, type, meaning. */
struct sbx_ceiling_row {
    const char *name;
    const char *type;
    const char *help;
};
bool sbx_ceiling_row_at(size_t index, struct sbx_ceiling_row *out); /* false past the end */

#endif
