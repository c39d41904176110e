/* Carries one output stream of a child to ours, up to a maximum, on a thread of its own. */
#include "win/pump.h"

#include <stdlib.h>

#include "win/fault.h"
#include "win/handle.h"

#include "common/base/banned.h"

enum { HURRY_WAIT_MS = 1000 };

struct sbx_pump {
    HANDLE source; /* the thread's, until it ends */
    HANDLE sink;   /* borrowed */
    HANDLE over;   /* borrowed */
    HANDLE thread;
    uint64_t max_bytes;
    uint64_t taken_bytes;
    volatile LONG64 passed_bytes;
    volatile LONG is_over;
    volatile LONG hurries;
    char block[65536];
};

static bool write_all(struct sbx_pump *pump, const char *bytes, DWORD len)
{
    while (len > 0) {
        DWORD put;
        if (pump->hurries != 0 || !WriteFile(pump->sink, bytes, len, &put, NULL)) {
            return false;
        }
        if (put == 0) {
            Sleep(1); /* a full pipe that somebody made non-blocking */
        }
        bytes += put;
        len -= put;
        (void)InterlockedAdd64(&pump->passed_bytes, (LONG64)put);
    }
    return true;
}

static DWORD WINAPI carry(void *argument)
{
    struct sbx_pump *pump = argument;
    DWORD got;
    while (ReadFile(pump->source, pump->block, sizeof pump->block, &got, NULL)) {
        uint64_t room = pump->max_bytes - pump->taken_bytes;
        DWORD part = got > room ? (DWORD)room : got;
        pump->taken_bytes += part;
        if (got > part) {
            (void)InterlockedExchange(&pump->is_over, 1);
            (void)SetEvent(pump->over);
        }
        if (!write_all(pump, pump->block, part) || got > part) {
            break;
        }
    }
    /* If it is the reader who went away, the child meets a closed pipe itself. */
    sbx_handle_close(&pump->source);
    return 0;
}

enum sbx_code sbx_pump_open(struct sbx_pump **out, HANDLE sink, uint64_t max_bytes, HANDLE over,
                            HANDLE *child_end, struct sbx_err *err)
{
    struct sbx_pump *pump = calloc(1, sizeof *pump);
    if (pump == NULL) {
        return sbx_err_nomem(err);
    }
    pump->sink = sink;
    pump->over = over;
    pump->max_bytes = max_bytes;
    AUTO_HANDLE write_end = NULL;
    if (!CreatePipe(&pump->source, &write_end, NULL, sizeof pump->block)) {
        DWORD raw = GetLastError();
        free(pump);
        return sbx_err_win32(err, raw, "CreatePipe", "cannot carry the output");
    }
    pump->thread = CreateThread(NULL, 0, carry, pump, 0, NULL);
    if (pump->thread == NULL) {
        DWORD raw = GetLastError();
        sbx_handle_close(&pump->source);
        free(pump);
        return sbx_err_win32(err, raw, "CreateThread", "cannot carry the output");
    }
    *child_end = SBX_TAKE(write_end, NULL);
    *out = pump;
    return SBX_OK;
}

HANDLE sbx_pump_thread(const struct sbx_pump *pump)
{
    return pump->thread;
}

void sbx_pump_hurry(const struct sbx_pump *pump)
{
    (void)InterlockedExchange((volatile LONG *)(ULONG_PTR)&pump->hurries, 1);
    (void)CancelSynchronousIo(pump->thread);
}

bool sbx_pump_is_over(const struct sbx_pump *pump)
{
    return pump->is_over != 0;
}

uint64_t sbx_pump_close(struct sbx_pump *pump)
{
    if (pump == NULL) {
        return 0;
    }
    uint64_t passed = (uint64_t)InterlockedAdd64(&pump->passed_bytes, 0);
    if (WaitForSingleObject(pump->thread, HURRY_WAIT_MS) == WAIT_OBJECT_0) {
        passed = (uint64_t)pump->passed_bytes;
        sbx_handle_close(&pump->thread);
        free(pump);
    }
    return passed;
}
