/* The desktop of a box: one of its own, with a window station where the caller's does not admit packages. */
#include "win/desktop.h"

#include <string.h>
#include <wchar.h>

#include "win/fault.h"
#include "win/handle.h"
#include "win/sid.h"
#include "win/wide.h"

#include "common/base/banned.h"

/* Windows, menus, messages; no hook, no journal, no switching. */
#define BOX_DESKTOP                                                                                \
    (DESKTOP_READOBJECTS | DESKTOP_CREATEWINDOW | DESKTOP_CREATEMENU | DESKTOP_ENUMERATE |         \
     DESKTOP_WRITEOBJECTS | READ_CONTROL)
/* No clipboard, no new desktops, no screen, no end of the session. */
#define BOX_STATION                                                                                \
    (WINSTA_ENUMDESKTOPS | WINSTA_READATTRIBUTES | WINSTA_ACCESSGLOBALATOMS | WINSTA_ENUMERATE |   \
     READ_CONTROL)
#define OWN_STATION (WINSTA_CREATEDESKTOP | BOX_STATION)

enum { NAME_MAX_UNITS = 256, HEAP_KB = 512, SECURITY_MAX_BYTES = 65536 };

/* ---- whom the caller's admits ---------------------------------------------------------------- */

static bool list_admits(PACL list)
{
    for (DWORD i = 0; list != NULL && i < list->AceCount; i++) {
        void *entry;
        if (GetAce(list, i, &entry)) {
            const ACCESS_ALLOWED_ACE *ace = (const ACCESS_ALLOWED_ACE *)entry;
            if (ace->Header.AceType == ACCESS_ALLOWED_ACE_TYPE &&
                (ace->Header.AceFlags & INHERIT_ONLY_ACE) == 0 &&
                sbx_sid_is((PSID)(ULONG_PTR)&ace->SidStart, SBX_SID_ALL_PACKAGES)) {
                return true;
            }
        }
    }
    return list == NULL; /* no list at all admits everybody */
}

/* What cannot be read does not admit. */
static bool admits_packages(struct sbx_arena *arena, HANDLE object)
{
    SECURITY_INFORMATION which = DACL_SECURITY_INFORMATION;
    DWORD size = 0;
    (void)sbx_win()->GetUserObjectSecurity(object, &which, NULL, 0, &size);
    void *descriptor =
        size == 0 || size > SECURITY_MAX_BYTES ? NULL : sbx_arena_alloc(arena, 1, size);
    BOOL has_list = FALSE;
    BOOL is_default = FALSE;
    PACL list = NULL;
    return descriptor != NULL &&
           sbx_win()->GetUserObjectSecurity(object, &which, descriptor, size, &size) &&
           GetSecurityDescriptorDacl(descriptor, &has_list, &list, &is_default) && has_list &&
           list_admits(list);
}

static enum sbx_code name_of(HANDLE object, wchar_t name[NAME_MAX_UNITS], struct sbx_err *err)
{
    DWORD size = 0;
    if (!sbx_win()->GetUserObjectInformationW(object, UOI_NAME, name,
                                              NAME_MAX_UNITS * sizeof(wchar_t), &size)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "GetUserObjectInformationW", "cannot name the desktop");
    }
    name[NAME_MAX_UNITS - 1] = L'\0';
    return SBX_OK;
}

/* ---- ours ------------------------------------------------------------------------------------ */

/* The user's half and the package's half must both admit; the user's is cut down too, because the token of
 * the box still carries the user. A Low box writes to it, so it is labelled Low. */
