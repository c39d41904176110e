/* How a launcher is started. */
#ifndef SBX_WIN_LAUNCHER_START_H
#define SBX_WIN_LAUNCHER_START_H

#include "win/launcher.h"

/* Fills job, process, pipe and the two events of *launcher; on failure nothing of it is left. */
enum sbx_code sbx_launcher_start(struct sbx_launcher *launcher, HANDLE token,
                                 struct sbx_err *err) SBX_MUST_USE;

#endif
