/* A macOS box from plan to record. */
#include "posix/macos_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os.h"
#include "common/run/environment.h"
#include "common/run/evidence.h"
#include "posix/attend.h"
#include "posix/explain_exec.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/identity.h"
#include "posix/macos_block.h"
#include "posix/macos_evidence.h"
#include "posix/macos_git.h"
#include "posix/macos_log.h"
#include "posix/macos_members.h"
#include "posix/macos_sandbox.h"
#include "posix/macos_scratch.h"
#include "posix/system.h"
#include "posix/terminal.h"

#include "common/base/banned.h"

#define SECOND_NS UINT64_C(1000000000)
#define MEBIBYTE ((uint64_t)1 << 20)
#define NAME_BYTES 64

enum { TICK_MS = 250, FDS = 6, TERMINALS = 4 };

struct launch {
    struct sbx_arena *arena;
    const struct sbx_plan *plan;
    struct sbx_account account;
    const char *program;
    const char *const *env;
    char job[SBX_MACOS_JOB_BYTES], mark[NAME_BYTES], tag[NAME_BYTES];
    char self[PATH_MAX], scratch[PATH_MAX];
    char terminals[TERMINALS][64];
    const char *lent[TERMINALS];
    struct sbx_macos_profile profile;
    int block_fd, diagnostics_fd;
    int orders[2], reports[2], hold[2]; /* read end, write end */
    struct sbx_box_share *share;
    struct sbx_box box;
    struct sbx_box_fd fds[FDS];
    uint64_t begin_ns;
    struct sbx_evidence_list evidence;
    enum sbx_code verify_code;
    struct sbx_err verify_err;
};

/* ---- what the keeper calls ---- */

static bool enter(void *state)
{
    return sbx_account_become(&((struct launch *)state)->account);
}

/* Four times a second: macOS has no limit for a tree of processes. */
static enum sbx_limit tick(void *state)
{
    const struct launch *launch = (const struct launch *)state;
    const struct sbx_limits *limits = &launch->plan->policy->limits;
    struct sbx_members_usage usage;
    sbx_members_usage(launch->mark, &usage);
    if (launch->plan->memory_bytes > 0 && usage.memory_bytes > launch->plan->memory_bytes) {
        return SBX_LIMIT_MEMORY;
    }
    if (limits->processes > 0 && usage.processes > limits->processes) {
        return SBX_LIMIT_PROCESSES;
    }
    return limits->cpu_secs > 0 && usage.cpu_ns > limits->cpu_secs * SECOND_NS ? SBX_LIMIT_CPU
                                                                               : SBX_LIMIT_NONE;
}

static void account(void *state, struct sbx_outcome *outcome)
{
    const struct launch *launch = (const struct launch *)state;
    if (launch->plan->policy->limits.cpu_secs > 0 && outcome->signal == SIGXCPU &&
        outcome->limit == SBX_LIMIT_NONE) {
        outcome->limit = SBX_LIMIT_CPU;
        outcome->origin = SBX_FROM_SBX;
    }
}

/* The first process has swept already unless it was killed itself. */
static void undo(void *state)
{
    const struct launch *launch = (const struct launch *)state;
    (void)sbx_members_end(launch->mark);
    if (launch->scratch[0] != '\0') {
        sbx_macos_scratch_remove(launch->scratch);
    }
}

/* ---- opening ---- */

static void open_launch(struct launch *launch, struct sbx_arena *arena, const struct sbx_plan *plan)
{
    launch->arena = arena;
    launch->plan = plan;
    launch->block_fd = launch->diagnostics_fd = -1;
    launch->orders[0] = launch->orders[1] = launch->reports[0] = launch->reports[1] = -1;
    launch->hold[0] = launch->hold[1] = -1;
    launch->box.terminal_fd = launch->box.terminal_slave_fd = -1;
    sbx_evidence_init(&launch->evidence, arena);
}

