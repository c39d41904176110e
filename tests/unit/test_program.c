/* Which file a command line means (win/program.h), on real files; links where Wine has them. */
#include <windows.h>

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/unit/image_fixture.h"
#include "tests/unit/link_fixture.h"
#include "tests/unit/os_actor.h"
#include "tests/unit/random.h"
#include "win/handle.h"
#include "win/image.h"
#include "win/program.h"
#include "win/wide.h"

#include "common/base/banned.h"

static struct sbx_err err;
static struct sbx_arena arena;

static enum sbx_code find(const char *const *argv, const char *search_path, struct sbx_program *out)
{
    err = (struct sbx_err){0};
    return sbx_program_find(&arena, argv, search_path, out, &err);
}

static wchar_t *wide_of(const char *text)
{
    wchar_t *wide = NULL;
    CHECK_CODE(sbx_wide_path(&arena, text, &wide, &err), SBX_OK, &err);
    return wide;
}

static void put(const char *path, const void *bytes, size_t len)
{
    CHECK_CODE(sbx_os_write_atomic(path, (struct sbx_str){bytes, len}, &err), SBX_OK, &err);
}

static void put_image(const char *path, const struct image_fixture *image)
{
    unsigned char bytes[IMAGE_BYTES_MAX];
    put(path, bytes, image_make(image, bytes));
}

static void check_found(const char *program, const char *search_path, const char *want,
                        const char *note)
{
    struct sbx_program found = {0};
    if (CHECK_CODE(find((const char *[]){program, NULL}, search_path, &found), SBX_OK, &err)) {
        CHECK_STR(sbx_path_name(found.pin.path), want);
        CHECK_TEXT(found.note, note);
    }
    sbx_program_close(&found);
}

static void check_refused(const char *program, const char *search_path, enum sbx_code code,
                          const char *why)
{
    struct sbx_program found = {.note = "untouched"};
    CHECK_CODE(find((const char *[]){program, NULL}, search_path, &found), code, &err);
    CHECK_TEXT(found.note, "untouched");
    CHECK(found.pin.handle == NULL);
    if (strstr(err.text, why) == NULL && strstr(err.hint, why) == NULL) {
        CHECK_TEXT(err.text, why);
    }
    CHECK(err.hint[0] != '\0');
}

/* ---- the search ---------------------------------------------------------------------------- */

static void found_is_held_and_runs(void)
{
    const char *copy = scratch("run/Some Tool.exe");
    actor_write(scratch("run/other"), "x");
    CHECK(CopyFileW(wide_of(actor_program()), wide_of(copy), TRUE));
    struct sbx_program found = {0};
    const char *argv[] = {"some tool", "--actor", "exit", "9", NULL};
    CHECK_CODE(find(argv, scratch("run"), &found), SBX_OK, &err);
    CHECK_STR(sbx_path_name(found.pin.path), "Some Tool.exe");
    CHECK(found.note == NULL);
    CHECK(wcscmp(found.command_line, L"\"some tool\" --actor exit 9") == 0);
    CHECK(wcsncmp(found.path, L"\\\\?\\", 4) != 0);
    CHECK(!DeleteFileW(wide_of(copy)));
    STARTUPINFOW info = {.cb = sizeof info};
    PROCESS_INFORMATION born = {0};
    CHECK(CreateProcessW(found.path, found.command_line, NULL, NULL, FALSE, 0, NULL, NULL, &info,
                         &born));
    DWORD code = 0;
    CHECK_INT(WaitForSingleObject(born.hProcess, 60000), WAIT_OBJECT_0);
    CHECK(GetExitCodeProcess(born.hProcess, &code));
    CHECK_U64(code, 9);
    sbx_handle_close(&born.hProcess);
    sbx_handle_close(&born.hThread);
    sbx_program_close(&found);
    sbx_program_close(&found);
    sbx_program_close(NULL);
    CHECK(DeleteFileW(wide_of(copy)));
}

