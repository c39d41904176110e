/* The descriptor of a new object: what its creator asks for, what it inherits, what its token gives.
 * MS-DTYP 2.5.3.4 with both lists inherited automatically, as NTFS does it; Microsoft's "ACE Inheritance
 * Rules" where they differ: MS-DTYP's text passes over parent entries that are only for heirs, but then no
 * directory below C:\Users would have its entry for CREATOR OWNER, which every Windows shows. */
#include <string.h>

#include "tests/ntmodel/nt_layout.h"

#include "common/base/banned.h"

struct heir {
    const struct nt_token *token;
    const GENERIC_MAPPING *mapping;
    struct nt_sid owner;
    struct nt_sid group;
    bool is_container;
};

enum { SE_RESTORE = 18, SE_SECURITY = 8, SE_RELABEL = 32 };

/* Whom CREATOR OWNER and CREATOR GROUP become; others stay. */
static const void *effective_sid(const struct heir *heir, const void *sid)
{
    static const char *const names[] = {"S-1-3-0", "S-1-3-1"};
    const void *const sids[] = {heir->owner.bytes, heir->group.bytes};
    for (size_t i = 0; i < 2; i++) {
        struct nt_sid known;
        if (nt_sid_parse(names[i], &known) && nt_sid_equal(sid, known.bytes)) return sids[i];
    }
    return sid;
}

/* The mask of a label is a policy, not a set of rights. */
static DWORD effective_mask(const struct heir *heir, const struct nt_ace *ace)
{
    return ace->type == NT_LABEL_ACE ? ace->mask : nt_map_generic(ace->mask, heir->mapping);
}

static void put_effective(struct nt_acl_writer *out, const struct heir *heir,
                          const struct nt_ace *ace, unsigned flags)
{
    const void *sid = effective_sid(heir, ace->sid);
    if (sid == ace->sid) {
        nt_acl_put_like(out, ace, flags, effective_mask(heir, ace));
    } else {
        nt_acl_put(out, ace->type, flags, effective_mask(heir, ace), sid);
    }
}

/* "ACE Inheritance Rules": an entry with a generic right or a creator's SID that also goes on to heirs becomes
 * two: one in force here, with both replaced, and one only for heirs, as it was. */
static void put(struct nt_acl_writer *out, const struct heir *heir, const struct nt_ace *ace,
                bool is_effective, unsigned heirs, unsigned flags)
{
    bool changes =
        effective_mask(heir, ace) != ace->mask || effective_sid(heir, ace->sid) != ace->sid;
    if (is_effective && (heirs == 0 || !changes)) {
        put_effective(out, heir, ace, heirs | flags);
        return;
    }
    if (is_effective) put_effective(out, heir, ace, flags);
    if (heirs != 0) nt_acl_put_like(out, ace, heirs | INHERIT_ONLY_ACE | flags, ace->mask);
}

static unsigned audit_flags(const struct nt_ace *ace)
{
    return ace->flags & (SUCCESSFUL_ACCESS_ACE_FLAG | FAILED_ACCESS_ACE_FLAG);
}

/* What the child gets from its parent's list. */
static void put_inherited(struct nt_acl_writer *out, const struct heir *heir,
                          const struct nt_acl *parent)
{
    struct nt_ace ace;
    for (size_t at = 0; nt_acl_next(parent, &at, &ace);) {
        bool goes_on = heir->is_container && (ace.flags & NO_PROPAGATE_INHERIT_ACE) == 0;
        unsigned heirs = goes_on ? ace.flags & NT_ACE_HEIRS : 0;
        unsigned needed = heir->is_container ? CONTAINER_INHERIT_ACE : OBJECT_INHERIT_ACE;
        put(out, heir, &ace, (ace.flags & needed) != 0, heirs, INHERITED_ACE | audit_flags(&ace));
    }
}

/* What the creator asks for; entries inherited elsewhere count only in a protected list (MS-DTYP 2.5.3.4.5),
 * where they become the object's own. */
