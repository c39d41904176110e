/* Security identifiers: the well-known ones that decide something here, and their text. */
#include "win/sid.h"

#include <string.h>

#include "common/base/buf.h"

#include "common/base/banned.h"

/* As the system lays a SID out: revision, count, six bytes of authority, sub-authorities. */
struct plain {
    BYTE revision;
    BYTE count;
    BYTE authority[6];
    DWORD part[6];
};
_Static_assert(sizeof(struct plain) == 8 + 6 * sizeof(DWORD), "no padding");

#define SID_OF(authority, count, ...)                                                              \
    {                                                                                              \
        1, count, {0, 0, 0, 0, 0, authority},                                                      \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static const struct plain known[SBX_SID_KNOWN_COUNT] = {
    [SBX_SID_EVERYONE] = SID_OF(1, 1, 0),
    [SBX_SID_SYSTEM] = SID_OF(5, 1, 18),
    [SBX_SID_ADMINISTRATORS] = SID_OF(5, 2, 32, 544),
    [SBX_SID_TRUSTED_INSTALLER] =
        SID_OF(5, 6, 80, 956008885, 3418522649, 1831038044, 1853292631, 2271478464),
    [SBX_SID_NETWORK] = SID_OF(5, 1, 2),
    [SBX_SID_INTERACTIVE] = SID_OF(5, 1, 4),
    [SBX_SID_ANONYMOUS] = SID_OF(5, 1, 7),
    [SBX_SID_LOCAL_SERVICE] = SID_OF(5, 1, 19),
    [SBX_SID_NETWORK_SERVICE] = SID_OF(5, 1, 20),
    [SBX_SID_GUESTS] = SID_OF(5, 2, 32, 546),
    [SBX_SID_USERS] = SID_OF(5, 2, 32, 545),
    [SBX_SID_AUTHENTICATED_USERS] = SID_OF(5, 1, 11),
    [SBX_SID_OWNER_RIGHTS] = SID_OF(3, 1, 4),
    [SBX_SID_ALL_PACKAGES] = SID_OF(15, 2, 2, 1),
    [SBX_SID_ALL_RESTRICTED_PACKAGES] = SID_OF(15, 2, 2, 2),
    [SBX_SID_INTERNET_CLIENT] = SID_OF(15, 2, 3, 1),
    [SBX_SID_PRIVATE_NETWORK] = SID_OF(15, 2, 3, 3),
    [SBX_SID_LOW_INTEGRITY] = SID_OF(16, 1, 0x1000),
};

PSID sbx_sid_known(enum sbx_known_sid which)
{
    return (PSID)(ULONG_PTR)&known[which];
}

static size_t size_of(const struct plain *sid)
{
    return offsetof(struct plain, part) + sid->count * sizeof(DWORD);
}

static bool is_valid(const struct plain *sid)
{
    return sid != NULL && sid->revision == SID_REVISION && sid->count <= SID_MAX_SUB_AUTHORITIES;
}

bool sbx_sid_eq(PSID a, PSID b)
{
    const struct plain *left = (const struct plain *)a;
    const struct plain *right = (const struct plain *)b;
    return is_valid(left) && is_valid(right) && left->count == right->count &&
           memcmp(left, right, size_of(left)) == 0;
}

bool sbx_sid_is(PSID sid, enum sbx_known_sid which)
{
    return sbx_sid_eq(sid, sbx_sid_known(which));
}

/* S-1-5-32-N. */
static const DWORD admin_aliases[] = {
    544, /* Administrators */
    547, /* Power Users */
    548, /* Account Operators */
    549, /* Server Operators */
    550, /* Print Operators */
    551, /* Backup Operators */
    552, /* Replicators */
    556, /* Network Configuration Operators */
    569, /* Cryptographic Operators */
    578, /* Hyper-V Administrators */
    580, /* Remote Management Users */
};

/* S-1-5-21-X-Y-Z-N. */
static const DWORD admin_groups[] = {
    512, /* Domain Admins */
    516, /* Domain Controllers */
    517, /* Cert Publishers */
    518, /* Schema Admins */
    519, /* Enterprise Admins */
    520, /* Group Policy Creator Owners */
    526, /* Key Admins */
    527, /* Enterprise Key Admins */
};

static bool is_one_of(DWORD value, const DWORD *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == value) {
            return true;
        }
    }
    return false;
}

