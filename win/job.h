/* A job object: a process tree that ends as one, and when its last handle is closed; for a box with limits that
 * the kernel holds, and a port on which it tells which of them was met. */
#ifndef SBX_WIN_JOB_H
#define SBX_WIN_JOB_H

#include <stdint.h>

#include "common/os.h"
#include "common/run/evidence.h"
#include "win/winapi.h"

/* What a box gets; zero means no limit of that kind. */
struct sbx_job_limits {
    uint64_t process_memory_bytes; /* committed memory of one process */
    uint64_t memory_bytes;         /* of all */
    uint64_t cpu_secs;             /* time in user mode, of one process and of all */
    uint32_t processes;            /* alive at once */
};

/* What its processes may not do to the desktop they share. */
#define SBX_JOB_UI_LIMITS                                                                          \
    (JOB_OBJECT_UILIMIT_HANDLES | JOB_OBJECT_UILIMIT_READCLIPBOARD |                               \
     JOB_OBJECT_UILIMIT_WRITECLIPBOARD | JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS |                     \
     JOB_OBJECT_UILIMIT_DISPLAYSETTINGS | JOB_OBJECT_UILIMIT_GLOBALATOMS |                         \
     JOB_OBJECT_UILIMIT_DESKTOP | JOB_OBJECT_UILIMIT_EXITWINDOWS)

/* A job that dies with its handle and that no process can leave. With limits: those of a box, too. */
enum sbx_code sbx_job_open(const struct sbx_job_limits *limits, HANDLE *out,
                           struct sbx_err *err) SBX_MUST_USE;

/* Reads back what the kernel has of them. */
void sbx_job_prove(struct sbx_evidence_list *list, HANDLE job, const struct sbx_job_limits *limits);

/* Ends every process in it and waits, for at most five seconds, until they are gone; false: some are not. */
bool sbx_job_end(HANDLE job);

/* Time and memory of the tree, at least those of `process`, into the outcome. */
void sbx_job_account(HANDLE job, HANDLE process, struct sbx_outcome *outcome);

/* ---- the port (job_port.c) ---- */

/* What the kernel said; read after sbx_job_port_close. */
struct sbx_job_messages {
    uint32_t process_memory; /* allocations refused */
    uint32_t memory;
    uint32_t process_time; /* processes ended for it */
    uint32_t time;
    uint32_t processes; /* starts refused */
    uint32_t abnormal;  /* processes that ended by an exception */
};

struct sbx_job_port;

/* Listens on a thread of its own. Must be there before the first process is in the job. */
enum sbx_code sbx_job_port_open(HANDLE job, struct sbx_job_port **out,
                                struct sbx_err *err) SBX_MUST_USE;

/* Takes what is still queued, stops listening, and says what came. NULL is allowed. */
void sbx_job_port_close(struct sbx_job_port *port, struct sbx_job_messages *out);

/* Which limit ended a command that ended like this. Pure. A refused allocation or start counts only when the command
 * failed: one that goes on and succeeds was not ended by it. */
enum sbx_limit sbx_job_limit_met(const struct sbx_job_messages *messages,
                                 const struct sbx_job_limits *limits,
                                 const struct sbx_outcome *outcome);

#endif
