/* Reading and writing lists and self-relative descriptors: MS-DTYP 2.4.4 to 2.4.6. */
#include <string.h>

#include "tests/ntmodel/nt_layout.h"

#include "common/base/banned.h"

enum { PART_MAX = 0x20000 };

unsigned nt_read16(const unsigned char *at)
{
    return (unsigned)at[0] | (unsigned)at[1] << 8;
}

DWORD nt_read32(const unsigned char *at)
{
    return (DWORD)nt_read16(at) | (DWORD)nt_read16(at + 2) << 16;
}

void nt_write16(unsigned char *at, unsigned value)
{
    at[0] = (unsigned char)value;
    at[1] = (unsigned char)(value >> 8);
}

void nt_write32(unsigned char *at, DWORD value)
{
    nt_write16(at, (unsigned)(value & 0xffff));
    nt_write16(at + 2, (unsigned)(value >> 16));
}

static bool is_object_type(unsigned type)
{
    return type == ACCESS_ALLOWED_OBJECT_ACE_TYPE || type == ACCESS_DENIED_OBJECT_ACE_TYPE;
}

/* Object entries (MS-DTYP 2.4.4.3) have flags and up to two GUIDs before the SID. */
static size_t sid_offset(const unsigned char *bytes, size_t size)
{
    if (!is_object_type(bytes[0])) return NT_ACE_SID;
    if (size < NT_ACE_SID + 4) return size;
    DWORD flags = nt_read32(bytes + NT_ACE_SID);
    return NT_ACE_SID + 4 + ((flags & ACE_OBJECT_TYPE_PRESENT) != 0 ? 16U : 0U) +
           ((flags & ACE_INHERITED_OBJECT_TYPE_PRESENT) != 0 ? 16U : 0U);
}

static bool read_ace(const unsigned char *bytes, size_t room, struct nt_ace *out)
{
    if (room < NT_ACE_HEADER) return false;
    size_t size = nt_read16(bytes + 2);
    if (size < NT_ACE_SID || size > room || size % 4 != 0) return false;
    size_t at = sid_offset(bytes, size);
    bool has_room = at + 8 <= size && at + nt_sid_size(bytes + at) <= size;
    if (!has_room || nt_sid_size(bytes + at) == 0) return false;
    *out = (struct nt_ace){.type = bytes[0],
                           .flags = bytes[1],
                           .mask = nt_read32(bytes + NT_ACE_HEADER),
                           .bytes = bytes,
                           .size = size,
                           .sid = bytes + at};
    return true;
}

bool nt_view_acl(const unsigned char *bytes, struct nt_acl *out)
{
    if (bytes[0] < ACL_REVISION || bytes[0] > ACL_REVISION_DS) return false;
    struct nt_acl acl = {bytes, nt_read16(bytes + 2), NT_ACL_HEADER};
    if (acl.size < NT_ACL_HEADER) return false;
    for (unsigned left = nt_read16(bytes + 4); left > 0; left--) {
        struct nt_ace ace;
        if (!read_ace(bytes + acl.end, acl.size - acl.end, &ace)) return false;
        acl.end += ace.size;
    }
    *out = acl;
    return true;
}

bool nt_acl_next(const struct nt_acl *acl, size_t *offset, struct nt_ace *out)
{
    size_t at = *offset == 0 ? NT_ACL_HEADER : *offset;
    if (acl->bytes == NULL || at >= acl->end) return false;
    if (!read_ace(acl->bytes + at, acl->end - at, out)) return false;
    *offset = at + out->size;
    return true;
}

bool nt_acl_label(const struct nt_acl *sacl, struct nt_ace *out)
{
    struct nt_ace ace;
    for (size_t at = 0; nt_acl_next(sacl, &at, &ace);) {
        if (ace.type == NT_LABEL_ACE && (ace.flags & INHERIT_ONLY_ACE) == 0) {
            *out = ace;
            return true;
        }
    }
    return false;
}

/* The part at an offset of the header; NULL for none. */
static bool part(const unsigned char *descriptor, size_t field, const unsigned char **out)
{
    DWORD offset = nt_read32(descriptor + field);
    if (offset != 0 && (offset < NT_DESCRIPTOR_HEADER || offset > PART_MAX)) return false;
    *out = offset == 0 ? NULL : descriptor + offset;
    return true;
}

static bool view_list(const unsigned char *bytes, bool is_present, struct nt_acl *out)
{
    return bytes == NULL || !is_present || nt_view_acl(bytes, out);
}

