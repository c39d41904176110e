/* Held names and programs on the model of NT: sharing, access checks and reparse points that act, not only
 * answers. Proves how we react, not that Windows answers so. */
#include <windows.h>

#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/ntmodel/nt_model.h"
#include "win/handle.h"
#include "win/pin.h"
#include "win/program.h"

#include "common/base/banned.h"

const struct sbx_winapi *sbx_win(void)
{
    return nt_model_table();
}

#define PROJECT "C:\\Users\\user\\project"
#define WIDE_PROJECT L"C:\\Users\\user\\project"

static struct sbx_err err;
static struct sbx_arena arena;
static struct nt_model *model;

static void begin(void)
{
    model = nt_model_new(&(struct nt_world){0});
    nt_model_settle(model);
}

/* Everything that was opened is closed again, and nothing was asked of a handle that is not open. */
static void end(void)
{
    CHECK_TEXT(nt_model_leftovers(model), "");
    CHECK_U64(nt_model_bad_handles(model), 0);
    CHECK_U64(nt_model_not_modelled(model), 0);
    nt_model_free(model);
    model = NULL;
}

static enum sbx_code open_pin(const char *text, enum sbx_pin_use use, struct sbx_pin *out)
{
    struct sbx_path path = {"C:\\refused", 10, SBX_PATH_WINDOWS};
    CHECK_INT(sbx_path_make(&arena, SBX_PATH_WINDOWS, sbx_str(text), &path), SBX_PATH_OK);
    err = (struct sbx_err){0};
    return sbx_pin_open(&arena, path, use, out, &err);
}

static void check_pin(const char *path, enum sbx_pin_use use, enum sbx_code want, const char *why)
{
    struct sbx_pin held = {0};
    CHECK_CODE(open_pin(path, use, &held), want, &err);
    if (why != NULL && strstr(err.text, why) == NULL && strstr(err.hint, why) == NULL) {
        CHECK_TEXT(err.text, why);
    }
    sbx_pin_close(&held);
}

static void check_find(const char *program, const char *list, enum sbx_code want, const char *why)
{
    struct sbx_program found = {0};
    err = (struct sbx_err){0};
    CHECK_CODE(sbx_program_find(&arena, (const char *[]){program, NULL}, list, &found, &err), want,
               &err);
    const char *told =
        want == SBX_OK && found.pin.path.text != NULL ? found.pin.path.text : err.text;
    if (why != NULL && strstr(told, why) == NULL && strstr(err.hint, why) == NULL) {
        CHECK_TEXT(told, why);
    }
    sbx_program_close(&found);
}

/* ---- where things are ---------------------------------------------------------------------- */

static void volumes_and_drives(void)
{
    begin();
    check_pin(PROJECT, SBX_PIN_ROOT, SBX_OK, NULL);
    check_pin("c:\\USERS\\User\\PROJECT\\readme.MD", SBX_PIN_ROOT, SBX_OK, NULL);
    check_pin("D:\\data", SBX_PIN_ROOT, SBX_E_UNSUPPORTED, "access lists");
    check_pin("D:\\data", SBX_PIN_DIRECTORY, SBX_OK, NULL);
    check_pin("N:\\team", SBX_PIN_ROOT, SBX_E_UNSUPPORTED, "server\\share\\team");
    check_pin("N:\\team", SBX_PIN_DIRECTORY, SBX_E_UNSUPPORTED, "another machine");
    check_pin("S:\\src", SBX_PIN_ROOT, SBX_E_INVALID, "use the real name: " PROJECT "\\src");
    check_pin("S:\\tool.exe", SBX_PIN_PROGRAM, SBX_E_DENIED, PROJECT "\\tool.exe");
    check_pin("Q:\\x", SBX_PIN_ROOT, SBX_E_NOT_FOUND, NULL);
    check_pin(PROJECT "\\none", SBX_PIN_ROOT, SBX_E_NOT_FOUND, NULL);
    check_pin(PROJECT "\\README.md\\x", SBX_PIN_ROOT, SBX_E_NOT_FOUND, NULL);
    end();
}

static void reparse_points(void)
{
    begin();
    nt_put_link(model, WIDE_PROJECT L"\\link", 0xA000000C, WIDE_PROJECT L"\\src", true);
    nt_put_link(model, WIDE_PROJECT L"\\junction", 0xA0000003, L"C:\\Users\\user\\.ssh", true);
    nt_put_link(model, WIDE_PROJECT L"\\file.md", 0xA000000C, WIDE_PROJECT L"\\README.md", false);
    nt_put_link(model, WIDE_PROJECT L"\\cloud", 0x9000601A, NULL, true);
    nt_put_link(model, WIDE_PROJECT L"\\alias.exe", 0x8000001B, NULL, false);
    nt_model_settle(model);
    check_pin(PROJECT "\\link", SBX_PIN_ROOT, SBX_E_INVALID, "symbolic link");
    check_pin(PROJECT "\\link\\main.c", SBX_PIN_ROOT, SBX_E_INVALID, PROJECT "\\src\\main.c");
    check_pin(PROJECT "\\junction", SBX_PIN_DIRECTORY, SBX_E_INVALID, "junction");
    check_pin(PROJECT "\\junction\\id_rsa", SBX_PIN_ROOT, SBX_E_INVALID,
              "C:\\Users\\user\\.ssh\\id_rsa");
    check_pin(PROJECT "\\file.md", SBX_PIN_ROOT, SBX_E_INVALID, "symbolic link");
    check_pin(PROJECT "\\cloud", SBX_PIN_ROOT, SBX_E_INVALID, "cloud");
    check_pin(PROJECT "\\alias.exe", SBX_PIN_PROGRAM, SBX_E_DENIED, "Microsoft Store");
    check_pin(PROJECT "\\src\\main.c", SBX_PIN_ROOT, SBX_OK, NULL);
    end();
}

