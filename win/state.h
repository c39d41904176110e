/* Directories of sbx's own below its state directory, private to the user: whoever could write there would decide what
 * the next sbx undoes. Through the table of calls. */
#ifndef SBX_WIN_STATE_H
#define SBX_WIN_STATE_H

#include "common/base/path.h"
#include "win/record_text.h"
#include "win/winapi.h"

/* How long to wait for another sbx that is at work there. */
#define SBX_STATE_WAIT_MS 10000

struct sbx_state {
    const wchar_t *directory; /* \\?\C:\…\leases */
    const char *shown;        /* the same for messages */
    HANDLE handle;            /* held, so that it cannot be swapped */
};

/* Makes <state_dir>\<name> when it is missing, private to the user. Refused (SBX_E_UNTRUSTED): one of the two is a
 * link or no directory, belongs to somebody else, or others may write it. Texts are in `arena`. */
enum sbx_code sbx_state_open(struct sbx_arena *arena, struct sbx_path state_dir, const char *name,
                             struct sbx_state *out, struct sbx_err *err) SBX_MUST_USE;
/* The same without making anything: SBX_E_NOT_FOUND. */
enum sbx_code sbx_state_find(struct sbx_arena *arena, struct sbx_path state_dir, const char *name,
                             struct sbx_state *out, struct sbx_err *err) SBX_MUST_USE;
void sbx_state_close(struct sbx_state *state);
#define AUTO_STATE SBX_CLEANUP(sbx_state_close) struct sbx_state

/* One process at a time, also one of another session: a file that nobody else can open while it is held, and that the
 * system lets go when its holder dies. A mutex has a name per session, and then two would be at work.
 * SBX_E_UNAVAILABLE after wait_ms. Let go with sbx_handle_close. `name` is "lock". */
enum sbx_code sbx_state_lock(const struct sbx_state *state, DWORD wait_ms, HANDLE *out,
                             struct sbx_err *err) SBX_MUST_USE;

/* "<directory>\<file>" in `arena`; NULL without memory. */
wchar_t *sbx_state_path(struct sbx_arena *arena, const struct sbx_state *state, const char *file);

/* Names of the files that end in `suffix`, at most `max`, in `arena`; any order. */
enum sbx_code sbx_state_list(struct sbx_arena *arena, const struct sbx_state *state,
                             const char *suffix, size_t max, const char *const **out, size_t *count,
                             struct sbx_err *err) SBX_MUST_USE;

/* Reads a record; SBX_E_NOT_FOUND, SBX_E_SYNTAX when it is none. */
enum sbx_code sbx_state_read(struct sbx_arena *arena, const struct sbx_state *state,
                             const char *file, struct sbx_record *out,
                             struct sbx_err *err) SBX_MUST_USE;

/* On disk when it returns SBX_OK: written under another name, flushed, renamed. A crash leaves the old one or the new
 * one, whole, and at most a file "<file>.new" that means nothing. */
enum sbx_code sbx_state_write(const struct sbx_state *state, const char *file,
                              const struct sbx_record *record, struct sbx_err *err) SBX_MUST_USE;

/* One that is not there is a success. */
enum sbx_code sbx_state_remove(const struct sbx_state *state, const char *file,
                               struct sbx_err *err) SBX_MUST_USE;

/* Moves a file that is no record to <directory>\quarantine. */
enum sbx_code sbx_state_quarantine(const struct sbx_state *state, const char *file,
                                   struct sbx_err *err) SBX_MUST_USE;

/* Seconds since 1970. */
uint64_t sbx_state_now(void);

/* Who we are, as records name it. */
enum sbx_code sbx_owner_self(struct sbx_arena *arena, struct sbx_record_owner *out,
                             struct sbx_err *err) SBX_MUST_USE;

/* Is that process still there: same id, same time of creation, same program? When the system does not say: yes, for
 * what may be alive is not touched. */
bool sbx_owner_is_alive(const struct sbx_record_owner *owner);
/* The same where the program is not known. */
bool sbx_owner_is_alive_at(uint32_t pid, uint64_t created);

#endif
