/* What must be mounted by name, on real trees: every rule of posix/linux_names.h. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/unit/names_fixture.h"

#include "common/base/banned.h"

enum { OTHER_USER = 65534 };

static const struct sbx_protect_row no_rows[] = {{NULL, false, NULL}};

/* ---- protected names ---- */

static void names_at_any_depth_are_found(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_file(&f, "w/.git/HEAD", "");
    names_file(&f, "w/a/b/c/.envrc", "");
    names_file(&f, "w/a/b/c/envrc", "");
    names_dir(&f, "w/a/.vscode/.git");
    names_file(&f, "w/a/.git2", "");
    names_file(&f, "out/.git/HEAD", "");
    CHECK_TEXT(names_settle_and_find(&f), "r /w/.git d, r /w/a/.vscode d, r /w/a/b/c/.envrc");
    const struct sbx_found *git = names_at(&f, "w/.git");
    struct stat info = {0};
    CHECK_INT(stat(names_path(&f, "w/.git"), &info), 0);
    CHECK_U64(git->device, info.st_dev);
    CHECK_U64(git->inode, info.st_ino);
    CHECK_TEXT(git->protection->pattern, ".git");
    CHECK(git->rule == NULL);
    /* w, w/a, w/a/b, w/a/b/c: nothing below what is locked. */
    CHECK_U64(f.found.directories_read, 4);
}

static void nothing_protected_is_nothing_found(void)
{
    AUTO_NAMES f;
    names_start_with(&f, no_rows);
    names_file(&f, "w/.git/HEAD", "");
    CHECK_TEXT(names_settle_and_find(&f), "");
    CHECK_U64(f.found.directories_read, 0);
    names_protect(&f, sbx_protect_defaults);
    CHECK_TEXT(names_settle_and_find(&f), "r /w/.git d");
}

static void commit_locks_what_git_runs(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_git_commit);
    names_file(&f, "w/.git/hooks/pre-commit", "");
    names_file(&f, "w/.git/config", "");
    names_file(&f, "w/.git/info/attributes", "");
    names_file(&f, "w/.git/info/exclude", "");
    names_file(&f, "w/.git/objects/aa/config", "");
    names_file(&f, "w/.git/modules/x/y/config", "");
    names_dir(&f, "w/.git/modules/x/y/hooks");
    names_file(&f, "w/.git/worktrees/t/commondir", "../..");
    names_file(&f, "w/.git/worktrees/t/deep/commondir", "");
    names_file(&f, "w/config", "");
    CHECK_TEXT(names_settle_and_find(&f),
               "r /w/.git/config, r /w/.git/hooks d, r /w/.git/info/attributes, "
               "r /w/.git/modules/x/y/config, r /w/.git/modules/x/y/hooks d, "
               "r /w/.git/worktrees/t/commondir");
}

static void only_a_file_is_locked_when_only_files_are_meant(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_git_commit);
    names_dir(&f, "w/a/.git");
    names_file(&f, "w/b/.git", "nonsense");
    CHECK_TEXT(names_settle_and_find(&f), "r /w/b/.git");
}

static void a_root_inside_a_protected_tree_keeps_its_locks(void)
{
    AUTO_NAMES f;
    names_start(&f);
    names_protect(&f, sbx_protect_git_commit);
    names_dir(&f, "r/.git/hooks");
    names_dir(&f, "r/.git/modules/a/hooks");
    names_rule(&f, "r/.git", SBX_ACCESS_WRITE);
    CHECK_TEXT(names_settle_and_find(&f), "r /r/.git/hooks d, r /r/.git/modules/a/hooks d");
    names_rule(&f, "r/.git/modules/a", SBX_ACCESS_WRITE);
    CHECK_TEXT(names_settle_and_find(&f), "r /r/.git/hooks d, r /r/.git/modules/a/hooks d");
}

static void a_rule_lifts_the_protection_it_names(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_file(&f, "w/.vscode/tasks.json", "");
    names_dir(&f, "w/.vscode/.idea");
    names_dir(&f, "w/a/.vscode");
    names_rule(&f, "w/.vscode", SBX_ACCESS_WRITE);
    CHECK_TEXT(names_settle_and_find(&f), "r /w/.vscode/.idea d, r /w/a/.vscode d");
}

