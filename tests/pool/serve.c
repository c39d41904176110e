/* The driver as a server: requests come over a socket, boxes run side by side. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/run/outcome.h"
#include "tests/pool/driver.h"
#include "tests/pool/request.h"

#include "common/base/banned.h"

enum {
    CLIENTS = 32,
    LISTENER = 2 * CLIENTS,
    SLOTS,
    WORDS = 1024,
    SBX_FAILED = 125,
    IDLE_MS = 2,
    REAP_MS = 200
};

struct client {
    int fd; /* -1: none */
    struct sbx_pool_box *box;
};

static struct client clients[CLIENTS];
static struct sbx_pool_box *ended[CLIENTS]; /* to be dropped when there is time */
static size_t ended_count;
static volatile sig_atomic_t is_told_to_end;

static void on_end(int number)
{
    (void)number;
    is_told_to_end = 1;
}

static void answer(int fd, int status, const struct sbx_err *err)
{
    struct answer reply = {.status = status};
    if (err != NULL) {
        AUTO_BUF text;
        sbx_buf_init(&text, ANSWER_TEXT);
        sbx_err_print(err, false, &text);
        reply.length = text.failed ? 0 : (uint32_t)text.len;
        memcpy(reply.text, sbx_buf_text(&text), reply.length);
    }
    (void)send(fd, &reply, ANSWER_HEAD + reply.length, MSG_NOSIGNAL);
}

static void drop_ended(void)
{
    while (ended_count > 0) sbx_pool_drop(ended[--ended_count]);
}

/* ---- requests ------------------------------------------------------------------------------------ */

/* The words of a request; 0 when it is not one. */
static ssize_t receive(int fd, char *request, int streams[REQUEST_FDS])
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(REQUEST_FDS * sizeof(int))];
    } rights;
    struct iovec data = {.iov_base = request, .iov_len = REQUEST_BYTES};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &rights,
                             .msg_controllen = sizeof rights.bytes};
    ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head == NULL || head->cmsg_type != SCM_RIGHTS ||
        head->cmsg_len != CMSG_LEN(REQUEST_FDS * sizeof(int)) || request[got - 1] != '\0')
        return 0;
    memcpy(streams, CMSG_DATA(head), REQUEST_FDS * sizeof(int));
    return got;
}

static bool split(const char *request, size_t length, const char **words)
{
    size_t count = 0;
    for (size_t at = 0; at < length; at += strlen(request + at) + 1) {
        if (count == WORDS - 1) return false;
        words[count++] = request + at;
    }
    words[count] = NULL;
    return true;
}

static void start(struct driver *driver, struct client *client, const char **words,
                  const int streams[REQUEST_FDS])
{
    struct sbx_err err = {0};
    if (ended_count > CLIENTS / 4) drop_ended();
    enum sbx_code code = driver_take(driver, &client->box, &err);
    if (code == SBX_OK) {
        struct sbx_pool_command command = {.argv = words};
        memcpy(command.fds, streams, sizeof command.fds);
        code = sbx_pool_start(client->box, &command, &err);
    }
    if (code != SBX_OK) {
        answer(client->fd,
               code == SBX_E_NOT_FOUND ? 127
               : code == SBX_E_DENIED  ? 126
                                       : SBX_FAILED,
               &err);
        sbx_pool_drop(client->box);
        (void)close(client->fd);
        *client = (struct client){.fd = -1};
    }
}

static void take_request(struct driver *driver, int listener)
{
    static char request[REQUEST_BYTES];
    const char *words[WORDS];
    int streams[REQUEST_FDS];
    struct client *client = clients;
    while (client->fd >= 0) client++; /* one is free, or nobody listens */
    client->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (client->fd < 0) return;
    ssize_t length = receive(client->fd, request, streams);
    if (length == 0) {
        (void)close(client->fd);
        client->fd = -1;
        return;
    }
    if (split(request, (size_t)length, words)) start(driver, client, words, streams);
    for (size_t i = 0; i < REQUEST_FDS; i++) (void)close(streams[i]);
}

/* The answer goes out before the box is torn down, which would compete with the one who waits for it. */
static void finish(struct client *client, bool is_gone)
{
    struct sbx_err err = {0};
    struct sbx_run_record record = {0};
    if (!is_gone) {
        enum sbx_code code = sbx_pool_wait(client->box, &record, &err);
        if (code == SBX_OK)
            answer(client->fd, (int)sbx_outcome_status(&record.outcome), NULL);
        else
            answer(client->fd,
                   code == SBX_E_NOT_FOUND ? 127
                   : code == SBX_E_DENIED  ? 126
                                           : SBX_FAILED,
                   &err);
    }
    (void)close(client->fd);
    if (is_gone || ended_count == CLIENTS)
        sbx_pool_drop(client->box);
    else
        ended[ended_count++] = client->box;
    *client = (struct client){.fd = -1};
}

/* ---- the loop ------------------------------------------------------------------------------------ */

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return -1;
    memcpy(address.sun_path, path, strlen(path) + 1);
    (void)unlink(path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 64) != 0)
        return -1;
    return fd;
}

/* Returns whether something happened. */
static bool step(struct driver *driver, int listener, int wait_ms)
{
    struct pollfd slots[SLOTS];
    size_t running = 0;
    for (size_t i = 0; i < CLIENTS; i++) {
        bool is_used = clients[i].fd >= 0;
        running += is_used;
        slots[2 * i] =
            (struct pollfd){.fd = is_used ? sbx_pool_fd(clients[i].box) : -1, .events = POLLIN};
        slots[2 * i + 1] = (struct pollfd){.fd = clients[i].fd, .events = POLLIN};
    }
    slots[LISTENER] = (struct pollfd){.fd = running < CLIENTS ? listener : -1, .events = POLLIN};
    if (poll(slots, SLOTS, wait_ms) <= 0) return false;
    if (slots[LISTENER].revents != 0) take_request(driver, listener);
    for (size_t i = 0; i < CLIENTS; i++) {
        bool is_done = slots[2 * i].revents != 0;
        bool is_gone = slots[2 * i + 1].revents != 0;
        if (is_done || is_gone) finish(&clients[i], is_gone && !is_done);
    }
    return true;
}

int serve_main(struct driver *driver, const char *socket_path)
{
    struct sigaction action = {.sa_handler = on_end};
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    for (size_t i = 0; i < CLIENTS; i++) clients[i].fd = -1;
    driver_refill(driver, -1);
    int listener = listen_at(socket_path);
    if (listener < 0) {
        perror(socket_path);
        return SBX_FAILED;
    }
    bool is_full = true;
    struct sbx_err err = {0};
    while (!is_told_to_end) {
        if (step(driver, listener, is_full ? REAP_MS : IDLE_MS)) {
            is_full = false;
            continue;
        }
        drop_ended();
        if (sbx_pool_refill(driver->pool, &is_full, &err) != SBX_OK) is_full = true;
    }
    (void)unlink(socket_path);
    return 0;
}
