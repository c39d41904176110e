/* The model of the NT kernel: how a process is created or refused, what ends it, and what a box may do. */
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/ntmodel/nt_model.h"
#include "tests/unit/nt_run.h"

#include "common/base/banned.h"

const struct sbx_winapi *sbx_win(void)
{
    return nt_model_table();
}

#define MIB ((uint64_t)1 << 20)
enum { NOT_ASKED = 0xFFFF };

static struct nt_model *with_actor(nt_actor *actor, void *state)
{
    return nt_model_new(&(struct nt_world){.actor = actor, .actor_state = state});
}

/* ---- refusals at creation ------------------------------------------------------------------------------ */

static DWORD code_for(struct nt_model *model, struct nt_run run)
{
    nt_run(&run);
    CHECK_TEXT(nt_model_leftovers(model), "");
    return run.failed == NULL ? 0 : run.code;
}

static void a_program_that_cannot_run_is_refused_with_its_code(void)
{
    struct nt_model *model = with_actor(NULL, NULL);
    static const struct {
        const wchar_t *program;
        DWORD code;
    } rows[] = {
        {L"C:\\Windows\\System32\\cmd.exe", 0},
        {L"C:\\Windows\\System32\\none.exe", ERROR_FILE_NOT_FOUND},
        {L"C:\\Windows\\none\\cmd.exe", ERROR_PATH_NOT_FOUND},
        {L"C:\\Windows\\System32", ERROR_ACCESS_DENIED},
        {L"C:\\Windows\\win.ini", ERROR_BAD_EXE_FORMAT},
        {L"C:\\Windows\\regedit.exe", 740},
        {L"C:\\Program Files\\WindowsApps\\tool.exe", ERROR_ACCESS_DENIED},
        {L"C:\\Users\\user\\project\\tool.exe", ERROR_ACCESS_DENIED}, /* no half for packages */
        {L"C:\\Users\\user\\AppData\\Local\\Microsoft\\WindowsApps\\python.exe", 1920},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        printf("# %ls\n", rows[i].program);
        CHECK_U64(code_for(model, (struct nt_run){.program = rows[i].program}), rows[i].code);
    }
    CHECK_U64(code_for(model, (struct nt_run){.directory = L"C:\\none"}), ERROR_DIRECTORY);
    CHECK_U64(code_for(model, (struct nt_run){.directory = L"C:\\Windows\\win.ini"}),
              ERROR_DIRECTORY);
    CHECK_U64(code_for(model, (struct nt_run){.directory = L"Q:\\x"}), ERROR_DIRECTORY);
    nt_model_free(model);
}

/* Makes a process of the launcher's own token; NULL list: none. */
static DWORD spawn(HANDLE *handles, size_t count, BOOL inherits, DWORD *exit_code)
{
    _Alignas(16) unsigned char room[256];
    SIZE_T size = sizeof room;
    STARTUPINFOEXW info = {.StartupInfo.cb = sizeof info, .lpAttributeList = (void *)room};
    PROCESS_INFORMATION child = {0};
    if (!sbx_win()->InitializeProcThreadAttributeList(info.lpAttributeList, 1, 0, &size) ||
        (handles != NULL && !sbx_win()->UpdateProcThreadAttribute(
                                info.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, handles,
                                count * sizeof *handles, NULL, NULL))) {
        return NOT_ASKED;
    }
    DWORD code = sbx_win()->CreateProcessW(L"C:\\Windows\\System32\\cmd.exe", NULL, NULL, NULL,
                                           inherits, EXTENDED_STARTUPINFO_PRESENT, NULL, NULL,
                                           &info.StartupInfo, &child)
                     ? 0
                     : GetLastError();
    sbx_win()->DeleteProcThreadAttributeList(info.lpAttributeList);
    if (code == 0) {
        (void)sbx_win()->WaitForSingleObject(child.hProcess, INFINITE);
        (void)sbx_win()->GetExitCodeProcess(child.hProcess, exit_code);
        (void)sbx_win()->CloseHandle(child.hThread);
        (void)sbx_win()->CloseHandle(child.hProcess);
    }
    return code;
}

