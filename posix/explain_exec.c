/* Why a program that was found could not be executed, in words. */
#include "posix/explain_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "posix/fault.h"
#include "posix/fd.h"

#include "common/base/banned.h"

/* The interpreter in "#!/path arg"; false when the file is no script. */
static bool interpreter_of(const char *path, char *out, size_t size)
{
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char head[256];
    ssize_t got = fd < 0 ? -1 : sbx_fd_read(fd, head, sizeof head - 1);
    if (got < 3 || head[0] != '#' || head[1] != '!') {
        return false;
    }
    head[got] = '\0';
    const char *name = head + 2 + strspn(head + 2, " \t");
    size_t len = strcspn(name, " \t\r\n");
    if (len == 0 || len >= size) {
        return false;
    }
    memcpy(out, name, len);
    out[len] = '\0';
    return true;
}

enum sbx_code sbx_explain_exec(const char *path, int raw, struct sbx_err *err)
{
    char interpreter[256];
    if (raw == ENOENT) {
        if (interpreter_of(path, interpreter, sizeof interpreter)) {
            (void)sbx_err_os(err, SBX_E_NOT_FOUND, SBX_OS_ERRNO, raw, "execve",
                             "the script \"%s\" asks for the interpreter \"%s\", which is missing",
                             path, interpreter);
            return sbx_err_hint(err, "install it or correct the script's first line (also look "
                                     "for Windows line ends)");
        }
        (void)sbx_err_os(err, SBX_E_NOT_FOUND, SBX_OS_ERRNO, raw, "execve",
                         "the program \"%s\" asks for a loader that is missing", path);
        return sbx_err_hint(err, "it was built for another system or C library");
    }
    enum sbx_code code = raw == ENOTDIR ? SBX_E_NOT_FOUND : SBX_E_DENIED;
    (void)sbx_err_os(err, code, SBX_OS_ERRNO, raw, "execve", "cannot execute \"%s\": %s", path,
                     sbx_errno_text(raw));
    if (raw == ENOEXEC) {
        return sbx_err_hint(err,
                            "a script needs a first line such as #!/bin/sh, or name its "
                            "interpreter: sh %s",
                            path);
    }
    if (raw == EACCES) {
        return sbx_err_hint(err, "its interpreter may not be executable, or its file system is "
                                 "mounted noexec");
    }
    return code;
}
