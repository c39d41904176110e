/* Random policies; see random_policy.h. */
#include "tests/unit/random_policy.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/random.h"

#include "common/base/banned.h"

enum { MAX_RULES = 7 };

static const char *const names[] = {"a",      "b",   "ab",   ".git",      "hooks",
                                    "config", "key", ".env", "k\xc3\xa9y"};
static const char *const globs[] = {"*", "a*", "?", "**", "k?y", ".e*", ".git"};
static const struct sbx_protect_row plain_rows[] = {{".git", false, ""},
                                                    {"key", false, ""},
                                                    {"a/config", false, ""},
                                                    {"h*/**/b", false, ""},
                                                    {NULL, false, NULL}};

const char *random_policy_rest(uint64_t *seed, struct names_fixture *f, size_t depth, bool is_glob)
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

static bool has_rule(const struct names_fixture *f, const char *path)
{
    for (size_t i = 0; i < f->policy.rules.count; i++) {
        if (sbx_text_eq(f->policy.rules.items[i].path.text, path)) {
            return true;
        }
    }
    return false;
}

void random_policy_make(uint64_t *seed, struct names_fixture *f)
{
    f->policy.rules = (struct sbx_rules){0};
    names_protect(f, random_below(seed, 2) == 0 ? plain_rows : sbx_protect_git_commit);
    names_rule(f, "", SBX_ACCESS_WRITE);
    size_t wanted = random_below(seed, MAX_RULES);
    for (size_t i = 0; i < wanted; i++) {
        bool is_glob = random_below(seed, 3) == 0;
        const char *rest = random_policy_rest(seed, f, 1 + random_below(seed, 3), is_glob);
        if (has_rule(f, names_path(f, rest))) {
            continue;
        }
        enum sbx_access access = (enum sbx_access)random_below(seed, is_glob ? 2 : 3);
        struct stat info;
        bool exists = !is_glob && lstat(names_path(f, rest), &info) == 0;
        if (!is_glob && access == SBX_ACCESS_WRITE && !exists) {
            continue;
        }
        names_rule(f, rest, access)->is_optional = !exists;
    }
    names_settle(f);
}

void random_policy_print(const struct names_fixture *f)
{
    for (size_t i = 0; i < f->policy.rules.count; i++) {
        const struct sbx_rule *rule = &f->policy.rules.items[i];
        printf("#   rule %s = %s\n", rule->path.text + strlen(f->root),
               sbx_name_text(sbx_access_names, (int)rule->access));
    }
    printf("#   git = %s\n", sbx_name_text(sbx_git_mode_names, (int)f->policy.git));
}
