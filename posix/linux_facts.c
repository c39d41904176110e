/* What this Linux can enforce: namespaces, Landlock, seccomp, a control group of our own. */
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/linux_cgroup.h"
#include "posix/linux_userns.h"
#include "posix/system.h"

#include "common/base/banned.h"

/* Not in the headers of older systems; the same on every architecture. */
#define LANDLOCK_CREATE_RULESET 444
#define LANDLOCK_VERSION_FLAG 1U

static unsigned landlock_abi(void)
{
    long version = syscall(LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_VERSION_FLAG);
    return version > 0 ? (unsigned)version : 0;
}

/* Filters that can refuse a call with an errno are what a box needs. */
static bool has_seccomp(void)
{
    uint32_t action = SECCOMP_RET_ERRNO;
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 &&
           syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void sbx_os_facts(struct sbx_arena *arena, struct sbx_facts *out)
{
    out->platform = sbx_system.platform;
    out->is_assumed = false;
    out->is_root = geteuid() == 0;
    out->landlock_abi = landlock_abi();
    out->has_seccomp = has_seccomp();
    out->is_filtered = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER;
    out->cgroup = sbx_cgroup_usable();
    const struct sbx_userns_obstacle *obstacle = sbx_userns_find_obstacle();
    out->userns_obstacle = obstacle == NULL ? NULL : obstacle->what;
    out->userns_remedy = obstacle == NULL ? NULL : obstacle->remedy;

    struct utsname name;
    const char *kernel = NULL;
    if (uname(&name) == 0) {
        kernel = sbx_arena_printf(arena, "%s %s", name.sysname, name.release);
    }
    out->kernel = kernel != NULL ? kernel : "unknown";
}
