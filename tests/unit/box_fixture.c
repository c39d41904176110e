/* Whole boxes on the model of NT. */
#include "tests/unit/box_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "win/job.h"
#include "win/process.h"
#include "win/wide.h"

/* What exists in every world besides Windows itself. */
static const struct {
    const wchar_t *path;
    const char *text;
} files[] = {
    {PROJECT L"\\src\\main.c", "int main;"},
    {PROJECT L"\\src\\deep\\er\\file.txt", "deep"},
    {PROJECT L"\\README.md", "read me"},
    {PROJECT L"\\.env", "TOKEN=1"},
    {PROJECT L"\\.git\\config", "[core]"},
    {PROJECT L"\\.git\\HEAD", "ref"},
    {PROJECT L"\\.git\\hooks\\pre-commit", "#!"},
    {PROJECT L"\\.git\\objects\\aa\\bb", "blob"},
    {PROJECT L"\\sub\\.git\\config", "[core]"},
    {PROJECT L"\\sub\\lib.c", "int lib;"},
    {PROJECT L"\\secrets\\key", "secret"},
    {PROJECT L"\\secrets\\other", "other"},
    {PROJECT L"\\secrets\\tmp\\scratch", "tmp"},
    {L"C:\\Users\\user\\Documents\\private.txt", "mine"},
    {L"C:\\Users\\user\\.ssh\\id_ed25519", "key"},
    {L"C:\\Users\\user\\other\\notes.txt", "notes"},
    {L"C:\\data\\shared.txt", "shared"},
};

static enum sbx_node look_up(void *state, struct sbx_path path)
{
    (void)state;
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, 1 << 20);
    wchar_t *wide;
    BY_HANDLE_FILE_INFORMATION info = {0};
    const struct sbx_winapi *table = nt_model_table();
    if (sbx_wide_from(&scratch, path.text, &wide, NULL) != SBX_OK) {
        return SBX_NODE_MISSING;
    }
    HANDLE handle = table->CreateFileW(wide, FILE_READ_ATTRIBUTES, FILE_SHARE_READ, NULL,
                                       OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        return SBX_NODE_MISSING;
    }
    (void)table->GetFileInformationByHandle(handle, &info);
    (void)table->CloseHandle(handle);
    bool is_directory = (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    return is_directory ? SBX_NODE_DIRECTORY : SBX_NODE_FILE;
}

void boxed_manifest(struct boxed *boxed, const char *toml)
{
    struct fixture *fixture = &boxed->fixture;
    fixture_start(fixture, SBX_WINDOWS);
    fixture->context.lookup = look_up;
    fixture->context.lookup_state = boxed->model;
    if (fixture_read(fixture, toml)) {
        fixture_resolve(fixture);
    }
    if (!sbx_findings_ok(&fixture->findings)) {
        fixture_print_findings(fixture);
        CHECK(!"the manifest is sound");
    }
}

void boxed_open(struct boxed *boxed, const struct nt_world *world, const char *toml)
{
    static const char *const shell[] = {SHELL, "/c", "work", NULL};
    *boxed = (struct boxed){
        .recipe = {SBX_RUNG_NO_ADMINS, true},
        .command = shell,
        .limits = {.process_memory_bytes = (uint64_t)1 << 30,
                   .memory_bytes = (uint64_t)2 << 30,
                   .processes = 8},
        .timeout_ns = UINT64_C(30000000000),
    };
    boxed->model = nt_model_new(world);
    for (size_t i = 0; i < SBX_COUNT(files); i++) {
        nt_put_file(boxed->model, files[i].path, files[i].text, NULL);
    }
    nt_put_pipe(boxed->model, L"\\\\.\\pipe\\user.secret",
                "O:BAD:(A;;GA;;;SY)(A;;GA;;;BA)(A;;GA;;;WD)");
    nt_model_settle(boxed->model);
    boxed_manifest(boxed, toml);
}

void boxed_close(struct boxed *boxed)
{
    fixture_release(&boxed->fixture);
    nt_model_free(boxed->model);
    boxed->model = NULL;
}

enum sbx_code boxed_run(struct boxed *boxed)
{
    struct sbx_box_plan plan = {
        .policy = &boxed->fixture.policy,
        .command = boxed->command,
        .limits = boxed->limits,
        .timeout_ns = boxed->timeout_ns,
        .recipe = boxed->recipe,
    };
    boxed->record = (struct sbx_run_record){0};
    boxed->err = (struct sbx_err){0};
    boxed->code = sbx_box_run(&boxed->fixture.arena, &plan, &boxed->record, &boxed->err);
    return boxed->code;
}

