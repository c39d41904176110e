/* Window stations and desktops, with the descriptors that decide who may use them. */
#include "tests/ntmodel/nt_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/base/banned.h"

enum {
    CREATE_ONLY = 1,         /* CWF_CREATE_ONLY */
    STATION_NEEDED = 0x0022, /* what user32 needs at least: attributes and atoms */
    DESKTOP_NEEDED = 0x0083, /* reading, writing and making windows */
    NAME_UNITS = NT_NAME_MAX,
};

#define LOGON_STATION L"Service-0x0-4812b$"

/* Who may use the first ones. Without the two entries for packages a box finds no desktop. */
static const char open_station[] =
    "O:SYG:SYD:(A;;0xf037f;;;SY)(A;;0xf037f;;;BA)(A;;0xf037f;;;$U)(A;;0x2033f;;;AC)"
    "(A;;0x2033f;;;S-1-15-2-2)S:(ML;;NW;;;LW)";
static const char open_desktop[] =
    "O:SYG:SYD:(A;;0xf01ff;;;SY)(A;;0xf01ff;;;BA)(A;;0xf01ff;;;$U)(A;;0x200cf;;;AC)"
    "(A;;0x200cf;;;S-1-15-2-2)S:(ML;;NW;;;LW)";
static const char service_station[] =
    "O:SYG:SYD:(A;;0xf037f;;;SY)(A;;0xf037f;;;BA)(A;;0xf037f;;;$U)";
static const char service_desktop[] =
    "O:SYG:SYD:(A;;0xf01ff;;;SY)(A;;0xf01ff;;;BA)(A;;0xf01ff;;;$U)";

static void *made(struct nt_model *model, enum nt_kind kind, size_t size, const wchar_t *name,
                  const char *sddl)
{
    struct nt_object *object = nt_object_new(model, kind, size);
    const void *descriptor = nt_described(model, sddl, &object->descriptor_size);
    object->descriptor = nt_copy(descriptor, object->descriptor_size);
    nt_object_name(object, name);
    return object;
}

void nt_stations_new(struct nt_model *model)
{
    bool is_service = model->world.is_service;
    const wchar_t *name = is_service ? L"Service-0x0-3e7$" : L"WinSta0";
    model->first_station = made(model, NT_STATION, sizeof(struct nt_object), name,
                                is_service ? service_station : open_station);
    wchar_t full[NAME_UNITS];
    (void)swprintf(full, NAME_UNITS, L"%ls\\Default", name);
    struct nt_desktop *desktop =
        made(model, NT_DESKTOP, sizeof *desktop, full, is_service ? service_desktop : open_desktop);
    desktop->station = nt_object_ref(model->first_station);
    model->first_desktop = &desktop->object;
}

void nt_stations_free(struct nt_model *model)
{
    nt_object_unref(model->first_desktop);
    nt_object_unref(model->first_station);
    for (size_t i = 0; i < model->pipe_count; i++) {
        nt_object_unref(model->pipes[i]);
    }
}

void nt_desktop_free(struct nt_desktop *desktop)
{
    nt_object_unref(desktop->station);
}

void nt_station_attach(struct nt_process *process, struct nt_object *station)
{
    (void)nt_object_ref(station);
    nt_object_unref(process->station);
    process->station = station;
    if (station != NULL && process->is_launcher) {
        process->station_handle = nt_handle_add(process, station, 0xF037F, false);
        process->desktop_handle =
            nt_handle_add(process, process->object.model->first_desktop, 0xF01FF, false);
    }
}

/* ---- who may ------------------------------------------------------------------------------------------ */

DWORD nt_station_open(struct nt_process *process, const wchar_t *name, DWORD access)
{
    const struct nt_object *station = nt_object_find(process->object.model, NT_STATION, name);
    if (station == NULL) {
        return ERROR_FILE_NOT_FOUND;
    }
    return nt_has_access(&process->token->token, station->descriptor, access,
                         nt_mapping(NT_STATION), NULL)
               ? 0
               : ERROR_ACCESS_DENIED;
}

