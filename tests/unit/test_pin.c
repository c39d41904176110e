/* Names that are held (win/pin.h), on real files: what is held, what is refused, and that it ends. Wine has no
 * reparse points: a link of Unix looks like what it leads to, and only its final name gives it away. What
 * Wine lacks is in test_pin_simulated.c. */
#include <windows.h>

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/unit/link_fixture.h"
#include "tests/unit/os_actor.h"
#include "win/handle.h"
#include "win/pin.h"
#include "win/wide.h"

#include "common/base/banned.h"

static struct sbx_err err;
static struct sbx_arena arena;

static struct sbx_path path_of(const char *text)
{
    struct sbx_path path = {"C:\\refused", 10, SBX_PATH_WINDOWS};
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_WINDOWS, sbx_str(text), &path), SBX_PATH_OK);
    return path;
}

static enum sbx_code pin_as(const char *text, enum sbx_pin_use use, struct sbx_pin *out)
{
    err = (struct sbx_err){0};
    return sbx_pin_open(&arena, path_of(text), use, out, &err);
}

static wchar_t *wide_of(const char *text)
{
    wchar_t *wide = NULL;
    CHECK_CODE(sbx_wide_path(&arena, text, &wide, &err), SBX_OK, &err);
    return wide;
}

static bool can_rename(const char *from, const char *to)
{
    bool moved = MoveFileExW(wide_of(from), wide_of(to), 0);
    return moved && MoveFileExW(wide_of(to), wide_of(from), 0);
}

