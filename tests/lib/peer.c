/* A worker that says what a test wrote down. */
#include "tests/lib/peer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/check.h"

#include "common/base/banned.h"

const char *const peer_greeting =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol\":1,\"server\":{\"name\":\"sbx\","
    "\"version\":\"9.9\"},\"platform\":\"linux\",\"connection\":\"c1\",\"limits\":{\"line\":"
    "1048576,"
    "\"runs\":8,\"runsPerClient\":8,\"pending\":64,\"window\":1000,\"stdinWindow\":10}}}";

void peer_init(struct peer *peer)
{
    int pair[2] = {-1, -1};
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    *peer = (struct peer){.fd = pair[0], .client = pair[1]};
}

void peer_release(struct peer *peer)
{
    if (peer->fd >= 0) (void)close(peer->fd);
    if (peer->client >= 0) (void)close(peer->client);
}

void peer_hangs_up(struct peer *peer)
{
    (void)close(peer->fd);
    peer->fd = -1;
}

void peer_says_bytes(struct peer *peer, const void *bytes, size_t len)
{
    CHECK_INT(send(peer->fd, bytes, len, MSG_DONTWAIT), (long)len);
}

void peer_says(struct peer *peer, const char *format, ...)
{
    static char line[PEER_LINE_MAX];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    CHECK(len > 0 && (size_t)len < sizeof line - 1);
    line[len] = '\n';
    peer_says_bytes(peer, line, (size_t)len + 1);
}

const char *peer_heard(struct peer *peer)
{
    static char line[PEER_LINE_MAX];
    for (;;) {
        char *end = memchr(peer->received, '\n', peer->len);
        if (end != NULL) {
            size_t len = (size_t)(end - peer->received);
            memcpy(line, peer->received, len);
            line[len] = '\0';
            peer->len -= len + 1;
            memmove(peer->received, end + 1, peer->len);
            return line;
        }
        ssize_t got = recv(peer->fd, peer->received + peer->len, sizeof peer->received - peer->len,
                           MSG_DONTWAIT);
        if (got <= 0) return NULL;
        peer->len += (size_t)got;
    }
}

struct sbx_client *peer_open_with(struct peer *peer, struct sbx_client_options options,
                                  struct sbx_client_error *error)
{
    options.where = SBX_CLIENT_HANDED;
    options.fd = peer->client;
    peer->client = -1;
    return sbx_client_open(&options, error);
}

struct sbx_client *peer_open(struct peer *peer)
{
    struct sbx_client_options options = {.name = "test", .version = "1"};
    struct sbx_client_error error = {0};
    peer_init(peer);
    peer_says(peer, "%s", peer_greeting);
    struct sbx_client *client = peer_open_with(peer, options, &error);
    CHECK(client != NULL);
    if (client == NULL) exit(1); /* nothing below makes sense */
    CHECK_TEXT(peer_heard(peer),
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{"
               "\"protocol\":[1],\"client\":{\"name\":\"test\",\"version\":\"1\"}}}");
    return client;
}

struct sbx_client *peer_open_run(struct peer *peer, struct sbx_client_run_options options,
                                 sbx_client_run_id *run)
{
    static const char *const argv[] = {"true", NULL};
    static const char *const env[] = {NULL};
    struct sbx_client *client = peer_open(peer);
    if (options.argv == NULL) options.argv = argv;
    if (options.env == NULL) options.env = env;
    CHECK_INT(sbx_client_start(client, &options, run, NULL), 0);
    CHECK(peer_heard(peer) != NULL);
    peer_says(peer,
              "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"run\":\"r7\",\"backend\":\"native\","
              "\"digest\":\"d\",\"warm\":true}}");
    return client;
}

void peer_check_event(struct sbx_client *client, enum sbx_client_event_kind kind,
                      struct sbx_client_event *event)
{
    struct sbx_client_error error = {0};
    int got = sbx_client_next(client, 0, event, &error);
    CHECK_INT(got, 1);
    CHECK_TEXT(error.text, "");
    if (got == 1)
        CHECK_INT(event->kind, kind);
    else
        memset(event, 0, sizeof *event);
}

void peer_check_nothing(struct sbx_client *client)
{
    struct sbx_client_event event;
    CHECK_INT(sbx_client_next(client, 0, &event, NULL), 0);
}
