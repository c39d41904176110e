/* A warning that is repeated, but not too often. */
#ifndef SBX_RUN_WARNING_H
#define SBX_RUN_WARNING_H

#include <stdbool.h>
#include <stdint.h>

#define SBX_WARNING_INTERVAL_NS ((uint64_t)60 * 1000000000u)

/* One per session; zero is new. */
struct sbx_warning {
    bool has_warned;
    uint64_t last_ns;
};

/* True when it is due at `now_ns` (monotonic): the first time, and then at most once per 60 s. */
bool sbx_warning_due(struct sbx_warning *warning, uint64_t now_ns);

#endif
