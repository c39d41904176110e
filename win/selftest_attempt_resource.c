/* Attempts on time, memory, processes, output and the environment. */
#include <string.h>

#include "common/base/buf.h"
#include "win/handle.h"
#include "win/selftest.h"

#include "common/base/banned.h"

#define MEBIBYTE ((SIZE_T)1 << 20)
#define CHILDREN_MAX 256
#define SHOWN_NAMES 8 /* enough to find the reason, and no list of what a person uses */

/* ---- the environment ---- */

static void try_variable(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    wchar_t value[2];
    if (GetEnvironmentVariableW(sbx_attempt_wide(arguments[0]), value, 2) == 0 &&
        GetLastError() == ERROR_ENVVAR_NOT_FOUND) {
        sbx_reply(reply, SBX_ANSWER_ABSENT, "%s is not set", arguments[0]);
    } else {
        sbx_reply(reply, SBX_ANSWER_DONE, "%s is set", arguments[0]);
    }
}

static bool is_known(const wchar_t *pair, size_t len, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const wchar_t *name = sbx_attempt_wide(names[i]);
        if (wcslen(name) == len && _wcsnicmp(name, pair, len) == 0) {
            return true;
        }
    }
    return false;
}

/* The names that are set, apart from those that are given. Names that begin with "=" are cmd's own. */
static void try_environment(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    AUTO_BUF names;
    size_t others = 0;
    sbx_buf_init(&names, sizeof reply->text - 64);
    wchar_t *block = GetEnvironmentStringsW();
    for (wchar_t *pair = block; pair != NULL && *pair != 0; pair += wcslen(pair) + 1) {
        const wchar_t *equals = wcschr(pair + 1, L'=');
        size_t len = equals == NULL ? wcslen(pair) : (size_t)(equals - pair);
        if (*pair == L'=' || is_known(pair, len, arguments, count)) {
            continue;
        }
        pair[len] = 0;
        if (others++ < SHOWN_NAMES) {
            sbx_buf_printf(&names, " %s", sbx_attempt_text(pair));
        }
        pair[len] = equals == NULL ? 0 : L'=';
    }
    sbx_reply(reply, others == 0 ? SBX_ANSWER_ABSENT : SBX_ANSWER_DONE, "%zu other variables:%s%s",
              others, sbx_buf_text(&names), others > SHOWN_NAMES ? " …" : "");
}

/* ---- time ---- */

static void try_sleep(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    Sleep((DWORD)sbx_attempt_number(arguments[0]));
    sbx_reply(reply, SBX_ANSWER_DONE, "slept %s ms", arguments[0]);
}

static void try_cpu(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    FILETIME created;
    FILETIME ended;
    FILETIME kernel;
    FILETIME user;
    ULONGLONG wanted = sbx_attempt_number(arguments[0]) * 10000000u;
    ULONGLONG used = 0;
    while (used < wanted) {
        for (volatile unsigned i = 0; i < 10000000u; i++) {
        }
        if (!GetProcessTimes(GetCurrentProcess(), &created, &ended, &kernel, &user)) {
            sbx_reply(reply, SBX_ANSWER_BROKEN, "GetProcessTimes: %lu", GetLastError());
            return;
        }
        used = (ULONGLONG)user.dwHighDateTime << 32 | user.dwLowDateTime;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "used %s s of processor time", arguments[0]);
}

/* ---- output and memory ---- */

static void try_output(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    char block[4096];
    DWORD put;
    uint64_t left = sbx_attempt_number(arguments[0]);
    HANDLE out = GetStdHandle(STD_OUTPUT_HANDLE);
    memset(block, '.', sizeof block);
    while (left > 0) {
        DWORD part = left < sizeof block ? (DWORD)left : (DWORD)sizeof block;
        if (!WriteFile(out, block, part, &put, NULL)) {
            DWORD raw = GetLastError();
            sbx_reply(reply, SBX_ANSWER_DENIED, "WriteFile: %lu", raw);
            return;
        }
        left -= part;
    }
    (void)WriteFile(out, "\n", 1, &put, NULL); /* the answer is a line of its own */
    sbx_reply(reply, SBX_ANSWER_DONE, "wrote %s bytes", arguments[0]);
}