static void close_launch(struct launch *launch)
{
    int *const owned[] = {&launch->block_fd,        &launch->diagnostics_fd,
                          &launch->orders[0],       &launch->orders[1],
                          &launch->reports[0],      &launch->reports[1],
                          &launch->hold[0],         &launch->hold[1],
                          &launch->box.terminal_fd, &launch->box.terminal_slave_fd};
    for (size_t i = 0; i < SBX_COUNT(owned); i++) {
        sbx_fd_close(owned[i]);
    }
    if (launch->mark[0] != '\0') {
        undo(launch); /* the keeper has done it, unless it never was or was killed */
    }
    if (launch->share != NULL) {
        (void)munmap(launch->share, sizeof *launch->share);
    }
}
#define AUTO_LAUNCH SBX_CLEANUP(close_launch) struct launch

static enum sbx_code name_box(struct launch *launch, struct sbx_err *err)
{
    uint64_t number = 0;
    if (getentropy(&number, sizeof number) != 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "getentropy", "cannot name the box");
    }
    (void)snprintf(launch->job, sizeof launch->job, "%016llx", (unsigned long long)number);
    (void)snprintf(launch->mark, sizeof launch->mark, SBX_MACOS_MARK "%s", launch->job);
    (void)snprintf(launch->tag, sizeof launch->tag, SBX_MACOS_TAG "%s", launch->job);
    return SBX_OK;
}

static enum sbx_code find_command(struct launch *launch, struct sbx_err *err)
{
    struct sbx_path program;
    enum sbx_code code = sbx_os_find_program(launch->arena, launch->plan->command[0],
                                             sbx_os_env(launch->arena, "PATH"), &program, err);
    if (code == SBX_OK) {
        launch->program = program.text;
        code = sbx_environment_make(launch->arena, launch->plan->policy, &launch->env, err);
    }
    return code == SBX_OK ? sbx_account_find(launch->plan->policy, &launch->account, err) : code;
}

/* Its own temporary directory; a TMPDIR of the manifest stays as it is. */
static enum sbx_code make_scratch(struct launch *launch, struct sbx_err *err)
{
    enum sbx_code code = sbx_macos_scratch_make(launch->plan->policy->context.tmp.text,
                                                launch->scratch, sizeof launch->scratch, err);
    if (code == SBX_OK) {
        code = sbx_account_give(&launch->account, launch->scratch, err);
    }
    if (code == SBX_OK) {
        code = sbx_environment_add(launch->arena, "TMPDIR", launch->scratch, &launch->env, err);
    }
    return code;
}

static enum sbx_code make_pipes(struct launch *launch, struct sbx_err *err)
{
    char name[PATH_MAX + NAME_BYTES];
    (void)snprintf(name, sizeof name, "%s/sbx-says-XXXXXX", launch->scratch);
    if (!sbx_fd_pipe(&launch->orders[0], &launch->orders[1]) ||
        !sbx_fd_pipe(&launch->reports[0], &launch->reports[1]) ||
        !sbx_fd_pipe(&launch->hold[0], &launch->hold[1]) ||
        !sbx_fd_set_nonblocking(launch->reports[0])) {
        int raw = errno;
        return sbx_err_errno(err, raw, "pipe", "cannot make the pipes of the box");
    }
    launch->diagnostics_fd = mkstemp(name);
    void *share =
        mmap(NULL, sizeof *launch->share, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    if (launch->diagnostics_fd < 0 || unlink(name) != 0 ||
        fcntl(launch->diagnostics_fd, F_SETFD, FD_CLOEXEC) != 0 || share == MAP_FAILED) {
        int raw = errno;
        return sbx_err_errno(err, raw, "mmap", "cannot make the memory of the box");
    }
    launch->share = (struct sbx_box_share *)share;
    return SBX_OK;
}

/* ---- terminals ---- */

static enum sbx_code make_terminal(struct launch *launch, struct sbx_err *err)
{
    if (!launch->plan->wants_terminal) {
        return SBX_OK;
    }
    if (!sbx_terminal_pair(&launch->box.terminal_fd, &launch->box.terminal_slave_fd) ||
        ttyname_r(launch->box.terminal_slave_fd, launch->terminals[0],
                  sizeof launch->terminals[0]) != 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "posix_openpt", "cannot make a terminal for the box");
    }
    return SBX_OK;
}

/* Terminals of the caller that the command has as streams; each once. */
static void find_lent(struct launch *launch)
{
    size_t count = 0;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && !launch->plan->wants_terminal; fd++) {
        char *name = launch->terminals[fd + 1];
        if (!isatty(fd) || ttyname_r(fd, name, sizeof launch->terminals[0]) != 0) {
            continue;
        }
        bool is_known = false;
        for (size_t i = 0; i < count; i++) {
            is_known |= strcmp(launch->lent[i], name) == 0;
        }
        if (!is_known) {
            launch->lent[count++] = name;
        }
    }
    launch->lent[count] = NULL;
}

