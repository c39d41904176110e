/* What this Windows is. */
#include "common/os.h"
#include "win/system.h"
#include "win/winapi.h"

#include "common/base/banned.h"

void sbx_os_facts(struct sbx_arena *arena, struct sbx_facts *out)
{
    out->platform = SBX_WINDOWS;
    out->is_assumed = false;
    out->is_root = sbx_system_is_elevated();
    out->landlock_abi = 0;
    out->has_seccomp = false;
    out->cgroup = SBX_CGROUP_NONE;

    RTL_OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
    const char *kernel = NULL;
    if (sbx_win()->RtlGetVersion(&version) == 0) {
        kernel = sbx_arena_printf(arena, "Windows %lu.%lu.%lu", version.dwMajorVersion,
                                  version.dwMinorVersion, version.dwBuildNumber);
    }
    out->kernel = kernel != NULL ? kernel : "unknown";
}
