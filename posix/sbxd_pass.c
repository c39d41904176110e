/* A connected socket from the system service to a worker. */
#include "posix/sbxd_pass.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "posix/fd.h"

#include "common/base/banned.h"

/* macOS has no sequenced packets for local sockets; datagrams keep their borders too. */
#ifdef __APPLE__
enum { KIND = SOCK_DGRAM };
#else
enum { KIND = SOCK_SEQPACKET };
#endif

union rights {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

bool sbxd_pass_pair(int ends[2])
{
    if (socketpair(AF_UNIX, KIND, 0, ends) != 0) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        (void)!sbx_fd_set_nonblocking(ends[i]);
    }
    return true;
}

bool sbxd_pass_send(int to, int fd)
{
    char byte = 0;
    union rights rights;
    memset(&rights, 0, sizeof rights);
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &rights,
                             .msg_controllen = sizeof rights.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    return sendmsg(to, &message, 0) == 1;
}

enum sbxd_passed sbxd_pass_receive(int from, int *fd)
{
    char byte;
    union rights rights;
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &rights,
                             .msg_controllen = sizeof rights.bytes};
    ssize_t got = recvmsg(from, &message, 0);
    if (got < 0) {
        return errno == EAGAIN || errno == EINTR ? SBXD_PASSED_NOTHING : SBXD_PASSED_END;
    }
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (got == 0) {
        return SBXD_PASSED_END;
    }
    if (head == NULL || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof *fd)) {
        return SBXD_PASSED_NOTHING;
    }
    memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof *fd);
    (void)fcntl(*fd, F_SETFD, FD_CLOEXEC);
    return SBXD_PASSED_FD;
}
