/* Regions of file rules as filters of Seatbelt. */
#include "posix/macos_region.h"

#include <string.h>

#include "posix/macos_draft.h"
#include "posix/macos_regex.h"

#include "common/base/banned.h"

#define RESTS_MAX 32

/* What no grant of a directory above means. Devices are listed one by one. Files of the data volume that have no other
 * name would be readable below "/System"; those that have one are decided about under it. */
static const char *const never[] = {"/dev", "/System/Volumes/Data"};

static struct sbx_path path_of(const char *text)
{
    return (struct sbx_path){text, strlen(text), SBX_PATH_MACOS};
}

bool sbx_macos_is_never(struct sbx_path path)
{
    for (size_t i = 0; i < SBX_COUNT(never); i++) {
        if (sbx_path_contains(path_of(never[i]), path)) {
            return true;
        }
    }
    return false;
}

static void add_path(struct sbx_sbpl *sbpl, const char *filter, struct sbx_path path)
{
    sbx_sbpl_filter(sbpl, filter, (struct sbx_str){path.text, path.len});
}

/* Both: accounts differ on whether a subpath is its own. */
void sbx_draft_under(const struct sbx_draft *draft, struct sbx_path path)
{
    add_path(draft->sbpl, "literal", path);
    add_path(draft->sbpl, "subpath", path);
}

void sbx_draft_regex(struct sbx_draft *draft, struct sbx_str pattern, enum sbx_regex_style style,
                     enum sbx_regex_reach reach)
{
    const char *text =
        sbx_regex_below(draft->regions->arena, draft->rule->path, pattern, style, reach);
    if (text == NULL) {
        draft->regions->has_no_memory = true;
        return;
    }
    sbx_sbpl_filter(draft->sbpl, "regex", sbx_str(text));
}

/* ---- what is closed in a region ---- */

/* The part of `inner` below the region's path. */
struct sbx_str sbx_draft_below(struct sbx_path outer, struct sbx_path inner)
{
    struct sbx_str first = sbx_path_component(inner, sbx_path_depth(outer));
    return (struct sbx_str){first.ptr, inner.len - (size_t)(first.ptr - inner.text)};
}

/* By its name, and by every spelling that the volume takes for it. */
static void add_closed(struct sbx_draft *draft, struct sbx_path inner)
{
    sbx_draft_under(draft, inner);
    sbx_draft_regex(draft, sbx_draft_below(draft->rule->path, inner), SBX_REGEX_CLOSES,
                    SBX_REGEX_AND_BELOW);
}

void sbx_draft_inner(struct sbx_draft *draft)
{
    const struct sbx_macos_rules *rules = draft->regions->rules;
    for (size_t i = 0; i < rules->count; i++) {
        if (rules->items[i].above == draft->index + 1) {
            add_closed(draft, rules->items[i].path);
        }
    }
    for (size_t i = 0; i < SBX_COUNT(never); i++) {
        if (sbx_path_contains(draft->rule->path, path_of(never[i]))) {
            sbx_draft_under(draft, path_of(never[i]));
        }
    }
}

/* Below a rule of the region it is that rule's matter. */
static bool is_of_inner(const struct sbx_draft *draft, struct sbx_str pattern)
{
    const struct sbx_macos_rules *rules = draft->regions->rules;
    struct sbx_path base =
        sbx_glob_base((struct sbx_path){pattern.ptr, pattern.len, SBX_PATH_MACOS});
    for (size_t i = 0; i < rules->count; i++) {
        if (rules->items[i].above == draft->index + 1 &&
            sbx_path_contains(rules->items[i].path, base)) {
            return true;
        }
    }
    return false;
}

/* What of a glob of that access matches in the region; the number of remainders. */
static size_t rests_of(const struct sbx_draft *draft, const struct sbx_macos_glob *glob,
                       enum sbx_access access, struct sbx_str *out)
{
    return glob->access != access || is_of_inner(draft, glob->pattern)
               ? 0
               : sbx_regex_rest(glob->pattern, draft->rule->path, out, RESTS_MAX);
}

