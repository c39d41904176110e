/* The tools: run and explain. */
#include "common/mcp/server_internal.h"

#include "common/base/banned.h"

/* ---- what they take ---- */

static void run_properties(struct sbx_jsonw *json)
{
    sbx_mcp_property(json, "argv", "array",
                     "The program and its arguments. There is no shell: for pipes and redirections "
                     "run one, as in [\"sh\", \"-c\", \"…\"].");
    sbx_mcp_property(json, "stdin", "string", "What the command reads from standard input.");
    sbx_mcp_property(json, "output_bytes", "integer",
                     "How much of each output stream to return, up to 524288 (default 32768). Of "
                     "more, the beginning and the end.");
    sbx_mcp_options_schema(json);
}

static void explain_properties(struct sbx_jsonw *json)
{
    sbx_mcp_property(json, "argv", "array", "Explain the box of this command.");
    sbx_mcp_property(json, "path", "string", "Or: say which rule decides about this path.");
    sbx_mcp_property(json, "operation", "string", "With path: read, write or exec.");
    sbx_mcp_property(json, "url", "string", "Or: say which rule decides about this URL.");
    sbx_mcp_options_schema(json);
}

/* What a run answers, for hosts that check it. */
static void run_output_schema(struct sbx_jsonw *json)
{
    static const struct {
        const char *name, *type, *other; /* other: may also be */
    } rows[] = {
        {"status", "integer", NULL},      {"started", "boolean", NULL},
        {"origin", "string", NULL},       {"exit_code", "integer", "null"},
        {"signal", "integer", "null"},    {"limit", "string", "null"},
        {"duration_ms", "integer", NULL}, {"stdout", "object", NULL},
        {"stderr", "object", NULL},       {"denials", "array", NULL},
        {"error", "object", "null"},      {"advice", "string", NULL},
    };
    sbx_jsonw_key(json, "outputSchema");
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "type", "object");
    sbx_jsonw_key(json, "properties");
    sbx_jsonw_object(json);
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        sbx_jsonw_key(json, rows[i].name);
        sbx_jsonw_object(json);
        sbx_jsonw_key(json, "type");
        if (rows[i].other != NULL) sbx_jsonw_array(json);
        sbx_jsonw_text(json, rows[i].type);
        if (rows[i].other != NULL) {
            sbx_jsonw_text(json, rows[i].other);
            sbx_jsonw_end(json);
        }
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "required");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < SBX_COUNT(rows); i++) sbx_jsonw_text(json, rows[i].name);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
}

/* ---- what they do ---- */

/* The user's options, then the model's, unless those allow more: that is answered here, false. */
static bool add_options(const struct sbx_mcp_call *call, const struct sbx_value *arguments,
                        struct sbx_mcp_words *out)
{
    const struct sbx_mcp_config *config = call->server->config;
    struct sbx_mcp_words more = {0};
    const char *fault = sbx_mcp_options_read(call, arguments, &more);
    if (fault != NULL) {
        sbx_mcp_fail(call, SBX_MCP_PARAMS, fault);
        return false;
    }
    AUTO_BUF why;
    sbx_buf_init(&why, 64u << 10);
    struct sbx_mcp_words all = {0};
    if (!more.failed &&
        !config->options(config->state, call->arena, more.items, more.count, &all, &why)) {
        AUTO_BUF text;
        sbx_buf_init(&text, 128u << 10);
        sbx_buf_printf(
            &text,
            "refused, nothing ran: %s\nThe user decides what boxes may do, by the "
            "manifest and the options of sbx mcp. Leave the option out, or ask the user.",
            sbx_buf_text(&why));
        sbx_mcp_answer_text(call->server, call->batch, call->id, sbx_buf_str(&text), true);
        return false;
    }
    for (size_t i = 0; i < all.count; i++) sbx_mcp_words_add(call->arena, out, all.items[i]);
    out->failed |= more.failed || all.failed;
    return true;
}

static bool read_output_bytes(const struct sbx_value *value, size_t *out)
{
    *out = SBX_MCP_OUTPUT_DEFAULT;
    if (value == NULL) return true;
    if (value->type != SBX_VALUE_INTEGER || value->integer < 2 ||
        (uint64_t)value->integer > SBX_MCP_OUTPUT_MAX)
        return false;
    *out = (size_t)value->integer;
    return true;
}

