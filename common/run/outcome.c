/* How a run ended: names and the status for sbx's caller. */
#include "common/run/outcome.h"

#include "common/base/banned.h"

const struct sbx_name sbx_limit_names[] = {
    {SBX_LIMIT_NONE, "none"},     {SBX_LIMIT_TIMEOUT, "timeout"},     {SBX_LIMIT_MEMORY, "memory"},
    {SBX_LIMIT_CPU, "cpu"},       {SBX_LIMIT_PROCESSES, "processes"}, {SBX_LIMIT_OUTPUT, "output"},
    {SBX_LIMIT_CANCEL, "cancel"}, {SBX_LIMIT_PROTECTED, "protected"}, {0, NULL}};

uint32_t sbx_outcome_status(const struct sbx_outcome *outcome)
{
    const uint32_t limit_reached = 124;
    const uint32_t ended_by_signal = 128;
    if (outcome->limit != SBX_LIMIT_NONE && outcome->limit != SBX_LIMIT_CANCEL)
        return limit_reached;
    if (outcome->signal > 0) return ended_by_signal + (uint32_t)outcome->signal;
    return outcome->exit_code;
}
