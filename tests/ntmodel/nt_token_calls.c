/* Tokens as the calls see them: opened, copied, restricted, asked and changed. */
#include "tests/ntmodel/nt_internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

enum {
    TOKEN_ROOM = 16384,
    TOKEN_RESTRICTED_CLASS = 40, /* TokenIsRestricted */
    TOKEN_LPAC_CLASS = 46,       /* TokenIsLessPrivilegedAppContainer */
    LABEL_FLAGS = SE_GROUP_INTEGRITY | SE_GROUP_INTEGRITY_ENABLED,
};

struct nt_token_object *nt_token_object_new(struct nt_model *model, const struct nt_token *token)
{
    struct nt_token_object *object = nt_object_new(model, NT_TOKEN, sizeof *object);
    object->token = *token;
    object->id = ++model->next_token;
    return object;
}

bool nt_token_is_admin(const struct nt_token *token)
{
    struct nt_sid admins;
    return nt_sid_parse("S-1-5-32-544", &admins) && nt_token_has_sid(token, admins.bytes, false);
}

bool nt_has_access(const struct nt_token *token, const void *descriptor, DWORD desired,
                   const GENERIC_MAPPING *mapping, DWORD *granted)
{
    DWORD given = 0;
    bool allowed = nt_access_check(token, descriptor, desired, mapping, &given);
    if (allowed && granted != NULL) {
        *granted = given;
    }
    return allowed;
}

static DWORD access_of(DWORD asked)
{
    DWORD access = nt_map_generic(asked, nt_mapping(NT_TOKEN));
    return (access & MAXIMUM_ALLOWED) != 0 ? TOKEN_ALL_ACCESS : access;
}

BOOL WINAPI nt_OpenProcessToken(HANDLE handle, DWORD access, PHANDLE out)
{
    struct nt_process *process =
        nt_handle_get(handle, NT_PROCESS, PROCESS_QUERY_LIMITED_INFORMATION);
    if (process == NULL) {
        return FALSE;
    }
    *out = nt_handle_add(nt_process_now(), process->token, access_of(access), false);
    return TRUE;
}

BOOL WINAPI nt_DuplicateTokenEx(HANDLE handle, DWORD access, LPSECURITY_ATTRIBUTES security,
                                SECURITY_IMPERSONATION_LEVEL level, TOKEN_TYPE type, PHANDLE out)
{
    const struct nt_token_object *from = nt_handle_get(handle, NT_TOKEN, TOKEN_DUPLICATE);
    if (from == NULL) {
        return FALSE;
    }
    if (type != TokenPrimary && type != TokenImpersonation) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    struct nt_process *process = nt_process_now();
    DWORD held = nt_handle_row(process, handle)->access;
    struct nt_token_object *copy = nt_token_object_new(from->object.model, &from->token);
    copy->parent = from->parent;
    copy->token.is_primary = type == TokenPrimary;
    copy->token.impersonation_level = type == TokenPrimary ? 0 : (DWORD)level;
    *out =
        nt_handle_add(process, copy, access == 0 ? held : access_of(access), nt_inherits(security));
    nt_object_unref(copy);
    return TRUE;
}

BOOL WINAPI nt_CreateRestrictedToken(HANDLE handle, DWORD flags, DWORD disabled_count,
                                     PSID_AND_ATTRIBUTES disabled, DWORD deleted_count,
                                     PLUID_AND_ATTRIBUTES deleted, DWORD restricted_count,
                                     PSID_AND_ATTRIBUTES restricted_sids, PHANDLE out)
{
    const struct nt_token_object *from = nt_handle_get(handle, NT_TOKEN, TOKEN_DUPLICATE);
    if (from == NULL) {
        return FALSE;
    }
    struct nt_process *process = nt_process_now();
    DWORD held = nt_handle_row(process, handle)->access;
    struct nt_token *token = nt_alloc(sizeof *token);
    bool made = nt_token_restrict(&from->token, flags, disabled, disabled_count, deleted,
                                  deleted_count, restricted_sids, restricted_count, token);
    if (made) {
        struct nt_token_object *object = nt_token_object_new(from->object.model, token);
        object->parent = from->id;
        *out = nt_handle_add(process, object, held, false);
        nt_object_unref(object);
    }
    free(token);
    return made ? TRUE : nt_fail(ERROR_INVALID_PARAMETER);
}

