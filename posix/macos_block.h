/* What sbx tells the first process of a macOS box: one block of bytes, in a file that has no name any more when that process
 * starts. Arguments would be seen by everybody. Both are the same program, so the block is of one version; it is still read
 * with care. */
#ifndef SBX_POSIX_MACOS_BLOCK_H
#define SBX_POSIX_MACOS_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "common/base/buf.h"
#include "common/base/err.h"

#define SBX_MACOS_FIRST "sbx-first" /* its argv[0] */
#define SBX_MACOS_BLOCK_MAX ((size_t)8 << 20)

enum { SBX_MACOS_LIMITS = 8 };

struct sbx_macos_limit {
    int resource;
    uint64_t value;
};

struct sbx_macos_block {
    const char *mark;
    const char *profile;
    const char *program, *directory;
    const char *const *parameters; /* name, value, …; ends with NULL, as all lists here */
    const char *const *argv;
    const char *const *env;
    bool has_terminal;
    uint64_t memory_mebibytes; /* of the command's first process; 0: none */
    struct sbx_macos_limit limits[SBX_MACOS_LIMITS];
    size_t limit_count;
};

/* Appends all of it. */
void sbx_macos_block_write(const struct sbx_macos_block *block, struct sbx_buf *out);

/* Points into `bytes`, with lists of its own until they are released. False when it is no such block. */
bool sbx_macos_block_read(char *bytes, size_t len, struct sbx_macos_block *out) SBX_MUST_USE;

/* The lists of one that was read. */
void sbx_macos_block_release(const struct sbx_macos_block *block);

#endif
