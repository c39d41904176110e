/* Carries one output stream of a child to ours, up to a maximum, in constant memory. */
#include "posix/pump.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "posix/fd.h"

#include "common/base/banned.h"

/* A pipe that is writable takes at least this much without waiting. The sink cannot be made
 * non-blocking: others share it. */
enum { STEP_BYTES = PIPE_BUF };

void sbx_pump_init(struct sbx_pump *pump, int source, int sink, uint64_t max_bytes,
                   struct sbx_tail *tail)
{
    pump->tail = tail;
    pump->source = source;
    pump->sink = sink;
    pump->max_bytes = max_bytes == 0 ? UINT64_MAX : max_bytes;
    pump->taken_bytes = 0;
    pump->passed_bytes = 0;
    pump->is_over = false;
    pump->at = 0;
    pump->len = 0;
}

void sbx_pump_release(struct sbx_pump *pump)
{
    sbx_fd_close(&pump->source);
}

struct pollfd sbx_pump_slot(const struct sbx_pump *pump)
{
    if (pump->at < pump->len) {
        return (struct pollfd){.fd = pump->sink, .events = POLLOUT};
    }
    return (struct pollfd){.fd = pump->source, .events = POLLIN};
}

void sbx_tail_keep(struct sbx_tail *tail, const char *bytes, size_t len)
{
    size_t skip = len > SBX_TAIL_BYTES ? len - SBX_TAIL_BYTES : 0;
    tail->total += skip;
    for (size_t at = skip; at < len;) {
        size_t place = (size_t)(tail->total % SBX_TAIL_BYTES);
        size_t part = len - at < SBX_TAIL_BYTES - place ? len - at : SBX_TAIL_BYTES - place;
        memcpy(tail->ring + place, bytes + at, part);
        tail->total += part;
        at += part;
    }
}

/* True when there is something new to write. */
static bool fill(struct sbx_pump *pump, bool until_empty)
{
    if (pump->source < 0) {
        return false;
    }
    ssize_t got = sbx_fd_read(pump->source, pump->block, sizeof pump->block);
    if (got <= 0) {
        if (got == 0 || until_empty || (errno != EAGAIN && errno != EWOULDBLOCK)) {
            sbx_fd_close(&pump->source);
        }
        return false;
    }
    uint64_t room = pump->max_bytes - pump->taken_bytes;
    pump->at = 0;
    pump->len = (size_t)got;
    if (pump->len > room) {
        pump->len = (size_t)room;
        pump->is_over = true;
        sbx_fd_close(&pump->source);
    }
    pump->taken_bytes += pump->len;
    if (pump->tail != NULL) {
        sbx_tail_keep(pump->tail, pump->block, pump->len);
    }
    return pump->len > 0;
}

static bool is_writable(int fd)
{
    struct pollfd slot = {.fd = fd, .events = POLLOUT};
    return poll(&slot, 1, 0) > 0;
}

static void flush(struct sbx_pump *pump)
{
    while (pump->at < pump->len && is_writable(pump->sink)) {
        size_t part = pump->len - pump->at;
        ssize_t put =
            write(pump->sink, pump->block + pump->at, part < STEP_BYTES ? part : STEP_BYTES);
        if (put >= 0) {
            pump->at += (size_t)put;
            pump->passed_bytes += (size_t)put;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } else if (errno != EINTR) {
            pump->at = pump->len;
            sbx_fd_close(&pump->source);
        }
    }
}

static void step(struct sbx_pump *pump, bool until_empty)
{
    flush(pump);
    if (pump->at == pump->len && fill(pump, until_empty)) {
        flush(pump);
    }
}

void sbx_pump_step(struct sbx_pump *pump)
{
    step(pump, false);
}

void sbx_pump_drain(struct sbx_pump *pump)
{
    step(pump, true);
}

bool sbx_pump_is_done(const struct sbx_pump *pump)
{
    return pump->source < 0 && pump->at == pump->len;
}
