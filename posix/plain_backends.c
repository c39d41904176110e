/* The backends that this POSIX build brings. */
#include "common/run/backend.h"

#include "common/base/banned.h"

const struct sbx_backend *const *sbx_platform_backends(void)
{
    static const struct sbx_backend *const backends[] = {NULL};
    return backends;
}
