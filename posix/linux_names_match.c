/* Patterns of a policy as automata over the names of a path: a walk carries their states downwards instead of
 * comparing every path with every pattern. */
#include "posix/linux_names_internal.h"

#include <string.h>

#include "common/base/banned.h"

/* ---- the words ---- */

static size_t hash_of(struct sbx_str text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < text.len; i++) {
        hash = (hash ^ (unsigned char)text.ptr[i]) * UINT64_C(0x100000001b3);
    }
    return (size_t)(hash ^ hash >> 32);
}

/* The word's slot, or the empty one where it belongs. The table is never more than half full. */
static struct sbx_names_word *slot_of(const struct sbx_names_matcher *matcher, struct sbx_str text)
{
    size_t mask = matcher->word_slots - 1;
    size_t at = hash_of(text) & mask;
    while (matcher->words[at].text.ptr != NULL && !sbx_str_eq(matcher->words[at].text, text)) {
        at = (at + 1) & mask;
    }
    return &matcher->words[at];
}

static void add_word(struct sbx_names_matcher *matcher, struct sbx_str text, bool is_last,
                     bool is_rule)
{
    struct sbx_names_word *word = slot_of(matcher, text);
    word->text = text;
    word->is_last |= is_last;
    word->is_rule |= is_rule;
    word->is_part |= !is_rule;
}

static struct sbx_str name_in(struct sbx_path slashed)
{
    return (struct sbx_str){slashed.text + 1, slashed.len - 1};
}

bool sbx_names_ends_rule(const struct sbx_names_matcher *matcher, struct sbx_path slashed)
{
    return slot_of(matcher, name_in(slashed))->is_rule;
}

bool sbx_names_hits(const struct sbx_names_matcher *matcher, struct sbx_path slashed,
                    bool is_directory)
{
    const struct sbx_names_word *word = slot_of(matcher, name_in(slashed));
    if (matcher->takes_all || (word->text.ptr != NULL && (is_directory || word->is_last))) {
        return true;
    }
    for (size_t i = 0; i < matcher->wild_count; i++) {
        if ((is_directory || matcher->wild_is_last[i]) &&
            sbx_path_glob_match(matcher->wild[i].slashed, slashed)) {
            return true;
        }
    }
    return false;
}

bool sbx_names_is_part(const struct sbx_names_matcher *matcher, struct sbx_path slashed)
{
    bool is_part = slot_of(matcher, name_in(slashed))->is_part;
    for (size_t i = 0; !is_part && i < matcher->wild_count; i++) {
        is_part = sbx_path_glob_match(matcher->wild[i].slashed, slashed);
    }
    return is_part;
}

/* ---- compiling ---- */

static bool take_part(const char **at, struct sbx_str *out)
{
    while (**at == '/') {
        ++*at;
    }
    size_t len = strcspn(*at, "/");
    *out = (struct sbx_str){*at, len};
    *at += len;
    return len > 0;
}

static enum sbx_names_part_kind kind_of(struct sbx_str text)
{
    if (sbx_str_is(text, "**")) {
        return SBX_PART_STARS;
    }
    return sbx_path_is_glob(text) ? SBX_PART_WILD : SBX_PART_LITERAL;
}

static void add_part(struct sbx_names_pattern *pattern, struct sbx_str text)
{
    struct sbx_names_part *part = &pattern->parts[pattern->count];
    part->slashed = (struct sbx_path){text.ptr - 1, text.len + 1, SBX_PATH_POSIX};
    part->kind = kind_of(text);
    if (part->kind == SBX_PART_STARS) {
        pattern->stars |= UINT64_C(1) << pattern->count;
    }
    pattern->count++;
}

/* Every name in it has a slash before it: parts are views of this text. A protection holds at any depth. */
static const char *slashed_text(struct sbx_arena *arena, const struct sbx_protect_row *row,
                                const struct sbx_rule *rule)
{
    static const char anywhere[] = "/**/";
    if (rule != NULL) {
        return rule->path.text;
    }
    size_t len = strlen(row->pattern);
    char *text = (char *)sbx_arena_alloc(arena, sizeof anywhere + len, 1);
    if (text != NULL) {
        memcpy(text, anywhere, sizeof anywhere - 1);
        memcpy(text + sizeof anywhere - 1, row->pattern, len + 1);
    }
    return text;
}

