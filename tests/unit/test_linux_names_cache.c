/* What posix/linux_names remembers between runs: it saves the reading, and no change of the tree or of the cache
 * itself changes what is found. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/unit/names_fixture.h"

#include "common/base/banned.h"

enum { DIRECTORIES = 120, OTHER_USER = 65534 };

static const char basic[] = "r /w/7/.git d, r /w/8/in/.envrc";

/* One tree for all cases: it has to be older than what is trusted. Each case undoes what it changed. */
static struct names_fixture tree;

static void make_tree(void)
{
    struct names_fixture *f = &tree;
    if (f->root[0] != '\0') {
        return;
    }
    names_start(f);
    names_protect(f, sbx_protect_defaults);
    names_rule(f, "w", SBX_ACCESS_WRITE);
    for (int i = 0; i < DIRECTORIES / 2; i++) {
        names_file(f, sbx_arena_printf(&f->arena, "w/%d/in/file", i), "");
    }
    names_dir(f, "w/7/.git");
    names_file(f, "w/8/in/.envrc", "");
    names_settle(f);
    (void)usleep(3200 * 1000);
}

/* A cache of its own for the case, filled. */
static void fill(const char *name)
{
    make_tree();
    tree.cache_dir = names_path(&tree, name);
    CHECK_TEXT(names_find(&tree), basic);
    CHECK_U64(tree.found.directories_from_cache, 0);
    CHECK_U64(tree.found.directories_read, DIRECTORIES + 1);
}

/* The only file in the cache. */
static const char *cache_file(void)
{
    DIR *dir = opendir(tree.cache_dir);
    const struct dirent *entry;
    const char *path = NULL;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            CHECK(path == NULL);
            path = sbx_arena_printf(&tree.arena, "%s/%s", tree.cache_dir, entry->d_name);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return path == NULL ? "/nonexistent" : path;
}

/* ---- what it saves ---- */

static void an_unchanged_tree_is_not_read_again(void)
{
    fill("cache-same");
    struct stat info = {0};
    CHECK_INT(stat(tree.cache_dir, &info), 0);
    CHECK_INT(info.st_mode & 0777, 0700);
    CHECK_INT(stat(cache_file(), &info), 0);
    CHECK_INT(info.st_mode & 0777, 0600);
    CHECK_TEXT(names_find(&tree), basic);
    CHECK_U64(tree.found.directories_read, 0);
    CHECK_U64(tree.found.directories_from_cache, DIRECTORIES + 1);
    CHECK(names_at(&tree, "w/7/.git")->inode != 0);
}

static void only_what_changed_is_read_again(void)
{
    fill("cache-change");
    names_dir(&tree, "w/3/in/.vscode");
    CHECK_TEXT(names_find(&tree), "r /w/3/in/.vscode d, r /w/7/.git d, r /w/8/in/.envrc");
    CHECK_U64(tree.found.directories_read, 1);
    /* Too young to be trusted: read until it is older. */
    CHECK_TEXT(names_find(&tree), "r /w/3/in/.vscode d, r /w/7/.git d, r /w/8/in/.envrc");
    CHECK_U64(tree.found.directories_read, 1);
    names_remove(names_path(&tree, "w/3/in/.vscode"));
    CHECK_TEXT(names_find(&tree), basic);
}

static void a_renamed_directory_is_known(void)
{
    fill("cache-rename");
    CHECK_INT(rename(names_path(&tree, "w/8"), names_path(&tree, "w/moved")), 0);
    CHECK_TEXT(names_find(&tree), "r /w/7/.git d, r /w/moved/in/.envrc");
    /* Its parent changed, and on some file systems the moved one itself; not what is in it. Another is still
     * young. */
    CHECK(tree.found.directories_read <= 3);
    CHECK_INT(rename(names_path(&tree, "w/moved"), names_path(&tree, "w/8")), 0);
    CHECK_TEXT(names_find(&tree), basic);
}

static void a_directory_replaced_by_a_link_is_gone(void)
{
    fill("cache-link");
    CHECK_INT(rename(names_path(&tree, "w/7"), names_path(&tree, "aside")), 0);
    names_link(&tree, "w/7", "../aside");
    CHECK_TEXT(names_find(&tree), "r /w/8/in/.envrc");
    CHECK_INT(unlink(names_path(&tree, "w/7")), 0);
    CHECK_INT(rename(names_path(&tree, "aside"), names_path(&tree, "w/7")), 0);
    CHECK_TEXT(names_find(&tree), basic);
}

