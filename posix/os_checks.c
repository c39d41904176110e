/* What doctor looks at besides the backends: here all of it is in the facts. */
#include "common/os.h"

#include "common/base/banned.h"

size_t sbx_os_checks(struct sbx_arena *arena, const struct sbx_context *context,
                     struct sbx_check out[SBX_CHECKS_MAX])
{
    (void)arena;
    (void)context;
    (void)out;
    return 0;
}
