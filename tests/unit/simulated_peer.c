/* Clients of the service (win/peer.h) whose tokens say what Wine's never say: boxed, low, restricted, remote; and calls that fail.
 * Proves how we react, not that Windows answers so. */
#include <windows.h>

#include <string.h>

#include "tests/check.h"
#include "win/handle.h"
#include "win/peer.h"
#include "win/sid.h"

#include "common/base/banned.h"

static struct sbx_winapi real;
static struct sbx_err err;

static struct {
    DWORD integrity;
    DWORD is_appcontainer;
    BOOL is_restricted;
    DWORD restricted_error;
    SECURITY_IMPERSONATION_LEVEL level;
    PSID group; /* the only one besides INTERACTIVE; NULL: none */
    PSID user;
    DWORD session;
    TOKEN_INFORMATION_CLASS broken; /* this question fails; 0: none */
    bool fails_to_impersonate, fails_to_open, fails_to_revert, fails_to_copy;
    unsigned reverted, ended;
} said;

static void reset(void)
{
    static struct sbx_sid person;
    CHECK(sbx_sid_parse("S-1-5-21-1-2-3-1001", &person));
    memset(&said, 0, sizeof said);
    said.integrity = 0x2000;
    said.level = SecurityImpersonation;
    said.user = &person;
    said.session = 1;
}

static BOOL give(LPVOID out, DWORD size, PDWORD returned, const void *value, DWORD value_size)
{
    *returned = value_size;
    if (size < value_size) {
        SetLastError(ERROR_INSUFFICIENT_BUFFER);
        return FALSE;
    }
    memcpy(out, value, value_size);
    return TRUE;
}

static BOOL WINAPI ask(HANDLE token, TOKEN_INFORMATION_CLASS which, LPVOID out, DWORD size,
                       PDWORD returned)
{
    static struct sbx_sid label;
    struct {
        DWORD count;
        SID_AND_ATTRIBUTES groups[2];
    } groups = {
        2,
        {{sbx_sid_known(SBX_SID_INTERACTIVE), SE_GROUP_ENABLED}, {said.group, SE_GROUP_ENABLED}}};
    if (which == said.broken) {
        SetLastError(ERROR_INVALID_FUNCTION);
        return FALSE;
    }
    if (which == TokenIntegrityLevel) {
        char text[32];
        sbx_text_format(text, sizeof text, "S-1-16-%lu", said.integrity);
        TOKEN_MANDATORY_LABEL value = {.Label.Sid = &label};
        return sbx_sid_parse(text, &label) && give(out, size, returned, &value, sizeof value);
    }
    if (which == TokenUser) {
        TOKEN_USER value = {.User.Sid = said.user};
        return give(out, size, returned, &value, sizeof value);
    }
    if (which == TokenGroups) {
        groups.count = said.group == NULL ? 1 : 2;
        return give(out, size, returned, &groups, sizeof groups);
    }
    if (which == TokenIsAppContainer) {
        return give(out, size, returned, &said.is_appcontainer, sizeof said.is_appcontainer);
    }
    if (which == TokenImpersonationLevel) {
        return give(out, size, returned, &said.level, sizeof said.level);
    }
    if (which == TokenSessionId) {
        return give(out, size, returned, &said.session, sizeof said.session);
    }
    return real.GetTokenInformation(token, which, out, size, returned);
}

static BOOL WINAPI is_restricted(HANDLE token)
{
    (void)token;
    if (said.restricted_error != 0) {
        SetLastError(said.restricted_error);
    }
    return said.is_restricted;
}

static BOOL fail_if(bool is_so)
{
    if (is_so) {
        SetLastError(ERROR_CANNOT_IMPERSONATE);
    }
    return !is_so;
}

static BOOL WINAPI impersonate(HANDLE pipe)
{
    (void)pipe;
    return fail_if(said.fails_to_impersonate);
}

static BOOL WINAPI open_token(HANDLE thread, DWORD access, BOOL self, PHANDLE out)
{
    (void)thread;
    CHECK(self); /* with the service's rights, not the client's */
    return fail_if(said.fails_to_open) && OpenProcessToken(GetCurrentProcess(), access, out);
}

static BOOL WINAPI revert(void)
{
    said.reverted++;
    return fail_if(said.fails_to_revert);
}

static BOOL WINAPI end_process(HANDLE process, UINT code)
{
    CHECK(process == GetCurrentProcess() && code != 0);
    said.ended++;
    return TRUE;
}

static BOOL WINAPI copy(HANDLE token, DWORD access, LPSECURITY_ATTRIBUTES security,
                        SECURITY_IMPERSONATION_LEVEL level, TOKEN_TYPE type, PHANDLE out)
{
    CHECK(type == TokenPrimary);
    return fail_if(said.fails_to_copy) &&
           real.DuplicateTokenEx(token, access, security, level, type, out);
}

static BOOL WINAPI client_process(HANDLE pipe, PULONG id)
{
    (void)pipe;
    *id = 55;
    return TRUE;
}