static void setting_the_time_back_hides_nothing(void)
{
    fill("cache-touch");
    const char *path = names_path(&tree, "w/5/in");
    struct stat before = {0};
    struct stat after = {0};
    CHECK_INT(stat(path, &before), 0);
    names_dir(&tree, "w/5/in/.idea");
    struct timespec times[2] = {before.st_atim, before.st_mtim};
    CHECK_INT(utimensat(AT_FDCWD, path, times, 0), 0);
    CHECK_INT(stat(path, &after), 0);
    CHECK_MEM(&after.st_mtim, sizeof after.st_mtim, &before.st_mtim, sizeof before.st_mtim);
    CHECK_TEXT(names_find(&tree), "r /w/5/in/.idea d, r /w/7/.git d, r /w/8/in/.envrc");
    names_remove(names_path(&tree, "w/5/in/.idea"));
    CHECK_TEXT(names_find(&tree), basic);
}

static void young_directories_are_not_remembered(void)
{
    AUTO_NAMES f;
    names_start(&f);
    names_protect(&f, sbx_protect_defaults);
    names_rule(&f, "w", SBX_ACCESS_WRITE);
    for (int i = 0; i < DIRECTORIES; i++) {
        names_dir(&f, sbx_arena_printf(&f.arena, "w/%d", i));
    }
    names_settle(&f);
    f.cache_dir = names_path(&f, "cache");
    for (int i = 0; i < 2; i++) {
        CHECK_TEXT(names_find(&f), "");
        CHECK_U64(f.found.directories_read, DIRECTORIES + 1);
    }
    names_dir(&f, "w/50/.git");
    CHECK_TEXT(names_find(&f), "r /w/50/.git d");
}

static void another_policy_has_another_cache(void)
{
    fill("cache-policy");
    struct sbx_protect_row *protect = tree.policy.protect;
    size_t count = tree.policy.protect_count;
    static const struct sbx_protect_row rows[] = {{"file", false, ""}, {NULL, false, NULL}};
    names_protect(&tree, rows);
    (void)names_find(&tree);
    CHECK_INT(tree.found.count, DIRECTORIES / 2);
    CHECK_U64(tree.found.directories_from_cache, 0);
    tree.policy.protect = protect;
    tree.policy.protect_count = count;
    CHECK_TEXT(names_find(&tree), basic);
    CHECK_U64(tree.found.directories_read, 0);
}

/* ---- whom it trusts ---- */

/* Nothing was taken from the cache, and the file is good again afterwards. */
static void check_ignored_and_rewritten(void)
{
    CHECK_TEXT(names_find(&tree), basic);
    CHECK_U64(tree.found.directories_from_cache, 0);
    CHECK_TEXT(names_find(&tree), basic);
    CHECK_U64(tree.found.directories_read, 0);
}

static void a_damaged_file_is_ignored_and_rewritten(void)
{
    fill("cache-damage");
    struct stat info = {0};
    CHECK_INT(stat(cache_file(), &info), 0);
    /* Each part: magic, count, size, sum, a stamp, a name; then too short, too long, empty. */
    static const long places[] = {0, 8, 16, 24, 40, 100, 2000};
    for (size_t i = 0; i < SBX_COUNT(places); i++) {
        int fd = open(cache_file(), O_RDWR | O_CLOEXEC);
        unsigned char byte = 0;
        CHECK_INT(pread(fd, &byte, 1, places[i]), 1);
        byte ^= 0x55;
        CHECK_INT(pwrite(fd, &byte, 1, places[i]), 1);
        (void)close(fd);
        check_ignored_and_rewritten();
    }
    static const long cuts[] = {-8, -1, 8};
    for (size_t i = 0; i < SBX_COUNT(cuts); i++) {
        CHECK_INT(truncate(cache_file(), info.st_size + cuts[i]), 0);
        check_ignored_and_rewritten();
    }
    CHECK_INT(truncate(cache_file(), 0), 0);
    check_ignored_and_rewritten();
}

static void a_file_others_can_write_is_ignored(void)
{
    fill("cache-mode");
    CHECK_INT(chmod(cache_file(), 0666), 0);
    check_ignored_and_rewritten();
    const char *path = cache_file();
    const char *other = names_path(&tree, "elsewhere");
    CHECK_INT(rename(path, other), 0);
    CHECK_INT(symlink(other, path), 0);
    check_ignored_and_rewritten();
    CHECK_INT(unlink(other), 0);
}

