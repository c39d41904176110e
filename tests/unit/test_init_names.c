/* Tests of posix/init/names.c: which names sbx-init lets a box make. Compiled hosted here; what sbx-init is told
 * comes from posix/linux_guard.c, and what it answers is compared with sbx_policy_decide. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix/linux_launch.h"
#include "tests/check.h"
#include "tests/unit/guard_fixture.h"
#include "tests/unit/names_fixture.h"
#include "tests/unit/random.h"
#include "tests/unit/random_policy.h"

#include "common/base/banned.h"

enum { TREES = 20, POLICIES = 40, PATHS = 40 };

static const struct guard_place below_w[] = {{"/w", SBX_PLACE_WRITABLE}, {NULL, 0}};

struct expectation {
    const char *path;
    bool is_directory;
    enum init_verdict verdict;
};

static const char *const verdicts[] = {
    [INIT_ALLOWED] = "allowed", [INIT_REFUSED] = "refused", [INIT_NO_DIRECTORY] = "no directory"};

static void expect_all(const struct guard *guard, const struct expectation *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum init_verdict got = init_may_make(&guard->init, rows[i].path, rows[i].is_directory);
        if (!CHECK_TEXT(verdicts[got], verdicts[rows[i].verdict])) {
            printf("#   %s%s\n", rows[i].path, rows[i].is_directory ? " (a directory)" : "");
        }
    }
}
#define EXPECT(guard, ...)                                                                         \
    expect_all(guard, (const struct expectation[]){__VA_ARGS__},                                   \
               SBX_COUNT(((const struct expectation[]){__VA_ARGS__})))

/* ---- patterns ---- */

static void a_name_is_protected_at_any_depth(void)
{
    AUTO_GUARD guard = {0};
    guard_make(&guard, below_w, (const struct guard_pattern[]){{".git", 0}, {NULL, 0}});
    EXPECT(&guard, {"/w/.git", true, INIT_REFUSED}, {"/w/.git", false, INIT_REFUSED},
           {"/w/a/b/.git", false, INIT_REFUSED}, {"/w/.git/hooks/x", false, INIT_REFUSED},
           {"/w/.gitx", false, INIT_ALLOWED}, {"/w/x.git", false, INIT_ALLOWED},
           {"/w/git", true, INIT_ALLOWED}, {"/w", true, INIT_ALLOWED},
           {"/elsewhere/.git", false, INIT_ALLOWED}, {"/wx/.git", false, INIT_ALLOWED},
           {"/", true, INIT_ALLOWED});
}

static void case_does_not_matter(void)
{
    AUTO_GUARD guard = {0};
    guard_make(&guard, below_w, (const struct guard_pattern[]){{".git/Hooks", 0}, {NULL, 0}});
    EXPECT(&guard, {"/w/.GIT/hooks", true, INIT_REFUSED}, {"/w/.Git/HOOKS", true, INIT_REFUSED},
           {"/W/.git/hooks", true, INIT_ALLOWED});
}

static void a_path_of_several_names_forbids_to_bring_a_directory(void)
{
    AUTO_GUARD guard = {0};
    guard_make(&guard, below_w, (const struct guard_pattern[]){{"a/b/c", 0}, {NULL, 0}});
    EXPECT(&guard, {"/w/a/b/c", false, INIT_REFUSED}, {"/w/a/b/c/d", false, INIT_REFUSED},
           {"/w/x/a/b/c", false, INIT_REFUSED}, {"/w/a", true, INIT_NO_DIRECTORY},
           {"/w/a/b", false, INIT_NO_DIRECTORY}, {"/w/b", true, INIT_ALLOWED},
           {"/w/a/x/b/c", false, INIT_ALLOWED}, {"/w/a/a/b", true, INIT_NO_DIRECTORY});
}

