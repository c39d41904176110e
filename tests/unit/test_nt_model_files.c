/* The model of the NT kernel: files, their names, their access lists and who may change them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/ntmodel/nt_model.h"
#include "tests/unit/nt_run.h"

#include <winioctl.h>

#include "common/base/banned.h"

const struct sbx_winapi *sbx_win(void)
{
    return nt_model_table();
}

#define PROJECT L"C:\\Users\\user\\project\\"
#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

static struct nt_model *plain(void)
{
    return nt_model_new(&(struct nt_world){0});
}

static HANDLE open_file(const wchar_t *path, DWORD access, DWORD share, DWORD flags)
{
    return sbx_win()->CreateFileW(path, access, share, NULL, OPEN_EXISTING,
                                  flags | FILE_FLAG_BACKUP_SEMANTICS, NULL);
}

static DWORD code_of_open(const wchar_t *path, DWORD access, DWORD share, DWORD flags)
{
    HANDLE file = open_file(path, access, share, flags);
    if (file == INVALID_HANDLE_VALUE) {
        return GetLastError();
    }
    CHECK(sbx_win()->CloseHandle(file));
    return 0;
}

static DWORD code_of(BOOL done)
{
    return done ? 0 : GetLastError();
}

/* ---- names ------------------------------------------------------------------------------------------------ */

static void a_path_is_read_as_windows_reads_it(void)
{
    struct nt_model *model = plain();
    nt_put_stream(model, PROJECT L"README.md", L"note", "hidden");
    static const struct {
        const wchar_t *path;
        DWORD code;
    } rows[] = {
        {L"C:\\Users\\user\\project\\README.md", 0},
        {L"c:/users/USER/project/readme.MD", 0},
        {L"C:\\Users\\user\\project\\src\\..\\README.md", 0},
        {L"C:\\Users\\user\\project\\README.md. .", 0},
        {L"\\\\?\\C:\\Users\\user\\project\\README.md", 0},
        {L"\\\\?\\C:\\Users\\user\\project\\README.md.", ERROR_FILE_NOT_FOUND},
        {L"\\\\?\\C:\\Users\\user\\project\\src\\..\\README.md", ERROR_INVALID_NAME},
        {L"\\\\?\\C:/Users/user/project/README.md", ERROR_INVALID_NAME},
        {L"\\\\.\\C:\\Users\\user\\project\\README.md", 0},
        {L"\\\\?\\GLOBALROOT\\Device\\HarddiskVolume3\\Users\\user\\project\\README.md", 0},
        {L"\\\\?\\Volume{11111111-0000-0000-0000-100000000000}\\Windows\\win.ini", 0},
        {L"README.md", 0},
        {L"C:README.md", 0},
        {L"D:list.txt", ERROR_FILE_NOT_FOUND},
        {L"\\Windows\\win.ini", 0},
        {L"S:\\README.md", 0},
        {L"D:\\data\\list.txt", 0},
        {L"N:\\team\\plan.txt", 0},
        {L"\\\\server\\share\\team\\plan.txt", 0},
        {L"\\\\?\\UNC\\server\\share\\team\\plan.txt", 0},
        {L"\\\\nobody\\share\\x", ERROR_BAD_NETPATH},
        {L"Q:\\x", ERROR_PATH_NOT_FOUND},
        {L"C:\\Users\\user\\project\\none\\x", ERROR_PATH_NOT_FOUND},
        {L"C:\\Users\\user\\project\\none", ERROR_FILE_NOT_FOUND},
        {L"C:\\Users\\user\\project\\README.md\\x", ERROR_PATH_NOT_FOUND},
        {L"C:\\Users\\user\\project\\a*b", ERROR_INVALID_NAME},
        {L"C:\\Users\\user\\project\\README.md:note", 0},
        {L"C:\\Users\\user\\project\\README.md:note:$DATA", 0},
        {L"C:\\Users\\user\\project\\README.md::$DATA", 0},
        {L"C:\\Users\\user\\project\\README.md:none", ERROR_FILE_NOT_FOUND},
        {L"C:\\Users\\user\\project\\README.md:note:$BAD", ERROR_INVALID_NAME},
        {L"C:\\Users\\user\\project\\src::$INDEX_ALLOCATION", 0},
        {L"C:\\PROGRA~1\\sbx\\sbx.exe", 0},
        {L"C:\\Users\\user\\project\\GIT~1\\HEAD", 0},
        {L"C:\\Users\\user\\project\\nul", 0},
        {L"C:\\Users\\user\\project\\src\\", 0},
        {L"C:\\Users\\user\\project\\README.md\\", ERROR_INVALID_NAME},
        {L"", ERROR_PATH_NOT_FOUND},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        printf("# %ls\n", rows[i].path);
        CHECK_U64(code_of_open(rows[i].path, FILE_READ_ATTRIBUTES, SHARE_ALL, 0), rows[i].code);
    }
    CHECK_U64(nt_model_bad_handles(model), 0);
    nt_model_free(model);
}

