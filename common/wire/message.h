/* The messages of protocol 1: a struct for the members of each, and one table that says how they are written. Reader, writer,
 * documents (docs/PROTOCOL.md), JSON Schema (`sbx schema rpc`) and tests follow from the table (message_table.c).
 *
 * In every struct: a text whose ptr is NULL, a number or choice with its default, false, and a list without items are members that
 * are absent. A text that came in has no NUL inside and one behind it. Slices point into the line that was read. */
#ifndef SBX_WIRE_MESSAGE_H
#define SBX_WIRE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/names.h"
#include "common/base/str.h"
#include "common/wire/error.h"

enum {
    SBX_WIRE_PROTOCOL = 1,
    SBX_WIRE_CHUNK = 48 * 1024, /* bytes of an `output`, at most, before they are encoded */
    SBX_WIRE_WINDOW =
        256 * 1024, /* default credit of a stream, and what may be sent of standard input unasked */
    SBX_WIRE_ID_BYTES = 64,
    SBX_WIRE_VERSIONS = 8, /* protocols that a client may offer */
};

/* ---- kinds of members ---- */

/* Texts behind one another, each with its NUL. Lists of texts are this after reading; the names and values of an object too. */
struct sbx_wire_texts {
    const char *first; /* NULL when the member is absent */
    size_t count;      /* of texts: twice the members of an object */
    size_t len;        /* in bytes, with the NULs */
};

struct sbx_wire_ints {
    int64_t items[SBX_WIRE_VERSIONS];
    size_t count;
};

/* Bytes of a stream. On the wire they are text when they are UTF-8 without NUL and that is not longer than base64; here they are
 * always the bytes. */
struct sbx_wire_data {
    struct sbx_str bytes;
    bool is_base64; /* only says how they came */
};

enum sbx_wire_stream { SBX_WIRE_STREAM_NONE, SBX_WIRE_STDOUT, SBX_WIRE_STDERR, SBX_WIRE_TTY };
extern const struct sbx_name sbx_wire_stream_names[];

enum sbx_wire_stdin { SBX_WIRE_STDIN_NULL, SBX_WIRE_STDIN_PIPE };
extern const struct sbx_name sbx_wire_stdin_names[];

enum sbx_wire_signal {
    SBX_WIRE_SIGNAL_NONE,
    SBX_WIRE_SIGINT,
    SBX_WIRE_SIGTERM,
    SBX_WIRE_SIGHUP,
    SBX_WIRE_SIGQUIT,
    SBX_WIRE_SIGKILL,
    SBX_WIRE_SIGUSR1,
    SBX_WIRE_SIGUSR2
};
extern const struct sbx_name sbx_wire_signal_names[];

/* ---- requests and their results ---- */

struct sbx_wire_program { /* who speaks: a client or the service */
    struct sbx_str name, version;
};

struct sbx_wire_hello {
    struct sbx_wire_ints protocol;
    struct sbx_wire_program client;
    int64_t max_line; /* 0: SBX_FRAME_LINE_MAX */
};

struct sbx_wire_limits {
    int64_t line, runs, runs_per_client, pending, window, stdin_window;
};

struct sbx_wire_hello_result {
    int64_t protocol;
    struct sbx_wire_program server;
    struct sbx_str platform, connection;
    struct sbx_wire_limits limits;
};

struct sbx_wire_size { /* of a terminal; rows 0: no terminal */
    int64_t rows, cols;
};

/* Also what plan.explain takes. */
struct sbx_wire_run_start {
    struct sbx_wire_texts argv;
    struct sbx_str cwd;
    struct sbx_wire_texts env; /* names and values in turn */
    struct sbx_str manifest;   /* a raw JSON object */
    struct sbx_str manifest_file;
    struct sbx_str mode, profile, sandbox;
    bool allow_no_sandbox;
    enum sbx_wire_stdin stdin_kind;
    struct sbx_wire_size tty;
    int64_t timeout_ms; /* 0: none but the manifest's */
    int64_t credit;     /* -1: the window of hello. sbx_wire_init sets it */
    struct sbx_str session, label;
    bool evidence, fds;
};

struct sbx_wire_run_start_result {
    struct sbx_str run, backend, digest;
    bool warm;
};

struct sbx_wire_run_stdin {
    struct sbx_str run;
    struct sbx_wire_data data;
    bool eof;
};

struct sbx_wire_run_stdin_result {
    int64_t queued; /* bytes that the command has not taken yet */
};

