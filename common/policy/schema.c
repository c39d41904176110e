/* JSON Schema (2020-12) of the manifest, made from the key table. */
#include "common/policy/schema.h"

#include "common/base/jsonw.h"
#include "common/policy/manifest_keys.h"

#include "common/base/banned.h"

static void type_pair(struct sbx_jsonw *json, const char *type)
{
    sbx_jsonw_pair_text(json, "type", type);
}

static void schema_names(struct sbx_jsonw *json, const struct sbx_name *names)
{
    sbx_jsonw_key(json, "enum");
    sbx_jsonw_array(json);
    for (size_t i = 0; names[i].text != NULL; i++) sbx_jsonw_text(json, names[i].text);
    sbx_jsonw_end(json);
}

static void schema_list(struct sbx_jsonw *json)
{
    type_pair(json, "array");
    sbx_jsonw_key(json, "items");
    sbx_jsonw_object(json);
    type_pair(json, "string");
    sbx_jsonw_end(json);
}

static void schema_choice(const struct sbx_key_row *row, struct sbx_jsonw *json)
{
    type_pair(json, "string");
    schema_names(json, row->names);
}

static void schema_texts(const struct sbx_key_row *row, struct sbx_jsonw *json)
{
    (void)row;
    schema_list(json);
}

static void schema_text(const struct sbx_key_row *row, struct sbx_jsonw *json)
{
    (void)row;
    type_pair(json, "string");
}

static void schema_filesystem(const struct sbx_key_row *row, struct sbx_jsonw *json)
{
    (void)row;
    type_pair(json, "object");
    sbx_jsonw_key(json, "additionalProperties");
    sbx_jsonw_object(json);
    type_pair(json, "string");
    schema_names(json, sbx_access_names);
    sbx_jsonw_end(json);
}

static void schema_protect(const struct sbx_key_row *row, struct sbx_jsonw *json)
{
    (void)row;
    sbx_jsonw_key(json, "anyOf");
    sbx_jsonw_array(json);
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "const", "defaults");
    sbx_jsonw_end(json);
    sbx_jsonw_object(json);
    schema_list(json);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
}

static void schema_network(const struct sbx_key_row *row, struct sbx_jsonw *json)
{
    sbx_jsonw_key(json, "anyOf");
    sbx_jsonw_array(json);
    sbx_jsonw_object(json);
    type_pair(json, "string");
    sbx_jsonw_key(json, "enum");
    sbx_jsonw_array(json);
    sbx_jsonw_text(json, "inherit");
    sbx_jsonw_text(json, "deny");
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
    sbx_jsonw_object(json);
    type_pair(json, "object");
    sbx_jsonw_key(json, "required");
    sbx_jsonw_array(json);
    sbx_jsonw_text(json, "kind");
    sbx_jsonw_end(json);
    sbx_jsonw_pair_bool(json, "additionalProperties", false);
    sbx_jsonw_key(json, "properties");
    sbx_jsonw_object(json);
    sbx_jsonw_key(json, "kind");
    sbx_jsonw_object(json);
    schema_names(json, row->names);
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "hosts");
    sbx_jsonw_object(json);
    schema_list(json);
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "local");
    sbx_jsonw_object(json);
    schema_list(json);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
}

/* A number, or the text people write instead. */
static void schema_number_or_text(const struct sbx_key_row *row, struct sbx_jsonw *json,
                                  const char *pattern)
{
    sbx_jsonw_key(json, "anyOf");
    sbx_jsonw_array(json);
    sbx_jsonw_object(json);
    type_pair(json, "integer");
    sbx_jsonw_pair_u64(json, "minimum", row->min);
    sbx_jsonw_pair_u64(json, "maximum", row->max);
    sbx_jsonw_end(json);
    sbx_jsonw_object(json);
    type_pair(json, "string");
    if (pattern != NULL) sbx_jsonw_pair_text(json, "pattern", pattern);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
}

static void schema_bytes(const struct sbx_key_row *row, struct sbx_jsonw *json)
{
    schema_number_or_text(row, json, "^[0-9]+([KkMmGgTt]([Ii]?[Bb])?|[Bb])?$");
}

static void schema_identity(const struct sbx_key_row *row, struct sbx_jsonw *json)
{
    schema_number_or_text(row, json, NULL);
}

static void schema_counter(const struct sbx_key_row *row, struct sbx_jsonw *json)
{
    type_pair(json, "integer");
    sbx_jsonw_pair_u64(json, "minimum", row->min);
    sbx_jsonw_pair_u64(json, "maximum", row->max);
}

