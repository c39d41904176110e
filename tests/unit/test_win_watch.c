/* Protected names on the real system: making one is seen, whatever way it is made; ordinary names are not; and what
 * could not be followed is told. Wine passes on what inotify says, a moment later than Windows. */
#include <windows.h>

#include <stdio.h>
#include <string.h>

#include "common/base/buf.h"
#include "tests/check.h"
#include "tests/unit/policy_fixture.h"
#include "tests/unit/win_fixture.h"
#include "win/handle.h"
#include "win/watch.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { ROOTS_MAX = 70, SETTLE_MS = 400 };

static struct sbx_err err;

/* A policy whose writable roots are directories of this case. */
struct scene {
    struct fixture f;
    struct sbx_pin pins[ROOTS_MAX];
    size_t count;
    struct sbx_watch *watch;
    struct sbx_watched seen;
};

static const char *in(const char *root, const char *name)
{
    char text[256];
    (void)snprintf(text, sizeof text, "%s/%s", root, name);
    return scratch(text);
}

static void make_directory(const char *path)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    wchar_t *wide = NULL;
    CHECK_CODE(sbx_wide_path(&arena, path, &wide, &err), SBX_OK, &err);
    CHECK(CreateDirectoryW(wide, NULL));
}

static void move(const char *from, const char *to)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    wchar_t *wide[2] = {NULL, NULL};
    CHECK_CODE(sbx_wide_path(&arena, from, &wide[0], &err), SBX_OK, &err);
    CHECK_CODE(sbx_wide_path(&arena, to, &wide[1], &err), SBX_OK, &err);
    CHECK(MoveFileExW(wide[0], wide[1], 0));
}

/* As the file system spells it: sbx's own write goes through a temporary name. */
static void make_file(const char *path)
{
    CHECK_CODE(sbx_os_write_new(path, sbx_str("x"), &err), SBX_OK, &err);
}

static void scene_init(struct scene *scene, const char *const *roots, const char *access)
{
    AUTO_BUF toml;
    sbx_buf_init(&toml, 1 << 16);
    *scene = (struct scene){0};
    sbx_buf_printf(&toml, "[sandbox]\n%s = [", access);
    for (; roots[scene->count] != NULL; scene->count++) {
        actor_write(in(roots[scene->count], "there"), "");
        sbx_buf_printf(&toml, "'%s',", scratch(roots[scene->count]));
    }
    sbx_buf_printf(&toml, "]\n");
    fixture_policy(&scene->f, SBX_WINDOWS, sbx_buf_text(&toml));
    for (size_t i = 0; i < scene->count && roots[i] != NULL; i++) {
        struct sbx_pin *pin = &scene->pins[i];
        pin->path = fixture_path(&scene->f, scratch(roots[i]));
        pin->is_directory = true;
        CHECK_CODE(sbx_wide_path(&scene->f.arena, pin->path.text, &pin->wide, &err), SBX_OK, &err);
    }
}

static void scene_watch(struct scene *scene)
{
    CHECK_CODE(sbx_watch_open(&scene->f.policy, scene->pins, scene->count, &scene->watch, &err),
               SBX_OK, &err);
}

static bool has_alarm(struct scene *scene, DWORD ms)
{
    return WaitForSingleObject(sbx_watch_alarm(scene->watch), ms) == WAIT_OBJECT_0;
}

/* The text stays valid: it is in the fixture's arena. */
static const struct sbx_watched *scene_end(struct scene *scene)
{
    sbx_watch_close(SBX_TAKE(scene->watch, NULL), &scene->f.arena, &scene->seen);
    return &scene->seen;
}

static bool is_path(const char *got, const char *want)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_path path;
    return got != NULL &&
           sbx_path_make(&arena, SBX_PATH_WINDOWS, sbx_str(want), &path) == SBX_PATH_OK &&
           strcmp(got, path.text) == 0;
}

/* ---- seen -------------------------------------------------------------------------------------- */

static void a_protected_name_is_seen(void)
{
    struct scene scene;
    scene_init(&scene, (const char *[]){"fresh", NULL}, "fs_write_allow");
    scene_watch(&scene);
    CHECK(!has_alarm(&scene, SETTLE_MS));
    make_directory(in("fresh", ".git"));
    CHECK(has_alarm(&scene, 5000));
    const struct sbx_watched *seen = scene_end(&scene);
    CHECK(is_path(seen->path, in("fresh", ".git")));
    CHECK(!seen->has_lost);
    fixture_release(&scene.f);
}

static void a_rename_to_it_is_seen(void)
{
    struct scene scene;
    scene_init(&scene, (const char *[]){"renamed", NULL}, "fs_write_allow");
    make_directory(in("renamed", "plain"));
    scene_watch(&scene);
    move(in("renamed", "plain"), in("renamed", ".git"));
    CHECK(has_alarm(&scene, 5000));
    CHECK(is_path(scene_end(&scene)->path, in("renamed", ".git")));
    fixture_release(&scene.f);
}

