/* Text, and what compilers call without being asked. */
#include "posix/init/text.h"

#include "common/base/banned.h"

/* The compiler emits calls of these for plain C; their names are given. */
void *memcpy(void *to, const void *from, size_t count);
void *memset(void *at, int byte, size_t count);
int memcmp(const void *a, const void *b, size_t count);

void *memcpy(void *to, const void *from, size_t count)
{
    char *out = (char *)to;
    const char *in = (const char *)from;
    while (count-- > 0) {
        *out++ = *in++;
    }
    return to;
}

void *memset(void *at, int byte, size_t count)
{
    char *out = (char *)at;
    while (count-- > 0) {
        *out++ = (char)byte;
    }
    return at;
}

int memcmp(const void *a, const void *b, size_t count)
{
    const unsigned char *left = (const unsigned char *)a;
    const unsigned char *right = (const unsigned char *)b;
    for (size_t i = 0; i < count; i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}

size_t text_length(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0') {
        length++;
    }
    return length;
}

bool text_add(char *buffer, size_t size, const char *text)
{
    size_t have = text_length(buffer);
    size_t more = text_length(text);
    if (more >= size - have) {
        return false;
    }
    memcpy(buffer + have, text, more + 1);
    return true;
}

bool text_add_number(char *buffer, size_t size, unsigned long number)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return text_add(buffer, size, digits + at);
}

bool text_starts(const char *text, const char *prefix)
{
    size_t i = 0;
    while (prefix[i] != '\0' && text[i] == prefix[i]) {
        i++;
    }
    return prefix[i] == '\0';
}

bool text_is(const char *a, const char *b)
{
    return text_starts(a, b) && text_length(a) == text_length(b);
}
