/* Tests of posix/linux_mounts: what is mounted for a policy, in which order. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix/linux_mounts.h"
#include "tests/check.h"
#include "tests/unit/names_fixture.h"
#include "tests/unit/random.h"
#include "tests/unit/random_policy.h"

#include "common/base/banned.h"

enum { TREES = 20, POLICIES = 40, NODES_MAX = 64 };

static const struct sbx_protect_row git_row[] = {{".git", false, ""}, {NULL, false, NULL}};

/* One line each, below the root of the fixture; what every box has besides is left out. */
static const char *show(struct names_fixture *f, const struct sbx_mounts *mounts)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 1 << 20);
    size_t skip = strlen(f->root);
    for (size_t i = 0; i < mounts->count; i++) {
        const struct sbx_mount *mount = &mounts->items[i];
        if (strncmp(mount->path, f->root, skip) == 0) {
            sbx_buf_printf(&text, "%s%s %s%s%s%s", text.len > 0 ? ", " : "",
                           sbx_name_text(sbx_mount_kind_names, (int)mount->kind),
                           mount->path[skip] == '\0' ? "/" : mount->path + skip,
                           mount->kind == SBX_MOUNT_LINK ? " -> " : "",
                           mount->kind == SBX_MOUNT_LINK ? mount->link : "",
                           mount->is_reopened ? " (opened again below)" : "");
        }
    }
    const char *copy = sbx_arena_copy(&f->arena, sbx_buf_text(&text), text.len);
    return copy == NULL ? "" : copy;
}

static enum sbx_code make(struct names_fixture *f, struct sbx_mounts *out)
{
    names_settle(f);
    f->err = (struct sbx_err){0};
    enum sbx_code code = sbx_names_find(&f->arena, &f->policy, NULL, &f->found, &f->err);
    return code == SBX_OK ? sbx_mounts_make(&f->arena, &f->policy, &f->found, out, &f->err) : code;
}

static const char *made(struct names_fixture *f)
{
    AUTO_MOUNTS mounts = {0};
    return make(f, &mounts) == SBX_OK ? show(f, &mounts) : f->err.text;
}

static const struct sbx_mount nothing = {.fd = -1};

static const struct sbx_mount *item(const struct sbx_mounts *mounts, size_t index)
{
    return mounts->items == NULL || index >= mounts->count ? &nothing : &mounts->items[index];
}

static size_t index_of(const struct sbx_mounts *mounts, const char *path)
{
    size_t at = 0;
    while (at < mounts->count && strcmp(mounts->items[at].path, path) != 0) {
        at++;
    }
    return at;
}

/* ---- examples ---- */

static void parents_come_before_what_lies_in_them(void)
{
    AUTO_NAMES f;
    names_start(&f);
    names_dir(&f, "a/b/c");
    names_dir(&f, "a-b");
    names_dir(&f, "a.b");
    names_rule(&f, "a/b/c", SBX_ACCESS_WRITE);
    names_rule(&f, "a-b", SBX_ACCESS_WRITE);
    names_rule(&f, "a.b", SBX_ACCESS_READ);
    names_rule(&f, "a/b", SBX_ACCESS_READ);
    names_rule(&f, "a", SBX_ACCESS_WRITE);
    CHECK_TEXT(made(&f), "write /a, read-only /a/b, write /a/b/c, write /a-b, read-only /a.b");
}

static void what_says_nothing_new_is_not_mounted(void)
{
    AUTO_NAMES f;
    AUTO_MOUNTS mounts = {0};
    names_start_with(&f, git_row);
    names_dir(&f, "w/.git/deep");
    names_dir(&f, "w/sub");
    names_rule(&f, "w/sub", SBX_ACCESS_WRITE);
    names_rule(&f, "w/.git/deep", SBX_ACCESS_READ);
    CHECK_CODE(make(&f, &mounts), SBX_OK, &f.err);
    CHECK_TEXT(show(&f, &mounts), "write /w, read-only /w/.git");
}

static void of_equal_paths_the_stricter_stays(void)
{
    AUTO_NAMES f;
    AUTO_MOUNTS mounts = {0};
    names_start(&f);
    names_dir(&f, "w/real");
    names_link(&f, "link", "w/real");
    names_rule(&f, "w", SBX_ACCESS_WRITE);
    names_rule(&f, "w/real", SBX_ACCESS_NONE);
    names_rule(&f, "link", SBX_ACCESS_WRITE); /* the same directory by another name */
    CHECK_CODE(make(&f, &mounts), SBX_OK, &f.err);
    CHECK_TEXT(show(&f, &mounts), "link /link -> w/real, write /w, masked /w/real");
}

