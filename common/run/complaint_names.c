/* What may be a path in a complaint: quoted texts and words, those nearest to the error first. */
#include "common/run/complaint_names.h"

#include <string.h>

#include "common/base/banned.h"

#define SPANS_MAX 64
#define QUOTES 6

/* A quoted text without its quotes, a word, or a path with spaces up to the end of its part of the line. */
struct span {
    size_t start, end;
    bool is_quoted;
    bool is_joined;
};

struct scan {
    enum sbx_path_rules rules;
    struct sbx_str line;
    size_t error_start, error_end;
    struct span spans[SPANS_MAX];
    size_t count;
    bool is_open[QUOTES]; /* no quote of that kind closes any more: a hostile line is read once */
};

static char at_or_space(const struct scan *scan, size_t at)
{
    return at < scan->line.len ? scan->line.ptr[at] : ' ';
}

static void push(struct scan *scan, struct span span)
{
    if (span.end > span.start && scan->count < SPANS_MAX) scan->spans[scan->count++] = span;
}

/* ---- quotes ---- */

struct quote {
    const char *open, *close;
};

/* `…' is how older tools quote. */
static const struct quote quotes[QUOTES] = {{"\xe2\x80\x98", "\xe2\x80\x99"}, /* ‘ ’ */
                                            {"\xe2\x80\x9c", "\xe2\x80\x9d"}, /* “ ” */
                                            {"'", "'"},
                                            {"\"", "\""},
                                            {"`", "`"},
                                            {"`", "'"}};

static bool has_at(struct sbx_str line, size_t at, const char *text)
{
    size_t len = strlen(text);
    return at + len <= line.len && memcmp(line.ptr + at, text, len) == 0;
}

/* A quote that opens stands before a name and after none ("can't" opens nothing); one that closes is not
 * followed by a letter. */
static bool quoted_at(struct scan *scan, size_t at, struct span *out, size_t *next)
{
    if (at > 0 && sbx_is_alnum(scan->line.ptr[at - 1])) return false;
    for (size_t i = 0; i < SBX_COUNT(quotes); i++) {
        if (scan->is_open[i] || !has_at(scan->line, at, quotes[i].open)) continue;
        size_t start = at + strlen(quotes[i].open);
        size_t close_len = strlen(quotes[i].close);
        for (size_t end = start; end < scan->line.len; end++) {
            if (!has_at(scan->line, end, quotes[i].close) ||
                sbx_is_alnum(at_or_space(scan, end + close_len)))
                continue;
            *out = (struct span){start, end, true, false};
            *next = end + close_len;
            return true;
        }
        scan->is_open[i] = true;
    }
    return false;
}

/* ---- words ---- */

static bool is_slash(const struct scan *scan, char c)
{
    return c == '/' || (scan->rules == SBX_PATH_WINDOWS && c == '\\');
}

static bool is_drive(const struct scan *scan, size_t at)
{
    return scan->rules == SBX_PATH_WINDOWS && sbx_is_alpha(at_or_space(scan, at)) &&
           at_or_space(scan, at + 1) == ':' && is_slash(scan, at_or_space(scan, at + 2));
}

static bool is_absolute(const struct scan *scan, size_t at)
{
    if (scan->rules == SBX_PATH_WINDOWS) return is_drive(scan, at);
    return at_or_space(scan, at) == '/' && at_or_space(scan, at + 1) != '/';
}

static bool separates(const struct scan *scan, size_t at)
{
    char c = scan->line.ptr[at];
    if ((unsigned char)c <= ' ' || strchr("()[]{}<>,;|\"`:", c) != NULL) return true;
    return c == '=' && is_absolute(scan, at + 1);
}

static size_t trim(const struct scan *scan, size_t start, size_t end)
{
    while (end > start && strchr(" .,;:!?'", scan->line.ptr[end - 1]) != NULL) end--;
    return end;
}

/* Where a part of the line ends: before ": ", " (" or the error. */
static size_t part_end(const struct scan *scan, size_t at)
{
    size_t limit = at <= scan->error_start ? scan->error_start : scan->line.len;
    for (; at < limit; at++) {
        char next = at_or_space(scan, at + 1);
        if (scan->line.ptr[at] == ':' && (next == ' ' || at + 1 == limit)) return at;
        if (scan->line.ptr[at] == ' ' && next == '(') return at;
    }
    return limit;
}

/* Adds the word at `at`, with spaces first when it may have some; where it ends. */
static size_t add_word(struct scan *scan, size_t at)
{
    size_t start = at;
    if (is_drive(scan, at)) at += 2;
    while (at < scan->line.len && at != scan->error_start && !separates(scan, at)) at++;
    size_t end = trim(scan, start, at);
    /* The dots of "." and ".." are the name. */
    if (end == start) return at > start ? at : start + 1;
    if (is_absolute(scan, start)) {
        size_t joined = trim(scan, start, part_end(scan, start));
        if (joined > at) push(scan, (struct span){start, joined, false, true});
    }
    push(scan, (struct span){start, end, false, false});
    return at;
}

