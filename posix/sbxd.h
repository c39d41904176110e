/* The parts of sbxd: which socket it listens at, who may talk to it, and what systemd is told. */
#ifndef SBX_POSIX_SBXD_H
#define SBX_POSIX_SBXD_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/service/service.h"

struct sbxd_options {
    struct sbx_service_limits limits;
    const char *socket; /* NULL: the usual place */
    bool is_stdio, is_system;
    int worker_fd; /* -1: no worker of a system service */
    size_t workers;
    uint64_t idle_ms; /* a worker of the system service that has no client ends after that */
};

/* ---- the socket (sbxd_socket.c) ---- */

/* "$XDG_RUNTIME_DIR/sbx/sbx.sock", else "/run/user/UID/sbx/sbx.sock"; of the system service "/run/sbx/sbx.sock". NULL when the
 * user has no such directory. */
const char *sbxd_socket_path(struct sbx_arena *arena, bool is_system);

/* The socket that systemd hands over, or one that is made at `path`: in a directory that is the caller's alone, without a
 * link anywhere below it that somebody else could have made. One that a dead daemon left is replaced; a living one's is
 * SBX_E_UNAVAILABLE. *is_made: it has to be removed at the end. */
enum sbx_code sbxd_listen(const char *path, bool is_system, int *out, bool *is_made,
                          struct sbx_err *err) SBX_MUST_USE;

/* ---- the other end (sbxd_peer.c) ---- */

struct sbxd_peer {
    uid_t user;
    gid_t group;
    pid_t pid; /* 0: not known */
};

/* Who connected, as the kernel says; SBX_E_DENIED for a process that is in a box, or in any namespace of users or processes
 * that is not this daemon's. */
enum sbx_code sbxd_peer_check(int fd, struct sbxd_peer *out, struct sbx_err *err) SBX_MUST_USE;

/* ---- systemd (sbxd_notify.c) ---- */

/* "READY=1" and such, when it wants to know. */
void sbxd_notify(const char *state);

/* ---- programs ---- */

int sbxd_serve(const struct sbxd_options *options);  /* sbxd_worker.c: one user's */
int sbxd_system(const struct sbxd_options *options); /* sbxd_system.c: root's */

/* Message on standard error, and the exit status of a failure. */
int sbxd_fail(const struct sbx_err *err);
void sbxd_say(const char *format, ...) SBX_PRINTF(1, 2);

#endif
