/* sbx's side of a run, from the fork of the keeper to its last report. */
#ifndef SBX_POSIX_ATTEND_H
#define SBX_POSIX_ATTEND_H

#include <stdbool.h>

#include "posix/keeper.h"

struct sbx_attend {
    const struct sbx_plain_run *run;
    const char *path;          /* of a plain child */
    const struct sbx_box *box; /* NULL: a plain child */
    bool
        is_trial; /* nothing will run: a signal that comes meanwhile is for sbx, and is not lost in the box */
    void *state;
    void (*parted)(void *state); /* the keeper is forked: what is its own can be closed; or NULL */
    /* The command of a box is held; the answer says whether it may run. */
    bool (*verify)(void *state, const struct sbx_report *held);
};

/* Forks the keeper and stays with it until the end. *final is what it said last; SBX_REPORT_STOPPED when it
 * died silently. False with errno when it could not be forked. */
bool sbx_attend(const struct sbx_attend *plan, struct sbx_report *final) SBX_MUST_USE;

#endif
