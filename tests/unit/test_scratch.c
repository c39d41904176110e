/* Tests of posix/linux_scratch: private directories of a box on the host. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/linux_scratch.h"
#include "tests/check.h"
#include "tests/unit/names_fixture.h"

#include "common/base/banned.h"

enum { NOBODY = 65534, LEVELS = 10000 };

static bool exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

static size_t entries(const char *path)
{
    DIR *dir = opendir(path);
    size_t count = 0;
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}

static void a_new_one_is_the_callers_alone(void)
{
    AUTO_NAMES f;
    char first[512];
    char second[512];
    struct stat info = {0};
    names_start(&f);
    CHECK_CODE(sbx_scratch_make(f.root, first, sizeof first, &f.err), SBX_OK, &f.err);
    CHECK_CODE(sbx_scratch_make(f.root, second, sizeof second, &f.err), SBX_OK, &f.err);
    CHECK(strcmp(first, second) != 0);
    CHECK_INT(lstat(first, &info), 0);
    CHECK_INT(info.st_mode & 07777, 0700);
    CHECK_U64(info.st_uid, geteuid());
    CHECK(exists(first)); /* the second did not take it for a dead one's */
    sbx_scratch_remove(first);
    sbx_scratch_remove(second);
    CHECK_U64(entries(f.root), 0);
}

static void what_cannot_be_made_is_said(void)
{
    AUTO_NAMES f;
    char out[512] = "untouched";
    char small[8] = "small";
    names_start(&f);
    CHECK_CODE(sbx_scratch_make(names_path(&f, "absent"), out, sizeof out, &f.err), SBX_E_NOT_FOUND,
               &f.err);
    CHECK_TEXT(out, "untouched");
    CHECK_CODE(sbx_scratch_make(f.root, small, sizeof small, &f.err), SBX_E_LIMIT, &f.err);
    CHECK_TEXT(small, "small");
    CHECK_U64(entries(f.root), 0);
}

/* Thousands of directories: where there is a file system in memory, there. */
static void start_large(struct names_fixture *f)
{
    const char *base = getenv("TMPDIR");
    bool has_memory = base == NULL && access("/dev/shm", W_OK) == 0;
    if (has_memory) {
        CHECK_INT(setenv("TMPDIR", "/dev/shm", 1), 0);
    }
    names_start(f);
    if (has_memory) {
        CHECK_INT(unsetenv("TMPDIR"), 0);
    }
}

static void a_tree_of_any_depth_is_removed(void)
{
    AUTO_NAMES f;
    char path[512];
    start_large(&f);
    CHECK_CODE(sbx_scratch_make(f.root, path, sizeof path, &f.err), SBX_OK, &f.err);
    int at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int made = 0;
    while (made < LEVELS && mkdirat(at, "d", 0700) == 0) {
        int below = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)close(at);
        at = below;
        made++;
    }
    (void)close(at);
    CHECK_INT(made, LEVELS);
    sbx_scratch_remove(path);
    CHECK(!exists(path));
}

static void a_wide_tree_is_removed(void)
{
    AUTO_NAMES f;
    char path[512];
    char name[600];
    start_large(&f);
    CHECK_CODE(sbx_scratch_make(f.root, path, sizeof path, &f.err), SBX_OK, &f.err);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof name, "%s/%d", path, i);
        CHECK_INT(mkdir(name, 0700), 0);
        (void)snprintf(name, sizeof name, "%s/%d/file", path, i);
        int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        (void)close(fd);
    }
    sbx_scratch_remove(path);
    CHECK(!exists(path));
}

static void links_out_of_it_are_not_followed(void)
{
    AUTO_NAMES f;
    char path[512];
    char name[600];
    struct stat info = {0};
    names_start(&f);
    names_file(&f, "kept/file", "kept");
    CHECK_INT(chmod(names_path(&f, "kept"), 0751), 0);
    CHECK_CODE(sbx_scratch_make(f.root, path, sizeof path, &f.err), SBX_OK, &f.err);
    (void)snprintf(name, sizeof name, "%s/dir", path);
    CHECK_INT(mkdir(name, 0700), 0);
    (void)snprintf(name, sizeof name, "%s/dir/link", path);
    CHECK_INT(symlink(names_path(&f, "kept"), name), 0);
    (void)snprintf(name, sizeof name, "%s/link", path);
    CHECK_INT(symlink(names_path(&f, "kept"), name), 0);
    sbx_scratch_remove(path);
    CHECK(!exists(path));
    CHECK(exists(names_path(&f, "kept/file")));
    CHECK_INT(stat(names_path(&f, "kept"), &info), 0);
    CHECK_INT(info.st_mode & 07777, 0751);
    /* A link in its own place. */
    CHECK_INT(symlink(names_path(&f, "kept"), names_path(&f, "place")), 0);
    sbx_scratch_remove(names_path(&f, "place"));
    CHECK(exists(names_path(&f, "kept/file")));
}

