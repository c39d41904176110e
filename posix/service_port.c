/* What the service's worker asks of a POSIX system: its program, signals, terminals. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "common/os.h"
#include "common/service/port.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/signals.h"

#include "common/base/banned.h"

/* ---- the program with the command line ------------------------------------------------------------ */

static bool is_program(const char *path)
{
    return access(path, X_OK) == 0;
}

enum sbx_code sbx_port_program(struct sbx_arena *arena, struct sbx_path *out, struct sbx_err *err)
{
    /* Beside sbxd, or where sbxd is a helper of a package: PREFIX/libexec/sbx/sbxd and PREFIX/bin/sbx. */
    static const char *const places[] = {"sbx", "../../bin/sbx"};
    struct sbx_path self;
    enum sbx_code code = sbx_os_self(arena, &self, err);
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_path dir = sbx_path_parent(arena, self);
    for (size_t i = 0; i < SBX_COUNT(places) && dir.text != NULL; i++) {
        const char *path = sbx_arena_printf(arena, "%s/%s", dir.text, places[i]);
        if (path != NULL && is_program(path)) {
            return sbx_os_real_path(arena, path, out, err);
        }
    }
    (void)sbx_err_set(err, SBX_E_NOT_FOUND, "there is no sbx beside \"%s\"", self.text);
    return sbx_err_hint(err, "install sbx and sbxd in the same directory");
}

enum sbx_code sbx_port_signal(uv_process_t *child, int number, struct sbx_err *err)
{
#ifdef __linux__
    /* A value that no terminal and no kill(1) sends means: end the box. */
    union sigval value = {.sival_int = SBX_SIGNAL_ENDS};
    int status =
        number == SIGKILL ? sigqueue(child->pid, SIGTERM, value) : kill(child->pid, number);
#else
    int status = kill(child->pid, number);
#endif
    int raw = errno;
    return status == 0 ? SBX_OK : sbx_err_errno(err, raw, "kill", "cannot signal the run");
}

/* ---- a terminal ----------------------------------------------------------------------------------- */

static int other(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static bool set_size(int fd, unsigned rows, unsigned columns)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    return ioctl(fd, TIOCSWINSZ, &size) == 0;
}

enum sbx_code sbx_port_terminal_open(unsigned rows, unsigned columns, struct sbx_port_terminal *out,
                                     struct sbx_err *err)
{
    AUTO_FD ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    AUTO_FD theirs = -1;
    AUTO_FD screen = -1;
    AUTO_FD keys = -1;
    const char *name = NULL;
    if (ours >= 0 && grantpt(ours) == 0 && unlockpt(ours) == 0) {
        name = ptsname(ours); /* one thread */
    }
    if (name != NULL) {
        theirs = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
        screen = other(ours);
        keys = other(ours);
    }
    if (theirs < 0 || screen < 0 || keys < 0 || !set_size(ours, rows, columns)) {
        int raw = errno;
        return sbx_err_errno(err, raw, "posix_openpt", "cannot make a terminal");
    }
    out->ours = SBX_TAKE(ours, -1);
    out->theirs = SBX_TAKE(theirs, -1);
    out->screen = SBX_TAKE(screen, -1);
    out->keys = SBX_TAKE(keys, -1);
    return SBX_OK;
}

enum sbx_code sbx_port_terminal_resize(const struct sbx_port_terminal *terminal,
                                       uv_process_t *child, unsigned rows, unsigned columns,
                                       struct sbx_err *err)
{
    if (!set_size(terminal->ours, rows, columns)) {
        int raw = errno;
        return sbx_err_errno(err, raw, "ioctl", "cannot give the terminal another size");
    }
    (void)kill(child->pid,
               SIGWINCH); /* it is no terminal of a session that the kernel would tell */
    return SBX_OK;
}

void sbx_port_terminal_close(struct sbx_port_terminal *terminal)
{
    sbx_fd_close(&terminal->ours);
    sbx_fd_close(&terminal->screen);
    sbx_fd_close(&terminal->keys);
    sbx_fd_close(&terminal->theirs);
}

/* ---- a pipe -------------------------------------------------------------------------------------- */

void sbx_port_widen(uv_stream_t *pipe)
{
#ifdef F_SETPIPE_SZ
    /* A user who has many of them already is refused, and goes on with what there is. */
    enum { WIDE = 256 * 1024 };
    uv_os_fd_t fd;
    if (uv_fileno((uv_handle_t *)pipe, &fd) == 0) {
        (void)fcntl(fd, F_SETPIPE_SZ, WIDE);
    }
#else
    (void)pipe;
#endif
}
