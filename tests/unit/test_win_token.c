/* Tokens on the real system: who calls, what a restricted token keeps, and that a system which accepts Low integrity
 * and does nothing is found out. */
#include <windows.h>

#include <sddl.h>
#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/win_fixture.h"
#include "win/handle.h"
#include "win/sid.h"
#include "win/token.h"

#include "common/base/banned.h"

enum { ALL_TOKEN = TOKEN_QUERY | TOKEN_DUPLICATE | TOKEN_ASSIGN_PRIMARY | TOKEN_ADJUST_DEFAULT };

static struct sbx_err err;

static HANDLE own_token(void)
{
    HANDLE token = NULL;
    CHECK(OpenProcessToken(GetCurrentProcess(), ALL_TOKEN, &token));
    return token;
}

/* By hand, so that the proof is not asked about what the same code made. */
static HANDLE restricted(struct sbx_arena *arena, const enum sbx_known_sid *closed, size_t count,
                         bool without_privileges)
{
    AUTO_HANDLE own = own_token();
    HANDLE made = NULL;
    SID_AND_ATTRIBUTES sids[8] = {{0}};
    TOKEN_PRIVILEGES *privileges = NULL;
    for (size_t i = 0; i < count; i++) {
        sids[i].Sid = sbx_sid_known(closed[i]);
    }
    CHECK_CODE(sbx_token_query(arena, own, TokenPrivileges, "privileges", &privileges, &err),
               SBX_OK, &err);
    CHECK(privileges->PrivilegeCount > 0);
    CHECK(CreateRestrictedToken(own, 0, (DWORD)count, sids,
                                without_privileges ? privileges->PrivilegeCount : 0,
                                privileges->Privileges, 0, NULL, &made));
    return made;
}

static const enum sbx_known_sid admins[] = {SBX_SID_ADMINISTRATORS};
static const enum sbx_known_sid users[] = {SBX_SID_ADMINISTRATORS, SBX_SID_USERS,
                                           SBX_SID_AUTHENTICATED_USERS};

/* ---- who calls --------------------------------------------------------------------------------- */

static void the_caller_is_the_systems(void)
{
    WIN_ARENA(arena);
    struct sbx_caller caller;
    DWORD session;
    AUTO_HANDLE token = own_token();
    TOKEN_USER *user = NULL;
    CHECK_CODE(sbx_token_caller(&arena, &caller, &err), SBX_OK, &err);
    CHECK_CODE(sbx_token_query(&arena, token, TokenUser, "user", &user, &err), SBX_OK, &err);
    CHECK(EqualSid(caller.user, user->User.Sid));
    CHECK(ProcessIdToSessionId(GetCurrentProcessId(), &session));
    CHECK_U64(caller.session, session);
    CHECK(!caller.is_appcontainer);
    CHECK(caller.integrity >= SECURITY_MANDATORY_MEDIUM_RID);
}

static void a_query_that_fails_names_itself(void)
{
    WIN_ARENA(arena);
    void *out = &arena;
    CHECK_CODE(sbx_token_query(&arena, NULL, TokenUser, "user", &out, &err), SBX_E_INVALID, &err);
    CHECK_TEXT(err.call, "GetTokenInformation");
    CHECK_INT(err.raw, ERROR_INVALID_HANDLE);
    CHECK(strstr(err.text, "cannot read the user of a token") != NULL);
    CHECK(out == &arena); /* untouched */
}

static void without_memory_nothing_is_said(void)
{
    AUTO_ARENA small;
    sbx_arena_init(&small, 64);
    AUTO_HANDLE token = own_token();
    void *out = NULL;
    CHECK_CODE(sbx_token_query(&small, token, TokenGroups, "groups", &out, &err), SBX_E_NOMEM,
               &err);
    CHECK(out == NULL);
}

/* ---- proofs of tokens made by hand ------------------------------------------------------------- */

static const struct sbx_evidence *only(const struct sbx_evidence_list *list)
{
    static const struct sbx_evidence none = {"nothing", "", "", false};
    return CHECK_U64(list->count, 1) ? &list->items[0] : &none;
}

