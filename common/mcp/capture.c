/* The beginning and the end of a stream of any length, in bounded memory. */
#include "common/mcp/capture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"

#include "common/base/banned.h"

bool sbx_mcp_capture_init(struct sbx_mcp_capture *capture, size_t max_bytes)
{
    *capture = (struct sbx_mcp_capture){.half = max_bytes / 2};
    capture->bytes = malloc(2 * capture->half);
    return capture->bytes != NULL;
}

void sbx_mcp_capture_release(struct sbx_mcp_capture *capture)
{
    free(capture->bytes);
    *capture = (struct sbx_mcp_capture){0};
}

void sbx_mcp_capture_add(struct sbx_mcp_capture *capture, struct sbx_str bytes)
{
    size_t half = capture->half;
    size_t at = 0;
    if (capture->total < half) {
        size_t used = (size_t)capture->total;
        at = bytes.len < half - used ? bytes.len : half - used;
        if (at > 0) memcpy(capture->bytes + used, bytes.ptr, at);
        capture->total += at;
    }
    while (at < bytes.len) {
        size_t place = (size_t)((capture->total - half) % half);
        size_t part = half - place < bytes.len - at ? half - place : bytes.len - at;
        memcpy(capture->bytes + half + place, bytes.ptr + at, part);
        capture->total += part;
        at += part;
    }
}

bool sbx_mcp_capture_is_cut(const struct sbx_mcp_capture *capture)
{
    return capture->total > 2 * (uint64_t)capture->half;
}

/* Bytes from there on that are the rest of a character which began before. */
static size_t rest_of_character(const char *bytes, size_t len)
{
    size_t count = 0;
    while (count < len && count < 3 && ((unsigned char)bytes[count] & 0xc0) == 0x80) count++;
    return count;
}

void sbx_mcp_capture_print(const struct sbx_mcp_capture *capture, struct sbx_buf *out)
{
    size_t half = capture->half;
    if (!sbx_mcp_capture_is_cut(capture)) {
        if (capture->total > 0) sbx_buf_add(out, capture->bytes, (size_t)capture->total);
        return;
    }
    AUTO_BUF tail;
    sbx_buf_init(&tail, half);
    size_t place = (size_t)((capture->total - half) % half);
    sbx_buf_add(&tail, capture->bytes + half + place, half - place);
    sbx_buf_add(&tail, capture->bytes + half, place);
    size_t head = sbx_utf8_cut(capture->bytes, half);
    size_t skipped = rest_of_character(sbx_buf_text(&tail), tail.len);
    uint64_t left_out = capture->total - head - (tail.len - skipped);
    sbx_buf_add(out, capture->bytes, head);
    sbx_buf_printf(out, "\n[… %" PRIu64 " bytes left out …]\n", left_out);
    sbx_buf_add(out, sbx_buf_text(&tail) + skipped, tail.len - skipped);
    out->failed |= tail.failed;
}
