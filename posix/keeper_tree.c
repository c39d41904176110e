/* The processes that a keeper keeps: told, reaped, ended. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "posix/fd.h"
#include "posix/keeper_internal.h"
#include "posix/system.h"

#include "common/base/banned.h"

#define END_WAIT_NS UINT64_C(5000000000) /* for killed processes that hang in the kernel */

static void order(const struct sbx_keeper *keeper, unsigned char what)
{
    (void)!sbx_fd_write_all(keeper->plan->box->orders_fd, &what, 1);
}

void sbx_keeper_signal(const struct sbx_keeper *keeper, int number)
{
    if (keeper->plan->box != NULL) {
        order(keeper, (unsigned char)number);
    } else if (keeper->child > 0) {
        (void)kill(keeper->own_group ? -keeper->child : keeper->child, number);
    }
}

/* A request that can be handled, also by stopped processes. */
void sbx_keeper_ask_all(const struct sbx_keeper *keeper)
{
    static const int numbers[] = {SIGTERM, SIGCONT};
    const struct sbx_box *box = keeper->plan->box;
    if (box != NULL && box->is_namespace) {
        order(keeper, SBX_ORDER_ASK_ALL);
        return;
    }
    for (size_t i = 0; i < SBX_COUNT(numbers); i++) {
        if (keeper->adopts) {
            sbx_system_signal_tree(numbers[i]);
        } else {
            sbx_keeper_signal(keeper, numbers[i]);
        }
    }
}

/* Of a box this is the helper; how the command ended comes as a report. */
static void child_changed(struct sbx_keeper *keeper, int status)
{
    if (keeper->plan->box != NULL) {
        if (!WIFSTOPPED(status) && !WIFCONTINUED(status)) {
            keeper->child = 0;
        }
    } else if (WIFSTOPPED(status)) {
        sbx_keeper_report(
            keeper, &(struct sbx_report){.kind = SBX_REPORT_STOPPED, .signal = WSTOPSIG(status)});
    } else if (WIFCONTINUED(status)) {
        sbx_keeper_report(keeper, &(struct sbx_report){.kind = SBX_REPORT_CONTINUED});
    } else {
        keeper->status = status;
        keeper->child = 0;
        keeper->outcome.wall_ns = sbx_os_monotonic_ns() - keeper->begin_ns;
    }
}

/* The number of a group is safe to use only while its dead leader is not yet reaped. */
static void end_group_of_dead_leader(const struct sbx_keeper *keeper)
{
    siginfo_t info = {0};
    if (keeper->own_group && keeper->child > 0 &&
        waitid(P_PID, (id_t)keeper->child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == keeper->child) {
        (void)kill(-keeper->child, SIGKILL);
    }
}

/* Takes in every child that ended or changed; false when there is none left. */
static bool reap_all(struct sbx_keeper *keeper)
{
    end_group_of_dead_leader(keeper);
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
        if (pid == 0) {
            return true;
        }
        if (pid < 0) {
            if (errno != EINTR) {
                return false;
            }
        } else if (pid == keeper->child) {
            child_changed(keeper, status);
        }
    }
}

/* Inside sbx other children may be somebody else's. */
static bool reap_box(struct sbx_keeper *keeper)
{
    int status = 0;
    if (keeper->child > 0 &&
        wait4(keeper->child, &status, WNOHANG, &keeper->usage) == keeper->child) {
        keeper->child = 0;
    }
    return keeper->child > 0;
}

bool sbx_keeper_reap(struct sbx_keeper *keeper)
{
    return keeper->plan->is_inside ? reap_box(keeper) : reap_all(keeper);
}

/* A child's number is its own until it is reaped. */
static void kill_children(const struct sbx_keeper *keeper)
{
    if (keeper->plan->is_inside) {
        (void)kill(keeper->child, SIGKILL);
    } else if (keeper->adopts) {
        sbx_system_signal_children(SIGKILL);
    } else {
        sbx_keeper_signal(keeper, SIGKILL);
    }
}

/* A descriptor of a process is readable for ever once it has ended. */
void sbx_keeper_take_wake(const struct sbx_keeper *keeper)
{
    char bytes[256];
    if (!keeper->plan->is_inside) {
        (void)!sbx_fd_read(keeper->wake_fd, bytes, sizeof bytes);
    }
}

/* Kills in rounds. Only children are killed, never a grandchild by its number: when its parent is
 * dead it becomes a child, and its turn comes. */
void sbx_keeper_end_tree(struct sbx_keeper *keeper)
{
    uint64_t begin = sbx_os_monotonic_ns();
    while (sbx_keeper_reap(keeper) && sbx_os_monotonic_ns() - begin < END_WAIT_NS) {
        kill_children(keeper);
        struct pollfd slot = {.fd = keeper->wake_fd, .events = POLLIN};
        if (poll(&slot, 1, 20) > 0) {
            sbx_keeper_take_wake(keeper);
        }
    }
    keeper->is_ended = true;
}
