/* A warning that is repeated, but not too often. */
#include "common/run/warning.h"

#include "common/base/banned.h"

bool sbx_warning_due(struct sbx_warning *warning, uint64_t now_ns)
{
    bool is_due = !warning->has_warned || now_ns - warning->last_ns >= SBX_WARNING_INTERVAL_NS;
    if (is_due) *warning = (struct sbx_warning){true, now_ns};
    return is_due;
}
