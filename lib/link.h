/* What the library needs of the system: one connected stream of bytes to a worker, and what the caller's process is like. One
 * implementation per build (link_posix.c and worker_posix.c, link_win.c and worker_win.c). Nothing here blocks but
 * where it says so. */
#ifndef SBX_LIB_LINK_H
#define SBX_LIB_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"

struct sbx_link_system; /* what one system needs besides; Windows only */

struct sbx_link {
    intptr_t stream; /* a socket, or a pipe's handle; -1: none */
    intptr_t worker; /* a child that is ours: process id, or handle; -1: none */
    struct sbx_link_system *system;
};

/* Connects to the service at `address`, or where one is looked for without. SBX_E_NOT_FOUND: nobody listens, with a hint;
 * SBX_E_UNTRUSTED: what listens there is neither the caller's nor the system's. Waits up to timeout_ms. */
enum sbx_code sbx_link_connect(const char *address, int timeout_ms, struct sbx_link *out,
                               struct sbx_err *err) SBX_MUST_USE;

/* Starts a worker, connected to us by its standard input and output. `program` NULL: the installed one. */
enum sbx_code sbx_link_start(const char *program, struct sbx_link *out,
                             struct sbx_err *err) SBX_MUST_USE;

/* A descriptor that is connected. SBX_E_UNSUPPORTED where there are none. */
enum sbx_code sbx_link_adopt(int fd, struct sbx_link *out, struct sbx_err *err) SBX_MUST_USE;

/* Ends it; waits until a worker of ours is gone, and ends one that does not go. */
void sbx_link_close(struct sbx_link *link);

enum sbx_link_state {
    SBX_LINK_MOVED, /* some bytes were read or written */
    SBX_LINK_BUSY,  /* not now */
    SBX_LINK_OVER,  /* the other side has ended it, or it broke */
};
enum sbx_link_state sbx_link_read(struct sbx_link *link, void *bytes, size_t len, size_t *moved);

/* With `fds`, three descriptors go along with the first byte. */
enum sbx_link_state sbx_link_write(struct sbx_link *link, const void *bytes, size_t len,
                                   const int *fds, size_t *moved);
bool sbx_link_passes_descriptors(const struct sbx_link *link);

/* Waits until it can be read (or, with is_writing, also written); timeout_ms -1: for ever. */
void sbx_link_wait(struct sbx_link *link, bool is_writing, int timeout_ms);

/* What to poll. */
intptr_t sbx_link_pollable(const struct sbx_link *link);

uint64_t sbx_link_now_ms(void); /* a clock that only goes forward */

/* The caller's working directory (false: it has no name) and its environment as "NAME=VALUE", a NUL after each. Appended. */
bool sbx_link_add_directory(struct sbx_buf *out) SBX_MUST_USE;
void sbx_link_add_environment(struct sbx_buf *out);

#endif