static void a_file_tells_its_real_name(void)
{
    struct nt_model *model = plain();
    nt_put_link(model, L"C:\\Users\\user\\way", IO_REPARSE_TAG_MOUNT_POINT,
                L"C:\\Users\\user\\project", true);
    static const wchar_t *const rows[][2] = {
        {L"c:\\PROGRA~1\\SBX\\sbx.exe", L"\\\\?\\C:\\Program Files\\sbx\\sbx.exe"},
        {L"s:\\SRC", L"\\\\?\\C:\\Users\\user\\project\\src"},
        {L"N:\\team", L"\\\\?\\UNC\\server\\share\\team"},
        {L"C:\\Users\\user\\way\\src", L"\\\\?\\C:\\Users\\user\\project\\src"},
        {L"C:\\", L"\\\\?\\C:\\"},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        wchar_t name[128] = L"";
        HANDLE file = open_file(rows[i][0], FILE_READ_ATTRIBUTES, SHARE_ALL, 0);
        DWORD len = sbx_win()->GetFinalPathNameByHandleW(file, name, 128, VOLUME_NAME_DOS);
        CHECK_U64(len, wcslen(rows[i][1]));
        CHECK(wcscmp(name, rows[i][1]) == 0);
        CHECK_U64(sbx_win()->GetFinalPathNameByHandleW(file, name, 3, VOLUME_NAME_DOS),
                  wcslen(rows[i][1]) + 1);
        CHECK(sbx_win()->CloseHandle(file));
    }
    CHECK_U64(sbx_win()->GetDriveTypeW(L"C:\\"), DRIVE_FIXED);
    CHECK_U64(sbx_win()->GetDriveTypeW(L"D:\\"), DRIVE_REMOVABLE);
    CHECK_U64(sbx_win()->GetDriveTypeW(L"N:\\"), DRIVE_REMOTE);
    CHECK_U64(sbx_win()->GetDriveTypeW(L"S:\\"), DRIVE_FIXED);
    CHECK_U64(sbx_win()->GetDriveTypeW(L"Q:\\"), DRIVE_NO_ROOT_DIR);
    CHECK_U64(sbx_win()->GetDriveTypeW(L"\\\\server\\share\\"), DRIVE_REMOTE);
    nt_model_free(model);
}