static void what_is_moved_in_is_seen(void)
{
    struct scene scene;
    scene_init(&scene, (const char *[]){"inside", NULL}, "fs_write_allow");
    actor_write(in("outside", "there"), "");
    make_directory(in("outside", ".git"));
    scene_watch(&scene);
    move(in("outside", ".git"), in("inside", ".git"));
    CHECK(has_alarm(&scene, 5000));
    CHECK(is_path(scene_end(&scene)->path, in("inside", ".git")));
    fixture_release(&scene.f);
}

/* ---- directories that are moved in --------------------------------------------------------------- */

/* Wine's server knows directories by device and inode, and now and then tells nobody of one that has the inode of one
 * that was removed (seen twice in six runs of all tests at once, never alone). Windows keeps what it has to tell with the
 * handle. So these cases have three attempts, in directories of their own, and each miss is printed. */
enum { ATTEMPTS = 3 };

static const char *numbered(const char *name, unsigned attempt)
{
    static char texts[4][64];
    static unsigned next;
    char *text = texts[next++ % SBX_COUNT(texts)];
    (void)snprintf(text, sizeof texts[0], "%s%u", name, attempt);
    return text;
}

static bool holds_in_some_attempt(bool (*attempt)(unsigned number))
{
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        if (attempt(i)) {
            return true;
        }
        printf("# attempt %u: not as expected\n", i + 1);
    }
    return false;
}

/* Such a directory is told by its own name only. */
static bool see_inside(unsigned attempt)
{
    struct scene scene;
    const char *target = numbered("target", attempt);
    const char *plainly = numbered("plainly", attempt);
    const char *loaded = numbered("loaded", attempt);
    scene_init(&scene, (const char *[]){target, NULL}, "fs_write_allow");
    actor_write(in(plainly, "x/y/there"), "");
    actor_write(in(loaded, "x/y/there"), "");
    make_directory(in(loaded, "x/y/.git"));
    scene_watch(&scene);
    move(scratch(plainly), in(target, "plainly"));
    CHECK(!has_alarm(&scene, SETTLE_MS));
    move(scratch(loaded), in(target, "loaded"));
    bool is_seen = has_alarm(&scene, 5000);
    const struct sbx_watched *seen = scene_end(&scene);
    bool is_right =
        is_seen && is_path(seen->path, in(target, "loaded/x/y/.git")) && !seen->has_lost;
    fixture_release(&scene.f);
    return is_right;
}

static void what_is_inside_of_what_is_moved_in_is_seen(void)
{
    CHECK(holds_in_some_attempt(see_inside));
}

static bool tell_depth(unsigned attempt)
{
    struct scene scene;
    const char *shallow = numbered("shallow", attempt);
    const char *mine = numbered("mine", attempt);
    char path[256];
    (void)snprintf(path, sizeof path, "%s", mine);
    scene_init(&scene, (const char *[]){shallow, NULL}, "fs_write_allow");
    for (int i = 0; i < 70; i++) {
        (void)snprintf(path + strlen(path), sizeof path - strlen(path), "/d");
    }
    actor_write(in(path, "there"), "");
    scene_watch(&scene);
    move(scratch(mine), in(shallow, "mine"));
    CHECK(!has_alarm(&scene, SETTLE_MS));
    /* What comes later is told later: when this is seen, that was looked at, however busy the machine is. */
    make_directory(in(shallow, ".git"));
    bool is_seen = has_alarm(&scene, 5000);
    const struct sbx_watched *seen = scene_end(&scene);
    bool is_right = is_seen && seen->has_lost && is_path(seen->path, in(shallow, ".git"));
    fixture_release(&scene.f);
    return is_right;
}

static void what_is_too_deep_is_told(void)
{
    CHECK(holds_in_some_attempt(tell_depth));
}

/* ---- spellings ----------------------------------------------------------------------------------- */

static void case_does_not_hide_it(void)
{
    struct scene scene;
    scene_init(&scene, (const char *[]){"case", NULL}, "fs_write_allow");
    scene_watch(&scene);
    make_directory(in("case", ".GIT"));
    CHECK(has_alarm(&scene, 5000));
    CHECK(is_path(scene_end(&scene)->path, in("case", ".GIT")));
    fixture_release(&scene.f);
}

static HANDLE open_directory(const char *path)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    wchar_t *wide = NULL;
    CHECK_CODE(sbx_wide_path(&arena, path, &wide, &err), SBX_OK, &err);
    return CreateFileW(wide, FILE_LIST_DIRECTORY, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                       OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
}

