/* Private directories of macOS boxes. */
#include "posix/macos_scratch.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix/fault.h"

#include "common/base/banned.h"

#define PREFIX "sbx-tmp-"
#define OPEN_DIRECTORIES 16

/* What was in the box may have any mode; a flag that forbids removal no box can set. */
static int open_up(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)where;
    if ((kind == FTW_D || kind == FTW_DNR) && (info->st_mode & S_IRWXU) != S_IRWXU) {
        (void)chmod(path, S_IRWXU);
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    (void)remove(path);
    return 0;
}

void sbx_macos_scratch_remove(const char *path)
{
    if (path[0] == '/') {
        (void)nftw(path, open_up, OPEN_DIRECTORIES, FTW_PHYS);
        (void)nftw(path, remove_one, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
    }
}

/* "sbx-tmp-PID-…" of a process that is no more. */
static bool is_left(const char *name)
{
    char *end = NULL;
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0) {
        return false;
    }
    errno = 0;
    long pid = strtol(name + sizeof PREFIX - 1, &end, 10);
    return errno == 0 && pid > 1 && *end == '-' && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static void remove_left(const char *base)
{
    DIR *directory = opendir(base);
    if (directory == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char path[PATH_MAX + 300];
        struct stat info;
        (void)snprintf(path, sizeof path, "%s/%s", base, entry->d_name);
        if (is_left(entry->d_name) && lstat(path, &info) == 0 && info.st_uid == geteuid() &&
            S_ISDIR(info.st_mode)) {
            sbx_macos_scratch_remove(path);
        }
    }
    (void)closedir(directory);
}

enum sbx_code sbx_macos_scratch_make(const char *base, char *out, size_t size, struct sbx_err *err)
{
    char made[PATH_MAX + 64];
    char real[PATH_MAX];
    remove_left(base);
    (void)snprintf(made, sizeof made, "%s/" PREFIX "%ld-XXXXXX", base, (long)getpid());
    if (mkdtemp(made) == NULL) {
        int raw = errno;
        return sbx_err_errno(err, raw, "mkdtemp", "cannot make a directory in \"%s\"", base);
    }
    if (realpath(made, real) == NULL || strlen(real) >= size) {
        int raw = errno;
        (void)rmdir(made);
        return sbx_err_errno(err, raw, "realpath", "cannot name the directory \"%s\"", made);
    }
    (void)snprintf(out, size, "%s", real);
    return SBX_OK;
}
