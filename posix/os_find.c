/* Where a command is found on POSIX. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fault.h"
#include "posix/system.h"

#include "common/base/banned.h"

/* 0 when it is a file the caller may execute, else why not, as execve would say it. */
static int executable_or_errno(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return errno;
    }
    if (S_ISDIR(status.st_mode)) {
        return EISDIR;
    }
    if (!S_ISREG(status.st_mode)) {
        return EACCES;
    }
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* Resolves ".." by the disk, as the kernel would; the last name stays, because programs look at the
 * name they were started under. */
static bool without_dots(struct sbx_arena *arena, const char *text, const char **out)
{
    char dir[PATH_MAX];
    char real[PATH_MAX];
    const char *slash = strrchr(text, '/');
    if (strstr(text, "..") == NULL || slash == NULL || (size_t)(slash - text) >= sizeof dir) {
        *out = text;
        return true;
    }
    size_t len = (size_t)(slash - text);
    memcpy(dir, text, len);
    dir[len] = '\0';
    if (realpath(len == 0 ? "/" : dir, real) == NULL) {
        *out = text;
        return true;
    }
    *out = sbx_arena_printf(arena, "%s/%s", real, slash + 1);
    return *out != NULL;
}

/* The found file as an absolute path. */
static enum sbx_code as_path(struct sbx_arena *arena, const char *text, struct sbx_path *out,
                             struct sbx_err *err)
{
    if (*text != '/') {
        char cwd[PATH_MAX];
        if (getcwd(cwd, sizeof cwd) == NULL) {
            int raw = errno;
            return sbx_err_errno(err, raw, "getcwd", "cannot tell the current directory");
        }
        text = sbx_arena_printf(arena, "%s/%s", cwd, text);
        if (text == NULL) {
            return sbx_err_nomem(err);
        }
    }
    const char *clean;
    if (!without_dots(arena, text, &clean)) {
        return sbx_err_nomem(err);
    }
    enum sbx_path_problem problem = sbx_path_make(arena, sbx_system.rules, sbx_str(clean), out);
    if (problem == SBX_PATH_NO_MEMORY) {
        return sbx_err_nomem(err);
    }
    if (problem != SBX_PATH_OK) {
        return sbx_err_set(err, SBX_E_INVALID, "the program \"%s\" %s", text,
                           sbx_path_problem_text(problem));
    }
    return SBX_OK;
}

static enum sbx_code not_executable(const char *path, int raw, struct sbx_err *err)
{
    if (raw == EISDIR) {
        return sbx_err_os(err, SBX_E_DENIED, SBX_OS_ERRNO, raw, "stat",
                          "\"%s\" is a directory, not a program", path);
    }
    if (raw == EACCES) {
        (void)sbx_err_os(err, SBX_E_DENIED, SBX_OS_ERRNO, raw, "faccessat",
                         "\"%s\" is not executable", path);
        return sbx_err_hint(err, "if it should be: chmod +x, or name its interpreter first");
    }
    return sbx_err_errno(err, raw, "stat", "cannot find the program \"%s\"", path);
}

/* A file that is found but may not be executed is only the answer if no later directory has a better
 * one. Relative and empty entries are skipped: what runs must not depend on where one stands. */
static enum sbx_code search(struct sbx_arena *arena, const char *program, struct sbx_str list,
                            struct sbx_path *out, struct sbx_err *err)
{
    const char *denied = NULL;
    int denied_raw = 0;
    while (list.len > 0) {
        struct sbx_str dir;
        (void)sbx_str_split(list, ':', &dir, &list);
        if (!sbx_str_starts(dir, "/")) {
            continue;
        }
        char candidate[PATH_MAX];
        if (dir.len + 1 + strlen(program) >= sizeof candidate) {
            continue;
        }
        memcpy(candidate, dir.ptr, dir.len);
        candidate[dir.len] = '/';
        memcpy(candidate + dir.len + 1, program, strlen(program) + 1);
        int raw = executable_or_errno(candidate);
        if (raw == 0) {
            return as_path(arena, candidate, out, err);
        }
        if (raw == EACCES && denied == NULL) {
            denied = sbx_arena_copy(arena, candidate, strlen(candidate));
            denied_raw = raw;
        }
    }
    if (denied != NULL) {
        return not_executable(denied, denied_raw, err);
    }
    (void)sbx_err_set(err, SBX_E_NOT_FOUND, "the program \"%s\" is in no directory of PATH",
                      program);
    return sbx_err_hint(err, "check the spelling, or give its path");
}

enum sbx_code sbx_os_find_program(struct sbx_arena *arena, const char *program,
                                  const char *search_path, struct sbx_path *out,
                                  struct sbx_err *err)
{
    if (*program == '\0') {
        return sbx_err_set(err, SBX_E_NOT_FOUND, "the name of the program is empty");
    }
    if (strchr(program, '/') != NULL) {
        int raw = executable_or_errno(program);
        return raw == 0 ? as_path(arena, program, out, err) : not_executable(program, raw, err);
    }
    char standard[256];
    if (search_path == NULL) {
        size_t len = confstr(_CS_PATH, standard, sizeof standard);
        search_path = len > 0 && len <= sizeof standard ? standard : "/usr/bin:/bin";
    }
    return search(arena, program, sbx_str(search_path), out, err);
}
