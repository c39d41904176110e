/* A connection from the inside. What is kept of it, and the functions that the files of the library share. */
#ifndef SBX_LIB_CLIENT_H
#define SBX_LIB_CLIENT_H

#include "common/base/buf.h"
#include "common/wire/frame.h"
#include "common/wire/wire.h"
#include "include/sbx.h"
#include "lib/link.h"

enum {
    SBX_CLIENT_NAME_MAX = 64, /* bytes of a run's name */
    SBX_CLIENT_STREAMS =
        2, /* that have credit: standard output (or the terminal), standard error */
    SBX_CLIENT_INPUT_PENDING = 8, /* unanswered messages of input, of all runs */
};
#define SBX_CLIENT_LATER_MAX ((size_t)1 << 30)
#define SBX_CLIENT_KEEP_DEFAULT ((size_t)1 << 20)

/* One command, from sbx_client_start to its last event. */
struct sbx_client_run_state {
    sbx_client_run_id id;               /* of the request that started it, too */
    char name[SBX_CLIENT_NAME_MAX + 1]; /* the service's; empty until it has answered */
    bool is_raw;                        /* its streams are the caller's descriptors */
    bool has_own_credit;
    bool has_input;    /* a pipe, and not ended */
    bool wants_room;   /* less was taken than there was */
    size_t input_room; /* what may be sent of input */
    const char *feed;  /* input that the library sends by itself, and how much is left of it */
    size_t feed_len;
    size_t credit_due[SBX_CLIENT_STREAMS]; /* taken, and not yet given back */
    sbx_client_on_event *on_event;
    void *state;
    size_t keep_bytes;
    struct sbx_buf kept[SBX_CLIENT_STREAMS]; /* what sbx_client_wait collects */
    uint64_t dropped;
};

struct sbx_client {
    sbx_client_resize_memory *resize_memory;
    void *memory_state;
    struct sbx_link link;
    bool is_local;
    bool is_over; /* and `ending` says why */
    bool
        is_broken; /* what it says is not believed any more; else what came before the end still counts */
    struct sbx_client_error ending;

    struct sbx_buf out; /* to be sent, from out_sent on */
    size_t out_sent;

    struct sbx_frame in;
    struct sbx_buf later; /* whole lines that came while something else was waited for */
    size_t later_at;

    uint64_t last_id;
    size_t window, input_window, line_max; /* of the greeting */
    size_t input_pending;                  /* SBX_CLIENT_INPUT_PENDING */
    struct sbx_client_run_state *runs;
    size_t run_count, run_capacity, run_hint;

    struct sbx_buf greeting;
    struct sbx_buf answer;                      /* JSON that was handed out */
    struct sbx_buf results[SBX_CLIENT_STREAMS]; /* output that was handed out */
    struct sbx_client_error event_error;        /* of SBX_CLIENT_REFUSED */
    struct sbx_json_reader reader;
};

/* ---- errors (error.c): each fills *error, which may be NULL, and returns -1 ---- */

int sbx_client_fail(struct sbx_client_error *error, const char *name, const char *format, ...)
    SBX_PRINTF(3, 4);
int sbx_client_fail_err(struct sbx_client_error *error, const struct sbx_err *err);
/* From an answer that is an error. *outcome (may be NULL) gets the raw outcome, empty when there is none. */
int sbx_client_fail_answer(struct sbx_client_error *error, const struct sbx_wire_message *message,
                           struct sbx_str *outcome);

/* ---- lines (lines.c) ---- */

/* Adds a request or a notice to what is to be sent and sends as much as goes. With `fds` (three) waits until they are gone. The id of
 * the request is client->last_id then. -1: too large, no memory, or the connection is over; nothing of it is sent. */
int sbx_client_request(struct sbx_client *client, enum sbx_wire_method method, const void *params,
                       const int *fds, struct sbx_client_error *error);
int sbx_client_notice(struct sbx_client *client, enum sbx_wire_method method, const void *params,
                      struct sbx_client_error *error);

/* Sends the line that begins at `begin`, as sbx_client_request does. */
int sbx_client_send(struct sbx_client *client, size_t begin, const int *fds,
                    struct sbx_client_error *error);

/* Sends what waits, as much as goes now. */
void sbx_client_flush(struct sbx_client *client);

/* Reads once, without waiting: false when nothing came. */
bool sbx_client_fill(struct sbx_client *client);

/* The next whole line that was received, without its newline; false when there is none. Valid until the next fill. */
bool sbx_client_take_line(struct sbx_client *client, struct sbx_str *out);

