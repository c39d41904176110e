/* The model of the NT kernel: listings, identities, streams, the journal of a volume and watches of directories. */
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/ntmodel/nt_model.h"

#include <winioctl.h>

#include "common/base/banned.h"

const struct sbx_winapi *sbx_win(void)
{
    return nt_model_table();
}

#define PROJECT L"C:\\Users\\user\\project"
#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)
#define READ_UNPRIVILEGED 0x000903AB

static struct nt_model *plain(void)
{
    return nt_model_new(&(struct nt_world){0});
}

static HANDLE open_file(const wchar_t *path, DWORD access, DWORD flags)
{
    return sbx_win()->CreateFileW(path, access, SHARE_ALL, NULL, OPEN_EXISTING,
                                  flags | FILE_FLAG_BACKUP_SEMANTICS, NULL);
}

static void make_file(const wchar_t *path)
{
    HANDLE file = sbx_win()->CreateFileW(path, GENERIC_WRITE, 0, NULL, CREATE_NEW, 0, NULL);
    CHECK(file != INVALID_HANDLE_VALUE);
    CHECK(sbx_win()->CloseHandle(file));
}

/* ---- listings --------------------------------------------------------------------------------------------- */

static void append(char *text, size_t max, const wchar_t *name, size_t len)
{
    size_t at = strlen(text);
    for (size_t i = 0; i < len && at + 2 < max; i++) {
        text[at++] = (char)name[i];
    }
    text[at++] = ' ';
    text[at] = '\0';
}

static void a_directory_is_listed_by_its_handle(void)
{
    struct nt_model *model = plain();
    static const DWORD sizes[] = {4096, 256};
    for (size_t i = 0; i < SBX_COUNT(sizes); i++) {
        HANDLE directory = open_file(PROJECT, FILE_LIST_DIRECTORY, 0);
        _Alignas(8) unsigned char room[4096];
        char names[256] = "";
        int which = FileIdBothDirectoryRestartInfo;
        while (sbx_win()->GetFileInformationByHandleEx(directory, (FILE_INFO_BY_HANDLE_CLASS)which,
                                                       room, sizes[i])) {
            size_t at = 0;
            const FILE_ID_BOTH_DIR_INFO *row;
            do {
                row = (const FILE_ID_BOTH_DIR_INFO *)(const void *)(room + at);
                append(names, sizeof names, row->FileName, row->FileNameLength / 2);
                at += row->NextEntryOffset;
            } while (row->NextEntryOffset != 0);
            which = FileIdBothDirectoryInfo;
        }
        CHECK_U64(GetLastError(), ERROR_NO_MORE_FILES);
        CHECK_TEXT(names, ". .. .env .git README.md src tool.exe ");
        CHECK(sbx_win()->CloseHandle(directory));
    }
    HANDLE weak = open_file(PROJECT, FILE_READ_ATTRIBUTES, 0);
    unsigned char room[64];
    CHECK(
        !sbx_win()->GetFileInformationByHandleEx(weak, FileIdBothDirectoryInfo, room, sizeof room));
    CHECK_U64(GetLastError(), ERROR_ACCESS_DENIED);
    nt_model_free(model);
}

static void a_pattern_finds_long_and_short_names(void)
{
    struct nt_model *model = plain();
    static const struct {
        const wchar_t *pattern;
        const char *names;
        DWORD code;
    } rows[] = {
        {PROJECT L"\\*", ". .. .env .git README.md src tool.exe ", 0},
        {PROJECT L"\\*.MD", "README.md ", 0},
        {PROJECT L"\\s?c", "src ", 0},
        {PROJECT L"\\GIT~1", ".git ", 0},
        {PROJECT L"\\none", "", ERROR_FILE_NOT_FOUND},
        {PROJECT L"\\none\\*", "", ERROR_PATH_NOT_FOUND},
        {L"C:\\Program Files\\WindowsApps\\*", "", ERROR_ACCESS_DENIED},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        WIN32_FIND_DATAW data;
        char names[256] = "";
        HANDLE find = sbx_win()->FindFirstFileW(rows[i].pattern, &data);
        CHECK_U64(find == INVALID_HANDLE_VALUE ? GetLastError() : 0, rows[i].code);
        if (find != INVALID_HANDLE_VALUE) {
            do {
                append(names, sizeof names, data.cFileName, wcslen(data.cFileName));
            } while (sbx_win()->FindNextFileW(find, &data));
            CHECK_U64(GetLastError(), ERROR_NO_MORE_FILES);
            CHECK(sbx_win()->FindClose(find));
        }
        CHECK_TEXT(names, rows[i].names);
    }
    CHECK_TEXT(nt_model_leftovers(model), "");
    nt_model_free(model);
}

