/* Carried streams on the real system: every byte, the exact end of them, the maximum, readers that do not read. */
#include <windows.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/win_fixture.h"
#include "win/handle.h"
#include "win/pump.h"

#include "common/base/banned.h"

enum { BLOCK = 65536 };

static struct sbx_err err;

/* A pattern that shows loss and repetition. */
static char byte_at(uint64_t at)
{
    return (char)('a' + at % 23);
}

static bool write_some(HANDLE out, uint64_t from, size_t len)
{
    static char bytes[BLOCK];
    while (len > 0) {
        DWORD part = len < sizeof bytes ? (DWORD)len : (DWORD)sizeof bytes;
        DWORD put = 0;
        for (size_t i = 0; i < part; i++) {
            bytes[i] = byte_at(from + i);
        }
        if (!WriteFile(out, bytes, part, &put, NULL)) {
            return false;
        }
        from += put;
        len -= put;
    }
    return true;
}

/* Reads a pipe to its end on a thread of its own. */
struct reader {
    HANDLE pipe;
    HANDLE thread;
    uint64_t count;
    bool is_exact;
};

static DWORD WINAPI read_all(void *argument)
{
    struct reader *reader = argument;
    static char bytes[BLOCK];
    DWORD got;
    reader->is_exact = true;
    while (ReadFile(reader->pipe, bytes, sizeof bytes, &got, NULL)) {
        for (size_t i = 0; i < got; i++) {
            reader->is_exact &= bytes[i] == byte_at(reader->count + i);
        }
        reader->count += got;
    }
    return 0;
}

static HANDLE reader_open(struct reader *reader)
{
    HANDLE sink = NULL;
    *reader = (struct reader){0};
    CHECK(CreatePipe(&reader->pipe, &sink, NULL, BLOCK));
    reader->thread = CreateThread(NULL, 0, read_all, reader, 0, NULL);
    CHECK(reader->thread != NULL);
    return sink;
}

static void reader_close(struct reader *reader, HANDLE *sink)
{
    sbx_handle_close(sink);
    CHECK_INT(WaitForSingleObject(reader->thread, 60000), WAIT_OBJECT_0);
    sbx_handle_close(&reader->thread);
    sbx_handle_close(&reader->pipe);
}

static bool has_ended(const struct sbx_pump *pump, DWORD ms)
{
    return WaitForSingleObject(sbx_pump_thread(pump), ms) == WAIT_OBJECT_0;
}

/* ---- the end of it ----------------------------------------------------------------------------- */

static void tail(size_t ring, size_t total, size_t step)
{
    WIN_ARENA(arena);
    struct sbx_pump_plan plan = {.tail_bytes = ring};
    struct sbx_pump *pump = NULL;
    HANDLE end = NULL;
    CHECK_CODE(sbx_pump_open(&plan, &pump, &end, &err), SBX_OK, &err);
    for (size_t at = 0; at < total; at += step) {
        CHECK(write_some(end, at, total - at < step ? total - at : step));
    }
    sbx_handle_close(&end);
    CHECK(has_ended(pump, 10000));
    struct sbx_str got = sbx_pump_tail(pump, &arena);
    size_t want = total < ring ? total : ring;
    bool is_exact = got.len == want;
    for (size_t i = 0; is_exact && i < want; i++) {
        is_exact = got.ptr[i] == byte_at(total - want + i);
    }
    if (!CHECK(is_exact)) {
        printf("# ring %zu, %zu bytes by %zu: %zu came\n", ring, total, step, got.len);
    }
    CHECK_U64(sbx_pump_close(pump), 0); /* nothing was passed on: there is no sink */
}

static void the_end_is_exact(void)
{
    static const size_t rings[] = {1, 7, 4096, BLOCK - 1, BLOCK, BLOCK + 1};
    for (size_t i = 0; i < SBX_COUNT(rings); i++) {
        const size_t ring = rings[i];
        const size_t totals[] = {
            0,
            1,
            ring - 1,
            ring,
            ring + 1,
            2 * ring - 1,
            2 * ring,
            2 * ring + 1,
            BLOCK - 1,
            BLOCK,
            BLOCK + 1,
            3 * BLOCK - 1,
            3 * BLOCK + 1,
        };
        for (size_t k = 0; k < SBX_COUNT(totals); k++) {
            tail(ring, totals[k], BLOCK);
        }
        tail(ring, 3 * ring + 5, ring < 1000 ? 3 : 1000);
        tail(ring, BLOCK + 100, BLOCK - 1);
    }
}

