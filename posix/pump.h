/* Carries one output stream of a child to ours, up to a maximum, in constant memory. */
#ifndef SBX_POSIX_PUMP_H
#define SBX_POSIX_PUMP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last bytes of a stream, in a ring. */
#define SBX_TAIL_BYTES 65536
struct sbx_tail {
    uint64_t total; /* bytes that passed */
    char ring[SBX_TAIL_BYTES];
};

void sbx_tail_keep(struct sbx_tail *tail, const char *bytes, size_t len);

struct sbx_pump {
    struct sbx_tail *tail; /* where a copy of the last bytes is kept; NULL: nowhere */
    int source;            /* owned, non-blocking; -1 when there is nothing more to read */
    int sink;              /* not owned */
    uint64_t max_bytes;
    uint64_t taken_bytes;  /* read and not beyond the maximum */
    uint64_t passed_bytes; /* written */
    bool is_over;          /* the child wrote more than the maximum */
    size_t at, len;        /* what of `block` is still to be written */
    char block[65536];
};

/* max_bytes 0: no maximum. */
void sbx_pump_init(struct sbx_pump *pump, int source, int sink, uint64_t max_bytes,
                   struct sbx_tail *tail);
void sbx_pump_release(struct sbx_pump *pump);

/* What to wait for: room in the sink while something is held, else something to read. The slot's
 * descriptor is -1 when the pump is idle. Reading stops while the sink is full, so the child waits. */
struct pollfd sbx_pump_slot(const struct sbx_pump *pump);

/* Reads and writes as much as goes without waiting. A sink that is closed ends the pump; the child
 * then meets a closed pipe itself. */
void sbx_pump_step(struct sbx_pump *pump);

/* Everything read has been written and nothing is left to read. */
bool sbx_pump_is_done(const struct sbx_pump *pump);

/* After the writers are gone: as sbx_pump_step, but an empty source counts as ended (somebody
 * outside the tree may still hold it open). */
void sbx_pump_drain(struct sbx_pump *pump);

#endif