static DWORD count_handles(struct nt_process *self, void *state)
{
    HANDLE *watched = state;
    return nt_box_handles(self) + (nt_box_has_handle(self, *watched) ? 100 : 0);
}

static void a_handle_list_passes_exactly_its_handles(void)
{
    HANDLE watched = NULL;
    struct nt_model *model = with_actor(count_handles, &watched);
    SECURITY_ATTRIBUTES inherits = {sizeof inherits, NULL, TRUE};
    HANDLE open = sbx_win()->CreateEventW(&inherits, TRUE, FALSE, NULL);
    HANDLE other = sbx_win()->CreateEventW(&inherits, TRUE, FALSE, NULL);
    HANDLE closed = sbx_win()->CreateEventW(NULL, TRUE, FALSE, NULL);
    HANDLE lists[3][2] = {{open, other}, {open, open}, {open, closed}};
    DWORD code = 0;
    watched = other;
    CHECK_U64(spawn(lists[0], 1, TRUE, &code), 0);
    CHECK_U64(code, 1); /* `other` is not there */
    CHECK_U64(spawn(lists[0], 2, TRUE, &code), 0);
    CHECK_U64(code, 102);
    CHECK_U64(spawn(lists[1], 2, TRUE, &code), ERROR_INVALID_PARAMETER);
    CHECK_U64(spawn(lists[2], 2, TRUE, &code), ERROR_INVALID_PARAMETER);
    CHECK_U64(spawn(lists[0], 1, FALSE, &code), ERROR_INVALID_PARAMETER);
    CHECK_U64(spawn(NULL, 0, FALSE, &code), 0);
    CHECK_U64(code, 0);
    CHECK_U64(spawn(NULL, 0, TRUE, &code), 0);
    CHECK_U64(code, 105); /* and the three streams, which are inheritable like those of a shell */
    nt_model_free(model);
}

static void a_foreign_token_needs_a_privilege(void)
{
    struct nt_model *model = with_actor(NULL, NULL);
    HANDLE own = NULL;
    HANDLE copy = NULL;
    wchar_t line[] = L"x";
    STARTUPINFOW info = {.cb = sizeof info};
    PROCESS_INFORMATION child;
    CHECK(sbx_win()->OpenProcessToken(sbx_win()->GetCurrentProcess(), TOKEN_QUERY | TOKEN_DUPLICATE,
                                      &own));
    CHECK(!sbx_win()->CreateProcessAsUserW(own, L"C:\\Windows\\System32\\cmd.exe", line, NULL, NULL,
                                           FALSE, 0, NULL, NULL, &info, &child));
    CHECK_U64(GetLastError(), ERROR_ACCESS_DENIED); /* the handle cannot assign */
    CHECK(sbx_win()->DuplicateTokenEx(own, MAXIMUM_ALLOWED, NULL, SecurityImpersonation,
                                      TokenImpersonation, &copy));
    CHECK(!sbx_win()->CreateProcessAsUserW(copy, L"C:\\Windows\\System32\\cmd.exe", line, NULL,
                                           NULL, FALSE, 0, NULL, NULL, &info, &child));
    CHECK_U64(GetLastError(), ERROR_BAD_TOKEN_TYPE);
    nt_model_free(model);
}

/* ---- the loader ------------------------------------------------------------------------------------------- */

