/* Access lists as bytes. */
#include "win/dacl.h"

#include <string.h>

#include "win/sid.h"

#include "common/base/banned.h"

/* ---- reading ------------------------------------------------------------------------------- */

static ACL *head_of(struct sbx_dacl *list)
{
    return (ACL *)(void *)list->bytes;
}

const ACL *sbx_dacl_acl(const struct sbx_dacl *list)
{
    return list->has_list ? (const ACL *)(const void *)list->bytes : NULL;
}

size_t sbx_dacl_size(const struct sbx_dacl *list)
{
    const ACL *acl = sbx_dacl_acl(list);
    return acl == NULL ? 0 : acl->AclSize;
}

size_t sbx_dacl_count(const struct sbx_dacl *list)
{
    const ACL *acl = sbx_dacl_acl(list);
    return acl == NULL ? 0 : acl->AceCount;
}

/* Is there a whole entry at `at`? */
static bool entry_size(const BYTE *bytes, size_t size, size_t at, size_t *out)
{
    ACE_HEADER header;
    if (size - at < sizeof header) {
        return false;
    }
    memcpy(&header, bytes + at, sizeof header);
    *out = header.AceSize;
    return header.AceSize >= sizeof header && header.AceSize <= size - at;
}

static bool is_plain(BYTE type)
{
    return type == ACCESS_ALLOWED_ACE_TYPE || type == ACCESS_DENIED_ACE_TYPE;
}

#define SID_AT offsetof(ACCESS_ALLOWED_ACE, SidStart)

/* The SID of an entry of the two kinds, when it lies within it. */
static bool sid_fits(const BYTE *entry, size_t size)
{
    size_t head = offsetof(SID, SubAuthority);
    return size >= SID_AT + head && entry[SID_AT] == SID_REVISION &&
           entry[SID_AT + 1] <= SID_MAX_SUB_AUTHORITIES &&
           size >= SID_AT + head + entry[SID_AT + 1] * sizeof(DWORD);
}

/* All entries lie within the list, and those of the two kinds hold their SID. */
static bool is_well_formed(const BYTE *bytes, size_t size)
{
    ACL acl;
    if (size < sizeof acl) {
        return false;
    }
    memcpy(&acl, bytes, sizeof acl);
    if (acl.AclSize != size) {
        return false;
    }
    size_t at = sizeof acl;
    for (size_t i = 0; i < acl.AceCount; i++) {
        size_t len;
        if (!entry_size(bytes, size, at, &len) ||
            (is_plain(bytes[at]) && !sid_fits(bytes + at, len))) {
            return false;
        }
        at += len;
    }
    return true;
}

bool sbx_dacl_set(struct sbx_dacl *list, const ACL *acl, size_t size)
{
    if (acl == NULL) {
        list->has_list = false;
        return true;
    }
    if (size < sizeof *acl || acl->AclSize > size || acl->AclSize > SBX_DACL_BYTES_MAX ||
        !is_well_formed((const BYTE *)acl, acl->AclSize)) {
        return false;
    }
    memcpy(list->bytes, acl, acl->AclSize);
    list->has_list = true;
    return true;
}

void sbx_dacl_copy(struct sbx_dacl *to, const struct sbx_dacl *from)
{
    to->has_list = from->has_list;
    to->is_protected = from->is_protected;
    to->auto_inherited = from->auto_inherited;
    memcpy(to->bytes, from->bytes, sbx_dacl_size(from));
}

/* Where the index-th entry starts; for the count itself, where the entries end. */
static size_t offset_of(const struct sbx_dacl *list, size_t index)
{
    size_t at = sizeof(ACL);
    size_t size = sbx_dacl_size(list);
    for (size_t i = 0; i < index; i++) {
        size_t len;
        if (!entry_size(list->bytes, size, at, &len)) {
            break; /* not after sbx_dacl_set */
        }
        at += len;
    }
    return at;
}

static struct sbx_ace ace_at(const struct sbx_dacl *list, size_t at)
{
    const BYTE *entry = list->bytes + at;
    struct sbx_ace ace = {.type = entry[0], .flags = entry[1]};
    memcpy(&ace.mask, entry + offsetof(ACCESS_ALLOWED_ACE, Mask), sizeof ace.mask);
    ace.sid = (PSID)(ULONG_PTR)(entry + SID_AT);
    return ace;
}

