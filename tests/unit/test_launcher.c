/* Launchers (win/launcher.h) with real processes, pipes and jobs: this program is its own launcher. Every call that starts one
 * fails in turn. The token is this process's own: Wine has no other. */
#include <windows.h>

#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "win/handle.h"
#include "win/launcher.h"

#include "common/base/banned.h"

enum { PATIENCE_MS = 60000, HANDLES = 4096, ROUNDS_MAX = 80 };

static struct sbx_err err;
static struct sbx_launcher list[SBX_LAUNCHERS_MAX];

/* ---- the table: the real one, in which one call fails ------------------------------------------- */

static struct sbx_winapi real;
static unsigned calls;
static unsigned fail_at;
static const char *failed;

static bool fails(const char *name)
{
    if (fail_at == 0 || ++calls != fail_at) {
        return false;
    }
    failed = name;
    SetLastError(ERROR_NO_SYSTEM_RESOURCES);
    return true;
}

#define FAILING(type, name, wrong, parameters, arguments)                                          \
    static type WINAPI try_##name parameters                                                       \
    {                                                                                              \
        return fails(#name) ? (wrong) : real.name arguments;                                       \
    }
FAILING(HANDLE, CreateNamedPipeW, INVALID_HANDLE_VALUE,
        (LPCWSTR name, DWORD mode, DWORD type, DWORD instances, DWORD out, DWORD in, DWORD wait,
         LPSECURITY_ATTRIBUTES security),
        (name, mode, type, instances, out, in, wait, security))
FAILING(HANDLE, CreateFileW, INVALID_HANDLE_VALUE,
        (LPCWSTR path, DWORD access, DWORD share, LPSECURITY_ATTRIBUTES security, DWORD disposition,
         DWORD flags, HANDLE like),
        (path, access, share, security, disposition, flags, like))
FAILING(HANDLE, CreateEventW, NULL,
        (LPSECURITY_ATTRIBUTES security, BOOL manual, BOOL set, LPCWSTR name),
        (security, manual, set, name))
FAILING(HANDLE, CreateJobObjectW, NULL, (LPSECURITY_ATTRIBUTES security, LPCWSTR name),
        (security, name))
FAILING(BOOL, SetInformationJobObject, FALSE,
        (HANDLE job, JOBOBJECTINFOCLASS which, LPVOID value, DWORD size), (job, which, value, size))
FAILING(DWORD, GetModuleFileNameW, 0, (HMODULE module, LPWSTR out, DWORD size), (module, out, size))
FAILING(BOOL, CreateEnvironmentBlock, FALSE, (LPVOID * out, HANDLE token, BOOL inherit),
        (out, token, inherit))
FAILING(BOOL, DuplicateHandle, FALSE,
        (HANDLE from, HANDLE handle, HANDLE to, LPHANDLE out, DWORD access, BOOL inherit,
         DWORD options),
        (from, handle, to, out, access, inherit, options))
FAILING(BOOL, InitializeProcThreadAttributeList, FALSE,
        (LPPROC_THREAD_ATTRIBUTE_LIST attributes, DWORD count, DWORD flags, PSIZE_T size),
        (attributes, count, flags, size))
FAILING(BOOL, UpdateProcThreadAttribute, FALSE,
        (LPPROC_THREAD_ATTRIBUTE_LIST attributes, DWORD flags, DWORD_PTR attribute, PVOID value,
         SIZE_T size, PVOID previous, PSIZE_T returned),
        (attributes, flags, attribute, value, size, previous, returned))
FAILING(BOOL, CreateProcessAsUserW, FALSE,
        (HANDLE token, LPCWSTR program, LPWSTR line, LPSECURITY_ATTRIBUTES process,
         LPSECURITY_ATTRIBUTES thread, BOOL inherit, DWORD flags, LPVOID environment,
         LPCWSTR directory, LPSTARTUPINFOW info, LPPROCESS_INFORMATION out),
        (token, program, line, process, thread, inherit, flags, environment, directory, info, out))
FAILING(DWORD, ResumeThread, (DWORD)-1, (HANDLE thread), (thread))
FAILING(BOOL, ReadFile, FALSE,
        (HANDLE file, LPVOID out, DWORD size, LPDWORD moved, LPOVERLAPPED overlapped),
        (file, out, size, moved, overlapped))
FAILING(BOOL, WriteFile, FALSE,
        (HANDLE file, LPCVOID bytes, DWORD size, LPDWORD moved, LPOVERLAPPED overlapped),
        (file, bytes, size, moved, overlapped))

const struct sbx_winapi *sbx_win(void)
{
    static struct sbx_winapi table;
    if (table.CloseHandle == NULL) {
        sbx_winapi_load(&real);
        table = real;
        table.CreateNamedPipeW = try_CreateNamedPipeW;
        table.CreateFileW = try_CreateFileW;
        table.CreateEventW = try_CreateEventW;
        table.CreateJobObjectW = try_CreateJobObjectW;
        table.SetInformationJobObject = try_SetInformationJobObject;
        table.GetModuleFileNameW = try_GetModuleFileNameW;
        table.CreateEnvironmentBlock = try_CreateEnvironmentBlock;
        table.DuplicateHandle = try_DuplicateHandle;
        table.InitializeProcThreadAttributeList = try_InitializeProcThreadAttributeList;
        table.UpdateProcThreadAttribute = try_UpdateProcThreadAttribute;
        table.CreateProcessAsUserW = try_CreateProcessAsUserW;
        table.ResumeThread = try_ResumeThread;
        table.ReadFile = try_ReadFile;
        table.WriteFile = try_WriteFile;
    }
    return &table;
}

/* ---- this program as a launcher ----------------------------------------------------------------- */

static DWORD move(HANDLE pipe, bool is_write, void *bytes, DWORD size)
{
    DWORD moved = 0;
    OVERLAPPED overlapped = {.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL)};
    BOOL is_begun = is_write ? WriteFile(pipe, bytes, size, NULL, &overlapped)
                             : ReadFile(pipe, bytes, size, NULL, &overlapped);
    if ((is_begun || GetLastError() == ERROR_IO_PENDING) &&
        !GetOverlappedResult(pipe, &overlapped, &moved, TRUE)) {
        moved = 0;
    }
    (void)CloseHandle(overlapped.hEvent);
    return moved;
}