static void store_is_passed_over(void)
{
    char list[2048];
    put_image(scratch("store/Microsoft/WindowsApps/python.exe"), &(struct image_fixture){0});
    put_image(scratch("store/Microsoft/WINDOWSAPPS/other.exe"), &(struct image_fixture){0});
    put_image(scratch("real/python.exe"), &(struct image_fixture){0});
    const char *store = scratch("store/Microsoft/WindowsApps");
    (void)snprintf(list, sizeof list, "%s;%s", store, scratch("real"));
    struct sbx_program found = {0};
    CHECK_CODE(find((const char *[]){"python", NULL}, list, &found), SBX_OK, &err);
    CHECK(!sbx_str_contains(sbx_str(found.pin.path.text), "WindowsApps"));
    sbx_program_close(&found);
    check_refused("python", store, SBX_E_DENIED, "Microsoft Store");
    check_refused(scratch("store/Microsoft/WindowsApps/python.exe"), NULL, SBX_E_DENIED,
                  "Microsoft Store");
    check_refused("other", list, SBX_E_DENIED, "ordinary installer");
    /* A name that only looks like it is fine. */
    put_image(scratch("MyWindowsApps/tool.exe"), &(struct image_fixture){0});
    check_found("tool", scratch("MyWindowsApps"), "tool.exe", NULL);
}

static void links_are_followed(void)
{
    put_image(scratch("target/tool.exe"), &(struct image_fixture){0});
    put(scratch("target/tool.bat"), "@exit", 5);
    if (!link_make(scratch("shim.exe"), scratch("target/tool.exe"), false) ||
        !link_make(scratch("current"), scratch("target"), true) ||
        !link_make(scratch("sly.exe"), scratch("target/tool.bat"), false)) {
        sbx_test_skip("links", "this system lets nobody make a symbolic link");
        return;
    }
    check_found(scratch("shim.exe"), NULL, "tool.exe", NULL);
    check_found("tool.exe", scratch("current"), "tool.exe", NULL);
    struct sbx_program found = {0};
    CHECK_CODE(find((const char *[]){"tool.exe", NULL}, scratch("current"), &found), SBX_OK, &err);
    CHECK(sbx_str_contains(sbx_str(found.pin.path.text), "\\target\\"));
    sbx_program_close(&found);
    /* What is behind the link counts, not what it is called. */
    check_refused(scratch("sly.exe"), NULL, SBX_E_DENIED, "batch file");
}

static void odd_names_are_refused(void)
{
    static const char *const names[] = {
        "\\\\localhost\\c$\\windows\\system32\\cmd.exe",
        "//server/share/tool.exe",
        "\\\\.\\C:\\windows\\system32\\cmd.exe",
        "\\\\?\\C:\\windows\\system32\\cmd.exe",
        "\\\\.\\pipe\\x",
        "C:\\windows\\system32\\cmd.exe:stream",
        "C:\\windows\\system32\\cmd.exe::$DATA",
    };
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        check_refused(names[i], NULL, SBX_E_DENIED, "only a file on a drive can");
    }
    check_found("C:\\windows\\system32\\cmd.exe", NULL, "cmd.exe", NULL); /* the control */
    check_found("C:/WINDOWS/./System32/CMD", NULL, "cmd.exe", NULL);
    struct sbx_program found = {0};
    CHECK_CODE(find((const char *[]){"", NULL}, NULL, &found), SBX_E_NOT_FOUND, &err);
    CHECK_CODE(find((const char *[]){NULL}, NULL, &found), SBX_E_NOT_FOUND, &err);
    CHECK_CODE(find((const char *[]){"sbx-none", NULL}, "C:\\;D:\\none", &found), SBX_E_NOT_FOUND,
               &err);
    CHECK_CODE(find((const char *[]){"nul", NULL}, NULL, &found), SBX_E_NOT_FOUND, &err);
}

static void short_names_become_long(void)
{
    put_image(scratch("a tool with a long name.exe"), &(struct image_fixture){0});
    wchar_t name[MAX_PATH];
    const char *text = NULL;
    DWORD len =
        GetShortPathNameW(wide_of(scratch("a tool with a long name.exe")) + 4, name, MAX_PATH);
    CHECK(len > 0 && len < MAX_PATH);
    CHECK_CODE(sbx_wide_to(&arena, name, &text, &err), SBX_OK, &err);
    check_found(text, NULL, "a tool with a long name.exe", NULL);
}

/* ---- the image ----------------------------------------------------------------------------- */

