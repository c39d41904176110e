/* One short text put together piece by piece, where the printf of a small libc would be most of the cost. */
#ifndef SBX_POSIX_LINUX_LINE_H
#define SBX_POSIX_LINUX_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/str.h"

enum { SBX_LINE_BYTES = 400 };

/* Begins with sbx_line_set. What does not fit is left off. */
struct sbx_line {
    size_t len;
    char text[SBX_LINE_BYTES]; /* always with a NUL behind it */
};

void sbx_line_set(struct sbx_line *line, const char *text); /* whatever it was before */
void sbx_line_add(struct sbx_line *line, const char *text);
void sbx_line_add_str(struct sbx_line *line, struct sbx_str text);
void sbx_line_number(struct sbx_line *line, uint64_t number);

/* With zeros in front up to that many digits. */
void sbx_line_octal(struct sbx_line *line, unsigned number, size_t digits);

#endif