/* ---- identity ------------------------------------------------------------------------------------------------ */

static void a_hard_link_is_the_same_file(void)
{
    struct nt_model *model = plain();
    nt_put_hard_link(model, PROJECT L"\\twin", PROJECT L"\\README.md");
    HANDLE pair[2] = {open_file(PROJECT L"\\README.md", GENERIC_READ, 0),
                      open_file(PROJECT L"\\twin", GENERIC_READ, 0)};
    FILE_ID_INFO id[2];
    BY_HANDLE_FILE_INFORMATION info[2];
    FILE_STANDARD_INFO standard;
    for (int i = 0; i < 2; i++) {
        CHECK(sbx_win()->GetFileInformationByHandleEx(pair[i], FileIdInfo, &id[i], sizeof id[i]));
        CHECK(sbx_win()->GetFileInformationByHandle(pair[i], &info[i]));
        CHECK_U64(info[i].nNumberOfLinks, 2);
    }
    CHECK(memcmp(&id[0], &id[1], sizeof id[0]) == 0);
    CHECK_U64(info[0].nFileIndexLow, info[1].nFileIndexLow);
    CHECK(sbx_win()->GetFileInformationByHandleEx(pair[0], FileStandardInfo, &standard,
                                                  sizeof standard));
    CHECK_U64(standard.NumberOfLinks, 2);
    CHECK_INT(standard.EndOfFile.QuadPart, 10);
    FILE_ID_DESCRIPTOR by_id = {.dwSize = sizeof by_id, .Type = ExtendedFileIdType};
    memcpy(&by_id.ExtendedFileId, &id[0].FileId, sizeof by_id.ExtendedFileId);
    HANDLE again = sbx_win()->OpenFileById(pair[0], &by_id, GENERIC_READ, SHARE_ALL, NULL, 0);
    CHECK(again != INVALID_HANDLE_VALUE);
    memset(&by_id.ExtendedFileId, 0x7F, sizeof by_id.ExtendedFileId);
    CHECK(sbx_win()->OpenFileById(pair[0], &by_id, GENERIC_READ, SHARE_ALL, NULL, 0) ==
          INVALID_HANDLE_VALUE);
    CHECK_U64(GetLastError(), ERROR_INVALID_PARAMETER);
    CHECK(sbx_win()->DeleteFileW(PROJECT L"\\twin"));
    CHECK(nt_exists(model, PROJECT L"\\README.md"));
    nt_model_free(model);
}

static void a_stream_is_part_of_its_file(void)
{
    struct nt_model *model = plain();
    DWORD put;
    char text[8] = "";
    HANDLE file = sbx_win()->CreateFileW(PROJECT L"\\README.md:note", GENERIC_READ | GENERIC_WRITE,
                                         SHARE_ALL, NULL, CREATE_NEW, 0, NULL);
    CHECK(file != INVALID_HANDLE_VALUE);
    CHECK(sbx_win()->WriteFile(file, "hidden", 6, &put, NULL));
    CHECK(sbx_win()->CloseHandle(file));
    CHECK_TEXT(nt_text(model, PROJECT L"\\README.md", NULL), "# project\n");
    file = open_file(PROJECT L"\\README.md:NOTE:$DATA", GENERIC_READ, 0);
    CHECK(sbx_win()->ReadFile(file, text, sizeof text, &put, NULL));
    CHECK_U64(put, 6);
    CHECK(sbx_win()->ReadFile(file, text, sizeof text, &put, NULL));
    CHECK_U64(put, 0); /* the end of a file is no error */
    _Alignas(8) unsigned char room[512];
    CHECK(sbx_win()->GetFileInformationByHandleEx(file, FileStreamInfo, room, sizeof room));
    const FILE_STREAM_INFO *first = (const FILE_STREAM_INFO *)(const void *)room;
    CHECK(wcsncmp(first->StreamName, L"::$DATA", 7) == 0);
    CHECK(first->NextEntryOffset != 0);
    CHECK(sbx_win()->CloseHandle(file));
    nt_model_free(model);
}

