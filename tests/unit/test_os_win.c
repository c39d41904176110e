/* common/os.h on Windows: batch files, the search path, inherited handles, jobs. */
#include <windows.h>

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "common/os.h"
#include "tests/check.h"
#include "tests/unit/os_actor.h"
#include "win/handle.h"
#include "win/wide.h"

#include "common/base/banned.h"

#define MS UINT64_C(1000000)

static struct sbx_err err;

static long pid_in(const char *path)
{
    uint64_t pid = 0;
    (void)!sbx_str_to_u64(sbx_str(actor_read(path)), &pid);
    return (long)pid;
}

static long await_pid(const char *path)
{
    for (int i = 0; i < 1000 && pid_in(path) == 0; i++) {
        actor_sleep_ms(10);
    }
    return pid_in(path);
}

static bool await_death(long pid)
{
    for (int i = 0; i < 500 && actor_is_process_alive(pid); i++) {
        actor_sleep_ms(10);
    }
    return !actor_is_process_alive(pid);
}

/* ---- programs ------------------------------------------------------------------------------ */

static enum sbx_code run(const char *program, const char *search_path, const char *const *argv)
{
    struct sbx_outcome outcome;
    struct sbx_plain_run plan = {
        .program = program,
        .search_path = search_path,
        .argv = argv,
        .env = (const char *[]){NULL},
    };
    return sbx_os_run_plain(&plan, &outcome, &err);
}

static void batch_files_are_refused(void)
{
    char text[600];
    (void)snprintf(text, sizeof text, "@echo ran>\"%s\"\r\n", scratch("ran"));
    actor_write(scratch("bin/tool.bat"), text);
    actor_write(scratch("bin/other.CMD"), text);
    static const char *const names[] = {"bin/tool.bat", "bin/tool",      "bin/TOOL.BAT",
                                        "bin/other",    "bin/tool.bat.", "bin/tool.bat "};
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        const char *path = scratch(names[i]);
        CHECK_CODE(run(path, NULL, (const char *[]){path, "\"&calc", NULL}), SBX_E_DENIED, &err);
        CHECK(strstr(err.text, "batch file") != NULL);
        CHECK(strstr(err.hint, "cmd /c") != NULL);
    }
    CHECK_CODE(run("tool", scratch("bin"), (const char *[]){"tool", NULL}), SBX_E_DENIED, &err);
    struct sbx_file_info info;
    sbx_os_file_info(scratch("ran"), &info);
    CHECK_INT(info.node, SBX_NODE_MISSING);
    /* cmd itself may be asked for. */
    struct sbx_outcome outcome = {0};
    struct sbx_plain_run plan = {
        .program = "cmd",
        .argv = (const char *[]){"cmd", "/c", "exit", "5", NULL},
        .env = (const char *[]){NULL},
    };
    CHECK_CODE(sbx_os_run_plain(&plan, &outcome, &err), SBX_OK, &err);
    CHECK_U64(outcome.exit_code, 5);
}

