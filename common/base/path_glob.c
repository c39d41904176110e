/* Glob matching of whole paths. Both levels, components and characters, go back only to the last
 * star they met: what an earlier star matched never needs to change, so each pair of pattern item
 * and path item is compared once. */
#include "common/base/path_internal.h"

#include <string.h>

#include "common/base/banned.h"

#define NO_STAR SIZE_MAX

bool sbx_path_is_glob(struct sbx_str text)
{
    return sbx_str_contains(text, "*") || sbx_str_contains(text, "?");
}

static bool take_character(const struct sbx_path_style *style, struct sbx_str pattern,
                           size_t *pattern_at, struct sbx_str name, size_t *name_at)
{
    if (*pattern_at == pattern.len) {
        return false;
    }
    bool any = pattern.ptr[*pattern_at] == '?';
    uint32_t want = sbx_path_take_folded(style, pattern, pattern_at);
    uint32_t got = sbx_path_take_folded(style, name, name_at);
    return any || want == got;
}

static bool match_name(const struct sbx_path_style *style, struct sbx_str pattern,
                       struct sbx_str name)
{
    size_t pattern_at = 0;
    size_t name_at = 0;
    size_t after_star = NO_STAR; /* where the pattern goes on after its last star */
    size_t star_end = 0;         /* how far that star reaches into the name by now */
    while (name_at < name.len) {
        if (pattern_at < pattern.len && pattern.ptr[pattern_at] == '*') {
            after_star = ++pattern_at;
            star_end = name_at;
        } else if (!take_character(style, pattern, &pattern_at, name, &name_at)) {
            if (after_star == NO_STAR) {
                return false;
            }
            (void)sbx_path_take_folded(style, name, &star_end);
            pattern_at = after_star;
            name_at = star_end;
        }
    }
    while (pattern_at < pattern.len && pattern.ptr[pattern_at] == '*') {
        pattern_at++;
    }
    return pattern_at == pattern.len;
}

/* Is all that is left of the pattern `**` components? */
static bool only_stars_left(const struct sbx_path_style *style, struct sbx_str pattern, size_t at)
{
    struct sbx_str name;
    while (sbx_path_take_name(style, pattern, &at, &name)) {
        if (!sbx_str_is(name, "**")) {
            return false;
        }
    }
    return true;
}

/* What the pattern leaves open at its two ends, as if a `**` component stood there. */
enum open_end { OPEN_NOWHERE, OPEN_ABOVE, OPEN_BELOW };

static bool match_names(const struct sbx_path_style *style, struct sbx_str pattern,
                        struct sbx_str path, enum open_end open_end)
{
    size_t pattern_at = 0;
    size_t path_at = 0;
    size_t after_star = open_end == OPEN_ABOVE ? 0 : NO_STAR;
    size_t star_end = 0;
    struct sbx_str want;
    struct sbx_str name;
    for (;;) {
        size_t next_path = path_at;
        size_t next_pattern = pattern_at;
        if (!sbx_path_take_name(style, path, &next_path, &name)) {
            return only_stars_left(style, pattern, pattern_at);
        }
        bool more = sbx_path_take_name(style, pattern, &next_pattern, &want);
        if (!more && open_end == OPEN_BELOW) {
            return true;
        }
        if (more && sbx_str_is(want, "**")) {
            after_star = pattern_at = next_pattern;
            star_end = path_at;
        } else if (more && match_name(style, want, name)) {
            pattern_at = next_pattern;
            path_at = next_path;
        } else if (after_star != NO_STAR) {
            (void)sbx_path_take_name(style, path, &star_end, &name);
            pattern_at = after_star;
            path_at = star_end;
        } else {
            return false;
        }
    }
}

static bool match_below_root(struct sbx_path pattern, struct sbx_path path, enum open_end open_end)
{
    const struct sbx_path_style *style = sbx_path_style_of(path.rules);
    if (pattern.rules != path.rules || pattern.len < style->root_len ||
        path.len < style->root_len || memcmp(pattern.text, path.text, style->root_len) != 0) {
        return false;
    }
    return match_names(style, sbx_path_below_root(pattern), sbx_path_below_root(path), open_end);
}

bool sbx_path_glob_match(struct sbx_path pattern, struct sbx_path path)
{
    return match_below_root(pattern, path, OPEN_NOWHERE);
}

bool sbx_path_glob_covers(struct sbx_path pattern, struct sbx_path path)
{
    return match_below_root(pattern, path, OPEN_BELOW);
}

static struct sbx_str last_name(const struct sbx_path_style *style, struct sbx_str text)
{
    struct sbx_str last = {"", 0};
    for (size_t at = 0; sbx_path_take_name(style, text, &at, &last);) {
    }
    return last;
}

/* Says the last byte alone that the path is no match? Not where a character has several spellings. */
static bool ends_otherwise(const struct sbx_path_style *style, struct sbx_path path,
                           struct sbx_str pattern)
{
    char last = pattern.len == 0 ? '*' : pattern.ptr[pattern.len - 1];
    return !style->folds_case && last != '*' && last != '?' && last != '/' &&
           last != path.text[path.len - 1];
}

/* Many patterns are asked about one path, and its last name rules nearly all of them out. */
bool sbx_path_ends_in(struct sbx_path path, struct sbx_str pattern)
{
    const struct sbx_path_style *style = sbx_path_style_of(path.rules);
    if (ends_otherwise(style, path, pattern)) {
        return false;
    }
    struct sbx_str last = last_name(style, pattern);
    if (last.len > 0 && !sbx_str_is(last, "**") && !match_name(style, last, sbx_path_name(path))) {
        return false;
    }
    return match_names(style, pattern, sbx_path_below_root(path), OPEN_ABOVE);
}
