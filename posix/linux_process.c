/* What /proc tells of processes and descriptors. */
#include "posix/linux_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/str.h"
#include "posix/fd.h"

#include "common/base/banned.h"

bool sbx_process_start(pid_t pid, uint64_t *out)
{
    enum { FIELDS_BETWEEN = 19 }; /* from the state, field 3, to the start, field 22 */
    char text[1024];
    (void)snprintf(text, sizeof text, "/proc/%d/stat", (int)pid);
    AUTO_FD fd = open(text, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : sbx_fd_read(fd, text, sizeof text - 1);
    if (got <= 0) {
        return false;
    }
    text[got] = '\0';
    /* "pid (name) state parent …"; a name may hold parentheses, what follows may not. */
    const char *at = strrchr(text, ')');
    if (at == NULL || at[1] != ' ') {
        return false;
    }
    if (at[2] == 'Z' || at[2] == 'X') {
        *out = 0;
        return true;
    }
    struct sbx_str rest = sbx_str(at + 2);
    struct sbx_str field = {NULL, 0};
    for (int i = 0; i <= FIELDS_BETWEEN; i++) {
        (void)sbx_str_split(rest, ' ', &field, &rest);
    }
    return sbx_str_to_u64(field, out);
}

bool sbx_process_is_dead(pid_t pid, uint64_t start)
{
    uint64_t now = 0;
    if (sbx_process_start(pid, &now)) {
        return now != start;
    }
    return kill(pid, 0) != 0 && errno == ESRCH;
}

bool sbx_fd_name(int fd, char out[PATH_MAX])
{
    char entry[64];
    (void)snprintf(entry, sizeof entry, "/proc/self/fd/%d", fd);
    ssize_t got = readlink(entry, out, PATH_MAX - 1);
    if (got <= 0 || got == PATH_MAX - 1 || out[0] != '/') {
        return false;
    }
    out[got] = '\0';
    return true;
}

static int open_resolved(const char *path, int flags, uint64_t resolve)
{
    struct open_how how = {.flags = (uint64_t)(unsigned)flags, .resolve = resolve};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

int sbx_path_open(const char *path, int flags, bool *is_real)
{
    flags |= O_PATH | O_CLOEXEC;
    int fd = open_resolved(path, flags, RESOLVE_NO_SYMLINKS);
    *is_real = fd >= 0;
    if (fd < 0 && errno == ELOOP) {
        fd = open_resolved(path, flags, RESOLVE_NO_MAGICLINKS);
    }
    return fd < 0 && errno == ENOSYS ? open(path, flags) : fd;
}