static void a_file_of_somebody_else_is_ignored(void)
{
    if (geteuid() != 0) {
        sbx_test_skip("root", "only root can give a file away");
        return;
    }
    fill("cache-owner");
    CHECK_INT(chown(cache_file(), OTHER_USER, OTHER_USER), 0);
    check_ignored_and_rewritten();
}

static void check_unused(void)
{
    for (int i = 0; i < 2; i++) {
        CHECK_TEXT(names_find(&tree), basic);
        CHECK_U64(tree.found.directories_from_cache, 0);
    }
}

static void a_directory_others_can_write_is_not_used(void)
{
    fill("cache-open");
    CHECK_INT(chmod(tree.cache_dir, 0770), 0);
    check_unused();
    CHECK_INT(chmod(tree.cache_dir, 0700), 0);
    CHECK_TEXT(names_find(&tree), basic);
    CHECK_U64(tree.found.directories_read, 0);
    names_link(&tree, "cache-linked", "cache-open");
    tree.cache_dir = names_path(&tree, "cache-linked");
    check_unused();
}

static void a_directory_the_box_can_write_is_not_used(void)
{
    AUTO_NAMES f;
    names_start(&f);
    names_protect(&f, sbx_protect_defaults);
    names_rule(&f, "w", SBX_ACCESS_WRITE);
    names_dir(&f, "w/.git");
    names_settle(&f);
    f.cache_dir = names_path(&f, "w/cache");
    CHECK_TEXT(names_find(&f), "r /w/.git d");
    CHECK_INT(rmdir(f.cache_dir), 0); /* made, and left empty */
}

/* A record that leads out of the root would have to be a name with a slash in it. */
static void a_name_with_a_slash_is_no_name(void)
{
    fill("cache-slash");
    char content[65536];
    int fd = open(cache_file(), O_RDWR | O_CLOEXEC);
    ssize_t len = read(fd, content, sizeof content);
    CHECK(len > 64 && len < (ssize_t)sizeof content && len % 8 == 0);
    char *name = len > 0 ? memmem(content, (size_t)len, ".envrc", 6) : NULL;
    CHECK(name != NULL);
    if (name != NULL) {
        memcpy(name, "../../", 6);
        /* As the cache sums: so that only the name is wrong. */
        uint64_t sum = (uint64_t)len - 32;
        for (ssize_t at = 32; at < len; at += 8) {
            uint64_t word = 0;
            memcpy(&word, content + at, sizeof word);
            sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
            sum ^= sum >> 29;
        }
        memcpy(content + 24, &sum, sizeof sum);
        CHECK_INT(pwrite(fd, content, (size_t)len, 0), len);
    }
    (void)close(fd);
    check_ignored_and_rewritten();
}

/* Those that change the tree come last: what they changed is young for a while. */
static const struct sbx_test tests[] = {
    {"an unchanged tree is not read again", an_unchanged_tree_is_not_read_again},
    {"another policy has another cache", another_policy_has_another_cache},
    {"directories too young for their stamp are not remembered",
     young_directories_are_not_remembered},
    {"a damaged file is ignored and rewritten", a_damaged_file_is_ignored_and_rewritten},
    {"a file that others can write, or a link, is ignored and replaced",
     a_file_others_can_write_is_ignored},
    {"a file of somebody else is ignored and replaced", a_file_of_somebody_else_is_ignored},
    {"a directory that others can write, or a link to one, is not used",
     a_directory_others_can_write_is_not_used},
    {"a directory that the box can write is not used", a_directory_the_box_can_write_is_not_used},
    {"a name with a slash in the cache is damage", a_name_with_a_slash_is_no_name},
    {"only what changed is read again", only_what_changed_is_read_again},
    {"what is in a renamed directory is still known", a_renamed_directory_is_known},
    {"a directory replaced by a link is gone", a_directory_replaced_by_a_link_is_gone},
    {"setting the time of a directory back hides no change", setting_the_time_back_hides_nothing},
};

int main(int argc, char **argv)
{
    int status = sbx_test_main(argc, argv, "linux_names_cache", tests, SBX_COUNT(tests));
    if (tree.root[0] != '\0') {
        names_end(&tree);
    }
    return status;
}
