/* Regular expressions for Seatbelt. */
#include "posix/macos_regex.h"

#include <string.h>

#include "common/base/buf.h"

#include "common/base/banned.h"

#define NOISE "[^ -~]*" /* bytes of characters outside of ASCII, as many as there are */
#define PATTERN_NAMES_MAX 64
#define TEXT_MAX ((size_t)64 << 10)

static void add_exact(struct sbx_buf *out, char c)
{
    if (strchr(".*+?()[]{}|^$\\", c) != NULL) {
        sbx_buf_add_char(out, '\\');
    }
    sbx_buf_add_char(out, c);
}

static bool is_ascii(char c)
{
    return (unsigned char)c < 0x80;
}

static char to_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* The long s and the sign for kelvin are other characters for a program, and the same name for the volume. */
static void add_letter(struct sbx_buf *out, char c)
{
    char lower = sbx_to_lower(c);
    if (lower == 's' || lower == 'k') {
        sbx_buf_printf(out, "([%c%c]|[^ -~]+)", to_upper(c), lower);
    } else {
        sbx_buf_printf(out, "[%c%c]", to_upper(c), lower);
    }
}

/* A letter before other bytes may be half of a decomposed character, so it goes with them. */
static bool is_composed(struct sbx_str name, size_t at)
{
    return !is_ascii(name.ptr[at]) || (at + 1 < name.len && !is_ascii(name.ptr[at + 1]));
}

static void add_generous(struct sbx_buf *out, struct sbx_str name, size_t *at)
{
    if (is_composed(name, *at)) {
        while (*at + 1 < name.len && is_composed(name, *at + 1)) {
            *at += 1;
        }
        sbx_buf_add_text(out, "[^/]*");
    } else if (sbx_is_alpha(name.ptr[*at])) {
        add_letter(out, name.ptr[*at]);
    } else {
        add_exact(out, name.ptr[*at]);
    }
    sbx_buf_add_text(out, NOISE);
}

static void add_name(struct sbx_buf *out, struct sbx_str name, enum sbx_regex_style style)
{
    for (size_t at = 0; at < name.len; at++) {
        if (name.ptr[at] == '*') {
            sbx_buf_add_text(out, "[^/]*");
        } else if (name.ptr[at] == '?') {
            /* One character: a byte of ASCII, or all the bytes of another. */
            sbx_buf_add_text(out, style == SBX_REGEX_CLOSES ? "([ -.0-~]|[^ -~]+)" : "[ -.0-~]");
        } else if (style == SBX_REGEX_CLOSES) {
            add_generous(out, name, &at);
        } else {
            add_exact(out, name.ptr[at]);
        }
    }
}

/* The next component; false at the end. */
static bool take_name(struct sbx_str *rest, struct sbx_str *name)
{
    while (rest->len > 0 && rest->ptr[0] == '/') {
        rest->ptr++;
        rest->len--;
    }
    struct sbx_str whole = *rest;
    (void)sbx_str_split(whole, '/', name, rest);
    return name->len > 0;
}

static void add_pattern(struct sbx_buf *out, struct sbx_str pattern, enum sbx_regex_style style)
{
    struct sbx_str name;
    bool wants_slash = false;
    while (take_name(&pattern, &name)) {
        if (wants_slash) {
            sbx_buf_add_char(out, '/');
        }
        if (!sbx_str_is(name, "**")) {
            add_name(out, name, style);
        } else if (pattern.len == 0) {
            sbx_buf_add_text(out, ".+"); /* the last: whatever is below */
        } else {
            sbx_buf_add_text(out, "(.*/)?");
        }
        wants_slash = !sbx_str_is(name, "**");
    }
}

static void add_base(struct sbx_buf *out, struct sbx_path base)
{
    sbx_buf_add_char(out, '^');
    for (size_t i = 0; i < base.len && !sbx_path_is_root(base); i++) {
        add_exact(out, base.text[i]);
    }
    sbx_buf_add_char(out, '/');
}

static const char *const ends[] = {[SBX_REGEX_ITSELF] = "$", [SBX_REGEX_AND_BELOW] = "(/.*)?$"};

