/* The program bwrap: found, checked, tried. */
#include "posix/bwrap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/capture.h"
#include "posix/fault.h"
#include "posix/linux_learned.h"
#include "posix/linux_userns.h"

#include "common/base/banned.h"

#define INSTALL "install bubblewrap: apt-get install bubblewrap, dnf install bubblewrap"

#define NOTE                                                                                       \
    "below 0.12 a symbolic link that is planted meanwhile can lead it out of the new root; sbx "
#define COMPARES "compares device and inode of each mount before the command starts"
#define NOTE_PINNED NOTE "pins sources by descriptor (--bind-fd) and " COMPARES
#define NOTE_BY_PATH NOTE COMPARES

enum { TIMEOUT_MS = 5000, OLDEST_MINOR = 8, FIRST_SAFE_MINOR = 12 };

/* ---- trust --------------------------------------------------------------------------------------- */

static bool is_trusted_owner(const struct stat *info)
{
    return info->st_uid == 0 || info->st_uid == geteuid();
}

/* The file and every directory above it can only be changed by root or the caller. */
static bool is_trusted_path(const char *path)
{
    char part[PATH_MAX];
    struct stat info;
    size_t len = strlen(path);
    if (len >= sizeof part) {
        return false;
    }
    memcpy(part, path, len + 1);
    while (len > 0) {
        bool is_open = lstat(part, &info) != 0 || !is_trusted_owner(&info) ||
                       ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 &&
                        !(S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0));
        if (is_open) {
            return false;
        }
        while (len > 0 && part[len - 1] != '/') {
            len--;
        }
        if (len <= 1) {
            break;
        }
        part[--len] = '\0';
    }
    return true;
}

/* The first bwrap of the caller's PATH, by its real name. A relative entry would find one in whatever directory
 * the caller stands in, so it is skipped. */
static bool find_file(struct sbx_arena *arena, char out[PATH_MAX])
{
    const char *path = sbx_os_env(arena, "PATH");
    struct sbx_str rest = sbx_str(path == NULL ? "/usr/bin:/bin" : path);
    while (rest.len > 0) {
        struct sbx_str dir;
        char candidate[PATH_MAX];
        struct stat info;
        (void)sbx_str_split(rest, ':', &dir, &rest);
        int len = snprintf(candidate, sizeof candidate, SBX_STR_FMT "/bwrap", SBX_STR_ARG(dir));
        if (dir.len > 0 && dir.ptr[0] == '/' && len > 0 && (size_t)len < sizeof candidate &&
            stat(candidate, &info) == 0 && S_ISREG(info.st_mode) && access(candidate, X_OK) == 0 &&
            realpath(candidate, out) != NULL) {
            return true;
        }
    }
    return false;
}

/* ---- what was learned before --------------------------------------------------------------------- */

static const char memory[] = "bwrap-probe";

static const char *about(struct sbx_arena *arena, const char *path, const struct stat *info)
{
    return sbx_arena_printf(arena, "file %s %llu %llu %lld %lld.%09ld", path,
                            (unsigned long long)info->st_dev, (unsigned long long)info->st_ino,
                            (long long)info->st_size, (long long)info->st_ctim.tv_sec,
                            info->st_ctim.tv_nsec);
}

/* "MAJOR MINOR PATCH BINDS". */
static bool remember(struct sbx_arena *arena, const char *now, struct sbx_bwrap *out)
{
    const char *text = sbx_learned_recall(arena, memory, now);
    if (text == NULL) {
        return false;
    }
    char *at = (char *)(uintptr_t)text;
    out->major = (unsigned)strtoul(at, &at, 10);
    out->minor = (unsigned)strtoul(at, &at, 10);
    out->patch = (unsigned)strtoul(at, &at, 10);
    out->binds_descriptors = strtoul(at, &at, 10) == 1;
    return *at == '\0';
}

static void learn(struct sbx_arena *arena, const char *now, const struct sbx_bwrap *bwrap)
{
    const char *text = sbx_arena_printf(arena, "%u %u %u %d", bwrap->major, bwrap->minor,
                                        bwrap->patch, bwrap->binds_descriptors ? 1 : 0);
    if (text != NULL) {
        sbx_learned_keep(arena, memory, now, text);
    }
}

void sbx_bwrap_forget(struct sbx_arena *arena)
{
    sbx_learned_forget(arena, memory);
}

/* ---- asking it ----------------------------------------------------------------------------------- */

static enum sbx_code ask_version(struct sbx_bwrap *bwrap, struct sbx_err *err)
{
    char text[8192];
    int status = 0;
    const char *const version[] = {bwrap->path, "--version", NULL};
    const char *const help[] = {bwrap->path, "--help", NULL};
    if (!sbx_capture(version, TIMEOUT_MS, text, sizeof text, &status) || status != 0 ||
        strncmp(text, "bubblewrap ", 11) != 0) {
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED,
                          "\"%s --version\" does not answer like bubblewrap", bwrap->path);
        return sbx_err_hint(err, INSTALL);
    }
    char *at = text + 11;
    bwrap->major = (unsigned)strtoul(at, &at, 10);
    bwrap->minor = *at == '.' ? (unsigned)strtoul(at + 1, &at, 10) : 0;
    bwrap->patch = *at == '.' ? (unsigned)strtoul(at + 1, &at, 10) : 0;
    if (bwrap->major == 0 && bwrap->minor < OLDEST_MINOR) {
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED,
                          "\"%s\" is version %u.%u.%u; 0.%d.0 is the oldest that can switch nested "
                          "user namespaces off",
                          bwrap->path, bwrap->major, bwrap->minor, bwrap->patch, OLDEST_MINOR);
        return sbx_err_hint(err, "update bubblewrap");
    }
    bwrap->binds_descriptors = sbx_capture(help, TIMEOUT_MS, text, sizeof text, &status) &&
                               strstr(text, "--ro-bind-fd") != NULL;
    return SBX_OK;
}

