/* Tests of the split filesystem policy: specificity, globs, protections, places, what is never granted. */
#include <string.h>

#include "tests/check.h"
#include "tests/unit/policy_fixture.h"

#include "common/base/banned.h"

#define NONE SBX_ACCESS_NONE
#define READ SBX_ACCESS_READ
#define WRITE SBX_ACCESS_WRITE

struct want {
    const char *path;
    enum sbx_access access;
};

static void check_all(struct fixture *f, const struct want *wants, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum sbx_access got = fixture_access(f, wants[i].path);
        if (got != wants[i].access) {
            CHECK_TEXT(wants[i].path, sbx_name_text(sbx_access_names, (int)wants[i].access));
        }
        CHECK_INT(got, wants[i].access);
    }
}
#define CHECK_ALL(f, wants) check_all((f), (wants), SBX_COUNT(wants))

/* ---- specificity ---- */

static void the_narrower_rule_wins_in_the_example_of_the_specification(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "[sandbox.filesystem]\n\":root\" = \"read\"\n\"/code\" = \"write\"\n"
                   "\"/code/.git\" = \"read\"\n\"/code/secrets\" = \"none\"\n"
                   "\"/code/secrets/tmp\" = \"write\"\n");
    CHECK_INT(f.findings.errors, 0);
    static const struct want wants[] = {
        {"/", READ},
        {"/opt/x", READ},
        {"/code", WRITE},
        {"/code/main.c", WRITE},
        {"/codex", READ},
        {"/code/.git", READ},
        {"/code/.git/config", READ},
        {"/code/.gitignore", WRITE},
        {"/code/secrets", NONE},
        {"/code/secrets/key", NONE},
        {"/code/secrets/tmp", WRITE},
        {"/code/secrets/tmp/a/b", WRITE},
        {"/code/secrets/tmpx", NONE},
        {"/code/sub/.git/config", READ}, /* protected at depth */
        {"/etc/shadow", NONE},           /* the preset masks it */
        {"/tmp/x", WRITE},               /* private */
    };
    CHECK_ALL(&f, wants);
    CHECK_INT(fixture_rule(&f, "/tmp")->kind, SBX_RULE_TMPFS);
}

static void without_a_rule_nothing_is_visible(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX, "[sandbox]\nfs_read_allow = [\"/data/x\"]\n");
    static const struct want wants[] = {{"/", NONE},         {"/data", NONE},    {"/data/x", READ},
                                        {"/data/x/y", READ}, {"/data/xy", NONE}, {"/home", NONE}};
    CHECK_ALL(&f, wants);
    CHECK(fixture_decide(&f, "/home").rule == NULL);
}

static void rules_come_parents_first_and_globs_last(void)
{
    AUTO_FIXTURE f;
    fixture_policy(
        &f, SBX_LINUX,
        "[sandbox]\nfilesystem = { \"/z\" = \"read\", \"/a/b/c\" = \"none\", \"/a\" = "
        "\"write\", \"/a/*/k\" = \"none\", \"/a/b\" = \"read\", \"/a-b\" = \"read\" }\n");
    bool seen_glob = false;
    for (size_t i = 0; i < f.policy.rules.count; i++) {
        const struct sbx_rule *rule = &f.policy.rules.items[i];
        CHECK(rule->is_glob || !seen_glob);
        seen_glob |= rule->is_glob;
        for (size_t k = 0; k < i && !rule->is_glob; k++) {
            CHECK(!sbx_path_contains(rule->path, f.policy.rules.items[k].path));
        }
    }
    CHECK(seen_glob);
}

static void a_flag_overrides_the_file_and_the_file_the_preset(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    CHECK(fixture_read(&f, "[sandbox]\nfilesystem = { \"/usr\" = \"none\", \"/x\" = \"write\", "
                           "\"/y\" = \"none\" }\n"));
    static const char *const args[] = {"--deny", "/x/", "--read", "/y"};
    struct sbx_manifest flags = {0};
    struct sbx_manifest file = f.document.sandbox;
    fixture_flags(&f, args, 4, &flags);
    CHECK_CODE(sbx_manifest_merge(&f.arena, &file, &flags, &f.document.sandbox, NULL), SBX_OK,
               NULL);
    fixture_resolve(&f);
    CHECK_INT(f.findings.errors, 0);
    static const struct want wants[] = {{"/usr/bin", NONE}, {"/x/1", NONE}, {"/y/1", READ}};
    CHECK_ALL(&f, wants);
}

