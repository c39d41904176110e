/* Tokens made from tokens: CreateRestrictedToken, and the lowbox token of an AppContainer. */
#include <string.h>

#include "tests/ntmodel/nt_layout.h"

#include "common/base/banned.h"

enum {
    SE_CHANGE_NOTIFY = 23,
    ENABLED_GROUP = SE_GROUP_MANDATORY | SE_GROUP_ENABLED_BY_DEFAULT | SE_GROUP_ENABLED,
};

/* ---- restricted ------------------------------------------------------------------------------- */

/* CreateRestrictedToken: "disabling a SID enables SE_GROUP_USE_FOR_DENY_ONLY and disables SE_GROUP_ENABLED";
 * a SID that the token does not have is passed over. The group is no longer mandatory: it cannot be enabled
 * again anyway ("the attribute cannot be removed"). */
static void disable_sid(struct nt_token *token, const void *sid)
{
    if (nt_sid_equal(token->user.bytes, sid)) token->user_deny_only = true;
    for (size_t i = 0; i < token->group_count; i++) {
        struct nt_group *group = &token->groups[i];
        if (!nt_sid_equal(group->sid.bytes, sid)) continue;
        group->attributes &= ~(DWORD)ENABLED_GROUP;
        group->attributes |= SE_GROUP_USE_FOR_DENY_ONLY;
    }
}

static void remove_privilege(struct nt_token *token, LUID id)
{
    size_t kept = 0;
    for (size_t i = 0; i < token->privilege_count; i++) {
        LUID held = token->privileges[i].id;
        if (held.LowPart == id.LowPart && held.HighPart == id.HighPart) continue;
        token->privileges[kept++] = token->privileges[i];
    }
    token->privilege_count = kept;
}

/* Keeps the listed privileges only. */
static void keep_privileges(struct nt_token *token, const DWORD *keep, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < token->privilege_count; i++) {
        for (size_t j = 0; j < count; j++) {
            if (token->privileges[i].id.LowPart == keep[j]) {
                token->privileges[kept++] = token->privileges[i];
                break;
            }
        }
    }
    token->privilege_count = kept;
}

/* LUA_TOKEN: what UAC makes of an administrator's token at logon ("User Account Control architecture": the
 * administrator's groups for deny only, the privileges of a standard user, medium integrity). */
static void make_standard_user(struct nt_token *token)
{
    static const char *const groups[] = {"S-1-5-32-544", "S-1-5-114",    "S-1-5-32-547",
                                         "S-1-5-32-548", "S-1-5-32-549", "S-1-5-32-551"};
    static const DWORD privileges[] = {SE_CHANGE_NOTIFY, 19, 25, 33, 34};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        struct nt_sid sid;
        if (nt_sid_parse(groups[i], &sid)) disable_sid(token, sid.bytes);
    }
    keep_privileges(token, privileges, sizeof privileges / sizeof privileges[0]);
    if (token->integrity > NT_INTEGRITY_MEDIUM) token->integrity = NT_INTEGRITY_MEDIUM;
    token->is_elevated = false;
}

/* "If the existing token also has a list of restricting SIDs, the new list is the intersection of both." */
static bool add_restricting(struct nt_token *token, const struct nt_token *from,
                            const SID_AND_ATTRIBUTES *sids, DWORD count)
{
    if (count == 0) return true;
    token->restricted_count = 0;
    for (DWORD i = 0; i < count; i++) {
        struct nt_group group = {.attributes = ENABLED_GROUP};
        bool is_kept = from->restricted_count == 0;
        /* "The Attributes member ... must be zero." */
        if (sids[i].Attributes != 0 || !nt_sid_copy(sids[i].Sid, &group.sid)) return false;
        for (size_t j = 0; j < from->restricted_count; j++) {
            is_kept = is_kept || nt_sid_equal(from->restricted[j].sid.bytes, sids[i].Sid);
        }
        if (!is_kept) continue;
        if (token->restricted_count == NT_GROUPS_MAX) return false;
        token->restricted[token->restricted_count++] = group;
    }
    /* An empty intersection gives nothing; the Null SID stands for it, as no token has it. */
    if (token->restricted_count == 0) {
        struct nt_group *nobody = &token->restricted[token->restricted_count++];
        nobody->attributes = ENABLED_GROUP;
        return nt_sid_parse("S-1-0-0", &nobody->sid);
    }
    return true;
}

