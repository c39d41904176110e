/* Absolute, clean paths: making them, taking them apart, comparing them. */
#include "common/base/path.h"

#include <string.h>

#include "common/base/attr.h"
#include "common/base/names.h"
#include "common/base/path_internal.h"
#include "common/base/utf8.h"

#include "common/base/banned.h"

static const struct sbx_name problem_texts[] = {
    {SBX_PATH_OK, "is a clean absolute path"},
    {SBX_PATH_NO_MEMORY, "does not fit into memory"},
    {SBX_PATH_EMPTY, "is empty"},
    {SBX_PATH_NOT_ABSOLUTE, "is not an absolute path"},
    {SBX_PATH_HAS_CONTROL, "has a control character"},
    {SBX_PATH_NOT_UTF8, "is not valid UTF-8"},
    {SBX_PATH_DOTDOT, "has a \"..\" component"},
    {SBX_PATH_TOO_LONG, "is too long, or has a name that is"},
    {SBX_PATH_DEVICE, "names a device"},
    {SBX_PATH_UNC, "is a network path"},
    {SBX_PATH_STREAM, "names a stream inside a file"},
    {SBX_PATH_SHORT_NAME, "has a name that may be the short (8.3) form of another"},
    {SBX_PATH_RESERVED_CHAR, "has a character that Windows reserves"},
    {SBX_PATH_TRAILING, "has a name that ends in a dot or a space"},
    {SBX_PATH_NOT_RELATIVE, "is not a relative path"},
    {0, NULL},
};

const char *sbx_path_problem_text(enum sbx_path_problem problem)
{
    return sbx_name_text(problem_texts, (int)problem);
}

/* ---- rules -------------------------------------------------------------------------------- */

static enum sbx_path_problem check_posix_root(struct sbx_str text)
{
    return text.ptr[0] == '/' ? SBX_PATH_OK : SBX_PATH_NOT_ABSOLUTE;
}

static enum sbx_path_problem check_posix_name(struct sbx_str name, bool is_first, bool is_glob)
{
    (void)name;
    (void)is_first;
    (void)is_glob;
    return SBX_PATH_OK;
}

/* Names the macOS kernel itself reads: the first three, below the root, reach any file by another
 * spelling (volume and inode number, look-up flags); the last is a file's resource fork. */
static enum sbx_path_problem check_macos_name(struct sbx_str name, bool is_first, bool is_glob)
{
    static const char *const magic[] = {".vol", ".nofollow", ".resolve"};

    (void)is_glob;
    for (size_t i = 0; is_first && i < SBX_COUNT(magic); i++) {
        if (sbx_str_is_nocase(name, magic[i])) {
            return SBX_PATH_DEVICE;
        }
    }
    return sbx_str_is_nocase(name, "..namedfork") ? SBX_PATH_STREAM : SBX_PATH_OK;
}

const struct sbx_path_style *sbx_path_style_of(enum sbx_path_rules rules)
{
    static const struct sbx_path_style styles[] = {
        [SBX_PATH_POSIX] = {'/', false, false, 4095, 255, 1, check_posix_root, check_posix_name},
        [SBX_PATH_MACOS] = {'/', true, false, 1023, 255, 1, check_posix_root, check_macos_name},
        [SBX_PATH_WINDOWS] = {'\\', true, true, 32766, 255, 3, sbx_path_windows_root,
                              sbx_path_windows_name},
    };
    return &styles[rules];
}

/* ---- taking apart ------------------------------------------------------------------------- */

/* Only text that is not a path yet has "/" under Windows rules: a name never does. */
static bool is_separator(const struct sbx_path_style *style, char c)
{
    return c == '/' || c == style->separator;
}

bool sbx_path_take_name(const struct sbx_path_style *style, struct sbx_str text, size_t *at,
                        struct sbx_str *name)
{
    size_t start = *at;
    while (start < text.len && is_separator(style, text.ptr[start])) {
        start++;
    }
    size_t end = start;
    while (end < text.len && !is_separator(style, text.ptr[end])) {
        end++;
    }
    *at = end;
    if (start == end) {
        return false;
    }
    *name = (struct sbx_str){text.ptr + start, end - start};
    return true;
}

