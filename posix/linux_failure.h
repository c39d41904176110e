/* Why a box did not start, in words. */
#ifndef SBX_POSIX_LINUX_FAILURE_H
#define SBX_POSIX_LINUX_FAILURE_H

#include "posix/keeper.h"
#include "posix/linux_launch.h"

/* Fills *err from the keeper's last report and what the helper said. Never SBX_OK. */
enum sbx_code sbx_launch_failed(const struct sbx_launch *launch, const struct sbx_report *report,
                                struct sbx_err *err);

#endif
