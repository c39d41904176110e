/* A box as the keeper sees it: a helper program that builds it, the pipes to its first process, and what has
 * to be done on the host around it. Everything is prepared before the keeper is forked: it allocates nothing. */
#ifndef SBX_POSIX_BOX_H
#define SBX_POSIX_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/types.h>

#include "common/run/outcome.h"
#include "common/run/record.h"
#include "posix/init_plan.h"
#include "posix/pump.h"
#include "posix/signals.h"

/* One refusal that was seen inside, cut when it is too long to be told whole. */
struct sbx_box_event {
    int32_t what, error;
    uint32_t length;
    char path[SBX_SAID_TEXT];
};

/* Memory that sbx and its keeper share: what the keeper saw, for sbx to read when all is over. */
struct sbx_box_share {
    struct sbx_tail tail;                /* of standard error */
    char failed_path[SBX_SAID_TEXT + 1]; /* what could not be built; "": not about a path */
    uint32_t event_count;
    uint64_t events_dropped;
    struct sbx_box_event events[SBX_EVENT_MAX];
};

#define SBX_BOX_FDS 4096 /* at most as many are passed to the helper */

/* A descriptor that the helper is started with. */
struct sbx_box_fd {
    int from, to;
};

struct sbx_box_child;

struct sbx_box {
    const char *program;     /* absolute */
    const char *const *argv; /* ends with NULL */
    const char *const *env;
    const struct sbx_box_fd *fds; /* besides the standard streams */
    size_t fd_count;
    int orders_fd;      /* write end to the first process */
    int reports_fd;     /* read end, not blocking */
    int diagnostics_fd; /* what the helper itself says; the command's standard error is another */
    int hold_fd;        /* write end to the held process: one byte lets it go */
    int helper_orders_fd, helper_reports_fd,
        helper_hold_fd;    /* the other ends, closed in the keeper */
    int terminal_fd;       /* master of the box's own terminal; -1: none */
    int terminal_slave_fd; /* closed in the keeper */
    bool is_namespace;     /* its first process is pid 1 and alone sees the others */
    bool watches_stderr;   /* its tail is kept, to explain a denial */
    bool is_warm; /* its command comes later, not through the keeper, and its time begins then: */
    int timer_fd; /* whoever sends the command sets it to the end of that time */
    struct sbx_box_share *share;

    void *state; /* of these five, any of which may be NULL */
    /* Makes the helper inside new namespaces: sbx_box_child_main with this. As fork(2), but returns only here. */
    pid_t (*fork)(void *state, const struct sbx_box_child *child);
    bool (*enter)(void *state);                                /* in the helper, before exec */
    enum sbx_limit (*tick)(void *state);                       /* a limit that was passed */
    void (*account)(void *state, struct sbx_outcome *outcome); /* before undo */
    void (*undo)(void *state);                                 /* no process is left */
    int tick_ms;
    bool has_undo; /* there is something on the host that only goes when the box is empty */
};

/* Between fork and exec, with all signals blocked. */
struct sbx_box_child {
    const struct sbx_box *box;
    const struct sbx_signals *signals;
    pid_t parent;
    int birth_fd;
    int stdin_fd, stdout_fd, stderr_fd; /* -1: sbx's own */
};
noreturn void sbx_box_child_main(const struct sbx_box_child *plan);

#endif
