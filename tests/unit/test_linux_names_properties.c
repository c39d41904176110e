/* Property tests of posix/linux_names: on random trees with random policies a walk that knows no shortcut, and
 * asks sbx_policy_decide about every path, finds the same; and so does one with a cache, whatever changes. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/unit/names_fixture.h"
#include "tests/unit/random.h"

#include "common/base/banned.h"

enum { TREES = 40, POLICIES = 60, MAX_RULES = 8, CACHED_TREES = 6, CHANGES = 6, LINES = 4096 };

/* ---- the walk without shortcuts ---- */

struct naive {
    struct names_fixture *f;
    const char *lines[LINES];
    size_t count;
};

static void naive_report(struct naive *naive, const char *path, enum sbx_access access)
{
    const char *line = sbx_arena_printf(&naive->f->arena, "%s %s", path,
                                        sbx_name_text(sbx_access_names, (int)access));
    for (size_t i = 0; i < naive->count; i++) {
        if (sbx_text_eq(naive->lines[i], line)) {
            return;
        }
    }
    CHECK(naive->count < LINES);
    naive->lines[naive->count++] = line;
}

static struct sbx_path naive_path(const char *text)
{
    return (struct sbx_path){text, strlen(text), SBX_PATH_POSIX};
}

static void naive_walk(struct naive *naive, const char *directory, enum sbx_access around);

static void naive_entry(struct naive *naive, const char *path, enum sbx_access around)
{
    struct stat info;
    if (lstat(path, &info) != 0) {
        return;
    }
    bool is_directory = S_ISDIR(info.st_mode);
    struct sbx_decision decision =
        sbx_policy_decide(&naive->f->arena, &naive->f->policy, naive_path(path));
    enum sbx_access access =
        decision.maybe_writable && is_directory ? SBX_ACCESS_WRITE : decision.access;
    const struct sbx_rule *rule = decision.rule;
    bool is_literal = rule != NULL && !rule->is_glob && sbx_text_eq(rule->path.text, path);
    if (is_literal && rule->kind != SBX_RULE_HOST) {
        return; /* the host's files are not visible there */
    }
    if (!is_literal && access != around) {
        naive_report(naive, path, access);
    }
    if (access == SBX_ACCESS_NONE && rule != NULL && rule->is_glob) {
        return; /* no glob opens anything in it; literal rules have their own turn */
    }
    if (is_directory) {
        naive_walk(naive, path, access);
    }
}

static void naive_walk(struct naive *naive, const char *directory, enum sbx_access around)
{
    DIR *dir = opendir(directory);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (!sbx_text_eq(entry->d_name, ".") && !sbx_text_eq(entry->d_name, "..")) {
            naive_entry(naive,
                        sbx_arena_printf(&naive->f->arena, "%s/%s", directory, entry->d_name),
                        around);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static const char *joined(struct names_fixture *f, const char **lines, size_t count)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 1 << 20);
    if (count > 1) {
        qsort(lines, count, sizeof *lines, compare_lines);
    }
    for (size_t i = 0; i < count; i++) {
        sbx_buf_printf(&text, "%s\n", lines[i] + strlen(f->root));
    }
    return sbx_arena_copy(&f->arena, sbx_buf_text(&text), text.len);
}

static const char *naive_find(struct names_fixture *f)
{
    static struct naive naive;
    naive.f = f;
    naive.count = 0;
    naive_entry(&naive, f->root, SBX_ACCESS_NONE); /* no rule is for anything above it */
    for (size_t i = 0; i < f->policy.rules.count; i++) {
        const struct sbx_rule *rule = &f->policy.rules.items[i];
        struct stat info;
        if (!rule->is_glob && rule->kind == SBX_RULE_HOST && lstat(rule->path.text, &info) == 0 &&
            S_ISDIR(info.st_mode)) {
            naive_walk(&naive, rule->path.text,
                       sbx_policy_decide(&f->arena, &f->policy, rule->path).access);
        }
    }
    return joined(f, naive.lines, naive.count);
}