/* Answers each client with what it said, then says that it has none. */
static int act(void)
{
    static unsigned char in[4 * SBX_HANDOVER_FRAME_MAX];
    unsigned char out[SBX_HANDOVER_FRAME_MAX];
    HANDLE control = GetStdHandle(STD_INPUT_HANDLE);
    struct sbx_handover idle = {.kind = SBX_HANDOVER_IDLE};
    size_t size = 0;
    for (;;) {
        struct sbx_handover frame = {.kind = SBX_HANDOVER_END};
        size_t used = 0;
        DWORD got = move(control, false, in + size, (DWORD)(sizeof in - size));
        size += got;
        if (got == 0 || sbx_handover_parse(in, size, &frame, &used, &err) != SBX_OK ||
            (used > 0 && frame.kind == SBX_HANDOVER_END)) {
            return 0;
        }
        if (used > 0) {
            char said[SBX_HANDOVER_FIRST_MAX];
            HANDLE client = (HANDLE)(ULONG_PTR)frame.number;
            memcpy(said, frame.first, frame.first_size);
            (void)move(client, true, said, (DWORD)frame.first_size);
            (void)CloseHandle(client);
            idle.number++;
            (void)move(control, true, out, (DWORD)sbx_handover_print(&idle, out));
            memmove(in, in + used, size - used);
            size -= used;
        }
    }
}

/* ---- fixtures ----------------------------------------------------------------------------------- */

static struct sbx_peer self_as_peer(void)
{
    struct sbx_peer peer = {0};
    HANDLE token = NULL;
    CHECK(OpenProcessToken(GetCurrentProcess(), TOKEN_ALL_ACCESS, &token));
    CHECK(DuplicateTokenEx(token, TOKEN_ALL_ACCESS, NULL, SecurityImpersonation, TokenPrimary,
                           &peer.token));
    sbx_peer_look(token, &peer);
    sbx_handle_close(&token);
    return peer;
}

/* A connected client: the service's end and the client's. */
static void connect(HANDLE *ours, HANDLE *theirs)
{
    static unsigned number;
    wchar_t name[64];
    (void)swprintf(name, SBX_COUNT(name), L"\\\\.\\pipe\\sbx-test-%lu-%u", GetCurrentProcessId(),
                   number++);
    *ours = CreateNamedPipeW(name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED, PIPE_TYPE_BYTE, 1,
                             4096, 4096, 0, NULL);
    *theirs = CreateFileW(name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL);
    CHECK(sbx_handle_is_open(*ours) && sbx_handle_is_open(*theirs));
}

static size_t open_handles(void)
{
    size_t count = 0;
    for (ULONG_PTR value = 4; value < HANDLES; value += 4) {
        DWORD flags = 0;
        count += GetHandleInformation((HANDLE)value, &flags) ? 1 : 0;
    }
    return count;
}

/* ---- cases -------------------------------------------------------------------------------------- */

