/* Reading files and asking about them on POSIX. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/os.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/system.h"

#include "common/base/banned.h"

/* ---- what is known of a file ------------------------------------------------------------------- */

static enum sbx_node node_of(mode_t mode)
{
    if (S_ISREG(mode)) {
        return SBX_NODE_FILE;
    }
    if (S_ISDIR(mode)) {
        return SBX_NODE_DIRECTORY;
    }
    return S_ISSOCK(mode) ? SBX_NODE_SOCKET : SBX_NODE_OTHER;
}

/* Asked about every path of a policy; this process never becomes somebody else. */
static uid_t caller(void)
{
    static uid_t user;
    static bool is_known;
    if (!is_known) {
        user = geteuid();
        is_known = true;
    }
    return user;
}

/* A POSIX ACL needs no look of its own: with one, the group bits of the mode are its mask, the most
 * that any entry but the owner's and the others' can give. */
static struct sbx_file_info describe(const struct stat *status)
{
    return (struct sbx_file_info){
        .node = node_of(status->st_mode),
        .size_bytes = status->st_size > 0 ? (uint64_t)status->st_size : 0,
        .is_callers = status->st_uid == caller(),
        .is_admins = status->st_uid == 0,
        .others_may_write = (status->st_mode & (S_IWGRP | S_IWOTH)) != 0,
    };
}

void sbx_os_file_info(const char *path, struct sbx_file_info *out)
{
    struct stat status;
    if (stat(path, &status) == 0) {
        *out = describe(&status);
        return;
    }
    int raw = errno;
    /* Of what cannot be looked at, the worst is assumed. */
    *out = (struct sbx_file_info){.node = SBX_NODE_OTHER, .others_may_write = true};
    if (raw == ENOENT || raw == ENOTDIR) {
        out->node = SBX_NODE_MISSING;
    } else if (raw == EACCES || raw == EPERM) {
        out->node = SBX_NODE_DENIED;
    }
}

bool sbx_os_may(const char *path, bool is_write, bool *out)
{
    int status = faccessat(AT_FDCWD, path, is_write ? W_OK : R_OK, AT_EACCESS);
    if (status != 0 && errno == ENOENT && is_write) {
        AUTO_BUF parent;
        sbx_buf_init(&parent, PATH_MAX);
        size_t len = strlen(path);
        while (len > 0 && path[len - 1] != '/') {
            len--;
        }
        sbx_buf_add(&parent, path, len);
        if (len == 0) {
            sbx_buf_add_char(&parent, '.');
        }
        if (parent.failed) {
            return false;
        }
        status = faccessat(AT_FDCWD, sbx_buf_text(&parent), W_OK | X_OK, AT_EACCESS);
    }
    int raw = status == 0 ? 0 : errno;
    bool is_answer = raw == 0 || raw == EACCES || raw == EPERM || raw == EROFS;
    if (is_answer) {
        *out = raw == 0;
    }
    return is_answer;
}

/* ---- reading ------------------------------------------------------------------------------------- */

static enum sbx_code too_large(const char *path, size_t max_bytes, struct sbx_err *err)
{
    return sbx_err_set(err, SBX_E_LIMIT, "\"%s\" is larger than %zu bytes", path, max_bytes);
}

/* Somebody who shares standard input may have made it non-blocking. */
static ssize_t read_waiting(int fd, void *bytes, size_t len)
{
    for (;;) {
        ssize_t got = sbx_fd_read(fd, bytes, len);
        if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
            return got;
        }
        struct pollfd slot = {.fd = fd, .events = POLLIN};
        if (poll(&slot, 1, -1) < 0 && errno != EINTR) {
            return -1;
        }
    }
}

static enum sbx_code keep(struct sbx_arena *arena, const char *bytes, size_t len,
                          struct sbx_str *out, struct sbx_err *err)
{
    char *copy = sbx_arena_copy(arena, bytes, len);
    if (copy == NULL) {
        return sbx_err_nomem(err);
    }
    *out = (struct sbx_str){copy, len};
    return SBX_OK;
}

