/* What `sbx mcp` needs of an operating system beyond common/os.h: its own input, and children whose streams
 * are pipes, all waited for at one place, so that nothing blocks while a command runs. One implementation
 * per build (posix/mcp_port.c, win/mcp_port.c); tests bring their own. */
#ifndef SBX_MCP_PORT_H
#define SBX_MCP_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"

/* Children alive at the same time. */
#define SBX_MCP_CHILDREN 8

/* The streams of a child that are read. SBX_MCP_RESULT is its descriptor 3. */
enum sbx_mcp_stream { SBX_MCP_STDOUT, SBX_MCP_STDERR, SBX_MCP_RESULT, SBX_MCP_STREAMS };

enum sbx_mcp_event_kind {
    SBX_MCP_INPUT,  /* bytes of our own input; none of them: it has ended */
    SBX_MCP_OUTPUT, /* bytes of a child's stream */
    SBX_MCP_ENDED,  /* the child is gone and all its output was given; its number is free again */
    SBX_MCP_IDLE,   /* the time is up */
};

struct sbx_mcp_event {
    enum sbx_mcp_event_kind kind;
    size_t child;
    enum sbx_mcp_stream stream;
    struct sbx_str bytes; /* valid until the next call */
};

struct sbx_mcp_start {
    const char *program;     /* absolute */
    const char *const *argv; /* ends with NULL */
    struct sbx_str input;    /* what the child reads; then its input ends. Copied. */
};

struct sbx_mcp_port;

/* One at a time; the caller's own standard input and output. */
enum sbx_code sbx_mcp_port_open(struct sbx_mcp_port **out, struct sbx_err *err) SBX_MUST_USE;

/* Ends every child that is left. NULL is allowed. */
void sbx_mcp_port_close(struct sbx_mcp_port *port);

/* Starts a child in our directory with our environment, which dies with us where the system allows it.
 * *child is its number, below SBX_MCP_CHILDREN. SBX_E_LIMIT when there are that many already. */
enum sbx_code sbx_mcp_port_start(struct sbx_mcp_port *port, const struct sbx_mcp_start *start,
                                 size_t *child, struct sbx_err *err) SBX_MUST_USE;

/* Asks the child to end, or `now` makes it. Its SBX_MCP_ENDED still comes. */
void sbx_mcp_port_end(struct sbx_mcp_port *port, size_t child, bool now);

/* Waits for what happens next, at most so long. */
enum sbx_code sbx_mcp_port_next(struct sbx_mcp_port *port, uint32_t timeout_ms,
                                struct sbx_mcp_event *out, struct sbx_err *err) SBX_MUST_USE;

/* Writes all of it to our own output. */
enum sbx_code sbx_mcp_port_write(struct sbx_mcp_port *port, struct sbx_str text,
                                 struct sbx_err *err) SBX_MUST_USE;

/* A clock that never goes back. */
uint64_t sbx_mcp_port_now_ns(const struct sbx_mcp_port *port);

#endif
