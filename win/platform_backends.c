/* The backends that this Windows build brings. */
#include "win/backend_win.h"

#include "common/base/banned.h"

const struct sbx_backend *const *sbx_platform_backends(void)
{
    static const struct sbx_backend *const backends[] = {&sbx_backend_appcontainer, NULL};
    return backends;
}
