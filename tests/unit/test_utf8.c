/* Unit tests of common/base/utf8; strictness is tried out exhaustively. */
#include "common/base/utf8.h"

#include <string.h>

#include "common/base/str.h"
#include "tests/check.h"

#include "common/base/banned.h"

static bool is_surrogate(uint32_t character)
{
    return character >= 0xd800 && character <= 0xdfff;
}

static void every_character_round_trips(void)
{
    unsigned wrong = 0;
    for (uint32_t character = 0; character <= 0x10ffff; character++) {
        char bytes[4];
        size_t len = sbx_utf8_encode(character, bytes);
        if (is_surrogate(character)) {
            wrong += len != 0;
            continue;
        }
        size_t want = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
        uint32_t back = UINT32_MAX;
        wrong += len != want || sbx_utf8_decode(bytes, len, &back) != len || back != character;
        wrong += !sbx_utf8_valid(bytes, len, NULL) || sbx_utf8_count(bytes, len) != 1;
        for (size_t part = 0; part < len; part++) {
            wrong += sbx_utf8_decode(bytes, part, NULL) != 0;
        }
    }
    CHECK_U64(wrong, 0);
}

static void nothing_above_the_last_character_is_encoded(void)
{
    char bytes[4];
    CHECK_U64(sbx_utf8_encode(0x110000, bytes), 0);
    CHECK_U64(sbx_utf8_encode(0x1fffff, bytes), 0);
    CHECK_U64(sbx_utf8_encode(UINT32_MAX, bytes), 0);
}

static void all_two_byte_sequences_are_told_apart(void)
{
    unsigned wrong = 0;
    unsigned good = 0;
    for (unsigned a = 0; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            const char bytes[2] = {(char)a, (char)b};
            uint32_t character = 0;
            size_t len = sbx_utf8_decode(bytes, 2, &character);
            size_t want = a < 0x80 ? 1 : a >= 0xc2 && a <= 0xdf && b >= 0x80 && b <= 0xbf ? 2 : 0;
            wrong += len != want;
            wrong += len == 2 && character != ((a & 0x1f) << 6 | (b & 0x3f));
            wrong += sbx_utf8_valid(bytes, 2, NULL) != (len == 2 || (a < 0x80 && b < 0x80));
            good += len == 2;
        }
    }
    CHECK_U64(wrong, 0);
    CHECK_U64(good, 0x800 - 0x80);
}

/* What decodes must encode to the same bytes; with the right number of successes nothing is
 * missing either. */
static void all_three_byte_sequences_are_told_apart(void)
{
    unsigned wrong = 0;
    unsigned good = 0;
    for (unsigned a = 0xe0; a < 0xf0; a++) {
        for (unsigned rest = 0; rest < 0x10000; rest++) {
            const char bytes[3] = {(char)a, (char)(rest >> 8), (char)(rest & 0xff)};
            uint32_t character = 0;
            size_t len = sbx_utf8_decode(bytes, 3, &character);
            char back[4];
            wrong += len != 0 && (len != 3 || sbx_utf8_encode(character, back) != 3 ||
                                  memcmp(bytes, back, 3) != 0);
            wrong += sbx_utf8_valid(bytes, 3, NULL) != (len == 3);
            good += len == 3;
        }
    }
    CHECK_U64(wrong, 0);
    CHECK_U64(good, 0x10000 - 0x800 - 0x800);
}

static void all_kinds_of_four_byte_sequences_are_told_apart(void)
{
    static const unsigned char edges[] = {0x00, 0x41, 0x7f, 0x80, 0x81, 0x8f,
                                          0x90, 0xbe, 0xbf, 0xc0, 0xf0, 0xff};
    unsigned wrong = 0;
    for (unsigned a = 0xf0; a < 0x100; a++) {
        for (unsigned b = 0; b < 0x100; b++) {
            for (size_t i = 0; i < SBX_COUNT(edges) * SBX_COUNT(edges); i++) {
                unsigned c = edges[i / SBX_COUNT(edges)];
                unsigned d = edges[i % SBX_COUNT(edges)];
                const char bytes[4] = {(char)a, (char)b, (char)c, (char)d};
                unsigned long value =
                    (a & 7ul) << 18 | (b & 0x3ful) << 12 | (c & 0x3ful) << 6 | (d & 0x3ful);
                bool tails = (b & 0xc0) == 0x80 && (c & 0xc0) == 0x80 && (d & 0xc0) == 0x80;
                bool want = a < 0xf8 && tails && value >= 0x10000 && value <= 0x10ffff;
                uint32_t character = 0;
                size_t len = sbx_utf8_decode(bytes, 4, &character);
                wrong += len != (want ? 4u : 0u) || (want && character != value);
                wrong += sbx_utf8_valid(bytes, 4, NULL) != want;
            }
        }
    }
    CHECK_U64(wrong, 0);
}

