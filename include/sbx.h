/* libsbx: run commands in boxes from a program in C or C++. This header is the manual.
 *
 *     #include <sbx.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         const char *argv[] = {"echo", "hello from a box", NULL};
 *         struct sbx_client_run_options options = {.argv = argv};
 *         struct sbx_client_result result;
 *         struct sbx_client_error error;
 *         struct sbx_client *client = sbx_client_open(NULL, &error);
 *         int failed = client == NULL || sbx_client_run(client, &options, &result, &error) != 0;
 *         if (failed) fprintf(stderr, "%s\n%s\n", error.text, error.hint);
 *         else printf("%.*sstatus %d\n", (int)result.output_len, result.output, result.status);
 *         sbx_client_close(client);
 *         return failed;
 *     }
 *
 *     cc hello.c $(pkg-config --cflags --libs sbx)        or, with CMake:
 *     find_package(sbx REQUIRED)  target_link_libraries(hello PRIVATE sbx::sbx)
 *
 * WHO RUNS IT. A connection leads to a worker, which builds the boxes; sbx_client_open says to which:
 *   the service   a daemon that keeps boxes warm; a start costs little more than that of a plain process.
 *                 $SBX_SOCKET, else the user's socket, else the system's; on Windows the pipe \\.\pipe\sbx.
 *   a local one   no service: the library starts a worker of its own as a child, and it ends with the connection
 *                 or with the caller. Every call below works the same.
 * A local run is a process beside the caller on purpose. Building a box forks, takes credentials apart and sets
 * filters that a process keeps; that is safe in a small process without threads and not inside a program that
 * has any. And what a box sends back is then never parsed with the caller's memory around it.
 *
 * TWO WAYS TO USE IT. Blocking: sbx_client_run. Or an event loop: sbx_client_start for any number of commands, poll
 * sbx_client_fd, sbx_client_next until it has nothing more. Events of a run with an on_event go there instead.
 *
 * OUTPUT is bounded by credit: what the caller has not taken is not read from the command, which then waits. A slow
 * caller slows its own commands and no other. The fastest way for bytes is not to have them here at all:
 * descriptors in `fds` become the streams of the command itself (POSIX).
 *
 * RULES. A function that can fail returns 0, or -1 and fills *error, which may be NULL. Texts are UTF-8. What a call hands
 * out (events, results, JSON) belongs to the connection and lives until the next call with it. There is no global
 * state, no thread, no signal handler and no signal: a connection that breaks is an error. Different connections may be used
 * by different threads at once; one connection by one at a time. After a fork only the parent may use it; descriptors are
 * close-on-exec. A local worker is a child of the process: who waits for any child may see it end. */
