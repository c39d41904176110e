/* A box by hand, with each parameter free: what this Windows takes is measured with it. It is not how sbx starts one:
 * nothing is verified, and only programs of the system and the self-test's own are started. It goes through the table
 * of calls: a test can play what its Windows lacks. */
#ifndef SBX_WIN_SELFTEST_RAW_H
#define SBX_WIN_SELFTEST_RAW_H

#include "win/selftest.h"

enum sbx_raw_token { SBX_RAW_PLAIN, SBX_RAW_RESTRICTED, SBX_RAW_RESTRICTED_LOW };

#define SBX_RAW_DENY_ADMINS 1u
#define SBX_RAW_DENY_USERS 2u /* Users and Authenticated Users */

struct sbx_raw_plan {
    enum sbx_raw_token token;
    unsigned deny; /* SBX_RAW_DENY_…, with a restricted token */
    DWORD ui;      /* limits of the user interface, in the job */
    bool ui_apart; /* in a second job instead */
    DWORD flags;   /* of CreateProcess: CREATE_NO_WINDOW, DETACHED_PROCESS … */
};

struct sbx_raw_profile {
    wchar_t name[64];
    PSID sid;     /* NULL: there is none */
    PWSTR folder; /* the package's own directory, or NULL */
};

/* One profile for a case; an HRESULT. E_NOTIMPL where Windows has no AppContainer. */
HRESULT sbx_raw_open(struct sbx_raw_profile *out);
void sbx_raw_close(struct sbx_raw_profile *profile);

struct sbx_raw_end {
    const char *call; /* that failed, or NULL: it ran */
    DWORD raw;        /* of that call */
    DWORD status;     /* exit code; STILL_ACTIVE: it did not end and was ended */
};

/* Starts `line` and waits for its end. */
void sbx_raw_run(const struct sbx_raw_profile *profile, const struct sbx_raw_plan *plan,
                 const wchar_t *line, struct sbx_raw_end *out);

/* Lets the package read and execute below `directory`, and write when `may_write`. */
DWORD sbx_raw_grant(const struct sbx_raw_profile *profile, wchar_t *directory, bool may_write);

#endif
