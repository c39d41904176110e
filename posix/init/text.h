/* The few text functions that sbx-init needs, without a C library. */
#ifndef SBX_INIT_TEXT_H
#define SBX_INIT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

size_t text_length(const char *text);

/* Appends to a buffer of `size` bytes; false when it does not fit (the buffer is then unchanged). */
bool text_add(char *buffer, size_t size, const char *text);
bool text_add_number(char *buffer, size_t size, unsigned long number);

bool text_starts(const char *text, const char *prefix);
bool text_is(const char *a, const char *b);

#endif
