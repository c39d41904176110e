/* A self-test whose sbx is the test program itself. */
#include "tests/unit/played_sbx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/os.h"
#include "tests/unit/os_actor.h"
#include "win/handle.h"
#include "win/quote.h"

#include "common/base/banned.h"

/* Children know by their environment what to play. */
#define RUN L"SBX_TEST_RUN"
#define WORKSPACE L"SBX_TEST_WORKSPACE"
#define LOG L"SBX_TEST_LOG"

#define ARENA_BYTES (16u << 20)

static struct sbx_selftest test;

static void set_number(const wchar_t *name, int value)
{
    const wchar_t text[] = {(wchar_t)(L'0' + value), L'\0'};
    (void)SetEnvironmentVariableW(name, text);
}

static int number_of(const wchar_t *name)
{
    wchar_t text[8] = L"";
    (void)GetEnvironmentVariableW(name, text, SBX_COUNT(text));
    return text[0] == L'\0' ? 0 : text[0] - L'0';
}

/* ---- as sbx ------------------------------------------------------------------------------------ */

static void note(const char *format, ...) SBX_PRINTF(1, 2);
static void note(const char *format, ...)
{
    wchar_t name[MAX_PATH] = L"";
    char line[8192];
    DWORD put;
    va_list arguments;
    va_start(arguments, format);
    sbx_text_vformat(line, sizeof line, format, arguments);
    va_end(arguments);
    (void)GetEnvironmentVariableW(LOG, name, SBX_COUNT(name));
    AUTO_HANDLE file = CreateFileW(name, FILE_APPEND_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                                   OPEN_ALWAYS, 0, NULL);
    if (sbx_handle_is_open(file)) {
        (void)WriteFile(file, line, (DWORD)strlen(line), &put, NULL);
    }
}

static const char *const *find(const char *const *words, const char *word)
{
    while (*words != NULL && strcmp(*words, word) != 0) {
        words++;
    }
    return *words == NULL ? NULL : words + 1;
}

/* The console that this process is on, for children whatever their standard streams are. */
static void use_console(STARTUPINFOW *info)
{
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
    HANDLE console =
        CreateFileW(L"CONOUT$", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                    &inherited, OPEN_EXISTING, 0, NULL);
    if (sbx_handle_is_open(console)) {
        info->dwFlags = STARTF_USESTDHANDLES;
        info->hStdOutput = console;
        info->hStdError = console;
    }
}

static DWORD start_and_wait(const char *const *command, bool is_tty)
{
    AUTO_ARENA arena;
    wchar_t *line;
    STARTUPINFOW info = {.cb = sizeof info};
    PROCESS_INFORMATION child = {0};
    DWORD status = 127;
    sbx_arena_init(&arena, 1u << 20);
    if (is_tty) {
        use_console(&info);
    }
    if (sbx_quote_argv(&arena, command, &line, NULL) != SBX_OK ||
        !CreateProcessW(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &info, &child)) {
        return status;
    }
    (void)WaitForSingleObject(child.hProcess, INFINITE);
    (void)GetExitCodeProcess(child.hProcess, &status);
    sbx_handle_close(&child.hThread);
    sbx_handle_close(&child.hProcess);
    return status;
}

static int as_run(const char *const *words)
{
    const char *const *result = find(words, "--result");
    const char *const *manifest = find(words, "-f");
    const char *const *command = find(words, "--");
    bool is_tty = find(words, "--tty") != NULL;
    char outcome[256];
    BOOL is_in_job = FALSE;
    if (result == NULL || manifest == NULL || command == NULL) {
        return 2;
    }
    (void)IsProcessInJob(GetCurrentProcess(), NULL, &is_in_job);
    note("run%s%s\n%s", is_tty ? " --tty" : "", is_in_job ? " in a job" : "",
         actor_read(*manifest));
    enum played_run play = (enum played_run)number_of(RUN);
    switch (play) {
    case PLAY_REFUSAL:
        (void)snprintf(outcome, sizeof outcome,
                       "{\"started\": false, \"error\": {\"code\": \"unavailable\"}, "
                       "\"selection\": {\"why\": \"it is played\"}}");
        break;
    case PLAY_FAILURE:
        (void)snprintf(outcome, sizeof outcome,
                       "{\"started\": false, \"error\": {\"code\": \"verification-failed\", "
                       "\"text\": \"it is played\"}}");
        break;
    case PLAY_PLAIN:
    case PLAY_BROKEN:
        (void)snprintf(outcome, sizeof outcome,
                       "{\"started\": true, \"exit_code\": %lu, \"limit\": null, \"error\": null}",
                       start_and_wait(command, is_tty) + (play == PLAY_BROKEN ? 1 : 0));
        break;
    }
    return sbx_os_write_new(*result, sbx_str(outcome), NULL) == SBX_OK ? 0 : 1;
}