static void put_explicit(struct nt_acl_writer *out, const struct heir *heir,
                         const struct nt_acl *creator, bool takes_inherited)
{
    struct nt_ace ace;
    for (size_t at = 0; nt_acl_next(creator, &at, &ace);) {
        if ((ace.flags & INHERITED_ACE) != 0 && !takes_inherited) continue;
        unsigned heirs = heir->is_container ? ace.flags & NT_ACE_HEIRS : 0;
        if (heirs != 0) heirs |= ace.flags & NO_PROPAGATE_INHERIT_ACE;
        put(out, heir, &ace, (ace.flags & INHERIT_ONLY_ACE) == 0, heirs, audit_flags(&ace));
    }
}

/* ---- the list of rights ---------------------------------------------------------------------- */

/* MS-DTYP 2.5.3.4.2 for the DACL. Returns the control bits; none for no list at all. */
static unsigned make_dacl(struct nt_acl_writer *out, const struct heir *heir,
                          const struct nt_view *parent, const struct nt_view *creator)
{
    bool is_given = (creator->control & SE_DACL_PRESENT) != 0;
    bool is_default = (creator->control & SE_DACL_DEFAULTED) != 0;
    bool is_protected = (creator->control & SE_DACL_PROTECTED) != 0;
    struct nt_acl from_token;
    if (is_given && !is_default) {
        put_explicit(out, heir, &creator->dacl, is_protected);
        if (is_protected || creator->dacl.bytes == NULL) return SE_DACL_PRESENT | SE_DACL_PROTECTED;
        put_inherited(out, heir, &parent->dacl);
        return SE_DACL_PRESENT | SE_DACL_AUTO_INHERITED;
    }
    put_inherited(out, heir, &parent->dacl);
    if (out->count > 0) return SE_DACL_PRESENT | SE_DACL_AUTO_INHERITED;
    if (is_given) {
        put_explicit(out, heir, &creator->dacl, true);
        return SE_DACL_PRESENT;
    }
    if (heir->token->default_dacl_size == 0) return 0;
    if (!nt_view_acl(heir->token->default_dacl, &from_token)) {
        out->failed = true;
        return 0;
    }
    put_explicit(out, heir, &from_token, true);
    return SE_DACL_PRESENT;
}

/* ---- the list of the system ------------------------------------------------------------------- */

/* The creator's list of the system: entries other than labels need SeSecurityPrivilege; a label above the
 * token's own level needs SeRelabelPrivilege ("Modify an object label"). */
static bool may_set_sacl(const struct nt_token *token, const struct nt_acl *sacl)
{
    struct nt_ace ace;
    for (size_t at = 0; nt_acl_next(sacl, &at, &ace);) {
        if (ace.type != NT_LABEL_ACE && !nt_token_has_privilege(token, SE_SECURITY)) return false;
        if (ace.type == NT_LABEL_ACE && nt_sid_last(ace.sid) > token->integrity &&
            !nt_token_has_privilege(token, SE_RELABEL)) {
            return false;
        }
    }
    return true;
}

static void put_label(struct nt_acl_writer *out, DWORD level)
{
    struct nt_sid sid;
    (void)nt_sid_parse("S-1-16-0", &sid);
    nt_write32(sid.bytes + 8, level);
    nt_acl_put(out, NT_LABEL_ACE, 0, SYSTEM_MANDATORY_LABEL_NO_WRITE_UP, sid.bytes);
}

/* Without a label from creator or parent, what a token below Medium makes is labelled as the token is
 * (Forshaw, Windows Security Internals, listing 7-24; the integrity mechanism's reference: an object without
 * label would be Medium and out of its maker's reach). An inherited label above the token's level is taken
 * as it is: sources are silent, and it is the reading under which a box can less with its own files. */
