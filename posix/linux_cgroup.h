/* A control group of our own around one box: the memory and the processes of the whole tree are
 * bounded, its processor time is counted, and all of it can be ended at once.
 *
 * Version 2 where a group was delegated to the caller, version 1 for root. A group is made only for a
 * run that has one of the three limits; processor time is no limit of the group, the caller watches
 * usage.cpu_ns. The calling process is never moved.
 *
 * A group is called sbx-PID-START-NUMBER after the process that made it, and its directories are
 * locked (flock) as long as that process or one forked from it keeps them open. So groups of dead
 * owners can be told from living ones, also by an sbx that counts processes in another namespace.
 * Processes inside the group must not keep the descriptors: all of them are close-on-exec.
 *
 * After sbx_cgroup_make nothing here allocates: a forked process without exec may call the rest. */
#ifndef SBX_POSIX_LINUX_CGROUP_H
#define SBX_POSIX_LINUX_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/os.h"

enum {
    SBX_CGROUP_PLACES = 4, /* version 1: memory, pids, cpuacct, freezer; version 2: one */
    SBX_CGROUP_NAME_MAX = 64,
    SBX_CGROUP_PATH_MAX = 1024,
};

/* Controllers, as bits. */
enum sbx_cgroup_controller {
    SBX_CONTROLLER_MEMORY = 1,
    SBX_CONTROLLER_PIDS = 2,
    SBX_CONTROLLER_CPU = 4,
    SBX_CONTROLLER_FREEZER = 8,
};

struct sbx_cgroup_limits {
    uint64_t memory_bytes;  /* of the whole tree, swap included; 0: none */
    uint64_t processes;     /* the kernel counts every thread as one; 0: none */
    unsigned own_processes; /* sbx's own inside the group, which `processes` does not count */
    bool counts_cpu;        /* the run has a limit of processor time */
};

/* One hierarchy. */
struct sbx_cgroup_place {
    unsigned controllers; /* bits; in version 2 those that the group really has */
    int parent_fd;        /* the directory the group lies in */
    int group_fd;         /* the group's, locked */
    int procs_fd;         /* its cgroup.procs, for writing */
    /* The group as /proc/PID/cgroup tells it, seen from the maker. */
    char path[SBX_CGROUP_PATH_MAX];
};

struct sbx_cgroup_kernel;

struct sbx_cgroup {
    enum sbx_cgroup_version version; /* SBX_CGROUP_NONE: no group, see sbx_cgroup_make */
    struct sbx_cgroup_limits limits;
    size_t place_count;
    struct sbx_cgroup_place place[SBX_CGROUP_PLACES];
    char name[SBX_CGROUP_NAME_MAX];
    const struct sbx_cgroup_kernel *kernel;
};

/* What is zero could not be read or has not happened. */
struct sbx_cgroup_usage {
    uint64_t cpu_ns;
    uint64_t peak_memory_bytes;
    uint64_t memory_hits; /* how often memory reached its limit; newer kernels tell it only in v2 */
    uint64_t oom_kills;   /* processes killed because it could not */
    uint64_t pids_refused;   /* forks refused */
    uint64_t peak_processes; /* threads count */
    uint64_t processes;      /* alive in the group now; threads do not count */
};

/* The version that sbx_cgroup_make will use here; SBX_CGROUP_NONE when no group can be made that
 * holds all three limits. Looks only, changes nothing. */
enum sbx_cgroup_version sbx_cgroup_usable(void);

/* The same, and the next sbx_cgroup_usable gives this answer again without a look: a run asks before it is decided,
 * and once more to decide. */
enum sbx_cgroup_version sbx_cgroup_usable_early(void);

/* Makes a group, sets the limits and reads each of them back. When no limit is asked for, *out is no
 * group and the result SBX_OK; every function below takes such a one and does nothing.
 * SBX_E_UNSUPPORTED: none can be made here. SBX_E_VERIFY: the kernel took a limit and tells another.
 * After any failure nothing is left on the host and *out is as it was.
 * Version 2: a controller that the directory has and does not give to its groups is enabled there,
 * if no process is in it; that is not undone, since another run may count on it by then. */
enum sbx_code sbx_cgroup_make(const struct sbx_cgroup_limits *limits, struct sbx_cgroup *out,
                              struct sbx_err *err) SBX_MUST_USE;

/* Version 2: the directory for clone3(CLONE_INTO_CGROUP), still owned by the group; else -1. */
int sbx_cgroup_clone_fd(const struct sbx_cgroup *group);

/* Moves the calling process into the group, between fork and exec: async-signal-safe, and works
 * whatever the process has given up since the group was made. The only way of version 1; with
 * version 2 clone3 is quicker. The first hierarchy may cost 10 ms and more, as long as the kernel
 * waits for all processors; each further one 10 us. False when one hierarchy refused: the
 * process must end then. */
bool sbx_cgroup_enter_self(const struct sbx_cgroup *group) SBX_MUST_USE;

/* Whether the kernel says that this process is in the group, in every hierarchy of it. */
bool sbx_cgroup_holds(const struct sbx_cgroup *group, pid_t pid) SBX_MUST_USE;

void sbx_cgroup_usage(const struct sbx_cgroup *group, struct sbx_cgroup_usage *out);

/* One limit, read from the kernel at the time of the call. */
struct sbx_cgroup_item {
    const char *file; /* "memory.max" */
    char wanted[24];
    char got[24]; /* "" when it could not be read */
    bool is_equal;
};

/* The items of the group by number from 0; false when there is no such number. Before a kill: that
 * changes the limit of processes. */
bool sbx_cgroup_evidence(const struct sbx_cgroup *group, size_t number,
                         struct sbx_cgroup_item *out) SBX_MUST_USE;

/* Kills every process in the group until none is left, for at most two seconds; true when none is.
 * Never kills a process that is not in the group. */
bool sbx_cgroup_kill(const struct sbx_cgroup *group);

/* Removes the directories. Processes that are just ending are waited for, up to a second; false when
 * something is left, which a later sbx_cgroup_recover removes. Descriptors stay open. */
bool sbx_cgroup_remove(const struct sbx_cgroup *group);

/* Closes the descriptors and leaves "no group"; the directories stay. */
void sbx_cgroup_release(struct sbx_cgroup *group);
#define AUTO_CGROUP SBX_CLEANUP(sbx_cgroup_release) struct sbx_cgroup

/* Ends and removes groups that dead sbx of the same user left where this one would make its own.
 * Groups of the living, of others and with other names are not touched. Bounded work; what is left
 * waits for the next call. */
void sbx_cgroup_recover(void);

#endif
