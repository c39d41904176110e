/* A connection: bytes to lines, answers to bytes, and what happens when the other end is slow or gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/service/internal.h"

#include "common/base/banned.h"

void sbx_fd_drop(uv_file *fd)
{
    uv_fs_t request;
    if (*fd < 0) return;
    (void)uv_fs_close(NULL, &request, *fd, NULL);
    uv_fs_req_cleanup(&request);
    *fd = -1;
}

static void drop_rights(struct sbx_conn *client)
{
    for (size_t i = 0; i < client->fd_count; i++) sbx_fd_drop(&client->fds[i]);
    client->fd_count = 0;
}

/* ---- the end ---- */

static void free_client(struct sbx_conn *client)
{
    struct sbx_service *service = client->service;
    while (client->pending != NULL) sbx_pending_drop(client, client->pending);
    drop_rights(client);
    sbx_frame_release(&client->frame);
    sbx_buf_release(&client->queue);
    sbx_buf_release(&client->sending);
    free(client);
    service->client_count--;
    sbx_service_changed(service);
}

void sbx_conn_release(struct sbx_conn *client)
{
    if (--client->open_handles == 0) free_client(client);
}

static void on_closed(uv_handle_t *handle)
{
    sbx_conn_release((struct sbx_conn *)handle->data);
}

static void close_streams(struct sbx_conn *client)
{
    if (uv_is_closing((uv_handle_t *)&client->out)) return;
    sbx_port_reader_close(client->reader);
    client->reader = NULL;
    uv_close((uv_handle_t *)&client->out, on_closed);
    if (client->is_split) uv_close((uv_handle_t *)&client->in, on_closed);
    uv_close((uv_handle_t *)&client->slow, on_closed);
    uv_close((uv_handle_t *)&client->soon, on_closed);
}

static void read_more(struct sbx_conn *client, bool reads);

void sbx_conn_close(struct sbx_conn *client, bool politely)
{
    if (!client->is_closing) {
        client->is_closing = true;
        read_more(client, false);
        *client->link = client->next;
        if (client->next != NULL) client->next->link = client->link;
        for (struct sbx_pending *pending = client->pending; pending != NULL;
             pending = pending->next)
            if (pending->ask != NULL) sbx_ask_end(pending->ask);
        while (client->runs != NULL) sbx_run_orphan(client->runs);
        sbx_sessions_release(client);
        if (politely) sbx_conn_flush(client);
    }
    bool is_empty = client->queue.len == 0 && !client->is_sending;
    if (!politely || is_empty) close_streams(client);
}

/* ---- writing ---- */

static void on_slow(uv_timer_t *timer)
{
    sbx_conn_close((struct sbx_conn *)timer->data, false);
}

static size_t waiting(const struct sbx_conn *client)
{
    return client->queue.len + client->sending.len - client->sent;
}

/* What the client does not take stops its own boxes first, then its requests, then it. */
static void look_at_queue(struct sbx_conn *client)
{
    size_t len = waiting(client);
    bool was_paused = client->is_paused;
    client->is_paused = len > SBX_QUEUE_PAUSE;
    if (client->is_closing) return;
    read_more(client, len <= SBX_QUEUE_FULL);
    if (len <= SBX_QUEUE_FULL)
        (void)uv_timer_stop(&client->slow);
    else if (!uv_is_active((uv_handle_t *)&client->slow))
        (void)uv_timer_start(&client->slow, on_slow, SBX_SLOW_MS, 0);
    if (was_paused && !client->is_paused)
        for (struct sbx_run_job *run = client->runs; run != NULL; run = run->next)
            for (size_t i = 0; i < run->out_count; i++) sbx_output_look(&run->out[i]);
}

static void on_written(uv_write_t *request, int status)
{
    struct sbx_conn *client = (struct sbx_conn *)request->data;
    client->is_sending = false;
    client->sent = client->sending.len;
    sbx_buf_reset(&client->sending);
    client->sent = 0;
    (void)uv_timer_stop(&client->slow); /* it takes something */
    if (status < 0)
        sbx_conn_close(client, false);
    else
        sbx_conn_flush(client);
}

