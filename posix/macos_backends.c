/* The backends that a macOS build brings. */
#include "posix/backend_macos.h"

#include "common/base/banned.h"

const struct sbx_backend *const *sbx_platform_backends(void)
{
    static const struct sbx_backend *const backends[] = {&sbx_backend_seatbelt, NULL};
    return backends;
}