static void closed_and_locked_subtrees_are_not_entered(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_dir(&f, "w/none/x/.git");
    names_dir(&f, "w/read/x/.git");
    names_dir(&f, "w/none/open/y/.git");
    names_dir(&f, "w/tmp/.git");
    names_rule(&f, "w/none", SBX_ACCESS_NONE);
    names_rule(&f, "w/none/open", SBX_ACCESS_WRITE);
    names_rule(&f, "w/read", SBX_ACCESS_READ);
    names_rule(&f, "w/tmp", SBX_ACCESS_WRITE)->kind = SBX_RULE_TMPFS;
    CHECK_TEXT(names_settle_and_find(&f), "r /w/none/open/y/.git d");
    CHECK_U64(f.found.directories_read, 3); /* w, open, y */
}

static void a_name_that_is_no_text_hides_nothing(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_dir(&f, "w/\xff\xfe/.git");
    names_dir(&f, "w/a\001b/.git");
    names_dir(&f, "w/new\nline/.git");
    names_rule(&f, "w/a/b", SBX_ACCESS_READ);
    CHECK_TEXT(names_settle_and_find(&f),
               "r /w/a\001b/.git d, r /w/new\nline/.git d, r /w/\xff\xfe/.git d");
}

/* ---- globs ---- */

static void matches_of_globs_are_masked_and_locked(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_file(&f, "w/.env", "");
    names_file(&f, "w/a/b/.env", "");
    names_file(&f, "w/a/b/x.lock", "");
    names_file(&f, "w/.git/.env", "");
    names_file(&f, "out/.env", "");
    names_rule(&f, "w/**/.env", SBX_ACCESS_NONE);
    names_rule(&f, "w/a/*/*.lock", SBX_ACCESS_READ);
    CHECK_TEXT(names_settle_and_find(&f),
               "n /w/.env, r /w/.git d, n /w/.git/.env, n /w/a/b/.env, r /w/a/b/x.lock");
    CHECK_TEXT(names_at(&f, "w/.env")->rule->path.text, names_path(&f, "w/**/.env"));
    CHECK(names_at(&f, "w/.env")->protection == NULL);
}

static void a_masked_directory_is_not_entered_and_opens_nowhere(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_dir(&f, "w/x/secret/pub/.git");
    names_dir(&f, "w/y/pub/secret");
    names_dir(&f, "w/x/secret/again/.git");
    names_rule(&f, "w/**/secret", SBX_ACCESS_NONE);
    names_rule(&f, "w/**/pub", SBX_ACCESS_READ);
    names_rule(&f, "w/x/secret/again", SBX_ACCESS_WRITE);
    CHECK_TEXT(names_settle_and_find(&f),
               "n /w/x/secret d, r /w/x/secret/again/.git d, r /w/y/pub d, "
               "n /w/y/pub/secret d");
}

static void a_read_glob_opens_what_is_closed(void)
{
    AUTO_NAMES f;
    names_start(&f);
    names_protect(&f, sbx_protect_defaults);
    names_dir(&f, "opt/a/lib");
    names_dir(&f, "opt/b/bin");
    names_dir(&f, "all/x/y");
    names_rule(&f, "opt/*/lib", SBX_ACCESS_READ);
    names_rule(&f, "all/**", SBX_ACCESS_READ);
    CHECK_TEXT(names_settle_and_find(&f), "r /all d +, r /opt/a/lib d +");
    struct sbx_rule *closed = names_rule(&f, "opt", SBX_ACCESS_NONE);
    closed->by = SBX_BY_ADMINISTRATOR;
    CHECK_TEXT(names_settle_and_find(&f), "r /all d +");
}

static void a_glob_holds_below_rules_of_every_kind(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_file(&f, "w/none/read/.env", "");
    names_file(&f, "w/none/.env", "");
    names_file(&f, "w/read/.env", "");
    names_rule(&f, "w/none", SBX_ACCESS_NONE);
    names_rule(&f, "w/none/read", SBX_ACCESS_READ);
    names_rule(&f, "w/read", SBX_ACCESS_READ);
    names_rule(&f, "w/**/.env", SBX_ACCESS_NONE);
    CHECK_TEXT(names_settle_and_find(&f), "n /w/none/read/.env, n /w/read/.env");
}