const struct sbx_winapi *sbx_win(void)
{
    static struct sbx_winapi table;
    if (table.CloseHandle == NULL) {
        sbx_winapi_load(&real);
        table = real;
        table.GetTokenInformation = ask;
        table.IsTokenRestricted = is_restricted;
        table.ImpersonateNamedPipeClient = impersonate;
        table.OpenThreadToken = open_token;
        table.RevertToSelf = revert;
        table.TerminateProcess = end_process;
        table.DuplicateTokenEx = copy;
        table.GetNamedPipeClientProcessId = client_process;
    }
    return &table;
}

/* ---- cases -------------------------------------------------------------------------------------- */

/* Only a welcome client has a token that something could be started with. */
static void check(enum sbx_peer_verdict want)
{
    struct sbx_peer peer = {0};
    err = (struct sbx_err){0};
    CHECK_CODE(sbx_peer_identify((HANDLE)0x10, &peer, &err), SBX_OK, &err);
    CHECK_INT(sbx_peer_judge(&peer.facts), want);
    CHECK((peer.token != NULL) == (want == SBX_PEER_WELCOME));
    CHECK_U64(peer.process, 55);
    CHECK_U64(said.reverted, 1);
    CHECK_U64(said.ended, 0);
    sbx_peer_release(&peer);
}

static void a_person_is_welcome(void)
{
    reset();
    check(SBX_PEER_WELCOME);
}

static void tokens_of_sandboxes_are_refused(void)
{
    reset();
    said.is_appcontainer = 1;
    check(SBX_PEER_BOXED);
    reset();
    said.is_restricted = TRUE;
    check(SBX_PEER_RESTRICTED);
    reset();
    said.integrity = 0x1000;
    check(SBX_PEER_LOW);
    reset();
    said.integrity = 0;
    check(SBX_PEER_LOW);
}

static void others_than_people_at_the_machine_are_refused(void)
{
    reset();
    said.group = sbx_sid_known(SBX_SID_NETWORK);
    check(SBX_PEER_NETWORK);
    reset();
    said.group = sbx_sid_known(SBX_SID_GUESTS);
    check(SBX_PEER_GUEST);
    reset();
    said.group = sbx_sid_known(SBX_SID_ANONYMOUS);
    check(SBX_PEER_ANONYMOUS);
    reset();
    said.user = sbx_sid_known(SBX_SID_SYSTEM);
    check(SBX_PEER_SERVICE);
    reset();
    said.session = 0;
    check(SBX_PEER_SERVICE);
    reset();
    said.level = SecurityIdentification;
    check(SBX_PEER_IDENTIFIED);
}

static void a_question_that_is_not_answered_is_a_refusal(void)
{
    static const TOKEN_INFORMATION_CLASS questions[] = {
        TokenUser,           TokenGroups,         TokenPrivileges,
        TokenStatistics,     TokenElevationType,  TokenSessionId,
        TokenIntegrityLevel, TokenIsAppContainer, TokenImpersonationLevel};
    for (size_t i = 0; i < SBX_COUNT(questions); i++) {
        reset();
        said.broken = questions[i];
        check(SBX_PEER_UNKNOWN);
    }
    reset();
    said.restricted_error = ERROR_ACCESS_DENIED;
    check(SBX_PEER_UNKNOWN);
    reset();
    said.restricted_error = ERROR_INVALID_FUNCTION; /* a system that knows no such tokens */
    check(SBX_PEER_WELCOME);
}

static void a_call_that_fails_gives_out_nothing(void)
{
    bool *const faults[] = {&said.fails_to_impersonate, &said.fails_to_open, &said.fails_to_copy};
    static const char *const names[] = {"ImpersonateNamedPipeClient", "OpenThreadToken",
                                        "DuplicateTokenEx"};
    for (size_t i = 0; i < SBX_COUNT(faults); i++) {
        struct sbx_peer peer = {.process = 99};
        reset();
        *faults[i] = true;
        CHECK(sbx_peer_identify((HANDLE)0x10, &peer, &err) != SBX_OK);
        CHECK_TEXT(err.call, names[i]);
        CHECK(peer.process == 99 && peer.token == NULL);
        CHECK_U64(said.reverted, i == 0 ? 0 : 1);
    }
}

static void a_service_that_stays_somebody_else_ends(void)
{
    struct sbx_peer peer = {0};
    reset();
    said.fails_to_revert = true;
    (void)!sbx_peer_identify((HANDLE)0x10, &peer, &err);
    CHECK_U64(said.ended, 1);
    sbx_peer_release(&peer);
}

static const struct sbx_test tests[] = {
    {"a person is welcome", a_person_is_welcome},
    {"tokens of sandboxes are refused", tokens_of_sandboxes_are_refused},
    {"others than people at the machine are refused",
     others_than_people_at_the_machine_are_refused},
    {"a question that is not answered is a refusal", a_question_that_is_not_answered_is_a_refusal},
    {"a call that fails gives out nothing", a_call_that_fails_gives_out_nothing},
    {"a service that stays somebody else ends", a_service_that_stays_somebody_else_ends},
};
SBX_TEST_MAIN("simulated peer", tests)