static void a_rung_that_is_too_high_ends_the_box_before_it_runs(void)
{
    struct nt_model *model = with_actor(NULL, NULL);
    CHECK_U64(code_for(model, (struct nt_run){.denies_users = true}), ERROR_ACCESS_DENIED);
    /* A program that everybody may execute starts, and does not find its libraries. */
    nt_put_image(model, L"C:\\ProgramData\\tool.exe", NT_IMAGE_CONSOLE);
    nt_put_descriptor(model, L"C:\\ProgramData\\tool.exe",
                      "O:BAG:BAD:P(A;;FA;;;BA)(A;;0x1200a9;;;WD)(A;;0x1200a9;;;AC)");
    struct nt_run run = {.program = L"C:\\ProgramData\\tool.exe", .denies_users = true};
    nt_run(&run);
    CHECK_TEXT(run.failed, NULL);
    CHECK_U64(run.exit_code, 0xC0000135);
    run = (struct nt_run){.program = L"C:\\ProgramData\\tool.exe"};
    nt_run(&run);
    CHECK_U64(run.exit_code, 0);
    nt_model_free(model);
}

static DWORD exit_of(const struct nt_world *world, struct nt_run run)
{
    struct nt_model *model = nt_model_new(world);
    nt_run(&run);
    CHECK_TEXT(run.failed, NULL);
    nt_model_free(model);
    return run.exit_code;
}

static void a_program_that_links_user32_needs_its_desktop(void)
{
    static const wchar_t powershell[] =
        L"C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe";
    struct nt_world service = {.is_service = true};
    struct nt_world user = {0};
    CHECK_U64(exit_of(&user, (struct nt_run){.program = powershell}), 0);
    CHECK_U64(exit_of(&user, (struct nt_run){.program = powershell, .desktop = L"No\\Default"}),
              0xC0000142);
    CHECK_U64(exit_of(&user, (struct nt_run){.desktop = L"No\\Default"}), 0);
    CHECK_U64(exit_of(&service, (struct nt_run){.program = powershell}), 0xC0000142);
}

static void a_box_without_a_console_to_inherit_does_not_start(void)
{
    struct nt_world alone = {.has_no_console = true};
    struct nt_world terminal = {0};
    CHECK_U64(exit_of(&terminal, (struct nt_run){0}), 0);
    CHECK_U64(exit_of(&alone, (struct nt_run){0}), 0xC0000142);
    CHECK_U64(exit_of(&alone, (struct nt_run){.creation_flags = DETACHED_PROCESS}), 0);
    CHECK_U64(exit_of(&terminal, (struct nt_run){.creation_flags = CREATE_NEW_CONSOLE}),
              0xC0000142);
    struct nt_model *model = nt_model_new(&alone);
    struct nt_run run = {0};
    CHECK(sbx_win()->GetConsoleWindow() == NULL);
    CHECK(sbx_win()->AllocConsole());
    CHECK(!sbx_win()->AllocConsole());
    CHECK(sbx_win()->GetConsoleWindow() != NULL);
    nt_run(&run);
    CHECK_U64(run.exit_code, 0);
    nt_model_free(model);
}

/* ---- jobs ------------------------------------------------------------------------------------------------- */

static bool has_message(const struct nt_run *run, DWORD message)
{
    for (size_t i = 0; i < run->message_count; i++) {
        if (run->messages[i] == message) {
            return true;
        }
    }
    return false;
}

static DWORD spawn_one(struct nt_process *self, void *state)
{
    DWORD *code = state;
    *code = nt_box_spawn(self, L"C:\\Windows\\System32\\cmd.exe", 0, NULL, NULL, NULL);
    return nt_box_spawn(self, L"C:\\Windows\\System32\\cmd.exe", CREATE_BREAKAWAY_FROM_JOB, NULL,
                        NULL, NULL);
}

