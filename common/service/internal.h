/* The parts of the worker: client.c talks, dispatch.c has the table of methods, run*.c runs, stream.c carries output, input.c
 * standard input, ask.c asks the command line, plans.c keeps what can be warm. */
#ifndef SBX_SERVICE_INTERNAL_H
#define SBX_SERVICE_INTERNAL_H

#include "common/service/port.h"
#include "common/base/sha256.h"
#include "common/run/setup.h"
#include "common/service/service.h"
#include "common/wire/frame.h"
#include "common/wire/wire.h"

enum {
    SBX_NAME_BYTES = 24,       /* "r1" and such */
    SBX_RESULTS_MAX = 256,     /* ended runs that a client can still ask about */
    SBX_QUEUE_PAUSE = 1 << 20, /* waits for the client: its boxes are not read meanwhile */
    SBX_QUEUE_FULL = 4 << 20,  /* the same: its requests are not read either */
    SBX_QUEUE_MAX = 32 << 20,  /* the same: it is gone */
    SBX_SLOW_MS = 30 * 1000,   /* that long at FULL: it is gone */
    SBX_SOON_MS = 2,           /* sbx_conn_flush_soon */
    SBX_EVENTS_MAX = 8 << 20,  /* what a child says about its run */
    SBX_STDIN_WINDOW = SBX_WIRE_WINDOW,
    SBX_KILL_MS = 5000, /* for a child that was told to end its box */
};

struct sbx_conn;
struct sbx_run_job;
struct sbx_plan_entry;

/* ---- the worker ---- */

struct sbx_service {
    uv_loop_t *loop;
    struct sbx_service_limits limits;
    void (*on_change)(void *state);
    void *state;
    struct sbx_arena arena;
    struct sbx_path program; /* sbx */
    struct sbx_conn *clients;
    size_t client_count, run_count;
    uint64_t last_client, last_run, last_session;
    bool is_draining, is_closed;
    uv_timer_t drain;
    size_t open_handles; /* of the worker itself */
    struct sbx_plans *plans;
    struct sbx_json_reader json;
    union sbx_wire_body body;   /* of the request that is worked on */
    char chunk[SBX_WIRE_CHUNK]; /* what was just read from a box */
};

/* Tells on_change, when there is something to tell. */
void sbx_service_changed(struct sbx_service *service);

/* ---- a request that is not answered yet ---- */

struct sbx_pending {
    struct sbx_pending *next;
    struct sbx_wire_id id;
    enum sbx_wire_method method;
    struct sbx_run_job *run; /* run.start, run.wait */
    struct sbx_ask *ask;
};

/* ---- a session ---- */

struct sbx_service_session {
    struct sbx_service_session *next;
    char name[SBX_NAME_BYTES];
    char label[65];
    bool is_shared;
    uv_file user_fd, net_fd;
};

/* ---- a connection ---- */

struct sbx_conn {
    struct sbx_service *service;
    struct sbx_conn *next, **link;
    char name[SBX_NAME_BYTES];
    uv_pipe_t in, out; /* one stream: only `out` is used */
    bool is_split;
    struct sbx_port_reader *reader; /* NULL: libuv reads */
    struct sbx_frame frame;
    uv_file fds[SBX_PORT_RIGHTS_MAX]; /* came with the bytes last read */
    size_t fd_count;
    bool is_greeted, is_closing, is_reading, is_paused;
    size_t line_max;
    size_t open_handles;
    struct sbx_buf queue, sending;
    size_t sent; /* of `sending` */
    bool is_sending;
    uv_write_t write;
    uv_timer_t slow;
    uv_timer_t soon; /* what is queued may wait so long for more */
    struct sbx_pending *pending;
    size_t pending_count;
    struct sbx_run_job *runs; /* newest first; the ended ones with a result, too */
    size_t running, kept;
    struct sbx_service_session *sessions;
    size_t session_count;
};

/* After something was put into client->queue. */
void sbx_conn_flush(struct sbx_conn *client);
/* The same, when there is no hurry: with what is put there next, or after SBX_SOON_MS. */
void sbx_conn_flush_soon(struct sbx_conn *client);
/* Ends the connection and its runs, after what is queued was sent if `politely`. */
void sbx_conn_close(struct sbx_conn *client, bool politely);
void sbx_conn_release(struct sbx_conn *client); /* one handle less */

void sbx_conn_fail(struct sbx_conn *client, const struct sbx_wire_id *id, enum sbx_wire_code code,
                   const struct sbx_err *err);

/* One line. */
void sbx_dispatch(struct sbx_conn *client, struct sbx_str line);

