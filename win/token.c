/* Tokens: who calls, and the restricted token of a box, made and proven. */
#include "win/token.h"

#include <string.h>

#include "win/fault.h"
#include "win/handle.h"
#include "win/sid.h"

#include "common/base/banned.h"

/* Numbers that Windows has given these privileges for good; not in every header. */
enum { PRIVILEGE_CHANGE_NOTIFY = 23, PRIVILEGE_WORKING_SET = 33 };

const struct sbx_name sbx_rung_names[] = {
    {SBX_RUNG_NO_USERS, "users-denied"}, {SBX_RUNG_NO_ADMINS, "administrators-denied"}, {0, NULL}};

/* ---- who calls ------------------------------------------------------------------------------- */

static enum sbx_code query_number(struct sbx_arena *arena, HANDLE token,
                                  TOKEN_INFORMATION_CLASS which, const char *what, DWORD *out,
                                  struct sbx_err *err)
{
    DWORD *number = NULL;
    enum sbx_code code = sbx_token_query(arena, token, which, what, &number, err);
    if (code == SBX_OK) {
        *out = *number;
    }
    return code;
}

static enum sbx_code open_own(HANDLE *out, struct sbx_err *err)
{
    if (!sbx_win()->OpenProcessToken(sbx_win()->GetCurrentProcess(), TOKEN_QUERY, out)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "OpenProcessToken", "cannot tell who calls");
    }
    return SBX_OK;
}

enum sbx_code sbx_token_user(struct sbx_arena *arena, PSID *out, struct sbx_err *err)
{
    AUTO_HANDLE token = NULL;
    TOKEN_USER *user = NULL;
    enum sbx_code code = open_own(&token, err);
    if (code == SBX_OK) {
        code = sbx_token_query(arena, token, TokenUser, "user", &user, err);
    }
    if (code == SBX_OK) {
        *out = user->User.Sid;
    }
    return code;
}

