/* The keeper of a child or a box, from its start to the last of its processes.
 *
 * Usually it is a process between sbx and the child. Every process the child starts stays below it, so it can end the
 * whole tree, and it does when sbx dies or says so. It stays in sbx's process group, and so does a plain child: the
 * terminal's signals reach the child as if sbx were not there.
 *
 * A box in a process namespace that sbx makes itself needs no such process: everything in it ends with its first
 * process, and the kernel ends that one when sbx dies. Then sbx is its own keeper. */
#ifndef SBX_POSIX_KEEPER_H
#define SBX_POSIX_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/types.h>

#include "common/os.h"
#include "posix/box.h"
#include "posix/signals.h"

struct sbx_keeper;
struct sbx_report;

struct sbx_keeper_plan {
    const struct sbx_plain_run *run; /* of a box: only its limits count */
    const char *path;                /* of the program, absolute */
    const struct sbx_box *box;       /* NULL: a plain child */
    const struct sbx_signals *signals;
    bool has_terminal;                                       /* a controlling one */
    bool is_inside;                                          /* sbx is its own keeper */
    int control_fd;                                          /* readable when there are orders, */
    void (*control)(void *state, struct sbx_keeper *keeper); /* which are given then */
    void (*report)(void *state, const struct sbx_report *report);
    void *state; /* of these two */
};

/* Of a keeper that is a process. */
struct sbx_keeper_pipes {
    int control_fd; /* read end; its end of file means that sbx is gone */
    int report_fd;  /* write end */
};

/* Bytes on the control pipe: a signal number to forward, of a box any order (init_plan.h), or one of these. */
enum { SBX_CONTROL_RELEASE = 253, SBX_CONTROL_CANCEL = 255 };

/* The step of the child's birth that failed. */
enum sbx_birth {
    SBX_BIRTH_FORK,
    SBX_BIRTH_CWD,
    SBX_BIRTH_STREAMS,
    SBX_BIRTH_EXEC,
    SBX_BIRTH_BOX,    /* the helper of a box could not be started */
    SBX_BIRTH_INSIDE, /* `step` of the box's first process failed */
    SBX_BIRTH_SILENT, /* the box ended before its command began, and did not say why */
};

enum sbx_report_kind {
    SBX_REPORT_BUILT, /* of a box, only from a keeper inside sbx: `helper` has made all its mounts */
    SBX_REPORT_HELD,  /* of a box: the command waits as `pid` (in the box) below `helper`, which
                             the keeper started; `raw` is the answer to the probe */
    SBX_REPORT_STOPPED,   /* the child was stopped by `signal` */
    SBX_REPORT_CONTINUED, /* and goes on */
    SBX_REPORT_FAILED,    /* `birth` failed with `raw`; nothing ran */
    SBX_REPORT_DONE,      /* `outcome` */
};

struct sbx_report {
    enum sbx_report_kind kind;
    int signal;
    int pid, helper;
    enum sbx_birth birth;
    int step;
    int raw; /* errno */
    struct sbx_outcome outcome;
};

/* Runs in the forked keeper with all signals blocked. What the plan says of control and report does not count. */
noreturn void sbx_keeper_main(const struct sbx_keeper_plan *plan,
                              const struct sbx_keeper_pipes *pipes);

/* ---- step by step, for a keeper inside sbx ---- */

/* NULL: no memory. */
struct sbx_keeper *sbx_keeper_new(void);
void sbx_keeper_free(struct sbx_keeper *keeper);

/* Starts the child. The plan is kept until the end. That it could not is told at the end. */
void sbx_keeper_start(struct sbx_keeper *keeper, const struct sbx_keeper_plan *plan);

/* Waits for something to happen, and deals with it; false when it is time to end. */
bool sbx_keeper_step(struct sbx_keeper *keeper) SBX_MUST_USE;

/* Ends what is left, passes on the rest of the output, undoes what was done on the host, and gives the last report:
 * SBX_REPORT_FAILED or SBX_REPORT_DONE. */
void sbx_keeper_end(struct sbx_keeper *keeper);

void sbx_keeper_order(struct sbx_keeper *keeper, unsigned char order);

/* The time limit, when it was not known at the start; 0: none. It counts from there all the same. */
void sbx_keeper_limit(struct sbx_keeper *keeper, uint64_t timeout_ns);

/* From now on, for a program that ends soon after: the first process of a box that is just ending is not waited for, and
 * left to the system. Every other process of the box is gone all the same. */
void sbx_keeper_leave_rest(void);

/* Nobody waits for the answer any more. */
void sbx_keeper_caller_gone(struct sbx_keeper *keeper);

#endif
