/* Base64, and lines cut out of what is received. */
#include <stdlib.h>
#include <string.h>

#include "common/wire/base64.h"
#include "common/wire/frame.h"
#include "tests/check.h"

#include "common/base/banned.h"

/* ---- base64 ---- */

static bool decodes_to(const char *text, const char *want)
{
    char out[64];
    size_t len = 99;
    return sbx_base64_decode(text, strlen(text), out, &len) && len == strlen(want) &&
           memcmp(out, want, len) == 0;
}

static void the_vectors_of_the_rfc_hold(void)
{
    static const char *const rows[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xfb\xff\xbe", "+/++"},
        {"fooba foobar", "Zm9vYmEgZm9vYmFy"},
        {"fooba foobar!", "Zm9vYmEgZm9vYmFyIQ=="},
        {"fooba foobar!!", "Zm9vYmEgZm9vYmFyISE="},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        char out[64] = {0};
        sbx_base64_encode(rows[i][0], strlen(rows[i][0]), out);
        CHECK_TEXT(out, rows[i][1]);
        CHECK(decodes_to(rows[i][1], rows[i][0]));
    }
}

static void bytes_of_every_length_come_back(void)
{
    unsigned char bytes[300];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 167 + i / 7);
    for (size_t len = 0; len <= sizeof bytes; len++) {
        size_t text_len = SBX_BASE64_LEN(len);
        /* Of just the size they need: a sanitizer sees a byte too many. */
        char *text = malloc(text_len + 1);
        unsigned char *back = malloc(text_len / 4 * 3 + 1);
        unsigned char *from = malloc(len + 1);
        if (text == NULL || back == NULL || from == NULL) abort();
        memcpy(from, bytes, len);
        sbx_base64_encode(from, len, text);
        size_t got = 0;
        CHECK(sbx_base64_decode(text, text_len, back, &got));
        CHECK_MEM(back, got, bytes, len);
        CHECK(sbx_base64_decode(text, text_len, text, &got)); /* in place */
        CHECK_MEM(text, got, bytes, len);
        free(text);
        free(back);
        free(from);
    }
}

static void every_wrong_character_is_refused_wherever_it_stands(void)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[40];
    char out[40];
    size_t len;
    for (int byte = 0; byte < 256; byte++)
        for (size_t at = 0; at < sizeof text; at++) {
            memset(text, 'A', sizeof text);
            text[at] = (char)byte;
            bool is_in = byte != 0 && strchr(alphabet, byte) != NULL;
            bool is_padding = byte == '=' && at == sizeof text - 1;
            CHECK(sbx_base64_decode(text, sizeof text, out, &len) == (is_in || is_padding));
        }
}

static void base64_that_no_encoder_writes_is_refused(void)
{
    static const char *const texts[] = {
        "Z",        "Zg",   "Zg=",    "=",     "====", "Z===", "Zh==",    "Zm9=",
        "Zg==Zg==", "Zm=v", "Zm9v\n", " Zm9v", "Zm-_", "=Zm9", "Zm9vZg=", "Zm9vZm9vZm9vZm9vZh=="};
    char out[64];
    size_t len;
    for (size_t i = 0; i < SBX_COUNT(texts); i++)
        if (sbx_base64_decode(texts[i], strlen(texts[i]), out, &len))
            CHECK_TEXT(texts[i], "is refused");
        else
            CHECK(true);
}

/* ---- lines ---- */

static bool receive(struct sbx_frame *frame, const char *bytes, size_t len)
{
    while (len > 0) {
        size_t size = 0;
        char *room = sbx_frame_room(frame, &size);
        if (room == NULL) return false;
        size_t part = len < size ? len : size;
        memcpy(room, bytes, part);
        sbx_frame_received(frame, part);
        bytes += part;
        len -= part;
    }
    return true;
}

