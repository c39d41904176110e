/* Tests of common/policy/quantity: durations and sizes as people write them. */
#include <stdint.h>
#include <string.h>

#include "common/policy/manifest.h"
#include "tests/check.h"
#include "tests/unit/random.h"

#include "common/base/banned.h"

#define SECOND UINT64_C(1000000000)

struct row {
    const char *text;
    uint64_t value;
};

static void durations_are_read_as_people_write_them(void)
{
    static const struct row rows[] = {
        {"0", 0},
        {"1", SECOND},
        {"30", 30 * SECOND},
        {"30s", 30 * SECOND},
        {"2m", 120 * SECOND},
        {"1h30m", 5400 * SECOND},
        {"1d2h3m4s5ms6us7ns", UINT64_C(93784005006007)},
        {"250ms", 250000000},
        {"1us", 1000},
        {"7ns", 7},
        {"007s", 7 * SECOND},
        {"18446744073709551615ns", UINT64_MAX},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        uint64_t got = 1;
        CHECK(sbx_duration_parse(sbx_str(rows[i].text), &got));
        CHECK_U64(got, rows[i].value);
    }
}

static void what_is_not_a_duration_is_refused_and_changes_nothing(void)
{
    static const char *const rows[] = {
        "",
        " ",
        "s",
        "-1s",
        "+1s",
        "1 s",
        " 1s",
        "1s ",
        "1.5s",
        "1e3",
        "0x10",
        "1y",
        "1S",
        "1M",
        "30m1h",
        "1m1m",
        "1s30",
        "1h30",
        "0h5",
        "0s5",
        "5s0h",
        "1h 30m",
        "18446744073709551616ns",
        "99999999999999999999s",
        "18446744073709551615s",
        "213503982334601d1s",
        "\xd9\xa1s", /* a digit of another script */
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        uint64_t got = 42;
        if (sbx_duration_parse(sbx_str(rows[i]), &got)) {
            CHECK_TEXT(rows[i], "refused");
        }
        CHECK_U64(got, 42);
    }
    uint64_t got = 42;
    CHECK(!sbx_duration_parse((struct sbx_str){"1s\0", 3}, &got));
    CHECK_U64(got, 42);
}

static void sizes_are_read_as_people_write_them(void)
{
    static const struct row rows[] = {
        {"0", 0},
        {"1", 1},
        {"1B", 1},
        {"1b", 1},
        {"1K", 1024},
        {"1KiB", 1024},
        {"1kb", 1000},
        {"256M", UINT64_C(256) << 20},
        {"256MiB", UINT64_C(256) << 20},
        {"256m", UINT64_C(256) << 20},
        {"1GB", 1000000000},
        {"1GiB", UINT64_C(1) << 30},
        {"2T", UINT64_C(2) << 40},
        {"2TB", UINT64_C(2000000000000)},
        {"18446744073709551615", UINT64_MAX},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        uint64_t got = 1;
        CHECK(sbx_bytes_parse(sbx_str(rows[i].text), &got));
        CHECK_U64(got, rows[i].value);
    }
}

static void what_is_not_a_size_is_refused_and_changes_nothing(void)
{
    static const char *const rows[] = {
        "",
        " ",
        "B",
        "-1",
        "+1",
        "1 K",
        "1K ",
        "1.5G",
        "1e9",
        "0x10",
        "1KK",
        "1K1K",
        "1PB",
        "1KIB1",
        "1Kib ",
        "1,000",
        "1_000",
        "16777216T",
        "18446744073709551616",
        "99999999999999999999",
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        uint64_t got = 42;
        if (sbx_bytes_parse(sbx_str(rows[i]), &got)) {
            CHECK_TEXT(rows[i], "refused");
        }
        CHECK_U64(got, 42);
    }
}

/* Random numbers of every magnitude, round ones among them. */
static uint64_t random_quantity(uint64_t *seed)
{
    static const uint64_t factors[] = {1,          1000,       1024,        1000000,      1048576,
                                       1000000000, 1073741824, 60 * SECOND, 3600 * SECOND};
    uint64_t number = random_next(seed) >> random_below(seed, 64);
    uint64_t factor = factors[random_below(seed, SBX_COUNT(factors))];
    return number <= UINT64_MAX / factor ? number * factor : number;
}

static void what_is_printed_reads_back_as_the_same_number(void)
{
    uint64_t seed = 1;
    for (unsigned round = 0; round < 20000; round++) {
        uint64_t number = random_quantity(&seed);
        uint64_t again = number + 1;
        AUTO_BUF text;
        sbx_buf_init(&text, 64);
        sbx_duration_print(number, &text);
        if (!sbx_duration_parse(sbx_buf_str(&text), &again) || again != number) {
            CHECK_U64(again, number);
        }
        sbx_buf_reset(&text);
        sbx_bytes_print(number, &text);
        again = number + 1;
        if (!sbx_bytes_parse(sbx_buf_str(&text), &again) || again != number) {
            CHECK_U64(again, number);
        }
    }
    CHECK(seed != 1);
}

static void round_numbers_are_printed_short(void)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 256);
    sbx_duration_print(30 * SECOND, &text);
    sbx_buf_add_char(&text, ' ');
    sbx_duration_print(90 * SECOND, &text);
    sbx_buf_add_char(&text, ' ');
    sbx_duration_print(7200 * SECOND, &text);
    sbx_buf_add_char(&text, ' ');
    sbx_duration_print(1, &text);
    sbx_buf_add_char(&text, ' ');
    sbx_bytes_print(UINT64_C(512) << 20, &text);
    sbx_buf_add_char(&text, ' ');
    sbx_bytes_print(1000, &text);
    sbx_buf_add_char(&text, ' ');
    sbx_bytes_print(0, &text);
    CHECK_TEXT(sbx_buf_text(&text), "30s 90s 2h 1ns 512MiB 1000B 0B");
}

static const struct sbx_test tests[] = {
    {"durations are read as people write them", durations_are_read_as_people_write_them},
    {"what is not a duration is refused and changes nothing",
     what_is_not_a_duration_is_refused_and_changes_nothing},
    {"sizes are read as people write them", sizes_are_read_as_people_write_them},
    {"what is not a size is refused and changes nothing",
     what_is_not_a_size_is_refused_and_changes_nothing},
    {"what is printed reads back as the same number",
     what_is_printed_reads_back_as_the_same_number},
    {"round numbers are printed short", round_numbers_are_printed_short},
};
SBX_TEST_MAIN("quantity", tests)