/* ---- the profile and the block ---- */

static const char *real_name(void *state, struct sbx_arena *arena, const char *path)
{
    char real[PATH_MAX];
    (void)state;
    return realpath(path, real) == NULL ? NULL : sbx_arena_copy(arena, real, strlen(real));
}

static enum sbx_code make_profile(struct launch *launch, struct sbx_err *err)
{
    const struct sbx_macos_host host = {.real = real_name, .find_git = sbx_macos_git_find};
    find_lent(launch);
    struct sbx_macos_box box = {
        .policy = launch->plan->policy,
        .host = &host,
        .job = launch->job,
        .scratch = {launch->scratch, strlen(launch->scratch), SBX_PATH_MACOS},
        .own_terminal = launch->plan->wants_terminal ? launch->terminals[0] : NULL,
        .lent_terminals = launch->lent,
    };
    return sbx_macos_profile_make(launch->arena, &box, &launch->profile, err);
}

static void add_limit(struct sbx_macos_block *block, int resource, uint64_t value)
{
    block->limits[block->limit_count++] = (struct sbx_macos_limit){resource, value};
}

/* What macOS enforces per process. Address space is left alone: the shared region alone is gigabytes of it. */
static void set_limits(const struct sbx_plan *plan, struct sbx_macos_block *block)
{
    add_limit(block, RLIMIT_CORE, 0);
    add_limit(block, RLIMIT_NOFILE, SBX_PLAN_DESCRIPTORS);
    add_limit(block, RLIMIT_FSIZE, SBX_PLAN_FILE_BYTES);
    if (plan->policy->limits.cpu_secs > 0) {
        add_limit(block, RLIMIT_CPU, plan->policy->limits.cpu_secs);
    }
    if (plan->memory_bytes > 0) {
        block->memory_mebibytes = (plan->memory_bytes + MEBIBYTE - 1) / MEBIBYTE;
    }
}

/* "P0", value, "P1", value … */
static const char *const *parameters_of(struct launch *launch)
{
    size_t count = launch->profile.parameter_count;
    const char **list = SBX_NEW_ARRAY(launch->arena, const char *, 2 * count + 1);
    for (size_t i = 0; i < count && list != NULL; i++) {
        list[2 * i] = sbx_arena_printf(launch->arena, "P%zu", i);
        list[2 * i + 1] = launch->profile.parameters[i];
        if (list[2 * i] == NULL) {
            return NULL;
        }
    }
    return list;
}

static enum sbx_code make_block(struct launch *launch, struct sbx_err *err)
{
    char name[PATH_MAX + NAME_BYTES];
    AUTO_BUF bytes;
    struct sbx_macos_block block = {
        .mark = launch->mark,
        .profile = launch->profile.text,
        .program = launch->program,
        .directory = launch->plan->policy->cwd.text,
        .parameters = parameters_of(launch),
        .argv = launch->plan->command,
        .env = launch->env,
        .has_terminal = launch->plan->wants_terminal,
    };
    sbx_buf_init(&bytes, SBX_MACOS_BLOCK_MAX);
    if (block.parameters == NULL) {
        return sbx_err_nomem(err);
    }
    set_limits(launch->plan, &block);
    sbx_macos_block_write(&block, &bytes);
    enum sbx_code code = sbx_buf_check(&bytes, err);
    if (code != SBX_OK) {
        return code;
    }
    (void)snprintf(name, sizeof name, "%s/sbx-block-XXXXXX", launch->scratch);
    AUTO_FD fd = mkstemp(name);
    if (fd < 0 || !sbx_fd_write_all(fd, bytes.data, bytes.len) ||
        (launch->block_fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) < 0 ||
        unlink(name) != 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "open", "cannot write what the box is told");
    }
    return SBX_OK;
}

/* ---- running ---- */

