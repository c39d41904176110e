/* The tokens and SIDs that the rows of access_vectors.h speak of. */
#ifndef SBX_TESTS_NTMODEL_ACCESS_TOKENS_H
#define SBX_TESTS_NTMODEL_ACCESS_TOKENS_H

#include "tests/ntmodel/nt_security.h"

enum access_token {
    T_USER,             /* a standard user */
    T_ADMIN,            /* an elevated administrator, privileges held but not enabled */
    T_ADMIN_ARMED,      /* the same with SeSecurity and SeTakeOwnership enabled */
    T_ADMIN_FILTERED,   /* Administrators for deny only */
    T_USER_DENY_ONLY,   /* the user's own SID for deny only */
    T_NO_USERS,         /* Users and Authenticated Users for deny only */
    T_DISABLED_GROUP,   /* Users neither enabled nor for deny */
    T_SYSTEM,           /* the system's own */
    T_LOW,              /* the user's, at Low */
    T_LOW_RELABEL,      /* the same with SeRelabel enabled */
    T_LOW_NO_POLICY,    /* the same without the policy of no-write-up */
    T_RESTRICTED,       /* restricting SIDs $R and Everyone */
    T_RESTRICTED_USER,  /* restricting SIDs $R and the user */
    T_WRITE_RESTRICTED, /* restricting SID $R for writing only */
    T_BOX,              /* a lowbox: package $P, capability $C, and $K which is not enabled */
    T_LPAC,             /* the same as an LPAC */
    T_BOX_ADMIN,        /* the same, made of an elevated administrator with armed privileges */
    T_BOX_NO_USERS,     /* the same, made of T_NO_USERS */
    T_BOX_RESTRICTED,   /* the same, made of T_RESTRICTED */
    T_TOKEN_COUNT
};

/* False when the model refuses to make it. */
bool access_token_make(enum access_token which, struct nt_token *out);
const char *access_token_name(enum access_token which);

/* What the texts of the rows call SIDs: $U the user of `token`, $L its logon session, $X another user, $G another
 * group, $R the restricting SID, $P the box's package, $Q another package, $C $K $N capabilities that the box
 * has, has disabled, has not. */
enum { ACCESS_NAMES = 10 };
void access_names(const struct nt_token *token, struct nt_sddl_name out[ACCESS_NAMES]);

#endif
