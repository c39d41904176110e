/* Base64, sixteen characters at a step: the six-bit values are put into bytes, and all are mapped to the alphabet, or back, by the
 * same comparisons and additions. No table, and no branch that the data decides. Where the processor can move bytes within
 * a vector (SSSE3), moving the bits costs a third; output of commands is the bulk of what a connection carries. */
#include "common/wire/base64.h"

#if defined(__x86_64__) && defined(__ELF__)
#include <stdatomic.h>
#endif

#include "common/wire/bytes16.h"

#include "common/base/banned.h"

#define INLINE static inline __attribute__((always_inline))

/* In each byte a value 0–63 becomes its character: A–Z, a–z, 0–9, +, /. */
INLINE sbx_bytes16 to_characters(sbx_bytes16 v)
{
    return v + 'A' + ((v > 25) & 6) - ((v > 51) & 75) - ((v > 61) & 15) + ((v > 62) & 3);
}

/* The other way. *bad gets bits for bytes outside the alphabet. */
INLINE sbx_bytes16 to_values(sbx_bytes16 c, sbx_bytes16 *bad)
{
    sbx_bytes16 upper = (c > 'A' - 1) & (c < 'Z' + 1);
    sbx_bytes16 lower = (c > 'a' - 1) & (c < 'z' + 1);
    sbx_bytes16 digit = (c > '0' - 1) & (c < '9' + 1);
    sbx_bytes16 plus = c == '+';
    sbx_bytes16 slash = c == '/';
    *bad |= ~(upper | lower | digit | plus | slash);
    return c - (upper & 'A') - (lower & ('a' - 26)) + (digit & (52 - '0')) + (plus & (62 - '+')) +
           (slash & (63 - '/'));
}

/* Six bytes, as a number whose top 16 bits are 0, to eight six-bit values, the first in the lowest byte. */
static uint64_t spread(uint64_t six)
{
    uint64_t word = (six & UINT64_C(0xffffff)) << 32 | six >> 24;
    word =
        (word & UINT64_C(0x00000fff00000fff)) << 16 | (word >> 12 & UINT64_C(0x00000fff00000fff));
    return (word & UINT64_C(0x003f003f003f003f)) << 8 | (word >> 6 & UINT64_C(0x003f003f003f003f));
}

/* The other way. */
static uint64_t gather(uint64_t word)
{
    word = (word & UINT64_C(0x003f003f003f003f)) << 6 | (word >> 8 & UINT64_C(0x003f003f003f003f));
    word =
        (word & UINT64_C(0x00000fff00000fff)) << 12 | (word >> 16 & UINT64_C(0x00000fff00000fff));
    return (word & UINT64_C(0xffffff)) << 24 | word >> 32;
}

/* Written out so that they are right in any byte order; compilers make one instruction or two of them. */
static uint64_t load_big(const unsigned char *at)
{
    return (uint64_t)at[0] << 56 | (uint64_t)at[1] << 48 | (uint64_t)at[2] << 40 |
           (uint64_t)at[3] << 32 | (uint64_t)at[4] << 24 | (uint64_t)at[5] << 16 |
           (uint64_t)at[6] << 8 | (uint64_t)at[7];
}

static void store_big(unsigned char *at, uint64_t word)
{
    at[0] = (unsigned char)(word >> 56);
    at[1] = (unsigned char)(word >> 48);
    at[2] = (unsigned char)(word >> 40);
    at[3] = (unsigned char)(word >> 32);
    at[4] = (unsigned char)(word >> 24);
    at[5] = (unsigned char)(word >> 16);
    at[6] = (unsigned char)(word >> 8);
    at[7] = (unsigned char)word;
}

/* Twelve bytes to sixteen characters; reads fourteen. */
static void encode_step(const unsigned char *at, unsigned char *to)
{
    const sbx_words2 values = {spread(load_big(at) >> 16), spread(load_big(at + 6) >> 16)};
    sbx_bytes16_store(to, to_characters((sbx_bytes16)values));
}

/* Sixteen characters to twelve bytes; writes fourteen. */
static void decode_step(const unsigned char *at, unsigned char *to, sbx_bytes16 *bad)
{
    const sbx_words2 values = (sbx_words2)to_values(sbx_bytes16_load(at), bad);
    store_big(to, gather(values[0]) << 16);
    store_big(to + 6, gather(values[1]) << 16);
}

/* ---- as many whole steps as can be done fast; they return how many ---- */

#if defined(__x86_64__) && defined(__ELF__)

typedef uint32_t words4 __attribute__((vector_size(16)));

