/* What the worker of the service needs of an operating system beyond libuv: exactly one implementation per build
 * (posix/service_*.c or win/service_*.c). Everything here is called on the loop's thread and does not wait.
 *
 * Most runs need nothing of it: the worker starts the program with the command line again, by uv_spawn, as
 *   sbx attended EVENTS,MANIFEST,USER,NET run OPTIONS -- COMMAND…
 * in the client's directory with the client's variables. EVENTS is the descriptor that gets a line of JSON when the command
 * starts and the outcome object as the last one; MANIFEST the descriptor that a manifest in JSON is read from; USER and NET
 * are the network of a session; -1 is none of it. Descriptors above 2 are passed as libuv does it, which on Windows is the C
 * runtime's own way, so that _write and _read know them. Such a child ends with its parent: by a signal of the kernel on
 * Linux, by libuv's job on Windows. */
#ifndef SBX_SERVICE_PORT_H
#define SBX_SERVICE_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/path.h"
#include "common/run/record.h"
#include "common/run/run.h"

/* ---- the program with the command line ----------------------------------------------------------- */

/* `sbx` beside the running sbxd, or the running sbx.exe itself. SBX_E_NOT_FOUND with a remedy. */
enum sbx_code sbx_port_program(struct sbx_arena *arena, struct sbx_path *out,
                               struct sbx_err *err) SBX_MUST_USE;

/* Sends a signal (a number of POSIX; 9 ends it at once) to such a child, which passes it on to its command. What cannot
 * be sent on this system is SBX_E_UNSUPPORTED. */
enum sbx_code sbx_port_signal(uv_process_t *child, int number, struct sbx_err *err) SBX_MUST_USE;

/* ---- a terminal for one run ---------------------------------------------------------------------- */

/* The child has `theirs` as all of its standard streams and is told --tty; what it shows is read from `screen`, what is typed is
 * written to `keys`, and `ours` stays to give it another size. On a system where the child makes the terminal itself all are
 * -1, and its streams are pipes. */
struct sbx_port_terminal {
    uv_file ours, screen, keys, theirs; /* -1: none */
};

enum sbx_code sbx_port_terminal_open(unsigned rows, unsigned columns, struct sbx_port_terminal *out,
                                     struct sbx_err *err) SBX_MUST_USE;
enum sbx_code sbx_port_terminal_resize(const struct sbx_port_terminal *terminal,
                                       uv_process_t *child, unsigned rows, unsigned columns,
                                       struct sbx_err *err) SBX_MUST_USE;
/* Closes what is not -1. */
void sbx_port_terminal_close(struct sbx_port_terminal *terminal);

/* Where a pipe can hold more than usual, this one does: whoever writes to it and whoever reads from it are woken less often. */
void sbx_port_widen(uv_stream_t *pipe);

/* ---- descriptors that come with a line ----------------------------------------------------------- */

enum { SBX_PORT_RIGHTS_MAX = 3 };

struct sbx_port_reader;

/* `length` bytes; 0: the end; else an error of libuv. `fds` came with them and are the receiver's now. */
typedef void sbx_port_on_read(void *owner, const char *bytes, ssize_t length, const uv_file *fds,
                              size_t fd_count);

/* Reads from a connected socket, whose writing stays with `stream`. NULL, and nothing has happened: this system, or this
 * stream, brings no descriptors; read with libuv. */
struct sbx_port_reader *sbx_port_reader_open(uv_loop_t *loop, uv_stream_t *stream,
                                             sbx_port_on_read *on_read, void *owner);
/* Begins with reading stopped. */
void sbx_port_reader_go(struct sbx_port_reader *reader, bool reads);
/* No more is told. NULL is allowed. */
void sbx_port_reader_close(struct sbx_port_reader *reader);

/* ---- warm boxes ---------------------------------------------------------------------------------- */

struct sbx_port_warm;
struct sbx_port_box;

/* NULL: this system has none, every run is cold. */
struct sbx_port_warm *sbx_port_warm_open(uv_loop_t *loop, size_t boxes_per_plan);
/* Ends what is old, reaps what has ended, builds at most one box: for when nothing else is to do. In so many milliseconds it
 * wants to be called again; 0: not before the next run. */
unsigned sbx_port_warm_tend(struct sbx_port_warm *warm);
/* Ends every box and waits for that. NULL is allowed. */
void sbx_port_warm_close(struct sbx_port_warm *warm);

/* Keeps boxes of this plan, which has no command and must stay until it is forgotten; false: it cannot be. */
bool sbx_port_warm_keep(struct sbx_port_warm *warm, const struct sbx_plan *plan);
void sbx_port_warm_forget(struct sbx_port_warm *warm, const struct sbx_plan *plan);

struct sbx_port_command {
    const char *const *argv;
    const char *const *env;
    const char *directory, *search_path;
    uv_file fds[3]; /* its streams; stay the caller's */
};

/* Starts the command in a ready box. SBX_E_UNAVAILABLE: none is ready, or not for this; run it cold. `on_end` is told
 * once, when sbx_port_box_wait does not wait; not after sbx_port_box_drop. */
enum sbx_code sbx_port_warm_start(struct sbx_port_warm *warm, const struct sbx_plan *plan,
                                  const struct sbx_port_command *command,
                                  void (*on_end)(void *owner), void *owner,
                                  struct sbx_port_box **out, struct sbx_err *err) SBX_MUST_USE;

/* How it ended; the record lives as long as the box. */
enum sbx_code sbx_port_box_wait(struct sbx_port_box *box, struct sbx_run_record *out,
                                struct sbx_err *err) SBX_MUST_USE;
void sbx_port_box_signal(struct sbx_port_box *box, int number);
/* Ends the command and everything it started; on_end comes. */
void sbx_port_box_cancel(struct sbx_port_box *box);
void sbx_port_box_evidence(const struct sbx_port_box *box, const struct sbx_evidence **out,
                           size_t *count);
/* Ends it, whatever it does. NULL is allowed. */
void sbx_port_box_drop(struct sbx_port_box *box);

/* ---- the network of a session -------------------------------------------------------------------- */

/* One loopback that the runs of a session share, as two descriptors for the child. SBX_E_UNSUPPORTED where there is none. */
enum sbx_code sbx_port_network_open(uv_file *user, uv_file *net, struct sbx_err *err) SBX_MUST_USE;

#endif
