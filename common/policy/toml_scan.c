/* TOML reader: classes of bytes, blanks, comments, lines and places. */
#include <string.h>

#include "common/policy/toml_internal.h"

#include "common/base/banned.h"

/* Sums of SBX_TOML_BARE (1), BASIC (2), LITERAL (4), COMMENT (8) and NUMBER (16). */
const uint8_t sbx_toml_classes[256] = {
    /* clang-format off */
     0,  0,  0,  0,  0,  0,  0,  0,  0, 14,  0,  0,  0,  0,  0,  0,
     0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
    14, 14, 12, 14, 14, 14, 14, 10, 14, 14, 14, 30, 14, 31, 30, 14,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 30, 14, 14, 14, 14, 14,
    14, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 14, 12, 14, 14, 31,
    14, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 14, 14, 14, 14,  0,
    /* from 0x80 on: parts of UTF-8 characters */
    14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14,
    14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14,
    14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14,
    14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14,
    14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14,
    14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14,
    14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14,
    14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14,
    /* clang-format on */
};

/* Characters are the bytes that do not continue one. Words without any byte above 0x7f, nearly all
 * of them, are counted at once; whichever way, every byte of a line is counted only once. */
static uint32_t count_characters(const char *from, const char *to)
{
    const uint64_t top_bits = UINT64_C(0x8080808080808080);
    uint32_t count = 0;
    while (to - from >= 8) {
        uint64_t word;
        memcpy(&word, from, sizeof word);
        if ((word & top_bits) != 0) {
            for (int i = 0; i < 8; i++) {
                count += ((unsigned char)from[i] & 0xc0) != 0x80 ? 1 : 0;
            }
        } else {
            count += 8;
        }
        from += 8;
    }
    for (; from < to; from++) {
        count += ((unsigned char)*from & 0xc0) != 0x80 ? 1 : 0;
    }
    return count;
}

struct sbx_place sbx_toml_place(struct sbx_toml_reader *reader, const char *at)
{
    if (reader->is_ascii) {
        return (struct sbx_place){reader->line, (uint32_t)(at - reader->counted) + 1};
    }
    reader->columns += count_characters(reader->counted, at);
    reader->counted = at;
    return (struct sbx_place){reader->line, reader->columns + 1};
}

enum sbx_code sbx_toml_newline(struct sbx_toml_reader *reader)
{
    if (*reader->at == '\r') {
        if (reader->end - reader->at < 2 || reader->at[1] != '\n') {
            return sbx_toml_fail(reader, reader->at,
                                 "a carriage return must be followed by a line feed");
        }
        reader->at++;
    }
    reader->at++;
    reader->line++;
    reader->columns = 0;
    reader->counted = reader->at;
    return SBX_OK;
}

enum sbx_code sbx_toml_skip_comment(struct sbx_toml_reader *reader)
{
    reader->at = sbx_toml_skip(reader, reader->at, SBX_TOML_COMMENT);
    char c = sbx_toml_peek(reader);
    if (reader->at == reader->end || c == '\n' || c == '\r') {
        return SBX_OK;
    }
    return sbx_toml_fail(reader, reader->at,
                         "the control character U+%04X is not allowed in a comment",
                         (unsigned)(unsigned char)c);
}

enum sbx_code sbx_toml_skip_blank(struct sbx_toml_reader *reader)
{
    enum sbx_code code = SBX_OK;
    while (code == SBX_OK) {
        sbx_toml_skip_space(reader);
        char c = sbx_toml_peek(reader);
        if (c == '#') {
            code = sbx_toml_skip_comment(reader);
        } else if (c == '\n' || c == '\r') {
            code = sbx_toml_newline(reader);
        } else {
            break;
        }
    }
    return code;
}

enum sbx_code sbx_toml_end_line(struct sbx_toml_reader *reader, const char *after)
{
    sbx_toml_skip_space(reader);
    if (sbx_toml_peek(reader) == '#') {
        enum sbx_code code = sbx_toml_skip_comment(reader);
        if (code != SBX_OK) {
            return code;
        }
    }
    if (reader->at == reader->end) {
        return SBX_OK;
    }
    if (*reader->at == '\n' || *reader->at == '\r') {
        return sbx_toml_newline(reader);
    }
    return sbx_toml_expected(reader, after);
}