static void stars_and_question_marks_stay_within_a_name(void)
{
    AUTO_GUARD guard = {0};
    guard_make(&guard, below_w,
               (const struct guard_pattern[]){{".e*v", 0}, {"k?y", 0}, {"*.p*.x", 0}, {NULL, 0}});
    EXPECT(&guard, {"/w/.env", false, INIT_REFUSED}, {"/w/.ev", false, INIT_REFUSED},
           {"/w/.eaaav", false, INIT_REFUSED}, {"/w/.e/v", false, INIT_ALLOWED},
           {"/w/key", false, INIT_REFUSED}, {"/w/ky", false, INIT_ALLOWED},
           {"/w/keey", false, INIT_ALLOWED}, {"/w/a.pp.x.p.x", false, INIT_REFUSED},
           {"/w/a.p.y", false, INIT_ALLOWED});
}

static void a_question_mark_is_one_character_of_any_length(void)
{
    AUTO_GUARD guard = {0};
    guard_make(&guard, below_w,
               (const struct guard_pattern[]){{"k?y", 0}, {"a*??z", 0}, {NULL, 0}});
    EXPECT(&guard, {"/w/k\xc3\xa9y", false, INIT_REFUSED},
           {"/w/k\xe8\xaa\x9ey", false, INIT_REFUSED},
           {"/w/k\xf0\x9f\x98\x80y", false, INIT_REFUSED},
           {"/w/k\xc3\xa9\xc3\xa9y", false, INIT_ALLOWED}, {"/w/k\xffy", false, INIT_REFUSED},
           {"/w/k\xc3y", false, INIT_REFUSED}, {"/w/k\xe0\x80\x80y", false, INIT_ALLOWED},
           {"/w/a\xe8\xaa\x9ez", false, INIT_ALLOWED}, {"/w/ab\xe8\xaa\x9ez", false, INIT_REFUSED});
}

static void two_stars_are_any_number_of_names(void)
{
    AUTO_GUARD guard = {0};
    guard_make(&guard, below_w, (const struct guard_pattern[]){{"a/**/b", 0}, {NULL, 0}});
    EXPECT(&guard, {"/w/a/b", false, INIT_REFUSED}, {"/w/a/x/b", false, INIT_REFUSED},
           {"/w/a/x/y/b/z", false, INIT_REFUSED}, {"/w/a/x/y", true, INIT_NO_DIRECTORY},
           {"/w/x/b", false, INIT_ALLOWED});
}

static void an_anchored_pattern_begins_at_the_root(void)
{
    AUTO_GUARD guard = {0};
    guard_make(&guard, below_w,
               (const struct guard_pattern[]){{"/w/*/key", SBX_PATTERN_ANCHORED}, {NULL, 0}});
    EXPECT(&guard, {"/w/a/key", false, INIT_REFUSED}, {"/w/a/key/x", false, INIT_REFUSED},
           {"/w/key", false, INIT_NO_DIRECTORY}, {"/w/a/b/key", false, INIT_ALLOWED},
           {"/w/w/a/key", false, INIT_ALLOWED}, {"/w/a", true, INIT_NO_DIRECTORY});
}

static void a_pattern_for_files_lets_directories_be_made(void)
{
    AUTO_GUARD guard = {0};
    guard_make(&guard, below_w,
               (const struct guard_pattern[]){{".git", SBX_PATTERN_FILE_ONLY}, {NULL, 0}});
    EXPECT(&guard, {"/w/.git", false, INIT_REFUSED}, {"/w/.git", true, INIT_ALLOWED},
           {"/w/.git/x", false, INIT_ALLOWED}, {"/w/.git/.git", false, INIT_REFUSED},
           {"/w/.git/.git", true, INIT_ALLOWED});
}

static void what_ends_above_the_writable_place_protects_nothing(void)
{
    AUTO_GUARD guard = {0};
    guard_make(&guard,
               (const struct guard_place[]){
                   {"/w", SBX_PLACE_WRITABLE}, {"/w/.git/deep", SBX_PLACE_WRITABLE}, {NULL, 0}},
               (const struct guard_pattern[]){{".git", 0}, {NULL, 0}});
    EXPECT(&guard, {"/w/.git/x", false, INIT_REFUSED}, {"/w/.git/deep/x", false, INIT_ALLOWED},
           {"/w/.git/deep/.git", false, INIT_REFUSED}, {"/w/.git/deepx", false, INIT_REFUSED});
}