static void links_are_followed_unless_they_are_asked_for(void)
{
    struct nt_model *model = plain();
    nt_put_link(model, PROJECT L"link", IO_REPARSE_TAG_SYMLINK, L"README.md", false);
    nt_put_link(model, PROJECT L"up", IO_REPARSE_TAG_SYMLINK, L"..\\notes.txt", false);
    nt_put_link(model, PROJECT L"loop", IO_REPARSE_TAG_SYMLINK, L"loop", false);
    nt_put_link(model, PROJECT L"cloud", 0x9000101A, NULL, false);
    nt_put_link(model, PROJECT L"alias", 0x8000001B, NULL, false);
    CHECK_U64(code_of_open(PROJECT L"link", GENERIC_READ, SHARE_ALL, 0), 0);
    CHECK_U64(code_of_open(PROJECT L"up", GENERIC_READ, SHARE_ALL, 0), 0);
    CHECK_U64(code_of_open(PROJECT L"loop", GENERIC_READ, SHARE_ALL, 0), 1920);
    CHECK_U64(code_of_open(PROJECT L"cloud", GENERIC_READ, SHARE_ALL, 0), 0);
    CHECK_U64(code_of_open(PROJECT L"alias", GENERIC_READ, SHARE_ALL, 0), 1920);
    static const struct {
        const wchar_t *path;
        DWORD tag;
    } rows[] = {
        {PROJECT L"link", IO_REPARSE_TAG_SYMLINK},
        {PROJECT L"loop", IO_REPARSE_TAG_SYMLINK},
        {PROJECT L"cloud", 0x9000101A},
        {PROJECT L"alias", 0x8000001B},
        {PROJECT L"README.md", 0},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        HANDLE file =
            open_file(rows[i].path, FILE_READ_ATTRIBUTES, SHARE_ALL, FILE_FLAG_OPEN_REPARSE_POINT);
        FILE_ATTRIBUTE_TAG_INFO tag = {0};
        unsigned char data[1024];
        DWORD size;
        CHECK(
            sbx_win()->GetFileInformationByHandleEx(file, FileAttributeTagInfo, &tag, sizeof tag));
        CHECK_U64(tag.ReparseTag, rows[i].tag);
        CHECK_U64((tag.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0, rows[i].tag != 0);
        CHECK_U64(code_of(sbx_win()->DeviceIoControl(file, FSCTL_GET_REPARSE_POINT, NULL, 0, data,
                                                     sizeof data, &size, NULL)),
                  rows[i].tag != 0 ? 0 : ERROR_NOT_A_REPARSE_POINT);
        CHECK(sbx_win()->CloseHandle(file));
    }
    nt_model_free(model);
}

static NTSTATUS open_below(HANDLE root, const wchar_t *name, ULONG attributes, ULONG options)
{
    UNICODE_STRING text = {(USHORT)(wcslen(name) * 2), (USHORT)(wcslen(name) * 2),
                           (wchar_t *)(ULONG_PTR)name};
    OBJECT_ATTRIBUTES object = {.Length = sizeof object,
                                .RootDirectory = root,
                                .ObjectName = &text,
                                .Attributes = attributes};
    IO_STATUS_BLOCK io;
    HANDLE file = NULL;
    NTSTATUS status = sbx_win()->NtCreateFile(&file, FILE_READ_ATTRIBUTES | SYNCHRONIZE, &object,
                                              &io, NULL, 0, SHARE_ALL, FILE_OPEN,
                                              options | FILE_SYNCHRONOUS_IO_NONALERT, NULL, 0);
    if (status == 0) {
        CHECK(sbx_win()->CloseHandle(file));
    }
    return status;
}

static void a_name_is_opened_below_a_handle(void)
{
    struct nt_model *model = plain();
    nt_put_link(model, PROJECT L"way", IO_REPARSE_TAG_MOUNT_POINT, L"C:\\Windows", true);
    HANDLE root = open_file(PROJECT, FILE_LIST_DIRECTORY, SHARE_ALL, 0);
    CHECK_INT(open_below(root, L"src\\main.c", 0, FILE_NON_DIRECTORY_FILE), 0);
    CHECK_INT(open_below(root, L"src", 0, FILE_DIRECTORY_FILE), 0);
    CHECK_U64((DWORD)open_below(root, L"src", 0, FILE_NON_DIRECTORY_FILE), 0xC00000BA);
    CHECK_U64((DWORD)open_below(root, L"README.md", 0, FILE_DIRECTORY_FILE), 0xC0000103);
    CHECK_U64((DWORD)open_below(root, L"none", 0, 0), 0xC0000034);
    CHECK_U64((DWORD)open_below(root, L"..", 0, 0), 0xC0000033);
    CHECK_U64((DWORD)open_below(root, L"\\Windows", 0, 0), 0xC000000D);
    CHECK_INT(open_below(root, L"way\\win.ini", 0, 0), 0);
    CHECK_U64((DWORD)open_below(root, L"way\\win.ini", 0x1000, 0), 0xC000050B);
    CHECK_INT(open_below(root, L"", 0, 0), 0);
    CHECK_INT(open_below(NULL, L"\\??\\C:\\Windows", 0, 0), 0);
    CHECK_U64((DWORD)open_below(NULL, L"C:\\Windows", 0, 0), 0xC000003B);
    CHECK_U64((DWORD)open_below((HANDLE)(ULONG_PTR)4000, L"x", 0, 0), 0xC0000008);
    nt_model_free(model);
}

/* ---- sharing, renaming, deleting ------------------------------------------------------------------------------ */

static void what_is_held_cannot_be_swapped(void)
{
    struct nt_model *model = plain();
    const wchar_t *file = PROJECT L"src\\main.c";
    HANDLE pin = open_file(file, FILE_READ_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE, 0);
    CHECK_U64(code_of(sbx_win()->MoveFileExW(file, PROJECT L"x.c", 0)), ERROR_SHARING_VIOLATION);
    CHECK_U64(code_of(sbx_win()->DeleteFileW(file)), ERROR_SHARING_VIOLATION);
    CHECK_U64(code_of(sbx_win()->MoveFileExW(PROJECT L"src", PROJECT L"other", 0)),
              ERROR_ACCESS_DENIED);
    CHECK_U64(
        code_of(sbx_win()->MoveFileExW(L"C:\\Users\\user\\project", L"C:\\Users\\user\\p", 0)),
        ERROR_ACCESS_DENIED);
    CHECK_U64(code_of_open(file, GENERIC_READ, FILE_SHARE_READ, 0), 0);
    CHECK(sbx_win()->CloseHandle(pin));
    CHECK_U64(code_of(sbx_win()->MoveFileExW(PROJECT L"src", PROJECT L"other", 0)), 0);
    /* An open that only reads attributes is no pin for the name, but still one for directories above. */
    HANDLE weak = open_file(PROJECT L"other\\main.c", FILE_READ_ATTRIBUTES | READ_CONTROL,
                            FILE_SHARE_READ, 0);
    CHECK_U64(code_of(sbx_win()->MoveFileExW(PROJECT L"other", PROJECT L"src", 0)),
              ERROR_ACCESS_DENIED);
    CHECK_U64(code_of(sbx_win()->MoveFileExW(PROJECT L"other\\main.c", PROJECT L"other\\m.c", 0)),
              0);
    CHECK(sbx_win()->CloseHandle(weak));
    HANDLE alone = open_file(PROJECT L"README.md", GENERIC_READ, 0, 0);
    CHECK_U64(code_of_open(PROJECT L"README.md", GENERIC_READ, SHARE_ALL, 0),
              ERROR_SHARING_VIOLATION);
    CHECK_U64(code_of_open(PROJECT L"README.md", FILE_READ_ATTRIBUTES, SHARE_ALL, 0), 0);
    CHECK(sbx_win()->CloseHandle(alone));
    nt_model_free(model);
}

static void a_deleted_file_goes_when_windows_says(void)
{
    struct nt_model *model = plain();
    HANDLE file = open_file(PROJECT L"README.md", DELETE | GENERIC_READ, SHARE_ALL, 0);
    HANDLE other = open_file(PROJECT L"README.md", GENERIC_READ, SHARE_ALL, 0);
    FILE_DISPOSITION_INFO plain_way = {TRUE};
    CHECK(sbx_win()->SetFileInformationByHandle(file, FileDispositionInfo, &plain_way,
                                                sizeof plain_way));
    CHECK(sbx_win()->CloseHandle(file));
    CHECK_U64(code_of_open(PROJECT L"README.md", GENERIC_READ, SHARE_ALL, 0), ERROR_ACCESS_DENIED);
    CHECK(nt_exists(model, PROJECT L"README.md"));
    CHECK(sbx_win()->CloseHandle(other));
    CHECK(!nt_exists(model, PROJECT L"README.md"));
    file = open_file(PROJECT L".env", DELETE, SHARE_ALL, 0);
    other = open_file(PROJECT L".env", GENERIC_READ, SHARE_ALL, 0);
    DWORD posix = 3;
    CHECK(sbx_win()->SetFileInformationByHandle(file, (FILE_INFO_BY_HANDLE_CLASS)21, &posix,
                                                sizeof posix));
    CHECK(sbx_win()->CloseHandle(file));
    CHECK_U64(code_of_open(PROJECT L".env", GENERIC_READ, SHARE_ALL, 0), ERROR_FILE_NOT_FOUND);
    CHECK(sbx_win()->CloseHandle(other));
    CHECK_U64(code_of(sbx_win()->RemoveDirectoryW(PROJECT L"src")), ERROR_DIR_NOT_EMPTY);
    CHECK_U64(code_of(sbx_win()->RemoveDirectoryW(PROJECT L"none")), ERROR_FILE_NOT_FOUND);
    nt_put_attributes(model, PROJECT L"src\\main.c", FILE_ATTRIBUTE_READONLY);
    CHECK_U64(code_of(sbx_win()->DeleteFileW(PROJECT L"src\\main.c")), ERROR_ACCESS_DENIED);
    CHECK_U64(code_of_open(PROJECT L"src\\main.c", GENERIC_WRITE, SHARE_ALL, 0),
              ERROR_ACCESS_DENIED);
    nt_put_attributes(model, PROJECT L"src\\main.c", 0);
    CHECK_U64(code_of(sbx_win()->DeleteFileW(PROJECT L"src\\main.c")), 0);
    CHECK_U64(code_of(sbx_win()->RemoveDirectoryW(PROJECT L"src")), 0);
    CHECK_U64(code_of(sbx_win()->DeleteFileW(PROJECT L".git")), ERROR_ACCESS_DENIED);
    nt_model_free(model);
}

static void a_rename_refuses_and_replaces_as_told(void)
{
    struct nt_model *model = plain();
    const wchar_t *from = PROJECT L"README.md";
    const wchar_t *to = PROJECT L".env";
    CHECK_U64(code_of(sbx_win()->MoveFileExW(from, to, 0)), ERROR_ALREADY_EXISTS);
    CHECK_U64(code_of(sbx_win()->MoveFileExW(from, PROJECT L"src", MOVEFILE_REPLACE_EXISTING)),
              ERROR_ACCESS_DENIED);
    CHECK_U64(code_of(sbx_win()->MoveFileExW(from, L"D:\\x", 0)), ERROR_NOT_SAME_DEVICE);
    CHECK_U64(code_of(sbx_win()->MoveFileExW(from, L"C:\\Windows\\x", 0)), ERROR_ACCESS_DENIED);
    HANDLE open = open_file(to, GENERIC_READ, SHARE_ALL, 0);
    CHECK_U64(code_of(sbx_win()->MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING)),
              ERROR_ACCESS_DENIED);
    CHECK(sbx_win()->CloseHandle(open));
    CHECK_U64(code_of(sbx_win()->MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING)), 0);
    CHECK_TEXT(nt_text(model, to, NULL), "# project\n");
    CHECK(!nt_exists(model, from));
    CHECK_U64(code_of(sbx_win()->MoveFileExW(to, PROJECT L".ENV", 0)), 0); /* case only */
    CHECK_U64(code_of(sbx_win()->MoveFileExW(PROJECT L"src", PROJECT L"src\\deeper", 0)),
              ERROR_INVALID_PARAMETER);
    nt_model_free(model);
}