static void try_memory(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    SIZE_T size = (SIZE_T)sbx_attempt_number(arguments[0]) * MEBIBYTE;
    BYTE *bytes = (BYTE *)VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (bytes == NULL) {
        DWORD raw = GetLastError();
        sbx_reply_win32(reply, raw, "VirtualAlloc of MiB", arguments[0]);
        return;
    }
    for (SIZE_T at = 0; at < size; at += 4096) {
        bytes[at] = 1;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "used %s MiB", arguments[0]);
}

/* ---- processes ---- */

struct children {
    PROCESS_INFORMATION made[CHILDREN_MAX];
    size_t count;
};

static void end_children(struct children *children)
{
    for (size_t i = 0; i < children->count; i++) {
        (void)TerminateProcess(children->made[i].hProcess, 0);
        sbx_handle_close(&children->made[i].hThread);
        sbx_handle_close(&children->made[i].hProcess);
    }
}

/* Starts `wanted` of them; the last error of the first that cannot be, or 0. */
static DWORD start_children(const wchar_t *words, size_t wanted, DWORD flags,
                            struct children *children)
{
    while (children->count < wanted && children->count < CHILDREN_MAX) {
        if (!sbx_attempt_start(words, flags, &children->made[children->count])) {
            DWORD raw = GetLastError();
            return raw == 0 ? ERROR_GEN_FAILURE : raw;
        }
        children->count++;
    }
    return 0;
}

static void try_processes(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    static struct children children;
    size_t wanted = (size_t)sbx_attempt_number(arguments[0]);
    DWORD raw = start_children(L"sleep 60000", wanted, CREATE_SUSPENDED, &children);
    size_t made = children.count;
    end_children(&children);
    if (raw != 0) {
        sbx_reply_win32(reply, raw, "CreateProcessW of a further process", "");
    } else {
        sbx_reply(reply, SBX_ANSWER_DONE, "%zu processes at once", made);
    }
}

/* Several processes that use memory together; each of them would be allowed alone. */
static void try_memory_of_all(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    static struct children children;
    size_t wanted = (size_t)sbx_attempt_number(arguments[0]);
    DWORD raw = start_children(L"hold 96 1500", wanted, 0, &children);
    DWORD refused = 0;
    for (size_t i = 0; i < children.count; i++) {
        DWORD status = 0;
        (void)WaitForSingleObject(children.made[i].hProcess, 30000);
        (void)GetExitCodeProcess(children.made[i].hProcess, &status);
        refused += status != 0;
    }
    end_children(&children);
    if (raw != 0) {
        sbx_reply_win32(reply, raw, "CreateProcessW", "");
    } else if (refused > 0) {
        sbx_reply(reply, SBX_ANSWER_DENIED, "%lu of %zu processes got no memory", refused, wanted);
    } else {
        sbx_reply(reply, SBX_ANSWER_DONE, "%zu processes used 96 MiB each", wanted);
    }
}

static void try_hold(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    try_memory(arguments, count, reply);
    if (reply->answer == SBX_ANSWER_DONE) {
        Sleep((DWORD)sbx_attempt_number(arguments[1]));
    }
}

const struct sbx_attempt sbx_attempts_resource[] = {
    {"variable", "NAME", "looks for a variable", 1, try_variable},
    {"environment", "[NAME…]", "looks for variables besides these", 0, try_environment},
    {"sleep", "MS", "sleeps", 1, try_sleep},
    {"cpu", "SECONDS", "uses processor time", 1, try_cpu},
    {"output", "BYTES", "writes to standard output", 1, try_output},
    {"memory", "MIB", "uses memory", 1, try_memory},
    {"hold", "MIB MS", "uses memory for a while", 2, try_hold},
    {"memory-of-all", "COUNT", "uses 96 MiB in each of so many processes", 1, try_memory_of_all},
    {"processes", "COUNT", "has that many processes at once", 1, try_processes},
    SBX_SELFTEST_ALONE,
};
