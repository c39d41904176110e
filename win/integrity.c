/* Low integrity: set on the token of a box, and read back wherever it counts. */
#include "win/fault.h"
#include "win/sid.h"
#include "win/token.h"

#include "common/base/banned.h"

enum sbx_code sbx_token_lower(struct sbx_arena *arena, HANDLE token, struct sbx_err *err)
{
    PSID low = sbx_sid_known(SBX_SID_LOW_INTEGRITY);
    TOKEN_MANDATORY_LABEL label = {.Label = {.Sid = low, .Attributes = SE_GROUP_INTEGRITY}};
    if (!sbx_win()->SetTokenInformation(token, TokenIntegrityLevel, &label,
                                        (DWORD)sizeof label + GetLengthSid(low))) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "SetTokenInformation", "cannot pin the token to Low");
    }
    /* Success is not enough: there are systems that accept the call and do nothing. */
    struct sbx_evidence_list list;
    sbx_evidence_init(&list, arena);
    sbx_token_prove_integrity(&list, token);
    return sbx_evidence_verdict(&list, err);
}

void sbx_token_prove_integrity(struct sbx_evidence_list *list, HANDLE token)
{
    TOKEN_MANDATORY_LABEL *label;
    struct sbx_err err;
    static const char wanted[] = "0x1000";
    if (sbx_token_query(list->arena, token, TokenIntegrityLevel, "integrity", &label, &err) !=
        SBX_OK) {
        sbx_evidence_add(list, "token.integrity", wanted, err.text, false);
        return;
    }
    /* The whole SID: a number alone could belong to another authority. */
    bool is_low = sbx_sid_is(label->Label.Sid, SBX_SID_LOW_INTEGRITY);
    const char *got =
        is_low ? wanted
               : sbx_arena_printf(list->arena, "0x%lX (%s)", sbx_sid_last(label->Label.Sid),
                                  sbx_sid_text(list->arena, label->Label.Sid));
    sbx_evidence_add(list, "token.integrity", wanted, got == NULL ? "?" : got, is_low);
}
