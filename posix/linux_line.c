/* One short text put together piece by piece. */
#include "posix/linux_line.h"

#include <string.h>

#include "common/base/banned.h"

void sbx_line_add_str(struct sbx_line *line, struct sbx_str text)
{
    size_t room = sizeof line->text - 1 - line->len;
    size_t len = text.len < room ? text.len : room;
    if (len > 0) {
        memcpy(line->text + line->len, text.ptr, len);
        line->len += len;
    }
    line->text[line->len] = '\0';
}

void sbx_line_add(struct sbx_line *line, const char *text)
{
    sbx_line_add_str(line, sbx_str(text));
}

void sbx_line_set(struct sbx_line *line, const char *text)
{
    line->len = 0;
    sbx_line_add(line, text);
}

static void add_digits(struct sbx_line *line, uint64_t number, unsigned base, size_t least)
{
    char digits[24]; /* 2^64 has 22 in octal */
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % base);
        number /= base;
    } while (at > 0 && (number > 0 || sizeof digits - at < least));
    sbx_line_add_str(line, (struct sbx_str){digits + at, sizeof digits - at});
}

void sbx_line_number(struct sbx_line *line, uint64_t number)
{
    add_digits(line, number, 10, 1);
}

void sbx_line_octal(struct sbx_line *line, unsigned number, size_t digits)
{
    add_digits(line, number, 8, digits);
}
