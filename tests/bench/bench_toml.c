/* Throughput of the TOML reader on texts of different shapes, each in growing sizes: MB/s that stay
 * the same from row to row show that the time is linear. Not part of ctest.
 *
 *     bench_toml [SHAPE [BYTES]] */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/policy/toml.h"

#include "common/base/banned.h"

#define LARGEST_BYTES ((size_t)16 << 20)
#define RUNS 7

/* What the first shape has to reach at the largest size; less is exit status 1. */
#define LEAST_MANIFEST_RATE 100.0

/* Appends the n-th piece of a text. */
typedef void add_piece(struct sbx_buf *buf, uint64_t n);

/* Looks random, is the same each time (splitmix64). */
static uint64_t scramble(uint64_t n)
{
    n += UINT64_C(0x9e3779b97f4a7c15);
    n = (n ^ n >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    n = (n ^ n >> 27) * UINT64_C(0x94d049bb133111eb);
    return n ^ n >> 31;
}

static void manifest(struct sbx_buf *buf, uint64_t n)
{
    sbx_buf_printf(buf,
                   "# box number %" PRIu64 ": what one manifest looks like\n"
                   "[box-%" PRIu64 "]\n"
                   "profile = \"build\"\n"
                   "command = [\"make\", \"-j4\", \"all\"]\n"
                   "workspace = '/home/somebody/src/project-%" PRIu64 "'\n"
                   "timeout-ms = 120_000\n"
                   "network.allow = [\"registry.example.org:443\", \"*.example.net\"]\n"
                   "network.mode = \"proxy\"\n"
                   "\n"
                   "[box-%" PRIu64 ".limits]\n"
                   "memory-bytes = 536870912\n"
                   "cpu = 1.5\n"
                   "processes = 64 # and threads\n"
                   "\n"
                   "[[box-%" PRIu64 ".rule]]\n"
                   "path = \"/usr/share/doc/package-%" PRIu64 "\"\n"
                   "access = \"read\"\n"
                   "[[box-%" PRIu64 ".rule]]\n"
                   "path = \"C:\\\\Users\\\\somebody\\\\AppData\"\n"
                   "access = \"none\"\n"
                   "since = 2024-02-29T12:00:00Z\n\n",
                   n, n, n, n, n, n, n);
}

static void sorted_keys(struct sbx_buf *buf, uint64_t n)
{
    sbx_buf_printf(buf, "key-%08" PRIu64 " = \"value\"\n", n);
}

static void random_keys(struct sbx_buf *buf, uint64_t n)
{
    sbx_buf_printf(buf, "%016" PRIx64 " = \"value\"\n", scramble(n));
}

static void short_keys(struct sbx_buf *buf, uint64_t n)
{
    sbx_buf_printf(buf, "%" PRIx64 "=1\n", n);
}

/* Keys that share all but their end: the dearest to compare. */
static void long_keys(struct sbx_buf *buf, uint64_t n)
{
    sbx_buf_add_repeat(buf, 'k', 200);
    sbx_buf_printf(buf, "%" PRIu64 " = 1\n", n);
}

/* Each key is a prefix of the next: the deepest tree. */
static void prefix_keys(struct sbx_buf *buf, uint64_t n)
{
    sbx_buf_add_repeat(buf, 'p', n % 4000 + 1);
    sbx_buf_printf(buf, "=%" PRIu64 "\n", n);
    if (n % 4000 == 3999) {
        sbx_buf_printf(buf, "[t%" PRIu64 "]\n", n);
    }
}

static void headers(struct sbx_buf *buf, uint64_t n)
{
    sbx_buf_printf(buf, "[a.b.c%" PRIu64 ".d]\n", n);
}

static void elements(struct sbx_buf *buf, uint64_t n)
{
    sbx_buf_add_text(buf, n % 2 == 0 ? "[[a.b]]\n" : "[a.b.c]\nx = 1\n");
}

static void deep_keys(struct sbx_buf *buf, uint64_t n)
{
    sbx_buf_printf(buf, "%" PRIx64, n);
    for (int i = 0; i < 62; i++) {
        sbx_buf_add_text(buf, ".a");
    }
    sbx_buf_add_text(buf, "=1\n");
}

static void integers(struct sbx_buf *buf, uint64_t n)
{
    sbx_buf_add_text(buf, n == 0 ? "a = [1" : ",1");
}

static void floats(struct sbx_buf *buf, uint64_t n)
{
    uint64_t number = scramble(n);
    sbx_buf_printf(buf, "%s%" PRIu64 ".%" PRIu64 ", %" PRIu64 "e-%" PRIu64,
                   n == 0 ? "a = [" : ",\n", number & 0xffff, number >> 40, number, number % 300);
}

static void tables(struct sbx_buf *buf, uint64_t n)
{
    sbx_buf_printf(buf, "%s{a=1,b=%" PRIu64 "}", n == 0 ? "a = [" : ",", n % 10);
}

static void escapes(struct sbx_buf *buf, uint64_t n)
{
    sbx_buf_printf(buf, "e%" PRIu64 " = \"one\\ttwo\\u00e9 \\\"three\\\" C:\\\\four\"\n", n);
}

static void text(struct sbx_buf *buf, uint64_t n)
{
    sbx_buf_add_text(buf, n == 0 ? "a = \"\"\"\n" : "");
    sbx_buf_add_text(buf, "Übung macht den Meister, und lange Texte machen lange Dateien.\n");
}

static void comments(struct sbx_buf *buf, uint64_t n)
{
    (void)n;
    sbx_buf_add_text(buf, "# nothing but comments, line after line after line after line\n");
}

static const struct shape {
    const char *name;
    add_piece *add;
    const char *end;
} shapes[] = {
    {"manifest", manifest, ""},       {"sorted-keys", sorted_keys, ""},
    {"random-keys", random_keys, ""}, {"short-keys", short_keys, ""},
    {"long-keys", long_keys, ""},     {"prefix-keys", prefix_keys, ""},
    {"headers", headers, ""},         {"elements", elements, ""},
    {"deep-keys", deep_keys, ""},     {"integers", integers, "]"},
    {"floats", floats, "]"},          {"tables", tables, "]"},
    {"escapes", escapes, ""},         {"text", text, "\"\"\""},
    {"comments", comments, ""},
};

/* Processor time: what other programs do in the meantime does not count. */
static double seconds_now(void)
{
    return (double)clock() / (double)CLOCKS_PER_SEC;
}

/* Best of some runs; a negative number after a failure. */
static double measure(struct sbx_str document, double *memory)
{
    static const struct sbx_toml_options options = {.max_bytes = SIZE_MAX};
    double best = -1;
    for (int run = 0; run < RUNS; run++) {
        AUTO_ARENA arena;
        sbx_arena_init(&arena, SIZE_MAX / 4);
        struct sbx_value value;
        struct sbx_err err = {0};
        double start = seconds_now();
        if (sbx_toml_read(&arena, "bench", document, &options, &value, NULL, &err) != SBX_OK) {
            fprintf(stderr, "%s\n%s\n", err.text, err.hint);
            return -1;
        }
        double seconds = seconds_now() - start;
        best = best < 0 || seconds < best ? seconds : best;
        *memory = (double)arena.used_bytes / (double)document.len;
    }
    return best;
}

static bool bench(const struct shape *shape, size_t largest)
{
    double rate = 0;
    for (size_t size = largest / 16; size <= largest; size *= 4) {
        AUTO_BUF buf;
        sbx_buf_init(&buf, SIZE_MAX / 4);
        for (uint64_t n = 0; buf.len < size - 4096; n++) {
            shape->add(&buf, n);
        }
        sbx_buf_add_text(&buf, shape->end);
        double memory = 0;
        double seconds = measure(sbx_buf_str(&buf), &memory);
        if (seconds < 0) {
            return false;
        }
        rate = (double)buf.len / 1e6 / seconds;
        printf("%-12s %8.2f MB %8.1f ms %7.0f MB/s %6.1f x memory\n", shape->name,
               (double)buf.len / 1e6, seconds * 1e3, rate, memory);
    }
    if (shape == &shapes[0] && rate < LEAST_MANIFEST_RATE) {
        printf("%s: less than %.0f MB/s\n", shape->name, LEAST_MANIFEST_RATE);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    size_t largest = argc > 2 ? (size_t)strtoull(argv[2], NULL, 10) : LARGEST_BYTES;
    bool held = true;
    bool found = false;
    for (size_t i = 0; i < SBX_COUNT(shapes); i++) {
        if (argc < 2 || strcmp(argv[1], shapes[i].name) == 0) {
            found = true;
            held = bench(&shapes[i], largest < 65536 ? 65536 : largest) && held;
        }
    }
    if (!found) {
        fputs("bench_toml: no such shape\n", stderr);
        return 2;
    }
    return held ? 0 : 1;
}
