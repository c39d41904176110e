/* Reading from a socket that brings descriptors along. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/service/port.h"
#include "posix/fd.h"

#include "common/base/banned.h"

enum { PIECE = 64 * 1024, AT_ONCE = 16 };

struct sbx_port_reader {
    uv_poll_t poll;
    int fd; /* a second one: the first is libuv's, for writing */
    sbx_port_on_read *on_read;
    void *owner;
    bool is_closed, reads;
};

static char piece[PIECE]; /* of whoever is read just now */

static struct cmsghdr *next_of(struct msghdr *message, struct cmsghdr *head)
{
    /* musl's macro makes an unsigned mask of a signed number. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
    return CMSG_NXTHDR(message, head);
#pragma GCC diagnostic pop
}

/* What came with the bytes; more than expected is closed. */
static size_t take_rights(struct msghdr *message, int fds[SBX_PORT_RIGHTS_MAX])
{
    size_t count = 0;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head != NULL;
         head = next_of(message, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        size_t got = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < got; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
#ifndef MSG_CMSG_CLOEXEC
            (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
#endif
            if (count < SBX_PORT_RIGHTS_MAX) {
                fds[count++] = fd;
            } else {
                (void)close(fd);
            }
        }
    }
    return count;
}

static ssize_t receive(int fd, int fds[SBX_PORT_RIGHTS_MAX], size_t *count)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(SBX_PORT_RIGHTS_MAX * sizeof(int))];
    } rights;
    struct iovec data = {.iov_base = piece, .iov_len = sizeof piece};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &rights,
                             .msg_controllen = sizeof rights.bytes};
#ifdef MSG_CMSG_CLOEXEC
    ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
#else
    ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT);
#endif
    *count = got >= 0 ? take_rights(&message, fds) : 0;
    return got;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct sbx_port_reader *reader = (struct sbx_port_reader *)poll->data;
    (void)events;
    for (int i = 0; i < AT_ONCE && !reader->is_closed && reader->reads; i++) {
        int fds[SBX_PORT_RIGHTS_MAX];
        size_t count = 0;
        ssize_t got = status < 0 ? -1 : receive(reader->fd, fds, &count);
        if (got < 0 && status == 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
            return;
        }
        reader->on_read(reader->owner, piece, got, fds, count);
        if (got < (ssize_t)sizeof piece) {
            return;
        }
    }
}

struct sbx_port_reader *sbx_port_reader_open(uv_loop_t *loop, uv_stream_t *stream,
                                             sbx_port_on_read *on_read, void *owner)
{
    uv_os_fd_t fd;
    int kind = 0;
    socklen_t size = sizeof kind;
    if (uv_fileno((uv_handle_t *)stream, &fd) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) != 0) {
        return NULL;
    }
    AUTO_FD other = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    struct sbx_port_reader *reader =
        other < 0 ? NULL : (struct sbx_port_reader *)calloc(1, sizeof *reader);
    if (reader == NULL || uv_poll_init(loop, &reader->poll, other) != 0) {
        free(reader);
        return NULL;
    }
    reader->poll.data = reader;
    reader->fd = SBX_TAKE(other, -1);
    reader->on_read = on_read;
    reader->owner = owner;
    return reader;
}

void sbx_port_reader_go(struct sbx_port_reader *reader, bool reads)
{
    reader->reads = reads;
    if (reads) {
        (void)uv_poll_start(&reader->poll, UV_READABLE, on_ready);
    } else {
        (void)uv_poll_stop(&reader->poll);
    }
}

static void on_closed(uv_handle_t *handle)
{
    struct sbx_port_reader *reader = (struct sbx_port_reader *)handle->data;
    sbx_fd_close(&reader->fd);
    free(reader);
}

void sbx_port_reader_close(struct sbx_port_reader *reader)
{
    if (reader != NULL && !reader->is_closed) {
        reader->is_closed = true;
        uv_close((uv_handle_t *)&reader->poll, on_closed);
    }
}
