/* Launchers, as the service keeps them: found, given clients, ended. */
#include "win/launcher.h"

#include <string.h>

#include "win/fault.h"
#include "win/handle.h"
#include "win/launcher_start.h"

#include "common/base/banned.h"

enum { END_MS = 3000, WRITE_MS = 10000, END_CODE = 1 };

/* ---- places ----------------------------------------------------------------------------------- */

static struct sbx_launcher *find(struct sbx_launcher list[SBX_LAUNCHERS_MAX],
                                 const struct sbx_peer *peer)
{
    for (size_t i = 0; i < SBX_LAUNCHERS_MAX; i++) {
        if (list[i].job != NULL && !list[i].is_ending &&
            memcmp(list[i].rights, peer->rights, sizeof peer->rights) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

static struct sbx_launcher *free_place(struct sbx_launcher list[SBX_LAUNCHERS_MAX])
{
    for (size_t i = 0; i < SBX_LAUNCHERS_MAX; i++) {
        if (list[i].job == NULL) {
            return &list[i];
        }
    }
    return NULL;
}

/* Begins to listen to it; what it says arrives in `in`. */
static bool listen(struct sbx_launcher *launcher)
{
    launcher->reading = (OVERLAPPED){.hEvent = launcher->heard};
    return sbx_win()->ReadFile(launcher->pipe, launcher->in, sizeof launcher->in, NULL,
                               &launcher->reading) ||
           GetLastError() == ERROR_IO_PENDING;
}

void sbx_launcher_drop(struct sbx_launcher *launcher)
{
    DWORD moved = 0;
    if (launcher->job != NULL) {
        (void)sbx_win()->TerminateJobObject(launcher->job, END_CODE);
    }
    /* The kernel writes into this place until the transfers are over: they are, before it is used again. */
    if (sbx_handle_is_open(launcher->pipe)) {
        (void)sbx_win()->CancelIoEx(launcher->pipe, NULL);
        (void)sbx_win()->GetOverlappedResult(launcher->pipe, &launcher->reading, &moved, TRUE);
        if (launcher->is_writing) {
            (void)sbx_win()->GetOverlappedResult(launcher->pipe, &launcher->writing, &moved, TRUE);
        }
    }
    sbx_handle_close(&launcher->pipe);
    sbx_handle_close(&launcher->heard);
    sbx_handle_close(&launcher->sent);
    sbx_handle_close(&launcher->process);
    sbx_handle_close(&launcher->job);
    *launcher = (struct sbx_launcher){0};
}

enum sbx_code sbx_launcher_get(struct sbx_launcher list[SBX_LAUNCHERS_MAX],
                               const struct sbx_peer *peer, struct sbx_launcher **out,
                               struct sbx_err *err)
{
    struct sbx_launcher *found = find(list, peer);
    if (found != NULL) {
        *out = found;
        return SBX_OK;
    }
    struct sbx_launcher *place = free_place(list);
    if (place == NULL) {
        return sbx_err_set(err, SBX_E_LIMIT, "%d users are served at once, and no more",
                           (int)SBX_LAUNCHERS_MAX);
    }
    struct sbx_launcher made = {.session = peer->facts.session};
    memcpy(made.rights, peer->rights, sizeof made.rights);
    memcpy(made.user, peer->user, sizeof made.user);
    enum sbx_code code = sbx_launcher_start(&made, peer->token, err);
    if (code != SBX_OK) {
        return code;
    }
    *place = made;
    if (!listen(place)) {
        DWORD raw = GetLastError();
        place->reading = (OVERLAPPED){0};
        sbx_launcher_drop(place);
        return sbx_err_win32(err, raw, "ReadFile", "cannot listen to the launcher");
    }
    *out = place;
    return SBX_OK;
}

/* ---- saying ----------------------------------------------------------------------------------- */

/* Whether what was said last has been taken. */
static bool is_free(struct sbx_launcher *launcher)
{
    DWORD moved = 0;
    if (launcher->is_writing &&
        (sbx_win()->GetOverlappedResult(launcher->pipe, &launcher->writing, &moved, FALSE) ||
         GetLastError() != ERROR_IO_INCOMPLETE)) {
        launcher->is_writing = false;
        launcher->impatient_ms = launcher->is_ending ? launcher->impatient_ms : 0;
    }
    return !launcher->is_writing;
}

static enum sbx_code say(struct sbx_launcher *launcher, const struct sbx_handover *frame,
                         struct sbx_err *err)
{
    if (!is_free(launcher)) {
        return sbx_err_set(err, SBX_E_UNAVAILABLE, "the launcher does not take more clients");
    }
    size_t size = sbx_handover_print(frame, launcher->out);
    launcher->writing = (OVERLAPPED){.hEvent = launcher->sent};
    if (sbx_win()->WriteFile(launcher->pipe, launcher->out, (DWORD)size, NULL,
                             &launcher->writing)) {
        return SBX_OK;
    }
    DWORD raw = GetLastError();
    if (raw != ERROR_IO_PENDING) {
        return sbx_err_win32(err, raw, "WriteFile", "cannot speak to the launcher");
    }
    launcher->is_writing = true;
    launcher->impatient_ms = sbx_win()->GetTickCount64() + WRITE_MS;
    return SBX_OK;
}

enum sbx_code sbx_launcher_hand(struct sbx_launcher *launcher, HANDLE pipe,
                                const unsigned char *first, size_t first_size, struct sbx_err *err)
{
    HANDLE theirs = NULL;
    HANDLE self = sbx_win()->GetCurrentProcess();
    if (!is_free(launcher)) {
        return sbx_err_set(err, SBX_E_UNAVAILABLE, "the launcher does not take more clients");
    }
    if (!sbx_win()->DuplicateHandle(self, pipe, launcher->process, &theirs, 0, FALSE,
                                    DUPLICATE_SAME_ACCESS)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "DuplicateHandle", "cannot hand the client over");
    }
    struct sbx_handover frame = {.kind = SBX_HANDOVER_CLIENT,
                                 .number = (uint64_t)(ULONG_PTR)theirs,
                                 .first = first,
                                 .first_size = first_size};
    enum sbx_code code = say(launcher, &frame, err);
    launcher->given += code == SBX_OK ? 1 : 0;
    if (code != SBX_OK) { /* nobody would ever close it there */
        (void)sbx_win()->DuplicateHandle(launcher->process, theirs, NULL, NULL, 0, FALSE,
                                         DUPLICATE_CLOSE_SOURCE);
    }
    return code;
}

void sbx_launcher_end(struct sbx_launcher *launcher)
{
    struct sbx_handover frame = {.kind = SBX_HANDOVER_END};
    struct sbx_err ignored;
    ULONGLONG now = sbx_win()->GetTickCount64();
    launcher->is_ending = true;
    launcher->impatient_ms = say(launcher, &frame, &ignored) == SBX_OK ? now + END_MS : now;
}

bool sbx_launcher_is_late(struct sbx_launcher *launcher)
{
    (void)is_free(launcher);
    return launcher->impatient_ms != 0 && sbx_win()->GetTickCount64() >= launcher->impatient_ms;
}

/* ---- hearing ---------------------------------------------------------------------------------- */

/* One short frame at a time: a launcher says nothing else until it is answered. */
bool sbx_launcher_hear(struct sbx_launcher *launcher)
{
    DWORD size = 0;
    struct sbx_handover frame = {0};
    struct sbx_err ignored;
    size_t used = 0;
    if (!sbx_win()->GetOverlappedResult(launcher->pipe, &launcher->reading, &size, FALSE)) {
        return GetLastError() == ERROR_IO_INCOMPLETE;
    }
    if (sbx_handover_parse(launcher->in, size, &frame, &used, &ignored) != SBX_OK || used == 0 ||
        used != size || frame.kind != SBX_HANDOVER_IDLE) {
        return false;
    }
    /* One that has not seen its last client yet only seems to have none. */
    if (!launcher->is_ending && frame.number == launcher->given && is_free(launcher)) {
        sbx_launcher_end(launcher);
    }
    return listen(launcher);
}