DWORD boxed_outside(struct boxed *boxed)
{
    wchar_t line[] = L"\"" TEXT(SHELL) L"\" /c work";
    wchar_t environment[] = L"SystemRoot=C:\\Windows\0";
    struct sbx_process_plan plan = {
        .program = TEXT(SHELL),
        .command_line = line,
        .environment = environment,
        .directory = L"C:\\Windows", /* it would hold the project otherwise */
    };
    struct sbx_process process = {0};
    DWORD code = (DWORD)-1;
    CHECK_CODE(sbx_job_open(NULL, &plan.job, &boxed->err), SBX_OK, &boxed->err);
    CHECK_CODE(sbx_process_create(&plan, &process, &boxed->err), SBX_OK, &boxed->err);
    (void)sbx_win()->ResumeThread(process.thread);
    (void)sbx_win()->WaitForSingleObject(process.process, 30000);
    (void)sbx_win()->GetExitCodeProcess(process.process, &code);
    (void)sbx_win()->CloseHandle(process.thread);
    (void)sbx_win()->CloseHandle(process.process);
    (void)sbx_win()->CloseHandle(plan.job);
    return code;
}

/* ---- questions ---------------------------------------------------------------------------------- */

static DWORD open_and_close(struct nt_process *self, const wchar_t *path, DWORD disposition)
{
    HANDLE handle;
    DWORD raw = nt_box_open(self, path, GENERIC_WRITE, disposition, &handle);
    return raw != 0 ? raw : nt_box_close(self, handle);
}

static DWORD ask_read(struct nt_process *self, const struct ask *ask)
{
    char text[64];
    return nt_box_read(self, ask->path, text, sizeof text);
}

static DWORD ask_write(struct nt_process *self, const struct ask *ask)
{
    return open_and_close(self, ask->path, OPEN_EXISTING);
}

static DWORD ask_create(struct nt_process *self, const struct ask *ask)
{
    return open_and_close(self, ask->path, CREATE_NEW);
}

static DWORD ask_rename(struct nt_process *self, const struct ask *ask)
{
    return nt_box_rename(self, ask->path, ask->other);
}

static DWORD ask_delete(struct nt_process *self, const struct ask *ask)
{
    return nt_box_delete(self, ask->path);
}

static DWORD ask_remove(struct nt_process *self, const struct ask *ask)
{
    return nt_box_remove_directory(self, ask->path);
}

static DWORD ask_list(struct nt_process *self, const struct ask *ask)
{
    unsigned count;
    return nt_box_list(self, ask->path, &count);
}

static DWORD ask_look(struct nt_process *self, const struct ask *ask)
{
    return nt_box_look(self, ask->path);
}

static DWORD ask_mkdir(struct nt_process *self, const struct ask *ask)
{
    return nt_box_make_directory(self, ask->path);
}

static DWORD ask_link(struct nt_process *self, const struct ask *ask)
{
    return nt_box_hard_link(self, ask->path, ask->other);
}

static DWORD ask_dacl(struct nt_process *self, const struct ask *ask)
{
    return nt_box_set_dacl(self, ask->path, "D:(A;;GA;;;WD)");
}

static DWORD ask_parent(struct nt_process *self, const struct ask *ask)
{
    return nt_box_open_process(self, nt_box_parent_id(self), ask->number);
}

static DWORD ask_pipe(struct nt_process *self, const struct ask *ask)
{
    return nt_box_open_pipe(self, ask->path, ask->number);
}

static DWORD ask_station(struct nt_process *self, const struct ask *ask)
{
    return nt_box_open_station(self, ask->path, ask->number);
}

static DWORD ask_desktop(struct nt_process *self, const struct ask *ask)
{
    return nt_box_open_desktop(self, ask->path, ask->other, ask->number);
}

static DWORD ask_clipboard(struct nt_process *self, const struct ask *ask)
{
    return nt_box_clipboard(self, ask->number != 0);
}

static DWORD ask_handles(struct nt_process *self, const struct ask *ask)
{
    return nt_box_handles(self) <= ask->number ? 0 : ERROR_TOO_MANY_OPEN_FILES;
}

static DWORD ask_internet(struct nt_process *self, const struct ask *ask)
{
    (void)ask;
    return nt_box_connect(self, NT_PEER_INTERNET);
}

static DWORD ask_private(struct nt_process *self, const struct ask *ask)
{
    (void)ask;
    return nt_box_connect(self, NT_PEER_PRIVATE);
}

static DWORD ask_host(struct nt_process *self, const struct ask *ask)
{
    (void)ask;
    return nt_box_connect(self, NT_PEER_HOST);
}

static DWORD ask_exit_windows(struct nt_process *self, const struct ask *ask)
{
    (void)ask;
    return nt_box_exit_windows(self);
}

static DWORD ask_parameters(struct nt_process *self, const struct ask *ask)
{
    (void)ask;
    return nt_box_system_parameters(self);
}

static DWORD ask_child(struct nt_process *self, const struct ask *ask)
{
    (void)ask;
    return nt_box_spawn(self, TEXT(SHELL), 0, NULL, NULL, NULL);
}

static DWORD ask_breakaway(struct nt_process *self, const struct ask *ask)
{
    (void)ask;
    return nt_box_spawn(self, TEXT(SHELL), CREATE_BREAKAWAY_FROM_JOB, NULL, NULL, NULL);
}