static void only_where_a_glob_can_match_is_looked(void)
{
    AUTO_NAMES f;
    names_start(&f);
    names_protect(&f, no_rows);
    names_file(&f, "r/a/b/x.key", "");
    names_dir(&f, "r/other/deep/tree");
    names_rule(&f, "r", SBX_ACCESS_READ);
    names_rule(&f, "r/a/*/*.key", SBX_ACCESS_NONE);
    CHECK_TEXT(names_settle_and_find(&f), "n /r/a/b/x.key");
    CHECK_U64(f.found.directories_read, 2); /* a, b: r has nothing that matters but a */
}

static void kernel_interfaces_are_not_walked(void)
{
    AUTO_NAMES f;
    names_start(&f);
    names_protect(&f, no_rows);
    names_rule(&f, "///proc/self/*", SBX_ACCESS_NONE);
    names_rule(&f, "///proc", SBX_ACCESS_READ);
    CHECK_TEXT(names_settle_and_find(&f), "");
    CHECK_U64(f.found.directories_read, 0);
}

/* ---- the list ---- */

static void too_many_names_are_an_error(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    for (int i = 0; i < 5; i++) {
        names_dir(&f, sbx_arena_printf(&f.arena, "w/%d/.git", i));
    }
    names_settle(&f);
    f.limits.names = 5;
    (void)names_find(&f);
    CHECK_INT(f.err.code, SBX_OK);
    CHECK_INT(f.found.count, 5);
    struct sbx_found_list before = f.found;
    f.limits.names = 4;
    (void)names_find(&f);
    CHECK_INT(f.err.code, SBX_E_LIMIT);
    CHECK(f.err.hint[0] != '\0');
    CHECK_MEM(&f.found, sizeof f.found, &before, sizeof before);
    f.limits.names = 1;
    (void)names_find(&f);
    CHECK_INT(f.err.code, SBX_E_LIMIT);
}

static void too_many_entries_are_an_error(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    for (int i = 0; i < 20; i++) {
        names_file(&f, sbx_arena_printf(&f.arena, "w/d/%d", i), "");
    }
    names_settle(&f);
    f.limits.entries = 21;
    (void)names_find(&f);
    CHECK_INT(f.err.code, SBX_OK);
    f.limits.entries = 20;
    (void)names_find(&f);
    CHECK_INT(f.err.code, SBX_E_LIMIT);
    CHECK(f.err.hint[0] != '\0');
}

/* Makes `depth` directories inside each other, however long the path gets. */
static void make_deep(const char *path, int depth)
{
    int at = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char name[201];
    memset(name, 'd', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int i = 0; i < depth; i++) {
        CHECK_INT(mkdirat(at, name, 0755), 0);
        int next = openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        (void)close(at);
        at = next;
    }
    CHECK_INT(mkdirat(at, ".git", 0755), 0);
    (void)close(at);
}

static void remove_deep(const char *path, int depth)
{
    char name[201];
    memset(name, 'd', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (; depth >= 0; depth--) {
        int at = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        for (int i = 0; i < depth; i++) {
            int next = openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
            (void)close(at);
            at = next;
        }
        (void)unlinkat(at, name, AT_REMOVEDIR);
        (void)unlinkat(at, ".git", AT_REMOVEDIR);
        (void)close(at);
    }
}

static void what_is_too_deep_for_a_path_is_an_error(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_settle(&f);
    names_dir(&f, "w/fits");
    make_deep(names_path(&f, "w/fits"), 15);
    (void)names_find(&f);
    CHECK_INT(f.err.code, SBX_OK);
    CHECK_INT(f.found.count, 1);
    names_dir(&f, "w/deep");
    make_deep(names_path(&f, "w/deep"), 25);
    (void)names_find(&f);
    CHECK_INT(f.err.code, SBX_E_LIMIT);
    remove_deep(names_path(&f, "w/deep"), 25);
}

/* ---- what we may not read ---- */

/* Runs the search as another user; the result is its code and count. */
static void find_as_other(struct names_fixture *f, int *code, size_t *count, uint64_t *unreadable)
{
    struct {
        int code;
        size_t count;
        uint64_t unreadable;
    } answer = {-1, 0, 0};
    int ends[2];
    CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        bool is_other = setgid(OTHER_USER) == 0 && setuid(OTHER_USER) == 0;
        answer.code =
            !is_other ? -1 : (int)sbx_names_find(&f->arena, &f->policy, NULL, &f->found, &f->err);
        answer.count = f->found.count;
        answer.unreadable = f->found.unreadable;
        _exit(write(ends[1], &answer, sizeof answer) == sizeof answer ? 0 : 1);
    }
    (void)close(ends[1]);
    CHECK_INT(read(ends[0], &answer, sizeof answer), (intmax_t)sizeof answer);
    (void)close(ends[0]);
    (void)waitpid(child, NULL, 0);
    *code = answer.code;
    *count = answer.count;
    *unreadable = answer.unreadable;
}

