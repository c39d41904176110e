/* The backends of Linux. */
#ifndef SBX_POSIX_BACKEND_LINUX_H
#define SBX_POSIX_BACKEND_LINUX_H

#include "common/run/backend.h"

extern const struct sbx_backend sbx_backend_bwrap;
extern const struct sbx_backend sbx_backend_landlock;
extern const struct sbx_backend sbx_backend_native;

#endif