DWORD nt_desktop_open(struct nt_process *process, const wchar_t *station, const wchar_t *name,
                      DWORD access)
{
    DWORD code = nt_station_open(process, station, 0x0002 /* read attributes */);
    if (code != 0) {
        return code;
    }
    wchar_t full[NAME_UNITS];
    (void)swprintf(full, NAME_UNITS, L"%ls\\%ls", station, name);
    const struct nt_object *desktop = nt_object_find(process->object.model, NT_DESKTOP, full);
    if (desktop == NULL) {
        return ERROR_FILE_NOT_FOUND;
    }
    return nt_has_access(&process->token->token, desktop->descriptor, access,
                         nt_mapping(NT_DESKTOP), NULL)
               ? 0
               : ERROR_ACCESS_DENIED;
}

/* What user32 does first: the station and the desktop that the process was given. */
DWORD nt_desktop_check(struct nt_process *process)
{
    wchar_t station[NAME_UNITS] = {0};
    const wchar_t *name = process->desktop_name;
    size_t len = 0;
    while (name[len] != 0 && name[len] != '\\') {
        len++;
    }
    if (name[len] == 0) { /* a desktop of the station of the creator */
        memcpy(station, L"WinSta0", sizeof L"WinSta0");
        len = 0;
    } else {
        memcpy(station, name, len * sizeof *name);
        len++;
    }
    DWORD code = nt_station_open(process, station, STATION_NEEDED);
    return code != 0 ? code : nt_desktop_open(process, station, name + len, DESKTOP_NEEDED);
}

/* ---- the calls ------------------------------------------------------------------------------------------- */

HWINSTA WINAPI nt_GetProcessWindowStation(void)
{
    return (HWINSTA)nt_process_now()->station_handle;
}

static HANDLE open_existing(struct nt_process *process, struct nt_object *object, DWORD access,
                            bool inherits)
{
    DWORD granted = 0;
    if (!nt_has_access(&process->token->token, object->descriptor, access, nt_mapping(object->kind),
                       &granted)) {
        return nt_fail_handle(ERROR_ACCESS_DENIED);
    }
    return nt_handle_add(process, object, granted, inherits);
}

/* A new one: the descriptor that was asked for, or everybody. */
static void describe(struct nt_process *process, void *object, const SECURITY_ATTRIBUTES *security,
                     enum nt_kind kind)
{
    size_t size;
    const void *descriptor = nt_descriptor_of(security);
    if (descriptor == NULL) {
        descriptor = nt_described(process->object.model, "O:$UG:$UD:(A;;GA;;;WD)", &size);
    }
    nt_object_describe(object, &process->token->token, NULL, descriptor, kind == NT_STATION,
                       nt_mapping(kind));
}

static DWORD all_access(enum nt_kind kind, DWORD access)
{
    const GENERIC_MAPPING *mapping = nt_mapping(kind);
    DWORD mapped = nt_map_generic(access, mapping);
    return (mapped & MAXIMUM_ALLOWED) != 0 ? mapping->GenericAll : mapped;
}

/* Only administrators choose the name; everybody else has one station for the logon session. */
HWINSTA WINAPI nt_CreateWindowStationW(LPCWSTR name, DWORD flags, ACCESS_MASK access,
                                       LPSECURITY_ATTRIBUTES security)
{
    struct nt_process *process = nt_process_now();
    struct nt_model *model = process->object.model;
    bool is_named = name != NULL && *name != 0;
    if (is_named && !nt_token_is_admin(&process->token->token)) {
        return (HWINSTA)nt_fail_handle(ERROR_ACCESS_DENIED);
    }
    const wchar_t *real = is_named ? name : LOGON_STATION;
    struct nt_object *station = nt_object_find(model, NT_STATION, real);
    if (station != NULL) {
        if ((flags & CREATE_ONLY) != 0) {
            return (HWINSTA)nt_fail_handle(ERROR_ALREADY_EXISTS);
        }
        return (HWINSTA)open_existing(process, station, access, nt_inherits(security));
    }
    station = nt_object_new(model, NT_STATION, sizeof *station);
    nt_object_name(station, real);
    describe(process, station, security, NT_STATION);
    HANDLE handle =
        nt_handle_add(process, station, all_access(NT_STATION, access), nt_inherits(security));
    nt_object_unref(station);
    return (HWINSTA)handle;
}

