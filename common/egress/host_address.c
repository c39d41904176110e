/* IPv4 and IPv6 literals: strict reading, one way of writing, and the classes a box cares about. */
#include <stdio.h>
#include <string.h>

#include "common/egress/host_parts.h"

#include "common/base/banned.h"

enum { V6_GROUPS = 8, V4_BYTES = 4 };

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_octet(struct sbx_str text, uint8_t *out)
{
    uint64_t value = 0;
    bool leading_zero = text.len > 1 && text.ptr[0] == '0';
    if (text.len > 3 || leading_zero || !sbx_str_to_u64(text, &value) || value > UINT8_MAX) {
        return false;
    }
    *out = (uint8_t)value;
    return true;
}

static bool read_quad(struct sbx_str text, uint8_t out[V4_BYTES])
{
    for (size_t i = 0; i < V4_BYTES; i++) {
        struct sbx_str octet;
        bool more = sbx_str_split(text, '.', &octet, &text);
        if (more != (i + 1 < V4_BYTES) || !read_octet(octet, &out[i])) {
            return false;
        }
    }
    return true;
}

bool sbx_address_read_v4(struct sbx_str text, struct sbx_address *out)
{
    struct sbx_address address = {.is_v6 = false};
    if (!read_quad(text, address.bytes)) {
        return false;
    }
    *out = address;
    return true;
}

static int hex_value(char c)
{
    char lower = sbx_to_lower(c);
    if (sbx_is_digit(lower)) {
        return lower - '0';
    }
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool read_group(struct sbx_str text, uint8_t out[2])
{
    unsigned value = 0;
    if (text.len == 0 || text.len > 4) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        int digit = hex_value(text.ptr[i]);
        if (digit < 0) {
            return false;
        }
        value = value * 16 + (unsigned)digit;
    }
    out[0] = (uint8_t)(value >> 8);
    out[1] = (uint8_t)(value & 0xff);
    return true;
}

/* Colon-separated groups, the last of which may be a dotted quad. Returns how many bytes they fill,
 * -1 when they are malformed or more than 16 bytes; the empty text fills none. */
static int read_groups(struct sbx_str text, bool may_end_in_quad, uint8_t out[16])
{
    int filled = 0;
    bool more = text.len > 0;
    while (more) {
        struct sbx_str group;
        more = sbx_str_split(text, ':', &group, &text);
        if (!more && may_end_in_quad && filled <= 12 && read_quad(group, out + filled)) {
            return filled + V4_BYTES;
        }
        if (filled >= 16 || !read_group(group, out + filled)) {
            return -1;
        }
        filled += 2;
    }
    return filled;
}

bool sbx_address_read_v6(struct sbx_str text, struct sbx_address *out)
{
    struct sbx_address address = {.is_v6 = true};
    size_t gap = 0;
    while (gap + 1 < text.len && !(text.ptr[gap] == ':' && text.ptr[gap + 1] == ':')) {
        gap++;
    }
    if (gap + 1 >= text.len) {
        if (read_groups(text, true, address.bytes) != 16) {
            return false;
        }
        *out = address;
        return true;
    }
    uint8_t end[16] = {0};
    struct sbx_str before = {text.ptr, gap};
    struct sbx_str after = {text.ptr + gap + 2, text.len - gap - 2};
    int head = read_groups(before, false, address.bytes);
    int tail = read_groups(after, true, end);
    /* "::" stands for at least one group. */
    if (head < 0 || tail < 0 || head + tail > 14) {
        return false;
    }
    memcpy(address.bytes + 16 - tail, end, (size_t)tail);
    *out = address;
    return true;
}

/* A part of a loose IPv4 address: 0x… is hexadecimal, 0… is octal. */
static bool read_loose_part(struct sbx_str text, uint64_t *out)
{
    unsigned base = 10;
    size_t at = 0;
    if (text.len > 1 && text.ptr[0] == '0') {
        bool hex = sbx_to_lower(text.ptr[1]) == 'x';
        base = hex ? 16 : 8;
        at = hex ? 2 : 1;
    }
    uint64_t value = 0;
    if (text.len == 0) {
        return false;
    }
    for (; at < text.len; at++) {
        int digit = hex_value(text.ptr[at]);
        if (digit < 0 || (unsigned)digit >= base) {
            return false;
        }
        value = value * base + (unsigned)digit;
        if (value > UINT32_MAX) {
            return false;
        }
    }
    *out = value;
    return true;
}

