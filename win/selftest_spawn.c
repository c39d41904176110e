/* Starting a process of the self-test on Windows: its streams are read, and it ends by itself or is killed. */
#include "common/base/buf.h"
#include "common/os.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/quote.h"
#include "win/selftest.h"
#include "win/wide.h"

#include "common/base/banned.h"

#define TICK_MS 10
#define DRAIN_MS 2000
#define PIPE_BYTES 65536

struct reader {
    HANDLE end; /* ours of the pipe */
    HANDLE thread;
    struct sbx_buf said;
};

struct started {
    HANDLE process, thread;
    struct reader readers[2];
    HANDLE child_ends[2];
};

static void release(struct started *child)
{
    for (int i = 0; i < 2; i++) {
        sbx_handle_close(&child->child_ends[i]);
        sbx_handle_close(&child->readers[i].end);
        sbx_handle_close(&child->readers[i].thread);
        sbx_buf_release(&child->readers[i].said);
    }
    sbx_handle_close(&child->thread);
    sbx_handle_close(&child->process);
}

/* ---- reading ---- */

/* What is too much is read and dropped, so that nobody waits for us. */
static DWORD WINAPI read_all(void *state)
{
    struct reader *reader = (struct reader *)state;
    static const size_t most = SBX_SELFTEST_OUTPUT_MAX;
    char block[16384];
    DWORD got;
    while (ReadFile(reader->end, block, sizeof block, &got, NULL) && got > 0) {
        if (reader->said.len + got <= most) {
            sbx_buf_add(&reader->said, block, got);
        }
    }
    return 0;
}

static bool start_reader(struct reader *reader)
{
    sbx_buf_init(&reader->said, SBX_SELFTEST_OUTPUT_MAX);
    reader->thread = CreateThread(NULL, 0, read_all, reader, 0, NULL);
    return reader->thread != NULL;
}

/* A stream that somebody else still holds open is not waited for long. */
static void end_reader(struct reader *reader)
{
    if (reader->thread == NULL) {
        return;
    }
    while (WaitForSingleObject(reader->thread, DRAIN_MS) == WAIT_TIMEOUT) {
        (void)CancelSynchronousIo(reader->thread);
    }
}

static bool make_pipe(struct started *child, int which)
{
    struct reader *reader = &child->readers[which];
    return CreatePipe(&reader->end, &child->child_ends[which], NULL, PIPE_BYTES) &&
           SetHandleInformation(child->child_ends[which], HANDLE_FLAG_INHERIT,
                                HANDLE_FLAG_INHERIT) &&
           start_reader(reader);
}

/* ---- starting ---- */

struct attributes {
    _Alignas(16) BYTE storage[512];
    LPPROC_THREAD_ATTRIBUTE_LIST list; /* NULL: none was made */
};

static void release_attributes(struct attributes *attributes)
{
    if (attributes->list != NULL) {
        DeleteProcThreadAttributeList(attributes->list);
    }
}

/* `around` must outlive the list. */
static bool make_attributes(struct sbx_selftest_around *around, struct attributes *out)
{
    SIZE_T size = sizeof out->storage;
    LPPROC_THREAD_ATTRIBUTE_LIST list = (LPPROC_THREAD_ATTRIBUTE_LIST)(void *)out->storage;
    if (!InitializeProcThreadAttributeList(list, 2, 0, &size)) {
        return false;
    }
    out->list = list;
    if (around->job != NULL &&
        !UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_JOB_LIST, &around->job,
                                   sizeof around->job, NULL, NULL)) {
        return false;
    }
    return around->terminal == NULL ||
           UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE, around->terminal,
                                     sizeof around->terminal, NULL, NULL);
}

static bool make_streams(const struct sbx_selftest_around *around, struct started *child)
{
    if (around->terminal == NULL) {
        return make_pipe(child, 0) && make_pipe(child, 1);
    }
    return DuplicateHandle(GetCurrentProcess(), around->terminal_in, GetCurrentProcess(),
                           &child->readers[0].end, 0, FALSE, DUPLICATE_SAME_ACCESS) &&
           start_reader(&child->readers[0]);
}