static void a_manifest_from_standard_input_is_not_a_flag(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    struct sbx_fs_entry entries[] = {
        {{sbx_str("/x"), {.source = "-"}}, SBX_ACCESS_WRITE},
        {{sbx_str("/x"), {.source = "--fs"}}, SBX_ACCESS_NONE},
        {{sbx_str("/y"), {.source = "-dash.toml", .place = {3, 1}}}, SBX_ACCESS_WRITE},
        {{sbx_str("/y"), {.source = "-r"}}, SBX_ACCESS_READ},
    };
    f.document.sandbox.filesystem = (struct sbx_fs_entries){entries, 4, 4};
    f.document.sandbox.set = 1u << SBX_KEY_FILESYSTEM;
    fixture_resolve(&f);
    CHECK_INT(f.findings.errors, 0);
    CHECK_INT(fixture_access(&f, "/x"), NONE);
    CHECK_INT(fixture_access(&f, "/y"), READ);
}

/* ---- globs ---- */

static void globs_close_what_they_match_and_all_below(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "[sandbox]\nfilesystem = { \"/code\" = \"write\", \"/code/**/.env\" = \"none\", "
                   "\"/code/*.lock\" = \"read\", \"/code/x/.env\" = \"read\", \"/code/s?cret\" = "
                   "\"none\", \"/code/s?cret/ok/*\" = \"read\", \"/code/s*\" = \"read\" }\n");
    CHECK_INT(f.findings.errors, 0);
    static const struct want wants[] = {
        {"/code/.env", NONE},
        {"/code/a/b/.env", NONE},
        {"/code/a/.env/deep", NONE},
        {"/code/.envx", WRITE},
        {"/code/x/.env", READ}, /* the literal wins at one depth */
        {"/code/x/y/.env", NONE},
        {"/code/x/.env/.env", NONE}, /* a deeper glob wins over a literal */
        {"/code/cargo.lock", READ},
        {"/code/dir/cargo.lock", WRITE},
        {"/code/secret", NONE}, /* of two globs the stricter */
        {"/code/secret/a", NONE},
        {"/code/secret/ok", NONE},
        {"/code/secret/ok/a", READ}, /* the deeper match */
        {"/code/seal", READ},
    };
    CHECK_ALL(&f, wants);
}

static void a_glob_below_a_place_takes_the_place_literally(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    f.context.cwd = fixture_path(&f, "/home/user/p*");
    CHECK(fixture_read(&f, "[sandbox]\nfilesystem = { \":cwd/*.key\" = \"read\" }\n"));
    fixture_resolve(&f);
    CHECK_INT(fixture_findings(&f, SBX_F_BAD_VALUE), 1);
    CHECK_INT(fixture_access(&f, "/home/user/private/a.key"), NONE);
    fixture_forget(&f);
    CHECK(fixture_read(&f, "[sandbox]\nmode = \"workspace-write\"\n"));
    fixture_resolve(&f);
    CHECK_INT(f.findings.errors, 0);
    CHECK_INT(fixture_access(&f, "/home/user/private"), READ);
    CHECK_INT(fixture_access(&f, "/home/user/p*/x"), WRITE);
    CHECK_INT(fixture_access(&f, "/home/user/p*/.git"), READ);
}

/* ---- protections ---- */

