/* How a run ended. */
#ifndef SBX_RUN_OUTCOME_H
#define SBX_RUN_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/names.h"

/* Who decided the exit status: sbx's own 124/125 against a command's. */
enum sbx_origin_of_status { SBX_FROM_COMMAND, SBX_FROM_SBX };

/* What ended the run before its time. */
enum sbx_limit {
    SBX_LIMIT_NONE,
    SBX_LIMIT_TIMEOUT,
    SBX_LIMIT_MEMORY,
    SBX_LIMIT_CPU,
    SBX_LIMIT_PROCESSES,
    SBX_LIMIT_OUTPUT,
    SBX_LIMIT_CANCEL,    /* the caller ended it (two interrupts, or the caller died) */
    SBX_LIMIT_PROTECTED, /* a protected name was made or changed, where that is seen, not prevented */
};
extern const struct sbx_name sbx_limit_names[];

struct sbx_outcome {
    enum sbx_origin_of_status origin;
    bool started;       /* the command's first instruction ran */
    uint32_t exit_code; /* the command's own; Windows codes have 32 bits */
    int signal;         /* POSIX: ended by this signal, else 0 */
    enum sbx_limit limit;
    uint64_t wall_ns;
    uint64_t cpu_ns;            /* of the whole tree, as far as the system tells */
    uint64_t peak_memory_bytes; /* of the largest process, as far as the system tells */
    uint64_t forks_refused;     /* by the limit of processes */
    uint64_t stdout_bytes;      /* only counted when sbx carried the stream itself */
    uint64_t stderr_bytes;
};

/* Process status for sbx's caller: the command's own, 124 a limit, 128+n a signal. */
uint32_t sbx_outcome_status(const struct sbx_outcome *outcome);

#endif