static void groups(HANDLE token, struct sbx_arena *arena, enum sbx_rung rung, bool want,
                   const char *got)
{
    struct sbx_evidence_list list;
    sbx_evidence_init(&list, arena);
    sbx_token_prove_groups(&list, token, rung);
    const struct sbx_evidence *item = only(&list);
    CHECK_TEXT(item->what, "token.groups");
    CHECK(item->ok == want);
    CHECK_TEXT(item->got, got);
}

static void deny_only_groups_are_proven(void)
{
    WIN_ARENA(arena);
    AUTO_HANDLE own = own_token();
    AUTO_HANDLE no_admins = restricted(&arena, admins, SBX_COUNT(admins), false);
    AUTO_HANDLE no_users = restricted(&arena, users, SBX_COUNT(users), false);
    groups(own, &arena, SBX_RUNG_NO_ADMINS, false, "S-1-5-32-544 is not");
    groups(no_admins, &arena, SBX_RUNG_NO_ADMINS, true, "administrators deny-only");
    groups(no_users, &arena, SBX_RUNG_NO_ADMINS, true, "administrators deny-only");
    groups(no_users, &arena, SBX_RUNG_NO_USERS, true, "administrators and users deny-only");
    struct sbx_evidence_list list;
    sbx_evidence_init(&list, &arena);
    sbx_token_prove_groups(&list, no_admins, SBX_RUNG_NO_USERS);
    CHECK(!only(&list)->ok); /* one of the two is still open */
    CHECK_CODE(sbx_evidence_verdict(&list, &err), SBX_E_VERIFY, &err);
}

static void privileges_are_proven(void)
{
    WIN_ARENA(arena);
    AUTO_HANDLE own = own_token();
    AUTO_HANDLE none = restricted(&arena, NULL, 0, true);
    struct sbx_evidence_list list;
    sbx_evidence_init(&list, &arena);
    sbx_token_prove_privileges(&list, own);
    CHECK(!only(&list)->ok);
    CHECK(strstr(list.items[0].got, " others") != NULL);
    sbx_evidence_init(&list, &arena);
    sbx_token_prove_privileges(&list, none);
    CHECK(only(&list)->ok);
}

/* SeChangeNotify alone is what every box has. */
static void change_notify_may_stay(void)
{
    WIN_ARENA(arena);
    AUTO_HANDLE own = own_token();
    AUTO_HANDLE made = NULL;
    TOKEN_PRIVILEGES *all = NULL;
    DWORD count = 0;
    CHECK_CODE(sbx_token_query(&arena, own, TokenPrivileges, "privileges", &all, &err), SBX_OK,
               &err);
    for (DWORD i = 0; i < all->PrivilegeCount; i++) {
        if (all->Privileges[i].Luid.LowPart != 23) {
            all->Privileges[count++] = all->Privileges[i];
        }
    }
    CHECK_U64(count + 1, all->PrivilegeCount);
    CHECK(CreateRestrictedToken(own, 0, 0, NULL, count, all->Privileges, 0, NULL, &made));
    struct sbx_evidence_list list;
    sbx_evidence_init(&list, &arena);
    sbx_token_prove_privileges(&list, made);
    CHECK(only(&list)->ok);
    TOKEN_PRIVILEGES *left = NULL;
    CHECK_CODE(sbx_token_query(&arena, made, TokenPrivileges, "privileges", &left, &err), SBX_OK,
               &err);
    CHECK_U64(left->PrivilegeCount, 1);
}

static void what_cannot_be_asked_differs(void)
{
    WIN_ARENA(arena);
    struct sbx_evidence_list list;
    sbx_evidence_init(&list, &arena);
    sbx_token_prove_integrity(&list, NULL);
    sbx_token_prove_groups(&list, NULL, SBX_RUNG_NO_USERS);
    sbx_token_prove_privileges(&list, NULL);
    CHECK_U64(list.count, 3);
    for (size_t i = 0; i < list.count; i++) {
        CHECK(!list.items[i].ok);
        /* Wine tells the same level for everything, also for no token at all. */
        CHECK(i == 0 || strstr(list.items[i].got, "cannot read") != NULL);
    }
}

/* ---- what deny-only means ---------------------------------------------------------------------- */

