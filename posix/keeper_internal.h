/* The parts of the keeper, for themselves. No allocation. */
#ifndef SBX_POSIX_KEEPER_INTERNAL_H
#define SBX_POSIX_KEEPER_INTERNAL_H

#include <sys/resource.h>

#include "posix/child.h"
#include "posix/keeper.h"
#include "posix/reports.h"
#include "posix/streams.h"

struct sbx_keeper {
    const struct sbx_keeper_plan *plan;
    bool adopts;                /* orphans become our children */
    bool own_group;             /* the child leads a process group; only where orphans get lost */
    pid_t child;                /* 0 once reaped: its number is no longer ours to signal */
    int wake_fd;                /* readable when a child ended or changed */
    int birth_fd;               /* -1 once the child is born or has failed */
    struct sbx_reports reports; /* of a box's first process */
    struct sbx_streams streams;
    bool caller_gone;
    bool is_failed;
    struct sbx_birth_failure failure;
    int failed_step; /* of the box's first process */
    int status;      /* of waitpid */
    bool has_status; /* of a box: it was told */
    bool is_watching,
        may_go; /* of a box: its first process is ready, the command may run. It is let go with both */
    uint64_t begin_ns;
    uint64_t deadline_ns;  /* 0: none */
    uint64_t grace_end_ns; /* 0: not asked to end yet */
    bool must_end;         /* the tree must, now */
    bool is_ended;         /* and has */
    bool hurries;          /* no reader of the output is waited for any more */
    struct rusage usage;   /* of a box that was kept inside sbx */
    struct sbx_outcome outcome;
};

void sbx_keeper_report(const struct sbx_keeper *keeper, const struct sbx_report *message);

/* keeper_birth.c: opens the streams and starts the child; false with errno. */
bool sbx_keeper_bear(struct sbx_keeper *keeper) SBX_MUST_USE;

/* Whether it became the program, or the helper of a box; waits for that. */
void sbx_keeper_read_birth(struct sbx_keeper *keeper);

/* keeper_tree.c: a signal to the child; of a box any order. */
void sbx_keeper_signal(const struct sbx_keeper *keeper, int number);

/* A request to end that can be handled, to every process. */
void sbx_keeper_ask_all(const struct sbx_keeper *keeper);

/* Takes in every child that ended or changed; false when there is none left. */
bool sbx_keeper_reap(struct sbx_keeper *keeper);

/* What made the keeper's wake descriptor readable is dealt with. */
void sbx_keeper_take_wake(const struct sbx_keeper *keeper);

/* Kills all of it, and waits for that, but not for ever. */
void sbx_keeper_end_tree(struct sbx_keeper *keeper);

#endif