enum sbx_code sbx_token_caller(struct sbx_arena *arena, struct sbx_caller *out, struct sbx_err *err)
{
    AUTO_HANDLE token = NULL;
    struct sbx_caller caller = {0};
    TOKEN_USER *user = NULL;
    TOKEN_MANDATORY_LABEL *label = NULL;
    DWORD is_appcontainer = 0;
    DWORD is_elevated = 0;
    enum sbx_code code = open_own(&token, err);
    if (code == SBX_OK) {
        code = sbx_token_query(arena, token, TokenUser, "user", &user, err);
    }
    if (code == SBX_OK) {
        code = sbx_token_query(arena, token, TokenIntegrityLevel, "integrity", &label, err);
    }
    if (code == SBX_OK) {
        code = query_number(arena, token, TokenIsAppContainer, "container", &is_appcontainer, err);
    }
    if (code == SBX_OK) {
        code = query_number(arena, token, TokenElevation, "elevation", &is_elevated, err);
    }
    if (code == SBX_OK) {
        code = query_number(arena, token, TokenSessionId, "session", &caller.session, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    caller.user = user->User.Sid;
    caller.integrity = sbx_sid_last(label->Label.Sid);
    caller.is_appcontainer = is_appcontainer != 0;
    caller.is_elevated = is_elevated != 0;
    *out = caller;
    return SBX_OK;
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool is_closed(PSID group, enum sbx_rung rung)
{
    bool is_users =
        sbx_sid_is(group, SBX_SID_USERS) || sbx_sid_is(group, SBX_SID_AUTHENTICATED_USERS);
    return sbx_sid_is_admin_group(group) || (rung == SBX_RUNG_NO_USERS && is_users);
}

/* Only what the token has: a SID that is not there would be accepted and mean nothing. */
static enum sbx_code groups_to_close(struct sbx_arena *arena, HANDLE token, enum sbx_rung rung,
                                     SID_AND_ATTRIBUTES **out, DWORD *count, struct sbx_err *err)
{
    TOKEN_GROUPS *groups;
    enum sbx_code code = sbx_token_query(arena, token, TokenGroups, "groups", &groups, err);
    if (code != SBX_OK) {
        return code;
    }
    SID_AND_ATTRIBUTES *closed = SBX_NEW_ARRAY(arena, SID_AND_ATTRIBUTES, groups->GroupCount);
    if (closed == NULL) {
        return sbx_err_nomem(err);
    }
    DWORD found = 0;
    for (DWORD i = 0; i < groups->GroupCount; i++) {
        if (is_closed(groups->Groups[i].Sid, rung)) {
            closed[found++].Sid = groups->Groups[i].Sid; /* attributes must be 0 here */
        }
    }
    *out = closed;
    *count = found;
    return SBX_OK;
}

static enum sbx_code check(struct sbx_arena *arena, HANDLE token, enum sbx_rung rung,
                           struct sbx_err *err)
{
    struct sbx_evidence_list list;
    sbx_evidence_init(&list, arena);
    sbx_token_prove_privileges(&list, token);
    sbx_token_prove_groups(&list, token, rung);
    return sbx_evidence_verdict(&list, err);
}

enum sbx_code sbx_token_restrict(struct sbx_arena *arena, enum sbx_rung rung, HANDLE *out,
                                 struct sbx_err *err)
{
    AUTO_HANDLE own = NULL;
    AUTO_HANDLE made = NULL;
    SID_AND_ATTRIBUTES *closed = NULL;
    DWORD count = 0;
    /* TOKEN_ADJUST_DEFAULT: without it the integrity level cannot be set (error 5). */
    if (!sbx_win()->OpenProcessToken(
            sbx_win()->GetCurrentProcess(),
            TOKEN_QUERY | TOKEN_DUPLICATE | TOKEN_ASSIGN_PRIMARY | TOKEN_ADJUST_DEFAULT, &own)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "OpenProcessToken", "cannot open the caller's token");
    }
    enum sbx_code code = groups_to_close(arena, own, rung, &closed, &count, err);
    if (code != SBX_OK) {
        return code;
    }
    if (!sbx_win()->CreateRestrictedToken(own, DISABLE_MAX_PRIVILEGE, count, closed, 0, NULL, 0,
                                          NULL, &made)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateRestrictedToken", "cannot restrict the token");
    }
    code = sbx_token_lower(arena, made, err);
    if (code == SBX_OK) {
        code = check(arena, made, rung, err);
    }
    if (code == SBX_OK) {
        *out = SBX_TAKE(made, NULL);
    }
    return code;
}

/* ---- proving --------------------------------------------------------------------------------- */

void sbx_token_prove_groups(struct sbx_evidence_list *list, HANDLE token, enum sbx_rung rung)
{
    TOKEN_GROUPS *groups;
    struct sbx_err err;
    const char *wanted = rung == SBX_RUNG_NO_USERS ? "administrators and users deny-only"
                                                   : "administrators deny-only";
    if (sbx_token_query(list->arena, token, TokenGroups, "groups", &groups, &err) != SBX_OK) {
        sbx_evidence_add(list, "token.groups", wanted, err.text, false);
        return;
    }
    for (DWORD i = 0; i < groups->GroupCount; i++) {
        const SID_AND_ATTRIBUTES *group = &groups->Groups[i];
        bool is_open = (group->Attributes & SE_GROUP_ENABLED) != 0 ||
                       (group->Attributes & SE_GROUP_USE_FOR_DENY_ONLY) == 0;
        if (is_closed(group->Sid, rung) && is_open) {
            const char *got =
                sbx_arena_printf(list->arena, "%s is not", sbx_sid_text(list->arena, group->Sid));
            sbx_evidence_add(list, "token.groups", wanted, got == NULL ? "?" : got, false);
            return;
        }
    }
    sbx_evidence_add(list, "token.groups", wanted, wanted, true);
}

void sbx_token_prove_privileges(struct sbx_evidence_list *list, HANDLE token)
{
    TOKEN_PRIVILEGES *privileges;
    struct sbx_err err;
    static const char wanted[] = "at most ChangeNotify and IncreaseWorkingSet";
    if (sbx_token_query(list->arena, token, TokenPrivileges, "privileges", &privileges, &err) !=
        SBX_OK) {
        sbx_evidence_add(list, "token.privileges", wanted, err.text, false);
        return;
    }
    DWORD others = 0;
    for (DWORD i = 0; i < privileges->PrivilegeCount; i++) {
        LUID id = privileges->Privileges[i].Luid;
        bool is_harmless = id.HighPart == 0 && (id.LowPart == PRIVILEGE_CHANGE_NOTIFY ||
                                                id.LowPart == PRIVILEGE_WORKING_SET);
        others += is_harmless ? 0 : 1;
    }
    const char *got = others == 0 ? wanted : sbx_arena_printf(list->arena, "%lu others", others);
    sbx_evidence_add(list, "token.privileges", wanted, got == NULL ? "?" : got, others == 0);
}
