/* The three streams of a child. */
#include "posix/streams.h"

#include <fcntl.h>
#include <unistd.h>

#include "posix/fd.h"

#include "common/base/banned.h"

enum { KEYS, SCREEN, OUT, ERR };
_Static_assert(ERR + 1 == SBX_STREAMS_SLOTS, "one slot each");

/* A pipe for one output stream when it is carried; else the child gets sbx's own. */
static bool open_output(struct sbx_pump *pump, int sink, bool is_carried, uint64_t max_bytes,
                        struct sbx_tail *tail, int *child_end)
{
    AUTO_FD source = -1;
    if (is_carried && (!sbx_fd_pipe(&source, child_end) || !sbx_fd_set_nonblocking(source))) {
        return false;
    }
    sbx_pump_init(pump, SBX_TAKE(source, -1), sink, max_bytes, tail);
    return true;
}

/* A job in the background is stopped when it reads from the terminal. A box is in another session, where nothing
 * stops it: it could read what its user types to the shell. So it gets nothing to read from, and no descriptor
 * of the terminal either. */
static bool open_in_background(struct sbx_streams *streams)
{
    if (isatty(STDIN_FILENO) == 1) {
        streams->child_in = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return streams->child_in >= 0;
    }
    return true;
}

bool sbx_streams_open(struct sbx_streams *streams, const struct sbx_box *box, uint64_t max_bytes)
{
    bool has_own = box != NULL && box->terminal_fd >= 0;
    bool shares = box != NULL && !has_own;
    bool is_background = shares && sbx_terminal_is_background();
    bool keeps_tail = shares && box->watches_stderr;
    bool is_limited = max_bytes != 0 && !has_own;
    streams->child_in = streams->child_out = streams->child_err = -1;
    streams->modes.fd = -1;
    sbx_pump_init(&streams->out, -1, STDOUT_FILENO, 0, NULL);
    sbx_pump_init(&streams->err, -1, STDERR_FILENO, 0, NULL);
    if (shares) {
        sbx_modes_save(&streams->modes);
    }
    sbx_terminal_open(&streams->terminal, has_own ? box->terminal_fd : -1, max_bytes,
                      has_own ? &box->share->tail : NULL);
    return (!is_background || open_in_background(streams)) &&
           open_output(&streams->out, STDOUT_FILENO,
                       is_limited || (is_background && isatty(STDOUT_FILENO) == 1), max_bytes, NULL,
                       &streams->child_out) &&
           open_output(&streams->err, STDERR_FILENO,
                       is_limited || keeps_tail || (is_background && isatty(STDERR_FILENO) == 1),
                       max_bytes, keeps_tail ? &box->share->tail : NULL, &streams->child_err);
}

void sbx_streams_part(struct sbx_streams *streams)
{
    sbx_fd_close(&streams->child_in);
    sbx_fd_close(&streams->child_out);
    sbx_fd_close(&streams->child_err);
}

void sbx_streams_close(struct sbx_streams *streams)
{
    sbx_streams_part(streams);
    sbx_pump_release(&streams->out);
    sbx_pump_release(&streams->err);
    sbx_terminal_close(&streams->terminal);
    sbx_modes_restore(&streams->modes);
}

void sbx_streams_slots(const struct sbx_streams *streams, struct pollfd slots[SBX_STREAMS_SLOTS])
{
    sbx_terminal_slots(&streams->terminal, &slots[KEYS], &slots[SCREEN]);
    slots[OUT] = sbx_pump_slot(&streams->out);
    slots[ERR] = sbx_pump_slot(&streams->err);
}

void sbx_streams_step(struct sbx_streams *streams, const struct pollfd slots[SBX_STREAMS_SLOTS])
{
    sbx_terminal_step(&streams->terminal, &slots[KEYS], &slots[SCREEN]);
    sbx_pump_step(&streams->out);
    sbx_pump_step(&streams->err);
}

bool sbx_streams_drain(struct sbx_streams *streams)
{
    sbx_terminal_drain(&streams->terminal);
    sbx_pump_drain(&streams->out);
    sbx_pump_drain(&streams->err);
    return sbx_terminal_is_done(&streams->terminal) && sbx_pump_is_done(&streams->out) &&
           sbx_pump_is_done(&streams->err);
}

bool sbx_streams_is_over(const struct sbx_streams *streams)
{
    return streams->terminal.is_over || streams->out.is_over || streams->err.is_over;
}

uint64_t sbx_streams_passed(const struct sbx_streams *streams)
{
    return streams->terminal.passed_bytes + streams->out.passed_bytes + streams->err.passed_bytes;
}