static enum sbx_code read_all(struct sbx_arena *arena, int fd, const char *path, size_t max_bytes,
                              struct sbx_str *out, struct sbx_err *err)
{
    /* The size may be 0 (/proc) or grow meanwhile: what counts is what is read. */
    AUTO_BUF all;
    sbx_buf_init(&all, max_bytes);
    char block[4096];
    size_t have = 0; /* of the block, and not in the buffer yet, which small files never need */
    /* Of a setting in /proc the kernel gets memory for as much as is asked for. */
    size_t step = max_bytes < sizeof block ? max_bytes + 1 : sizeof block;
    for (;;) {
        ssize_t got = read_waiting(fd, block + have, step - have);
        int raw = errno;
        if (got < 0) {
            return sbx_err_errno(err, raw, "read", "cannot read \"%s\"", path);
        }
        have += (size_t)got;
        if (have > max_bytes - all.len) {
            return too_large(path, max_bytes, err);
        }
        if (got == 0 && all.len == 0) {
            return keep(arena, block, have, out, err);
        }
        if (got == 0 || have == step) {
            sbx_buf_add(&all, block, have);
            have = 0;
        }
        if (all.failed) {
            return sbx_err_nomem(err);
        }
        if (got == 0) {
            return keep(arena, sbx_buf_text(&all), all.len, out, err);
        }
    }
}

static enum sbx_code not_regular(const char *path, mode_t mode, struct sbx_err *err)
{
    return sbx_err_set(err, SBX_E_INVALID, "\"%s\" is %s, not a regular file", path,
                       S_ISDIR(mode)    ? "a directory"
                       : S_ISFIFO(mode) ? "a FIFO"
                       : S_ISSOCK(mode) ? "a socket"
                                        : "a device");
}

/* Looks before it opens, because opening some devices does something (a watchdog starts, a tape
 * rewinds), and again after, because only the open descriptor is what will be read. */
static enum sbx_code open_regular(const char *path, int *fd, struct stat *status,
                                  struct sbx_err *err)
{
    if (stat(path, status) != 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "stat", "cannot read \"%s\"", path);
    }
    if (!S_ISREG(status->st_mode)) {
        return not_regular(path, status->st_mode, err);
    }
    /* A FIFO that took the file's place meanwhile is not waited for, a terminal is not taken. */
    AUTO_FD opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (opened < 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "open", "cannot read \"%s\"", path);
    }
    if (fstat(opened, status) != 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "fstat", "cannot read \"%s\"", path);
    }
    if (!S_ISREG(status->st_mode)) {
        return not_regular(path, status->st_mode, err);
    }
    *fd = SBX_TAKE(opened, -1);
    return SBX_OK;
}

static enum sbx_code read_stdin(struct sbx_arena *arena, size_t max_bytes, struct sbx_str *out,
                                struct sbx_file_info *info, struct sbx_err *err)
{
    struct sbx_str text;
    enum sbx_code code = read_all(arena, STDIN_FILENO, "standard input", max_bytes, &text, err);
    if (code != SBX_OK) {
        return code;
    }
    *out = text;
    if (info != NULL) {
        /* What the caller feeds us is the caller's own word. */
        *info = (struct sbx_file_info){
            .node = SBX_NODE_OTHER,
            .size_bytes = text.len,
            .is_callers = true,
            .is_admins = geteuid() == 0,
        };
    }
    return SBX_OK;
}

enum sbx_code sbx_os_read_file(struct sbx_arena *arena, const char *path, size_t max_bytes,
                               struct sbx_str *out, struct sbx_file_info *info, struct sbx_err *err)
{
    if (sbx_text_eq(path, "-")) {
        return read_stdin(arena, max_bytes, out, info, err);
    }
    struct stat status;
    AUTO_FD fd = -1;
    enum sbx_code code = open_regular(path, &fd, &status, err);
    if (code != SBX_OK) {
        return code;
    }
    if (status.st_size > 0 && (uint64_t)status.st_size > max_bytes) {
        return too_large(path, max_bytes, err);
    }
    struct sbx_str text;
    code = read_all(arena, fd, path, max_bytes, &text, err);
    if (code == SBX_OK) {
        *out = text;
        if (info != NULL) {
            *info = describe(&status);
        }
    }
    return code;
}

enum sbx_code sbx_os_read_fd(struct sbx_arena *arena, int fd, size_t max_bytes, struct sbx_str *out,
                             struct sbx_err *err)
{
    return read_all(arena, fd, "the descriptor", max_bytes, out, err);
}

enum sbx_code sbx_os_real_path(struct sbx_arena *arena, const char *path, struct sbx_path *out,
                               struct sbx_err *err)
{
    char text[PATH_MAX];
    if (realpath(path, text) == NULL) {
        int raw = errno;
        return sbx_err_errno(err, raw, "realpath", "cannot resolve \"%s\"", path);
    }
    enum sbx_path_problem problem = sbx_path_make(arena, sbx_system.rules, sbx_str(text), out);
    if (problem == SBX_PATH_NO_MEMORY) {
        return sbx_err_nomem(err);
    }
    if (problem != SBX_PATH_OK) {
        return sbx_err_set(err, SBX_E_INVALID, "\"%s\" resolves to \"%s\", which %s", path, text,
                           sbx_path_problem_text(problem));
    }
    return SBX_OK;
}
