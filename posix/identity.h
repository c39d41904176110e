/* The account a box runs as: found by name or number before anything is built, taken on before the box is. */
#ifndef SBX_POSIX_IDENTITY_H
#define SBX_POSIX_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/policy/policy.h"

enum { SBX_IDENTITY_GROUPS = 64 };

struct sbx_account {
    bool is_other; /* than the caller's */
    uid_t user;
    gid_t group;
    size_t group_count; /* supplementary ones, the account's own */
    gid_t groups[SBX_IDENTITY_GROUPS];
};

/* The caller's own when the policy names none. Only root may be another: SBX_E_INVALID with a remedy. */
enum sbx_code sbx_account_find(const struct sbx_policy *policy, struct sbx_account *out,
                               struct sbx_err *err) SBX_MUST_USE;

/* Makes a path, which the caller has just made, the account's; nothing for the caller's own. */
enum sbx_code sbx_account_give(const struct sbx_account *account, const char *path,
                               struct sbx_err *err) SBX_MUST_USE;

/* For good, and read back: between fork and exec. False with errno; the process must end then. */
bool sbx_account_become(const struct sbx_account *account) SBX_MUST_USE;

#endif
