/* One box on Windows, from its plan to its record. */
#include "win/box.h"

#include <stdlib.h>
#include <string.h>

#include "win/diagnose.h"

#include "common/base/banned.h"

enum { SETUP_ARENA = 64 << 20, EVENT_ERROR = ERROR_ACCESS_DENIED };

static enum sbx_code build(void *state, struct sbx_guard *guard, struct sbx_err *err)
{
    struct sbx_box *box = state;
    box->guard = guard;
    enum sbx_code code = sbx_box_build(box, err);
    box->guard = NULL;
    return code;
}

/* ---- after the run --------------------------------------------------------------------------- */

static const char *keep(struct sbx_arena *arena, const char *text)
{
    return text == NULL ? NULL : sbx_arena_copy(arena, text, strlen(text));
}

static void keep_evidence(struct sbx_arena *arena, const struct sbx_box *box,
                          struct sbx_run_record *record)
{
    struct sbx_evidence_list list;
    sbx_evidence_init(&list, arena);
    for (size_t i = 0; i < box->evidence.count; i++) {
        const struct sbx_evidence *item = &box->evidence.items[i];
        sbx_evidence_add(&list, item->what, item->wanted, item->got, item->ok);
    }
    record->evidence = list.items;
    record->evidence_count = list.count;
}

static void keep_warnings(struct sbx_arena *arena, const struct sbx_box *box,
                          struct sbx_run_record *record)
{
    const char **warnings = SBX_NEW_ARRAY(arena, const char *, SBX_BOX_WARNINGS_MAX);
    for (size_t i = 0; warnings != NULL && i < box->warning_count; i++) {
        const char *text = keep(arena, box->warnings[i]);
        warnings[i] = text == NULL ? "out of memory" : text;
        record->warning_count = i + 1;
    }
    record->warnings = warnings;
}

/* The first protected name that was made: the one thing the box did that it may not. */
static void keep_event(struct sbx_arena *arena, const struct sbx_box *box,
                       struct sbx_run_record *record)
{
    struct sbx_event *event = box->watched.path == NULL ? NULL : SBX_NEW(arena, struct sbx_event);
    const char *path = event == NULL ? NULL : keep(arena, box->watched.path);
    if (path != NULL) {
        *event = (struct sbx_event){SBX_TRIED_CREATE, sbx_str(path), EVENT_ERROR};
        record->events = event;
        record->event_count = 1;
    }
}

static void diagnose(struct sbx_arena *arena, const struct sbx_box *box,
                     struct sbx_run_record *record)
{
    struct sbx_path parent = sbx_path_parent(arena, box->program.pin.path);
    struct sbx_ending ending = {
        .exit_code = record->outcome.exit_code,
        .was_silent = record->outcome.stdout_bytes + record->outcome.stderr_bytes == 0,
        .program = box->program.pin.path.text,
        .directory = parent.text == NULL ? "" : parent.text,
        .directory_is_readable =
            parent.text != NULL &&
            sbx_policy_decide(arena, box->plan->policy, parent).access != SBX_ACCESS_NONE,
        .desktop = box->desktop.text,
        .console = box->plan->recipe.has_console ? "a pseudo console" : "a hidden one",
    };
    record->diagnosis = sbx_diagnose_end(arena, &ending);
}

/* A limit that the kernel met counts when sbx itself did not end the run. */
static void name_limit(const struct sbx_box *box, struct sbx_outcome *outcome)
{
    enum sbx_limit met = sbx_job_limit_met(&box->messages, &box->plan->limits, outcome);
    outcome->forks_refused = box->messages.processes;
    if (outcome->limit == SBX_LIMIT_NONE && met != SBX_LIMIT_NONE) {
        outcome->limit = met;
        outcome->origin = SBX_FROM_SBX;
    }
    /* Seen after the command had ended by itself. */
    if (outcome->limit == SBX_LIMIT_NONE && box->watched.path != NULL) {
        outcome->limit = SBX_LIMIT_PROTECTED;
        outcome->origin = SBX_FROM_SBX;
    }
}

/* ---- the run --------------------------------------------------------------------------------- */

static enum sbx_code attend(struct sbx_arena *arena, struct sbx_box *box,
                            struct sbx_run_record *record, struct sbx_err *err)
{
    struct sbx_attend *attend = &box->attend;
    attend->job = box->job;
    attend->process = box->process.process;
    attend->thread = box->process.thread;
    attend->alarm = sbx_watch_alarm(box->watch);
    attend->alarm_limit = SBX_LIMIT_PROTECTED;
    attend->timeout_ns = box->plan->timeout_ns;
    attend->state = &box->terminal;
    attend->ended = sbx_terminal_end;
    attend->tick = box->plan->wants_terminal ? sbx_terminal_follow : NULL;
    enum sbx_code code = sbx_attend_run(attend, err);
    box->is_released = true; /* and ended */
    if (attend->is_tree_left) {
        sbx_box_warn(box, "a process of the box did not end within five seconds");
    }
    record->stderr_tail = sbx_pump_tail(attend->output[1], arena);
    attend->outcome.stdout_bytes = sbx_pump_close(SBX_TAKE(attend->output[0], NULL));
    attend->outcome.stderr_bytes = sbx_pump_close(SBX_TAKE(attend->output[1], NULL));
    record->outcome = attend->outcome;
    return code;
}

static enum sbx_code run(struct sbx_arena *arena, struct sbx_box *box,
                         struct sbx_run_record *record, struct sbx_err *err)
{
    enum sbx_code code = attend(arena, box, record, err);
    struct sbx_err mark;
    if (sbx_lease_mark(box->lease, SBX_LEASE_EXITED, &mark) != SBX_OK) {
        sbx_box_warn(box, "%s", mark.text);
    }
    if (code == SBX_OK) {
        diagnose(arena, box, record); /* before the undoing lets go what it tells about */
    }
    sbx_box_undo(box);
    if (box->watched.has_lost) {
        sbx_box_warn(box, "more files were made at once than could be followed: look for new "
                          "protected names, such as .git, in what the command wrote");
    }
    name_limit(box, &record->outcome);
    keep_event(arena, box, record);
    return code;
}

static void release(struct sbx_box *box)
{
    sbx_arena_release(&box->arena);
    free(box);
}

enum sbx_code sbx_box_run(struct sbx_arena *arena, const struct sbx_box_plan *plan,
                          struct sbx_run_record *record, struct sbx_err *err)
{
    struct sbx_run_record made = {.progress = record->progress};
    struct sbx_box *box = calloc(1, sizeof *box);
    if (box == NULL) {
        return sbx_err_nomem(err);
    }
    box->plan = plan;
    sbx_arena_init(&box->arena, SETUP_ARENA);
    sbx_evidence_init(&box->evidence, &box->arena);
    bool has_stalled = false;
    enum sbx_code code = sbx_guard_run(build, box, SBX_GUARD_MS, &has_stalled, err);
    if (has_stalled) {
        return code; /* what the stalled thread has stays its own */
    }
    if (code == SBX_OK) {
        code = run(arena, box, &made, err);
    }
    keep_evidence(arena, box, &made);
    keep_warnings(arena, box, &made);
    release(box);
    *record = made; /* also of a failure: its evidence and its warnings */
    return code;
}
