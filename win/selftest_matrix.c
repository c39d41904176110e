/* Cases that measure: which console modes, desktop limits, job lists and tokens this Windows takes. sbx chooses by its
 * own probe; these say what it could have chosen. A case passes when everything was measured. */
#include <windows.h>

#include <stdio.h>

#include "common/os.h"
#include "win/handle.h"
#include "win/selftest_raw.h"
#include "win/wide.h"

#include "common/base/banned.h"

static const char *const token_names[] = {
    [SBX_RAW_PLAIN] = "plain",
    [SBX_RAW_RESTRICTED] = "restricted",
    [SBX_RAW_RESTRICTED_LOW] = "restricted+low",
};

/* ---- what a measurement says ---- */

struct measurement {
    struct sbx_selftest *t;
    struct sbx_raw_profile profile;
    struct sbx_buf text;
    size_t count;
};

static void release(struct measurement *m)
{
    sbx_raw_close(&m->profile);
    sbx_buf_release(&m->text);
}

static bool begin(struct sbx_selftest *t, struct measurement *m, struct sbx_selftest_result *result)
{
    m->t = t;
    sbx_buf_init(&m->text, 16u << 10);
    HRESULT raw = sbx_raw_open(&m->profile);
    if (FAILED(raw)) {
        sbx_selftest_say(t, result, SBX_SELFTEST_CANNOT,
                         "this Windows gives no AppContainer profile: 0x%08lx", (DWORD)raw);
        return false;
    }
    return true;
}

static void try_one(struct measurement *m, const char *name, const struct sbx_raw_plan *plan,
                    const wchar_t *line)
{
    struct sbx_raw_end end;
    sbx_raw_run(&m->profile, plan, line, &end);
    sbx_buf_printf(&m->text, "%s%s: ", m->count == 0 ? "" : "; ", name);
    if (end.call != NULL) {
        sbx_buf_printf(&m->text, "%s %lu", end.call, end.raw);
    } else {
        sbx_buf_printf(&m->text, "0x%lx", end.status);
    }
    m->count++;
}

static void finish(struct measurement *m, struct sbx_selftest_result *result)
{
    sbx_selftest_say(m->t, result, SBX_SELFTEST_PASS, "%s", sbx_buf_text(&m->text));
}

/* The line for a program and its words; NULL when it is not installed. */
static wchar_t *line_for(struct sbx_selftest *t, const char *attempt)
{
    struct sbx_str name;
    struct sbx_str words;
    struct sbx_path found;
    wchar_t *line = NULL;
    (void)sbx_str_split(sbx_str(attempt), ' ', &name, &words);
    const char *program = sbx_arena_copy(&t->arena, name.ptr, name.len);
    if (program == NULL || sbx_os_find_program(&t->arena, program, sbx_os_env(&t->arena, "PATH"),
                                               &found, NULL) != SBX_OK) {
        return NULL;
    }
    const char *text = sbx_arena_printf(&t->arena, "\"%s\" %s", found.text, words.ptr);
    return text != NULL && sbx_wide_from(&t->arena, text, &line, NULL) == SBX_OK ? line : NULL;
}

static wchar_t *installed(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                          struct sbx_selftest_result *result)
{
    wchar_t *line = line_for(t, row->attempt);
    if (line == NULL) {
        sbx_selftest_say(t, result, SBX_SELFTEST_CANNOT, "the program is not installed");
    }
    return line;
}

/* ---- consoles ---- */

static void measure_consoles(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                             struct sbx_selftest_result *result)
{
    static const struct {
        const char *name;
        DWORD flags;
    } modes[] = {{"inherited console", 0},
                 {"no window", CREATE_NO_WINDOW},
                 {"new console", CREATE_NEW_CONSOLE},
                 {"detached", DETACHED_PROCESS}};
    SBX_CLEANUP(release) struct measurement m = {.t = NULL};
    wchar_t *line = installed(t, row, result);
    if (line == NULL || !begin(t, &m, result)) {
        return;
    }
    for (size_t i = 0; i < SBX_COUNT(modes); i++) {
        for (size_t j = 0; j < SBX_COUNT(token_names); j++) {
            struct sbx_raw_plan plan = {.token = (enum sbx_raw_token)j, .flags = modes[i].flags};
            const char *name = sbx_arena_printf(&t->arena, "%s, %s", modes[i].name, token_names[j]);
            try_one(&m, name == NULL ? "" : name, &plan, line);
        }
    }
    finish(&m, result);
}

/* ---- desktop limits ---- */

static void measure_limits(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                           struct sbx_selftest_result *result)
{
    static const DWORD masks[] = {0, 0xff, 0x3ff, 0xff & ~(DWORD)JOB_OBJECT_UILIMIT_HANDLES,
                                  0xff & ~(DWORD)JOB_OBJECT_UILIMIT_GLOBALATOMS};
    SBX_CLEANUP(release) struct measurement m = {.t = NULL};
    wchar_t *line = installed(t, row, result);
    if (line == NULL || !begin(t, &m, result)) {
        return;
    }
    for (size_t i = 0; i < SBX_COUNT(masks); i++) {
        struct sbx_raw_plan plan = {
            .token = SBX_RAW_RESTRICTED_LOW, .ui = masks[i], .flags = CREATE_NO_WINDOW};
        const char *name = sbx_arena_printf(&t->arena, "limits 0x%lx", masks[i]);
        try_one(&m, name == NULL ? "" : name, &plan, line);
    }
    finish(&m, result);
}

/* ---- jobs ---- */