static DWORD (*const verbs[])(struct nt_process *self, const struct ask *ask) = {
    [ASK_READ] = ask_read,
    [ASK_WRITE] = ask_write,
    [ASK_CREATE] = ask_create,
    [ASK_RENAME] = ask_rename,
    [ASK_DELETE] = ask_delete,
    [ASK_REMOVE] = ask_remove,
    [ASK_LIST] = ask_list,
    [ASK_LOOK] = ask_look,
    [ASK_MKDIR] = ask_mkdir,
    [ASK_LINK] = ask_link,
    [ASK_DACL] = ask_dacl,
    [ASK_PARENT] = ask_parent,
    [ASK_PIPE] = ask_pipe,
    [ASK_STATION] = ask_station,
    [ASK_DESKTOP] = ask_desktop,
    [ASK_CLIPBOARD] = ask_clipboard,
    [ASK_HANDLES] = ask_handles,
    [ASK_INTERNET] = ask_internet,
    [ASK_PRIVATE] = ask_private,
    [ASK_HOST] = ask_host,
    [ASK_EXIT_WINDOWS] = ask_exit_windows,
    [ASK_PARAMETERS] = ask_parameters,
    [ASK_CHILD] = ask_child,
    [ASK_BREAKAWAY] = ask_breakaway,
};

/* One that every program has by accident: a box must not get it. */
static void open_stray_handle(void)
{
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
    (void)nt_model_table()->CreateEventW(&inherited, TRUE, FALSE, NULL);
}

struct asking {
    const struct ask *asks;
    size_t count;
    DWORD *answers;
};

static DWORD ask_all(struct nt_process *self, void *state)
{
    struct asking *asking = state;
    for (size_t i = 0; i < asking->count; i++) {
        asking->answers[i] = verbs[asking->asks[i].verb](self, &asking->asks[i]);
    }
    return 0;
}

static enum answer answer_of(DWORD raw)
{
    if (raw == 0) {
        return DONE;
    }
    return raw == ERROR_FILE_NOT_FOUND || raw == ERROR_PATH_NOT_FOUND ? ABSENT : DENIED;
}

static const char *const answer_texts[] = {"done", "denied", "absent", "either"};

static bool is_right(enum answer wanted, DWORD raw)
{
    return wanted == EITHER || answer_of(raw) == wanted;
}

static void check_answers(const struct ask *asks, const DWORD *answers, size_t count, bool inside)
{
    for (size_t i = 0; i < count; i++) {
        enum answer wanted = inside ? asks[i].inside : asks[i].outside;
        if (!is_right(wanted, answers[i])) {
            printf("# %s: \"%s\" is %s (%lu), must be %s\n", inside ? "inside" : "outside",
                   asks[i].promise, answer_texts[answer_of(answers[i])], answers[i],
                   answer_texts[wanted]);
        }
        CHECK(is_right(wanted, answers[i]));
    }
}

void boxed_ask(const struct nt_world *world, const char *toml, const struct ask *asks, size_t count)
{
    DWORD *answers = calloc(count, sizeof *answers);
    struct asking asking = {asks, count, answers};
    struct nt_world asked = *world;
    asked.actor = ask_all;
    asked.actor_state = &asking;
    {
        AUTO_BOXED boxed;
        boxed_open(&boxed, &asked, toml);
        open_stray_handle();
        memset(answers, 0xEE, count * sizeof *answers);
        CHECK_CODE(boxed_run(&boxed), SBX_OK, &boxed.err);
        check_answers(asks, answers, count, true);
        CHECK_U64(nt_model_bad_handles(boxed.model), 0);
        CHECK_U64(nt_model_not_modelled(boxed.model), 0);
    }
    {
        AUTO_BOXED boxed;
        boxed_open(&boxed, &asked, toml);
        memset(answers, 0xEE, count * sizeof *answers);
        CHECK_U64(boxed_outside(&boxed), 0);
        check_answers(asks, answers, count, false);
    }
    free(answers);
}

void boxed_try(const struct nt_world *world, const char *toml, const struct ask *asks, size_t count,
               struct ask_result *out)
{
    DWORD *answers = calloc(count, sizeof *answers);
    struct asking asking = {asks, count, answers};
    struct nt_world asked = *world;
    asked.actor = ask_all;
    asked.actor_state = &asking;
    AUTO_BOXED boxed;
    boxed_open(&boxed, &asked, toml);
    open_stray_handle();
    memset(answers, 0xEE, count * sizeof *answers);
    *out = (struct ask_result){.has_run = boxed_run(&boxed) == SBX_OK};
    for (size_t i = 0; out->has_run && i < count; i++) {
        bool is_done = answer_of(answers[i]) == DONE;
        out->open += asks[i].inside == DENIED && is_done ? 1 : 0;
        out->closed += asks[i].inside == DONE && !is_done ? 1 : 0;
    }
    free(answers);
}