static void a_mask_is_passable_only_where_something_opens_again(void)
{
    AUTO_NAMES f;
    names_start(&f);
    names_dir(&f, "w/hidden/open");
    names_dir(&f, "w/closed/deeper");
    names_file(&f, "w/file", "");
    names_rule(&f, "w", SBX_ACCESS_WRITE);
    names_rule(&f, "w/hidden", SBX_ACCESS_NONE);
    names_rule(&f, "w/hidden/open", SBX_ACCESS_READ);
    names_rule(&f, "w/closed", SBX_ACCESS_NONE);
    names_rule(&f, "w/file", SBX_ACCESS_NONE);
    CHECK_TEXT(made(&f), "write /w, masked /w/closed, masked /w/file, masked /w/hidden (opened "
                         "again below), read-only /w/hidden/open");
}

static void nothing_is_masked_where_nothing_is(void)
{
    AUTO_NAMES f;
    names_start(&f);
    names_dir(&f, "a/secret");
    names_rule(&f, "a/secret", SBX_ACCESS_NONE); /* nothing above it is in the box */
    CHECK_TEXT(made(&f), "");
}

static void a_link_to_a_grant_is_made_again_in_a_private_root(void)
{
    AUTO_NAMES f;
    names_start(&f);
    names_dir(&f, "real/dir");
    names_link(&f, "link", "real");
    names_rule(&f, "link/dir", SBX_ACCESS_READ);
    CHECK_TEXT(made(&f), "link /link -> real, read-only /real/dir");
}

static void every_link_on_the_way_to_a_grant_is_made_again(void)
{
    AUTO_NAMES f;
    names_start(&f);
    names_dir(&f, "real/sub/dir");
    names_link(&f, "first", "second");
    names_link(&f, "second", "real");
    names_link(&f, "real/inner", "sub");
    names_rule(&f, "first/inner/dir", SBX_ACCESS_READ);
    CHECK_TEXT(made(&f), "link /first -> second, link /real/inner -> sub, read-only /real/sub/dir, "
                         "link /second -> real");
}

static void the_hosts_root_has_its_links_already(void)
{
    AUTO_NAMES f;
    AUTO_MOUNTS mounts = {0};
    names_start(&f);
    names_dir(&f, "real/dir");
    names_link(&f, "link", "real");
    names_rule(&f, "//", SBX_ACCESS_READ);
    names_rule(&f, "link/dir", SBX_ACCESS_WRITE);
    CHECK_CODE(make(&f, &mounts), SBX_OK, &f.err);
    CHECK_TEXT(show(&f, &mounts), "write /real/dir");
    CHECK(mounts.has_host_root);
    CHECK_U64(index_of(&mounts, "/"), 0);
}

static void a_private_directory_needs_a_place_on_the_host(void)
{
    AUTO_NAMES f;
    AUTO_MOUNTS mounts = {0};
    names_start(&f);
    names_dir(&f, "w/there");
    names_rule(&f, "w", SBX_ACCESS_WRITE);
    struct sbx_rule *rule = names_rule(&f, "w/there", SBX_ACCESS_WRITE);
    rule->kind = SBX_RULE_TMPFS;
    CHECK_TEXT(made(&f), "write /w, tmpfs /w/there");
    rule = names_rule(&f, "w/absent", SBX_ACCESS_WRITE);
    rule->kind = SBX_RULE_TMPFS;
    CHECK_CODE(make(&f, &mounts), SBX_E_INVALID, &f.err);
    CHECK(strstr(f.err.text, "/w/absent") != NULL);
    CHECK_U64(mounts.count, 0);
}

static void a_private_directory_in_a_private_root_needs_none(void)
{
    AUTO_NAMES f;
    names_start(&f);
    names_rule(&f, "absent", SBX_ACCESS_WRITE)->kind = SBX_RULE_TMPFS;
    CHECK_TEXT(made(&f), "tmpfs /absent");
}