bool nt_token_restrict(const struct nt_token *from, DWORD flags, const SID_AND_ATTRIBUTES *disable,
                       DWORD disable_count, const LUID_AND_ATTRIBUTES *del, DWORD del_count,
                       const SID_AND_ATTRIBUTES *restricting, DWORD restricting_count,
                       struct nt_token *out)
{
    static const DWORD change_notify[] = {SE_CHANGE_NOTIFY};
    const DWORD known = DISABLE_MAX_PRIVILEGE | SANDBOX_INERT | LUA_TOKEN | WRITE_RESTRICTED;
    bool is_missing = (disable_count > 0 && disable == NULL) || (del_count > 0 && del == NULL) ||
                      (restricting_count > 0 && restricting == NULL);
    if ((flags & ~known) != 0 || is_missing) return false;
    struct nt_token token = *from;
    if ((flags & LUA_TOKEN) != 0) make_standard_user(&token);
    for (DWORD i = 0; i < disable_count; i++) {
        if (nt_sid_size(disable[i].Sid) == 0) return false;
        disable_sid(&token, disable[i].Sid);
    }
    /* "Disables all privileges in the new token except the SeChangeNotifyPrivilege. If this value is
     * specified, the DeletePrivilegeCount and PrivilegesToDelete parameters are ignored." */
    if ((flags & DISABLE_MAX_PRIVILEGE) != 0) {
        keep_privileges(&token, change_notify, 1);
    } else {
        for (DWORD i = 0; i < del_count; i++) remove_privilege(&token, del[i].Luid);
    }
    if (!add_restricting(&token, from, restricting, restricting_count)) return false;
    if ((flags & WRITE_RESTRICTED) != 0 && token.restricted_count > 0) {
        /* A token that was restricted whole stays so. */
        token.write_restricted = from->restricted_count == 0 || from->write_restricted;
    } else if (restricting_count > 0) {
        token.write_restricted = false;
    }
    /* A group that is for deny only can own nothing; the user takes its place. */
    if (!nt_token_has_sid(&token, token.owner.bytes, false)) token.owner = token.user;
    *out = token;
    return true;
}

/* ---- lowbox ------------------------------------------------------------------------------------ */

/* The package is given all rights by the default list (Forshaw, Windows Security Internals, listing 7-24). */
static bool add_package_to_default(struct nt_token *token)
{
    struct nt_acl_writer list;
    struct nt_acl acl;
    struct nt_ace ace;
    /* Without a default list new objects would have none at all, and there is nothing to add to. */
    if (token->default_dacl_size == 0) return true;
    if (!nt_view_acl(token->default_dacl, &acl)) return false;
    nt_acl_begin(&list);
    for (size_t at = 0; nt_acl_next(&acl, &at, &ace);) {
        nt_acl_put_like(&list, &ace, ace.flags, ace.mask);
    }
    nt_acl_put(&list, ACCESS_ALLOWED_ACE_TYPE, 0, GENERIC_ALL, token->package.bytes);
    if (list.failed || list.size > sizeof token->default_dacl) return false;
    memcpy(token->default_dacl, list.bytes, list.size);
    token->default_dacl_size = list.size;
    return true;
}

bool nt_token_lowbox(const struct nt_token *from, PSID package,
                     const SID_AND_ATTRIBUTES *capabilities, DWORD count, bool is_lpac,
                     struct nt_token *out)
{
    /* NtCreateLowBoxToken: the package must pass RtlIsPackageSid, each capability RtlIsCapabilitySid; a box
     * inside a box needs a child package, which the model does not know. */
    if (from->is_appcontainer || !nt_sid_is_package(package)) return false;
    if (count > NT_GROUPS_MAX || (count > 0 && capabilities == NULL)) return false;
    struct nt_token token = *from;
    token.is_appcontainer = true;
    token.is_lpac = is_lpac;
    (void)nt_sid_copy(package, &token.package);
    for (DWORD i = 0; i < count; i++) {
        struct nt_group *capability = &token.capabilities[token.capability_count++];
        if (!nt_sid_is_capability(capabilities[i].Sid)) return false;
        (void)nt_sid_copy(capabilities[i].Sid, &capability->sid);
        capability->attributes = capabilities[i].Attributes;
    }
    /* Microsoft's "AppContainer isolation": boxes run at low integrity. Groups and privileges are the base
     * token's: sources that say which ones Windows takes away differ, and this is the worse reading. */
    token.integrity = NT_INTEGRITY_LOW;
    token.is_elevated = false;
    if (!add_package_to_default(&token)) return false;
    *out = token;
    return true;
}
