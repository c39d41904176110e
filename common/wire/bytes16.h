/* Sixteen bytes at once, in plain operators: GCC's and clang's vectors, which become SSE2, NEON or ordinary code. Comparing gives -1
 * for a byte where it holds, else 0. Bytes are signed: those that are not ASCII are negative. */
#ifndef SBX_WIRE_BYTES16_H
#define SBX_WIRE_BYTES16_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words hold their first byte lowest");

typedef signed char sbx_bytes16 __attribute__((vector_size(16)));

static inline sbx_bytes16 sbx_bytes16_load(const void *from)
{
    sbx_bytes16 bytes;
    memcpy(&bytes, from, sizeof bytes);
    return bytes;
}

static inline void sbx_bytes16_store(void *to, sbx_bytes16 bytes)
{
    memcpy(to, &bytes, sizeof bytes);
}

/* The same bytes as two words, the first byte in the lowest bits of the first. Through memory that would stall the processor. */
typedef uint64_t sbx_words2 __attribute__((vector_size(16)));

/* Is any byte not 0? */
static inline bool sbx_bytes16_any(sbx_bytes16 bytes)
{
    sbx_words2 words = (sbx_words2)bytes;
    return (words[0] | words[1]) != 0;
}

/* Index of the first byte that is not 0; there must be one. */
static inline unsigned sbx_bytes16_first(sbx_bytes16 bytes)
{
    sbx_words2 words = (sbx_words2)bytes;
    if (words[0] != 0) return (unsigned)__builtin_ctzll(words[0]) / 8;
    return 8 + (unsigned)__builtin_ctzll(words[1]) / 8;
}

#endif
