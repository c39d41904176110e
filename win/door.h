/* The pipe of the service: a few instances of it that wait for clients, or for the first bytes of one. Nothing here waits:
 * each place has an event. A client is identified only after it has said something (Windows needs that), so a silent one is
 * sent away after some seconds, and at once when others wait. */
#ifndef SBX_WIN_DOOR_H
#define SBX_WIN_DOOR_H

#include <stdbool.h>

#include "win/handover.h"
#include "win/winapi.h"

enum { SBX_DOOR_PLACES = 24, SBX_DOOR_OPEN = 4, SBX_DOOR_SILENT_MS = 10000 };

enum sbx_door_state { SBX_DOOR_FREE, SBX_DOOR_LISTENS, SBX_DOOR_READS };

struct sbx_door_place {
    enum sbx_door_state state;
    HANDLE pipe;
    HANDLE event;
    OVERLAPPED overlapped;
    ULONGLONG since_ms; /* READS: since when */
    DWORD size;         /* of `first`, when a client has spoken */
    unsigned char first[SBX_HANDOVER_FIRST_MAX];
};

struct sbx_door {
    PSECURITY_DESCRIPTOR descriptor;
    bool was_opened; /* the first instance has been made */
    struct sbx_door_place places[SBX_DOOR_PLACES];
};

/* Makes the first instances. SBX_E_DENIED when somebody else has the name already. Nothing is left on failure. The door
 * must not be moved afterwards. */
enum sbx_code sbx_door_open(struct sbx_door *door, struct sbx_err *err) SBX_MUST_USE;

/* NULL is allowed. */
void sbx_door_close(struct sbx_door *door);

/* To be called when the event of a place is set. True: a client has spoken, `pipe` and `first` are to be used, and then
 * sbx_door_leave. */
bool sbx_door_step(struct sbx_door *door, struct sbx_door_place *place);

/* The place is done with its client: what was handed over lives on elsewhere. */
void sbx_door_leave(struct sbx_door *door, struct sbx_door_place *place);

/* Sends silent clients away. Milliseconds until the next one is due; INFINITE: there is none. */
DWORD sbx_door_tidy(struct sbx_door *door);

/* Says one line to a client that is sent away; what does not fit at once is left unsaid. */
void sbx_door_say(struct sbx_door_place *place, const char *line, size_t len);

#endif
