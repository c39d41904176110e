/* Waiting for a connection while the caller's signals are caught. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>

#include "common/os.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/signals.h"

#include "common/base/banned.h"

static struct {
    struct sbx_signals signals;
    int read_end, write_end;
} watch = {.read_end = -1, .write_end = -1};

static const struct {
    int number;
    const char *name;
} forwarded[] = {{SIGINT, "INT"},   {SIGTERM, "TERM"}, {SIGHUP, "HUP"},
                 {SIGQUIT, "QUIT"}, {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}};

enum sbx_code sbx_os_watch_begin(struct sbx_err *err)
{
    if (!sbx_fd_pipe(&watch.read_end, &watch.write_end))
        return sbx_err_errno(err, errno, "pipe", "signals cannot be caught");
    if (!sbx_fd_set_nonblocking(watch.write_end))
        return sbx_err_errno(err, errno, "fcntl", "signals cannot be caught");
    sbx_signals_catch(&watch.signals, watch.write_end);
    return SBX_OK;
}

void sbx_os_watch_end(void)
{
    sbx_signals_release(&watch.signals);
    sbx_fd_close(&watch.read_end);
    sbx_fd_close(&watch.write_end);
}

/* What has no name here is for sbx alone: to be stopped, a new size of a terminal that the command has itself. */
static const char *take_signal(void)
{
    struct sbx_signal_event event;
    if (sbx_fd_read(watch.read_end, &event, sizeof event) != (ssize_t)sizeof event) return NULL;
    for (size_t i = 0; i < SBX_COUNT(forwarded); i++)
        if (forwarded[i].number == event.number) return forwarded[i].name;
    if (event.number == SIGTSTP) sbx_signals_take_default(SIGTSTP);
    return NULL;
}

const char *sbx_os_watch_wait(intptr_t pollable, bool is_writing)
{
    struct pollfd fds[2] = {
        {.fd = (int)pollable, .events = (short)(POLLIN | (is_writing ? POLLOUT : 0))},
        {.fd = watch.read_end, .events = POLLIN}};
    if (poll(fds, 2, -1) < 0) return NULL;
    return fds[1].revents != 0 ? take_signal() : NULL;
}

bool sbx_os_watch_passes(void)
{
    return true;
}

bool sbx_os_watch_input(struct sbx_str *out)
{
    (void)out;
    return false;
}
