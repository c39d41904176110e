/* Writing to the standard streams and to inherited descriptors. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/signals.h"

#include "common/base/banned.h"

static int number_of(enum sbx_stream stream)
{
    switch (stream) {
    case SBX_STDIN:
        return STDIN_FILENO;
    case SBX_STDOUT:
        return STDOUT_FILENO;
    case SBX_STDERR:
        return STDERR_FILENO;
    }
    return -1;
}

enum sbx_code sbx_os_write(enum sbx_stream stream, const char *bytes, size_t len,
                           struct sbx_err *err)
{
    return sbx_os_write_fd(number_of(stream), bytes, len, err);
}

enum sbx_code sbx_os_write_fd(int fd, const char *bytes, size_t len, struct sbx_err *err)
{
    sbx_signals_ignore_pipe();
    if (!sbx_fd_write_all(fd, bytes, len)) {
        int raw = errno;
        return sbx_err_errno(err, raw, "write", "cannot write to descriptor %d", fd);
    }
    return SBX_OK;
}

bool sbx_os_is_terminal(enum sbx_stream stream)
{
    return isatty(number_of(stream)) == 1;
}

bool sbx_os_terminal_colours(enum sbx_stream stream)
{
    const char *term = getenv("TERM");
    return sbx_os_is_terminal(stream) && term != NULL && *term != '\0' && strcmp(term, "dumb") != 0;
}
