/* The beginning and the end of a stream of any length, in bounded memory. */
#ifndef SBX_MCP_CAPTURE_H
#define SBX_MCP_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

struct sbx_mcp_capture {
    char *bytes;    /* head, then a ring of the rest */
    size_t half;    /* of each */
    uint64_t total; /* that came */
};

/* Keeps at most `max_bytes` (at least 2). False without memory. */
bool sbx_mcp_capture_init(struct sbx_mcp_capture *capture, size_t max_bytes) SBX_MUST_USE;
void sbx_mcp_capture_release(struct sbx_mcp_capture *capture); /* zeroed is allowed */

void sbx_mcp_capture_add(struct sbx_mcp_capture *capture, struct sbx_str bytes);
bool sbx_mcp_capture_is_cut(const struct sbx_mcp_capture *capture);

/* What was kept, with a line in between that says how much was left out. Cut at whole characters. */
void sbx_mcp_capture_print(const struct sbx_mcp_capture *capture, struct sbx_buf *out);

#endif