static void measure_jobs(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                         struct sbx_selftest_result *result)
{
    static const struct {
        const char *name;
        DWORD ui;
        bool apart;
    } jobs[] = {{"one job", 0, false},
                {"one job with desktop limits", 0xff, false},
                {"two jobs, one with desktop limits", 0xff, true}};
    SBX_CLEANUP(release) struct measurement m = {.t = NULL};
    wchar_t *line = installed(t, row, result);
    if (line == NULL || !begin(t, &m, result)) {
        return;
    }
    for (size_t i = 0; i < SBX_COUNT(jobs); i++) {
        struct sbx_raw_plan plan = {.token = SBX_RAW_RESTRICTED_LOW,
                                    .ui = jobs[i].ui,
                                    .ui_apart = jobs[i].apart,
                                    .flags = CREATE_NO_WINDOW};
        try_one(&m, jobs[i].name, &plan, line);
    }
    finish(&m, result);
}

/* ---- tokens ---- */

/* A directory with a copy of this program, open to the package. */
static wchar_t *open_workspace(struct measurement *m)
{
    const char *path = sbx_arena_printf(&m->t->arena, "%s\\raw", sbx_selftest_place(m->t, "root"));
    wchar_t *wide = NULL;
    wchar_t *from = NULL;
    wchar_t to[1200];
    if (path == NULL || sbx_wide_from(&m->t->arena, path, &wide, NULL) != SBX_OK ||
        sbx_wide_from(&m->t->arena, sbx_selftest_place(m->t, "copy"), &from, NULL) != SBX_OK ||
        wcslen(wide) > 1000) {
        return NULL;
    }
    (void)_snwprintf(to, SBX_COUNT(to), L"%ls\\sbx.exe", wide);
    return CreateDirectoryW(wide, NULL) && CopyFileW(from, to, TRUE) &&
                   sbx_raw_grant(&m->profile, wide, true) == ERROR_SUCCESS
               ? wide
               : NULL;
}

static void measure_tokens(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                           struct sbx_selftest_result *result)
{
    (void)row;
    static const struct {
        const char *name;
        unsigned deny;
    } rungs[] = {{"nobody denied", 0},
                 {"administrators denied", SBX_RAW_DENY_ADMINS},
                 {"administrators and users denied", SBX_RAW_DENY_ADMINS | SBX_RAW_DENY_USERS}};
    SBX_CLEANUP(release) struct measurement m = {.t = NULL};
    if (!begin(t, &m, result)) {
        return;
    }
    wchar_t *place = open_workspace(&m);
    if (place == NULL) {
        sbx_selftest_say(t, result, SBX_SELFTEST_ERROR, "no directory could be opened to it: %lu",
                         GetLastError());
        return;
    }
    for (size_t i = 0; i < SBX_COUNT(rungs); i++) {
        struct sbx_raw_plan plan = {
            .token = SBX_RAW_RESTRICTED_LOW, .deny = rungs[i].deny, .flags = CREATE_NO_WINDOW};
        wchar_t lines[3][1400];
        static const char *const what[] = {"system", "workspace", "own folder"};
        (void)_snwprintf(lines[0], 1400,
                         L"\"%ls\\sbx.exe\" selftest --probe read C:\\Windows\\win.ini", place);
        (void)_snwprintf(lines[1], 1400, L"\"%ls\\sbx.exe\" selftest --probe write \"%ls\\file\"",
                         place, place);
        (void)_snwprintf(lines[2], 1400, L"\"%ls\\sbx.exe\" selftest --probe write \"%ls\\file\"",
                         place, m.profile.folder == NULL ? L"?" : m.profile.folder);
        for (size_t j = 0; j < SBX_COUNT(what); j++) {
            const char *name = sbx_arena_printf(&t->arena, "%s, %s", rungs[i].name, what[j]);
            try_one(&m, name == NULL ? "" : name, &plan, lines[j]);
        }
    }
    finish(&m, result);
}

#define MEASURE(ID, WHAT, ATTEMPT, RUN)                                                            \
    {                                                                                              \
        .id = "matrix." ID, .promise = "it is measured " WHAT, .attempt = (ATTEMPT), .run = (RUN)  \
    }

static const struct sbx_selftest_case cases[] = {
    MEASURE("console-cmd", "with which console and token cmd starts", "cmd.exe /d /c exit 7",
            measure_consoles),
    MEASURE("console-where", "the same for a program with user32", "where.exe /q cmd.exe",
            measure_consoles),
    MEASURE("console-powershell", "the same for PowerShell",
            "powershell.exe -NoProfile -NonInteractive -Command exit(7)", measure_consoles),
    MEASURE("console-git", "the same for git", "git.exe --version", measure_consoles),
    MEASURE("console-python", "the same for python", "python.exe --version", measure_consoles),
    MEASURE("console-node", "the same for node", "node.exe --version", measure_consoles),
    MEASURE("limits-cmd", "with which desktop limits cmd starts", "cmd.exe /d /c exit 7",
            measure_limits),
    MEASURE("limits-powershell", "with which desktop limits PowerShell starts",
            "powershell.exe -NoProfile -NonInteractive -Command exit(7)", measure_limits),
    MEASURE("jobs", "which lists of jobs are taken", "cmd.exe /d /c exit 7", measure_jobs),
    MEASURE("tokens", "what a token can use with which groups denied", NULL, measure_tokens),
};
const struct sbx_selftest_group sbx_selftest_matrix_group = {"matrix", cases, SBX_COUNT(cases)};
