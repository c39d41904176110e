/* Fuzz: the names that sbx-init lets a box make, against a reference that tries every way a pattern can be laid
 * along a path. The first byte holds the pattern's flags and whether a directory is made, a newline ends the
 * pattern, the path below "/w" follows. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "tests/unit/guard_fixture.h"

#include "common/base/banned.h"

/* Small, because the reference tries every way. */
enum { PATTERN_MAX = 24, PATH_MAX_BYTES = 40, COMPONENTS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct words {
    const char *at[COMPONENTS];
    size_t len[COMPONENTS];
    size_t count;
};

static void split(const char *text, struct words *out)
{
    out->count = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, "/");
        if (len > 0) {
            out->at[out->count] = text;
            out->len[out->count++] = len;
        }
        text += len + (text[len] == '/');
    }
}

static size_t character(const char *text, size_t len)
{
    uint32_t value = 0;
    size_t bytes = sbx_utf8_decode(text, len, &value);
    return bytes == 0 ? 1 : bytes;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* One question of the reference: a word of the pattern, a name, and which rests of both were found not to match. Without
 * those the time would grow exponentially with the stars. */
struct question {
    const char *pattern, *name;
    size_t pattern_len, name_len;
    unsigned char *failed; /* (pattern_len + 1) * (name_len + 1) of them */
};

static bool rest_matches(const struct question *q, size_t p, size_t n)
{
    bool is_match = false;
    if (p == q->pattern_len) {
        return n == q->name_len;
    }
    unsigned char *failed = &q->failed[p * (q->name_len + 1) + n];
    if (*failed != 0) {
        return false;
    }
    if (q->pattern[p] == '*') {
        for (size_t at = n; !is_match && at <= q->name_len;) {
            is_match = rest_matches(q, p + 1, at);
            at += at == q->name_len ? 1 : character(q->name + at, q->name_len - at);
        }
    } else if (n < q->name_len && q->pattern[p] == '?') {
        is_match = rest_matches(q, p + 1, n + character(q->name + n, q->name_len - n));
    } else if (n < q->name_len && lower(q->pattern[p]) == lower(q->name[n])) {
        is_match = rest_matches(q, p + 1, n + 1);
    }
    *failed = is_match ? 0 : 1;
    return is_match;
}

static bool name_matches(const char *pattern, size_t pattern_len, const char *name, size_t name_len)
{
    unsigned char *failed = (unsigned char *)calloc(pattern_len + 1, name_len + 1);
    struct question q = {pattern, name, pattern_len, name_len, failed};
    if (failed == NULL) {
        abort();
    }
    bool is_match = rest_matches(&q, 0, 0);
    free(failed);
    return is_match;
}

/* The same of words: which rests of pattern and path were found not to lie along each other. */
static bool words_failed[COMPONENTS + 1][COMPONENTS + 1];

static bool rest_lies_along(const struct words *pattern, size_t p, size_t p_end,
                            const struct words *path, size_t n, size_t n_end)
{
    bool is_match = false;
    if (p == p_end) {
        return n == n_end;
    }
    if (words_failed[p][n]) {
        return false;
    }
    bool is_any = pattern->len[p] == 2 && memcmp(pattern->at[p], "**", 2) == 0;
    if (is_any) {
        is_match = rest_lies_along(pattern, p + 1, p_end, path, n, n_end) ||
                   (n < n_end && rest_lies_along(pattern, p, p_end, path, n + 1, n_end));
    } else {
        is_match = n < n_end &&
                   name_matches(pattern->at[p], pattern->len[p], path->at[n], path->len[n]) &&
                   rest_lies_along(pattern, p + 1, p_end, path, n + 1, n_end);
    }
    words_failed[p][n] = !is_match;
    return is_match;
}

/* Do the pattern's first words, up to p_end, lie exactly along the path's [n, n_end)? */
static bool lies_along(const struct words *pattern, size_t p_end, const struct words *path,
                       size_t n, size_t n_end)
{
    memset(words_failed, 0, sizeof words_failed);
    return rest_lies_along(pattern, 0, p_end, path, n, n_end);
}

static enum init_verdict reference(const struct words *pattern, uint64_t flags,
                                   const struct words *path, bool is_directory)
{
    enum { PLACE_DEPTH = 1 };
    bool only_files = (flags & SBX_PATTERN_FILE_ONLY) != 0;
    bool goes_on = false;
    size_t last = (flags & SBX_PATTERN_ANCHORED) != 0 ? 0 : path->count - 1;
    for (size_t from = 0; from <= last; from++) {
        for (size_t end = from + 1; end <= path->count; end++) {
            bool is_whole = end == path->count;
            if (end > PLACE_DEPTH && (!only_files || (is_whole && !is_directory)) &&
                lies_along(pattern, pattern->count, path, from, end)) {
                return INIT_REFUSED;
            }
        }
        for (size_t part = 0; part < pattern->count; part++) {
            bool stays = pattern->len[part] == 2 && memcmp(pattern->at[part], "**", 2) == 0;
            goes_on |= lies_along(pattern, part + (stays ? 1 : 0), path, from, path->count);
        }
    }
    return goes_on ? INIT_NO_DIRECTORY : INIT_ALLOWED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char pattern[PATTERN_MAX + 1] = "";
    char path[PATH_MAX_BYTES + 4] = "/w/";
    const uint8_t *end = size < 2 ? NULL : (const uint8_t *)memchr(data + 1, '\n', size - 1);
    if (end == NULL || end - data - 1 > PATTERN_MAX || data + size - end - 1 > PATH_MAX_BYTES) {
        return 0;
    }
    memcpy(pattern, data + 1, (size_t)(end - data - 1));
    memcpy(path + 3, end + 1, (size_t)(data + size - end - 1));
    struct words pattern_words;
    struct words path_words;
    split(pattern, &pattern_words);
    split(path, &path_words);
    if (pattern_words.count == 0) {
        return 0;
    }
    uint64_t flags = data[0] & (SBX_PATTERN_FILE_ONLY | SBX_PATTERN_ANCHORED);
    bool is_directory = (data[0] & 4) != 0;
    AUTO_GUARD guard = {0};
    guard_make(&guard, (const struct guard_place[]){{"/w", SBX_PLACE_WRITABLE}, {NULL, 0}},
               (const struct guard_pattern[]){{pattern, flags}, {NULL, 0}});
    enum init_verdict got = init_may_make(&guard.init, path, is_directory);
    if (got != reference(&pattern_words, flags, &path_words, is_directory)) {
        abort();
    }
    return 0;
}
