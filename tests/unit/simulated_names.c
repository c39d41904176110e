/* Held names and programs on answers that Windows gives and Wine does not: reparse points, drives, volumes, swaps
 * between two calls, and every call failing in turn. Proves how we react, not that Windows answers so. */
#include <windows.h>

#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/unit/image_fixture.h"
#include "tests/unit/names_world.h"
#include "win/environment.h"
#include "win/image.h"
#include "win/pin.h"
#include "win/program.h"

#include "common/base/banned.h"

static struct sbx_err err;
static struct sbx_arena arena;
static unsigned char image[IMAGE_BYTES_MAX];
static size_t image_size;

static struct sbx_path path_of(const char *text)
{
    struct sbx_path path = {"C:\\refused", 10, SBX_PATH_WINDOWS};
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_WINDOWS, sbx_str(text), &path), SBX_PATH_OK);
    return path;
}

/* The pin is closed again. */
static enum sbx_code pin(const char *path, enum sbx_pin_use use, struct sbx_pin *out)
{
    err = (struct sbx_err){0};
    *out = (struct sbx_pin){.links = 99};
    enum sbx_code code = sbx_pin_open(&arena, path_of(path), use, out, &err);
    if (code == SBX_OK) {
        CHECK_U64(world_handles(), 1);
        sbx_pin_close(out);
    } else {
        CHECK(out->handle == NULL);
        CHECK_U64(out->links, 99);
    }
    CHECK_U64(world_handles(), 0);
    return code;
}

static void check_pin(const char *path, enum sbx_pin_use use, enum sbx_code want, const char *why)
{
    struct sbx_pin held;
    CHECK_CODE(pin(path, use, &held), want, &err);
    if (why != NULL && strstr(err.text, why) == NULL && strstr(err.hint, why) == NULL) {
        CHECK_TEXT(err.text, why);
    }
    if (want != SBX_OK) {
        CHECK(strstr(err.text, path) != NULL);
        CHECK(err.hint[0] != '\0');
    }
}

static enum sbx_code find(const char *const *argv, const char *search_path)
{
    struct sbx_program found = {.note = "untouched"};
    err = (struct sbx_err){0};
    enum sbx_code code = sbx_program_find(&arena, argv, search_path, &found, &err);
    if (code == SBX_OK) {
        CHECK_U64(world_handles(), 1);
        sbx_program_close(&found);
    } else {
        CHECK_TEXT(found.note, "untouched");
    }
    CHECK_U64(world_handles(), 0);
    return code;
}

static void check_find(const char *program, const char *list, enum sbx_code want, const char *why)
{
    CHECK_CODE(find((const char *[]){program, NULL}, list), want, &err);
    if (why != NULL && strstr(err.text, why) == NULL && strstr(err.hint, why) == NULL) {
        CHECK_TEXT(err.text, why);
    }
}

/* ---- reparse points ------------------------------------------------------------------------ */

static void reparse_points_are_named(void)
{
    static const struct {
        DWORD tag;
        const char *why; /* NULL: allowed */
    } rows[] = {
        {0xa000000c, "symbolic link"},
        {0xa0000003, "junction"},
        {0xa000001d, "Linux"},
        {0x8000001b, "Microsoft Store"},
        {0x9000001a, "cloud"},
        {0x9000f01a, "cloud"},
        {0x9000601a, "cloud"},
        {0x80000021, "cloud"},
        {0x9000001c, "provider"},
        {0x80000018, "container"},
        {0x90001018, "container"},
        {0x80000023, "socket"},
        {0x80000014, "unknown kind"},
        {0xa0000019, "unknown kind"},
        {0x12345678, "0x12345678"},
        {0x80000017, NULL}, /* compressed by the system */
        {0x80000013, NULL}, /* deduplicated */
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        struct world_file files[] = {
            {.name = L"C:\\"},
            {.name = L"C:\\x", .tag = rows[i].tag},
            {.name = L"C:\\d", .tag = rows[i].tag, .is_directory = true},
        };
        WORLD_SET(files);
        enum sbx_code want = rows[i].why == NULL ? SBX_OK : SBX_E_INVALID;
        check_pin("C:\\x", SBX_PIN_ROOT, want, rows[i].why);
        check_pin("C:\\d", SBX_PIN_ROOT, want, rows[i].why);
        check_pin("C:\\d", SBX_PIN_DIRECTORY, want, rows[i].why);
        check_pin("C:\\x", SBX_PIN_PROGRAM, rows[i].why == NULL ? SBX_OK : SBX_E_DENIED,
                  rows[i].why);
    }
}