static void overlong_forms_and_surrogates_are_refused(void)
{
    static const char *const bad[] = {
        "\xc0\x80",
        "\xc0\xaf",
        "\xc1\xbf",
        "\xe0\x80\x80",
        "\xe0\x80\xaf",
        "\xe0\x9f\xbf",
        "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf",
        "\xed\xa0\x80",
        "\xed\xaf\xbf",
        "\xed\xb0\x80",
        "\xed\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xf8\x88\x80\x80\x80",
        "\xfc\x84\x80\x80\x80\x80",
        "\xfe",
        "\xff",
        "\x80",
        "\xbf",
        "\xed\xa0\x81\xed\xb0\x80", /* CESU-8 */
    };
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        CHECK_U64(sbx_utf8_decode(bad[i], strlen(bad[i]), NULL), 0);
        CHECK(!sbx_utf8_valid(bad[i], strlen(bad[i]), NULL));
    }
}

static void nothing_is_read_past_the_end(void)
{
    CHECK_U64(sbx_utf8_decode(NULL, 0, NULL), 0);
    CHECK(sbx_utf8_valid(NULL, 0, NULL));
    CHECK_U64(sbx_utf8_count(NULL, 0), 0);
    CHECK_U64(sbx_utf8_cut(NULL, 0), 0);
}

/* Every length, alignment and place of the bad byte around the word sizes of the ASCII skip. */
static void the_first_bad_sequence_is_found_wherever_it_is(void)
{
    char storage[128];
    unsigned wrong = 0;
    for (size_t start = 0; start < 9; start++) {
        for (size_t len = 0; len < 80; len++) {
            char *bytes = storage + start;
            memset(storage, 0xff, sizeof storage); /* what is outside is bad */
            memset(bytes, 'a', len);
            size_t bad_at = 999;
            wrong += !sbx_utf8_valid(bytes, len, &bad_at) || bad_at != 999;
            for (size_t at = 0; at < len; at++) {
                bytes[at] = (char)0x80;
                wrong += sbx_utf8_valid(bytes, len, &bad_at) || bad_at != at;
                bytes[at] = (char)0xe6; /* a first byte without its rest */
                wrong += sbx_utf8_valid(bytes, len, &bad_at) || bad_at != at;
                bytes[at] = 'a';
                if (at + 2 <= len) {
                    memcpy(bytes + at, "\xc3\xa9", 2);
                    wrong += !sbx_utf8_valid(bytes, len, NULL);
                    wrong += sbx_utf8_count(bytes, len) != len - 1;
                    memset(bytes + at, 'a', 2);
                }
            }
        }
    }
    CHECK_U64(wrong, 0);
}

static void invalid_bytes_count_one_each(void)
{
    CHECK_U64(sbx_utf8_count("a\xff\xfe\xc3\xa9\xe6\xbc", 7), 6);
}

static void a_cut_never_ends_inside_a_character(void)
{
    static const char text[] = "a\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80z";
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
    for (size_t len = 0; len < SBX_COUNT(want); len++) {
        CHECK_U64(sbx_utf8_cut(text, len), want[len]);
    }
    /* Bytes that are no characters stay as they are. */
    CHECK_U64(sbx_utf8_cut("\x80\x80\x80\x80", 4), 4);
    CHECK_U64(sbx_utf8_cut("\xff", 1), 1);
    CHECK_U64(sbx_utf8_cut("\x80", 1), 1);
}

static void unsafe_characters_are_known(void)
{
    static const uint32_t unsafe[] = {
        0x00,   0x07,   0x0a,   0x1b,   0x1f,   0x7f,    0x80,    0x85,    0x9b,    0x9f,
        0xad,   0x061c, 0x115f, 0x180e, 0x200b, 0x200c,  0x200d,  0x200e,  0x200f,  0x2028,
        0x2029, 0x202a, 0x202e, 0x2060, 0x2064, 0x2066,  0x2069,  0x206f,  0x3164,  0xfe00,
        0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0xfffb, 0xe0000, 0xe0001, 0xe007f, 0xe0100, 0xe0fff,
    };
    static const uint32_t safe[] = {
        ' ',    '~',    0xa0,    0xac,    0xae,    0xe9,    0x034e,  0x0350,
        0x061b, 0x2010, 0x2027,  0x202f,  0x205f,  0x2070,  0x6f22,  0xfdff,
        0xfe10, 0xfffc, 0x1f600, 0x1d172, 0x1d17b, 0xdffff, 0xe1000, 0x10ffff,
    };
    for (size_t i = 0; i < SBX_COUNT(unsafe); i++) {
        CHECK(sbx_utf8_is_unsafe(unsafe[i]));
    }
    for (size_t i = 0; i < SBX_COUNT(safe); i++) {
        CHECK(!sbx_utf8_is_unsafe(safe[i]));
    }
}

