/* The event source "sbx" of the Application log. Its texts are the resource win/messages.mc of sbx.exe. */
#ifndef SBX_WIN_EVENTLOG_H
#define SBX_WIN_EVENTLOG_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "win/winapi.h"

/* One row of messages.mc each, with as many texts as that has places. */
enum sbx_event {
    SBX_EVENT_STARTED,   /* version, pipe */
    SBX_EVENT_STOPPED,   /* why */
    SBX_EVENT_REFUSED,   /* why, process, user */
    SBX_EVENT_LAUNCHER,  /* user, what failed */
    SBX_EVENT_RECOVERED, /* nothing */
    SBX_EVENT_FAILED,    /* why */
    SBX_EVENT_COUNT
};
#define SBX_EVENT_TEXTS 3

struct sbx_event_row {
    DWORD id;     /* as messages.mc numbers it */
    WORD type;    /* EVENTLOG_…_TYPE */
    size_t texts; /* that it takes */
};
extern const struct sbx_event_row sbx_event_rows[SBX_EVENT_COUNT];

/* ---- writing ---- */

/* Lives as long as the service. A log that cannot be opened or written is no reason to stop: nothing is told then. */
struct sbx_eventlog {
    HANDLE source;
    /* Refusals are many when somebody tries: a bounded number per minute is told. */
    ULONGLONG refusals_since_ms;
    unsigned refusals;
};
void sbx_eventlog_open(struct sbx_eventlog *log);
void sbx_eventlog_close(struct sbx_eventlog *log);

/* `texts` are UTF-8; missing ones are told as "-". */
void sbx_eventlog_tell(struct sbx_eventlog *log, enum sbx_event event, const char *const *texts,
                       size_t count);

/* ---- the source in the registry ---- */

/* Registers `image` (absolute) as the file with the texts. On failure nothing of ours is left. */
enum sbx_code sbx_eventlog_register(const wchar_t *image, struct sbx_err *err) SBX_MUST_USE;

/* Absent is a success: *was_there says so. */
enum sbx_code sbx_eventlog_unregister(bool *was_there, struct sbx_err *err) SBX_MUST_USE;

bool sbx_eventlog_is_registered(void);

#endif
