/* A Win32 error as one of our codes, with its meaning in words: no locale, no message table. */
#include "win/fault.h"

#include <stdarg.h>

#include "common/base/attr.h"

#include "common/base/banned.h"

static const struct sbx_fault_row rows[] = {
    {ERROR_FILE_NOT_FOUND, SBX_E_NOT_FOUND, "the file does not exist"},
    {ERROR_PATH_NOT_FOUND, SBX_E_NOT_FOUND, "a directory on the way does not exist"},
    {ERROR_BAD_PATHNAME, SBX_E_NOT_FOUND, "the path is wrong"},
    {ERROR_INVALID_DRIVE, SBX_E_NOT_FOUND, "there is no such drive"},
    {ERROR_NOT_READY, SBX_E_NOT_FOUND, "the drive is not ready"},
    {ERROR_ACCESS_DENIED, SBX_E_DENIED, "access is denied"},
    {ERROR_WRITE_PROTECT, SBX_E_DENIED, "the medium is write-protected"},
    {ERROR_PRIVILEGE_NOT_HELD, SBX_E_DENIED, "a privilege is missing"},
    {ERROR_BAD_EXE_FORMAT, SBX_E_DENIED, "not a program of this system"},
    {ERROR_EXE_MACHINE_TYPE_MISMATCH, SBX_E_DENIED, "a program for another processor"},
    {SBX_ERROR_ELEVATION_REQUIRED, SBX_E_DENIED, "the program demands administrator rights"},
    {ERROR_ACCESS_DISABLED_BY_POLICY, SBX_E_DENIED, "a policy of this machine blocks it"},
    {SBX_ERROR_SYSTEM_INTEGRITY_POLICY, SBX_E_DENIED, "a policy of this machine blocks it"},
    {SBX_ERROR_VIRUS_INFECTED, SBX_E_DENIED, "the virus scanner blocks it"},
    {ERROR_CANT_ACCESS_FILE, SBX_E_DENIED, "a placeholder that cannot be opened directly"},
    {ERROR_NOT_ENOUGH_MEMORY, SBX_E_NOMEM, "out of memory"},
    {ERROR_OUTOFMEMORY, SBX_E_NOMEM, "out of memory"},
    {ERROR_COMMITMENT_LIMIT, SBX_E_NOMEM, "out of memory"},
    {ERROR_INVALID_NAME, SBX_E_INVALID, "the name is not allowed"},
    {ERROR_FILENAME_EXCED_RANGE, SBX_E_INVALID, "the name is too long"},
    {ERROR_DIRECTORY, SBX_E_INVALID, "it is not a directory"},
    {ERROR_FILE_EXISTS, SBX_E_INVALID, "it already exists"},
    {ERROR_ALREADY_EXISTS, SBX_E_INVALID, "it already exists"},
    {ERROR_INVALID_PARAMETER, SBX_E_INVALID, "the system does not accept it"},
    {ERROR_INVALID_HANDLE, SBX_E_INVALID, "not an open handle"},
    {ERROR_BROKEN_PIPE, SBX_E_IO, "the reader has closed it"},
    {ERROR_NO_DATA, SBX_E_IO, "the reader has closed it"},
    {ERROR_SHARING_VIOLATION, SBX_E_IO, "another process has it open"},
    {ERROR_LOCK_VIOLATION, SBX_E_IO, "another process has locked it"},
    {ERROR_DISK_FULL, SBX_E_IO, "no space left"},
    {ERROR_HANDLE_DISK_FULL, SBX_E_IO, "no space left"},
    {ERROR_NOT_SUPPORTED, SBX_E_UNSUPPORTED, "this Windows does not support it"},
    {ERROR_CALL_NOT_IMPLEMENTED, SBX_E_UNSUPPORTED, "this Windows does not support it"},
};

static const struct sbx_fault_table faults = {SBX_OS_WIN32, rows, SBX_COUNT(rows)};

enum sbx_code sbx_win32_code(DWORD raw)
{
    return sbx_fault_code(&faults, raw);
}

const char *sbx_win32_text(DWORD raw)
{
    return sbx_fault_text(&faults, raw);
}

enum sbx_code sbx_err_win32(struct sbx_err *err, DWORD raw, const char *call, const char *format,
                            ...)
{
    va_list args;
    va_start(args, format);
    enum sbx_code code = sbx_fault_set(err, &faults, raw, call, format, args);
    va_end(args);
    return code;
}
