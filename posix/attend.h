/* sbx's side of a run, from the start of its keeper to the last report. */
#ifndef SBX_POSIX_ATTEND_H
#define SBX_POSIX_ATTEND_H

#include <stdbool.h>

#include "posix/keeper.h"
#include "posix/terminal.h"

struct sbx_attend {
    const struct sbx_plain_run *run;
    const char *path;          /* of a plain child */
    const struct sbx_box *box; /* NULL: a plain child */
    bool
        is_inside; /* sbx is its own keeper: the box is a process namespace that sbx makes (keeper.h) */
    bool
        is_trial; /* nothing will run: a signal that comes meanwhile is for sbx, and is not lost in the box */
    void *state;
    /* The box stands, and confines itself now: there is time for a first look at it. NULL: none is taken. */
    void (*look)(void *state, const struct sbx_report *built);
    /* The command of a box is held; the answer says whether it may run. */
    bool (*verify)(void *state, const struct sbx_report *held);
    /* It runs: what is not needed any more can go while there is time. NULL: nothing. */
    void (*settle)(void *state);
};

/* Its parts are attend.c's own. Zero: nothing to abandon. */
struct sbx_attendant {
    const struct sbx_attend *plan;
    int event_read, event_write; /* of the caught signals */
    int control_write;           /* to a keeper that is a process */
    int report_read;             /* from it */
    pid_t keeper_pid;
    struct sbx_keeper *keeper; /* inside sbx; NULL: it is a process */
    struct sbx_keeper_plan kept;
    struct sbx_signals signals;
    bool has_signals;
    struct sbx_modes modes; /* of the terminal, when the keeper cannot put them back */
    bool has_terminal;
    bool is_box;
    bool has_own_terminal; /* the box */
    bool lends_terminal;   /* the box holds the caller's, and could read it */
    bool is_box_stopped;
    bool was_told_to_stop; /* a stop signal has reached sbx since the child last went on */
    int stopped_by;        /* 0: the child runs */
    uint64_t last_interrupt_ns;
    struct sbx_report last;
    bool is_over; /* that was it */
};

/* Starts the keeper, and it the child or the box. Both structures are kept until the end. False with errno, and
 * nothing is left then. */
bool sbx_attend_begin(struct sbx_attendant *attendant, const struct sbx_attend *plan) SBX_MUST_USE;

/* Stays with it until the end: what it said last; SBX_REPORT_STOPPED when it died silently. */
struct sbx_report sbx_attend_end(struct sbx_attendant *attendant) SBX_MUST_USE;

/* Instead: ends it at once. Nothing happens when it was not begun, or has ended. */
void sbx_attend_abandon(struct sbx_attendant *attendant);

#endif
