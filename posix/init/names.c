/* Which names may be made: protected ones at any depth, and paths that rules close. Pure text. */
#include "posix/init/init.h"
#include "posix/init/text.h"

#include "common/base/banned.h"

enum { COMPONENTS = 256 };

/* Component i of an absolute path lies between start[i] and end[i]. */
struct parts {
    const char *start[COMPONENTS];
    const char *end[COMPONENTS];
    unsigned count;
    bool is_cut; /* more than can be told apart */
};

static void split(const char *path, struct parts *out)
{
    out->count = 0;
    out->is_cut = false;
    while (*path != '\0') {
        while (*path == '/') {
            path++;
        }
        if (*path == '\0') {
            return;
        }
        if (out->count == COMPONENTS) {
            out->is_cut = true;
            return;
        }
        out->start[out->count] = path;
        while (*path != '\0' && *path != '/') {
            path++;
        }
        out->end[out->count] = path;
        out->count++;
    }
}

/* Without case: on a volume that folds it, ".GIT" is ".git", and nobody else needs such names. */
static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Bytes of the character at `at`; 1 for a byte that begins none. As sbx itself counts them, or '?' would
 * stand for other names here than there. */
static unsigned character(const char *at, const char *end)
{
    static const struct {
        unsigned char from, to, second_from, second_to;
        unsigned length;
    } rows[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    const unsigned char *byte = (const unsigned char *)at;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (byte[0] >= rows[i].from && byte[0] <= rows[i].to) {
            bool is_whole = end - at >= (long)rows[i].length && byte[1] >= rows[i].second_from &&
                            byte[1] <= rows[i].second_to;
            for (unsigned k = 2; is_whole && k < rows[i].length; k++) {
                is_whole = (byte[k] & 0xc0) == 0x80;
            }
            return is_whole ? rows[i].length : 1;
        }
    }
    return 1;
}

/* One component against one with '*' and '?'. The usual walk with one place to go back to. */
static bool matches(const char *pattern, const char *pattern_end, const char *name,
                    const char *name_end)
{
    const char *back_pattern = 0;
    const char *back_name = 0;
    while (name < name_end) {
        if (pattern < pattern_end && *pattern == '*') {
            back_pattern = ++pattern;
            back_name = name;
        } else if (pattern < pattern_end && *pattern == '?') {
            pattern++;
            name += character(name, name_end);
        } else if (pattern < pattern_end && fold(*pattern) == fold(*name)) {
            pattern++;
            name++;
        } else if (back_pattern != 0) {
            back_name += character(back_name, name_end);
            pattern = back_pattern;
            name = back_name;
        } else {
            return false;
        }
    }
    while (pattern < pattern_end && *pattern == '*') {
        pattern++;
    }
    return pattern == pattern_end;
}

static bool is_any_depth(const struct parts *pattern, unsigned i)
{
    return pattern->end[i] - pattern->start[i] == 2 && pattern->start[i][0] == '*' &&
           pattern->start[i][1] == '*';
}

/* How far a pattern gets along the path. */
struct reach {
    bool
        covers; /* it ends at a component beyond `first`: this path or a directory above it is locked */
    bool covers_all; /* … and that is the last component */
    uint64_t
        goes_on; /* where in the pattern the path ended, as bits: something below would be locked */
};

/* A "**" may stand for nothing: where it begins, what follows it may begin too. */
static uint64_t close_over(const struct parts *pattern, uint64_t states)
{
    for (unsigned p = 0; p < pattern->count; p++) {
        if ((states >> p & 1) != 0 && is_any_depth(pattern, p)) {
            states |= UINT64_C(1) << (p + 1);
        }
    }
    return states;
}

/* Positions of the pattern as a set of bits, moved along the path one component at a time. */
static struct reach follow(const struct parts *pattern, const struct parts *path, unsigned from,
                           unsigned first)
{
    struct reach reach = {false, false, 0};
    uint64_t states = close_over(pattern, 1);
    for (unsigned i = from; i < path->count && states != 0; i++) {
        uint64_t next = 0;
        for (unsigned p = 0; p < pattern->count; p++) {
            if ((states >> p & 1) == 0) {
                continue;
            }
            if (is_any_depth(pattern, p)) {
                next |= UINT64_C(1) << p;
            } else if (matches(pattern->start[p], pattern->end[p], path->start[i], path->end[i])) {
                next |= UINT64_C(1) << (p + 1);
            }
        }
        states = close_over(pattern, next);
        if ((states >> pattern->count & 1) != 0 && i >= first) {
            reach.covers = true;
            reach.covers_all = i + 1 == path->count;
        }
    }
    reach.goes_on = states & ((UINT64_C(1) << pattern->count) - 1);
    return reach;
}

static bool is_same(const struct parts *a, const struct parts *b, unsigned i)
{
    const char *left = a->start[i];
    const char *right = b->start[i];
    while (left < a->end[i] && right < b->end[i] && *left == *right) {
        left++;
        right++;
    }
    return left == a->end[i] && right == b->end[i];
}

/* The longest place that is `path` or contains it: its kind, and how many components it has. A place
 * below `path` that is closed and not there yet must not come into being by a renamed directory. */
static uint64_t place_of(const struct init *init, const struct parts *path, unsigned *depth,
                         bool *has_closed_below, bool *has_pinned_below)
{
    const struct sbx_init_place *place =
        (const struct sbx_init_place *)init_at(init, init->plan->places.at);
    uint64_t kind = SBX_PLACE_FREE;
    *depth = 0;
    *has_closed_below = false;
    *has_pinned_below = false;
    for (uint32_t i = 0; i < init->plan->places.count; i++) {
        static struct parts other;
        split((const char *)init_at(init, place[i].path), &other);
        unsigned shared = 0;
        while (shared < other.count && shared < path->count && is_same(&other, path, shared)) {
            shared++;
        }
        if (shared == other.count && shared >= *depth) {
            kind = place[i].kind;
            *depth = shared;
        } else if (shared == path->count) {
            *has_pinned_below |=
                place[i].kind == SBX_PLACE_PINNED || place[i].kind == SBX_PLACE_PRIVATE;
            *has_closed_below |=
                place[i].kind == SBX_PLACE_PINNED || place[i].kind == SBX_PLACE_CLOSED;
        }
    }
    return kind;
}

