/* Caller and machine on POSIX: directories, variables, clocks. */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/utf8.h"
#include "common/os.h"
#include "posix/fault.h"
#include "posix/system.h"

#include "common/base/banned.h"

static struct sbx_path no_path(void)
{
    return (struct sbx_path){"", 0, sbx_system.rules};
}

/* ---- variables --------------------------------------------------------------------------------- */

static const struct sbx_os_whom *caller;

void sbx_os_caller(const struct sbx_os_whom *whom)
{
    caller = whom;
}

static const char *variable(const char *name)
{
    size_t len = strlen(name);
    if (caller == NULL) {
        return getenv(name);
    }
    for (const char *const *pair = caller->env; *pair != NULL; pair++) {
        if (strncmp(*pair, name, len) == 0 && (*pair)[len] == '=') {
            return *pair + len + 1;
        }
    }
    return NULL;
}

const char *sbx_os_env(struct sbx_arena *arena, const char *name)
{
    const char *value = variable(name);
    if (value == NULL) {
        return NULL;
    }
    size_t len = strlen(value);
    return sbx_utf8_valid(value, len, NULL) ? sbx_arena_copy(arena, value, len) : NULL;
}

/* A variable that holds an absolute, clean path; false for anything else. */
static bool env_path(struct sbx_arena *arena, const char *name, struct sbx_path *out)
{
    const char *value = variable(name);
    return value != NULL &&
           sbx_path_make(arena, sbx_system.rules, sbx_str(value), out) == SBX_PATH_OK;
}

/* ---- directories --------------------------------------------------------------------------------- */

/* Only asked when HOME does not say: the name service may be a network away. */
static bool account_home(struct sbx_arena *arena, struct sbx_path *out)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char strings[4096];
    return getpwuid_r(geteuid(), &entry, strings, sizeof strings, &found) == 0 && found != NULL &&
           sbx_path_make(arena, sbx_system.rules, sbx_str(found->pw_dir), out) == SBX_PATH_OK;
}

static enum sbx_code current_directory(struct sbx_arena *arena, struct sbx_path *out,
                                       struct sbx_err *err)
{
    char own[PATH_MAX];
    const char *text = caller != NULL ? caller->cwd : own;
    if (caller == NULL && getcwd(own, sizeof own) == NULL) {
        int raw = errno;
        (void)sbx_err_errno(err, raw, "getcwd", "cannot tell the current directory");
        return sbx_err_hint(err, "it may have been removed; change to another directory");
    }
    enum sbx_path_problem problem = sbx_path_make(arena, sbx_system.rules, sbx_str(text), out);
    if (problem == SBX_PATH_NO_MEMORY) {
        return sbx_err_nomem(err);
    }
    if (problem != SBX_PATH_OK) {
        (void)sbx_err_set(err, SBX_E_INVALID, "the current directory \"%s\" %s", text,
                          sbx_path_problem_text(problem));
        return sbx_err_hint(err, "change to another directory, or rename this one");
    }
    return SBX_OK;
}

/* sbx's own directory: below the XDG base directory, or below home. Empty text without either. */
static enum sbx_code own_directory(struct sbx_arena *arena, struct sbx_path home,
                                   const char *variable, const char *below_home,
                                   struct sbx_path *out, struct sbx_err *err)
{
    struct sbx_path base;
    enum sbx_path_problem problem;
    if (sbx_system.own_dir == NULL && env_path(arena, variable, &base)) {
        problem = sbx_path_join(arena, base, sbx_str("sbx"), out);
    } else if (home.len > 0) {
        const char *rest = sbx_system.own_dir != NULL ? sbx_system.own_dir : below_home;
        problem = sbx_path_join(arena, home, sbx_str(rest), out);
    } else {
        *out = no_path();
        return SBX_OK;
    }
    if (problem == SBX_PATH_NO_MEMORY) {
        return sbx_err_nomem(err);
    }
    if (problem != SBX_PATH_OK) {
        return sbx_err_set(err, SBX_E_INVALID, "sbx's own directory below \"%s\" %s", home.text,
                           sbx_path_problem_text(problem));
    }
    return SBX_OK;
}

static enum sbx_node look_up(void *state, struct sbx_path path)
{
    (void)state;
    struct sbx_file_info info;
    sbx_os_file_info(path.text, &info);
    return info.node;
}

enum sbx_code sbx_os_context(struct sbx_arena *arena, struct sbx_context *out, struct sbx_err *err)
{
    struct sbx_context made = {
        .platform = sbx_system.platform,
        .is_root = geteuid() == 0,
        .uid = (uint32_t)geteuid(),
        .program_files = no_path(),
        .lookup = look_up,
    };
    /* The name behind the number is a question to the name service; nothing here needs it. */
    made.user_name = sbx_arena_printf(arena, "uid:%lu", (unsigned long)geteuid());
    if (made.user_name == NULL ||
        sbx_path_make(arena, sbx_system.rules, sbx_str("/"), &made.system_root) != SBX_PATH_OK) {
        return sbx_err_nomem(err);
    }
    enum sbx_code code = current_directory(arena, &made.cwd, err);
    if (code != SBX_OK) {
        return code;
    }
    made.project = made.cwd;
    if (!env_path(arena, "HOME", &made.home) && !account_home(arena, &made.home)) {
        made.home = no_path();
    }
    if (!env_path(arena, "TMPDIR", &made.tmp) &&
        sbx_path_make(arena, sbx_system.rules, sbx_str("/tmp"), &made.tmp) != SBX_PATH_OK) {
        return sbx_err_nomem(err);
    }
    if (!env_path(arena, "XDG_RUNTIME_DIR", &made.runtime_dir)) {
        made.runtime_dir = no_path();
    }
    code =
        own_directory(arena, made.home, "XDG_STATE_HOME", ".local/state/sbx", &made.state_dir, err);
    if (code == SBX_OK) {
        code = own_directory(arena, made.home, "XDG_CONFIG_HOME", ".config/sbx", &made.config_dir,
                             err);
    }
    if (code == SBX_OK) {
        *out = made;
    }
    return code;
}

enum sbx_code sbx_os_policy_dir(struct sbx_arena *arena, struct sbx_path *out, struct sbx_err *err)
{
    return sbx_path_make(arena, sbx_system.rules, sbx_str("/etc/sbx"), out) == SBX_PATH_OK
               ? SBX_OK
               : sbx_err_nomem(err);
}

enum sbx_code sbx_os_self(struct sbx_arena *arena, struct sbx_path *out, struct sbx_err *err)
{
    char text[PATH_MAX];
    if (!sbx_system_self(text, sizeof text)) {
        int raw = errno;
        return sbx_err_errno(err, raw, "readlink", "cannot tell the path of the running sbx");
    }
    return sbx_os_real_path(arena, text, out, err);
}

/* ---- clocks -------------------------------------------------------------------------------------- */

uint64_t sbx_os_monotonic_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

int64_t sbx_os_unix_seconds(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec;
}