#ifndef SBX_H
#define SBX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Semantic versioning. While the major number is 0, a change of the minor one may break. */
#define SBX_VERSION_MAJOR 0
#define SBX_VERSION_MINOR 1
#define SBX_VERSION_PATCH 0
#define SBX_VERSION_TEXT "0.1.0"
#define SBX_VERSION_NUMBER                                                                         \
    (SBX_VERSION_MAJOR * 1000000 + SBX_VERSION_MINOR * 1000 + SBX_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the library that is linked, as SBX_VERSION_NUMBER. */
int sbx_client_version(void);

/* ---- errors ---- */

/* Match on `name`; texts are for people. Names and numbers of the service are those of the protocol ("refused" -33000,
 * "policy_invalid" -33001, "not_found" -33002, "not_executable" -33003, "limit_reached" -33006, "overloaded" -32001, …).
 * The library's own have the number 0: "no_service", "lost" (the connection ended), "invalid" (a wrong argument),
 * "protocol" (the other side does not speak it), "unsupported", "memory", "system" (a call of the system failed). */
struct sbx_client_error {
    int number;
    int os; /* errno or GetLastError(), 0 if it was not the system */
    bool is_retryable;
    char name[32];
    char text[640]; /* one sentence, lower case, no full stop */
    char hint[384]; /* what to do, or empty */
};

/* ---- connection ---- */

struct sbx_client;

enum sbx_client_where {
    SBX_CLIENT_ANY,     /* the service if one answers, else a local worker */
    SBX_CLIENT_SERVICE, /* the service, or an error that says how to start one */
    SBX_CLIENT_LOCAL,   /* a worker of one's own */
    SBX_CLIENT_HANDED,  /* `fd` is connected to a worker already; it becomes the library's. POSIX */
};

/* Memory for a connection, as realloc: bytes 0 frees. Must not call back. */
typedef void *sbx_client_resize_memory(void *state, void *old, size_t bytes);

/* Zero means the default everywhere. */
struct sbx_client_options {
    enum sbx_client_where where;
    const char *address; /* of the service: a socket's path, or a pipe's name; NULL: as above */
    const char
        *program; /* of a local worker: path of sbxd (Windows: sbx.exe); NULL: the installed one */
    int fd;
    int timeout_ms;                          /* for connecting and greeting; 0: ten seconds */
    const char *name;                        /* of the calling program, for the service's log */
    const char *version;                     /* of the calling program */
    sbx_client_resize_memory *resize_memory; /* NULL: the C library's */
    void *memory_state;
    void *reserved[8]; /* zero */
};

/* Connects and greets; `options` may be NULL. NULL after a failure. */
struct sbx_client *sbx_client_open(const struct sbx_client_options *options,
                                   struct sbx_client_error *error);

/* Ends the connection, its commands, and a local worker, and waits for that one. NULL is allowed. */
void sbx_client_close(struct sbx_client *client);

/* True for a worker of one's own. */
bool sbx_client_is_local(const struct sbx_client *client);

/* What the greeting said, as JSON: server, platform, limits. */
const char *sbx_client_greeting(const struct sbx_client *client);

/* ---- running ---- */

/* Names a run within its connection; never 0, never used again. */
typedef uint64_t sbx_client_run_id;

enum sbx_client_stream {
    SBX_CLIENT_STDOUT = 1,
    SBX_CLIENT_STDERR = 2,
    SBX_CLIENT_TERMINAL = 3, /* both, of a run with a terminal */
};

enum sbx_client_event_kind {
    SBX_CLIENT_STARTED, /* json: backend, digest, warm */
    SBX_CLIENT_OUTPUT,  /* stream, data, len */
    SBX_CLIENT_CLOSED,  /* stream: it has ended */
    SBX_CLIENT_ROOM,    /* len: so many bytes of input may be written now */
    SBX_CLIENT_DENIED,  /* json: what the box refused */
    SBX_CLIENT_EXITED,  /* status, json: the outcome, as `sbx run --json` tells it. Last of a run */
    SBX_CLIENT_REFUSED, /* error: nothing ran, and why. Last of a run */
};

struct sbx_client_event {
    enum sbx_client_event_kind kind;
    sbx_client_run_id run;
    enum sbx_client_stream stream;
    const void *data;
    size_t len;
    const char *json; /* ends with NUL */
    int status;       /* as of `sbx run`: the command's own, 124 a limit, 128+n a signal */
    const struct sbx_client_error *error;
};

/* Must not use the connection but for sbx_client_write, sbx_client_write_end and sbx_client_credit. */
typedef void sbx_client_on_event(void *state, const struct sbx_client_event *event);

enum sbx_client_input {
    SBX_CLIENT_INPUT_NONE, /* the command reads nothing */
    SBX_CLIENT_INPUT_PIPE, /* what sbx_client_write brings */
};

/* Zero means the default everywhere but for argv. Neither manifest nor manifest_file: it is looked for from `cwd` upwards,
 * exactly as `sbx run` does. */
struct sbx_client_run_options {
    const char *const *argv; /* ends with NULL. There is no shell: ask for one by {"sh", "-c", …} */
    const char *cwd;         /* NULL: the caller's */
    const char *const *env;    /* "NAME=VALUE", ends with NULL; NULL: the caller's. What of it the
                                  command sees is the manifest's decision. No UTF-8: left out */
    const char *manifest;      /* JSON */
    const char *manifest_file; /* absolute path */
    const char *mode;          /* "workspace-write", … instead of the manifest's */
    const char *profile;       /* "strict", … */
    const char *sandbox;       /* as SBX_SANDBOX of `sbx run`, which the library does not read */
    const char *session;       /* from session.open */
    const char *label;         /* for lists and logs */
    int64_t timeout_ms;        /* 0: the manifest's */
    enum sbx_client_input input;
    const void *
        input_bytes; /* with a pipe: the whole input, which the library writes; must stay until the end of the run */
    size_t input_len;
    const int
        *fds; /* three descriptors that become the command's own streams, or NULL; they stay the
                             caller's. Then there are no events of streams. POSIX */
    int rows, cols; /* both set: a terminal of that size */
    bool
        allows_no_sandbox; /* as SBX_ALLOW_NO_SANDBOX: with `sandbox` "none" nothing isolates the command */
    bool wants_evidence; /* the outcome has what was read back of the box */
    bool
        has_own_credit; /* nothing comes until sbx_client_credit; else taking an event gives it back */
    size_t keep_bytes;             /* what sbx_client_wait keeps of each stream; 0: 1 MiB */
    sbx_client_on_event *on_event; /* NULL: sbx_client_next has the events */
    void *state;
    void *reserved[8]; /* zero */
};

/* Sends the request and does not wait: SBX_CLIENT_STARTED or SBX_CLIENT_REFUSED follows. *run is set on success. */
int sbx_client_start(struct sbx_client *client, const struct sbx_client_run_options *options,
                     sbx_client_run_id *run, struct sbx_client_error *error);

/* How a command ended, and what it printed unless an on_event or fds had that. */
struct sbx_client_result {
    int status;         /* as of `sbx run` */
    bool is_commands;   /* the command's own status: sbx itself ends with 124 and 125 too */
    int signal;         /* that ended it, else 0 */
    const char *json;   /* the outcome */
    const char *output; /* standard output (or the terminal's), ends with NUL */
    size_t output_len;
    const char *errors; /* standard error, ends with NUL */
    size_t errors_len;
    uint64_t dropped; /* bytes beyond keep_bytes */
    void *reserved[4];
};

/* Takes events until the run has ended. Events of other runs stay for sbx_client_next, or go to their on_event. A refusal is
 * an error. Once for each run. */
int sbx_client_wait(struct sbx_client *client, sbx_client_run_id run,
                    struct sbx_client_result *result, struct sbx_client_error *error);

/* sbx_client_start and sbx_client_wait. */
int sbx_client_run(struct sbx_client *client, const struct sbx_client_run_options *options,
                   struct sbx_client_result *result, struct sbx_client_error *error);

/* ---- event loop ---- */

/* To be polled for reading (Windows: the HANDLE of an event that is set then). Before polling, call sbx_client_next with
 * timeout 0 until it returns 0: events may be here already. */
intptr_t sbx_client_fd(const struct sbx_client *client);

/* Something to be sent waits for room: poll for writing too, then sbx_client_next. Never on Windows. */
bool sbx_client_wants_write(const struct sbx_client *client);

/* 1 and an event; 0 when none came within timeout_ms (-1: wait for ever, 0: do not wait); -1 the connection is over:
 * commands it had were ended by the worker. */
int sbx_client_next(struct sbx_client *client, int timeout_ms, struct sbx_client_event *event,
                    struct sbx_client_error *error);

/* ---- a running command ---- */

/* Input, from SBX_CLIENT_STARTED on. *taken says how much was taken: less than `len` when the window is full; then SBX_CLIENT_ROOM
 * follows. */
int sbx_client_write(struct sbx_client *client, sbx_client_run_id run, const void *bytes,
                     size_t len, size_t *taken, struct sbx_client_error *error);

/* End of input. */
int sbx_client_write_end(struct sbx_client *client, sbx_client_run_id run,
                         struct sbx_client_error *error);

/* "INT", "TERM", "HUP", "QUIT", "KILL", "USR1", "USR2". A run that has ended is an error, "no_such_run"; so below.
 * Before SBX_CLIENT_STARTED it is "invalid". */
int sbx_client_signal(struct sbx_client *client, sbx_client_run_id run, const char *name,
                      struct sbx_client_error *error);

int sbx_client_resize(struct sbx_client *client, sbx_client_run_id run, int rows, int cols,
                      struct sbx_client_error *error);

/* Ends it, whatever it does; SBX_CLIENT_EXITED follows. Before SBX_CLIENT_STARTED it takes the request back, and
 * SBX_CLIENT_REFUSED follows; if the start was on its way already, SBX_CLIENT_STARTED does: then say it again. */
int sbx_client_cancel(struct sbx_client *client, sbx_client_run_id run,
                      struct sbx_client_error *error);

/* Lets so many more bytes of a stream come (has_own_credit). */
int sbx_client_credit(struct sbx_client *client, sbx_client_run_id run,
                      enum sbx_client_stream stream, size_t bytes, struct sbx_client_error *error);

/* ---- questions ---- */

/* Any method of the protocol that answers once; params is a JSON object or NULL. *json is the result. */
int sbx_client_call(struct sbx_client *client, const char *method, const char *params,
                    const char **json, struct sbx_client_error *error);

/* What would be run, and why: {"text": …, "plan": {…}}. */
int sbx_client_explain(struct sbx_client *client, const struct sbx_client_run_options *options,
                       const char **json, struct sbx_client_error *error);

/* Checks a manifest, JSON text or an absolute path: {"ok": …, "findings": […]}. One of the two is NULL. */
int sbx_client_verify(struct sbx_client *client, const char *manifest, const char *manifest_file,
                      const char **json, struct sbx_client_error *error);

/* What this machine can enforce: as `sbx doctor --json`. */
int sbx_client_doctor(struct sbx_client *client, const char **json, struct sbx_client_error *error);

#ifdef __cplusplus
}
#endif

#endif