/* ---- asking ------------------------------------------------------------------------------------------- */

/* An answer as it will lie in the caller's buffer, pointers and all. */
struct answer {
    unsigned char *base; /* the caller's */
    size_t size;
    _Alignas(8) unsigned char bytes[TOKEN_ROOM];
};

static void *claim(struct answer *answer, size_t size)
{
    size_t at = (answer->size + 7) & ~(size_t)7;
    answer->size = at + size;
    return answer->bytes + at;
}

static PSID place_sid(struct answer *answer, const struct nt_sid *sid)
{
    size_t size = nt_sid_size(sid->bytes);
    unsigned char *at = claim(answer, size);
    memcpy(at, sid->bytes, size);
    return answer->base + (at - answer->bytes);
}

static void put_dword(struct answer *answer, DWORD value)
{
    *(DWORD *)claim(answer, sizeof value) = value;
}

static void put_sid_pointer(struct answer *answer, const struct nt_sid *sid)
{
    PSID *pointer = claim(answer, sizeof *pointer);
    *pointer = sid == NULL ? NULL : place_sid(answer, sid);
}

static void put_user(struct answer *answer, const struct nt_sid *sid, DWORD attributes)
{
    SID_AND_ATTRIBUTES *row = claim(answer, sizeof *row);
    row->Attributes = attributes;
    row->Sid = place_sid(answer, sid);
}

static struct nt_group label_group(const struct nt_token *token)
{
    struct nt_group label = {.attributes = LABEL_FLAGS};
    (void)nt_sid_parse("S-1-16-0", &label.sid);
    memcpy(label.sid.bytes + 8, &token->integrity, sizeof token->integrity);
    return label;
}

static void put_groups(struct answer *answer, const struct nt_token *token,
                       const struct nt_group *groups, size_t count)
{
    TOKEN_GROUPS *list =
        claim(answer, offsetof(TOKEN_GROUPS, Groups) + count * sizeof(SID_AND_ATTRIBUTES));
    list->GroupCount = (DWORD)count;
    for (size_t i = 0; i < count; i++) {
        struct nt_group group = groups[i];
        if ((group.attributes & SE_GROUP_INTEGRITY) != 0) {
            group = label_group(token);
        }
        list->Groups[i].Attributes = group.attributes;
        list->Groups[i].Sid = place_sid(answer, &group.sid);
    }
}

static void put_privileges(struct answer *answer, const struct nt_token *token)
{
    TOKEN_PRIVILEGES *list =
        claim(answer, offsetof(TOKEN_PRIVILEGES, Privileges) +
                          token->privilege_count * sizeof(LUID_AND_ATTRIBUTES));
    list->PrivilegeCount = (DWORD)token->privilege_count;
    for (size_t i = 0; i < token->privilege_count; i++) {
        list->Privileges[i].Luid = token->privileges[i].id;
        list->Privileges[i].Attributes = token->privileges[i].attributes;
    }
}

static void put_default_dacl(struct answer *answer, const struct nt_token *token)
{
    TOKEN_DEFAULT_DACL *list = claim(answer, sizeof *list);
    if (token->default_dacl_size > 0) {
        unsigned char *at = claim(answer, token->default_dacl_size);
        memcpy(at, token->default_dacl, token->default_dacl_size);
        list->DefaultDacl = (PACL)(void *)(answer->base + (at - answer->bytes));
    }
}

static void put_logon(struct answer *answer, const struct nt_token *token)
{
    for (size_t i = 0; i < token->group_count; i++) {
        if ((token->groups[i].attributes & SE_GROUP_LOGON_ID) == SE_GROUP_LOGON_ID) {
            put_groups(answer, token, &token->groups[i], 1);
            return;
        }
    }
    put_groups(answer, token, NULL, 0);
}

static void put_statistics(struct answer *answer, const struct nt_token_object *object)
{
    TOKEN_STATISTICS *all = claim(answer, sizeof *all);
    all->TokenId.LowPart = (DWORD)object->id;
    all->AuthenticationId.LowPart = 0x4812B;
    all->TokenType = object->token.is_primary ? TokenPrimary : TokenImpersonation;
    all->ImpersonationLevel = (SECURITY_IMPERSONATION_LEVEL)object->token.impersonation_level;
    all->GroupCount = (DWORD)object->token.group_count;
    all->PrivilegeCount = (DWORD)object->token.privilege_count;
}