/* What is on the way shows in the final name alone. */
static void other_names_are_refused_with_the_real_one(void)
{
    struct world_file files[] = {
        {.name = L"C:\\"},
        {.name = L"C:\\a", .is_directory = true},
        {.name = L"C:\\a\\b", .is_directory = true},
        {.name = L"C:\\junction\\b", .final = L"D:\\real\\b", .is_directory = true},
        {.name = L"S:\\b", .final = L"C:\\a\\b", .is_directory = true},
        {.name = L"C:\\SHORTY\\b", .final = L"C:\\a long name\\b", .is_directory = true},
        {.name = L"N:\\b", .final = L"UNC\\server\\share\\b", .is_directory = true},
        {.name = L"W:\\b", .final = L"UNC\\wsl.localhost\\Debian\\b", .is_directory = true},
        {.name = L"V:\\b", .final = L"Volume{0-0}\\b", .is_directory = true},
        {.name = L"C:\\A\\C", .final = L"C:\\a\\c", .is_directory = true},
        {.name = L"C:\\a\\\x00c4", .final = L"C:\\a\\\x00e4", .is_directory = true},
        {.name = L"C:\\odd", .final = L"C:\\\xd800", .is_directory = true},
    };
    static const enum sbx_pin_use uses[] = {SBX_PIN_ROOT, SBX_PIN_DIRECTORY};
    for (size_t i = 0; i < SBX_COUNT(uses); i++) {
        WORLD_SET(files);
        check_pin("C:\\a\\b", uses[i], SBX_OK, NULL);
        check_pin("C:\\junction\\b", uses[i], SBX_E_INVALID, "use the real name: D:\\real\\b");
        check_pin("S:\\b", uses[i], SBX_E_INVALID, "use the real name: C:\\a\\b");
        check_pin("C:\\SHORTY\\b", uses[i], SBX_E_INVALID, "C:\\a long name\\b");
        check_pin("N:\\b", uses[i], SBX_E_UNSUPPORTED, "UNC\\server\\share");
        check_pin("W:\\b", uses[i], SBX_E_UNSUPPORTED, "another machine");
        struct sbx_pin held;
        CHECK_CODE(pin("V:\\b", uses[i], &held), SBX_E_INVALID, &err);
        CHECK_CODE(pin("C:\\odd", uses[i], &held), SBX_E_INVALID, &err);
        CHECK_CODE(pin("C:\\A\\C", uses[i], &held), SBX_OK, &err);
        CHECK_TEXT(held.path.text, "C:\\a\\c");
        CHECK(wcscmp(held.wide, L"\\\\?\\C:\\a\\c") == 0);
        CHECK_CODE(pin("C:\\a\\\xc3\x84", uses[i], &held), SBX_OK, &err);
        CHECK_TEXT(held.path.text, "C:\\a\\\xc3\xa4");
    }
}

/* ---- drives and volumes -------------------------------------------------------------------- */

static void roots_are_on_fixed_drives(void)
{
    static const struct {
        UINT type;
        const char *why;
    } rows[] = {
        {DRIVE_FIXED, NULL},
        {DRIVE_REMOVABLE, "removable"},
        {DRIVE_REMOTE, "another machine"},
        {DRIVE_CDROM, "optical"},
        {DRIVE_RAMDISK, "memory"},
        {DRIVE_UNKNOWN, "unknown"},
        {DRIVE_NO_ROOT_DIR, "no drive"},
        {77, "unknown kind"},
    };
    struct world_file files[] = {
        {.name = L"E:\\"},
        {.name = L"E:\\d", .is_directory = true},
        {.name = L"E:\\x"},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        WORLD_SET(files);
        world_drive(rows[i].type);
        check_pin("E:\\d", SBX_PIN_ROOT, rows[i].why == NULL ? SBX_OK : SBX_E_UNSUPPORTED,
                  rows[i].why);
        /* A program or a working directory is not granted by it. */
        check_pin("E:\\d", SBX_PIN_DIRECTORY, SBX_OK, NULL);
        check_pin("E:\\x", SBX_PIN_PROGRAM, SBX_OK, NULL);
    }
}