struct sbx_pending *sbx_pending_add(struct sbx_conn *client, const struct sbx_wire_id *id,
                                    enum sbx_wire_method method);
/* Takes it off; it was answered. NULL is allowed. */
void sbx_pending_drop(struct sbx_conn *client, struct sbx_pending *pending);

/* ---- a run ---- */

struct sbx_output_stream {
    struct sbx_run_job *run;
    enum sbx_wire_stream which;
    uv_pipe_t pipe;
    int64_t credit;
    bool is_open, is_reading;
    bool is_wide; /* more than usual waits in the pipe: it brings much */
    /* Read without credit, so that the end of a stream is seen when all of it was sent. While it holds something nothing is read. */
    char ahead[4096];
    size_t held;
};

struct sbx_input_stream {
    struct sbx_run_job *run;
    uv_pipe_t pipe;
    bool is_open, is_ended; /* the client said eof */
    size_t queued;          /* bytes that the pipe has not taken */
    size_t allowed;         /* that the client may send unasked */
};

enum sbx_run_state { SBX_RUN_STARTING, SBX_RUN_RUNNING, SBX_RUN_ENDED };

struct sbx_run_job {
    struct sbx_conn *client; /* NULL: gone */
    struct sbx_service *service;
    struct sbx_run_job *next;
    char name[SBX_NAME_BYTES];
    char session[SBX_NAME_BYTES];
    char *argv0, *label; /* label may be NULL */
    char backend[16], digest[65];
    enum sbx_run_state state;
    struct sbx_pending *start; /* NULL: answered */
    uint64_t begin_ns;
    bool has_evidence, has_fds, is_cancelled, is_counted;
    size_t open_handles;
    struct sbx_output_stream out[2];
    size_t out_count;
    struct sbx_input_stream in;
    struct sbx_port_terminal terminal;
    /* cold */
    uv_process_t child;
    bool has_child;
    uv_pipe_t events, manifest;
    uv_write_t manifest_write;
    struct sbx_buf said, manifest_text;
    bool has_events;
    uv_timer_t kill;
    bool has_kill;
    /* warm */
    struct sbx_port_box *box;
    bool is_over; /* its command has ended: `code`, `record`, `err` say how */
    enum sbx_code code;
    struct sbx_run_record record;
    struct sbx_err err;
    struct sbx_buf tail; /* of standard error, which explains denials */
    struct sbx_plan_entry *plan;
    struct sbx_arena arena;
    struct sbx_prepared prepared;
    struct sbx_buf result; /* one line without its end; empty until it is known */
};

/* Starts what service->body.run_start asks for; answers itself. */
void sbx_run_start(struct sbx_conn *client, const struct sbx_wire_id *id);
struct sbx_run_job *sbx_run_find(struct sbx_conn *client, struct sbx_str name);
/* Ends the box, whatever it does. */
void sbx_run_end(struct sbx_run_job *run);
/* Its client has gone: ends it and tells nobody. */
void sbx_run_orphan(struct sbx_run_job *run);
/* A handle of it was closed; frees what nobody has any more. */
void sbx_run_release(struct sbx_run_job *run);
void sbx_run_forget(struct sbx_run_job *run); /* the client's list has it no more */
/* Looks whether everything has ended, and tells. */
void sbx_run_check(struct sbx_run_job *run);
/* Answers run.start with its result, or with an error. */
void sbx_run_started(struct sbx_run_job *run, struct sbx_str evidence);
void sbx_run_refused(struct sbx_run_job *run, enum sbx_wire_code code, const struct sbx_err *err);
/* A new object, counted, with its streams still closed; NULL: no memory. */
struct sbx_run_job *sbx_run_new(struct sbx_conn *client, const struct sbx_wire_run_start *asked);
/* A result for a run whose child did not say one. */
void sbx_run_lost(struct sbx_run_job *run);

/* The result of a warm run, when its output has been read, too. */
void sbx_run_report_warm(struct sbx_run_job *run);

/* Cold: by a child. Warm: false when there is no box for it, and nothing has happened. */
void sbx_run_cold(struct sbx_run_job *run, const struct sbx_wire_run_start *asked,
                  const uv_file fds[3], const struct sbx_service_session *session);
bool sbx_run_warm(struct sbx_run_job *run, const struct sbx_wire_run_start *asked,
                  const uv_file fds[3]);

/* ---- streams ---- */

/* Makes the pipe of an output stream; *theirs is the end for the box. */
bool sbx_output_open(struct sbx_run_job *run, enum sbx_wire_stream which, int64_t credit,
                     uv_file *theirs);