/* The list is the log: what was run before is there, unless it is removed below. */
static int as_workspace(const char *const *words)
{
    enum played_workspace play = (enum played_workspace)number_of(WORKSPACE);
    bool is_removed = sbx_str_contains(sbx_str(played_log()), "workspace remove");
    note("workspace %s %s\n", words[0], words[1] == NULL ? "" : words[1]);
    if (play == PLAY_UNKNOWN) {
        return 2;
    }
    if (play == PLAY_FAILS && strcmp(words[0], "remove") == 0) {
        (void)fputs("sbx: error: it is played", stderr);
        return 1;
    }
    bool has_roots = play == PLAY_KEEPS || (play == PLAY_LISTS && !is_removed);
    if (strcmp(words[0], "list") == 0 && has_roots) {
        (void)puts(played_log());
    }
    return 0;
}

/* ---- the test's side --------------------------------------------------------------------------- */

void played_run(enum played_run play)
{
    set_number(RUN, (int)play);
    test.has_tried = false;
    test.refusal = NULL;
}

void played_workspace(enum played_workspace play)
{
    set_number(WORKSPACE, (int)play);
}

void played_well(void)
{
    played_run(PLAY_PLAIN);
    played_workspace(PLAY_LISTS);
    played_forget();
}

struct sbx_selftest *played(void)
{
    return &test;
}

void played_check(const struct sbx_selftest_case *row, const char *verdict, const char *evidence)
{
    struct sbx_selftest_result result;
    sbx_arena_release(&test.arena);
    sbx_arena_init(&test.arena, ARENA_BYTES);
    sbx_selftest_run_case(&test, row, &result);
    CHECK_TEXT(sbx_name_text(sbx_selftest_verdict_names, (int)result.verdict), verdict);
    if (!CHECK(sbx_str_contains(sbx_str(result.evidence), evidence))) {
        printf("# the evidence is \"%s\", without \"%s\"\n", result.evidence, evidence);
    }
}

const struct sbx_selftest_case *played_find(const char *id)
{
    static const struct sbx_selftest_case none = {.id = "none", .promise = "", .attempt = "none"};
    for (const struct sbx_selftest_group *const *group = sbx_selftest_groups(); *group != NULL;
         group++) {
        for (size_t i = 0; i < (*group)->count; i++) {
            if (strcmp((*group)->cases[i].id, id) == 0) {
                return &(*group)->cases[i];
            }
        }
    }
    CHECK(!"there is a case of this name");
    return &none;
}

struct sbx_selftest_case played_row(const char *id, const char *attempt)
{
    struct sbx_selftest_case row = *played_find(id);
    row.attempt = attempt;
    return row;
}

const char *played_path(const char *name)
{
    static char path[1024];
    (void)snprintf(path, sizeof path, "%s\\%s", sbx_selftest_place(&test, "root"), name);
    return path;
}

void played_place(const char *name, const char *value)
{
    for (size_t i = 0; i < test.place_count; i++) {
        if (strcmp(test.places[i].name, name) == 0) {
            test.places[i].value = value;
        }
    }
}

static const char *log_name(void)
{
    static char name[MAX_PATH];
    (void)GetEnvironmentVariableA("SBX_TEST_LOG", name, sizeof name);
    return name;
}

const char *played_log(void)
{
    return actor_read(log_name());
}

bool played_log_has(const char *text)
{
    return sbx_str_contains(sbx_str(played_log()), text);
}

void played_forget(void)
{
    (void)DeleteFileA(log_name());
}

static bool open_selftest(void)
{
    struct sbx_err err = {0};
    wchar_t log[MAX_PATH];
    sbx_arena_init(&test.kept, ARENA_BYTES);
    sbx_arena_init(&test.arena, ARENA_BYTES);
    if (sbx_selftest_open(&test, &err) != SBX_OK) {
        printf("Bail out! %s\n", err.text);
        return false;
    }
    (void)_snwprintf(log, SBX_COUNT(log), L"%ls\\log",
                     sbx_attempt_wide(sbx_selftest_place(&test, "root")));
    (void)SetEnvironmentVariableW(LOG, log);
    played_run(PLAY_PLAIN);
    played_workspace(PLAY_LISTS);
    return true;
}

int played_main(int argc, char **argv, const char *suite, const struct sbx_test *tests,
                size_t count)
{
    actor_init(argv[0]);
    const char *const *words = actor_verb(argc, argv);
    if (argc > 1 && strcmp(argv[1], "run") == 0) {
        return as_run(words);
    }
    if (argc > 2 && strcmp(argv[1], "workspace") == 0) {
        return as_workspace(words);
    }
    if (argc > 3 && strcmp(argv[1], "selftest") == 0) {
        return sbx_attempt_main(words + 1, (size_t)argc - 3);
    }
    int status = 1;
    if (open_selftest()) {
        status = sbx_test_main(argc, argv, suite, tests, count);
        test.has_tried = false; /* nothing was granted to our directories */
    }
    sbx_selftest_close(&test);
    sbx_arena_release(&test.arena);
    sbx_arena_release(&test.kept);
    actor_end();
    return status;
}