static void roots_need_access_lists(void)
{
    struct world_file files[] = {
        {.name = L"D:\\", .is_directory = true},
        {.name = L"D:\\fat", .is_directory = true, .has_no_lists = true},
        {.name = L"D:\\ntfs", .is_directory = true},
    };
    WORLD_SET(files);
    struct sbx_pin held;
    check_pin("D:\\fat", SBX_PIN_ROOT, SBX_E_UNSUPPORTED, "NTFS");
    check_pin("D:\\ntfs", SBX_PIN_ROOT, SBX_OK, NULL);
    CHECK_CODE(pin("D:\\fat", SBX_PIN_DIRECTORY, &held), SBX_OK, &err);
    CHECK(!held.has_acls);
    CHECK_CODE(pin("D:\\ntfs", SBX_PIN_DIRECTORY, &held), SBX_OK, &err);
    CHECK(held.has_acls);
}

static void case_sensitive_directories_are_refused(void)
{
    struct world_file files[] = {
        {.name = L"C:\\", .is_directory = true},
        {.name = L"C:\\wsl", .is_directory = true, .is_case_sensitive = true},
        {.name = L"C:\\wsl\\x"},
        {.name = L"C:\\wsl\\d", .is_directory = true},
        {.name = L"C:\\plain", .is_directory = true},
        {.name = L"C:\\plain\\x"},
    };
    WORLD_SET(files);
    check_pin("C:\\wsl", SBX_PIN_ROOT, SBX_E_UNSUPPORTED, "differ by case");
    check_pin("C:\\wsl\\x", SBX_PIN_ROOT, SBX_E_UNSUPPORTED, "fsutil");
    check_pin("C:\\wsl\\d", SBX_PIN_ROOT, SBX_E_UNSUPPORTED, "differ by case");
    check_pin("C:\\wsl", SBX_PIN_DIRECTORY, SBX_OK, NULL);
    check_pin("C:\\plain", SBX_PIN_ROOT, SBX_OK, NULL);
    check_pin("C:\\plain\\x", SBX_PIN_ROOT, SBX_OK, NULL);
    /* A parent that the user may not look at is none of the user's making. */
    files[4].open_error = ERROR_ACCESS_DENIED;
    check_pin("C:\\plain\\x", SBX_PIN_ROOT, SBX_OK, NULL);
}

static void identity_falls_back_to_64_bits(void)
{
    struct world_file files[] = {
        {.name = L"C:\\"},
        {.name = L"C:\\new", .links = 3},
        {.name = L"C:\\old", .has_no_id = true},
    };
    static const BYTE want_new[16] = {9};
    static const BYTE want_old[16] = {4, 3, 2, 1, 8, 7, 6, 5};
    struct sbx_pin held;
    WORLD_SET(files);
    CHECK_CODE(pin("C:\\new", SBX_PIN_ROOT, &held), SBX_OK, &err);
    CHECK_U64(held.volume, 0x1122334455667788);
    CHECK_U64(held.links, 3);
    CHECK_MEM(held.id.Identifier, 16, want_new, 16);
    CHECK_CODE(pin("C:\\old", SBX_PIN_ROOT, &held), SBX_OK, &err);
    CHECK_U64(held.volume, 0xabcd);
    CHECK_MEM(held.id.Identifier, 16, want_old, 16);
}

static void long_roots_are_held(void)
{
    static wchar_t name[2000] = L"C:\\";
    static char text[2000] = "C:\\";
    for (size_t i = 3; i < 1500; i++) {
        name[i] = i % 200 == 0 ? L'\\' : L'n';
        text[i] = i % 200 == 0 ? '\\' : 'n';
    }
    struct world_file files[] = {{.name = name, .is_directory = true}};
    WORLD_SET(files);
    struct sbx_pin held;
    CHECK_CODE(pin(text, SBX_PIN_ROOT, &held), SBX_OK, &err);
    CHECK_TEXT(held.path.text, text);
    CHECK_CODE(pin(text, SBX_PIN_DIRECTORY, &held), SBX_E_LIMIT, &err);
}

/* A handle holds a name only if it takes part in sharing. */
static void accesses_take_part_in_sharing(void)
{
    struct world_file files[] = {{.name = L"C:\\"}, {.name = L"C:\\x"}};
    struct sbx_pin held;
    WORLD_SET(files);
    CHECK_CODE(pin("C:\\x", SBX_PIN_PROGRAM, &held), SBX_OK, &err);
    CHECK((world_last_access() & (FILE_READ_DATA | FILE_EXECUTE)) ==
          (FILE_READ_DATA | FILE_EXECUTE));
    CHECK_U64(world_last_share(), FILE_SHARE_READ);
    files[1].is_directory = true;
    CHECK_CODE(pin("C:\\x", SBX_PIN_DIRECTORY, &held), SBX_OK, &err);
    CHECK((world_last_access() & FILE_LIST_DIRECTORY) != 0);
    CHECK_U64(world_last_share(), FILE_SHARE_READ | FILE_SHARE_WRITE);
}

