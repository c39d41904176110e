/* Tests of the JSON Schema: valid JSON, and exactly the keys of the table. */
#include <jansson.h>
#include <string.h>

#include "common/policy/manifest_keys.h"
#include "common/policy/schema.h"
#include "tests/check.h"

#include "common/base/banned.h"

static void release_json(json_t **json)
{
    json_decref(*json);
}
#define AUTO_JSON SBX_CLEANUP(release_json) json_t

static json_t *schema(void)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 1 << 20);
    sbx_schema_print(&text);
    CHECK(!text.failed && text.data[text.len - 1] == '\n');
    json_error_t error;
    json_t *root = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, &error);
    CHECK(root != NULL);
    if (root == NULL) {
        CHECK_TEXT(error.text, "");
    }
    return root;
}

/* json_object_get along a path of keys; NULL ends it. */
static json_t *below(json_t *json, const char *const *keys)
{
    for (; json != NULL && *keys != NULL; keys++) {
        json = json_object_get(json, *keys);
    }
    return json;
}

static const char *const sandbox_keys[] = {"properties", "sandbox", "properties", NULL};
static const char *const unit_keys[] = {"properties", "unit", "additionalProperties", "properties",
                                        NULL};

static void the_schema_is_valid_json_of_the_right_dialect(void)
{
    AUTO_JSON *root = schema();
    CHECK_TEXT(json_string_value(json_object_get(root, "$schema")),
               "https://json-schema.org/draft/2020-12/schema");
    CHECK(json_is_false(json_object_get(root, "additionalProperties")));
    static const char *const sandbox[] = {"properties", "sandbox", "additionalProperties", NULL};
    CHECK(json_is_false(below(root, sandbox)));
    static const char *const unit[] = {"properties", "unit", "additionalProperties",
                                       "additionalProperties", NULL};
    CHECK(json_is_false(below(root, unit)));
}

static void the_schema_has_exactly_the_keys_of_the_table(void)
{
    AUTO_JSON *root = schema();
    json_t *sandbox = below(root, sandbox_keys);
    json_t *unit = below(root, unit_keys);
    CHECK_INT(json_object_size(sandbox), SBX_KEY_COUNT);
    CHECK_INT(json_object_size(unit), SBX_KEY_COUNT + 2); /* command, type */
    for (size_t i = 0; i < SBX_KEY_COUNT; i++) {
        json_t *key = json_object_get(sandbox, sbx_key_rows[i].name);
        CHECK(key != NULL && json_object_get(unit, sbx_key_rows[i].name) != NULL);
        const char *text = json_string_value(json_object_get(key, "description"));
        CHECK(text != NULL && strstr(text, sbx_key_rows[i].help) == text);
        CHECK(json_object_get(key, "type") != NULL || json_object_get(key, "anyOf") != NULL);
    }
}

static void choices_and_ranges_are_those_of_the_table(void)
{
    AUTO_JSON *root = schema();
    json_t *sandbox = below(root, sandbox_keys);
    for (size_t i = 0; i < SBX_KEY_COUNT; i++) {
        const struct sbx_key_row *row = &sbx_key_rows[i];
        json_t *key = json_object_get(sandbox, row->name);
        if (row->kind == SBX_KIND_CHOICE) {
            json_t *list = json_object_get(key, "enum");
            size_t count = 0;
            for (; row->names[count].text != NULL; count++) {
                CHECK_TEXT(json_string_value(json_array_get(list, count)), row->names[count].text);
            }
            CHECK_INT(json_array_size(list), count);
        }
        if (row->kind == SBX_KIND_COUNTER) {
            CHECK_U64(json_integer_value(json_object_get(key, "minimum")), row->min);
            CHECK_U64(json_integer_value(json_object_get(key, "maximum")), row->max);
        }
    }
    static const char *const require[] = {"require", "items", "enum", NULL};
    CHECK_INT(json_array_size(below(sandbox, require)), SBX_DIM_PROCESSES + 1);
}

static void printing_twice_gives_the_same_bytes(void)
{
    AUTO_BUF a;
    AUTO_BUF b;
    sbx_buf_init(&a, 1 << 20);
    sbx_buf_init(&b, 1 << 20);
    sbx_schema_print(&a);
    sbx_schema_print(&b);
    CHECK_MEM(a.data, a.len, b.data, b.len);
}

static const struct sbx_test tests[] = {
    {"the schema is valid JSON of the right dialect",
     the_schema_is_valid_json_of_the_right_dialect},
    {"the schema has exactly the keys of the table", the_schema_has_exactly_the_keys_of_the_table},
    {"choices and ranges are those of the table", choices_and_ranges_are_those_of_the_table},
    {"printing twice gives the same bytes", printing_twice_gives_the_same_bytes},
};
SBX_TEST_MAIN("schema", tests)
