/* The proof before release: what the kernel really made of a suspended process. */
#include "win/verify.h"

#include <string.h>
#include <wchar.h>

#include "win/handle.h"
#include "win/mitigation.h"
#include "win/sid.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { IMAGE_MAX_UNITS = 32768 };

/* ---- the container --------------------------------------------------------------------------- */

static bool ask(struct sbx_evidence_list *list, HANDLE token, TOKEN_INFORMATION_CLASS which,
                const char *item, const char *wanted, void *out_pointer)
{
    struct sbx_err err;
    if (sbx_token_query(list->arena, token, which, item, out_pointer, &err) == SBX_OK) {
        return true;
    }
    sbx_evidence_add(list, item, wanted, err.text, false);
    return false;
}

static void prove_container(struct sbx_evidence_list *list, HANDLE token, PSID package)
{
    DWORD *is_container;
    TOKEN_APPCONTAINER_INFORMATION *info;
    if (ask(list, token, TokenIsAppContainer, "token.appcontainer", "yes", &is_container)) {
        sbx_evidence_same(list, "token.appcontainer", "yes", *is_container == 1 ? "yes" : "no");
    }
    const char *wanted = sbx_sid_text(list->arena, package);
    if (ask(list, token, TokenAppContainerSid, "token.package", wanted, &info)) {
        const char *got = info->TokenAppContainer == NULL
                              ? "none"
                              : sbx_sid_text(list->arena, info->TokenAppContainer);
        sbx_evidence_add(list, "token.package", wanted, got,
                         sbx_sid_eq(package, info->TokenAppContainer));
    }
}

static bool has_sid(const SID_AND_ATTRIBUTES *list, DWORD count, PSID sid)
{
    for (DWORD i = 0; i < count; i++) {
        if (sbx_sid_eq(list[i].Sid, sid) && (list[i].Attributes & SE_GROUP_ENABLED) != 0) {
            return true;
        }
    }
    return false;
}

/* Exactly the set: one too few breaks a grant, one too many opens a door. */
static void prove_capabilities(struct sbx_evidence_list *list, HANDLE token,
                               const struct sbx_verify_plan *plan)
{
    TOKEN_GROUPS *got;
    const char *wanted = sbx_arena_printf(list->arena, "exactly %lu", plan->capability_count);
    if (wanted == NULL) {
        list->failed = true;
        return;
    }
    if (!ask(list, token, TokenCapabilities, "token.capabilities", wanted, &got)) {
        return;
    }
    const char *differs = NULL;
    for (DWORD i = 0; i < plan->capability_count && differs == NULL; i++) {
        if (!has_sid(got->Groups, got->GroupCount, plan->capabilities[i].Sid)) {
            differs = sbx_arena_printf(list->arena, "%s is missing",
                                       sbx_sid_text(list->arena, plan->capabilities[i].Sid));
        }
    }
    for (DWORD i = 0; i < got->GroupCount && differs == NULL; i++) {
        if (!has_sid(plan->capabilities, plan->capability_count, got->Groups[i].Sid)) {
            differs = sbx_arena_printf(list->arena, "%s besides",
                                       sbx_sid_text(list->arena, got->Groups[i].Sid));
        }
    }
    bool is_equal = got->GroupCount == plan->capability_count && differs == NULL;
    const char *text = is_equal ? wanted : differs != NULL ? differs : "another number";
    sbx_evidence_add(list, "token.capabilities", wanted, text, is_equal);
}

static void prove_session(struct sbx_evidence_list *list, HANDLE token, DWORD session)
{
    DWORD *got;
    const char *wanted = sbx_arena_printf(list->arena, "%lu", session);
    if (wanted == NULL) {
        list->failed = true;
        return;
    }
    if (ask(list, token, TokenSessionId, "token.session", wanted, &got)) {
        const char *text = sbx_arena_printf(list->arena, "%lu", *got);
        sbx_evidence_add(list, "token.session", wanted, text == NULL ? "?" : text, *got == session);
    }
}

static void prove_token(struct sbx_evidence_list *list, const struct sbx_verify_plan *plan)
{
    AUTO_HANDLE token = NULL;
    if (!sbx_win()->OpenProcessToken(plan->process, TOKEN_QUERY, &token)) {
        sbx_evidence_add(list, "token", "readable", "OpenProcessToken failed", false);
        return;
    }
    sbx_token_prove_integrity(list, token);
    prove_container(list, token, plan->package);
    prove_capabilities(list, token, plan);
    sbx_token_prove_groups(list, token, plan->rung);
    sbx_token_prove_privileges(list, token);
    prove_session(list, token, plan->session);
}

/* ---- the process ----------------------------------------------------------------------------- */

static const wchar_t *without_prefix(const wchar_t *path)
{
    static const wchar_t prefix[] = L"\\\\?\\";
    return wcsncmp(path, prefix, SBX_COUNT(prefix) - 1) == 0 ? path + SBX_COUNT(prefix) - 1 : path;
}

static void prove_image(struct sbx_evidence_list *list, const struct sbx_verify_plan *plan)
{
    const wchar_t *wanted = without_prefix(plan->program);
    const char *wanted_text;
    const char *got_text = "unreadable";
    DWORD size = IMAGE_MAX_UNITS;
    wchar_t *got = SBX_NEW_ARRAY(list->arena, wchar_t, IMAGE_MAX_UNITS);
    if (got == NULL || sbx_wide_to(list->arena, wanted, &wanted_text, NULL) != SBX_OK) {
        list->failed = true;
        return;
    }
    bool is_same = sbx_win()->QueryFullProcessImageNameW(plan->process, 0, got, &size) &&
                   CompareStringOrdinal(got, -1, wanted, -1, TRUE) == CSTR_EQUAL;
    if (got[0] != L'\0' && sbx_wide_to(list->arena, got, &got_text, NULL) != SBX_OK) {
        got_text = "not valid text";
    }
    sbx_evidence_add(list, "process.image", wanted_text, got_text, is_same);
}

static void prove_job(struct sbx_evidence_list *list, const struct sbx_verify_plan *plan)
{
    BOOL is_in = FALSE;
    bool is_known = sbx_win()->IsProcessInJob(plan->process, plan->job, &is_in);
    sbx_evidence_add(list, "process.job", "in ours",
                     !is_known ? "unreadable"
                     : is_in   ? "in ours"
                               : "outside",
                     is_known && is_in);
    sbx_job_prove(list, plan->job, plan->limits);
}

void sbx_verify_process(struct sbx_evidence_list *list, const struct sbx_verify_plan *plan)
{
    prove_token(list, plan);
    prove_job(list, plan);
    prove_image(list, plan);
    sbx_mitigation_prove(list, plan->process, plan->is_strict);
}
