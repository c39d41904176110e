/* The smallest run of a box that has every step: token, job, profile, pipe, suspended process, checks, resume. It is
 * written against the table alone, so that tests of the model need nothing of the pipeline. */
#ifndef SBX_TESTS_UNIT_NT_RUN_H
#define SBX_TESTS_UNIT_NT_RUN_H

#include <stdbool.h>

#include "win/winapi.h"

struct nt_run {
    /* What the test may ask for; zero is the plain run. */
    const wchar_t *program; /* NULL: cmd.exe */
    const wchar_t *directory;
    const wchar_t *desktop;
    bool is_lpac;
    bool denies_users;         /* makes Users deny-only, the rung that no box starts on */
    unsigned network;          /* number of a network capability, 0: none */
    const wchar_t *capability; /* named, NULL: none */
    DWORD limit_flags;         /* with kill on close besides */
    DWORD processes;
    DWORD ui_limits;
    uint64_t process_memory_bytes;
    uint64_t job_memory_bytes;
    uint64_t job_time_ms;
    uint64_t process_time_ms;
    DWORD creation_flags;
    /* What came out. */
    const char *failed; /* the call, NULL when none */
    DWORD code;         /* its raw code */
    DWORD exit_code;
    DWORD integrity;
    bool was_in_job;
    bool was_box;
    char output[512];
    DWORD messages[32]; /* of the job */
    size_t message_count;
};

void nt_run(struct nt_run *run);

#endif
