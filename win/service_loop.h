/* What the service does between its start and its end: waits for clients, looks who they are, hands them to launchers. It
 * reads no more of a client than the first bytes, and looks at none of them. */
#ifndef SBX_WIN_SERVICE_LOOP_H
#define SBX_WIN_SERVICE_LOOP_H

#include "win/door.h"
#include "win/eventlog.h"
#include "win/launcher.h"

enum { SBX_SERVICE_SESSIONS = 16 };

struct sbx_service_loop {
    HANDLE stop;       /* set to end it */
    HANDLE logged_off; /* set when `sessions` has something; both are for any thread */
    SRWLOCK lock;      /* of these two: */
    DWORD sessions[SBX_SERVICE_SESSIONS];
    size_t session_count;
    struct sbx_eventlog log;
    struct sbx_door door;
    struct sbx_launcher launchers[SBX_LAUNCHERS_MAX];
    void (*progress)(void *owner); /* told now and then while it ends */
    void *owner;
};

/* Makes the pipe. Nothing is left on failure. The loop must not be moved afterwards. */
enum sbx_code sbx_service_loop_open(struct sbx_service_loop *loop,
                                    struct sbx_err *err) SBX_MUST_USE;

/* Serves until `stop` is set, then asks the launchers to end, waits some seconds for them, and ends what is left. A
 * failure is one of waiting itself. */
enum sbx_code sbx_service_loop_run(struct sbx_service_loop *loop, struct sbx_err *err) SBX_MUST_USE;

/* From any thread: everything that runs in that session ends. */
void sbx_service_loop_log_off(struct sbx_service_loop *loop, DWORD session);

/* Ends everything. */
void sbx_service_loop_close(struct sbx_service_loop *loop);

#endif
