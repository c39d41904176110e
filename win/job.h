/* A job object: a process tree that ends as one, and when its last handle is closed. */
#ifndef SBX_WIN_JOB_H
#define SBX_WIN_JOB_H

#include <windows.h>

#include "common/os.h"

/* A job that dies with its handle and that no process can leave. */
enum sbx_code sbx_job_open(HANDLE *out, struct sbx_err *err) SBX_MUST_USE;

/* Ends every process in it and waits, for at most five seconds, until they are gone. */
void sbx_job_end(HANDLE job);

/* Time and memory of the tree, at least those of `process`, into the outcome. */
void sbx_job_account(HANDLE job, HANDLE process, struct sbx_outcome *outcome);

#endif
