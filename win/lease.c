/* The journal of what a run changes on the host. */
#include "win/lease.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "win/appcontainer.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/state.h"

#include "common/base/banned.h"

#define SUFFIX ".lease"

/* Leases that one recovery looks at; the next one goes on. */
#define LEASES_MAX ((size_t)1024)
#define ARENA_MAX ((size_t)16 << 20)

struct sbx_lease {
    struct sbx_arena arena;
    struct sbx_state state;
    struct sbx_record record;
    const char *file; /* "4242-….lease" */
    const char *name; /* "leases\4242-….lease" */
};

/* ---- one run ------------------------------------------------------------------------------- */

static void free_lease(struct sbx_lease *lease)
{
    if (lease != NULL) {
        sbx_state_close(&lease->state);
        sbx_arena_release(&lease->arena);
        free(lease);
    }
}

static void drop_lease(struct sbx_lease **lease)
{
    free_lease(*lease);
}

/* The owner is in the name too: of a file that was not finished, nothing else can be read. */
static enum sbx_code name_lease(struct sbx_lease *lease, struct sbx_err *err)
{
    uint32_t salt = 0;
    if (!sbx_win()->SystemFunction036(&salt, sizeof salt)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "SystemFunction036", "cannot name the lease");
    }
    lease->file = sbx_arena_printf(&lease->arena, "%" PRIu32 "-%" PRIu64 "-%08" PRIx32 SUFFIX,
                                   lease->record.owner.pid, lease->record.owner.created, salt);
    lease->name =
        lease->file == NULL ? NULL : sbx_arena_printf(&lease->arena, "leases\\%s", lease->file);
    return lease->name == NULL ? sbx_err_nomem(err) : SBX_OK;
}

static enum sbx_code fill(struct sbx_lease *lease, struct sbx_path state_dir, const char *profile,
                          struct sbx_err *err)
{
    lease->record = (struct sbx_record){
        .kind = SBX_RECORD_LEASE,
        .state = SBX_RECORD_PREPARED,
        .since = sbx_state_now(),
        .profile = sbx_arena_copy(&lease->arena, profile, sbx_str(profile).len)};
    if (lease->record.profile == NULL) {
        return sbx_err_nomem(err);
    }
    enum sbx_code code = sbx_owner_self(&lease->arena, &lease->record.owner, err);
    if (code == SBX_OK) {
        code = name_lease(lease, err);
    }
    return code == SBX_OK ? sbx_state_open(&lease->arena, state_dir, "leases", &lease->state, err)
                          : code;
}

enum sbx_code sbx_lease_open(struct sbx_path state_dir, const char *profile, struct sbx_lease **out,
                             struct sbx_err *err)
{
    if (!sbx_record_is_profile(profile)) {
        return sbx_err_set(err, SBX_E_INTERNAL, "\"%s\" is no name of a profile of sbx", profile);
    }
    SBX_CLEANUP(drop_lease) struct sbx_lease *lease = calloc(1, sizeof *lease);
    if (lease == NULL) {
        return sbx_err_nomem(err);
    }
    sbx_arena_init(&lease->arena, (size_t)1 << 20);
    enum sbx_code code = fill(lease, state_dir, profile, err);
    if (code == SBX_OK) {
        code = sbx_state_write(&lease->state, lease->file, &lease->record, err);
    }
    if (code == SBX_OK) {
        *out = SBX_TAKE(lease, NULL);
    }
    return code;
}

enum sbx_code sbx_lease_mark(struct sbx_lease *lease, enum sbx_lease_state state,
                             struct sbx_err *err)
{
    static const enum sbx_record_state states[] = {[SBX_LEASE_PREPARED] = SBX_RECORD_PREPARED,
                                                   [SBX_LEASE_RUNNING] = SBX_RECORD_RUNNING,
                                                   [SBX_LEASE_EXITED] = SBX_RECORD_EXITED};
    struct sbx_record next = lease->record;
    next.state = states[state];
    enum sbx_code code = sbx_state_write(&lease->state, lease->file, &next, err);
    if (code == SBX_OK) {
        lease->record = next;
    }
    return code;
}

const char *sbx_lease_name(const struct sbx_lease *lease)
{
    return lease->name;
}

enum sbx_code sbx_lease_close(struct sbx_lease *lease, struct sbx_err *err)
{
    enum sbx_code code = sbx_state_remove(&lease->state, lease->file, err);
    free_lease(lease);
    return code;
}

void sbx_lease_abandon(struct sbx_lease *lease)
{
    free_lease(lease);
}

/* ---- recovery ------------------------------------------------------------------------------ */

