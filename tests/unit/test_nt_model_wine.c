/* Where Wine implements the same as the model of the NT kernel, both must answer alike. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/ntmodel/nt_wrap.h"
#include "tests/unit/nt_stage.h"

#include "common/base/banned.h"

#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

/* ---- handles and waits ---------------------------------------------------------------------------------- */

static void do_handles(struct nt_stage *stage)
{
    const struct sbx_winapi *win = stage->win;
    HANDLE self = win->GetCurrentProcess();
    HANDLE event = win->CreateEventW(NULL, TRUE, FALSE, NULL);
    HANDLE weak = NULL;
    HANDLE other = NULL;
    DWORD flags = 0;
    nt_stage_told(stage, "duplicate",
                  win->DuplicateHandle(self, event, self, &weak, SYNCHRONIZE, TRUE, 0));
    nt_stage_told(stage, "ask", win->GetHandleInformation(weak, &flags));
    nt_stage_say(stage, "flags %lu", flags);
    nt_stage_told(stage, "set by the weak", win->SetEvent(weak));
    nt_stage_told(stage, "set", win->SetEvent(event));
    nt_stage_say(stage, "wait %lu", win->WaitForSingleObject(weak, 0));
    nt_stage_told(stage, "take along",
                  win->DuplicateHandle(self, weak, self, &other, 0, FALSE,
                                       DUPLICATE_SAME_ACCESS | DUPLICATE_CLOSE_SOURCE));
    nt_stage_told(stage, "close", win->CloseHandle(other));
    nt_stage_told(stage, "close twice", win->CloseHandle(other));
    nt_stage_told(stage, "ask the closed", win->GetHandleInformation(other, &flags));
    nt_stage_told(stage, "wait for none", win->WaitForSingleObject(other, 0) != WAIT_FAILED);
    nt_stage_told(stage, "protect",
                  win->SetHandleInformation(event, HANDLE_FLAG_PROTECT_FROM_CLOSE,
                                            HANDLE_FLAG_PROTECT_FROM_CLOSE));
    nt_stage_told(stage, "close the protected", win->CloseHandle(event));
    nt_stage_told(stage, "unprotect",
                  win->SetHandleInformation(event, HANDLE_FLAG_PROTECT_FROM_CLOSE, 0));
    nt_stage_told(stage, "close", win->CloseHandle(event));
}

static void handles_agree(void)
{
    nt_stage_compare(do_handles, 15);
}

static DWORD WINAPI leave_owned(void *mutex)
{
    const struct nt_stage *stage = ((void **)mutex)[0];
    return stage->win->WaitForSingleObject(((void **)mutex)[1], INFINITE);
}

static void do_waits(struct nt_stage *stage)
{
    const struct sbx_winapi *win = stage->win;
    HANDLE pair[3] = {win->CreateEventW(NULL, FALSE, TRUE, NULL),
                      win->CreateEventW(NULL, TRUE, FALSE, NULL),
                      win->CreateMutexW(NULL, TRUE, NULL)};
    nt_stage_say(stage, "all %lu", win->WaitForMultipleObjects(3, pair, TRUE, 0));
    nt_stage_say(stage, "any %lu", win->WaitForMultipleObjects(3, pair, FALSE, 0));
    nt_stage_say(stage, "any %lu", win->WaitForMultipleObjects(3, pair, FALSE, 0));
    nt_stage_told(stage, "release", win->ReleaseMutex(pair[2]));
    nt_stage_told(stage, "release", win->ReleaseMutex(pair[2]));
    nt_stage_told(stage, "release once too often", win->ReleaseMutex(pair[2]));
    (void)win->SetEvent(pair[0]);
    (void)win->SetEvent(pair[1]);
    nt_stage_say(stage, "all %lu", win->WaitForMultipleObjects(3, pair, TRUE, 1000));
    nt_stage_say(stage, "first %lu", win->WaitForSingleObject(pair[0], 5));
    nt_stage_say(stage, "second %lu", win->WaitForSingleObject(pair[1], 5));
    (void)win->ReleaseMutex(pair[2]);
    void *state[2] = {stage, pair[2]};
    HANDLE thread = win->CreateThread(NULL, 0, leave_owned, state, 0, NULL);
    nt_stage_say(stage, "thread %lu", win->WaitForSingleObject(thread, 5000));
    nt_stage_say(stage, "left behind %lu", win->WaitForSingleObject(pair[2], 5000));
    nt_stage_say(stage, "again %lu", win->WaitForSingleObject(pair[2], 5000));
    HANDLE named = win->CreateMutexW(NULL, FALSE, L"Local\\sbx-nt-stage");
    nt_stage_told(stage, "new", GetLastError() == 0);
    HANDLE same = win->CreateMutexW(NULL, FALSE, L"Local\\sbx-nt-stage");
    nt_stage_told(stage, "same", GetLastError() == 0);
    HANDLE wrong = win->CreateEventW(NULL, FALSE, FALSE, L"Local\\sbx-nt-stage");
    nt_stage_told(stage, "an event of that name", wrong != NULL);
    nt_stage_say(stage, "none %lu", win->WaitForMultipleObjects(0, pair, FALSE, 0));
    nt_stage_told(stage, "none", FALSE);
    HANDLE all[] = {pair[0], pair[1], pair[2], thread, named, same};
    for (size_t i = 0; i < SBX_COUNT(all); i++) {
        (void)win->CloseHandle(all[i]);
    }
}

