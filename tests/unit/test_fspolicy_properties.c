/* Property tests of the split policy: an oracle written in another way agrees with every decision, the normal
 * form changes none, and how a policy is written changes no digest. */
#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/policy_fixture.h"
#include "tests/unit/random.h"

#include "common/base/banned.h"

enum { ROUNDS = 3000, MAX_RULES = 12, PATHS = 24, TEXT = 96 };

/* ---- the oracle: walks up from the path, looks at whole strings only ---- */

struct naive_rule {
    char path[TEXT];
    enum sbx_access access;
    bool is_glob;
    bool is_flag;
    bool is_tmpfs;
};

struct naive {
    struct naive_rule rules[MAX_RULES];
    size_t count;
};

static const char *const protected_names[] = {".git", "key"};

/* Recursive matcher: one star stays within a name, '?' is one character, two stars are any names or none. */
static bool naive_match(const char *glob, const char *path)
{
    if (strncmp(glob, "/**", 3) == 0 && (glob[3] == '/' || glob[3] == '\0')) {
        if (naive_match(glob + 3, path)) {
            return true;
        }
        const char *next = path[0] == '/' ? strchr(path + 1, '/') : NULL;
        if (path[0] == '/' && path[1] != '\0') {
            return naive_match(glob, next == NULL ? "" : next);
        }
        return false;
    }
    if (glob[0] == '*') {
        bool more = path[0] != '\0' && path[0] != '/';
        return naive_match(glob + 1, path) || (more && naive_match(glob, path + 1));
    }
    if (glob[0] == '\0' || path[0] == '\0') {
        return glob[0] == path[0];
    }
    bool one = glob[0] == '?' ? path[0] != '/' : glob[0] == path[0];
    return one && naive_match(glob + 1, path + 1);
}

static const struct naive_rule *literal_at(const struct naive *naive, const char *path)
{
    const struct naive_rule *found = NULL;
    for (size_t i = 0; i < naive->count; i++) {
        const struct naive_rule *rule = &naive->rules[i];
        if (!rule->is_glob && sbx_text_eq(rule->path, path) && (found == NULL || rule->is_flag)) {
            found = rule;
        }
    }
    return found;
}

static const struct naive_rule *glob_at(const struct naive *naive, const char *path)
{
    const struct naive_rule *found = NULL;
    for (size_t i = 0; i < naive->count; i++) {
        const struct naive_rule *rule = &naive->rules[i];
        bool matches = rule->is_glob && naive_match(rule->path, path);
        if (matches && (found == NULL || rule->access < found->access)) {
            found = rule;
        }
    }
    /* Of two globs with one text the flag's is the one there is; the generator makes no such pair. */
    return found;
}

static bool is_protected_name(const char *name)
{
    for (size_t i = 0; i < SBX_COUNT(protected_names); i++) {
        if (sbx_text_eq(name, protected_names[i])) {
            return true;
        }
    }
    return false;
}

static enum sbx_access naive_decide(const struct naive *naive, const char *path)
{
    char at[TEXT];
    bool below_protected = false;
    (void)snprintf(at, sizeof at, "%s", path);
    for (;;) {
        const struct naive_rule *rule = literal_at(naive, at);
        if (rule == NULL) {
            rule = glob_at(naive, at);
        }
        if (rule != NULL) {
            bool locked = below_protected && !rule->is_tmpfs && rule->access == SBX_ACCESS_WRITE;
            return locked ? SBX_ACCESS_READ : rule->access;
        }
        char *slash = strrchr(at, '/');
        below_protected |= is_protected_name(slash + 1);
        if (slash == at) {
            return SBX_ACCESS_NONE; /* no rule of the generator is for the root */
        }
        *slash = '\0';
    }
}

/* ---- the generator ---- */

static const char *const names[] = {"a", "b", "c", ".git", "key", "ab"};
static const char *const glob_names[] = {"*", "a*", "?", "**", "*b", "k?y"};

static void random_path(uint64_t *seed, bool is_glob, char out[TEXT])
{
    size_t len = (size_t)snprintf(out, TEXT, "/w");
    size_t depth = random_below(seed, 4) + (is_glob ? 1 : 0);
    size_t star = is_glob ? random_below(seed, depth) : depth;
    for (size_t i = 0; i < depth; i++) {
        bool wild = i == star || (is_glob && random_below(seed, 4) == 0);
        const char *name = wild ? glob_names[random_below(seed, SBX_COUNT(glob_names))]
                                : names[random_below(seed, SBX_COUNT(names))];
        len += (size_t)snprintf(out + len, TEXT - len, "/%s", name);
    }
}