struct sbx_str sbx_path_below_root(struct sbx_path path)
{
    size_t root_len = sbx_path_style_of(path.rules)->root_len;
    if (path.len <= root_len) {
        return (struct sbx_str){NULL, 0};
    }
    return (struct sbx_str){path.text + root_len, path.len - root_len};
}

bool sbx_path_is_root(struct sbx_path path)
{
    return path.len == sbx_path_style_of(path.rules)->root_len;
}

size_t sbx_path_depth(struct sbx_path path)
{
    const struct sbx_path_style *style = sbx_path_style_of(path.rules);
    struct sbx_str rest = sbx_path_below_root(path);
    struct sbx_str name;
    size_t depth = 0;
    for (size_t at = 0; sbx_path_take_name(style, rest, &at, &name);) {
        depth++;
    }
    return depth;
}

struct sbx_str sbx_path_component(struct sbx_path path, size_t index)
{
    const struct sbx_path_style *style = sbx_path_style_of(path.rules);
    struct sbx_str rest = sbx_path_below_root(path);
    struct sbx_str name;
    for (size_t at = 0; sbx_path_take_name(style, rest, &at, &name); index--) {
        if (index == 0) {
            return name;
        }
    }
    return (struct sbx_str){NULL, 0};
}

struct sbx_str sbx_path_name(struct sbx_path path)
{
    char separator = sbx_path_style_of(path.rules)->separator;
    struct sbx_str rest = sbx_path_below_root(path);
    size_t start = rest.len;
    while (start > 0 && rest.ptr[start - 1] != separator) {
        start--;
    }
    return start == rest.len ? rest : (struct sbx_str){rest.ptr + start, rest.len - start};
}

struct sbx_path sbx_path_parent(struct sbx_arena *arena, struct sbx_path path)
{
    struct sbx_str name = sbx_path_name(path);
    if (name.len == 0) {
        return path;
    }
    size_t root_len = sbx_path_style_of(path.rules)->root_len;
    size_t len = path.len - name.len;
    len = len > root_len ? len - 1 : root_len;
    const char *text = sbx_arena_copy(arena, path.text, len);
    return (struct sbx_path){text, text == NULL ? 0 : len, path.rules};
}

/* ---- making ------------------------------------------------------------------------------- */

static enum sbx_path_problem check_text(struct sbx_str text)
{
    if (text.len == 0) {
        return SBX_PATH_EMPTY;
    }
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (byte < 0x20 || byte == 0x7f) {
            return SBX_PATH_HAS_CONTROL;
        }
    }
    return sbx_utf8_valid(text.ptr, text.len, NULL) ? SBX_PATH_OK : SBX_PATH_NOT_UTF8;
}

/* Length in the units the rules count in. A character of four bytes is two UTF-16 units, any other
 * is one. */
static size_t units_of(const struct sbx_path_style *style, struct sbx_str text)
{
    if (!style->counts_utf16) {
        return text.len;
    }
    size_t units = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        units += (size_t)((byte & 0xc0) != 0x80) + (size_t)(byte >= 0xf0);
    }
    return units;
}

/* The next component that stays: "." does not. */
static bool take_kept_name(const struct sbx_path_style *style, struct sbx_str rest, size_t *at,
                           struct sbx_str *name)
{
    bool taken;
    do {
        taken = sbx_path_take_name(style, rest, at, name);
    } while (taken && sbx_str_is(*name, "."));
    return taken;
}

/* Checks every component of `rest` and the whole length; *bytes is what the components and one
 * separator before each of them need. */
