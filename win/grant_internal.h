/* What the sources of grants share; workspace.c includes it too, no other file does.
 *
 * How a place is closed. The access check of a box passes refusals for packages and capabilities over: only
 * permissions count for that half of it (J. Forshaw, Windows Security Internals, ch. 7, and measured by others on
 * Windows 11). So a place is closed by *not having* the permission, and by SE_DACL_PROTECTED on it: without that bit
 * any tool that lets permissions of the root flow down again (Explorer, icacls, another sandbox) would open it. The
 * refusal that is written there besides says that the bit is ours: only then is it taken away again. */
#ifndef SBX_WIN_GRANT_INTERNAL_H
#define SBX_WIN_GRANT_INTERNAL_H

#include "win/dacl.h"
#include "win/grant.h"
#include "win/record_text.h"
#include "win/state.h"

/* ---- what the policy says below a root (grant_view.c; calls nothing of the system) ---- */

struct sbx_grant_view {
    const struct sbx_policy *policy;
    const struct sbx_rule *rule; /* of the root */
    struct sbx_path
        *names; /* "C:\name": last names of rules and patterns below, globs among them */
    size_t count, capacity;
    bool minds_all;                /* a pattern ends in "**" */
    const struct sbx_rule **inner; /* roots of their own below it: nothing of this one is in them */
    size_t inner_count, inner_capacity;
};

enum sbx_code sbx_grant_view_make(struct sbx_arena *arena, const struct sbx_policy *policy,
                                  const struct sbx_rule *rule, struct sbx_grant_view *out,
                                  struct sbx_err *err) SBX_MUST_USE;

/* Can what has this name ("C:\name") differ from the directory it is in? */
bool sbx_grant_view_minds(const struct sbx_grant_view *view, struct sbx_path name);

/* Is the path in the tree of the root, and not in that of one further down? */
bool sbx_grant_view_holds(const struct sbx_grant_view *view, struct sbx_path path);

/* What the policy gives at a path of the host; nothing where the box has something of its own. */
enum sbx_access sbx_grant_access(const struct sbx_policy *policy, struct sbx_path path,
                                 bool is_directory);

/* Does the rule give more than what is around it, so that it needs a capability of its own? */
bool sbx_grant_is_root(const struct sbx_policy *policy, const struct sbx_rule *rule);

/* Refuses globs that open what no rule covers: nothing finds their matches without walking the disk. */
enum sbx_code sbx_grant_check_globs(const struct sbx_policy *policy,
                                    struct sbx_err *err) SBX_MUST_USE;

/* Refuses places whose grant would be no box: a drive, a profile, TEMP, AppData, the system's own. */
enum sbx_code sbx_grant_check_place(const struct sbx_context *context, struct sbx_path path,
                                    bool is_write, struct sbx_err *err) SBX_MUST_USE;

/* "sbx.root.0123456789abcdef.rw" for the user, the place and everything that is said about what is below it. */
const char *sbx_grant_name(struct sbx_arena *arena, const struct sbx_grant_view *view,
                           const char *user, const struct sbx_pin *pin);

/* ---- one object (grant_object.c) ---- */

enum sbx_grant_place {
    SBX_PLACE_ROOT,    /* where the permission is written for all below */
    SBX_PLACE_FOLLOWS, /* has what its directory gives it */
    SBX_PLACE_STARTS,  /* less than its directory gives: closed, or read-only */
    SBX_PLACE_ABOVE,   /* a directory above a root: may be looked at */
    SBX_PLACE_NOTHING, /* everything of the capability is taken away */
};

enum sbx_grant_result {
    SBX_RESULT_SAME,     /* was so already */
    SBX_RESULT_DONE,     /* is so now */
    SBX_RESULT_OWN_LIST, /* takes nothing from above, or has no list: left alone */
    SBX_RESULT_REFUSED,  /* the user may not change it; it has no more than it may have */
};

/* What is told before the first change of a walk that was meant to look only. */
typedef enum sbx_code sbx_grant_first(void *state, struct sbx_err *err);

struct sbx_grant_tool {
    PSID sid; /* of the capability */
    const struct sbx_progress *progress;
    struct sbx_guard *guard;
    sbx_grant_first *first; /* NULL: changes are expected */
    void *first_state;
    bool has_changed;
    bool
        is_fresh; /* nothing of the capability can be there yet: what cannot be looked at has none of it */
    struct sbx_record_counts counts;
    struct sbx_dacl *lists; /* three of them; see sbx_grant_tool_open */
};

enum sbx_code sbx_grant_tool_open(PSID sid, const struct sbx_progress *progress,
                                  struct sbx_guard *guard, struct sbx_grant_tool *out,
                                  struct sbx_err *err) SBX_MUST_USE;
void sbx_grant_tool_close(struct sbx_grant_tool *tool);
#define AUTO_TOOL SBX_CLEANUP(sbx_grant_tool_close) struct sbx_grant_tool

/* A sign of life, and the end when the caller wants it: SBX_E_UNAVAILABLE. */
enum sbx_code sbx_grant_tool_tell(struct sbx_grant_tool *tool, const char *path,
                                  struct sbx_err *err) SBX_MUST_USE;

struct sbx_grant_object {
    HANDLE handle;
    const char *path; /* for messages */
    bool is_directory;
    bool is_read_only; /* the handle cannot change the list */
};

