/* The port on which the kernel tells what happens in a job. */
#include <stdlib.h>

#include "win/fault.h"
#include "win/handle.h"
#include "win/job.h"

#include "common/base/banned.h"

/* Keys of the port: the job's, and our own "stop". */
enum { KEY_JOB = 1, KEY_STOP = 2, STOP_WAIT_MS = 2000 };

struct sbx_job_port {
    HANDLE port;
    HANDLE thread;
    struct sbx_job_messages messages; /* the thread's until it ended */
};

static void note(struct sbx_job_messages *messages, DWORD message)
{
    const struct {
        DWORD message;
        uint32_t *count;
    } rows[] = {
        {JOB_OBJECT_MSG_PROCESS_MEMORY_LIMIT, &messages->process_memory},
        {JOB_OBJECT_MSG_JOB_MEMORY_LIMIT, &messages->memory},
        {JOB_OBJECT_MSG_END_OF_PROCESS_TIME, &messages->process_time},
        {JOB_OBJECT_MSG_END_OF_JOB_TIME, &messages->time},
        {JOB_OBJECT_MSG_ACTIVE_PROCESS_LIMIT, &messages->processes},
        {JOB_OBJECT_MSG_ABNORMAL_EXIT_PROCESS, &messages->abnormal},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        if (rows[i].message == message) {
            ++*rows[i].count;
        }
    }
}

static DWORD WINAPI listen(void *argument)
{
    struct sbx_job_port *port = argument;
    DWORD message;
    ULONG_PTR key;
    LPOVERLAPPED unused;
    while (sbx_win()->GetQueuedCompletionStatus(port->port, &message, &key, &unused, INFINITE) &&
           key != KEY_STOP) {
        note(&port->messages, message);
    }
    return 0;
}

static enum sbx_code open_parts(HANDLE job, struct sbx_job_port *port, struct sbx_err *err)
{
    port->port = sbx_win()->CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 1);
    if (port->port == NULL) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateIoCompletionPort", "cannot listen to the job");
    }
    /* The key is a number that comes back, not an address. */
    JOBOBJECT_ASSOCIATE_COMPLETION_PORT link = {(PVOID)(ULONG_PTR)KEY_JOB, port->port};
    if (!sbx_win()->SetInformationJobObject(job, JobObjectAssociateCompletionPortInformation, &link,
                                            sizeof link)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "SetInformationJobObject", "cannot listen to the job");
    }
    port->thread = sbx_win()->CreateThread(NULL, 0, listen, port, 0, NULL);
    if (port->thread == NULL) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateThread", "cannot listen to the job");
    }
    return SBX_OK;
}

enum sbx_code sbx_job_port_open(HANDLE job, struct sbx_job_port **out, struct sbx_err *err)
{
    struct sbx_job_port *port = calloc(1, sizeof *port);
    if (port == NULL) {
        return sbx_err_nomem(err);
    }
    enum sbx_code code = open_parts(job, port, err);
    if (code != SBX_OK) {
        sbx_handle_close(&port->port);
        free(port);
        return code;
    }
    *out = port;
    return SBX_OK;
}

void sbx_job_port_close(struct sbx_job_port *port, struct sbx_job_messages *out)
{
    if (port == NULL) {
        return;
    }
    /* Behind everything that the kernel has queued. The port is not closed under the thread: its number could be
     * another handle's by then. */
    if (!sbx_win()->PostQueuedCompletionStatus(port->port, 0, KEY_STOP, NULL)) {
        (void)sbx_win()->PostQueuedCompletionStatus(port->port, 0, KEY_STOP, NULL);
    }
    bool has_ended = sbx_handle_has_ended(port->thread, STOP_WAIT_MS);
    sbx_handle_close(&port->thread);
    if (has_ended) {
        if (out != NULL) {
            *out = port->messages;
        }
        sbx_handle_close(&port->port);
        free(port);
    } /* else it is the thread's for good */
}

enum sbx_limit sbx_job_limit_met(const struct sbx_job_messages *messages,
                                 const struct sbx_job_limits *limits,
                                 const struct sbx_outcome *outcome)
{
    bool is_cpu = messages->process_time > 0 || messages->time > 0 ||
                  (limits->cpu_secs != 0 && outcome->exit_code == ERROR_NOT_ENOUGH_QUOTA &&
                   outcome->cpu_ns >= limits->cpu_secs * UINT64_C(1000000000));
    if (is_cpu) {
        return SBX_LIMIT_CPU;
    }
    if (outcome->exit_code == 0) {
        return SBX_LIMIT_NONE;
    }
    if (messages->memory > 0 || messages->process_memory > 0) {
        return SBX_LIMIT_MEMORY;
    }
    return messages->processes > 0 ? SBX_LIMIT_PROCESSES : SBX_LIMIT_NONE;
}
