/* What a box may write: rules of Seatbelt per writable region, with protected names taken back and directories above
 * them kept in their place. */
#include <string.h>

#include "posix/macos_draft.h"

#include "common/base/banned.h"

#define NAMED_MAX 32 /* rests of a pattern at any depth */
#define PLACE_MAX 8  /* of one below a place: no more than it has names */
#define RESTS_MAX (NAMED_MAX + PLACE_MAX * SBX_MACOS_GIT_MAX)
#define NAMES_MAX 320

static struct sbx_path path_of(const struct sbx_draft *draft)
{
    return draft->rule->path;
}

static void add_directory(struct sbx_draft *draft)
{
    sbx_sbpl_open(draft->sbpl, "vnode-type");
    sbx_sbpl_word(draft->sbpl, "DIRECTORY");
    sbx_sbpl_close(draft->sbpl);
}

/* ---- protected names ---- */

static size_t rests_below(struct sbx_draft *draft, const char *pattern, struct sbx_str *out,
                          size_t max)
{
    if (pattern == NULL) {
        draft->regions->has_no_memory = true;
        return 0;
    }
    return sbx_regex_rest(sbx_str(pattern), path_of(draft), out, max);
}

/* A pattern at any depth: "**" and the pattern, as far as the region's own path has not used it up. What begins with ".git"
 * means the places that git is led to, too. */
static size_t rests_of(struct sbx_draft *draft, struct sbx_str pattern, struct sbx_str *out)
{
    static const char git[] = ".git";
    struct sbx_arena *arena = draft->regions->arena;
    const struct sbx_macos_rules *rules = draft->regions->rules;
    size_t count = rests_below(draft, sbx_arena_printf(arena, "**/%.*s", SBX_STR_ARG(pattern)), out,
                               NAMED_MAX);
    struct sbx_str below = {pattern.ptr + sizeof git - 1, pattern.len - (sizeof git - 1)};
    if (!sbx_str_starts(pattern, git) || (below.len > 0 && below.ptr[0] != '/')) {
        return count;
    }
    for (size_t i = 0; i < rules->git_count; i++) {
        const char *place =
            sbx_arena_printf(arena, "%s%.*s", rules->git[i].text, SBX_STR_ARG(below));
        count += rests_below(draft, place, out + count, PLACE_MAX);
    }
    return count;
}

/* A directory of that name is free, so what is below is. */
static void add_file_only(struct sbx_draft *draft, struct sbx_str rest)
{
    sbx_sbpl_open(draft->sbpl, "require-all");
    sbx_draft_regex(draft, rest, SBX_REGEX_CLOSES, SBX_REGEX_ITSELF);
    sbx_sbpl_open(draft->sbpl, "require-not");
    add_directory(draft);
    sbx_sbpl_close(draft->sbpl);
    sbx_sbpl_close(draft->sbpl);
}

static void add_names(struct sbx_draft *draft, const struct sbx_str *names, size_t count)
{
    for (size_t at = 0; at < count;) {
        size_t used = 0;
        const char *text =
            sbx_regex_any(draft->regions->arena, path_of(draft), names + at, count - at,
                          SBX_REGEX_AND_BELOW, SBX_SBPL_STRING_MAX, &used);
        if (text == NULL) {
            draft->regions->has_no_memory = true;
            return;
        }
        sbx_sbpl_filter(draft->sbpl, "regex", sbx_str(text));
        at += used;
    }
}

/* Names at any depth go together; what begins in the region's own path is a filter of its own. */
static void add_protected(struct sbx_draft *draft)
{
    const struct sbx_policy *policy = draft->regions->policy;
    struct sbx_str names[NAMES_MAX];
    size_t name_count = 0;
    for (size_t i = 0; i < policy->protect_count; i++) {
        const struct sbx_protect_row *row = &policy->protect[i];
        struct sbx_str rests[RESTS_MAX];
        size_t count = rests_of(draft, sbx_str(row->pattern), rests);
        for (size_t k = 0; k < count; k++) {
            bool is_anywhere = sbx_str_starts(rests[k], "**/");
            if (row->file_only) {
                add_file_only(draft, rests[k]);
            } else if (is_anywhere && name_count < NAMES_MAX) {
                names[name_count++] = (struct sbx_str){rests[k].ptr + 3, rests[k].len - 3};
            } else {
                sbx_draft_regex(draft, rests[k], SBX_REGEX_CLOSES, SBX_REGEX_AND_BELOW);
            }
        }
    }
    add_names(draft, names, name_count);
}