static void while_it_works_there_is_no_end(void)
{
    WIN_ARENA(arena);
    struct sbx_pump_plan plan = {.tail_bytes = 100};
    struct sbx_pump *pump = NULL;
    HANDLE end = NULL;
    CHECK_CODE(sbx_pump_open(&plan, &pump, &end, &err), SBX_OK, &err);
    CHECK(write_some(end, 0, 50));
    CHECK_U64(sbx_pump_tail(pump, &arena).len, 0);
    sbx_handle_close(&end);
    CHECK(has_ended(pump, 10000));
    CHECK_U64(sbx_pump_tail(pump, &arena).len, 50);
    AUTO_ARENA small;
    sbx_arena_init(&small, 8);
    CHECK_U64(sbx_pump_tail(pump, &small).len, 0); /* without memory too */
    CHECK_U64(sbx_pump_tail(NULL, &arena).len, 0);
    CHECK_U64(sbx_pump_close(pump), 0);
    CHECK_U64(sbx_pump_close(NULL), 0);
}

/* ---- the maximum ------------------------------------------------------------------------------- */

static void maximum(uint64_t max, size_t total, bool want_over)
{
    struct reader reader;
    HANDLE sink = reader_open(&reader);
    AUTO_HANDLE over = CreateEventW(NULL, TRUE, FALSE, NULL);
    struct sbx_pump_plan plan = {.sink = sink, .max_bytes = max, .over = over};
    struct sbx_pump *pump = NULL;
    HANDLE end = NULL;
    CHECK_CODE(sbx_pump_open(&plan, &pump, &end, &err), SBX_OK, &err);
    bool is_taken = write_some(end, 0, total);
    CHECK(is_taken || want_over); /* a closed pipe only behind the maximum */
    sbx_handle_close(&end);
    CHECK(has_ended(pump, 10000));
    CHECK(sbx_pump_is_over(pump) == want_over);
    CHECK_INT(WaitForSingleObject(over, 0), want_over ? WAIT_OBJECT_0 : WAIT_TIMEOUT);
    uint64_t want = want_over ? max : total;
    CHECK_U64(sbx_pump_close(pump), want);
    reader_close(&reader, &sink);
    CHECK_U64(reader.count, want);
    CHECK(reader.is_exact);
}

static void the_maximum_is_exact(void)
{
    static const uint64_t rows[] = {1, 100, BLOCK - 1, BLOCK, BLOCK + 1, UINT64_C(3) * BLOCK};
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        maximum(rows[i], (size_t)rows[i] - 1, false);
        maximum(rows[i], (size_t)rows[i], false);
        maximum(rows[i], (size_t)rows[i] + 1, true);
        maximum(rows[i], (size_t)rows[i] * 2 + BLOCK, true);
    }
    maximum(0, (size_t)5 * BLOCK, false); /* no maximum */
}

/* ---- much -------------------------------------------------------------------------------------- */

static size_t memory_in_use(void)
{
    PROCESS_MEMORY_COUNTERS counters = {0};
    return K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters)
               ? counters.PeakWorkingSetSize
               : 0;
}

static void a_hundred_megabytes(void)
{
    enum { TOTAL = 100 << 20 };
    struct reader reader;
    HANDLE sink = reader_open(&reader);
    struct sbx_pump_plan plan = {.sink = sink, .tail_bytes = BLOCK};
    struct sbx_pump *pump = NULL;
    HANDLE end = NULL;
    CHECK_CODE(sbx_pump_open(&plan, &pump, &end, &err), SBX_OK, &err);
    CHECK(write_some(end, 0, BLOCK)); /* everybody has his memory now */
    size_t before = memory_in_use();
    CHECK(before > 0);
    CHECK(write_some(end, BLOCK, TOTAL - BLOCK));
    sbx_handle_close(&end);
    CHECK(has_ended(pump, 60000));
    CHECK(memory_in_use() < before + ((size_t)16 << 20)); /* Linux counts it by approximation */
    CHECK_U64(sbx_pump_close(pump), TOTAL);
    reader_close(&reader, &sink);
    CHECK_U64(reader.count, TOTAL);
    CHECK(reader.is_exact);
    /* The measure does see memory that is used. */
    volatile char *block = malloc(TOTAL);
    for (size_t i = 0; block != NULL && i < TOTAL; i += 4096) {
        block[i] = 1;
    }
    CHECK(memory_in_use() > before + TOTAL / 2);
    free((void *)(uintptr_t)block);
}

