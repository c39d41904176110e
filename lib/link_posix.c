/* A unix socket to a worker. */
#include "lib/link_posix.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/base/banned.h"

#define SYSTEM_SOCKET "/run/sbx/sbx.sock"
#define DESCRIPTORS 3

#ifdef MSG_NOSIGNAL
#define QUIET MSG_NOSIGNAL
#else
#define QUIET 0 /* the socket has SO_NOSIGPIPE */
#endif

/* ---- connecting ---- */

int sbx_link_socket(int fd)
{
    if (fd < 0) return fd;
    int flags = fcntl(fd, F_GETFD);
    (void)fcntl(fd, F_SETFD, (flags < 0 ? 0 : flags) | FD_CLOEXEC);
#ifdef SO_NOSIGPIPE
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return fd;
}

/* The one who listens must be one who could do what a worker does anyway. */
static bool is_trusted(int fd)
{
#ifdef SO_PEERCRED
    struct ucred peer;
    socklen_t len = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0) return false;
    uid_t uid = peer.uid;
#else
    uid_t uid;
    gid_t gid;
    if (getpeereid(fd, &uid, &gid) != 0) return false;
#endif
    return uid == 0 || uid == geteuid();
}

static enum sbx_code connect_to(const char *path, int timeout_ms, struct sbx_link *out,
                                struct sbx_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof address.sun_path)
        return sbx_err_set(err, SBX_E_INVALID, "\"%.100s\" is no possible name of a socket", path);
    memcpy(address.sun_path, path, len);
    AUTO_SOCKET fd = sbx_link_socket(socket(AF_UNIX, SOCK_STREAM, 0));
    if (fd < 0)
        return sbx_err_os(err, SBX_E_IO, SBX_OS_ERRNO, errno, "socket", "no socket can be made");
    struct timeval limit = {.tv_sec = timeout_ms / 1000,
                            .tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000};
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    int done;
    do {
        done = connect(fd, (const struct sockaddr *)&address, sizeof address);
    } while (done != 0 && errno == EINTR);
    if (done != 0) {
        int raw = errno;
        bool is_absent = raw == ENOENT || raw == ECONNREFUSED || raw == ENOTDIR;
        return sbx_err_os(err, is_absent ? SBX_E_NOT_FOUND : SBX_E_IO, SBX_OS_ERRNO, raw, "connect",
                          "no service answers at \"%s\"", path);
    }
    if (!is_trusted(fd))
        return sbx_err_set(err, SBX_E_UNTRUSTED, "what listens at \"%s\" belongs to another user",
                           path);
    *out = (struct sbx_link){.stream = SBX_TAKE(fd, -1), .worker = -1};
    return SBX_OK;
}

static enum sbx_code connect_to_users(int timeout_ms, struct sbx_link *out, struct sbx_err *err)
{
    AUTO_BUF path;
    sbx_buf_init(&path, 4096);
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime != NULL && runtime[0] == '/')
        sbx_buf_printf(&path, "%s/sbx/sbx.sock", runtime);
    else
        sbx_buf_printf(&path, "/run/user/%lu/sbx/sbx.sock", (unsigned long)geteuid());
    enum sbx_code code = sbx_buf_check(&path, err);
    return code != SBX_OK ? code : connect_to(sbx_buf_text(&path), timeout_ms, out, err);
}

enum sbx_code sbx_link_connect(const char *address, int timeout_ms, struct sbx_link *out,
                               struct sbx_err *err)
{
    if (address == NULL) address = getenv("SBX_SOCKET");
    if (address != NULL && address[0] != '\0') {
        enum sbx_code code = connect_to(address, timeout_ms, out, err);
        if (code == SBX_E_NOT_FOUND) (void)sbx_err_hint(err, "start one with: sbx serve");
        return code;
    }
    struct sbx_err users = {0};
    enum sbx_code code = connect_to_users(timeout_ms, out, &users);
    if (code == SBX_OK) return SBX_OK;
    code = connect_to(SYSTEM_SOCKET, timeout_ms, out, err);
    if (code == SBX_OK) return SBX_OK;
    /* The user's own is the one to start; the system's is told when it is there and does not work. */
    if (err != NULL && code == SBX_E_NOT_FOUND) *err = users;
    if (err != NULL && err->code == SBX_E_NOT_FOUND)
        (void)sbx_err_hint(err, "start one with: sbx serve, or by systemd with: systemctl "
                                "--user enable --now sbxd.socket; or name its socket in "
                                "SBX_SOCKET");
    return err != NULL ? err->code : code;
}

enum sbx_code sbx_link_adopt(int fd, struct sbx_link *out, struct sbx_err *err)
{
    int type = 0;
    socklen_t len = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0 || type != SOCK_STREAM)
        return sbx_err_set(err, SBX_E_INVALID, "descriptor %d is no connected socket", fd);
    *out = (struct sbx_link){.stream = sbx_link_socket(fd), .worker = -1};
    return SBX_OK;
}

/* ---- bytes ---- */

static enum sbx_link_state state_of(ssize_t count, size_t *moved)
{
    if (count > 0) {
        *moved = (size_t)count;
        return SBX_LINK_MOVED;
    }
    bool is_busy = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    return is_busy ? SBX_LINK_BUSY : SBX_LINK_OVER;
}

enum sbx_link_state sbx_link_read(struct sbx_link *link, void *bytes, size_t len, size_t *moved)
{
    return state_of(recv((int)link->stream, bytes, len, MSG_DONTWAIT), moved);
}

enum sbx_link_state sbx_link_write(struct sbx_link *link, const void *bytes, size_t len,
                                   const int *fds, size_t *moved)
{
    if (fds == NULL)
        return state_of(send((int)link->stream, bytes, len, MSG_DONTWAIT | QUIET), moved);
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
    } control = {.room = {0}};
    /* sendmsg only reads what iov_base leads to. */
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = len};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(DESCRIPTORS * sizeof(int));
    memcpy(CMSG_DATA(head), fds, DESCRIPTORS * sizeof(int));
    return state_of(sendmsg((int)link->stream, &message, MSG_DONTWAIT | QUIET), moved);
}

bool sbx_link_passes_descriptors(const struct sbx_link *link)
{
    return link->stream >= 0;
}

void sbx_link_wait(struct sbx_link *link, bool is_writing, int timeout_ms)
{
    struct pollfd poll_for = {.fd = (int)link->stream,
                              .events = (short)(POLLIN | (is_writing ? POLLOUT : 0))};
    (void)poll(&poll_for, 1, timeout_ms);
}

intptr_t sbx_link_pollable(const struct sbx_link *link)
{
    return link->stream;
}

/* ---- the caller's process ---- */

uint64_t sbx_link_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool sbx_link_add_directory(struct sbx_buf *out)
{
    char room[4096]; /* PATH_MAX: the kernel gives no longer one */
    if (getcwd(room, sizeof room) == NULL) return false;
    sbx_buf_add_text(out, room);
    return true;
}

void sbx_link_add_environment(struct sbx_buf *out)
{
    for (char **entry = sbx_link_variables(); entry != NULL && *entry != NULL; entry++)
        sbx_buf_add(out, *entry, strlen(*entry) + 1);
}