static enum sbx_code describe(struct sbx_arena *arena, PSID user, PSID package, DWORD rights,
                              PSECURITY_DESCRIPTOR *out, struct sbx_err *err)
{
    const char *text =
        sbx_arena_printf(arena, "D:P(A;;GA;;;SY)(A;;0x%lX;;;%s)(A;;0x%lX;;;%s)S:(ML;;NW;;;LW)",
                         rights, sbx_sid_text(arena, user), rights, sbx_sid_text(arena, package));
    wchar_t *wide;
    if (text == NULL) {
        return sbx_err_nomem(err);
    }
    enum sbx_code code = sbx_wide_from(arena, text, &wide, err);
    if (code == SBX_OK && !sbx_win()->ConvertStringSecurityDescriptorToSecurityDescriptorW(
                              wide, SDDL_REVISION_1, out, NULL)) {
        DWORD raw = GetLastError();
        code = sbx_err_win32(err, raw, "ConvertStringSecurityDescriptorToSecurityDescriptorW",
                             "cannot describe the desktop of the box");
    }
    return code;
}

static enum sbx_code make_desktop(struct sbx_arena *arena, PSID user, PSID package, HDESK *out,
                                  const wchar_t *name, struct sbx_err *err)
{
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = NULL;
    enum sbx_code code = describe(arena, user, package, BOX_DESKTOP, &descriptor, err);
    if (code != SBX_OK) {
        return code;
    }
    SECURITY_ATTRIBUTES security = {sizeof security, descriptor, FALSE};
    HDESK desktop =
        sbx_win()->CreateDesktopExW(name, NULL, NULL, 0, BOX_DESKTOP, &security, HEAP_KB, NULL);
    if (desktop == NULL) {
        DWORD raw = GetLastError();
        (void)sbx_err_win32(err, raw, "CreateDesktopExW", "cannot make a desktop for the box");
        return sbx_err_hint(err, "the desktop heap may be exhausted: end other boxes first");
    }
    *out = desktop;
    return SBX_OK;
}

/* Only administrators may name a station. Without a name it is the one of the logon session, which other boxes may
 * share: so it admits packages as such, as WinSta0 does, and only the desktop is for one box. */
static enum sbx_code make_station(struct sbx_arena *arena, PSID user, const wchar_t *name,
                                  HWINSTA *out, struct sbx_err *err)
{
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = NULL;
    enum sbx_code code =
        describe(arena, user, sbx_sid_known(SBX_SID_ALL_PACKAGES), OWN_STATION, &descriptor, err);
    if (code != SBX_OK) {
        return code;
    }
    SECURITY_ATTRIBUTES security = {sizeof security, descriptor, FALSE};
    HWINSTA station = sbx_win()->CreateWindowStationW(name, 0, OWN_STATION, &security);
    if (station == NULL && GetLastError() == ERROR_ACCESS_DENIED) {
        station = sbx_win()->CreateWindowStationW(NULL, 0, OWN_STATION, &security);
    }
    if (station == NULL) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateWindowStationW",
                             "cannot make a window station for the box");
    }
    if (!admits_packages(arena, station)) {
        (void)sbx_win()->CloseWindowStation(station);
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED,
                          "the window station of this logon session does not admit packages");
        return sbx_err_hint(err, "start sbx elevated, or from a desktop session");
    }
    *out = station;
    return SBX_OK;
}

/* A desktop is made on the station that the process has, so that is switched for a moment; nothing else in
 * this process uses it. */
static enum sbx_code make_both(struct sbx_arena *arena, PSID user, PSID package, HWINSTA own,
                               const wchar_t *name, struct sbx_desktop *out, struct sbx_err *err)
{
    HWINSTA station = NULL;
    enum sbx_code code = make_station(arena, user, name, &station, err);
    if (code != SBX_OK) {
        return code;
    }
    HDESK desktop = NULL;
    if (!sbx_win()->SetProcessWindowStation(station)) {
        DWORD raw = GetLastError();
        code = sbx_err_win32(err, raw, "SetProcessWindowStation",
                             "cannot use the window station of the box");
    } else {
        code = make_desktop(arena, user, package, &desktop, name, err);
        if (!sbx_win()->SetProcessWindowStation(own) && code == SBX_OK) {
            DWORD raw = GetLastError();
            code = sbx_err_win32(err, raw, "SetProcessWindowStation",
                                 "cannot go back to the caller's window station");
        }
    }
    if (code != SBX_OK) {
        struct sbx_desktop made = {.station = station, .desktop = desktop};
        sbx_desktop_close(&made);
        return code;
    }
    out->station = station;
    out->desktop = desktop;
    return SBX_OK;
}