bool sbx_dacl_at(const struct sbx_dacl *list, size_t index, struct sbx_ace *out)
{
    if (index >= sbx_dacl_count(list)) {
        return false;
    }
    size_t at = offset_of(list, index);
    if (!is_plain(list->bytes[at])) {
        return false;
    }
    *out = ace_at(list, at);
    return true;
}

static bool same(const struct sbx_ace *a, const struct sbx_ace *b)
{
    return a->type == b->type && a->flags == b->flags && a->mask == b->mask &&
           sbx_sid_eq(a->sid, b->sid);
}

/* The entry of exactly this content: its index, or the count. */
static size_t index_of(const struct sbx_dacl *list, const struct sbx_ace *ace)
{
    size_t count = sbx_dacl_count(list);
    size_t index = 0;
    struct sbx_ace here;
    while (index < count && !(sbx_dacl_at(list, index, &here) && same(&here, ace))) {
        index++;
    }
    return index;
}

bool sbx_dacl_has(const struct sbx_dacl *list, const struct sbx_ace *ace)
{
    return index_of(list, ace) < sbx_dacl_count(list);
}

size_t sbx_dacl_count_of(const struct sbx_dacl *list, PSID sid)
{
    size_t found = 0;
    struct sbx_ace here;
    for (size_t i = 0; i < sbx_dacl_count(list); i++) {
        found += sbx_dacl_at(list, i, &here) && sbx_sid_eq(here.sid, sid) ? 1 : 0;
    }
    return found;
}

bool sbx_dacl_eq(const struct sbx_dacl *a, const struct sbx_dacl *b)
{
    size_t size = sbx_dacl_size(a);
    return a->has_list == b->has_list && a->is_protected == b->is_protected &&
           size == sbx_dacl_size(b) && memcmp(a->bytes, b->bytes, size) == 0;
}

/* ---- changing ------------------------------------------------------------------------------ */

static BYTE flags_at(const struct sbx_dacl *list, size_t at)
{
    return list->bytes[at + offsetof(ACE_HEADER, AceFlags)];
}

/* Where a new entry goes. A list that is not in canonical order stays so. */
static size_t place_for(const struct sbx_dacl *list, const struct sbx_ace *ace)
{
    bool is_own = (ace->flags & INHERITED_ACE) == 0;
    bool is_refusal = ace->type == ACCESS_DENIED_ACE_TYPE;
    size_t count = sbx_dacl_count(list);
    size_t at = sizeof(ACL);
    for (size_t i = 0; i < count; i++) {
        size_t len;
        bool here_is_own = (flags_at(list, at) & INHERITED_ACE) == 0;
        if (is_own && is_refusal && !(here_is_own && list->bytes[at] == ACCESS_DENIED_ACE_TYPE)) {
            return at;
        }
        if (!here_is_own || !entry_size(list->bytes, sbx_dacl_size(list), at, &len)) {
            return at;
        }
        at += len;
    }
    return at;
}

bool sbx_dacl_add(struct sbx_dacl *list, const struct sbx_ace *ace)
{
    const BYTE *sid = (const BYTE *)ace->sid;
    size_t sid_size = offsetof(SID, SubAuthority) + sid[1] * sizeof(DWORD);
    size_t len = SID_AT + sid_size;
    size_t size = sbx_dacl_size(list);
    if (!list->has_list || !is_plain(ace->type) || len > SBX_DACL_BYTES_MAX - size ||
        head_of(list)->AceCount == 0xFFFF) {
        return false;
    }
    size_t at = place_for(list, ace);
    ACE_HEADER header = {ace->type, ace->flags, (WORD)len};
    memmove(list->bytes + at + len, list->bytes + at, size - at);
    memcpy(list->bytes + at, &header, sizeof header);
    memcpy(list->bytes + at + offsetof(ACCESS_ALLOWED_ACE, Mask), &ace->mask, sizeof ace->mask);
    memcpy(list->bytes + at + SID_AT, sid, sid_size);
    head_of(list)->AclSize = (WORD)(size + len);
    head_of(list)->AceCount++;
    return true;
}

