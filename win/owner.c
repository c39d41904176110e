/* Which process wrote a record, and whether it is still there. */
#include <wchar.h>

#include "win/fault.h"
#include "win/handle.h"
#include "win/state.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { IMAGE_MAX = 32768, SCRATCH = 512 * 1024 };

uint64_t sbx_state_now(void)
{
    FILETIME now;
    sbx_win()->GetSystemTimeAsFileTime(&now);
    uint64_t ticks = (uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime;
    const uint64_t until_1970 = UINT64_C(116444736000000000);
    return ticks < until_1970 ? 0 : (ticks - until_1970) / 10000000;
}

static bool created_at(HANDLE process, uint64_t *out)
{
    FILETIME created;
    FILETIME ended;
    FILETIME kernel;
    FILETIME user;
    if (!sbx_win()->GetProcessTimes(process, &created, &ended, &kernel, &user)) {
        return false;
    }
    *out = (uint64_t)created.dwHighDateTime << 32 | created.dwLowDateTime;
    return true;
}

/* NULL with the last error. */
static const char *image_of(struct sbx_arena *arena, HANDLE process)
{
    wchar_t *wide = SBX_NEW_ARRAY(arena, wchar_t, IMAGE_MAX);
    const char *text = NULL;
    DWORD size = IMAGE_MAX - 1;
    if (wide == NULL) {
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return NULL;
    }
    if (!sbx_win()->QueryFullProcessImageNameW(process, 0, wide, &size)) {
        return NULL;
    }
    if (sbx_wide_to(arena, wide, &text, NULL) != SBX_OK) {
        SetLastError(ERROR_NO_UNICODE_TRANSLATION);
        return NULL;
    }
    return text;
}

enum sbx_code sbx_owner_self(struct sbx_arena *arena, struct sbx_record_owner *out,
                             struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, SCRATCH);
    struct sbx_record_owner owner = {.pid = sbx_win()->GetCurrentProcessId()};
    if (!created_at(sbx_win()->GetCurrentProcess(), &owner.created)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "GetProcessTimes", "cannot tell when sbx was started");
    }
    const char *image = image_of(&scratch, sbx_win()->GetCurrentProcess());
    if (image == NULL) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "QueryFullProcessImageNameW",
                             "cannot tell which program this sbx is");
    }
    owner.image = sbx_arena_copy(arena, image, sbx_str(image).len);
    if (owner.image == NULL) {
        return sbx_err_nomem(err);
    }
    *out = owner;
    return SBX_OK;
}

/* NULL image: any. */
static bool is_alive(DWORD pid, uint64_t created, const char *image)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, SCRATCH);
    uint64_t here;
    AUTO_HANDLE process =
        sbx_win()->OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, FALSE, pid);
    if (!sbx_handle_is_open(process)) {
        return GetLastError() != ERROR_INVALID_PARAMETER; /* which means: there is none */
    }
    if (sbx_win()->WaitForSingleObject(process, 0) == WAIT_OBJECT_0) {
        return false;
    }
    if (!created_at(process, &here)) {
        return true;
    }
    if (here != created) {
        return false;
    }
    const char *its = image == NULL ? NULL : image_of(&scratch, process);
    return its == NULL || sbx_text_eq(its, image);
}

bool sbx_owner_is_alive(const struct sbx_record_owner *owner)
{
    return is_alive(owner->pid, owner->created, owner->image);
}

bool sbx_owner_is_alive_at(uint32_t pid, uint64_t created)
{
    return is_alive(pid, created, NULL);
}
