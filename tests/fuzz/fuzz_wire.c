/* Fuzz: any bytes as what a peer sends. Lines are cut as by the frame; what is refused says why; what is accepted can be written,
 * and means the same when it is read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/wire/frame.h"
#include "common/wire/wire.h"

#include "common/base/banned.h"

enum { LINE_MAX = 64 * 1024, WRITTEN_MAX = 8 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sbx_json_reader reader;

static void must(bool held)
{
    if (!held) abort();
}

static void check_text(struct sbx_str text)
{
    if (text.ptr == NULL) return;
    must(text.ptr[text.len] == '\0' && strlen(text.ptr) == text.len);
    must(sbx_utf8_valid(text.ptr, text.len, NULL));
}

static void check_texts(struct sbx_wire_texts texts)
{
    const char *end = texts.first == NULL ? NULL : texts.first + texts.len;
    struct sbx_str text;
    while (sbx_wire_next_text(&texts, &text)) check_text(text);
    must(texts.first == end && texts.len == 0);
}

static void check_body(const struct sbx_wire_members *members, const void *body)
{
    for (const struct sbx_wire_member *row = members->rows; row->name != NULL; row++) {
        const void *field = (const char *)body + row->at;
        if (row->kind == SBX_WIRE_TEXT) check_text(*(const struct sbx_str *)field);
        if (row->kind == SBX_WIRE_TEXTS || row->kind == SBX_WIRE_PAIRS)
            check_texts(*(const struct sbx_wire_texts *)field);
        if (row->kind == SBX_WIRE_OBJECT) check_body(row->members, field);
    }
}

/* What a message says, as the line that says it; false when it says nothing that can be written. */
static bool rewrite(struct sbx_wire_message *message, struct sbx_buf *out)
{
    union sbx_wire_body body;
    struct sbx_wire_error error;
    struct sbx_err err = {0};
    enum sbx_wire_code code;
    if (message->sort == SBX_WIRE_ERROR) {
        code = sbx_wire_take_error(message, &error, &err);
        if (code == SBX_WIRE_OK) sbx_wire_add_error(out, &message->id, &error);
    } else if (message->sort == SBX_WIRE_RESULT) {
        /* Which request it answers is not in the line: the number says it here. */
        enum sbx_wire_method method =
            (enum sbx_wire_method)((uint64_t)message->id.number % SBX_WIRE_RUN_CREDIT);
        code = sbx_wire_take_result(message, method, &body, &err);
        if (code == SBX_WIRE_OK) check_body(sbx_wire_rows[method].result, &body);
        if (code == SBX_WIRE_OK) sbx_wire_add_result(out, &message->id, method, &body);
    } else {
        if (message->method == SBX_WIRE_METHOD_COUNT) return false;
        code = sbx_wire_take_params(message, &body, &err);
        if (code == SBX_WIRE_OK) check_body(sbx_wire_rows[message->method].params, &body);
        if (code == SBX_WIRE_OK && message->sort == SBX_WIRE_NOTICE)
            sbx_wire_add_notice(out, message->method, &body);
        if (code == SBX_WIRE_OK && message->sort == SBX_WIRE_REQUEST)
            sbx_wire_add_request(out, &message->id, message->method, &body);
    }
    must(code == SBX_WIRE_OK || (code == SBX_WIRE_INVALID_PARAMS && err.text[0] != '\0'));
    must(sbx_utf8_valid(err.text, strlen(err.text), NULL));
    return code == SBX_WIRE_OK;
}

static void check_line(struct sbx_str line)
{
    struct sbx_wire_message message;
    struct sbx_err err = {0};
    enum sbx_wire_code code = sbx_wire_read(&reader, line, &message, &err);
    if (code != SBX_WIRE_OK) {
        must(err.text[0] != '\0' && sbx_utf8_valid(err.text, strlen(err.text), NULL));
        return;
    }
    AUTO_BUF first;
    AUTO_BUF second;
    sbx_buf_init(&first, WRITTEN_MAX);
    sbx_buf_init(&second, WRITTEN_MAX);
    if (!rewrite(&message, &first)) return;
    must(!first.failed && first.data[first.len - 1] == '\n');

    AUTO_BUF copy;
    sbx_buf_init(&copy, WRITTEN_MAX);
    sbx_buf_add(&copy, first.data, first.len - 1);
    must(sbx_wire_read(&reader, sbx_buf_str(&copy), &message, &err) == SBX_WIRE_OK);
    must(rewrite(&message, &second));
    must(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FRAME frame;
    sbx_frame_init(&frame, LINE_MAX);
    enum sbx_frame_found found = SBX_FRAME_NONE;
    while (size > 0 && found != SBX_FRAME_TOO_LONG) {
        size_t room = 0;
        char *at = sbx_frame_room(&frame, &room);
        must(at != NULL && room > 0 && room <= SBX_FRAME_PIECE);
        size_t part = size < room ? size : room;
        memcpy(at, data, part);
        sbx_frame_received(&frame, part);
        data += part;
        size -= part;
        struct sbx_str line;
        while ((found = sbx_frame_next(&frame, &line)) == SBX_FRAME_LINE) {
            must(line.len <= LINE_MAX);
            check_line(line);
        }
    }
    return 0;
}
