/* Fuzz: any bytes as JSON. What is refused says where and leaves the value alone; what is accepted is
 * within the limits, has valid text and no key twice. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/policy/json_read.h"

#include "common/base/banned.h"

enum { ARENA_BYTES = 256 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool held)
{
    if (!held) {
        abort();
    }
}

static void check_value(const struct sbx_value *value, unsigned depth)
{
    must(value->type != SBX_VALUE_DATETIME && value->place.line == 0);
    if (value->type == SBX_VALUE_STRING) {
        must(sbx_utf8_valid(value->string.ptr, value->string.len, NULL));
    } else if (value->type == SBX_VALUE_FLOAT) {
        must(value->number - value->number == 0.0); /* finite */
    } else if (value->type == SBX_VALUE_ARRAY) {
        must(depth < SBX_JSON_MAX_DEPTH);
        for (size_t i = 0; i < value->array.count; i++) {
            check_value(&value->array.items[i], depth + 1);
        }
    } else if (value->type == SBX_VALUE_TABLE) {
        must(depth < SBX_JSON_MAX_DEPTH);
        for (size_t i = 0; i < value->table.count; i++) {
            const struct sbx_str key = value->table.members[i].key;
            must(sbx_utf8_valid(key.ptr, key.len, NULL) && strlen(key.ptr) == key.len);
            for (size_t j = 0; j < i && i < 100; j++) {
                must(!sbx_str_eq(key, value->table.members[j].key));
            }
            check_value(&value->table.members[i].value, depth + 1);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_value value = {.type = SBX_VALUE_NULL, .integer = 77};
    struct sbx_err err = {0};
    enum sbx_code code =
        sbx_json_read(&arena, "fuzz", (struct sbx_str){(const char *)data, size}, &value, &err);
    if (code == SBX_OK) {
        check_value(&value, 0);
        return 0;
    }
    must(code == SBX_E_SYNTAX || code == SBX_E_LIMIT);
    must(err.code == code && strncmp(err.text, "fuzz:", 5) == 0);
    must(sbx_utf8_valid(err.text, strlen(err.text), NULL));
    must(value.type == SBX_VALUE_NULL && value.integer == 77);
    return 0;
}
