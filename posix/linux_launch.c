/* A Linux box from plan to record. */
#include "posix/linux_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/os.h"
#include "common/run/environment.h"
#include "posix/attend.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/linux_failure.h"
#include "posix/linux_limits.h"
#include "posix/linux_orphans.h"
#include "posix/linux_scratch.h"
#include "posix/terminal.h"

#include "common/base/banned.h"

#define SECOND_NS UINT64_C(1000000000)

/* ---- the group -------------------------------------------------------------------------------------- */

bool sbx_launch_wants_group(const struct sbx_policy *policy)
{
    const struct sbx_limits *limits = &policy->limits;
    return limits->memory_bytes > 0 || limits->processes > 0 || limits->cpu_secs > 0;
}

static enum sbx_code make_group(struct sbx_launch *launch, struct sbx_err *err)
{
    const struct sbx_plan *plan = launch->plan;
    struct sbx_cgroup_limits limits = {
        .memory_bytes = plan->memory_bytes,
        .processes = plan->policy->limits.processes,
        /* sbx-init, and a helper program where there is one */
        .own_processes = plan->backend == SBX_BACKEND_NATIVE ? 1 : 2,
        .counts_cpu = plan->policy->limits.cpu_secs > 0,
    };
    if (plan->facts->cgroup == SBX_CGROUP_NONE) {
        return SBX_OK; /* rlimits, and the plan says best-effort */
    }
    sbx_cgroup_recover();
    enum sbx_code code = SBX_OK;
    if (sbx_launch_wants_group(plan->policy)) {
        code = sbx_heir_open(&launch->heir, err);
    }
    if (code == SBX_OK) {
        code = sbx_cgroup_make(&limits, &launch->cgroup, err);
    }
    if (code == SBX_OK && launch->cgroup.version != SBX_CGROUP_NONE) {
        launch->cpu_limit_ns = plan->policy->limits.cpu_secs * SECOND_NS;
    }
    return code;
}

/* ---- what the keeper calls ----------------------------------------------------------------------- */

static bool enter(void *state)
{
    struct sbx_launch *launch = (struct sbx_launch *)state;
    if (launch->enter != NULL) {
        return launch->enter(launch);
    }
    /* Still as root: the group's files are root's. Then who the box runs as, before it is built. */
    return sbx_cgroup_enter_self(&launch->cgroup) && sbx_account_become(&launch->account);
}

static enum sbx_limit tick(void *state)
{
    const struct sbx_launch *launch = (const struct sbx_launch *)state;
    struct sbx_cgroup_usage usage = {0};
    sbx_cgroup_usage(&launch->cgroup, &usage);
    return launch->cpu_limit_ns != 0 && usage.cpu_ns >= launch->cpu_limit_ns ? SBX_LIMIT_CPU
                                                                             : SBX_LIMIT_NONE;
}

static void take_limit(struct sbx_outcome *outcome, enum sbx_limit limit)
{
    if (outcome->limit == SBX_LIMIT_NONE) {
        outcome->limit = limit;
        outcome->origin = SBX_FROM_SBX;
    }
}

static void account(void *state, struct sbx_outcome *outcome)
{
    const struct sbx_launch *launch = (const struct sbx_launch *)state;
    struct sbx_cgroup_usage usage = {0};
    if (launch->cgroup.version != SBX_CGROUP_NONE) {
        sbx_cgroup_usage(&launch->cgroup, &usage);
        outcome->cpu_ns = usage.cpu_ns > 0 ? usage.cpu_ns : outcome->cpu_ns;
        if (usage.peak_memory_bytes > 0) {
            outcome->peak_memory_bytes = usage.peak_memory_bytes;
        }
        outcome->forks_refused = usage.pids_refused;
        if (usage.oom_kills > 0) {
            take_limit(outcome, SBX_LIMIT_MEMORY);
        }
    }
    if (launch->plan->policy->limits.cpu_secs > 0 && outcome->signal == SIGXCPU) {
        take_limit(outcome, SBX_LIMIT_CPU);
    }
}

static void undo(void *state)
{
    struct sbx_launch *launch = (struct sbx_launch *)state;
    if (launch->cgroup.version != SBX_CGROUP_NONE) {
        (void)sbx_cgroup_kill(&launch->cgroup);
        (void)sbx_cgroup_remove(&launch->cgroup);
    }
    if (launch->scratch[0] != '\0') {
        sbx_scratch_remove(launch->scratch);
    }
}

/* ---- opening ------------------------------------------------------------------------------------- */

