/* The one table of calls into Windows (winapi_calls.h lists them): what the pipeline does to the system
 * goes through it, so that tests can record the order, let each call fail or lie, and answer like an NT
 * kernel. The product has exactly one table, the real one; a test program replaces it when it is linked, by
 * bringing its own sbx_win. GetLastError and SetLastError are not in it: they are the thread's own. */
#ifndef SBX_WIN_WINAPI_H
#define SBX_WIN_WINAPI_H

#include <windows.h>

#include <objbase.h>
#include <psapi.h>
#include <sddl.h>
#include <userenv.h>
#include <winsvc.h>
#include <winternl.h>

#include "common/base/err.h"
#include "win/winapi_calls.h"

/* GetVersionExW answers what the manifest asks for; this answers what is. In ntdll since NT 5, but not in
 * every header. */
NTSTATUS NTAPI RtlGetVersion(PRTL_OSVERSIONINFOW out);

/* RtlGenRandom, by the name it is exported under. */
BOOLEAN WINAPI SystemFunction036(PVOID out, ULONG size);

/* CloseHandle, …: the names and types of Windows. A declaration takes no parentheses around its parts. */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
struct sbx_winapi {
#define SBX_WINAPI_SLOT(dll, need, tells, type, name, parameters, arguments)                       \
    type(WINAPI *name) parameters;
    SBX_WINAPI_CALLS(SBX_WINAPI_SLOT)
#undef SBX_WINAPI_SLOT
};
/* NOLINTEND(bugprone-macro-parentheses) */

/* SBX_CALL_CloseHandle, …: a number for each call, in the order of the table. */
enum sbx_winapi_id {
#define SBX_WINAPI_ID(dll, need, tells, type, name, parameters, arguments) SBX_CALL_##name,
    SBX_WINAPI_CALLS(SBX_WINAPI_ID)
#undef SBX_WINAPI_ID
        SBX_CALL_COUNT
};

enum sbx_winapi_need { SBX_NEED_ALWAYS, SBX_NEED_BOX, SBX_NEED_MAYBE };

enum sbx_winapi_tells {
    SBX_TELLS_TRUTH,
    SBX_TELLS_OBJECT,
    SBX_TELLS_FILED,
    SBX_TELLS_COUNT,
    SBX_TELLS_WAITED,
    SBX_TELLS_MINUS,
    SBX_TELLS_CODE,
    SBX_TELLS_RESULT,
    SBX_TELLS_STATUS,
    SBX_TELLS_SURE,
};

struct sbx_winapi_row {
    const char *name;
    const char *dll;
    enum sbx_winapi_need need;
    enum sbx_winapi_tells tells;
    size_t slot; /* offset in struct sbx_winapi */
};
extern const struct sbx_winapi_row sbx_winapi_rows[SBX_CALL_COUNT];

/* The table in use. In the product: the real one, filled at the first call, always the same. */
const struct sbx_winapi *sbx_win(void);

/* Fills *out from this Windows. What is not there stays NULL. */
void sbx_winapi_load(struct sbx_winapi *out);

/* SBX_OK when every call that a box needs is there; else SBX_E_UNSUPPORTED with the names of the missing
 * ones. Behind it only MAYBE calls can be NULL. */
enum sbx_code sbx_winapi_check(const struct sbx_winapi *win, struct sbx_err *err) SBX_MUST_USE;

#endif