static void waits_agree(void)
{
    nt_stage_compare(do_waits, 17);
}

static void do_pipes(struct nt_stage *stage)
{
    const struct sbx_winapi *win = stage->win;
    HANDLE read = NULL;
    HANDLE write = NULL;
    char bytes[16] = {0};
    DWORD count = 0;
    nt_stage_told(stage, "make", win->CreatePipe(&read, &write, NULL, 64));
    nt_stage_say(stage, "type %lu", win->GetFileType(read));
    nt_stage_told(stage, "write", win->WriteFile(write, "abcdef", 6, &count, NULL));
    nt_stage_say(stage, "written %lu", count);
    nt_stage_told(stage, "read", win->ReadFile(read, bytes, 4, &count, NULL));
    nt_stage_say(stage, "read %lu %.4s", count, bytes);
    nt_stage_told(stage, "close the writer", win->CloseHandle(write));
    nt_stage_told(stage, "read the rest", win->ReadFile(read, bytes, sizeof bytes, &count, NULL));
    nt_stage_say(stage, "read %lu", count);
    nt_stage_told(stage, "read the end", win->ReadFile(read, bytes, sizeof bytes, &count, NULL));
    nt_stage_say(stage, "read %lu", count);
    (void)win->CloseHandle(read);
    (void)win->CreatePipe(&read, &write, NULL, 0);
    (void)win->CloseHandle(read);
    nt_stage_told(stage, "write to nobody", win->WriteFile(write, "x", 1, &count, NULL));
    nt_stage_told(stage, "read a writer", win->ReadFile(write, bytes, 1, &count, NULL));
    (void)win->CloseHandle(write);
}

static void pipes_agree(void)
{
    nt_stage_compare(do_pipes, 13);
}

/* ---- files ------------------------------------------------------------------------------------------------ */

static HANDLE open_as(struct nt_stage *stage, const wchar_t *path, DWORD access, DWORD share,
                      DWORD disposition, DWORD flags)
{
    return stage->win->CreateFileW(path, access, share, NULL, disposition, flags, NULL);
}

static void make_file(struct nt_stage *stage, const wchar_t *name)
{
    DWORD put;
    HANDLE file = open_as(stage, nt_stage_path(stage, name), GENERIC_WRITE, 0, CREATE_ALWAYS, 0);
    (void)stage->win->WriteFile(file, "text", 4, &put, NULL);
    (void)stage->win->CloseHandle(file);
}