static void a_limit_of_processes_is_kept_and_told(void)
{
    DWORD code = NOT_ASKED;
    struct nt_model *model = with_actor(spawn_one, &code);
    struct nt_run run = {.limit_flags = JOB_OBJECT_LIMIT_ACTIVE_PROCESS, .processes = 1};
    nt_run(&run);
    CHECK_U64(code, ERROR_NOT_ENOUGH_QUOTA);
    CHECK_U64(run.exit_code, ERROR_ACCESS_DENIED); /* nobody breaks away */
    CHECK(has_message(&run, JOB_OBJECT_MSG_ACTIVE_PROCESS_LIMIT));
    run = (struct nt_run){.limit_flags = JOB_OBJECT_LIMIT_ACTIVE_PROCESS, .processes = 2};
    nt_run(&run);
    CHECK_U64(code, 0);
    CHECK(!has_message(&run, JOB_OBJECT_MSG_ACTIVE_PROCESS_LIMIT));
    CHECK(has_message(&run, JOB_OBJECT_MSG_NEW_PROCESS));
    CHECK(has_message(&run, JOB_OBJECT_MSG_EXIT_PROCESS));
    CHECK(has_message(&run, JOB_OBJECT_MSG_ACTIVE_PROCESS_ZERO));
    nt_model_free(model);
}

static DWORD allocate(struct nt_process *self, void *state)
{
    (void)state;
    DWORD first = nt_box_allocate(self, 10 * MIB);
    DWORD second = nt_box_allocate(self, 10 * MIB);
    return first == 0 ? second : NOT_ASKED;
}

static void limits_of_memory_are_kept_and_told(void)
{
    struct nt_model *model = with_actor(allocate, NULL);
    struct nt_run run = {.limit_flags = JOB_OBJECT_LIMIT_PROCESS_MEMORY,
                         .process_memory_bytes = 15 * MIB};
    nt_run(&run);
    CHECK_U64(run.exit_code, ERROR_COMMITMENT_LIMIT);
    CHECK(has_message(&run, JOB_OBJECT_MSG_PROCESS_MEMORY_LIMIT));
    run = (struct nt_run){.limit_flags = JOB_OBJECT_LIMIT_JOB_MEMORY, .job_memory_bytes = 15 * MIB};
    nt_run(&run);
    CHECK_U64(run.exit_code, ERROR_COMMITMENT_LIMIT);
    CHECK(has_message(&run, JOB_OBJECT_MSG_JOB_MEMORY_LIMIT));
    run = (struct nt_run){.limit_flags = JOB_OBJECT_LIMIT_JOB_MEMORY, .job_memory_bytes = 20 * MIB};
    nt_run(&run);
    CHECK_U64(run.exit_code, 0);
    nt_model_free(model);
}

static DWORD burn(struct nt_process *self, void *state)
{
    unsigned *reached = state;
    nt_box_burn(self, 900);
    ++*reached;
    nt_box_burn(self, 200);
    ++*reached;
    return 5;
}

static void limits_of_time_end_the_box(void)
{
    unsigned reached = 0;
    struct nt_model *model = with_actor(burn, &reached);
    struct nt_run run = {.limit_flags = JOB_OBJECT_LIMIT_JOB_TIME, .job_time_ms = 1000};
    nt_run(&run);
    CHECK_U64(reached, 1);
    CHECK_U64(run.exit_code, ERROR_NOT_ENOUGH_QUOTA);
    CHECK(has_message(&run, JOB_OBJECT_MSG_END_OF_JOB_TIME));
    run = (struct nt_run){.limit_flags = JOB_OBJECT_LIMIT_PROCESS_TIME, .process_time_ms = 1000};
    nt_run(&run);
    CHECK_U64(reached, 2);
    CHECK(has_message(&run, JOB_OBJECT_MSG_END_OF_PROCESS_TIME));
    run = (struct nt_run){.limit_flags = JOB_OBJECT_LIMIT_JOB_TIME, .job_time_ms = 2000};
    nt_run(&run);
    CHECK_U64(reached, 4);
    CHECK_U64(run.exit_code, 5);
    nt_model_free(model);
}

static DWORD use_desktop(struct nt_process *self, void *state)
{
    (void)state;
    return (nt_box_clipboard(self, false) == 0 ? 1u : 0) |
           (nt_box_clipboard(self, true) == 0 ? 2u : 0) |
           (nt_box_exit_windows(self) == 0 ? 4u : 0) | (nt_box_switch_desktop(self) == 0 ? 8u : 0) |
           (nt_box_system_parameters(self) == 0 ? 16u : 0);
}

