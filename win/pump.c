/* Carries one stream between a child and the caller on a thread of its own. */
#include "win/pump.h"

#include <stdlib.h>
#include <string.h>

#include "win/fault.h"
#include "win/handle.h"

#include "common/base/banned.h"

enum { HURRY_WAIT_MS = 1000 };

struct sbx_pump {
    HANDLE source; /* the thread's, until it ends */
    HANDLE sink;   /* likewise; NULL drops */
    bool owns_source, owns_sink;
    HANDLE over; /* borrowed */
    HANDLE thread;
    uint64_t max_bytes;
    uint64_t taken_bytes;
    volatile LONG64 passed_bytes;
    volatile LONG is_over;
    volatile LONG hurries;
    char *tail; /* a ring */
    size_t tail_size;
    char block[65536];
};

static bool write_all(struct sbx_pump *pump, const char *bytes, DWORD len)
{
    while (len > 0 && pump->sink != NULL) {
        DWORD put;
        if (pump->hurries != 0 || !sbx_win()->WriteFile(pump->sink, bytes, len, &put, NULL)) {
            return false;
        }
        if (put == 0) {
            sbx_win()->Sleep(1); /* a full pipe that somebody made non-blocking */
        }
        bytes += put;
        len -= put;
        (void)InterlockedAdd64(&pump->passed_bytes, (LONG64)put);
    }
    return true;
}

static void keep_tail(struct sbx_pump *pump, const char *bytes, size_t len)
{
    for (size_t i = 0; pump->tail_size > 0 && i < len;) {
        size_t at = (size_t)((pump->taken_bytes + i) % pump->tail_size);
        size_t part = pump->tail_size - at < len - i ? pump->tail_size - at : len - i;
        memcpy(pump->tail + at, bytes + i, part);
        i += part;
    }
}

static DWORD WINAPI carry(void *argument)
{
    struct sbx_pump *pump = argument;
    DWORD got;
    while (pump->hurries == 0 &&
           sbx_win()->ReadFile(pump->source, pump->block, sizeof pump->block, &got, NULL)) {
        uint64_t room = pump->max_bytes == 0 ? got : pump->max_bytes - pump->taken_bytes;
        DWORD part = got > room ? (DWORD)room : got;
        keep_tail(pump, pump->block, part);
        pump->taken_bytes += part;
        if (got > part) {
            (void)InterlockedExchange(&pump->is_over, 1);
            (void)sbx_win()->SetEvent(pump->over);
        }
        bool is_end = got == 0 && !pump->owns_source; /* of a file or a console */
        if (is_end || !write_all(pump, pump->block, part) || got > part) {
            break;
        }
    }
    /* If it is the reader who went away, the child meets a closed pipe itself; a child that reads meets
     * the end. */
    if (pump->owns_source) {
        sbx_handle_close(&pump->source);
    }
    if (pump->owns_sink) {
        sbx_handle_close(&pump->sink);
    }
    return 0;
}

static void discard(struct sbx_pump *pump)
{
    if (pump->owns_source) {
        sbx_handle_close(&pump->source);
    }
    if (pump->owns_sink) {
        sbx_handle_close(&pump->sink);
    }
    free(pump->tail);
    free(pump);
}

/* Takes over `pump` and the child's end, also when it fails. */
static enum sbx_code start(struct sbx_pump *pump, HANDLE child, struct sbx_pump **out,
                           HANDLE *child_end, struct sbx_err *err)
{
    AUTO_HANDLE end = child;
    pump->thread = sbx_win()->CreateThread(NULL, 0, carry, pump, 0, NULL);
    if (pump->thread == NULL) {
        DWORD raw = GetLastError();
        discard(pump);
        return sbx_err_win32(err, raw, "CreateThread", "cannot carry the streams");
    }
    *child_end = SBX_TAKE(end, NULL);
    *out = pump;
    return SBX_OK;
}

enum sbx_code sbx_pump_open(const struct sbx_pump_plan *plan, struct sbx_pump **out,
                            HANDLE *child_end, struct sbx_err *err)
{
    struct sbx_pump *pump = calloc(1, sizeof *pump);
    char *tail = plan->tail_bytes == 0 ? NULL : calloc(1, plan->tail_bytes);
    if (pump == NULL || (plan->tail_bytes != 0 && tail == NULL)) {
        free(pump);
        free(tail);
        return sbx_err_nomem(err);
    }
    pump->sink = plan->sink;
    pump->over = plan->over;
    pump->max_bytes = plan->max_bytes;
    pump->tail = tail;
    pump->tail_size = plan->tail_bytes;
    HANDLE write_end = NULL;
    if (!sbx_win()->CreatePipe(&pump->source, &write_end, NULL, sizeof pump->block)) {
        DWORD raw = GetLastError();
        discard(pump);
        return sbx_err_win32(err, raw, "CreatePipe", "cannot carry the output");
    }
    pump->owns_source = true;
    return start(pump, write_end, out, child_end, err);
}

enum sbx_code sbx_pump_open_input(HANDLE source, struct sbx_pump **out, HANDLE *child_end,
                                  struct sbx_err *err)
{
    struct sbx_pump *pump = calloc(1, sizeof *pump);
    if (pump == NULL) {
        return sbx_err_nomem(err);
    }
    pump->source = source;
    HANDLE read_end = NULL;
    if (!sbx_win()->CreatePipe(&read_end, &pump->sink, NULL, sizeof pump->block)) {
        DWORD raw = GetLastError();
        discard(pump);
        return sbx_err_win32(err, raw, "CreatePipe", "cannot carry the input");
    }
    pump->owns_sink = true;
    return start(pump, read_end, out, child_end, err);
}

HANDLE sbx_pump_thread(const struct sbx_pump *pump)
{
    return pump->thread;
}

void sbx_pump_hurry(const struct sbx_pump *pump)
{
    (void)InterlockedExchange((volatile LONG *)(ULONG_PTR)&pump->hurries, 1);
    (void)sbx_win()->CancelSynchronousIo(pump->thread);
}

bool sbx_pump_is_over(const struct sbx_pump *pump)
{
    return pump->is_over != 0;
}

struct sbx_str sbx_pump_tail(const struct sbx_pump *pump, struct sbx_arena *arena)
{
    struct sbx_str none = {0};
    if (pump == NULL || pump->tail_size == 0 || !sbx_handle_has_ended(pump->thread, 0)) {
        return none;
    }
    bool is_full = pump->taken_bytes > pump->tail_size;
    size_t len = is_full ? pump->tail_size : (size_t)pump->taken_bytes;
    size_t first = is_full ? (size_t)(pump->taken_bytes % pump->tail_size) : 0;
    char *copy = SBX_NEW_ARRAY(arena, char, len + 1);
    if (copy == NULL) {
        return none;
    }
    memcpy(copy, pump->tail + first, len - first);
    memcpy(copy + len - first, pump->tail, first);
    return (struct sbx_str){copy, len};
}

uint64_t sbx_pump_close(struct sbx_pump *pump)
{
    if (pump == NULL) {
        return 0;
    }
    uint64_t passed = (uint64_t)InterlockedAdd64(&pump->passed_bytes, 0);
    bool has_ended = sbx_handle_has_ended(pump->thread, HURRY_WAIT_MS);
    sbx_handle_close(&pump->thread);
    if (has_ended) {
        passed = (uint64_t)pump->passed_bytes;
        free(pump->tail);
        free(pump);
    }
    return passed;
}
