/* Ending all of a group, and removing it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/linux_cgroup_internal.h"

#include "common/base/banned.h"

enum { KILL_MS = 2000, REMOVE_MS = 1000, FREEZE_MS = 20, LONGEST_PAUSE_MS = 16 };

/* A process may end, be reaped, and its number be taken by a stranger between reading the list and
 * the signal. A pidfd pins the process: it is killed only if it is in the group. */
static void kill_pinned(const struct sbx_cgroup *group, const struct sbx_cgroup_place *place,
                        pid_t pid)
{
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_send_signal)
    AUTO_FD pin = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pin >= 0) {
        if (sbx_cgroup_place_holds(group, place, pid)) {
            (void)syscall(SYS_pidfd_send_signal, pin, SIGKILL, NULL, 0);
        }
        return;
    }
    if (errno != ENOSYS) {
        return;
    }
#endif
    if (sbx_cgroup_place_holds(group, place, pid)) {
        (void)kill(pid, SIGKILL);
    }
}

/* Calls it for every process of the place; true when there was none. A list that cannot be read is
 * not an empty one, but a group that was removed (ENOENT, ENODEV) has no processes. */
static bool each_process(const struct sbx_cgroup *group, const struct sbx_cgroup_place *place,
                         void (*call)(const struct sbx_cgroup *, const struct sbx_cgroup_place *,
                                      pid_t))
{
    AUTO_FD fd = sbx_cgroup_file_open(place->group_fd, "cgroup.procs", O_RDONLY);
    if (fd < 0) {
        return errno == ENOENT || errno == ENODEV;
    }
    bool is_empty = true;
    long number = 0;
    char block[4096];
    ssize_t got;
    while ((got = sbx_fd_read(fd, block, sizeof block)) > 0) {
        is_empty = false;
        for (ssize_t i = 0; call != NULL && i < got; i++) {
            if (block[i] >= '0' && block[i] <= '9' && number < INT32_MAX / 10) {
                number = number * 10 + (block[i] - '0');
            } else {
                /* 0 is a process of another namespace, which cannot be named from here. */
                if (number > 0) {
                    call(group, place, (pid_t)number);
                }
                number = 0;
            }
        }
    }
    return is_empty && (got == 0 || errno == ENODEV);
}

static bool is_empty(const struct sbx_cgroup *group)
{
    for (size_t i = 0; i < group->place_count; i++) {
        if (!each_process(group, &group->place[i], NULL)) {
            return false;
        }
    }
    return true;
}

/* How a frozen group is asked for and told. */
static const struct freezer {
    const char *file;
    const char *frozen;
    const char *thawed;
    const char *state_file;
    const char *state_key; /* NULL: the text of the file is `frozen` */
} freezers[] = {
    [SBX_CGROUP_V1] = {"freezer.state", "FROZEN", "THAWED", "freezer.state", NULL},
    [SBX_CGROUP_V2] = {"cgroup.freeze", "1", "0", "cgroup.events", "frozen"},
};

static void freeze(const struct sbx_cgroup *group, int dir)
{
    const struct freezer *row = &freezers[group->version];
    if (!sbx_cgroup_file_write(dir, row->file, row->frozen)) {
        return;
    }
    /* A process in an uninterruptible call freezes late; it cannot fork meanwhile either. */
    for (int i = 0; i < FREEZE_MS; i++) {
        char text[64];
        uint64_t is_frozen = 0;
        if (row->state_key != NULL
                ? sbx_cgroup_file_number(dir, row->state_file, row->state_key, &is_frozen) &&
                      is_frozen == 1
                : sbx_cgroup_file_read(dir, row->state_file, text, sizeof text) &&
                      strcmp(text, row->frozen) == 0) {
            return;
        }
        sbx_cgroup_pause(1);
    }
}

/* Nothing can fork while all are frozen, and in version 1 nothing dies before it is thawed. */
void sbx_cgroup_kill_frozen(const struct sbx_cgroup *group)
{
    for (size_t i = 0; i < group->place_count; i++) {
        const struct sbx_cgroup_place *place = &group->place[i];
        /* Not even the ones that could not be frozen can fork from here on. */
        if (group->version == SBX_CGROUP_V1 &&
            (place->controllers & (unsigned)SBX_CONTROLLER_PIDS) != 0) {
            (void)!sbx_cgroup_file_write(place->group_fd, "pids.max", "0");
        }
        if (group->version == SBX_CGROUP_V2 ||
            (place->controllers & (unsigned)SBX_CONTROLLER_FREEZER) != 0) {
            freeze(group, place->group_fd);
        }
    }
    for (size_t i = 0; i < group->place_count; i++) {
        (void)each_process(group, &group->place[i], kill_pinned);
    }
    for (size_t i = 0; i < group->place_count; i++) {
        const struct freezer *row = &freezers[group->version];
        if (group->version == SBX_CGROUP_V2 ||
            (group->place[i].controllers & (unsigned)SBX_CONTROLLER_FREEZER) != 0) {
            (void)!sbx_cgroup_file_write(group->place[i].group_fd, row->file, row->thawed);
        }
    }
}

bool sbx_cgroup_kill(const struct sbx_cgroup *group)
{
    uint64_t begin = sbx_cgroup_clock_ms();
    unsigned pause_ms = 1;
    while (!is_empty(group)) {
        if (sbx_cgroup_clock_ms() - begin >= KILL_MS) {
            return false;
        }
        /* The kernel's own, from 5.14 on, leaves no gap for a fork. */
        if (group->version != SBX_CGROUP_V2 ||
            !sbx_cgroup_file_write(group->place[0].group_fd, "cgroup.kill", "1")) {
            sbx_cgroup_kill_frozen(group);
        }
        if (is_empty(group)) {
            return true;
        }
        sbx_cgroup_pause(pause_ms);
        pause_ms = pause_ms < LONGEST_PAUSE_MS ? pause_ms * 2 : pause_ms;
    }
    return true;
}

bool sbx_cgroup_remove(const struct sbx_cgroup *group)
{
    uint64_t begin = sbx_cgroup_clock_ms();
    unsigned pause_ms = 1;
    for (;;) {
        bool is_left = false;
        for (size_t i = 0; i < group->place_count; i++) {
            const struct sbx_cgroup_place *place = &group->place[i];
            /* The name may only be this group's: it has its maker's number and start. */
            if (place->group_fd >= 0 &&
                group->kernel->remove_dir(place->parent_fd, group->name) != 0 && errno != ENOENT) {
                is_left = true;
            }
        }
        if (!is_left) {
            return true;
        }
        if (sbx_cgroup_clock_ms() - begin >= REMOVE_MS) {
            return false;
        }
        sbx_cgroup_pause(pause_ms);
        pause_ms = pause_ms < LONGEST_PAUSE_MS ? pause_ms * 2 : pause_ms;
    }
}
