/* What the service's worker asks of Windows: its program and signals. Terminals are made by the child, descriptors do not come
 * with a line, there are no warm boxes and no shared networks. */
#include "common/service/port.h"

#include <signal.h>

#include "common/os.h"

#include "common/base/banned.h"

/* ---- the program with the command line -------------------------------------------------------- */

enum sbx_code sbx_port_program(struct sbx_arena *arena, struct sbx_path *out, struct sbx_err *err)
{
    return sbx_os_self(arena, out, err);
}

/* Windows has no signals between processes. The child's end is the end of its job, and so of the box. */
enum sbx_code sbx_port_signal(uv_process_t *child, int number, struct sbx_err *err)
{
    if (number != SIGKILL && number != SIGTERM) {
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED, "Windows cannot send this signal");
        return sbx_err_hint(err, "TERM and KILL end the run");
    }
    return uv_process_kill(child, SIGKILL) == 0
               ? SBX_OK
               : sbx_err_set(err, SBX_E_NOT_FOUND, "the run has ended");
}

/* ---- a terminal ------------------------------------------------------------------------------- */

enum sbx_code sbx_port_terminal_open(unsigned rows, unsigned columns, struct sbx_port_terminal *out,
                                     struct sbx_err *err)
{
    (void)rows;
    (void)columns;
    (void)err;
    *out = (struct sbx_port_terminal){-1, -1, -1, -1};
    return SBX_OK;
}

enum sbx_code sbx_port_terminal_resize(const struct sbx_port_terminal *terminal,
                                       uv_process_t *child, unsigned rows, unsigned columns,
                                       struct sbx_err *err)
{
    (void)terminal;
    (void)child;
    (void)rows;
    (void)columns;
    return sbx_err_set(err, SBX_E_UNSUPPORTED, "the terminal of a run keeps its size on Windows");
}

void sbx_port_terminal_close(struct sbx_port_terminal *terminal)
{
    (void)terminal;
}

/* Its size is settled when it is made. */
void sbx_port_widen(uv_stream_t *pipe)
{
    (void)pipe;
}

/* ---- descriptors that come with a line -------------------------------------------------------- */

struct sbx_port_reader *sbx_port_reader_open(uv_loop_t *loop, uv_stream_t *stream,
                                             sbx_port_on_read *on_read, void *owner)
{
    (void)loop;
    (void)stream;
    (void)on_read;
    (void)owner;
    return NULL;
}

void sbx_port_reader_go(struct sbx_port_reader *reader, bool reads)
{
    (void)reader;
    (void)reads;
}

void sbx_port_reader_close(struct sbx_port_reader *reader)
{
    (void)reader;
}

/* ---- warm boxes and shared networks ----------------------------------------------------------- */

struct sbx_port_warm *sbx_port_warm_open(uv_loop_t *loop, size_t boxes_per_plan)
{
    (void)loop;
    (void)boxes_per_plan;
    return NULL;
}

void sbx_port_warm_close(struct sbx_port_warm *warm)
{
    (void)warm;
}

unsigned sbx_port_warm_tend(struct sbx_port_warm *warm)
{
    (void)warm;
    return 0;
}

bool sbx_port_warm_keep(struct sbx_port_warm *warm, const struct sbx_plan *plan)
{
    (void)warm;
    (void)plan;
    return false;
}

void sbx_port_warm_forget(struct sbx_port_warm *warm, const struct sbx_plan *plan)
{
    (void)warm;
    (void)plan;
}

enum sbx_code sbx_port_warm_start(struct sbx_port_warm *warm, const struct sbx_plan *plan,
                                  const struct sbx_port_command *command,
                                  void (*on_end)(void *owner), void *owner,
                                  struct sbx_port_box **out, struct sbx_err *err)
{
    (void)warm;
    (void)plan;
    (void)command;
    (void)on_end;
    (void)owner;
    (void)out;
    return sbx_err_set(err, SBX_E_UNAVAILABLE, "no box is ready");
}

enum sbx_code sbx_port_box_wait(struct sbx_port_box *box, struct sbx_run_record *out,
                                struct sbx_err *err)
{
    (void)box;
    (void)out;
    return sbx_err_set(err, SBX_E_UNAVAILABLE, "there is no such box");
}

void sbx_port_box_signal(struct sbx_port_box *box, int number)
{
    (void)box;
    (void)number;
}

void sbx_port_box_cancel(struct sbx_port_box *box)
{
    (void)box;
}

void sbx_port_box_evidence(const struct sbx_port_box *box, const struct sbx_evidence **out,
                           size_t *count)
{
    (void)box;
    *out = NULL;
    *count = 0;
}

void sbx_port_box_drop(struct sbx_port_box *box)
{
    (void)box;
}

enum sbx_code sbx_port_network_open(uv_file *user, uv_file *net, struct sbx_err *err)
{
    (void)user;
    (void)net;
    return sbx_err_set(err, SBX_E_UNSUPPORTED, "runs cannot share a network on this system");
}