static const char *found_lines(struct names_fixture *f)
{
    static const char *lines[LINES];
    enum sbx_code code = sbx_names_find(&f->arena, &f->policy, f->cache_dir, &f->found, &f->err);
    if (!CHECK_CODE(code, SBX_OK, &f->err)) {
        return "";
    }
    for (size_t i = 0; i < f->found.count && i < LINES; i++) {
        lines[i] = sbx_arena_printf(&f->arena, "%s %s", f->found.items[i].path,
                                    sbx_name_text(sbx_access_names, (int)f->found.items[i].access));
        /* Parents first, and none twice. */
        CHECK(i == 0 || sbx_path_compare(naive_path(f->found.items[i - 1].path),
                                         naive_path(f->found.items[i].path)) < 0);
    }
    return joined(f, lines, f->found.count);
}

/* ---- random trees and policies ---- */

static const char *const names[] = {"a",       "b",    "ab",  ".git", "hooks",      "config",
                                    "modules", ".env", "key", "info", "attributes", "worktrees"};
static const char *const globs[] = {"*", "a*", "?", "**", "k?y", ".e*", "**", ".git"};

static const struct sbx_protect_row plain_rows[] = {
    {".git", false, ""}, {"key", false, ""}, {"a/config", false, ""}, {NULL, false, NULL}};

static const char *random_rest(uint64_t *seed, struct names_fixture *f, size_t depth, bool is_glob)
{
    const char *path = "";
    size_t star = is_glob ? random_below(seed, depth) : depth;
    for (size_t i = 0; i < depth; i++) {
        bool wild = i == star || (is_glob && random_below(seed, 3) == 0);
        path = sbx_arena_printf(&f->arena, "%s/%s", path,
                                wild ? globs[random_below(seed, SBX_COUNT(globs))]
                                     : names[random_below(seed, SBX_COUNT(names))]);
    }
    return path;
}

/* What cannot be made because a file is in the way is left out. */
static void random_node(uint64_t *seed, struct names_fixture *f)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s",
                   names_path(f, random_rest(seed, f, 1 + random_below(seed, 5), false)));
    for (char *at = path + strlen(f->root) + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(path, 0755);
            *at = '/';
        }
    }
    switch (random_below(seed, 4)) {
    case 0:
        (void)!symlink("/nonexistent/place", path);
        break;
    case 1: {
        int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (fd >= 0) {
            (void)close(fd);
        }
        break;
    }
    default:
        (void)mkdir(path, 0755);
        break;
    }
}

static bool has_rule(const struct names_fixture *f, const char *path)
{
    for (size_t i = 0; i < f->policy.rules.count; i++) {
        if (sbx_text_eq(f->policy.rules.items[i].path.text, path)) {
            return true;
        }
    }
    return false;
}

static void random_policy(uint64_t *seed, struct names_fixture *f)
{
    names_protect(f, random_below(seed, 2) == 0 ? plain_rows : sbx_protect_git_commit);
    size_t wanted = 1 + random_below(seed, MAX_RULES);
    for (size_t i = 0; i < wanted; i++) {
        bool is_glob = random_below(seed, 3) == 0;
        const char *rest = random_rest(seed, f, random_below(seed, 4) + (is_glob ? 1 : 0), is_glob);
        if (has_rule(f, names_path(f, rest))) {
            continue;
        }
        struct sbx_rule *rule = names_rule(
            f, rest,
            (enum sbx_access)(is_glob ? random_below(seed, 2) : 2 - random_below(seed, 5) / 2));
        if (!is_glob && random_below(seed, 10) == 0) {
            rule->kind = SBX_RULE_TMPFS;
            rule->access = SBX_ACCESS_WRITE;
        } else if (!is_glob && random_below(seed, 12) == 0) {
            rule->by = SBX_BY_ADMINISTRATOR;
            rule->access = SBX_ACCESS_NONE;
        }
    }
    names_settle(f);
}