/* Makes the entries of the capability what they have to be at that place. Refuses what it cannot close. */
enum sbx_code sbx_grant_apply(struct sbx_grant_tool *tool, const struct sbx_grant_object *object,
                              enum sbx_grant_place place, enum sbx_access access,
                              enum sbx_grant_result *result, struct sbx_err *err) SBX_MUST_USE;

/* ---- the tree (grant_walk.c) ---- */

#define SBX_GRANT_DEPTH_MAX 512

enum sbx_walk_kind {
    SBX_WALK_GIVE,  /* every object gets what it has to have */
    SBX_WALK_NAMES, /* names only: finds what has to be closed and is not */
    SBX_WALK_TAKE,  /* everything of the capability is taken away */
};

struct sbx_walk {
    enum sbx_walk_kind kind;
    const struct sbx_grant_view *view; /* NULL with SBX_WALK_TAKE */
    HANDLE directory;                  /* where it begins; the caller's, for listing */
    const char *path;                  /* the same in the words of the policy */
    enum sbx_access access;            /* what the box may do in it */
    bool is_flat; /* only into directories that had to be closed; with SBX_WALK_NAMES */
};

/* Everything below the directory, not the directory itself. By handle, never through a reparse point. */
enum sbx_code sbx_grant_walk(struct sbx_grant_tool *tool, const struct sbx_walk *walk,
                             struct sbx_err *err) SBX_MUST_USE;

/* One name in the directory, and what is below it: as a walk of names would. Not there is a success. */
enum sbx_code sbx_grant_look_at(struct sbx_grant_tool *tool, const struct sbx_walk *walk,
                                const wchar_t *name, struct sbx_err *err) SBX_MUST_USE;

/* ---- what changed since (grant_journal.c) ---- */

struct sbx_journal {
    HANDLE volume; /* its root directory */
    uint64_t id;   /* 0: there is no journal */
    uint64_t first, next;
};

/* Of the volume that the pinned root is on. Never fails: id is 0 when there is nothing to use. */
void sbx_journal_open(const struct sbx_pin *root, struct sbx_journal *out);
void sbx_journal_close(struct sbx_journal *journal);
#define AUTO_JOURNAL SBX_CLEANUP(sbx_journal_close) struct sbx_journal

/* Lists every directory below the root in which something was made, renamed or opened up since `usn`, as a walk of
 * names would. *complete is false when the journal does not reach back that far, or says too much: then
 * only a walk knows. */
enum sbx_code sbx_journal_catch_up(struct sbx_grant_tool *tool, const struct sbx_journal *journal,
                                   uint64_t usn, const struct sbx_pin *root,
                                   const struct sbx_grant_view *view, bool *complete,
                                   struct sbx_err *err) SBX_MUST_USE;

/* ---- one root (grant_hold.c) ---- */

struct sbx_grant_root {
    const struct sbx_rule *rule;
    struct sbx_pin pin;
    struct sbx_grant_view view;
    bool is_system; /* open to every package already: nothing is written */
    struct sbx_capability capability;
    const char *file; /* of its record: "0123456789abcdef.workspace" */
};

struct sbx_grant_maker {
    struct sbx_arena *arena;
    const struct sbx_policy *policy;
    const struct sbx_progress *progress;
    struct sbx_guard *guard;
    struct sbx_state state;
    HANDLE lock;        /* NULL: not held */
    bool is_fresh_walk; /* every root is walked again, also one that is complete */
    const char **remarks;
    size_t remark_count, remark_capacity;
};

void sbx_grant_remark(struct sbx_grant_maker *maker, const char *format, ...) SBX_PRINTF(2, 3);

/* Waits for the lock as long as it takes another sbx to grant something, within reason. */
enum sbx_code sbx_grant_lock(struct sbx_grant_maker *maker, struct sbx_err *err) SBX_MUST_USE;

/* Makes the root hold. `record` is what is on disk of it, NULL for nothing. */
enum sbx_code sbx_grant_hold(struct sbx_grant_maker *maker, struct sbx_grant_root *root,
                             const struct sbx_record *record, struct sbx_err *err) SBX_MUST_USE;

/* ---- records (grant_record.c) ---- */

#define SBX_WORKSPACE_SUFFIX ".workspace"
#define SBX_WORKSPACES_MAX ((size_t)1024)

struct sbx_record_file {
    const char *file;
    struct sbx_record record;
};

/* All records of the directory; damaged ones are moved to quarantine and remarked. */
enum sbx_code sbx_grant_records(struct sbx_grant_maker *maker, struct sbx_record_file **out,
                                size_t *count, struct sbx_err *err) SBX_MUST_USE;

/* Takes every entry of the record's capability away, then the record. One whose place is gone is removed. Under the
 * lock. */
enum sbx_code sbx_grant_take_back(struct sbx_grant_maker *maker, const char *file,
                                  const struct sbx_record *record, struct sbx_record_counts *counts,
                                  struct sbx_err *err) SBX_MUST_USE;

/* The entries on the directories above its place. */
enum sbx_code sbx_grant_take_above(struct sbx_grant_tool *tool, const struct sbx_record *record,
                                   struct sbx_err *err) SBX_MUST_USE;

/* Opens a place to change its list and, if it is a directory, to list it. NULL with the last error. */
HANDLE sbx_grant_open(const wchar_t *path, bool is_directory);

#endif
