/* The same small scenario on two kernels. */
#include "tests/unit/nt_stage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/ntmodel/nt_model.h"

#include "common/base/banned.h"

enum { TASK_MAX = 64, DONE_MS = 20000 };

void nt_stage_say(struct nt_stage *stage, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (len < 0 || (size_t)len >= sizeof line - 1) {
        len = (int)sizeof line - 2;
    }
    line[len++] = '\n';
    if (stage->len + (size_t)len + 1 > stage->room) {
        stage->room = (stage->len + (size_t)len + 1) * 2;
        stage->text = realloc(stage->text, stage->room);
        if (stage->text == NULL) {
            abort();
        }
    }
    memcpy(stage->text + stage->len, line, (size_t)len);
    stage->len += (size_t)len;
    stage->text[stage->len] = '\0';
}

void nt_stage_told(struct nt_stage *stage, const char *name, BOOL done)
{
    DWORD code = done ? 0 : GetLastError();
    nt_stage_say(stage, "%s: %lu", name, code);
}

const wchar_t *nt_stage_path(struct nt_stage *stage, const wchar_t *name)
{
    static wchar_t paths[2][MAX_PATH];
    static unsigned turn;
    wchar_t *path = paths[turn++ % 2];
    (void)swprintf(path, MAX_PATH, L"%ls%ls", stage->directory, name);
    return path;
}

/* ---- the program -------------------------------------------------------------------------------------------- */

BOOL nt_stage_start(struct nt_stage *stage, const char *task, BOOL inherits, DWORD flags,
                    LPPROC_THREAD_ATTRIBUTE_LIST list, PROCESS_INFORMATION *out)
{
    wchar_t line[MAX_PATH + TASK_MAX];
    STARTUPINFOEXW info = {.StartupInfo.cb = sizeof info, .lpAttributeList = list};
    (void)swprintf(line, SBX_COUNT(line), L"\"%ls\" --task %hs", stage->program, task);
    return stage->win->CreateProcessW(stage->program, line, NULL, NULL, inherits,
                                      flags | EXTENDED_STARTUPINFO_PRESENT, NULL, NULL,
                                      &info.StartupInfo, out);
}

DWORD nt_stage_finish(struct nt_stage *stage, PROCESS_INFORMATION *child)
{
    DWORD code = 0xFFFF;
    if (stage->win->WaitForSingleObject(child->hProcess, DONE_MS) == WAIT_OBJECT_0) {
        (void)stage->win->GetExitCodeProcess(child->hProcess, &code);
    }
    (void)stage->win->CloseHandle(child->hThread);
    (void)stage->win->CloseHandle(child->hProcess);
    return code;
}

static DWORD start_real(const wchar_t *task, DWORD flags)
{
    wchar_t path[MAX_PATH];
    wchar_t line[MAX_PATH + TASK_MAX];
    STARTUPINFOW info = {.cb = sizeof info};
    PROCESS_INFORMATION child;
    (void)GetModuleFileNameW(NULL, path, MAX_PATH);
    (void)swprintf(line, SBX_COUNT(line), L"\"%ls\" --task %ls", path, task);
    return CreateProcessW(path, line, NULL, NULL, FALSE, flags, NULL, NULL, &info, &child)
               ? 0
               : GetLastError();
}

bool nt_stage_task(int argc, char **argv, int *status)
{
    if (argc < 3 || strcmp(argv[1], "--task") != 0) {
        return false;
    }
    const char *task = argv[2];
    unsigned long number = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    *status = 99;
    if (strcmp(task, "exit") == 0) {
        *status = (int)number;
    } else if (strcmp(task, "handle") == 0) {
        DWORD flags;
        *status = GetHandleInformation((HANDLE)(ULONG_PTR)number, &flags) ? 1 : 0;
    } else if (strcmp(task, "breakaway") == 0) {
        *status = (int)start_real(L"exit 0", CREATE_BREAKAWAY_FROM_JOB);
    } else {
        if (strcmp(task, "tree") == 0) {
            (void)start_real(L"sleep", 0);
        }
        Sleep(INFINITE);
    }
    return true;
}

static DWORD sleep_for_good(struct nt_process *self, void *state)
{
    (void)state;
    nt_box_sleep(self, INFINITE);
    return 0;
}