/* ---- places ---- */

static void the_longest_place_decides(void)
{
    AUTO_GUARD guard = {0};
    guard_make(&guard,
               (const struct guard_place[]){{"/", SBX_PLACE_FREE},
                                            {"/w", SBX_PLACE_WRITABLE},
                                            {"/w/closed", SBX_PLACE_CLOSED},
                                            {"/w/closed/open", SBX_PLACE_WRITABLE},
                                            {"/w/tmp", SBX_PLACE_FREE},
                                            {"/w/deep/er/pinned", SBX_PLACE_PINNED},
                                            {NULL, 0}},
               (const struct guard_pattern[]){{NULL, 0}});
    EXPECT(&guard, {"/w/a", false, INIT_ALLOWED}, {"/w/closed", true, INIT_REFUSED},
           {"/w/closed/x", true, INIT_REFUSED}, {"/w/closed/open/x", true, INIT_ALLOWED},
           {"/w/closedx", true, INIT_ALLOWED}, {"/w/tmp/closed", true, INIT_ALLOWED},
           {"/w/deep", true, INIT_NO_DIRECTORY}, {"/w/deep/er", true, INIT_NO_DIRECTORY},
           {"/w/deep/er/pinned", true, INIT_REFUSED}, {"/w/deep/x", true, INIT_ALLOWED},
           {"/etc/x", false, INIT_ALLOWED});
}

static const char *deep_path(char *out, size_t size, const char *start, size_t levels,
                             const char *end)
{
    size_t len = (size_t)snprintf(out, size, "%s", start);
    for (size_t i = 0; i < levels; i++) {
        len += (size_t)snprintf(out + len, size - len, "/d");
    }
    (void)snprintf(out + len, size - len, "%s", end);
    return out;
}

static void what_is_too_deep_to_tell_is_refused(void)
{
    char path[4096];
    AUTO_GUARD guard = {0};
    guard_make(&guard, below_w, (const struct guard_pattern[]){{".git", 0}, {NULL, 0}});
    CHECK_INT(init_may_make(&guard.init, deep_path(path, sizeof path, "/w", 255, ""), true),
              INIT_ALLOWED);
    CHECK_INT(init_may_make(&guard.init, deep_path(path, sizeof path, "/w", 254, "/.git"), true),
              INIT_REFUSED);
    CHECK_INT(init_may_make(&guard.init, deep_path(path, sizeof path, "/w", 256, ""), true),
              INIT_REFUSED);
    CHECK_INT(init_may_make(&guard.init, deep_path(path, sizeof path, "/w", 2000, "/x"), true),
              INIT_REFUSED);
    CHECK_INT(init_may_make(&guard.init, deep_path(path, sizeof path, "/t", 2000, "/x"), true),
              INIT_ALLOWED);
}

static void a_hostile_pattern_is_answered_at_once(void)
{
    char path[4096];
    AUTO_GUARD guard = {0};
    guard_make(&guard, below_w,
               (const struct guard_pattern[]){
                   {"**/a*/**/*a*/**/*a*b/**/c", 0}, {"*a*a*a*a*a*a*a*a*a*a*b", 0}, {NULL, 0}});
    char name[251] = "";
    memset(name, 'a', sizeof name - 1);
    (void)snprintf(path, sizeof path, "/w/%s/%s/%s/%s", name, name, name, name);
    for (int i = 0; i < 100; i++) {
        CHECK_INT(init_may_make(&guard.init, path, true), INIT_NO_DIRECTORY);
    }
}

/* ---- moved directories and links ---- */

