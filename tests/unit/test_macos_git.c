/* Where git is led to from writable places, on real trees: posix/macos_git.c and posix/git_file.c. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/git_file.h"
#include "posix/macos_git.h"
#include "posix/macos_profile.h"
#include "tests/check.h"
#include "tests/macos/unaliased.h"
#include "tests/unit/names_fixture.h"
#include "tests/unit/policy_fixture.h"

#include "common/base/banned.h"

static const char *real_name(void *state, struct sbx_arena *arena, const char *path)
{
    char real[PATH_MAX];
    (void)state;
    return realpath(path, real) == NULL ? NULL : sbx_arena_copy(arena, real, strlen(real));
}

static const struct sbx_macos_host host = {.real = real_name, .find_git = sbx_macos_git_find};

/* A tree in which "w" is writable, and a policy for it. */
struct tree {
    struct names_fixture names;
    struct fixture f;
    struct sbx_macos_rules rules;
    struct sbx_err err;
};

static void start(struct tree *t)
{
    *t = (struct tree){0};
    names_start(&t->names);
    names_dir(&t->names, "w");
}

static void end(struct tree *t)
{
    fixture_release(&t->f);
    names_end(&t->names);
}
#define AUTO_TREE SBX_CLEANUP(end) struct tree

/* `lines` of the manifest besides the usual one, with %s for the tree's root. */
static void decide(struct tree *t, const char *lines, const char *rules)
{
    AUTO_BUF toml;
    sbx_buf_init(&toml, 8192);
    sbx_buf_printf(&toml, "[sandbox]\n%s\nfilesystem = { \"%s/w\" = \"write\"", lines,
                   t->names.root);
    for (; *rules != '\0'; rules += strcspn(rules, ";") + (strchr(rules, ';') != NULL)) {
        size_t len = strcspn(rules, ";");
        sbx_buf_printf(&toml, ", \"%s/%.*s", t->names.root, (int)len, rules);
    }
    sbx_buf_printf(&toml, " }\n");
    fixture_release(&t->f);
    fixture_policy(&t->f, SBX_MACOS, sbx_buf_text(&toml));
}

static enum sbx_code find(struct tree *t, uint64_t entries_max)
{
    struct sbx_macos_host plain = {.real = real_name};
    struct sbx_path none = {"", 0, SBX_PATH_MACOS};
    enum sbx_code code =
        sbx_macos_rules_make(&t->f.arena, &t->f.policy, &plain, none, &t->rules, &t->err);
    return code == SBX_OK ? sbx_macos_git_find_within(&plain, &t->f.arena, &t->f.policy,
                                                      entries_max, &t->rules, &t->err)
                          : code;
}

static int compare(const void *left, const void *right)
{
    return sbx_path_compare(*(const struct sbx_path *)left, *(const struct sbx_path *)right);
}

/* The places that were found, below the root; the text of the error when it fails. */
static const char *found(struct tree *t, const char *lines, const char *rules)
{
    AUTO_BUF out;
    sbx_buf_init(&out, 1u << 20);
    decide(t, lines, rules);
    if (find(t, SBX_MACOS_ENTRIES_MAX) != SBX_OK) {
        return t->err.text;
    }
    if (t->rules.git_count > 1) {
        qsort(t->rules.git, t->rules.git_count, sizeof t->rules.git[0], compare);
    }
    for (size_t i = 0; i < t->rules.git_count; i++) {
        sbx_buf_printf(&out, "%s%s", i == 0 ? "" : ", ",
                       t->rules.git[i].text + strlen(t->names.root));
    }
    const char *text = sbx_arena_copy(&t->f.arena, sbx_buf_text(&out), out.len);
    return text == NULL ? "no memory" : text;
}

static const char *const commit = "git = \"commit\"";

/* ---- what leads ---- */

