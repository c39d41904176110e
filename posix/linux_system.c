/* What Linux gives beyond POSIX: traits, closing descriptors, death with the parent. */
#include "posix/system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix/fd.h"

#include "common/base/banned.h"

const struct sbx_system_traits sbx_system = {
    .platform = SBX_LINUX,
    .rules = SBX_PATH_POSIX,
    .own_dir = NULL,
};

void sbx_system_harden(void)
{
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

bool sbx_system_pipe(int ends[2])
{
    return pipe2(ends, O_CLOEXEC) == 0;
}

bool sbx_system_self(char *out, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", out, size);
    if (len < 0) {
        return false;
    }
    if ((size_t)len >= size) {
        errno = ENAMETOOLONG;
        return false;
    }
    out[len] = '\0';
    return true;
}

uint64_t sbx_system_peak_bytes(const struct rusage *usage)
{
    return (uint64_t)usage->ru_maxrss * 1024; /* Linux counts in KiB */
}

/* ---- descriptors --------------------------------------------------------------------------------- */

/* The kernel's own layout; the C library's readdir allocates, which is not allowed after fork. */
struct kernel_dirent {
    uint64_t inode;
    int64_t next;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* The descriptor a name in /proc/self/fd stands for; -1 for "." and "..". */
static int number_of(const char *name)
{
    int number = 0;
    for (; *name != '\0'; name++) {
        if (*name < '0' || *name > '9') {
            return -1;
        }
        number = number * 10 + (*name - '0');
    }
    return number;
}

/* Kernels before 5.9. Closing while reading is fine: entries come in ascending order of number and
 * the position is the number. */
static bool close_listed(int first)
{
    AUTO_FD dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) {
        return false;
    }
    _Alignas(struct kernel_dirent) char block[4096];
    for (;;) {
        long got = syscall(SYS_getdents64, dir, block, sizeof block);
        if (got <= 0) {
            return got == 0;
        }
        for (long at = 0; at < got;) {
            const struct kernel_dirent *entry = (const void *)(block + at);
            int fd = number_of(entry->name);
            if (fd >= first && fd != dir) {
                (void)close(fd);
            }
            at += entry->length;
        }
    }
}

void sbx_system_close_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0) {
        return;
    }
#endif
    if (close_listed(first)) {
        return;
    }
    /* Neither the call nor /proc: every number that can be open. */
    struct rlimit limit;
    long end = 65536;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < (rlim_t)end) {
        end = (long)limit.rlim_max;
    }
    for (int fd = first; fd < end; fd++) {
        (void)close(fd);
    }
}

/* ---- death and orphans ----------------------------------------------------------------------- */

bool sbx_system_die_with(pid_t parent)
{
    /* The parent may have died before the call; then the signal never comes. */
    return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == parent;
}

int sbx_system_watch(pid_t child)
{
    return (int)syscall(SYS_pidfd_open, child, 0);
}

bool sbx_system_adopt_orphans(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}