static void hard_links_are_counted(void)
{
    begin();
    nt_put_hard_link(model, WIDE_PROJECT L"\\src\\copy", WIDE_PROJECT L"\\README.md");
    nt_model_settle(model);
    struct sbx_pin one = {0};
    struct sbx_pin two = {0};
    CHECK_CODE(open_pin(PROJECT "\\README.md", SBX_PIN_ROOT, &one), SBX_OK, &err);
    CHECK_CODE(open_pin(PROJECT "\\src\\copy", SBX_PIN_ROOT, &two), SBX_OK, &err);
    CHECK_U64(one.links, 2);
    CHECK_MEM(&one.id, sizeof one.id, &two.id, sizeof two.id);
    CHECK_TEXT(two.path.text, PROJECT "\\src\\copy");
    sbx_pin_close(&one);
    sbx_pin_close(&two);
    end();
}

/* ---- what is held -------------------------------------------------------------------------- */

static BOOL move(const wchar_t *from, const wchar_t *to)
{
    return sbx_win()->MoveFileExW(from, to, 0);
}

static void what_is_held_stays(void)
{
    begin();
    struct sbx_pin held = {0};
    CHECK_CODE(open_pin(PROJECT "\\src", SBX_PIN_ROOT, &held), SBX_OK, &err);
    CHECK(!move(WIDE_PROJECT L"\\src", WIDE_PROJECT L"\\other"));
    CHECK(!move(WIDE_PROJECT, L"C:\\Users\\user\\other")); /* nor what is above it */
    CHECK(move(WIDE_PROJECT L"\\src\\main.c", WIDE_PROJECT L"\\src\\x.c"));
    CHECK(move(WIDE_PROJECT L"\\src\\x.c", WIDE_PROJECT L"\\src\\main.c"));
    sbx_pin_close(&held);
    CHECK(move(WIDE_PROJECT L"\\src", WIDE_PROJECT L"\\other"));
    CHECK(move(WIDE_PROJECT L"\\other", WIDE_PROJECT L"\\src"));
    CHECK_CODE(open_pin(PROJECT "\\tool.exe", SBX_PIN_PROGRAM, &held), SBX_OK, &err);
    CHECK(!sbx_win()->DeleteFileW(WIDE_PROJECT L"\\tool.exe"));
    CHECK(!move(WIDE_PROJECT L"\\README.md", WIDE_PROJECT L"\\tool.exe"));
    AUTO_HANDLE writer = sbx_win()->CreateFileW(
        WIDE_PROJECT L"\\tool.exe", GENERIC_WRITE,
        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL);
    CHECK(!sbx_handle_is_open(writer));
    sbx_pin_close(&held);
    writer = sbx_win()->CreateFileW(WIDE_PROJECT L"\\tool.exe", GENERIC_WRITE,
                                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                    OPEN_EXISTING, 0, NULL);
    CHECK(sbx_handle_is_open(writer));
    sbx_handle_close(&writer);
    end();
}

/* Between two calls another process of the user puts a link where the directory was. */
static bool swap_at(void *state, enum sbx_winapi_id id, unsigned n)
{
    (void)id;
    if (n == *(const unsigned *)state) {
        nt_remove(model, WIDE_PROJECT L"\\src"); /* fails while it is held, as rmdir would */
        if (!nt_exists(model, WIDE_PROJECT L"\\src")) {
            nt_put_link(model, WIDE_PROJECT L"\\src", 0xA0000003, L"C:\\Users\\user\\.ssh", true);
        }
    }
    return true;
}