static void a_git_file_leads_to_the_directory_it_names(void)
{
    AUTO_TREE t;
    start(&t);
    struct names_fixture *n = &t.names;
    names_dir(n, "w/store/one/hooks");
    names_dir(n, "w/store/two");
    names_dir(n, "out/three");
    names_file(n, "w/a/.git", "gitdir: ../store/one\n");
    names_file(n, "w/b/.git", "gitdir: ");
    names_file(n, "w/c/.git", "gitdir ../store/two\n");
    names_file(n, "w/d/.git", "gitdir: ../../out/three\n");
    names_file(n, "w/f/.git", "gitdir: /absent/too\n");
    names_file(n, "w/g/.gitx", "gitdir: ../store/two\n");
    CHECK_TEXT(found(&t, "", ""), "/w/store/one");
    CHECK_TEXT(found(&t, commit, ""), "/w/store/one");
    /* A rule that makes just that directory writable lifts the lock of all of it, not of what git runs. */
    CHECK_TEXT(found(&t, "", "w/store\" = \"read\";w/store/one\" = \"write\""), "");
    CHECK_TEXT(found(&t, commit, "w/store\" = \"read\";w/store/one\" = \"write\""), "/w/store/one");
    /* What is not writable needs nothing. */
    CHECK_TEXT(found(&t, "", "w/store\" = \"read\""), "");
    CHECK_TEXT(found(&t, "", "w/a\" = \"read\""), "");
    CHECK_TEXT(found(&t, "protect = []", ""), "");
}

static void an_absolute_path_and_one_with_dots_lead_too(void)
{
    AUTO_TREE t;
    start(&t);
    struct names_fixture *n = &t.names;
    names_dir(n, "w/one");
    names_dir(n, "w/two");
    names_file(n, "w/a/.git", sbx_arena_printf(&n->arena, "gitdir: %s/w/one\r\n", n->root));
    names_file(n, "w/b/c/.git", "gitdir: ./..//../two/../two/./\n\n");
    CHECK_TEXT(found(&t, "", ""), "/w/one, /w/two");
}

static void a_name_in_other_letters_leads_too(void)
{
    AUTO_TREE t;
    start(&t);
    names_dir(&t.names, "w/store");
    names_file(&t.names, "w/a/.GIT", "gitdir: ../store\n");
    CHECK_TEXT(found(&t, "", ""), "/w/store");
}

static void a_worktree_leads_to_the_repository_it_belongs_to(void)
{
    AUTO_TREE t;
    start(&t);
    struct names_fixture *n = &t.names;
    names_dir(n, "w/bare/hooks");
    names_file(n, "w/bare/commondir", "../elsewhere\n"); /* git reads one only */
    names_file(n, "w/bare/worktrees/t/commondir", "../..\n");
    names_file(n, "w/tree/.git", "gitdir: ../bare/worktrees/t\n");
    CHECK_TEXT(found(&t, "", ""), "/w/bare, /w/bare/worktrees/t");
    CHECK_TEXT(found(&t, commit, ""), "/w/bare, /w/bare/worktrees/t");
}

static void a_repository_inside_dot_git_is_protected_already(void)
{
    AUTO_TREE t;
    start(&t);
    names_dir(&t.names, "w/.git/modules/m");
    names_file(&t.names, "w/m/.git", "gitdir: ../.git/modules/m\n");
    CHECK_TEXT(found(&t, "", ""), "");
}

static void a_link_leads_and_so_do_links_on_the_way(void)
{
    AUTO_TREE t;
    start(&t);
    struct names_fixture *n = &t.names;
    names_dir(n, "w/store/hooks");
    names_dir(n, "w/deep/er");
    names_link(n, "w/a/.git", "../store");
    names_link(n, "w/way", "deep");
    names_file(n, "w/b/.git", "gitdir: ../way/er\n");
    CHECK_TEXT(found(&t, "", ""), "/w/deep/er, /w/store, /w/way/er");
    CHECK_TEXT(found(&t, commit, ""), "/w/deep/er, /w/store, /w/way/er");
}

static void what_does_not_exist_is_closed_before_the_box_can_make_it(void)
{
    AUTO_TREE t;
    start(&t);
    struct names_fixture *n = &t.names;
    names_dir(n, "w/deep");
    names_link(n, "w/way", "deep");
    names_file(n, "w/a/.git", "gitdir: ../absent/x\n");
    names_file(n, "w/b/.git", "gitdir: ../way/absent\n");
    names_link(n, "w/c/.git", "../gone");
    CHECK_TEXT(found(&t, "", ""), "/w/absent/x, /w/deep/absent, /w/gone, /w/way/absent");
}

/* ---- hostile trees ---- */