/* ---- the journal ------------------------------------------------------------------------------------------------ */

static void read_names(HANDLE volume, USN from, DWORD mask, char *names, size_t max)
{
    READ_USN_JOURNAL_DATA ask = {.StartUsn = from, .ReasonMask = mask};
    USN_JOURNAL_DATA journal;
    DWORD size;
    _Alignas(8) unsigned char room[8192];
    CHECK(sbx_win()->DeviceIoControl(volume, FSCTL_QUERY_USN_JOURNAL, NULL, 0, &journal,
                                     sizeof journal, &size, NULL));
    ask.UsnJournalID = journal.UsnJournalID;
    CHECK(sbx_win()->DeviceIoControl(volume, READ_UNPRIVILEGED, &ask, sizeof ask, room, sizeof room,
                                     &size, NULL));
    USN next;
    memcpy(&next, room, sizeof next);
    CHECK_INT(next, journal.NextUsn);
    for (size_t at = sizeof next; at < size;) {
        const USN_RECORD *record = (const USN_RECORD *)(const void *)(room + at);
        append(names, max, (const wchar_t *)(const void *)(room + at + record->FileNameOffset),
               record->FileNameLength / 2u);
        at += record->RecordLength;
    }
}

static void the_journal_tells_creations_and_renames(void)
{
    struct nt_model *model = plain();
    HANDLE directory = open_file(PROJECT, FILE_READ_ATTRIBUTES | SYNCHRONIZE, 0);
    USN_JOURNAL_DATA journal;
    DWORD size;
    CHECK(sbx_win()->DeviceIoControl(directory, FSCTL_QUERY_USN_JOURNAL, NULL, 0, &journal,
                                     sizeof journal, &size, NULL));
    make_file(PROJECT L"\\one");
    CHECK(sbx_win()->MoveFileExW(PROJECT L"\\one", PROJECT L"\\two", 0));
    CHECK(sbx_win()->CreateDirectoryW(PROJECT L"\\three", NULL));
    char names[256] = "";
    read_names(directory, journal.NextUsn, USN_REASON_FILE_CREATE, names, sizeof names);
    CHECK_TEXT(names, "one one three three "); /* when it happens and when it is closed */
    names[0] = '\0';
    read_names(directory, journal.NextUsn, USN_REASON_RENAME_OLD_NAME | USN_REASON_RENAME_NEW_NAME,
               names, sizeof names);
    CHECK_TEXT(names, "one two two ");
    HANDLE fat = open_file(L"D:\\data", FILE_READ_ATTRIBUTES, 0);
    CHECK(!sbx_win()->DeviceIoControl(fat, FSCTL_QUERY_USN_JOURNAL, NULL, 0, &journal,
                                      sizeof journal, &size, NULL));
    nt_model_free(model);
    model = nt_model_new(&(struct nt_world){.has_no_journal = true});
    directory = open_file(PROJECT, FILE_READ_ATTRIBUTES | SYNCHRONIZE, 0);
    CHECK(!sbx_win()->DeviceIoControl(directory, FSCTL_QUERY_USN_JOURNAL, NULL, 0, &journal,
                                      sizeof journal, &size, NULL));
    CHECK_U64(GetLastError(), ERROR_JOURNAL_NOT_ACTIVE);
    nt_model_free(model);
}

/* ---- watches ------------------------------------------------------------------------------------------------------ */

static DWORD first_action(const unsigned char *room, char *names, size_t max)
{
    size_t at = 0;
    const FILE_NOTIFY_INFORMATION *row;
    DWORD action = ((const FILE_NOTIFY_INFORMATION *)(const void *)room)->Action;
    do {
        row = (const FILE_NOTIFY_INFORMATION *)(const void *)(room + at);
        append(names, max, row->FileName, row->FileNameLength / 2);
        at += row->NextEntryOffset;
    } while (row->NextEntryOffset != 0);
    return action;
}

