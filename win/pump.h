/* Carries one stream between a child and the caller on a thread of its own: outputs up to a maximum, with the end of
 * it kept; inputs that the child must not have the handle of. */
#ifndef SBX_WIN_PUMP_H
#define SBX_WIN_PUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "win/winapi.h"

struct sbx_pump;

struct sbx_pump_plan {
    HANDLE sink;        /* borrowed; NULL: what comes is dropped */
    uint64_t max_bytes; /* 0: no maximum */
    HANDLE over;        /* an event, borrowed: set when the child writes more than that */
    size_t tail_bytes;  /* how much of the end is kept; 0: nothing */
};

/* Makes the pipe and the thread. *child_end is the caller's, to be closed once the child has it. */
enum sbx_code sbx_pump_open(const struct sbx_pump_plan *plan, struct sbx_pump **out,
                            HANDLE *child_end, struct sbx_err *err) SBX_MUST_USE;

/* The other direction: reads `source` (borrowed) until its end, or until nobody reads any more. */
enum sbx_code sbx_pump_open_input(HANDLE source, struct sbx_pump **out, HANDLE *child_end,
                                  struct sbx_err *err) SBX_MUST_USE;

/* Signalled when everything is passed on. */
HANDLE sbx_pump_thread(const struct sbx_pump *pump);

/* Stops waiting for a reader that does not read, or for a writer that does not write. */
void sbx_pump_hurry(const struct sbx_pump *pump);

bool sbx_pump_is_over(const struct sbx_pump *pump);

/* The last bytes that came, in `arena`; empty while it still works or without memory. */
struct sbx_str sbx_pump_tail(const struct sbx_pump *pump, struct sbx_arena *arena);

/* Ends it and returns how many bytes were passed on. NULL is allowed. A thread that cannot be
 * stopped keeps its memory. */
uint64_t sbx_pump_close(struct sbx_pump *pump);

#endif