static void images_are_told_apart(void)
{
    static const struct {
        struct image_fixture image;
        const char *why; /* NULL: a program */
    } rows[] = {
        {{0}, NULL},
        {{.machine = IMAGE_FILE_MACHINE_I386, .is_32 = true}, NULL},
        {{.machine = IMAGE_FILE_MACHINE_ARM64}, NULL},
        {{.machine = 0xa641}, NULL},
        {{.subsystem = IMAGE_SUBSYSTEM_WINDOWS_GUI}, NULL},
        {{.machine = IMAGE_FILE_MACHINE_ARMNT, .is_32 = true}, "another processor"},
        {{.machine = IMAGE_FILE_MACHINE_IA64}, "another processor"},
        {{.machine = 0x5064}, "another processor"},
        {{.characteristics = IMAGE_FILE_EXECUTABLE_IMAGE | IMAGE_FILE_DLL}, "DLL"},
        {{.characteristics = IMAGE_FILE_LARGE_ADDRESS_AWARE}, "damaged"},
        {{.subsystem = IMAGE_SUBSYSTEM_NATIVE}, "driver"},
        {{.subsystem = IMAGE_SUBSYSTEM_EFI_APPLICATION}, "firmware"},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        put_image(scratch("image.exe"), &rows[i].image);
        if (rows[i].why == NULL) {
            check_found(scratch("image.exe"), NULL, "image.exe", NULL);
        } else {
            check_refused(scratch("image.exe"), NULL, SBX_E_DENIED, rows[i].why);
            CHECK_INT(err.raw, ERROR_BAD_EXE_FORMAT);
        }
    }
    check_refused("C:\\windows\\system32\\kernel32.dll", NULL, SBX_E_DENIED, "DLL");
}

static void scripts_name_their_interpreter(void)
{
    static const struct {
        const char *name;
        const char *text;
        const char *hint;
    } rows[] = {
        {"s/script.py", "print(1)\n", "-- python \""},
        {"s/script.PS1", "exit\n", "powershell -NoProfile -File"},
        {"s/script.js", "#!/usr/bin/env node\n", "-- node \""},
        {"s/script.jar", "PK", "java -jar"},
        {"s/script.sh", "#!/bin/sh\n", "interpreter of a script"},
        {"s/empty.exe", "", "interpreter of a script"},
        {"s/text.exe", "hello", "interpreter of a script"},
        {"s/old.com", "\xb4\x4c\xcd\x21", "interpreter of a script"},
        {"s/dos.exe", "MZ\x90", "DOS or 16-bit"},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        put(scratch(rows[i].name), rows[i].text, strlen(rows[i].text));
        check_refused(scratch(rows[i].name), NULL, SBX_E_DENIED, rows[i].hint);
        CHECK(strstr(err.text, "\\s\\") != NULL);
    }
    unsigned char bytes[IMAGE_BYTES_MAX];
    size_t size = image_make(&(struct image_fixture){0}, bytes);
    bytes[0x80] = 'N';
    bytes[0x81] = 'E';
    put(scratch("ne.exe"), bytes, size);
    check_refused(scratch("ne.exe"), NULL, SBX_E_DENIED, "16-bit");
}

static void unix_runtimes_are_noted(void)
{
    static const struct {
        struct image_fixture image;
        bool is_noted;
    } rows[] = {
        {{.imports = {"KERNEL32.dll", "msvcrt.dll"}}, false},
        {{.imports = {"msys-2.0.dll"}}, true},
        {{.imports = {"KERNEL32.dll", "user32.dll", "MSYS-2.0.DLL"}}, true},
        {{.imports = {"KERNEL32.dll", "cygwin1.dll"}, .names_first = true}, true},
        {{.imports = {"Cygwin1.dll"}, .machine = IMAGE_FILE_MACHINE_I386, .is_32 = true}, true},
        {{.imports = {"msys-2.0.dll.x"}}, false},
        {{.imports = {"cygwin1"}}, false},
        {{.imports = {"xcygwin1.dll"}}, false},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        put_image(scratch("tool.exe"), &rows[i].image);
        check_found(scratch("tool.exe"), NULL, "tool.exe",
                    rows[i].is_noted ? sbx_image_unix_note : NULL);
    }
    CHECK(strstr(sbx_image_unix_note, "AppContainer") != NULL);
    /* A shell of Git for Windows is a native program that starts one of MSYS2. */
    put_image(scratch("Git/bin/bash.exe"), &(struct image_fixture){0});
    put_image(scratch("Git/bin/git.exe"), &(struct image_fixture){0});
    check_found(scratch("Git/bin/bash.exe"), NULL, "bash.exe", NULL);
    put(scratch("Git/usr/bin/msys-2.0.dll"), "x", 1);
    check_found(scratch("Git/bin/bash.exe"), NULL, "bash.exe", sbx_image_unix_note);
    check_found(scratch("Git/bin/git.exe"), NULL, "git.exe", NULL);
}