static bool is_same_file(int a, int b)
{
    struct stat first;
    struct stat second;
    return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static enum sbx_code make_pipes(struct sbx_launch *launch, struct sbx_err *err)
{
    if (!sbx_fd_pipe(&launch->orders[0], &launch->orders[1]) ||
        !sbx_fd_pipe(&launch->reports[0], &launch->reports[1]) ||
        (!launch->is_warm && !sbx_fd_pipe(&launch->hold[0], &launch->hold[1])) ||
        !sbx_fd_set_nonblocking(launch->reports[0])) {
        int raw = errno;
        return sbx_err_errno(err, raw, "pipe2", "cannot make the pipes of the box");
    }
    launch->diagnostics_fd = memfd_create("sbx-diagnostics", MFD_CLOEXEC);
    void *share = mmap(NULL, sizeof *launch->share, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (launch->diagnostics_fd < 0 || share == MAP_FAILED) {
        int raw = errno;
        return sbx_err_errno(err, raw, "mmap", "cannot make the memory of the box");
    }
    launch->share = (struct sbx_box_share *)share;
    return SBX_OK;
}

static enum sbx_code make_terminal(struct sbx_launch *launch, struct sbx_err *err)
{
    if (!launch->plan->wants_terminal) {
        return SBX_OK;
    }
    if (!sbx_terminal_pair(&launch->box.terminal_fd, &launch->box.terminal_slave_fd)) {
        int raw = errno;
        return sbx_err_errno(err, raw, "posix_openpt", "cannot make a terminal for the box");
    }
    launch->block.plan.flags |= SBX_INIT_HAS_TERMINAL;
    return SBX_OK;
}

static enum sbx_code find_command(struct sbx_launch *launch, struct sbx_err *err)
{
    struct sbx_path program;
    enum sbx_code code = sbx_os_find_program(launch->arena, launch->plan->command[0],
                                             sbx_os_env(launch->arena, "PATH"), &program, err);
    if (code == SBX_OK) {
        launch->program = program.text;
        code = sbx_environment_make(launch->arena, launch->plan->policy, &launch->env, err);
    }
    return code;
}

static enum sbx_code no_command(struct sbx_launch *launch)
{
    static const char *const nothing[] = {NULL};
    launch->program = "";
    launch->env = nothing;
    launch->block.plan.flags |= SBX_INIT_WAITS;
    return SBX_OK;
}

static void choose_filters(struct sbx_launch *launch)
{
    const struct sbx_policy *policy = launch->plan->policy;
    bool has_sockets = policy->network == SBX_NET_INHERIT;
    for (size_t i = 0; i < policy->rules.count; i++) {
        has_sockets |= policy->rules.items[i].kind == SBX_RULE_SOCKET;
    }
    bool may_connect = has_sockets && launch->plan->backend != SBX_BACKEND_LANDLOCK;
    sbx_launch_filter(launch, may_connect ? SBX_FILTER_DENY_UNIX : SBX_FILTER_DENY);
    if (policy->syscalls == SBX_SYSCALLS_STRICT) {
        sbx_launch_filter(launch, SBX_FILTER_STRICT);
    }
}

/* What the plan itself decides. */
static void begin_block(struct sbx_launch *launch)
{
    static const char *const nothing[] = {NULL};
    const struct sbx_plan *plan = launch->plan;
    struct sbx_init_plan *inside = &launch->block.plan;
    inside->program = sbx_init_block_text(&launch->block, launch->program);
    inside->directory = sbx_init_block_text(&launch->block, plan->policy->cwd.text);
    inside->argv = sbx_init_block_texts(&launch->block, launch->is_warm ? nothing : plan->command);
    inside->env = sbx_init_block_texts(&launch->block, launch->env);
    sbx_launch_limits(launch);
    choose_filters(launch);
}

void sbx_launch_look(struct sbx_launch *launch, struct sbx_arena *arena,
                     const struct sbx_plan *plan, const struct sbx_account *account,
                     enum sbx_cgroup_version version)
{
    launch->arena = arena;
    launch->plan = plan;
    launch->landlock_abi = plan->facts->landlock_abi;
    launch->is_warm = true;
    launch->account = *account;
    launch->cgroup.version = version;
    sbx_init_block_init(&launch->block);
    (void)no_command(launch);
    begin_block(launch);
}

enum sbx_code sbx_launch_ready(struct sbx_launch *launch, struct sbx_err *err)
{
    launch->is_ready = true;
    launch->init_fd = launch->plan_fd = launch->diagnostics_fd = -1;
    launch->orders[0] = launch->orders[1] = launch->reports[0] = launch->reports[1] = -1;
    launch->hold[0] = launch->hold[1] = -1;
    launch->box.terminal_fd = launch->box.terminal_slave_fd = launch->early.mounts_fd = -1;
    sbx_init_block_init(&launch->block);
    enum sbx_code code = make_pipes(launch, err);
    if (code == SBX_OK) {
        code = sbx_init_program(&launch->init_fd, err);
    }
    if (code == SBX_OK) {
        code = sbx_init_block_open(&launch->plan_fd, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    sbx_launch_pass(launch, launch->plan_fd, SBX_INIT_FD_PLAN);
    sbx_launch_pass(launch, launch->init_fd, SBX_INIT_FD_IMAGE);
    sbx_launch_pass(launch, launch->orders[0], SBX_INIT_FD_ORDERS);
    sbx_launch_pass(launch, launch->reports[1], SBX_INIT_FD_REPORTS);
    if (!launch->is_warm) {
        sbx_launch_pass(launch, launch->hold[0], SBX_INIT_FD_HOLD);
    }
    return SBX_OK;
}

enum sbx_code sbx_launch_open(struct sbx_launch *launch, struct sbx_arena *arena,
                              const struct sbx_plan *plan, struct sbx_err *err)
{
    launch->arena = arena;
    launch->plan = plan;
    launch->landlock_abi = plan->facts->landlock_abi;
    sbx_evidence_init(&launch->evidence, arena);
    if (!launch->is_ready) {
        enum sbx_code ready = sbx_launch_ready(launch, err);
        if (ready != SBX_OK) {
            return ready;
        }
    }
    launch->adopts = !launch->is_warm && !launch->is_inside && sbx_orphans_adopt();
    enum sbx_code code = launch->is_warm ? no_command(launch) : find_command(launch, err);
    if (code == SBX_OK) {
        code = sbx_account_find(plan->policy, &launch->account, err);
    }
    if (code == SBX_OK) {
        code = make_group(launch, err);
    }
    if (code == SBX_OK) {
        code = make_terminal(launch, err);
    }
    if (code == SBX_OK) {
        begin_block(launch);
    }
    return code;
}

void sbx_launch_close(struct sbx_launch *launch)
{
    if (!launch->is_ready) {
        return;
    }
    launch->is_ready = false;
    sbx_attend_abandon(&launch->attendant);
    int *const owned[] = {
        &launch->init_fd,    &launch->plan_fd,         &launch->diagnostics_fd,
        &launch->orders[0],  &launch->orders[1],       &launch->reports[0],
        &launch->reports[1], &launch->box.terminal_fd, &launch->box.terminal_slave_fd,
        &launch->hold[0],    &launch->hold[1],         &launch->early.mounts_fd};
    for (size_t i = 0; i < SBX_COUNT(owned); i++) {
        sbx_fd_close(owned[i]);
    }
    undo(launch); /* nothing is left to undo after a run: the keeper did it */
    if (launch->adopts) {
        sbx_orphans_leave();
    }
    sbx_heir_dismiss(&launch->heir);
    sbx_cgroup_release(&launch->cgroup);
    if (launch->share != NULL) {
        (void)munmap(launch->share, sizeof *launch->share);
    }
    sbx_init_block_release(&launch->block);
}

enum sbx_code sbx_launch_setup_failed(enum sbx_code code, struct sbx_err *err)
{
    if (code == SBX_E_NOT_FOUND || code == SBX_E_DENIED) {
        err->code = SBX_E_INVALID;
        return SBX_E_INVALID;
    }
    return code;
}

void sbx_launch_filter(struct sbx_launch *launch, enum sbx_filter which)
{
    launch->filters[launch->filter_count++] = which;
}

void sbx_launch_pass(struct sbx_launch *launch, int fd, int number)
{
    launch->fds[launch->fd_count++] = (struct sbx_box_fd){fd, number};
}

void sbx_launch_evidence(struct sbx_launch *launch, const struct sbx_proc *held)
{
    const struct sbx_init_plan *plan = &launch->block.plan;
    sbx_evidence_limits(&launch->evidence, held, launch->block.bytes.data + plan->rlimits.at,
                        plan->rlimits.count);
    sbx_evidence_cgroup(&launch->evidence, &launch->cgroup, held->pid);
    sbx_evidence_descriptors(&launch->evidence, held);
    sbx_evidence_environment(&launch->evidence, launch->plan_fd, launch->env);
}

/* ---- running ------------------------------------------------------------------------------------- */

static struct sbx_init_filter add_program(struct sbx_launch *launch, enum sbx_filter which)
{
    struct sbx_bpf program = sbx_filter_program(which);
    struct sbx_init_array array = sbx_init_block_array(&launch->block, program.code, program.count,
                                                       sizeof(struct sock_filter));
    return (struct sbx_init_filter){array.at, array.count};
}

static enum sbx_code seal_block(struct sbx_launch *launch, struct sbx_err *err)
{
    struct sbx_init_filter filters[SBX_LAUNCH_FILTERS];
    launch->filter_count = sbx_filter_join(launch->filters, launch->filter_count);
    for (size_t i = 0; i < launch->filter_count; i++) {
        filters[i] = add_program(launch, launch->filters[i]);
    }
    if (launch->watches_names) {
        launch->block.plan.names = add_program(launch, launch->watch);
    }
    launch->block.plan.filters =
        sbx_init_block_array(&launch->block, filters, launch->filter_count, sizeof filters[0]);
    return sbx_init_block_seal(&launch->block, launch->plan_fd, err);
}

static void part_from_helper(struct sbx_launch *launch)
{
    sbx_fd_close(&launch->orders[0]);
    sbx_fd_close(&launch->reports[1]);
    sbx_fd_close(&launch->hold[0]);
    sbx_fd_close(&launch->box.terminal_slave_fd);
}

void sbx_launch_part(struct sbx_launch *launch)
{
    part_from_helper(launch);
    if (!launch->is_inside) {
        sbx_fd_close(&launch->orders[1]);
        sbx_fd_close(&launch->hold[1]);
        sbx_fd_close(&launch->box.terminal_fd);
        sbx_heir_dismiss(&launch->heir);
    }
}

static void look(void *state, const struct sbx_report *built)
{
    struct sbx_launch *launch = (struct sbx_launch *)state;
    if (launch->look != NULL) {
        launch->look(launch, built);
    }
}

static bool verify(void *state, const struct sbx_report *held)
{
    return sbx_launch_verify((struct sbx_launch *)state, held);
}

/* Nothing is read back any more. */
static void settle(void *state)
{
    struct sbx_launch *launch = (struct sbx_launch *)state;
    sbx_fd_close(&launch->init_fd);
    sbx_fd_close(&launch->plan_fd);
    sbx_fd_close(&launch->early.mounts_fd);
    if (launch->is_released && !launch->is_trial) {
        sbx_run_starts(launch->evidence.items, launch->evidence.count);
    }
    if (launch->settle != NULL) {
        launch->settle(launch);
    }
}

bool sbx_launch_verify(struct sbx_launch *launch, const struct sbx_report *held)
{
    launch->verify(launch, held);
    launch->verify_code = sbx_evidence_verdict(&launch->evidence, &launch->verify_err);
    launch->is_released = launch->verify_code == SBX_OK;
    return launch->is_released;
}

static enum sbx_operation operation_of(int32_t what)
{
    static const enum sbx_operation operations[] = {
        [SBX_MAKES_FILE] = SBX_TRIED_CREATE,   [SBX_MAKES_DIRECTORY] = SBX_TRIED_CREATE,
        [SBX_MAKES_NODE] = SBX_TRIED_CREATE,   [SBX_MAKES_SYMLINK] = SBX_TRIED_LINK,
        [SBX_CHANGES_MODE] = SBX_TRIED_MODE,   [SBX_CHANGES_OWNER] = SBX_TRIED_MODE,
        [SBX_CHANGES_TIMES] = SBX_TRIED_MODE,  [SBX_MAKES_LINK] = SBX_TRIED_LINK,
        [SBX_MAKES_RENAME] = SBX_TRIED_RENAME,
    };
    return what >= 0 && (size_t)what < SBX_COUNT(operations) ? operations[what] : SBX_TRIED_WRITE;
}

/* Out of the shared memory into the arena of the run. */
void sbx_launch_record(const struct sbx_launch *launch, struct sbx_run_record *out)
{
    const struct sbx_box_share *share = launch->share;
    size_t len = share->tail.total < SBX_TAIL_BYTES ? (size_t)share->tail.total : SBX_TAIL_BYTES;
    size_t begin = (size_t)((share->tail.total - len) % SBX_TAIL_BYTES);
    char *tail = (char *)sbx_arena_alloc(launch->arena, len + 1, 1);
    size_t count = share->event_count < SBX_EVENT_MAX ? share->event_count : SBX_EVENT_MAX;
    struct sbx_event *events = SBX_NEW_ARRAY(launch->arena, struct sbx_event, count);
    out->evidence = launch->evidence.items;
    out->evidence_count = launch->evidence.count;
    if (tail == NULL || events == NULL) {
        return; /* without memory nothing is explained; the outcome stands */
    }
    for (size_t i = 0; i < len; i++) {
        tail[i] = share->tail.ring[(begin + i) % SBX_TAIL_BYTES];
    }
    out->stderr_tail = (struct sbx_str){tail, len};
    for (size_t i = 0; i < count; i++) {
        const struct sbx_box_event *event = &share->events[i];
        const char *path = sbx_arena_copy(launch->arena, event->path, event->length);
        if (path == NULL) {
            break;
        }
        events[out->event_count++] =
            (struct sbx_event){operation_of(event->what), {path, event->length}, event->error};
    }
    out->events = events;
    out->events_dropped = share->events_dropped;
}

enum sbx_code sbx_launch_seal(struct sbx_launch *launch, struct sbx_err *err)
{
    static const unsigned char build = SBX_ORDER_BUILD;
    if (sbx_session_net_shared() != NULL && launch->session == NULL && !launch->is_trial) {
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED, "only a native box can share a network");
        return sbx_err_hint(err, "leave the session's network out, or see: sbx doctor");
    }
    enum sbx_code code = seal_block(launch, err);
    if (code == SBX_OK && launch->box.fork != NULL) {
        (void)!sbx_fd_write_all(launch->orders[1], &build, 1); /* a dead helper shows elsewhere */
    }
    return code;
}

void sbx_launch_fill(struct sbx_launch *launch)
{
    struct sbx_box *box = &launch->box;
    box->fds = launch->fds;
    box->fd_count = launch->fd_count;
    box->orders_fd = launch->orders[1];
    box->reports_fd = launch->reports[0];
    box->helper_orders_fd = launch->orders[0];
    box->helper_reports_fd = launch->reports[1];
    box->hold_fd = launch->hold[1];
    box->helper_hold_fd = launch->hold[0];
    box->diagnostics_fd = launch->diagnostics_fd;
    /* Merged streams stay one: their order would be lost. */
    box->watches_stderr =
        !launch->is_warm && !isatty(STDERR_FILENO) && !is_same_file(STDOUT_FILENO, STDERR_FILENO);
    box->share = launch->share;
    box->state = launch;
    box->enter = enter;
    box->tick = launch->cpu_limit_ns != 0 ? tick : NULL;
    box->tick_ms = 50;
    box->account = account;
    box->undo = undo;
    box->has_undo = launch->cgroup.version != SBX_CGROUP_NONE || launch->scratch[0] != '\0';
}

enum sbx_code sbx_launch_begin(struct sbx_launch *launch, struct sbx_err *err)
{
    sbx_launch_fill(launch);
    launch->run = (struct sbx_plain_run){
        .timeout_ns = launch->plan->timeout_ns,
        .max_output_bytes = launch->plan->policy->limits.output_bytes,
    };
    launch->attend = (struct sbx_attend){
        .run = &launch->run,
        .box = &launch->box,
        .is_inside = launch->is_inside,
        .is_trial = launch->is_trial,
        .state = launch,
        .look = look,
        .verify = verify,
        .settle = settle,
    };
    if (!sbx_attend_begin(&launch->attendant, &launch->attend)) {
        int raw = errno;
        return sbx_err_errno(err, raw, "fork", "cannot start a process");
    }
    part_from_helper(launch);
    return SBX_OK;
}

enum sbx_code sbx_launch_run(struct sbx_launch *launch, struct sbx_run_record *out,
                             struct sbx_err *err)
{
    enum sbx_code code = sbx_launch_seal(launch, err);
    if (code == SBX_OK && launch->attendant.plan == NULL) {
        code = sbx_launch_begin(launch, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    sbx_launch_part(launch);
    if (launch->is_inside) {
        sbx_keeper_limit(launch->attendant.keeper, launch->plan->timeout_ns);
    }
    sbx_own_read(&launch->own, launch->arena, launch->compares_mounts);
    struct sbx_report final = sbx_attend_end(&launch->attendant);
    if (final.kind == SBX_REPORT_STOPPED &&
        launch->adopts) { /* the keeper was killed: the box is ours */
        sbx_orphans_end();
    }
    sbx_launch_record(launch, out);
    if (launch->verify_code != SBX_OK) {
        *err = launch->verify_err;
        return launch->verify_code;
    }
    if (final.kind != SBX_REPORT_DONE) {
        return sbx_launch_failed(launch, &final, err);
    }
    out->outcome = final.outcome;
    return SBX_OK;
}