static void a_client_and_its_first_bytes_reach_the_launcher(void)
{
    struct sbx_peer peer = self_as_peer();
    struct sbx_launcher *launcher = NULL;
    struct sbx_launcher *same = NULL;
    HANDLE ours = NULL;
    HANDLE theirs = NULL;
    char said[16] = "";
    DWORD moved = 0;
    connect(&ours, &theirs);
    CHECK_CODE(sbx_launcher_get(list, &peer, &launcher, &err), SBX_OK, &err);
    CHECK_CODE(sbx_launcher_get(list, &peer, &same, &err), SBX_OK, &err);
    CHECK(launcher == same);
    if (launcher != NULL) {
        BOOL is_in = FALSE;
        CHECK(IsProcessInJob(launcher->process, launcher->job, &is_in) && is_in);
        CHECK_CODE(sbx_launcher_hand(launcher, ours, (const unsigned char *)"first", 5, &err),
                   SBX_OK, &err);
        sbx_handle_close(&ours);
        CHECK(ReadFile(theirs, said, sizeof said, &moved, NULL) && moved == 5);
        CHECK_TEXT(said, "first");
        /* It has no client any more and says so: it is ended, and its end is heard. */
        CHECK_INT(WaitForSingleObject(launcher->heard, PATIENCE_MS), WAIT_OBJECT_0);
        CHECK(sbx_launcher_hear(launcher) && launcher->is_ending);
        CHECK_INT(WaitForSingleObject(launcher->process, PATIENCE_MS), WAIT_OBJECT_0);
        CHECK_INT(WaitForSingleObject(launcher->heard, PATIENCE_MS), WAIT_OBJECT_0);
        CHECK(!sbx_launcher_hear(launcher));
        sbx_launcher_drop(launcher);
    }
    sbx_handle_close(&theirs);
    sbx_peer_release(&peer);
}

static void a_launcher_that_ends_gets_no_more_clients(void)
{
    struct sbx_peer peer = self_as_peer();
    struct sbx_launcher *first = NULL;
    struct sbx_launcher *second = NULL;
    CHECK_CODE(sbx_launcher_get(list, &peer, &first, &err), SBX_OK, &err);
    if (first != NULL) {
        sbx_launcher_end(first);
        CHECK_CODE(sbx_launcher_get(list, &peer, &second, &err), SBX_OK, &err);
        CHECK(second != NULL && second != first);
        sbx_launcher_drop(first);
    }
    if (second != NULL) sbx_launcher_drop(second);
    sbx_peer_release(&peer);
}

static void a_dropped_launcher_is_ended(void)
{
    struct sbx_peer peer = self_as_peer();
    struct sbx_launcher *launcher = NULL;
    CHECK_CODE(sbx_launcher_get(list, &peer, &launcher, &err), SBX_OK, &err);
    if (launcher != NULL) {
        HANDLE process = NULL;
        CHECK(DuplicateHandle(GetCurrentProcess(), launcher->process, GetCurrentProcess(), &process,
                              0, FALSE, DUPLICATE_SAME_ACCESS));
        sbx_launcher_drop(launcher);
        CHECK_INT(WaitForSingleObject(process, PATIENCE_MS), WAIT_OBJECT_0);
        CHECK(launcher->job == NULL);
        sbx_handle_close(&process);
    }
    sbx_peer_release(&peer);
}

static void a_start_that_fails_leaves_no_handle_and_no_place(void)
{
    struct sbx_peer peer = self_as_peer();
    struct sbx_launcher *launcher = NULL;
    bool is_over = false;
    unsigned n = 0;
    /* What the system opens at the first start stays open. */
    CHECK_CODE(sbx_launcher_get(list, &peer, &launcher, &err), SBX_OK, &err);
    sbx_launcher_drop(&list[0]);
    size_t before = open_handles();
    while (!is_over && ++n < ROUNDS_MAX) {
        fail_at = n;
        calls = 0;
        failed = NULL;
        enum sbx_code code = sbx_launcher_get(list, &peer, &launcher, &err);
        is_over = failed == NULL;
        fail_at = 0;
        if (code == SBX_OK) {
            sbx_launcher_drop(launcher);
        } else {
            CHECK_TEXT(err.call, failed);
        }
        CHECK(list[0].job == NULL);
        CHECK_U64(open_handles(), before);
    }
    CHECK(is_over && n > 10);
    sbx_peer_release(&peer);
}

static const struct sbx_test tests[] = {
    {"a client and its first bytes reach the launcher",
     a_client_and_its_first_bytes_reach_the_launcher},
    {"a launcher that ends gets no more clients", a_launcher_that_ends_gets_no_more_clients},
    {"a dropped launcher is ended", a_dropped_launcher_is_ended},
    {"a start that fails leaves no handle and no place",
     a_start_that_fails_leaves_no_handle_and_no_place},
};

int main(int argc, char **argv)
{
    bool is_launcher = argc == 2 && strcmp(argv[1], SBX_LAUNCHER_WORD) == 0;
    return is_launcher ? act() : sbx_test_main(argc, argv, "launcher", tests, SBX_COUNT(tests));
}
