/* A connection: opened, greeted, asked for events, closed. */
#include <stdlib.h>
#include <string.h>

#include "lib/client.h"

#include "common/base/banned.h"

#define GREETING_MS 10000
#define OUT_MAX ((size_t)64 << 20)

int sbx_client_version(void)
{
    return SBX_VERSION_NUMBER;
}

static void *resize_default(void *state, void *old, size_t bytes)
{
    (void)state;
    if (bytes > 0) return realloc(old, bytes);
    free(old);
    return NULL;
}

/* ---- opening ---- */

static enum sbx_code connect_link(const struct sbx_client_options *options, int timeout_ms,
                                  struct sbx_client *client, struct sbx_err *err)
{
    enum sbx_code code = SBX_E_INVALID;
    switch (options->where) {
    case SBX_CLIENT_SERVICE:
        return sbx_link_connect(options->address, timeout_ms, &client->link, err);
    case SBX_CLIENT_HANDED:
        return sbx_link_adopt(options->fd, &client->link, err);
    case SBX_CLIENT_ANY:
        code = sbx_link_connect(options->address, timeout_ms, &client->link, err);
        if (code != SBX_E_NOT_FOUND) return code;
        break;
    case SBX_CLIENT_LOCAL:
        break;
    default:
        return sbx_err_set(err, SBX_E_INVALID, "there is no such kind of connection");
    }
    client->is_local = true;
    return sbx_link_start(options->program, &client->link, err);
}

/* What the service allows is believed only as far as it makes sense. */
static size_t bounded(int64_t number, size_t most)
{
    return number < 0 ? 0 : (uint64_t)number > most ? most : (size_t)number;
}

static int greet(struct sbx_client *client, const struct sbx_client_options *options,
                 int timeout_ms, struct sbx_client_error *error)
{
    struct sbx_wire_hello hello = {
        .protocol = {.items = {SBX_WIRE_PROTOCOL}, .count = 1},
        .client = {.name = sbx_str(options->name != NULL ? options->name : "libsbx"),
                   .version =
                       sbx_str(options->version != NULL ? options->version : SBX_VERSION_TEXT)}};
    if (sbx_client_request(client, SBX_WIRE_HELLO, &hello, NULL, error) != 0 ||
        sbx_client_await(client, timeout_ms, error) != 0)
        return -1;
    sbx_buf_add_str(&client->greeting, sbx_buf_str(&client->answer));
    if (client->greeting.failed) return sbx_client_fail(error, "memory", "no memory");
    union sbx_wire_body body;
    struct sbx_wire_message answer = {.sort = SBX_WIRE_RESULT,
                                      .result = sbx_buf_str(&client->answer)};
    if (sbx_wire_take_result(&answer, SBX_WIRE_HELLO, &body, NULL) != SBX_WIRE_OK ||
        body.hello_result.protocol != SBX_WIRE_PROTOCOL)
        return sbx_client_fail(error, "protocol", "the worker does not speak protocol %d",
                               SBX_WIRE_PROTOCOL);
    const struct sbx_wire_limits *limits = &body.hello_result.limits;
    client->window = bounded(limits->window, INT32_MAX);
    client->input_window = bounded(limits->stdin_window, INT32_MAX);
    client->line_max = bounded(limits->line, SBX_FRAME_LINE_MAX);
    return 0;
}

static struct sbx_client *allocate(const struct sbx_client_options *options)
{
    sbx_client_resize_memory *resize =
        options->resize_memory != NULL ? options->resize_memory : resize_default;
    struct sbx_client *client =
        (struct sbx_client *)resize(options->memory_state, NULL, sizeof *client);
    if (client == NULL) return NULL;
    memset(client, 0, sizeof *client);
    client->resize_memory = resize;
    client->memory_state = options->memory_state;
    client->link = (struct sbx_link){.stream = -1, .worker = -1};
    client->line_max = SBX_FRAME_LINE_MAX;
    sbx_frame_init(&client->in, SBX_FRAME_LINE_MAX);
    client->in.resize = resize;
    client->in.resize_state = options->memory_state;
    sbx_client_init_buf(client, &client->out, OUT_MAX);
    sbx_client_init_buf(client, &client->later, SBX_CLIENT_LATER_MAX);
    sbx_client_init_buf(client, &client->greeting, SBX_FRAME_LINE_MAX);
    sbx_client_init_buf(client, &client->answer, SBX_FRAME_LINE_MAX);
    return client;
}

struct sbx_client *sbx_client_open(const struct sbx_client_options *options,
                                   struct sbx_client_error *error)
{
    static const struct sbx_client_options defaults = {.where = SBX_CLIENT_ANY};
    if (options == NULL) options = &defaults;
    int timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : GREETING_MS;
    struct sbx_client *client = allocate(options);
    if (client == NULL) {
        (void)sbx_client_fail(error, "memory", "no memory for a connection");
        return NULL;
    }
    struct sbx_err err = {0};
    if (connect_link(options, timeout_ms, client, &err) != SBX_OK) {
        (void)sbx_client_fail_err(error, &err);
    } else if (greet(client, options, timeout_ms, error) == 0) {
        return client;
    }
    sbx_client_close(client);
    return NULL;
}

void sbx_client_close(struct sbx_client *client)
{
    if (client == NULL) return;
    sbx_client_flush(client);
    sbx_link_close(&client->link);
    for (size_t i = 0; i < client->run_count; i++) sbx_client_release_run(&client->runs[i]);
    for (size_t i = 0; i < SBX_CLIENT_STREAMS; i++) sbx_buf_release(&client->results[i]);
    sbx_frame_release(&client->in);
    sbx_buf_release(&client->out);
    sbx_buf_release(&client->later);
    sbx_buf_release(&client->greeting);
    sbx_buf_release(&client->answer);
    if (client->runs != NULL) (void)client->resize_memory(client->memory_state, client->runs, 0);
    (void)client->resize_memory(client->memory_state, client, 0);
}

bool sbx_client_is_local(const struct sbx_client *client)
{
    return client->is_local;
}

const char *sbx_client_greeting(const struct sbx_client *client)
{
    return sbx_buf_text(&client->greeting);
}

intptr_t sbx_client_fd(const struct sbx_client *client)
{
    return sbx_link_pollable(&client->link);
}

bool sbx_client_wants_write(const struct sbx_client *client)
{
    return client->out_sent < client->out.len;
}
