/* The attempts of the self-test on Windows, tried outside any box: there they must do what they say, leave nothing,
 * and tell what is not there from what is refused. Where Wine cannot, its answer is asserted. */
#include <windows.h>

#include <stdio.h>
#include <string.h>

#include "common/os.h"
#include "tests/unit/os_actor.h"
#include "tests/unit/played_sbx.h"
#include "win/handle.h"
#include "win/sid.h"

#include "common/base/banned.h"

#define WORDS 4

struct row {
    const char *words[WORDS]; /* an attempt and its arguments, with {places} */
    enum sbx_answer answer;
    const char *text; /* a part of what it says */
};

static void try_words(const struct row *row, struct sbx_reply *reply)
{
    const char *words[WORDS] = {NULL};
    size_t count = 0;
    for (; count < WORDS && row->words[count] != NULL; count++) {
        words[count] = sbx_selftest_expand(played(), row->words[count]);
    }
    *reply = (struct sbx_reply){SBX_ANSWER_NONE, ""};
    for (const struct sbx_attempt *attempt = sbx_selftest_attempts(); attempt->name != NULL;
         attempt++) {
        if (strcmp(attempt->name, words[0]) == 0 && count > attempt->least) {
            attempt->run(words + 1, count - 1, reply);
        }
    }
}

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sbx_reply reply;
        try_words(&rows[i], &reply);
        bool is_right = CHECK_TEXT(sbx_name_text(sbx_answer_names, (int)reply.answer),
                                   sbx_name_text(sbx_answer_names, (int)rows[i].answer));
        if (!CHECK(sbx_str_contains(sbx_str(reply.text), rows[i].text)) || !is_right) {
            printf("# %s %s: \"%s\"\n", rows[i].words[0],
                   rows[i].words[1] == NULL ? "" : rows[i].words[1], reply.text);
        }
    }
}

static void check_row(const struct row *row)
{
    check_rows(row, 1);
}

/* ---- what codes say ----------------------------------------------------------------------------- */

static enum sbx_answer answer_of_win32(DWORD raw)
{
    struct sbx_reply reply;
    sbx_reply_win32(&reply, raw, "call", "subject");
    return reply.answer;
}

static enum sbx_answer answer_of_hresult(DWORD raw)
{
    struct sbx_reply reply;
    sbx_reply_hresult(&reply, (HRESULT)raw, "call", "subject");
    return reply.answer;
}

static void only_refusals_pass_for_refusals(void)
{
    CHECK_INT(answer_of_win32(ERROR_ACCESS_DENIED), SBX_ANSWER_DENIED);
    CHECK_INT(answer_of_win32(10013), SBX_ANSWER_DENIED);
    CHECK_INT(answer_of_win32(ERROR_FILE_NOT_FOUND), SBX_ANSWER_ABSENT);
    CHECK_INT(answer_of_win32(10061), SBX_ANSWER_ABSENT);
    CHECK_INT(answer_of_win32(ERROR_INVALID_PARAMETER), SBX_ANSWER_BROKEN);
    CHECK_INT(answer_of_win32(ERROR_SUCCESS), SBX_ANSWER_BROKEN);
    CHECK_INT(answer_of_hresult(0x80070005), SBX_ANSWER_DENIED);
    CHECK_INT(answer_of_hresult(0x80041003), SBX_ANSWER_DENIED);
    CHECK_INT(answer_of_hresult(0x80040154), SBX_ANSWER_ABSENT);
    CHECK_INT(answer_of_hresult(0x80004001), SBX_ANSWER_ABSENT);
    CHECK_INT(answer_of_hresult(0x80004005), SBX_ANSWER_BROKEN);
}