static void search_path_is_obeyed(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 4 << 20);
    struct sbx_path found;
    char list[2048];
    actor_write(scratch("first/tool"), "no extension");
    actor_write(scratch("second/tool.exe"), "x");
    actor_write(scratch("second/tool.com"), "x");
    actor_write(scratch("second/only.exe"), "x");
    actor_write(scratch("second/tool.txt"), "x");
    (void)snprintf(list, sizeof list, ";.;relative;\\nodrive;%s;\"%s\"", scratch("first"),
                   scratch("second"));
    CHECK_CODE(sbx_os_find_program(&arena, "tool", list, &found, &err), SBX_OK, &err);
    CHECK_STR(sbx_path_name(found), "tool.com");
    CHECK_CODE(sbx_os_find_program(&arena, "tool.exe", list, &found, &err), SBX_OK, &err);
    CHECK_STR(sbx_path_name(found), "tool.exe");
    CHECK_CODE(sbx_os_find_program(&arena, "ONLY", list, &found, &err), SBX_OK, &err);
    CHECK_CODE(sbx_os_find_program(&arena, "cmd", NULL, &found, &err), SBX_OK, &err);
    CHECK_CODE(sbx_os_find_program(&arena, scratch("first/tool"), NULL, &found, &err), SBX_E_DENIED,
               &err);
    /* The current directory is never searched. */
    wchar_t *wide;
    wchar_t before[MAX_PATH];
    CHECK(GetCurrentDirectoryW(MAX_PATH, before) > 0);
    CHECK_CODE(sbx_wide_from(&arena, scratch("second"), &wide, &err), SBX_OK, &err);
    CHECK(SetCurrentDirectoryW(wide));
    CHECK_CODE(sbx_os_find_program(&arena, "only", NULL, &found, &err), SBX_E_NOT_FOUND, &err);
    CHECK_CODE(sbx_os_find_program(&arena, "only", ".;", &found, &err), SBX_E_NOT_FOUND, &err);
    CHECK_CODE(sbx_os_find_program(&arena, ".\\only", NULL, &found, &err), SBX_OK, &err);
    CHECK(SetCurrentDirectoryW(before));
}

static void broken_programs_say_why(void)
{
    actor_write(scratch("broken.exe"), "this is not a program");
    const char *path = scratch("broken.exe");
    CHECK_CODE(run(path, NULL, (const char *[]){path, NULL}), SBX_E_DENIED, &err);
    CHECK_INT(err.os, SBX_OS_WIN32);
    CHECK_INT(err.raw, ERROR_BAD_EXE_FORMAT);
    CHECK(strstr(err.text, "broken.exe") != NULL);
}

static void exit_codes_have_32_bits(void)
{
    static const uint32_t codes[] = {256, 259, 1603, 0x80000000, 0xc0000005, 0xffffffff};
    for (size_t i = 0; i < SBX_COUNT(codes); i++) {
        char text[16];
        (void)snprintf(text, sizeof text, "%lu", (unsigned long)codes[i]);
        struct sbx_outcome outcome = {0};
        CHECK_CODE(actor_run((const char *[]){"code", text, NULL}, 0, 0, &outcome, &err), SBX_OK,
                   &err);
        CHECK_U64(outcome.exit_code, codes[i]);
    }
}

/* ---- birth --------------------------------------------------------------------------------- */

/* What Wine itself adds to every environment. */
static bool is_wines(struct sbx_str line)
{
    static const char *const names[] = {"env WINE", "env PROCESSOR_ARCHITECTURE="};
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        if (sbx_str_starts(line, names[i])) {
            return true;
        }
    }
    return false;
}

static void birth_is_exact(void)
{
    SECURITY_ATTRIBUTES inherit = {.nLength = sizeof inherit, .bInheritHandle = TRUE};
    AUTO_HANDLE event = CreateEventW(&inherit, TRUE, FALSE, NULL);
    char number[32];
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)(uintptr_t)event);
    (void)SetEnvironmentVariableW(L"SECRET", L"must not pass");
    struct sbx_outcome outcome;
    CHECK_CODE(
        actor_run((const char *[]){"birth", scratch("birth"), number, NULL}, 0, 0, &outcome, &err),
        SBX_OK, &err);
    struct sbx_str rest = sbx_str(actor_read(scratch("birth")));
    size_t declared = 0;
    size_t needed = 0;
    while (rest.len > 0) {
        struct sbx_str line;
        (void)sbx_str_split(rest, '\n', &line, &rest);
        declared += sbx_str_is(line, "env ACTOR=1");
        if (sbx_str_starts(line, "env SystemRoot=") || sbx_str_starts(line, "env SystemDrive=")) {
            needed++;
        } else if (!sbx_str_is(line, "env ACTOR=1") && !sbx_str_is(line, "event 0")) {
            CHECK(is_wines(line));
        }
    }
    CHECK_U64(declared, 1);
    CHECK_U64(needed, 2);
    /* The handle was inheritable, the child did not get it, and here it works. */
    CHECK_INT(WaitForSingleObject(event, 0), WAIT_TIMEOUT);
    CHECK(SetEvent(event));
}