/* Checks a line; false, and the connection is over, when it is not of the protocol or the worker's last word. */
bool sbx_client_read(struct sbx_client *client, struct sbx_str line, struct sbx_wire_message *out);

/* Ends a slice of a line that was read with a NUL, in place. */
const char *sbx_client_terminate(struct sbx_str slice);

void sbx_client_end(struct sbx_client *client, const char *name, const char *text);
/* Why the connection is over; -1. */
int sbx_client_ended(const struct sbx_client *client, struct sbx_client_error *error);
/* Keeps a line for sbx_client_next. */
void sbx_client_postpone(struct sbx_client *client, struct sbx_str line);

/* ---- runs (runs.c) ---- */

struct sbx_client_run_state *sbx_client_find(struct sbx_client *client, sbx_client_run_id id);
struct sbx_client_run_state *sbx_client_find_name(struct sbx_client *client, struct sbx_str name);
struct sbx_client_run_state *sbx_client_add_run(struct sbx_client *client);
void sbx_client_remove_run(struct sbx_client *client, sbx_client_run_id id);
void sbx_client_release_run(struct sbx_client_run_state *run);
void sbx_client_init_buf(const struct sbx_client *client, struct sbx_buf *buf, size_t max);

/* ---- events (events.c) ---- */

/* The run a message is about, or NULL. Leaves the message as it is. */
struct sbx_client_run_state *sbx_client_owner(struct sbx_client *client,
                                              const struct sbx_wire_message *message);

/* Notes the service's name of a run from the answer that has it, so that its notices are known; false: it has none. */
bool sbx_client_learn(struct sbx_client_run_state *run, const struct sbx_wire_message *message);

/* Carries a message of that run out: false when it makes no event. *event points into the line. After an event that is the last of its
 * run, the run must be removed. */
bool sbx_client_make_event(struct sbx_client *client, struct sbx_client_run_state *run,
                           const struct sbx_wire_message *message, struct sbx_client_event *event);
bool sbx_client_is_last(const struct sbx_client_event *event);

/* A number that is a member of checked JSON; `otherwise` without. */
int64_t sbx_client_number(struct sbx_str object, const char *name, int64_t otherwise);

/* ---- loop (loop.c) ---- */

/* Carries a line out. True when there is an event for the caller: of a run without on_event, or the last one of `only`. With `only`,
 * lines of other runs without on_event are postponed. */
bool sbx_client_carry(struct sbx_client *client, struct sbx_str line, sbx_client_run_id only,
                      struct sbx_client_event *event);

/* Waits for something to be received (or sent, when something waits), up to a time of sbx_link_now_ms. False: the time is over. */
bool sbx_client_rest(struct sbx_client *client, uint64_t end_ms);

/* Sends what a run has of input of its own, as much as there is room for (input.c). */
void sbx_client_feed(struct sbx_client *client, struct sbx_client_run_state *run);

/* ---- calls (call.c) ---- */

/* Waits for the answer to the request that was sent last, and leaves the result in client->answer. timeout_ms -1: for ever. */
int sbx_client_await(struct sbx_client *client, int timeout_ms, struct sbx_client_error *error);

/* A request, and its answer. */
int sbx_client_ask(struct sbx_client *client, enum sbx_wire_method method, const void *params,
                   struct sbx_client_error *error);

/* ---- start (start.c) ---- */

/* What the members of a request point to. */
struct sbx_client_storage {
    struct sbx_buf argv, env, cwd, manifest, environment;
};
#define SBX_CLIENT_STORAGE_MAX ((size_t)64 << 20)
void sbx_client_storage_init(const struct sbx_client *client, struct sbx_client_storage *storage);
void sbx_client_storage_release(struct sbx_client_storage *storage);
#define AUTO_OPTIONS SBX_CLEANUP(sbx_client_storage_release) struct sbx_client_storage

/* The members of run.start and plan.explain. -1 for a wrong argument. */
int sbx_client_fill_options(struct sbx_client *client, const struct sbx_client_run_options *options,
                            struct sbx_wire_run_start *out, struct sbx_client_storage *storage,
                            struct sbx_client_error *error);

/* Appends a caller's JSON on one line. -1: it is not exactly one object. Strict, so that what a caller passes on from somebody else can
 * add nothing to a request. */
int sbx_client_add_object(struct sbx_client *client, struct sbx_buf *out, const char *what,
                          const char *object, struct sbx_client_error *error);

#endif
