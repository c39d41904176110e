/* The keeper: a process between sbx and a plain child. Every process the child starts stays below
 * it, so it can end the whole tree, and it does when sbx dies or says so. It also goes on while the
 * shell has stopped sbx. It stays in sbx's process group, and so does the child: the terminal's
 * signals reach the child as if sbx were not there. */
#ifndef SBX_POSIX_KEEPER_H
#define SBX_POSIX_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/types.h>

#include "common/os.h"
#include "posix/box.h"
#include "posix/signals.h"

struct sbx_keeper_plan {
    const struct sbx_plain_run *run; /* of a box: only its limits count */
    const char *path;                /* of the program, absolute */
    const struct sbx_box *box;       /* NULL: a plain child */
    const struct sbx_signals *signals;
    bool has_terminal; /* a controlling one */
    int control_fd;    /* read end; its end of file means that sbx is gone */
    int report_fd;     /* write end */
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
    SBX_REPORT_HELD,      /* of a box: the command waits as `pid` (in the box) below `helper`, which
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

/* Runs in the forked keeper with all signals blocked. */
noreturn void sbx_keeper_main(const struct sbx_keeper_plan *plan);

#endif
