/* Cuts what is received into lines. Bounded: it never holds more than one line of the greatest length and what was received
 * behind it in one piece.
 *
 *     char *room = sbx_frame_room(&frame, &size);     NULL: no memory
 *     n = read(fd, room, size);
 *     sbx_frame_received(&frame, n);
 *     while ((found = sbx_frame_next(&frame, &line)) == SBX_FRAME_LINE) …
 *     if (found == SBX_FRAME_TOO_LONG) …              answer, and close: nothing more is found */
#ifndef SBX_WIRE_FRAME_H
#define SBX_WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/attr.h"
#include "common/base/str.h"

enum {
    SBX_FRAME_LINE_MAX = 1 << 20, /* bytes of a line without its newline */
    SBX_FRAME_LINE_MIN = 4096,    /* the least that a client may ask for */
    SBX_FRAME_PIECE = 64 * 1024,  /* received at once, at most */
};

enum sbx_frame_found { SBX_FRAME_NONE, SBX_FRAME_LINE, SBX_FRAME_TOO_LONG };

struct sbx_frame {
    char *data;
    size_t begin, end, size; /* data[begin, end) is received and not handed out */
    size_t searched;         /* up to here there is no newline */
    size_t line_max;
    uint64_t lines, bytes; /* handed out; received */
    /* As realloc, 0 bytes free; NULL: the C library's. To be set after sbx_frame_init. */
    void *(*resize)(void *state, void *old, size_t bytes);
    void *resize_state;
};

/* Allocates nothing yet. */
void sbx_frame_init(struct sbx_frame *frame, size_t line_max);
void sbx_frame_release(struct sbx_frame *frame); /* NULL is allowed */
#define AUTO_FRAME SBX_CLEANUP(sbx_frame_release) struct sbx_frame

/* Where to receive, and how much (at least 1, at most SBX_FRAME_PIECE). NULL when there is no memory, or when the caller left a
 * line that is too long. What sbx_frame_next gave before is no longer valid. */
char *sbx_frame_room(struct sbx_frame *frame, size_t *size) SBX_MUST_USE;
void sbx_frame_received(struct sbx_frame *frame, size_t size);

/* The next line, without its newline, in memory that may be written until sbx_frame_room is called. */
enum sbx_frame_found sbx_frame_next(struct sbx_frame *frame, struct sbx_str *line) SBX_MUST_USE;

/* Is part of a line held? At the end of a connection that is a line that was cut off. */
size_t sbx_frame_pending(const struct sbx_frame *frame);

#endif
