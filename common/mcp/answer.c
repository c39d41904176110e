/* How a command ended, for a model: a text to read, and the same as data. */
#include <inttypes.h>

#include "common/mcp/server_internal.h"
#include "common/policy/json_read.h"
#include "common/policy/value_print.h"

#include "common/base/banned.h"

enum { OUTCOME_ARENA = 64 << 20 };

static void open_result(struct sbx_jsonw *json, struct sbx_buf *answer, const struct sbx_mcp_id *id,
                        struct sbx_str text)
{
    sbx_buf_init(answer, SBX_MCP_ANSWER_MAX);
    sbx_mcp_answer_open(json, answer, id);
    sbx_jsonw_object(json);
    sbx_jsonw_key(json, "content");
    sbx_jsonw_array(json);
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "type", "text");
    sbx_jsonw_pair_str(json, "text", text);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
}

void sbx_mcp_answer_text(struct sbx_mcp_server *server, struct sbx_mcp_batch *batch,
                         const struct sbx_mcp_id *id, struct sbx_str text, bool is_error)
{
    AUTO_BUF answer;
    struct sbx_jsonw json;
    open_result(&json, &answer, id, text);
    sbx_jsonw_pair_bool(&json, "isError", is_error);
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_mcp_send(server, batch, id, &answer);
}

/* ---- parts of an outcome ---- */

static struct sbx_str text_of(const struct sbx_value *table, const char *key)
{
    const struct sbx_value *value = sbx_value_get(table, key);
    return value != NULL && value->type == SBX_VALUE_STRING ? value->string : (struct sbx_str){0};
}

static bool number_of(const struct sbx_value *table, const char *key, int64_t *out)
{
    const struct sbx_value *value = sbx_value_get(table, key);
    if (value == NULL || value->type != SBX_VALUE_INTEGER) return false;
    *out = value->integer;
    return true;
}

static void add_part(struct sbx_buf *out, const char *before, struct sbx_str text)
{
    if (text.len == 0) return;
    sbx_buf_add_text(out, before);
    sbx_buf_add_str(out, text);
}

static struct sbx_str subject_of(const struct sbx_value *denial)
{
    static const char *const keys[] = {"path", "host", "call"};
    struct sbx_str subject = {0};
    for (size_t i = 0; i < SBX_COUNT(keys) && subject.len == 0; i++)
        subject = text_of(denial, keys[i]);
    return subject;
}

static const struct sbx_value *list_of(const struct sbx_value *table, const char *key)
{
    const struct sbx_value *value = sbx_value_get(table, key);
    return value != NULL && value->type == SBX_VALUE_ARRAY && value->array.count > 0 ? value : NULL;
}

/* ---- the text ---- */

static void add_end(const struct sbx_value *outcome, struct sbx_buf *out)
{
    int64_t number = 0;
    struct sbx_str limit = text_of(outcome, "limit");
    if (limit.len > 0)
        sbx_buf_printf(out, "ended by sbx: the limit \"" SBX_STR_FMT "\" was reached\n",
                       SBX_STR_ARG(limit));
    else if (number_of(outcome, "signal", &number))
        sbx_buf_printf(out, "ended by signal %" PRId64 "\n", number);
    else if (number_of(outcome, "exit_code", &number))
        sbx_buf_printf(out, "exit status %" PRId64 "\n", number);
    else
        sbx_buf_add_text(out, "nothing ran\n");
    const struct sbx_value *error = sbx_value_get(outcome, "error");
    add_part(out, "error: ", text_of(error, "text"));
    add_part(out, "; ", text_of(error, "hint"));
    if (text_of(error, "text").len > 0) sbx_buf_add_char(out, '\n');
}

static void add_findings(const struct sbx_value *findings, struct sbx_buf *out)
{
    for (size_t i = 0; findings != NULL && i < findings->array.count; i++) {
        const struct sbx_value *finding = &findings->array.items[i];
        add_part(out, "", text_of(finding, "level"));
        add_part(out, ": ", text_of(finding, "text"));
        add_part(out, "; ", text_of(finding, "hint"));
        sbx_buf_add_char(out, '\n');
    }
}

static void add_denials(const struct sbx_value *denials, struct sbx_buf *out)
{
    for (size_t i = 0; denials != NULL && i < denials->array.count; i++) {
        const struct sbx_value *denial = &denials->array.items[i];
        add_part(out, "denied: ", text_of(denial, "operation"));
        add_part(out, " ", subject_of(denial));
        add_part(out, "\n  rule: ", text_of(denial, "rule"));
        add_part(out, "\n  because: ", text_of(denial, "because"));
        add_part(out, "\n  would allow it, in the manifest: ", text_of(denial, "allow"));
        add_part(out, "\n  or as an option of sbx mcp: ", text_of(denial, "flag"));
        add_part(out, "\n  note: ", text_of(denial, "note"));
        sbx_buf_add_char(out, '\n');
    }
}

static void add_stream(const struct sbx_mcp_job *job, enum sbx_mcp_stream stream,
                       struct sbx_buf *out)
{
    const struct sbx_mcp_capture *capture = &job->output[stream];
    const char *name = stream == SBX_MCP_STDOUT ? "stdout" : "stderr";
    if (capture->total == 0) return;
    sbx_buf_printf(out, "--- %s, %" PRIu64 " bytes%s ---\n", name, capture->total,
                   sbx_mcp_capture_is_cut(capture) ? ", cut" : "");
    sbx_mcp_capture_print(capture, out);
    if (out->len > 0 && out->data[out->len - 1] != '\n') sbx_buf_add_char(out, '\n');
}

