/* Owners and access lists of files. */
#include "win/acl.h"

#include <aclapi.h>
#include <string.h>

#include "win/handle.h"
#include "win/token.h"
#include "win/sid.h"
#include "win/wide.h"

#include "common/base/banned.h"

/* ---- who ----------------------------------------------------------------------------------- */

struct known_sid {
    BYTE authority; /* the last byte; the others are 0 */
    BYTE count;
    DWORD part[6];
};

static const struct known_sid admins[] = {
    {5, 1, {18}},                                                            /* SYSTEM */
    {5, 2, {32, 544}},                                                       /* Administrators */
    {5, 6, {80, 956008885, 3418522649, 1831038044, 1853292631, 2271478464}}, /* TrustedInstaller */
};
static const struct known_sid owner_rights = {3, 1, {4}};

static bool is_known(PSID sid, const struct known_sid *known)
{
    static const BYTE zeroes[5];
    if (!IsValidSid(sid) || *GetSidSubAuthorityCount(sid) != known->count) {
        return false;
    }
    const BYTE *authority = GetSidIdentifierAuthority(sid)->Value;
    if (memcmp(authority, zeroes, sizeof zeroes) != 0 || authority[5] != known->authority) {
        return false;
    }
    for (DWORD i = 0; i < known->count; i++) {
        if (*GetSidSubAuthority(sid, i) != known->part[i]) {
            return false;
        }
    }
    return true;
}

bool sbx_acl_is_admin(PSID sid)
{
    for (size_t i = 0; i < SBX_COUNT(admins); i++) {
        if (is_known(sid, &admins[i])) {
            return true;
        }
    }
    return false;
}

PSID sbx_acl_user(struct sbx_arena *arena)
{
    PSID user = NULL;
    return sbx_token_user(arena, &user, NULL) == SBX_OK ? user : NULL;
}

/* ---- who may write ------------------------------------------------------------------------- */

/* Rights by which content, or the list itself, can be changed. */
#define WRITE_RIGHTS                                                                               \
    (FILE_WRITE_DATA | FILE_APPEND_DATA | DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_WRITE |       \
     GENERIC_ALL | MAXIMUM_ALLOWED)

static bool gives_write(const ACE_HEADER *header, PSID owner)
{
    switch (header->AceType) {
    case ACCESS_DENIED_ACE_TYPE:
    case ACCESS_DENIED_CALLBACK_ACE_TYPE:
    case ACCESS_DENIED_OBJECT_ACE_TYPE:
    case ACCESS_DENIED_CALLBACK_OBJECT_ACE_TYPE:
        return false;
    case ACCESS_ALLOWED_ACE_TYPE:
    case ACCESS_ALLOWED_CALLBACK_ACE_TYPE:
        break; /* a condition may be true */
    default:
        return true;
    }
    if ((header->AceFlags & INHERIT_ONLY_ACE) != 0) {
        return false; /* says nothing about this file */
    }
    /* The two kinds have mask and SID in the same place. */
    const ACCESS_ALLOWED_ACE *entry = (const void *)header;
    PSID sid = (PSID)(ULONG_PTR)&entry->SidStart;
    return (entry->Mask & WRITE_RIGHTS) != 0 && !EqualSid(sid, owner) && !sbx_acl_is_admin(sid) &&
           !is_known(sid, &owner_rights);
}

bool sbx_acl_others_may_write(PACL list, PSID owner)
{
    if (list == NULL) {
        return true; /* no list lets everybody do everything */
    }
    for (DWORD i = 0; i < list->AceCount; i++) {
        void *entry;
        if (!GetAce(list, i, &entry) || gives_write(entry, owner)) {
            return true;
        }
    }
    return false;
}

void sbx_acl_describe(HANDLE file, struct sbx_file_info *info)
{
    info->is_callers = false;
    info->is_admins = false;
    info->others_may_write = true;
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, 4096 + SECURITY_MAX_SID_SIZE);
    PSID user = sbx_acl_user(&scratch);
    PSID owner = NULL;
    PACL list = NULL;
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = NULL;
    if (GetSecurityInfo(file, SE_FILE_OBJECT,
                        OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &owner, NULL, &list,
                        NULL, &descriptor) != ERROR_SUCCESS ||
        owner == NULL || user == NULL) {
        return;
    }
    info->is_callers = EqualSid(owner, user);
    info->is_admins = sbx_acl_is_admin(owner);
    info->others_may_write = sbx_acl_others_may_write(list, owner);
}

/* ---- what sbx gives its own ---------------------------------------------------------------- */

PSECURITY_DESCRIPTOR sbx_acl_private(struct sbx_arena *arena)
{
    PSID user = sbx_acl_user(arena);
    wchar_t *wide = NULL;
    PSECURITY_DESCRIPTOR descriptor = NULL;
    if (user == NULL) {
        return NULL;
    }
    const char *text = sbx_arena_printf(
        arena, "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;%s)", sbx_sid_text(arena, user));
    if (text == NULL || sbx_wide_from(arena, text, &wide, NULL) != SBX_OK) {
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return NULL;
    }
    if (!sbx_win()->ConvertStringSecurityDescriptorToSecurityDescriptorW(wide, SDDL_REVISION_1,
                                                                         &descriptor, NULL)) {
        return NULL;
    }
    return descriptor;
}
