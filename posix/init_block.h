/* Writes the block that tells sbx-init what to do (init_plan.h), and makes it and the program into sealed
 * memory files. */
#ifndef SBX_POSIX_INIT_BLOCK_H
#define SBX_POSIX_INIT_BLOCK_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "posix/init_plan.h"

struct sbx_init_block {
    struct sbx_buf bytes; /* its head is the plan */
    struct sbx_init_plan plan;
};

void sbx_init_block_init(struct sbx_init_block *block);
void sbx_init_block_reset(struct sbx_init_block *block); /* empty again; keeps the storage */
void sbx_init_block_release(struct sbx_init_block *block);
#define AUTO_INIT_BLOCK SBX_CLEANUP(sbx_init_block_release) struct sbx_init_block

/* Offset of a copy of the text. What does not fit is noticed at the end. */
uint32_t sbx_init_block_text(struct sbx_init_block *block, const char *text);

/* A copy of `count` elements, or of texts as offsets with a 0 behind them. */
struct sbx_init_array sbx_init_block_array(struct sbx_init_block *block, const void *items,
                                           size_t count, size_t size);
struct sbx_init_array sbx_init_block_texts(struct sbx_init_block *block, const char *const *texts);

/* Completes it in memory: the bytes are the block. SBX_E_LIMIT when it became too large. */
enum sbx_code sbx_init_block_finish(struct sbx_init_block *block, struct sbx_err *err) SBX_MUST_USE;

/* An empty memory file for the block, close-on-exec. */
enum sbx_code sbx_init_block_open(int *out, struct sbx_err *err) SBX_MUST_USE;

/* Writes the block to it, and seals it. SBX_E_LIMIT when the block became too large. */
enum sbx_code sbx_init_block_seal(struct sbx_init_block *block, int fd,
                                  struct sbx_err *err) SBX_MUST_USE;

/* The program, likewise. */
enum sbx_code sbx_init_program(int *out, struct sbx_err *err) SBX_MUST_USE;

/* A sealed memory file of these bytes. */
enum sbx_code sbx_memory_file(const char *name, const void *bytes, size_t len, bool executable,
                              int *out, struct sbx_err *err) SBX_MUST_USE;

#endif