static bool is_same_file(int a, int b)
{
    struct stat one;
    struct stat other;
    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

static enum sbx_code fill_box(struct launch *launch, struct sbx_err *err)
{
    static const char *const argv[] = {SBX_MACOS_FIRST, NULL};
    static const char *const env[] = {NULL};
    struct sbx_box *box = &launch->box;
    char found[PATH_MAX];
    if (!sbx_system_self(found, sizeof found) || realpath(found, launch->self) == NULL) {
        int raw = errno;
        return sbx_err_errno(err, raw, "_NSGetExecutablePath", "cannot find sbx itself");
    }
    const struct sbx_box_fd fds[] = {
        {launch->block_fd, SBX_INIT_FD_IMAGE}, /* so that no number below is left to chance */
        {launch->block_fd, SBX_INIT_FD_PLAN},      {launch->orders[0], SBX_INIT_FD_ORDERS},
        {launch->reports[1], SBX_INIT_FD_REPORTS}, {launch->hold[0], SBX_INIT_FD_HOLD},
    };
    memcpy(launch->fds, fds, sizeof fds);
    box->program = launch->self;
    box->argv = argv;
    box->env = env;
    box->fds = launch->fds;
    box->fd_count = SBX_COUNT(fds);
    box->orders_fd = launch->orders[1];
    box->reports_fd = launch->reports[0];
    box->hold_fd = launch->hold[1];
    box->helper_hold_fd = launch->hold[0];
    box->helper_orders_fd = launch->orders[0];
    box->helper_reports_fd = launch->reports[1];
    box->diagnostics_fd = launch->diagnostics_fd;
    box->is_namespace = true; /* its first process alone reaches the others */
    box->watches_stderr = !isatty(STDERR_FILENO) && !is_same_file(STDOUT_FILENO, STDERR_FILENO);
    box->timer_fd = -1;
    box->share = launch->share;
    box->state = launch;
    box->enter = enter;
    box->tick = tick;
    box->tick_ms = TICK_MS;
    box->account = account;
    box->undo = undo;
    box->has_undo = true;
    return SBX_OK;
}

/* The keeper has them now; kept open here, their end of file would never come. */
static void part(struct launch *launch)
{
    sbx_fd_close(&launch->orders[0]);
    sbx_fd_close(&launch->orders[1]);
    sbx_fd_close(&launch->reports[1]);
    sbx_fd_close(&launch->hold[0]);
    sbx_fd_close(&launch->hold[1]);
    sbx_fd_close(&launch->box.terminal_slave_fd);
    sbx_fd_close(&launch->box.terminal_fd);
}

static bool verify(void *state, const struct sbx_report *report)
{
    struct launch *launch = (struct launch *)state;
    const struct sbx_macos_held held = {
        .pid = report->pid,
        .mark = launch->mark,
        .policy = launch->plan->policy,
        .profile = &launch->profile,
        .scratch = {launch->scratch, strlen(launch->scratch), SBX_PATH_MACOS},
    };
    sbx_macos_evidence(&launch->evidence, &held);
    launch->verify_code = sbx_evidence_verdict(&launch->evidence, &launch->verify_err);
    if (launch->verify_code == SBX_OK) {
        sbx_run_starts(launch->evidence.items, launch->evidence.count);
    }
    return launch->verify_code == SBX_OK;
}

static enum sbx_code inside_failed(const struct launch *launch, const struct sbx_report *report,
                                   struct sbx_err *err)
{
    if (report->step == SBX_INIT_STEP_EXEC) {
        return sbx_explain_exec(launch->program, report->raw, err);
    }
    if (report->step == SBX_INIT_STEP_DIRECTORY) {
        (void)sbx_err_os(err, SBX_E_INVALID, SBX_OS_ERRNO, report->raw, "chdir",
                         "the working directory \"%s\" cannot be entered: %s",
                         launch->plan->policy->cwd.text, sbx_errno_text(report->raw));
        return sbx_err_hint(err, "choose another with -C DIR");
    }
    if (report->step == SBX_INIT_STEP_LANDLOCK) {
        (void)sbx_err_os(err, SBX_E_IO, SBX_OS_ERRNO, report->raw, "sandbox_init_with_parameters",
                         "the profile was refused: %s",
                         launch->share->failed_path[0] != '\0' ? launch->share->failed_path
                                                               : sbx_errno_text(report->raw));
        return sbx_err_hint(err, "sbx selftest shows whether any profile is accepted here");
    }
    return sbx_err_os(err, SBX_E_IO, SBX_OS_ERRNO, report->raw, "fork",
                      "the command's process cannot be prepared (step %d): %s", report->step,
                      sbx_errno_text(report->raw));
}

static enum sbx_code failed(const struct launch *launch, const struct sbx_report *report,
                            struct sbx_err *err)
{
    if (report->kind != SBX_REPORT_FAILED) {
        (void)sbx_err_set(err, SBX_E_IO, "the process that watches the box was killed");
        return sbx_err_hint(err, "the box ended with it");
    }
    if (report->birth == SBX_BIRTH_INSIDE) {
        return inside_failed(launch, report, err);
    }
    if (report->birth == SBX_BIRTH_SILENT) {
        return sbx_err_set(err, SBX_E_IO, "the box ended before its command began");
    }
    return sbx_err_os(err, SBX_E_IO, SBX_OS_ERRNO, report->raw, "fork",
                      "cannot start a process: %s", sbx_errno_text(report->raw));
}

static void record_tail(const struct launch *launch, struct sbx_run_record *out)
{
    const struct sbx_tail *tail = &launch->share->tail;
    size_t len = tail->total < SBX_TAIL_BYTES ? (size_t)tail->total : SBX_TAIL_BYTES;
    size_t begin = (size_t)((tail->total - len) % SBX_TAIL_BYTES);
    char *text = (char *)sbx_arena_alloc(launch->arena, len + 1, 1);
    if (text == NULL) {
        return; /* without memory nothing is explained; the outcome stands */
    }
    for (size_t i = 0; i < len; i++) {
        text[i] = tail->ring[(begin + i) % SBX_TAIL_BYTES];
    }
    out->stderr_tail = (struct sbx_str){text, len};
}

/* Only a command that failed is asked about: reading the log takes a second or two. */
static void record(const struct launch *launch, struct sbx_run_record *out)
{
    out->evidence = launch->evidence.items;
    out->evidence_count = launch->evidence.count;
    record_tail(launch, out);
    if (out->outcome.started && (out->outcome.exit_code != 0 || out->outcome.signal != 0)) {
        uint64_t seconds = (sbx_os_monotonic_ns() - launch->begin_ns) / SECOND_NS + 2;
        sbx_macos_log_read(launch->arena, launch->tag, (unsigned)seconds, out);
    }
}

typedef enum sbx_code step(struct launch *launch, struct sbx_err *err);

static enum sbx_code prepare(struct launch *launch, struct sbx_err *err)
{
    static step *const steps[] = {find_command,  name_box,     make_scratch, make_pipes,
                                  make_terminal, make_profile, make_block,   fill_box};
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; i < SBX_COUNT(steps) && code == SBX_OK; i++) {
        code = steps[i](launch, err);
    }
    return code;
}

