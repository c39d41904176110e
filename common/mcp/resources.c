/* Resources: what this machine can enforce, and how the last runs ended. */
#include "common/mcp/server_internal.h"
#include "common/policy/json_read.h"
#include "common/policy/value_print.h"

#include "common/base/banned.h"

#define DOCTOR_URI "sbx://doctor"
#define OUTCOMES_URI "sbx://outcomes"

enum { OUTCOME_KEPT = 64 << 10, OUTCOME_ARENA = 64 << 20 };

static const struct {
    const char *uri, *name, *description;
} resources[] = {
    {DOCTOR_URI, "doctor", "What this machine can enforce, what is missing, and the remedy."},
    {OUTCOMES_URI, "outcomes",
     "How the last 16 runs of this session ended, with what was denied, newest last."},
};

void sbx_mcp_resources_list(const struct sbx_mcp_call *call)
{
    AUTO_BUF answer;
    struct sbx_jsonw json;
    sbx_buf_init(&answer, 64u << 10);
    sbx_mcp_answer_open(&json, &answer, call->id);
    sbx_jsonw_object(&json);
    sbx_jsonw_key(&json, "resources");
    sbx_jsonw_array(&json);
    for (size_t i = 0; i < SBX_COUNT(resources); i++) {
        sbx_jsonw_object(&json);
        sbx_jsonw_pair_text(&json, "uri", resources[i].uri);
        sbx_jsonw_pair_text(&json, "name", resources[i].name);
        sbx_jsonw_pair_text(&json, "description", resources[i].description);
        sbx_jsonw_pair_text(&json, "mimeType", "application/json");
        sbx_jsonw_end(&json);
    }
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_mcp_send(call->server, call->batch, call->id, &answer);
}

void sbx_mcp_resources_templates(const struct sbx_mcp_call *call)
{
    AUTO_BUF answer;
    struct sbx_jsonw json;
    sbx_buf_init(&answer, 4096);
    sbx_mcp_answer_open(&json, &answer, call->id);
    sbx_jsonw_object(&json);
    sbx_jsonw_key(&json, "resourceTemplates");
    sbx_jsonw_array(&json);
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_mcp_send(call->server, call->batch, call->id, &answer);
}

static void answer_content(struct sbx_mcp_server *server, struct sbx_mcp_batch *batch,
                           const struct sbx_mcp_id *id, const char *uri, struct sbx_str text)
{
    AUTO_BUF answer;
    struct sbx_jsonw json;
    sbx_buf_init(&answer, SBX_MCP_ANSWER_MAX);
    sbx_mcp_answer_open(&json, &answer, id);
    sbx_jsonw_object(&json);
    sbx_jsonw_key(&json, "contents");
    sbx_jsonw_array(&json);
    sbx_jsonw_object(&json);
    sbx_jsonw_pair_text(&json, "uri", uri);
    sbx_jsonw_pair_text(&json, "mimeType", "application/json");
    sbx_jsonw_pair_str(&json, "text", text);
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_mcp_send(server, batch, id, &answer);
}

/* ---- outcomes ---- */

void sbx_mcp_outcome_keep(struct sbx_mcp_server *server, const struct sbx_mcp_job *job)
{
    struct sbx_mcp_outcome *kept = &server->outcomes[server->outcome_count % SBX_MCP_OUTCOMES];
    sbx_buf_release(&kept->text);
    *kept = (struct sbx_mcp_outcome){.number = ++server->outcome_count};
    sbx_text_format(kept->label, sizeof kept->label, "%s", job->label);
    sbx_buf_init(&kept->text, OUTCOME_KEPT);
    sbx_buf_add_str(&kept->text, sbx_buf_str(&job->result));
}

static void write_outcome(struct sbx_arena *arena, const struct sbx_mcp_outcome *kept,
                          struct sbx_jsonw *json)
{
    struct sbx_value value;
    struct sbx_err unused = {0};
    bool is_whole =
        !kept->text.failed && kept->text.len > 0 &&
        sbx_json_read(arena, "outcome", sbx_buf_str(&kept->text), &value, &unused) == SBX_OK;
    sbx_jsonw_object(json);
    sbx_jsonw_pair_u64(json, "run", kept->number);
    sbx_jsonw_pair_text(json, "program", kept->label);
    sbx_jsonw_key(json, "outcome");
    if (is_whole)
        sbx_value_print_json(&value, json);
    else
        sbx_jsonw_null(json);
    sbx_jsonw_end(json);
}

static void read_outcomes(const struct sbx_mcp_call *call)
{
    AUTO_BUF text;
    AUTO_ARENA arena;
    struct sbx_jsonw json;
    const struct sbx_mcp_server *server = call->server;
    sbx_arena_init(&arena, OUTCOME_ARENA);
    sbx_buf_init(&text, SBX_MCP_ANSWER_MAX / 2);
    sbx_jsonw_init(&json, &text, false);
    sbx_jsonw_array(&json);
    uint64_t count = server->outcome_count;
    uint64_t first = count > SBX_MCP_OUTCOMES ? count - SBX_MCP_OUTCOMES : 0;
    for (uint64_t i = first; i < count; i++)
        write_outcome(&arena, &server->outcomes[i % SBX_MCP_OUTCOMES], &json);
    sbx_jsonw_end(&json);
    answer_content(call->server, call->batch, call->id, OUTCOMES_URI, sbx_buf_str(&text));
}

/* ---- doctor ---- */

static void read_doctor(const struct sbx_mcp_call *call)
{
    struct sbx_mcp_words words = {0};
    sbx_mcp_words_add(call->arena, &words, "doctor");
    sbx_mcp_words_add(call->arena, &words, "--json");
    struct sbx_mcp_order order = {.kind = SBX_MCP_JOB_DOCTOR,
                                  .words = &words,
                                  .output_bytes = SBX_MCP_OUTPUT_MAX,
                                  .label = "doctor"};
    sbx_mcp_job_start(call, &order);
}

void sbx_mcp_doctor_answer(struct sbx_mcp_server *server, const struct sbx_mcp_job *job)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 2 * SBX_MCP_OUTPUT_MAX);
    sbx_mcp_capture_print(&job->output[SBX_MCP_STDOUT], &text);
    answer_content(server, job->batch, &job->id, DOCTOR_URI, sbx_buf_str(&text));
}

/* ---- read ---- */

void sbx_mcp_resources_read(const struct sbx_mcp_call *call)
{
    const struct sbx_value *uri = sbx_value_get(call->params, "uri");
    if (uri == NULL || uri->type != SBX_VALUE_STRING) {
        sbx_mcp_fail(call, SBX_MCP_PARAMS, "\"uri\" must be a text");
    } else if (sbx_str_is(uri->string, DOCTOR_URI)) {
        read_doctor(call);
    } else if (sbx_str_is(uri->string, OUTCOMES_URI)) {
        read_outcomes(call);
    } else {
        AUTO_BUF answer;
        sbx_buf_init(&answer, 4 * SBX_MCP_LINE_MAX);
        sbx_mcp_fault_write(&answer, call->id, SBX_MCP_NO_RESOURCE, "there is no such resource",
                            uri->string);
        sbx_mcp_send(call->server, call->batch, call->id, &answer);
    }
}