/* Every pair of accesses and share modes. */
static void do_shares(struct nt_stage *stage)
{
    static const DWORD accesses[] = {FILE_READ_ATTRIBUTES, GENERIC_READ, GENERIC_WRITE, DELETE,
                                     GENERIC_READ | DELETE};
    const struct sbx_winapi *win = stage->win;
    make_file(stage, L"shared");
    const wchar_t *path = nt_stage_path(stage, L"shared");
    for (size_t i = 0; i < SBX_COUNT(accesses) * 8; i++) {
        HANDLE first = open_as(stage, path, accesses[i / 8], i % 8, OPEN_EXISTING, 0);
        char line[256] = "";
        for (size_t j = 0; j < SBX_COUNT(accesses) * 8; j++) {
            HANDLE second = open_as(stage, path, accesses[j / 8], j % 8, OPEN_EXISTING, 0);
            DWORD code = second == INVALID_HANDLE_VALUE ? GetLastError() : 0;
            line[j] = code == 0 ? '.' : code == ERROR_SHARING_VIOLATION ? 'S' : '?';
            if (second != INVALID_HANDLE_VALUE) {
                (void)win->CloseHandle(second);
            }
        }
        nt_stage_say(stage, "%zu %s", i, line);
        (void)win->CloseHandle(first);
    }
}

static void shares_agree(void)
{
    nt_stage_compare(do_shares, 40);
}

static void do_dispositions(struct nt_stage *stage)
{
    const struct sbx_winapi *win = stage->win;
    static const wchar_t *const names[] = {L"there", L"new", L"none\\new", L"directory"};
    for (DWORD disposition = 0; disposition <= TRUNCATE_EXISTING + 1; disposition++) {
        for (size_t i = 0; i < SBX_COUNT(names); i++) {
            make_file(stage, L"there");
            (void)win->DeleteFileW(nt_stage_path(stage, L"new"));
            (void)win->CreateDirectoryW(nt_stage_path(stage, L"directory"), NULL);
            SetLastError(77);
            HANDLE file = open_as(stage, nt_stage_path(stage, names[i]),
                                  GENERIC_READ | GENERIC_WRITE, 0, disposition, 0);
            LARGE_INTEGER size = {.QuadPart = -1};
            DWORD code = GetLastError();
            if (file != INVALID_HANDLE_VALUE) {
                (void)win->GetFileSizeEx(file, &size);
                (void)win->CloseHandle(file);
            }
            nt_stage_say(stage, "%lu %ls: %d code %lu size %lld", disposition, names[i],
                         file != INVALID_HANDLE_VALUE, code, (long long)size.QuadPart);
        }
    }
}

static void dispositions_agree(void)
{
    nt_stage_compare(do_dispositions, 28);
}

static void do_deletions(struct nt_stage *stage)
{
    const struct sbx_winapi *win = stage->win;
    FILE_DISPOSITION_INFO gone = {TRUE};
    make_file(stage, L"one");
    HANDLE file =
        open_as(stage, nt_stage_path(stage, L"one"), DELETE | GENERIC_READ, SHARE_ALL, 3, 0);
    HANDLE other = open_as(stage, nt_stage_path(stage, L"one"), GENERIC_READ, SHARE_ALL, 3, 0);
    nt_stage_told(stage, "without the right",
                  win->SetFileInformationByHandle(other, FileDispositionInfo, &gone, sizeof gone));
    nt_stage_told(stage, "delete",
                  win->SetFileInformationByHandle(file, FileDispositionInfo, &gone, sizeof gone));
    (void)win->CloseHandle(file);
    /* Until then Windows refuses to open it, which Wine 8 does not. */
    (void)win->CloseHandle(other);
    file = open_as(stage, nt_stage_path(stage, L"one"), GENERIC_READ, SHARE_ALL, 3, 0);
    nt_stage_told(stage, "open what is gone", file != INVALID_HANDLE_VALUE);
    nt_stage_told(stage, "delete nothing", win->DeleteFileW(nt_stage_path(stage, L"one")));
    nt_stage_told(stage, "make a directory",
                  win->CreateDirectoryW(nt_stage_path(stage, L"dir"), NULL));
    nt_stage_told(stage, "make it again",
                  win->CreateDirectoryW(nt_stage_path(stage, L"dir"), NULL));
    nt_stage_told(stage, "make it nowhere",
                  win->CreateDirectoryW(nt_stage_path(stage, L"no\\dir"), NULL));
    make_file(stage, L"dir\\file");
    nt_stage_told(stage, "remove a full one", win->RemoveDirectoryW(nt_stage_path(stage, L"dir")));
    nt_stage_told(stage, "delete a directory", win->DeleteFileW(nt_stage_path(stage, L"dir")));
    nt_stage_told(stage, "remove a file",
                  win->RemoveDirectoryW(nt_stage_path(stage, L"dir\\file")));
    nt_stage_told(stage, "delete", win->DeleteFileW(nt_stage_path(stage, L"dir\\file")));
    nt_stage_told(stage, "remove", win->RemoveDirectoryW(nt_stage_path(stage, L"dir")));
    nt_stage_told(stage, "remove nothing", win->RemoveDirectoryW(nt_stage_path(stage, L"dir")));
    file = open_as(stage, nt_stage_path(stage, L"two"), GENERIC_WRITE, 0, CREATE_NEW,
                   FILE_FLAG_DELETE_ON_CLOSE);
    (void)win->CloseHandle(file);
    nt_stage_told(stage, "delete what went by itself",
                  win->DeleteFileW(nt_stage_path(stage, L"two")));
}