static void print_policy(const struct names_fixture *f)
{
    for (size_t i = 0; i < f->policy.rules.count; i++) {
        const struct sbx_rule *rule = &f->policy.rules.items[i];
        printf("#   %s = %s%s%s\n", rule->path.text + strlen(f->root),
               sbx_name_text(sbx_access_names, (int)rule->access),
               rule->kind == SBX_RULE_TMPFS ? " (tmpfs)" : "",
               rule->by == SBX_BY_ADMINISTRATOR ? " (administrator)" : "");
    }
    printf("#   git = %s\n", sbx_name_text(sbx_git_mode_names, (int)f->policy.git));
}

static bool agree(struct names_fixture *f)
{
    const char *want = naive_find(f);
    const char *got = found_lines(f);
    if (sbx_text_eq(got, want)) {
        return true;
    }
    print_policy(f);
    return CHECK_TEXT(got, want);
}

/* ---- properties ---- */

static void a_walk_without_shortcuts_finds_the_same(void)
{
    uint64_t seed = 11;
    size_t found = 0;
    size_t masked = 0;
    size_t opened = 0;
    bool agrees = true;
    for (unsigned tree = 0; agrees && tree < TREES; tree++) {
        AUTO_NAMES f;
        names_start(&f);
        size_t nodes = 10 + random_below(&seed, 50);
        for (size_t i = 0; i < nodes; i++) {
            random_node(&seed, &f);
        }
        for (unsigned round = 0; agrees && round < POLICIES; round++) {
            f.policy.rules = (struct sbx_rules){0};
            random_policy(&seed, &f);
            agrees = agree(&f);
            found += f.found.count;
            for (size_t i = 0; i < f.found.count; i++) {
                masked += f.found.items[i].access == SBX_ACCESS_NONE;
                opened += f.found.items[i].opens;
            }
        }
    }
    printf("# %zu entries, %zu masked, %zu opened\n", found, masked, opened);
    CHECK(found > 1000 && masked > 200 && opened > 100);
}

static void random_change(uint64_t *seed, struct names_fixture *f)
{
    const char *path = names_path(f, random_rest(seed, f, 1 + random_below(seed, 4), false));
    switch (random_below(seed, 4)) {
    case 0:
        names_remove(path);
        break;
    case 1:
        (void)rename(path, names_path(f, random_rest(seed, f, 1 + random_below(seed, 3), false)));
        break;
    default:
        random_node(seed, f);
        break;
    }
}

static void whatever_changes_a_cache_changes_nothing(void)
{
    static struct names_fixture f[CACHED_TREES];
    uint64_t seed = 23;
    uint64_t from_cache = 0;
    for (size_t i = 0; i < CACHED_TREES; i++) {
        names_start(&f[i]);
        for (size_t k = 0; k < 300; k++) {
            random_node(&seed, &f[i]);
        }
        names_rule(&f[i], "", SBX_ACCESS_WRITE);
        random_policy(&seed, &f[i]);
        f[i].cache_dir = sbx_arena_printf(&f[i].arena, "%s-cache", f[i].root);
    }
    (void)usleep(3200 * 1000); /* what is younger is not trusted */
    for (size_t i = 0; i < CACHED_TREES; i++) {
        bool agrees = agree(&f[i]);
        for (size_t k = 0; agrees && k < CHANGES; k++) {
            agrees = agree(&f[i]);
            from_cache += f[i].found.directories_from_cache;
            for (size_t n = random_below(&seed, 12); n > 0; n--) {
                random_change(&seed, &f[i]);
            }
        }
        names_remove(f[i].cache_dir);
        names_end(&f[i]);
    }
    printf("# %llu directories from the cache\n", (unsigned long long)from_cache);
    CHECK(from_cache > (uint64_t)CACHED_TREES * 100);
}

static const struct sbx_test tests[] = {
    {"a walk without shortcuts finds the same on random trees with random policies",
     a_walk_without_shortcuts_finds_the_same},
    {"whatever changes in random trees, a cache changes nothing",
     whatever_changes_a_cache_changes_nothing},
};

SBX_TEST_MAIN("linux_names_properties", tests)