/* Those that are one number. */
static bool put_number(struct answer *answer, const struct nt_token *token, int which)
{
    switch (which) {
    case TokenType:
        put_dword(answer, token->is_primary ? TokenPrimary : TokenImpersonation);
        return true;
    case TokenImpersonationLevel:
        put_dword(answer, token->impersonation_level);
        return true;
    case TokenSessionId:
        put_dword(answer, token->session);
        return true;
    case TokenSandBoxInert:
    case TokenUIAccess:
        put_dword(answer, 0);
        return true;
    case TokenElevationType:
        put_dword(answer, token->is_elevated ? TokenElevationTypeFull : TokenElevationTypeDefault);
        return true;
    case TokenElevation:
        put_dword(answer, token->is_elevated ? 1 : 0);
        return true;
    case TokenHasRestrictions:
        put_dword(answer, token->restricted_count > 0 || token->is_appcontainer ? 1 : 0);
        return true;
    case TOKEN_RESTRICTED_CLASS:
        put_dword(answer, token->restricted_count > 0 ? 1 : 0);
        return true;
    case TokenMandatoryPolicy:
        put_dword(answer, token->mandatory_policy);
        return true;
    case TokenIsAppContainer:
        put_dword(answer, token->is_appcontainer ? 1 : 0);
        return true;
    case TokenAppContainerNumber:
        put_dword(answer, token->is_appcontainer ? 1 : 0);
        return true;
    case TOKEN_LPAC_CLASS:
        put_dword(answer, token->is_lpac ? 1 : 0);
        return true;
    default:
        return false;
    }
}

static bool put_answer(struct answer *answer, const struct nt_token_object *object, int which)
{
    const struct nt_token *token = &object->token;
    struct nt_group label = label_group(token);
    switch (which) {
    case TokenUser:
        put_user(answer, &token->user, token->user_deny_only ? SE_GROUP_USE_FOR_DENY_ONLY : 0);
        return true;
    case TokenGroups:
        put_groups(answer, token, token->groups, token->group_count);
        return true;
    case TokenPrivileges:
        put_privileges(answer, token);
        return true;
    case TokenOwner:
        put_sid_pointer(answer, &token->owner);
        return true;
    case TokenPrimaryGroup:
        put_sid_pointer(answer, &token->primary_group);
        return true;
    case TokenDefaultDacl:
        put_default_dacl(answer, token);
        return true;
    case TokenStatistics:
        put_statistics(answer, object);
        return true;
    case TokenRestrictedSids:
        put_groups(answer, token, token->restricted, token->restricted_count);
        return true;
    case TokenIntegrityLevel:
        put_user(answer, &label.sid, label.attributes);
        return true;
    case TokenLogonSid:
        put_logon(answer, token);
        return true;
    case TokenCapabilities:
        put_groups(answer, token, token->capabilities, token->capability_count);
        return true;
    case TokenAppContainerSid:
        put_sid_pointer(answer, token->is_appcontainer ? &token->package : NULL);
        return true;
    default:
        return put_number(answer, token, which);
    }
}

BOOL WINAPI nt_GetTokenInformation(HANDLE handle, TOKEN_INFORMATION_CLASS which, LPVOID out,
                                   DWORD size, PDWORD returned)
{
    const struct nt_token_object *object = nt_handle_get(handle, NT_TOKEN, TOKEN_QUERY);
    if (object == NULL) {
        return FALSE;
    }
    struct answer *answer = nt_alloc(sizeof *answer);
    answer->base = out;
    BOOL done = FALSE;
    DWORD code = ERROR_INVALID_PARAMETER;
    if (put_answer(answer, object, (int)which)) {
        *returned = (DWORD)answer->size;
        done = answer->size <= size && out != NULL;
        code = answer->size == sizeof(DWORD) && size > 0 ? ERROR_BAD_LENGTH
                                                         : ERROR_INSUFFICIENT_BUFFER;
    }
    if (done) {
        memcpy(out, answer->bytes, answer->size);
    }
    free(answer);
    return done ? TRUE : nt_fail(code);
}

/* ---- changing ------------------------------------------------------------------------------------------- */