struct sbx_wire_run_signal {
    struct sbx_str run;
    enum sbx_wire_signal signal;
};

struct sbx_wire_run_resize {
    struct sbx_str run;
    struct sbx_wire_size size;
};

struct sbx_wire_run { /* run.cancel, run.wait */
    struct sbx_str run;
};

struct
    sbx_wire_object { /* a result that is one raw JSON object: an outcome, the report of doctor */
    struct sbx_str object;
};

struct sbx_wire_list { /* run.list, session.list: a raw JSON array; sbx_wire_next_item reads it */
    struct sbx_str items;
};

struct sbx_wire_run_item {
    struct sbx_str run, state, argv0, label, session, backend;
    int64_t ms;
};

struct sbx_wire_session_open {
    struct sbx_str name;
    bool shared_network;
};

struct sbx_wire_session { /* session.open's result, session.close */
    struct sbx_str session;
};

struct sbx_wire_session_item {
    struct sbx_str session, name;
    bool shared_network;
    int64_t runs;
};

struct sbx_wire_explain_result {
    struct sbx_str text;
    struct sbx_str plan; /* raw JSON object */
};

struct sbx_wire_verify {
    struct sbx_str manifest; /* raw JSON object */
    struct sbx_str manifest_file;
};

struct sbx_wire_verify_result {
    bool ok;
    struct sbx_str findings; /* raw JSON array */
};

/* ---- notifications ---- */

struct sbx_wire_credit {
    struct sbx_str run;
    enum sbx_wire_stream stream;
    int64_t bytes;
};

/* The id of a message: a number, or a text. */
struct sbx_wire_id {
    bool is_given; /* false is null */
    bool is_text;
    int64_t number;
    char text[SBX_WIRE_ID_BYTES + 1];
};

struct sbx_wire_cancel {
    struct sbx_wire_id id;
};

struct sbx_wire_started {
    struct sbx_str run;
    int64_t pid;             /* 0: not told */
    struct sbx_str evidence; /* raw JSON array */
};

struct sbx_wire_output {
    struct sbx_str run;
    enum sbx_wire_stream stream;
    struct sbx_wire_data data;
};

struct sbx_wire_closed {
    struct sbx_str run;
    enum sbx_wire_stream stream;
};

struct sbx_wire_stdin_more {
    struct sbx_str run;
    int64_t bytes;
};

struct sbx_wire_denied {
    struct sbx_str run;
    struct sbx_str denial; /* raw JSON object */
};

struct sbx_wire_exited {
    struct sbx_str run;
    struct sbx_str result; /* raw JSON object */
};

/* ---- errors ---- */

/* `name` and `retryable` are those of the code's row when an error is written. */
struct sbx_wire_error_data {
    struct sbx_str name, hint;
    bool retryable;
    struct sbx_str outcome;  /* raw JSON object */
    struct sbx_str findings; /* raw JSON array */
};

struct sbx_wire_error {
    enum sbx_wire_code code;
    int64_t number; /* of the code's row when it is written; as it came when it is read */
    struct sbx_str message;
    struct sbx_wire_error_data data;
};

/* Any of them, for a reader that does not know yet. */
union sbx_wire_body {
    struct sbx_wire_hello hello;
    struct sbx_wire_hello_result hello_result;
    struct sbx_wire_run_start run_start;
    struct sbx_wire_run_start_result run_start_result;
    struct sbx_wire_run_stdin run_stdin;
    struct sbx_wire_run_stdin_result run_stdin_result;
    struct sbx_wire_run_signal run_signal;
    struct sbx_wire_run_resize run_resize;
    struct sbx_wire_run run;
    struct sbx_wire_object object;
    struct sbx_wire_list list;
    struct sbx_wire_run_item run_item;
    struct sbx_wire_session_open session_open;
    struct sbx_wire_session session;
    struct sbx_wire_session_item session_item;
    struct sbx_wire_explain_result explain_result;
    struct sbx_wire_verify verify;
    struct sbx_wire_verify_result verify_result;
    struct sbx_wire_credit credit;
    struct sbx_wire_cancel cancel;
    struct sbx_wire_started started;
    struct sbx_wire_output output;
    struct sbx_wire_closed closed;
    struct sbx_wire_stdin_more stdin_more;
    struct sbx_wire_denied denied;
    struct sbx_wire_exited exited;
};

/* ---- the table ---- */