static bool may_open(HANDLE token, const wchar_t *name)
{
    AUTO_HANDLE copy = NULL;
    CHECK(DuplicateTokenEx(token, TOKEN_QUERY | TOKEN_IMPERSONATE, NULL, SecurityImpersonation,
                           TokenImpersonation, &copy));
    CHECK(ImpersonateLoggedOnUser(copy));
    AUTO_HANDLE event = OpenEventW(EVENT_MODIFY_STATE, FALSE, name);
    DWORD raw = GetLastError();
    CHECK(RevertToSelf());
    CHECK(event != NULL || raw == ERROR_ACCESS_DENIED);
    return event != NULL;
}

static void a_proven_token_is_really_kept_out(void)
{
    static const wchar_t name[] = L"Local\\sbx-test-administrators-only";
    WIN_ARENA(arena);
    AUTO_HANDLE own = own_token();
    AUTO_HANDLE closed = restricted(&arena, admins, SBX_COUNT(admins), false);
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = NULL;
    CHECK(ConvertStringSecurityDescriptorToSecurityDescriptorW(L"D:P(A;;GA;;;BA)", SDDL_REVISION_1,
                                                               &descriptor, NULL));
    SECURITY_ATTRIBUTES security = {sizeof security, descriptor, FALSE};
    AUTO_HANDLE event = CreateEventW(&security, TRUE, FALSE, name);
    CHECK(event != NULL);
    CHECK(may_open(own, name));
    CHECK(!may_open(closed, name));
}

/* ---- Low --------------------------------------------------------------------------------------- */

/* The level stays High here although every call succeeds. Nothing but the reading back can tell. */
static void accepted_is_not_done(void)
{
    WIN_ARENA(arena);
    AUTO_HANDLE own = own_token();
    struct sbx_caller caller;
    CHECK_CODE(sbx_token_caller(&arena, &caller, &err), SBX_OK, &err);
    if (caller.integrity != SECURITY_MANDATORY_HIGH_RID) {
        sbx_test_skip("wine", "this system may keep integrity levels: its selftest shows them");
        return;
    }
    AUTO_HANDLE copy = NULL;
    CHECK(DuplicateTokenEx(own, ALL_TOKEN, NULL, SecurityImpersonation, TokenPrimary, &copy));
    CHECK_CODE(sbx_token_lower(&arena, copy, &err), SBX_E_VERIFY, &err);
    CHECK_TEXT(err.text, "verification-failed: token.integrity should be 0x1000 but is 0x3000 "
                         "(S-1-16-12288); nothing was run");
}

static void restricting_refuses_and_leaves_nothing(void)
{
    for (int rung = 0; rung < SBX_RUNG_COUNT; rung++) {
        size_t before = 0;
        for (int round = 0; round < 4; round++) {
            WIN_ARENA(arena);
            HANDLE out = (HANDLE)(ULONG_PTR)0x5a5a;
            CHECK_CODE(sbx_token_restrict(&arena, (enum sbx_rung)rung, &out, &err), SBX_E_VERIFY,
                       &err);
            CHECK(strstr(err.text, "token.integrity should be 0x1000 but is 0x3000") != NULL);
            CHECK(out == (HANDLE)(ULONG_PTR)0x5a5a);
            if (round == 0) {
                before = win_open_handles();
            }
        }
        CHECK_U64(win_open_handles(), before);
    }
    /* And a handle that is left is seen. */
    size_t before = win_open_handles();
    HANDLE left = CreateEventW(NULL, TRUE, FALSE, NULL);
    CHECK_U64(win_open_handles(), before + 1);
    CHECK(CloseHandle(left));
}

static const struct sbx_test tests[] = {
    {"the caller is whom the system says", the_caller_is_the_systems},
    {"a query that fails names itself and changes nothing", a_query_that_fails_names_itself},
    {"without memory a query fails", without_memory_nothing_is_said},
    {"deny-only groups are accepted, open ones are named", deny_only_groups_are_proven},
    {"a token without privileges is accepted, one with them is not", privileges_are_proven},
    {"SeChangeNotify may stay", change_notify_may_stay},
    {"what cannot be asked counts as different", what_cannot_be_asked_differs},
    {"a token that passes the proof is really kept out of what administrators may open",
     a_proven_token_is_really_kept_out},
    {"Low integrity that was accepted and not applied is refused", accepted_is_not_done},
    {"a restricted token is refused here at every rung, and nothing is left",
     restricting_refuses_and_leaves_nothing},
};

ACTOR_TEST_MAIN("tokens", tests)