static enum sbx_path_problem measure(const struct sbx_path_style *style, struct sbx_path base,
                                     struct sbx_str rest, bool is_glob, size_t *bytes)
{
    bool is_first = sbx_path_is_root(base);
    size_t units = units_of(style, (struct sbx_str){base.text, base.len}) - (is_first ? 1 : 0);
    struct sbx_str name;
    *bytes = 0;
    for (size_t at = 0; take_kept_name(style, rest, &at, &name); is_first = false) {
        if (sbx_str_is(name, "..")) {
            return SBX_PATH_DOTDOT;
        }
        enum sbx_path_problem problem = style->check_name(name, is_first, is_glob);
        if (problem != SBX_PATH_OK) {
            return problem;
        }
        size_t name_units = units_of(style, name);
        if (name_units > style->name_max) {
            return SBX_PATH_TOO_LONG;
        }
        units += name_units + 1;
        *bytes += name.len + 1;
    }
    return units > style->path_max ? SBX_PATH_TOO_LONG : SBX_PATH_OK;
}

/* `base` is clean already; `rest` is checked text. Measures first, so that a refused path takes
 * nothing from the arena. */
static enum sbx_path_problem append(struct sbx_arena *arena, struct sbx_path base,
                                    struct sbx_str rest, bool is_glob, struct sbx_path *out)
{
    const struct sbx_path_style *style = sbx_path_style_of(base.rules);
    size_t bytes;
    enum sbx_path_problem problem = measure(style, base, rest, is_glob, &bytes);
    if (problem != SBX_PATH_OK) {
        return problem;
    }
    char *text = sbx_arena_alloc(arena, base.len + bytes + 1, 1);
    if (text == NULL) {
        return SBX_PATH_NO_MEMORY;
    }
    size_t len = base.len;
    memcpy(text, base.text, len);
    struct sbx_str name;
    for (size_t at = 0; take_kept_name(style, rest, &at, &name);) {
        if (text[len - 1] != style->separator) {
            text[len++] = style->separator;
        }
        memcpy(text + len, name.ptr, name.len);
        len += name.len;
    }
    *out = (struct sbx_path){text, len, base.rules};
    return SBX_PATH_OK;
}

static enum sbx_path_problem make(struct sbx_arena *arena, enum sbx_path_rules rules,
                                  struct sbx_str text, bool is_glob, struct sbx_path *out)
{
    const struct sbx_path_style *style = sbx_path_style_of(rules);
    enum sbx_path_problem problem = check_text(text);
    if (problem == SBX_PATH_OK) {
        problem = style->check_root(text);
    }
    if (problem != SBX_PATH_OK) {
        return problem;
    }
    char root[] = "C:\\"; /* the longest there is */
    memcpy(root, text.ptr, style->root_len);
    if (sbx_is_alpha(root[0])) {
        root[0] = (char)(sbx_to_lower(root[0]) - 'a' + 'A');
    }
    root[style->root_len - 1] = style->separator;
    struct sbx_path base = {root, style->root_len, rules};
    struct sbx_str rest = {text.ptr + base.len, text.len - base.len};
    return append(arena, base, rest, is_glob, out);
}

enum sbx_path_problem sbx_path_make(struct sbx_arena *arena, enum sbx_path_rules rules,
                                    struct sbx_str text, struct sbx_path *out)
{
    return make(arena, rules, text, false, out);
}

enum sbx_path_problem sbx_path_make_glob(struct sbx_arena *arena, enum sbx_path_rules rules,
                                         struct sbx_str text, struct sbx_path *out)
{
    return make(arena, rules, text, true, out);
}

enum sbx_path_problem sbx_path_join(struct sbx_arena *arena, struct sbx_path base,
                                    struct sbx_str rest, struct sbx_path *out)
{
    enum sbx_path_problem problem = check_text(rest);
    if (problem != SBX_PATH_OK) {
        return problem;
    }
    const struct sbx_path_style *style = sbx_path_style_of(base.rules);
    if (is_separator(style, rest.ptr[0]) || style->check_root(rest) == SBX_PATH_OK) {
        return SBX_PATH_NOT_RELATIVE;
    }
    return append(arena, base, rest, false, out);
}