static void limits_on_user_objects_hold(void)
{
    struct nt_model *model = with_actor(use_desktop, NULL);
    struct nt_run run = {0};
    nt_run(&run);
    CHECK_U64(run.exit_code, 31);
    run = (struct nt_run){.ui_limits = 0xFF};
    nt_run(&run);
    CHECK_U64(run.exit_code, 0);
    run = (struct nt_run){.ui_limits = JOB_OBJECT_UILIMIT_WRITECLIPBOARD};
    nt_run(&run);
    CHECK_U64(run.exit_code, 29);
    nt_model_free(model);
}

static void a_job_with_user_limits_does_not_nest(void)
{
    struct nt_world outer = {.is_in_job = true};
    struct nt_model *model = nt_model_new(&outer);
    struct nt_run run = {0};
    nt_run(&run);
    CHECK_TEXT(run.failed, NULL); /* jobs nest */
    run = (struct nt_run){.ui_limits = 0xFF};
    nt_run(&run);
    CHECK_TEXT(run.failed, "CreateProcessAsUserW");
    CHECK_U64(run.code, ERROR_ACCESS_DENIED);
    CHECK_TEXT(nt_model_leftovers(model), "");
    nt_model_free(model);
}

static void what_was_asked_for_can_be_read_back(void)
{
    struct nt_model *model = with_actor(NULL, NULL);
    HANDLE job = sbx_win()->CreateJobObjectW(NULL, NULL);
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {
        .BasicLimitInformation.LimitFlags =
            JOB_OBJECT_LIMIT_JOB_MEMORY | JOB_OBJECT_LIMIT_PRIORITY_CLASS,
        .BasicLimitInformation.PriorityClass = BELOW_NORMAL_PRIORITY_CLASS,
        .JobMemoryLimit = 5 * MIB};
    JOBOBJECT_BASIC_UI_RESTRICTIONS ui = {0xFF};
    CHECK(sbx_win()->SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits,
                                             sizeof limits));
    CHECK(sbx_win()->SetInformationJobObject(job, JobObjectBasicUIRestrictions, &ui, sizeof ui));
    limits = (JOBOBJECT_EXTENDED_LIMIT_INFORMATION){0};
    ui.UIRestrictionsClass = 0x400; /* known to no Windows */
    CHECK(!sbx_win()->SetInformationJobObject(job, JobObjectBasicUIRestrictions, &ui, sizeof ui));
    CHECK_U64(GetLastError(), ERROR_INVALID_PARAMETER);
    CHECK(sbx_win()->QueryInformationJobObject(job, JobObjectExtendedLimitInformation, &limits,
                                               sizeof limits, NULL));
    CHECK_U64(limits.JobMemoryLimit, 5 * MIB);
    CHECK(sbx_win()->QueryInformationJobObject(job, JobObjectBasicUIRestrictions, &ui, sizeof ui,
                                               NULL));
    CHECK_U64(ui.UIRestrictionsClass, 0xFF);
    _Alignas(16) unsigned char room[256];
    SIZE_T size = sizeof room;
    DWORD64 asked = 1ull << 32 | 1ull << 52; /* no extension points, no remote images */
    STARTUPINFOEXW info = {.StartupInfo.cb = sizeof info, .lpAttributeList = (void *)room};
    PROCESS_INFORMATION child;
    CHECK(sbx_win()->InitializeProcThreadAttributeList(info.lpAttributeList, 1, 0, &size));
    CHECK(sbx_win()->UpdateProcThreadAttribute(info.lpAttributeList, 0,
                                               PROC_THREAD_ATTRIBUTE_MITIGATION_POLICY, &asked,
                                               sizeof asked, NULL, NULL));
    CHECK(sbx_win()->CreateProcessW(L"C:\\Windows\\System32\\cmd.exe", NULL, NULL, NULL, FALSE,
                                    EXTENDED_STARTUPINFO_PRESENT | CREATE_SUSPENDED, NULL, NULL,
                                    &info.StartupInfo, &child));
    static const DWORD want[][2] = {{6, 1}, {10, 1}, {9, 0}, {4, 0}};
    for (size_t i = 0; i < SBX_COUNT(want); i++) {
        DWORD flags = 99;
        CHECK(sbx_win()->GetProcessMitigationPolicy(
            child.hProcess, (PROCESS_MITIGATION_POLICY)want[i][0], &flags, sizeof flags));
        CHECK_U64(flags, want[i][1]);
    }
    nt_model_free(model);
}