static void a_moved_directory_brings_nothing_that_could_not_be_made(void)
{
    AUTO_GUARD guard = {0};
    guard_make(&guard,
               (const struct guard_place[]){{"/w", SBX_PLACE_WRITABLE},
                                            {"/w/absent/key", SBX_PLACE_PINNED},
                                            {"/w/locked/key", SBX_PLACE_CLOSED},
                                            {NULL, 0}},
               (const struct guard_pattern[]){{"a/b", 0}, {".git", 0}, {NULL, 0}});
    const struct {
        const char *from, *to;
        bool may;
    } rows[] = {
        {"/w/x", "/w/y", true},           {"/w/x", "/w/a", false}, /* it may have a "b" */
        {"/w/a", "/w/x", true},           {"/w/a", "/w/deep/a", true},
        {"/w/x", "/w/.git", false},       {"/w/.git", "/w/x", true},
        {"/w/x", "/w/absent", false},     {"/w/absent", "/w/x", false},
        {"/w/x", "/w/locked", false},     {"/w/locked", "/w/x", true},
        {"/w/x", "/w/absent/key", false},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        if (!CHECK_INT(init_may_move_directory(&guard.init, rows[i].from, rows[i].to),
                       rows[i].may)) {
            printf("#   %s to %s\n", rows[i].from, rows[i].to);
        }
    }
}

static void a_link_stands_for_a_directory_only_to_programs(void)
{
    AUTO_GUARD guard = {0};
    guard_make(
        &guard, below_w,
        (const struct guard_pattern[]){{"a/b", 0}, {"/w/c/d", SBX_PATTERN_ANCHORED}, {NULL, 0}});
    CHECK_INT(init_may_link(&guard.init, "/w/x"), INIT_ALLOWED);
    CHECK_INT(init_may_link(&guard.init, "/w/a"), INIT_NO_DIRECTORY);
    CHECK_INT(init_may_link(&guard.init, "/w/a/b"), INIT_REFUSED);
    CHECK_INT(init_may_link(&guard.init, "/w/c"), INIT_ALLOWED);
    CHECK_INT(init_may_link(&guard.init, "/w/c/d"), INIT_REFUSED);
}

/* ---- against the policy ---- */

/* Would the mounts let the entry be made? */
static bool mount_is_writable(const struct sbx_mounts *mounts, const char *path)
{
    const struct sbx_mount *above = NULL;
    for (size_t i = 0; i < mounts->count; i++) {
        size_t len = strlen(mounts->items[i].path);
        if (mounts->items[i].kind != SBX_MOUNT_LINK &&
            (len == 1 || (strncmp(mounts->items[i].path, path, len) == 0 &&
                          (path[len] == '/' || path[len] == '\0')))) {
            above = &mounts->items[i];
        }
    }
    return above != NULL && above->kind == SBX_MOUNT_WRITE;
}

struct tally {
    size_t refused, allowed, left_to_mounts;
};

/* What sbx says is not writable is not made; what is writable is. */
static bool agree(struct names_fixture *f, const struct sbx_mounts *mounts, const struct init *init,
                  const char *path, bool is_directory, struct tally *tally)
{
    struct sbx_path asked = {path, strlen(path), SBX_PATH_POSIX};
    struct sbx_decision decision = sbx_policy_decide(&f->arena, &f->policy, asked);
    bool is_writable =
        decision.access == SBX_ACCESS_WRITE || (decision.maybe_writable && is_directory);
    if (!mount_is_writable(mounts, path)) {
        tally->left_to_mounts++;
        return CHECK(!is_writable);
    }
    enum init_verdict got = init == NULL ? INIT_ALLOWED : init_may_make(init, path, is_directory);
    tally->refused += got == INIT_REFUSED;
    tally->allowed += got != INIT_REFUSED;
    return CHECK_TEXT(got == INIT_REFUSED ? "refused" : "made", is_writable ? "made" : "refused");
}

