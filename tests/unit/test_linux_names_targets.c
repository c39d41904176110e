/* Where protected links and ".git" files lead, on real trees: posix/linux_names_target.c. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/unit/names_fixture.h"

#include "common/base/banned.h"

static const struct sbx_protect_row no_rows[] = {{NULL, false, NULL}};

/* ---- links ---- */

static void a_protected_link_is_found_with_what_it_leads_to(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_dir(&f, "w/real/settings");
    names_dir(&f, "out/settings");
    names_link(&f, "w/.vscode", "real/settings");
    names_link(&f, "w/a/.idea", "../../out/settings");
    names_link(&f, "w/a/.envrc", "nowhere");
    names_link(&f, "w/a/.zshrc", "/nowhere");
    names_link(&f, "w/a/plain", "../real");
    names_link(&f, "w/b/.claude", "..");
    CHECK_TEXT(names_settle_and_find(&f),
               "r /w/.vscode @, r /w/a/.envrc @ !, r /w/a/.idea @, "
               "r /w/a/.zshrc @, r /w/b/.claude @ !, r /w/real/settings d");
    CHECK_TEXT(names_at(&f, "w/.vscode")->link, "real/settings");
    CHECK_TEXT(names_at(&f, "w/real/settings")->protection->pattern, ".vscode");
    CHECK(!names_at(&f, "w/.vscode")->is_directory);
}

static void a_masked_link_masks_what_it_leads_to(void)
{
    AUTO_NAMES f;
    names_start_with(&f, no_rows);
    names_file(&f, "w/prod.env", "");
    names_file(&f, "shared/prod.env", "");
    names_file(&f, "hidden/prod.env", "");
    names_link(&f, "w/.env", "prod.env");
    names_link(&f, "w/a/.env", "../../shared/prod.env");
    names_link(&f, "w/b/.env", "../../hidden/prod.env");
    names_link(&f, "w/c/.env", "../..");
    names_rule(&f, "shared", SBX_ACCESS_READ);
    names_rule(&f, "w/**/.env", SBX_ACCESS_NONE);
    CHECK_TEXT(names_settle_and_find(&f), "n /shared/prod.env, n /w/.env @, n /w/a/.env @, "
                                          "n /w/b/.env @, n /w/c/.env @, n /w/prod.env");
    names_rule(&f, "", SBX_ACCESS_READ);
    CHECK_TEXT(names_settle_and_find(&f),
               "n /hidden/prod.env, n /shared/prod.env, n /w/.env @, n /w/a/.env @, "
               "n /w/b/.env @, n /w/c/.env @ !, n /w/prod.env");
}

static void directories_behind_links_are_not_entered(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_dir(&f, "out/.git");
    names_link(&f, "w/link", "../out");
    names_link(&f, "w/loop", ".");
    CHECK_TEXT(names_settle_and_find(&f), "");
    CHECK_U64(f.found.directories_read, 1);
    /* The control: through the link it is there. */
    CHECK_INT(access(names_path(&f, "w/link/.git"), F_OK), 0);
}

static void a_root_may_be_a_link(void)
{
    AUTO_NAMES f;
    names_start(&f);
    names_protect(&f, sbx_protect_defaults);
    names_dir(&f, "real/a/.git");
    names_link(&f, "w", "real");
    names_rule(&f, "w", SBX_ACCESS_WRITE);
    CHECK_TEXT(names_settle_and_find(&f), "r /w/a/.git d");
}

/* ---- git directories elsewhere ---- */

static void a_git_file_locks_the_directory_it_names(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_dir(&f, "w/store/one/hooks");
    names_dir(&f, "w/store/two");
    names_dir(&f, "out/three");
    names_file(&f, "w/a/.git", "gitdir: ../store/one\n");
    names_file(&f, "w/b/.git", "gitdir: ");
    names_file(&f, "w/c/.git", "gitdir ../store/two\n");
    names_file(&f, "w/d/.git", "gitdir: ../../out/three\n");
    names_file(&f, "w/e/.git", "gitdir: ../store/absent\n");
    names_file(&f, "w/f/.git", "gitdir: /absent/too\n");
    CHECK_TEXT(names_settle_and_find(&f), "r /w/a/.git, r /w/b/.git, r /w/c/.git, r /w/d/.git, "
                                          "r /w/e/.git !, r /w/f/.git, r /w/store/one d");
    CHECK_TEXT(names_at(&f, "w/store/one")->protection->pattern, ".git");
    /* A rule that makes just that directory writable lifts this lock like any other. */
    names_rule(&f, "w/store/one", SBX_ACCESS_WRITE);
    names_rule(&f, "w/store", SBX_ACCESS_READ);
    CHECK_TEXT(names_settle_and_find(&f), "r /w/a/.git, r /w/b/.git, r /w/c/.git, r /w/d/.git, "
                                          "r /w/e/.git, r /w/f/.git");
}