void sbx_draft_globs(struct sbx_draft *draft, enum sbx_access access, enum sbx_regex_style style)
{
    const struct sbx_macos_rules *rules = draft->regions->rules;
    for (size_t i = 0; i < rules->glob_count; i++) {
        struct sbx_str rests[RESTS_MAX];
        size_t count = rests_of(draft, &rules->globs[i], access, rests);
        for (size_t k = 0; k < count; k++) {
            sbx_draft_regex(draft, rests[k], style, SBX_REGEX_AND_BELOW);
        }
    }
}

bool sbx_draft_has_globs(const struct sbx_draft *draft, enum sbx_access access)
{
    const struct sbx_macos_rules *rules = draft->regions->rules;
    struct sbx_str rests[RESTS_MAX];
    for (size_t i = 0; i < rules->glob_count; i++) {
        if (rests_of(draft, &rules->globs[i], access, rests) > 0) {
            return true;
        }
    }
    return false;
}

/* ---- one region ---- */

bool sbx_draft_has_inner(const struct sbx_draft *draft)
{
    const struct sbx_macos_rules *rules = draft->regions->rules;
    for (size_t i = 0; i < rules->count; i++) {
        if (rules->items[i].above == draft->index + 1) {
            return true;
        }
    }
    /* All of them lie below the first directory of the longest. */
    return sbx_path_contains(draft->rule->path, path_of(never[0])) ||
           sbx_path_contains(draft->rule->path, path_of(never[1]));
}

void sbx_draft_open_but(struct sbx_sbpl *sbpl)
{
    sbx_sbpl_open(sbpl, "require-not");
    sbx_sbpl_open(sbpl, "require-any");
}

void sbx_draft_close_but(struct sbx_sbpl *sbpl)
{
    sbx_sbpl_close(sbpl);
    sbx_sbpl_close(sbpl);
}

static void write_read(struct sbx_draft *draft)
{
    struct sbx_sbpl *sbpl = draft->sbpl;
    bool is_open = draft->rule->access >= SBX_ACCESS_READ;
    if (!is_open && !sbx_draft_has_globs(draft, SBX_ACCESS_READ)) {
        return;
    }
    bool has_closed = sbx_draft_has_inner(draft) || sbx_draft_has_globs(draft, SBX_ACCESS_NONE);
    if (has_closed) {
        sbx_sbpl_open(sbpl, "require-all");
        sbx_sbpl_open(sbpl, "require-any");
    }
    if (is_open) {
        sbx_draft_under(draft, draft->rule->path);
    } else {
        sbx_draft_globs(draft, SBX_ACCESS_READ, SBX_REGEX_OPENS);
    }
    if (has_closed) {
        sbx_sbpl_close(sbpl);
        sbx_draft_open_but(sbpl);
        sbx_draft_inner(draft);
        sbx_draft_globs(draft, SBX_ACCESS_NONE, SBX_REGEX_CLOSES);
        sbx_draft_close_but(sbpl);
        sbx_sbpl_close(sbpl);
    }
}

/* ---- directories on the way ---- */

/* Is it readable through the rule around it? */
static bool is_readable(const struct sbx_macos_rules *rules, struct sbx_path path)
{
    const struct sbx_macos_rule *around = NULL;
    for (size_t i = 0; i < rules->count; i++) {
        if (sbx_path_contains(rules->items[i].path, path)) {
            around = &rules->items[i]; /* parents come first: the last is the nearest */
        }
    }
    return around != NULL && !around->is_below_final && around->kind == SBX_RULE_HOST &&
           around->access >= SBX_ACCESS_READ;
}

/* Is the path one of the directories above the rule's, or that itself? */
static bool is_way(const struct sbx_macos_rule *rule, struct sbx_path path)
{
    return !rule->is_below_final && rule->access > SBX_ACCESS_NONE &&
           (sbx_path_contains(path, rule->path) || sbx_path_contains(path, rule->given));
}