static void protected_names_are_read_only_below_every_writable_root(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "[sandbox]\nmode = \"workspace-write\"\nfs_write_allow = [\"/w\"]\nprotect = "
                   "[\"defaults\", \"key.pem\"]\n");
    CHECK_INT(f.findings.errors, 0);
    static const struct want wants[] = {
        {"/home/user/project/.git/hooks/x", READ},
        {"/home/user/project/a/b/.vscode/tasks.json", READ},
        {"/home/user/project/a/.mcp.json", READ},
        {"/home/user/project/key.pem", READ},
        {"/home/user/project/key.pem.bak", WRITE},
        {"/w/.envrc", READ},
        {"/w/x/.git", READ},
        {"/w/.gitx", WRITE},
        {"/home/user/.git", READ},
        {"/tmp/.git", WRITE}, /* private to the box */
    };
    CHECK_ALL(&f, wants);
    CHECK_INT(f.policy.protected_root_count, 2);
    struct sbx_decision decision = fixture_decide(&f, "/w/a/.git/config");
    CHECK_TEXT(decision.protection->pattern, ".git");
    CHECK_TEXT(decision.protected_root.text, "/w");
    CHECK(!decision.maybe_writable);
}

static void a_protection_never_makes_anything_readable(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "[sandbox]\nfilesystem = { \"/c\" = \"write\", \"/c/**/.env\" = \"none\", "
                   "\"/c/**/vault\" = \"none\", \"/c/no\" = \"none\" }\nprotect = [\"defaults\", "
                   "\".env\"]\n");
    static const struct want wants[] = {
        {"/c/.env", NONE},           {"/c/a/.env", NONE},
        {"/c/vault/.git", NONE},     {"/c/a/vault/.vscode/x", NONE},
        {"/c/no/.git/config", NONE}, {"/c/.git", READ},
    };
    CHECK_ALL(&f, wants);
}

static void a_protection_is_lifted_only_in_so_many_words(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "[sandbox]\nfilesystem = { \"/c\" = \"write\", \"/c/.git\" = \"write\", "
                   "\"/c/.vscode/ext\" = \"write\", \"/c/plain\" = \"write\" }\n");
    CHECK_INT(fixture_findings(&f, SBX_F_PROTECTION_REMOVED), 2);
    CHECK_INT(fixture_findings(&f, SBX_F_RULE_REDUNDANT), 1);
    static const struct want wants[] = {
        {"/c/.git/config", WRITE},  {"/c/sub/.git/config", READ}, {"/c/.git/x/.git", READ},
        {"/c/.vscode/tasks", READ}, {"/c/.vscode/ext/a", WRITE},
    };
    CHECK_ALL(&f, wants);
}

static void git_commit_opens_the_repository_and_keeps_hooks_and_config(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "[sandbox]\nfs_write_allow = [\"/c\", \"/other/.git\"]\ngit = \"commit\"\n");
    static const struct want wants[] = {
        {"/c/.git/index", WRITE},
        {"/c/.git/objects/ab/cd", WRITE},
        {"/c/.git/refs/heads/main", WRITE},
        {"/c/.git/logs/HEAD", WRITE},
        {"/c/.git/worktrees/w/index", WRITE},
        {"/c/.git/hooks", READ},
        {"/c/.git/hooks/pre-commit", READ},
        {"/c/.git/config", READ},
        {"/c/.git/config.worktree", READ},
        {"/c/.git/commondir", READ},
        {"/c/.git/info/attributes", READ},
        {"/c/.git/info/exclude", WRITE},
        {"/c/.git/modules/a/b/hooks/x", READ},
        {"/c/.git/modules/a/config", READ},
        {"/c/.git/modules/a/index", WRITE},
        {"/c/.git/worktrees/w/config.worktree", READ},
        {"/c/deep/er/.git/hooks/x", READ},
        {"/c/.vscode/x", READ},
        /* A writable root that is itself a repository's inside: linked worktrees need it. */
        {"/other/.git/index", WRITE},
        {"/other/.git/hooks/x", READ},
        {"/other/.git/config", READ},
    };
    CHECK_ALL(&f, wants);
    /* Whether ".git" is a file or a directory is not known here; a file stays locked. */
    struct sbx_decision git = fixture_decide(&f, "/c/.git");
    CHECK_INT(git.access, READ);
    CHECK(git.maybe_writable);
    CHECK(!fixture_decide(&f, "/c/.git/hooks").maybe_writable);
}