enum sbx_wire_kind {
    SBX_WIRE_TEXT,     /* struct sbx_str; `max` bytes */
    SBX_WIRE_INT,      /* int64_t; `min` to `max`, `otherwise` when absent */
    SBX_WIRE_BOOL,     /* bool */
    SBX_WIRE_CHOICE,   /* an enum of `names`; 0 when absent */
    SBX_WIRE_TEXTS,    /* struct sbx_wire_texts; `max` items */
    SBX_WIRE_PAIRS,    /* struct sbx_wire_texts: an object of texts; `max` members */
    SBX_WIRE_INTS,     /* struct sbx_wire_ints; `min` to `max` each */
    SBX_WIRE_DATA,     /* struct sbx_wire_data; `max` bytes */
    SBX_WIRE_ENCODING, /* how the struct sbx_wire_data at the same place is written */
    SBX_WIRE_ID,       /* struct sbx_wire_id */
    SBX_WIRE_OBJECT,   /* a struct of its own, `members` */
    SBX_WIRE_RAW,      /* struct sbx_str: an object that is passed on unread */
    SBX_WIRE_RAW_LIST, /* struct sbx_str: an array that is passed on unread; of `members` if it has some */
    SBX_WIRE_WHOLE, /* struct sbx_str: the object itself, passed on unread; the only row there is */
    SBX_WIRE_KIND_COUNT
};

struct sbx_wire_member {
    const char *name; /* NULL ends the rows */
    enum sbx_wire_kind kind;
    size_t at; /* offset in the struct */
    bool is_required;
    int64_t min, max, otherwise;
    const struct sbx_name *names;
    const struct sbx_wire_members *members;
    const char *help; /* a sentence without its full stop */
};

struct sbx_wire_members {
    const char *name; /* of the object, in the JSON Schema */
    size_t size;      /* of the struct */
    const struct sbx_wire_member *rows;
    const char *(*fault)(
        const void
            *body); /* what is wrong with members that are right each; NULL: nothing can be */
};

/* Methods, in the order of the documents. */
enum sbx_wire_method {
    SBX_WIRE_HELLO,
    SBX_WIRE_PING,
    SBX_WIRE_RUN_START,
    SBX_WIRE_RUN_STDIN,
    SBX_WIRE_RUN_SIGNAL,
    SBX_WIRE_RUN_RESIZE,
    SBX_WIRE_RUN_CANCEL,
    SBX_WIRE_RUN_WAIT,
    SBX_WIRE_RUN_LIST,
    SBX_WIRE_SESSION_OPEN,
    SBX_WIRE_SESSION_CLOSE,
    SBX_WIRE_SESSION_LIST,
    SBX_WIRE_PLAN_EXPLAIN,
    SBX_WIRE_MANIFEST_VERIFY,
    SBX_WIRE_DOCTOR,
    SBX_WIRE_SHUTDOWN,
    /* from the client, unanswered */
    SBX_WIRE_RUN_CREDIT,
    SBX_WIRE_CANCEL,
    /* from the service, unanswered */
    SBX_WIRE_STARTED,
    SBX_WIRE_OUTPUT,
    SBX_WIRE_CLOSED,
    SBX_WIRE_STDIN_MORE,
    SBX_WIRE_DENIED,
    SBX_WIRE_EXITED,
    SBX_WIRE_METHOD_COUNT
};

enum sbx_wire_way { SBX_WIRE_ASKS, SBX_WIRE_TELLS_SERVICE, SBX_WIRE_TELLS_CLIENT };

struct sbx_wire_row {
    const char *name;
    enum sbx_wire_way way;
    const struct sbx_wire_members *params;
    const struct sbx_wire_members *result; /* NULL for what is not answered */
    const char *help;
};
extern const struct sbx_wire_row sbx_wire_rows[SBX_WIRE_METHOD_COUNT];

/* What stands in lists, and an error. */
extern const struct sbx_wire_members sbx_wire_run_item_members, sbx_wire_session_item_members;
extern const struct sbx_wire_members
    sbx_wire_error_members; /* struct sbx_wire_error without its code */

/* How many bytes one `output` may have so that no line of it is longer than `line_max`: SBX_WIRE_CHUNK, or less. */
size_t sbx_wire_chunk(size_t line_max);

/* The method of this name, of either direction; SBX_WIRE_METHOD_COUNT when there is none. */
enum sbx_wire_method sbx_wire_method_of(struct sbx_str name);

#endif
