/* How a keeper starts a child or the helper of a box. */
#include <errno.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/keeper_internal.h"
#include "posix/system.h"

#include "common/base/banned.h"

/* End of file means that exec closed it: the program runs, or the helper of a box. */
void sbx_keeper_read_birth(struct sbx_keeper *keeper)
{
    ssize_t got = sbx_fd_read(keeper->birth_fd, &keeper->failure, sizeof keeper->failure);
    if (got == (ssize_t)sizeof keeper->failure) {
        keeper->is_failed = true;
    } else if (keeper->plan->box == NULL) {
        keeper->outcome.started = true;
    }
    sbx_fd_close(&keeper->birth_fd);
}

/* Who else in sbx has children is not asked, and its signals are not touched. */
static bool open_wake(struct sbx_keeper *keeper)
{
    AUTO_FD wake_end = -1;
    if (keeper->plan->is_inside) {
        return true; /* known when the child is */
    }
    if (!sbx_fd_pipe(&keeper->wake_fd, &wake_end) || !sbx_fd_set_nonblocking(keeper->wake_fd) ||
        !sbx_fd_set_nonblocking(wake_end)) {
        return false;
    }
    sbx_signals_keep(SBX_TAKE(wake_end, -1)); /* the handler's, for as long as the keeper lives */
    return true;
}

static pid_t fork_box(const struct sbx_keeper *keeper, pid_t self, int birth_end)
{
    const struct sbx_box *box = keeper->plan->box;
    const struct sbx_streams *streams = &keeper->streams;
    struct sbx_box_child child = {
        .box = box,
        .signals = keeper->plan->signals,
        .parent = box->fork != NULL ? 0 : self, /* whose number a new namespace does not know */
        .birth_fd = birth_end,
        .stdin_fd = streams->child_in,
        .stdout_fd = streams->child_out,
        .stderr_fd = streams->child_err,
    };
    if (box->fork != NULL) {
        return box->fork(box->state, &child);
    }
    pid_t pid = fork();
    if (pid == 0) {
        sbx_box_child_main(&child);
    }
    return pid;
}

static pid_t fork_plain(const struct sbx_keeper *keeper, pid_t self, int birth_end)
{
    pid_t pid = fork();
    if (pid == 0) {
        sbx_child_main(&(struct sbx_child_plan){
            .keeper = keeper->plan,
            .parent = self,
            .own_group = keeper->own_group,
            .birth_fd = birth_end,
            .stdout_fd = keeper->streams.child_out,
            .stderr_fd = keeper->streams.child_err,
        });
    }
    if (pid > 0 && keeper->own_group) {
        (void)setpgid(pid, pid); /* whoever of the two comes first */
    }
    return pid;
}

bool sbx_keeper_bear(struct sbx_keeper *keeper)
{
    AUTO_FD birth_end = -1;
    const struct sbx_box *box = keeper->plan->box;
    if (!sbx_streams_open(&keeper->streams, box, keeper->plan->run->max_output_bytes) ||
        !open_wake(keeper) || !sbx_fd_pipe(&keeper->birth_fd, &birth_end)) {
        return false;
    }
    sigset_t mask = sbx_signals_block();
    pid_t self = getpid();
    keeper->begin_ns = sbx_os_monotonic_ns();
    pid_t child =
        box != NULL ? fork_box(keeper, self, birth_end) : fork_plain(keeper, self, birth_end);
    int raw = errno;
    keeper->child = child > 0 ? child : 0;
    sbx_streams_part(&keeper->streams);
    sbx_signals_unblock(&mask);
    sbx_fd_close(&birth_end);
    if (child > 0 && keeper->plan->is_inside) {
        keeper->wake_fd = sbx_system_watch(child);
        raw = errno;
        sbx_keeper_read_birth(keeper);
    }
    errno = raw;
    return child > 0 && keeper->wake_fd >= 0;
}
