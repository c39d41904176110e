/* SHA-256 (FIPS 180-4), for digests of plans, manifests and audit records. */
#ifndef SBX_BASE_SHA256_H
#define SBX_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SBX_SHA256_BYTES 32
#define SBX_SHA256_HEX 65 /* with the NUL */

struct sbx_sha256 {
    uint32_t state[8];
    uint64_t length_bytes;
    unsigned char block[64];
};

void sbx_sha256_init(struct sbx_sha256 *hash);
void sbx_sha256_add(struct sbx_sha256 *hash, const void *bytes, size_t len);
void sbx_sha256_end(struct sbx_sha256 *hash, unsigned char out[SBX_SHA256_BYTES]);
/* The same as lower-case hexadecimal. */
void sbx_sha256_end_hex(struct sbx_sha256 *hash, char out[SBX_SHA256_HEX]);

/* All at once, as lower-case hexadecimal. */
void sbx_sha256_hex(const void *bytes, size_t len, char out[SBX_SHA256_HEX]);

#endif