static void a_hostile_git_file_leads_nowhere(void)
{
    AUTO_TREE t;
    start(&t);
    struct names_fixture *n = &t.names;
    char large[5000];
    memset(large, '\n', sizeof large);
    large[sizeof large - 1] = '\0';
    memcpy(large, "gitdir: ../store", strlen("gitdir: ../store"));
    names_dir(n, "w/store");
    names_file(n, "w/large/.git", large);
    names_dir(n, "w/fifo");
    CHECK_INT(mkfifo(names_path(n, "w/fifo/.git"), 0600), 0);
    names_file(n, "w/empty/.git", "");
    CHECK_TEXT(found(&t, "", ""), "");
    /* The control: the same text in a small file leads there. */
    names_file(n, "w/small/.git", "gitdir: ../store\n\n\n");
    CHECK_TEXT(found(&t, "", ""), "/w/store");
}

static void a_path_ends_at_a_nul_as_it_does_for_git(void)
{
    static const char text[] = "gitdir: ../store\0/x\n";
    AUTO_TREE t;
    start(&t);
    names_dir(&t.names, "w/store");
    names_file(&t.names, "w/a/.git", "");
    AUTO_FD fd = open(names_path(&t.names, "w/a/.git"), O_WRONLY | O_CLOEXEC);
    CHECK(sbx_fd_write_all(fd, text, sizeof text - 1));
    CHECK_TEXT(found(&t, "", ""), "/w/store");
}

static void a_name_that_cannot_be_protected_is_refused(void)
{
    static const char *const names[] = {"a\nb", "a\x01z", "**", "a**b"};
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        AUTO_TREE t;
        start(&t);
        struct names_fixture *n = &t.names;
        names_dir(n, sbx_arena_printf(&n->arena, "w/%s", names[i]));
        names_file(n, "w/t/.git", sbx_arena_printf(&n->arena, "gitdir: ../%s\n", names[i]));
        decide(&t, "", "");
        CHECK_CODE(find(&t, SBX_MACOS_ENTRIES_MAX), SBX_E_INVALID, NULL);
    }
}

static void loops_end(void)
{
    AUTO_TREE t;
    start(&t);
    struct names_fixture *n = &t.names;
    names_link(n, "w/loop", ".");
    names_link(n, "w/one", "two");
    names_link(n, "w/two", "one");
    names_link(n, "w/b/.git", ".git");
    names_file(n, "w/a/.git", "gitdir: ../one\n");
    names_file(n, "w/c/.git", "gitdir: .\n");
    names_file(n, "w/c/commondir", ".\n");
    names_file(n, "w/d/.git", "gitdir: ../..\n");
    names_file(n, "w/e/.git", "gitdir: /\n");
    CHECK_TEXT(found(&t, "", ""), "/w/c, /w/one");
}

static void directories_behind_links_are_not_entered(void)
{
    AUTO_TREE t;
    start(&t);
    struct names_fixture *n = &t.names;
    names_dir(n, "w/store");
    names_file(n, "out/.git", sbx_arena_printf(&n->arena, "gitdir: %s/w/store\n", n->root));
    names_link(n, "w/link", "../out");
    CHECK_TEXT(found(&t, "", ""), "");
}

static void too_many_entries_or_places_are_refused(void)
{
    AUTO_TREE t;
    start(&t);
    struct names_fixture *n = &t.names;
    for (size_t i = 0; i <= SBX_MACOS_GIT_MAX; i++) {
        names_dir(n, sbx_arena_printf(&n->arena, "w/s/%zu", i));
        names_file(n, sbx_arena_printf(&n->arena, "w/t/%zu/.git", i),
                   sbx_arena_printf(&n->arena, "gitdir: ../../s/%zu\n", i));
    }
    decide(&t, "", "");
    CHECK_CODE(find(&t, SBX_MACOS_ENTRIES_MAX), SBX_E_LIMIT, NULL);
    CHECK_INT(unlink(names_path(n, "w/t/0/.git")), 0);
    CHECK_CODE(find(&t, SBX_MACOS_ENTRIES_MAX), SBX_OK, &t.err);
    CHECK_U64(t.rules.git_count, SBX_MACOS_GIT_MAX);
    CHECK_CODE(find(&t, 100), SBX_E_LIMIT, NULL);
}

static void a_directory_that_nobody_sees_into_is_refused(void)
{
    AUTO_TREE t;
    start(&t);
    names_dir(&t.names, "w/closed");
    CHECK_INT(chmod(names_path(&t.names, "w/closed"), 0), 0);
    decide(&t, "", "");
    /* The superuser sees into it. */
    CHECK_CODE(find(&t, SBX_MACOS_ENTRIES_MAX), geteuid() == 0 ? SBX_OK : SBX_E_DENIED, NULL);
}

/* ---- the profile ---- */