static void without_a_list_nothing_is_protected_and_that_is_warned_about(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX, "[sandbox]\nfs_write_allow = [\"/c\"]\nprotect = []\n");
    CHECK_INT(fixture_access(&f, "/c/.git/hooks"), WRITE);
    CHECK_INT(f.policy.protected_root_count, 0);
    CHECK_INT(fixture_findings(&f, SBX_F_PROTECTION_REMOVED), 1);
}

/* ---- what is never granted ---- */

static void a_working_directory_that_cannot_be_granted_is_refused(void)
{
    static const struct {
        enum sbx_platform platform;
        const char *cwd;
    } rows[] = {
        {SBX_LINUX, "/"},
        {SBX_LINUX, "/proc/1"},
        {SBX_LINUX, "/dev/shm/x"},
        {SBX_LINUX, "/home/user/.local/state/sbx"},
        {SBX_LINUX, "/home/user/.local/state/sbx/leases"},
        {SBX_LINUX, "/home/user/.config/sbx/x"},
        {SBX_MACOS, "/"},
        {SBX_MACOS, "/Users/user/library/application support/SBX/x"},
        {SBX_WINDOWS, "C:\\"},
        {SBX_WINDOWS, "D:\\"},
        {SBX_WINDOWS, "C:\\Users\\user\\appdata\\LOCAL\\sbx\\leases"},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        AUTO_FIXTURE f;
        fixture_start(&f, rows[i].platform);
        f.context.cwd = fixture_path(&f, rows[i].cwd);
        CHECK(fixture_read(&f, "[sandbox]\nmode = \"workspace-write\"\n"));
        fixture_resolve(&f);
        CHECK_INT(fixture_findings(&f, SBX_F_PATH_FORBIDDEN), 1);
        CHECK(fixture_access(&f, rows[i].cwd) != WRITE);
    }
}

static void the_files_of_sbx_are_never_writable(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX, "[sandbox]\nfs_write_allow = [\"/home/user\"]\n");
    CHECK_INT(f.findings.errors, 0);
    static const struct want wants[] = {
        {"/home/user/x", WRITE},
        {"/home/user/.local/state/sbx", READ},
        {"/home/user/.local/state/sbx/trust", READ},
        {"/home/user/.config/sbx/config.toml", READ},
        {"/home/user/.config/other", WRITE},
    };
    CHECK_ALL(&f, wants);
    static const char *const texts[] = {
        "[sandbox]\nfs_write_allow = [\":home/.config/sbx\"]\n",
        "[sandbox]\nfilesystem = { \":home/.local/state/sbx/trust\" = \"write\" }\n",
        "[sandbox]\ntmpfs = [\":home/.config/sbx/x\"]\n",
    };
    for (size_t i = 0; i < SBX_COUNT(texts); i++) {
        AUTO_FIXTURE bad;
        fixture_policy(&bad, SBX_LINUX, texts[i]);
        CHECK_INT(fixture_findings(&bad, SBX_F_PATH_FORBIDDEN), 1);
    }
}

static void keeping_the_files_of_sbx_opens_nothing_that_was_closed(void)
{
    static const char *const texts[] = {
        "[sandbox]\nfilesystem = { \":home\" = \"write\", \":home/.config\" = \"none\" }\n",
        "[sandbox]\nfilesystem = { \":home\" = \"write\", \":home/.config/sbx\" = \"none\" }\n",
        "[sandbox]\nfilesystem = { \":home\" = \"write\", \":home/.conf*\" = \"none\" }\n",
        "[sandbox]\nfilesystem = { \":home\" = \"write\", \":home/**/sbx\" = \"none\" }\n",
    };
    for (size_t i = 0; i < SBX_COUNT(texts); i++) {
        AUTO_FIXTURE f;
        fixture_policy(&f, SBX_LINUX, texts[i]);
        CHECK_INT(f.findings.errors, 0);
        CHECK_INT(fixture_access(&f, "/home/user/.config/sbx/secret"), NONE);
    }
}

/* ---- places and spellings ---- */

