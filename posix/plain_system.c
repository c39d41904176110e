/* posix/system.h with nothing but POSIX: for kernels that have no file of their own. */
#include "posix/system.h"

#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "posix/fd.h"

#include "common/base/banned.h"

#ifdef __APPLE__
const struct sbx_system_traits sbx_system = {
    .platform = SBX_MACOS,
    .rules = SBX_PATH_MACOS,
    .own_dir = "Library/Application Support/sbx",
};
enum { MAXRSS_UNIT = 1 };

bool sbx_system_self(char *out, size_t size)
{
    uint32_t room = (uint32_t)size;
    if (_NSGetExecutablePath(out, &room) != 0) {
        errno = ENAMETOOLONG;
        return false;
    }
    return true;
}
#else
const struct sbx_system_traits sbx_system = {
    .platform = SBX_LINUX,
    .rules = SBX_PATH_POSIX,
    .own_dir = NULL,
};
enum { MAXRSS_UNIT = 1024 };

bool sbx_system_self(char *out, size_t size)
{
    (void)out;
    (void)size;
    errno = ENOSYS;
    return false;
}
#endif

uint64_t sbx_system_peak_bytes(const struct rusage *usage)
{
    return (uint64_t)usage->ru_maxrss * MAXRSS_UNIT;
}

/* Another thread that forks and executes between the calls gets the pipe too. */
void sbx_system_harden(void)
{
}

bool sbx_system_pipe(int ends[2])
{
    int made[2];
    if (pipe(made) != 0) {
        return false;
    }
    AUTO_FD first = made[0];
    AUTO_FD second = made[1];
    if (fcntl(first, F_SETFD, FD_CLOEXEC) != 0 || fcntl(second, F_SETFD, FD_CLOEXEC) != 0) {
        return false;
    }
    ends[0] = SBX_TAKE(first, -1);
    ends[1] = SBX_TAKE(second, -1);
    return true;
}

void sbx_system_close_from(int first)
{
    struct rlimit limit;
    long end = 65536;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < (rlim_t)end) {
        end = (long)limit.rlim_max;
    }
    for (int fd = first; fd < end; fd++) {
        (void)close(fd);
    }
}

bool sbx_system_die_with(pid_t parent)
{
    return getppid() == parent;
}

int sbx_system_watch(pid_t child)
{
    (void)child;
    errno = ENOSYS;
    return -1;
}

bool sbx_system_adopt_orphans(void)
{
    return false;
}

/* Unreachable while no orphans are adopted: the keeper then works on the child's process group. */
void sbx_system_signal_tree(int signal_number)
{
    (void)signal_number;
}

void sbx_system_signal_children(int signal_number)
{
    (void)signal_number;
}

void sbx_os_facts(struct sbx_arena *arena, struct sbx_facts *out)
{
    out->platform = sbx_system.platform;
    out->is_assumed = false;
    out->is_root = geteuid() == 0;
    out->landlock_abi = 0;
    out->has_seccomp = false;
    out->cgroup = SBX_CGROUP_NONE;
    struct utsname name;
    const char *kernel = NULL;
    if (uname(&name) == 0) {
        kernel = sbx_arena_printf(arena, "%s %s", name.sysname, name.release);
    }
    out->kernel = kernel != NULL ? kernel : "unknown";
}

enum sbx_code sbx_os_share_network(int user_fd, int net_fd, struct sbx_err *err)
{
    (void)user_fd;
    (void)net_fd;
    return sbx_err_set(err, SBX_E_UNSUPPORTED, "boxes cannot share a network on this system");
}