static bool has_text(const struct naive *naive, const char *path)
{
    for (size_t i = 0; i < naive->count; i++) {
        if (sbx_text_eq(naive->rules[i].path, path)) {
            return true;
        }
    }
    return false;
}

static void random_policy(uint64_t *seed, struct naive *out)
{
    *out = (struct naive){0};
    size_t wanted = 1 + random_below(seed, MAX_RULES);
    for (size_t i = 0; i < wanted; i++) {
        struct naive_rule rule = {.is_glob = random_below(seed, 4) == 0};
        random_path(seed, rule.is_glob, rule.path);
        rule.access = (enum sbx_access)random_below(seed, rule.is_glob ? 2 : 3);
        rule.is_flag = random_below(seed, 4) == 0;
        rule.is_tmpfs = !rule.is_glob && random_below(seed, 8) == 0;
        if (rule.is_tmpfs) {
            rule.access = SBX_ACCESS_WRITE;
        }
        /* A literal said twice is one of file and one of flag, never two of one layer. */
        bool again = has_text(out, rule.path);
        if (!again || (!rule.is_glob && random_below(seed, 2) == 0)) {
            for (size_t k = 0; again && k < out->count; k++) {
                again = !sbx_text_eq(out->rules[k].path, rule.path) ||
                        out->rules[k].is_flag != rule.is_flag;
            }
            if (again || !has_text(out, rule.path)) {
                out->rules[out->count++] = rule;
            }
        }
    }
}

static struct sbx_origin origin_of(const struct naive_rule *rule)
{
    return (struct sbx_origin){.source = rule->is_flag ? "--fs" : "sbx.toml"};
}

/* The manifest that says the same; `order` is a permutation. */
static void manifest_of(struct fixture *f, const struct naive *naive, const size_t *order,
                        struct sbx_manifest *out)
{
    static const char *const protect[] = {".git", "key"};
    *out = (struct sbx_manifest){0};
    out->filesystem.items = SBX_NEW_ARRAY(&f->arena, struct sbx_fs_entry, MAX_RULES);
    out->tmpfs.items = SBX_NEW_ARRAY(&f->arena, struct sbx_text, MAX_RULES);
    for (size_t i = 0; i < naive->count; i++) {
        const struct naive_rule *rule = &naive->rules[order[i]];
        struct sbx_text text = {sbx_str(rule->path), origin_of(rule)};
        if (rule->is_tmpfs) {
            out->tmpfs.items[out->tmpfs.count++] = text;
        } else {
            out->filesystem.items[out->filesystem.count++] =
                (struct sbx_fs_entry){text, rule->access};
        }
    }
    out->protect.names.items = SBX_NEW_ARRAY(&f->arena, struct sbx_text, 2);
    for (size_t i = 0; i < SBX_COUNT(protect); i++) {
        out->protect.names.items[out->protect.names.count++].text = sbx_str(protect[i]);
    }
    out->set = 1u << SBX_KEY_FILESYSTEM | 1u << SBX_KEY_TMPFS | 1u << SBX_KEY_PROTECT;
}

static void shuffle(uint64_t *seed, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (size_t i = count; i > 1; i--) {
        size_t k = random_below(seed, i);
        size_t kept = order[i - 1];
        order[i - 1] = order[k];
        order[k] = kept;
    }
}

/* The first few; a thousand say no more. */
static void print_policy(const struct naive *naive)
{
    static unsigned shown;
    if (shown++ > 5) {
        return;
    }
    for (size_t i = 0; i < naive->count; i++) {
        printf("#   %s = %s%s%s\n", naive->rules[i].path,
               sbx_name_text(sbx_access_names, (int)naive->rules[i].access),
               naive->rules[i].is_flag ? " (flag)" : "",
               naive->rules[i].is_tmpfs ? " (tmpfs)" : "");
    }
}

/* ---- properties ---- */

static void an_oracle_written_in_another_way_agrees_with_every_decision(void)
{
    uint64_t seed = 3;
    size_t counts[3] = {0};
    for (unsigned round = 0; round < ROUNDS; round++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        struct naive naive;
        size_t order[MAX_RULES];
        random_policy(&seed, &naive);
        shuffle(&seed, order, naive.count);
        manifest_of(&f, &naive, order, &f.document.sandbox);
        fixture_resolve(&f);
        CHECK_INT(f.findings.errors, 0);
        for (unsigned i = 0; i < PATHS; i++) {
            char path[TEXT];
            random_path(&seed, false, path);
            enum sbx_access want = naive_decide(&naive, path);
            enum sbx_access got = fixture_access(&f, path);
            counts[want]++;
            if (got != want) {
                printf("# %s\n", path);
                print_policy(&naive);
                CHECK_INT(got, want);
            }
        }
    }
    CHECK(counts[0] > ROUNDS && counts[1] > ROUNDS && counts[2] > ROUNDS);
}