static void a_grant_that_is_gone_is_named(void)
{
    AUTO_NAMES f;
    AUTO_MOUNTS mounts = {0};
    names_start(&f);
    struct sbx_rule *rule = names_rule(&f, "gone", SBX_ACCESS_READ);
    CHECK_CODE(make(&f, &mounts), SBX_E_NOT_FOUND, &f.err);
    CHECK(strstr(f.err.text, "/gone") != NULL);
    rule->is_optional = true;
    CHECK_TEXT(made(&f), "");
}

static void a_link_with_a_protected_name_is_refused(void)
{
    AUTO_NAMES f;
    AUTO_MOUNTS mounts = {0};
    names_start_with(&f, git_row);
    names_dir(&f, "elsewhere");
    names_link(&f, "w/.git", "../elsewhere");
    CHECK_CODE(make(&f, &mounts), SBX_E_UNSUPPORTED, &f.err);
    CHECK(strstr(f.err.text, "/w/.git") != NULL);
}

static void a_grant_is_held_by_descriptor(void)
{
    AUTO_NAMES f;
    AUTO_MOUNTS mounts = {0};
    struct stat before;
    struct stat pinned;
    names_start(&f);
    names_dir(&f, "w");
    names_rule(&f, "w", SBX_ACCESS_WRITE);
    CHECK_INT(stat(names_path(&f, "w"), &before), 0);
    CHECK_CODE(make(&f, &mounts), SBX_OK, &f.err);
    const struct sbx_mount *mount = item(&mounts, index_of(&mounts, names_path(&f, "w")));
    CHECK_INT(rename(names_path(&f, "w"), names_path(&f, "moved")), 0);
    names_dir(&f, "w");
    CHECK_INT(fstat(mount->fd, &pinned), 0);
    CHECK_U64(pinned.st_ino, before.st_ino);
    CHECK_U64(mount->inode, before.st_ino);
    CHECK_U64(mount->device, before.st_dev);
    CHECK((fcntl(mount->fd, F_GETFD) & FD_CLOEXEC) != 0);
}

static void every_box_has_its_own_proc_and_dev(void)
{
    AUTO_NAMES f;
    AUTO_MOUNTS mounts = {0};
    names_start(&f);
    CHECK_CODE(make(&f, &mounts), SBX_OK, &f.err);
    size_t proc = index_of(&mounts, "/proc");
    size_t dev = index_of(&mounts, "/dev");
    size_t sys = index_of(&mounts, "/proc/sys");
    if (CHECK(proc < mounts.count && dev < mounts.count && sys < mounts.count)) {
        CHECK_INT(item(&mounts, proc)->kind, SBX_MOUNT_PROC);
        CHECK_INT(item(&mounts, dev)->kind, SBX_MOUNT_DEV);
        CHECK_INT(item(&mounts, sys)->kind, SBX_MOUNT_READ);
        CHECK(proc < sys);
        CHECK(sbx_mounts_above(&mounts, sys) == item(&mounts, proc));
    }
    size_t core = index_of(&mounts, "/proc/kcore");
    CHECK(core == mounts.count || item(&mounts, core)->kind == SBX_MOUNT_MASK_FILE);
}

/* ---- property ---- */

struct nodes {
    const char *path[NODES_MAX];
    size_t count;
};

static const struct sbx_mount *above(const struct sbx_mounts *mounts, const char *path)
{
    const struct sbx_mount *nearest = NULL;
    for (size_t i = 0; i < mounts->count; i++) {
        const struct sbx_mount *mount = &mounts->items[i];
        size_t len = strlen(mount->path);
        if (mount->kind != SBX_MOUNT_LINK &&
            (len == 1 ||
             (strncmp(mount->path, path, len) == 0 && (path[len] == '/' || path[len] == '\0')))) {
            nearest = mount;
        }
    }
    return nearest;
}

/* What a process of the box could do with it, going by the mounts alone. */
static enum sbx_access effective(const struct sbx_mounts *mounts, const char *path)
{
    const struct sbx_mount *mount = above(mounts, path);
    if (mount == NULL || mount->kind == SBX_MOUNT_MASK || mount->kind == SBX_MOUNT_MASK_FILE) {
        return SBX_ACCESS_NONE;
    }
    return mount->kind == SBX_MOUNT_READ ? SBX_ACCESS_READ : SBX_ACCESS_WRITE;
}

