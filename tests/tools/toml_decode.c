/* toml-decode: TOML on stdin, the tagged JSON of the toml-test corpus on stdout. Invalid input: a
 * message on stderr and exit status 1; anything else that fails: 2.
 *
 *     toml-decode < file.toml
 *     toml-decode --batch     any number of documents, each a 32-bit little-endian length and its
 *                             bytes; the answers are each a byte (0 valid, 1 not), a length and the
 *                             JSON or the message */
#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/policy/toml.h"

#include "common/base/banned.h"

/* The tool shows how fast the reader is, so it takes more than a manifest may be, and has its own
 * small writer instead of printf for nearly everything. */
#define MAX_BYTES ((size_t)1 << 30)
#define BLOCK_BYTES ((size_t)64 << 10)

/* With a stream, what does not fit goes there; without, the memory grows. */
struct output {
    FILE *stream;
    char *data;
    size_t len, cap;
    bool failed;
};

static void flush(struct output *out)
{
    if (out->len > 0 && fwrite(out->data, 1, out->len, out->stream) != out->len) {
        out->failed = true;
    }
    out->len = 0;
}

/* Makes room; only then may `len` bytes be put. */
static bool reserve(struct output *out, size_t len)
{
    if (out->stream != NULL && len > out->cap - out->len) {
        flush(out);
    }
    if (len > out->cap - out->len) {
        size_t cap = (out->cap + len) * 2 + BLOCK_BYTES;
        char *data = realloc(out->data, cap);
        if (data == NULL) {
            out->failed = true;
            return false;
        }
        out->data = data;
        out->cap = cap;
    }
    return true;
}

static void put(struct output *out, const char *bytes, size_t len)
{
    if (len > 0 && reserve(out, len)) {
        memcpy(out->data + out->len, bytes, len);
        out->len += len;
    }
}

static inline void put_text(struct output *out, const char *text)
{
    put(out, text, strlen(text));
}

static void put_char(struct output *out, char c)
{
    if (reserve(out, 1)) {
        out->data[out->len++] = c;
    }
}

/* Decimal, with zeros in front up to `width` digits. */
static void put_number(struct output *out, uint64_t number, int width)
{
    char digits[20];
    size_t at = sizeof digits;
    while (number > 0 || width > 0) {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
        width--;
    }
    put(out, digits + at, sizeof digits - at);
}

static void put_json_string(struct output *out, struct sbx_str text)
{
    static const char hex[] = "0123456789abcdef";
    put_char(out, '"');
    size_t plain = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c >= 0x20 && c != '"' && c != '\\') {
            continue;
        }
        put(out, text.ptr + plain, i - plain);
        const char escape[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        put(out, escape, sizeof escape);
        plain = i + 1;
    }
    put(out, text.ptr + plain, text.len - plain);
    put_char(out, '"');
}

/* Without isnan and isinf: MinGW's macros narrow to float, which -Wconversion refuses. */
static void put_float(struct output *out, double number)
{
    if (number != number) {
        put_text(out, "nan");
    } else if (number > DBL_MAX || number < -DBL_MAX) {
        put_text(out, number < 0 ? "-inf" : "inf");
    } else {
        char text[40];
        (void)snprintf(text, sizeof text, "%.17g", number);
        put_text(out, text);
    }
}

static const char *datetime_type(const struct sbx_datetime *value)
{
    static const char *const names[] = {[SBX_DATETIME_OFFSET] = "datetime",
                                        [SBX_DATETIME_LOCAL] = "datetime-local",
                                        [SBX_DATETIME_DATE] = "date-local",
                                        [SBX_DATETIME_TIME] = "time-local"};
    return names[value->kind];
}

static void put_time(struct output *out, const struct sbx_datetime *value)
{
    put_number(out, value->hour, 2);
    put_char(out, ':');
    put_number(out, value->minute, 2);
    put_char(out, ':');
    put_number(out, value->second, 2);
    if (value->nanosecond != 0) {
        uint32_t fraction = value->nanosecond;
        int width = 9;
        for (; fraction % 10 == 0; fraction /= 10) {
            width--;
        }
        put_char(out, '.');
        put_number(out, fraction, width);
    }
}

static void put_offset(struct output *out, const struct sbx_datetime *value)
{
    if (value->is_zulu) {
        put_char(out, 'Z');
        return;
    }
    const bool west = value->offset_minutes < 0;
    const unsigned minutes = (unsigned)(west ? -value->offset_minutes : value->offset_minutes);
    put_char(out, west ? '-' : '+');
    put_number(out, minutes / 60, 2);
    put_char(out, ':');
    put_number(out, minutes % 60, 2);
}

static void put_datetime(struct output *out, const struct sbx_datetime *value)
{
    if (value->kind != SBX_DATETIME_TIME) {
        put_number(out, value->year, 4);
        put_char(out, '-');
        put_number(out, value->month, 2);
        put_char(out, '-');
        put_number(out, value->day, 2);
    }
    if (value->kind == SBX_DATETIME_OFFSET || value->kind == SBX_DATETIME_LOCAL) {
        put_char(out, 'T');
    }
    if (value->kind != SBX_DATETIME_DATE) {
        put_time(out, value);
    }
    if (value->kind == SBX_DATETIME_OFFSET) {
        put_offset(out, value);
    }
}

