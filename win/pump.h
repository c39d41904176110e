/* Carries one output stream of a child to ours, up to a maximum, on a thread of its own. */
#ifndef SBX_WIN_PUMP_H
#define SBX_WIN_PUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <windows.h>

#include "common/base/err.h"

struct sbx_pump;

/* Makes the pipe and the thread. *child_end is the caller's, to be closed once the child has it.
 * `over` is set (an event) when the child writes more than max_bytes. */
enum sbx_code sbx_pump_open(struct sbx_pump **out, HANDLE sink, uint64_t max_bytes, HANDLE over,
                            HANDLE *child_end, struct sbx_err *err) SBX_MUST_USE;

/* Signalled when everything is passed on. */
HANDLE sbx_pump_thread(const struct sbx_pump *pump);

/* Stops waiting for a reader that does not read. */
void sbx_pump_hurry(const struct sbx_pump *pump);

bool sbx_pump_is_over(const struct sbx_pump *pump);

/* Ends it and returns how many bytes were passed on. NULL is allowed. A thread that cannot be
 * stopped keeps its memory. */
uint64_t sbx_pump_close(struct sbx_pump *pump);

#endif