/* ---- readers and writers that stand still ------------------------------------------------------ */

static void a_reader_that_never_reads_is_left(void)
{
    HANDLE unread = NULL;
    AUTO_HANDLE sink = NULL;
    CHECK(CreatePipe(&unread, &sink, NULL, 4096));
    struct sbx_pump_plan plan = {.sink = sink};
    struct sbx_pump *pump = NULL;
    HANDLE end = NULL;
    CHECK_CODE(sbx_pump_open(&plan, &pump, &end, &err), SBX_OK, &err);
    CHECK(write_some(end, 0, BLOCK / 2)); /* more than the reader's pipe takes */
    sbx_handle_close(&end);
    CHECK(!has_ended(pump, 300)); /* it waits for the reader */
    sbx_pump_hurry(pump);
    CHECK(has_ended(pump, 1000));
    CHECK(sbx_pump_close(pump) < BLOCK / 2);
    sbx_handle_close(&unread);
}

static void a_writer_that_never_writes_is_left(void)
{
    struct sbx_pump_plan plan = {0};
    struct sbx_pump *pump = NULL;
    AUTO_HANDLE end = NULL;
    CHECK_CODE(sbx_pump_open(&plan, &pump, &end, &err), SBX_OK, &err);
    CHECK(!has_ended(pump, 300));
    sbx_pump_hurry(pump);
    CHECK(has_ended(pump, 1000));
    CHECK_U64(sbx_pump_close(pump), 0);
}

static void a_reader_that_leaves_closes_the_childs_pipe(void)
{
    HANDLE unread = NULL;
    AUTO_HANDLE sink = NULL;
    CHECK(CreatePipe(&unread, &sink, NULL, 4096));
    struct sbx_pump_plan plan = {.sink = sink};
    struct sbx_pump *pump = NULL;
    AUTO_HANDLE end = NULL;
    CHECK_CODE(sbx_pump_open(&plan, &pump, &end, &err), SBX_OK, &err);
    sbx_handle_close(&unread);
    bool is_open = true;
    for (int i = 0; i < 100 && is_open; i++) {
        is_open = write_some(end, 0, 100);
        actor_sleep_ms(10);
    }
    CHECK(!is_open);
    CHECK(has_ended(pump, 1000));
    CHECK_U64(sbx_pump_close(pump), 0);
}

/* ---- the other direction ----------------------------------------------------------------------- */

static void input_arrives_with_its_end(void)
{
    WIN_ARENA(arena);
    HANDLE source = NULL;
    HANDLE feed = NULL;
    struct sbx_pump *pump = NULL;
    struct reader reader = {0};
    CHECK(CreatePipe(&source, &feed, NULL, BLOCK));
    CHECK_CODE(sbx_pump_open_input(source, &pump, &reader.pipe, &err), SBX_OK, &err);
    reader.thread = CreateThread(NULL, 0, read_all, &reader, 0, NULL);
    CHECK(write_some(feed, 0, (size_t)5 * BLOCK + 3));
    sbx_handle_close(&feed);
    CHECK(has_ended(pump, 10000));
    CHECK_U64(sbx_pump_close(pump), 5 * BLOCK + 3);
    HANDLE none = NULL;
    reader_close(&reader, &none);
    CHECK_U64(reader.count, 5 * BLOCK + 3);
    CHECK(reader.is_exact);
    DWORD flags;
    CHECK(GetHandleInformation(source, &flags)); /* borrowed: still open */
    sbx_handle_close(&source);
}

