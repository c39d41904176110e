/* What the service of Windows and a launcher say to each other (win/handover.h): bytes, on every system. */
#include "win/handover.h"

#include <string.h>

#include "tests/check.h"

#include "common/base/banned.h"

static struct sbx_err err;

/* A copy of just its size, so that a sanitizer sees a byte too many being read. */
static enum sbx_code parse(const unsigned char *bytes, size_t size, struct sbx_handover *out,
                           size_t *used)
{
    err = (struct sbx_err){0};
    *out = (struct sbx_handover){.number = 77};
    return sbx_handover_parse(bytes, size, out, used, &err);
}

static void a_frame_comes_back_as_it_was(void)
{
    static const char first[] = "{\"jsonrpc\":\"2.0\"";
    unsigned char bytes[SBX_HANDOVER_FRAME_MAX];
    const struct sbx_handover rows[] = {
        {.kind = SBX_HANDOVER_CLIENT,
         .number = 0x1F4,
         .first = (const unsigned char *)first,
         .first_size = sizeof first},
        {.kind = SBX_HANDOVER_CLIENT, .number = UINT64_MAX},
        {.kind = SBX_HANDOVER_END},
        {.kind = SBX_HANDOVER_IDLE, .number = 3},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        struct sbx_handover got;
        size_t used = 0;
        size_t size = sbx_handover_print(&rows[i], bytes);
        CHECK_U64(size, SBX_HANDOVER_HEAD + rows[i].first_size);
        CHECK_CODE(parse(bytes, size, &got, &used), SBX_OK, &err);
        CHECK_U64(used, size);
        CHECK_INT(got.kind, rows[i].kind);
        CHECK_U64(got.number, rows[i].number);
        CHECK_U64(got.first_size, rows[i].first_size);
        CHECK(rows[i].first_size == 0 || memcmp(got.first, rows[i].first, got.first_size) == 0);
    }
}

static void the_first_bytes_have_a_maximum(void)
{
    static unsigned char many[SBX_HANDOVER_FIRST_MAX + 100];
    unsigned char bytes[SBX_HANDOVER_FRAME_MAX];
    struct sbx_handover frame = {
        .kind = SBX_HANDOVER_CLIENT, .number = 1, .first = many, .first_size = sizeof many};
    CHECK_U64(sbx_handover_print(&frame, bytes), SBX_HANDOVER_FRAME_MAX);
}

static void a_part_of_a_frame_is_waited_for(void)
{
    unsigned char bytes[SBX_HANDOVER_FRAME_MAX];
    struct sbx_handover frame = {.kind = SBX_HANDOVER_CLIENT,
                                 .number = 9,
                                 .first = (const unsigned char *)"abc",
                                 .first_size = 3};
    size_t size = sbx_handover_print(&frame, bytes);
    for (size_t part = 0; part < size; part++) {
        struct sbx_handover got;
        size_t used = 99;
        CHECK_CODE(parse(bytes, part, &got, &used), SBX_OK, &err);
        CHECK_U64(used, 0);
        CHECK_U64(got.number, 77);
    }
}

static void what_follows_a_frame_is_left_alone(void)
{
    unsigned char bytes[2 * SBX_HANDOVER_FRAME_MAX];
    struct sbx_handover idle = {.kind = SBX_HANDOVER_IDLE, .number = 1};
    struct sbx_handover end = {.kind = SBX_HANDOVER_END};
    struct sbx_handover got;
    size_t used = 0;
    size_t size = sbx_handover_print(&idle, bytes);
    size += sbx_handover_print(&end, bytes + size);
    CHECK_CODE(parse(bytes, size, &got, &used), SBX_OK, &err);
    CHECK_INT(got.kind, SBX_HANDOVER_IDLE);
    CHECK_CODE(parse(bytes + used, size - used, &got, &used), SBX_OK, &err);
    CHECK_INT(got.kind, SBX_HANDOVER_END);
}

/* Places in the head: magic, kind, size, zero, number. */
static void everything_else_is_an_error(void)
{
    const struct {
        enum sbx_handover_kind kind;
        size_t at;
        unsigned char value;
    } rows[] = {
        {SBX_HANDOVER_END, 0, 0},     {SBX_HANDOVER_END, 3, 0xFF},  {SBX_HANDOVER_END, 4, 0},
        {SBX_HANDOVER_END, 4, 4},     {SBX_HANDOVER_END, 7, 1},     {SBX_HANDOVER_END, 8, 1},
        {SBX_HANDOVER_END, 12, 1},    {SBX_HANDOVER_END, 16, 1},    {SBX_HANDOVER_IDLE, 8, 1},
        {SBX_HANDOVER_IDLE, 16, 0},   {SBX_HANDOVER_CLIENT, 9, 17}, {SBX_HANDOVER_CLIENT, 11, 0x80},
        {SBX_HANDOVER_CLIENT, 16, 0},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        unsigned char bytes[SBX_HANDOVER_FRAME_MAX];
        struct sbx_handover frame = {.kind = rows[i].kind,
                                     .number = rows[i].kind == SBX_HANDOVER_END ? 0 : 1};
        struct sbx_handover got;
        size_t used = 99;
        size_t size = sbx_handover_print(&frame, bytes);
        bytes[rows[i].at] = rows[i].value;
        CHECK_CODE(parse(bytes, size, &got, &used), SBX_E_SYNTAX, &err);
        CHECK_U64(used, 0);
        CHECK_U64(got.number, 77);
    }
}

static const struct sbx_test tests[] = {
    {"a frame comes back as it was", a_frame_comes_back_as_it_was},
    {"the first bytes have a maximum", the_first_bytes_have_a_maximum},
    {"a part of a frame is waited for", a_part_of_a_frame_is_waited_for},
    {"what follows a frame is left alone", what_follows_a_frame_is_left_alone},
    {"everything else is an error", everything_else_is_an_error},
};
SBX_TEST_MAIN("handover", tests)