/* Wine follows a directory below a watched one from the moment on that somebody opens it, step by step. */
static void below_it_is_seen(void)
{
    struct scene scene;
    scene_init(&scene, (const char *[]){"deep", NULL}, "fs_write_allow");
    make_directory(in("deep", "a"));
    make_directory(in("deep", "a/b"));
    CHECK_INT(fixture_access(&scene.f, in("deep", "a/b/.git")), SBX_ACCESS_READ);
    scene_watch(&scene);
    AUTO_HANDLE above = open_directory(in("deep", "a"));
    AUTO_HANDLE opened = open_directory(in("deep", "a/b"));
    CHECK(sbx_handle_is_open(above) && sbx_handle_is_open(opened));
    make_directory(in("deep", "a/b/.git"));
    CHECK(has_alarm(&scene, 5000));
    CHECK(is_path(scene_end(&scene)->path, in("deep", "a/b/.git")));
    fixture_release(&scene.f);
}

static void every_root_is_watched(void)
{
    for (int i = 0; i < 3; i++) {
        struct scene scene;
        char names[3][16];
        const char *roots[4] = {names[0], names[1], names[2], NULL};
        for (int k = 0; k < 3; k++) {
            (void)snprintf(names[k], sizeof names[k], "root%d%d", i, k);
        }
        scene_init(&scene, roots, "fs_write_allow");
        scene_watch(&scene);
        make_directory(in(roots[i], ".git"));
        CHECK(has_alarm(&scene, 5000));
        CHECK(is_path(scene_end(&scene)->path, in(roots[i], ".git")));
        fixture_release(&scene.f);
    }
}

/* The shortest record there is, alone and behind others. */
static void a_name_of_one_letter_is_seen(void)
{
    struct scene scene;
    AUTO_BUF toml;
    sbx_buf_init(&toml, 1 << 16);
    scene_init(&scene, (const char *[]){"short", NULL}, "fs_write_allow");
    fixture_release(&scene.f);
    sbx_buf_printf(&toml, "[sandbox.filesystem]\n'%s' = 'write'\n'%s' = 'read'\n", scratch("short"),
                   in("short", "z"));
    fixture_policy(&scene.f, SBX_WINDOWS, sbx_buf_text(&toml));
    scene.pins[0].path = fixture_path(&scene.f, scratch("short"));
    CHECK_CODE(sbx_wide_path(&scene.f.arena, scene.pins[0].path.text, &scene.pins[0].wide, &err),
               SBX_OK, &err);
    scene_watch(&scene);
    make_file(in("short", "y"));
    CHECK(!has_alarm(&scene, SETTLE_MS));
    make_file(in("short", "z"));
    CHECK(has_alarm(&scene, 5000));
    CHECK(is_path(scene_end(&scene)->path, in("short", "z")));
    fixture_release(&scene.f);
}

/* ---- not seen ---------------------------------------------------------------------------------- */

static void ordinary_names_are_not(void)
{
    struct scene scene;
    scene_init(&scene, (const char *[]){"plain", NULL}, "fs_write_allow");
    scene_watch(&scene);
    static const char *const names[] = {"a", "git", ".gitx", "x.git", ".gitignore", "git.exe"};
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        make_file(in("plain", names[i]));
    }
    make_directory(in("plain", "directory"));
    move(in("plain", "a"), in("plain", "b"));
    actor_write(in("plain", "atomic"), "through a temporary name");
    CHECK(!has_alarm(&scene, SETTLE_MS * 2));
    const struct sbx_watched *seen = scene_end(&scene);
    CHECK(seen->path == NULL);
    CHECK(!seen->has_lost);
    fixture_release(&scene.f);
}

static void one_that_was_there_is_not(void)
{
    struct scene scene;
    scene_init(&scene, (const char *[]){"before", NULL}, "fs_write_allow");
    make_directory(in("before", ".git"));
    actor_sleep_ms(SETTLE_MS);
    scene_watch(&scene);
    CHECK(!has_alarm(&scene, SETTLE_MS));
    CHECK(scene_end(&scene)->path == NULL);
    fixture_release(&scene.f);
}

static void what_is_not_writable_is_not_watched(void)
{
    struct scene scene;
    scene_init(&scene, (const char *[]){"readable", NULL}, "fs_read_allow");
    scene.watch = (struct sbx_watch *)&scene;
    CHECK_CODE(sbx_watch_open(&scene.f.policy, scene.pins, scene.count, &scene.watch, &err), SBX_OK,
               &err);
    CHECK(scene.watch == NULL);
    CHECK(sbx_watch_alarm(NULL) == NULL);
    struct sbx_watched seen = {.path = "x", .has_lost = true};
    sbx_watch_close(NULL, &scene.f.arena, &seen);
    CHECK(seen.path == NULL && !seen.has_lost);
    fixture_release(&scene.f);
}

