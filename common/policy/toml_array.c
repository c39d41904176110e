/* TOML reader: arrays in brackets. Their items wait in chunks until the bracket closes, then become
 * one exact array. Recursion (an item may be an array) is bounded by the maximum depth. */
#include <stdio.h>
#include <string.h>

#include "common/policy/toml_internal.h"

#include "common/base/banned.h"

#define CHUNK_ITEMS 30

struct sbx_toml_chunk {
    struct sbx_toml_chunk *next;
    size_t count;
    struct sbx_value items[CHUNK_ITEMS];
};

struct items {
    struct sbx_toml_chunk *first, *last;
    size_t count;
};

static struct sbx_toml_chunk *add_chunk(struct sbx_toml_reader *reader, struct items *items)
{
    struct sbx_toml_chunk *chunk = reader->chunks;
    if (chunk != NULL) {
        reader->chunks = chunk->next;
    } else {
        chunk = SBX_NEW(&reader->scratch, struct sbx_toml_chunk);
        if (chunk == NULL) {
            return NULL;
        }
    }
    chunk->next = NULL;
    chunk->count = 0;
    if (items->last == NULL) {
        items->first = chunk;
    } else {
        items->last->next = chunk;
    }
    items->last = chunk;
    return chunk;
}

static enum sbx_code read_item(struct sbx_toml_reader *reader, unsigned depth, struct items *items)
{
    struct sbx_toml_chunk *chunk = items->last;
    if (chunk == NULL || chunk->count == CHUNK_ITEMS) {
        chunk = add_chunk(reader, items);
        if (chunk == NULL) {
            return sbx_toml_no_memory(reader);
        }
    }
    enum sbx_code code = sbx_toml_read_value(reader, depth, &chunk->items[chunk->count]);
    chunk->count++;
    items->count++;
    return code == SBX_OK ? sbx_toml_skip_blank(reader) : code;
}

/* Copies the items into the caller's arena; the chunks are free to be used again. */
static enum sbx_code close_items(struct sbx_toml_reader *reader, const struct items *items,
                                 struct sbx_value *out)
{
    struct sbx_value *values = NULL;
    if (items->count > 0) {
        values = SBX_NEW_ARRAY(reader->arena, struct sbx_value, items->count);
        if (values == NULL) {
            return sbx_toml_no_memory(reader);
        }
        struct sbx_value *to = values;
        for (const struct sbx_toml_chunk *chunk = items->first; chunk != NULL;
             chunk = chunk->next) {
            memcpy(to, chunk->items, chunk->count * sizeof *to);
            to += chunk->count;
        }
        items->last->next = reader->chunks;
        reader->chunks = items->first;
    }
    out->type = SBX_VALUE_ARRAY;
    out->array.items = values;
    out->array.count = items->count;
    return SBX_OK;
}

/* The bracket that is missing may belong many lines further up. */
static enum sbx_code bad_array(struct sbx_toml_reader *reader, const char *what,
                               const struct sbx_value *array)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "%s or \"]\" in the array from line %u", what,
                   (unsigned)array->place.line);
    return sbx_toml_expected(reader, wanted);
}

enum sbx_code sbx_toml_read_array(struct sbx_toml_reader *reader, unsigned depth,
                                  struct sbx_value *out)
{
    if (depth >= reader->max_depth) {
        return sbx_toml_too_deep(reader, reader->at);
    }
    struct items items = {NULL, NULL, 0};
    reader->at++;
    enum sbx_code code = sbx_toml_skip_blank(reader);
    bool comma = true;
    while (code == SBX_OK && sbx_toml_peek(reader) != ']') {
        if (!comma || reader->at == reader->end) {
            return bad_array(reader, comma ? "a value" : "\",\"", out);
        }
        code = read_item(reader, depth + 1, &items);
        if (code != SBX_OK) {
            return code;
        }
        comma = sbx_toml_peek(reader) == ',';
        if (comma) {
            reader->at++;
            code = sbx_toml_skip_blank(reader);
        }
    }
    if (code != SBX_OK) {
        return code;
    }
    reader->at++;
    return close_items(reader, &items, out);
}