static void send_rest(struct sbx_conn *client, size_t done)
{
    struct sbx_buf rest = client->queue;
    client->queue = client->sending;
    client->sending = rest;
    client->sent = done;
    uv_buf_t part = uv_buf_init(rest.data + done, (unsigned)(rest.len - done));
    client->write.data = client;
    client->is_sending = true;
    if (uv_write(&client->write, (uv_stream_t *)&client->out, &part, 1, on_written) < 0) {
        client->is_sending = false;
        sbx_conn_close(client, false);
    }
}

void sbx_conn_flush(struct sbx_conn *client)
{
    if (uv_is_closing((uv_handle_t *)&client->out)) return;
    if (client->queue.failed) {
        sbx_conn_close(client, false);
        return;
    }
    (void)uv_timer_stop(&client->soon);
    if (!client->is_sending && client->queue.len > 0) {
        uv_buf_t all = uv_buf_init(client->queue.data, (unsigned)client->queue.len);
        int done = uv_try_write((uv_stream_t *)&client->out, &all, 1);
        if (done < 0 && done != UV_EAGAIN) {
            sbx_conn_close(client, false);
            return;
        }
        if (done == (int)client->queue.len)
            sbx_buf_reset(&client->queue);
        else
            send_rest(client, done > 0 ? (size_t)done : 0);
    }
    if (uv_is_closing((uv_handle_t *)&client->out)) return;
    look_at_queue(client);
    if (client->is_closing && client->queue.len == 0 && !client->is_sending) close_streams(client);
}

static void on_soon(uv_timer_t *timer)
{
    sbx_conn_flush((struct sbx_conn *)timer->data);
}

void sbx_conn_flush_soon(struct sbx_conn *client)
{
    if (uv_is_closing((uv_handle_t *)&client->out)) return;
    uv_update_time(client->soon.loop);
    if (!uv_is_active((uv_handle_t *)&client->soon))
        (void)uv_timer_start(&client->soon, on_soon, SBX_SOON_MS, 0);
}

void sbx_conn_fail(struct sbx_conn *client, const struct sbx_wire_id *id, enum sbx_wire_code code,
                   const struct sbx_err *err)
{
    sbx_wire_add_failure(&client->queue, id, code, err);
    sbx_conn_flush(client);
}

/* ---- reading ---- */

static void take_lines(struct sbx_conn *client)
{
    struct sbx_str line;
    enum sbx_frame_found found = SBX_FRAME_NONE;
    while (!client->is_closing && (found = sbx_frame_next(&client->frame, &line)) == SBX_FRAME_LINE)
        sbx_dispatch(client, line);
    if (sbx_frame_pending(&client->frame) == 0) drop_rights(client); /* nobody wanted them */
    if (client->is_closing || found != SBX_FRAME_TOO_LONG) return;
    struct sbx_err err = {0};
    (void)sbx_err_set(&err, SBX_E_LIMIT, "the line is longer than %zu bytes", client->line_max);
    sbx_conn_fail(client, NULL, SBX_WIRE_PARSE, &err);
    sbx_conn_close(client, true);
}

/* Bytes that are not in the frame's own room yet. */
static void take_bytes(struct sbx_conn *client, const char *bytes, size_t len)
{
    while (len > 0 && !client->is_closing) {
        size_t size;
        char *room = sbx_frame_room(&client->frame, &size);
        if (room == NULL) {
            sbx_conn_close(client, false);
            return;
        }
        size_t part = len < size ? len : size;
        memcpy(room, bytes, part);
        sbx_frame_received(&client->frame, part);
        bytes += part;
        len -= part;
        take_lines(client);
    }
}