/* ---- much, many, nothing ----------------------------------------------------------------------- */

static void among_many_it_is_seen_or_told(void)
{
    struct scene scene;
    scene_init(&scene, (const char *[]){"many", NULL}, "fs_write_allow");
    scene_watch(&scene);
    for (int i = 0; i < 3000; i++) {
        char name[256];
        (void)snprintf(name, sizeof name, "f%0100d", i);
        make_file(in("many", name));
        if (i == 2500) {
            make_directory(in("many", ".git"));
        }
    }
    bool has_rung = has_alarm(&scene, 10000);
    const struct sbx_watched *seen = scene_end(&scene);
    CHECK(has_rung || seen->has_lost);
    CHECK(seen->has_lost || is_path(seen->path, in("many", ".git")));
    fixture_release(&scene.f);
}

static void too_many_roots_are_refused(void)
{
    struct scene scene;
    static char names[ROOTS_MAX][16];
    const char *roots[ROOTS_MAX + 1] = {NULL};
    for (size_t i = 0; i < 64; i++) {
        (void)snprintf(names[i], sizeof names[i], "all%zu", i);
        roots[i] = names[i];
    }
    scene_init(&scene, roots, "fs_write_allow");
    size_t before = win_open_handles();
    CHECK_CODE(sbx_watch_open(&scene.f.policy, scene.pins, scene.count, &scene.watch, &err),
               SBX_E_LIMIT, &err);
    CHECK(scene.watch == NULL);
    CHECK(strstr(err.text, "more than 63 writable roots") != NULL);
    CHECK_U64(win_open_handles(), before);
    scene.count = 63;
    scene_watch(&scene);
    make_directory(in(roots[62], ".git"));
    CHECK(has_alarm(&scene, 5000));
    CHECK(scene_end(&scene)->path != NULL);
    fixture_release(&scene.f);
}

static void a_root_that_is_gone_is_an_error(void)
{
    struct scene scene;
    scene_init(&scene, (const char *[]){"kept", "gone", NULL}, "fs_write_allow");
    CHECK(DeleteFileA(in("gone", "there")) && RemoveDirectoryA(scratch("gone")));
    size_t before = win_open_handles();
    CHECK_CODE(sbx_watch_open(&scene.f.policy, scene.pins, scene.count, &scene.watch, &err),
               SBX_E_NOT_FOUND, &err);
    CHECK_TEXT(err.call, "CreateFileW");
    CHECK(strstr(err.text, "gone") != NULL);
    CHECK(scene.watch == NULL);
    CHECK_U64(win_open_handles(), before);
    fixture_release(&scene.f);
}

static void nothing_pending_closes_at_once(void)
{
    struct scene scene;
    scene_init(&scene, (const char *[]){"idle", NULL}, "fs_write_allow");
    size_t before = 0;
    ULONGLONG begin = GetTickCount64();
    for (int round = 0; round < 10; round++) {
        scene_watch(&scene);
        CHECK(scene_end(&scene)->path == NULL);
        CHECK(!scene.seen.has_lost);
        before = round == 1 ? win_open_handles() : before;
    }
    CHECK_U64(win_open_handles(), before);
    CHECK(GetTickCount64() - begin < 5000);
    fixture_release(&scene.f);
}

static const struct sbx_test tests[] = {
    {"a protected name that is made is seen, with its path", a_protected_name_is_seen},
    {"a rename to a protected name is seen", a_rename_to_it_is_seen},
    {"a protected name that is moved in from elsewhere is seen", what_is_moved_in_is_seen},
    {"a protected name inside of a directory that is moved in is seen",
     what_is_inside_of_what_is_moved_in_is_seen},
    {"what arrives deeper than is looked at is told", what_is_too_deep_is_told},
    {"another case does not hide it", case_does_not_hide_it},
    {"it is seen below directories too", below_it_is_seen},
    {"every writable root is watched", every_root_is_watched},
    {"a protected name of one letter is seen", a_name_of_one_letter_is_seen},
    {"ordinary names ring nothing", ordinary_names_are_not},
    {"a name that was there before rings nothing", one_that_was_there_is_not},
    {"what is not writable is not watched", what_is_not_writable_is_not_watched},
    {"among thousands of files it is seen or the loss is told", among_many_it_is_seen_or_told},
    {"more roots than can be watched are refused, one less is not", too_many_roots_are_refused},
    {"a root that is gone is an error and leaves nothing", a_root_that_is_gone_is_an_error},
    {"a watch with nothing pending closes at once and leaves nothing",
     nothing_pending_closes_at_once},
};

ACTOR_TEST_MAIN("protected names", tests)