static void give_away(struct names_fixture *f, const char *rest, mode_t mode)
{
    const char *path = names_path(f, rest);
    CHECK_INT(chown(path, OTHER_USER, OTHER_USER), 0);
    CHECK_INT(chmod(path, mode), 0);
}

static void what_cannot_be_listed_but_changed_is_an_error(void)
{
    if (geteuid() != 0) {
        sbx_test_skip("root", "only root can act as another user");
        return;
    }
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    CHECK_INT(chmod(f.root, 0755), 0);
    names_dir(&f, "w/.git");
    names_dir(&f, "w/d/.git");
    names_settle(&f);
    static const struct {
        mode_t mode;
        bool is_theirs;
        int code;
        size_t count;
        uint64_t unreadable;
    } rows[] = {
        {0755, true, SBX_OK, 2, 0},        {0755, false, SBX_OK, 2, 0},
        {0700, false, SBX_OK, 1, 1},       {0711, false, SBX_OK, 1, 1},
        {0733, false, SBX_E_DENIED, 0, 0}, {0300, true, SBX_E_DENIED, 0, 0},
        {0000, true, SBX_E_DENIED, 0, 0},  {0400, true, SBX_E_DENIED, 0, 0},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        int code = -1;
        size_t count = 0;
        uint64_t unreadable = 0;
        CHECK_INT(chown(names_path(&f, "w/d"), 0, 0), 0);
        CHECK_INT(chmod(names_path(&f, "w/d"), rows[i].mode), 0);
        if (rows[i].is_theirs) {
            give_away(&f, "w/d", rows[i].mode);
        }
        find_as_other(&f, &code, &count, &unreadable);
        if (code != rows[i].code || count != rows[i].count) {
            printf("# mode %o\n", (unsigned)rows[i].mode);
        }
        CHECK_INT(code, rows[i].code);
        CHECK_U64(count, rows[i].count);
        CHECK_U64(unreadable, rows[i].unreadable);
    }
}

enum { MOUNT_HELD = 0, MOUNT_MISSED = 1, MOUNT_IMPOSSIBLE = 2 };

/* In a mount namespace of its own: nothing is left on the host, whatever happens. */
static int find_in_mount(struct names_fixture *f)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("sbx-test", names_path(f, "w/mnt"), "tmpfs", 0, NULL) != 0) {
        return MOUNT_IMPOSSIBLE;
    }
    names_dir(f, "w/mnt/a/.git");
    return sbx_text_eq(names_find(f), "r /w/mnt/a/.git d") ? MOUNT_HELD : MOUNT_MISSED;
}

static void mounts_below_a_root_are_part_of_it(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_dir(&f, "w/mnt");
    names_settle(&f);
    pid_t child = fork();
    if (child == 0) {
        _exit(find_in_mount(&f));
    }
    int status = 0;
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    if (WEXITSTATUS(status) == MOUNT_IMPOSSIBLE) {
        sbx_test_skip("mount", "cannot mount a tmpfs here");
        return;
    }
    CHECK_INT(WEXITSTATUS(status), MOUNT_HELD);
    CHECK_TEXT(names_find(&f), "");
}

/* ---- races ---- */

struct swapper {
    const char *dir, *aside, *link, *canary;
    atomic_bool stop;
    atomic_ulong swaps, seen;
};

/* Makes `dir` now a directory, now a link to outside. */
static void *swap(void *state)
{
    struct swapper *swapper = state;
    while (!atomic_load(&swapper->stop)) {
        (void)rename(swapper->dir, swapper->aside);
        (void)rename(swapper->link, swapper->dir);
        swapper->seen += access(swapper->canary, F_OK) == 0;
        (void)rename(swapper->dir, swapper->link);
        (void)rename(swapper->aside, swapper->dir);
        swapper->swaps++;
    }
    return NULL;
}

