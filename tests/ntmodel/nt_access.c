/* The access check. Sources, named at each rule:
 *   [DTYP]     Microsoft's open specification MS-DTYP, 2.5.3.2 (the check) and 2.5.3.3 (integrity).
 *   [Forshaw]  J. Forshaw, Windows Security Internals (2024), chapter 7, and the script published with it,
 *              which was held against the kernel; the author reported the kernel's faults for Project Zero.
 *   [Chromium] sandbox/win of Chromium: app_container_test.cc, app_container_unittest.cc.
 *   [Field]    Reports of products whose tests ran on Windows; named at the rule.
 * Where they are silent, the model takes the reading that is worse for a sandbox, or struct nt_readings has a
 * switch for it. */
#include <string.h>

#include "tests/ntmodel/nt_layout.h"

#include "common/base/banned.h"

/* Whose SIDs a walk through the list looks for. */
enum side { SIDE_USER, SIDE_RESTRICTING, SIDE_PACKAGE };

struct request {
    const struct nt_readings *readings;
    const struct nt_token *token;
    const GENERIC_MAPPING *mapping;
    struct nt_view object;
    DWORD wanted; /* mapped, without MAXIMUM_ALLOWED */
    bool is_maximum;
};

enum { SE_SECURITY = 8, SE_TAKE_OWNERSHIP = 9, SE_RELABEL = 32 };

const GENERIC_MAPPING nt_file_mapping = {FILE_GENERIC_READ, FILE_GENERIC_WRITE,
                                         FILE_GENERIC_EXECUTE, FILE_ALL_ACCESS};

static struct nt_readings current_readings;

struct nt_readings nt_readings_nth(unsigned number)
{
    return (struct nt_readings){
        .lowbox_obeys_medium_label = (number & 1) != 0,
        .null_dacl_serves_lowbox = (number & 2) != 0,
        .package_deny_counts = (number & 4) != 0,
        .low_token_passes_package = (number & 8) != 0,
        .generic_left_unmapped = (number & 16) != 0,
        .privilege_serves_lowbox = (number & 32) != 0,
    };
}

void nt_readings_set(const struct nt_readings *readings)
{
    static const struct nt_readings published;
    current_readings = readings == NULL ? published : *readings;
}

DWORD nt_map_generic(DWORD mask, const GENERIC_MAPPING *mapping)
{
    DWORD mapped = mask & ~(DWORD)(GENERIC_READ | GENERIC_WRITE | GENERIC_EXECUTE | GENERIC_ALL);
    if ((mask & GENERIC_READ) != 0) mapped |= mapping->GenericRead;
    if ((mask & GENERIC_WRITE) != 0) mapped |= mapping->GenericWrite;
    if ((mask & GENERIC_EXECUTE) != 0) mapped |= mapping->GenericExecute;
    if ((mask & GENERIC_ALL) != 0) mapped |= mapping->GenericAll;
    return mapped;
}

/* ---- who a token is -------------------------------------------------------------------------- */

/* [DTYP] 2.5.3.1.1 SidInToken. A group that is neither enabled nor for deny entries is not in the token at
 * all ("SID Attributes in an Access Token"); one for deny entries never gives. */
static bool group_counts(const struct nt_group *group, bool for_deny)
{
    if ((group->attributes & SE_GROUP_USE_FOR_DENY_ONLY) != 0) return for_deny;
    return (group->attributes & SE_GROUP_ENABLED) != 0;
}

static bool list_has(const struct nt_group *groups, size_t count, const void *sid, bool for_deny)
{
    for (size_t i = 0; i < count; i++) {
        if (group_counts(&groups[i], for_deny) && nt_sid_equal(groups[i].sid.bytes, sid)) {
            return true;
        }
    }
    return false;
}

bool nt_token_has_sid(const struct nt_token *token, const void *sid, bool for_deny)
{
    if ((!token->user_deny_only || for_deny) && nt_sid_equal(token->user.bytes, sid)) return true;
    return list_has(token->groups, token->group_count, sid, for_deny);
}

bool nt_token_has_privilege(const struct nt_token *token, DWORD privilege)
{
    for (size_t i = 0; i < token->privilege_count; i++) {
        const struct nt_privilege *held = &token->privileges[i];
        if (held->id.LowPart == privilege && held->id.HighPart == 0) {
            return (held->attributes & SE_PRIVILEGE_ENABLED) != 0;
        }
    }
    return false;
}

static bool is_sid(const void *sid, const char *text)
{
    struct nt_sid known;
    return nt_sid_parse(text, &known) && nt_sid_equal(sid, known.bytes);
}

