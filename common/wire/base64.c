/* Base64, eight characters at a step: the six-bit values are put into the bytes of one word, and all eight are mapped to the
 * alphabet, or back, by the same additions. No table, no branch that the data decides. */
#include "common/wire/base64.h"

#include <stdint.h>
#include <string.h>

#include "common/base/banned.h"

#define ONES UINT64_C(0x0101010101010101)
#define TOPS UINT64_C(0x8080808080808080)

/* In each byte: 1 when it is at least `least`. Bytes and `least` are below 128. */
static uint64_t at_least(uint64_t word, unsigned least)
{
    return (word + ONES * (128u - least)) >> 7 & ONES;
}

/* In each byte a value 0–63 becomes its character. */
static uint64_t to_characters(uint64_t word)
{
    return word + ONES * 'A' + at_least(word, 26) * 6 - at_least(word, 52) * 75 -
           at_least(word, 62) * 15 + at_least(word, 63) * 3;
}

/* The other way. *bad gets a bit for a byte outside the alphabet. */
static uint64_t to_values(uint64_t word, uint64_t *bad)
{
    uint64_t not_ascii = word & TOPS;
    word &= ~TOPS;
    uint64_t plus = at_least(word, '+') - at_least(word, '+' + 1);
    uint64_t slash = at_least(word, '/') - at_least(word, '/' + 1);
    uint64_t digit = at_least(word, '0') - at_least(word, '9' + 1);
    uint64_t upper = at_least(word, 'A') - at_least(word, 'Z' + 1);
    uint64_t lower = at_least(word, 'a') - at_least(word, 'z' + 1);
    *bad |= not_ascii | ((plus | slash | digit | upper | lower) ^ ONES);
    /* Every byte that is in the alphabet stays between 0 and 127 at each step. */
    return word + plus * (62 - '+') + slash * (63 - '/') + digit * (52 - '0') - upper * 'A' -
           lower * ('a' - 26);
}

/* Six bytes, the first in the top of the lower 48 bits, to eight six-bit values, the first in the lowest byte. */
static uint64_t spread(uint64_t six)
{
    uint64_t word = (six & UINT64_C(0xffffff)) << 32 | six >> 24;
    word =
        (word & UINT64_C(0x00000fff00000fff)) << 16 | (word & UINT64_C(0x00fff00000fff000)) >> 12;
    return (word & UINT64_C(0x003f003f003f003f)) << 8 | (word & UINT64_C(0x0fc00fc00fc00fc0)) >> 6;
}

static uint64_t gather(uint64_t word)
{
    word = (word & UINT64_C(0x003f003f003f003f)) << 6 | (word & UINT64_C(0x3f003f003f003f00)) >> 8;
    word =
        (word & UINT64_C(0x00000fff00000fff)) << 12 | (word & UINT64_C(0x0fff00000fff0000)) >> 16;
    return (word & UINT64_C(0xffffff)) << 24 | word >> 32;
}

/* Written out so that it is right in any byte order; compilers make one load or store of it. */
static uint64_t load_big(const unsigned char *at)
{
    return (uint64_t)at[0] << 56 | (uint64_t)at[1] << 48 | (uint64_t)at[2] << 40 |
           (uint64_t)at[3] << 32 | (uint64_t)at[4] << 24 | (uint64_t)at[5] << 16 |
           (uint64_t)at[6] << 8 | (uint64_t)at[7];
}

static void store_big(unsigned char *at, uint64_t word)
{
    for (unsigned i = 0; i < 8; i++) at[i] = (unsigned char)(word >> (56 - 8 * i));
}

static uint64_t load_little(const unsigned char *at)
{
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 |
           (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 |
           (uint64_t)at[7] << 56;
}

static void store_little(unsigned char *at, uint64_t word)
{
    for (unsigned i = 0; i < 8; i++) at[i] = (unsigned char)(word >> (8 * i));
}

void sbx_base64_encode(const void *bytes, size_t len, char *out)
{
    const unsigned char *at = bytes;
    unsigned char *to = (unsigned char *)out;
    while (len >= 8) {
        store_little(to, to_characters(spread(load_big(at) >> 16)));
        at += 6;
        to += 8;
        len -= 6;
    }
    while (len > 0) {
        unsigned char three[8] = {0};
        size_t part = len < 3 ? len : 3;
        memcpy(three, at, part);
        unsigned char four[8];
        store_little(four, to_characters(spread(load_big(three) >> 16)));
        if (part < 3) four[3] = '=';
        if (part < 2) four[2] = '=';
        memcpy(to, four, 4);
        at += part;
        to += 4;
        len -= part;
    }
}

/* The last four characters, which may be padded. */
static bool decode_last(const unsigned char *at, unsigned char *to, size_t *out_len)
{
    size_t part = at[3] != '=' ? 3 : at[2] != '=' ? 2 : 1;
    unsigned char four[8] = "AAAAAAAA";
    memcpy(four, at, part + 1);
    uint64_t bad = 0;
    unsigned char three[8];
    store_big(three, gather(to_values(load_little(four), &bad)) << 16);
    for (size_t i = part; i < 3; i++)
        if (three[i] != 0) bad = 1;
    memcpy(to, three, part);
    *out_len += part;
    return bad == 0;
}

bool sbx_base64_decode(const char *text, size_t len, void *out, size_t *out_len)
{
    const unsigned char *at = (const unsigned char *)text;
    unsigned char *to = out;
    if (len % 4 != 0) return false;
    *out_len = 0;
    if (len == 0) return true;
    uint64_t bad = 0;
    size_t left = len;
    /* Eight bytes are written where six are meant; the characters they stand over were read. */
    for (; left > 8 && bad == 0; left -= 8) {
        store_big(to, gather(to_values(load_little(at), &bad)) << 16);
        at += 8;
        to += 6;
    }
    for (; left > 4; left -= 4) {
        unsigned char four[8] = "AAAAAAAA";
        unsigned char three[8];
        memcpy(four, at, 4);
        store_big(three, gather(to_values(load_little(four), &bad)) << 16);
        memcpy(to, three, 3);
        at += 4;
        to += 3;
    }
    *out_len = (size_t)(to - (unsigned char *)out);
    return bad == 0 && decode_last(at, to, out_len);
}
