/* An errno as one of our codes, with its meaning in words: no locale, no hidden buffer. */
#include "posix/fault.h"

#include <errno.h>
#include <stdarg.h>

#include "common/base/attr.h"

#include "common/base/banned.h"

static const struct sbx_fault_row rows[] = {
    {ENOENT, SBX_E_NOT_FOUND, "no such file or directory"},
    {ENOTDIR, SBX_E_NOT_FOUND, "a part of the path is not a directory"},
    {EACCES, SBX_E_DENIED, "permission denied"},
    {EPERM, SBX_E_DENIED, "operation not permitted"},
    {EROFS, SBX_E_DENIED, "the file system is read-only"},
    {ENOMEM, SBX_E_NOMEM, "out of memory"},
    {EISDIR, SBX_E_INVALID, "it is a directory"},
    {EEXIST, SBX_E_INVALID, "it already exists"},
    {ELOOP, SBX_E_INVALID, "too many symbolic links"},
    {ENAMETOOLONG, SBX_E_INVALID, "the name is too long"},
    {ENXIO, SBX_E_INVALID, "no such device or address"},
    {ENODEV, SBX_E_INVALID, "no such device"},
    {EINVAL, SBX_E_INVALID, "the system does not accept it"},
    {EBADF, SBX_E_INVALID, "not an open descriptor"},
    {EPIPE, SBX_E_IO, "the reader has closed it"},
    {ENOSPC, SBX_E_IO, "no space left"},
    {EDQUOT, SBX_E_IO, "the quota is used up"},
    {EFBIG, SBX_E_IO, "the file would be too large"},
    {EIO, SBX_E_IO, "input/output error"},
    {EMFILE, SBX_E_IO, "too many open files"},
    {ENFILE, SBX_E_IO, "too many open files in the system"},
    {EAGAIN, SBX_E_IO, "a resource is exhausted for now"},
    {ENOEXEC, SBX_E_DENIED, "not a program of this system"},
    {ETXTBSY, SBX_E_DENIED, "somebody is writing to it"},
    {E2BIG, SBX_E_DENIED, "arguments and environment are too long"},
    {ESTALE, SBX_E_IO, "the file server has lost it"},
    {ENOSYS, SBX_E_IO, "the kernel does not have this call, or a filter hides it"},
    {EBUSY, SBX_E_IO, "it is in use"},
};

static const struct sbx_fault_table faults = {SBX_OS_ERRNO, rows, SBX_COUNT(rows)};

enum sbx_code sbx_errno_code(int raw)
{
    return sbx_fault_code(&faults, raw);
}

const char *sbx_errno_text(int raw)
{
    return sbx_fault_text(&faults, raw);
}

enum sbx_code sbx_err_errno(struct sbx_err *err, int raw, const char *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    enum sbx_code code = sbx_fault_set(err, &faults, raw, call, format, args);
    va_end(args);
    return code;
}