static void naive_to_rules(struct fixture *f, const struct naive *naive, struct sbx_policy *out)
{
    *out = (struct sbx_policy){.context = f->context};
    for (size_t i = 0; i < naive->count; i++) {
        struct sbx_rule *rule = (struct sbx_rule *)sbx_arena_push(
            &f->arena, &out->rules.items, &out->rules.count, &out->rules.capacity, sizeof *rule);
        rule->is_glob = naive->rules[i].is_glob;
        rule->access = naive->rules[i].access;
        rule->kind = naive->rules[i].is_tmpfs ? SBX_RULE_TMPFS : SBX_RULE_HOST;
        rule->by = naive->rules[i].is_flag ? SBX_BY_FLAG : SBX_BY_MANIFEST;
        rule->key_path = "x";
        rule->order = i;
        struct sbx_str text = sbx_str(naive->rules[i].path);
        CHECK_INT(rule->is_glob ? sbx_path_make_glob(&f->arena, SBX_PATH_POSIX, text, &rule->path)
                                : sbx_path_make(&f->arena, SBX_PATH_POSIX, text, &rule->path),
                  SBX_PATH_OK);
    }
    out->protect = SBX_NEW_ARRAY(&f->arena, struct sbx_protect_row, 2);
    for (size_t i = 0; i < SBX_COUNT(protected_names); i++) {
        out->protect[out->protect_count++].pattern = protected_names[i];
    }
}

/* Unlike above, the rules come from no manifest. Equal paths have no order then, so there are none. */
static void the_normal_form_changes_no_decision_and_has_no_other(void)
{
    uint64_t seed = 5;
    unsigned dropped = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        struct naive naive;
        random_policy(&seed, &naive);
        for (size_t i = 0; i < naive.count; i++) {
            for (size_t k = i + 1; k < naive.count; k++) {
                if (sbx_text_eq(naive.rules[i].path, naive.rules[k].path)) {
                    naive.rules[k--] = naive.rules[--naive.count];
                }
            }
        }
        struct sbx_policy normal;
        naive_to_rules(&f, &naive, &normal);
        sbx_rules_normalise(&normal, &f.findings);
        dropped += (unsigned)(naive.count - normal.rules.count);
        size_t count = normal.rules.count;
        size_t said = f.findings.count;
        for (unsigned i = 0; i < PATHS; i++) {
            char path[TEXT];
            random_path(&seed, false, path);
            struct sbx_path at = fixture_path(&f, path);
            enum sbx_access before = naive_decide(&naive, path);
            enum sbx_access after = sbx_policy_decide(&f.arena, &normal, at).access;
            if (before != after) {
                printf("# %s\n", path);
                print_policy(&naive);
                CHECK_INT(after, before);
            }
        }
        sbx_rules_normalise(&normal, &f.findings);
        CHECK_INT(normal.rules.count, count);
        CHECK_INT(f.findings.count, said);
    }
    CHECK(dropped > ROUNDS / 4);
}

/* ---- other words for the same ---- */

/* Trailing and doubled separators, "." components. */
static const char *respell(struct fixture *f, uint64_t *seed, const char *path)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 512);
    for (const char *at = path; *at != '\0'; at++) {
        sbx_buf_add_char(&text, *at);
        if (*at == '/' && random_below(seed, 3) == 0) {
            sbx_buf_add_text(&text, random_below(seed, 2) == 0 ? "/" : "./");
        }
    }
    if (random_below(seed, 2) == 0) {
        sbx_buf_add_text(&text, random_below(seed, 2) == 0 ? "/" : "/.");
    }
    return sbx_arena_copy(&f->arena, sbx_buf_text(&text), text.len);
}

/* Some literal entries move from the table to the lists, which say the same. */
static void move_to_lists(struct fixture *f, uint64_t *seed, struct sbx_manifest *manifest)
{
    manifest->fs_read_allow.items =
        SBX_NEW_ARRAY(&f->arena, struct sbx_text, (size_t)2 * MAX_RULES);
    manifest->fs_write_allow.items =
        SBX_NEW_ARRAY(&f->arena, struct sbx_text, (size_t)2 * MAX_RULES);
    size_t kept = 0;
    for (size_t i = 0; i < manifest->filesystem.count; i++) {
        struct sbx_fs_entry entry = manifest->filesystem.items[i];
        bool stays = entry.access == SBX_ACCESS_NONE || sbx_path_is_glob(entry.path.text) ||
                     random_below(seed, 2) == 0;
        struct sbx_texts *list =
            entry.access == SBX_ACCESS_WRITE ? &manifest->fs_write_allow : &manifest->fs_read_allow;
        if (stays) {
            manifest->filesystem.items[kept++] = entry;
        } else {
            list->items[list->count++] = entry.path;
            if (random_below(seed, 3) == 0) {
                list->items[list->count++] = entry.path; /* said twice */
            }
        }
    }
    manifest->filesystem.count = kept;
}

