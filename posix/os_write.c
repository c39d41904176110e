/* Writing files on POSIX so that a crash leaves the old or the new content, whole. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fault.h"
#include "posix/fd.h"

#include "common/base/banned.h"

#define TEMP_PREFIX ".sbx-tmp-"
#define LOCK_WAIT_NS (UINT64_C(30) * 1000000000)

enum { TEMP_NAME_MAX = 64, TRIES = 16 };

/* ---- new files ----------------------------------------------------------------------------------- */

enum sbx_code sbx_os_write_new(const char *path, struct sbx_str content, struct sbx_err *err)
{
    /* Nobody else may write it, whatever the umask: a manifest that others may write is not trusted. */
    AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0644);
    if (fd < 0) {
        int raw = errno;
        if (raw == EEXIST) {
            return sbx_err_os(err, SBX_E_INVALID, SBX_OS_ERRNO, raw, "open",
                              "\"%s\" already exists", path);
        }
        return sbx_err_errno(err, raw, "open", "cannot create \"%s\"", path);
    }
    const char *call = "write";
    bool done = sbx_fd_write_all(fd, content.ptr, content.len);
    if (done) {
        call = "fsync";
        done = fsync(fd) == 0;
    }
    if (!done) {
        int raw = errno;
        (void)unlink(path);
        return sbx_err_errno(err, raw, call, "cannot write \"%s\"", path);
    }
    return SBX_OK;
}

/* ---- the directory of a file ------------------------------------------------------------------- */

static bool make_directories(char *path)
{
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
            *at = '/';
            if (!made) {
                return false;
            }
        }
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* Opens the directory of `path`, making it (for the caller only) when it is missing. *name is the
 * last component, inside `path`. */
static enum sbx_code open_directory_of(const char *path, int *out, const char **name,
                                       struct sbx_err *err)
{
    char text[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *last = slash == NULL ? path : slash + 1;
    size_t len = (size_t)(last - path);
    if (len >= sizeof text || *last == '\0') {
        return sbx_err_set(err, SBX_E_INVALID, "\"%s\" does not name a file", path);
    }
    if (len == 0) {
        len = 1;
        memcpy(text, ".", 1);
    } else {
        memcpy(text, path, len);
        len -= len > 1 ? 1 : 0; /* the slash, unless it is the root */
    }
    text[len] = '\0';
    int fd = open(text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && make_directories(text)) {
        fd = open(text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (fd < 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "open", "cannot use the directory \"%s\"", text);
    }
    *out = fd;
    *name = last;
    return SBX_OK;
}

/* ---- temporary files ----------------------------------------------------------------------------- */

/* The process in ".sbx-tmp-<pid>-<random>"; 0 for any other name. */
static pid_t writer_of(const char *name)
{
    size_t prefix = strlen(TEMP_PREFIX);
    struct sbx_str head;
    struct sbx_str tail;
    uint64_t pid;
    if (strncmp(name, TEMP_PREFIX, prefix) != 0 ||
        !sbx_str_split(sbx_str(name + prefix), '-', &head, &tail) || !sbx_str_to_u64(head, &pid) ||
        pid == 0 || pid > INT_MAX) {
        return 0;
    }
    return (pid_t)pid;
}

/* What sbx that were killed while writing left here. */
static void remove_leftovers(int dir_fd)
{
    int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (dir == NULL) {
        sbx_fd_close(&copy);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        pid_t writer = writer_of(entry->d_name);
        if (writer > 0 && kill(writer, 0) != 0 && errno == ESRCH) {
            (void)unlinkat(dir_fd, entry->d_name, 0);
        }
    }
    (void)closedir(dir);
}

static int create_temp(int dir_fd, char name[TEMP_NAME_MAX])
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t salt = 0;
        if (getentropy(&salt, sizeof salt) != 0) {
            salt = sbx_os_monotonic_ns(); /* O_EXCL keeps it safe; it only has to be unusual */
        }
        (void)snprintf(name, TEMP_NAME_MAX, TEMP_PREFIX "%ld-%016" PRIx64, (long)getpid(), salt);
        int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
    }
    return -1;
}

