/* Fuzz: any bytes as the input of `sbx mcp`, with a port of our own: children start, say a little and end at
 * once. Every answer is one line of JSON, and nothing but "run" and "explain" starts. The first byte says how
 * the input is cut. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/mcp/message.h"
#include "common/mcp/port.h"
#include "common/mcp/server.h"
#include "common/policy/json_read.h"

#include "common/base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool held)
{
    if (!held) {
        abort();
    }
}

/* ---- the port ---- */

struct sbx_mcp_port {
    const char *input;
    size_t left, step;
    unsigned alive; /* bit per child */
    unsigned told;  /* bit per child: its output was given */
    uint64_t now_ns;
};
static struct sbx_mcp_port the_port;

enum sbx_code sbx_mcp_port_open(struct sbx_mcp_port **out, struct sbx_err *err)
{
    (void)err;
    *out = &the_port;
    return SBX_OK;
}

void sbx_mcp_port_close(struct sbx_mcp_port *port)
{
    (void)port;
}

enum sbx_code sbx_mcp_port_start(struct sbx_mcp_port *port, const struct sbx_mcp_start *start,
                                 size_t *child, struct sbx_err *err)
{
    static const char *const verbs[] = {"run", "explain", "why", "doctor"};
    bool is_known = false;
    for (size_t i = 0; i < SBX_COUNT(verbs); i++) {
        is_known |= strcmp(start->argv[1], verbs[i]) == 0;
    }
    must(is_known && strcmp(start->argv[0], "/sbx") == 0);
    for (size_t i = 0; i < SBX_MCP_CHILDREN; i++) {
        if ((port->alive & (1u << i)) == 0) {
            port->alive |= 1u << i;
            port->told &= ~(1u << i);
            *child = i;
            return SBX_OK;
        }
    }
    return sbx_err_set(err, SBX_E_LIMIT, "enough");
}

void sbx_mcp_port_end(struct sbx_mcp_port *port, size_t child, bool now)
{
    (void)now;
    must((port->alive & (1u << child)) != 0);
}

enum sbx_code sbx_mcp_port_next(struct sbx_mcp_port *port, uint32_t timeout_ms,
                                struct sbx_mcp_event *out, struct sbx_err *err)
{
    (void)timeout_ms;
    (void)err;
    port->now_ns += UINT64_C(1000000000);
    /* Every other turn is a child's, so that several are alive at a time. */
    for (size_t i = 0; i < SBX_MCP_CHILDREN && (port->now_ns / 1000000000) % 2 == 0; i++) {
        unsigned bit = 1u << i;
        if ((port->alive & bit) == 0) continue;
        if ((port->told & bit) == 0) {
            port->told |= bit;
            *out = (struct sbx_mcp_event){.kind = SBX_MCP_OUTPUT,
                                          .child = i,
                                          .stream = (enum sbx_mcp_stream)(i % SBX_MCP_STREAMS),
                                          .bytes = sbx_str("{\"status\":0,\"origin\":\"\xff\"}")};
            return SBX_OK;
        }
        port->alive &= ~bit;
        *out = (struct sbx_mcp_event){.kind = SBX_MCP_ENDED, .child = i};
        return SBX_OK;
    }
    size_t part = port->left < port->step ? port->left : port->step;
    *out = (struct sbx_mcp_event){.kind = SBX_MCP_INPUT, .bytes = {port->input, part}};
    port->input += part;
    port->left -= part;
    return SBX_OK;
}

enum sbx_code sbx_mcp_port_write(struct sbx_mcp_port *port, struct sbx_str text,
                                 struct sbx_err *err)
{
    (void)port;
    AUTO_ARENA arena;
    sbx_arena_init(&arena, (size_t)256 << 20);
    struct sbx_value value;
    must(text.len > 1 && text.ptr[text.len - 1] == '\n' &&
         memchr(text.ptr, '\n', text.len - 1) == NULL);
    must(sbx_json_read(&arena, "answer", text, &value, err) == SBX_OK);
    must(value.type == SBX_VALUE_TABLE || value.type == SBX_VALUE_ARRAY);
    return SBX_OK;
}

uint64_t sbx_mcp_port_now_ns(const struct sbx_mcp_port *port)
{
    return port->now_ns;
}

/* ---- the target ---- */

static bool options(void *state, struct sbx_arena *arena, const char *const *more, size_t count,
                    struct sbx_mcp_words *out, struct sbx_buf *why)
{
    (void)state;
    for (size_t i = 0; i < count; i++) sbx_mcp_words_add(arena, out, more[i]);
    if (count > 2) sbx_buf_add_text(why, "too much");
    return count <= 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    the_port = (struct sbx_mcp_port){
        .input = (const char *)data + 1, .left = size - 1, .step = 1 + (size_t)data[0] * 16};
    struct sbx_mcp_config config = {
        .version = "0", .program = "/sbx", .allowed = "nothing", .options = options};
    struct sbx_err err = {0};
    must(sbx_mcp_serve(&config, &err) == SBX_OK);
    return 0;
}