/* ---- programs ------------------------------------------------------------------------------ */

static void store_aliases_are_passed_over(void)
{
    struct world_file files[] = {
        {.name = L"C:\\alias\\python.exe", .tag = 0x8000001b},
        {.name = L"C:\\real\\python.exe", .bytes = image, .size = image_size},
        {.name = L"C:\\link\\tool.exe",
         .tag = 0xa000000c,
         .target = L"C:\\Program Files\\WindowsApps\\pkg\\tool.exe"},
        {.name = L"C:\\Program Files\\WindowsApps\\pkg\\tool.exe",
         .bytes = image,
         .size = image_size},
        {.name = L"C:\\cloud\\tool.exe", .tag = 0x9000001a},
    };
    WORLD_SET(files);
    check_find("python", "C:\\alias;C:\\real", SBX_OK, NULL);
    check_find("python", "C:\\alias", SBX_E_DENIED, "Microsoft Store");
    check_find("C:\\alias\\python.exe", NULL, SBX_E_DENIED, "Microsoft Store");
    check_find("tool", "C:\\link", SBX_E_DENIED, "Microsoft Store");
    check_find("tool", "C:\\cloud", SBX_E_DENIED, "placeholder");
    CHECK_INT(err.raw, ERROR_CANT_ACCESS_FILE);
}

static void links_to_programs_are_followed_once(void)
{
    struct world_file files[] = {
        {.name = L"C:\\nvm\\node.exe", .tag = 0xa000000c, .target = L"C:\\v20\\node.exe"},
        {.name = L"C:\\v20\\node.exe", .bytes = image, .size = image_size},
        {.name = L"C:\\current\\node.exe",
         .final = L"C:\\v20\\node.exe",
         .bytes = image,
         .size = image_size},
        {.name = L"C:\\sly.exe", .tag = 0xa000000c, .target = L"C:\\evil.bat"},
        {.name = L"C:\\evil.bat"},
        {.name = L"N:\\tool.exe", .final = L"UNC\\server\\share\\tool.exe"},
        {.name = L"C:\\dir.exe", .is_directory = true},
    };
    WORLD_SET(files);
    struct sbx_program found = {0};
    CHECK_CODE(sbx_program_find(&arena, (const char *[]){"node", NULL}, "C:\\nvm", &found, &err),
               SBX_OK, &err);
    CHECK_TEXT(found.pin.path.text, "C:\\v20\\node.exe");
    CHECK(wcscmp(found.path, L"C:\\v20\\node.exe") == 0);
    sbx_program_close(&found);
    CHECK_CODE(
        sbx_program_find(&arena, (const char *[]){"node", NULL}, "C:\\current", &found, &err),
        SBX_OK, &err);
    CHECK_TEXT(found.pin.path.text, "C:\\v20\\node.exe");
    sbx_program_close(&found);
    check_find("C:\\sly.exe", NULL, SBX_E_DENIED, "batch file");
    check_find("tool", "N:\\", SBX_E_DENIED, "another machine");
    check_find("C:\\dir.exe", NULL, SBX_E_DENIED, "is a directory");
    CHECK_U64(world_handles(), 0);
}

/* Only what is surely absent is passed over: else another program of the same name would run. */
static void doubt_ends_the_search(void)
{
    struct world_file files[] = {
        {.name = L"C:\\first\\tool.exe", .open_error = ERROR_ACCESS_DENIED},
        {.name = L"C:\\second\\tool.exe", .bytes = image, .size = image_size},
    };
    static const struct {
        DWORD raw;
        enum sbx_code want;
    } rows[] = {
        {ERROR_ACCESS_DENIED, SBX_E_DENIED},
        {ERROR_SHARING_VIOLATION, SBX_E_IO},
        {ERROR_CANT_ACCESS_FILE, SBX_E_DENIED},
        {ERROR_NOT_ENOUGH_MEMORY, SBX_E_NOMEM},
        {ERROR_FILE_NOT_FOUND, SBX_OK},
        {ERROR_PATH_NOT_FOUND, SBX_OK},
        {ERROR_NOT_READY, SBX_OK},
        {ERROR_BAD_NETPATH, SBX_OK},
        {ERROR_NETWORK_UNREACHABLE, SBX_OK},
        {ERROR_INVALID_NAME, SBX_OK},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        files[0].open_error = rows[i].raw;
        WORLD_SET(files);
        check_find("tool", "C:\\first;C:\\second", rows[i].want, NULL);
        if (rows[i].want != SBX_OK) {
            CHECK_INT(err.raw, rows[i].raw);
            CHECK_TEXT(err.call, "CreateFileW");
        }
    }
}

