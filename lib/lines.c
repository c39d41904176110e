/* Lines to the worker and from it. */
#include "lib/client.h"

#include "common/base/banned.h"

/* How long is waited at once for a worker that does not read; it can break off meanwhile. */
#define PATIENCE_MS 1000

/* ---- to the worker ---- */

static void forget_sent(struct sbx_client *client)
{
    if (client->out_sent < client->out.len) return;
    sbx_buf_reset(&client->out);
    client->out_sent = 0;
}

/* One write of what stands before `end`; false when no more goes now. What was received before it broke can still be read, so
 * reading tells the end. */
static bool push(struct sbx_client *client, size_t end, const int *fds)
{
    size_t moved = 0;
    if (client->is_over || client->out_sent >= end) return false;
    enum sbx_link_state state = sbx_link_write(&client->link, client->out.data + client->out_sent,
                                               end - client->out_sent, fds, &moved);
    if (state != SBX_LINK_MOVED) return false;
    client->out_sent += moved;
    return true;
}

void sbx_client_flush(struct sbx_client *client)
{
    while (push(client, client->out.len, NULL)) {
    }
    forget_sent(client);
}

/* Descriptors belong to the first byte of their line, so what stands before it goes first. Who waits for the worker to read must
 * not keep it from writing: it is read meanwhile. */
static int send_descriptors(struct sbx_client *client, size_t begin, const int *fds,
                            struct sbx_client_error *error)
{
    while (client->out_sent <= begin && !client->is_over) {
        bool is_first = client->out_sent == begin;
        if (push(client, is_first ? client->out.len : begin, is_first ? fds : NULL)) continue;
        if (!sbx_client_fill(client)) sbx_link_wait(&client->link, true, PATIENCE_MS);
    }
    return client->is_over ? sbx_client_ended(client, error) : 0;
}

int sbx_client_send(struct sbx_client *client, size_t begin, const int *fds,
                    struct sbx_client_error *error)
{
    struct sbx_buf *out = &client->out;
    bool is_failed = out->failed;
    bool is_long = out->len - begin > client->line_max + 1;
    if (is_failed || is_long || client->is_over) {
        out->failed = false;
        out->len = begin;
    }
    if (client->is_over) return sbx_client_ended(client, error);
    if (is_failed) return sbx_client_fail(error, "memory", "no memory for a message");
    if (is_long)
        return sbx_client_fail(error, "invalid",
                               "the request is longer than the %zu bytes of a line",
                               client->line_max);
    if (fds != NULL && send_descriptors(client, begin, fds, error) != 0) return -1;
    sbx_client_flush(client);
    return 0;
}

int sbx_client_request(struct sbx_client *client, enum sbx_wire_method method, const void *params,
                       const int *fds, struct sbx_client_error *error)
{
    size_t begin = client->out.len;
    struct sbx_wire_id id = {.is_given = true, .number = (int64_t)++client->last_id};
    sbx_wire_add_request(&client->out, &id, method, params);
    return sbx_client_send(client, begin, fds, error);
}

int sbx_client_notice(struct sbx_client *client, enum sbx_wire_method method, const void *params,
                      struct sbx_client_error *error)
{
    size_t begin = client->out.len;
    sbx_wire_add_notice(&client->out, method, params);
    return sbx_client_send(client, begin, NULL, error);
}

/* ---- from the worker ---- */

void sbx_client_end(struct sbx_client *client, const char *name, const char *text)
{
    if (client->is_over) return;
    client->is_over = true;
    client->is_broken = !sbx_text_eq(name, "lost");
    (void)sbx_client_fail(&client->ending, name, "%s", text);
    client->ending.is_retryable = !client->is_broken;
}

int sbx_client_ended(const struct sbx_client *client, struct sbx_client_error *error)
{
    if (error != NULL) *error = client->ending;
    return -1;
}

bool sbx_client_fill(struct sbx_client *client)
{
    size_t size = 0;
    size_t moved = 0;
    if (client->is_over) return false;
    char *room = sbx_frame_room(&client->in, &size);
    if (room == NULL) {
        sbx_client_end(client, "memory", "no memory for what is received");
        return false;
    }
    enum sbx_link_state state = sbx_link_read(&client->link, room, size, &moved);
    if (state == SBX_LINK_OVER) sbx_client_end(client, "lost", "the worker ended the connection");
    if (state != SBX_LINK_MOVED) return false;
    sbx_frame_received(&client->in, moved);
    return true;
}

bool sbx_client_take_line(struct sbx_client *client, struct sbx_str *out)
{
    if (client->is_broken) return false;
    enum sbx_frame_found found = sbx_frame_next(&client->in, out);
    if (found == SBX_FRAME_TOO_LONG)
        sbx_client_end(client, "protocol", "the worker sent a line that is too long");
    return found == SBX_FRAME_LINE;
}

void sbx_client_postpone(struct sbx_client *client, struct sbx_str line)
{
    if (client->later_at == client->later.len) {
        sbx_buf_reset(&client->later);
        client->later_at = 0;
    }
    sbx_buf_add_str(&client->later, line);
    sbx_buf_add_char(&client->later, '\n');
    if (client->later.failed)
        sbx_client_end(client, "memory", "no memory for events that nobody took");
}

bool sbx_client_read(struct sbx_client *client, struct sbx_str line, struct sbx_wire_message *out)
{
    bool is_read = sbx_wire_read(&client->reader, line, out, NULL) == SBX_WIRE_OK &&
                   out->sort != SBX_WIRE_REQUEST && out->sort != SBX_WIRE_NOTHING;
    if (!is_read) {
        sbx_client_end(client, "protocol", "the worker sent a line that is no message");
        return false;
    }
    if (out->sort != SBX_WIRE_ERROR || out->id.is_given) return true;
    /* An error of no request is the worker's last word. */
    (void)sbx_client_fail_answer(&client->ending, out, NULL);
    client->is_over = client->is_broken = true;
    return false;
}

const char *sbx_client_terminate(struct sbx_str slice)
{
    if (slice.ptr == NULL) return "{}";
    /* A value is never the last byte of its line: the brace of the message follows. */
    char *end = (char *)(uintptr_t)(slice.ptr + slice.len);
    *end = '\0';
    return slice.ptr;
}
