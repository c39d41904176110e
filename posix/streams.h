/* The three streams of a child as the keeper carries them: untouched, through pumps, or through a terminal of the
 * box's own. No allocation. */
#ifndef SBX_POSIX_STREAMS_H
#define SBX_POSIX_STREAMS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "posix/box.h"
#include "posix/pump.h"
#include "posix/terminal.h"

enum { SBX_STREAMS_SLOTS = 4 };

struct sbx_streams {
    struct sbx_pump out, err;
    struct sbx_terminal terminal;
    struct sbx_modes modes;             /* of the caller's terminal, when a box holds it */
    int child_in, child_out, child_err; /* what the child gets; -1: sbx's own */
};

/* max_bytes per stream; 0: no maximum. box NULL: a plain child, which shares sbx's terminal and job. False with
 * errno; sbx_streams_close is due all the same. */
bool sbx_streams_open(struct sbx_streams *streams, const struct sbx_box *box,
                      uint64_t max_bytes) SBX_MUST_USE;

/* The child has its ends. */
void sbx_streams_part(struct sbx_streams *streams);

/* The caller's terminal gets its modes back. */
void sbx_streams_close(struct sbx_streams *streams);

void sbx_streams_slots(const struct sbx_streams *streams, struct pollfd slots[SBX_STREAMS_SLOTS]);
void sbx_streams_step(struct sbx_streams *streams, const struct pollfd slots[SBX_STREAMS_SLOTS]);

/* After the last writer: passes on what goes without waiting; true when that was all. */
bool sbx_streams_drain(struct sbx_streams *streams);

/* One of them had more than the maximum. */
bool sbx_streams_is_over(const struct sbx_streams *streams);

uint64_t sbx_streams_passed(const struct sbx_streams *streams);

#endif