static void call_run(const struct sbx_mcp_call *call, const struct sbx_value *arguments)
{
    struct sbx_mcp_words command = {0};
    struct sbx_mcp_words words = {0};
    struct sbx_mcp_order order = {.kind = SBX_MCP_JOB_RUN, .words = &words};
    const char *fault = sbx_mcp_argv_read(call, sbx_value_get(arguments, "argv"), &command);
    const struct sbx_value *input = sbx_value_get(arguments, "stdin");
    if (fault == NULL && input != NULL && input->type != SBX_VALUE_STRING)
        fault = "\"stdin\" must be a text";
    if (fault == NULL &&
        !read_output_bytes(sbx_value_get(arguments, "output_bytes"), &order.output_bytes))
        fault = "\"output_bytes\" must be an integer from 2 to 524288";
    if (fault != NULL) {
        sbx_mcp_fail(call, SBX_MCP_PARAMS, fault);
        return;
    }
    sbx_mcp_words_add(call->arena, &words, "run");
    if (!add_options(call, arguments, &words)) return;
    sbx_mcp_words_add(call->arena, &words, "-q");
    sbx_mcp_words_add(call->arena, &words, "--json-fd=3");
    sbx_mcp_words_add(call->arena, &words, "--");
    for (size_t i = 0; i < command.count; i++)
        sbx_mcp_words_add(call->arena, &words, command.items[i]);
    if (input != NULL) order.input = input->string;
    order.label = command.failed ? "" : command.items[0];
    words.failed |= command.failed;
    sbx_mcp_job_start(call, &order);
}

/* --path=… --op=…, or --url=…; NULL, or what is wrong. */
static const char *add_question(const struct sbx_mcp_call *call, const struct sbx_value *arguments,
                                struct sbx_mcp_words *out)
{
    static const struct {
        const char *name, *flag, *fault;
    } rows[] = {{"path", "path", "\"path\" must be a text without NUL"},
                {"operation", "op", "\"operation\" must be read, write or exec"},
                {"url", "url", "\"url\" must be a text without NUL"}};
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        const struct sbx_value *value = sbx_value_get(arguments, rows[i].name);
        const char *text = sbx_mcp_text(call, value);
        if (value == NULL) continue;
        if (text == NULL) return rows[i].fault;
        const char *word = sbx_arena_printf(call->arena, "--%s=%s", rows[i].flag, text);
        out->failed |= word == NULL;
        if (word != NULL) sbx_mcp_words_add(call->arena, out, word);
    }
    return NULL;
}

static void call_explain(const struct sbx_mcp_call *call, const struct sbx_value *arguments)
{
    struct sbx_mcp_words command = {0};
    struct sbx_mcp_words words = {0};
    struct sbx_mcp_words question = {0};
    struct sbx_mcp_order order = {.kind = SBX_MCP_JOB_EXPLAIN,
                                  .words = &words,
                                  .output_bytes = SBX_MCP_OUTPUT_MAX,
                                  .label = "explain"};
    const struct sbx_value *argv = sbx_value_get(arguments, "argv");
    const char *fault = argv == NULL ? NULL : sbx_mcp_argv_read(call, argv, &command);
    if (fault == NULL) fault = add_question(call, arguments, &question);
    if (fault == NULL && question.count > 0 && argv != NULL)
        fault = "\"argv\" and \"path\" or \"url\" exclude each other";
    if (fault != NULL) {
        sbx_mcp_fail(call, SBX_MCP_PARAMS, fault);
        return;
    }
    sbx_mcp_words_add(call->arena, &words, question.count > 0 ? "why" : "explain");
    if (!add_options(call, arguments, &words)) return;
    for (size_t i = 0; i < question.count; i++)
        sbx_mcp_words_add(call->arena, &words, question.items[i]);
    if (command.count > 0) sbx_mcp_words_add(call->arena, &words, "--");
    for (size_t i = 0; i < command.count; i++)
        sbx_mcp_words_add(call->arena, &words, command.items[i]);
    words.failed |= command.failed || question.failed;
    sbx_mcp_job_start(call, &order);
}

/* ---- the table ---- */

static const struct tool {
    const char *name, *title, *description;
    const char *const *own; /* members besides the options, ends with NULL */
    bool is_reader;         /* changes nothing */
    void (*properties)(struct sbx_jsonw *json);
    void (*call)(const struct sbx_mcp_call *call, const struct sbx_value *arguments);
} tools[] = {
    {"run", "Run a command in a sandbox",
     "Runs one command in a box and returns its exit status and output. The box holds for the "
     "command and everything it starts. When something was denied, the result names the path or "
     "host, the rule, and the line of the manifest that would allow it: tell the user that line "
     "and ask; nothing you pass here can widen the box.",
     (const char *const[]){"argv", "stdin", "output_bytes", NULL}, false, run_properties, call_run},
    {"explain", "Explain the sandbox",
     "Says what a box may do, without running anything: the whole plan, or the rule that decides "
     "about one path or URL and the line of the manifest that would change it.",
     (const char *const[]){"argv", "path", "operation", "url", NULL}, true, explain_properties,
     call_explain},
};

