/* SHA-256 as FIPS 180-4 writes it. */
#include "common/base/sha256.h"

#include <string.h>

#include "common/base/banned.h"

#define BLOCK_BYTES 64
#define LENGTH_OFFSET 56 /* the last eight bytes of the last block hold the length in bits */

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word >> bits | word << (32 - bits);
}

static uint32_t load(const unsigned char *byte)
{
    return (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 | byte[3];
}

static void store(unsigned char *byte, uint32_t word)
{
    byte[0] = (unsigned char)(word >> 24);
    byte[1] = (unsigned char)(word >> 16);
    byte[2] = (unsigned char)(word >> 8);
    byte[3] = (unsigned char)word;
}

static void make_schedule(uint32_t w[64], const unsigned char *block)
{
    for (size_t t = 0; t < 16; t++) {
        w[t] = load(block + 4 * t);
    }
    for (size_t t = 16; t < 64; t++) {
        uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
}

/* The letters are those of the standard. */
static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    make_schedule(w, block);

    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (size_t t = 0; t < 64; t++) {
        uint32_t s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
        uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[t] + w[t];
        uint32_t s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
        uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const uint32_t sum[8] = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; i++) {
        state[i] += sum[i];
    }
}

void sbx_sha256_init(struct sbx_sha256 *hash)
{
    *hash = (struct sbx_sha256){
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                  0x1f83d9ab, 0x5be0cd19},
    };
}

void sbx_sha256_add(struct sbx_sha256 *hash, const void *bytes, size_t len)
{
    const unsigned char *from = bytes;
    size_t held = (size_t)(hash->length_bytes % BLOCK_BYTES);
    hash->length_bytes += len;
    if (held > 0 && len >= BLOCK_BYTES - held) {
        size_t part = BLOCK_BYTES - held;
        memcpy(hash->block + held, from, part);
        compress(hash->state, hash->block);
        from += part;
        len -= part;
        held = 0;
    }
    if (held == 0) {
        for (; len >= BLOCK_BYTES; from += BLOCK_BYTES, len -= BLOCK_BYTES) {
            compress(hash->state, from);
        }
    }
    if (len > 0) {
        memcpy(hash->block + held, from, len);
    }
}

void sbx_sha256_end(struct sbx_sha256 *hash, unsigned char out[SBX_SHA256_BYTES])
{
    uint64_t bits = hash->length_bytes * 8;
    size_t held = (size_t)(hash->length_bytes % BLOCK_BYTES);
    hash->block[held++] = 0x80;
    if (held > LENGTH_OFFSET) {
        memset(hash->block + held, 0, BLOCK_BYTES - held);
        compress(hash->state, hash->block);
        held = 0;
    }
    memset(hash->block + held, 0, LENGTH_OFFSET - held);
    store(hash->block + LENGTH_OFFSET, (uint32_t)(bits >> 32));
    store(hash->block + LENGTH_OFFSET + 4, (uint32_t)bits);
    compress(hash->state, hash->block);
    for (size_t i = 0; i < 8; i++) {
        store(out + 4 * i, hash->state[i]);
    }
    sbx_sha256_init(hash);
}

void sbx_sha256_end_hex(struct sbx_sha256 *hash, char out[SBX_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";

    unsigned char sum[SBX_SHA256_BYTES];
    sbx_sha256_end(hash, sum);
    for (size_t i = 0; i < SBX_SHA256_BYTES; i++) {
        out[2 * i] = digits[sum[i] >> 4];
        out[2 * i + 1] = digits[sum[i] & 15];
    }
    out[SBX_SHA256_HEX - 1] = '\0';
}

void sbx_sha256_hex(const void *bytes, size_t len, char out[SBX_SHA256_HEX])
{
    struct sbx_sha256 hash;
    sbx_sha256_init(&hash);
    sbx_sha256_add(&hash, bytes, len);
    sbx_sha256_end_hex(&hash, out);
}