/* Each once: by the first rule that it leads to. */
static void add_way(struct sbx_macos_regions *regions, struct sbx_sbpl *sbpl, size_t index,
                    struct sbx_path path)
{
    for (; !sbx_path_is_root(path); path = sbx_path_up(path)) {
        bool is_known = is_readable(regions->rules, path);
        for (size_t i = 0; i < index && !is_known; i++) {
            is_known = is_way(&regions->rules->items[i], path);
        }
        if (!is_known) {
            add_path(sbpl, "literal", path);
        }
    }
}

static void write_way(struct sbx_macos_regions *regions, struct sbx_sbpl *sbpl, size_t index)
{
    const struct sbx_macos_rule *rule = &regions->rules->items[index];
    if (rule->is_below_final || rule->access == SBX_ACCESS_NONE) {
        return;
    }
    add_way(regions, sbpl, index, rule->path);
    /* A link on the way: it is looked at under its own name. */
    if (!sbx_path_eq(rule->path, rule->given)) {
        for (struct sbx_path at = rule->given; !sbx_path_is_root(at); at = sbx_path_up(at)) {
            if (!sbx_path_contains(at, rule->path) && !is_readable(regions->rules, at)) {
                add_path(sbpl, "literal", at);
            }
        }
    }
}

/* To what a glob opens, as far as the way is certain. */
static void write_glob_ways(struct sbx_macos_regions *regions, struct sbx_sbpl *sbpl)
{
    const struct sbx_macos_rules *rules = regions->rules;
    for (size_t i = 0; i < rules->glob_count; i++) {
        struct sbx_str pattern = rules->globs[i].pattern;
        if (rules->globs[i].access == SBX_ACCESS_READ) {
            add_way(regions, sbpl, rules->count,
                    sbx_glob_base((struct sbx_path){pattern.ptr, pattern.len, SBX_PATH_MACOS}));
        }
    }
}

/* ---- all regions ---- */

static void write_one(struct sbx_draft *draft, enum sbx_region which)
{
    const struct sbx_macos_rule *rule = draft->rule;
    if (which == SBX_REGION_SOCKET && rule->kind == SBX_RULE_SOCKET) {
        add_path(draft->sbpl, "literal", rule->path);
    }
    if (rule->kind != SBX_RULE_HOST) {
        return;
    }
    if (which == SBX_REGION_READ) {
        write_read(draft);
    }
    if (which == SBX_REGION_SCRATCH && sbx_path_eq(rule->path, draft->regions->scratch)) {
        add_path(draft->sbpl, "subpath", rule->path); /* sockets are below it */
    }
}

void sbx_macos_regions_write(struct sbx_macos_regions *regions, struct sbx_sbpl *sbpl,
                             enum sbx_region which)
{
    const struct sbx_macos_rules *rules = regions->rules;
    for (size_t i = 0; i < rules->count; i++) {
        struct sbx_draft draft = {
            .regions = regions, .sbpl = sbpl, .rule = &rules->items[i], .index = i};
        if (which == SBX_REGION_WAY) {
            write_way(regions, sbpl, i);
        } else if (!rules->items[i].is_below_final) {
            write_one(&draft, which);
        }
    }
    if (which == SBX_REGION_WAY) {
        write_glob_ways(regions, sbpl);
    }
}

bool sbx_macos_regions_reads_root(const struct sbx_macos_regions *regions)
{
    return regions->rules->items[0].access >= SBX_ACCESS_READ;
}

bool sbx_macos_regions_has_socket(const struct sbx_macos_regions *regions)
{
    for (size_t i = 0; i < regions->rules->count; i++) {
        const struct sbx_macos_rule *rule = &regions->rules->items[i];
        if (rule->kind == SBX_RULE_SOCKET && !rule->is_below_final) {
            return true;
        }
    }
    return false;
}
