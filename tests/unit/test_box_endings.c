/* How boxes end, on the model of NT: each limit is named by who met it, protected names end the run, streams arrive, and
 * a process that cannot join its job never runs. */
#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/box_fixture.h"

const struct sbx_winapi *sbx_win(void)
{
    return nt_model_table();
}

static const char manifest[] = "[sandbox]\nfs_write_allow = ['C:\\Users\\user\\project']\n";

#define NEW_NAME PROJECT L"\\src\\.git"

static void expect(struct boxed *boxed, enum sbx_limit limit, DWORD exit_code)
{
    CHECK_CODE(boxed_run(boxed), SBX_OK, &boxed->err);
    CHECK_INT(boxed->record.outcome.limit, limit);
    CHECK_INT(boxed->record.outcome.origin,
              limit == SBX_LIMIT_NONE ? SBX_FROM_COMMAND : SBX_FROM_SBX);
    if (limit == SBX_LIMIT_NONE) {
        CHECK_U64(boxed->record.outcome.exit_code, exit_code);
    }
    CHECK_U64(nt_model_processes(boxed->model), 0);
    CHECK_U64(nt_model_bad_handles(boxed->model), 0);
    CHECK_U64(nt_model_not_modelled(boxed->model), 0);
}

static const struct sbx_evidence *evidence(const struct boxed *boxed, const char *what)
{
    static const struct sbx_evidence none = {"", "", "", false};
    for (size_t i = 0; i < boxed->record.evidence_count; i++) {
        if (strcmp(boxed->record.evidence[i].what, what) == 0) {
            return &boxed->record.evidence[i];
        }
    }
    printf("# no evidence of %s\n", what);
    return &none;
}

/* ---- limits of the kernel ----------------------------------------------------------------------- */

static DWORD burns(struct nt_process *self, void *state)
{
    (void)state;
    nt_box_burn(self, 60000);
    return 7;
}

static void time_is_named(void)
{
    AUTO_BOXED boxed;
    boxed_open(&boxed, &(struct nt_world){.actor = burns}, manifest);
    boxed.timeout_ns = UINT64_C(600000000000);
    boxed.limits.cpu_secs = 10;
    expect(&boxed, SBX_LIMIT_CPU, 0);
    CHECK(evidence(&boxed, "job.time")->ok);
    CHECK_TEXT(evidence(&boxed, "job.process-time")->got, "100000000");
    boxed.limits.cpu_secs = 120;
    expect(&boxed, SBX_LIMIT_NONE, 7);
}

static DWORD allocates(struct nt_process *self, void *state)
{
    const uint64_t *bytes = state;
    return nt_box_allocate(self, *bytes) == 0 ? 0 : 9;
}

static void memory_is_named(void)
{
    uint64_t bytes = UINT64_C(3) << 30;
    AUTO_BOXED boxed;
    boxed_open(&boxed, &(struct nt_world){.actor = allocates, .actor_state = &bytes}, manifest);
    expect(&boxed, SBX_LIMIT_MEMORY, 0);
    bytes = UINT64_C(1) << 20;
    expect(&boxed, SBX_LIMIT_NONE, 0);
}

static DWORD sleeps(struct nt_process *self, void *state)
{
    (void)state;
    nt_box_sleep(self, 5000);
    return 0;
}

static DWORD forks(struct nt_process *self, void *state)
{
    const DWORD *code = state;
    DWORD refused = 0;
    for (int i = 0; i < 12; i++) {
        refused += nt_box_spawn(self, TEXT(SHELL), 0, sleeps, NULL, NULL) != 0;
    }
    return refused > 0 ? *code : 99;
}

static void processes_are_named(void)
{
    DWORD code = 1;
    AUTO_BOXED boxed;
    boxed_open(&boxed, &(struct nt_world){.actor = forks, .actor_state = &code}, manifest);
    expect(&boxed, SBX_LIMIT_PROCESSES, 0);
    CHECK(boxed.record.outcome.forks_refused > 0);
    code = 0; /* it went on and succeeded: nothing ended it */
    expect(&boxed, SBX_LIMIT_NONE, 0);
    CHECK(boxed.record.outcome.forks_refused > 0);
}

