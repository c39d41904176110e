/* The pipe of the service: instances that wait for clients, or for the first bytes of one. */
#include "win/door.h"

#include "win/fault.h"
#include "win/handle.h"
#include "win/service_data.h"

#include "common/base/banned.h"

enum { PIPE_BYTES = 64 * 1024 };

static void finish(struct sbx_door_place *place)
{
    DWORD moved = 0;
    if (sbx_handle_is_open(place->pipe)) {
        /* The kernel may still write into this place. */
        if (sbx_win()->CancelIoEx(place->pipe, &place->overlapped) ||
            GetLastError() != ERROR_NOT_FOUND) {
            (void)sbx_win()->GetOverlappedResult(place->pipe, &place->overlapped, &moved, TRUE);
        }
    }
    sbx_handle_close(&place->pipe);
    if (place->event != NULL) {
        (void)sbx_win()->ResetEvent(place->event);
    }
    place->state = SBX_DOOR_FREE;
}

/* Begins to read what a client says first. */
static void begin_reading(struct sbx_door_place *place)
{
    place->state = SBX_DOOR_READS;
    place->since_ms = sbx_win()->GetTickCount64();
    place->size = 0;
    place->overlapped = (OVERLAPPED){.hEvent = place->event};
    if (!sbx_win()->ReadFile(place->pipe, place->first, sizeof place->first, NULL,
                             &place->overlapped) &&
        GetLastError() != ERROR_IO_PENDING) {
        finish(place); /* it has left already */
    }
}

static enum sbx_code make_instance(struct sbx_door *door, struct sbx_door_place *place,
                                   struct sbx_err *err)
{
    SECURITY_ATTRIBUTES security = {.nLength = sizeof security,
                                    .lpSecurityDescriptor = door->descriptor};
    DWORD mode = PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED |
                 (door->was_opened ? 0 : FILE_FLAG_FIRST_PIPE_INSTANCE);
    place->pipe = sbx_win()->CreateNamedPipeW(
        SBX_SERVICE_PIPE, mode,
        PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS,
        PIPE_UNLIMITED_INSTANCES, PIPE_BYTES, PIPE_BYTES, 0, &security);
    if (!sbx_handle_is_open(place->pipe)) {
        DWORD raw = GetLastError();
        (void)sbx_err_win32(err, raw, "CreateNamedPipeW", "cannot make the pipe \"%s\"",
                            SBX_SERVICE_PIPE_TEXT);
        return raw == ERROR_ACCESS_DENIED && !door->was_opened
                   ? sbx_err_hint(err, "another program has a pipe of this name: end it first")
                   : sbx_err_hint(err, "its events are in the Application log, source sbx");
    }
    return SBX_OK;
}

static enum sbx_code listen(struct sbx_door *door, struct sbx_door_place *place,
                            struct sbx_err *err)
{
    enum sbx_code code = make_instance(door, place, err);
    if (code != SBX_OK) {
        return code;
    }
    door->was_opened = true;
    place->overlapped = (OVERLAPPED){.hEvent = place->event};
    place->state = SBX_DOOR_LISTENS;
    if (sbx_win()->ConnectNamedPipe(place->pipe, &place->overlapped)) {
        return SBX_OK; /* its event is set */
    }
    DWORD raw = GetLastError();
    if (raw == ERROR_PIPE_CONNECTED) {
        begin_reading(place);
    } else if (raw != ERROR_IO_PENDING) {
        finish(place);
        return sbx_err_win32(err, raw, "ConnectNamedPipe", "cannot wait for clients");
    }
    return SBX_OK;
}

/* The client that has been silent for the longest time. */
static struct sbx_door_place *oldest(struct sbx_door *door)
{
    struct sbx_door_place *found = NULL;
    for (size_t i = 0; i < SBX_DOOR_PLACES; i++) {
        struct sbx_door_place *place = &door->places[i];
        if (place->state == SBX_DOOR_READS &&
            (found == NULL || place->since_ms < found->since_ms)) {
            found = place;
        }
    }
    return found;
}

