/* What a model gives a tool, as words of a command line. */
#include <inttypes.h>

#include "common/mcp/server_internal.h"

#include <string.h>

#include "common/base/banned.h"

enum { ARGV_MAX = 1024, LIST_MAX = 64, TIMEOUT_MAX_MS = 3600000 };

void sbx_mcp_words_add(struct sbx_arena *arena, struct sbx_mcp_words *words, const char *word)
{
    const char **slot = (const char **)sbx_arena_push(arena, &words->items, &words->count,
                                                      &words->capacity, sizeof *slot);
    if (slot == NULL)
        words->failed = true;
    else
        *slot = word;
}

const char *sbx_mcp_text(const struct sbx_mcp_call *call, const struct sbx_value *value)
{
    if (value == NULL || value->type != SBX_VALUE_STRING) return NULL;
    struct sbx_str text = value->string;
    if (text.len > 0 && memchr(text.ptr, '\0', text.len) != NULL) return NULL;
    return sbx_arena_copy(call->arena, text.len == 0 ? "" : text.ptr, text.len);
}

/* ---- options ---- */

enum option_kind { OPTION_TEXT, OPTION_LIST, OPTION_NUMBER, OPTION_SWITCH };

/* One row per option of a tool: all of them are flags of sbx run, and the ceiling decides about the sum. */
static const struct option_row {
    const char *name;
    enum option_kind kind;
    const char *flag;
    const char *unit; /* after a number */
    uint64_t max;     /* of a number */
    const char *fault;
    const char *description;
} option_rows[] = {
    {"cwd", OPTION_TEXT, "cwd", "", 0, "\"cwd\" must be a text without NUL",
     "Directory to run in. Default: where sbx mcp was started."},
    {"timeout_ms", OPTION_NUMBER, "timeout", "ms", TIMEOUT_MAX_MS,
     "\"timeout_ms\" must be an integer from 1 to 3600000",
     "Wall clock for the command and all it starts, at most what the user set."},
    {"memory_bytes", OPTION_NUMBER, "memory", "B", (uint64_t)1 << 50,
     "\"memory_bytes\" must be a positive integer", "Memory for the command and all it starts."},
    {"mode", OPTION_TEXT, "mode", "", 0, "\"mode\" must be a text without NUL",
     "A stricter mode, for example read-only. One that allows more is refused."},
    {"profile", OPTION_TEXT, "profile", "", 0, "\"profile\" must be a text without NUL",
     "A stricter profile, for example strict. One that allows more is refused."},
    {"network", OPTION_TEXT, "net", "", 0, "\"network\" must be a text without NUL",
     "deny: no network even where the user allows some."},
    {"strict", OPTION_SWITCH, "strict", "", 0, "\"strict\" must be true or false",
     "Only the system calls that everyday tools need."},
    {"deny", OPTION_LIST, "deny", "", 0, "\"deny\" must be a list of at most 64 texts without NUL",
     "Paths the command must neither see nor touch."},
};

static const struct option_row *option_row(struct sbx_str name)
{
    for (size_t i = 0; i < SBX_COUNT(option_rows); i++)
        if (sbx_str_is(name, option_rows[i].name)) return &option_rows[i];
    return NULL;
}

bool sbx_mcp_option_is(struct sbx_str name)
{
    return option_row(name) != NULL;
}

static bool add_text(const struct sbx_mcp_call *call, const struct option_row *row,
                     const struct sbx_value *value, struct sbx_mcp_words *out)
{
    const char *text = sbx_mcp_text(call, value);
    if (text == NULL) return false;
    const char *word = sbx_arena_printf(call->arena, "--%s=%s", row->flag, text);
    out->failed |= word == NULL;
    if (word != NULL) sbx_mcp_words_add(call->arena, out, word);
    return true;
}

static bool add_list(const struct sbx_mcp_call *call, const struct option_row *row,
                     const struct sbx_value *value, struct sbx_mcp_words *out)
{
    if (value->type != SBX_VALUE_ARRAY || value->array.count > LIST_MAX) return false;
    for (size_t i = 0; i < value->array.count; i++)
        if (!add_text(call, row, &value->array.items[i], out)) return false;
    return true;
}

static bool add_number(const struct sbx_mcp_call *call, const struct option_row *row,
                       const struct sbx_value *value, struct sbx_mcp_words *out)
{
    if (value->type != SBX_VALUE_INTEGER || value->integer < 1 ||
        (uint64_t)value->integer > row->max)
        return false;
    const char *word =
        sbx_arena_printf(call->arena, "--%s=%" PRId64 "%s", row->flag, value->integer, row->unit);
    out->failed |= word == NULL;
    if (word != NULL) sbx_mcp_words_add(call->arena, out, word);
    return true;
}

static bool add_switch(const struct sbx_mcp_call *call, const struct option_row *row,
                       const struct sbx_value *value, struct sbx_mcp_words *out)
{
    if (value->type != SBX_VALUE_BOOL) return false;
    const char *word = sbx_arena_printf(call->arena, "--%s", row->flag);
    out->failed |= word == NULL;
    if (word != NULL && value->boolean) sbx_mcp_words_add(call->arena, out, word);
    return true;
}

const char *sbx_mcp_options_read(const struct sbx_mcp_call *call, const struct sbx_value *arguments,
                                 struct sbx_mcp_words *out)
{
    static bool (*const add[])(const struct sbx_mcp_call *call, const struct option_row *row,
                               const struct sbx_value *value, struct sbx_mcp_words *out) = {
        [OPTION_TEXT] = add_text,
        [OPTION_LIST] = add_list,
        [OPTION_NUMBER] = add_number,
        [OPTION_SWITCH] = add_switch,
    };
    for (size_t i = 0; i < SBX_COUNT(option_rows); i++) {
        const struct option_row *row = &option_rows[i];
        const struct sbx_value *value = sbx_value_get(arguments, row->name);
        if (value != NULL && !add[row->kind](call, row, value, out)) return row->fault;
    }
    return NULL;
}

void sbx_mcp_property(struct sbx_jsonw *json, const char *name, const char *type,
                      const char *description)
{
    sbx_jsonw_key(json, name);
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "type", type);
    sbx_jsonw_pair_text(json, "description", description);
    if (sbx_text_eq(type, "array")) {
        sbx_jsonw_key(json, "items");
        sbx_jsonw_object(json);
        sbx_jsonw_pair_text(json, "type", "string");
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
}

void sbx_mcp_options_schema(struct sbx_jsonw *json)
{
    static const char *const types[] = {[OPTION_TEXT] = "string",
                                        [OPTION_LIST] = "array",
                                        [OPTION_NUMBER] = "integer",
                                        [OPTION_SWITCH] = "boolean"};
    for (size_t i = 0; i < SBX_COUNT(option_rows); i++)
        sbx_mcp_property(json, option_rows[i].name, types[option_rows[i].kind],
                         option_rows[i].description);
}

const char *sbx_mcp_argv_read(const struct sbx_mcp_call *call, const struct sbx_value *value,
                              struct sbx_mcp_words *out)
{
    static const char fault[] =
        "\"argv\" must be a list of 1 to 1024 texts without NUL: the program, then its arguments";
    bool is_list = value != NULL && value->type == SBX_VALUE_ARRAY && value->array.count > 0 &&
                   value->array.count <= ARGV_MAX;
    for (size_t i = 0; is_list && i < value->array.count; i++) {
        const char *word = sbx_mcp_text(call, &value->array.items[i]);
        if (word == NULL || (i == 0 && word[0] == '\0')) return fault;
        sbx_mcp_words_add(call->arena, out, word);
    }
    return is_list ? NULL : fault;
}
