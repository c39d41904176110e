/* The backends of macOS. */
#ifndef SBX_POSIX_BACKEND_MACOS_H
#define SBX_POSIX_BACKEND_MACOS_H

#include "common/run/backend.h"

extern const struct sbx_backend sbx_backend_seatbelt;

#endif