/* Takes over an end that is there. */
bool sbx_output_adopt(struct sbx_run_job *run, enum sbx_wire_stream which, int64_t credit,
                      uv_file ours);
/* Reads or does not, by credit and by what waits for the client. */
void sbx_output_look(struct sbx_output_stream *stream);
void sbx_output_close(struct sbx_output_stream *stream);

bool sbx_input_open(struct sbx_run_job *run, uv_file *theirs);
bool sbx_input_adopt(struct sbx_run_job *run, uv_file ours);
enum sbx_wire_code sbx_input_put(struct sbx_run_job *run, struct sbx_str bytes, bool is_end,
                                 struct sbx_err *err);
void sbx_input_close(struct sbx_run_job *run);

void sbx_fd_drop(uv_file *fd);

/* ---- words and variables for a child ---- */

struct sbx_words {
    struct sbx_arena arena;
    const char **items; /* ends with NULL */
    size_t count, capacity;
};
#define SBX_WORDS_MAX ((size_t)16 << 20)
void sbx_words_release(struct sbx_words *words);
#define AUTO_WORDS SBX_CLEANUP(sbx_words_release) struct sbx_words

void sbx_words_init(struct sbx_words *words);
bool sbx_words_add(struct sbx_words *words, const char *word);
/* "attended …" with these descriptors, then `verb`. */
bool sbx_words_attended(struct sbx_words *words, const struct sbx_service *service, int events,
                        int manifest, int network, const char *verb);
/* The options that a request stands for; `has_fd`: the manifest itself comes by a descriptor. */
bool sbx_words_options(struct sbx_words *words, const struct sbx_wire_run_start *asked);
bool sbx_words_command(struct sbx_words *words, const struct sbx_wire_run_start *asked);
/* The client's variables, or the worker's own. */
bool sbx_words_variables(struct sbx_words *words, const struct sbx_wire_run_start *asked);

/* ---- questions to the command line ---- */

struct sbx_ask;
void sbx_ask_start(struct sbx_conn *client, const struct sbx_wire_id *id,
                   enum sbx_wire_method method);
/* Ends it, and tells nobody. */
void sbx_ask_end(struct sbx_ask *ask);

/* ---- sessions ---- */

void sbx_session_open(struct sbx_conn *client, const struct sbx_wire_id *id);
void sbx_session_close(struct sbx_conn *client, const struct sbx_wire_id *id);
void sbx_session_list(struct sbx_conn *client, const struct sbx_wire_id *id);
struct sbx_service_session *sbx_session_find(struct sbx_conn *client, struct sbx_str name);
void sbx_sessions_release(struct sbx_conn *client);

/* ---- what can be warm ---- */

struct sbx_plans *sbx_plans_new(struct sbx_service *service);
/* Closes its handles and boxes. */
void sbx_plans_close(struct sbx_plans *plans);
void sbx_plans_free(struct sbx_plans *plans);

/* A plan without a command, and what it was made from. */
struct sbx_plan_entry {
    struct sbx_plans *plans;
    struct sbx_plan_entry *next;
    struct sbx_plan_entry *base; /* itself, or the one with the same plan whose boxes it uses */
    struct sbx_arena arena;
    struct sbx_findings findings;
    struct sbx_setup *setup;
    struct sbx_prepared *prepared;
    char digest[SBX_SHA256_HEX];
    struct sbx_sha256 begun; /* the digest of a run of this plan, but for its command */
    size_t users;            /* keys, runs, and entries whose base it is */
};

/* The plan of such a request, when it is known and nothing has changed since; else NULL, and it will be looked at when there
 * is time. */
struct sbx_plan_entry *sbx_plans_find(struct sbx_plans *plans,
                                      const struct sbx_wire_run_start *asked);
struct sbx_port_warm *sbx_plans_warm(struct sbx_plans *plans);
/* A run has ended: boxes may have to be built. */
void sbx_plans_stir(struct sbx_plans *plans);
/* A plan was known, but no box stood ready. */
void sbx_plans_missed(struct sbx_plans *plans);
/* The box has done its work and is dropped when there is time; NULL is allowed. */
void sbx_plans_retire(struct sbx_plans *plans, struct sbx_port_box *box);
void sbx_plan_entry_drop(struct sbx_plan_entry *entry);

/* ---- JSON of our own ---- */

/* The raw value of a member; an empty text when there is none. `text` must be one checked object. */
struct sbx_str sbx_member(struct sbx_str object, const char *name);
struct sbx_str sbx_member_text(struct sbx_str object, const char *name, char *out, size_t size);

#endif
