/* Ctrl-C and its kin while a child runs in the same console. */
#ifndef SBX_WIN_CONSOLE_H
#define SBX_WIN_CONSOLE_H

#include <windows.h>

/* The child gets Ctrl-C and Ctrl-Break from the console itself; sbx stays. Two of them within three
 * seconds set `cancel`. When the window is closed or the user logs off, sbx stays until `done` is
 * set, as long as Windows lets it. One watch at a time. */
void sbx_console_watch(HANDLE cancel, HANDLE done);
void sbx_console_release(void);

#endif