static bool agree_on_paths(uint64_t *seed, struct names_fixture *f, struct tally *tally)
{
    static struct sbx_launch launch;
    struct sbx_plan plan = {.policy = &f->policy};
    AUTO_MOUNTS mounts = {0};
    struct init init = {0};
    f->err = (struct sbx_err){0};
    if (!CHECK_CODE(sbx_names_find(&f->arena, &f->policy, NULL, &f->found, &f->err), SBX_OK,
                    &f->err) ||
        !CHECK_CODE(sbx_mounts_make(&f->arena, &f->policy, &f->found, &mounts, &f->err), SBX_OK,
                    &f->err)) {
        return false;
    }
    launch = (struct sbx_launch){.arena = &f->arena, .plan = &plan};
    sbx_init_block_init(&launch.block);
    bool agrees =
        CHECK_CODE(sbx_launch_names(&launch, &mounts, &f->found, &f->err), SBX_OK, &f->err) &&
        CHECK(guard_view(&launch.block, &init));
    for (size_t i = 0; agrees && i < PATHS; i++) {
        const char *path =
            names_path(f, random_policy_rest(seed, f, 1 + random_below(seed, 4), false));
        bool is_directory = random_below(seed, 2) == 0;
        agrees = agree(f, &mounts, launch.watches_names ? &init : NULL, path, is_directory, tally);
        if (!agrees) {
            printf("#   %s%s\n", path + strlen(f->root), is_directory ? " (a directory)" : "");
            random_policy_print(f);
        }
    }
    sbx_init_block_release(&launch.block);
    return agrees;
}

static void what_is_made_is_what_the_policy_says(void)
{
    uint64_t seed = 31;
    struct tally tally = {0};
    bool agrees = true;
    for (unsigned tree = 0; agrees && tree < TREES; tree++) {
        AUTO_NAMES f;
        names_start(&f);
        for (size_t nodes = 5 + random_below(&seed, 20); nodes > 0; nodes--) {
            names_dir(&f, random_policy_rest(&seed, &f, 1 + random_below(&seed, 3), false));
        }
        for (unsigned round = 0; agrees && round < POLICIES; round++) {
            random_policy_make(&seed, &f);
            agrees = agree_on_paths(&seed, &f, &tally);
        }
    }
    printf("# %zu refused, %zu made, %zu left to the mounts\n", tally.refused, tally.allowed,
           tally.left_to_mounts);
    CHECK(tally.refused > 1000 && tally.allowed > 1000 && tally.left_to_mounts > 1000);
}

static const struct sbx_test tests[] = {
    {"a name is protected at any depth below a writable place", a_name_is_protected_at_any_depth},
    {"a protected name in other letters is protected too", case_does_not_matter},
    {"a path of several names forbids to bring a directory with the rest of it",
     a_path_of_several_names_forbids_to_bring_a_directory},
    {"stars and question marks stay within a name", stars_and_question_marks_stay_within_a_name},
    {"a question mark is one character, however many bytes it has",
     a_question_mark_is_one_character_of_any_length},
    {"two stars are any number of names", two_stars_are_any_number_of_names},
    {"an anchored pattern begins at the root", an_anchored_pattern_begins_at_the_root},
    {"a pattern for files lets directories be made", a_pattern_for_files_lets_directories_be_made},
    {"what ends above the writable place protects nothing in it",
     what_ends_above_the_writable_place_protects_nothing},
    {"the longest place decides", the_longest_place_decides},
    {"what is too deep to tell apart is refused", what_is_too_deep_to_tell_is_refused},
    {"a hostile pattern is answered at once", a_hostile_pattern_is_answered_at_once},
    {"a moved directory brings nothing that could not be made",
     a_moved_directory_brings_nothing_that_could_not_be_made},
    {"a link stands for a directory only to programs that go by names",
     a_link_stands_for_a_directory_only_to_programs},
    {"what is made is what the policy says, on random trees with random policies",
     what_is_made_is_what_the_policy_says},
};

SBX_TEST_MAIN("init_names", tests)
