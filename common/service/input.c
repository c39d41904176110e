/* Standard input of a run: what the client sends is queued up to a window, which opens again as the command reads. */
#include <stdlib.h>
#include <string.h>

#include "common/service/internal.h"

#include "common/base/banned.h"

struct piece {
    uv_write_t write;
    struct sbx_run_job *run;
    size_t len;
    char bytes[];
};

static void on_closed(uv_handle_t *handle)
{
    sbx_run_release((struct sbx_run_job *)handle->data);
}

void sbx_input_close(struct sbx_run_job *run)
{
    if (!run->in.is_open) return;
    run->in.is_open = false;
    uv_close((uv_handle_t *)&run->in.pipe, on_closed);
}

static void on_written(uv_write_t *write, int status)
{
    struct piece *piece = (struct piece *)write->data;
    struct sbx_run_job *run = piece->run;
    run->in.queued -= piece->len;
    run->in.allowed += piece->len;
    bool tells = status == 0 && run->client != NULL && run->state == SBX_RUN_RUNNING;
    if (tells) {
        struct sbx_wire_stdin_more told = {sbx_str(run->name), (int64_t)piece->len};
        sbx_wire_add_notice(&run->client->queue, SBX_WIRE_STDIN_MORE, &told);
        sbx_conn_flush(run->client);
    }
    free(piece);
    /* A command that closed its input reads no more; that is its own affair. */
    if (run->in.is_open && (status < 0 || (run->in.is_ended && run->in.queued == 0)))
        sbx_input_close(run);
}

enum sbx_wire_code sbx_input_put(struct sbx_run_job *run, struct sbx_str bytes, bool is_end,
                                 struct sbx_err *err)
{
    struct sbx_input_stream *in = &run->in;
    if (!in->is_open || in->is_ended) {
        (void)sbx_err_set(err, SBX_E_INVALID, "the run takes no standard input (any more)");
        return SBX_WIRE_FLOW;
    }
    if (bytes.len > in->allowed) {
        (void)sbx_err_set(err, SBX_E_LIMIT, "only %zu bytes may be sent now", in->allowed);
        (void)sbx_err_hint(err, "wait for the notification \"stdin\"");
        return SBX_WIRE_FLOW;
    }
    in->is_ended = is_end;
    if (bytes.len == 0) {
        if (is_end && in->queued == 0) sbx_input_close(run);
        return SBX_WIRE_OK;
    }
    struct piece *piece = (struct piece *)malloc(sizeof *piece + bytes.len);
    if (piece == NULL) return SBX_WIRE_OVERLOADED;
    memcpy(piece->bytes, bytes.ptr, bytes.len);
    piece->run = run;
    piece->len = bytes.len;
    piece->write.data = piece;
    in->queued += bytes.len;
    in->allowed -= bytes.len;
    uv_buf_t part = uv_buf_init(piece->bytes, (unsigned)bytes.len);
    if (uv_write(&piece->write, (uv_stream_t *)&in->pipe, &part, 1, on_written) < 0) {
        in->queued -= bytes.len;
        free(piece);
        sbx_input_close(run);
    }
    return SBX_WIRE_OK;
}

bool sbx_input_adopt(struct sbx_run_job *run, uv_file ours)
{
    struct sbx_input_stream *in = &run->in;
    *in = (struct sbx_input_stream){.run = run, .allowed = SBX_STDIN_WINDOW};
    if (uv_pipe_init(run->service->loop, &in->pipe, 0) != 0) {
        sbx_fd_drop(&ours);
        return false;
    }
    in->pipe.data = run;
    in->is_open = true;
    run->open_handles++;
    if (uv_pipe_open(&in->pipe, ours) == 0) return true;
    sbx_fd_drop(&ours);
    sbx_input_close(run);
    return false;
}

bool sbx_input_open(struct sbx_run_job *run, uv_file *theirs)
{
    uv_file ends[2];
    if (uv_pipe(ends, 0, UV_NONBLOCK_PIPE) != 0) return false;
    *theirs = ends[0];
    return sbx_input_adopt(run, ends[1]);
}
