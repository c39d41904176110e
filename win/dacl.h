/* Access lists as bytes. Entries are added and removed by their exact content, everything else stays as it is, byte
 * for byte: entries of kinds that we do not know, lists in an order that is not the canonical one, spare bytes at the
 * end. SetEntriesInAcl merges and reorders, and its REVOKE_ACCESS leaves refusals; SetNamedSecurityInfo walks the
 * whole tree below. Neither is used. The functions on bytes call nothing of the system. */
#ifndef SBX_WIN_DACL_H
#define SBX_WIN_DACL_H

#include <stdbool.h>
#include <stddef.h>

#include "win/winapi.h"

/* The size of a list is a 16-bit number, and a multiple of four. */
#define SBX_DACL_BYTES_MAX 65532

/* One entry of the two plain kinds. */
struct sbx_ace {
    BYTE type; /* ACCESS_ALLOWED_ACE_TYPE or ACCESS_DENIED_ACE_TYPE */
    BYTE flags;
    ACCESS_MASK mask;
    PSID sid;
};

/* A list with the two bits of its descriptor that belong to it. Large: keep it on the heap. */
struct sbx_dacl {
    bool has_list;       /* false: there is none, which is not the same as an empty one */
    bool is_protected;   /* SE_DACL_PROTECTED: what is above does not flow into it */
    bool auto_inherited; /* SE_DACL_AUTO_INHERITED */
    _Alignas(8) BYTE bytes[SBX_DACL_BYTES_MAX]; /* an ACL */
};

/* Copies the list; false when it is not well formed. NULL gives one without a list. */
bool sbx_dacl_set(struct sbx_dacl *list, const ACL *acl, size_t size) SBX_MUST_USE;

/* Copies what is used of it. */
void sbx_dacl_copy(struct sbx_dacl *to, const struct sbx_dacl *from);

/* The list itself, NULL when there is none. */
const ACL *sbx_dacl_acl(const struct sbx_dacl *list);
size_t sbx_dacl_size(const struct sbx_dacl *list);
size_t sbx_dacl_count(const struct sbx_dacl *list);

/* The index-th entry; false past the end and for one of another kind than the two. *out points into the list. */
bool sbx_dacl_at(const struct sbx_dacl *list, size_t index, struct sbx_ace *out);

/* Is there an entry of exactly this content? */
bool sbx_dacl_has(const struct sbx_dacl *list, const struct sbx_ace *ace);
/* How many entries of the two kinds are for this SID. */
size_t sbx_dacl_count_of(const struct sbx_dacl *list, PSID sid);

/* Puts an entry in its canonical place: refusals of its own before everything, permissions of its own before what is
 * inherited, inherited ones before the other inherited ones (their origin is the nearest). False, with
 * nothing changed, when the list would grow over its maximum, or when there is none. */
bool sbx_dacl_add(struct sbx_dacl *list, const struct sbx_ace *ace) SBX_MUST_USE;

/* Takes the first entry of exactly this content away; false when there is none. */
bool sbx_dacl_remove(struct sbx_dacl *list, const struct sbx_ace *ace);

/* Makes the entries of `sid` exactly the wanted ones, each once: what is there and wanted stays where it is. Wanted
 * entries are for that SID. False, with nothing changed, as sbx_dacl_add. */
bool sbx_dacl_conform(struct sbx_dacl *list, PSID sid, const struct sbx_ace *wanted,
                      size_t count) SBX_MUST_USE;

bool sbx_dacl_eq(const struct sbx_dacl *a, const struct sbx_dacl *b);

/* What the entries give every box, whichever capability it carries: those for all packages, all restricted
 * packages and the network capabilities. For the object itself, or (below) for what is made in it, the lesser
 * of files and directories. Refusals are not counted: for such SIDs the kernel passes them over. */
ACCESS_MASK sbx_dacl_packages(const struct sbx_dacl *list, bool below);

/* ---- on a handle ---- */

/* The handle needs READ_CONTROL. `name` is for messages. */
enum sbx_code sbx_dacl_read(HANDLE object, const char *name, struct sbx_dacl *out,
                            struct sbx_err *err) SBX_MUST_USE;

/* Writes the list and nothing else (no owner, no label), reads it back and compares. The handle needs READ_CONTROL
 * and WRITE_DAC. SBX_E_VERIFY when the system keeps something else. `again` is room for what is read. */
enum sbx_code sbx_dacl_write(HANDLE object, const char *name, const struct sbx_dacl *list,
                             struct sbx_dacl *again, struct sbx_err *err) SBX_MUST_USE;

#endif