static void numbers_are_read_whole_or_not_at_all(void)
{
    CHECK_U64(sbx_attempt_number("4096"), 4096);
    CHECK_U64(sbx_attempt_number("0x1fF"), 511);
    CHECK_U64(sbx_attempt_number("0x1g"), 0);
    CHECK_U64(sbx_attempt_number("12x"), 0);
    CHECK_TEXT(sbx_attempt_text(sbx_attempt_wide("ü")), "ü");
    CHECK_U64(wcslen(sbx_attempt_wide("\xff")), 0);
}

/* ---- files -------------------------------------------------------------------------------------- */

static void what_is_not_there_is_absent(void)
{
    static const struct row rows[] = {
        {{"open", "{root}\\no"}, SBX_ANSWER_ABSENT, ": 2"},
        {{"append", "{root}\\no"}, SBX_ANSWER_ABSENT, ": 2"},
        {{"directory", "{root}\\no\\new"}, SBX_ANSWER_ABSENT, ": 3"},
        {{"list", "{root}\\no"}, SBX_ANSWER_ABSENT, "FindFirstFileW"},
        {{"rename", "{root}\\no", "{root}\\other"}, SBX_ANSWER_ABSENT, ": 2"},
        {{"delete", "{root}\\no"}, SBX_ANSWER_ABSENT, ": 2"},
        {{"hide", "{root}\\no"}, SBX_ANSWER_ABSENT, ": 2"},
        {{"may", "{root}\\no", "0x1"}, SBX_ANSWER_ABSENT, ": 2"},
        {{"cycle", "{root}\\no"}, SBX_ANSWER_ABSENT, "write"},
        {{"owner", "{root}\\no"}, SBX_ANSWER_ABSENT, ": 2"},
        {{"list-change", "{root}\\no"}, SBX_ANSWER_ABSENT, ": 2"},
        {{"owner-change", "{root}\\no"}, SBX_ANSWER_ABSENT, ": 2"},
        {{"private", "{root}\\no\\new"}, SBX_ANSWER_ABSENT, ": 3"},
        {{"hard-link", "{root}\\new", "{root}\\no"}, SBX_ANSWER_ABSENT, ": 2"},
        {{"short-name", "{root}\\no"}, SBX_ANSWER_ABSENT, "GetShortPathNameW"},
        {{"short-name", "C:\\windows\\win.ini"}, SBX_ANSWER_ABSENT, "no short names"},
        {{"junction", "{root}\\no\\new", "{outside}"}, SBX_ANSWER_ABSENT, ": 3"},
        {{"mark", "{root}\\no\\new", "{root}\\later", "0"}, SBX_ANSWER_ABSENT, "make"},
        {{"serve", "{root}\\no\\new", "0"}, SBX_ANSWER_ABSENT, ": 3"},
        {{"open-process", "999999", "0x400"}, SBX_ANSWER_ABSENT, "OpenProcess 999999: 87"},
        {{"handle", "0xfff0"}, SBX_ANSWER_ABSENT, "ReadFile of handle"},
        {{"atom", "sbx-no-such-atom"}, SBX_ANSWER_ABSENT, ": 2"},
        {{"variable", "SBX_NO_SUCH"}, SBX_ANSWER_ABSENT, "is not set"},
    };
    check_rows(rows, SBX_COUNT(rows));
    CHECK(!sbx_selftest_exists(played_path("no")));
    CHECK(!sbx_selftest_exists(played_path("new")));
    CHECK(!sbx_selftest_exists(played_path("later")));
}