static BOOL set_integrity(struct nt_token *token, const TOKEN_MANDATORY_LABEL *label, DWORD size)
{
    static const BYTE authority[8] = {SID_REVISION, 1, 0, 0, 0, 0, 0, 16};
    if (size < sizeof *label || label->Label.Sid == NULL ||
        (label->Label.Attributes & SE_GROUP_INTEGRITY) == 0 ||
        memcmp(label->Label.Sid, authority, sizeof authority) != 0) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    DWORD level;
    memcpy(&level, (const BYTE *)label->Label.Sid + 8, sizeof level);
    if (level > token->integrity && !nt_token_has_privilege(&nt_process_now()->token->token, 7)) {
        return nt_fail(ERROR_PRIVILEGE_NOT_HELD);
    }
    token->integrity = level;
    return TRUE;
}

static BOOL set_default_dacl(struct nt_token *token, const TOKEN_DEFAULT_DACL *list, DWORD size)
{
    if (size < sizeof *list) {
        return nt_fail(ERROR_BAD_LENGTH);
    }
    size_t bytes = list->DefaultDacl == NULL ? 0 : list->DefaultDacl->AclSize;
    if (bytes > sizeof token->default_dacl) {
        return nt_fail(ERROR_ALLOTTED_SPACE_EXCEEDED);
    }
    if (bytes > 0) {
        memcpy(token->default_dacl, list->DefaultDacl, bytes);
    }
    token->default_dacl_size = bytes;
    return TRUE;
}

BOOL WINAPI nt_SetTokenInformation(HANDLE handle, TOKEN_INFORMATION_CLASS which, LPVOID value,
                                   DWORD size)
{
    struct nt_token_object *object = nt_handle_get(handle, NT_TOKEN, TOKEN_ADJUST_DEFAULT);
    if (object == NULL) {
        return FALSE;
    }
    switch ((int)which) {
    case TokenIntegrityLevel:
        return set_integrity(&object->token, value, size);
    case TokenDefaultDacl:
        return set_default_dacl(&object->token, value, size);
    case TokenSessionId:
    case TokenMandatoryPolicy:
    case TokenUIAccess:
        return nt_fail(ERROR_PRIVILEGE_NOT_HELD);
    default:
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
}

/* Names are the same in every Windows; the system's own are used. */
BOOL WINAPI nt_LookupPrivilegeNameW(LPCWSTR system, PLUID id, LPWSTR name, LPDWORD size)
{
    return LookupPrivilegeNameW(system, id, name, size);
}

BOOL WINAPI nt_AccessCheck(PSECURITY_DESCRIPTOR descriptor, HANDLE handle, DWORD access,
                           PGENERIC_MAPPING mapping, PPRIVILEGE_SET privileges,
                           LPDWORD privileges_size, LPDWORD granted, LPBOOL status)
{
    const struct nt_token_object *object = nt_handle_get(handle, NT_TOKEN, TOKEN_QUERY);
    if (object == NULL) {
        return FALSE;
    }
    if (object->token.is_primary) {
        return nt_fail(ERROR_NO_IMPERSONATION_TOKEN);
    }
    if (object->token.impersonation_level < SecurityIdentification) {
        return nt_fail(ERROR_BAD_IMPERSONATION_LEVEL);
    }
    if ((access & (GENERIC_ALL | GENERIC_READ | GENERIC_WRITE | GENERIC_EXECUTE)) != 0) {
        return nt_fail(ERROR_GENERIC_NOT_MAPPED);
    }
    if (*privileges_size < sizeof(PRIVILEGE_SET)) {
        *privileges_size = sizeof(PRIVILEGE_SET);
        return nt_fail(ERROR_INSUFFICIENT_BUFFER);
    }
    PSID owner = NULL;
    PSID group = NULL;
    BOOL is_default;
    if (!IsValidSecurityDescriptor(descriptor) ||
        !GetSecurityDescriptorOwner(descriptor, &owner, &is_default) || owner == NULL ||
        !GetSecurityDescriptorGroup(descriptor, &group, &is_default) || group == NULL) {
        return nt_fail(ERROR_INVALID_SECURITY_DESCR);
    }
    size_t size;
    unsigned char *flat = nt_self_relative(descriptor, &size);
    memset(privileges, 0, sizeof *privileges);
    *granted = 0;
    *status = nt_access_check(&object->token, flat, access, mapping, granted);
    free(flat);
    if (!*status) {
        SetLastError(ERROR_ACCESS_DENIED);
    }
    return TRUE;
}