/* Returns the call that failed, with errno; NULL on success. The temporary file is gone either way. */
static const char *replace(int dir_fd, const char *name, struct sbx_str content)
{
    char temp[TEMP_NAME_MAX];
    AUTO_FD fd = create_temp(dir_fd, temp);
    if (fd < 0) {
        return "open";
    }
    const char *failed = NULL;
    if (!sbx_fd_write_all(fd, content.ptr, content.len)) {
        failed = "write";
    } else if (fsync(fd) != 0) {
        failed = "fsync";
    } else if (renameat(dir_fd, temp, dir_fd, name) != 0) {
        failed = "rename";
    }
    if (failed != NULL) {
        int saved = errno;
        (void)unlinkat(dir_fd, temp, 0);
        errno = saved;
        return failed;
    }
    /* Some file systems cannot flush a directory and say EINVAL; the rename is as good as it gets. */
    if (fsync(dir_fd) != 0 && errno != EINVAL && errno != EBADF) {
        return "fsync";
    }
    return NULL;
}

enum sbx_code sbx_os_write_atomic(const char *path, struct sbx_str content, struct sbx_err *err)
{
    AUTO_FD dir = -1;
    const char *name = NULL;
    enum sbx_code code = open_directory_of(path, &dir, &name, err);
    if (code != SBX_OK) {
        return code;
    }
    remove_leftovers(dir);
    for (int i = 1;; i++) {
        const char *failed = replace(dir, name, content);
        int raw = errno;
        if (failed == NULL) {
            return SBX_OK;
        }
        /* An sbx in another pid namespace may take our temporary file for a leftover. */
        if (strcmp(failed, "rename") != 0 || raw != ENOENT || i == TRIES) {
            return sbx_err_errno(err, raw, failed, "cannot write \"%s\"", path);
        }
    }
}

/* ---- change under a lock ------------------------------------------------------------------------- */

/* Waits in small steps instead of in the kernel, so that an owner that never lets go (a stopped sbx)
 * becomes an error. */
static enum sbx_code lock(const char *path, int fd, struct sbx_err *err)
{
    uint64_t begin = sbx_os_monotonic_ns();
    long step_ns = 500000;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int raw = errno;
        if (raw != EWOULDBLOCK && raw != EINTR) {
            return sbx_err_errno(err, raw, "flock", "cannot lock \"%s\"", path);
        }
        if (sbx_os_monotonic_ns() - begin > LOCK_WAIT_NS) {
            (void)sbx_err_os(err, SBX_E_UNAVAILABLE, SBX_OS_ERRNO, raw, "flock",
                             "another sbx has held the lock \"%s\" for 30 seconds", path);
            return sbx_err_hint(err, "look for a stopped or hanging sbx and end it");
        }
        struct timespec pause = {.tv_nsec = step_ns};
        (void)nanosleep(&pause, NULL);
        step_ns = step_ns < 8000000 ? step_ns * 2 : step_ns;
    }
    return SBX_OK;
}

static enum sbx_code open_lock(const char *path, int *out, struct sbx_err *err)
{
    AUTO_FD dir = -1;
    const char *name = NULL;
    enum sbx_code code = open_directory_of(path, &dir, &name, err);
    if (code != SBX_OK) {
        return code;
    }
    char text[NAME_MAX + 1];
    int len = snprintf(text, sizeof text, "%s.lock", name);
    if (len < 0 || (size_t)len >= sizeof text) {
        return sbx_err_set(err, SBX_E_INVALID, "the name \"%s\" is too long", path);
    }
    AUTO_FD fd = openat(dir, text, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "open", "cannot open the lock \"%s.lock\"", path);
    }
    code = lock(text, fd, err);
    if (code == SBX_OK) {
        *out = SBX_TAKE(fd, -1);
    }
    return code;
}

enum sbx_code sbx_os_update_file(struct sbx_arena *arena, const char *path, size_t max_bytes,
                                 sbx_os_change *change, void *state, struct sbx_err *err)
{
    AUTO_FD held = -1;
    enum sbx_code code = open_lock(path, &held, err);
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_str old = {"", 0};
    struct sbx_err missing; /* an absent file is no error, and leaves no trace of one */
    code = sbx_os_read_file(arena, path, max_bytes, &old, NULL, &missing);
    if (code != SBX_OK && code != SBX_E_NOT_FOUND) {
        if (err != NULL) {
            *err = missing;
        }
        return code;
    }
    struct sbx_str content = {"", 0};
    code = change(state, arena, old, &content, err);
    return code == SBX_OK ? sbx_os_write_atomic(path, content, err) : code;
}
