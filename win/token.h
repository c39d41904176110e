/* Tokens: who calls, and the restricted token of a box. */
#ifndef SBX_WIN_TOKEN_H
#define SBX_WIN_TOKEN_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/base/names.h"
#include "common/run/evidence.h"
#include "win/winapi.h"

/* Which groups are made deny-only, strongest first. No rung is below "no administrator groups". */
enum sbx_rung {
    SBX_RUNG_NO_USERS, /* Users and Authenticated Users too: on most builds nothing can be read then */
    SBX_RUNG_NO_ADMINS, /* every group that administers something */
    SBX_RUNG_COUNT
};
extern const struct sbx_name sbx_rung_names[];

/* What a query answers, whole, in `arena`. The call's name is GetTokenInformation; `what` says which. */
enum sbx_code sbx_token_query(struct sbx_arena *arena, HANDLE token, TOKEN_INFORMATION_CLASS which,
                              const char *what, void *out_pointer,
                              struct sbx_err *err) SBX_MUST_USE;

/* The calling user's SID, in `arena`. */
enum sbx_code sbx_token_user(struct sbx_arena *arena, PSID *out, struct sbx_err *err) SBX_MUST_USE;

struct sbx_caller {
    PSID user;
    DWORD integrity; /* RID: 0x2000 is Medium */
    DWORD session;
    bool is_appcontainer;
    bool is_elevated;
};
enum sbx_code sbx_token_caller(struct sbx_arena *arena, struct sbx_caller *out,
                               struct sbx_err *err) SBX_MUST_USE;

/* The caller's own token without privileges, with the groups of the rung deny-only, pinned to Low
 * integrity. All three are read back before it is given out. */
enum sbx_code sbx_token_restrict(struct sbx_arena *arena, enum sbx_rung rung, HANDLE *out,
                                 struct sbx_err *err) SBX_MUST_USE;

/* Sets Low integrity on a token that may be changed, and reads it back (integrity.c). */
enum sbx_code sbx_token_lower(struct sbx_arena *arena, HANDLE token,
                              struct sbx_err *err) SBX_MUST_USE;

/* ---- items of evidence, of any token; what cannot be asked counts as different ---- */

void sbx_token_prove_integrity(struct sbx_evidence_list *list, HANDLE token);
void sbx_token_prove_groups(struct sbx_evidence_list *list, HANDLE token, enum sbx_rung rung);
void sbx_token_prove_privileges(struct sbx_evidence_list *list, HANDLE token);

#endif
