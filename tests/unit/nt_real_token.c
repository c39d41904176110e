/* Tokens of the running system: made by CreateRestrictedToken, read by GetTokenInformation. */
#include <windows.h>

#include <string.h>

#include "common/base/attr.h"
#include "tests/unit/nt_real_token.h"

#include "common/base/banned.h"

enum { SE_SECURITY = 8, SE_TAKE_OWNERSHIP = 9, INFORMATION_MAX = 16384 };

/* ---- making ------------------------------------------------------------------------------------ */

static bool set_privileges(HANDLE token, DWORD attributes)
{
    struct {
        DWORD count;
        LUID_AND_ATTRIBUTES rows[2];
    } state = {
        2, {{{.LowPart = SE_SECURITY}, attributes}, {{.LowPart = SE_TAKE_OWNERSHIP}, attributes}}};
    TOKEN_PRIVILEGES *privileges = (TOKEN_PRIVILEGES *)(void *)&state;
    return AdjustTokenPrivileges(token, FALSE, privileges, 0, NULL, NULL) != 0 &&
           GetLastError() == ERROR_SUCCESS;
}

static HANDLE disable_groups(HANDLE from, const char *const *texts, size_t count, PSID user)
{
    static struct nt_sid sids[4];
    SID_AND_ATTRIBUTES rows[4] = {{NULL, 0}};
    HANDLE token = NULL;
    for (size_t i = 0; i < count; i++) {
        (void)nt_sid_parse(texts[i], &sids[i]);
        rows[i].Sid = sids[i].bytes;
    }
    if (user != NULL) rows[count++].Sid = user;
    return CreateRestrictedToken(from, 0, (DWORD)count, rows, 0, NULL, 0, NULL, &token) ? token
                                                                                        : NULL;
}

/* The process' token with groups for deny only; `user` asks for its own SID too. */
static HANDLE restricted_version(HANDLE process, enum access_token which)
{
    static const char *const administrators[] = {"S-1-5-32-544"};
    static const char *const users[] = {"S-1-5-32-544", "S-1-5-32-545", "S-1-5-11"};
    static struct nt_token content;
    if (which == T_NO_USERS) return disable_groups(process, users, 3, NULL);
    if (which != T_USER_DENY_ONLY) return disable_groups(process, administrators, 1, NULL);
    if (!nt_real_token_read(process, &content)) return NULL;
    return disable_groups(process, administrators, 1, content.user.bytes);
}

static HANDLE impersonation_of(HANDLE token)
{
    HANDLE copy = NULL;
    return DuplicateTokenEx(token, TOKEN_ALL_ACCESS, NULL, SecurityImpersonation,
                            TokenImpersonation, &copy)
               ? copy
               : NULL;
}

static const char *why_not(enum access_token which)
{
    if (which >= T_BOX) return "Wine makes no lowbox tokens";
    if (which >= T_RESTRICTED) return "Wine heeds no restricting SIDs";
    if (which >= T_LOW) return "Wine has no integrity levels";
    if (which == T_SYSTEM) return "the process is not SYSTEM";
    if (which == T_DISABLED_GROUP) return "mandatory groups cannot be disabled";
    return NULL;
}

HANDLE nt_real_token_open(enum access_token which, const char **why)
{
    HANDLE process = NULL;
    HANDLE version = NULL;
    HANDLE token = NULL;
    *why = why_not(which);
    if (*why != NULL) return NULL;
    *why = "a token could not be made";
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_ALL_ACCESS, &process)) return NULL;
    bool is_admin = which == T_ADMIN || which == T_ADMIN_ARMED;
    if (!is_admin) version = restricted_version(process, which);
    if (is_admin || version != NULL) token = impersonation_of(is_admin ? process : version);
    if (token != NULL) {
        DWORD attributes = which == T_ADMIN_ARMED ? SE_PRIVILEGE_ENABLED : 0;
        if (!set_privileges(token, attributes)) {
            (void)CloseHandle(token);
            token = NULL;
        }
    }
    if (version != NULL) (void)CloseHandle(version);
    (void)CloseHandle(process);
    return token;
}

/* ---- reading ----------------------------------------------------------------------------------- */

static _Alignas(16) unsigned char information[INFORMATION_MAX];

static const void *query(HANDLE token, TOKEN_INFORMATION_CLASS what)
{
    DWORD size = 0;
    return GetTokenInformation(token, what, information, sizeof information, &size) ? information
                                                                                    : NULL;
}

static bool read_sids(HANDLE token, struct nt_token *out)
{
    const TOKEN_USER *user = query(token, TokenUser);
    if (user == NULL || !nt_sid_copy(user->User.Sid, &out->user)) return false;
    out->user_deny_only = (user->User.Attributes & SE_GROUP_USE_FOR_DENY_ONLY) != 0;
    const TOKEN_OWNER *owner = query(token, TokenOwner);
    if (owner == NULL || !nt_sid_copy(owner->Owner, &out->owner)) return false;
    const TOKEN_PRIMARY_GROUP *group = query(token, TokenPrimaryGroup);
    return group != NULL && nt_sid_copy(group->PrimaryGroup, &out->primary_group);
}

static bool read_groups(HANDLE token, struct nt_token *out)
{
    const TOKEN_GROUPS *groups = query(token, TokenGroups);
    if (groups == NULL || groups->GroupCount > NT_GROUPS_MAX) return false;
    for (DWORD i = 0; i < groups->GroupCount; i++) {
        struct nt_group *group = &out->groups[out->group_count++];
        group->attributes = groups->Groups[i].Attributes;
        if (!nt_sid_copy(groups->Groups[i].Sid, &group->sid)) return false;
    }
    return true;
}

static bool read_privileges(HANDLE token, struct nt_token *out)
{
    const TOKEN_PRIVILEGES *privileges = query(token, TokenPrivileges);
    if (privileges == NULL || privileges->PrivilegeCount > NT_PRIVILEGES_MAX) return false;
    for (DWORD i = 0; i < privileges->PrivilegeCount; i++) {
        out->privileges[out->privilege_count++] = (struct nt_privilege){
            privileges->Privileges[i].Luid, privileges->Privileges[i].Attributes};
    }
    return true;
}

static bool read_default_dacl(HANDLE token, struct nt_token *out)
{
    const TOKEN_DEFAULT_DACL *dacl = query(token, TokenDefaultDacl);
    if (dacl == NULL) return false;
    if (dacl->DefaultDacl == NULL) return true;
    if (dacl->DefaultDacl->AclSize > NT_DACL_MAX) return false;
    out->default_dacl_size = dacl->DefaultDacl->AclSize;
    memcpy(out->default_dacl, dacl->DefaultDacl, out->default_dacl_size);
    return true;
}

bool nt_real_token_read(HANDLE token, struct nt_token *out)
{
    *out = (struct nt_token){.mandatory_policy = TOKEN_MANDATORY_POLICY_NO_WRITE_UP};
    if (!read_sids(token, out) || !read_groups(token, out) || !read_privileges(token, out) ||
        !read_default_dacl(token, out)) {
        return false;
    }
    const TOKEN_MANDATORY_LABEL *label = query(token, TokenIntegrityLevel);
    if (label == NULL) return false;
    const unsigned char *sid = label->Label.Sid;
    memcpy(&out->integrity, sid + nt_sid_size(sid) - 4, 4);
    return true;
}
