/* TOML 1.0 reader, entry: limits and encoding first, then the document, then the finished tree. */
#include "common/policy/toml.h"

#include <string.h>

#include "common/base/utf8.h"
#include "common/policy/toml_internal.h"

#include "common/base/banned.h"

/* Nesting costs stack: 256 levels need less than 100 KB of it. */
#define LARGEST_MAX_DEPTH 256

/* Lengths and counts are kept in 32 bits. */
#define LARGEST_MAX_BYTES ((size_t)1 << 31)

static void release_reader(struct sbx_toml_reader *reader)
{
    sbx_arena_release(&reader->scratch);
}

/* A byte-order mark of UTF-16, or every other byte NUL: what some editors call "Unicode". */
static bool looks_like_utf16(const struct sbx_toml_reader *reader)
{
    size_t len = (size_t)(reader->end - reader->text);
    if (len < 2) {
        return false;
    }
    const unsigned char first = (unsigned char)reader->text[0];
    const unsigned char second = (unsigned char)reader->text[1];
    return (first == 0xff && second == 0xfe) || (first == 0xfe && second == 0xff) ||
           (first == 0) != (second == 0);
}

/* All of the text is checked before any of it is looked at, so that no other file has to. */
static enum sbx_code check_encoding(struct sbx_toml_reader *reader)
{
    if (looks_like_utf16(reader)) {
        return sbx_toml_fail(reader, reader->text, "the file is UTF-16; save it as UTF-8");
    }
    size_t bad;
    if (!sbx_utf8_valid(reader->text, (size_t)(reader->end - reader->text), &bad)) {
        const char *at = reader->text + bad;
        return sbx_toml_fail(reader, at, "byte 0x%02x is not UTF-8; save the file as UTF-8",
                             (unsigned)(unsigned char)*at);
    }
    return SBX_OK;
}

static bool is_ascii(const char *at, const char *end)
{
    uint64_t bits = 0;
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        bits |= word;
    }
    for (; at < end; at++) {
        bits |= (unsigned char)*at;
    }
    return (bits & UINT64_C(0x8080808080808080)) == 0;
}

static enum sbx_code read_all(struct sbx_toml_reader *reader, size_t max_bytes,
                              struct sbx_value *out)
{
    if ((size_t)(reader->end - reader->text) > max_bytes) {
        return sbx_toml_too_large(reader, max_bytes);
    }
    enum sbx_code code = check_encoding(reader);
    if (code != SBX_OK) {
        return code;
    }
    reader->is_ascii = is_ascii(reader->text, reader->end);
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    if (reader->end - reader->at >= 3 && memcmp(reader->at, byte_order_mark, 3) == 0) {
        reader->at += 3;
        reader->counted = reader->at;
    }
    code = sbx_toml_read_document(reader);
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_value tree;
    code = sbx_toml_close_table(reader, &reader->root, &tree);
    if (code == SBX_OK) {
        *out = tree;
    }
    return code;
}

enum sbx_code sbx_toml_read(struct sbx_arena *arena, const char *name, struct sbx_str text,
                            const struct sbx_toml_options *options, struct sbx_value *out,
                            struct sbx_toml_fault *fault, struct sbx_err *err)
{
    size_t max_bytes =
        options != NULL && options->max_bytes != 0 ? options->max_bytes : SBX_TOML_MAX_BYTES;
    unsigned max_depth =
        options != NULL && options->max_depth != 0 ? options->max_depth : SBX_TOML_MAX_DEPTH;
    const char *start = text.len == 0 ? "" : text.ptr;
    SBX_CLEANUP(release_reader)
    struct sbx_toml_reader reader = {
        .arena = arena,
        .name = name,
        .text = start,
        .end = start + text.len,
        .at = start,
        .line = 1,
        .counted = start,
        .max_depth = max_depth > LARGEST_MAX_DEPTH ? LARGEST_MAX_DEPTH : max_depth,
        .root = {.head.kind = SBX_TOML_HEADER, .defined = {1, 1}},
        .fault = fault,
        .err = err,
    };
    sbx_arena_init(&reader.scratch, arena->max_bytes - arena->used_bytes);
    return read_all(&reader, max_bytes > LARGEST_MAX_BYTES ? LARGEST_MAX_BYTES : max_bytes, out);
}
