/* sbx.exe as the worker of the service: the loop, and what brings it clients. */
#include "win/worker.h"

#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/os.h"
#include "common/service/service.h"
#include "win/handle.h"
#include "win/handover.h"

#include "common/base/banned.h"

/* Long enough for the next command of a person, short enough for a machine with many users. */
enum { IDLE_MS = 120000, IN_MAX = 4 * SBX_HANDOVER_FRAME_MAX, FAILED = 125 };

struct worker {
    uv_loop_t loop;
    struct sbx_service *service;
    uv_timer_t idle;
    uv_pipe_t control; /* to the service; not with standard streams */
    bool has_control, is_ending;
    uint64_t given; /* clients so far */
    size_t in_size;
    unsigned char in[IN_MAX];
    unsigned char out[SBX_HANDOVER_FRAME_MAX];
    uv_write_t write;
};

/* ---- the end ---------------------------------------------------------------------------------- */

static void end(struct worker *worker)
{
    if (!worker->is_ending) {
        worker->is_ending = true;
        uv_close((uv_handle_t *)&worker->idle, NULL);
        if (worker->has_control) {
            uv_close((uv_handle_t *)&worker->control, NULL);
        }
        sbx_service_close(worker->service);
    }
}

/* The service ends it, or has given it another client meanwhile. */
static void on_idle(uv_timer_t *timer)
{
    struct worker *worker = (struct worker *)timer->data;
    struct sbx_handover frame = {.kind = SBX_HANDOVER_IDLE, .number = worker->given};
    uv_buf_t bytes = uv_buf_init((char *)worker->out, 0);
    bytes.len = (ULONG)sbx_handover_print(&frame, worker->out);
    if (uv_write(&worker->write, (uv_stream_t *)&worker->control, &bytes, 1, NULL) != 0) {
        end(worker);
    }
}

static void on_change(void *state)
{
    struct worker *worker = (struct worker *)state;
    if (worker->is_ending || sbx_service_connections(worker->service) > 0) {
        return;
    }
    if (!worker->has_control) {
        end(worker); /* the only client has gone */
    } else if (worker->given > 0) {
        (void)uv_timer_start(&worker->idle, on_idle, IDLE_MS, 0);
    }
}

/* ---- clients from the service ----------------------------------------------------------------- */

static void take(struct worker *worker, const struct sbx_handover *frame)
{
    struct sbx_err err = {0};
    struct sbx_str first = {(const char *)frame->first, frame->first_size};
    HANDLE pipe = (HANDLE)(ULONG_PTR)frame->number;
    int fd = _open_osfhandle((intptr_t)pipe, _O_BINARY);
    worker->given++;
    (void)uv_timer_stop(&worker->idle);
    if (fd < 0) {
        sbx_handle_close(&pipe);
    } else if (sbx_service_take(worker->service, fd, fd, first, &err) != SBX_OK) {
        on_change(worker); /* the client sees the end of its connection */
    }
}

/* True: go on. */
static bool obey(struct worker *worker)
{
    size_t done = 0;
    size_t used = 1;
    while (used > 0 && !worker->is_ending) {
        struct sbx_handover frame = {.kind = SBX_HANDOVER_END};
        struct sbx_err ignored;
        if (sbx_handover_parse(worker->in + done, worker->in_size - done, &frame, &used,
                               &ignored) != SBX_OK ||
            (used > 0 && frame.kind != SBX_HANDOVER_CLIENT)) {
            return false;
        }
        if (used > 0) {
            take(worker, &frame);
        }
        done += used;
    }
    memmove(worker->in, worker->in + done, worker->in_size - done);
    worker->in_size -= done;
    return true;
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    struct worker *worker = (struct worker *)handle->data;
    (void)wanted;
    *out = uv_buf_init((char *)worker->in + worker->in_size,
                       (unsigned)(sizeof worker->in - worker->in_size));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *bytes)
{
    struct worker *worker = (struct worker *)stream->data;
    (void)bytes;
    if (size > 0) {
        worker->in_size += (size_t)size;
    }
    if (size < 0 || !obey(worker)) {
        end(worker);
    }
}

static enum sbx_code listen_to_service(struct worker *worker, struct sbx_err *err)
{
    HANDLE control = GetStdHandle(STD_INPUT_HANDLE);
    int fd = sbx_handle_is_open(control) ? _open_osfhandle((intptr_t)control, _O_BINARY) : -1;
    (void)uv_pipe_init(&worker->loop, &worker->control, 0);
    worker->control.data = worker;
    worker->has_control = true;
    (void)SetStdHandle(STD_INPUT_HANDLE, NULL); /* no child has it */
    if (fd < 0 || uv_pipe_open(&worker->control, fd) != 0 ||
        uv_read_start((uv_stream_t *)&worker->control, on_room, on_read) != 0) {
        (void)sbx_err_set(err, SBX_E_INVALID, "only the service starts a launcher");
        return sbx_err_hint(err, "sbx service start");
    }
    return SBX_OK;
}

/* ---- one client on the standard streams ------------------------------------------------------- */

/* What sbx itself prints must not get between the lines. */
static enum sbx_code take_stdio(struct worker *worker, struct sbx_err *err)
{
    int in = _dup(0);
    int out = _dup(1);
    if (in < 0 || out < 0 || _dup2(2, 1) != 0) {
        return sbx_err_set(err, SBX_E_IO, "cannot use the standard streams");
    }
    (void)SetStdHandle(STD_OUTPUT_HANDLE, GetStdHandle(STD_ERROR_HANDLE));
    return sbx_service_take(worker->service, in, out, (struct sbx_str){"", 0}, err);
}

/* ---- from start to end ------------------------------------------------------------------------ */

static int run(enum sbx_code (*begin)(struct worker *worker, struct sbx_err *err))
{
    static struct worker worker;
    struct sbx_err err = {0};
    (void)uv_loop_init(&worker.loop);
    (void)uv_timer_init(&worker.loop, &worker.idle);
    worker.idle.data = &worker;
    enum sbx_code code = sbx_service_open(&worker.loop, &sbx_service_defaults, on_change, &worker,
                                          &worker.service, &err);
    if (code == SBX_OK) {
        code = begin(&worker, &err);
    }
    if (code != SBX_OK) {
        AUTO_BUF text;
        sbx_buf_init(&text, 2048);
        sbx_buf_printf(&text, "sbx: %s\n", err.text);
        (void)!sbx_os_write(SBX_STDERR, text.data, text.len, NULL);
        end(&worker);
    }
    (void)uv_run(&worker.loop, UV_RUN_DEFAULT);
    sbx_service_free(worker.service);
    (void)uv_loop_close(&worker.loop);
    return code == SBX_OK ? 0 : FAILED;
}

int sbx_worker_launcher(void)
{
    return run(listen_to_service);
}

int sbx_worker_stdio(void)
{
    return run(take_stdio);
}
