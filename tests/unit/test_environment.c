/* The environment of a child (win/environment.h): exact, sorted, minimal, and gone after use. */
#include <windows.h>

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/unit/os_actor.h"
#include "win/environment.h"
#include "win/handle.h"
#include "win/quote.h"
#include "win/system.h"
#include "win/wide.h"

#include "common/base/banned.h"

static struct sbx_err err;

static const char *system_root(void)
{
    static char text[300];
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    struct sbx_path root = {"", 0, SBX_PATH_WINDOWS};
    CHECK_CODE(sbx_system_directory(&arena, &root, &err), SBX_OK, &err);
    (void)snprintf(text, sizeof text, "%s", root.text);
    return text;
}

/* The block's entries against `want`; "@" at the end of one stands for the Windows directory, "@:" for its
 * drive. */
static void check_block(const wchar_t *block, const char *const *want)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 4 << 20);
    for (; *want != NULL; want++) {
        char expected[600];
        const char *text = NULL;
        size_t len = strcspn(*want, "@");
        (void)snprintf(expected, sizeof expected, "%.*s", (int)len, *want);
        if ((*want)[len] == '@') {
            bool is_drive = (*want)[len + 1] == ':';
            (void)snprintf(expected + len, sizeof expected - len, "%.*s%s", is_drive ? 2 : 200,
                           system_root(), is_drive ? "" : *want + len + 1);
        }
        CHECK_CODE(sbx_wide_to(&arena, block, &text, &err), SBX_OK, &err);
        CHECK_TEXT(text, expected);
        block += wcslen(block) + 1;
    }
    CHECK(*block == L'\0');
}

static void check_boxed(const char *const *env, const char *folder, const char *const *want)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 4 << 20);
    wchar_t *block = NULL;
    if (CHECK_CODE(sbx_environment_block_boxed(&arena, env, folder, &block, &err), SBX_OK, &err)) {
        check_block(block, want);
    }
}

/* ---- what is in it ------------------------------------------------------------------------- */

static void plain_is_sorted_and_minimal(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    wchar_t *block;
    const char *env[] = {"b=2", "a_=1", "B1=3", "A=0", "=C:=C:\\", "a=9", "empty=", NULL};
    CHECK_CODE(sbx_environment_block(&arena, env, &block, &err), SBX_OK, &err);
    check_block(block, (const char *[]){"=C:=C:\\", "A=0", "a=9", "a_=1", "b=2", "B1=3",
                                        "empty=", "SystemDrive=@:", "SystemRoot=@", NULL});
    CHECK_CODE(sbx_environment_block(&arena, (const char *[]){NULL}, &block, &err), SBX_OK, &err);
    check_block(block, (const char *[]){"SystemDrive=@:", "SystemRoot=@", NULL});
}

static void declared_wins_over_needed(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    wchar_t *block;
    CHECK_CODE(sbx_environment_block(&arena,
                                     (const char *[]){"SYSTEMROOT=D:\\w", "systemdrive=D:", NULL},
                                     &block, &err),
               SBX_OK, &err);
    check_block(block, (const char *[]){"systemdrive=D:", "SYSTEMROOT=D:\\w", NULL});
    check_boxed((const char *[]){"temp=D:\\t", "LocalAppData=D:\\l", "tmp=", NULL}, "C:\\box",
                (const char *[]){"LocalAppData=D:\\l", "SystemDrive=@:", "SystemRoot=@",
                                 "temp=D:\\t", "tmp=", NULL});
}

static void boxed_has_what_a_container_needs(void)
{
    check_boxed((const char *[]){"X=1", NULL}, "C:\\box",
                (const char *[]){"LOCALAPPDATA=C:\\box", "SystemDrive=@:", "SystemRoot=@",
                                 "TEMP=C:\\box", "TMP=C:\\box", "X=1", NULL});
    check_boxed((const char *[]){NULL}, NULL,
                (const char *[]){"LOCALAPPDATA=@\\Temp", "SystemDrive=@:", "SystemRoot=@",
                                 "TEMP=@\\Temp", "TMP=@\\Temp", NULL});
}

static void check_path(const char *path, const char *want)
{
    check_boxed((const char *[]){path, NULL}, "C:\\box",
                (const char *[]){"LOCALAPPDATA=C:\\box", want, "SystemDrive=@:", "SystemRoot=@",
                                 "TEMP=C:\\box", "TMP=C:\\box", NULL});
}

