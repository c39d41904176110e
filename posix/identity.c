/* The account a box runs as. */
#include "posix/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "posix/fault.h"

#include "common/base/banned.h"

enum { RECORD_BYTES = 16384, NAME_BYTES = 256 };

static enum sbx_code unknown(const char *what, const char *name, struct sbx_err *err)
{
    (void)sbx_err_set(err, SBX_E_INVALID, "there is no %s \"%s\" on this machine", what, name);
    return sbx_err_hint(err, "getent %s lists them",
                        strcmp(what, "user") == 0 ? "passwd" : "group");
}

/* The password record of the account; a number without one has no groups but the one given. */
static enum sbx_code find_user(const struct sbx_identity *identity, struct sbx_account *account,
                               char *name, struct sbx_err *err)
{
    char bytes[RECORD_BYTES];
    struct passwd record;
    struct passwd *found = NULL;
    name[0] = '\0';
    if (identity->is_id) {
        (void)getpwuid_r(identity->id, &record, bytes, sizeof bytes, &found);
        account->user = identity->id;
    } else {
        (void)snprintf(name, NAME_BYTES, SBX_STR_FMT, SBX_STR_ARG(identity->name));
        (void)getpwnam_r(name, &record, bytes, sizeof bytes, &found);
        if (found == NULL) {
            return unknown("user", name, err);
        }
        account->user = record.pw_uid;
    }
    account->group = found == NULL ? (gid_t)account->user : record.pw_gid;
    if (found != NULL) {
        (void)snprintf(name, NAME_BYTES, "%s", record.pw_name);
    }
    return SBX_OK;
}

static enum sbx_code find_group(const struct sbx_identity *identity, gid_t *out,
                                struct sbx_err *err)
{
    char bytes[RECORD_BYTES];
    char name[NAME_BYTES];
    struct group record;
    struct group *found = NULL;
    if (identity->is_id) {
        *out = identity->id;
        return SBX_OK;
    }
    (void)snprintf(name, sizeof name, SBX_STR_FMT, SBX_STR_ARG(identity->name));
    (void)getgrnam_r(name, &record, bytes, sizeof bytes, &found);
    if (found == NULL) {
        return unknown("group", name, err);
    }
    *out = record.gr_gid;
    return SBX_OK;
}

#ifdef __APPLE__
typedef int group_number; /* as getgrouplist has it */
typedef int group_count;

/* As root these set the saved number too; that it cannot be had back is tried. */
static bool take_ids(const struct sbx_account *account)
{
    return setgid(account->group) == 0 && setuid(account->user) == 0;
}

static bool has_ids(const struct sbx_account *account)
{
    return getuid() == account->user && geteuid() == account->user && getgid() == account->group &&
           getegid() == account->group && (account->user == 0 || seteuid(0) != 0);
}
#else
typedef gid_t group_number;
typedef size_t group_count;

static bool take_ids(const struct sbx_account *account)
{
    return setresgid(account->group, account->group, account->group) == 0 &&
           setresuid(account->user, account->user, account->user) == 0;
}

static bool has_ids(const struct sbx_account *account)
{
    uid_t user[3];
    gid_t group[3];
    bool is_become = getresuid(&user[0], &user[1], &user[2]) == 0 &&
                     getresgid(&group[0], &group[1], &group[2]) == 0;
    for (int i = 0; i < 3; i++) {
        is_become = is_become && user[i] == account->user && group[i] == account->group;
    }
    return is_become;
}
#endif

static enum sbx_code find_groups(const char *name, struct sbx_account *account, struct sbx_err *err)
{
    int count = SBX_IDENTITY_GROUPS;
    if (name[0] == '\0') {
        return SBX_OK;
    }
    if (getgrouplist(name, (group_number)account->group, (group_number *)account->groups, &count) <
        0) {
        return sbx_err_set(err, SBX_E_LIMIT, "the user \"%s\" is in more than %d groups", name,
                           SBX_IDENTITY_GROUPS);
    }
    account->group_count = (size_t)count;
    return SBX_OK;
}

enum sbx_code sbx_account_find(const struct sbx_policy *policy, struct sbx_account *out,
                               struct sbx_err *err)
{
    char name[NAME_BYTES] = "";
    struct sbx_account account = {.user = geteuid(), .group = getegid()};
    enum sbx_code code = SBX_OK;
    if (policy->has_user) {
        code = find_user(&policy->user, &account, name, err);
    }
    if (code == SBX_OK && policy->has_group) {
        code = find_group(&policy->group, &account.group, err);
    }
    if (code == SBX_OK) {
        code = find_groups(name, &account, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    account.is_other = account.user != geteuid() || account.group != getegid();
    if (account.is_other && geteuid() != 0) {
        (void)sbx_err_set(err, SBX_E_INVALID, "only root can run a box as another user or group");
        return sbx_err_hint(err, "leave \"user\" and \"group\" out, or start sbx as root");
    }
    *out = account;
    return SBX_OK;
}

enum sbx_code sbx_account_give(const struct sbx_account *account, const char *path,
                               struct sbx_err *err)
{
    if (account->is_other && chown(path, account->user, account->group) != 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "chown", "cannot hand over \"%s\"", path);
    }
    return SBX_OK;
}

bool sbx_account_become(const struct sbx_account *account)
{
    if (!account->is_other) {
        return true;
    }
    /* Groups first: without root's rights they could not be given up any more. */
    if (setgroups((group_count)account->group_count, account->groups) != 0 || !take_ids(account)) {
        return false;
    }
    bool is_become = has_ids(account);
    errno = is_become ? 0 : EPERM;
    return is_become;
}