static bool agree_on(struct names_fixture *f, const struct sbx_mounts *mounts, const char *path,
                     size_t *tally)
{
    struct stat info;
    struct sbx_path asked = {path, strlen(path), SBX_PATH_POSIX};
    struct sbx_decision decision = sbx_policy_decide(&f->arena, &f->policy, asked);
    bool is_directory = lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
    enum sbx_access want =
        decision.maybe_writable && is_directory ? SBX_ACCESS_WRITE : decision.access;
    enum sbx_access got = effective(mounts, path);
    tally[got]++;
    /* Below a match of a closing glob a "read" glob opens nothing: stricter, and said so. */
    bool opens = decision.rule != NULL && decision.rule->is_glob && want == SBX_ACCESS_READ;
    if (opens && got == SBX_ACCESS_NONE) {
        return true;
    }
    return CHECK_TEXT(sbx_name_text(sbx_access_names, (int)got),
                      sbx_name_text(sbx_access_names, (int)want));
}

static bool agree(struct names_fixture *f, const struct nodes *nodes, size_t *tally)
{
    AUTO_MOUNTS mounts = {0};
    bool agrees = CHECK_CODE(sbx_names_find(&f->arena, &f->policy, NULL, &f->found, &f->err),
                             SBX_OK, &f->err) &&
                  CHECK_CODE(sbx_mounts_make(&f->arena, &f->policy, &f->found, &mounts, &f->err),
                             SBX_OK, &f->err);
    for (size_t i = 0; agrees && i < nodes->count; i++) {
        agrees = agree_on(f, &mounts, nodes->path[i], tally);
        if (!agrees) {
            printf("#   %s with %s\n", nodes->path[i] + strlen(f->root), show(f, &mounts));
            random_policy_print(f);
        }
    }
    for (size_t i = 1; i < mounts.count; i++) {
        const struct sbx_mount *outer = sbx_mounts_above(&mounts, i);
        agrees &= CHECK(strcmp(mounts.items[i - 1].path, mounts.items[i].path) != 0) &&
                  CHECK(outer == NULL || outer < &mounts.items[i]);
    }
    return agrees;
}

static void what_is_mounted_is_what_the_policy_says(void)
{
    uint64_t seed = 47;
    size_t tally[3] = {0};
    bool agrees = true;
    for (unsigned tree = 0; agrees && tree < TREES; tree++) {
        AUTO_NAMES f;
        struct nodes nodes = {0};
        names_start(&f);
        while (nodes.count < 10 + random_below(&seed, NODES_MAX - 10)) {
            const char *rest = random_policy_rest(&seed, &f, 1 + random_below(&seed, 4), false);
            names_dir(&f, rest);
            nodes.path[nodes.count++] = names_path(&f, rest);
        }
        for (unsigned round = 0; agrees && round < POLICIES; round++) {
            random_policy_make(&seed, &f);
            agrees = agree(&f, &nodes, tally);
        }
    }
    printf("# %zu hidden, %zu readable, %zu writable\n", tally[0], tally[1], tally[2]);
    CHECK(tally[0] > 1000 && tally[1] > 1000 && tally[2] > 1000);
}

static const struct sbx_test tests[] = {
    {"parents come before what lies in them", parents_come_before_what_lies_in_them},
    {"what says nothing new is not mounted", what_says_nothing_new_is_not_mounted},
    {"of equal paths the stricter stays", of_equal_paths_the_stricter_stays},
    {"a mask is passable only where something opens again",
     a_mask_is_passable_only_where_something_opens_again},
    {"nothing is masked where nothing is", nothing_is_masked_where_nothing_is},
    {"a link to a grant is made again in a private root",
     a_link_to_a_grant_is_made_again_in_a_private_root},
    {"every link on the way to a grant is made again",
     every_link_on_the_way_to_a_grant_is_made_again},
    {"the host's root has its links already", the_hosts_root_has_its_links_already},
    {"a private directory needs a place on the host",
     a_private_directory_needs_a_place_on_the_host},
    {"a private directory in a private root needs none",
     a_private_directory_in_a_private_root_needs_none},
    {"a grant that is gone is named", a_grant_that_is_gone_is_named},
    {"a link with a protected name is refused", a_link_with_a_protected_name_is_refused},
    {"a grant is held by descriptor, whatever takes its name", a_grant_is_held_by_descriptor},
    {"every box has its own /proc and /dev, closed where they reach the machine",
     every_box_has_its_own_proc_and_dev},
    {"what is mounted is what the policy says, on random trees with random policies",
     what_is_mounted_is_what_the_policy_says},
};

SBX_TEST_MAIN("linux_mounts", tests)