static void input_from_a_file_ends(void)
{
    WIN_ARENA(arena);
    char path[MAX_PATH];
    actor_write(scratch("input"), "abcdefghij");
    (void)snprintf(path, sizeof path, "%s", scratch("input"));
    AUTO_HANDLE source =
        CreateFileA(path, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
    struct sbx_pump *pump = NULL;
    struct reader reader = {0};
    CHECK(sbx_handle_is_open(source));
    CHECK_CODE(sbx_pump_open_input(source, &pump, &reader.pipe, &err), SBX_OK, &err);
    reader.thread = CreateThread(NULL, 0, read_all, &reader, 0, NULL);
    CHECK(has_ended(pump, 10000));
    CHECK_U64(sbx_pump_close(pump), 10);
    HANDLE none = NULL;
    reader_close(&reader, &none);
    CHECK_U64(reader.count, 10);
    CHECK(reader.is_exact);
}

static void input_that_nobody_reads_ends(void)
{
    HANDLE source = NULL;
    AUTO_HANDLE feed = NULL;
    HANDLE child = NULL;
    struct sbx_pump *pump = NULL;
    CHECK(CreatePipe(&source, &feed, NULL, BLOCK));
    CHECK_CODE(sbx_pump_open_input(source, &pump, &child, &err), SBX_OK, &err);
    sbx_handle_close(&child); /* the child has ended */
    CHECK(write_some(feed, 0, 10));
    CHECK(has_ended(pump, 10000));
    CHECK_U64(sbx_pump_close(pump), 0);
    sbx_handle_close(&source);
}

static void input_that_never_comes_is_left(void)
{
    HANDLE source = NULL;
    AUTO_HANDLE feed = NULL;
    AUTO_HANDLE child = NULL;
    struct sbx_pump *pump = NULL;
    CHECK(CreatePipe(&source, &feed, NULL, BLOCK));
    CHECK_CODE(sbx_pump_open_input(source, &pump, &child, &err), SBX_OK, &err);
    CHECK(!has_ended(pump, 200));
    sbx_pump_hurry(pump);
    CHECK(has_ended(pump, 1000));
    CHECK_U64(sbx_pump_close(pump), 0);
    sbx_handle_close(&source);
}

/* ---- handles ----------------------------------------------------------------------------------- */

static void nothing_is_left(void)
{
    size_t before = 0;
    for (int round = 0; round < 5; round++) {
        struct sbx_pump_plan plan = {.tail_bytes = 10};
        struct sbx_pump *out = NULL;
        struct sbx_pump *in = NULL;
        HANDLE out_end = NULL;
        HANDLE in_end = NULL;
        HANDLE source = NULL;
        HANDLE feed = NULL;
        DWORD flags = HANDLE_FLAG_INHERIT;
        CHECK_CODE(sbx_pump_open(&plan, &out, &out_end, &err), SBX_OK, &err);
        CHECK(CreatePipe(&source, &feed, NULL, 0));
        CHECK_CODE(sbx_pump_open_input(source, &in, &in_end, &err), SBX_OK, &err);
        CHECK(GetHandleInformation(out_end, &flags) && (flags & HANDLE_FLAG_INHERIT) == 0);
        CHECK(GetHandleInformation(in_end, &flags) && (flags & HANDLE_FLAG_INHERIT) == 0);
        sbx_handle_close(&out_end);
        sbx_handle_close(&feed);
        CHECK(has_ended(out, 5000) && has_ended(in, 5000));
        CHECK_U64(sbx_pump_close(out) + sbx_pump_close(in), 0);
        sbx_handle_close(&in_end);
        sbx_handle_close(&source);
        if (round == 0) {
            before = win_open_handles();
        }
    }
    CHECK_U64(win_open_handles(), before);
}

static const struct sbx_test tests[] = {
    {"the kept end is exact around the sizes of ring and block", the_end_is_exact},
    {"while it works, and without memory, there is no end", while_it_works_there_is_no_end},
    {"up to the maximum everything passes, behind it nothing, and the event tells",
     the_maximum_is_exact},
    {"a hundred megabytes pass unchanged in bounded memory", a_hundred_megabytes},
    {"a reader that never reads is left when told to hurry", a_reader_that_never_reads_is_left},
    {"a writer that never writes is left when told to hurry", a_writer_that_never_writes_is_left},
    {"when the reader leaves, the child meets a closed pipe",
     a_reader_that_leaves_closes_the_childs_pipe},
    {"input arrives with its end, and its source stays the caller's", input_arrives_with_its_end},
    {"input from a file has an end", input_from_a_file_ends},
    {"input that nobody reads any more is not waited for", input_that_nobody_reads_ends},
    {"input that never comes is left when told to hurry", input_that_never_comes_is_left},
    {"no handle is left, and the child's ends are not inheritable", nothing_is_left},
};

ACTOR_TEST_MAIN("carried streams", tests)