/* ---- access lists ------------------------------------------------------------------------------------------------ */

static void set_dacl(const wchar_t *path, const wchar_t *sddl)
{
    PSECURITY_DESCRIPTOR descriptor = NULL;
    HANDLE file = open_file(path, WRITE_DAC, SHARE_ALL, 0);
    CHECK(sbx_win()->ConvertStringSecurityDescriptorToSecurityDescriptorW(sddl, SDDL_REVISION_1,
                                                                          &descriptor, NULL));
    CHECK(sbx_win()->SetKernelObjectSecurity(file, DACL_SECURITY_INFORMATION, descriptor));
    CHECK(sbx_win()->LocalFree(descriptor) == NULL);
    CHECK(sbx_win()->CloseHandle(file));
}

static void an_entry_is_inherited_by_what_is_made_later_only(void)
{
    struct nt_model *model = plain();
    struct nt_snapshot *before = nt_model_acl_snapshot(model);
    const wchar_t *list = L"D:(A;OICI;FA;;;S-1-15-3-1024-1-2-3-4-5-6-7-8)"
                          L"(A;OICI;FA;;;S-1-5-21-1004336348-1177238915-682003330-1001)";
    set_dacl(PROJECT L"src", list);
    CHECK_TEXT(nt_model_acl_compare(model, before), "C:\\Users\\user\\project\\src\n");
    CHECK(sbx_win()->CreateDirectoryW(PROJECT L"src\\new", NULL));
    CHECK_TEXT(nt_model_leftovers(model),
               "entry: C:\\Users\\user\\project\\src S-1-15-3-1024-1-2-3-4-5-6-7-8\n"
               "directory: C:\\Users\\user\\project\\src\\new\n"
               "entry: C:\\Users\\user\\project\\src\\new S-1-15-3-1024-1-2-3-4-5-6-7-8\n");
    nt_model_settle(model);
    CHECK_TEXT(nt_model_leftovers(model), "");
    /* What is moved keeps the list it has. */
    CHECK(sbx_win()->MoveFileExW(PROJECT L"README.md", PROJECT L"src\\new\\README.md", 0));
    CHECK_TEXT(nt_model_leftovers(model), "");
    free(before);
    nt_model_free(model);
}