static void deletions_agree(void)
{
    nt_stage_compare(do_deletions, 14);
}

static void move(struct nt_stage *stage, const char *name, const wchar_t *from, const wchar_t *to,
                 DWORD flags)
{
    const wchar_t *source = nt_stage_path(stage, from);
    nt_stage_told(stage, name, stage->win->MoveFileExW(source, nt_stage_path(stage, to), flags));
}

static void do_renames(struct nt_stage *stage)
{
    const struct sbx_winapi *win = stage->win;
    make_file(stage, L"a");
    make_file(stage, L"b");
    (void)win->CreateDirectoryW(nt_stage_path(stage, L"d"), NULL);
    move(stage, "onto another", L"a", L"b", 0);
    move(stage, "onto a directory", L"a", L"d", MOVEFILE_REPLACE_EXISTING);
    move(stage, "into nowhere", L"a", L"no\\a", 0);
    move(stage, "from nothing", L"none", L"c", 0);
    move(stage, "replace", L"a", L"b", MOVEFILE_REPLACE_EXISTING);
    move(stage, "other case", L"b", L"B", 0);
    move(stage, "into a directory", L"b", L"d\\b", 0);
    HANDLE file = open_as(stage, nt_stage_path(stage, L"d\\b"), GENERIC_READ,
                          FILE_SHARE_READ | FILE_SHARE_WRITE, OPEN_EXISTING, 0);
    move(stage, "held", L"d\\b", L"c", 0);
    nt_stage_told(stage, "delete held", win->DeleteFileW(nt_stage_path(stage, L"d\\b")));
    (void)win->CloseHandle(file);
    move(stage, "directory", L"d", L"e", 0);
    move(stage, "directory into itself", L"e", L"e\\f", 0);
    make_file(stage, L"c");
    move(stage, "directory onto a file", L"e", L"c", 0);
    move(stage, "file onto itself", L"c", L"c", 0);
}

static void renames_agree(void)
{
    nt_stage_compare(do_renames, 13);
}

