/* Children at work for requests. */
#include "common/mcp/server_internal.h"

#include "common/base/banned.h"

#define PROGRESS_NS UINT64_C(2000000000)
#define GRACE_NS UINT64_C(2000000000) /* after a request to end */
enum { RESULT_MAX = 4 << 20, IDLE_MS = 60000, BUSY_MS = 500 };

static void release(struct sbx_mcp_job *job)
{
    sbx_mcp_capture_release(&job->output[0]);
    sbx_mcp_capture_release(&job->output[1]);
    sbx_buf_release(&job->result);
    *job = (struct sbx_mcp_job){0};
}

static void answer_err(const struct sbx_mcp_call *call, enum sbx_mcp_job_kind kind,
                       const struct sbx_err *err)
{
    if (kind == SBX_MCP_JOB_DOCTOR) { /* no tool */
        sbx_mcp_fail(call, SBX_MCP_INTERNAL, err->text);
        return;
    }
    AUTO_BUF text;
    sbx_buf_init(&text, 4096);
    sbx_buf_printf(&text, "sbx cannot start it: %s", err->text);
    if (err->code == SBX_E_LIMIT)
        sbx_buf_add_text(&text, "; call again when one of the running commands has ended");
    sbx_mcp_answer_text(call->server, call->batch, call->id, sbx_buf_str(&text), true);
}

static void read_progress(const struct sbx_mcp_call *call, struct sbx_mcp_id *out)
{
    const struct sbx_value *meta = sbx_value_get(call->params, "_meta");
    if (!sbx_mcp_id_read(sbx_value_get(meta, "progressToken"), out))
        *out = (struct sbx_mcp_id){.kind = SBX_MCP_ID_NONE};
}

void sbx_mcp_job_start(const struct sbx_mcp_call *call, const struct sbx_mcp_order *order)
{
    struct sbx_mcp_server *server = call->server;
    struct sbx_mcp_words argv = {0};
    sbx_mcp_words_add(call->arena, &argv, server->config->program);
    for (size_t i = 0; i < order->words->count; i++)
        sbx_mcp_words_add(call->arena, &argv, order->words->items[i]);
    sbx_mcp_words_add(call->arena, &argv, NULL);
    struct sbx_mcp_start start = {
        .program = server->config->program, .argv = argv.items, .input = order->input};
    struct sbx_mcp_job job = {.is_used = true,
                              .kind = order->kind,
                              .id = *call->id,
                              .batch = call->batch,
                              .begin_ns = sbx_mcp_port_now_ns(server->port)};
    job.told_ns = job.begin_ns;
    read_progress(call, &job.progress);
    sbx_text_format(job.label, sizeof job.label, "%s", order->label);
    sbx_buf_init(&job.result, RESULT_MAX);
    struct sbx_err err = {0};
    size_t child = 0;
    if (argv.failed || order->words->failed ||
        !sbx_mcp_capture_init(&job.output[0], order->output_bytes) ||
        !sbx_mcp_capture_init(&job.output[1], order->output_bytes))
        (void)sbx_err_nomem(&err);
    if (err.code != SBX_OK || sbx_mcp_port_start(server->port, &start, &child, &err) != SBX_OK) {
        release(&job);
        answer_err(call, order->kind, &err);
        return;
    }
    server->jobs[child] = job;
}

void sbx_mcp_job_output(struct sbx_mcp_server *server, const struct sbx_mcp_event *event)
{
    struct sbx_mcp_job *job = &server->jobs[event->child];
    if (!job->is_used) return;
    if (event->stream == SBX_MCP_RESULT)
        sbx_buf_add_str(&job->result, event->bytes);
    else
        sbx_mcp_capture_add(&job->output[event->stream], event->bytes);
}

void sbx_mcp_job_ended(struct sbx_mcp_server *server, size_t child)
{
    struct sbx_mcp_job *job = &server->jobs[child];
    if (!job->is_used) return;
    if (job->kind == SBX_MCP_JOB_RUN) sbx_mcp_outcome_keep(server, job);
    if (job->is_cancelled)
        sbx_mcp_send(server, job->batch, &job->id, NULL);
    else if (job->kind == SBX_MCP_JOB_DOCTOR)
        sbx_mcp_doctor_answer(server, job);
    else
        sbx_mcp_answer_job(server, job);
    release(job);
}

void sbx_mcp_job_cancel(struct sbx_mcp_server *server, const struct sbx_mcp_id *id)
{
    for (size_t i = 0; i < SBX_MCP_CHILDREN; i++) {
        struct sbx_mcp_job *job = &server->jobs[i];
        if (!job->is_used || job->is_cancelled || !sbx_mcp_id_equal(&job->id, id)) continue;
        job->is_cancelled = true;
        job->cancelled_ns = sbx_mcp_port_now_ns(server->port);
        sbx_mcp_port_end(server->port, i, false);
    }
}

static void tell_progress(struct sbx_mcp_server *server, const struct sbx_mcp_job *job,
                          uint64_t now_ns)
{
    AUTO_BUF text;
    struct sbx_jsonw json;
    sbx_buf_init(&text, 4096);
    sbx_jsonw_init(&json, &text, false);
    sbx_jsonw_object(&json);
    sbx_jsonw_pair_text(&json, "jsonrpc", "2.0");
    sbx_jsonw_pair_text(&json, "method", "notifications/progress");
    sbx_jsonw_key(&json, "params");
    sbx_jsonw_object(&json);
    sbx_jsonw_key(&json, "progressToken");
    sbx_mcp_id_write(&job->progress, &json);
    sbx_jsonw_pair_u64(&json, "progress", (now_ns - job->begin_ns) / UINT64_C(1000000000));
    if (server->revision->has_annotations)
        sbx_jsonw_pair_text(&json, "message", "seconds; the command is running");
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_mcp_send(server, NULL, &job->id, &text);
}

uint32_t sbx_mcp_jobs_attend(struct sbx_mcp_server *server)
{
    uint64_t now_ns = sbx_mcp_port_now_ns(server->port);
    bool is_busy = false;
    for (size_t i = 0; i < SBX_MCP_CHILDREN; i++) {
        struct sbx_mcp_job *job = &server->jobs[i];
        if (!job->is_used) continue;
        is_busy = true;
        bool is_overdue = job->is_cancelled && now_ns - job->cancelled_ns > GRACE_NS;
        if (is_overdue && !job->is_killed) {
            job->is_killed = true;
            sbx_mcp_port_end(server->port, i, true);
        }
        bool is_asked = job->progress.kind != SBX_MCP_ID_NONE && !job->is_cancelled;
        if (is_asked && now_ns - job->told_ns > PROGRESS_NS) {
            job->told_ns = now_ns;
            tell_progress(server, job, now_ns);
        }
    }
    return is_busy ? BUSY_MS : IDLE_MS;
}

void sbx_mcp_jobs_release(struct sbx_mcp_server *server)
{
    for (size_t i = 0; i < SBX_MCP_CHILDREN; i++)
        if (server->jobs[i].is_used) release(&server->jobs[i]);
}