static void on_piece(void *owner, const char *bytes, ssize_t length, const uv_file *fds,
                     size_t fd_count)
{
    struct sbx_conn *client = (struct sbx_conn *)owner;
    if (fd_count > 0) drop_rights(client);
    for (size_t i = 0; i < fd_count; i++) client->fds[client->fd_count++] = fds[i];
    if (length <= 0)
        sbx_conn_close(client, false);
    else
        take_bytes(client, bytes, (size_t)length);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    struct sbx_conn *client = (struct sbx_conn *)handle->data;
    size_t size = 0;
    char *room = sbx_frame_room(&client->frame, &size);
    (void)suggested;
    *out = uv_buf_init(room, room == NULL ? 0 : (unsigned)size);
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf)
{
    struct sbx_conn *client = (struct sbx_conn *)stream->data;
    (void)buf;
    if (length == 0) return;
    if (length < 0) {
        sbx_conn_close(client, false);
        return;
    }
    sbx_frame_received(&client->frame, (size_t)length);
    take_lines(client);
}

static void read_more(struct sbx_conn *client, bool reads)
{
    uv_stream_t *stream = (uv_stream_t *)(client->is_split ? &client->in : &client->out);
    if (client->is_reading == reads) return;
    client->is_reading = reads;
    if (client->reader != NULL)
        sbx_port_reader_go(client->reader, reads);
    else if (reads)
        (void)uv_read_start(stream, on_room, on_read);
    else
        (void)uv_read_stop(stream);
}

/* ---- the beginning ---- */

static int open_streams(struct sbx_conn *client, uv_file *in, uv_file *out)
{
    uv_loop_t *loop = client->service->loop;
    (void)uv_timer_init(loop, &client->slow);
    (void)uv_timer_init(loop, &client->soon);
    (void)uv_pipe_init(loop, &client->out, 0);
    (void)uv_pipe_init(loop, &client->in, 0);
    client->is_split = true;
    client->slow.data = client->soon.data = client->out.data = client->in.data = client;
    client->open_handles = 4;
    bool is_one = *in == *out;
    int status = uv_pipe_open(&client->out, *out);
    if (status == 0) *out = -1;
    if (status == 0 && is_one) {
        *in = -1;
        client->is_split = false;
        uv_close((uv_handle_t *)&client->in, on_closed);
    } else if (status == 0) {
        status = uv_pipe_open(&client->in, *in);
        if (status == 0) *in = -1;
    }
    return status;
}

enum sbx_code sbx_service_take(struct sbx_service *service, uv_file in, uv_file out,
                               struct sbx_str first, struct sbx_err *err)
{
    uv_file ends[2] = {in, out};
    struct sbx_conn *client = NULL;
    if (!service->is_draining && service->client_count < service->limits.connections)
        client = (struct sbx_conn *)calloc(1, sizeof *client);
    if (client == NULL) {
        sbx_fd_drop(&ends[0]);
        if (in != out) sbx_fd_drop(&ends[1]);
        return sbx_err_set(err, SBX_E_LIMIT, "no more connections are taken");
    }
    client->service = service;
    client->line_max = SBX_FRAME_LINE_MAX;
    sbx_frame_init(&client->frame, client->line_max);
    sbx_buf_init(&client->queue, SBX_QUEUE_MAX);
    sbx_buf_init(&client->sending, SBX_QUEUE_MAX);
    (void)snprintf(client->name, sizeof client->name, "c%llu",
                   (unsigned long long)++service->last_client);
    service->client_count++;
    client->next = service->clients;
    client->link = &service->clients;
    if (client->next != NULL) client->next->link = &client->next;
    service->clients = client;
    int status = open_streams(client, &ends[0], &ends[1]);
    if (status < 0) {
        if (ends[0] != ends[1]) sbx_fd_drop(&ends[0]);
        sbx_fd_drop(&ends[1]);
        sbx_conn_close(client, false);
        return sbx_err_set(err, SBX_E_IO, "the connection cannot be used: %s", uv_strerror(status));
    }
    if (!client->is_split)
        client->reader =
            sbx_port_reader_open(service->loop, (uv_stream_t *)&client->out, on_piece, client);
    take_bytes(client, first.ptr, first.len);
    if (!client->is_closing) read_more(client, true);
    return SBX_OK;
}