/* What a model should do next. */
static const char *advice_for(const struct sbx_value *outcome)
{
    const struct sbx_value *error = sbx_value_get(outcome, "error");
    if (list_of(outcome, "denials") != NULL)
        return "Something was denied. If the task needs it, show the user the line that would "
               "allow it and ask; do not try ways around it.";
    if (text_of(outcome, "limit").len > 0)
        return "A limit ended the command. If the task needs more, ask for it within what the user "
               "allows, or ask the user.";
    if (text_of(error, "text").len > 0)
        return "Nothing ran. If the command is right, the user has to change the manifest, the "
               "options of sbx mcp, or the machine (resource sbx://doctor).";
    return "";
}

/* ---- the data ---- */

static void write_stream(struct sbx_jsonw *json, const char *name,
                         const struct sbx_mcp_capture *capture)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 2 * SBX_MCP_OUTPUT_MAX);
    sbx_mcp_capture_print(capture, &text);
    sbx_jsonw_key(json, name);
    sbx_jsonw_object(json);
    sbx_jsonw_pair_str(json, "text", sbx_buf_str(&text));
    sbx_jsonw_pair_u64(json, "bytes", capture->total);
    sbx_jsonw_pair_bool(json, "truncated", sbx_mcp_capture_is_cut(capture));
    sbx_jsonw_end(json);
}

static void write_member(struct sbx_jsonw *json, const struct sbx_value *outcome, const char *key)
{
    const struct sbx_value *value = sbx_value_get(outcome, key);
    sbx_jsonw_key(json, key);
    if (value == NULL)
        sbx_jsonw_null(json);
    else
        sbx_value_print_json(value, json);
}

static void write_structure(const struct sbx_mcp_job *job, const struct sbx_value *outcome,
                            struct sbx_jsonw *json)
{
    int64_t wall_ms = 0;
    static const char *const copied[] = {"status", "started", "origin", "exit_code",
                                         "signal", "limit",   "error"};
    sbx_jsonw_key(json, "structuredContent");
    sbx_jsonw_object(json);
    for (size_t i = 0; i < SBX_COUNT(copied); i++) write_member(json, outcome, copied[i]);
    (void)number_of(sbx_value_get(outcome, "use"), "wall_ms", &wall_ms);
    sbx_jsonw_pair_u64(json, "duration_ms", wall_ms < 0 ? 0 : (uint64_t)wall_ms);
    write_stream(json, "stdout", &job->output[SBX_MCP_STDOUT]);
    write_stream(json, "stderr", &job->output[SBX_MCP_STDERR]);
    sbx_jsonw_key(json, "denials");
    const struct sbx_value *denials = list_of(outcome, "denials");
    if (denials != NULL) {
        sbx_value_print_json(denials, json);
    } else {
        sbx_jsonw_array(json);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_pair_text(json, "advice", advice_for(outcome));
    sbx_jsonw_end(json);
}

/* ---- a job ---- */

/* Without an outcome sbx itself was ended, from outside. */
static const char no_outcome[] =
    "{\"status\":125,\"started\":false,\"origin\":\"sbx\",\"exit_code\":null,\"signal\":null,"
    "\"limit\":null,\"error\":{\"code\":\"internal\",\"text\":\"sbx ended without telling the "
    "outcome\",\"hint\":null},\"denials\":[],\"findings\":[]}";

static bool read_outcome(struct sbx_arena *arena, const struct sbx_mcp_job *job,
                         struct sbx_value *out)
{
    struct sbx_err unused = {0};
    bool is_whole =
        !job->result.failed && job->result.len > 0 &&
        sbx_json_read(arena, "outcome", sbx_buf_str(&job->result), out, &unused) == SBX_OK &&
        out->type == SBX_VALUE_TABLE && sbx_value_get(out, "status") != NULL;
    return is_whole ||
           (sbx_json_read(arena, "outcome", sbx_str(no_outcome), out, &unused) == SBX_OK &&
            out->type == SBX_VALUE_TABLE);
}

static void answer_run(struct sbx_mcp_server *server, const struct sbx_mcp_job *job)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, OUTCOME_ARENA);
    struct sbx_value outcome;
    if (!read_outcome(&arena, job, &outcome)) {
        sbx_mcp_answer_text(server, job->batch, &job->id, sbx_str("out of memory"), true);
        return;
    }
    AUTO_BUF text;
    sbx_buf_init(&text, 4 * SBX_MCP_OUTPUT_MAX);
    add_end(&outcome, &text);
    add_findings(list_of(&outcome, "findings"), &text);
    add_stream(job, SBX_MCP_STDOUT, &text);
    add_stream(job, SBX_MCP_STDERR, &text);
    add_denials(list_of(&outcome, "denials"), &text);
    add_part(&text, "", sbx_str(advice_for(&outcome)));
    AUTO_BUF answer;
    struct sbx_jsonw json;
    open_result(&json, &answer, &job->id, sbx_buf_str(&text));
    if (server->revision->has_structure) write_structure(job, &outcome, &json);
    /* A command that failed by itself is no failure of the tool. */
    sbx_jsonw_pair_bool(&json, "isError", !sbx_str_is(text_of(&outcome, "origin"), "command"));
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_mcp_send(server, job->batch, &job->id, &answer);
}

void sbx_mcp_answer_job(struct sbx_mcp_server *server, const struct sbx_mcp_job *job)
{
    if (job->kind == SBX_MCP_JOB_RUN) {
        answer_run(server, job);
        return;
    }
    AUTO_BUF text;
    sbx_buf_init(&text, 4 * SBX_MCP_OUTPUT_MAX);
    sbx_mcp_capture_print(&job->output[SBX_MCP_STDOUT], &text);
    sbx_mcp_capture_print(&job->output[SBX_MCP_STDERR], &text);
    sbx_mcp_answer_text(server, job->batch, &job->id, sbx_buf_str(&text),
                        job->output[SBX_MCP_STDOUT].total == 0);
}