/* Whatever the user may do; a wall that denies it means something. */
static void outside_a_box_they_are_done_and_undone(void)
{
    static const struct row rows[] = {
        {{"write", "{inside}\\file"}, SBX_ANSWER_DONE, "wrote"},
        {{"append", "{inside}\\file"}, SBX_ANSWER_DONE, "wrote"},
        {{"hard-link", "{inside}\\second", "{inside}\\file"}, SBX_ANSWER_DONE, "linked"},
        {{"rename", "{inside}\\file", "{inside}\\second"}, SBX_ANSWER_DONE, "renamed"},
        {{"hide", "{inside}\\file"}, SBX_ANSWER_DONE, "changed"},
        {{"cycle", "{inside}"}, SBX_ANSWER_DONE, "removed"},
        {{"private", "{inside}\\private"}, SBX_ANSWER_DONE, "inner"},
        {{"list-change", "{inside}\\file"}, SBX_ANSWER_DONE, "changed the access list"},
        {{"registry", "Software\\sbx-test-attempt"}, SBX_ANSWER_DONE, "HKCU\\Software\\sbx-test"},
        {{"pipe", "\\\\.\\pipe\\{name}-new"}, SBX_ANSWER_DONE, "made the pipe"},
        {{"handle", "{handle}"}, SBX_ANSWER_DONE, "read the secret"},
        {{"atom", "{name}"}, SBX_ANSWER_DONE, "found the atom"},
        {{"connect", "{port}"}, SBX_ANSWER_DONE, "connect to loopback"},
        {{"mark", "{inside}\\first", "{inside}\\then", "1"}, SBX_ANSWER_DONE, "went on"},
        {{"delete", "{inside}\\file"}, SBX_ANSWER_DONE, "removed"},
    };
    HKEY key;
    check_rows(rows, SBX_COUNT(rows));
    CHECK(!sbx_selftest_exists(played_path("inside\\second")));
    CHECK(!sbx_selftest_exists(played_path("inside\\private")));
    CHECK(!sbx_selftest_exists(played_path("inside\\cycle")));
    CHECK_INT(RegOpenKeyExW(HKEY_CURRENT_USER, L"Software\\sbx-test-attempt", 0, KEY_READ, &key),
              ERROR_FILE_NOT_FOUND);
    CHECK(sbx_selftest_exists(played_path("inside\\first")));
    CHECK(sbx_selftest_exists(played_path("inside\\then")));
}

static void a_handle_of_another_file_is_not_the_secret(void)
{
    char number[32];
    actor_write(played_path("other"), "not planted");
    AUTO_HANDLE file = CreateFileA(played_path("other"), GENERIC_READ, FILE_SHARE_READ, NULL,
                                   OPEN_EXISTING, 0, NULL);
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)(uintptr_t)file);
    check_row(&(struct row){{"handle", number}, SBX_ANSWER_ABSENT, "is another file here"});
}

/* ---- processes ---------------------------------------------------------------------------------- */

static struct sbx_selftest_ended spawned(struct sbx_selftest_around *around,
                                         const char *const *words)
{
    const char *argv[8] = {sbx_selftest_place(played(), "copy"), "selftest", "--probe"};
    struct sbx_selftest_spawn spawn = {.argv = argv,
                                       .cwd = sbx_selftest_place(played(), "bin"),
                                       .timeout_ns = UINT64_C(30000000000)};
    struct sbx_selftest_ended ended = {0};
    struct sbx_err err = {0};
    for (size_t i = 0; i < 4 && words[i] != NULL; i++) {
        argv[i + 3] = words[i];
    }
    CHECK_CODE(sbx_selftest_spawn_around(around, &played()->arena, &spawn, &ended, &err), SBX_OK,
               &err);
    return ended;
}

static void a_job_is_left_only_where_it_lets_go(void)
{
    static const char *const breakaway[] = {"breakaway", NULL};
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    AUTO_HANDLE job = CreateJobObjectW(NULL, NULL);
    struct sbx_selftest_around around = {.job = job};
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    CHECK(SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits));
    CHECK_U64(spawned(&around, breakaway).status, 41);
    limits.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_BREAKAWAY_OK;
    CHECK(SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits));
    CHECK_U64(spawned(&around, breakaway).status, 0);
}

static void what_is_left_behind_goes_on(void)
{
    check_row(&(struct row){{"leave", "{inside}\\left later", "1"}, SBX_ANSWER_DONE, "left"});
    for (int i = 0; i < 1000 && !sbx_selftest_exists(played_path("inside\\left later")); i++) {
        Sleep(20);
    }
    CHECK(sbx_selftest_exists(played_path("inside\\left later")));
}