static void a_volume_without_lists_answers_everybody_and_keeps_nothing(void)
{
    struct nt_model *model = plain();
    HANDLE file = open_file(L"D:\\data\\list.txt", WRITE_DAC | READ_CONTROL, SHARE_ALL, 0);
    DWORD flags = 0;
    DWORD needed = 0;
    _Alignas(8) BYTE room[512];
    wchar_t name[16] = L"";
    CHECK(sbx_win()->GetVolumeInformationByHandleW(file, NULL, 0, NULL, NULL, &flags, name, 16));
    CHECK_U64(flags & FILE_PERSISTENT_ACLS, 0);
    CHECK(wcscmp(name, L"FAT32") == 0);
    CHECK(sbx_win()->GetKernelObjectSecurity(file, DACL_SECURITY_INFORMATION, room, sizeof room,
                                             &needed));
    DWORD before = needed;
    PSECURITY_DESCRIPTOR descriptor = NULL;
    CHECK(sbx_win()->ConvertStringSecurityDescriptorToSecurityDescriptorW(
        L"D:P(A;;FR;;;BA)(A;;FR;;;SY)", SDDL_REVISION_1, &descriptor, NULL));
    CHECK(sbx_win()->SetKernelObjectSecurity(file, DACL_SECURITY_INFORMATION, descriptor));
    CHECK(sbx_win()->GetKernelObjectSecurity(file, DACL_SECURITY_INFORMATION, room, sizeof room,
                                             &needed));
    CHECK_U64(needed, before);
    CHECK(!sbx_win()->GetKernelObjectSecurity(file, DACL_SECURITY_INFORMATION, room, 4, &needed));
    CHECK_U64(GetLastError(), ERROR_INSUFFICIENT_BUFFER);
    FILE_ID_INFO id;
    CHECK(!sbx_win()->GetFileInformationByHandleEx(file, FileIdInfo, &id, sizeof id));
    CHECK(sbx_win()->LocalFree(descriptor) == NULL);
    CHECK(sbx_win()->CloseHandle(file));
    nt_model_free(model);
}

