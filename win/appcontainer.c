/* AppContainer: one profile per run, and the capabilities it selects. */
#include "win/appcontainer.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "win/fault.h"
#include "win/handle.h"
#include "win/sid.h"
#include "win/wide.h"

#include "common/base/banned.h"

static void free_sid(PSID *sid)
{
    if (*sid != NULL) {
        (void)sbx_win()->FreeSid(*sid);
    }
}
#define AUTO_SID SBX_CLEANUP(free_sid) PSID

static void free_text(PWSTR *text)
{
    if (*text != NULL) {
        sbx_win()->CoTaskMemFree(*text);
    }
}

/* HRESULTs that carry a Win32 code speak its words. */
static enum sbx_code fail(struct sbx_err *err, HRESULT raw, const char *call, const char *what)
{
    DWORD inner = (DWORD)raw & 0xFFFF;
    bool is_win32 = HRESULT_FACILITY(raw) == FACILITY_WIN32;
    enum sbx_code code = is_win32 ? sbx_win32_code(inner) : SBX_E_IO;
    return sbx_err_os(err, code, SBX_OS_HRESULT, raw, call, "%s: %s", what,
                      is_win32 ? sbx_win32_text(inner) : "the system refused");
}

/* ---- profile --------------------------------------------------------------------------------- */

enum sbx_code sbx_profile_name(struct sbx_arena *arena, const char **out, struct sbx_err *err)
{
    uint64_t random;
    if (!sbx_win()->SystemFunction036(&random, sizeof random)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "SystemFunction036", "cannot name the box");
    }
    const char *name =
        sbx_arena_printf(arena, "sbx.%lu.%016" PRIx64, sbx_win()->GetCurrentProcessId(), random);
    if (name == NULL) {
        return sbx_err_nomem(err);
    }
    *out = name;
    return SBX_OK;
}

/* Programs get their temporary files there. Without it a box starts all the same. */
static const char *folder_of(struct sbx_arena *arena, PSID sid)
{
    wchar_t *text;
    SBX_CLEANUP(free_text) PWSTR path = NULL;
    const char *folder;
    if (sbx_wide_from(arena, sbx_sid_text(arena, sid), &text, NULL) != SBX_OK ||
        FAILED(sbx_win()->GetAppContainerFolderPath(text, &path)) || path == NULL ||
        sbx_wide_to(arena, path, &folder, NULL) != SBX_OK) {
        return NULL;
    }
    return folder;
}

enum sbx_code sbx_profile_create(struct sbx_arena *arena, const char *name, struct sbx_profile *out,
                                 struct sbx_err *err)
{
    wchar_t *wide;
    if (strlen(name) > SBX_PROFILE_NAME_MAX) {
        return sbx_err_set(err, SBX_E_INTERNAL, "the name of a profile is too long");
    }
    enum sbx_code code = sbx_wide_from(arena, name, &wide, err);
    if (code != SBX_OK) {
        return code;
    }
    AUTO_SID sid = NULL;
    HRESULT raw = sbx_win()->CreateAppContainerProfile(wide, wide, L"a box of sbx", NULL, 0, &sid);
    if (FAILED(raw)) {
        (void)fail(err, raw, "CreateAppContainerProfile", "cannot create a profile for the box");
        return sbx_err_hint(err, raw == E_ACCESSDENIED
                                     ? "a policy of this machine forbids new AppContainer profiles"
                                     : "sign in with a local user profile and try again");
    }
    struct sbx_profile profile = {.name = name, .sid = sbx_sid_copy(arena, sid)};
    if (profile.sid == NULL) {
        (void)!sbx_profile_delete(name, NULL);
        return sid == NULL ? sbx_err_set(err, SBX_E_IO, "the new profile has no identifier")
                           : sbx_err_nomem(err);
    }
    profile.folder = folder_of(arena, profile.sid);
    *out = profile;
    return SBX_OK;
}

enum sbx_code sbx_profile_delete(const char *name, struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, 4096);
    wchar_t *wide;
    enum sbx_code code = sbx_wide_from(&scratch, name, &wide, err);
    if (code != SBX_OK) {
        return code;
    }
    if (sbx_win()->DeleteAppContainerProfile == NULL) {
        return sbx_err_set(err, SBX_E_UNSUPPORTED, "this Windows has no AppContainer profiles");
    }
    HRESULT raw = sbx_win()->DeleteAppContainerProfile(wide);
    if (FAILED(raw) && raw != HRESULT_FROM_WIN32(ERROR_FILE_NOT_FOUND) &&
        raw != HRESULT_FROM_WIN32(ERROR_NOT_FOUND)) {
        return fail(err, raw, "DeleteAppContainerProfile", "cannot delete the profile of the box");
    }
    return SBX_OK;
}

/* ---- capabilities ---------------------------------------------------------------------------- */

static void free_sids(PSID *list, DWORD count)
{
    for (DWORD i = 0; list != NULL && i < count; i++) {
        (void)sbx_win()->LocalFree(list[i]);
    }
    (void)sbx_win()->LocalFree(list);
}

enum sbx_code sbx_capability_sid(struct sbx_arena *arena, const char *name, PSID *out,
                                 struct sbx_err *err)
{
    wchar_t *wide;
    PSID *groups = NULL;
    PSID *capabilities = NULL;
    DWORD group_count = 0;
    DWORD capability_count = 0;
    enum sbx_code code = sbx_wide_from(arena, name, &wide, err);
    if (code != SBX_OK) {
        return code;
    }
    if (!sbx_win()->DeriveCapabilitySidsFromName(wide, &groups, &group_count, &capabilities,
                                                 &capability_count)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "DeriveCapabilitySidsFromName",
                             "cannot name the capability \"%s\"", name);
    }
    PSID copy = capability_count == 1 ? sbx_sid_copy(arena, capabilities[0]) : NULL;
    free_sids(groups, group_count);
    free_sids(capabilities, capability_count);
    if (copy == NULL) {
        return capability_count == 1
                   ? sbx_err_nomem(err)
                   : sbx_err_set(err, SBX_E_IO, "the capability \"%s\" has %lu identifiers", name,
                                 capability_count);
    }
    *out = copy;
    return SBX_OK;
}
