/* File grants. Each granted root has a capability of its own per access and shape of carve-outs; entries for it
 * are written once, stay on disk (`sbx workspace list`), and give nobody anything but a box of this user that
 * carries the capability. A run only selects capabilities. */
#ifndef SBX_WIN_GRANT_H
#define SBX_WIN_GRANT_H

#include "common/policy/policy.h"
#include "common/run/progress.h"
#include "win/guard.h"
#include "win/pin.h"

/* What a box may do at a place, as access masks. No WRITE_DAC, no WRITE_OWNER, no FILE_DELETE_CHILD: that
 * one would let a box remove what it may not touch. */
#define SBX_GRANT_READ (FILE_GENERIC_READ | FILE_GENERIC_EXECUTE)
#define SBX_GRANT_WRITE (SBX_GRANT_READ | FILE_GENERIC_WRITE | DELETE)
/* What a closed place refuses to the writing capability: everything that changes it. */
#define SBX_GRANT_CHANGE                                                                           \
    (FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_WRITE_EA | FILE_WRITE_ATTRIBUTES |                  \
     FILE_DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER)
/* What programs ask of every directory above a root: that it is there. Not inherited. */
#define SBX_GRANT_LOOK (FILE_READ_ATTRIBUTES | FILE_READ_EA | READ_CONTROL | SYNCHRONIZE)

struct sbx_grant_request {
    const struct sbx_policy *policy;
    struct sbx_path state_dir;
    const struct sbx_progress *progress; /* may be NULL */
    struct sbx_guard *guard;             /* told that work goes on; may be NULL */
    bool walks_again; /* also roots that are complete: what was moved into them gets its entries */
};

struct sbx_capability {
    const char *name; /* "sbx.root.0123456789abcdef.rw" */
    PSID sid;         /* S-1-15-3-1024-… */
};

struct sbx_grants {
    const struct sbx_capability *capabilities; /* to select; sorted by name, no duplicates */
    size_t count;
    /* The roots, and what exists of closed places that a rule names or that lie directly in a root. Held until
     * sbx_grants_close. */
    struct sbx_pin *pins;
    size_t pin_count;
    const char *const
        *remarks; /* what a person should know: protected lists left alone, hard links … */
    size_t remark_count;
};

/* Makes every host rule of the policy hold and says which capabilities select it. The second time for an
 * unchanged root its cost does not depend on how many files are in it. A place that the system opens to
 * every package already (C:\Windows) gets nothing. Refuses, with the path: no right to change the list, a
 * volume without lists, a whole profile or drive, a closed place that the system opens to every package, a
 * glob that opens what is closed. A grant that fails or is cancelled is undone. What an interrupted sbx left
 * of others is undone too, with a remark. */
enum sbx_code sbx_grants_make(struct sbx_arena *arena, const struct sbx_grant_request *request,
                              struct sbx_grants *out, struct sbx_err *err) SBX_MUST_USE;

/* Releases the pins; the entries stay. */
void sbx_grants_close(struct sbx_grants *grants);

#endif