/* ---- names --------------------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void say_sorted(struct nt_stage *stage, char **names, size_t count)
{
    qsort(names, count, sizeof names[0], by_text);
    for (size_t i = 0; i < count; i++) {
        nt_stage_say(stage, "%s", names[i]);
        free(names[i]);
    }
}

static void do_listing(struct nt_stage *stage)
{
    const struct sbx_winapi *win = stage->win;
    (void)win->CreateDirectoryW(nt_stage_path(stage, L"d"), NULL);
    make_file(stage, L"d\\Upper");
    make_file(stage, L"d\\lower.txt");
    (void)win->CreateDirectoryW(nt_stage_path(stage, L"d\\sub"), NULL);
    HANDLE directory = open_as(stage, nt_stage_path(stage, L"d"), FILE_LIST_DIRECTORY, SHARE_ALL,
                               OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
    nt_stage_told(stage, "open", directory != INVALID_HANDLE_VALUE);
    _Alignas(8) unsigned char room[4096];
    char *names[32] = {NULL};
    size_t count = 0;
    while (
        win->GetFileInformationByHandleEx(directory, FileIdBothDirectoryInfo, room, sizeof room)) {
        const FILE_ID_BOTH_DIR_INFO *row;
        for (size_t at = 0; count < SBX_COUNT(names); at += row->NextEntryOffset) {
            row = (const FILE_ID_BOTH_DIR_INFO *)(const void *)(room + at);
            names[count] = calloc(1, 64);
            (void)snprintf(names[count++], 64, "%.*ls %lu", (int)(row->FileNameLength / 2),
                           row->FileName, row->FileAttributes & FILE_ATTRIBUTE_DIRECTORY);
            if (row->NextEntryOffset == 0) {
                break;
            }
        }
    }
    nt_stage_told(stage, "the end", FALSE);
    say_sorted(stage, names, count);
    (void)win->CloseHandle(directory);
    static const wchar_t *const patterns[] = {L"d\\*",     L"d\\l*",   L"d\\UPPER",
                                              L"d\\?pper", L"d\\none", L"none\\*"};
    for (size_t i = 0; i < SBX_COUNT(patterns); i++) {
        WIN32_FIND_DATAW data;
        HANDLE find = win->FindFirstFileW(nt_stage_path(stage, patterns[i]), &data);
        nt_stage_told(stage, "find", find != INVALID_HANDLE_VALUE);
        count = 0;
        while (find != INVALID_HANDLE_VALUE) {
            names[count] = calloc(1, 64);
            (void)snprintf(names[count++], 64, "%ls", data.cFileName);
            if (!win->FindNextFileW(find, &data)) {
                nt_stage_told(stage, "no more", FALSE);
                (void)win->FindClose(find);
                break;
            }
        }
        say_sorted(stage, names, count);
    }
}

static void listings_agree(void)
{
    nt_stage_compare(do_listing, 20);
}

/* ---- the recording table ------------------------------------------------------------------------------------ */

static void a_wrapped_real_table_records_and_fails(void)
{
    static struct sbx_winapi real;
    static struct nt_wrap wrap;
    sbx_winapi_load(&real);
    nt_wrap_begin(&wrap, &real);
    nt_wrap_fail(&wrap, 3, ERROR_NO_SYSTEM_RESOURCES);
    const struct sbx_winapi *win = nt_wrap_table(&wrap);
    CHECK((win->CreateAppContainerProfile == NULL) == (real.CreateAppContainerProfile == NULL));
    HANDLE event = win->CreateEventW(NULL, TRUE, TRUE, NULL);
    CHECK_U64(win->WaitForSingleObject(event, 0), WAIT_OBJECT_0);
    CHECK_U64(win->WaitForSingleObject(event, 0), WAIT_FAILED);
    CHECK_U64(GetLastError(), ERROR_NO_SYSTEM_RESOURCES);
    CHECK(win->GetCurrentProcessId() == GetCurrentProcessId());
    CHECK(win->CloseHandle(event));
    CHECK_U64(wrap.count, 5);
    CHECK_U64(wrap.counts[SBX_CALL_WaitForSingleObject], 2);
    CHECK(wrap.has_failed && wrap.failed_id == SBX_CALL_WaitForSingleObject);
    CHECK(wrap.calls[2].was_failed && !wrap.calls[1].was_failed);
    CHECK_U64(wrap.calls[0].result, (ULONG_PTR)event);
    char *trace = nt_wrap_trace(&wrap);
    CHECK_TEXT(trace, "CreateEventW\nWaitForSingleObject\nWaitForSingleObject\n"
                      "GetCurrentProcessId\nCloseHandle\n");
    free(trace);
    nt_wrap_end(&wrap);
}

int main(int argc, char **argv)
{
    static const struct sbx_test tests[] = {
        {"handles agree", handles_agree},
        {"waits agree", waits_agree},
        {"pipes agree", pipes_agree},
        {"share modes agree", shares_agree},
        {"dispositions agree", dispositions_agree},
        {"deletions agree", deletions_agree},
        {"renames agree", renames_agree},
        {"listings agree", listings_agree},
        {"a wrapped real table records and fails", a_wrapped_real_table_records_and_fails},
    };
    int status;
    if (nt_stage_task(argc, argv, &status)) {
        return status;
    }
    return sbx_test_main(argc, argv, "nt_model_agrees_with_wine", tests, SBX_COUNT(tests));
}