struct sbx_path sbx_names_glob_start(struct sbx_path glob)
{
    struct sbx_path base = sbx_glob_base(glob);
    return sbx_path_glob_match(glob, base) ? sbx_path_up(base) : base;
}

/* Either a row or a rule. */
static enum sbx_code add_pattern(struct sbx_arena *arena, struct sbx_names_matcher *matcher,
                                 const struct sbx_protect_row *row, const struct sbx_rule *rule,
                                 struct sbx_err *err)
{
    struct sbx_names_pattern *pattern = &matcher->patterns[matcher->count++];
    struct sbx_str part;
    size_t count = 0;
    const char *text = slashed_text(arena, row, rule);
    for (const char *at = text; at != NULL && take_part(&at, &part);) {
        count++;
    }
    if (count > SBX_NAMES_PARTS_MAX) {
        (void)sbx_err_set(err, SBX_E_LIMIT, "the pattern \"%s\" has too many names",
                          row != NULL ? row->pattern : text);
        return sbx_err_hint(err, "shorten it to fewer than %d names", SBX_NAMES_PARTS_MAX);
    }
    *pattern = (struct sbx_names_pattern){.row = row, .rule = rule};
    pattern->parts = SBX_NEW_ARRAY(arena, struct sbx_names_part, count);
    if (text == NULL || pattern->parts == NULL) {
        return sbx_err_nomem(err);
    }
    if (rule != NULL) {
        pattern->start = sbx_names_glob_start(rule->path);
        pattern->start_depth = sbx_path_depth(pattern->start);
    }
    while (take_part(&text, &part)) {
        add_part(pattern, part);
    }
    return SBX_OK;
}

static void collect_words(struct sbx_names_matcher *matcher, const struct sbx_policy *policy)
{
    for (size_t i = 0; i < matcher->count; i++) {
        const struct sbx_names_pattern *pattern = &matcher->patterns[i];
        for (size_t k = 0; k < pattern->count; k++) {
            const struct sbx_names_part *part = &pattern->parts[k];
            bool is_last = k + 1 == pattern->count;
            if (part->kind == SBX_PART_LITERAL) {
                add_word(matcher, name_in(part->slashed), is_last, false);
            } else if (part->kind == SBX_PART_WILD) {
                matcher->wild_is_last[matcher->wild_count] = is_last;
                matcher->wild[matcher->wild_count++] = *part;
            } else if (is_last) {
                matcher->takes_all = true;
            }
        }
    }
    for (size_t i = 0; i < policy->rules.count; i++) {
        if (!policy->rules.items[i].is_glob && !sbx_path_is_root(policy->rules.items[i].path)) {
            add_word(matcher, sbx_path_name(policy->rules.items[i].path), true, true);
        }
    }
}

static enum sbx_code make_tables(struct sbx_arena *arena, struct sbx_names_matcher *matcher,
                                 const struct sbx_policy *policy, struct sbx_err *err)
{
    size_t parts = policy->rules.count;
    for (size_t i = 0; i < matcher->count; i++) {
        parts += matcher->patterns[i].count;
    }
    matcher->word_slots = 64;
    while (matcher->word_slots < parts * 2) {
        matcher->word_slots *= 2;
    }
    matcher->words = SBX_NEW_ARRAY(arena, struct sbx_names_word, matcher->word_slots);
    matcher->wild = SBX_NEW_ARRAY(arena, struct sbx_names_part, parts);
    matcher->wild_is_last = SBX_NEW_ARRAY(arena, bool, parts);
    if (matcher->words == NULL || matcher->wild == NULL || matcher->wild_is_last == NULL) {
        return sbx_err_nomem(err);
    }
    collect_words(matcher, policy);
    return SBX_OK;
}

