/* sbx-pool-client --socket PATH -- COMMAND…: a client of the pool's driver, which hands its streams over and ends as the
 * command does. It is measured, so it is a program of its own and does nothing else. */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/pool/request.h"

enum { FAILED = 125 };

static int fail(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
    return FAILED;
}

static size_t pack(char **words, char *out)
{
    size_t used = 0;
    for (; *words != NULL; words++) {
        size_t length = strlen(*words) + 1;
        if (length > REQUEST_BYTES - used) return 0;
        memcpy(out + used, *words, length);
        used += length;
    }
    return used;
}

static int ask(int fd, char *request, size_t length)
{
    static const int streams[REQUEST_FDS] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof streams)];
    } rights;
    memset(&rights, 0, sizeof rights);
    struct iovec data = {.iov_base = request, .iov_len = length};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &rights,
                             .msg_controllen = sizeof rights.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof streams);
    memcpy(CMSG_DATA(head), streams, sizeof streams);
    struct answer answer;
    if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0)
        return fail("the server does not take a request\n");
    if (read(fd, &answer, sizeof answer) < (ssize_t)ANSWER_HEAD) return fail("no answer\n");
    if (answer.length > 0 && answer.length <= ANSWER_TEXT)
        (void)!write(STDERR_FILENO, answer.text, answer.length);
    return answer.status;
}

int main(int count, char **words)
{
    static char request[REQUEST_BYTES];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (count < 5 || strcmp(words[1], "--socket") != 0 || strcmp(words[3], "--") != 0 ||
        strlen(words[2]) >= sizeof address.sun_path)
        return fail("usage: sbx-pool-client --socket PATH -- COMMAND...\n");
    memcpy(address.sun_path, words[2], strlen(words[2]) + 1);
    size_t length = pack(words + 4, request);
    if (length == 0) return fail("the command is too long\n");
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        return fail("cannot connect\n");
    return ask(fd, request, length);
}