static unsigned make_sacl(struct nt_acl_writer *out, const struct heir *heir,
                          const struct nt_view *parent, const struct nt_view *creator)
{
    bool is_protected = (creator->control & SE_SACL_PROTECTED) != 0;
    put_explicit(out, heir, &creator->sacl, is_protected);
    bool has_label = false;
    struct nt_ace label;
    struct nt_acl written = {out->bytes, out->size, out->size};
    has_label = nt_acl_label(&written, &label);
    struct nt_acl_writer inherited;
    nt_acl_begin(&inherited);
    if (!is_protected) put_inherited(&inherited, heir, &parent->sacl);
    struct nt_acl more = {inherited.bytes, inherited.size, inherited.size};
    struct nt_ace ace;
    for (size_t at = 0; nt_acl_next(&more, &at, &ace);) {
        /* One object has one label: the creator's wins. */
        if (ace.type == NT_LABEL_ACE && has_label) continue;
        nt_acl_put_like(out, &ace, ace.flags, ace.mask);
    }
    out->failed = out->failed || inherited.failed;
    written = (struct nt_acl){out->bytes, out->size, out->size};
    has_label = nt_acl_label(&written, &label);
    if (!has_label && heir->token->integrity < NT_INTEGRITY_MEDIUM) {
        put_label(out, heir->token->integrity);
    }
    if (out->count == 0) return 0;
    unsigned control = SE_SACL_PRESENT;
    if (is_protected) control |= SE_SACL_PROTECTED;
    return inherited.count > 0 ? control | SE_SACL_AUTO_INHERITED : control;
}

/* ---- together -------------------------------------------------------------------------------- */

/* "Taking ownership" and SetSecurityInfo: a token may make owner its user, a group marked as possible owner,
 * or with SeRestorePrivilege anyone. */
static bool may_own(const struct nt_token *token, const void *sid)
{
    if (nt_sid_equal(sid, token->user.bytes) || nt_token_has_privilege(token, SE_RESTORE)) {
        return true;
    }
    for (size_t i = 0; i < token->group_count; i++) {
        if ((token->groups[i].attributes & SE_GROUP_OWNER) != 0 &&
            nt_sid_equal(sid, token->groups[i].sid.bytes)) {
            return nt_token_has_sid(token, sid, false);
        }
    }
    return false;
}

size_t nt_descriptor_new(const struct nt_token *token, const void *parent, const void *creator,
                         bool is_container, const GENERIC_MAPPING *mapping, void *out, size_t max)
{
    struct nt_view above = {0};
    struct nt_view asked = {0};
    if (parent != NULL && !nt_view_descriptor(parent, &above)) return 0;
    if (creator != NULL && !nt_view_descriptor(creator, &asked)) return 0;
    struct heir heir = {token, mapping, token->owner, token->primary_group, is_container};
    if (asked.owner != NULL) {
        if (!may_own(token, asked.owner)) return 0;
        (void)nt_sid_copy(asked.owner, &heir.owner);
    }
    if (asked.group != NULL) (void)nt_sid_copy(asked.group, &heir.group);
    if (!may_set_sacl(token, &asked.sacl)) return 0;
    struct nt_acl_writer dacl;
    struct nt_acl_writer sacl;
    nt_acl_begin(&dacl);
    nt_acl_begin(&sacl);
    unsigned control = make_dacl(&dacl, &heir, &above, &asked);
    control |= make_sacl(&sacl, &heir, &above, &asked);
    bool is_null = (asked.control & SE_DACL_PRESENT) != 0 && asked.dacl.bytes == NULL &&
                   (asked.control & SE_DACL_DEFAULTED) == 0;
    bool has_dacl = (control & SE_DACL_PRESENT) != 0 && !is_null;
    bool has_group = nt_sid_size(heir.group.bytes) != 0;
    if (is_null) control &= ~(unsigned)SE_DACL_PROTECTED;
    return nt_descriptor_pack(control, heir.owner.bytes, has_group ? heir.group.bytes : NULL,
                              has_dacl ? &dacl : NULL,
                              (control & SE_SACL_PRESENT) != 0 ? &sacl : NULL, out, max);
}
