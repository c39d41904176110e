/* Who is at the other end of a connection. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/sbxd.h"

#include "common/base/banned.h"

#ifdef __linux__

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Keeps the number of the process its own while it is looked at; -1 where the kernel (before 6.5) has none. */
static int hold_peer(int fd)
{
    int held = -1;
    socklen_t size = sizeof held;
    return getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &held, &size) == 0 ? held : -1;
}

static bool has_ended(int pidfd)
{
    struct pollfd slot = {.fd = pidfd, .events = POLLIN};
    return pidfd >= 0 && poll(&slot, 1, 0) > 0;
}

/* Is a namespace of the process the daemon's own? *is_known: the kernel tells. */
static bool is_ours(pid_t pid, const char *name, bool *is_known)
{
    char theirs[64];
    char own[64];
    struct stat a;
    struct stat b;
    (void)snprintf(theirs, sizeof theirs, "/proc/%d/ns/%s", (int)pid, name);
    (void)snprintf(own, sizeof own, "/proc/self/ns/%s", name);
    *is_known = stat(theirs, &a) == 0 && stat(own, &b) == 0;
    return *is_known && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

enum { LINE_MAX_BYTES = 256, ANCESTORS_MAX = 256 };

/* A line of /proc/PID/status, which everybody may read, also of a process that hides itself. */
static bool status_line(pid_t pid, const char *key, char out[LINE_MAX_BYTES])
{
    char path[64];
    bool found = false;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    while (!found && fgets(out, LINE_MAX_BYTES, file) != NULL) {
        found = strncmp(out, key, strlen(key)) == 0;
    }
    (void)fclose(file);
    if (found) {
        memmove(out, out + strlen(key), strlen(out + strlen(key)) + 1);
    }
    return found;
}

/* More numbers than one: it is in a namespace of processes below this one. What cannot be read counts as that. */
static bool is_nested(pid_t pid)
{
    char line[LINE_MAX_BYTES];
    char *rest = NULL;
    if (!status_line(pid, "NSpid:", line)) {
        return true;
    }
    (void)strtol(line, &rest, 10);
    return strpbrk(rest, "0123456789") != NULL;
}

/* Below the first process of a box that has no namespaces. Whoever takes its name is refused, too. */
static bool is_below_init(pid_t pid)
{
    char line[LINE_MAX_BYTES];
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        if (status_line(pid, "Name:\t", line) && strcmp(line, "sbx-init\n") == 0) {
            return true;
        }
        pid = status_line(pid, "PPid:\t", line) ? (pid_t)strtol(line, NULL, 10) : 0;
    }
    return false;
}

static enum sbx_code check_place(pid_t pid, struct sbx_err *err)
{
    bool is_known = false;
    bool is_inside = !is_ours(pid, "user", &is_known);
    /* Not to be looked at is one that hides itself, as sbx does; the rest is asked of what nobody can hide. */
    if ((is_inside && is_known) || is_nested(pid) || is_below_init(pid)) {
        (void)sbx_err_set(err, SBX_E_DENIED, "a process in a box may not ask for boxes");
        return sbx_err_hint(err, "run the client outside, in the same namespaces as sbxd");
    }
    return SBX_OK;
}

enum sbx_code sbxd_peer_check(int fd, struct sbxd_peer *out, struct sbx_err *err)
{
    struct ucred cred;
    socklen_t size = sizeof cred;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) != 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "getsockopt", "cannot tell who connected");
    }
    AUTO_FD held = hold_peer(fd);
    /* Zero: it is in a namespace of processes that this one does not see. */
    if (cred.pid <= 0) {
        return sbx_err_set(err, SBX_E_DENIED, "a process of another namespace connected");
    }
    enum sbx_code code = check_place(cred.pid, err);
    if (code == SBX_OK && has_ended(held)) {
        return sbx_err_set(err, SBX_E_DENIED, "who connected is gone");
    }
    if (code == SBX_OK) {
        *out = (struct sbxd_peer){cred.uid, cred.gid, cred.pid};
    }
    return code;
}

#else

enum sbx_code sbxd_peer_check(int fd, struct sbxd_peer *out, struct sbx_err *err)
{
    uid_t user;
    gid_t group;
    if (getpeereid(fd, &user, &group) != 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "getpeereid", "cannot tell who connected");
    }
    *out = (struct sbxd_peer){.user = user, .group = group};
    return SBX_OK;
}

#endif
