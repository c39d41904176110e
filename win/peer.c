/* A client of the pipe, identified by impersonation. */
#include "win/peer.h"

#include <string.h>

#include "win/fault.h"
#include "win/handle.h"
#include "win/sid.h"
#include "win/token.h"

#include "common/base/banned.h"

enum { LOOK_ARENA = 4 << 20, STILL_SOMEBODY_ELSE = 70 };

/* ---- facts ------------------------------------------------------------------------------------ */

static bool query(struct sbx_arena *arena, HANDLE token, TOKEN_INFORMATION_CLASS which,
                  void *out_pointer)
{
    struct sbx_err ignored;
    return sbx_token_query(arena, token, which, "facts", out_pointer, &ignored) == SBX_OK;
}

static void hash_sid(struct sbx_sha256 *hash, PSID sid, DWORD attributes)
{
    DWORD kept = attributes & (SE_GROUP_ENABLED | SE_GROUP_USE_FOR_DENY_ONLY);
    DWORD len = GetLengthSid(sid);
    sbx_sha256_add(hash, &len, sizeof len);
    sbx_sha256_add(hash, sid, len);
    sbx_sha256_add(hash, &kept, sizeof kept);
}

static bool look_user(struct sbx_arena *arena, HANDLE token, struct sbx_peer *out,
                      struct sbx_sha256 *hash)
{
    TOKEN_USER *user = NULL;
    if (!query(arena, token, TokenUser, &user)) {
        return false;
    }
    PSID sid = user->User.Sid;
    sbx_text_format(out->user, sizeof out->user, "%s", sbx_sid_text(arena, sid));
    out->facts.is_anonymous = sbx_sid_is(sid, SBX_SID_ANONYMOUS);
    out->facts.is_service = sbx_sid_is(sid, SBX_SID_SYSTEM) ||
                            sbx_sid_is(sid, SBX_SID_LOCAL_SERVICE) ||
                            sbx_sid_is(sid, SBX_SID_NETWORK_SERVICE);
    hash_sid(hash, sid, user->User.Attributes);
    return true;
}

/* What lets somebody in counts only when it is enabled; what keeps somebody out counts always. */
static bool look_groups(struct sbx_arena *arena, HANDLE token, struct sbx_peer *out,
                        struct sbx_sha256 *hash)
{
    TOKEN_GROUPS *groups = NULL;
    if (!query(arena, token, TokenGroups, &groups)) {
        return false;
    }
    for (DWORD i = 0; i < groups->GroupCount; i++) {
        PSID sid = groups->Groups[i].Sid;
        DWORD attributes = groups->Groups[i].Attributes;
        bool is_enabled = (attributes & SE_GROUP_ENABLED) != 0;
        out->facts.is_network |= sbx_sid_is(sid, SBX_SID_NETWORK);
        out->facts.is_anonymous |= sbx_sid_is(sid, SBX_SID_ANONYMOUS);
        out->facts.is_guest |= sbx_sid_is(sid, SBX_SID_GUESTS);
        out->facts.is_interactive |= is_enabled && sbx_sid_is(sid, SBX_SID_INTERACTIVE);
        hash_sid(hash, sid, attributes);
    }
    return true;
}

static bool hash_privileges(struct sbx_arena *arena, HANDLE token, struct sbx_sha256 *hash)
{
    TOKEN_PRIVILEGES *privileges = NULL;
    if (!query(arena, token, TokenPrivileges, &privileges)) {
        return false;
    }
    for (DWORD i = 0; i < privileges->PrivilegeCount; i++) {
        sbx_sha256_add(hash, &privileges->Privileges[i].Luid, sizeof(LUID));
    }
    return true;
}

static bool look_logon(struct sbx_arena *arena, HANDLE token, struct sbx_peer *out,
                       struct sbx_sha256 *hash)
{
    TOKEN_STATISTICS *statistics = NULL;
    TOKEN_ELEVATION_TYPE *elevation = NULL;
    DWORD *session = NULL;
    if (!query(arena, token, TokenStatistics, &statistics) ||
        !query(arena, token, TokenElevationType, &elevation) ||
        !query(arena, token, TokenSessionId, &session)) {
        return false;
    }
    out->facts.session = (uint32_t)*session;
    sbx_sha256_add(hash, &statistics->AuthenticationId, sizeof(LUID));
    sbx_sha256_add(hash, elevation, sizeof *elevation);
    sbx_sha256_add(hash, session, sizeof *session);
    return true;
}

