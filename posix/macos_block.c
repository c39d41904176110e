/* The block for the first process of a macOS box. */
#include "posix/macos_block.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

#include "common/base/banned.h"

#define MAGIC UINT32_C(0x4d584253) /* "SBXM" */
#define TEXTS_MAX ((uint32_t)1 << 20)

struct head {
    uint32_t magic, bytes; /* of all of it */
    uint32_t has_terminal, limit_count;
    uint64_t memory_mebibytes;
    uint32_t parameter_count, argument_count, variable_count, unused;
    struct sbx_macos_limit limits[SBX_MACOS_LIMITS];
};

static uint32_t count_of(const char *const *list)
{
    uint32_t count = 0;
    while (list[count] != NULL) {
        count++;
    }
    return count;
}

static void add_text(struct sbx_buf *out, const char *text)
{
    sbx_buf_add(out, text, strlen(text) + 1);
}

static void add_list(struct sbx_buf *out, const char *const *list)
{
    for (; *list != NULL; list++) {
        add_text(out, *list);
    }
}

void sbx_macos_block_write(const struct sbx_macos_block *block, struct sbx_buf *out)
{
    struct head head = {
        .magic = MAGIC,
        .has_terminal = block->has_terminal,
        .limit_count = (uint32_t)block->limit_count,
        .memory_mebibytes = block->memory_mebibytes,
        .parameter_count = count_of(block->parameters),
        .argument_count = count_of(block->argv),
        .variable_count = count_of(block->env),
    };
    const char *const texts[] = {block->mark, block->profile, block->program, block->directory};
    memcpy(head.limits, block->limits, sizeof head.limits);
    size_t begin = out->len;
    sbx_buf_add(out, &head, sizeof head);
    for (size_t i = 0; i < SBX_COUNT(texts); i++) {
        add_text(out, texts[i]);
    }
    add_list(out, block->parameters);
    add_list(out, block->argv);
    add_list(out, block->env);
    if (!out->failed) {
        head.bytes = (uint32_t)(out->len - begin);
        memcpy(out->data + begin, &head, sizeof head);
    }
}

/* The texts that are still to be taken. */
struct reader {
    char *at, *end;
    bool failed;
};

static const char *take(struct reader *reader)
{
    char *text = reader->at;
    char *nul = reader->failed ? NULL : memchr(text, '\0', (size_t)(reader->end - text));
    if (nul == NULL) {
        reader->failed = true;
        return "";
    }
    reader->at = nul + 1;
    return text;
}

static const char *const *take_list(struct reader *reader, uint32_t count)
{
    const char **list = count > TEXTS_MAX ? NULL : calloc((size_t)count + 1, sizeof *list);
    if (list == NULL) {
        reader->failed = true;
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        list[i] = take(reader);
    }
    return list;
}

bool sbx_macos_block_read(char *bytes, size_t len, struct sbx_macos_block *out)
{
    struct head head;
    if (len < sizeof head) {
        return false;
    }
    memcpy(&head, bytes, sizeof head);
    if (head.magic != MAGIC || head.bytes != len || head.limit_count > SBX_MACOS_LIMITS) {
        return false;
    }
    struct reader reader = {.at = bytes + sizeof head, .end = bytes + len};
    struct sbx_macos_block block = {
        .has_terminal = head.has_terminal != 0,
        .memory_mebibytes = head.memory_mebibytes,
        .limit_count = head.limit_count,
    };
    memcpy(block.limits, head.limits, sizeof head.limits);
    block.mark = take(&reader);
    block.profile = take(&reader);
    block.program = take(&reader);
    block.directory = take(&reader);
    block.parameters = take_list(&reader, head.parameter_count);
    block.argv = take_list(&reader, head.argument_count);
    block.env = take_list(&reader, head.variable_count);
    if (reader.failed || reader.at != reader.end) {
        sbx_macos_block_release(&block);
        return false;
    }
    *out = block;
    return true;
}

void sbx_macos_block_release(const struct sbx_macos_block *block)
{
    free((void *)(uintptr_t)block->parameters);
    free((void *)(uintptr_t)block->argv);
    free((void *)(uintptr_t)block->env);
}