const char *sbx_regex_below(struct sbx_arena *arena, struct sbx_path base, struct sbx_str pattern,
                            enum sbx_regex_style style, enum sbx_regex_reach reach)
{
    AUTO_BUF text;
    sbx_buf_init(&text, TEXT_MAX);
    add_base(&text, base);
    add_pattern(&text, pattern, style);
    sbx_buf_add_text(&text, ends[reach]);
    return text.failed ? NULL : sbx_arena_copy(arena, text.data, text.len);
}

const char *sbx_regex_any(struct sbx_arena *arena, struct sbx_path base,
                          const struct sbx_str *patterns, size_t count, enum sbx_regex_reach reach,
                          size_t max_bytes, size_t *used)
{
    AUTO_BUF text;
    AUTO_BUF part;
    sbx_buf_init(&text, TEXT_MAX);
    sbx_buf_init(&part, TEXT_MAX);
    add_base(&text, base);
    sbx_buf_add_text(&text, "(.*/)?(");
    *used = 0;
    while (*used < count) {
        sbx_buf_reset(&part);
        add_pattern(&part, patterns[*used], SBX_REGEX_CLOSES);
        if (*used > 0 && text.len + part.len + sizeof "|)(/.*)?$" > max_bytes) {
            break;
        }
        sbx_buf_add_text(&text, *used > 0 ? "|" : "");
        sbx_buf_add_str(&text, sbx_buf_str(&part));
        *used += 1;
    }
    sbx_buf_add_char(&text, ')');
    sbx_buf_add_text(&text, ends[reach]);
    return text.failed || part.failed ? NULL : sbx_arena_copy(arena, text.data, text.len);
}

/* ---- what is left of a pattern ---- */

/* Where in the pattern one may be: the view that is still to be matched. `**` may stand for nothing, so the
 * place behind it is one too. */
struct places {
    struct sbx_str items[PATTERN_NAMES_MAX];
    size_t count;
};

static void add_place(struct places *places, struct sbx_str rest)
{
    struct sbx_str after = rest;
    struct sbx_str name;
    for (;;) {
        for (size_t i = 0; i < places->count; i++) {
            if (places->items[i].len == rest.len) {
                return; /* views of one text: the length tells them apart */
            }
        }
        if (rest.len == 0 || places->count == PATTERN_NAMES_MAX) {
            return;
        }
        places->items[places->count++] = rest;
        if (!take_name(&after, &name) || !sbx_str_is(name, "**")) {
            return;
        }
        rest = after;
    }
}

static bool name_matches(struct sbx_str pattern, struct sbx_str name)
{
    char glob[520];
    char path[520];
    if (pattern.len > 500 || name.len > 500) {
        return false;
    }
    sbx_text_format(glob, sizeof glob, "/%.*s", SBX_STR_ARG(pattern));
    sbx_text_format(path, sizeof path, "/%.*s", SBX_STR_ARG(name));
    return sbx_path_glob_match((struct sbx_path){glob, pattern.len + 1, SBX_PATH_MACOS},
                               (struct sbx_path){path, name.len + 1, SBX_PATH_MACOS});
}

static void step(const struct places *from, struct sbx_str name, struct places *to)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        struct sbx_str after = from->items[i];
        struct sbx_str want;
        if (!take_name(&after, &want)) {
            continue;
        }
        if (sbx_str_is(want, "**")) {
            add_place(to, from->items[i]);
        } else if (name_matches(want, name)) {
            add_place(to, after);
        }
    }
}

size_t sbx_regex_rest(struct sbx_str pattern, struct sbx_path directory, struct sbx_str *out,
                      size_t max)
{
    struct places now = {.count = 0};
    struct places next;
    struct sbx_str rest = {directory.text, directory.len};
    struct sbx_str name;
    add_place(&now, pattern);
    while (take_name(&rest, &name)) {
        step(&now, name, &next);
        now = next;
    }
    size_t count = 0;
    for (size_t i = 0; i < now.count && count < max; i++) {
        struct sbx_str at = now.items[i];
        while (at.len > 0 && at.ptr[0] == '/') {
            at.ptr++;
            at.len--;
        }
        /* What begins behind a `**` is in what begins with it. */
        bool is_covered =
            count > 0 && sbx_str_starts(out[count - 1], "**/") && out[count - 1].len - 3 == at.len;
        if (at.len > 0 && !is_covered) {
            out[count++] = at;
        }
    }
    return count;
}
