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

static bool match_names(const struct sbx_path_style *style, struct sbx_str pattern,
                        struct sbx_str path)
{
    size_t pattern_at = 0;
    size_t path_at = 0;
    size_t after_star = NO_STAR;
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

bool sbx_path_glob_match(struct sbx_path pattern, struct sbx_path path)
{
    const struct sbx_path_style *style = sbx_path_style_of(path.rules);
    if (pattern.rules != path.rules || pattern.len < style->root_len ||
        path.len < style->root_len || memcmp(pattern.text, path.text, style->root_len) != 0) {
        return false;
    }
    return match_names(style, sbx_path_below_root(pattern), sbx_path_below_root(path));
}
