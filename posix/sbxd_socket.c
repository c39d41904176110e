/* Where sbxd listens. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/sbxd.h"

#include "common/base/banned.h"

enum { FIRST_PASSED = 3, BACKLOG = 128 };

const char *sbxd_socket_path(struct sbx_arena *arena, bool is_system)
{
    struct stat info;
    const char *base = getenv("XDG_RUNTIME_DIR");
    if (is_system) {
        return "/run/sbx/sbx.sock";
    }
    if (base == NULL || base[0] != '/') {
        base = sbx_arena_printf(arena, "/run/user/%lu", (unsigned long)geteuid());
    }
    if (base == NULL || stat(base, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return NULL;
    }
    return sbx_arena_printf(arena, "%s/sbx/sbx.sock", base);
}

/* ---- from systemd --------------------------------------------------------------------------------- */

static bool is_listening(int fd)
{
    int value = 0;
    socklen_t size = sizeof value;
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    return getsockname(fd, (struct sockaddr *)&address, &length) == 0 &&
           address.ss_family == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value == 1;
}

/* -1: it passed none. */
static int passed_socket(void)
{
    const char *pid = getenv("LISTEN_PID");
    const char *count = getenv("LISTEN_FDS");
    bool is_ours = pid != NULL && count != NULL && strtol(pid, NULL, 10) == (long)getpid() &&
                   strtol(count, NULL, 10) == 1 && is_listening(FIRST_PASSED);
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    if (!is_ours) {
        return -1;
    }
    (void)fcntl(FIRST_PASSED, F_SETFD, FD_CLOEXEC);
    (void)!sbx_fd_set_nonblocking(FIRST_PASSED);
    return FIRST_PASSED;
}

/* ---- made here ------------------------------------------------------------------------------------ */

/* The directory of the socket, opened without following a link, made if need be, and nobody else's to write. */
static enum sbx_code open_directory(const char *path, bool is_system, int *out, struct sbx_err *err)
{
    struct stat info;
    (void)mkdir(path, is_system ? 0755 : 0700);
    AUTO_FD dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &info) != 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "open", "cannot use the directory \"%s\"", path);
    }
    mode_t forbidden = is_system ? 022 : 077;
    if (info.st_uid != geteuid() || (info.st_mode & forbidden) != 0) {
        (void)sbx_err_set(err, SBX_E_UNTRUSTED, "\"%s\" is not this user's alone", path);
        return sbx_err_hint(err, "remove it, or: chown %lu '%s' && chmod %s '%s'",
                            (unsigned long)geteuid(), path, is_system ? "755" : "700", path);
    }
    *out = SBX_TAKE(dir, -1);
    return SBX_OK;
}

/* Held as long as the daemon lives: the kernel lets go when it dies, however. */
static enum sbx_code lock_place(int dir, const char *path, struct sbx_err *err)
{
    static int lock = -1;
    lock = openat(dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "openat", "cannot lock \"%s\"", path);
    }
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
        (void)sbx_err_set(err, SBX_E_UNAVAILABLE, "another sbxd listens at \"%s\"", path);
        return sbx_err_hint(err, "use that one, or stop it first");
    }
    return SBX_OK;
}

/* Only a socket is taken away: whatever else has this name was not made by sbxd. */
static enum sbx_code clear_place(int dir, const char *name, const char *path, struct sbx_err *err)
{
    struct stat info;
    if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return SBX_OK;
    }
    if (!S_ISSOCK(info.st_mode) || info.st_uid != geteuid()) {
        (void)sbx_err_set(err, SBX_E_UNTRUSTED, "\"%s\" is there and is no socket of sbxd", path);
        return sbx_err_hint(err, "look at it, then remove it");
    }
    if (unlinkat(dir, name, 0) != 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "unlinkat", "cannot remove \"%s\"", path);
    }
    return SBX_OK;
}

static enum sbx_code bind_at(const char *path, bool is_system, int *out, struct sbx_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    AUTO_FD fd = socket(AF_UNIX, SOCK_STREAM, 0);
    /* The mode is right from the first moment. */
    mode_t mask = umask(is_system ? 0111 : 0177);
    bool ok = fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && sbx_fd_set_nonblocking(fd) &&
              bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    int raw = errno;
    (void)umask(mask);
    if (!ok || listen(fd, BACKLOG) != 0) {
        return sbx_err_errno(err, raw, "bind", "cannot listen at \"%s\"", path);
    }
    *out = SBX_TAKE(fd, -1);
    return SBX_OK;
}

static enum sbx_code make_socket(const char *path, bool is_system, int *out, struct sbx_err *err)
{
    struct sockaddr_un address;
    char parent[sizeof address.sun_path];
    const char *slash = strrchr(path, '/');
    if (path[0] != '/' || slash == path || strlen(path) >= sizeof address.sun_path) {
        (void)sbx_err_set(err, SBX_E_INVALID, "\"%s\" is no path for a socket", path);
        return sbx_err_hint(err,
                            "give an absolute path of at most %zu bytes in a directory of its own",
                            sizeof address.sun_path - 1);
    }
    (void)snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    AUTO_FD dir = -1;
    enum sbx_code code = open_directory(parent, is_system, &dir, err);
    if (code == SBX_OK) {
        code = lock_place(dir, path, err);
    }
    if (code == SBX_OK) {
        code = clear_place(dir, slash + 1, path, err);
    }
    return code != SBX_OK ? code : bind_at(path, is_system, out, err);
}

enum sbx_code sbxd_listen(const char *path, bool is_system, int *out, bool *is_made,
                          struct sbx_err *err)
{
    int passed = passed_socket();
    *is_made = false;
    if (passed >= 0) {
        *out = passed;
        return SBX_OK;
    }
    if (path == NULL) {
        (void)sbx_err_set(err, SBX_E_NOT_FOUND, "there is no directory for the socket");
        return sbx_err_hint(err, "set XDG_RUNTIME_DIR to a directory of yours, or name one with "
                                 "--socket PATH");
    }
    enum sbx_code code = make_socket(path, is_system, out, err);
    *is_made = code == SBX_OK;
    return code;
}