static DWORD crash(struct nt_process *self, void *state)
{
    (void)state;
    nt_box_crash(self, 0xC0000005);
    return 1;
}

static void a_crash_is_told_as_one(void)
{
    struct nt_model *model = with_actor(crash, NULL);
    struct nt_run run = {0};
    nt_run(&run);
    CHECK_U64(run.exit_code, 0xC0000005);
    CHECK(has_message(&run, JOB_OBJECT_MSG_ABNORMAL_EXIT_PROCESS));
    nt_model_free(model);
}

static DWORD sleep_long(struct nt_process *self, void *state)
{
    (void)state;
    (void)nt_box_spawn(self, L"C:\\Windows\\System32\\cmd.exe", 0, sleep_long, NULL, NULL);
    nt_box_sleep(self, INFINITE);
    return 0;
}

static void a_job_that_is_closed_takes_its_tree_along(void)
{
    struct nt_model *model = with_actor(sleep_long, NULL);
    HANDLE job = sbx_win()->CreateJobObjectW(NULL, NULL);
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {.BasicLimitInformation.LimitFlags =
                                                       JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE |
                                                       JOB_OBJECT_LIMIT_ACTIVE_PROCESS,
                                                   .BasicLimitInformation.ActiveProcessLimit = 3};
    CHECK(sbx_win()->SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits,
                                             sizeof limits));
    wchar_t line[] = L"x";
    STARTUPINFOW info = {.cb = sizeof info};
    PROCESS_INFORMATION child;
    CHECK(sbx_win()->CreateProcessW(L"C:\\Windows\\System32\\cmd.exe", line, NULL, NULL, FALSE,
                                    CREATE_SUSPENDED, NULL, NULL, &info, &child));
    CHECK(sbx_win()->AssignProcessToJobObject(job, child.hProcess));
    CHECK_U64(sbx_win()->ResumeThread(child.hThread), 1);
    while (nt_model_processes(model) < 3) {
        Sleep(1);
    }
    CHECK(sbx_win()->CloseHandle(job));
    CHECK_U64(nt_model_processes(model), 0);
    CHECK_U64(sbx_win()->WaitForSingleObject(child.hProcess, 0), WAIT_OBJECT_0);
    DWORD code = 1;
    CHECK(sbx_win()->GetExitCodeProcess(child.hProcess, &code));
    CHECK_U64(code, 0);
    nt_model_free(model);
}

/* ---- network, packages, stations ------------------------------------------------------------------------------- */

static DWORD reach(struct nt_process *self, void *state)
{
    (void)state;
    return (nt_box_connect(self, NT_PEER_HOST) == 0 ? 1u : 0) |
           (nt_box_connect(self, NT_PEER_INTERNET) == 0 ? 2u : 0) |
           (nt_box_connect(self, NT_PEER_PRIVATE) == 0 ? 4u : 0);
}

static void the_network_is_what_the_capabilities_say(void)
{
    static const DWORD want[] = {0, 2, 2, 4};
    for (unsigned network = 0; network < SBX_COUNT(want); network++) {
        CHECK_U64(exit_of(&(struct nt_world){.actor = reach}, (struct nt_run){.network = network}),
                  want[network]);
    }
    struct nt_model *model = with_actor(reach, NULL);
    DWORD code = 0;
    CHECK_U64(spawn(NULL, 0, FALSE, &code), 0);
    CHECK_U64(code, 7); /* outside of a box */
    nt_model_free(model);
}