/* [Forshaw] and Microsoft's "Implementing an AppContainer": the package, its enabled capabilities, and two
 * SIDs for every package. An LPAC (attribute WIN://NOALLAPPPKG) does not answer to the first of them;
 * [Chromium] checks that an LPAC gets exactly what ALL RESTRICTED APPLICATION PACKAGES is given. */
static bool package_has(const struct nt_token *token, const void *sid)
{
    if (!token->is_appcontainer) return false;
    if (is_sid(sid, "S-1-15-2-1")) return !token->is_lpac;
    if (is_sid(sid, "S-1-15-2-2") || nt_sid_equal(token->package.bytes, sid)) return true;
    return list_has(token->capabilities, token->capability_count, sid, false);
}

static bool side_has(const struct nt_token *token, enum side side, const void *sid, bool for_deny)
{
    switch (side) {
    case SIDE_RESTRICTING:
        return list_has(token->restricted, token->restricted_count, sid, for_deny);
    case SIDE_PACKAGE:
        /* [Forshaw] An entry counts for one half only: a SID among the groups is none of the package. */
        return !nt_token_has_sid(token, sid, false) && package_has(token, sid);
    case SIDE_USER:
        break;
    }
    return nt_token_has_sid(token, sid, for_deny);
}

/* ---- integrity ------------------------------------------------------------------------------- */

/* The rights that the label leaves to the token.
 * [DTYP] 2.5.3.3: an object without label counts as Medium with no-write-up; a token whose level is not below
 * the object's is not bound; SeRelabelPrivilege gives WRITE_OWNER back. [Forshaw] what may be given is the
 * union of the generic rights that the label's policy does not close, so that READ_CONTROL, which reading and
 * writing share, stays; rights in no mapping (DELETE, WRITE_DAC ...) go with writing. */
static DWORD mandatory_rights(const struct request *request)
{
    const struct nt_token *token = request->token;
    const GENERIC_MAPPING *mapping = request->mapping;
    DWORD level = NT_INTEGRITY_MEDIUM;
    DWORD policy = SYSTEM_MANDATORY_LABEL_NO_WRITE_UP;
    struct nt_ace label;
    if ((token->mandatory_policy & TOKEN_MANDATORY_POLICY_NO_WRITE_UP) == 0) return ~(DWORD)0;
    if (nt_acl_label(&request->object.sacl, &label)) {
        level = nt_sid_last(label.sid);
        policy = label.mask;
    }
    if (token->integrity >= level) return ~(DWORD)0;
    /* [Forshaw] listing 7-23: a lowbox token that fails the check at a label of Medium or below passes all
     * the same; its package half decides. [Field] mxc, Maka, landstrip and Wayland Core write where only an
     * entry was added, without a Low label. One project's comments say the opposite: hence the switch. */
    if (token->is_appcontainer && level <= NT_INTEGRITY_MEDIUM &&
        !request->readings->lowbox_obeys_medium_label) {
        return ~(DWORD)0;
    }
    DWORD reading = mapping->GenericRead;
    DWORD executing = mapping->GenericExecute;
    DWORD rights = 0;
    if ((policy & SYSTEM_MANDATORY_LABEL_NO_READ_UP) == 0) rights |= reading;
    if ((policy & SYSTEM_MANDATORY_LABEL_NO_EXECUTE_UP) == 0) rights |= executing;
    if ((policy & SYSTEM_MANDATORY_LABEL_NO_WRITE_UP) == 0) {
        rights |= mapping->GenericWrite | ~(reading | executing);
    }
    if (nt_token_has_privilege(token, SE_RELABEL)) rights |= WRITE_OWNER;
    return rights;
}

/* [Forshaw] listing 7-24: an object that names a package is closed to a token below Medium that is no lowbox,
 * so that sandboxes of the older kind do not reach into boxes ("processes running with a low integrity level
 * cannot obtain access to a process which is associated with an app container", Microsoft's "Mandatory
 * Integrity Control"). ALL APPLICATION PACKAGES does not do that (listing 7-23). */
