/* Comparing paths by whole characters, with or without case. */
#include "common/base/path_internal.h"

#include "common/base/utf8.h"

#include "common/base/banned.h"

#define BAD_BYTE UINT32_C(0x80000000)

static struct sbx_str view_of(struct sbx_path path)
{
    return (struct sbx_str){path.text, path.len};
}

uint32_t sbx_path_take_folded(const struct sbx_path_style *style, struct sbx_str text, size_t *at)
{
    uint32_t character = 0;
    size_t len = sbx_utf8_decode(text.ptr + *at, text.len - *at, &character);
    if (len == 0) {
        /* Not from sbx_path_make. Still no endless loop, and equal to no real character. */
        return BAD_BYTE | (unsigned char)text.ptr[(*at)++];
    }
    *at += len;
    return style->folds_case ? sbx_utf8_fold(character) : character;
}

/* The order of characters in a path: its end, the separator, all others. A path has no control
 * characters, so 0 and 1 are free. */
static uint32_t take_key(const struct sbx_path_style *style, struct sbx_str text, size_t *at)
{
    if (*at == text.len) {
        return 0;
    }
    uint32_t key = sbx_path_take_folded(style, text, at);
    return key == (unsigned char)style->separator ? 1 : key;
}

/* Length of what both start with, byte for byte, in whole characters: most of the comparing there is
 * to do, and it needs no folding. */
static size_t same_start(struct sbx_path a, struct sbx_path b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    size_t same = 0;
    while (same < shorter && a.text[same] == b.text[same]) {
        same++;
    }
    return sbx_utf8_cut(a.text, same);
}

/* Says the byte where `outer` ends alone that it is no beginning of `inner`? Rules are compared with each other and with
 * many paths, and it rules nearly all of them out. Not where a character has several spellings. */
static bool begins_otherwise(const struct sbx_path_style *style, struct sbx_path outer,
                             struct sbx_path inner)
{
    return !style->folds_case &&
           (outer.len > inner.len || outer.text[outer.len - 1] != inner.text[outer.len - 1]);
}

static int compare_folded(struct sbx_path a, struct sbx_path b)
{
    const struct sbx_path_style *style = sbx_path_style_of(a.rules);
    size_t a_at = same_start(a, b);
    size_t b_at = a_at;
    uint32_t a_key;
    uint32_t b_key;
    do {
        a_key = take_key(style, view_of(a), &a_at);
        b_key = take_key(style, view_of(b), &b_at);
    } while (a_key == b_key && a_key != 0);
    return (a_key > b_key) - (a_key < b_key);
}

bool sbx_path_eq(struct sbx_path a, struct sbx_path b)
{
    const struct sbx_path_style *style = sbx_path_style_of(a.rules);
    if (a.rules != b.rules || (!style->folds_case && a.len != b.len) ||
        (a.len > 0 && begins_otherwise(style, a, b))) {
        return false;
    }
    return compare_folded(a, b) == 0;
}

int sbx_path_compare(struct sbx_path a, struct sbx_path b)
{
    if (a.rules != b.rules) {
        return a.rules > b.rules ? 1 : -1;
    }
    int order = compare_folded(a, b);
    return order != 0 ? order : sbx_str_compare(view_of(a), view_of(b));
}

bool sbx_path_contains(struct sbx_path outer, struct sbx_path inner)
{
    const struct sbx_path_style *style = sbx_path_style_of(outer.rules);
    if (outer.rules != inner.rules || outer.len == 0 || begins_otherwise(style, outer, inner)) {
        return false;
    }
    size_t outer_at = same_start(outer, inner);
    size_t inner_at = outer_at;
    while (outer_at < outer.len) {
        if (take_key(style, view_of(outer), &outer_at) !=
            take_key(style, view_of(inner), &inner_at)) {
            return false;
        }
    }
    return inner_at == inner.len || sbx_path_is_root(outer) ||
           inner.text[inner_at] == style->separator;
}