static void a_process_that_is_not_there_is_no_parent(void)
{
    char own[16];
    (void)snprintf(own, sizeof own, "%lu", GetCurrentProcessId());
    check_row(&(struct row){{"foreign-parent", own}, SBX_ANSWER_DONE, "started a child"});
    check_row(&(struct row){{"foreign-parent", "999999"}, SBX_ANSWER_BROKEN, ": 87"});
    check_row(&(struct row){{"other-token", own}, SBX_ANSWER_DONE, "impersonated"});
    check_row(&(struct row){{"other-token", "999999"}, SBX_ANSWER_BROKEN, ": 87"});
}

/* ---- the token ---------------------------------------------------------------------------------- */

static DWORD own_level(void)
{
    _Alignas(8) BYTE bytes[256];
    DWORD len;
    AUTO_HANDLE token = NULL;
    CHECK(OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token));
    CHECK(GetTokenInformation(token, TokenIntegrityLevel, bytes, sizeof bytes, &len));
    return sbx_sid_last(((const TOKEN_MANDATORY_LABEL *)(const void *)bytes)->Label.Sid);
}

static void the_own_token_is_told_as_it_is(void)
{
    char level[16];
    BOOL is_admin = FALSE;
    (void)snprintf(level, sizeof level, "0x%lx", own_level());
    CHECK(CheckTokenMembership(NULL, sbx_sid_known(SBX_SID_ADMINISTRATORS), &is_admin));
    const struct row rows[] = {
        {{"integrity", level}, SBX_ANSWER_DONE, level},
        {{"integrity", "0x1000"}, SBX_ANSWER_ABSENT, level},
        {{"container"}, SBX_ANSWER_ABSENT, "not in an AppContainer"},
        {{"admin"}, is_admin ? SBX_ANSWER_DONE : SBX_ANSWER_ABSENT, "group"},
        {{"privileges"}, SBX_ANSWER_DONE, "not harmless: "},
        {{"raise"}, SBX_ANSWER_DONE, level},
    };
    check_rows(rows, SBX_COUNT(rows));
}

/* ---- the desktop -------------------------------------------------------------------------------- */

/* Not the clipboard: for it Wine starts a desktop, which keeps our output open as long as any other test has a window. */
static void the_users_desktop_can_be_entered(void)
{
    static const struct row rows[] = {
        {{"desktop"}, SBX_ANSWER_DONE, "WinSta0\\Default"},
        {{"hook"}, SBX_ANSWER_DONE, "hooked"},
        {{"parameter"}, SBX_ANSWER_DONE, "set a parameter"},
        {{"message"}, SBX_ANSWER_ABSENT, "Shell_TrayWnd: 2"}, /* no shell runs here */
    };
    check_rows(rows, SBX_COUNT(rows));
}

/* ---- consoles ----------------------------------------------------------------------------------- */

/* Somebody with a console: a process that sleeps in a terminal of its own. */
struct user {
    HPCON console;
    HANDLE keyboard, screen;
    PROCESS_INFORMATION process;
};

static void start_user(struct user *user)
{
    AUTO_HANDLE input = NULL;
    AUTO_HANDLE output = NULL;
    COORD size = {80, 25};
    _Alignas(16) unsigned char room[256];
    SIZE_T bytes = sizeof room;
    LPPROC_THREAD_ATTRIBUTE_LIST list = (LPPROC_THREAD_ATTRIBUTE_LIST)(void *)room;
    STARTUPINFOEXW info = {.StartupInfo.cb = sizeof info, .lpAttributeList = list};
    wchar_t line[1024];
    CHECK(CreatePipe(&input, &user->keyboard, NULL, 0));
    CHECK(CreatePipe(&user->screen, &output, NULL, 0));
    CHECK_INT(sbx_win()->CreatePseudoConsole(size, input, output, 0, &user->console), S_OK);
    CHECK(InitializeProcThreadAttributeList(list, 1, 0, &bytes));
    CHECK(UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE, user->console,
                                    sizeof user->console, NULL, NULL));
    (void)_snwprintf(line, SBX_COUNT(line), L"\"%ls\" selftest --probe sleep 60000",
                     sbx_attempt_wide(sbx_selftest_place(played(), "copy")));
    CHECK(CreateProcessW(NULL, line, NULL, NULL, FALSE, EXTENDED_STARTUPINFO_PRESENT, NULL, NULL,
                         &info.StartupInfo, &user->process));
    DeleteProcThreadAttributeList(list);
}