/* A capability on a root, selected by a run, as the grants of sbx do it. */
static DWORD try_project(struct nt_process *self, void *state)
{
    (void)state;
    return (nt_box_read(self, PROJECT L"README.md", NULL, 0) == 0 ? 1u : 0) |
           (nt_box_append(self, PROJECT L"README.md", "x") == 0 ? 2u : 0) |
           (nt_box_write(self, PROJECT L"new.txt", "x") == 0 ? 4u : 0) |
           (nt_box_rename(self, PROJECT L"new.txt", PROJECT L"old.txt") == 0 ? 8u : 0) |
           (nt_box_delete(self, PROJECT L"old.txt") == 0 ? 16u : 0) |
           (nt_box_list(self, PROJECT, NULL) == 0 ? 32u : 0) |
           (nt_box_make_directory(self, PROJECT L"dir") == 0 ? 64u : 0) |
           (nt_box_write(self, PROJECT L".git\\hooks\\pre-commit", "x") == 0 ? 128u : 0) |
           (nt_box_rename(self, PROJECT L".git", PROJECT L"git") == 0 ? 256u : 0) |
           (nt_box_hard_link(self, PROJECT L"l", L"C:\\Windows\\win.ini") == 0 ? 512u : 0) |
           (nt_box_set_dacl(self, PROJECT L"README.md", "D:(A;;FA;;;WD)") == 0 ? 1024u : 0) |
           (nt_box_read(self, L"C:\\Users\\user\\notes.txt", NULL, 0) == 0 ? 2048u : 0);
}