/* ---- the whole tree ------------------------------------------------------------------------ */

static void timeout_ends_the_tree(void)
{
    struct sbx_outcome outcome = {0};
    const char *file = scratch("daemon");
    CHECK_CODE(
        actor_run((const char *[]){"daemon", file, "600000", NULL}, 3000 * MS, 0, &outcome, &err),
        SBX_OK, &err);
    CHECK_INT(outcome.limit, SBX_LIMIT_TIMEOUT);
    CHECK(pid_in(file) > 0);
    CHECK(!actor_is_process_alive(pid_in(file)));
}

static void end_takes_the_tree(void)
{
    struct sbx_outcome outcome = {0};
    const char *file = scratch("orphan");
    CHECK_CODE(actor_run((const char *[]){"daemon", file, "0", NULL}, 0, 0, &outcome, &err), SBX_OK,
               &err);
    CHECK_U64(outcome.exit_code, 0);
    CHECK(pid_in(file) > 0);
    CHECK(!actor_is_process_alive(pid_in(file)));
}

static void daemon_outlives_without_sbx(void)
{
    struct actor actor;
    const char *file = scratch("control");
    CHECK(actor_start(&actor, (const char *[]){"daemon", file, "0", NULL}, NULL, NULL));
    CHECK_INT(actor_wait(&actor), 0);
    long pid = pid_in(file);
    CHECK(pid > 0 && actor_is_process_alive(pid));
    AUTO_HANDLE process = OpenProcess(PROCESS_TERMINATE, FALSE, (DWORD)pid);
    CHECK(TerminateProcess(process, 1));
}

static void death_of_sbx_ends_the_tree(void)
{
    struct actor sbx;
    const char *child = scratch("victim");
    CHECK(actor_start(
        &sbx,
        (const char *[]){"relay", scratch("unused"), "0", "0", "daemon", child, "600000", NULL},
        NULL, NULL));
    long pid = await_pid(child);
    CHECK(pid > 0 && actor_is_process_alive(pid));
    actor_kill(&sbx);
    CHECK(await_death(pid));
}

static void nobody_leaves_the_job(void)
{
    struct sbx_outcome outcome;
    CHECK_CODE(
        actor_run((const char *[]){"breakaway", scratch("breakaway"), NULL}, 0, 0, &outcome, &err),
        SBX_OK, &err);
    CHECK_TEXT(actor_read(scratch("breakaway")), "5"); /* ERROR_ACCESS_DENIED */
}

/* ---- files and streams --------------------------------------------------------------------- */

static void odd_files_do_not_hang(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    struct sbx_str text;
    static const char *const names[] = {"NUL",          "CON",          "\\\\.\\pipe\\sbx-test",
                                        "CONIN$",       "\\\\?\\C:\\x", "\\\\localhost\\c$\\x",
                                        "C:\\x:stream", "\\\\.\\C:",    "COM1"};
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        CHECK_CODE(sbx_os_read_file(&arena, names[i], 100, &text, NULL, &err), SBX_E_INVALID, &err);
    }
}

static void long_paths_work(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    char path[1024];
    (void)snprintf(path, sizeof path, "%s", scratch("long"));
    for (int i = 0; i < 5; i++) {
        size_t used = strlen(path);
        (void)snprintf(path + used, sizeof path - used, "\\%075d", i);
    }
    CHECK_CODE(sbx_os_write_atomic(path, sbx_str("deep"), &err), SBX_OK, &err);
    struct sbx_str text = {NULL, 0};
    CHECK_CODE(sbx_os_read_file(&arena, path, 100, &text, NULL, &err), SBX_OK, &err);
    CHECK_STR(text, "deep");
}

