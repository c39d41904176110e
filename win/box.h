/* One box on Windows: its parts, and the steps that make and undo them (box_steps.c has the order). */
#ifndef SBX_WIN_BOX_H
#define SBX_WIN_BOX_H

#include "common/policy/plan.h"
#include "common/run/evidence.h"
#include "common/run/record.h"
#include "win/appcontainer.h"
#include "win/attend.h"
#include "win/desktop.h"
#include "win/grant.h"
#include "win/guard.h"
#include "win/job.h"
#include "win/lease.h"
#include "win/pin.h"
#include "win/process.h"
#include "win/program.h"
#include "win/recipe.h"
#include "win/terminal.h"
#include "win/token.h"
#include "win/watch.h"

/* What is to be built. Everything is borrowed and outlives the box. */
struct sbx_box_plan {
    const struct sbx_policy *policy;
    const char *const *command;
    struct sbx_job_limits limits;
    uint64_t timeout_ns;
    bool wants_terminal;
    bool is_silent; /* no streams at all: a probe */
    struct sbx_recipe recipe;
    const struct sbx_progress *progress;
};

enum { SBX_BOX_WARNINGS_MAX = 16 };

struct sbx_box {
    const struct sbx_box_plan *plan;
    struct sbx_guard *guard;
    struct sbx_arena arena; /* of the set-up, which a stalled one keeps */
    size_t applied;         /* steps */
    struct sbx_caller caller;
    const char *const *environment; /* "NAME=VALUE" */
    struct sbx_program program;
    struct sbx_pin directory;
    struct sbx_lease *lease;
    const char *profile_name;
    struct sbx_profile profile;
    bool has_profile;
    struct sbx_grants grants;
    SID_AND_ATTRIBUTES *capabilities;
    DWORD capability_count;
    HANDLE token;
    HANDLE job;
    struct sbx_job_port *port;
    struct sbx_job_messages messages;
    struct sbx_desktop desktop;
    struct sbx_attend attend;
    struct sbx_terminal terminal;
    HANDLE stream[3];    /* what the child gets: ours, or */
    HANDLE child_end[3]; /* the child's ends of pumps, closed after birth */
    struct sbx_watch *watch;
    struct sbx_watched watched;
    wchar_t *block; /* environment */
    struct sbx_process process;
    bool is_released;
    struct sbx_evidence_list evidence;
    const char *warnings[SBX_BOX_WARNINGS_MAX];
    size_t warning_count;
};

/* Applies the steps in order, up to the verified, suspended process. On failure every applied step is undone. */
enum sbx_code sbx_box_build(struct sbx_box *box, struct sbx_err *err) SBX_MUST_USE;

/* Undoes in reverse what is applied. Faults become warnings. */
void sbx_box_undo(struct sbx_box *box);

/* Notes what could not be undone, or what a person should know. */
void sbx_box_warn(struct sbx_box *box, const char *format, ...) SBX_PRINTF(2, 3);

/* Builds, releases, attends and undoes one box under the wall clock; *record gets everything but the notes of
 * denial. Texts in `arena`. */
enum sbx_code sbx_box_run(struct sbx_arena *arena, const struct sbx_box_plan *plan,
                          struct sbx_run_record *record, struct sbx_err *err) SBX_MUST_USE;

/* The names of the steps in order, NULL at the end: for tests of the order. */
const char *const *sbx_box_step_names(void);

/* ---- the streams (box_streams.c) ---- */
enum sbx_code sbx_box_open_streams(struct sbx_box *box, struct sbx_err *err) SBX_MUST_USE;
void sbx_box_close_child_ends(struct sbx_box *box);

#endif