/* ---- directories that stay ---- */

/* Directories between the region's own path and one below it. */
static void add_pinned_above(struct sbx_draft *draft, struct sbx_path inner)
{
    struct sbx_path at = sbx_path_up(inner);
    for (; !sbx_path_eq(at, path_of(draft)); at = sbx_path_up(at)) {
        sbx_draft_regex(draft, sbx_draft_below(path_of(draft), at), SBX_REGEX_CLOSES,
                        SBX_REGEX_ITSELF);
    }
}

/* The region's own path, and directories between it and a rule below, or what git is led to. */
static void add_pinned_paths(struct sbx_draft *draft)
{
    const struct sbx_macos_rules *rules = draft->regions->rules;
    sbx_sbpl_filter(draft->sbpl, "literal",
                    (struct sbx_str){path_of(draft).text, path_of(draft).len});
    for (size_t i = 0; i < rules->count; i++) {
        if (rules->items[i].above == draft->index + 1) {
            add_pinned_above(draft, rules->items[i].path);
        }
    }
    for (size_t i = 0; i < rules->git_count; i++) {
        if (sbx_path_contains(path_of(draft), rules->git[i]) &&
            !sbx_path_eq(path_of(draft), rules->git[i])) {
            add_pinned_above(draft, rules->git[i]);
        }
    }
}

/* Patterns that begin with the same names have the same directories above: the first of them counts. */
static bool is_first_with(const struct sbx_policy *policy, size_t index, size_t len)
{
    for (size_t i = 0; i < index; i++) {
        const char *other = policy->protect[i].pattern;
        if (strncmp(other, policy->protect[index].pattern, len) == 0 && other[len] == '/') {
            return false;
        }
    }
    return true;
}

static void add_pinned_name(struct sbx_draft *draft, struct sbx_str begin)
{
    struct sbx_str rests[RESTS_MAX];
    size_t count = rests_of(draft, begin, rests);
    for (size_t k = 0; k < count; k++) {
        sbx_sbpl_open(draft->sbpl, "require-all");
        sbx_draft_regex(draft, rests[k], SBX_REGEX_CLOSES, SBX_REGEX_ITSELF);
        add_directory(draft);
        sbx_sbpl_close(draft->sbpl);
    }
}

/* Directories above what a pattern of several names closes: each beginning of the pattern. A loose one ends in "**", and
 * means what follows it too. */
static void add_pinned_names(struct sbx_draft *draft, bool is_loose)
{
    const struct sbx_policy *policy = draft->regions->policy;
    for (size_t i = 0; i < policy->protect_count; i++) {
        const char *pattern = policy->protect[i].pattern;
        bool was_deep = false;
        for (const char *slash = strchr(pattern, '/'); slash != NULL && !was_deep;
             slash = strchr(slash + 1, '/')) {
            struct sbx_str begin = {pattern, (size_t)(slash - pattern)};
            was_deep = sbx_str_ends(begin, "**");
            if (was_deep == is_loose && is_first_with(policy, i, begin.len)) {
                add_pinned_name(draft, begin);
            }
        }
    }
}

/* ---- rules ---- */

/* What of a writable region is not. */
static void add_locked(struct sbx_draft *draft)
{
    sbx_draft_inner(draft);
    sbx_draft_globs(draft, SBX_ACCESS_NONE, SBX_REGEX_CLOSES);
    sbx_draft_globs(draft, SBX_ACCESS_READ, SBX_REGEX_CLOSES);
    add_protected(draft);
}

static bool has_locked(const struct sbx_draft *draft)
{
    return sbx_draft_has_inner(draft) || sbx_draft_has_globs(draft, SBX_ACCESS_NONE) ||
           sbx_draft_has_globs(draft, SBX_ACCESS_READ) || draft->regions->policy->protect_count > 0;
}

static void begin_rule(struct sbx_draft *draft, const char *action, const char *const *operations)
{
    sbx_sbpl_open(draft->sbpl, action);
    for (; *operations != NULL; operations++) {
        sbx_sbpl_word(draft->sbpl, *operations);
    }
    sbx_sbpl_open(draft->sbpl, "require-all");
    sbx_sbpl_open(draft->sbpl, "require-any");
    sbx_draft_under(draft, path_of(draft));
    sbx_sbpl_close(draft->sbpl);
}

static void end_rule(struct sbx_draft *draft)
{
    sbx_sbpl_close(draft->sbpl);
    sbx_sbpl_close(draft->sbpl);
}