static bool look_integrity(struct sbx_arena *arena, HANDLE token, struct sbx_peer *out,
                           struct sbx_sha256 *hash)
{
    TOKEN_MANDATORY_LABEL *label = NULL;
    if (!query(arena, token, TokenIntegrityLevel, &label)) {
        return false;
    }
    out->facts.integrity = (uint32_t)sbx_sid_last(label->Label.Sid);
    sbx_sha256_add(hash, &out->facts.integrity, sizeof out->facts.integrity);
    return true;
}

static bool look_container(struct sbx_arena *arena, HANDLE token, struct sbx_peer *out)
{
    DWORD *is_appcontainer = NULL;
    if (!query(arena, token, TokenIsAppContainer, &is_appcontainer)) {
        return false;
    }
    out->facts.is_appcontainer = *is_appcontainer != 0;
    return true;
}

static bool look_level(struct sbx_arena *arena, HANDLE token, struct sbx_peer *out)
{
    SECURITY_IMPERSONATION_LEVEL *level = NULL;
    if (!query(arena, token, TokenImpersonationLevel, &level)) {
        return false;
    }
    out->facts.level = (uint32_t)*level;
    return true;
}

/* FALSE is also the answer of a call that failed. A system that does not know restricting SIDs at all says "invalid function":
 * then no token has any. */
static bool look_restricted(HANDLE token, struct sbx_peer *out)
{
    SetLastError(ERROR_SUCCESS);
    out->facts.is_restricted = sbx_win()->IsTokenRestricted(token) != FALSE;
    DWORD raw = GetLastError();
    return out->facts.is_restricted || raw == ERROR_SUCCESS || raw == ERROR_INVALID_FUNCTION;
}

void sbx_peer_look(HANDLE token, struct sbx_peer *out)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, LOOK_ARENA);
    struct sbx_sha256 hash;
    sbx_sha256_init(&hash);
    struct sbx_peer_facts *facts = &out->facts;
    sbx_text_format(out->user, sizeof out->user, "?");
    bool knows_user = look_user(&arena, token, out, &hash);
    facts->knows_groups = look_groups(&arena, token, out, &hash) && knows_user &&
                          hash_privileges(&arena, token, &hash);
    facts->knows_session = look_logon(&arena, token, out, &hash);
    facts->knows_integrity = look_integrity(&arena, token, out, &hash);
    facts->knows_container = look_container(&arena, token, out);
    facts->knows_level = look_level(&arena, token, out);
    facts->knows_restricted = look_restricted(token, out);
    sbx_sha256_end(&hash, out->rights);
}

/* ---- identity --------------------------------------------------------------------------------- */

/* The client's token; this thread is itself again afterwards, or the process ends. */
static enum sbx_code take_token(HANDLE pipe, HANDLE *out, struct sbx_err *err)
{
    if (!sbx_win()->ImpersonateNamedPipeClient(pipe)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "ImpersonateNamedPipeClient",
                             "cannot tell who the client is");
    }
    HANDLE token = NULL;
    BOOL is_open = sbx_win()->OpenThreadToken(sbx_win()->GetCurrentThread(),
                                              TOKEN_QUERY | TOKEN_DUPLICATE, TRUE, &token);
    DWORD raw = GetLastError();
    if (!sbx_win()->RevertToSelf()) {
        (void)sbx_win()->TerminateProcess(sbx_win()->GetCurrentProcess(), STILL_SOMEBODY_ELSE);
    }
    if (!is_open) {
        return sbx_err_win32(err, raw, "OpenThreadToken", "cannot tell who the client is");
    }
    *out = token;
    return SBX_OK;
}

enum sbx_code sbx_peer_identify(HANDLE pipe, struct sbx_peer *out, struct sbx_err *err)
{
    struct sbx_peer peer = {0};
    ULONG process = 0;
    if (sbx_win()->GetNamedPipeClientProcessId(pipe, &process)) {
        peer.process = process;
    }
    AUTO_HANDLE token = NULL;
    enum sbx_code code = take_token(pipe, &token, err);
    if (code != SBX_OK) {
        return code;
    }
    sbx_peer_look(token, &peer);
    if (sbx_peer_judge(&peer.facts) == SBX_PEER_WELCOME &&
        !sbx_win()->DuplicateTokenEx(token,
                                     TOKEN_QUERY | TOKEN_DUPLICATE | TOKEN_ASSIGN_PRIMARY |
                                         TOKEN_IMPERSONATE | TOKEN_ADJUST_DEFAULT,
                                     NULL, SecurityImpersonation, TokenPrimary, &peer.token)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "DuplicateTokenEx", "cannot copy the client's token");
    }
    *out = peer;
    return SBX_OK;
}

void sbx_peer_release(struct sbx_peer *peer)
{
    if (peer != NULL) {
        sbx_handle_close(&peer->token);
    }
}