static void a_worktree_locks_the_repository_it_belongs_to(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_dir(&f, "w/bare/hooks");
    names_file(&f, "w/bare/worktrees/t/commondir", "../..\n");
    names_file(&f, "w/tree/.git",
               sbx_arena_printf(&f.arena, "gitdir: %s/w/bare/worktrees/t\n", f.root));
    CHECK_TEXT(names_settle_and_find(&f), "r /w/bare d, r /w/tree/.git");
}

static void commit_locks_what_git_runs_wherever_it_is(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_git_commit);
    names_dir(&f, "w/bare/hooks");
    names_file(&f, "w/bare/config", "");
    names_file(&f, "w/bare/config.worktree", "");
    names_file(&f, "w/bare/info/attributes", "");
    names_file(&f, "w/bare/refs/heads/config", "");
    names_file(&f, "w/bare/modules/m/config", "");
    names_file(&f, "w/bare/worktrees/t/commondir", "../..\n");
    names_file(&f, "w/bare/worktrees/t/gitdir", "x\n");
    names_file(&f, "w/bare/worktrees/t/HEAD", "x\n");
    names_file(&f, "w/tree/.git", "gitdir: ../bare/worktrees/t\n");
    names_file(&f, "w/unrelated/config", "");
    CHECK_TEXT(names_settle_and_find(&f),
               "r /w/bare/config, r /w/bare/config.worktree, r /w/bare/hooks d, "
               "r /w/bare/info/attributes, r /w/bare/modules/m/config, "
               "r /w/bare/worktrees/t/commondir, r /w/bare/worktrees/t/gitdir, r /w/tree/.git");
}

static void a_linked_git_directory_is_one_too(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_git_commit);
    names_dir(&f, "w/store/hooks");
    names_file(&f, "w/store/index", "");
    names_link(&f, "w/a/.git", "../store");
    CHECK_TEXT(names_settle_and_find(&f), "r /w/a/.git @, r /w/store/hooks d");
    names_protect(&f, sbx_protect_defaults);
    CHECK_TEXT(names_settle_and_find(&f), "r /w/a/.git @, r /w/store d");
}

static void a_hostile_git_file_is_no_git_file(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_dir(&f, "w/store");
    char large[5000];
    memset(large, '\n', sizeof large);
    large[sizeof large - 1] = '\0';
    memcpy(large, "gitdir: ../store", strlen("gitdir: ../store"));
    names_file(&f, "w/large/.git", large);
    names_file(&f, "w/secret", "gitdir: store\n");
    names_link(&f, "w/link/.git", "../secret");
    names_dir(&f, "w/fifo");
    CHECK_INT(mkfifo(names_path(&f, "w/fifo/.git"), 0600), 0);
    CHECK_TEXT(names_settle_and_find(&f),
               "r /w/fifo/.git, r /w/large/.git, r /w/link/.git @, r /w/secret");
    /* The control: the same text in a small file leads there. */
    names_file(&f, "w/small/.git", "gitdir: ../store\n\n\n");
    (void)names_find(&f);
    CHECK(names_at(&f, "w/store") != NULL);
}

static void a_place_two_links_lead_to_is_listed_once(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_dir(&f, "w/real/inner");
    names_link(&f, "w/a/.vscode", "../real");
    names_link(&f, "w/b/.idea", "../real");
    names_link(&f, "w/c/.zed", "../real/inner");
    CHECK_TEXT(names_settle_and_find(&f),
               "r /w/a/.vscode @, r /w/b/.idea @, r /w/c/.zed @, r /w/real d");
    /* What is masked inside what is locked stays. */
    names_file(&f, "w/real/inner/x.key", "");
    names_rule(&f, "w/**/*.key", SBX_ACCESS_NONE);
    CHECK_TEXT(names_settle_and_find(&f), "r /w/a/.vscode @, r /w/b/.idea @, r /w/c/.zed @, "
                                          "r /w/real d, n /w/real/inner/x.key");
}

static const struct sbx_test tests[] = {
    {"a protected link is found, with what it leads to",
     a_protected_link_is_found_with_what_it_leads_to},
    {"a masked link masks what it leads to", a_masked_link_masks_what_it_leads_to},
    {"directories behind links are not entered", directories_behind_links_are_not_entered},
    {"a root may be a link", a_root_may_be_a_link},
    {"a .git file locks the directory it names", a_git_file_locks_the_directory_it_names},
    {"a worktree locks the repository it belongs to",
     a_worktree_locks_the_repository_it_belongs_to},
    {"git = commit locks what git runs in a directory that a .git file names",
     commit_locks_what_git_runs_wherever_it_is},
    {"a link named .git protects the directory it leads to", a_linked_git_directory_is_one_too},
    {"a .git file that is large, a link or a pipe is not read", a_hostile_git_file_is_no_git_file},
    {"a place that two links lead to is listed once, and hides what it contains",
     a_place_two_links_lead_to_is_listed_once},
};

SBX_TEST_MAIN("linux_names_targets", tests)
