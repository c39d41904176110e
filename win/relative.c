/* Names opened relative to an open directory. */
#include "win/relative.h"

#include "common/base/banned.h"

/* Not in every header. */
#define GONE_NAME ((NTSTATUS)0xC0000034)
#define GONE_PATH ((NTSTATUS)0xC000003A)
#define GONE_SOON ((NTSTATUS)0xC0000056)
#define TAG_DEDUP 0x80000013
#define TAG_WOF 0x80000017

NTSTATUS sbx_relative_open(HANDLE directory, const wchar_t *name, USHORT bytes, bool any_case,
                           ACCESS_MASK access, HANDLE *out)
{
    UNICODE_STRING text = {bytes, bytes, (wchar_t *)(ULONG_PTR)name};
    OBJECT_ATTRIBUTES object;
    IO_STATUS_BLOCK io;
    InitializeObjectAttributes(&object, &text, any_case ? OBJ_CASE_INSENSITIVE : 0, directory,
                               NULL);
    return sbx_win()->NtCreateFile(
        out, access, &object, &io, NULL, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
        FILE_OPEN,
        FILE_OPEN_REPARSE_POINT | FILE_OPEN_FOR_BACKUP_INTENT | FILE_SYNCHRONOUS_IO_NONALERT, NULL,
        0);
}

bool sbx_relative_is_gone(NTSTATUS status)
{
    return status == GONE_NAME || status == GONE_PATH || status == GONE_SOON;
}

bool sbx_relative_leads_away(HANDLE file)
{
    FILE_ATTRIBUTE_TAG_INFO info;
    return !sbx_win()->GetFileInformationByHandleEx(file, FileAttributeTagInfo, &info,
                                                    sizeof info) ||
           (info.ReparseTag != TAG_DEDUP && info.ReparseTag != TAG_WOF);
}