static void leftovers_are_removed(void)
{
    struct actor dead;
    CHECK(actor_start(&dead, (const char *[]){"exit", "0", NULL}, NULL, NULL));
    DWORD pid = GetProcessId((HANDLE)dead.process);
    CHECK_INT(actor_wait(&dead), 0);
    char of_dead[64];
    char of_living[64];
    (void)snprintf(of_dead, sizeof of_dead, "left/.sbx-tmp-%lu-00", pid);
    (void)snprintf(of_living, sizeof of_living, "left/.sbx-tmp-%lu-00", GetCurrentProcessId());
    actor_write(scratch("left/other"), "x");
    CHECK_CODE(sbx_os_write_new(scratch(of_dead), sbx_str("x"), &err), SBX_OK, &err);
    CHECK_CODE(sbx_os_write_new(scratch(of_living), sbx_str("x"), &err), SBX_OK, &err);
    actor_write(scratch("left/file"), "x");
    struct sbx_file_info info;
    sbx_os_file_info(scratch(of_dead), &info);
    CHECK_INT(info.node, SBX_NODE_MISSING);
    sbx_os_file_info(scratch(of_living), &info);
    CHECK_INT(info.node, SBX_NODE_FILE);
}

static void only_two_descriptors_exist(void)
{
    CHECK_CODE(sbx_os_write_fd(3, "x", 1, &err), SBX_E_UNSUPPORTED, &err);
    CHECK_CODE(sbx_os_write_fd(0, "x", 1, &err), SBX_E_UNSUPPORTED, &err);
    CHECK_CODE(sbx_os_write_fd(2, "", 0, &err), SBX_OK, &err);
}

static void closed_reader_is_an_error(void)
{
    HANDLE read_end;
    HANDLE write_end;
    HANDLE before = GetStdHandle(STD_OUTPUT_HANDLE);
    (void)fflush(stdout);
    CHECK(CreatePipe(&read_end, &write_end, NULL, 0));
    (void)CloseHandle(read_end);
    (void)SetStdHandle(STD_OUTPUT_HANDLE, write_end);
    enum sbx_code code = sbx_os_write(SBX_STDOUT, "x", 1, &err);
    (void)SetStdHandle(STD_OUTPUT_HANDLE, before);
    CHECK_CODE(code, SBX_E_IO, &err);
    (void)CloseHandle(write_end);
}

static struct sbx_os_mutex mutex;
static unsigned long counter;

static DWORD WINAPI count_up(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100000; i++) {
        sbx_os_lock(&mutex);
        counter++;
        sbx_os_unlock(&mutex);
    }
    return 0;
}

static void lock_excludes(void)
{
    HANDLE threads[4];
    for (size_t i = 0; i < SBX_COUNT(threads); i++) {
        threads[i] = CreateThread(NULL, 0, count_up, NULL, 0, NULL);
    }
    CHECK_INT(WaitForMultipleObjects(SBX_COUNT(threads), threads, TRUE, 60000), WAIT_OBJECT_0);
    CHECK_U64(counter, 400000);
}

static const struct sbx_test tests[] = {
    {"batch files are refused under every spelling, cmd itself is not", batch_files_are_refused},
    {"the search path is obeyed and never includes where one stands", search_path_is_obeyed},
    {"a file that is no program says so and nothing runs", broken_programs_say_why},
    {"exit codes keep their 32 bits", exit_codes_have_32_bits},
    {"a child gets exactly its environment and no other handle", birth_is_exact},
    {"a timeout ends the whole tree", timeout_ends_the_tree},
    {"the end of the child is the end of its tree", end_takes_the_tree},
    {"without sbx the tree lives on", daemon_outlives_without_sbx},
    {"when sbx is killed, the tree dies", death_of_sbx_ends_the_tree},
    {"no process leaves the job", nobody_leaves_the_job},
    {"devices, pipes, shares and streams are refused and never waited for", odd_files_do_not_hang},
    {"paths longer than MAX_PATH work", long_paths_work},
    {"leftovers of killed writers are removed, of living ones kept", leftovers_are_removed},
    {"only descriptors 1 and 2 exist", only_two_descriptors_exist},
    {"a closed pipe is an error", closed_reader_is_an_error},
    {"a mutex made of zeroes excludes", lock_excludes},
};

ACTOR_TEST_MAIN("os on windows", tests)
