/* A Linux box from plan to record: what every Linux backend shares. A backend adds the helper that builds the
 * box and what has to be read back while the command is held. */
#ifndef SBX_POSIX_LINUX_LAUNCH_H
#define SBX_POSIX_LINUX_LAUNCH_H

#include "common/run/backend.h"
#include "posix/attend.h"
#include "posix/box.h"
#include "posix/identity.h"
#include "posix/init_block.h"
#include "posix/keeper.h"
#include "posix/linux_cgroup.h"
#include "posix/linux_evidence.h"
#include "posix/linux_heir.h"
#include "posix/linux_mounts.h"
#include "posix/linux_seccomp.h"
#include "posix/linux_session.h"

enum { SBX_LAUNCH_FILTERS = 6 };

/* A first look at a box. It holds as long as nothing was mounted since, and of a process in the same namespaces. */
struct sbx_early {
    bool is_taken;
    size_t mark;   /* its evidence begins here */
    int mounts_fd; /* the kernel marks it when a mount changes */
    char mounts[SBX_NAMESPACE_BYTES], users[SBX_NAMESPACE_BYTES];
    uint64_t root_mount, root_inode;
};

/* Zero it, then sbx_launch_open. */
struct sbx_launch {
    struct sbx_arena *arena;
    const struct sbx_plan *plan;
    const char *const *env; /* of the command */
    const char *program;    /* the command's, absolute, as found outside */
    struct sbx_init_block block;
    enum sbx_filter filters[SBX_LAUNCH_FILTERS]; /* in the order they are loaded */
    size_t filter_count;
    bool watches_names; /* besides them, */
    enum sbx_filter
        watch; /* this one, which asks sbx-init: SBX_FILTER_NAMES or SBX_FILTER_CHANGES */
    unsigned landlock_abi;
    struct sbx_account account;            /* whom the box runs as */
    const struct sbx_session_net *session; /* the network it shares; NULL: one of its own */
    struct sbx_cgroup cgroup;
    bool is_ready;
    bool is_warm;         /* set before it is opened: the box is built without a command (pool.h) */
    bool is_inside;       /* likewise: sbx is its own keeper (keeper.h) */
    bool is_trial;        /* likewise: the command never will be let go */
    bool is_released;     /* it was */
    bool adopts;          /* orphans of the keeper become our children, and only they do */
    struct sbx_heir heir; /* of the group, until the keeper has it */
    uint64_t cpu_limit_ns; /* 0: none, or not counted for the tree */
    char scratch[512];     /* a private directory on the host; "": none */

    int init_fd, plan_fd, diagnostics_fd;
    int orders[2], reports[2], hold[2]; /* read end, write end */
    struct sbx_box_share *share;
    struct sbx_box_fd fds[SBX_BOX_FDS];
    size_t fd_count;

    struct sbx_box box;
    struct sbx_plain_run run; /* its limits */
    struct sbx_attend attend;
    struct sbx_attendant attendant; /* once it was begun */
    struct sbx_evidence_list evidence;
    enum sbx_code verify_code; /* why the box was not released */
    struct sbx_err verify_err;
    void *state;          /* of the backend */
    bool compares_mounts; /* with those of sbx */
    struct sbx_own own;   /* read while the box is made */
    struct sbx_early
        early; /* what of the box was read back already, while it was confining itself */
    /* In the helper, in place of entering the group and becoming the account; NULL: that. */
    bool (*enter)(struct sbx_launch *launch);
    /* Reads back what can be by now, of the box that `built` tells about; NULL: everything waits for `verify`. */
    void (*look)(struct sbx_launch *launch, const struct sbx_report *built);
    /* Reads back what is the backend's own, of the box that `held` tells about. The evidence decides. */
    void (*verify)(struct sbx_launch *launch, const struct sbx_report *held);
    /* What the backend kept until then; NULL: nothing. */
    void (*settle)(struct sbx_launch *launch);
};

/* Does this policy have a limit that a control group holds? */
bool sbx_launch_wants_group(const struct sbx_policy *policy);

/* What every launch has and no plan decides: pipes, sbx-init, an empty block. The plan's part follows with
 * sbx_launch_open, which does this too where it was not done. */
enum sbx_code sbx_launch_ready(struct sbx_launch *launch, struct sbx_err *err) SBX_MUST_USE;

/* Finds the command, makes its environment, limits, filters and pipes; recovers what dead runs left. Without a command
 * there are no program, arguments and variables, and the calling process adopts no orphans. */
enum sbx_code sbx_launch_open(struct sbx_launch *launch, struct sbx_arena *arena,
                              const struct sbx_plan *plan, struct sbx_err *err) SBX_MUST_USE;
void sbx_launch_close(struct sbx_launch *launch);
#define AUTO_LAUNCH SBX_CLEANUP(sbx_launch_close) struct sbx_launch

/* Not found and denied are what is said of a command; of anything else it is an ordinary failure. */
enum sbx_code sbx_launch_setup_failed(enum sbx_code code, struct sbx_err *err);

void sbx_launch_filter(struct sbx_launch *launch, enum sbx_filter which);

/* Gives the helper one more descriptor under this number. */
void sbx_launch_pass(struct sbx_launch *launch, int fd, int number);

/* Tells sbx-init where names may be made, and which not; from now on creating calls are watched if the policy asks for it. */
enum sbx_code sbx_launch_names(struct sbx_launch *launch, const struct sbx_mounts *mounts,
                               const struct sbx_found_list *found,
                               struct sbx_err *err) SBX_MUST_USE;

/* For a box without mounts: modes and times are changed by sbx-init, in writable places only. */
enum sbx_code sbx_launch_changes(struct sbx_launch *launch, struct sbx_err *err) SBX_MUST_USE;

/* Evidence that is the same for every backend: limits, group, descriptors, environment. */
void sbx_launch_evidence(struct sbx_launch *launch, const struct sbx_proc *held);

/* The first part of sbx_launch_open alone, for a look at what a box would be told now: no process, pipe or group is made.
 * `version` of the group is that of the box it is compared with. The block is all that has to be released. */
void sbx_launch_look(struct sbx_launch *launch, struct sbx_arena *arena,
                     const struct sbx_plan *plan, const struct sbx_account *account,
                     enum sbx_cgroup_version version);

/* Starts the helper of the box, which waits for its block. `launch->box` says by now what it is started with. */
enum sbx_code sbx_launch_begin(struct sbx_launch *launch, struct sbx_err *err) SBX_MUST_USE;

/* Seals the block, which the helper waits for or is started with next. */
enum sbx_code sbx_launch_seal(struct sbx_launch *launch, struct sbx_err *err) SBX_MUST_USE;

/* Fills the rest of what the keeper has to know. sbx_launch_begin and sbx_launch_run do so themselves. */
void sbx_launch_fill(struct sbx_launch *launch);

/* What is the helper's alone is closed here, once it is started, and where the keeper is a process, what is the keeper's:
 * an end of file would never come. */
void sbx_launch_part(struct sbx_launch *launch);

/* Reads everything back while the command is held; true when all is as planned. */
bool sbx_launch_verify(struct sbx_launch *launch, const struct sbx_report *held) SBX_MUST_USE;

/* Events and evidence, not the outcome, as far as they are known. */
void sbx_launch_record(const struct sbx_launch *launch, struct sbx_run_record *out);

/* Runs the helper to the end of the box. `launch->block` and `launch->box` are filled by now; it was begun or is now. */
enum sbx_code sbx_launch_run(struct sbx_launch *launch, struct sbx_run_record *out,
                             struct sbx_err *err) SBX_MUST_USE;

#endif
