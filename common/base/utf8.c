/* Strict UTF-8: decoding, validation, characters unsafe to show, simple case folding. */
#include "common/base/utf8.h"

#include <string.h>

#include "common/base/attr.h"

#include "common/base/banned.h"

/* The well-formed sequences (Unicode table 3-7): the bounds of the second byte are what keeps out
 * overlong forms, surrogates and values above U+10FFFF. */
struct lead {
    unsigned char len;
    unsigned char low, high; /* of the second byte */
};

static const struct lead leads[] = {
    {2, 0x80, 0xbf}, /* c2–df */
    {3, 0xa0, 0xbf}, /* e0 */
    {3, 0x80, 0xbf}, /* e1–ec, ee, ef */
    {3, 0x80, 0x9f}, /* ed */
    {4, 0x90, 0xbf}, /* f0 */
    {4, 0x80, 0xbf}, /* f1–f3 */
    {4, 0x80, 0x8f}, /* f4 */
};

/* First bytes from c0 on: the row of `leads`, or x for none. */
static const char lead_rows[] = "xx00000000000000" /* c0 */
                                "0000000000000000" /* d0 */
                                "1222222222222322" /* e0 */
                                "45556xxxxxxxxxxx" /* f0 */;

static const struct lead *find_lead(unsigned char byte)
{
    char row = byte < 0xc0 ? 'x' : lead_rows[byte - 0xc0];
    return row == 'x' ? NULL : &leads[row - '0'];
}

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t sbx_utf8_decode(const char *bytes, size_t len, uint32_t *out)
{
    if (len == 0) {
        return 0;
    }
    const unsigned char *byte = (const unsigned char *)bytes;
    uint32_t character = byte[0];
    size_t count = 1;
    if (character >= 0x80) {
        const struct lead *lead = find_lead(byte[0]);
        if (lead == NULL || len < lead->len || byte[1] < lead->low || byte[1] > lead->high) {
            return 0;
        }
        character &= 0x7fu >> lead->len;
        for (; count < lead->len; count++) {
            if (!is_continuation(byte[count])) {
                return 0;
            }
            character = character << 6 | (byte[count] & 0x3fu);
        }
    }
    if (out != NULL) {
        *out = character;
    }
    return count;
}

size_t sbx_utf8_encode(uint32_t character, char out[4])
{
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};

    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    if (character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff)) {
        return 0;
    }
    size_t count = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = count - 1; i > 0; i--) {
        out[i] = (char)(0x80u | (character & 0x3fu));
        character >>= 6;
    }
    out[0] = (char)(marks[count] | character);
    return count;
}

/* How many ASCII bytes `bytes` starts with. Words are loaded with memcpy (any alignment) and only
 * asked whether any top bit is set, which no byte order changes. */
static size_t ascii_run(const char *bytes, size_t len)
{
    const uint64_t top_bits = UINT64_C(0x8080808080808080);
    size_t at = 0;
    while (len - at >= 4 * sizeof(uint64_t)) {
        uint64_t word[4];
        memcpy(word, bytes + at, sizeof word);
        if (((word[0] | word[1] | word[2] | word[3]) & top_bits) != 0) {
            break;
        }
        at += sizeof word;
    }
    while (len - at >= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        if ((word & top_bits) != 0) {
            break;
        }
        at += sizeof word;
    }
    while (at < len && ((unsigned char)bytes[at] & 0x80u) == 0) {
        at++;
    }
    return at;
}

bool sbx_utf8_valid(const char *bytes, size_t len, size_t *bad_offset)
{
    size_t at = 0;
    while (at < len) {
        size_t step = ((unsigned char)bytes[at] & 0x80u) == 0
                          ? ascii_run(bytes + at, len - at)
                          : sbx_utf8_decode(bytes + at, len - at, NULL);
        if (step == 0) {
            if (bad_offset != NULL) {
                *bad_offset = at;
            }
            return false;
        }
        at += step;
    }
    return true;
}

size_t sbx_utf8_cut(const char *bytes, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        unsigned char byte = (unsigned char)bytes[len - back];
        if (!is_continuation(byte)) {
            const struct lead *lead = find_lead(byte);
            return lead != NULL && lead->len > back ? len - back : len;
        }
    }
    return len;
}