static void folding_pairs_upper_with_lower_case(void)
{
    static const struct {
        uint32_t upper, lower;
    } pairs[] = {
        {'A', 'a'},      {'Z', 'z'},     {0xc0, 0xe0},     {0xd8, 0xf8},     {0xde, 0xfe},
        {0x100, 0x101},  {0x12e, 0x12f}, {0x139, 0x13a},   {0x178, 0xff},    {0x17d, 0x17e},
        {0x17f, 's'},    {0x386, 0x3ac}, {0x391, 0x3b1},   {0x3a3, 0x3c3},   {0x3c2, 0x3c3},
        {0xb5, 0x3bc},   {0x400, 0x450}, {0x410, 0x430},   {0x42f, 0x44f},   {0x4c0, 0x4cf},
        {0x531, 0x561},  {0x556, 0x586}, {0x1e00, 0x1e01}, {0x1e9e, 0xdf},   {0x1ef8, 0x1ef9},
        {0x2126, 0x3c9}, {0x212a, 'k'},  {0x212b, 0xe5},   {0xff21, 0xff41}, {0xff3a, 0xff5a},
    };
    for (size_t i = 0; i < SBX_COUNT(pairs); i++) {
        CHECK_U64(sbx_utf8_fold(pairs[i].upper), pairs[i].lower);
        CHECK_U64(sbx_utf8_fold(pairs[i].lower), pairs[i].lower);
    }
}

static void folding_leaves_the_others_alone(void)
{
    static const uint32_t same[] = {
        '@',    '[',    '`',    '{',    '/',    '\\',   '.',     ':',
        0xd7,   0xdf,   0xf7,   0x130,  0x131,  0x138,  0x149,   0x1e96,
        0x1e9f, 0x2125, 0x212c, 0x6f22, 0xff20, 0xff3b, 0x1f600, 0x10ffff,
    };
    for (size_t i = 0; i < SBX_COUNT(same); i++) {
        CHECK_U64(sbx_utf8_fold(same[i]), same[i]);
    }
}

static void folding_twice_changes_nothing_more(void)
{
    unsigned wrong = 0;
    for (uint32_t character = 0; character <= 0x10ffff; character++) {
        uint32_t folded = sbx_utf8_fold(character);
        wrong += sbx_utf8_fold(folded) != folded;
        /* Nothing folds into what has a meaning in a path. */
        wrong += folded != character && folded < 0x80 && !sbx_is_alpha((char)folded);
        wrong += is_surrogate(folded) && !is_surrogate(character);
    }
    CHECK_U64(wrong, 0);
}

static const struct sbx_test tests[] = {
    {"every character round trips", every_character_round_trips},
    {"nothing above the last character is encoded", nothing_above_the_last_character_is_encoded},
    {"all two-byte sequences are told apart", all_two_byte_sequences_are_told_apart},
    {"all three-byte sequences are told apart", all_three_byte_sequences_are_told_apart},
    {"all kinds of four-byte sequences are told apart",
     all_kinds_of_four_byte_sequences_are_told_apart},
    {"overlong forms and surrogates are refused", overlong_forms_and_surrogates_are_refused},
    {"nothing is read past the end", nothing_is_read_past_the_end},
    {"the first bad sequence is found wherever it is",
     the_first_bad_sequence_is_found_wherever_it_is},
    {"invalid bytes count one each", invalid_bytes_count_one_each},
    {"a cut never ends inside a character", a_cut_never_ends_inside_a_character},
    {"unsafe characters are known", unsafe_characters_are_known},
    {"folding pairs upper with lower case", folding_pairs_upper_with_lower_case},
    {"folding leaves the others alone", folding_leaves_the_others_alone},
    {"folding twice changes nothing more", folding_twice_changes_nothing_more},
};

SBX_TEST_MAIN("utf8", tests)
