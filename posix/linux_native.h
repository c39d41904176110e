/* The process that becomes the first of a box without a helper program: born in new namespaces, with just the
 * capabilities in them that building takes. */
#ifndef SBX_POSIX_LINUX_NATIVE_H
#define SBX_POSIX_LINUX_NATIVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "posix/linux_launch.h"

/* Of a struct sbx_launch: as `fork` of a box. The process is in user, mount and process namespaces of its own, and a
 * child of the caller also where the box runs as another account. */
pid_t sbx_native_fork(void *state, const struct sbx_box_child *child);

/* In that child: it joins the control group if it was not born there, and keeps capabilities over exec. False
 * with errno; the process must end then. */
bool sbx_native_enter(struct sbx_launch *launch) SBX_MUST_USE;

/* Runs a plan of the backend native in a box with the network of a session; NULL: with one of its own. As `run` of
 * the backend. A plan with network = "inherit" has the host's all the same. */
enum sbx_code sbx_native_run(struct sbx_arena *arena, const struct sbx_plan *plan,
                             const struct sbx_session_net *session, struct sbx_run_record *out,
                             struct sbx_err *err) SBX_MUST_USE;

/* What the keeper has to know of a box of this backend, of a launch that is open. From here on it can be begun. */
enum sbx_code sbx_native_box(struct sbx_launch *launch, struct sbx_err *err) SBX_MUST_USE;

/* Makes the names, the mounts and the rest of the block, of a launch that is open. `mounts` is kept until it was
 * verified. */
enum sbx_code sbx_native_prepare(struct sbx_launch *launch, struct sbx_mounts *mounts,
                                 struct sbx_err *err) SBX_MUST_USE;

#endif
