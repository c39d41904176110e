/* Output of a run: read while there is credit and the client takes what it is sent, and a little ahead of that. */
#include <string.h>

#include "common/service/internal.h"

#include "common/base/banned.h"

static void on_closed(uv_handle_t *handle)
{
    struct sbx_output_stream *stream = (struct sbx_output_stream *)handle->data;
    sbx_run_release(stream->run);
}

void sbx_output_close(struct sbx_output_stream *stream)
{
    if (!stream->is_open) return;
    stream->is_open = false;
    uv_close((uv_handle_t *)&stream->pipe, on_closed);
}

/* What one message may bring now. */
static size_t room_for(const struct sbx_output_stream *stream)
{
    size_t room = sbx_wire_chunk(stream->run->client->line_max);
    return stream->credit < (int64_t)room ? (size_t)stream->credit : room;
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    struct sbx_output_stream *stream = (struct sbx_output_stream *)handle->data;
    (void)suggested;
    if (stream->credit > 0)
        *out = uv_buf_init(stream->run->service->chunk, (unsigned)room_for(stream));
    else
        *out = uv_buf_init(stream->ahead, sizeof stream->ahead);
}

static void tell_output(struct sbx_output_stream *stream, const char *bytes, size_t len)
{
    struct sbx_conn *client = stream->run->client;
    stream->credit -= (int64_t)len;
    struct sbx_wire_output told = {.run = sbx_str(stream->run->name),
                                   .stream = stream->which,
                                   .data = {.bytes = {bytes, len}}};
    sbx_wire_add_notice(&client->queue, SBX_WIRE_OUTPUT, &told);
    sbx_conn_flush(client);
}

/* What the command said last may explain why it failed; of a cold run the child looks at it. */
static void keep_tail(struct sbx_run_job *run, const char *bytes, size_t len)
{
    struct sbx_buf *tail = &run->tail;
    sbx_buf_add(tail, bytes, len);
    if (tail->failed || tail->len <= SBX_STDERR_TAIL_MAX * 2) return;
    memmove(tail->data, tail->data + tail->len - SBX_STDERR_TAIL_MAX, SBX_STDERR_TAIL_MAX + 1);
    tail->len = SBX_STDERR_TAIL_MAX;
}

/* The end of a terminal is an error of reading. */
static void end(struct sbx_output_stream *stream)
{
    struct sbx_run_job *run = stream->run;
    sbx_output_close(stream);
    if (run->client != NULL) {
        struct sbx_wire_closed told = {.run = sbx_str(run->name), .stream = stream->which};
        sbx_wire_add_notice(&run->client->queue, SBX_WIRE_CLOSED, &told);
    }
    sbx_run_check(run);
}

static void on_read(uv_stream_t *pipe, ssize_t length, const uv_buf_t *buf)
{
    struct sbx_output_stream *stream = (struct sbx_output_stream *)pipe->data;
    if (length == 0 || length == UV_ENOBUFS) return;
    if (length < 0) {
        end(stream);
        return;
    }
    if (stream->which == SBX_WIRE_STDERR && stream->run->box != NULL)
        keep_tail(stream->run, buf->base, (size_t)length);
    if ((size_t)length == buf->len && !stream->is_wide) { /* it may well bring much */
        stream->is_wide = true;
        sbx_port_widen((uv_stream_t *)&stream->pipe);
    }
    if (buf->base == stream->ahead)
        stream->held = (size_t)length;
    else if (stream->run->client != NULL)
        tell_output(stream, buf->base, (size_t)length);
    sbx_output_look(stream);
}

static bool may_tell(const struct sbx_output_stream *stream)
{
    const struct sbx_run_job *run = stream->run;
    return run->state != SBX_RUN_STARTING && run->client != NULL && !run->client->is_paused;
}

static void tell_held(struct sbx_output_stream *stream)
{
    while (stream->held > 0 && stream->credit > 0 && may_tell(stream)) {
        size_t room = room_for(stream);
        size_t part = stream->held < room ? stream->held : room;
        tell_output(stream, stream->ahead, part);
        stream->held -= part;
        memmove(stream->ahead, stream->ahead + part, stream->held);
    }
}

void sbx_output_look(struct sbx_output_stream *stream)
{
    if (!stream->is_open) return;
    tell_held(stream);
    bool reads = may_tell(stream) && stream->held == 0;
    if (reads == stream->is_reading) return;
    stream->is_reading = reads;
    if (reads)
        (void)uv_read_start((uv_stream_t *)&stream->pipe, on_room, on_read);
    else
        (void)uv_read_stop((uv_stream_t *)&stream->pipe);
}

bool sbx_output_adopt(struct sbx_run_job *run, enum sbx_wire_stream which, int64_t credit,
                      uv_file ours)
{
    struct sbx_output_stream *stream = &run->out[run->out_count];
    *stream = (struct sbx_output_stream){.run = run, .which = which, .credit = credit};
    if (uv_pipe_init(run->service->loop, &stream->pipe, 0) != 0) {
        sbx_fd_drop(&ours);
        return false;
    }
    stream->pipe.data = stream;
    stream->is_open = true;
    run->out_count++;
    run->open_handles++;
    if (uv_pipe_open(&stream->pipe, ours) == 0) return true;
    sbx_fd_drop(&ours);
    sbx_output_close(stream);
    return false;
}

bool sbx_output_open(struct sbx_run_job *run, enum sbx_wire_stream which, int64_t credit,
                     uv_file *theirs)
{
    uv_file ends[2];
    if (uv_pipe(ends, UV_NONBLOCK_PIPE, 0) != 0) return false;
    *theirs = ends[1];
    return sbx_output_adopt(run, which, credit, ends[0]);
}
