/* The backends that a Linux build brings. */
#include "posix/backend_linux.h"

#include "common/base/banned.h"

const struct sbx_backend *const *sbx_platform_backends(void)
{
    static const struct sbx_backend *const backends[] = {&sbx_backend_bwrap, &sbx_backend_native,
                                                         &sbx_backend_landlock, NULL};
    return backends;
}
