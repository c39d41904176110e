/* What the service does between its start and its end. */
#include "win/service_loop.h"

#include <string.h>

#include "common/base/buf.h"
#include "common/base/jsonw.h"
#include "win/fault.h"
#include "win/handle.h"

#include "common/base/banned.h"

enum { WAITS_MAX = 2 + SBX_DOOR_PLACES + SBX_LAUNCHERS_MAX, TICK_MS = 500, LINE_BYTES = 1024 };
enum { PERMISSION = -33008, OVERLOADED = -32001 };
_Static_assert(WAITS_MAX <= MAXIMUM_WAIT_OBJECTS, "one wait is enough for everything");

/* ---- one client ------------------------------------------------------------------------------- */

/* The one line that the service itself ever says to a client. */
static void send_away(struct sbx_door_place *place, int code, const char *name, const char *reason)
{
    AUTO_BUF line;
    struct sbx_jsonw json;
    sbx_buf_init(&line, LINE_BYTES);
    sbx_jsonw_init(&json, &line, false);
    sbx_jsonw_object(&json);
    sbx_jsonw_pair_text(&json, "jsonrpc", "2.0");
    sbx_jsonw_key(&json, "id");
    sbx_jsonw_null(&json);
    sbx_jsonw_key(&json, "error");
    sbx_jsonw_object(&json);
    sbx_jsonw_key(&json, "code");
    sbx_jsonw_i64(&json, code);
    sbx_jsonw_pair_text(&json, "message", reason);
    sbx_jsonw_key(&json, "data");
    sbx_jsonw_object(&json);
    sbx_jsonw_pair_text(&json, "name", name);
    sbx_jsonw_pair_bool(&json, "retryable", code == OVERLOADED);
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_jsonw_end(&json);
    sbx_buf_add_char(&line, '\n');
    if (!line.failed) {
        sbx_door_say(place, line.data, line.len);
    }
}

static void refuse(struct sbx_service_loop *loop, struct sbx_door_place *place,
                   const struct sbx_peer *peer, const char *reason)
{
    char process[16];
    sbx_text_format(process, sizeof process, "%lu", peer->process);
    sbx_eventlog_tell(&loop->log, SBX_EVENT_REFUSED, (const char *[]){reason, process, peer->user},
                      3);
    send_away(place, PERMISSION, "permission", reason);
}

static void fail_launcher(struct sbx_service_loop *loop, struct sbx_door_place *place,
                          const struct sbx_peer *peer, const struct sbx_err *err)
{
    sbx_eventlog_tell(&loop->log, SBX_EVENT_LAUNCHER, (const char *[]){peer->user, err->text}, 2);
    send_away(place, OVERLOADED, "overloaded", err->text);
}

/* A launcher that has just ended by itself is replaced once. */
static void hand_over(struct sbx_service_loop *loop, struct sbx_door_place *place,
                      const struct sbx_peer *peer)
{
    struct sbx_err err = {0};
    enum sbx_code code = SBX_E_INTERNAL;
    for (int tries = 0; tries < 2; tries++) {
        struct sbx_launcher *launcher = NULL;
        code = sbx_launcher_get(loop->launchers, peer, &launcher, &err);
        if (code != SBX_OK) {
            break;
        }
        code = sbx_launcher_hand(launcher, place->pipe, place->first, place->size, &err);
        if (code == SBX_OK || code == SBX_E_UNAVAILABLE) {
            break;
        }
        sbx_launcher_drop(launcher);
    }
    if (code != SBX_OK) {
        fail_launcher(loop, place, peer, &err);
    }
}

static void receive(struct sbx_service_loop *loop, struct sbx_door_place *place)
{
    struct sbx_peer peer = {.user = "?"};
    struct sbx_err err = {0};
    if (sbx_peer_identify(place->pipe, &peer, &err) != SBX_OK) {
        refuse(loop, place, &peer, err.text);
        return;
    }
    enum sbx_peer_verdict verdict = sbx_peer_judge(&peer.facts);
    if (verdict == SBX_PEER_WELCOME) {
        hand_over(loop, place, &peer);
    } else {
        refuse(loop, place, &peer, sbx_peer_reason(verdict));
    }
    sbx_peer_release(&peer);
}

/* ---- waiting ---------------------------------------------------------------------------------- */

struct waits {
    HANDLE handles[WAITS_MAX];
    struct sbx_door_place *places[WAITS_MAX];
    struct sbx_launcher *launchers[WAITS_MAX];
    DWORD count;
};

static void gather(struct sbx_service_loop *loop, struct waits *out, bool is_ending)
{
    *out = (struct waits){.count = 0};
    if (!is_ending) {
        out->handles[out->count++] = loop->stop;
        out->handles[out->count++] = loop->logged_off;
    }
    for (size_t i = 0; i < SBX_LAUNCHERS_MAX; i++) {
        if (loop->launchers[i].job != NULL) {
            out->launchers[out->count] = &loop->launchers[i];
            out->handles[out->count++] = loop->launchers[i].heard;
        }
    }
    for (size_t i = 0; i < SBX_DOOR_PLACES && !is_ending; i++) {
        if (loop->door.places[i].state != SBX_DOOR_FREE) {
            out->places[out->count] = &loop->door.places[i];
            out->handles[out->count++] = loop->door.places[i].event;
        }
    }
}

