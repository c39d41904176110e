/* Fuzz: any bytes as TOML. What is refused says where and leaves the value alone. What is accepted
 * has valid text, places inside the file, no key twice, and reads back from its own text as the
 * same tree. The same with less memory is refused or the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/policy/toml.h"
#include "tests/unit/toml_text.h"

#include "common/base/banned.h"

enum { ARENA_BYTES = 256 << 20, MAX_DEPTH = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool held)
{
    if (!held) {
        abort();
    }
}

static void check_text(struct sbx_str text)
{
    must(sbx_utf8_valid(text.ptr, text.len, NULL));
}

static void check_place(const struct sbx_place *place, uint32_t lines)
{
    must(place->line >= 1 && place->line <= lines && place->column >= 1);
}

static void check_value(const struct sbx_value *value, uint32_t lines, unsigned depth)
{
    must(depth <= MAX_DEPTH + 1);
    check_place(&value->place, lines);
    if (value->type == SBX_VALUE_STRING) {
        check_text(value->string);
    } else if (value->type == SBX_VALUE_ARRAY) {
        for (size_t i = 0; i < value->array.count; i++) {
            check_value(&value->array.items[i], lines, depth + 1);
        }
    } else if (value->type == SBX_VALUE_TABLE) {
        for (size_t i = 0; i < value->table.count; i++) {
            const struct sbx_member *member = &value->table.members[i];
            check_text(member->key);
            check_place(&member->place, lines);
            for (size_t j = 0; j < i && i < 100; j++) {
                must(!sbx_str_eq(member->key, value->table.members[j].key));
            }
            check_value(&member->value, lines, depth + 1);
        }
    } else {
        must(value->type < SBX_VALUE_NULL);
    }
}

static void check_refusal(enum sbx_code code, const struct sbx_toml_fault *fault,
                          const struct sbx_err *err, struct sbx_str text)
{
    must(code == SBX_E_SYNTAX || code == SBX_E_LIMIT || code == SBX_E_NOMEM);
    must(err->code == code && strncmp(err->text, "fuzz:", 5) == 0);
    must(fault->offset <= text.len && fault->place.line >= 1 && fault->place.column >= 1);
    check_text(sbx_str(err->text));
    check_text(sbx_str(err->hint));
    for (const char *at = err->hint; *at != '\0'; at++) {
        must((unsigned char)*at >= 0x20 || *at == '\n');
    }
    must(strchr(err->hint, '\n') == strrchr(err->hint, '\n'));
}

/* Its own text, as the value of one key: one level deeper. */
static void check_round_trip(const struct sbx_value *value)
{
    AUTO_BUF buf;
    AUTO_ARENA arena;
    sbx_buf_init(&buf, ARENA_BYTES);
    sbx_arena_init(&arena, ARENA_BYTES);
    sbx_buf_add_text(&buf, "v = ");
    toml_text(&buf, value);
    must(!buf.failed);
    const struct sbx_toml_options options = {.max_bytes = ARENA_BYTES, .max_depth = MAX_DEPTH + 1};
    struct sbx_value again;
    must(sbx_toml_read(&arena, "again", sbx_buf_str(&buf), &options, &again, NULL, NULL) == SBX_OK);
    must(again.table.count == 1 && toml_same(&again.table.members[0].value, value));
}

/* How much memory there is, is chosen by the input too. */
static void check_small_memory(struct sbx_str text, const struct sbx_value *value)
{
    size_t bytes = 0;
    for (size_t i = 0; i < text.len && i < 16; i++) {
        bytes = (bytes * 31 + (unsigned char)text.ptr[i]) % 20000;
    }
    AUTO_ARENA arena;
    sbx_arena_init(&arena, bytes);
    struct sbx_value again;
    enum sbx_code code = sbx_toml_read(&arena, "small", text, NULL, &again, NULL, NULL);
    must(code == SBX_OK || code == SBX_E_NOMEM);
    must(code != SBX_OK || toml_same(&again, value));
    must(arena.used_bytes <= bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sbx_str text = {(const char *)data, size};
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_value value = {.type = SBX_VALUE_NULL, .integer = 77};
    struct sbx_toml_fault fault;
    struct sbx_err err = {0};
    enum sbx_code code = sbx_toml_read(&arena, "fuzz", text, NULL, &value, &fault, &err);
    if (code != SBX_OK) {
        check_refusal(code, &fault, &err, text);
        must(value.type == SBX_VALUE_NULL && value.integer == 77);
        return 0;
    }
    uint32_t lines = 1;
    for (size_t i = 0; i < size; i++) {
        lines += data[i] == '\n' ? 1 : 0;
    }
    must(value.type == SBX_VALUE_TABLE);
    must(arena.used_bytes <= size * SBX_TOML_ARENA_MULTIPLE + SBX_TOML_ARENA_EXTRA);
    check_value(&value, lines, 0);
    check_round_trip(&value);
    check_small_memory(text, &value);
    return 0;
}