static void places_are_the_callers(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    f.context.project = fixture_path(&f, "/p");
    CHECK(fixture_read(&f, "[sandbox]\nfilesystem = { \":cwd/a\" = \"read\", \":home/b\" = "
                           "\"read\", \":project/d\" = \"write\", \":cwd\" = \"none\" }\n"));
    fixture_resolve(&f);
    static const struct want wants[] = {{"/home/user/project/a", READ},
                                        {"/home/user/project/x", NONE},
                                        {"/home/user/b", READ},
                                        {"/p/d", WRITE}};
    CHECK_ALL(&f, wants);
    f.context.home = (struct sbx_path){"", 0, SBX_PATH_POSIX};
    fixture_resolve(&f);
    CHECK_INT(fixture_findings(&f, SBX_F_PATH_MISSING), 1);
}

static void macos_spellings_of_one_directory_are_one_rule(void)
{
    static const char *const spellings[] = {"/tmp/x",   "/private/tmp/x", "//tmp/x",
                                            "/./tmp/x", "/TMP/x",         "/Private/Tmp/x"};
    for (size_t i = 0; i < SBX_COUNT(spellings); i++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_MACOS);
        CHECK(fixture_read(&f, sbx_arena_printf(&f.arena,
                                                "[sandbox]\nfilesystem = { \"/private/tmp\" = "
                                                "\"write\", \"%s\" = \"none\" }\n",
                                                spellings[i])));
        fixture_resolve(&f);
        CHECK_INT(f.findings.errors, 0);
        CHECK_INT(fixture_access(&f, "/private/tmp/x/y"), NONE);
        CHECK_INT(fixture_access(&f, "/private/tmp/z"), WRITE);
    }
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_MACOS);
    f.context.tmp = fixture_path(&f, "/var/folders/q");
    CHECK(fixture_read(&f, "[sandbox]\nfs_write_allow = [\":tmp/x\"]\nfs_read_allow = "
                           "[\"/private/var/folders/q/x\", \"/temp\", \"/variable\"]\n"));
    fixture_resolve(&f);
    CHECK_INT(fixture_findings(&f, SBX_F_PATH_DUPLICATE), 1);
    CHECK(fixture_rule(&f, "/temp") != NULL && fixture_rule(&f, "/variable") != NULL);
}

static void case_makes_no_second_rule_where_the_system_ignores_it(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_WINDOWS);
    CHECK(fixture_read(&f, "[sandbox]\nfilesystem = { 'C:\\CODE' = \"write\", 'c:\\code\\KEY' = "
                           "\"none\" }\n"));
    struct sbx_manifest file = f.document.sandbox;
    /* Whatever the order of bytes says, the flag is on top. */
    static const char *const args[] = {"--deny", "c:/Code", "--fs", "C:\\CODE\\SUB=write"};
    struct sbx_manifest flags = {0};
    fixture_flags(&f, args, 4, &flags);
    CHECK_CODE(sbx_manifest_merge(&f.arena, &file, &flags, &f.document.sandbox, NULL), SBX_OK,
               NULL);
    fixture_resolve(&f);
    CHECK_INT(f.findings.errors, 0);
    static const struct want wants[] = {{"C:\\code\\x", NONE},
                                        {"C:\\Code\\key\\x", NONE},
                                        {"c:\\CODE\\sub\\x", WRITE},
                                        {"c:\\CODE\\sub\\.GIT\\x", READ}};
    CHECK_ALL(&f, wants);
    AUTO_FIXTURE conflict;
    fixture_policy(&conflict, SBX_WINDOWS,
                   "[sandbox]\nfilesystem = { 'C:\\a' = \"read\", 'C:\\A' = \"none\" }\n");
    CHECK_INT(fixture_findings(&conflict, SBX_F_CONFLICT), 1);
    AUTO_FIXTURE linux_box;
    fixture_policy(&linux_box, SBX_LINUX,
                   "[sandbox]\nfilesystem = { \"/a\" = \"read\", \"/A\" = \"none\" }\n");
    CHECK_INT(fixture_findings(&linux_box, SBX_F_CONFLICT), 0);
}