static void swapping_directories_for_links_leads_nowhere(void)
{
    AUTO_NAMES f;
    names_start_with(&f, sbx_protect_defaults);
    names_dir(&f, "w/a/b/.vscode");
    names_dir(&f, "out/b/.git");
    names_link(&f, "spare", "../out");
    names_settle(&f);
    struct stat canary = {0};
    CHECK_INT(stat(names_path(&f, "out/b/.git"), &canary), 0);
    struct swapper swapper = {.dir = names_path(&f, "w/a"),
                              .aside = names_path(&f, "aside"),
                              .link = names_path(&f, "spare"),
                              .canary = names_path(&f, "w/a/b/.git")};
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, swap, &swapper), 0);
    unsigned inside = 0;
    unsigned without = 0;
    /* Until both sides have met often enough, on a busy machine too. */
    for (int i = 0; i < 2000000 && (i < 10000 || swapper.swaps < 500 || swapper.seen < 500 ||
                                    inside < 100 || without < 100);
         i++) {
        AUTO_ARENA arena;
        sbx_arena_init(&arena, 1 << 20);
        enum sbx_code code = sbx_names_find(&arena, &f.policy, NULL, &f.found, &f.err);
        if (code != SBX_OK) {
            CHECK_CODE(code, SBX_OK, &f.err);
            break;
        }
        inside += f.found.count == 1;
        without += f.found.count == 0;
        for (size_t k = 0; k < f.found.count; k++) {
            if (f.found.items[k].inode == canary.st_ino || strstr(f.found.items[k].path, "git")) {
                CHECK_TEXT(f.found.items[k].path, "only what is inside");
            }
        }
    }
    atomic_store(&swapper.stop, true);
    (void)pthread_join(thread, NULL);
    /* The directory was seen as itself and as a link, which did lead outside. */
    CHECK(swapper.swaps >= 500);
    CHECK(swapper.seen >= 500);
    CHECK(inside >= 100 && without >= 100);
}

static const struct sbx_test tests[] = {
    {"protected names at any depth are found, nothing else, and nothing inside them",
     names_at_any_depth_are_found},
    {"without protected names nothing is walked", nothing_protected_is_nothing_found},
    {"git = commit locks hooks and configuration inside .git", commit_locks_what_git_runs},
    {"a protection for files only leaves a directory alone",
     only_a_file_is_locked_when_only_files_are_meant},
    {"a root inside a protected tree keeps what is locked below it",
     a_root_inside_a_protected_tree_keeps_its_locks},
    {"a rule lifts the protection that it names, and no other",
     a_rule_lifts_the_protection_it_names},
    {"subtrees that rules close or lock are not entered, reopened ones are",
     closed_and_locked_subtrees_are_not_entered},
    {"a name that is no text hides nothing below it", a_name_that_is_no_text_hides_nothing},
    {"matches of globs are masked or locked, also inside what is locked",
     matches_of_globs_are_masked_and_locked},
    {"a masked directory is not entered, and no glob opens anything in it",
     a_masked_directory_is_not_entered_and_opens_nowhere},
    {"a read glob opens what is closed, unless the administrator closed it",
     a_read_glob_opens_what_is_closed},
    {"a glob holds below rules of every kind", a_glob_holds_below_rules_of_every_kind},
    {"only where a glob can match is looked", only_where_a_glob_can_match_is_looked},
    {"interfaces of the kernel are not walked", kernel_interfaces_are_not_walked},
    {"too many names are an error that leaves the list alone", too_many_names_are_an_error},
    {"too many entries are an error", too_many_entries_are_an_error},
    {"directories nested too deeply for a path are an error",
     what_is_too_deep_for_a_path_is_an_error},
    {"a directory that cannot be listed but could be changed is an error",
     what_cannot_be_listed_but_changed_is_an_error},
    {"mounts below a root are part of it", mounts_below_a_root_are_part_of_it},
    {"swapping directories for links while walking leads nowhere else",
     swapping_directories_for_links_leads_nowhere},
};

SBX_TEST_MAIN("linux_names", tests)