static void store_is_not_in_the_path(void)
{
    check_path("PATH=C:\\a;C:\\b", "PATH=C:\\a;C:\\b");
    check_path("Path=C:\\a;C:\\Users\\me\\AppData\\Local\\Microsoft\\WindowsApps;C:\\b",
               "Path=C:\\a;C:\\b");
    check_path("path=C:\\WINDOWSAPPS;C:\\b;C:/x/windowsapps/", "path=C:\\b");
    check_path("PATH=\"C:\\x\\WindowsApps\";\"C:\\a;b\"", "PATH=\"C:\\a;b\"");
    check_path("PATH=\"C:\\x;y\\WindowsApps\\z\";C:\\b", "PATH=C:\\b");
    check_path("PATH=C:\\Program Files\\WindowsApps\\Pkg_1\\bin", "PATH=");
    check_path("PATH=C:\\MyWindowsApps;C:\\WindowsApps2;;C:\\b",
               "PATH=C:\\MyWindowsApps;C:\\WindowsApps2;;C:\\b");
    check_path("PATH=", "PATH=");
    check_path("PATHEXT=C:\\WindowsApps", "PATHEXT=C:\\WindowsApps");
    /* A plain run is not a box: there a Store alias may start. */
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    wchar_t *block;
    CHECK_CODE(
        sbx_environment_block(&arena, (const char *[]){"PATH=C:\\WindowsApps", NULL}, &block, &err),
        SBX_OK, &err);
    check_block(block,
                (const char *[]){"PATH=C:\\WindowsApps", "SystemDrive=@:", "SystemRoot=@", NULL});
}

/* ---- what it refuses ----------------------------------------------------------------------- */

static void too_long_is_refused(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 8 << 20);
    static char text[32800] = "LONG=";
    wchar_t *block = NULL;
    memset(text + 5, 's', 32766 - 5);
    CHECK_CODE(sbx_environment_block(&arena, (const char *[]){text, NULL}, &block, &err), SBX_OK,
               &err);
    CHECK_U64(wcslen(block), 32766);
    text[32766] = 's';
    block = NULL;
    CHECK_CODE(sbx_environment_block(&arena, (const char *[]){text, NULL}, &block, &err),
               SBX_E_LIMIT, &err);
    CHECK(block == NULL);
    CHECK(strstr(err.text, "\"LONG\"") != NULL);
    CHECK(strstr(err.text, "ss") == NULL);
    /* Units count, not bytes. */
    memset(text, 0, sizeof text);
    memcpy(text, "E=", 2);
    for (size_t i = 0; i < 10900; i++) {
        memcpy(text + 2 + i * 3, "\xe2\x82\xac", 3);
    }
    CHECK_CODE(sbx_environment_block(&arena, (const char *[]){text, NULL}, &block, &err), SBX_OK,
               &err);
}

static void broken_values_are_refused_without_telling_them(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    wchar_t *block = NULL;
    CHECK_CODE(sbx_environment_block_boxed(&arena, (const char *[]){"A=b", "TOKEN=hush\xff", NULL},
                                           "C:\\box", &block, &err),
               SBX_E_INVALID, &err);
    CHECK(block == NULL);
    CHECK(strstr(err.text, "\"TOKEN\"") != NULL);
    CHECK(strstr(err.text, "hush") == NULL);
    AUTO_ARENA small;
    sbx_arena_init(&small, 64);
    CHECK_CODE(sbx_environment_block(&small, (const char *[]){"A=b", NULL}, &block, &err),
               SBX_E_NOMEM, &err);
}

/* ---- what is left of it -------------------------------------------------------------------- */

/* Is the secret, as UTF-16, anywhere in the memory that this process has written? Its units come one by one,
 * so that the search does not find itself. */
static bool is_in_memory(const char *secret)
{
    size_t len = strlen(secret);
    MEMORY_BASIC_INFORMATION info;
    unsigned char *at = NULL;
    for (; VirtualQuery(at, &info, sizeof info) != 0;
         at = (unsigned char *)info.BaseAddress + info.RegionSize) {
        bool is_ours =
            info.State == MEM_COMMIT && info.Type == MEM_PRIVATE && info.Protect == PAGE_READWRITE;
        const wchar_t *units = info.BaseAddress;
        size_t count = is_ours ? info.RegionSize / sizeof *units : 0;
        for (size_t i = 0; i + len <= count; i++) {
            size_t k = 0;
            while (k < len && units[i + k] == (wchar_t)(unsigned char)secret[k]) {
                k++;
            }
            if (k == len) {
                return true;
            }
        }
    }
    return false;
}