/* ---- limits of sbx ------------------------------------------------------------------------------ */

/* The model's time jumps, the deadline is in real time. */
static DWORD hangs(struct nt_process *self, void *state)
{
    (void)state;
    for (unsigned i = 0; i < 100000000; i++) {
        nt_box_sleep(self, 1);
    }
    return 0;
}

static void timeout_is_named(void)
{
    AUTO_BOXED boxed;
    boxed_open(&boxed, &(struct nt_world){.actor = hangs}, manifest);
    boxed.timeout_ns = UINT64_C(300000000);
    expect(&boxed, SBX_LIMIT_TIMEOUT, 0);
}

static DWORD prints(struct nt_process *self, void *state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        (void)nt_box_print(self, 1, "0123456789");
        (void)nt_box_print(self, 2, "abcdefghij");
    }
    return 0;
}

static void output_arrives_up_to_its_limit(void)
{
    AUTO_BOXED boxed;
    boxed_open(&boxed, &(struct nt_world){.actor = prints}, manifest);
    expect(&boxed, SBX_LIMIT_NONE, 0);
    CHECK_U64(strlen(nt_model_output(boxed.model, 1)), 1000);
    CHECK_U64(boxed.record.outcome.stdout_bytes, 1000);
    CHECK_U64(boxed.record.stderr_tail.len, 1000);
    boxed.fixture.policy.limits.output_bytes = 100;
    expect(&boxed, SBX_LIMIT_OUTPUT, 0);
}

static void a_console_is_carried(void)
{
    AUTO_BOXED boxed;
    boxed_open(&boxed, &(struct nt_world){.actor = prints, .is_on_console = true}, manifest);
    expect(&boxed, SBX_LIMIT_NONE, 0);
    CHECK_U64(boxed.record.stderr_tail.len > 0, true);
}

/* ---- protected names ---------------------------------------------------------------------------- */

static void check_event(const struct boxed *boxed, const char *path)
{
    CHECK_U64(boxed->record.event_count, 1);
    if (boxed->record.event_count == 1) {
        CHECK_STR(boxed->record.events[0].path, path);
        CHECK_INT(boxed->record.events[0].operation, SBX_TRIED_CREATE);
    }
}

static DWORD makes_a_name(struct nt_process *self, void *state)
{
    const DWORD *wait_ms = state;
    DWORD raw = nt_box_make_directory(self, NEW_NAME);
    if (*wait_ms > 0) {
        nt_box_sleep(self, *wait_ms);
    }
    return raw;
}

static void a_protected_name_ends_the_run(void)
{
    static const DWORD waits[] = {3600000, 0}; /* seen while it runs, and after its own end */
    for (size_t i = 0; i < SBX_COUNT(waits); i++) {
        AUTO_BOXED boxed;
        DWORD wait_ms = waits[i];
        boxed_open(&boxed, &(struct nt_world){.actor = makes_a_name, .actor_state = &wait_ms},
                   manifest);
        boxed.timeout_ns = UINT64_C(60000000000);
        expect(&boxed, SBX_LIMIT_PROTECTED, 0);
        check_event(&boxed, "C:\\Users\\user\\project\\src\\.git");
    }
}

static const wchar_t *temporary(struct nt_process *self)
{
    const wchar_t *path = nt_box_variable(self, L"TEMP");
    return path == NULL ? L"C:\\no-temporary-directory" : path;
}

/* A repository that is built in the box's own directory and moved into the project as a whole. */
static DWORD smuggles(struct nt_process *self, void *state)
{
    wchar_t from[512];
    wchar_t inside[512];
    (void)state;
    (void)swprintf(from, SBX_COUNT(from), L"%ls\\pack", temporary(self));
    (void)swprintf(inside, SBX_COUNT(inside), L"%ls\\.git", from);
    DWORD raw = nt_box_make_directory(self, from);
    raw = raw != 0 ? raw : nt_box_make_directory(self, inside);
    raw = raw != 0 ? raw : nt_box_rename(self, from, PROJECT L"\\pack");
    if (raw == 0) {
        nt_box_sleep(self, 3600000);
    }
    return raw;
}

