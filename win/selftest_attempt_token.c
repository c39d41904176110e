/* Attempts on the own token, and what it says. */
#include "common/base/buf.h"
#include "win/handle.h"
#include "win/selftest.h"
#include "win/sid.h"

#include "common/base/banned.h"

#define TOKEN_BYTES 16384

union token_block {
    BYTE bytes[TOKEN_BYTES];
    TOKEN_MANDATORY_LABEL label;
    TOKEN_GROUPS groups;
    TOKEN_PRIVILEGES privileges;
    TOKEN_APPCONTAINER_INFORMATION container;
    DWORD number;
};

static bool ask(DWORD access, TOKEN_INFORMATION_CLASS which, HANDLE *token, union token_block *out,
                struct sbx_reply *reply)
{
    DWORD len;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY | access, token) ||
        !GetTokenInformation(*token, which, out, sizeof *out, &len)) {
        DWORD raw = GetLastError();
        sbx_reply(reply, SBX_ANSWER_BROKEN, "the token does not say: %lu", raw);
        return false;
    }
    return true;
}

static void try_integrity(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    static union token_block block;
    AUTO_HANDLE token = NULL;
    if (!ask(0, TokenIntegrityLevel, &token, &block, reply)) {
        return;
    }
    DWORD level = sbx_sid_last(block.label.Label.Sid);
    bool is_wanted = level == (DWORD)sbx_attempt_number(arguments[0]);
    sbx_reply(reply, is_wanted ? SBX_ANSWER_DONE : SBX_ANSWER_ABSENT, "integrity level 0x%lx",
              level);
}

static void try_container(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    static union token_block block;
    AUTO_HANDLE token = NULL;
    AUTO_ARENA arena;
    DWORD len;
    sbx_arena_init(&arena, 4096);
    if (!ask(0, TokenIsAppContainer, &token, &block, reply)) {
        return;
    }
    if (block.number == 0) {
        sbx_reply(reply, SBX_ANSWER_ABSENT, "not in an AppContainer");
    } else if (!GetTokenInformation(token, TokenAppContainerSid, &block, sizeof block, &len) ||
               block.container.TokenAppContainer == NULL) {
        sbx_reply(reply, SBX_ANSWER_BROKEN, "an AppContainer without a SID");
    } else {
        sbx_reply(reply, SBX_ANSWER_DONE, "AppContainer %s",
                  sbx_sid_text(&arena, block.container.TokenAppContainer));
    }
}

static void try_capabilities(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    static union token_block block;
    AUTO_HANDLE token = NULL;
    AUTO_ARENA arena;
    AUTO_BUF others;
    size_t known = 0;
    sbx_arena_init(&arena, 64u << 10);
    sbx_buf_init(&others, sizeof reply->text - 64);
    if (!ask(0, TokenCapabilities, &token, &block, reply)) {
        return;
    }
    for (DWORD i = 0; i < block.groups.GroupCount; i++) {
        const char *text = sbx_sid_text(&arena, block.groups.Groups[i].Sid);
        bool is_wanted = false;
        for (size_t j = 0; j < count; j++) {
            is_wanted |= sbx_text_eq(text, arguments[j]);
        }
        known += is_wanted;
        /* Those of granted roots are named by us and give files only. */
        if (!is_wanted && !sbx_str_starts(sbx_str(text), "S-1-15-3-1024-")) {
            sbx_buf_printf(&others, " %s", text);
        }
    }
    bool is_exact = known == count && others.len == 0;
    sbx_reply(reply, is_exact ? SBX_ANSWER_DONE : SBX_ANSWER_ABSENT,
              "%lu capabilities, %zu of %zu wanted, others:%s", block.groups.GroupCount, known,
              count, others.len == 0 ? " none" : sbx_buf_text(&others));
}

static void try_admin(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    static union token_block block;
    AUTO_HANDLE token = NULL;
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 64u << 10);
    if (!ask(0, TokenGroups, &token, &block, reply)) {
        return;
    }
    for (DWORD i = 0; i < block.groups.GroupCount; i++) {
        const SID_AND_ATTRIBUTES *group = &block.groups.Groups[i];
        if ((group->Attributes & SE_GROUP_ENABLED) != 0 && sbx_sid_is_admin_group(group->Sid)) {
            sbx_reply(reply, SBX_ANSWER_DONE, "the group %s is enabled",
                      sbx_sid_text(&arena, group->Sid));
            return;
        }
    }
    sbx_reply(reply, SBX_ANSWER_ABSENT, "no group of administrators is enabled");
}

