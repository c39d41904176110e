/* docgen: the messages of the protocol and its errors, from their tables. */
#include "common/wire/wire.h"
#include "tests/tools/docgen_markdown.h"

#include "common/base/banned.h"

static void add_words(struct sbx_buf *out, const struct sbx_name *names)
{
    for (size_t i = 0; names[i].text != NULL; i++) {
        if (i > 0) sbx_buf_add_text(out, ", ");
        docgen_code(out, names[i].text);
    }
}

static void add_range(struct sbx_buf *out, const struct sbx_wire_member *row)
{
    sbx_buf_printf(out, "integer, %s%lld", row->max == SBX_JSON_NUMBER_MAX ? "at least " : "",
                   (long long)row->min);
    if (row->max != SBX_JSON_NUMBER_MAX) sbx_buf_printf(out, " to %lld", (long long)row->max);
}

static void add_kind(struct sbx_buf *out, const struct sbx_wire_member *row)
{
    static const char *const words[SBX_WIRE_KIND_COUNT] = {
        [SBX_WIRE_BOOL] = "boolean",   [SBX_WIRE_INTS] = "array of 1 to 8 integers",
        [SBX_WIRE_DATA] = "string",    [SBX_WIRE_ID] = "integer or string",
        [SBX_WIRE_OBJECT] = "object",  [SBX_WIRE_RAW] = "object",
        [SBX_WIRE_RAW_LIST] = "array", [SBX_WIRE_WHOLE] = "object",
    };
    if (row->kind == SBX_WIRE_INT)
        add_range(out, row);
    else if (row->names != NULL)
        add_words(out, row->names);
    else if (row->kind == SBX_WIRE_TEXT && row->max <= 32768)
        sbx_buf_printf(out, "string, at most %lld bytes", (long long)row->max);
    else if (row->kind == SBX_WIRE_TEXTS)
        sbx_buf_printf(out, "array of %lld to %lld strings", (long long)row->min,
                       (long long)row->max);
    else if (row->kind == SBX_WIRE_PAIRS)
        sbx_buf_printf(out, "object of strings, at most %lld", (long long)row->max);
    else
        sbx_buf_add_text(out, words[row->kind] == NULL ? "string" : words[row->kind]);
}

static void add_members(struct sbx_buf *out, const char *part, const char *outer,
                        const struct sbx_wire_members *members)
{
    for (const struct sbx_wire_member *row = members->rows; row->name != NULL; row++) {
        char name[96];
        sbx_text_format(name, sizeof name, "%s%s", outer, row->name);
        sbx_buf_printf(out, "| %s | ", part);
        if (name[0] == '\0')
            sbx_buf_add_text(out, "itself");
        else
            docgen_code(out, name);
        sbx_buf_add_text(out, row->is_required ? " | " : ", optional | ");
        add_kind(out, row);
        sbx_buf_add_text(out, " | ");
        docgen_text(out, row->help);
        sbx_buf_add_text(out, " |\n");
        if (row->members == NULL) continue;
        sbx_text_format(name, sizeof name, "%s%s%s", outer, row->name,
                        row->kind == SBX_WIRE_RAW_LIST ? "[]." : ".");
        add_members(out, part, name, row->members);
    }
}

static void print_way(struct sbx_buf *out, enum sbx_wire_way way)
{
    bool is_first = true;
    for (size_t i = 0; i < SBX_WIRE_METHOD_COUNT; i++) {
        const struct sbx_wire_row *row = &sbx_wire_rows[i];
        if (row->way != way) continue;
        sbx_buf_printf(out, "%s### `%s`\n\n%s.\n", is_first ? "" : "\n", row->name, row->help);
        is_first = false;
        /* One that is explained at another method is not listed again. */
        bool is_known = i == SBX_WIRE_PLAN_EXPLAIN;
        bool has_params = row->params->rows[0].name != NULL && !is_known;
        bool has_result = row->result != NULL && row->result->rows[0].name != NULL;
        if (is_known) sbx_buf_add_text(out, "\nIts members are those of `run.start`.\n");
        if (!has_params && !has_result) continue;
        sbx_buf_add_char(out, '\n');
        DOCGEN_HEAD(out, "in", "member", "value", "meaning");
        if (has_params) add_members(out, "params", "", row->params);
        if (has_result) add_members(out, "result", "", row->result);
    }
}

void docgen_print_wire_requests(struct sbx_buf *out)
{
    print_way(out, SBX_WIRE_ASKS);
}

void docgen_print_wire_to_service(struct sbx_buf *out)
{
    print_way(out, SBX_WIRE_TELLS_SERVICE);
}

void docgen_print_wire_to_client(struct sbx_buf *out)
{
    print_way(out, SBX_WIRE_TELLS_CLIENT);
}

void docgen_print_wire_errors(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "code", "`data.name`", "`data.retryable`", "meaning");
    for (size_t i = 1; i < SBX_WIRE_CODE_COUNT; i++) {
        const struct sbx_wire_error_row *row = &sbx_wire_error_rows[i];
        sbx_buf_printf(out, "| %d | ", row->number);
        docgen_code(out, row->name);
        sbx_buf_printf(out, " | %s | ", row->is_retryable ? "true" : "false");
        docgen_text(out, row->help);
        sbx_buf_add_text(out, " |\n");
    }
}

void docgen_print_wire_error_members(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "in", "member", "value", "meaning");
    add_members(out, "error", "", &sbx_wire_error_members);
}