/* At whatever call it happens: either the link is seen and refused, or what is held is the directory itself. */
static void a_swap_at_any_call_is_seen_or_comes_too_late(void)
{
    unsigned refused = 0;
    unsigned held_ones = 0;
    for (unsigned n = 1; n < 12; n++) {
        begin();
        nt_model_before(model, swap_at, &n);
        struct sbx_pin held = {0};
        enum sbx_code code = open_pin(PROJECT "\\src", SBX_PIN_ROOT, &held);
        if (code == SBX_OK) {
            held_ones++;
            CHECK_TEXT(held.path.text, PROJECT "\\src");
            BY_HANDLE_FILE_INFORMATION info = {0};
            CHECK(sbx_win()->GetFileInformationByHandle(held.handle, &info));
            CHECK((info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0);
            CHECK(!move(WIDE_PROJECT L"\\src", WIDE_PROJECT L"\\other"));
        } else {
            refused++;
            CHECK_CODE(code, SBX_E_INVALID, &err);
        }
        sbx_pin_close(&held);
        nt_model_free(model);
    }
    CHECK_U64(refused, 1);
    CHECK(held_ones > 5);
}

/* ---- rights -------------------------------------------------------------------------------- */

static void what_the_user_may_not_open_is_refused(void)
{
    begin();
    nt_put_file(model, WIDE_PROJECT L"\\closed", "x", "O:SYG:SYD:P(A;;FA;;;SY)");
    nt_model_settle(model);
    check_pin(PROJECT "\\closed", SBX_PIN_ROOT, SBX_E_DENIED, "at most what you may");
    CHECK_INT(err.raw, ERROR_ACCESS_DENIED);
    check_find(PROJECT "\\closed", NULL, SBX_E_DENIED, NULL);
    check_pin(PROJECT "\\README.md", SBX_PIN_ROOT, SBX_OK, NULL);
    end();
}

/* ---- programs ------------------------------------------------------------------------------ */

static void programs_are_found(void)
{
    begin();
    nt_put_image(model, L"C:\\tools\\old.exe", NT_IMAGE_16);
    nt_put_image(model, L"C:\\tools\\arm.exe", NT_IMAGE_FOREIGN);
    nt_put_link(model, L"C:\\tools\\git.exe", 0xA000000C, L"C:\\Program Files\\Git\\cmd\\git.exe",
                false);
    nt_put_link(model, L"C:\\tools\\current", 0xA0000003, L"C:\\Program Files\\Git\\cmd", true);
    nt_put_link(model, L"C:\\tools\\dangling.exe", 0xA000000C, L"C:\\none.exe", false);
    nt_put_stream(model, WIDE_PROJECT L"\\README.md", L"tool.exe", "MZ");
    nt_model_settle(model);
    check_find("cmd", NULL, SBX_OK, "C:\\Windows\\System32\\cmd.exe");
    check_find("GIT", "C:\\tools", SBX_OK, "C:\\Program Files\\Git\\cmd\\git.exe");
    check_find("git", "C:\\tools\\current", SBX_OK, "C:\\Program Files\\Git\\cmd\\git.exe");
    check_find("S:\\tool.exe", NULL, SBX_OK, PROJECT "\\tool.exe");
    check_find("D:\\data\\tool.exe", NULL, SBX_OK, "D:\\data\\tool.exe");
    check_find("old", "C:\\tools", SBX_E_DENIED, "16-bit");
    check_find("arm", "C:\\tools", SBX_E_DENIED, "another processor");
    check_find("tool", "C:\\Program Files\\WindowsApps", SBX_E_DENIED, "Microsoft Store");
    check_find("python", "C:\\Users\\user\\AppData\\Local\\Microsoft\\WindowsApps", SBX_E_DENIED,
               "Microsoft Store");
    check_find(PROJECT "\\README.md", NULL, SBX_E_DENIED, "not a program");
    check_find(PROJECT "\\README.md:tool.exe", NULL, SBX_E_DENIED, "on a drive");
    check_find("C:\\tools\\dangling.exe", NULL, SBX_E_NOT_FOUND, NULL);
    check_find("none", "C:\\tools;" PROJECT, SBX_E_NOT_FOUND, "no directory of PATH");
    end();
}

static void calls_do_not_grow_with_what_is_inside(void)
{
    unsigned calls[2] = {0, 0};
    for (size_t round = 0; round < 2; round++) {
        begin();
        for (unsigned i = 0; i < (round == 0 ? 1U : 500U); i++) {
            wchar_t name[64];
            (void)swprintf(name, SBX_COUNT(name), WIDE_PROJECT L"\\src\\%u", i);
            nt_put_file(model, name, "x", NULL);
        }
        nt_model_settle(model);
        check_pin(PROJECT, SBX_PIN_ROOT, SBX_OK, NULL);
        calls[round] = nt_model_calls_total(model);
        end();
    }
    CHECK_U64(calls[0], calls[1]);
    CHECK(calls[0] <= 12);
}

static const struct sbx_test tests[] = {
    {"a root is on a fixed drive with access lists, by its real name", volumes_and_drives},
    {"links, junctions, aliases and placeholders are refused, also on the way", reparse_points},
    {"hard links are counted and have one identity", hard_links_are_counted},
    {"what is held stays, and what is above it; afterwards it moves", what_is_held_stays},
    {"a swap at any call is seen, or comes too late", a_swap_at_any_call_is_seen_or_comes_too_late},
    {"what the user may not open is refused", what_the_user_may_not_open_is_refused},
    {"programs are found, links followed, foreign ones refused", programs_are_found},
    {"holding a directory costs the same however much is in it",
     calls_do_not_grow_with_what_is_inside},
};

int main(int argc, char **argv)
{
    sbx_arena_init(&arena, (size_t)64 << 20);
    int status = sbx_test_main(argc, argv, "simulated_names_model", tests, SBX_COUNT(tests));
    sbx_arena_release(&arena);
    return status;
}
