/* The steps of a box, in their fixed order, and how each is undone. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/run/environment.h"
#include "win/box.h"
#include "win/diagnose.h"
#include "win/environment.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/mitigation.h"
#include "win/process.h"
#include "win/sid.h"
#include "win/verify.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { WARNING_MAX = 512 };

void sbx_box_warn(struct sbx_box *box, const char *format, ...)
{
    char text[WARNING_MAX];
    va_list args;
    va_start(args, format);
    sbx_text_vformat(text, sizeof text, format, args);
    va_end(args);
    if (box->warning_count < SBX_BOX_WARNINGS_MAX) {
        const char *copy = sbx_arena_copy(&box->arena, text, strlen(text));
        box->warnings[box->warning_count++] = copy != NULL ? copy : "out of memory";
    }
}

/* ---- who calls, what others left ------------------------------------------------------------- */

static enum sbx_code check_caller(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code code = sbx_winapi_check(sbx_win(), err);
    if (code == SBX_OK) {
        code = sbx_token_caller(&box->arena, &box->caller, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    bool is_low = box->caller.integrity < SECURITY_MANDATORY_MEDIUM_RID;
    if (box->caller.is_appcontainer || is_low) {
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED, "sbx runs inside %s already",
                          box->caller.is_appcontainer ? "an AppContainer"
                                                      : "a process of low integrity");
        return sbx_err_hint(err, "boxes do not nest: start sbx outside");
    }
    return SBX_OK;
}

static enum sbx_code recover(struct sbx_box *box, struct sbx_err *err)
{
    struct sbx_recovery recovery = {0};
    enum sbx_code code =
        sbx_lease_recover(&box->arena, box->plan->policy->context.state_dir, &recovery, err);
    if (code == SBX_OK && recovery.kept + recovery.quarantined > 0) {
        sbx_box_warn(box, "%zu leases of ended runs could not be undone, %zu not be read: %s",
                     recovery.kept, recovery.quarantined,
                     recovery.first_remark == NULL ? "sbx doctor" : recovery.first_remark);
    }
    return code;
}

/* ---- program and directory ------------------------------------------------------------------- */

static const char *path_in_box(const char *const *environment)
{
    for (; *environment != NULL; environment++) {
        struct sbx_str name;
        struct sbx_str value;
        if (sbx_str_split(sbx_str(*environment), '=', &name, &value) &&
            sbx_str_is_nocase(name, "PATH")) {
            return value.ptr;
        }
    }
    return NULL;
}

static enum sbx_code find_program(struct sbx_box *box, struct sbx_err *err)
{
    const struct sbx_policy *policy = box->plan->policy;
    enum sbx_code code = sbx_environment_make(&box->arena, policy, &box->environment, err);
    if (code == SBX_OK) {
        code = sbx_program_find(&box->arena, box->plan->command, path_in_box(box->environment),
                                &box->program, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    const char *text = box->program.pin.path.text;
    if (sbx_policy_decide(&box->arena, policy, box->program.pin.path).access == SBX_ACCESS_NONE) {
        struct sbx_path parent = sbx_path_parent(&box->arena, box->program.pin.path);
        code = sbx_err_set(err, SBX_E_DENIED, "the box may not read the program \"%s\"", text);
        (void)sbx_err_hint(err, "allow its directory: -r \"%s\"",
                           parent.text == NULL ? "" : parent.text);
    } else if (box->program.note != NULL) {
        code = sbx_err_set(err, SBX_E_DENIED, "\"%s\" cannot run in a box", text);
        (void)sbx_err_hint(err, "%s", box->program.note);
    }
    if (code != SBX_OK) {
        sbx_program_close(&box->program);
    }
    return code;
}

static void close_program(struct sbx_box *box)
{
    sbx_program_close(&box->program);
}

static enum sbx_code pin_directory(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code code =
        sbx_pin_open(&box->arena, box->plan->policy->cwd, SBX_PIN_DIRECTORY, &box->directory, err);
    /* Not the program's fault: 126 and 127 are for that. */
    return code == SBX_E_NOT_FOUND || code == SBX_E_DENIED ? (err->code = SBX_E_INVALID) : code;
}

static void unpin_directory(struct sbx_box *box)
{
    sbx_pin_close(&box->directory);
}

/* ---- lease, profile, grants ------------------------------------------------------------------ */

static enum sbx_code open_lease(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code code = sbx_profile_name(&box->arena, &box->profile_name, err);
    return code != SBX_OK ? code
                          : sbx_lease_open(box->plan->policy->context.state_dir, box->profile_name,
                                           &box->lease, err);
}

/* A lease whose profile could not be deleted stays, and the next sbx tries again. */
static void close_lease(struct sbx_box *box)
{
    struct sbx_err err;
    if (box->has_profile) {
        sbx_box_warn(box,
                     "the profile of the box is left; \"%s\" names it and the next sbx removes it",
                     sbx_lease_name(box->lease));
        sbx_lease_abandon(box->lease);
    } else if (sbx_lease_close(box->lease, &err) != SBX_OK) {
        sbx_box_warn(box, "%s", err.text);
    }
    box->lease = NULL;
}

static enum sbx_code create_profile(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code code = sbx_profile_create(&box->arena, box->profile_name, &box->profile, err);
    box->has_profile = code == SBX_OK;
    return code;
}

static void delete_profile(struct sbx_box *box)
{
    struct sbx_err err;
    if (sbx_profile_delete(box->profile_name, &err) == SBX_OK) {
        box->has_profile = false;
    } else {
        sbx_box_warn(box, "%s", err.text);
    }
}

static void add_capability(struct sbx_box *box, PSID sid)
{
    box->capabilities[box->capability_count++] =
        (SID_AND_ATTRIBUTES){.Sid = sid, .Attributes = SE_GROUP_ENABLED};
}

static enum sbx_code make_grants(struct sbx_box *box, struct sbx_err *err)
{
    const struct sbx_policy *policy = box->plan->policy;
    struct sbx_grant_request request = {
        .policy = policy,
        .state_dir = policy->context.state_dir,
        .progress = box->plan->progress,
        .guard = box->guard,
    };
    enum sbx_code code = sbx_grants_make(&box->arena, &request, &box->grants, err);
    if (code != SBX_OK) {
        return code;
    }
    for (size_t i = 0; i < box->grants.remark_count; i++) {
        sbx_box_warn(box, "%s", box->grants.remarks[i]);
    }
    box->capabilities = SBX_NEW_ARRAY(&box->arena, SID_AND_ATTRIBUTES, box->grants.count + 2);
    if (box->capabilities == NULL) {
        sbx_grants_close(&box->grants);
        return sbx_err_nomem(err);
    }
    if (policy->network == SBX_NET_INHERIT) {
        add_capability(box, sbx_sid_known(SBX_SID_INTERNET_CLIENT));
        add_capability(box, sbx_sid_known(SBX_SID_PRIVATE_NETWORK));
    }
    for (size_t i = 0; i < box->grants.count; i++) {
        add_capability(box, box->grants.capabilities[i].sid);
    }
    return SBX_OK;
}

static void close_grants(struct sbx_box *box)
{
    sbx_grants_close(&box->grants);
}

/* ---- walls ----------------------------------------------------------------------------------- */

static enum sbx_code restrict_token(struct sbx_box *box, struct sbx_err *err)
{
    return sbx_token_restrict(&box->arena, box->plan->recipe.rung, &box->token, err);
}

static void close_token(struct sbx_box *box)
{
    sbx_handle_close(&box->token);
}

static enum sbx_code open_job(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code code = sbx_job_open(&box->plan->limits, &box->job, err);
    if (code == SBX_OK) {
        code = sbx_job_port_open(box->job, &box->port, err);
    }
    if (code != SBX_OK) {
        sbx_handle_close(&box->job);
    }
    return code;
}

static void close_job(struct sbx_box *box)
{
    sbx_job_port_close(SBX_TAKE(box->port, NULL), &box->messages);
    sbx_handle_close(&box->job); /* ends what may still be in it */
}

static enum sbx_code open_desktop(struct sbx_box *box, struct sbx_err *err)
{
    return sbx_desktop_open(&box->arena, box->caller.user, box->profile.sid, &box->desktop, err);
}

static void close_desktop(struct sbx_box *box)
{
    const char *text = box->desktop.text; /* for the diagnosis */
    sbx_desktop_close(&box->desktop);
    box->desktop.text = text;
}

static void close_streams(struct sbx_box *box)
{
    sbx_box_close_child_ends(box);
    sbx_terminal_close(&box->terminal);
    sbx_attend_release(&box->attend);
}

static enum sbx_code open_streams(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code code = sbx_box_open_streams(box, err);
    if (code != SBX_OK) {
        close_streams(box);
    }
    return code;
}

static enum sbx_code open_watch(struct sbx_box *box, struct sbx_err *err)
{
    return sbx_watch_open(box->plan->policy, box->grants.pins, box->grants.pin_count, &box->watch,
                          err);
}

static void close_watch(struct sbx_box *box)
{
    sbx_watch_close(SBX_TAKE(box->watch, NULL), &box->arena, &box->watched);
}

/* ---- the process ----------------------------------------------------------------------------- */

static enum sbx_code make_environment(struct sbx_box *box, struct sbx_err *err)
{
    return sbx_environment_block_boxed(&box->arena, box->environment, box->profile.folder,
                                       &box->block, err);
}

static void wipe_environment(struct sbx_box *box)
{
    sbx_environment_wipe(SBX_TAKE(box->block, NULL));
}

static enum sbx_code create_process(struct sbx_box *box, struct sbx_err *err)
{
    wchar_t *directory;
    enum sbx_code code = sbx_wide_from(&box->arena, box->directory.path.text, &directory, err);
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_container container = {
        .token = box->token,
        .package = box->profile.sid,
        .capabilities = box->capabilities,
        .capability_count = box->capability_count,
        .mitigations = sbx_mitigation_policy(box->plan->policy->syscalls == SBX_SYSCALLS_STRICT),
        .desktop = box->desktop.name,
        .console = box->terminal.console,
    };
    struct sbx_process_plan birth = {
        .program = box->program.path,
        .command_line = box->program.command_line,
        .environment = box->block,
        .directory = directory, /* without the \\?\ prefix: cmd would go elsewhere */
        .stream = {box->stream[0], box->stream[1], box->stream[2]},
        .job = box->job,
        .container = &container,
    };
    code = sbx_process_create(&birth, &box->process, err);
    if (code != SBX_OK) {
        (void)sbx_err_context(err, "\"%s\"", box->program.pin.path.text);
        return sbx_diagnose_start(err);
    }
    sbx_box_close_child_ends(box); /* so that the pumps see the child's end */
    return SBX_OK;
}

static void end_process(struct sbx_box *box)
{
    if (!box->is_released && !sbx_job_end(box->job)) {
        sbx_box_warn(box, "a process of the box does not end; its job is closed, which ends it");
    }
    sbx_handle_close(&box->process.thread);
    sbx_handle_close(&box->process.process);
}

static enum sbx_code verify(struct sbx_box *box, struct sbx_err *err)
{
    struct sbx_verify_plan plan = {
        .process = box->process.process,
        .job = box->job,
        .limits = &box->plan->limits,
        .package = box->profile.sid,
        .capabilities = box->capabilities,
        .capability_count = box->capability_count,
        .rung = box->plan->recipe.rung,
        .session = box->caller.session,
        .program = box->program.path,
        .is_strict = box->plan->policy->syscalls == SBX_SYSCALLS_STRICT,
    };
    sbx_verify_process(&box->evidence, &plan);
    const char *recipe = sbx_recipe_text(box->plan->recipe);
    sbx_evidence_add(&box->evidence, "recipe", recipe, recipe, true);
    sbx_evidence_add(&box->evidence, "desktop", box->desktop.text, box->desktop.text, true);
    return sbx_evidence_verdict(&box->evidence, err);
}

/* The last thing on disk before the command may do something. */
static enum sbx_code mark_running(struct sbx_box *box, struct sbx_err *err)
{
    return sbx_lease_mark(box->lease, SBX_LEASE_RUNNING, err);
}

/* ---- the table ------------------------------------------------------------------------------- */

struct step {
    const char *name;
    enum sbx_code (*apply)(struct sbx_box *box, struct sbx_err *err);
    void (*undo)(struct sbx_box *box);
    bool is_commands; /* SBX_E_NOT_FOUND and SBX_E_DENIED are about the command itself */
};

static const struct step steps[] = {
    {"asking who calls", check_caller, NULL, false},
    {"recovering what ended runs left", recover, NULL, false},
    {"looking for the program", find_program, close_program, true},
    {"holding the working directory", pin_directory, unpin_directory, false},
    {"writing the lease", open_lease, close_lease, false},
    {"creating the AppContainer profile", create_profile, delete_profile, false},
    {"granting files", make_grants, close_grants, false},
    {"restricting the token", restrict_token, close_token, false},
    {"making the job", open_job, close_job, false},
    {"making the desktop", open_desktop, close_desktop, false},
    {"opening the streams", open_streams, close_streams, false},
    {"watching for protected names", open_watch, close_watch, false},
    {"making the environment", make_environment, wipe_environment, false},
    {"creating the process", create_process, end_process, true},
    {"verifying the process", verify, NULL, false},
    {"marking the lease", mark_running, NULL, false},
};

const char *const *sbx_box_step_names(void)
{
    static const char *names[SBX_COUNT(steps) + 1];
    for (size_t i = 0; i < SBX_COUNT(steps); i++) {
        names[i] = steps[i].name;
    }
    return names;
}

enum sbx_code sbx_box_build(struct sbx_box *box, struct sbx_err *err)
{
    for (; box->applied < SBX_COUNT(steps); box->applied++) {
        const struct step *step = &steps[box->applied];
        sbx_guard_alive(box->guard, step->name);
        enum sbx_code code = step->apply(box, err);
        if (code == SBX_OK) {
            continue;
        }
        bool is_system = code == SBX_E_NOT_FOUND || code == SBX_E_DENIED;
        if (is_system && !step->is_commands) {
            err->code = SBX_E_IO; /* the command was not even tried */
        }
        code = err->code;
        sbx_guard_alive(box->guard, "undoing the box");
        sbx_box_undo(box);
        return code;
    }
    return SBX_OK;
}

void sbx_box_undo(struct sbx_box *box)
{
    while (box->applied > 0) {
        const struct step *step = &steps[--box->applied];
        if (step->undo != NULL) {
            step->undo(box);
        }
    }
}
