/* The event source of sbx: registered, written to, removed. */
#include "win/eventlog.h"

#include <wchar.h>

#include "win/fault.h"
#include "win/handle.h"
#include "win/service_data.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { TELL_ARENA = 64 * 1024, REFUSALS_A_MINUTE = 20, MINUTE_MS = 60000 };

#define INFORMATION(number) (0x40000000u | (number))
#define WARNING(number) (0x80000000u | (number))
#define ERROR_OF(number) (0xC0000000u | (number))

const struct sbx_event_row sbx_event_rows[SBX_EVENT_COUNT] = {
    [SBX_EVENT_STARTED] = {INFORMATION(1), EVENTLOG_INFORMATION_TYPE, 2},
    [SBX_EVENT_STOPPED] = {INFORMATION(2), EVENTLOG_INFORMATION_TYPE, 1},
    [SBX_EVENT_REFUSED] = {WARNING(3), EVENTLOG_WARNING_TYPE, 3},
    [SBX_EVENT_LAUNCHER] = {ERROR_OF(4), EVENTLOG_ERROR_TYPE, 2},
    [SBX_EVENT_RECOVERED] = {WARNING(5), EVENTLOG_WARNING_TYPE, 0},
    [SBX_EVENT_FAILED] = {ERROR_OF(6), EVENTLOG_ERROR_TYPE, 1},
};

/* ---- writing --------------------------------------------------------------------------------- */

void sbx_eventlog_open(struct sbx_eventlog *log)
{
    *log = (struct sbx_eventlog){.source = sbx_win()->RegisterEventSourceW(NULL, SBX_SERVICE_NAME)};
}

void sbx_eventlog_close(struct sbx_eventlog *log)
{
    if (log->source != NULL) {
        (void)sbx_win()->DeregisterEventSource(log->source);
    }
    log->source = NULL;
}

/* A program that is refused and tries again for ever must not push everything else out of the log. */
static bool is_one_too_many(struct sbx_eventlog *log)
{
    ULONGLONG now = sbx_win()->GetTickCount64();
    if (log->refusals == 0 || now - log->refusals_since_ms >= MINUTE_MS) {
        log->refusals_since_ms = now;
        log->refusals = 0;
    }
    return ++log->refusals > REFUSALS_A_MINUTE;
}

void sbx_eventlog_tell(struct sbx_eventlog *log, enum sbx_event event, const char *const *texts,
                       size_t count)
{
    const struct sbx_event_row *row = &sbx_event_rows[event];
    if (log->source == NULL || (event == SBX_EVENT_REFUSED && is_one_too_many(log))) {
        return;
    }
    AUTO_ARENA arena;
    sbx_arena_init(&arena, TELL_ARENA);
    const wchar_t *wide[SBX_EVENT_TEXTS] = {L"-", L"-", L"-"};
    for (size_t i = 0; i < row->texts && i < count; i++) {
        wchar_t *text = NULL;
        if (sbx_wide_from(&arena, texts[i], &text, NULL) == SBX_OK) {
            wide[i] = text;
        }
    }
    (void)sbx_win()->ReportEventW(log->source, row->type, 0, row->id, NULL, (WORD)row->texts, 0,
                                  wide, NULL);
}

/* ---- the source ------------------------------------------------------------------------------ */

static void close_key(HKEY *key)
{
    if (*key != NULL) {
        (void)sbx_win()->RegCloseKey(*key);
    }
}

static LSTATUS write_values(HKEY key, const wchar_t *image)
{
    DWORD types = EVENTLOG_INFORMATION_TYPE | EVENTLOG_WARNING_TYPE | EVENTLOG_ERROR_TYPE;
    DWORD size = (DWORD)((wcslen(image) + 1) * sizeof *image);
    LSTATUS raw = sbx_win()->RegSetValueExW(key, L"EventMessageFile", 0, REG_EXPAND_SZ,
                                            (const BYTE *)image, size);
    return raw != ERROR_SUCCESS ? raw
                                : sbx_win()->RegSetValueExW(key, L"TypesSupported", 0, REG_DWORD,
                                                            (const BYTE *)&types, sizeof types);
}

enum sbx_code sbx_eventlog_register(const wchar_t *image, struct sbx_err *err)
{
    SBX_CLEANUP(close_key) HKEY key = NULL;
    DWORD disposition = 0;
    LSTATUS raw =
        sbx_win()->RegCreateKeyExW(HKEY_LOCAL_MACHINE, SBX_EVENT_SOURCE_KEY, 0, NULL, 0,
                                   KEY_SET_VALUE | KEY_WOW64_64KEY, NULL, &key, &disposition);
    if (raw != ERROR_SUCCESS) {
        return sbx_err_win32(err, (DWORD)raw, "RegCreateKeyExW",
                             "cannot register the event source");
    }
    raw = write_values(key, image);
    if (raw != ERROR_SUCCESS) {
        (void)sbx_win()->RegDeleteKeyExW(HKEY_LOCAL_MACHINE, SBX_EVENT_SOURCE_KEY, KEY_WOW64_64KEY,
                                         0);
        return sbx_err_win32(err, (DWORD)raw, "RegSetValueExW", "cannot register the event source");
    }
    return SBX_OK;
}

enum sbx_code sbx_eventlog_unregister(bool *was_there, struct sbx_err *err)
{
    LSTATUS raw =
        sbx_win()->RegDeleteKeyExW(HKEY_LOCAL_MACHINE, SBX_EVENT_SOURCE_KEY, KEY_WOW64_64KEY, 0);
    if (raw != ERROR_SUCCESS && raw != ERROR_FILE_NOT_FOUND) {
        return sbx_err_win32(err, (DWORD)raw, "RegDeleteKeyExW", "cannot remove the event source");
    }
    *was_there = raw == ERROR_SUCCESS;
    return SBX_OK;
}

bool sbx_eventlog_is_registered(void)
{
    SBX_CLEANUP(close_key) HKEY key = NULL;
    return sbx_win()->RegOpenKeyExW(HKEY_LOCAL_MACHINE, SBX_EVENT_SOURCE_KEY, 0,
                                    KEY_QUERY_VALUE | KEY_WOW64_64KEY, &key) == ERROR_SUCCESS;
}