const char *const sbx_bwrap_always[] = {"--unshare-all",    "--unshare-user",
                                        "--disable-userns", "--die-with-parent",
                                        "--new-session",    "--clearenv",
                                        "--cap-drop",       "ALL",
                                        "--as-pid-1",       NULL};

/* A real box with everything a run needs of bwrap, and nothing in it but bwrap itself: by a name that leads to
 * it even when it lies below /tmp, which is another one there. */
static enum sbx_code try_it(const struct sbx_bwrap *bwrap, struct sbx_err *err)
{
    char text[2048];
    int status = 0;
    const char *const rest[] = {
        "--ro-bind",    "/",         "/",         "--dev",          "/dev",      "--proc",  "/proc",
        "--ro-bind",    "/proc/sys", "/proc/sys", "--size",         "4096",      "--tmpfs", "/tmp",
        "--remount-ro", "/dev",      "--",        "/proc/self/exe", "--version", NULL};
    const char *argv[32] = {bwrap->path};
    size_t count = 1;
    for (size_t i = 0; sbx_bwrap_always[i] != NULL; i++) {
        argv[count++] = sbx_bwrap_always[i];
    }
    memcpy(argv + count, rest, sizeof rest);
    if (sbx_capture(argv, TIMEOUT_MS, text, sizeof text, &status) && status == 0) {
        return SBX_OK;
    }
    text[strcspn(text, "\n")] = '\0';
    (void)sbx_err_set(err, SBX_E_UNSUPPORTED, "\"%s\" cannot build a box here: %s", bwrap->path,
                      text[0] == '\0' ? "it did not answer" : text);
    struct sbx_userns_trouble trouble = sbx_userns_find_trouble(text, false);
    return sbx_err_hint(err, "%s", sbx_userns_remedy(&trouble));
}

static enum sbx_code check_file(const char *path, struct stat *info, struct sbx_err *err)
{
    if (stat(path, info) != 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "stat", "cannot look at \"%s\"", path);
    }
    if (!is_trusted_path(path)) {
        (void)sbx_err_set(err, SBX_E_UNTRUSTED, "\"%s\" can be changed by others than root and you",
                          path);
        return sbx_err_hint(err, "use the distribution's bubblewrap, or correct owner and mode");
    }
    if ((info->st_mode & S_ISUID) != 0 && geteuid() != 0) {
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED,
                          "\"%s\" is set-user-ID root: that variant cannot switch nested user "
                          "namespaces off",
                          path);
        return sbx_err_hint(err, "chmod u-s it and allow unprivileged user namespaces");
    }
    return SBX_OK;
}

enum sbx_code sbx_bwrap_find(struct sbx_arena *arena, struct sbx_bwrap *out, struct sbx_err *err)
{
    char path[PATH_MAX];
    struct stat info;
    if (!find_file(arena, path)) {
        (void)sbx_err_set(err, SBX_E_NOT_FOUND, "no bwrap in PATH");
        return sbx_err_hint(err, INSTALL);
    }
    enum sbx_code code = check_file(path, &info, err);
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_bwrap bwrap = {.path = sbx_arena_copy(arena, path, strlen(path))};
    const char *now = about(arena, path, &info);
    if (bwrap.path == NULL) {
        return sbx_err_nomem(err);
    }
    if (now == NULL || !remember(arena, now, &bwrap)) {
        code = ask_version(&bwrap, err);
        if (code == SBX_OK) {
            code = try_it(&bwrap, err);
        }
        if (code != SBX_OK) {
            return code;
        }
        if (now != NULL) {
            learn(arena, now, &bwrap);
        }
    }
    *out = bwrap;
    return SBX_OK;
}

void sbx_bwrap_probe(struct sbx_arena *arena, struct sbx_probe *out)
{
    struct sbx_bwrap bwrap = {0};
    struct sbx_err err = {0};
    if (sbx_bwrap_find(arena, &bwrap, &err) != SBX_OK) {
        *out = (struct sbx_probe){
            .state = SBX_PROBE_FAILED,
            .reason = sbx_arena_copy(arena, err.text, strlen(err.text)),
            .remedy =
                err.hint[0] == '\0' ? NULL : sbx_arena_copy(arena, err.hint, strlen(err.hint)),
        };
        return;
    }
    bool is_old = bwrap.major == 0 && bwrap.minor < FIRST_SAFE_MINOR;
    *out = (struct sbx_probe){
        .state = SBX_PROBE_PASSED,
        .version =
            sbx_arena_printf(arena, "bubblewrap %u.%u.%u%s", bwrap.major, bwrap.minor, bwrap.patch,
                             bwrap.binds_descriptors ? "" : ", without --bind-fd"),
        .note = !is_old                   ? NULL
                : bwrap.binds_descriptors ? NOTE_PINNED
                                          : NOTE_BY_PATH,
        .remedy = is_old ? "install bubblewrap 0.12 or newer" : NULL,
    };
}