static void end_user(struct user *user)
{
    (void)TerminateProcess(user->process.hProcess, 0);
    (void)WaitForSingleObject(user->process.hProcess, 30000);
    sbx_handle_close(&user->process.hThread);
    sbx_handle_close(&user->process.hProcess);
    sbx_handle_close(&user->keyboard);
    sbx_handle_close(&user->screen);
    sbx_win()->ClosePseudoConsole(user->console);
}

/* It is on its console some moments after its start. */
static bool attach_to(DWORD pid)
{
    (void)FreeConsole();
    for (int i = 0; i < 1000 && !AttachConsole(pid); i++) {
        Sleep(10);
    }
    return GetConsoleProcessList(&(DWORD){0}, 1) > 0;
}

static void the_users_console_is_shared_attached_and_written(void)
{
    char pid[16];
    struct user user = {0};
    struct sbx_selftest_around here = {0};
    struct sbx_selftest_around apart = {.flags = DETACHED_PROCESS};
    INPUT_RECORD records[16] = {0};
    DWORD got = 0;
    DWORD focus = 0;
    start_user(&user);
    (void)snprintf(pid, sizeof pid, "%lu", user.process.dwProcessId);
    CHECK(attach_to(user.process.dwProcessId));
    AUTO_HANDLE input =
        CreateFileW(L"CONIN$", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                    NULL, OPEN_EXISTING, 0, NULL);
    CHECK(FlushConsoleInputBuffer(input));
    CHECK_U64(spawned(&here, (const char *[]){"peers", pid, NULL}).status, 0);
    CHECK_U64(spawned(&apart, (const char *[]){"peers", pid, NULL}).status, 42);
    CHECK_U64(spawned(&apart, (const char *[]){"attach", pid, NULL}).status, 0);
    CHECK_U64(spawned(&apart, (const char *[]){"attach", "999999", NULL}).status, 42);
    CHECK_U64(spawned(&apart, (const char *[]){"input", pid, NULL}).status, 0);
    CHECK(PeekConsoleInputW(input, records, SBX_COUNT(records), &got));
    for (DWORD i = 0; i < got; i++) {
        focus += records[i].EventType == FOCUS_EVENT ? 1 : 0;
    }
    CHECK_U64(focus, 1);
    CHECK(FreeConsole());
    end_user(&user);
}

static const struct sbx_test tests[] = {
    {"only refusals pass for refusals", only_refusals_pass_for_refusals},
    {"numbers are read whole or not at all", numbers_are_read_whole_or_not_at_all},
    {"what is not there is absent", what_is_not_there_is_absent},
    {"outside a box they are done, and undone", outside_a_box_they_are_done_and_undone},
    {"a handle of another file is not the secret", a_handle_of_another_file_is_not_the_secret},
    {"a job is left only where it lets go", a_job_is_left_only_where_it_lets_go},
    {"what is left behind goes on", what_is_left_behind_goes_on},
    {"a process that is not there is no parent", a_process_that_is_not_there_is_no_parent},
    {"the own token is told as it is", the_own_token_is_told_as_it_is},
    {"the user's desktop can be entered", the_users_desktop_can_be_entered},
    {"the user's console is shared, attached and written",
     the_users_console_is_shared_attached_and_written},
};
PLAYED_TEST_MAIN("selftest attempts", tests)
