/* Lines of bytes into JSON-RPC messages, and answers back. Nothing here knows what a method means. */
#ifndef SBX_MCP_MESSAGE_H
#define SBX_MCP_MESSAGE_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/jsonw.h"
#include "common/policy/value.h"

/* Longest line that is accepted, and longest id. */
#define SBX_MCP_LINE_MAX ((size_t)1 << 20)
#define SBX_MCP_ID_MAX ((size_t)128)
/* Longest line that is written. */
#define SBX_MCP_ANSWER_MAX ((size_t)16 << 20)

enum sbx_mcp_fault {
    SBX_MCP_PARSE = -32700,
    SBX_MCP_INVALID = -32600,
    SBX_MCP_METHOD = -32601,
    SBX_MCP_PARAMS = -32602,
    SBX_MCP_INTERNAL = -32603,
    SBX_MCP_NO_RESOURCE = -32002,
};

/* ---- lines ---- */

/* Takes bytes as they come and gives whole lines. A line that is too long is given as one of its kind, once,
 * and the rest of it is dropped. */
struct sbx_mcp_lines {
    struct sbx_buf text;
    bool is_dropping;
};

void sbx_mcp_lines_init(struct sbx_mcp_lines *lines);
void sbx_mcp_lines_release(struct sbx_mcp_lines *lines);

enum sbx_mcp_line { SBX_MCP_LINE_NONE, SBX_MCP_LINE_WHOLE, SBX_MCP_LINE_TOO_LONG };

/* Takes from the front of *bytes; a line without its end stays for the next call. *line is valid until the
 * next call. */
enum sbx_mcp_line sbx_mcp_lines_next(struct sbx_mcp_lines *lines, struct sbx_str *bytes,
                                     struct sbx_str *line);

/* ---- ids ---- */

enum sbx_mcp_id_kind { SBX_MCP_ID_NONE, SBX_MCP_ID_TEXT, SBX_MCP_ID_NUMBER };

/* An id or a progress token: holds its text itself. */
struct sbx_mcp_id {
    enum sbx_mcp_id_kind kind;
    int64_t number;
    size_t len;
    char text[SBX_MCP_ID_MAX];
};

/* False for a value that is no id: too long, a fraction, an object. NULL gives SBX_MCP_ID_NONE. */
bool sbx_mcp_id_read(const struct sbx_value *value, struct sbx_mcp_id *out);
bool sbx_mcp_id_equal(const struct sbx_mcp_id *a, const struct sbx_mcp_id *b);
void sbx_mcp_id_write(const struct sbx_mcp_id *id, struct sbx_jsonw *json); /* none: null */

/* ---- messages ---- */

struct sbx_mcp_message {
    struct sbx_mcp_id id;           /* SBX_MCP_ID_NONE: a notification */
    struct sbx_str method;          /* empty: an answer to a request of ours */
    const struct sbx_value *params; /* a table, or NULL */
};

/* A value as a message; NULL when it is one, else what is wrong with it. The id is filled in as far as it
 * could be read, so that the fault can be told. */
const char *sbx_mcp_message_read(const struct sbx_value *value, struct sbx_mcp_message *out);

/* {"jsonrpc":"2.0","id":ID,"result": — the caller writes the value, then sbx_jsonw_end. */
void sbx_mcp_answer_open(struct sbx_jsonw *json, struct sbx_buf *out, const struct sbx_mcp_id *id);

/* A whole error answer; `uri` goes into its data when it is not empty. */
void sbx_mcp_fault_write(struct sbx_buf *out, const struct sbx_mcp_id *id, enum sbx_mcp_fault fault,
                         const char *text, struct sbx_str uri);

#endif
