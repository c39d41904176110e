/* The keeper as a process of its own: forked, without exec. */
#include <unistd.h>

#include "posix/fd.h"
#include "posix/keeper_internal.h"

#include "common/base/banned.h"

enum { EXIT_KEPT = 0, EXIT_BROKEN = 1 };

static void read_orders(void *state, struct sbx_keeper *keeper)
{
    const struct sbx_keeper_pipes *pipes = (const struct sbx_keeper_pipes *)state;
    unsigned char orders[64];
    ssize_t got = sbx_fd_read(pipes->control_fd, orders, sizeof orders);
    if (got == 0) {
        sbx_keeper_caller_gone(keeper);
    }
    for (ssize_t i = 0; i < got; i++) {
        sbx_keeper_order(keeper, orders[i]);
    }
}

static void send_report(void *state, const struct sbx_report *message)
{
    const struct sbx_keeper_pipes *pipes = (const struct sbx_keeper_pipes *)state;
    /* Smaller than PIPE_BUF, so it arrives whole. A caller that is gone does not matter. */
    (void)!sbx_fd_write_all(pipes->report_fd, message, sizeof *message);
}

/* Ends that are the box's: held here, their end of file would never come. */
static void leave_to_box(const struct sbx_box *box)
{
    const int theirs[] = {box->helper_orders_fd, box->helper_reports_fd, box->helper_hold_fd,
                          box->terminal_slave_fd};
    for (size_t i = 0; i < SBX_COUNT(theirs); i++) {
        if (theirs[i] >= 0) {
            (void)close(theirs[i]);
        }
    }
    for (size_t i = 0; i < box->fd_count; i++) {
        (void)close(box->fds[i].from);
    }
}

noreturn void sbx_keeper_main(const struct sbx_keeper_plan *plan,
                              const struct sbx_keeper_pipes *pipes)
{
    static struct sbx_keeper keeper;
    struct sbx_keeper_plan own = *plan;
    struct sbx_keeper_pipes ends = *pipes;
    own.is_inside = false;
    own.control_fd = ends.control_fd;
    own.control = read_orders;
    own.report = send_report;
    own.state = &ends;
    sbx_keeper_start(&keeper, &own);
    if (own.box != NULL) {
        leave_to_box(own.box);
    }
    while (sbx_keeper_step(&keeper)) {
    }
    sbx_keeper_end(&keeper);
    _exit(keeper.is_failed ? EXIT_BROKEN : EXIT_KEPT);
}
