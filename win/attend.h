/* A command from its release to the end of its tree: waits, carries, ends, accounts. The same for a box and for a
 * plain child. */
#ifndef SBX_WIN_ATTEND_H
#define SBX_WIN_ATTEND_H

#include <stdbool.h>

#include "common/os.h"
#include "win/pump.h"

struct sbx_attend {
    /* Set by the caller, and the caller's. */
    HANDLE job;
    HANDLE process;
    HANDLE thread; /* suspended */
    HANDLE alarm;  /* an event that ends the run as `alarm_limit`; NULL: none */
    enum sbx_limit alarm_limit;
    uint64_t timeout_ns;       /* 0: none */
    void (*tick)(void *state); /* called four times a second; NULL: never */
    void (*ended)(
        void *state); /* called when the tree is gone, before the rest of its output; NULL: never */
    void *state;
    /* Filled by the caller where sbx carries a stream; closed by sbx_attend_release. */
    struct sbx_pump *output[2];
    struct sbx_pump *input;
    /* Events, by sbx_attend_init. */
    HANDLE cancel;
    HANDLE over; /* an output met its maximum */
    HANDLE done;
    /* Results. */
    struct sbx_outcome outcome;
    bool is_tree_left; /* something did not end within five seconds */
    uint64_t begin_ns, deadline_ns;
};

enum sbx_code sbx_attend_init(struct sbx_attend *attend, struct sbx_err *err) SBX_MUST_USE;

/* Resumes the thread and comes back when the whole tree has ended. Fails only when it cannot be resumed; the tree is
 * ended then too. */
enum sbx_code sbx_attend_run(struct sbx_attend *attend, struct sbx_err *err) SBX_MUST_USE;

/* Lets go what init and the caller filled; not job, process and thread. */
void sbx_attend_release(struct sbx_attend *attend);

#endif
