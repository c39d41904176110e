/* The console of a box: a pseudo console of its own, so that it neither shares the caller's (and could type into it)
 * nor has to make one itself, which a restricted process cannot. With a terminal asked for, the caller's console is
 * carried to and from it. */
#ifndef SBX_WIN_TERMINAL_H
#define SBX_WIN_TERMINAL_H

#include <stdbool.h>

#include "common/base/err.h"
#include "win/attend.h"
#include "win/winapi.h"

struct sbx_terminal {
    HPCON console;
    HANDLE input;            /* ours, held open so that the console does not end */
    struct sbx_pump *silent; /* what it draws when nobody asked for it */
    HANDLE screen;           /* the caller's, borrowed; NULL: not carried */
    COORD size;
    HANDLE keyboard; /* likewise */
    DWORD screen_mode, keyboard_mode;
    bool has_modes; /* were changed and must be put back */
};

/* Is a pseudo console to be had at all? */
bool sbx_terminal_is_available(void);

/* With `is_carried` standard input and output must be consoles; they are switched to raw sequences and carried by
 * pumps of `attend`. */
enum sbx_code sbx_terminal_open(bool is_carried, struct sbx_attend *attend,
                                struct sbx_terminal *out, struct sbx_err *err) SBX_MUST_USE;

/* Follows the size of the caller's window; a tick of sbx_attend. */
void sbx_terminal_follow(void *terminal);

/* Ends the console, so that what it draws has an end; `ended` of sbx_attend. */
void sbx_terminal_end(void *terminal);

/* Ends it, waits for what is still drawn, and puts the caller's console back. */
void sbx_terminal_close(struct sbx_terminal *terminal);

#endif