static void no_copy_is_left(void)
{
    static char variable[] = "TOKEN=correct horse battery staple";
    const char *secret = variable + 6;
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    wchar_t *block = NULL;
    CHECK(!is_in_memory(secret));
    CHECK_CODE(sbx_environment_block_boxed(&arena, (const char *[]){variable, "Z=1", NULL},
                                           "C:\\box", &block, &err),
               SBX_OK, &err);
    CHECK(is_in_memory(secret));
    sbx_environment_wipe(block);
    CHECK(!is_in_memory(secret));
    CHECK(*block == L'\0');
    sbx_environment_wipe(NULL);
    /* Nor when it fails half-way. */
    CHECK_CODE(sbx_environment_block_boxed(&arena, (const char *[]){variable, "Z=\xff", NULL},
                                           "C:\\box", &block, &err),
               SBX_E_INVALID, &err);
    CHECK(!is_in_memory(secret));
}

/* ---- a real child -------------------------------------------------------------------------- */

static void child_sees_it(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    wchar_t *block = NULL;
    wchar_t *line = NULL;
    wchar_t *program = NULL;
    const char *env[] = {"Path=C:\\WindowsApps;C:\\x", "\xc3\xa4=\xf0\x9f\x90\xa7", "TOKEN=hush",
                         NULL};
    const char *argv[] = {actor_program(), "--actor", "birth", scratch("birth"), "0", NULL};
    CHECK_CODE(sbx_environment_block_boxed(&arena, env, "C:\\box", &block, &err), SBX_OK, &err);
    CHECK_CODE(sbx_quote_argv(&arena, argv, &line, &err), SBX_OK, &err);
    CHECK_CODE(sbx_wide_from(&arena, argv[0], &program, &err), SBX_OK, &err);
    STARTUPINFOW info = {.cb = sizeof info};
    PROCESS_INFORMATION born = {0};
    CHECK(CreateProcessW(program, line, NULL, NULL, FALSE,
                         CREATE_UNICODE_ENVIRONMENT | CREATE_SUSPENDED, block, NULL, &info, &born));
    sbx_environment_wipe(block); /* the child has its own copy by now */
    (void)ResumeThread(born.hThread);
    CHECK_INT(WaitForSingleObject(born.hProcess, 60000), WAIT_OBJECT_0);
    sbx_handle_close(&born.hProcess);
    sbx_handle_close(&born.hThread);
    static const char *const want[] = {
        "env Path=C:\\x\n",
        "env \xc3\xa4=\xf0\x9f\x90\xa7\n",
        "env LOCALAPPDATA=C:\\box\n",
        "env TEMP=C:\\box\n",
        "env TMP=C:\\box\n",
        "env SystemDrive=",
        "env SystemRoot=",
        "env TOKEN=hush\n",
    };
    const char *all = actor_read(scratch("birth"));
    for (size_t i = 0; i < SBX_COUNT(want); i++) {
        if (strstr(all, want[i]) == NULL) {
            CHECK_TEXT(all, want[i]);
        }
    }
    CHECK(strstr(all, "USERPROFILE") == NULL);
    CHECK(strstr(all, "WindowsApps") == NULL);
}

static const struct sbx_test tests[] = {
    {"an environment block is sorted and has only what Windows needs", plain_is_sorted_and_minimal},
    {"a declared variable wins over a needed one", declared_wins_over_needed},
    {"a box has what an AppContainer needs, and nothing of the user's",
     boxed_has_what_a_container_needs},
    {"a box has no Store directory in its PATH", store_is_not_in_the_path},
    {"a variable longer than Windows takes is refused by name", too_long_is_refused},
    {"a broken value is refused and not told", broken_values_are_refused_without_telling_them},
    {"after the wipe no copy of a value is in memory", no_copy_is_left},
    {"a real child sees the environment of a box", child_sees_it},
};

ACTOR_TEST_MAIN("environment", tests)