/* ---- swaps --------------------------------------------------------------------------------- */

static struct world_file swapped[3];

static void becomes_link(void)
{
    swapped[1].tag = 0xa000000c;
    swapped[1].target = L"C:\\other.exe";
}

static void becomes_other_place(void)
{
    swapped[1].final = L"C:\\elsewhere\\tool.exe"; /* its directory became a junction */
}

static void becomes_script(void)
{
    swapped[1].bytes = "#!/bin/sh";
    swapped[1].size = 9;
}

static void becomes_alias(void)
{
    swapped[1].tag = 0x8000001b;
}

static void disappears(void)
{
    swapped[1].name = L"C:\\gone.exe";
}

static void becomes_directory(void)
{
    swapped[1].is_directory = true;
}

/* Found at the first opening, changed before the second, which is the one that counts. */
static void what_is_swapped_after_the_search_does_not_run(void)
{
    static const struct {
        void (*swap)(void);
        enum sbx_code want;
        const char *why;
    } rows[] = {
        {becomes_link, SBX_E_DENIED, "symbolic link"},
        {becomes_other_place, SBX_E_DENIED, "another name of"},
        {becomes_script, SBX_E_DENIED, "not a program"},
        {becomes_alias, SBX_E_DENIED, "Microsoft Store"},
        {disappears, SBX_E_NOT_FOUND, "does not exist"},
        {becomes_directory, SBX_E_DENIED, "is a directory"},
        {NULL, SBX_OK, NULL},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        swapped[0] = (struct world_file){.name = L"C:\\"};
        swapped[1] =
            (struct world_file){.name = L"C:\\tool.exe", .bytes = image, .size = image_size};
        swapped[2] =
            (struct world_file){.name = L"C:\\other.exe", .bytes = image, .size = image_size};
        WORLD_SET(swapped);
        if (rows[i].swap != NULL) {
            world_before_open(2, rows[i].swap);
        }
        check_find("C:\\tool.exe", NULL, rows[i].want, rows[i].why);
    }
}

/* What happens to the name after it is held changes nothing: only the handle is asked. */
static void what_is_swapped_after_the_pin_is_not_seen(void)
{
    swapped[0] = (struct world_file){.name = L"C:\\d", .is_directory = true};
    swapped[1] = (struct world_file){.name = L"C:\\d\\x", .is_directory = true};
    WORLD_SET(swapped);
    struct sbx_pin held;
    world_before_open(2, becomes_link); /* the second is that of the parent */
    CHECK_CODE(pin("C:\\d\\x", SBX_PIN_ROOT, &held), SBX_OK, &err);
    CHECK_TEXT(held.path.text, "C:\\d\\x");
    CHECK_CODE(pin("C:\\d\\x", SBX_PIN_ROOT, &held), SBX_E_INVALID, &err); /* the control */
}

/* ---- every call fails ---------------------------------------------------------------------- */

static const DWORD plausible[] = {
    ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION,   ERROR_NOT_ENOUGH_MEMORY, ERROR_GEN_FAILURE,
    ERROR_IO_DEVICE,     ERROR_NO_SYSTEM_RESOURCES, ERROR_INVALID_HANDLE,
};

/* The calls of GetFileInformationByHandleEx about case, and those to look at the parent, may fail: then there is
 * no such directory. */
static bool may_fail(const char *call, enum sbx_code code)
{
    return code == SBX_OK &&
           (sbx_text_eq(call, "GetFileInformationByHandleEx") || sbx_text_eq(call, "CreateFileW"));
}

static unsigned sweep(enum sbx_code (*work)(void))
{
    unsigned points = 0;
    unsigned passed = 0;
    for (unsigned n = 1; n < 100; n++) {
        for (size_t i = 0; i < SBX_COUNT(plausible); i++) {
            world_set(swapped, SBX_COUNT(swapped));
            world_fail(n, plausible[i]);
            enum sbx_code code = work();
            if (world_failed() == NULL) {
                CHECK_CODE(code, SBX_OK, &err);
                CHECK(points > 0);
                CHECK(passed <= 3 * SBX_COUNT(plausible));
                return points;
            }
            points++;
            passed += code == SBX_OK;
            if (!may_fail(world_failed(), code)) {
                CHECK(code != SBX_OK);
                CHECK_TEXT(err.call, world_failed());
                CHECK_INT(err.raw, plausible[i]);
                CHECK_INT(err.os, SBX_OS_WIN32);
            }
            CHECK_U64(world_handles(), 0);
        }
    }
    CHECK(false);
    return 0;
}