static DWORD look_at_packages(struct nt_process *self, void *state)
{
    (void)state;
    return (nt_box_read(self, L"C:\\ProgramData\\all.txt", NULL, 0) == 0 ? 1u : 0) |
           (nt_box_read(self, L"C:\\ProgramData\\restricted.txt", NULL, 0) == 0 ? 2u : 0) |
           (nt_box_read(self, L"C:\\ProgramData\\users.txt", NULL, 0) == 0 ? 4u : 0) |
           (nt_box_read(self, L"NUL", NULL, 0) == 0 ? 8u : 0) |
           (nt_box_look(self, L"C:\\") == 0 ? 16u : 0) |
           (nt_box_open_pipe(self, L"service", GENERIC_READ) == 0 ? 32u : 0) |
           (nt_box_open_station(self, L"WinSta0", WINSTA_EXITWINDOWS) == 0 ? 64u : 0);
}

static void a_less_privileged_box_has_only_its_own_entries(void)
{
    struct nt_world world = {.actor = look_at_packages};
    for (int pass = 0; pass < 2; pass++) {
        struct nt_model *model = nt_model_new(&world);
        nt_put_file(model, L"C:\\ProgramData\\all.txt", "x", "O:BAG:BAD:(A;;FR;;;BU)(A;;FR;;;AC)");
        nt_put_file(model, L"C:\\ProgramData\\restricted.txt", "x",
                    "O:BAG:BAD:(A;;FR;;;BU)(A;;FR;;;S-1-15-2-2)");
        nt_put_file(model, L"C:\\ProgramData\\users.txt", "x", "O:BAG:BAD:(A;;FR;;;BU)");
        nt_put_pipe(model, L"service", "O:SYG:SYD:(A;;FA;;;SY)(A;;FRFW;;;IU)");
        struct nt_run run = {0};
        nt_run(&run);
        CHECK_U64(run.exit_code, pass == 0 ? 3 : 27);
        run = (struct nt_run){.is_lpac = true};
        nt_run(&run);
        CHECK_U64(run.exit_code, pass == 0 ? 2 : 26);
        nt_model_free(model);
        world.null_is_open = true;
        world.root_is_open = true;
    }
}

static const struct sbx_test tests[] = {
    {"a program that cannot run is refused with its code",
     a_program_that_cannot_run_is_refused_with_its_code},
    {"a handle list passes exactly its handles", a_handle_list_passes_exactly_its_handles},
    {"a foreign token needs a privilege", a_foreign_token_needs_a_privilege},
    {"a rung that is too high ends the box before it runs",
     a_rung_that_is_too_high_ends_the_box_before_it_runs},
    {"a program that links user32 needs its desktop",
     a_program_that_links_user32_needs_its_desktop},
    {"a box without a console to inherit does not start",
     a_box_without_a_console_to_inherit_does_not_start},
    {"a limit of processes is kept and told", a_limit_of_processes_is_kept_and_told},
    {"limits of memory are kept and told", limits_of_memory_are_kept_and_told},
    {"limits of time end the box", limits_of_time_end_the_box},
    {"limits on user objects hold", limits_on_user_objects_hold},
    {"a job with user limits does not nest", a_job_with_user_limits_does_not_nest},
    {"what was asked for can be read back", what_was_asked_for_can_be_read_back},
    {"a crash is told as one", a_crash_is_told_as_one},
    {"a job that is closed takes its tree along", a_job_that_is_closed_takes_its_tree_along},
    {"the network is what the capabilities say", the_network_is_what_the_capabilities_say},
    {"a less privileged box has only its own entries",
     a_less_privileged_box_has_only_its_own_entries},
};
SBX_TEST_MAIN("simulated_nt_model_box", tests)