static void collect(struct scan *scan)
{
    for (size_t at = 0; at < scan->line.len;) {
        struct span quoted = {0};
        size_t next = 0;
        if (at >= scan->error_start && at < scan->error_end) {
            at = scan->error_end;
        } else if (quoted_at(scan, at, &quoted, &next) &&
                   (quoted.end <= scan->error_start || quoted.start >= scan->error_end)) {
            push(scan, quoted);
            at = next;
        } else if (separates(scan, at) || scan->line.ptr[at] == '\'') {
            at++;
        } else {
            at = add_word(scan, at);
        }
    }
}

/* ---- which of them ---- */

static size_t distance(const struct scan *scan, const struct span *span)
{
    return span->end <= scan->error_start ? scan->error_start - span->end
                                          : span->start - scan->error_end;
}

/* Nothing but punctuation lies between it and the error; after the error also one word: ", open '/x'". */
static bool is_adjacent(const struct scan *scan, const struct span *span)
{
    bool is_before = span->end <= scan->error_start;
    size_t from = is_before ? span->end : scan->error_end;
    size_t to = is_before ? scan->error_start : span->start;
    size_t words = 0;
    /* A mere space is not what stands between a name and its error, but between words. */
    bool is_apart = span->is_quoted;
    for (size_t at = from; at < to; at++) {
        bool is_letter = sbx_is_alnum(scan->line.ptr[at]);
        is_apart |= strchr(":(,", scan->line.ptr[at]) != NULL;
        words += is_letter && (at == from || !sbx_is_alnum(scan->line.ptr[at - 1]));
    }
    return is_apart && words <= (is_before ? 0u : 1u);
}

static bool is_shells(const struct scan *scan)
{
    struct sbx_str name;
    struct sbx_str rest;
    return sbx_str_split(scan->line, ':', &name, &rest) && sbx_str_ends(name, "sh");
}

static bool has_slash(const struct scan *scan, const struct span *span)
{
    for (size_t at = span->start; at < span->end; at++)
        if (is_slash(scan, scan->line.ptr[at])) return true;
    return false;
}

static bool starts_with_dots(const struct scan *scan, const struct span *span)
{
    size_t at = span->start;
    while (at < span->end && at < span->start + 2 && scan->line.ptr[at] == '.') at++;
    return at > span->start && at < span->end && is_slash(scan, scan->line.ptr[at]);
}

/* What stands before an error without being a name: "write error: No space left", "Cannot open: …". */
static bool is_plain_word(const struct scan *scan, const struct span *span)
{
    static const char *const words[] = {
        "access",    "cannot", "close",  "connect", "create", "denied",    "device",
        "directory", "error",  "exec",   "execve",  "execvp", "exception", "failed",
        "failure",   "fatal",  "file",   "input",   "lock",   "mkdir",     "open",
        "operation", "output", "pipe",   "read",    "rename", "stat",      "stderr",
        "stdin",     "stdout", "system", "unable",  "unlink", "warning",   "write"};
    struct sbx_str text = {scan->line.ptr + span->start, span->end - span->start};
    uint64_t number;
    if (sbx_str_to_u64(text, &number)) return true;
    for (size_t i = 0; i < SBX_COUNT(words); i++)
        if (sbx_str_is_nocase(text, words[i])) return true;
    return false;
}

/* False: it is none. */
static bool trust_of(const struct scan *scan, const struct span *span, bool has_verb,
                     enum sbx_name_trust *out)
{
    bool is_near = is_adjacent(scan, span);
    bool is_path = has_slash(scan, span);
    /* "/usr/bin/ld: cannot open …": the name of the program that complains. */
    if (span->start == 0 && !is_near) return false;
    /* "error: Permission denied" */
    if (!is_path && !span->is_quoted && (span->start == 0 || is_plain_word(scan, span)))
        return false;
    if (has_at(scan->line, span->start, "//")) return false;
    *out = SBX_NAME_MUST_EXIST;
    if (span->is_joined) return true;
    if (is_absolute(scan, span->start) || starts_with_dots(scan, span))
        *out = SBX_NAME_SURE;
    else if (span->is_quoted ? is_near || has_verb
                             : is_near && (is_path || has_verb || is_shells(scan)))
        *out = SBX_NAME_LIKELY;
    return *out != SBX_NAME_MUST_EXIST || is_path || is_near;
}

/* The nearest that was not taken yet; of equals the first. */
static size_t nearest(const struct scan *scan, const bool *taken)
{
    size_t best = scan->count;
    for (size_t i = 0; i < scan->count; i++)
        if (!taken[i] && (best == scan->count ||
                          distance(scan, &scan->spans[i]) < distance(scan, &scan->spans[best])))
            best = i;
    return best;
}

void sbx_complaint_names(enum sbx_path_rules rules, struct sbx_str line, struct sbx_complaint *io)
{
    size_t error_start = (size_t)(io->error.ptr - line.ptr);
    struct scan scan = {.rules = rules,
                        .line = line,
                        .error_start = error_start,
                        .error_end = error_start + io->error.len};
    bool taken[SPANS_MAX] = {false};
    collect(&scan);
    while (io->name_count < SBX_COMPLAINT_NAMES_MAX) {
        size_t index = nearest(&scan, taken);
        if (index == scan.count) return;
        taken[index] = true;
        const struct span *span = &scan.spans[index];
        struct sbx_complaint_name name = {.text = {line.ptr + span->start, span->end - span->start},
                                          .trust = SBX_NAME_MUST_EXIST};
        if (trust_of(&scan, span, io->has_verb, &name.trust)) io->names[io->name_count++] = name;
    }
}