enum sbx_code sbx_names_compile(struct sbx_arena *arena, const struct sbx_policy *policy,
                                struct sbx_names_matcher *out, struct sbx_err *err)
{
    struct sbx_names_matcher matcher = {0};
    enum sbx_code code = SBX_OK;
    matcher.patterns =
        SBX_NEW_ARRAY(arena, struct sbx_names_pattern, policy->protect_count + policy->rules.count);
    if (matcher.patterns == NULL) {
        return sbx_err_nomem(err);
    }
    for (size_t i = 0; code == SBX_OK && i < policy->protect_count; i++) {
        code = add_pattern(arena, &matcher, &policy->protect[i], NULL, err);
    }
    for (size_t i = 0; code == SBX_OK && i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        if (rule->is_glob) {
            code = add_pattern(arena, &matcher, NULL, rule, err);
        }
    }
    if (code == SBX_OK) {
        code = make_tables(arena, &matcher, policy, err);
    }
    if (code == SBX_OK) {
        *out = matcher;
    }
    return code;
}

/* ---- states ---- */

/* "**" may also be nothing. */
static uint64_t with_skips(const struct sbx_names_pattern *pattern, uint64_t state)
{
    for (uint64_t left = pattern->stars; left != 0; left &= left - 1) {
        uint64_t star = left & -left;
        state |= (state & star) << 1;
    }
    return state;
}

static bool part_matches(const struct sbx_names_part *part, struct sbx_path slashed)
{
    if (part->kind == SBX_PART_LITERAL) {
        return sbx_str_eq(name_in(part->slashed), name_in(slashed));
    }
    return part->kind == SBX_PART_WILD && sbx_path_glob_match(part->slashed, slashed);
}

static uint64_t advance_one(const struct sbx_names_pattern *pattern, uint64_t from,
                            struct sbx_path slashed, bool hit)
{
    uint64_t to = from & pattern->stars;
    for (size_t i = 0; hit && i < pattern->count; i++) {
        if ((from >> i & 1) != 0 && part_matches(&pattern->parts[i], slashed)) {
            to |= UINT64_C(2) << i;
        }
    }
    return with_skips(pattern, to);
}

void sbx_names_begin(const struct sbx_names_matcher *matcher, sbx_names_states out)
{
    for (size_t i = 0; i < matcher->count; i++) {
        out[i] = with_skips(&matcher->patterns[i], 1);
    }
}

void sbx_names_advance(const struct sbx_names_matcher *matcher, const uint64_t *from,
                       struct sbx_path slashed, bool hit, sbx_names_states to)
{
    for (size_t i = 0; i < matcher->count; i++) {
        to[i] = advance_one(&matcher->patterns[i], from[i], slashed, hit);
    }
}

bool sbx_names_accepts(const struct sbx_names_pattern *pattern, uint64_t state)
{
    return (state >> pattern->count & 1) != 0;
}

bool sbx_names_continues(const struct sbx_names_pattern *pattern, uint64_t state)
{
    return (state & ((UINT64_C(1) << pattern->count) - 1)) != 0;
}

void sbx_names_begin_git(const struct sbx_names_matcher *matcher, sbx_names_states out)
{
    const struct sbx_path git = {"/.git", sizeof "/.git" - 1, SBX_PATH_POSIX};
    for (size_t i = 0; i < matcher->count; i++) {
        const struct sbx_names_pattern *pattern = &matcher->patterns[i];
        out[i] = 0;
        if (pattern->row != NULL && pattern->count > 1 && part_matches(&pattern->parts[1], git)) {
            out[i] = with_skips(pattern, UINT64_C(1) << 2);
        }
    }
}

/* ---- identity ---- */

static void digest_text(struct sbx_sha256 *hash, struct sbx_str text, char mark)
{
    sbx_sha256_add(hash, &mark, 1);
    sbx_sha256_add(hash, text.ptr, text.len);
    sbx_sha256_add(hash, "", 1);
}

/* Slots are in an order that follows from the words and the order of the policy, which is sorted. */
void sbx_names_digest(const struct sbx_names_matcher *matcher, struct sbx_sha256 *hash)
{
    for (size_t i = 0; i < matcher->word_slots; i++) {
        const struct sbx_names_word *word = &matcher->words[i];
        if (word->text.ptr != NULL) {
            digest_text(hash, word->text, word->is_last ? 'l' : 'w');
        }
    }
    for (size_t i = 0; i < matcher->wild_count; i++) {
        digest_text(hash, name_in(matcher->wild[i].slashed), matcher->wild_is_last[i] ? 'L' : 'W');
    }
    digest_text(hash, (struct sbx_str){"", 0}, matcher->takes_all ? '*' : '-');
}