/* Every byte of a header may lie. */
static void broken_headers_are_survived(void)
{
    unsigned char bytes[IMAGE_BYTES_MAX];
    static const struct image_fixture image = {.imports = {"KERNEL32.dll", "cygwin1.dll"}};
    const char *file = scratch("broken.exe");
    size_t size = image_make(&image, bytes);
    uint64_t state = 7;
    size_t programs = 0;
    size_t refused = 0;
    put(file, bytes, size);
    AUTO_HANDLE handle =
        CreateFileW(wide_of(file), GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL);
    CHECK(sbx_handle_is_open(handle));
    struct sbx_path path = {"C:\\broken.exe", 13, SBX_PATH_WINDOWS};
    for (int round = 0; round < 3000; round++) {
        (void)image_make(&image, bytes);
        size_t changes = 1 + random_below(&state, 4);
        for (size_t i = 0; i < changes; i++) {
            size_t at = random_below(&state, 4) == 0 ? random_below(&state, size)
                                                     : random_below(&state, 0x1c0);
            static const unsigned char odd[] = {0, 1, 0x7f, 0x80, 0xff};
            bytes[at] = random_below(&state, 2) == 0 ? odd[random_below(&state, SBX_COUNT(odd))]
                                                     : (unsigned char)random_next(&state);
        }
        DWORD len = (DWORD)(random_below(&state, 3) == 0 ? random_below(&state, size) : size);
        DWORD done = 0;
        CHECK(SetFilePointer(handle, 0, NULL, FILE_BEGIN) == 0);
        CHECK(WriteFile(handle, bytes, len, &done, NULL) && SetEndOfFile(handle));
        const char *note = NULL;
        enum sbx_code code = sbx_image_check(handle, path, &note, &err);
        programs += code == SBX_OK;
        refused += code == SBX_E_DENIED;
    }
    CHECK_U64(programs + refused, 3000);
    CHECK(programs > 100);
    CHECK(refused > 100);
}

/* ---- the line ------------------------------------------------------------------------------ */

static void cmd_gets_its_own_line(void)
{
    struct sbx_program found = {0};
    const char *argv[] = {"CMD", "/C", "echo", "a  b", "\"c d\"", "&", "ver", NULL};
    CHECK_CODE(find(argv, NULL, &found), SBX_OK, &err);
    CHECK(wcscmp(found.command_line, L"cmd.exe /s /C \"echo a  b \"c d\" & ver\"") == 0);
    sbx_program_close(&found);
    /* Another program of that name reads its line as others do. */
    put_image(scratch("mine/cmd.exe"), &(struct image_fixture){0});
    CHECK_CODE(find(argv, scratch("mine"), &found), SBX_OK, &err);
    CHECK(wcscmp(found.command_line, L"\"CMD\" /C echo \"a  b\" \"\\\"c d\\\"\" & ver") == 0);
    sbx_program_close(&found);
    CHECK_CODE(find((const char *[]){"cmd", "/c", "echo\n", NULL}, NULL, &found), SBX_E_INVALID,
               &err);
    CHECK(found.pin.handle == NULL);
}

static const struct sbx_test tests[] = {
    {"what is found is held, and runs from where it is held", found_is_held_and_runs},
    {"apps of the Store are passed over, and said to be", store_is_passed_over},
    {"a link leads to the program, which is judged by its own name", links_are_followed},
    {"shares, devices and streams are no programs", odd_names_are_refused},
    {"a short name finds the program under its long one", short_names_become_long},
    {"only a program for this Windows is one", images_are_told_apart},
    {"a script is refused with its interpreter", scripts_name_their_interpreter},
    {"programs of MSYS2 and Cygwin carry a note", unix_runtimes_are_noted},
    {"no header, however broken, is believed past the file's end", broken_headers_are_survived},
    {"cmd.exe gets a line by its own rules, a copy of its name does not", cmd_gets_its_own_line},
};

int main(int argc, char **argv)
{
    sbx_arena_init(&arena, (size_t)64 << 20);
    actor_init(argv[0]);
    if (argc > 1 && sbx_text_eq(argv[1], "--actor")) {
        return actor_main(argc, argv);
    }
    int status = sbx_test_main(argc, argv, "program", tests, SBX_COUNT(tests));
    actor_end();
    sbx_arena_release(&arena);
    return status;
}
