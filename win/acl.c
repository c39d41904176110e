/* Owners and access lists of files. */
#include "win/acl.h"

#include <aclapi.h>
#include <sddl.h>
#include <string.h>
#include <wchar.h>

#include "win/handle.h"

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
    AUTO_HANDLE token = NULL;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) {
        return NULL;
    }
    _Alignas(TOKEN_USER) BYTE bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    DWORD len;
    if (!GetTokenInformation(token, TokenUser, bytes, sizeof bytes, &len)) {
        return NULL;
    }
    PSID sid = ((const TOKEN_USER *)(const void *)bytes)->User.Sid;
    DWORD size = GetLengthSid(sid);
    PSID copy = sbx_arena_alloc(arena, 1, size);
    return copy != NULL && CopySid(size, copy, sid) ? copy : NULL;
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
    AUTO_LOCAL wchar_t *name = NULL;
    if (user == NULL || !ConvertSidToStringSidW(user, &name)) {
        return NULL;
    }
    static const wchar_t before[] = L"D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;";
    size_t len = wcslen(name);
    wchar_t *text = SBX_NEW_ARRAY(arena, wchar_t, SBX_COUNT(before) + len + 1);
    if (text == NULL) {
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return NULL;
    }
    wmemcpy(text, before, SBX_COUNT(before) - 1);
    wmemcpy(text + SBX_COUNT(before) - 1, name, len);
    wmemcpy(text + SBX_COUNT(before) - 1 + len, L")", 2);
    PSECURITY_DESCRIPTOR descriptor = NULL;
    if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(text, SDDL_REVISION_1, &descriptor,
                                                              NULL)) {
        return NULL;
    }
    return descriptor;
}
