/* Cuts what is received into lines. */
#include "common/wire/frame.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

enum { FIRST_SIZE = 4096 };

void sbx_frame_init(struct sbx_frame *frame, size_t line_max)
{
    *frame = (struct sbx_frame){.line_max = line_max};
}

void sbx_frame_release(struct sbx_frame *frame)
{
    if (frame == NULL) return;
    if (frame->resize == NULL)
        free(frame->data);
    else if (frame->data != NULL)
        (void)frame->resize(frame->resize_state, frame->data, 0);
    *frame = (struct sbx_frame){
        .line_max = frame->line_max, .resize = frame->resize, .resize_state = frame->resize_state};
}

size_t sbx_frame_pending(const struct sbx_frame *frame)
{
    return frame->end - frame->begin;
}

/* A whole line and its newline fit; the piece that brings the newline may bring more. */
static size_t size_max(const struct sbx_frame *frame)
{
    return frame->line_max + 1 + SBX_FRAME_PIECE;
}

static bool grow(struct sbx_frame *frame)
{
    size_t size = frame->size == 0 ? FIRST_SIZE : frame->size * 2;
    if (size > size_max(frame)) size = size_max(frame);
    if (size == frame->size) return false;
    char *data = frame->resize == NULL ? realloc(frame->data, size)
                                       : frame->resize(frame->resize_state, frame->data, size);
    if (data == NULL) return false;
    frame->data = data;
    frame->size = size;
    return true;
}

char *sbx_frame_room(struct sbx_frame *frame, size_t *size)
{
    size_t held = sbx_frame_pending(frame);
    if (frame->begin > 0) {
        memmove(frame->data, frame->data + frame->begin, held);
        frame->searched -= frame->begin;
        frame->begin = 0;
        frame->end = held;
    }
    if (held > frame->line_max) return NULL;
    /* Grows while less than half is free, so that a line that comes in pieces is moved a few times only. */
    if (frame->size - held <= frame->size / 2 && !grow(frame) && frame->size == held) return NULL;
    size_t room = frame->size - held;
    *size = room < SBX_FRAME_PIECE ? room : SBX_FRAME_PIECE;
    return frame->data + held;
}

void sbx_frame_received(struct sbx_frame *frame, size_t size)
{
    frame->end += size;
    frame->bytes += size;
}

enum sbx_frame_found sbx_frame_next(struct sbx_frame *frame, struct sbx_str *line)
{
    if (frame->end == frame->begin) return SBX_FRAME_NONE;
    const char *newline = memchr(frame->data + frame->searched, '\n', frame->end - frame->searched);
    size_t after = newline == NULL ? frame->end : (size_t)(newline - frame->data);
    frame->searched = after;
    if (after - frame->begin > frame->line_max) return SBX_FRAME_TOO_LONG;
    if (newline == NULL) return SBX_FRAME_NONE;
    *line = (struct sbx_str){frame->data + frame->begin, after - frame->begin};
    frame->begin = after + 1;
    frame->searched = frame->begin;
    frame->lines++;
    return SBX_FRAME_LINE;
}
