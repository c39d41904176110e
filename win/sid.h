/* Security identifiers: the well-known ones that decide something here, and their text. Pure: no call into
 * the system. */
#ifndef SBX_WIN_SID_H
#define SBX_WIN_SID_H

#include <stdbool.h>
#include <stddef.h>
#include <windows.h>

#include "common/base/arena.h"

/* A SID in a variable of its own. */
struct sbx_sid {
    _Alignas(DWORD) BYTE bytes[SECURITY_MAX_SID_SIZE];
};

enum sbx_known_sid {
    SBX_SID_EVERYONE,
    SBX_SID_SYSTEM,
    SBX_SID_ADMINISTRATORS,
    SBX_SID_TRUSTED_INSTALLER,
    SBX_SID_NETWORK,         /* S-1-5-2: logged on from another machine */
    SBX_SID_INTERACTIVE,     /* S-1-5-4 */
    SBX_SID_ANONYMOUS,       /* S-1-5-7 */
    SBX_SID_LOCAL_SERVICE,   /* S-1-5-19 */
    SBX_SID_NETWORK_SERVICE, /* S-1-5-20 */
    SBX_SID_GUESTS,
    SBX_SID_USERS,
    SBX_SID_AUTHENTICATED_USERS,
    SBX_SID_OWNER_RIGHTS,
    SBX_SID_ALL_PACKAGES,            /* S-1-15-2-1 */
    SBX_SID_ALL_RESTRICTED_PACKAGES, /* S-1-15-2-2 */
    SBX_SID_INTERNET_CLIENT,         /* S-1-15-3-1 */
    SBX_SID_PRIVATE_NETWORK,         /* S-1-15-3-3 */
    SBX_SID_LOW_INTEGRITY,           /* S-1-16-4096 */
    SBX_SID_KNOWN_COUNT
};

/* Lives for ever. */
PSID sbx_sid_known(enum sbx_known_sid which);
bool sbx_sid_is(PSID sid, enum sbx_known_sid which);

bool sbx_sid_eq(PSID a, PSID b);

/* Is it a group whose members administer a machine or a domain: Administrators, its kin (Power Users, the
 * Operators …), Domain Admins, Enterprise Admins, "local account and member of Administrators group"? */
bool sbx_sid_is_admin_group(PSID sid);

/* The last sub-authority: the level of an integrity label; 0 without one. */
DWORD sbx_sid_last(PSID sid);

/* A copy in `arena`; NULL without memory or when it is not a SID. */
PSID sbx_sid_copy(struct sbx_arena *arena, PSID sid);

/* "S-1-5-32-544"; never NULL ("?" without memory). */
const char *sbx_sid_text(struct sbx_arena *arena, PSID sid);

/* The same read back, strictly; false for anything else. */
bool sbx_sid_parse(const char *text, struct sbx_sid *out);

#endif