static bool can_open(const char *path, DWORD access)
{
    AUTO_HANDLE file =
        CreateFileW(wide_of(path), access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                    NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    return sbx_handle_is_open(file);
}

static void make_directory(const char *path)
{
    CHECK(CreateDirectoryW(wide_of(path), NULL));
}

/* ---- what is held -------------------------------------------------------------------------- */

static void has_real_name(void)
{
    actor_write(scratch("names/Some File.txt"), "x");
    struct sbx_pin pin = {0};
    char asked[600];
    (void)snprintf(asked, sizeof asked, "%s", scratch("names/SOME file.TXT"));
    CHECK_CODE(pin_as(asked, SBX_PIN_ROOT, &pin), SBX_OK, &err);
    CHECK_STR(sbx_path_name(pin.path), "Some File.txt");
    CHECK(sbx_path_eq(pin.path, path_of(asked)));
    CHECK(!pin.is_directory);
    CHECK_U64(pin.links, 1);
    CHECK(pin.has_acls);
    const char *back = NULL;
    CHECK(wcsncmp(pin.wide, L"\\\\?\\", 4) == 0);
    CHECK_CODE(sbx_wide_to(&arena, pin.wide + 4, &back, &err), SBX_OK, &err);
    CHECK_TEXT(back, pin.path.text);
    char first[4] = "";
    DWORD got = 0;
    CHECK(ReadFile(pin.handle, first, 1, &got, NULL));
    CHECK_TEXT(first, "x");
    sbx_pin_close(&pin);
    CHECK(pin.handle == NULL);
    sbx_pin_close(&pin);
    sbx_pin_close(NULL);

    CHECK_CODE(pin_as(scratch("names"), SBX_PIN_DIRECTORY, &pin), SBX_OK, &err);
    CHECK(pin.is_directory);
    CHECK_U64(pin.links, 1);
    sbx_pin_close(&pin);
    CHECK_CODE(pin_as("C:\\", SBX_PIN_DIRECTORY, &pin), SBX_OK, &err);
    CHECK_TEXT(pin.path.text, "C:\\");
    sbx_pin_close(&pin);
}

static void directory_stays(void)
{
    make_directory(scratch("held"));
    make_directory(scratch("held/inner"));
    struct sbx_pin pin = {0};
    CHECK(can_rename(scratch("held/inner"), scratch("held/other")));
    CHECK_CODE(pin_as(scratch("held/inner"), SBX_PIN_ROOT, &pin), SBX_OK, &err);
    CHECK(!can_rename(scratch("held/inner"), scratch("held/other")));
    CHECK(!RemoveDirectoryW(wide_of(scratch("held/inner"))));
    CHECK(!can_open(scratch("held/inner"), DELETE));
    /* Work in it goes on. */
    actor_write(scratch("held/inner/file"), "x");
    CHECK_TEXT(actor_read(scratch("held/inner/file")), "x");
    CHECK(can_rename(scratch("held/inner/file"), scratch("held/inner/moved")));
    CHECK(DeleteFileW(wide_of(scratch("held/inner/file"))));
    sbx_pin_close(&pin);
    CHECK(can_rename(scratch("held/inner"), scratch("held/other")));
    CHECK(RemoveDirectoryW(wide_of(scratch("held/inner"))));
}

static void file_stays(void)
{
    const char *file = scratch("kept");
    actor_write(file, "x");
    struct sbx_pin pin = {0};
    CHECK_CODE(pin_as(file, SBX_PIN_ROOT, &pin), SBX_OK, &err);
    CHECK(!can_rename(file, scratch("kept2")));
    CHECK(!DeleteFileW(wide_of(file)));
    CHECK(can_open(file, GENERIC_WRITE)); /* a box may be allowed to */
    sbx_pin_close(&pin);
    CHECK(can_rename(file, scratch("kept2")));
    CHECK(DeleteFileW(wide_of(file)));
}

static void program_stays_and_runs(void)
{
    const char *copy = scratch("copy.exe");
    CHECK(CopyFileW(wide_of(actor_program()), wide_of(copy), TRUE));
    struct sbx_pin pin = {0};
    CHECK(can_open(copy, GENERIC_WRITE));
    CHECK_CODE(pin_as(copy, SBX_PIN_PROGRAM, &pin), SBX_OK, &err);
    CHECK(!can_open(copy, GENERIC_WRITE));
    CHECK(!can_rename(copy, scratch("copy2.exe")));
    CHECK(!DeleteFileW(wide_of(copy)));
    CHECK(!CopyFileW(wide_of(actor_program()), wide_of(copy), FALSE));
    /* The loader still gets at it. */
    struct sbx_outcome outcome = {0};
    struct sbx_plain_run run = {
        .program = copy,
        .argv = (const char *[]){copy, "--actor", "exit", "7", NULL},
        .env = (const char *[]){NULL},
    };
    CHECK_CODE(sbx_os_run_plain(&run, &outcome, &err), SBX_OK, &err);
    CHECK_U64(outcome.exit_code, 7);
    sbx_pin_close(&pin);
    CHECK(can_open(copy, GENERIC_WRITE));
    CHECK(DeleteFileW(wide_of(copy)));
}

/* Why pins ask for more than they need. */
static void attributes_hold_nothing(void)
{
    make_directory(scratch("loose"));
    AUTO_HANDLE file = CreateFileW(wide_of(scratch("loose")), FILE_READ_ATTRIBUTES, FILE_SHARE_READ,
                                   NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    CHECK(sbx_handle_is_open(file));
    CHECK(can_rename(scratch("loose"), scratch("loose2")));
}

static void identity_is_that_of_the_file(void)
{
    actor_write(scratch("one"), "x");
    actor_write(scratch("two"), "x");
    CHECK(CreateHardLinkW(wide_of(scratch("one-again")), wide_of(scratch("one")), NULL));
    struct sbx_pin one = {0};
    struct sbx_pin again = {0};
    struct sbx_pin two = {0};
    CHECK_CODE(pin_as(scratch("one"), SBX_PIN_ROOT, &one), SBX_OK, &err);
    CHECK_CODE(pin_as(scratch("one-again"), SBX_PIN_ROOT, &again), SBX_OK, &err);
    CHECK_CODE(pin_as(scratch("two"), SBX_PIN_ROOT, &two), SBX_OK, &err);
    CHECK_U64(one.links, 2);
    CHECK_U64(again.links, 2);
    CHECK_U64(two.links, 1);
    CHECK_U64(one.volume, two.volume);
    CHECK_MEM(&again.id, sizeof again.id, &one.id, sizeof one.id);
    CHECK(memcmp(&two.id, &one.id, sizeof one.id) != 0);
    sbx_pin_close(&one);
    sbx_pin_close(&again);
    sbx_pin_close(&two);
}

/* ---- what is refused ----------------------------------------------------------------------- */

static void check_refused(const char *path, enum sbx_pin_use use, enum sbx_code code)
{
    struct sbx_pin pin = {.links = 99};
    CHECK_CODE(pin_as(path, use, &pin), code, &err);
    CHECK(strstr(err.text, path_of(path).text) != NULL);
    CHECK(pin.handle == NULL);
    CHECK_U64(pin.links, 99);
}

static void missing_is_not_found(void)
{
    static const enum sbx_pin_use uses[] = {SBX_PIN_PROGRAM, SBX_PIN_DIRECTORY, SBX_PIN_ROOT};
    for (size_t i = 0; i < SBX_COUNT(uses); i++) {
        check_refused(scratch("none"), uses[i], SBX_E_NOT_FOUND);
        CHECK_INT(err.raw, ERROR_FILE_NOT_FOUND);
        CHECK_TEXT(err.call, "CreateFileW");
        check_refused(scratch("none\\below"), uses[i], SBX_E_NOT_FOUND);
        CHECK_INT(err.raw, ERROR_PATH_NOT_FOUND);
    }
    check_refused("Q:\\x", SBX_PIN_ROOT, SBX_E_NOT_FOUND);
}

static void kind_must_fit(void)
{
    make_directory(scratch("kind"));
    actor_write(scratch("kind\\file"), "x");
    check_refused(scratch("kind"), SBX_PIN_PROGRAM, SBX_E_DENIED);
    CHECK(strstr(err.text, "directory, not a program") != NULL);
    check_refused(scratch("kind\\file"), SBX_PIN_DIRECTORY, SBX_E_INVALID);
    CHECK(strstr(err.text, "file, not a directory") != NULL);
    struct sbx_pin pin = {0};
    CHECK_CODE(pin_as(scratch("kind\\file"), SBX_PIN_ROOT, &pin), SBX_OK, &err);
    sbx_pin_close(&pin);
    CHECK_CODE(pin_as(scratch("kind"), SBX_PIN_ROOT, &pin), SBX_OK, &err);
    sbx_pin_close(&pin);
}

static void links_are_refused(void)
{
    make_directory(scratch("real"));
    actor_write(scratch("real\\file.exe"), "x");
    if (!link_make(scratch("link"), scratch("real"), true) ||
        !link_make(scratch("file-link.exe"), scratch("real\\file.exe"), false)) {
        sbx_test_skip("links", "this system lets nobody make a symbolic link");
        return;
    }
    static const struct {
        const char *name;
        enum sbx_pin_use use;
        enum sbx_code code;
    } rows[] = {
        {"link", SBX_PIN_ROOT, SBX_E_INVALID},
        {"link", SBX_PIN_DIRECTORY, SBX_E_INVALID},
        {"file-link.exe", SBX_PIN_ROOT, SBX_E_INVALID},
        {"file-link.exe", SBX_PIN_PROGRAM, SBX_E_DENIED},
        {"link\\file.exe", SBX_PIN_ROOT, SBX_E_INVALID}, /* on the way */
        {"link\\file.exe", SBX_PIN_PROGRAM, SBX_E_DENIED},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        check_refused(scratch(rows[i].name), rows[i].use, rows[i].code);
        CHECK(err.hint[0] != '\0');
    }
    const char *real = path_of(scratch("real\\file.exe")).text;
    CHECK(strstr(err.text, real) != NULL);
    CHECK(strstr(err.hint, real) != NULL);
    /* By its real name each is fine. */
    struct sbx_pin pin = {0};
    CHECK_CODE(pin_as(scratch("real"), SBX_PIN_ROOT, &pin), SBX_OK, &err);
    sbx_pin_close(&pin);
    CHECK_CODE(pin_as(scratch("real\\file.exe"), SBX_PIN_PROGRAM, &pin), SBX_OK, &err);
    sbx_pin_close(&pin);
}

static void held_by_another(void)
{
    const char *file = scratch("busy");
    actor_write(file, "x");
    HANDLE other = CreateFileW(wide_of(file), GENERIC_WRITE | DELETE,
                               FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                               OPEN_EXISTING, 0, NULL);
    CHECK(sbx_handle_is_open(other));
    check_refused(file, SBX_PIN_ROOT, SBX_E_IO);
    CHECK_INT(err.raw, ERROR_SHARING_VIOLATION);
    CHECK(strstr(err.hint, "close the program") != NULL);
    sbx_handle_close(&other);
    struct sbx_pin pin = {0};
    CHECK_CODE(pin_as(file, SBX_PIN_ROOT, &pin), SBX_OK, &err);
    sbx_pin_close(&pin);
}

/* Wine does not tell final names as long as this; that such a root is held is in test_pin_simulated.c. */
static void long_directories(void)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s", scratch("deep"));
    make_directory(path);
    struct sbx_pin pin = {0};
    CHECK_CODE(pin_as(path, SBX_PIN_DIRECTORY, &pin), SBX_OK, &err);
    sbx_pin_close(&pin);
    while (strlen(path) <= 258) {
        size_t used = strlen(path);
        (void)snprintf(path + used, sizeof path - used, "\\%060d", 1);
        make_directory(path);
    }
    check_refused(path, SBX_PIN_DIRECTORY, SBX_E_LIMIT);
    CHECK(strstr(err.text, "258") != NULL);
}

/* The disk has a second, short name for it; our paths cannot even say it. */
static void short_names(void)
{
    const char *file = scratch("a file with a long name.txt");
    actor_write(file, "x");
    wchar_t name[MAX_PATH];
    DWORD len = GetShortPathNameW(wide_of(file) + SBX_WIDE_PREFIX_LEN, name, MAX_PATH);
    CHECK(len > 0 && len < MAX_PATH);
    struct sbx_path path;
    AUTO_HANDLE opened =
        CreateFileW(name, FILE_READ_ATTRIBUTES, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
    CHECK(sbx_handle_is_open(opened));
    CHECK_CODE(sbx_pin_real_path(&arena, opened, &path, &err), SBX_OK, &err);
    CHECK(sbx_path_eq(path, path_of(file)));
}

static const struct sbx_test tests[] = {
    {"what is held has the disk's own name, kind and links", has_real_name},
    {"a held directory is neither renamed nor removed; what is in it goes on", directory_stays},
    {"a held file is neither renamed nor deleted, and may be written", file_stays},
    {"a held program is not written either, and still runs", program_stays_and_runs},
    {"a handle for attributes alone would hold nothing", attributes_hold_nothing},
    {"two names of one file have one identity", identity_is_that_of_the_file},
    {"what is missing is not found, and the pin is left alone", missing_is_not_found},
    {"a program is a file, a working directory a directory", kind_must_fit},
    {"a link, also on the way, is refused with the real name", links_are_refused},
    {"what another is deleting is refused until it is done", held_by_another},
    {"a directory too long to work in is refused", long_directories},
    {"a short name leads to the long one", short_names},
};

int main(int argc, char **argv)
{
    sbx_arena_init(&arena, (size_t)16 << 20);
    actor_init(argv[0]);
    if (argc > 1 && sbx_text_eq(argv[1], "--actor")) {
        return actor_main(argc, argv);
    }
    int status = sbx_test_main(argc, argv, "pin", tests, SBX_COUNT(tests));
    actor_end();
    sbx_arena_release(&arena);
    return status;
}
