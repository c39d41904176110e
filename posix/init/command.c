/* The command of a box that was built before it was known: one message to the held process. */
#include <stddef.h>
#include <sys/socket.h>

#include "posix/init/init.h"
#include "posix/init/sys.h"

#include "common/base/banned.h"

enum { INVALID = -22 };

/* As the kernel lays out a struct cmsghdr, with room for more than planned: that is noticed. */
struct rights {
    size_t length;
    int32_t level, type;
    int32_t fds[SBX_COMMAND_STREAMS + 1];
};
_Static_assert(CMSG_LEN(0) == offsetof(struct rights, fds), "they stand behind the head");

static union {
    struct sbx_init_plan block;
    char bytes[SBX_COMMAND_MAX_BYTES];
} command;

static long receive(int socket, struct rights *out)
{
    struct iovec data = {&command, sizeof command};
    struct msghdr message;
    long got;
    do {
        message = (struct msghdr){
            .msg_iov = &data, .msg_iovlen = 1, .msg_control = out, .msg_controllen = sizeof *out};
        got = SYS3(recvmsg, socket, &message, MSG_CMSG_CLOEXEC);
    } while (got == -4);
    if (got <= 0) {
        return got == 0 ? 1 : got;
    }
    bool is_whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
                    message.msg_controllen >= CMSG_LEN(0) && out->level == SOL_SOCKET &&
                    out->type == SCM_RIGHTS &&
                    out->length == CMSG_LEN(SBX_COMMAND_STREAMS * sizeof(int32_t)) &&
                    got > (long)sizeof command.block && command.block.magic == SBX_INIT_MAGIC &&
                    command.block.bytes == (uint32_t)got;
    return is_whole ? 0 : INVALID;
}

long init_take_command(struct init *init, int socket)
{
    struct rights rights = {0};
    long answer = receive(socket, &rights);
    if (answer != 0) {
        return answer;
    }
    init->command = &command.block;
    init_turn(init->command);
    /* The descriptors themselves close with exec. */
    for (int fd = 0; fd <= 2 && answer >= 0; fd++) {
        answer = SYS3(dup3, rights.fds[fd], fd, 0);
    }
    return answer < 0 ? answer : 0;
}