bool nt_view_descriptor(const void *descriptor, struct nt_view *out)
{
    const unsigned char *bytes = descriptor;
    const unsigned char *sacl;
    const unsigned char *dacl;
    if (bytes == NULL || bytes[0] != SECURITY_DESCRIPTOR_REVISION) return false;
    struct nt_view view = {.control = nt_read16(bytes + 2)};
    if ((view.control & SE_SELF_RELATIVE) == 0) return false;
    bool are_parts = part(bytes, 4, &view.owner) && part(bytes, 8, &view.group) &&
                     part(bytes, 12, &sacl) && part(bytes, 16, &dacl);
    if (!are_parts) return false;
    if (view.owner != NULL && nt_sid_size(view.owner) == 0) return false;
    if (view.group != NULL && nt_sid_size(view.group) == 0) return false;
    if (!view_list(dacl, (view.control & SE_DACL_PRESENT) != 0, &view.dacl)) return false;
    if (!view_list(sacl, (view.control & SE_SACL_PRESENT) != 0, &view.sacl)) return false;
    *out = view;
    return true;
}

static size_t end_of(const unsigned char *start, const unsigned char *part_bytes, size_t size)
{
    return part_bytes == NULL ? 0 : (size_t)(part_bytes - start) + size;
}

size_t nt_descriptor_size(const void *descriptor)
{
    struct nt_view view;
    if (!nt_view_descriptor(descriptor, &view)) return 0;
    const size_t ends[] = {
        NT_DESCRIPTOR_HEADER,
        end_of(descriptor, view.owner, nt_sid_size(view.owner)),
        end_of(descriptor, view.group, nt_sid_size(view.group)),
        end_of(descriptor, view.dacl.bytes, view.dacl.size),
        end_of(descriptor, view.sacl.bytes, view.sacl.size),
    };
    size_t size = 0;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        size = ends[i] > size ? ends[i] : size;
    return size;
}

void nt_acl_begin(struct nt_acl_writer *writer)
{
    *writer = (struct nt_acl_writer){.size = NT_ACL_HEADER};
    writer->bytes[0] = ACL_REVISION;
    nt_write16(writer->bytes + 2, NT_ACL_HEADER);
}

static unsigned char *next_ace(struct nt_acl_writer *writer, unsigned type, size_t size)
{
    if (writer->failed || size > sizeof writer->bytes - writer->size) {
        writer->failed = true;
        return NULL;
    }
    unsigned char *at = writer->bytes + writer->size;
    writer->size += size;
    writer->count++;
    /* MS-DTYP 2.4.5: object entries need the revision of directory services. */
    if (is_object_type(type)) writer->bytes[0] = ACL_REVISION_DS;
    nt_write16(writer->bytes + 2, (unsigned)writer->size);
    nt_write16(writer->bytes + 4, (unsigned)writer->count);
    return at;
}

void nt_acl_put(struct nt_acl_writer *writer, unsigned type, unsigned flags, DWORD mask,
                const void *sid)
{
    size_t sid_size = nt_sid_size(sid);
    size_t before = NT_ACE_SID + (is_object_type(type) ? 4U : 0U);
    unsigned char *at = sid_size == 0 ? NULL : next_ace(writer, type, before + sid_size);
    if (at == NULL) {
        writer->failed = true;
        return;
    }
    memset(at, 0, before);
    at[0] = (unsigned char)type;
    at[1] = (unsigned char)flags;
    nt_write16(at + 2, (unsigned)(before + sid_size));
    nt_write32(at + NT_ACE_HEADER, mask);
    memcpy(at + before, sid, sid_size);
}

void nt_acl_put_like(struct nt_acl_writer *writer, const struct nt_ace *ace, unsigned flags,
                     DWORD mask)
{
    unsigned char *at = next_ace(writer, ace->type, ace->size);
    if (at == NULL) return;
    memcpy(at, ace->bytes, ace->size);
    at[1] = (unsigned char)flags;
    nt_write32(at + NT_ACE_HEADER, mask);
}

/* Appends a part and writes its offset into the header; false when it does not fit. */
static bool append(unsigned char *out, size_t max, size_t *size, size_t field, const void *bytes,
                   size_t length)
{
    if (bytes == NULL) return true;
    if (length == 0 || length > max - *size) return false;
    memcpy(out + *size, bytes, length);
    nt_write32(out + field, (DWORD)*size);
    *size += length;
    return true;
}

size_t nt_descriptor_pack(unsigned control, const void *owner, const void *group,
                          const struct nt_acl_writer *dacl, const struct nt_acl_writer *sacl,
                          void *out, size_t max)
{
    unsigned char *bytes = out;
    size_t size = NT_DESCRIPTOR_HEADER;
    bool is_broken = (dacl != NULL && dacl->failed) || (sacl != NULL && sacl->failed);
    if (is_broken || max < size) return 0;
    memset(bytes, 0, size);
    bytes[0] = SECURITY_DESCRIPTOR_REVISION;
    nt_write16(bytes + 2, control | SE_SELF_RELATIVE);
    bool fits = append(bytes, max, &size, 4, owner, nt_sid_size(owner)) &&
                append(bytes, max, &size, 8, group, nt_sid_size(group)) &&
                append(bytes, max, &size, 12, sacl == NULL ? NULL : sacl->bytes,
                       sacl == NULL ? 0 : sacl->size) &&
                append(bytes, max, &size, 16, dacl == NULL ? NULL : dacl->bytes,
                       dacl == NULL ? 0 : dacl->size);
    return fits ? size : 0;
}
