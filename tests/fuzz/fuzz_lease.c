/* Fuzz: any bytes as a record of a lease or a workspace. What is refused leaves the result alone; what is accepted
 * is printed as the same bytes. The digest is made to fit in half of the cases, so that what is behind it is
 * reached. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sha256.h"
#include "win/record_text.h"

#include "common/base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool held)
{
    if (!held) {
        abort();
    }
}

static void check(struct sbx_str text)
{
    AUTO_ARENA arena;
    AUTO_BUF again;
    sbx_buf_init(&again, SBX_RECORD_BYTES_MAX);
    struct sbx_record record = {.since = UINT64_MAX};
    struct sbx_err err = {0};
    sbx_arena_init(&arena, (size_t)8 << 20);
    enum sbx_code code = sbx_record_parse(&arena, text, &record, &err);
    if (code != SBX_OK) {
        must(record.since == UINT64_MAX && err.text[0] != '\0');
        return;
    }
    sbx_record_print(&record, &again);
    must(!again.failed && sbx_str_eq(sbx_buf_str(&again), text));
    if (record.kind == SBX_RECORD_LEASE) {
        must(sbx_record_is_profile(record.profile));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sbx_str text = {(const char *)data, size};
    check(text);
    char digest[SBX_SHA256_HEX];
    AUTO_BUF made;
    sbx_buf_init(&made, SBX_RECORD_BYTES_MAX + 4096);
    const char *end = size > 7 ? (const char *)memchr(data, 0, size) : NULL;
    struct sbx_str body = {text.ptr, end == NULL ? size : (size_t)(end - text.ptr)};
    sbx_sha256_hex(body.ptr, body.len, digest);
    sbx_buf_add_str(&made, body);
    sbx_buf_printf(&made, "digest %s\n", digest);
    if (!made.failed) {
        check(sbx_buf_str(&made));
    }
    return 0;
}
