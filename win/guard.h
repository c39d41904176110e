/* A wall clock around work that may never come back: creating a profile is a call to a service, and virus
 * scanners hold processes back; both were seen to stall for two minutes. */
#ifndef SBX_WIN_GUARD_H
#define SBX_WIN_GUARD_H

#include <stdbool.h>

#include "win/winapi.h"

#define SBX_GUARD_MS 15000

struct sbx_guard;

/* Runs on a thread of its own. */
typedef enum sbx_code sbx_guard_work(void *state, struct sbx_guard *guard, struct sbx_err *err);

/* Gives the code and the error of `work`. When no sign of life comes from it for limit_ms: SBX_E_UNAVAILABLE with
 * what it was doing, and *has_stalled; its thread goes no further than its next sign of life, `state` stays as it is and must not be
 * touched again, and what it holds is undone by the system when sbx ends, the rest by recovery. */
enum sbx_code sbx_guard_run(sbx_guard_work *work, void *state, DWORD limit_ms, bool *has_stalled,
                            struct sbx_err *err) SBX_MUST_USE;

/* A sign of life, from the work itself: what is done now (a static text). NULL is allowed. */
void sbx_guard_alive(struct sbx_guard *guard, const char *doing);

#endif