/* Controls, line and paragraph separators, interlinear annotation, and Unicode's
 * Default_Ignorable_Code_Point (bidi controls, joiners, fillers, variation selectors, tags): all
 * that leaves no ink, so that two texts which differ never look the same. Sorted. */
struct range {
    uint32_t first, last;
};

static const struct range unsafe_ranges[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x061c, 0x061c},
    {0x115f, 0x1160}, {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f}, {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool sbx_utf8_is_unsafe(uint32_t character)
{
    if (character < 0x7f) {
        return character < 0x20;
    }
    size_t low = 0;
    size_t high = SBX_COUNT(unsafe_ranges);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (character > unsafe_ranges[middle].last) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < SBX_COUNT(unsafe_ranges) && character >= unsafe_ranges[low].first;
}

/* Unicode CaseFolding.txt, status C and S, of the blocks the header names. `step` 2: every other
 * character of the range folds. Sorted. */
struct fold {
    uint16_t first, last;
    int16_t delta;
    uint16_t step;
};

static const struct fold folds[] = {
    {0x0041, 0x005a, 32, 1},    {0x00b5, 0x00b5, 775, 1},   {0x00c0, 0x00d6, 32, 1},
    {0x00d8, 0x00de, 32, 1},    {0x0100, 0x012e, 1, 2},     {0x0132, 0x0136, 1, 2},
    {0x0139, 0x0147, 1, 2},     {0x014a, 0x0176, 1, 2},     {0x0178, 0x0178, -121, 1},
    {0x0179, 0x017d, 1, 2},     {0x017f, 0x017f, -268, 1},  {0x0370, 0x0372, 1, 2},
    {0x0376, 0x0376, 1, 1},     {0x037f, 0x037f, 116, 1},   {0x0386, 0x0386, 38, 1},
    {0x0388, 0x038a, 37, 1},    {0x038c, 0x038c, 64, 1},    {0x038e, 0x038f, 63, 1},
    {0x0391, 0x03a1, 32, 1},    {0x03a3, 0x03ab, 32, 1},    {0x03c2, 0x03c2, 1, 1},
    {0x03cf, 0x03cf, 8, 1},     {0x03d0, 0x03d0, -30, 1},   {0x03d1, 0x03d1, -25, 1},
    {0x03d5, 0x03d5, -15, 1},   {0x03d6, 0x03d6, -22, 1},   {0x03d8, 0x03ee, 1, 2},
    {0x03f0, 0x03f0, -54, 1},   {0x03f1, 0x03f1, -48, 1},   {0x03f4, 0x03f4, -60, 1},
    {0x03f5, 0x03f5, -64, 1},   {0x03f7, 0x03f7, 1, 1},     {0x03f9, 0x03f9, -7, 1},
    {0x03fa, 0x03fa, 1, 1},     {0x03fd, 0x03ff, -130, 1},  {0x0400, 0x040f, 80, 1},
    {0x0410, 0x042f, 32, 1},    {0x0460, 0x0480, 1, 2},     {0x048a, 0x04be, 1, 2},
    {0x04c0, 0x04c0, 15, 1},    {0x04c1, 0x04cd, 1, 2},     {0x04d0, 0x052e, 1, 2},
    {0x0531, 0x0556, 48, 1},    {0x1e00, 0x1e94, 1, 2},     {0x1e9b, 0x1e9b, -58, 1},
    {0x1e9e, 0x1e9e, -7615, 1}, {0x1ea0, 0x1efe, 1, 2},     {0x2126, 0x2126, -7517, 1},
    {0x212a, 0x212a, -8383, 1}, {0x212b, 0x212b, -8262, 1}, {0xff21, 0xff3a, 32, 1},
};

uint32_t sbx_utf8_fold(uint32_t character)
{
    if (character < 0x80) {
        return character >= 'A' && character <= 'Z' ? character + 32 : character;
    }
    size_t low = 0;
    size_t high = SBX_COUNT(folds);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (character > folds[middle].last) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == SBX_COUNT(folds) || character < folds[low].first ||
        (character - folds[low].first) % folds[low].step != 0) {
        return character;
    }
    return (uint32_t)((int32_t)character + folds[low].delta);
}

size_t sbx_utf8_count(const char *bytes, size_t len)
{
    size_t count = 0;
    for (size_t at = 0; at < len; count++) {
        size_t step = sbx_utf8_decode(bytes + at, len - at, NULL);
        at += step == 0 ? 1 : step;
    }
    return count;
}