/* Contents and attributes. Flags (immutable) and access lists are not among them: what a box leaves behind is its
 * user's to change. */
static void write_changing(struct sbx_draft *draft, bool has_sockets)
{
    static const char *const alone[] = {"file-write-data",
                                        "file-write-mode",
                                        "file-write-owner",
                                        "file-write-times",
                                        "file-write-xattr",
                                        "file-link",
                                        NULL};
    static const char *const with_sockets[] = {
        "file-write-data",  "file-write-mode",  "file-write-owner",
        "file-write-times", "file-write-xattr", "file-link",
        "network-bind",     "network-outbound", NULL};
    begin_rule(draft, "allow", has_sockets ? with_sockets : alone);
    if (has_locked(draft)) {
        sbx_draft_open_but(draft->sbpl);
        add_locked(draft);
        sbx_draft_close_but(draft->sbpl);
    }
    end_rule(draft);
}

/* A path rule does not follow a directory that is moved. So those above something closed are not moved, and no other
 * comes into their place. */
static void write_moving(struct sbx_draft *draft, const char *operation, bool keeps_loose)
{
    begin_rule(draft, "allow", (const char *const[]){operation, NULL});
    sbx_draft_open_but(draft->sbpl);
    add_locked(draft);
    add_pinned_paths(draft);
    add_pinned_names(draft, false);
    if (keeps_loose) {
        add_pinned_names(draft, true);
    }
    sbx_draft_close_but(draft->sbpl);
    end_rule(draft);
}

/* A second name for a locked file would be a way to write it; the operation does not fall back to the default. */
static void write_links_denied(struct sbx_draft *draft)
{
    bool has_globs =
        sbx_draft_has_globs(draft, SBX_ACCESS_NONE) || sbx_draft_has_globs(draft, SBX_ACCESS_READ);
    if (!has_globs && draft->regions->policy->protect_count == 0) {
        return;
    }
    begin_rule(draft, "deny", (const char *const[]){"file-link", NULL});
    if (sbx_draft_has_inner(draft)) {
        sbx_draft_open_but(draft->sbpl);
        sbx_draft_inner(draft);
        sbx_draft_close_but(draft->sbpl);
    }
    sbx_sbpl_open(draft->sbpl, "require-any");
    sbx_draft_globs(draft, SBX_ACCESS_NONE, SBX_REGEX_CLOSES);
    sbx_draft_globs(draft, SBX_ACCESS_READ, SBX_REGEX_CLOSES);
    add_protected(draft);
    sbx_sbpl_close(draft->sbpl);
    end_rule(draft);
}

static void add_writable_area(struct sbx_draft *draft)
{
    sbx_sbpl_open(draft->sbpl, "require-all");
    sbx_sbpl_open(draft->sbpl, "require-any");
    sbx_draft_under(draft, path_of(draft));
    sbx_sbpl_close(draft->sbpl);
    if (sbx_draft_has_inner(draft)) {
        sbx_draft_open_but(draft->sbpl);
        sbx_draft_inner(draft);
        sbx_draft_close_but(draft->sbpl);
    }
    sbx_sbpl_close(draft->sbpl);
}

static bool is_writable(const struct sbx_macos_rule *rule)
{
    return rule->access == SBX_ACCESS_WRITE && rule->kind == SBX_RULE_HOST && !rule->is_below_final;
}

void sbx_macos_regions_write_rules(struct sbx_macos_regions *regions, struct sbx_sbpl *sbpl,
                                   bool has_sockets)
{
    const struct sbx_macos_rules *rules = regions->rules;
    for (size_t i = 0; i < rules->count; i++) {
        struct sbx_draft draft = {regions, sbpl, &rules->items[i], i};
        if (is_writable(draft.rule)) {
            write_changing(&draft, has_sockets);
            write_moving(&draft, "file-write-create", false);
            write_moving(&draft, "file-write-unlink", true);
            write_links_denied(&draft);
        }
    }
    sbx_sbpl_open(sbpl, "deny");
    sbx_sbpl_word(sbpl, "file-link");
    sbx_draft_open_but(sbpl);
    for (size_t i = 0; i < rules->count; i++) {
        struct sbx_draft draft = {regions, sbpl, &rules->items[i], i};
        if (is_writable(draft.rule)) {
            add_writable_area(&draft);
        }
    }
    sbx_draft_close_but(sbpl);
    sbx_sbpl_close(sbpl);
}
