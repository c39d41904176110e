/* The backends of Windows. */
#ifndef SBX_WIN_BACKEND_WIN_H
#define SBX_WIN_BACKEND_WIN_H

#include "common/run/backend.h"

extern const struct sbx_backend sbx_backend_appcontainer;

#endif