static bool profile_has(struct tree *t, const char *lines, const char *text)
{
    static const char scratch[] = "/private/tmp/sbx-1";
    struct sbx_macos_profile profile = {.text = ""};
    decide(t, lines, "");
    struct sbx_macos_box box = {.policy = &t->f.policy,
                                .host = &host,
                                .job = "00000000000000ff",
                                .scratch = {scratch, sizeof scratch - 1, SBX_PATH_MACOS}};
    CHECK_CODE(sbx_macos_profile_make(&t->f.arena, &box, &profile, &t->err), SBX_OK, &t->err);
    bool has = strstr(profile.text, text) != NULL;
    for (size_t i = 0; i < profile.parameter_count; i++) {
        has |= strstr(profile.parameters[i], text) != NULL;
    }
    return has;
}

static void the_profile_speaks_of_the_place(void)
{
    AUTO_TREE t;
    start(&t);
    struct sbx_path none = {"", 0, SBX_PATH_MACOS};
    const char *digits = "7[^ -~]*7[^ -~]*7[^ -~]*7"; /* they have one case */
    names_dir(&t.names, "w/7777");
    CHECK(!profile_has(&t, "", digits));
    names_file(&t.names, "w/a/.git", "gitdir: ../7777\n");
    CHECK(profile_has(&t, "", digits));
    CHECK(profile_has(&t, commit, digits));
    CHECK_CODE(sbx_macos_rules_make(&t.f.arena, &t.f.policy, &host, none, &t.rules, &t.err), SBX_OK,
               &t.err);
    CHECK_U64(t.rules.git_count, 1);
}

static void a_dozen_worktrees_fit_into_a_profile(void)
{
    AUTO_TREE t;
    start(&t);
    struct names_fixture *n = &t.names;
    struct sbx_path none = {"", 0, SBX_PATH_MACOS};
    for (int i = 0; i < 12; i++) {
        names_file(n, sbx_arena_printf(&n->arena, "w/bare.git/worktrees/feature-%d/commondir", i),
                   "../..\n");
        names_file(n, sbx_arena_printf(&n->arena, "w/feature-%d/.git", i),
                   sbx_arena_printf(&n->arena, "gitdir: ../bare.git/worktrees/feature-%d\n", i));
    }
    CHECK(profile_has(&t, "", "allow"));
    CHECK(profile_has(&t, commit, "allow"));
    CHECK_CODE(sbx_macos_rules_make(&t.f.arena, &t.f.policy, &host, none, &t.rules, &t.err), SBX_OK,
               &t.err);
    CHECK_U64(t.rules.git_count, 2); /* the repository, and its worktrees under any name */
}

static const struct sbx_test tests[] = {
    {"a .git file leads to the directory it names", a_git_file_leads_to_the_directory_it_names},
    {"an absolute path and one with dots lead too", an_absolute_path_and_one_with_dots_lead_too},
    {"a name in other letters leads too", a_name_in_other_letters_leads_too},
    {"a worktree leads to the repository it belongs to",
     a_worktree_leads_to_the_repository_it_belongs_to},
    {"a repository inside .git is protected already",
     a_repository_inside_dot_git_is_protected_already},
    {"a link leads, and so do links on the way", a_link_leads_and_so_do_links_on_the_way},
    {"what does not exist is closed before the box can make it",
     what_does_not_exist_is_closed_before_the_box_can_make_it},
    {"a .git file that is large, empty or a pipe leads nowhere", a_hostile_git_file_leads_nowhere},
    {"a path ends at a NUL, as it does for git", a_path_ends_at_a_nul_as_it_does_for_git},
    {"a name that cannot be protected is refused", a_name_that_cannot_be_protected_is_refused},
    {"loops end", loops_end},
    {"directories behind links are not entered", directories_behind_links_are_not_entered},
    {"too many entries or places are refused", too_many_entries_or_places_are_refused},
    {"a directory that nobody sees into is refused", a_directory_that_nobody_sees_into_is_refused},
    {"the profile speaks of the place", the_profile_speaks_of_the_place},
    {"a dozen worktrees fit into a profile", a_dozen_worktrees_fit_into_a_profile},
};

int main(int argc, char **argv)
{
    char here[PATH_MAX];
    if (!find_unaliased(here) || setenv("TMPDIR", here, 1) != 0) {
        (void)printf("1..0 # SKIP no directory has the same name on macOS\n");
        return 77;
    }
    return sbx_test_main(argc, argv, "macos_git", tests, SBX_COUNT(tests));
}