bool sbx_sid_is_admin_group(PSID any)
{
    static const BYTE nt[6] = {0, 0, 0, 0, 0, 5};
    const struct plain *sid = (const struct plain *)any;
    if (!is_valid(sid) || memcmp(sid->authority, nt, sizeof nt) != 0) {
        return false;
    }
    if (sid->count == 1) {
        return sid->part[0] == 114; /* local account and member of Administrators group */
    }
    if (sid->count == 2 && sid->part[0] == 32) {
        return is_one_of(sid->part[1], admin_aliases, SBX_COUNT(admin_aliases));
    }
    return sid->count == 5 && sid->part[0] == 21 &&
           is_one_of(sid->part[4], admin_groups, SBX_COUNT(admin_groups));
}

/* The sub-authorities are as many as `count` says, which the array's bound does not. */
static DWORD part_of(const struct plain *sid, size_t index)
{
    DWORD part;
    memcpy(&part, (const BYTE *)sid + offsetof(struct plain, part) + index * sizeof part,
           sizeof part);
    return part;
}

DWORD sbx_sid_last(PSID any)
{
    const struct plain *sid = (const struct plain *)any;
    return is_valid(sid) && sid->count > 0 ? part_of(sid, sid->count - 1u) : 0;
}

PSID sbx_sid_copy(struct sbx_arena *arena, PSID any)
{
    const struct plain *sid = (const struct plain *)any;
    void *copy = is_valid(sid) ? sbx_arena_alloc(arena, 1, size_of(sid)) : NULL;
    if (copy != NULL) {
        memcpy(copy, sid, size_of(sid));
    }
    return copy;
}

const char *sbx_sid_text(struct sbx_arena *arena, PSID any)
{
    const struct plain *sid = (const struct plain *)any;
    if (!is_valid(sid)) {
        return "?";
    }
    AUTO_BUF text;
    sbx_buf_init(&text, 256);
    uint64_t authority = 0;
    for (size_t i = 0; i < sizeof sid->authority; i++) {
        authority = authority << 8 | sid->authority[i];
    }
    sbx_buf_printf(&text, "S-1-%llu", (unsigned long long)authority);
    for (size_t i = 0; i < sid->count; i++) {
        sbx_buf_printf(&text, "-%lu", part_of(sid, i));
    }
    const char *copy = sbx_arena_copy(arena, sbx_buf_text(&text), text.len);
    return copy == NULL ? "?" : copy;
}

/* One decimal number without a sign or a leading zero. */
static bool number(struct sbx_str text, uint64_t max, uint64_t *out)
{
    bool is_plain = text.len == 1 || (text.len > 1 && text.ptr[0] != '0');
    return is_plain && sbx_str_to_u64(text, out) && *out <= max;
}

bool sbx_sid_parse(const char *text, struct sbx_sid *out)
{
    static const char head[] = "S-1-";
    struct sbx_sid sid = {.bytes = {SID_REVISION}};
    size_t count = 0;
    uint64_t value;
    struct sbx_str rest = sbx_str(text);
    struct sbx_str item;
    if (rest.len < sizeof head || memcmp(text, head, sizeof head - 1) != 0) {
        return false;
    }
    rest.ptr += sizeof head - 1;
    rest.len -= sizeof head - 1;
    bool is_more = sbx_str_split(rest, '-', &item, &rest);
    if (!number(item, 0xFFFFFFFFFFFF, &value)) {
        return false;
    }
    for (size_t i = 0; i < 6; i++) {
        sid.bytes[2 + i] = (BYTE)(value >> (8 * (5 - i)));
    }
    while (is_more) {
        is_more = sbx_str_split(rest, '-', &item, &rest);
        if (count == SID_MAX_SUB_AUTHORITIES || !number(item, 0xFFFFFFFF, &value)) {
            return false;
        }
        DWORD part = (DWORD)value;
        memcpy(&sid.bytes[8 + 4 * count++], &part, sizeof part);
    }
    sid.bytes[1] = (BYTE)count;
    if (count > 0) {
        *out = sid;
    }
    return count > 0;
}