static void a_capability_opens_exactly_what_its_entries_say(void)
{
    /* S-1-15-3-1024-… of "sbx.root.test", by the model itself. */
    struct nt_world world = {.actor = try_project};
    struct nt_model *model = nt_model_new(&world);
    PSID *groups;
    PSID *capabilities;
    DWORD counts[2];
    char sid[NT_SID_TEXT_MAX];
    char grant[512];
    char closed[512];
    CHECK(sbx_win()->DeriveCapabilitySidsFromName(L"sbx.root.test", &groups, &counts[0],
                                                  &capabilities, &counts[1]));
    (void)nt_sid_print(capabilities[0], sid, sizeof sid);
    (void)snprintf(grant, sizeof grant, "O:$UG:$UD:(A;OICI;FA;;;$U)(A;OICI;0x1301bf;;;%s)", sid);
    (void)snprintf(closed, sizeof closed, "O:$UG:$UD:(A;OICI;FA;;;$U)(A;OICI;0x1200a9;;;%s)", sid);
    nt_put_descriptor(model, L"C:\\Users\\user\\project", grant);
    nt_put_descriptor(model, PROJECT L"README.md", grant);
    nt_put_descriptor(model, PROJECT L".git", closed);
    nt_put_descriptor(model, PROJECT L".git\\hooks\\pre-commit", closed);
    struct nt_run run = {0};
    nt_run(&run);
    CHECK_U64(run.exit_code, 0); /* nothing without the capability */
    run = (struct nt_run){.capability = L"sbx.root.test"};
    nt_run(&run);
    CHECK_U64(run.exit_code, 1 | 2 | 4 | 8 | 16 | 32 | 64);
    CHECK_TEXT(nt_text(model, PROJECT L".git\\hooks\\pre-commit", NULL), "#!/bin/sh\n");
    nt_model_free(model);
}

static const struct sbx_test tests[] = {
    {"a path is read as Windows reads it", a_path_is_read_as_windows_reads_it},
    {"a file tells its real name", a_file_tells_its_real_name},
    {"links are followed unless they are asked for", links_are_followed_unless_they_are_asked_for},
    {"a name is opened below a handle", a_name_is_opened_below_a_handle},
    {"what is held cannot be swapped", what_is_held_cannot_be_swapped},
    {"a deleted file goes when Windows says", a_deleted_file_goes_when_windows_says},
    {"a rename refuses and replaces as told", a_rename_refuses_and_replaces_as_told},
    {"an entry is inherited by what is made later only",
     an_entry_is_inherited_by_what_is_made_later_only},
    {"a volume without lists answers everybody and keeps nothing",
     a_volume_without_lists_answers_everybody_and_keeps_nothing},
    {"a capability opens exactly what its entries say",
     a_capability_opens_exactly_what_its_entries_say},
};
SBX_TEST_MAIN("simulated_nt_model_files", tests)