static void a_watch_tells_what_changes_below_it(void)
{
    struct nt_model *model = plain();
    HANDLE directory = open_file(PROJECT, FILE_LIST_DIRECTORY, FILE_FLAG_OVERLAPPED);
    OVERLAPPED overlapped = {.hEvent = sbx_win()->CreateEventW(NULL, TRUE, FALSE, NULL)};
    _Alignas(8) unsigned char room[1024];
    DWORD size = 0;
    char names[256] = "";
    DWORD filter = FILE_NOTIFY_CHANGE_FILE_NAME | FILE_NOTIFY_CHANGE_DIR_NAME;
    CHECK(sbx_win()->ReadDirectoryChangesW(directory, room, sizeof room, TRUE, filter, NULL,
                                           &overlapped, NULL));
    CHECK(!sbx_win()->GetOverlappedResult(directory, &overlapped, &size, FALSE));
    CHECK_U64(GetLastError(), ERROR_IO_INCOMPLETE);
    CHECK_U64(sbx_win()->WaitForSingleObject(overlapped.hEvent, 0), WAIT_TIMEOUT);
    make_file(PROJECT L"\\src\\new.c");
    CHECK_U64(sbx_win()->WaitForSingleObject(overlapped.hEvent, 0), WAIT_OBJECT_0);
    CHECK(sbx_win()->GetOverlappedResult(directory, &overlapped, &size, TRUE));
    CHECK_U64(first_action(room, names, sizeof names), FILE_ACTION_ADDED);
    CHECK_TEXT(names, "src\\new.c ");
    /* What happens between two calls is kept. */
    CHECK(sbx_win()->MoveFileExW(PROJECT L"\\src\\new.c", PROJECT L"\\new.c", 0));
    CHECK(sbx_win()->ResetEvent(overlapped.hEvent));
    CHECK(sbx_win()->ReadDirectoryChangesW(directory, room, sizeof room, TRUE, filter, NULL,
                                           &overlapped, NULL));
    CHECK(sbx_win()->GetOverlappedResult(directory, &overlapped, &size, TRUE));
    names[0] = '\0';
    CHECK_U64(first_action(room, names, sizeof names), FILE_ACTION_RENAMED_OLD_NAME);
    CHECK_TEXT(names, "src\\new.c new.c ");
    CHECK(sbx_win()->ReadDirectoryChangesW(directory, room, 16, TRUE, filter, NULL, &overlapped,
                                           NULL));
    make_file(PROJECT L"\\a-name-that-does-not-fit");
    CHECK(sbx_win()->GetOverlappedResult(directory, &overlapped, &size, TRUE));
    CHECK_U64(size, 0); /* too much happened: look for yourself */
    CHECK(sbx_win()->ReadDirectoryChangesW(directory, room, sizeof room, TRUE, filter, NULL,
                                           &overlapped, NULL));
    CHECK(sbx_win()->CancelIoEx(directory, &overlapped));
    CHECK(!sbx_win()->GetOverlappedResult(directory, &overlapped, &size, TRUE));
    CHECK_U64(GetLastError(), ERROR_OPERATION_ABORTED);
    CHECK(!sbx_win()->CancelIoEx(directory, NULL));
    CHECK_U64(GetLastError(), ERROR_NOT_FOUND);
    nt_model_free(model);
}

static const struct sbx_test tests[] = {
    {"a directory is listed by its handle", a_directory_is_listed_by_its_handle},
    {"a pattern finds long and short names", a_pattern_finds_long_and_short_names},
    {"a hard link is the same file", a_hard_link_is_the_same_file},
    {"a stream is part of its file", a_stream_is_part_of_its_file},
    {"the journal tells creations and renames", the_journal_tells_creations_and_renames},
    {"a watch tells what changes below it", a_watch_tells_what_changes_below_it},
};
SBX_TEST_MAIN("simulated_nt_model_watch", tests)