static void how_a_policy_is_written_changes_no_digest(void)
{
    uint64_t seed = 9;
    for (unsigned round = 0; round < ROUNDS / 2; round++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        struct naive naive;
        size_t order[MAX_RULES];
        random_policy(&seed, &naive);
        char digest[SBX_SHA256_HEX] = "";
        for (unsigned way = 0; way < 4; way++) {
            shuffle(&seed, order, naive.count);
            manifest_of(&f, &naive, order, &f.document.sandbox);
            struct sbx_manifest *manifest = &f.document.sandbox;
            for (size_t i = 0; way > 0 && i < manifest->filesystem.count; i++) {
                struct sbx_text *text = &manifest->filesystem.items[i].path;
                text->text = sbx_str(respell(&f, &seed, text->text.ptr));
            }
            if (way > 1) {
                move_to_lists(&f, &seed, manifest);
            }
            fixture_resolve(&f);
            fixture_plan(&f);
            if (way > 0 && !sbx_text_eq(digest, f.digest)) {
                print_policy(&naive);
            }
            CHECK(way == 0 || sbx_text_eq(digest, f.digest));
            memcpy(digest, f.digest, sizeof digest);
        }
        CHECK_INT(f.findings.errors, 0);
    }
}

static void separators_and_drive_letters_change_no_windows_digest(void)
{
    static const char *const ways[] = {
        "[sandbox]\nfs_write_allow = ['C:\\a']\nfilesystem = { 'D:\\b\\c' = \"read\", 'C:\\a\\x' = "
        "\"none\" }\n",
        "[sandbox]\nfilesystem = { 'c:/a/x/' = \"none\", 'd:\\b\\\\c\\.' = \"read\", 'C:/a' = "
        "\"write\" }\n",
        "[sandbox]\nfs_read_allow = ['d:/b/c', 'D:\\b\\c']\nfs_write_allow = ['c:\\a\\', "
        "'C:/a']\nfilesystem = { 'C:\\.\\a/x' = \"none\" }\n",
    };
    char digest[SBX_SHA256_HEX] = "";
    for (size_t i = 0; i < SBX_COUNT(ways); i++) {
        AUTO_FIXTURE f;
        fixture_policy(&f, SBX_WINDOWS, ways[i]);
        CHECK_INT(f.findings.errors, 0);
        fixture_plan(&f);
        if (i > 0) {
            CHECK_TEXT(f.digest, digest);
        }
        memcpy(digest, f.digest, sizeof digest);
    }
}

static void policies_that_decide_differently_have_other_digests(void)
{
    uint64_t seed = 21;
    for (unsigned round = 0; round < ROUNDS / 2; round++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        struct naive a;
        struct naive b;
        size_t order[MAX_RULES];
        random_policy(&seed, &a);
        b = a;
        b.rules[0].access =
            (enum sbx_access)((b.rules[0].access + 1) % (b.rules[0].is_glob ? 2 : 3));
        b.rules[0].is_tmpfs = false;
        shuffle(&seed, order, a.count);
        char digest[SBX_SHA256_HEX];
        manifest_of(&f, &a, order, &f.document.sandbox);
        fixture_resolve(&f);
        fixture_plan(&f);
        memcpy(digest, f.digest, sizeof digest);
        manifest_of(&f, &b, order, &f.document.sandbox);
        fixture_resolve(&f);
        fixture_plan(&f);
        bool differs = false;
        for (unsigned i = 0; i < 4 * PATHS; i++) {
            char path[TEXT];
            random_path(&seed, false, path);
            differs |= naive_decide(&a, path) != naive_decide(&b, path);
        }
        CHECK(!differs || !sbx_text_eq(digest, f.digest));
    }
}

static const struct sbx_test tests[] = {
    {"an oracle written in another way agrees with every decision",
     an_oracle_written_in_another_way_agrees_with_every_decision},
    {"the normal form changes no decision and has no other",
     the_normal_form_changes_no_decision_and_has_no_other},
    {"how a policy is written changes no digest", how_a_policy_is_written_changes_no_digest},
    {"separators and drive letters change no Windows digest",
     separators_and_drive_letters_change_no_windows_digest},
    {"policies that decide differently have other digests",
     policies_that_decide_differently_have_other_digests},
};
SBX_TEST_MAIN("split filesystem policy, properties", tests)