bool sbx_address_read_loose_v4(struct sbx_str text, struct sbx_address *out)
{
    uint64_t number = 0;
    bool more = true;
    for (unsigned i = 0; more; i++) {
        struct sbx_str part;
        uint64_t value = 0;
        more = sbx_str_split(text, '.', &part, &text);
        if (i == V4_BYTES || !read_loose_part(part, &value)) {
            return false;
        }
        /* The last part fills every byte that is left. */
        unsigned left_bits = 8 * (V4_BYTES - i);
        if (value >= (more ? 256U : UINT64_C(1) << left_bits)) {
            return false;
        }
        number |= more ? value << (left_bits - 8) : value;
    }
    struct sbx_address address = {.is_v6 = false};
    for (unsigned i = 0; i < V4_BYTES; i++) {
        address.bytes[i] = (uint8_t)((number >> (24 - 8 * i)) & 0xff);
    }
    *out = address;
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

static unsigned group_at(const struct sbx_address *address, size_t index)
{
    return (unsigned)address->bytes[2 * index] << 8 | address->bytes[2 * index + 1];
}

/* The longest run of at least two zero groups, the first of equals (RFC 5952 §4.2). */
static unsigned longest_zero_run(const struct sbx_address *address, unsigned *start)
{
    unsigned best = 1;
    unsigned run = 0;
    *start = V6_GROUPS;
    for (unsigned i = 0; i < V6_GROUPS; i++) {
        run = group_at(address, i) == 0 ? run + 1 : 0;
        if (run > best) {
            best = run;
            *start = i + 1 - run;
        }
    }
    return *start < V6_GROUPS ? best : 0;
}

void sbx_address_write(const struct sbx_address *address, char out[SBX_ADDRESS_TEXT])
{
    if (!address->is_v6) {
        const uint8_t *b = address->bytes;
        (void)snprintf(out, SBX_ADDRESS_TEXT, "%u.%u.%u.%u", (unsigned)b[0], (unsigned)b[1],
                       (unsigned)b[2], (unsigned)b[3]);
        return;
    }
    unsigned start = 0;
    unsigned run = longest_zero_run(address, &start);
    size_t len = 0;
    for (unsigned i = 0; i < V6_GROUPS;) {
        bool gap = run > 0 && i == start;
        bool colon = i > 0 && !(run > 0 && i == start + run);
        int wrote = gap ? snprintf(out + len, SBX_ADDRESS_TEXT - len, "::")
                        : snprintf(out + len, SBX_ADDRESS_TEXT - len, "%s%x", colon ? ":" : "",
                                   group_at(address, i));
        len += (size_t)wrote;
        i += gap ? run : 1;
    }
}

/* ---- classes --------------------------------------------------------------------------------- */

struct range {
    const char *prefix;
    uint8_t bits;
    enum sbx_address_class address_class;
};

/* The first row that holds the address decides, so the metadata services come before the private
 * ranges they lie in. */
static const struct range ranges_v4[] = {
    {"169.254.169.254", 32, SBX_ADDRESS_METADATA}, /* AWS, Azure, Google, Oracle and most others */
    {"169.254.169.253", 32, SBX_ADDRESS_METADATA}, /* AWS resolver */
    {"169.254.170.2", 32, SBX_ADDRESS_METADATA},   /* AWS container credentials */
    {"169.254.170.23", 32, SBX_ADDRESS_METADATA},  /* AWS pod identity */
    {"169.254.42.42", 32, SBX_ADDRESS_METADATA},   /* Scaleway */
    {"100.100.100.200", 32, SBX_ADDRESS_METADATA}, /* Alibaba */
    {"168.63.129.16", 32, SBX_ADDRESS_METADATA},   /* Azure wire server, a public address */
    {"192.0.0.192", 32, SBX_ADDRESS_METADATA},     /* Oracle, legacy */
    {"0.0.0.0", 8, SBX_ADDRESS_UNSPECIFIED},
    {"127.0.0.0", 8, SBX_ADDRESS_LOOPBACK},
    {"10.0.0.0", 8, SBX_ADDRESS_PRIVATE},
    {"172.16.0.0", 12, SBX_ADDRESS_PRIVATE},
    {"192.168.0.0", 16, SBX_ADDRESS_PRIVATE},
    {"100.64.0.0", 10, SBX_ADDRESS_CARRIER},
    {"169.254.0.0", 16, SBX_ADDRESS_LINK_LOCAL},
    {"224.0.0.0", 3, SBX_ADDRESS_RESERVED}, /* multicast, 240/4, broadcast */
    {"0.0.0.0", 0, SBX_ADDRESS_PUBLIC},
};

static const struct range ranges_v6[] = {
    {"fd00:ec2::", 32, SBX_ADDRESS_METADATA},          /* AWS */
    {"fd20:ce::254", 128, SBX_ADDRESS_METADATA},       /* Google */
    {"fd00:c1::a9fe:a9fe", 128, SBX_ADDRESS_METADATA}, /* Oracle */
    {"fd00:42::42", 128, SBX_ADDRESS_METADATA},        /* Scaleway */
    {"::", 128, SBX_ADDRESS_UNSPECIFIED},
    {"::1", 128, SBX_ADDRESS_LOOPBACK},
    {"fc00::", 7, SBX_ADDRESS_PRIVATE},
    {"fe80::", 10, SBX_ADDRESS_LINK_LOCAL},
    {"2001::", 32, SBX_ADDRESS_RESERVED}, /* Teredo hides an IPv4 address, obfuscated */
    {"2000::", 3, SBX_ADDRESS_PUBLIC},
    {"::", 0, SBX_ADDRESS_RESERVED}, /* 64:ff9b:1::/48, site-local, multicast, unassigned */
};

/* Prefixes that carry an IPv4 address, and where. */
static const struct {
    const char *prefix;
    uint8_t bits;
    uint8_t offset;
} carriers[] = {
    {"::ffff:0:0", 96, 12},   /* mapped */
    {"::ffff:0:0:0", 96, 12}, /* translated (RFC 2765) */
    {"::", 96, 12},           /* compatible; not :: and ::1 */
    {"64:ff9b::", 96, 12},    /* NAT64 */
    {"2002::", 16, 2},        /* 6to4 */
};

/* Is the address inside prefix/bits? Both are of one family. */
static bool holds(const char *prefix, unsigned bits, const struct sbx_address *address)
{
    struct sbx_address range;
    struct sbx_str text = sbx_str(prefix);
    if (!(address->is_v6 ? sbx_address_read_v6(text, &range) : sbx_address_read_v4(text, &range))) {
        return false;
    }
    unsigned whole = bits / 8;
    unsigned rest = bits % 8;
    if (memcmp(range.bytes, address->bytes, whole) != 0) {
        return false;
    }
    return rest == 0 || ((range.bytes[whole] ^ address->bytes[whole]) >> (8 - rest)) == 0;
}

bool sbx_address_inner_v4(const struct sbx_address *address, struct sbx_address *out)
{
    static const uint8_t zero[15] = {0};
    bool none_or_one = memcmp(address->bytes, zero, sizeof(zero)) == 0 && address->bytes[15] <= 1;
    if (!address->is_v6 || none_or_one) {
        return false;
    }
    for (size_t i = 0; i < SBX_COUNT(carriers); i++) {
        if (holds(carriers[i].prefix, carriers[i].bits, address)) {
            struct sbx_address inner = {.is_v6 = false};
            memcpy(inner.bytes, address->bytes + carriers[i].offset, V4_BYTES);
            *out = inner;
            return true;
        }
    }
    return false;
}

enum sbx_address_class sbx_address_class(const struct sbx_address *address)
{
    struct sbx_address inner;
    const struct sbx_address *judged = sbx_address_inner_v4(address, &inner) ? &inner : address;
    const struct range *ranges = judged->is_v6 ? ranges_v6 : ranges_v4;
    size_t count = judged->is_v6 ? SBX_COUNT(ranges_v6) : SBX_COUNT(ranges_v4);
    for (size_t i = 0; i < count; i++) {
        if (holds(ranges[i].prefix, ranges[i].bits, judged)) {
            return ranges[i].address_class;
        }
    }
    return SBX_ADDRESS_RESERVED;
}

bool sbx_address_class_is_local(enum sbx_address_class address_class)
{
    return address_class == SBX_ADDRESS_LOOPBACK || address_class == SBX_ADDRESS_PRIVATE ||
           address_class == SBX_ADDRESS_CARRIER || address_class == SBX_ADDRESS_LINK_LOCAL;
}