static void put_scalar(struct output *out, const struct sbx_value *value)
{
    switch (value->type) {
    case SBX_VALUE_STRING:
        put_text(out, "{\"type\":\"string\",\"value\":");
        put_json_string(out, value->string);
        put_char(out, '}');
        return;
    case SBX_VALUE_INTEGER:
        put_text(out, "{\"type\":\"integer\",\"value\":\"");
        put_text(out, value->integer < 0 ? "-" : "");
        put_number(out,
                   value->integer < 0 ? 0 - (uint64_t)value->integer : (uint64_t)value->integer, 1);
        break;
    case SBX_VALUE_FLOAT:
        put_text(out, "{\"type\":\"float\",\"value\":\"");
        put_float(out, value->number);
        break;
    case SBX_VALUE_BOOL:
        put_text(out, "{\"type\":\"bool\",\"value\":\"");
        put_text(out, value->boolean ? "true" : "false");
        break;
    case SBX_VALUE_DATETIME:
        put_text(out, "{\"type\":\"");
        put_text(out, datetime_type(&value->datetime));
        put_text(out, "\",\"value\":\"");
        put_datetime(out, &value->datetime);
        break;
    case SBX_VALUE_ARRAY:
    case SBX_VALUE_TABLE:
    case SBX_VALUE_NULL:
        return;
    }
    put_text(out, "\"}");
}

/* As deep as the reader goes, which is bounded. */
static void put_value(struct output *out, const struct sbx_value *value)
{
    if (value->type == SBX_VALUE_ARRAY) {
        put_char(out, '[');
        for (size_t i = 0; i < value->array.count; i++) {
            put_text(out, i == 0 ? "" : ",");
            put_value(out, &value->array.items[i]);
        }
        put_char(out, ']');
    } else if (value->type == SBX_VALUE_TABLE) {
        put_char(out, '{');
        for (size_t i = 0; i < value->table.count; i++) {
            put_text(out, i == 0 ? "" : ",");
            put_json_string(out, value->table.members[i].key);
            put_char(out, ':');
            put_value(out, &value->table.members[i].value);
        }
        put_char(out, '}');
    } else {
        put_scalar(out, value);
    }
}

/* One document. Valid: its JSON goes to `out`; else *err says why. */
static enum sbx_code decode(struct sbx_str text, struct output *out, struct sbx_err *err)
{
    static const struct sbx_toml_options options = {.max_bytes = MAX_BYTES};
    AUTO_ARENA arena;
    sbx_arena_init(&arena, SIZE_MAX / 4);
    struct sbx_value value;
    enum sbx_code code = sbx_toml_read(&arena, "stdin", text, &options, &value, NULL, err);
    if (code == SBX_OK) {
        put_value(out, &value);
    }
    return code;
}

static bool read_all(FILE *in, struct sbx_buf *buf)
{
    static char block[BLOCK_BYTES];
    size_t got;
    while ((got = fread(block, 1, sizeof block, in)) > 0) {
        sbx_buf_add(buf, block, got);
    }
    return ferror(in) == 0 && !buf->failed;
}

static int run_single(const struct sbx_buf *in, struct output *out)
{
    struct sbx_err err = {0};
    out->stream = stdout;
    if (decode(sbx_buf_str(in), out, &err) != SBX_OK) {
        fprintf(stderr, "%s\n%s\n", err.text, err.hint);
        return 1;
    }
    put_char(out, '\n');
    flush(out);
    return out->failed || fflush(stdout) != 0 ? 2 : 0;
}

static void write_answer(enum sbx_code code, const struct output *out)
{
    putchar(code == SBX_OK ? 0 : 1);
    for (unsigned shift = 0; shift < 32; shift += 8) {
        putchar((int)(out->len >> shift & 0xff));
    }
    fwrite(out->data, 1, out->len, stdout);
}

/* The document at *at, and *at behind it; false when the input ends before. */
static bool next_document(const struct sbx_buf *in, size_t *at, struct sbx_str *out)
{
    uint32_t len = 0;
    if (in->len - *at < 4) {
        return false;
    }
    for (unsigned i = 0; i < 4; i++) {
        len |= (uint32_t)(unsigned char)in->data[*at + i] << (8 * i);
    }
    *out = (struct sbx_str){in->data + *at + 4, len};
    *at += 4;
    if (in->len - *at < len) {
        return false;
    }
    *at += len;
    return true;
}

static int run_batch(const struct sbx_buf *in, struct output *out)
{
    for (size_t at = 0; at < in->len;) {
        struct sbx_str text;
        if (!next_document(in, &at, &text)) {
            return 2;
        }
        /* Exactly as large as the document: one byte too far is one that ASan sees. */
        char *copy = malloc(text.len > 0 ? text.len : 1);
        if (copy == NULL) {
            return 2;
        }
        memcpy(copy, text.ptr, text.len);
        struct sbx_err err = {0};
        out->len = 0;
        enum sbx_code code = decode((struct sbx_str){copy, text.len}, out, &err);
        free(copy);
        if (code != SBX_OK) {
            put_text(out, err.text);
            put_char(out, '\n');
            put_text(out, err.hint);
        }
        write_answer(code, out);
    }
    return out->failed || fflush(stdout) != 0 || ferror(stdout) != 0 ? 2 : 0;
}

int main(int argc, char **argv)
{
    bool batch = argc == 2 && strcmp(argv[1], "--batch") == 0;
    if (argc > 1 && !batch) {
        fputs("usage: toml-decode [--batch] < FILE\n", stderr);
        return 2;
    }
#ifdef _WIN32
    /* The bytes as they are: a text stream would change line ends and stop at ^Z. */
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
#endif
    AUTO_BUF in;
    sbx_buf_init(&in, SIZE_MAX / 4);
    if (!read_all(stdin, &in)) {
        fputs("toml-decode: cannot read the input\n", stderr);
        return 2;
    }
    struct output out = {.stream = NULL};
    const int status = batch ? run_batch(&in, &out) : run_single(&in, &out);
    free(out.data);
    return status;
}
