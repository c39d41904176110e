/* The block for sbx-init. */
#include "posix/init_block.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/init_image.h"

#include "common/base/banned.h"

/* Newer than some headers: the file may be executed (6.3; without it a kernel may forbid that). */
#define MEMORY_FILE_EXEC 0x0010u

enum { USUAL_BYTES = 24 << 10 }; /* a strict box with the usual protections takes half of it */

void sbx_init_block_init(struct sbx_init_block *block)
{
    sbx_buf_init(&block->bytes, SBX_INIT_MAX_BYTES);
    sbx_buf_reserve(&block->bytes, USUAL_BYTES);
    sbx_init_block_reset(block);
}

void sbx_init_block_reset(struct sbx_init_block *block)
{
    sbx_buf_reset(&block->bytes);
    block->plan = (struct sbx_init_plan){.magic = SBX_INIT_MAGIC};
    sbx_buf_add(&block->bytes, &block->plan, sizeof block->plan);
}

void sbx_init_block_release(struct sbx_init_block *block)
{
    if (block != NULL) {
        sbx_buf_release(&block->bytes);
    }
}

static uint32_t here(struct sbx_init_block *block, size_t alignment)
{
    sbx_buf_add_repeat(&block->bytes, '\0', (alignment - block->bytes.len % alignment) % alignment);
    return (uint32_t)block->bytes.len;
}

uint32_t sbx_init_block_text(struct sbx_init_block *block, const char *text)
{
    uint32_t at = here(block, 1);
    sbx_buf_add(&block->bytes, text, strlen(text) + 1);
    return at;
}

struct sbx_init_array sbx_init_block_array(struct sbx_init_block *block, const void *items,
                                           size_t count, size_t size)
{
    struct sbx_init_array array = {here(block, 8), (uint32_t)count};
    sbx_buf_add(&block->bytes, items, count * size);
    return array;
}

struct sbx_init_array sbx_init_block_texts(struct sbx_init_block *block, const char *const *texts)
{
    size_t count = 0;
    while (texts[count] != NULL) {
        count++;
    }
    struct sbx_init_array array = {here(block, 8), (uint32_t)count};
    sbx_buf_add_repeat(&block->bytes, '\0', (count + 1) * sizeof(uint64_t));
    for (size_t i = 0; i < count; i++) {
        uint64_t at = sbx_init_block_text(block, texts[i]);
        if (!block->bytes.failed) {
            memcpy(block->bytes.data + array.at + i * sizeof at, &at, sizeof at);
        }
    }
    return array;
}

static enum sbx_code no_file(struct sbx_err *err)
{
    int raw = errno;
    return sbx_err_errno(err, raw, "memfd_create", "cannot make a file in memory");
}

static bool fill_and_seal(int fd, const void *bytes, size_t len)
{
    return sbx_fd_write_all(fd, bytes, len) && lseek(fd, 0, SEEK_SET) == 0 &&
           fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0;
}

enum sbx_code sbx_memory_file(const char *name, const void *bytes, size_t len, bool executable,
                              int *out, struct sbx_err *err)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    AUTO_FD fd = executable ? memfd_create(name, flags | MEMORY_FILE_EXEC) : -1;
    if (fd < 0) {
        fd = memfd_create(name, flags);
    }
    if (fd < 0 || !fill_and_seal(fd, bytes, len)) {
        return no_file(err);
    }
    *out = SBX_TAKE(fd, -1);
    return SBX_OK;
}

enum sbx_code sbx_init_block_finish(struct sbx_init_block *block, struct sbx_err *err)
{
    if (block->bytes.failed) {
        (void)sbx_err_set(err, SBX_E_LIMIT, "the command line and its environment are too large");
        return sbx_err_hint(err, "at most %u MiB with everything the box is told",
                            SBX_INIT_MAX_BYTES >> 20);
    }
    block->plan.bytes = (uint32_t)block->bytes.len;
    memcpy(block->bytes.data, &block->plan, sizeof block->plan);
    return SBX_OK;
}

enum sbx_code sbx_init_block_open(int *out, struct sbx_err *err)
{
    int fd = memfd_create("sbx-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return no_file(err);
    }
    *out = fd;
    return SBX_OK;
}

enum sbx_code sbx_init_block_seal(struct sbx_init_block *block, int fd, struct sbx_err *err)
{
    enum sbx_code code = sbx_init_block_finish(block, err);
    if (code == SBX_OK && !fill_and_seal(fd, block->bytes.data, block->bytes.len)) {
        return no_file(err);
    }
    return code;
}

enum sbx_code sbx_init_program(int *out, struct sbx_err *err)
{
    return sbx_memory_file("sbx-init", sbx_init_image, sbx_init_image_bytes, true, out, err);
}