/* Milliseconds until something is due that no event tells. */
static DWORD tidy(struct sbx_service_loop *loop, bool is_ending)
{
    DWORD next = is_ending ? TICK_MS : sbx_door_tidy(&loop->door);
    for (size_t i = 0; i < SBX_LAUNCHERS_MAX; i++) {
        struct sbx_launcher *launcher = &loop->launchers[i];
        if (launcher->job == NULL || launcher->impatient_ms == 0) {
            continue;
        }
        if (sbx_launcher_is_late(launcher)) {
            sbx_launcher_drop(launcher);
        } else {
            next = next < TICK_MS ? next : TICK_MS;
        }
    }
    return next;
}

static void end_sessions(struct sbx_service_loop *loop)
{
    AcquireSRWLockExclusive(&loop->lock);
    DWORD sessions[SBX_SERVICE_SESSIONS];
    size_t count = loop->session_count;
    memcpy(sessions, loop->sessions, sizeof sessions);
    loop->session_count = 0;
    (void)sbx_win()->ResetEvent(loop->logged_off);
    ReleaseSRWLockExclusive(&loop->lock);
    for (size_t i = 0; i < SBX_LAUNCHERS_MAX; i++) {
        for (size_t k = 0; k < count; k++) {
            if (loop->launchers[i].job != NULL && loop->launchers[i].session == sessions[k]) {
                sbx_launcher_drop(&loop->launchers[i]);
            }
        }
    }
}

void sbx_service_loop_log_off(struct sbx_service_loop *loop, DWORD session)
{
    AcquireSRWLockExclusive(&loop->lock);
    if (loop->session_count < SBX_SERVICE_SESSIONS) {
        loop->sessions[loop->session_count++] = session;
    }
    (void)sbx_win()->SetEvent(loop->logged_off);
    ReleaseSRWLockExclusive(&loop->lock);
}

/* What belongs to one set event. Places change under it, so the rest is looked at in the next round. */
static void serve(struct sbx_service_loop *loop, const struct waits *waits, DWORD index)
{
    struct sbx_launcher *launcher = waits->launchers[index];
    struct sbx_door_place *place = waits->places[index];
    if (launcher != NULL && !sbx_launcher_hear(launcher)) {
        sbx_launcher_drop(launcher);
    } else if (place != NULL && sbx_door_step(&loop->door, place)) {
        receive(loop, place);
        sbx_door_leave(&loop->door, place);
    } else if (waits->handles[index] == loop->logged_off) {
        end_sessions(loop);
    }
}

static enum sbx_code wait_once(struct sbx_service_loop *loop, bool is_ending, bool *is_stopped,
                               struct sbx_err *err)
{
    struct waits waits;
    DWORD ms = tidy(loop, is_ending);
    gather(loop, &waits, is_ending);
    if (waits.count == 0) {
        return SBX_OK;
    }
    DWORD got = sbx_win()->WaitForMultipleObjects(waits.count, waits.handles, FALSE, ms);
    if (got == WAIT_FAILED) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "WaitForMultipleObjects", "cannot wait for clients");
    }
    if (got < WAIT_OBJECT_0 + waits.count) {
        *is_stopped = waits.handles[got] == loop->stop;
        if (!*is_stopped) {
            serve(loop, &waits, got);
        }
    }
    return SBX_OK;
}

/* ---- from start to end ------------------------------------------------------------------------ */

enum sbx_code sbx_service_loop_open(struct sbx_service_loop *loop, struct sbx_err *err)
{
    InitializeSRWLock(&loop->lock);
    loop->stop = sbx_win()->CreateEventW(NULL, TRUE, FALSE, NULL);
    DWORD raw = GetLastError();
    if (loop->stop != NULL) {
        loop->logged_off = sbx_win()->CreateEventW(NULL, TRUE, FALSE, NULL);
        raw = GetLastError();
    }
    enum sbx_code code =
        loop->logged_off == NULL
            ? sbx_err_win32(err, raw, "CreateEventW", "cannot make the events of the service")
            : sbx_door_open(&loop->door, err);
    if (code != SBX_OK) {
        sbx_handle_close(&loop->stop);
        sbx_handle_close(&loop->logged_off);
    }
    return code;
}

static bool has_launchers(const struct sbx_service_loop *loop)
{
    for (size_t i = 0; i < SBX_LAUNCHERS_MAX; i++) {
        if (loop->launchers[i].job != NULL) {
            return true;
        }
    }
    return false;
}

/* The door is shut first: nobody comes while the rest ends. */
static enum sbx_code end(struct sbx_service_loop *loop, struct sbx_err *err)
{
    enum sbx_code code = SBX_OK;
    bool ignored = false;
    sbx_door_close(&loop->door);
    for (size_t i = 0; i < SBX_LAUNCHERS_MAX; i++) {
        if (loop->launchers[i].job != NULL) {
            sbx_launcher_end(&loop->launchers[i]);
        }
    }
    while (code == SBX_OK && has_launchers(loop)) {
        if (loop->progress != NULL) {
            loop->progress(loop->owner);
        }
        code = wait_once(loop, true, &ignored, err);
    }
    return code;
}

enum sbx_code sbx_service_loop_run(struct sbx_service_loop *loop, struct sbx_err *err)
{
    enum sbx_code code = SBX_OK;
    bool is_stopped = false;
    while (code == SBX_OK && !is_stopped) {
        code = wait_once(loop, false, &is_stopped, err);
    }
    return code == SBX_OK ? end(loop, err) : code;
}

void sbx_service_loop_close(struct sbx_service_loop *loop)
{
    sbx_door_close(&loop->door);
    for (size_t i = 0; i < SBX_LAUNCHERS_MAX; i++) {
        if (loop->launchers[i].job != NULL) {
            sbx_launcher_drop(&loop->launchers[i]);
        }
    }
    sbx_handle_close(&loop->stop);
    sbx_handle_close(&loop->logged_off);
}