static enum sbx_code pin_a_root(void)
{
    struct sbx_pin held;
    return pin("C:\\d\\x", SBX_PIN_ROOT, &held);
}

static enum sbx_code find_a_program(void)
{
    return find((const char *[]){"cmd", "/c", "ver", NULL}, NULL);
}

static void every_failure_names_its_call_and_leaves_nothing(void)
{
    swapped[0] = (struct world_file){.name = L"C:\\d", .is_directory = true};
    swapped[1] = (struct world_file){.name = L"C:\\d\\x", .is_directory = true};
    swapped[2] = (struct world_file){
        .name = L"C:\\Windows\\System32\\cmd.exe", .bytes = image, .size = image_size};
    unsigned points = sweep(pin_a_root);
    CHECK(points >= 7 * SBX_COUNT(plausible));
    points += sweep(find_a_program);
    CHECK(points >= 17 * SBX_COUNT(plausible));
}

static void memory_may_run_out(void)
{
    swapped[0] = (struct world_file){.name = L"C:\\d", .is_directory = true};
    swapped[1] = (struct world_file){.name = L"C:\\d\\x", .is_directory = true};
    swapped[2] = (struct world_file){
        .name = L"C:\\Windows\\System32\\cmd.exe", .bytes = image, .size = image_size};
    bool was_refused = false;
    for (size_t size = 0; size < 1 << 20; size = size * 5 / 4 + 64) {
        AUTO_ARENA small;
        sbx_arena_init(&small, size);
        struct sbx_program found = {0};
        struct sbx_pin held = {0};
        world_set(swapped, SBX_COUNT(swapped));
        enum sbx_code code = sbx_program_find(&small, (const char *[]){"cmd", "/c", "ver", NULL},
                                              "C:\\Windows\\System32", &found, &err);
        was_refused = was_refused || code == SBX_E_NOMEM;
        CHECK(code == SBX_E_NOMEM || code == SBX_OK);
        sbx_program_close(&found);
        CHECK_U64(world_handles(), 0);
        sbx_arena_release(&small);
        sbx_arena_init(&small, size);
        code = sbx_pin_open(&small, (struct sbx_path){"C:\\d\\x", 6, SBX_PATH_WINDOWS},
                            SBX_PIN_ROOT, &held, &err);
        CHECK(code == SBX_E_NOMEM || code == SBX_OK);
        sbx_pin_close(&held);
        CHECK_U64(world_handles(), 0);
    }
    CHECK(was_refused);
}

static const struct sbx_test tests[] = {
    {"each kind of reparse point is refused by its name", reparse_points_are_named},
    {"a junction, a subst, a share, a short name is refused with the real name",
     other_names_are_refused_with_the_real_one},
    {"a root is on a fixed drive", roots_are_on_fixed_drives},
    {"a root is on a volume with access lists", roots_need_access_lists},
    {"a root is not where names differ by case", case_sensitive_directories_are_refused},
    {"where 128 bits of identity are unknown, 64 count", identity_falls_back_to_64_bits},
    {"a root longer than MAX_PATH is held", long_roots_are_held},
    {"every pin takes part in sharing", accesses_take_part_in_sharing},
    {"a Store alias is passed over, and said to be", store_aliases_are_passed_over},
    {"a link to a program is followed, and what is behind is judged",
     links_to_programs_are_followed_once},
    {"only what is surely absent is passed over", doubt_ends_the_search},
    {"what is swapped after the search does not run",
     what_is_swapped_after_the_search_does_not_run},
    {"what is swapped after the pin is not seen", what_is_swapped_after_the_pin_is_not_seen},
    {"every failure names its call and leaves nothing",
     every_failure_names_its_call_and_leaves_nothing},
    {"without memory nothing is left open", memory_may_run_out},
};

int main(int argc, char **argv)
{
    sbx_arena_init(&arena, (size_t)64 << 20);
    image_size = image_make(&(struct image_fixture){.imports = {"KERNEL32.dll"}}, image);
    int status = sbx_test_main(argc, argv, "simulated_names", tests, SBX_COUNT(tests));
    sbx_arena_release(&arena);
    return status;
}