/* Privileges besides SeChangeNotify (23) and SeIncreaseWorkingSet (33). */
static void try_privileges(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    static union token_block block;
    AUTO_HANDLE token = NULL;
    AUTO_BUF others;
    sbx_buf_init(&others, sizeof reply->text - 64);
    if (!ask(0, TokenPrivileges, &token, &block, reply)) {
        return;
    }
    for (DWORD i = 0; i < block.privileges.PrivilegeCount; i++) {
        DWORD number = block.privileges.Privileges[i].Luid.LowPart;
        if (number != 23 && number != 33) {
            sbx_buf_printf(&others, " %lu", number);
        }
    }
    sbx_reply(reply, others.len == 0 ? SBX_ANSWER_ABSENT : SBX_ANSWER_DONE,
              "%lu privileges, not harmless:%s", block.privileges.PrivilegeCount,
              others.len == 0 ? " none" : sbx_buf_text(&others));
}

static void try_job(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    BOOL is_in = FALSE;
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    if (!IsProcessInJob(GetCurrentProcess(), NULL, &is_in) || !is_in) {
        sbx_reply(reply, SBX_ANSWER_ABSENT, "in no job");
        return;
    }
    (void)QueryInformationJobObject(NULL, JobObjectExtendedLimitInformation, &limits, sizeof limits,
                                    NULL);
    DWORD flags = limits.BasicLimitInformation.LimitFlags;
    bool is_tight =
        (flags & JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE) != 0 &&
        (flags & (JOB_OBJECT_LIMIT_BREAKAWAY_OK | JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK)) == 0;
    sbx_reply(reply, is_tight ? SBX_ANSWER_DONE : SBX_ANSWER_ABSENT,
              "in a job with the limits 0x%lx", flags);
}

/* ---- changing it ---- */

static void try_raise(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    static union token_block block;
    AUTO_HANDLE token = NULL;
    struct sbx_sid medium;
    TOKEN_MANDATORY_LABEL label = {.Label = {.Sid = &medium, .Attributes = SE_GROUP_INTEGRITY}};
    if (!sbx_sid_parse("S-1-16-8192", &medium) ||
        !ask(TOKEN_ADJUST_DEFAULT, TokenIntegrityLevel, &token, &block, reply)) {
        return;
    }
    DWORD before = sbx_sid_last(block.label.Label.Sid);
    if (!SetTokenInformation(token, TokenIntegrityLevel, &label,
                             (DWORD)(sizeof label + GetLengthSid(&medium)))) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "SetTokenInformation", "TokenIntegrityLevel");
        return;
    }
    DWORD len;
    if (!GetTokenInformation(token, TokenIntegrityLevel, &block, sizeof block, &len)) {
        sbx_reply(reply, SBX_ANSWER_BROKEN, "the token does not say");
        return;
    }
    DWORD after = sbx_sid_last(block.label.Label.Sid);
    sbx_reply(reply, after >= 0x2000 ? SBX_ANSWER_DONE : SBX_ANSWER_DENIED,
              "integrity level 0x%lx, then 0x%lx", before, after);
}

/* A fresh token of the same logon would be outside the container. */
static void try_other_token(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    AUTO_HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE,
                                      (DWORD)sbx_attempt_number(arguments[0]));
    AUTO_HANDLE token = NULL;
    AUTO_HANDLE copy = NULL;
    if (process == NULL ||
        !OpenProcessToken(process, TOKEN_QUERY | TOKEN_DUPLICATE | TOKEN_IMPERSONATE, &token) ||
        !DuplicateToken(token, SecurityImpersonation, &copy) || !ImpersonateLoggedOnUser(copy)) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "take the token of process", arguments[0]);
        return;
    }
    (void)RevertToSelf();
    sbx_reply(reply, SBX_ANSWER_DONE, "impersonated the user of process %s", arguments[0]);
}

const struct sbx_attempt sbx_attempts_token[] = {
    {"integrity", "LEVEL", "has this integrity level", 1, try_integrity},
    {"container", "", "is in an AppContainer", 0, try_container},
    {"capabilities", "[SID…]", "has these capabilities, those of roots, and no other", 0,
     try_capabilities},
    {"admin", "", "has a group of administrators", 0, try_admin},
    {"privileges", "", "has privileges that are not harmless", 0, try_privileges},
    {"job", "", "is in a job that dies with its handle and cannot be left", 0, try_job},
    {"raise", "", "raises its integrity level to medium", 0, try_raise},
    {"other-token", "PID", "impersonates the user of another process", 1, try_other_token},
    SBX_SELFTEST_ALONE,
};