static void a_protected_name_cannot_be_smuggled_in(void)
{
    AUTO_BOXED boxed;
    boxed_open(&boxed, &(struct nt_world){.actor = smuggles}, manifest);
    boxed.timeout_ns = UINT64_C(60000000000);
    expect(&boxed, SBX_LIMIT_PROTECTED, 0);
    check_event(&boxed, "C:\\Users\\user\\project\\pack\\.git");
}

/* ---- ends that mean something ------------------------------------------------------------------- */

static DWORD crashes(struct nt_process *self, void *state)
{
    nt_box_crash(self, *(const DWORD *)state);
    return 0;
}

static void ends_are_explained(void)
{
    static const DWORD codes[] = {0xC0000142, 0xC0000135, 0xC0000022, 0xC0000005};
    for (size_t i = 0; i < SBX_COUNT(codes); i++) {
        AUTO_BOXED boxed;
        DWORD code = codes[i];
        char text[16];
        boxed_open(&boxed, &(struct nt_world){.actor = crashes, .actor_state = &code}, manifest);
        expect(&boxed, SBX_LIMIT_NONE, code);
        (void)snprintf(text, sizeof text, "0x%lX", code);
        CHECK(boxed.record.diagnosis != NULL && strstr(boxed.record.diagnosis, text) != NULL);
    }
}

/* ---- a Windows without job lists ---------------------------------------------------------------- */

struct faults {
    bool fails_assignment;
    unsigned updates;
    unsigned ran;
};

static bool without_job_lists(void *state, enum sbx_winapi_id id, unsigned n)
{
    struct faults *faults = state;
    (void)n;
    /* The job list is the first attribute of a process. */
    if (id == SBX_CALL_UpdateProcThreadAttribute && faults->updates++ == 0) {
        SetLastError(ERROR_NOT_SUPPORTED);
        return false;
    }
    if (id == SBX_CALL_AssignProcessToJobObject && faults->fails_assignment) {
        SetLastError(ERROR_ACCESS_DENIED);
        return false;
    }
    return true;
}

static DWORD counts(struct nt_process *self, void *state)
{
    struct faults *faults = state;
    (void)self;
    faults->ran++;
    return 0;
}

static void a_process_that_cannot_join_its_job_never_runs(void)
{
    struct faults faults = {.fails_assignment = true};
    AUTO_BOXED boxed;
    boxed_open(&boxed, &(struct nt_world){.actor = counts, .actor_state = &faults}, manifest);
    nt_model_before(boxed.model, without_job_lists, &faults);
    CHECK(boxed_run(&boxed) != SBX_OK);
    CHECK_TEXT(boxed.err.call, "AssignProcessToJobObject");
    CHECK_U64(faults.ran, 0);
    CHECK_U64(nt_model_processes(boxed.model), 0);
    faults = (struct faults){0};
    expect(&boxed, SBX_LIMIT_NONE, 0); /* joined while it was suspended */
    CHECK_U64(faults.ran, 1);
    CHECK(evidence(&boxed, "process.job")->ok);
}

static const struct sbx_test tests[] = {
    {"simulated: time that is used up is named, and enough of it is not", time_is_named},
    {"simulated: memory that was refused to a command that failed is named", memory_is_named},
    {"simulated: processes that were refused are named when the command failed of it",
     processes_are_named},
    {"simulated: a timeout ends the tree and is named", timeout_is_named},
    {"simulated: output arrives, and too much of it is named", output_arrives_up_to_its_limit},
    {"simulated: streams of a console are carried", a_console_is_carried},
    {"simulated: a protected name that is made ends the run, also when it is seen late",
     a_protected_name_ends_the_run},
    {"simulated: a protected name cannot be smuggled in with a directory",
     a_protected_name_cannot_be_smuggled_in},
    {"simulated: the four codes of programs that end at once are explained", ends_are_explained},
    {"simulated: without job lists a process joins its job suspended, or never runs",
     a_process_that_cannot_join_its_job_never_runs},
};

SBX_TEST_MAIN("simulated_box_endings", tests)