struct recovery {
    struct sbx_arena *arena; /* of the caller: the remark */
    struct sbx_arena *scratch;
    const struct sbx_state *state;
    struct sbx_recovery result;
};

static void remark(struct recovery *recovery, const char *file, const char *what,
                   const struct sbx_err *why)
{
    if (recovery->result.first_remark == NULL) {
        recovery->result.first_remark = sbx_arena_printf(
            recovery->arena, "%s\\%s: %s: %s", recovery->state->shown, file, what, why->text);
    }
}

static void undo(struct recovery *recovery, const char *file, const struct sbx_record *record)
{
    struct sbx_err why = {0};
    enum sbx_code code = sbx_profile_delete(record->profile, &why);
    if (code == SBX_OK) {
        code = sbx_state_remove(recovery->state, file, &why);
    }
    if (code == SBX_OK) {
        recovery->result.undone++;
        return;
    }
    recovery->result.kept++;
    remark(recovery, file, "what a dead run left could not be undone", &why);
}

static void recover_one(struct recovery *recovery, const char *file)
{
    struct sbx_record record;
    struct sbx_err why = {0};
    enum sbx_code code = sbx_state_read(recovery->scratch, recovery->state, file, &record, &why);
    if (code == SBX_E_NOT_FOUND) {
        return; /* its run has just ended */
    }
    if (code == SBX_OK && record.kind == SBX_RECORD_LEASE) {
        if (!sbx_owner_is_alive(&record.owner)) {
            undo(recovery, file, &record);
        }
        return;
    }
    if (code == SBX_OK || code == SBX_E_SYNTAX || code == SBX_E_LIMIT) {
        static const struct sbx_err another = {.text = "it is a record of another kind"};
        struct sbx_err failed = {0};
        remark(recovery, file, "it is no lease and was moved to quarantine",
               code == SBX_OK ? &another : &why);
        if (sbx_state_quarantine(recovery->state, file, &failed) == SBX_OK) {
            recovery->result.quarantined++;
            return;
        }
    }
    recovery->result.kept++;
    remark(recovery, file, "it cannot be read", &why);
}

/* "4242-133…-….lease.new": a write that was never finished, of a process that is gone. It names nothing that
 * exists: what a lease names is made after the lease is whole. */
static void remove_unfinished(struct recovery *recovery, const char *file)
{
    struct sbx_str pid;
    struct sbx_str created;
    struct sbx_str rest;
    uint64_t number;
    struct sbx_err ignored;
    uint64_t since;
    if (!sbx_str_split(sbx_str(file), '-', &pid, &rest) ||
        !sbx_str_split(rest, '-', &created, &rest) || !sbx_str_to_u64(pid, &number) ||
        number > UINT32_MAX || !sbx_str_to_u64(created, &since)) {
        return;
    }
    if (!sbx_owner_is_alive_at((uint32_t)number, since)) {
        (void)!sbx_state_remove(recovery->state, file, &ignored);
    }
}

static enum sbx_code recover_all(struct recovery *recovery, struct sbx_err *err)
{
    const char *const *files;
    size_t count;
    enum sbx_code code =
        sbx_state_list(recovery->scratch, recovery->state, SUFFIX, LEASES_MAX, &files, &count, err);
    for (size_t i = 0; code == SBX_OK && i < count; i++) {
        recover_one(recovery, files[i]);
    }
    if (code == SBX_OK) {
        code = sbx_state_list(recovery->scratch, recovery->state, SUFFIX ".new", LEASES_MAX, &files,
                              &count, err);
    }
    for (size_t i = 0; code == SBX_OK && i < count; i++) {
        remove_unfinished(recovery, files[i]);
    }
    return code;
}

enum sbx_code sbx_lease_recover(struct sbx_arena *arena, struct sbx_path state_dir,
                                struct sbx_recovery *out, struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, ARENA_MAX);
    AUTO_STATE state = {0};
    AUTO_HANDLE held = NULL;
    struct recovery recovery = {.arena = arena, .scratch = &scratch, .state = &state};
    enum sbx_code code = sbx_state_open(&scratch, state_dir, "leases", &state, err);
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_err busy = {0};
    code = sbx_state_lock(&state, SBX_STATE_WAIT_MS, &held, &busy);
    if (code == SBX_OK) {
        code = recover_all(&recovery, err);
    } else if (code == SBX_E_UNAVAILABLE) {
        code = SBX_OK; /* another one does it */
    } else if (err != NULL) {
        *err = busy;
    }
    if (code == SBX_OK) {
        *out = recovery.result;
    }
    return code;
}