static void lines_come_whole_wherever_they_were_cut(void)
{
    static const char text[] = "one\n\ntwo two\nthree\nrest";
    for (size_t a = 0; a < sizeof text - 1; a++)
        for (size_t b = a; b < sizeof text - 1; b++) {
            AUTO_FRAME frame;
            sbx_frame_init(&frame, 4096);
            char got[64] = {0};
            const size_t cuts[] = {0, a, b, sizeof text - 1};
            for (size_t i = 0; i < 3; i++) {
                CHECK(receive(&frame, text + cuts[i], cuts[i + 1] - cuts[i]));
                struct sbx_str line;
                while (sbx_frame_next(&frame, &line) == SBX_FRAME_LINE)
                    sbx_text_format(got + strlen(got), sizeof got - strlen(got), SBX_STR_FMT "|",
                                    SBX_STR_ARG(line));
            }
            CHECK_TEXT(got, "one||two two|three|");
            CHECK_U64(sbx_frame_pending(&frame), 4);
            CHECK(frame.lines == 4 && frame.bytes == sizeof text - 1);
        }
}

/* One line of `len` bytes and its newline, in pieces. */
static enum sbx_frame_found feed_line(size_t len, size_t line_max, size_t piece)
{
    AUTO_FRAME frame;
    sbx_frame_init(&frame, line_max);
    char *text = malloc(len + 1);
    if (text == NULL) abort();
    memset(text, 'x', len);
    text[len] = '\n';
    enum sbx_frame_found found = SBX_FRAME_NONE;
    struct sbx_str line = {0};
    for (size_t at = 0; at <= len && found == SBX_FRAME_NONE; at += piece) {
        size_t part = len + 1 - at < piece ? len + 1 - at : piece;
        CHECK(receive(&frame, text + at, part));
        found = sbx_frame_next(&frame, &line);
    }
    if (found == SBX_FRAME_LINE) CHECK_U64(line.len, len);
    if (found == SBX_FRAME_TOO_LONG) CHECK(sbx_frame_next(&frame, &line) == SBX_FRAME_TOO_LONG);
    CHECK(frame.size <= line_max + 1 + SBX_FRAME_PIECE);
    free(text);
    return found;
}

static void a_line_may_have_its_greatest_length_and_no_byte_more(void)
{
    static const size_t maxima[] = {SBX_FRAME_LINE_MIN, SBX_FRAME_LINE_MAX};
    static const size_t pieces[] = {1000, SBX_FRAME_PIECE};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 2; k++) {
            CHECK_INT(feed_line(maxima[i] - 1, maxima[i], pieces[k]), SBX_FRAME_LINE);
            CHECK_INT(feed_line(maxima[i], maxima[i], pieces[k]), SBX_FRAME_LINE);
            CHECK_INT(feed_line(maxima[i] + 1, maxima[i], pieces[k]), SBX_FRAME_TOO_LONG);
        }
}

static void a_line_without_end_costs_no_more_than_the_greatest(void)
{
    AUTO_FRAME frame;
    sbx_frame_init(&frame, 10000);
    char piece[1000];
    memset(piece, 'x', sizeof piece);
    struct sbx_str line;
    size_t sent = 0;
    while (sbx_frame_next(&frame, &line) == SBX_FRAME_NONE && receive(&frame, piece, sizeof piece))
        sent += sizeof piece;
    CHECK_U64(sent, 11000);
    size_t size;
    CHECK(sbx_frame_room(&frame, &size) == NULL);
}

static const struct sbx_test tests[] = {
    {"the vectors of the RFC hold", the_vectors_of_the_rfc_hold},
    {"bytes of every length come back", bytes_of_every_length_come_back},
    {"every wrong character is refused wherever it stands",
     every_wrong_character_is_refused_wherever_it_stands},
    {"base64 that no encoder writes is refused", base64_that_no_encoder_writes_is_refused},
    {"lines come whole wherever they were cut", lines_come_whole_wherever_they_were_cut},
    {"a line may have its greatest length and no byte more",
     a_line_may_have_its_greatest_length_and_no_byte_more},
    {"a line without end costs no more than the greatest",
     a_line_without_end_costs_no_more_than_the_greatest},
};
SBX_TEST_MAIN("wire_bytes", tests)