static void write_tool(const struct sbx_mcp_server *server, const struct tool *tool,
                       struct sbx_jsonw *json)
{
    AUTO_BUF description;
    sbx_buf_init(&description, 64u << 10);
    sbx_buf_printf(&description, "%s\n\n%s", tool->description, server->config->allowed);
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "name", tool->name);
    if (server->revision->has_structure) sbx_jsonw_pair_text(json, "title", tool->title);
    sbx_jsonw_pair_text(json, "description", sbx_buf_text(&description));
    sbx_jsonw_key(json, "inputSchema");
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "type", "object");
    sbx_jsonw_key(json, "properties");
    sbx_jsonw_object(json);
    tool->properties(json);
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "required");
    sbx_jsonw_array(json);
    if (!tool->is_reader) sbx_jsonw_text(json, "argv");
    sbx_jsonw_end(json);
    sbx_jsonw_pair_bool(json, "additionalProperties", false);
    sbx_jsonw_end(json);
    if (server->revision->has_structure && !tool->is_reader) run_output_schema(json);
    if (server->revision->has_annotations) {
        sbx_jsonw_key(json, "annotations");
        sbx_jsonw_object(json);
        sbx_jsonw_pair_text(json, "title", tool->title);
        sbx_jsonw_pair_bool(json, "readOnlyHint", tool->is_reader);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
}

void sbx_mcp_tools_list(const struct sbx_mcp_call *call)
{
    AUTO_BUF answer;
    struct sbx_jsonw json;
    if (sbx_value_get(call->params, "cursor") != NULL) {
        sbx_mcp_fail(call, SBX_MCP_PARAMS, "there is no such cursor: the list has one page");
        return;
    }
    sbx_buf_init(&answer, SBX_MCP_ANSWER_MAX);
    sbx_mcp_answer_open(&json, &answer, call->id);
    sbx_jsonw_object(&json);
    sbx_jsonw_key(&json, "tools");
    sbx_jsonw_array(&json);
    for (size_t i = 0; i < SBX_COUNT(tools); i++) write_tool(call->server, &tools[i], &json);
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_mcp_send(call->server, call->batch, call->id, &answer);
}

static bool knows(const struct tool *tool, struct sbx_str name)
{
    for (size_t i = 0; tool->own[i] != NULL; i++)
        if (sbx_str_is(name, tool->own[i])) return true;
    return sbx_mcp_option_is(name);
}

/* A misspelt option must not be dropped silently. */
static bool has_unknown(const struct sbx_mcp_call *call, const struct tool *tool,
                        const struct sbx_value *arguments)
{
    for (size_t i = 0; arguments != NULL && i < arguments->table.count; i++) {
        struct sbx_str name = arguments->table.members[i].key;
        if (knows(tool, name)) continue;
        AUTO_BUF text;
        sbx_buf_init(&text, 64u << 10);
        sbx_buf_printf(&text, "the tool %s has no argument ", tool->name);
        sbx_buf_add_visible(&text, name, true);
        sbx_mcp_fail(call, SBX_MCP_PARAMS, sbx_buf_text(&text));
        return true;
    }
    return false;
}

void sbx_mcp_tools_call(const struct sbx_mcp_call *call)
{
    const struct sbx_value *name = sbx_value_get(call->params, "name");
    const struct sbx_value *arguments = sbx_value_get(call->params, "arguments");
    if (arguments != NULL && arguments->type != SBX_VALUE_TABLE) {
        sbx_mcp_fail(call, SBX_MCP_PARAMS, "\"arguments\" must be an object");
        return;
    }
    for (size_t i = 0; i < SBX_COUNT(tools); i++) {
        if (name == NULL || name->type != SBX_VALUE_STRING ||
            !sbx_str_is(name->string, tools[i].name))
            continue;
        if (!has_unknown(call, &tools[i], arguments)) tools[i].call(call, arguments);
        return;
    }
    sbx_mcp_fail(call, SBX_MCP_PARAMS, "the tools are run and explain");
}
