/* Pseudo consoles on the real system, as far as it has them: a program finds its own console there, a carried one
 * changes the caller's console and puts it back, and what is no console is refused. */
#include <windows.h>

#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/win_fixture.h"
#include "win/handle.h"
#include "win/terminal.h"

#include "common/base/banned.h"

static struct sbx_err err;

/* An actor on the pseudo console, started without sbx's own birth: that one is for containers. */
static bool start_on(HPCON console, const char *const *verb, HANDLE *process)
{
    WIN_ARENA(arena);
    struct sbx_process_plan plan;
    _Alignas(16) unsigned char room[256];
    SIZE_T size = sizeof room;
    LPPROC_THREAD_ATTRIBUTE_LIST list = (void *)room;
    STARTUPINFOEXW info = {.StartupInfo.cb = sizeof info, .lpAttributeList = list};
    PROCESS_INFORMATION born = {0};
    CHECK(win_birth(&arena, verb, &plan));
    CHECK(InitializeProcThreadAttributeList(list, 1, 0, &size));
    CHECK(UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE, console,
                                    sizeof console, NULL, NULL));
    bool is_born = CreateProcessW(plan.program, plan.command_line, NULL, NULL, FALSE,
                                  CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT,
                                  plan.environment, NULL, &info.StartupInfo, &born);
    DeleteProcThreadAttributeList(list);
    sbx_handle_close(&born.hThread);
    *process = born.hProcess;
    return is_born;
}

static const char *told_by(const char *const *verb)
{
    struct sbx_attend attend = {0};
    struct sbx_terminal terminal = {0};
    AUTO_HANDLE process = NULL;
    CHECK_CODE(sbx_attend_init(&attend, &err), SBX_OK, &err);
    CHECK_CODE(sbx_terminal_open(false, &attend, &terminal, &err), SBX_OK, &err);
    CHECK(start_on(terminal.console, verb, &process));
    CHECK_INT(WaitForSingleObject(process, 30000), WAIT_OBJECT_0);
    sbx_terminal_close(&terminal);
    sbx_attend_release(&attend);
    return actor_read(verb[1]);
}

static void a_program_finds_its_console(void)
{
    if (!sbx_terminal_is_available()) {
        sbx_test_skip("pseudo-console", "this Windows has no pseudo consoles");
        return;
    }
    CHECK_TEXT(told_by((const char *[]){"console", scratch("console"), NULL}), "120x30");
    /* Without one it has none: the tests run on pipes. */
    struct actor control;
    CHECK(actor_start(&control, (const char *[]){"console", scratch("none"), NULL}, NULL, NULL));
    CHECK_INT(actor_wait(&control), 0);
    if (GetConsoleWindow() == NULL &&
        GetFileType(GetStdHandle(STD_OUTPUT_HANDLE)) != FILE_TYPE_CHAR) {
        CHECK(strcmp(actor_read(scratch("none")), "120x30") != 0);
    }
}

static void it_closes_at_once_and_leaves_nothing(void)
{
    size_t before = 0;
    for (int round = 0; round < 4; round++) {
        struct sbx_attend attend = {0};
        struct sbx_terminal terminal = {0};
        CHECK_CODE(sbx_attend_init(&attend, &err), SBX_OK, &err);
        CHECK_CODE(sbx_terminal_open(false, &attend, &terminal, &err), SBX_OK, &err);
        CHECK(terminal.console != NULL && terminal.silent != NULL);
        CHECK(!terminal.has_modes);
        sbx_terminal_follow(&terminal); /* nothing to follow */
        ULONGLONG begin = GetTickCount64();
        sbx_terminal_end(&terminal);
        CHECK(terminal.console == NULL);
        sbx_terminal_end(&terminal);
        sbx_terminal_close(&terminal);
        CHECK(GetTickCount64() - begin < 4000);
        sbx_terminal_close(&terminal);
        sbx_attend_release(&attend);
        before = round == 1 ? win_open_handles() : before;
    }
    CHECK_U64(win_open_handles(), before);
}

static void a_carried_one_needs_a_console(void)
{
    HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
    HANDLE output = GetStdHandle(STD_OUTPUT_HANDLE);
    AUTO_HANDLE read_end = NULL;
    AUTO_HANDLE write_end = NULL;
    CHECK(CreatePipe(&read_end, &write_end, NULL, 0));
    (void)fflush(stdout);
    CHECK(SetStdHandle(STD_INPUT_HANDLE, read_end) && SetStdHandle(STD_OUTPUT_HANDLE, write_end));
    size_t before = 0;
    enum sbx_code code = SBX_OK;
    size_t after = 0;
    struct sbx_terminal terminal = {.input = (HANDLE)&err};
    for (int round = 0; round < 2; round++) {
        before = win_open_handles();
        struct sbx_attend attend = {0};
        code = sbx_terminal_open(true, &attend, &terminal, &err);
        after = win_open_handles();
        sbx_attend_release(&attend);
    }
    CHECK(SetStdHandle(STD_INPUT_HANDLE, input) && SetStdHandle(STD_OUTPUT_HANDLE, output));
    CHECK_CODE(code, SBX_E_INVALID, &err);
    CHECK_TEXT(err.call, "GetConsoleMode");
    CHECK_TEXT(err.hint, "leave out --tty");
    CHECK(terminal.input == (HANDLE)&err); /* untouched */
    CHECK_U64(after, before);
}

/* An actor on a pseudo console is a caller with a console. */
static void a_carried_one_is_put_back(void)
{
    CHECK_TEXT(told_by((const char *[]){"carry", scratch("carry"), NULL}),
               "opened raw carried closed back");
}

/* Whatever the code page: letters of several bytes, one beyond 16 bits, and more than a block. */
static void text_arrives_on_the_screen(void)
{
    CHECK_TEXT(told_by((const char *[]){"screen", scratch("screen"),
                                        "gr\xc3\xbc\xc3\x9f"
                                        "e.",
                                        NULL}),
               "ok terminal colours [gr\xc3\xbc\xc3\x9f"
               "e.              ]");
    static char much[20001];
    memset(much, 'x', sizeof much - 1);
    (void)snprintf(much + 5000, 8, "\xf0\x9f\x98\x80yyy");
    much[5007] = 'y';
    CHECK(strstr(told_by((const char *[]){"screen", scratch("much"), much, NULL}),
                 "ok terminal colours [xxxxxxxxxxxxxxxxxxxx]") != NULL);
}

static const struct sbx_test tests[] = {
    {"what sbx writes to a console shows on the screen", text_arrives_on_the_screen},
    {"a program on the pseudo console finds a console of the default size",
     a_program_finds_its_console},
    {"a pseudo console closes at once, twice too, and leaves nothing",
     it_closes_at_once_and_leaves_nothing},
    {"what is no console cannot carry a terminal, and nothing is left",
     a_carried_one_needs_a_console},
    {"a carried terminal makes the caller's console raw and puts it back",
     a_carried_one_is_put_back},
};

ACTOR_TEST_MAIN("pseudo consoles", tests)