static void take_out(struct sbx_dacl *list, size_t index)
{
    size_t at = offset_of(list, index);
    size_t next = offset_of(list, index + 1);
    size_t size = sbx_dacl_size(list);
    memmove(list->bytes + at, list->bytes + next, size - next);
    head_of(list)->AclSize = (WORD)(size - (next - at));
    head_of(list)->AceCount--;
}

bool sbx_dacl_remove(struct sbx_dacl *list, const struct sbx_ace *ace)
{
    size_t index = index_of(list, ace);
    if (index == sbx_dacl_count(list)) {
        return false;
    }
    take_out(list, index);
    return true;
}

/* More bytes than the missing entries need: their number and size have bounds far below. */
static size_t missing_bytes(const struct sbx_dacl *list, const struct sbx_ace *wanted, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const BYTE *sid = (const BYTE *)wanted[i].sid;
        bytes += sbx_dacl_has(list, &wanted[i])
                     ? 0
                     : SID_AT + offsetof(SID, SubAuthority) + sid[1] * sizeof(DWORD);
    }
    return bytes;
}

bool sbx_dacl_conform(struct sbx_dacl *list, PSID sid, const struct sbx_ace *wanted, size_t count)
{
    if (!list->has_list ||
        missing_bytes(list, wanted, count) > SBX_DACL_BYTES_MAX - sbx_dacl_size(list)) {
        return false;
    }
    for (size_t i = sbx_dacl_count(list); i-- > 0;) {
        struct sbx_ace here;
        bool is_kept = false;
        if (!sbx_dacl_at(list, i, &here) || !sbx_sid_eq(here.sid, sid)) {
            continue;
        }
        for (size_t k = 0; k < count; k++) {
            is_kept |= same(&here, &wanted[k]) && index_of(list, &here) == i;
        }
        if (!is_kept) {
            take_out(list, i);
        }
    }
    for (size_t k = 0; k < count; k++) {
        if (!sbx_dacl_has(list, &wanted[k]) && !sbx_dacl_add(list, &wanted[k])) {
            return false; /* missing_bytes has seen to that */
        }
    }
    return true;
}

/* ---- what every box has anyway ------------------------------------------------------------- */

static ACCESS_MASK mapped(ACCESS_MASK mask)
{
    GENERIC_MAPPING files = {FILE_GENERIC_READ, FILE_GENERIC_WRITE, FILE_GENERIC_EXECUTE,
                             FILE_ALL_ACCESS};
    MapGenericMask(&mask, &files);
    return mask;
}

static bool is_any_package(PSID sid)
{
    return sbx_sid_is(sid, SBX_SID_ALL_PACKAGES) ||
           sbx_sid_is(sid, SBX_SID_ALL_RESTRICTED_PACKAGES) ||
           sbx_sid_is(sid, SBX_SID_INTERNET_CLIENT) || sbx_sid_is(sid, SBX_SID_PRIVATE_NETWORK);
}

ACCESS_MASK sbx_dacl_packages(const struct sbx_dacl *list, bool below)
{
    ACCESS_MASK itself = 0;
    ACCESS_MASK files = 0;
    ACCESS_MASK directories = 0;
    struct sbx_ace here;
    for (size_t i = 0; i < sbx_dacl_count(list); i++) {
        if (!sbx_dacl_at(list, i, &here) || here.type != ACCESS_ALLOWED_ACE_TYPE ||
            !is_any_package(here.sid)) {
            continue;
        }
        ACCESS_MASK mask = mapped(here.mask);
        itself |= (here.flags & INHERIT_ONLY_ACE) == 0 ? mask : 0;
        files |= (here.flags & OBJECT_INHERIT_ACE) != 0 ? mask : 0;
        bool deep = (here.flags & NO_PROPAGATE_INHERIT_ACE) == 0;
        directories |= (here.flags & CONTAINER_INHERIT_ACE) != 0 && deep ? mask : 0;
    }
    return below ? files & directories : itself;
}