static void of_equal_rules_the_first_is_kept(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "[sandbox]\nfs_write_allow = [\"/a\", \"/b/\", \"/b\", \"/b//\"]\nfs_read_allow "
                   "= [\"/a\"]\nfilesystem = { \"/b/.\" = \"write\" }\n");
    CHECK_INT(f.findings.errors, 0);
    CHECK_INT(fixture_findings(&f, SBX_F_PATH_DUPLICATE), 4);
    CHECK_TEXT(fixture_rule(&f, "/b")->key_path, "fs_write_allow[1]");
    CHECK_TEXT(fixture_rule(&f, "/a")->key_path, "fs_write_allow[0]");
    CHECK_INT(fixture_access(&f, "/a"), WRITE);
}

/* ---- the directory the command starts in ---- */

static void the_command_starts_where_the_caller_is_only_if_that_is_in_the_box(void)
{
    static const char *const rows[][3] = {
        {"mode = \"workspace-write\"", "/home/user/project", "/home/user/project"},
        {"mode = \"read-only\"", "/home/user/project", "/home/user/project"},
        {"profile = \"strict\"", "/home/user/project", "/"},
        {"profile = \"strict\"", "/usr/lib", "/usr/lib"},
        {"profile = \"strict\"", "/tmp", "/tmp"},
        /* The private /tmp is empty: the caller's directory is not there. */
        {"profile = \"strict\"", "/tmp/work", "/"},
        {"mode = \"read-only\"", "/tmp/work", "/"},
        {"mode = \"workspace-write\"", "/tmp/work", "/tmp/work"},
        {"profile = \"none\"", "/home/user/project", "/home/user/project"},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        f.context.cwd = fixture_path(&f, rows[i][1]);
        CHECK(fixture_read(&f, sbx_arena_printf(&f.arena, "[sandbox]\n%s\n", rows[i][0])));
        fixture_resolve(&f);
        CHECK_TEXT(f.policy.cwd.text, rows[i][2]);
    }
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX, "[sandbox]\nprofile = \"strict\"\ncwd = \"/tmp/work\"\n");
    CHECK_INT(fixture_findings(&f, SBX_F_CONFLICT), 1);
}

static const struct sbx_test tests[] = {
    {"the narrower rule wins in the example of the specification",
     the_narrower_rule_wins_in_the_example_of_the_specification},
    {"without a rule nothing is visible", without_a_rule_nothing_is_visible},
    {"rules come parents first and globs last", rules_come_parents_first_and_globs_last},
    {"a flag overrides the file and the file the preset",
     a_flag_overrides_the_file_and_the_file_the_preset},
    {"a manifest from standard input is not a flag", a_manifest_from_standard_input_is_not_a_flag},
    {"globs close what they match and all below", globs_close_what_they_match_and_all_below},
    {"a glob below a place takes the place literally",
     a_glob_below_a_place_takes_the_place_literally},
    {"protected names are read-only below every writable root",
     protected_names_are_read_only_below_every_writable_root},
    {"a protection never makes anything readable", a_protection_never_makes_anything_readable},
    {"a protection is lifted only in so many words", a_protection_is_lifted_only_in_so_many_words},
    {"git commit opens the repository and keeps hooks and config",
     git_commit_opens_the_repository_and_keeps_hooks_and_config},
    {"without a list nothing is protected, and that is warned about",
     without_a_list_nothing_is_protected_and_that_is_warned_about},
    {"a working directory that cannot be granted is refused",
     a_working_directory_that_cannot_be_granted_is_refused},
    {"the files of sbx are never writable", the_files_of_sbx_are_never_writable},
    {"keeping the files of sbx opens nothing that was closed",
     keeping_the_files_of_sbx_opens_nothing_that_was_closed},
    {"places are the caller's", places_are_the_callers},
    {"macOS spellings of one directory are one rule",
     macos_spellings_of_one_directory_are_one_rule},
    {"case makes no second rule where the system ignores it",
     case_makes_no_second_rule_where_the_system_ignores_it},
    {"of equal rules the first is kept", of_equal_rules_the_first_is_kept},
    {"the command starts where the caller is only if that is in the box",
     the_command_starts_where_the_caller_is_only_if_that_is_in_the_box},
};
SBX_TEST_MAIN("split filesystem policy", tests)
