/* What a backend brings back of one run: how it ended, what the command said last, what the box refused
 * and what was read back from the kernel. Nothing here crosses a pipe: only the outcome does. */
#ifndef SBX_RUN_RECORD_H
#define SBX_RUN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/names.h"
#include "common/base/str.h"
#include "common/run/outcome.h"
#include "common/run/progress.h"

/* Most that a backend keeps; what comes later is dropped (events) or pushes out what came first
 * (standard error). */
#define SBX_STDERR_TAIL_MAX ((size_t)64 << 10)
#define SBX_EVENT_MAX ((size_t)64)

/* What was tried. */
enum sbx_operation {
    SBX_TRIED_READ,
    SBX_TRIED_WRITE,
    SBX_TRIED_CREATE,
    SBX_TRIED_REMOVE,
    SBX_TRIED_RENAME,
    SBX_TRIED_LINK,
    SBX_TRIED_MODE, /* permissions, owner, times or attributes */
    SBX_TRIED_EXECUTE,
    SBX_TRIED_RESOLVE, /* a host's name */
    SBX_TRIED_CONNECT, /* to a host or a socket */
    SBX_TRIED_CALL,    /* a system call as such */
};
extern const struct sbx_name sbx_operation_names[];

/* A refusal that the box itself saw, so not a guess. */
struct sbx_event {
    enum sbx_operation operation;
    struct sbx_str path; /* absolute; bytes, as the command gave them */
    int error;           /* errno as the command got it */
};

/* One fact about the box, read back after it was built. */
struct sbx_evidence {
    const char *what; /* "namespaces.user" */
    const char *wanted;
    const char *got;
    bool ok;
};

/* Zero is a run that brought nothing. Everything lives in the arena of the run. */
struct sbx_run_record {
    const struct sbx_progress
        *progress; /* set by the caller: long work is told there; may be NULL */
    struct sbx_outcome outcome;
    struct sbx_str stderr_tail; /* any bytes; its first line may be cut; empty: not seen by sbx */
    const struct sbx_event *events;
    size_t event_count;
    uint64_t events_dropped;
    const char
        *killed_call; /* the system call that SIGSYS ended it for; NULL: none, or not known */
    const struct sbx_evidence *evidence;
    size_t evidence_count;
    const char *const
        *warnings; /* what could not be undone, and where it is noted: never the command's fault */
    size_t warning_count;
    const char *diagnosis; /* why a command that ended at once may have; NULL: nothing is known */
};

/* Who wants to know when the command of this process' run starts, with what was read back of its box; one at a time. */
typedef void sbx_on_start(void *state, const struct sbx_evidence *evidence, size_t count);
void sbx_run_on_start(sbx_on_start *tell, void *state);

/* A backend says so, once, when nothing holds the command any more. */
void sbx_run_starts(const struct sbx_evidence *evidence, size_t count);

#endif
