/* How SIDs, lists and descriptors lie in memory: shared by the files of the model only. */
#ifndef SBX_TESTS_NTMODEL_NT_LAYOUT_H
#define SBX_TESTS_NTMODEL_NT_LAYOUT_H

#include "tests/ntmodel/nt_security.h"

enum {
    NT_ACL_MAX = 8192,
    NT_ACL_HEADER = 8,
    NT_ACE_HEADER = 4,
    NT_ACE_SID = 8, /* where the SID of an entry begins, but for object entries */
    NT_DESCRIPTOR_HEADER = 20,
    NT_LABEL_ACE = 0x11, /* SYSTEM_MANDATORY_LABEL_ACE_TYPE */
    NT_INTEGRITY_LOW = 0x1000,
    NT_INTEGRITY_MEDIUM = 0x2000,
};

/* Entries of a list pass their heirs by these. */
#define NT_ACE_HEIRS (OBJECT_INHERIT_ACE | CONTAINER_INHERIT_ACE)

struct nt_ace {
    unsigned type;
    unsigned flags;
    DWORD mask;
    const unsigned char *bytes;
    size_t size;
    const unsigned char *sid; /* NULL when the entry's kind has none where the model looks */
};

struct nt_acl {
    const unsigned char *bytes; /* NULL for a NULL list */
    size_t size;
    size_t end; /* of the last entry: a list may have room to spare */
};

struct nt_view {
    unsigned control; /* SE_* */
    const unsigned char *owner;
    const unsigned char *group;
    struct nt_acl
        dacl; /* bytes NULL: absent or a NULL list, which is the same to an access check */
    struct nt_acl sacl;
};

/* A list being written. `failed` once something did not fit. */
struct nt_acl_writer {
    _Alignas(4) unsigned char bytes[NT_ACL_MAX];
    size_t size;
    size_t count;
    bool failed;
};

unsigned nt_read16(const unsigned char *at);
DWORD nt_read32(const unsigned char *at);
void nt_write16(unsigned char *at, unsigned value);
void nt_write32(unsigned char *at, DWORD value);

/* Both check what they read: every entry lies inside its list, every SID inside its entry. */
bool nt_view_acl(const unsigned char *bytes, struct nt_acl *out);
bool nt_view_descriptor(const void *descriptor, struct nt_view *out);

/* The next entry; `offset` starts at 0 and is moved. False after the last. */
bool nt_acl_next(const struct nt_acl *acl, size_t *offset, struct nt_ace *out);
/* The entry that carries the label; an entry only for heirs is none. False without. */
bool nt_acl_label(const struct nt_acl *sacl, struct nt_ace *out);
DWORD nt_sid_last(const void *sid);

void nt_acl_begin(struct nt_acl_writer *writer);
void nt_acl_put(struct nt_acl_writer *writer, unsigned type, unsigned flags, DWORD mask,
                const void *sid);
/* The entry as it is, with other flags and another mask. */
void nt_acl_put_like(struct nt_acl_writer *writer, const struct nt_ace *ace, unsigned flags,
                     DWORD mask);

/* Puts the parts together; NULL for the parts that are not there. Returns the size, or 0. */
size_t nt_descriptor_pack(unsigned control, const void *owner, const void *group,
                          const struct nt_acl_writer *dacl, const struct nt_acl_writer *sacl,
                          void *out, size_t max);

#endif