BOOL WINAPI nt_SetProcessWindowStation(HWINSTA handle)
{
    struct nt_object *station = nt_handle_get(handle, NT_STATION, 0);
    if (station == NULL) {
        return FALSE;
    }
    struct nt_process *process = nt_process_now();
    (void)nt_object_ref(station);
    nt_object_unref(process->station);
    process->station = station;
    process->station_handle = handle;
    return TRUE;
}

static BOOL close_user_object(HANDLE handle, enum nt_kind kind, HANDLE in_use)
{
    if (nt_handle_get(handle, kind, 0) == NULL) {
        return FALSE;
    }
    if (handle == in_use) {
        return nt_fail(ERROR_BUSY);
    }
    (void)nt_handle_drop(nt_process_now(), handle);
    return TRUE;
}

BOOL WINAPI nt_CloseWindowStation(HWINSTA handle)
{
    return close_user_object(handle, NT_STATION, nt_process_now()->station_handle);
}

BOOL WINAPI nt_CloseDesktop(HDESK handle)
{
    return close_user_object(handle, NT_DESKTOP, nt_process_now()->desktop_handle);
}

/* On the station that the process has now. */
HDESK WINAPI nt_CreateDesktopExW(LPCWSTR name, LPCWSTR device, DEVMODEW *mode, DWORD flags,
                                 ACCESS_MASK access, LPSECURITY_ATTRIBUTES security, ULONG heap_kb,
                                 PVOID reserved)
{
    (void)flags;
    (void)heap_kb;
    struct nt_process *process = nt_process_now();
    if (name == NULL || device != NULL || mode != NULL || reserved != NULL) {
        return (HDESK)nt_fail_handle(ERROR_INVALID_PARAMETER);
    }
    const struct nt_handle *row = nt_handle_row(process, process->station_handle);
    if (row == NULL || (row->access & 0x0008 /* create desktop */) == 0 ||
        (nt_ui_limits(process) & JOB_OBJECT_UILIMIT_DESKTOP) != 0) {
        return (HDESK)nt_fail_handle(ERROR_ACCESS_DENIED);
    }
    wchar_t full[NAME_UNITS];
    (void)swprintf(full, NAME_UNITS, L"%ls\\%ls", process->station->name, name);
    struct nt_object *there = nt_object_find(process->object.model, NT_DESKTOP, full);
    if (there != NULL) {
        return (HDESK)open_existing(process, there, access, nt_inherits(security));
    }
    struct nt_desktop *desktop = nt_object_new(process->object.model, NT_DESKTOP, sizeof *desktop);
    desktop->station = nt_object_ref(process->station);
    nt_object_name(desktop, full);
    describe(process, desktop, security, NT_DESKTOP);
    HANDLE handle =
        nt_handle_add(process, desktop, all_access(NT_DESKTOP, access), nt_inherits(security));
    nt_object_unref(desktop);
    return (HDESK)handle;
}

HDESK WINAPI nt_GetThreadDesktop(DWORD thread)
{
    (void)thread;
    return (HDESK)nt_process_now()->desktop_handle;
}

BOOL WINAPI nt_GetUserObjectInformationW(HANDLE handle, int which, PVOID out, DWORD size,
                                         LPDWORD needed)
{
    const struct nt_object *object = nt_handle_get(handle, NT_ANY, 0);
    if (object == NULL) {
        return FALSE;
    }
    if (object->kind != NT_STATION && object->kind != NT_DESKTOP) {
        nt_bad_handle(object->model, handle, "no user object");
        return FALSE;
    }
    bool is_first = object == object->model->first_station && !object->model->world.is_service;
    USEROBJECTFLAGS flags = {.dwFlags = is_first ? WSF_VISIBLE : 0};
    const wchar_t *text = object->kind == NT_STATION ? L"WindowStation" : L"Desktop";
    const void *from = &flags;
    size_t len = sizeof flags;
    if (which == UOI_NAME || which == UOI_TYPE) {
        if (which == UOI_NAME) {
            text = object->name;
            for (const wchar_t *at = object->name; *at != 0; at++) {
                text = *at == '\\' ? at + 1 : text;
            }
        }
        from = text;
        len = (nt_length(text) + 1) * sizeof *text;
    } else if (which != UOI_FLAGS) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    if (needed != NULL) {
        *needed = (DWORD)len;
    }
    if (size < len) {
        return nt_fail(ERROR_INSUFFICIENT_BUFFER);
    }
    memcpy(out, from, len);
    return TRUE;
}