bool sbx_macos_is_nested(void)
{
    return sandbox_check(getpid(), NULL, SBX_CHECK_NONE) == 1;
}

enum sbx_code sbx_macos_run(struct sbx_arena *arena, const struct sbx_plan *plan,
                            const struct sbx_selection *selection, struct sbx_run_record *out,
                            struct sbx_err *err)
{
    (void)selection;
    AUTO_LAUNCH launch = {0};
    open_launch(&launch, arena, plan);
    enum sbx_code code = prepare(&launch, err);
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_plain_run run = {
        .timeout_ns = plan->timeout_ns,
        .max_output_bytes = plan->policy->limits.output_bytes,
    };
    struct sbx_attend attend = {
        .run = &run, .box = &launch.box, .state = &launch, .verify = verify};
    struct sbx_attendant attendant;
    launch.begin_ns = sbx_os_monotonic_ns();
    if (!sbx_attend_begin(&attendant, &attend)) {
        int raw = errno;
        return sbx_err_errno(err, raw, "fork", "cannot start a process");
    }
    part(&launch);
    struct sbx_report final = sbx_attend_end(&attendant);
    if (final.kind == SBX_REPORT_DONE) {
        out->outcome = final.outcome;
    }
    record(&launch, out);
    if (launch.verify_code != SBX_OK) {
        *err = launch.verify_err;
        return launch.verify_code;
    }
    return final.kind == SBX_REPORT_DONE ? SBX_OK : failed(&launch, &final, err);
}
