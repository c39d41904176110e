/* Warm boxes and shared networks, on a system that has neither. */
#include "common/service/port.h"

#include "common/base/banned.h"

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