__attribute__((target("ssse3"))) static size_t encode_vectors(const unsigned char *at, size_t len,
                                                              unsigned char *to)
{
    size_t steps = 0;
    for (; len >= 16; len -= 12, steps++) { /* sixteen bytes are read, twelve of them meant */
        sbx_bytes16 bytes = sbx_bytes16_load(at + 12 * steps);
        /* Of each three, the first and second and the second and third side by side. */
        words4 w = (words4)__builtin_shufflevector(bytes, bytes, 1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7,
                                                   10, 9, 11, 10);
        w = (w >> 10 & 0x3f) | (w << 4 & 0x3f00) | (w >> 6 & 0x3f0000) | (w << 8 & 0x3f000000);
        sbx_bytes16_store(to + 16 * steps, to_characters((sbx_bytes16)w));
    }
    return steps;
}

__attribute__((target("ssse3"))) static size_t decode_vectors(const unsigned char *at, size_t len,
                                                              unsigned char *to, sbx_bytes16 *bad)
{
    sbx_bytes16 found = {0};
    size_t steps = 0;
    for (; len > 32; len -= 16, steps++) { /* sixteen bytes are written, four of them overwritten */
        words4 w = (words4)to_values(sbx_bytes16_load(at + 16 * steps), &found);
        w = (w & 0x3f) << 18 | (w & 0x3f00) << 4 | (w >> 10 & 0xfc0) | (w >> 24 & 0x3f);
        sbx_bytes16 bytes = (sbx_bytes16)w;
        bytes = __builtin_shufflevector(bytes, bytes, 2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, 3, 7,
                                        11, 15);
        sbx_bytes16_store(to + 12 * steps, bytes);
    }
    *bad |= found;
    return steps;
}

/* Asked for when it is needed: the compiler's own library would ask for everything there is, at the start of every
 * program, and in a virtual machine each question goes to the host. */
static bool has_vectors(void)
{
    enum { UNKNOWN, NO, YES };
    static atomic_int known;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == UNKNOWN) {
        unsigned leaf = 1; /* every processor of this architecture has it; bit 9 of ECX is SSSE3 */
        unsigned features = 0;
        __asm__("cpuid" : "+a"(leaf), "+c"(features) : : "ebx", "edx");
        answer = (features & 1u << 9) != 0 ? YES : NO;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == YES;
}

static size_t encode_fast(const unsigned char *at, size_t len, unsigned char *to)
{
    return has_vectors() ? encode_vectors(at, len, to) : 0;
}

static size_t decode_fast(const unsigned char *at, size_t len, unsigned char *to, sbx_bytes16 *bad)
{
    return has_vectors() ? decode_vectors(at, len, to, bad) : 0;
}

#else

static size_t encode_fast(const unsigned char *at, size_t len, unsigned char *to)
{
    (void)at, (void)len, (void)to;
    return 0;
}

static size_t decode_fast(const unsigned char *at, size_t len, unsigned char *to, sbx_bytes16 *bad)
{
    (void)at, (void)len, (void)to, (void)bad;
    return 0;
}

#endif

/* ---- texts ---- */

void sbx_base64_encode(const void *bytes, size_t len, char *out)
{
    const unsigned char *at = bytes;
    unsigned char *to = (unsigned char *)out;
    size_t done = encode_fast(at, len, to);
    at += 12 * done;
    to += 16 * done;
    len -= 12 * done;
    for (; len >= 14; len -= 12) {
        encode_step(at, to);
        at += 12;
        to += 16;
    }
    if (len == 0) return;
    unsigned char rest[14] = {0};
    unsigned char text[16];
    memcpy(rest, at, len);
    encode_step(rest, text);
    /* Thirteen bytes make a fifth group. */
    size_t part = len < 12 ? len : 12;
    size_t count = SBX_BASE64_LEN(part);
    if (part % 3 != 0) text[count - 1] = '=';
    if (part % 3 == 1) text[count - 2] = '=';
    memcpy(to, text, count);
    if (len > part) sbx_base64_encode(at + part, len - part, (char *)to + count);
}

bool sbx_base64_decode(const char *text, size_t len, void *out, size_t *out_len)
{
    const unsigned char *at = (const unsigned char *)text;
    unsigned char *to = out;
    sbx_bytes16 bad = {0};
    if (len % 4 != 0) return false;
    size_t padding = 0;
    if (len > 0 && at[len - 1] == '=') padding = at[len - 2] == '=' ? 2 : 1;
    size_t done = decode_fast(at, len, to, &bad);
    size_t left = len - 16 * done;
    at += 16 * done;
    to += 12 * done;
    /* Two bytes more are written than are meant; the characters that stand there were read, or are overwritten next. */
    for (; left > 16; left -= 16) {
        decode_step(at, to, &bad);
        at += 16;
        to += 12;
    }
    unsigned char rest[16] = "AAAAAAAAAAAAAAAA";
    unsigned char last[14];
    memcpy(rest, at, left - padding);
    decode_step(rest, last, &bad);
    size_t count = left / 4 * 3 - padding;
    /* What the padding stands for must be nothing. */
    for (size_t i = count; i < count + padding; i++)
        if (last[i] != 0) return false;
    if (sbx_bytes16_any(bad)) return false;
    memcpy(to, last, count);
    *out_len = (size_t)(to - (unsigned char *)out) + count;
    return true;
}
