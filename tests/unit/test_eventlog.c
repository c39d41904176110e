/* The events of the service (win/eventlog.h) and their texts, as the log finds them in sbx.exe. */
#include <windows.h>

#include <wchar.h>

#include "tests/check.h"
#include "win/eventlog.h"

#include "common/base/banned.h"

/* The build says which program; without it, the one that is beside this test. */
#ifndef SBX_PROGRAM
#define SBX_PROGRAM "sbx.exe"
#endif

/* How many places for texts a message has: the highest %n. */
static size_t places(const wchar_t *text)
{
    size_t highest = 0;
    for (const wchar_t *at = wcschr(text, L'%'); at != NULL; at = wcschr(at + 1, L'%')) {
        size_t number = at[1] >= L'1' && at[1] <= L'9' ? (size_t)(at[1] - L'0') : 0;
        highest = number > highest ? number : highest;
    }
    return highest;
}

static void every_event_has_its_text_in_the_program(void)
{
    HMODULE program = LoadLibraryExA(SBX_PROGRAM, NULL,
                                     LOAD_LIBRARY_AS_DATAFILE | LOAD_LIBRARY_AS_IMAGE_RESOURCE);
    CHECK(program != NULL);
    for (size_t i = 0; i < SBX_EVENT_COUNT && program != NULL; i++) {
        wchar_t text[1024] = L"";
        CHECK(FormatMessageW(FORMAT_MESSAGE_FROM_HMODULE | FORMAT_MESSAGE_IGNORE_INSERTS, program,
                             sbx_event_rows[i].id, 0, text, SBX_COUNT(text), NULL) > 20);
        CHECK_U64(places(text), sbx_event_rows[i].texts);
    }
}

static void the_severity_of_an_id_is_the_type_of_its_event(void)
{
    static const WORD types[] = {EVENTLOG_SUCCESS, EVENTLOG_INFORMATION_TYPE, EVENTLOG_WARNING_TYPE,
                                 EVENTLOG_ERROR_TYPE};
    for (size_t i = 0; i < SBX_EVENT_COUNT; i++) {
        CHECK_U64(sbx_event_rows[i].type, types[sbx_event_rows[i].id >> 30]);
        CHECK_U64(sbx_event_rows[i].id & 0xFFFF, i + 1);
        CHECK(sbx_event_rows[i].texts <= SBX_EVENT_TEXTS);
    }
}

/* ---- a log that is only recorded ----------------------------------------------------------------- */

static unsigned reported;
static ULONGLONG now_ms;

static BOOL WINAPI report(HANDLE log, WORD type, WORD category, DWORD id, PSID user, WORD count,
                          DWORD data_size, LPCWSTR *texts, LPVOID data)
{
    (void)category;
    (void)user;
    (void)data_size;
    (void)data;
    reported++;
    CHECK(log != NULL && type == EVENTLOG_WARNING_TYPE &&
          id == sbx_event_rows[SBX_EVENT_REFUSED].id);
    CHECK(count == 3 && wcscmp(texts[0], L"why") == 0 && wcscmp(texts[2], L"-") == 0);
    return TRUE;
}

static HANDLE WINAPI open_log(LPCWSTR machine, LPCWSTR name)
{
    return machine == NULL && wcscmp(name, L"sbx") == 0 ? (HANDLE)0x77 : NULL;
}

static BOOL WINAPI close_log(HANDLE log)
{
    return log == (HANDLE)0x77;
}

static ULONGLONG WINAPI tick(void)
{
    return now_ms;
}

const struct sbx_winapi *sbx_win(void)
{
    static struct sbx_winapi table;
    if (table.CloseHandle == NULL) {
        sbx_winapi_load(&table);
        table.RegisterEventSourceW = open_log;
        table.DeregisterEventSource = close_log;
        table.ReportEventW = report;
        table.GetTickCount64 = tick;
    }
    return &table;
}

static void refusals_do_not_flood_the_log(void)
{
    struct sbx_eventlog log;
    sbx_eventlog_open(&log);
    for (int minute = 0; minute < 2; minute++) {
        reported = 0;
        for (int i = 0; i < 1000; i++) {
            sbx_eventlog_tell(&log, SBX_EVENT_REFUSED, (const char *[]){"why", "1"}, 2);
        }
        CHECK_U64(reported, 20);
        now_ms += 60000;
    }
    sbx_eventlog_close(&log);
    reported = 0;
    sbx_eventlog_tell(&log, SBX_EVENT_REFUSED, (const char *[]){"why", "1"}, 2);
    CHECK_U64(reported, 0);
}

static const struct sbx_test tests[] = {
    {"every event has its text in the program", every_event_has_its_text_in_the_program},
    {"the severity of an id is the type of its event",
     the_severity_of_an_id_is_the_type_of_its_event},
    {"refusals do not flood the log", refusals_do_not_flood_the_log},
};
SBX_TEST_MAIN("event log", tests)