/* In a child, as a user whom modes bind. */
static int remove_as_nobody(const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0) {
            _exit(2);
        }
        sbx_scratch_remove(path);
        _exit(exists(path) ? 1 : 0);
    }
    int status = 0;
    (void)waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void give(const char *path, mode_t mode)
{
    CHECK_INT(lchown(path, NOBODY, NOBODY), 0);
    CHECK_INT(chmod(path, mode), 0);
}

static void what_nobody_may_list_or_write_is_removed(void)
{
    AUTO_NAMES f;
    struct stat info = {0};
    if (geteuid() != 0) {
        sbx_test_skip("root", "another user is needed whom modes bind");
        return;
    }
    names_start(&f);
    CHECK_INT(chmod(f.root, 01777), 0);
    names_dir(&f, "outside");
    names_dir(&f, "tmp/closed/deeper/locked/x");
    names_file(&f, "tmp/closed/deeper/file", "");
    names_dir(&f, "tmp/unwritable/sub/subsub");
    names_link(&f, "tmp/unwritable/link", names_path(&f, "outside"));
    names_link(&f, "tmp/link", names_path(&f, "outside"));
    CHECK_INT(lchown(names_path(&f, "tmp/unwritable/link"), NOBODY, NOBODY), 0);
    CHECK_INT(lchown(names_path(&f, "tmp/link"), NOBODY, NOBODY), 0);
    CHECK_INT(lchown(names_path(&f, "tmp/closed/deeper/file"), NOBODY, NOBODY), 0);
    give(names_path(&f, "outside"), 0555);
    give(names_path(&f, "tmp/closed/deeper/locked/x"), 0);
    give(names_path(&f, "tmp/closed/deeper/locked"), 0500);
    give(names_path(&f, "tmp/closed/deeper"), 0500);
    give(names_path(&f, "tmp/closed"), 0);
    give(names_path(&f, "tmp/unwritable/sub/subsub"), 0500);
    give(names_path(&f, "tmp/unwritable/sub"), 0500);
    give(names_path(&f, "tmp/unwritable"), 0500);
    give(names_path(&f, "tmp"), 0); /* the box may change its mode too */
    CHECK_INT(remove_as_nobody(names_path(&f, "tmp")), 0);
    CHECK_INT(stat(names_path(&f, "outside"), &info), 0);
    CHECK_INT(info.st_mode & 07777, 0555); /* no mode was changed through a link */
}

static void those_of_dead_owners_are_removed_and_of_the_living_kept(void)
{
    AUTO_NAMES f;
    char own[512];
    char dead[512] = "";
    int pipes[2];
    names_start(&f);
    CHECK_INT(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct sbx_err err = {0};
        char made[512] = "";
        if (sbx_scratch_make(f.root, made, sizeof made, &err) == SBX_OK) {
            (void)!write(pipes[1], made, sizeof made);
        }
        (void)pause();
        _exit(0);
    }
    CHECK_INT(read(pipes[0], dead, sizeof dead), (intmax_t)sizeof dead);
    names_dir(&f, "sbx-tmp-notanumber");
    names_dir(&f, "sbx-tmp-1");
    names_dir(&f, "sbx-tmp-999999999-1-abcdef"); /* no such process */
    names_link(&f, "sbx-tmp-999999998-1-abcdef", "sbx-tmp-1");
    CHECK_CODE(sbx_scratch_make(f.root, own, sizeof own, &f.err), SBX_OK, &f.err);
    CHECK(exists(dead));
    CHECK(!exists(names_path(&f, "sbx-tmp-999999999-1-abcdef")));
    CHECK(exists(names_path(&f, "sbx-tmp-notanumber")));
    CHECK(exists(names_path(&f, "sbx-tmp-1")));
    sbx_scratch_remove(own);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    CHECK_CODE(sbx_scratch_make(f.root, own, sizeof own, &f.err), SBX_OK, &f.err);
    CHECK(!exists(dead));
    CHECK(exists(own));
    sbx_scratch_remove(own);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

static const struct sbx_test tests[] = {
    {"a new one is the caller's alone", a_new_one_is_the_callers_alone},
    {"what cannot be made is said, and nothing is left", what_cannot_be_made_is_said},
    {"a tree of ten thousand levels is removed", a_tree_of_any_depth_is_removed},
    {"a wide tree is removed", a_wide_tree_is_removed},
    {"links out of it are not followed", links_out_of_it_are_not_followed},
    {"what nobody may list or write is removed", what_nobody_may_list_or_write_is_removed},
    {"those of dead owners are removed, those of the living kept",
     those_of_dead_owners_are_removed_and_of_the_living_kept},
};

SBX_TEST_MAIN("scratch", tests)