static enum init_verdict worse(enum init_verdict a, enum init_verdict b)
{
    return a == INIT_REFUSED || b == INIT_REFUSED             ? INIT_REFUSED
           : a == INIT_NO_DIRECTORY || b == INIT_NO_DIRECTORY ? INIT_NO_DIRECTORY
                                                              : INIT_ALLOWED;
}

static enum init_verdict judge(const struct sbx_init_pattern *row, struct reach reach,
                               bool is_directory)
{
    if (reach.covers) {
        bool only_files = (row->flags & SBX_PATTERN_FILE_ONLY) != 0;
        if (!only_files || (reach.covers_all && !is_directory)) {
            return INIT_REFUSED;
        }
    }
    return reach.goes_on != 0 ? INIT_NO_DIRECTORY : INIT_ALLOWED;
}

/* The last component at which a pattern may begin. */
static unsigned last_start(const struct sbx_init_pattern *row, const struct parts *path)
{
    return (row->flags & SBX_PATTERN_ANCHORED) != 0 || path->count == 0 ? 0 : path->count - 1;
}

static uint64_t goes_on_at(const struct sbx_init_pattern *row, const struct parts *pattern,
                           const struct parts *path)
{
    uint64_t states = 0;
    for (unsigned from = 0; from <= last_start(row, path); from++) {
        states |= follow(pattern, path, from, 0).goes_on;
    }
    return states;
}

static enum init_verdict verdict_of(const struct init *init, const char *path, bool is_directory,
                                    bool ignores_anchored)
{
    static struct parts parts;
    static struct parts pattern;
    unsigned depth;
    bool has_closed_below;
    bool has_pinned_below;
    split(path, &parts);
    uint64_t kind = place_of(init, &parts, &depth, &has_closed_below, &has_pinned_below);
    if (kind == SBX_PLACE_FREE || kind == SBX_PLACE_PRIVATE) {
        return INIT_ALLOWED; /* private, or not writable: the mount decides */
    }
    if (kind != SBX_PLACE_WRITABLE || parts.is_cut) {
        return INIT_REFUSED;
    }
    enum init_verdict verdict = has_closed_below ? INIT_NO_DIRECTORY : INIT_ALLOWED;
    const struct sbx_init_pattern *row =
        (const struct sbx_init_pattern *)init_at(init, init->plan->patterns.at);
    for (uint32_t i = 0; i < init->plan->patterns.count && verdict != INIT_REFUSED; i++) {
        split((const char *)init_at(init, row[i].text), &pattern);
        for (unsigned from = 0; from <= last_start(&row[i], &parts); from++) {
            struct reach reach = follow(&pattern, &parts, from, depth);
            if (ignores_anchored && (row[i].flags & SBX_PATTERN_ANCHORED) != 0) {
                reach.goes_on = 0;
            }
            verdict = worse(verdict, judge(&row[i], reach, is_directory));
        }
    }
    return verdict;
}

bool init_is_writable(const struct init *init, const char *path)
{
    static struct parts parts;
    unsigned depth;
    bool has_closed_below;
    bool has_pinned_below;
    split(path, &parts);
    return place_of(init, &parts, &depth, &has_closed_below, &has_pinned_below) ==
               SBX_PLACE_WRITABLE &&
           !parts.is_cut;
}

enum init_verdict init_may_make(const struct init *init, const char *path, bool is_directory)
{
    return verdict_of(init, path, is_directory, false);
}

/* What lies behind a link has its own real name, by which rules decide; only programs that go by names, as
 * git does inside ".git", would find it below this one. */
enum init_verdict init_may_link(const struct init *init, const char *path)
{
    return verdict_of(init, path, false, true);
}

/* What is in a directory was made under the watch of the patterns that reach into it. Where no others reach
 * into its new place, it brings nothing that could not have been made there. */
bool init_may_move_directory(const struct init *init, const char *from, const char *to)
{
    static struct parts old_parts;
    static struct parts new_parts;
    static struct parts pattern;
    unsigned depth;
    bool has_closed_below;
    bool has_pinned_below;
    enum init_verdict verdict = verdict_of(init, to, true, false);
    split(from, &old_parts);
    (void)place_of(init, &old_parts, &depth, &has_closed_below, &has_pinned_below);
    if (has_pinned_below) {
        return false; /* what a rule keeps read-only or hidden would be missing from its place */
    }
    if (verdict != INIT_NO_DIRECTORY) {
        return verdict == INIT_ALLOWED;
    }
    split(to, &new_parts);
    (void)place_of(init, &new_parts, &depth, &has_closed_below, &has_pinned_below);
    bool is_safe = !has_closed_below && !old_parts.is_cut;
    const struct sbx_init_pattern *row =
        (const struct sbx_init_pattern *)init_at(init, init->plan->patterns.at);
    for (uint32_t i = 0; i < init->plan->patterns.count && is_safe; i++) {
        split((const char *)init_at(init, row[i].text), &pattern);
        uint64_t before = goes_on_at(&row[i], &pattern, &old_parts);
        uint64_t after = goes_on_at(&row[i], &pattern, &new_parts);
        is_safe = (after & ~before) == 0;
    }
    return is_safe;
}
