/* The desktop of a box: one of its own; with a window station of its own where the caller's does not admit
 * packages (services, SSH), because programs that link user32 end there with 0xC0000142. */
#ifndef SBX_WIN_DESKTOP_H
#define SBX_WIN_DESKTOP_H

#include "common/base/arena.h"
#include "win/winapi.h"

struct sbx_desktop {
    HWINSTA station;     /* NULL: the caller's */
    HDESK desktop;       /* NULL: the caller's */
    const wchar_t *name; /* "station\desktop" for lpDesktop */
    const char *text;    /* the same for evidence, with whose it is */
};

/* For a box of `package`. The caller's own desktop is only taken when its station and itself admit
 * packages and the system has no room for another. */
enum sbx_code sbx_desktop_open(struct sbx_arena *arena, PSID user, PSID package,
                               struct sbx_desktop *out, struct sbx_err *err) SBX_MUST_USE;

void sbx_desktop_close(struct sbx_desktop *desktop);

#endif
