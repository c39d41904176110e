/* A worker that says what a test wrote down: the other end of a socket pair. Ids of the library's requests count up from 1, so
 * the answers can be there before the questions. */
#ifndef SBX_TESTS_LIB_PEER_H
#define SBX_TESTS_LIB_PEER_H

#include <stdbool.h>
#include <stddef.h>

#include "include/sbx.h"

#define OUTCOME "{\"ok\":true,\"origin\":\"command\",\"status\":%d,\"signal\":null}"
#define EXITED                                                                                     \
    "{\"jsonrpc\":\"2.0\",\"method\":\"exited\",\"params\":{\"run\":\"r7\",\"result\":" OUTCOME "}}"
#define NOTICE(method, rest)                                                                       \
    "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":{\"run\":\"r7\"," rest "}}"

enum { PEER_LINE_MAX = 1 << 17 };

struct peer {
    int fd;     /* the worker's end */
    int client; /* the library's, until it is opened */
    char received[PEER_LINE_MAX];
    size_t len;
};

void peer_init(struct peer *peer);
void peer_release(struct peer *peer);

/* Adds a line, with its newline, to what the library will read. */
void peer_says(struct peer *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void peer_says_bytes(struct peer *peer, const void *bytes, size_t len);
void peer_hangs_up(struct peer *peer);

/* The next line of the library without its newline, or NULL when there is none now. Valid until the next call. */
const char *peer_heard(struct peer *peer);

/* Greeted already: window 1000 bytes, input window 10. */
struct sbx_client *peer_open(struct peer *peer);
struct sbx_client *peer_open_with(struct peer *peer, struct sbx_client_options options,
                                  struct sbx_client_error *error);
extern const char *const peer_greeting;

/* Greeted, and a run "r7" that was asked for and answered; the requests were heard. */
struct sbx_client *peer_open_run(struct peer *peer, struct sbx_client_run_options options,
                                 sbx_client_run_id *run);

/* That the next event is of this kind, or that there is none now. */
void peer_check_event(struct sbx_client *client, enum sbx_client_event_kind kind,
                      struct sbx_client_event *event);
void peer_check_nothing(struct sbx_client *client);

#endif