/* Whatever of ours can be inherited is: sbx must not pass it on. */
static enum sbx_code start(struct sbx_arena *arena, const struct sbx_selftest_spawn *spawn,
                           struct sbx_selftest_around *around, struct started *child,
                           struct sbx_err *err)
{
    wchar_t *line;
    wchar_t *cwd;
    SBX_CLEANUP(release_attributes) struct attributes attributes = {.list = NULL};
    STARTUPINFOEXW info = {.StartupInfo.cb = sizeof info};
    PROCESS_INFORMATION made = {0};
    enum sbx_code code = sbx_quote_argv(arena, spawn->argv, &line, err);
    if (code == SBX_OK) {
        code = sbx_wide_from(arena, spawn->cwd, &cwd, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    AUTO_HANDLE nothing = CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                      NULL, OPEN_EXISTING, 0, NULL);
    if (!make_attributes(around, &attributes) || !make_streams(around, child)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreatePipe", "no streams for a process of the self-test");
    }
    info.lpAttributeList = attributes.list;
    /* With a terminal: none of ours instead of it, which Windows passes on when they are redirected. */
    info.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    if (around->terminal == NULL) {
        (void)SetHandleInformation(nothing, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
        info.StartupInfo.hStdInput = nothing;
        info.StartupInfo.hStdOutput = child->child_ends[0];
        info.StartupInfo.hStdError = child->child_ends[1];
    }
    if (!CreateProcessW(NULL, line, NULL, NULL, around->terminal == NULL,
                        EXTENDED_STARTUPINFO_PRESENT | around->flags, NULL, cwd, &info.StartupInfo,
                        &made)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateProcessW", "cannot start \"%s\"", spawn->argv[0]);
    }
    child->process = made.hProcess;
    child->thread = made.hThread;
    sbx_handle_close(&child->child_ends[0]);
    sbx_handle_close(&child->child_ends[1]);
    return SBX_OK;
}

/* ---- to its end ---- */

static void attend(const struct sbx_selftest_spawn *spawn, uint64_t begin, struct started *child,
                   struct sbx_selftest_ended *out)
{
    bool is_killed = false;
    while (WaitForSingleObject(child->process, TICK_MS) == WAIT_TIMEOUT) {
        if (is_killed) {
            continue;
        }
        out->is_timeout = sbx_os_monotonic_ns() - begin > spawn->timeout_ns;
        out->is_killed =
            !out->is_timeout && spawn->kill_when != NULL && sbx_selftest_exists(spawn->kill_when);
        if (out->is_timeout || out->is_killed) {
            (void)TerminateProcess(child->process, 1);
            is_killed = true;
        }
    }
    out->wall_ns = sbx_os_monotonic_ns() - begin;
    DWORD status = 0;
    (void)GetExitCodeProcess(child->process, &status);
    out->status = status;
}

/* A terminal's sequences: what they move and colour is not text. */
static void strip(struct sbx_buf *said)
{
    size_t kept = 0;
    for (size_t i = 0; i < said->len; i++) {
        char c = said->data[i];
        if (c != '\x1b') {
            said->data[kept++] = c;
            continue;
        }
        bool is_title = i + 1 < said->len && said->data[i + 1] == ']';
        for (i += 2; i < said->len; i++) {
            char last = said->data[i];
            if (is_title ? last == '\a' : last >= '@' && last <= '~') {
                break;
            }
        }
        /* Where the cursor goes, a new text begins. */
        if (!is_title && i < said->len && said->data[i] == 'H') {
            said->data[kept++] = '\n';
        }
    }
    said->len = kept;
}

enum sbx_code sbx_selftest_spawn_around(void *state, struct sbx_arena *arena,
                                        const struct sbx_selftest_spawn *spawn,
                                        struct sbx_selftest_ended *out, struct sbx_err *err)
{
    struct sbx_selftest_around *around = (struct sbx_selftest_around *)state;
    SBX_CLEANUP(release) struct started child = {0};
    struct sbx_selftest_ended made = {0};
    struct sbx_str *texts[2] = {&made.out, &made.err};
    uint64_t begin = sbx_os_monotonic_ns();
    enum sbx_code code = start(arena, spawn, around, &child, err);
    if (code == SBX_OK) {
        attend(spawn, begin, &child, &made);
        if (around->ended != NULL) {
            around->ended(around->ended_state);
        }
    } else {
        sbx_handle_close(&child.child_ends[0]);
        sbx_handle_close(&child.child_ends[1]);
    }
    for (int i = 0; i < 2; i++) {
        struct sbx_buf *said = &child.readers[i].said;
        end_reader(&child.readers[i]);
        if (around->terminal != NULL && said->len > 0) {
            strip(said);
        }
        const char *copy = sbx_arena_copy(arena, said->len == 0 ? "" : said->data, said->len);
        if (code == SBX_OK && copy == NULL) {
            code = sbx_err_nomem(err);
        }
        *texts[i] = (struct sbx_str){copy, copy == NULL ? 0 : said->len};
    }
    if (code == SBX_OK) {
        *out = made;
    }
    return code;
}

enum sbx_code sbx_selftest_spawn(struct sbx_arena *arena, const struct sbx_selftest_spawn *spawn,
                                 struct sbx_selftest_ended *out, struct sbx_err *err)
{
    struct sbx_selftest_around nothing = {0};
    return sbx_selftest_spawn_around(&nothing, arena, spawn, out, err);
}
