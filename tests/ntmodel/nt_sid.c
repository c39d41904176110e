/* SIDs as bytes and as text. Layout: MS-DTYP 2.4.2.2; text: MS-DTYP 2.4.2.1. */
#include <stdio.h>
#include <string.h>

#include "tests/ntmodel/nt_layout.h"

#include "common/base/banned.h"

enum { SID_HEADER = 8, SUB_AUTHORITIES_MAX = 15, PACKAGE_AUTHORITY = 15 };

size_t nt_sid_size(const void *sid)
{
    const unsigned char *bytes = sid;
    if (bytes == NULL || bytes[0] != SID_REVISION || bytes[1] > SUB_AUTHORITIES_MAX) return 0;
    return SID_HEADER + (size_t)bytes[1] * 4;
}

bool nt_sid_equal(const void *a, const void *b)
{
    size_t size = nt_sid_size(a);
    return size != 0 && size == nt_sid_size(b) && memcmp(a, b, size) == 0;
}

bool nt_sid_copy(const void *sid, struct nt_sid *out)
{
    size_t size = nt_sid_size(sid);
    if (size == 0) return false;
    struct nt_sid copy = {{0}};
    memcpy(copy.bytes, sid, size);
    *out = copy;
    return true;
}

DWORD nt_sid_last(const void *sid)
{
    const unsigned char *bytes = sid;
    size_t size = nt_sid_size(sid);
    return size <= SID_HEADER ? 0 : nt_read32(bytes + size - 4);
}

/* A decimal number of at most `bits` bits. */
static bool read_number(const char **at, unsigned bits, unsigned long long *out)
{
    const char *digit = *at;
    unsigned long long value = 0;
    if (*digit < '0' || *digit > '9') return false;
    while (*digit >= '0' && *digit <= '9') {
        value = value * 10 + (unsigned long long)(*digit - '0');
        if (value >> bits != 0) return false;
        digit++;
    }
    *at = digit;
    *out = value;
    return true;
}

bool nt_sid_parse(const char *text, struct nt_sid *out)
{
    struct nt_sid sid = {{SID_REVISION}};
    unsigned long long value;
    if (strncmp(text, "S-1-", 4) != 0) return false;
    text += 4;
    if (!read_number(&text, 48, &value)) return false;
    for (size_t i = 0; i < 6; i++) sid.bytes[2 + i] = (unsigned char)(value >> (8 * (5 - i)));
    while (*text == '-') {
        text++;
        if (sid.bytes[1] == SUB_AUTHORITIES_MAX || !read_number(&text, 32, &value)) return false;
        nt_write32(sid.bytes + SID_HEADER + (size_t)sid.bytes[1] * 4, (DWORD)value);
        sid.bytes[1]++;
    }
    if (*text != '\0' || sid.bytes[1] == 0) return false;
    *out = sid;
    return true;
}

size_t nt_sid_print(const void *sid, char *out, size_t max)
{
    const unsigned char *bytes = sid;
    if (nt_sid_size(sid) == 0 || max == 0) return 0;
    unsigned long long authority = 0;
    for (size_t i = 0; i < 6; i++) authority = authority << 8 | bytes[2 + i];
    int length = snprintf(out, max, "S-1-%llu", authority);
    for (size_t i = 0; i < bytes[1] && length > 0 && (size_t)length < max; i++) {
        int more = snprintf(out + length, max - (size_t)length, "-%lu",
                            (unsigned long)nt_read32(bytes + SID_HEADER + i * 4));
        length = more < 0 ? more : length + more;
    }
    return length > 0 && (size_t)length < max ? (size_t)length : 0;
}

static bool is_of_kind(const void *sid, DWORD kind)
{
    static const unsigned char authority[6] = {0, 0, 0, 0, 0, PACKAGE_AUTHORITY};
    const unsigned char *bytes = sid;
    return nt_sid_size(sid) > SID_HEADER && memcmp(bytes + 2, authority, 6) == 0 &&
           nt_read32(bytes + SID_HEADER) == kind;
}

bool nt_sid_is_package(const void *sid)
{
    /* winnt.h: SECURITY_APP_PACKAGE_RID_COUNT is 8, SECURITY_CHILD_PACKAGE_RID_COUNT is 12. */
    const unsigned char *bytes = sid;
    return is_of_kind(sid, SECURITY_APP_PACKAGE_BASE_RID) && (bytes[1] == 8 || bytes[1] == 12);
}

bool nt_sid_is_capability(const void *sid)
{
    const unsigned char *bytes = sid;
    return is_of_kind(sid, SECURITY_CAPABILITY_BASE_RID) && bytes[1] >= 2;
}
