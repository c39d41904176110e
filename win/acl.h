/* Owners and access lists of files: who they belong to, who may write, what sbx gives its own. */
#ifndef SBX_WIN_ACL_H
#define SBX_WIN_ACL_H

#include <stdbool.h>
#include <windows.h>

#include "common/base/arena.h"
#include "common/os.h"

/* SYSTEM, Administrators or TrustedInstaller. */
bool sbx_acl_is_admin(PSID sid);

/* Does an entry let anyone but the owner and administrators change the file? Refusals in the list
 * are not counted in favour, an entry of an unknown kind counts against, and so does no list. */
bool sbx_acl_others_may_write(PACL list, PSID owner);

/* Fills is_callers, is_admins and others_may_write from the open file; the worst when the system
 * does not say. */
void sbx_acl_describe(HANDLE file, struct sbx_file_info *info);

/* The calling user's SID, in `arena`; NULL when the system does not say. */
PSID sbx_acl_user(struct sbx_arena *arena);

/* A descriptor that lets only the calling user, SYSTEM and Administrators in; what is made below a
 * directory inherits it. LocalFree it; NULL with the last error. */
PSECURITY_DESCRIPTOR sbx_acl_private(struct sbx_arena *arena);

#endif