static void schema_duration(const struct sbx_key_row *row, struct sbx_jsonw *json)
{
    (void)row;
    sbx_jsonw_key(json, "anyOf");
    sbx_jsonw_array(json);
    sbx_jsonw_object(json);
    type_pair(json, "string");
    sbx_jsonw_pair_text(json, "pattern", "^([0-9]+|([0-9]+(d|h|m|s|ms|us|ns))+)$");
    sbx_jsonw_end(json);
    sbx_jsonw_object(json);
    type_pair(json, "object");
    sbx_jsonw_pair_bool(json, "additionalProperties", false);
    sbx_jsonw_key(json, "properties");
    sbx_jsonw_object(json);
    static const char *const parts[] = {"secs", "nanos"};
    for (size_t i = 0; i < SBX_COUNT(parts); i++) {
        sbx_jsonw_key(json, parts[i]);
        sbx_jsonw_object(json);
        type_pair(json, "integer");
        sbx_jsonw_pair_u64(json, "minimum", 0);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
}

static void schema_env(const struct sbx_key_row *row, struct sbx_jsonw *json)
{
    (void)row;
    type_pair(json, "array");
    sbx_jsonw_key(json, "items");
    sbx_jsonw_object(json);
    schema_list(json);
    sbx_jsonw_pair_u64(json, "minItems", 2);
    sbx_jsonw_pair_u64(json, "maxItems", 2);
    sbx_jsonw_end(json);
}

static void schema_dimensions(const struct sbx_key_row *row, struct sbx_jsonw *json)
{
    (void)row;
    type_pair(json, "array");
    sbx_jsonw_key(json, "items");
    sbx_jsonw_object(json);
    sbx_jsonw_key(json, "enum");
    sbx_jsonw_array(json);
    for (int i = SBX_DIM_FILESYSTEM; i <= SBX_DIM_PROCESSES; i++)
        sbx_jsonw_text(json, sbx_name_text(sbx_dimension_names, i));
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
}

typedef void schema_writer(const struct sbx_key_row *row, struct sbx_jsonw *json);
static schema_writer *const writers[SBX_KIND_COUNT] = {
    [SBX_KIND_CHOICE] = schema_choice,     [SBX_KIND_PATHS] = schema_texts,
    [SBX_KIND_PATH] = schema_text,         [SBX_KIND_FILESYSTEM] = schema_filesystem,
    [SBX_KIND_PROTECT] = schema_protect,   [SBX_KIND_NETWORK] = schema_network,
    [SBX_KIND_DURATION] = schema_duration, [SBX_KIND_BYTES] = schema_bytes,
    [SBX_KIND_COUNTER] = schema_counter,   [SBX_KIND_ENV] = schema_env,
    [SBX_KIND_TEXTS] = schema_texts,       [SBX_KIND_TEXT] = schema_text,
    [SBX_KIND_IDENTITY] = schema_identity, [SBX_KIND_DIMENSIONS] = schema_dimensions,
};

static void schema_properties(struct sbx_jsonw *json)
{
    for (size_t i = 0; i < SBX_KEY_COUNT; i++) {
        const struct sbx_key_row *row = &sbx_key_rows[i];
        sbx_jsonw_key(json, row->name);
        sbx_jsonw_object(json);
        sbx_jsonw_key(json, "description");
        AUTO_BUF text;
        sbx_buf_init(&text, 1024);
        sbx_buf_printf(&text, "%s. Default: %s.", row->help, row->default_text);
        sbx_jsonw_text(json, sbx_buf_text(&text));
        writers[row->kind](row, json);
        sbx_jsonw_end(json);
    }
}

static void schema_unit(struct sbx_jsonw *json)
{
    sbx_jsonw_object(json);
    type_pair(json, "object");
    sbx_jsonw_pair_text(json, "description", "A box that runs for long, started by the service.");
    sbx_jsonw_pair_bool(json, "additionalProperties", false);
    sbx_jsonw_key(json, "required");
    sbx_jsonw_array(json);
    sbx_jsonw_text(json, "command");
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "properties");
    sbx_jsonw_object(json);
    sbx_jsonw_key(json, "command");
    sbx_jsonw_object(json);
    schema_list(json);
    sbx_jsonw_pair_u64(json, "minItems", 1);
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "type");
    sbx_jsonw_object(json);
    schema_names(json, sbx_unit_type_names);
    sbx_jsonw_end(json);
    schema_properties(json);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
}

void sbx_schema_print(struct sbx_buf *out)
{
    struct sbx_jsonw writer;
    struct sbx_jsonw *json = &writer;
    sbx_jsonw_init(json, out, true);
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    sbx_jsonw_pair_text(json, "title", "sbx manifest");
    type_pair(json, "object");
    sbx_jsonw_pair_bool(json, "additionalProperties", false);
    sbx_jsonw_key(json, "properties");
    sbx_jsonw_object(json);
    sbx_jsonw_key(json, "$schema");
    sbx_jsonw_object(json);
    type_pair(json, "string");
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "sandbox");
    sbx_jsonw_object(json);
    type_pair(json, "object");
    sbx_jsonw_pair_bool(json, "additionalProperties", false);
    sbx_jsonw_key(json, "not");
    sbx_jsonw_object(json);
    sbx_jsonw_key(json, "required");
    sbx_jsonw_array(json);
    sbx_jsonw_text(json, "profile");
    sbx_jsonw_text(json, "mode");
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "properties");
    sbx_jsonw_object(json);
    schema_properties(json);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "unit");
    sbx_jsonw_object(json);
    type_pair(json, "object");
    sbx_jsonw_key(json, "additionalProperties");
    schema_unit(json);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
    sbx_buf_add_char(out, '\n');
}