/* As many instances listen as should, for free places as far as there are, else for those of silent clients. */
static enum sbx_code keep_open(struct sbx_door *door, struct sbx_err *err)
{
    enum sbx_code code = SBX_OK;
    size_t listening = 0;
    for (size_t i = 0; i < SBX_DOOR_PLACES; i++) {
        listening += door->places[i].state == SBX_DOOR_LISTENS ? 1 : 0;
    }
    for (size_t i = 0; i < SBX_DOOR_PLACES && listening < SBX_DOOR_OPEN && code == SBX_OK; i++) {
        if (door->places[i].state == SBX_DOOR_FREE) {
            code = listen(door, &door->places[i], err);
            listening += door->places[i].state == SBX_DOOR_LISTENS ? 1 : 0;
        }
    }
    struct sbx_door_place *silent = listening == 0 && code == SBX_OK ? oldest(door) : NULL;
    if (silent != NULL) {
        finish(silent);
        code = listen(door, silent, err);
    }
    return code;
}

enum sbx_code sbx_door_open(struct sbx_door *door, struct sbx_err *err)
{
    *door = (struct sbx_door){0};
    if (!sbx_win()->ConvertStringSecurityDescriptorToSecurityDescriptorW(
            sbx_service_pipe_sddl, SDDL_REVISION_1, &door->descriptor, NULL)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "ConvertStringSecurityDescriptorToSecurityDescriptorW",
                             "cannot protect the pipe");
    }
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; i < SBX_DOOR_PLACES && code == SBX_OK; i++) {
        door->places[i].event = sbx_win()->CreateEventW(NULL, TRUE, FALSE, NULL);
        DWORD raw = GetLastError();
        if (door->places[i].event == NULL) {
            code = sbx_err_win32(err, raw, "CreateEventW", "cannot watch the pipe");
        }
    }
    if (code == SBX_OK) {
        code = keep_open(door, err);
    }
    if (code != SBX_OK) {
        sbx_door_close(door);
    }
    return code;
}

void sbx_door_close(struct sbx_door *door)
{
    if (door == NULL) {
        return;
    }
    for (size_t i = 0; i < SBX_DOOR_PLACES; i++) {
        finish(&door->places[i]);
        sbx_handle_close(&door->places[i].event);
    }
    (void)sbx_win()->LocalFree(door->descriptor);
    door->descriptor = NULL;
}

/* Fewer instances than wanted are made up for at the next step: the others still listen. */
static void keep_open_if_possible(struct sbx_door *door)
{
    struct sbx_err ignored;
    (void)!keep_open(door, &ignored);
}

bool sbx_door_step(struct sbx_door *door, struct sbx_door_place *place)
{
    DWORD size = 0;
    bool is_done =
        sbx_win()->GetOverlappedResult(place->pipe, &place->overlapped, &size, FALSE) != FALSE;
    if (!is_done && GetLastError() == ERROR_IO_INCOMPLETE) {
        return false;
    }
    (void)sbx_win()->ResetEvent(place->event);
    bool has_spoken = is_done && place->state == SBX_DOOR_READS && size > 0;
    if (!is_done || (place->state == SBX_DOOR_READS && size == 0)) {
        finish(place);
    } else if (place->state == SBX_DOOR_LISTENS) {
        begin_reading(place);
    }
    place->size = has_spoken ? size : 0;
    keep_open_if_possible(door);
    return has_spoken;
}

void sbx_door_leave(struct sbx_door *door, struct sbx_door_place *place)
{
    finish(place);
    keep_open_if_possible(door);
}

DWORD sbx_door_tidy(struct sbx_door *door)
{
    ULONGLONG now = sbx_win()->GetTickCount64();
    DWORD next = INFINITE;
    for (size_t i = 0; i < SBX_DOOR_PLACES; i++) {
        struct sbx_door_place *place = &door->places[i];
        if (place->state != SBX_DOOR_READS) {
            continue;
        }
        ULONGLONG silent = now - place->since_ms;
        if (silent >= SBX_DOOR_SILENT_MS) {
            finish(place);
        } else if (SBX_DOOR_SILENT_MS - silent < next) {
            next = (DWORD)(SBX_DOOR_SILENT_MS - silent);
        }
    }
    keep_open_if_possible(door);
    return next;
}

void sbx_door_say(struct sbx_door_place *place, const char *line, size_t len)
{
    DWORD moved = 0;
    place->overlapped = (OVERLAPPED){.hEvent = place->event};
    if (!sbx_win()->WriteFile(place->pipe, line, (DWORD)len, NULL, &place->overlapped) &&
        GetLastError() == ERROR_IO_PENDING) {
        (void)sbx_win()->CancelIoEx(place->pipe, &place->overlapped);
        (void)sbx_win()->GetOverlappedResult(place->pipe, &place->overlapped, &moved, TRUE);
    }
}
