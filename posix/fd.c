/* File descriptors that have one owner: closing, whole reads and writes, pipes. */
#include "posix/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "posix/system.h"

#include "common/base/banned.h"

enum { FIRST_OWN_FD = 3 };

void sbx_fd_close(int *fd)
{
    if (*fd >= 0) {
        int saved = errno;
        /* Not repeated after EINTR: Linux has closed it by then, and the number may be someone
         * else's. */
        (void)close(*fd);
        errno = saved;
        *fd = -1;
    }
}

ssize_t sbx_fd_read(int fd, void *bytes, size_t len)
{
    ssize_t got;
    do {
        got = read(fd, bytes, len);
    } while (got < 0 && errno == EINTR);
    return got;
}

int sbx_fd_open_below(int root, const char *rest, int way, int flags)
{
    way |= O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    AUTO_FD at = openat(root, ".", way);
    char name[NAME_MAX + 1];
    while (at >= 0) {
        size_t len = strcspn(rest, "/");
        if (len >= sizeof name) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(name, rest, len);
        name[len] = '\0';
        rest += len;
        rest += strspn(rest, "/");
        if (*rest == '\0') {
            return openat(at, len == 0 ? "." : name, flags | O_CLOEXEC);
        }
        int next = openat(at, name, way);
        sbx_fd_close(&at);
        at = next;
    }
    return -1;
}

/* An error or hang-up counts as ready: the next write tells which. */
static bool wait_writable(int fd)
{
    struct pollfd slot = {.fd = fd, .events = POLLOUT};
    int ready;
    do {
        ready = poll(&slot, 1, -1);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

bool sbx_fd_write_all(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t put = write(fd, at, len);
        if (put >= 0) {
            at += put;
            len -= (size_t)put;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!wait_writable(fd)) {
                return false;
            }
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* A pipe made while a standard stream is closed would take its number. */
static bool move_up(int *fd)
{
    if (*fd >= FIRST_OWN_FD) {
        return true;
    }
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
    if (moved < 0) {
        return false;
    }
    sbx_fd_close(fd);
    *fd = moved;
    return true;
}

bool sbx_fd_pipe(int *read_end, int *write_end)
{
    int ends[2];
    if (!sbx_system_pipe(ends)) {
        return false;
    }
    AUTO_FD first = ends[0];
    AUTO_FD second = ends[1];
    if (!move_up(&first) || !move_up(&second)) {
        return false;
    }
    *read_end = SBX_TAKE(first, -1);
    *write_end = SBX_TAKE(second, -1);
    return true;
}

bool sbx_fd_set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}