/* ---- the choice ------------------------------------------------------------------------------ */

static enum sbx_code join_names(struct sbx_arena *arena, HANDLE station, const wchar_t *desktop,
                                const char *whose, struct sbx_desktop *out, struct sbx_err *err)
{
    wchar_t first[NAME_MAX_UNITS];
    enum sbx_code code = name_of(station, first, err);
    if (code != SBX_OK) {
        return code;
    }
    size_t head = wcslen(first);
    size_t tail = wcslen(desktop);
    wchar_t *name = SBX_NEW_ARRAY(arena, wchar_t, head + tail + 2);
    const char *text;
    if (name == NULL) {
        return sbx_err_nomem(err);
    }
    wmemcpy(name, first, head);
    name[head] = L'\\';
    wmemcpy(name + head + 1, desktop, tail + 1);
    code = sbx_wide_to(arena, name, &text, err);
    if (code == SBX_OK) {
        out->name = name;
        out->text = sbx_arena_printf(arena, "%s (%s)", text, whose);
        code = out->text == NULL ? sbx_err_nomem(err) : SBX_OK;
    }
    return code;
}

static enum sbx_code take_callers(struct sbx_arena *arena, HWINSTA station, HDESK desktop,
                                  struct sbx_desktop *out, struct sbx_err *err)
{
    wchar_t name[NAME_MAX_UNITS];
    enum sbx_code code = name_of(desktop, name, err);
    return code != SBX_OK ? code : join_names(arena, station, name, "the caller's", out, err);
}

static enum sbx_code choose(struct sbx_arena *arena, PSID user, PSID package, const wchar_t *name,
                            struct sbx_desktop *made, struct sbx_err *err)
{
    HWINSTA station = sbx_win()->GetProcessWindowStation(); /* not ours to close */
    HDESK desktop = sbx_win()->GetThreadDesktop(sbx_win()->GetCurrentThreadId());
    if (station == NULL) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "GetProcessWindowStation",
                             "cannot tell the caller's window station");
    }
    if (!admits_packages(arena, station)) {
        enum sbx_code code = make_both(arena, user, package, station, name, made, err);
        return code != SBX_OK
                   ? code
                   : join_names(arena, made->station, name, "its own, station too", made, err);
    }
    enum sbx_code code = make_desktop(arena, user, package, &made->desktop, name, err);
    if (code == SBX_OK) {
        return join_names(arena, station, name, "its own", made, err);
    }
    if (desktop == NULL || !admits_packages(arena, desktop)) {
        return code;
    }
    return take_callers(arena, station, desktop, made, err);
}

enum sbx_code sbx_desktop_open(struct sbx_arena *arena, PSID user, PSID package,
                               struct sbx_desktop *out, struct sbx_err *err)
{
    uint64_t random;
    wchar_t *name;
    if (!sbx_win()->SystemFunction036(&random, sizeof random)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "SystemFunction036", "cannot name the desktop of the box");
    }
    const char *text = sbx_arena_printf(arena, "sbx.%016llx", (unsigned long long)random);
    if (text == NULL) {
        return sbx_err_nomem(err);
    }
    struct sbx_desktop made = {0};
    enum sbx_code code = sbx_wide_from(arena, text, &name, err);
    if (code == SBX_OK) {
        code = choose(arena, user, package, name, &made, err);
    }
    if (code != SBX_OK) {
        sbx_desktop_close(&made);
        return code;
    }
    *out = made;
    return SBX_OK;
}

void sbx_desktop_close(struct sbx_desktop *desktop)
{
    if (desktop->desktop != NULL) {
        (void)sbx_win()->CloseDesktop(desktop->desktop);
    }
    if (desktop->station != NULL) {
        (void)sbx_win()->CloseWindowStation(desktop->station);
    }
    *desktop = (struct sbx_desktop){0};
}