static DWORD act(struct nt_process *self, void *state)
{
    (void)state;
    const wchar_t *task = wcsstr(nt_box_command_line(self), L"--task ") + 7;
    const wchar_t *space = wcschr(task, L' ');
    DWORD number = space == NULL ? 0 : wcstoul(space, NULL, 10);
    if (wcsncmp(task, L"exit", 4) == 0) {
        return number;
    }
    if (wcsncmp(task, L"handle", 6) == 0) {
        return nt_box_has_handle(self, (HANDLE)(ULONG_PTR)number) ? 1 : 0;
    }
    if (wcsncmp(task, L"breakaway", 9) == 0) {
        return nt_box_spawn(self, nt_box_image(self), CREATE_BREAKAWAY_FROM_JOB, NULL, NULL, NULL);
    }
    if (wcsncmp(task, L"tree", 4) == 0) {
        (void)nt_box_spawn(self, nt_box_image(self), 0, sleep_for_good, NULL, NULL);
    }
    return sleep_for_good(self, NULL);
}

/* ---- both ---------------------------------------------------------------------------------------------------- */

static void remove_all(const wchar_t *directory)
{
    wchar_t path[MAX_PATH];
    WIN32_FIND_DATAW data;
    (void)swprintf(path, MAX_PATH, L"%ls*", directory);
    HANDLE find = FindFirstFileW(path, &data);
    if (find == INVALID_HANDLE_VALUE) {
        return;
    }
    do {
        (void)swprintf(path, MAX_PATH, L"%ls%ls", directory, data.cFileName);
        if ((data.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
            (void)SetFileAttributesW(path, FILE_ATTRIBUTE_NORMAL);
            (void)DeleteFileW(path);
        } else if (wcscmp(data.cFileName, L".") != 0 && wcscmp(data.cFileName, L"..") != 0) {
            (void)swprintf(path, MAX_PATH, L"%ls%ls\\", directory, data.cFileName);
            remove_all(path);
            (void)RemoveDirectoryW(path);
        }
    } while (FindNextFileW(find, &data));
    (void)FindClose(find);
}

static void on_wine(void (*scenario)(struct nt_stage *stage), struct nt_stage *stage)
{
    static struct sbx_winapi real;
    static unsigned number;
    wchar_t temp[MAX_PATH];
    sbx_winapi_load(&real);
    stage->win = &real;
    (void)GetTempPathW(MAX_PATH, temp);
    (void)swprintf(stage->directory, MAX_PATH, L"%lssbx-nt-%lu-%u\\", temp, GetCurrentProcessId(),
                   ++number);
    (void)GetModuleFileNameW(NULL, stage->program, MAX_PATH);
    CHECK(CreateDirectoryW(stage->directory, NULL));
    scenario(stage);
    remove_all(stage->directory);
    CHECK(RemoveDirectoryW(stage->directory));
}

static void on_model(void (*scenario)(struct nt_stage *stage), struct nt_stage *stage)
{
    struct nt_model *model = nt_model_new(&(struct nt_world){.actor = act});
    nt_put_directory(model, L"C:\\Users\\user\\stage", NULL);
    stage->win = nt_model_table();
    (void)swprintf(stage->directory, MAX_PATH, L"C:\\Users\\user\\stage\\");
    (void)swprintf(stage->program, MAX_PATH, L"C:\\Users\\user\\project\\tool.exe");
    scenario(stage);
    CHECK_U64(nt_model_not_modelled(model), 0);
    nt_model_free(model);
}

static const char *next_line(const char **at, char *line, size_t max)
{
    size_t len = strcspn(*at, "\n");
    size_t kept = len < max - 1 ? len : max - 1;
    memcpy(line, *at, kept);
    line[kept] = '\0';
    *at += len + ((*at)[len] == '\n' ? 1 : 0);
    return line;
}

void nt_stage_compare(void (*scenario)(struct nt_stage *stage), size_t least)
{
    struct nt_stage wine = {0};
    struct nt_stage model = {0};
    on_wine(scenario, &wine);
    on_model(scenario, &model);
    const char *left = model.text == NULL ? "" : model.text;
    const char *right = wine.text == NULL ? "" : wine.text;
    size_t lines = 0;
    while (*left != '\0' || *right != '\0') {
        char got[512];
        char want[512];
        (void)next_line(&left, got, sizeof got);
        (void)next_line(&right, want, sizeof want);
        if (!CHECK_TEXT(got, want)) {
            printf("#   line %zu, the model got it, Wine wants it\n", lines + 1);
        }
        lines++;
    }
    CHECK(lines >= least);
    free(wine.text);
    free(model.text);
}