static bool is_closed_to_low(const struct request *request)
{
    struct nt_ace ace;
    if (request->token->is_appcontainer || request->token->integrity >= NT_INTEGRITY_MEDIUM ||
        request->readings->low_token_passes_package) {
        return false;
    }
    for (size_t at = 0; nt_acl_next(&request->object.dacl, &at, &ace);) {
        if (nt_sid_is_package(ace.sid)) return true;
    }
    return false;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* The bits of a mask that are rights by themselves (MS-DTYP 2.4.3). */
#define NO_GENERIC ((DWORD)(SPECIFIC_RIGHTS_ALL | STANDARD_RIGHTS_ALL | ACCESS_SYSTEM_SECURITY))

enum effect { EFFECT_NONE, EFFECT_ALLOW, EFFECT_DENY };

/* What an entry says to one side, and of which rights. */
static enum effect effect_of(const struct request *request, enum side side,
                             const struct nt_ace *ace, DWORD *mask)
{
    const void *sid = ace->sid;
    bool is_allow = ace->type == ACCESS_ALLOWED_ACE_TYPE;
    /* Object entries speak of parts of objects in a directory service. Without a list of parts [Forshaw] the
     * kernel passes over those that allow and obeys those that deny. Callback entries carry conditions, which
     * the model does not know: they give nothing, and the kernel knows none that deny. */
    bool is_deny =
        ace->type == ACCESS_DENIED_ACE_TYPE || ace->type == ACCESS_DENIED_OBJECT_ACE_TYPE;
    if ((!is_allow && !is_deny) || (ace->flags & INHERIT_ONLY_ACE) != 0) return EFFECT_NONE;
    /* [DTYP] OWNER RIGHTS stands for the owner. */
    if (is_sid(sid, "S-1-3-4") && request->object.owner != NULL) sid = request->object.owner;
    if (!side_has(request->token, side, sid, is_deny)) return EFFECT_NONE;
    /* [Forshaw] "The check applies only to Allowed ACE types, not to Denied ACE types." [Field] Wayland Core
     * found on Windows 11 that a deny entry for the box's package is inert (FerroxLabs/wayland-core#324). */
    if (side == SIDE_PACKAGE && is_deny && !request->readings->package_deny_counts) {
        return EFFECT_NONE;
    }
    /* A descriptor that was assigned to an object has no generic bits left ("Generic Access Rights");
     * sources are silent on one that was not. */
    bool maps = !request->readings->generic_left_unmapped;
    *mask = (maps ? nt_map_generic(ace->mask, request->mapping) : ace->mask) & NO_GENERIC;
    return is_allow ? EFFECT_ALLOW : EFFECT_DENY;
}

/* [DTYP] A NULL DACL gives everybody everything. [Forshaw] "NULL DACLs do not grant full access" to the
 * package half; Microsoft's "Implementing an AppContainer": unmodified lists block by default. */
static bool null_list_serves(const struct request *request, enum side side)
{
    return side != SIDE_PACKAGE || request->readings->null_dacl_serves_lowbox;
}

/* [DTYP] Entries in order; what an entry allows is taken from what remains, a deny entry for anything that
 * still remains ends the walk. An empty list gives nothing. */
static bool list_gives(const struct request *request, enum side side, DWORD remaining)
{
    struct nt_ace ace;
    DWORD mask = 0;
    if (remaining == 0) return true;
    if (request->object.dacl.bytes == NULL) return null_list_serves(request, side);
    for (size_t at = 0; nt_acl_next(&request->object.dacl, &at, &ace);) {
        enum effect effect = effect_of(request, side, &ace, &mask);
        if (effect == EFFECT_DENY && (remaining & mask) != 0) return false;
        if (effect == EFFECT_ALLOW) remaining &= ~mask;
        if (remaining == 0) return true;
    }
    return false;
}

/* [DTYP] MAXIMUM_ALLOWED: every entry is read; an earlier one wins over a later one. */
static DWORD list_maximum(const struct request *request, enum side side)
{
    struct nt_ace ace;
    DWORD granted = 0;
    DWORD denied = 0;
    DWORD mask = 0;
    if (request->object.dacl.bytes == NULL) {
        return null_list_serves(request, side) ? request->mapping->GenericAll | request->wanted : 0;
    }
    for (size_t at = 0; nt_acl_next(&request->object.dacl, &at, &ace);) {
        enum effect effect = effect_of(request, side, &ace, &mask);
        if (effect == EFFECT_ALLOW) granted |= mask & ~denied;
        if (effect == EFFECT_DENY) denied |= mask & ~granted;
    }
    return granted;
}

/* ---- what is given without the list ------------------------------------------------------------ */

/* [DTYP] SeSecurityPrivilege gives ACCESS_SYSTEM_SECURITY, SeTakeOwnershipPrivilege gives WRITE_OWNER;
 * [Forshaw] so does SeRelabelPrivilege. Only on request: MAXIMUM_ALLOWED alone does not use them. Backup and
 * restore privileges play no part: only the file system looks at them, and only for that intent. */
static DWORD rights_of_privileges(const struct request *request)
{
    DWORD rights = 0;
    if (nt_token_has_privilege(request->token, SE_SECURITY)) rights |= ACCESS_SYSTEM_SECURITY;
    if (nt_token_has_privilege(request->token, SE_TAKE_OWNERSHIP) ||
        nt_token_has_privilege(request->token, SE_RELABEL)) {
        rights |= WRITE_OWNER;
    }
    return rights & request->wanted;
}

/* [DTYP] The owner may read and change the list, unless the list has an entry for OWNER RIGHTS. [Forshaw] a
 * restricted token only when its restricting SIDs name the owner too. That an entry only for heirs does not
 * take the owner's rights is the reading that gives a box more. */
static DWORD rights_of_owner(const struct request *request)
{
    const struct nt_token *token = request->token;
    const void *owner = request->object.owner;
    struct nt_ace ace;
    if (owner == NULL || !nt_token_has_sid(token, owner, false)) return 0;
    if (token->restricted_count > 0 &&
        !list_has(token->restricted, token->restricted_count, owner, false)) {
        return 0;
    }
    for (size_t at = 0; nt_acl_next(&request->object.dacl, &at, &ace);) {
        if (is_sid(ace.sid, "S-1-3-4") && (ace.flags & INHERIT_ONLY_ACE) == 0) return 0;
    }
    return READ_CONTROL | WRITE_DAC;
}

/* ---- the check ------------------------------------------------------------------------------- */

/* "Considered only when evaluating write access" (CreateRestrictedToken, WRITE_RESTRICTED). */
static DWORD rights_of_writing(const GENERIC_MAPPING *mapping)
{
    DWORD reading = mapping->GenericRead | mapping->GenericExecute;
    return (mapping->GenericWrite | DELETE | WRITE_DAC | WRITE_OWNER) & ~reading;
}

/* [DTYP] The restricting SIDs must be given the same as the user: both walks, both whole. */
static bool gives_all(const struct request *request)
{
    const struct nt_token *token = request->token;
    DWORD privileged = rights_of_privileges(request);
    DWORD remaining = request->wanted & ~(privileged | rights_of_owner(request));
    /* [Forshaw] only the privilege gives it, whatever an entry says. */
    if ((remaining & ACCESS_SYSTEM_SECURITY) != 0) return false;
    if (!list_gives(request, SIDE_USER, remaining)) return false;
    bool is_restricted =
        token->restricted_count > 0 &&
        (!token->write_restricted || (remaining & rights_of_writing(request->mapping)) != 0);
    if (is_restricted && !list_gives(request, SIDE_RESTRICTING, remaining)) return false;
    /* [Forshaw] the package half starts from all that was asked for: what the user has as owner is not the
     * box's. Sources show no box with a privilege that would matter here. */
    DWORD of_package = request->wanted;
    if (request->readings->privilege_serves_lowbox) of_package &= ~privileged;
    return !token->is_appcontainer || list_gives(request, SIDE_PACKAGE, of_package);
}

static DWORD maximum(const struct request *request)
{
    const struct nt_token *token = request->token;
    DWORD privileged = rights_of_privileges(request);
    DWORD given = privileged | rights_of_owner(request);
    DWORD rights = given | (list_maximum(request, SIDE_USER) & ~(DWORD)ACCESS_SYSTEM_SECURITY);
    if (token->restricted_count > 0) {
        DWORD both = given | list_maximum(request, SIDE_RESTRICTING);
        if (token->write_restricted) both |= ~rights_of_writing(request->mapping);
        rights &= both;
    }
    if (token->is_appcontainer) {
        DWORD both = list_maximum(request, SIDE_PACKAGE);
        if (request->readings->privilege_serves_lowbox) both |= privileged;
        rights &= both;
    }
    return rights;
}

bool nt_access_check_as(const struct nt_readings *readings, const struct nt_token *token,
                        const void *descriptor, DWORD desired, const GENERIC_MAPPING *mapping,
                        DWORD *granted)
{
    struct request request = {
        .readings = readings,
        .token = token,
        .mapping = mapping,
        .wanted = nt_map_generic(desired, mapping) & ~(DWORD)MAXIMUM_ALLOWED,
        .is_maximum = (desired & MAXIMUM_ALLOWED) != 0,
    };
    *granted = 0;
    /* SeAccessCheck (wdm.h) refuses a request for nothing when nothing was granted before. */
    if (desired == 0 || !nt_view_descriptor(descriptor, &request.object)) return false;
    DWORD mandatory = mandatory_rights(&request);
    if ((request.wanted & ~mandatory) != 0 || is_closed_to_low(&request)) return false;
    if (!request.is_maximum) {
        if (!gives_all(&request)) return false;
        *granted = request.wanted;
        return true;
    }
    DWORD rights = maximum(&request) & mandatory;
    if (rights == 0 || (request.wanted & ~rights) != 0) return false;
    *granted = rights;
    return true;
}

bool nt_access_check(const struct nt_token *token, const void *descriptor, DWORD desired,
                     const GENERIC_MAPPING *mapping, DWORD *granted)
{
    return nt_access_check_as(&current_readings, token, descriptor, desired, mapping, granted);
}
