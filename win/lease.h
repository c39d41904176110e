/* The journal of what a run changes on the host, one file per run below <state>\leases: written and flushed
 * before the change, removed after it is undone. What a killed sbx left behind is undone by the next one. */
#ifndef SBX_WIN_LEASE_H
#define SBX_WIN_LEASE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/path.h"
#include "win/winapi.h"

enum sbx_lease_state {
    SBX_LEASE_PREPARED, /* written; the profile may or may not exist */
    SBX_LEASE_RUNNING,  /* a process was released */
    SBX_LEASE_EXITED,   /* the tree is gone; what it names is being undone */
};

struct sbx_lease;

/* Makes the lease of a run that will create the AppContainer profile `profile`. On disk when it returns SBX_OK.
 * The state directory is made when missing, private to the user; one that is a link, or that others may write,
 * is refused. */
enum sbx_code sbx_lease_open(struct sbx_path state_dir, const char *profile, struct sbx_lease **out,
                             struct sbx_err *err) SBX_MUST_USE;

enum sbx_code sbx_lease_mark(struct sbx_lease *lease, enum sbx_lease_state state,
                             struct sbx_err *err) SBX_MUST_USE;

/* "leases\4242-….lease": for warnings. */
const char *sbx_lease_name(const struct sbx_lease *lease);

/* Everything it names is undone: removes the file and frees the lease. On failure the file stays for
 * recovery, the lease is freed all the same. */
enum sbx_code sbx_lease_close(struct sbx_lease *lease, struct sbx_err *err) SBX_MUST_USE;

/* Leaves the file for recovery and frees the lease. NULL is allowed. */
void sbx_lease_abandon(struct sbx_lease *lease);

struct sbx_recovery {
    size_t undone;            /* leases of dead owners whose changes are gone */
    size_t kept;              /* could not be undone; they stay */
    size_t quarantined;       /* not readable as leases; moved to <state>\leases\quarantine */
    const char *first_remark; /* about the first kept or quarantined one, or NULL */
};

/* Undoes what dead runs left: an owner is alive when its process id, creation time and image all match. One process
 * at a time does it, also across sessions (sbx_state_lock); who finds another one at it does not wait long. Never fails a run for another's leftovers: what cannot be undone is
 * counted. Failing itself (SBX_E_*) means that the directory cannot be used. */
enum sbx_code sbx_lease_recover(struct sbx_arena *arena, struct sbx_path state_dir,
                                struct sbx_recovery *out, struct sbx_err *err) SBX_MUST_USE;

#endif
