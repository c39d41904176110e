/* A policy as a Landlock ruleset. */
#include "posix/linux_grants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/linux_landlock.h"
#include "posix/linux_process.h"

#include "common/base/banned.h"

/* What is closed, by identity: it stays closed when something moves it to another name meanwhile. */
struct closed_file {
    uint64_t device, inode;
};

struct granting {
    struct closed_file *closed;
    size_t closed_count, closed_capacity;
    struct sbx_arena *arena;
    const struct sbx_policy *policy;
    unsigned abi;
    struct sbx_grants *out;
    struct sbx_err *err;
};

/* Closed for good: rules of access none, and private directories that cannot be mounted here. The kernel's own
 * file systems are granted apart. */
static bool is_closing(const struct sbx_rule *rule)
{
    return rule->kind == SBX_RULE_TMPFS ||
           (rule->kind == SBX_RULE_HOST && rule->access == SBX_ACCESS_NONE);
}

static const char *const apart[] = {"/dev", "/proc"};

static bool is_at(const char *path, const char *other)
{
    return strcmp(path, other) == 0;
}

static bool is_below(const char *outer, const char *inner)
{
    size_t len = strlen(outer);
    if (strcmp(outer, "/") == 0) {
        return inner[1] != '\0';
    }
    return strncmp(outer, inner, len) == 0 && inner[len] == '/';
}

static struct sbx_path view(const char *path)
{
    return (struct sbx_path){path, strlen(path), SBX_PATH_POSIX};
}

static bool is_closed(const struct granting *granting, const char *path)
{
    for (size_t i = 0; i < SBX_COUNT(apart); i++) {
        if (is_at(apart[i], path)) {
            return true;
        }
    }
    for (size_t i = 0; i < granting->policy->rules.count; i++) {
        const struct sbx_rule *rule = &granting->policy->rules.items[i];
        if (is_closing(rule) && (rule->is_glob ? sbx_path_glob_match(rule->path, view(path))
                                               : is_at(rule->path.text, path))) {
            return true;
        }
    }
    return false;
}

/* Does something closed, or a rule of its own, lie below this directory? */
static bool has_closed_below(const struct granting *granting, const char *path)
{
    for (size_t i = 0; i < SBX_COUNT(apart); i++) {
        if (is_below(path, apart[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < granting->policy->rules.count; i++) {
        const struct sbx_rule *rule = &granting->policy->rules.items[i];
        if (!is_closing(rule)) {
            continue;
        }
        if (rule->is_glob) {
            char base[PATH_MAX];
            struct sbx_path up = sbx_glob_base(rule->path);
            (void)snprintf(base, sizeof base, "%.*s", (int)up.len, up.text);
            if (is_at(path, base) || is_below(path, base) || is_below(base, path)) {
                return true;
            }
        } else if (is_below(path, rule->path.text)) {
            return true;
        }
    }
    return false;
}

static enum sbx_code allow(struct granting *granting, int fd, uint64_t access)
{
    if (granting->out->count++ >= SBX_GRANTS_MAX) {
        (void)sbx_err_set(granting->err, SBX_E_LIMIT,
                          "the policy needs more than %zu single grants, because something in a "
                          "large directory is closed",
                          SBX_GRANTS_MAX);
        return sbx_err_hint(granting->err, "use SBX_SANDBOX=bwrap, or grant smaller directories");
    }
    return sbx_landlock_allow(granting->out->ruleset, fd, access, granting->err);
}

static enum sbx_code grant(struct granting *granting, int fd, const char *path, bool is_writable);

static enum sbx_code grant_entries(struct granting *granting, int fd, const char *path,
                                   bool is_writable)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    enum sbx_code code =
        granting->out->can_list ? allow(granting, fd, SBX_LANDLOCK_READ_DIR) : SBX_OK;
    if (dir == NULL) {
        sbx_fd_close(&copy);
        return SBX_OK; /* the caller cannot list it: then nothing in it is granted */
    }
    for (const struct dirent *entry; code == SBX_OK && (entry = readdir(dir)) != NULL;) {
        char below[PATH_MAX];
        if (is_at(entry->d_name, ".") || is_at(entry->d_name, "..")) {
            continue;
        }
        int len =
            snprintf(below, sizeof below, "%s/%s", is_at(path, "/") ? "" : path, entry->d_name);
        if (len < 0 || (size_t)len >= sizeof below || is_closed(granting, below)) {
            continue;
        }
        /* A link grants nothing: what it leads to is granted under its own name, or not at all. */
        AUTO_FD child = openat(fd, entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (child >= 0) {
            code = grant(granting, child, below, is_writable);
        }
    }
    (void)closedir(dir);
    return code;
}

static bool is_closed_file(const struct granting *granting, const struct stat *info)
{
    for (size_t i = 0; i < granting->closed_count; i++) {
        if (granting->closed[i].device == info->st_dev &&
            granting->closed[i].inode == info->st_ino) {
            return true;
        }
    }
    return false;
}

/* Remembers what the closing rules mean now. A link could be replaced, and something that went away come back
 * under its name: then nobody can say what is to be closed. */
static enum sbx_code find_closed(struct granting *granting)
{
    for (size_t i = 0; i < granting->policy->rules.count; i++) {
        const struct sbx_rule *rule = &granting->policy->rules.items[i];
        struct stat info;
        if (!is_closing(rule) || rule->is_glob || rule->kind != SBX_RULE_HOST) {
            continue;
        }
        bool is_there = lstat(rule->path.text, &info) == 0;
        bool was_there = rule->node == SBX_NODE_FILE || rule->node == SBX_NODE_DIRECTORY;
        if (rule->by != SBX_BY_PRESET &&
            ((is_there && S_ISLNK(info.st_mode)) || (!is_there && was_there && errno == ENOENT))) {
            (void)sbx_err_set(
                granting->err, SBX_E_UNSUPPORTED,
                "\"%s\" is to be closed but is a symbolic link, or went away while sbx "
                "started",
                rule->path.text);
            return sbx_err_hint(granting->err, "close what it leads to");
        }
        if (!is_there) {
            continue;
        }
        struct closed_file *file = (struct closed_file *)sbx_arena_push(
            granting->arena, &granting->closed, &granting->closed_count, &granting->closed_capacity,
            sizeof *file);
        if (file == NULL) {
            return sbx_err_nomem(granting->err);
        }
        *file = (struct closed_file){info.st_dev, info.st_ino};
    }
    return SBX_OK;
}

static enum sbx_code grant(struct granting *granting, int fd, const char *path, bool is_writable)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || S_ISLNK(info.st_mode) || is_closed_file(granting, &info)) {
        return SBX_OK;
    }
    bool is_directory = S_ISDIR(info.st_mode);
    if (is_directory && has_closed_below(granting, path)) {
        return grant_entries(granting, fd, path, is_writable);
    }
    return allow(granting, fd,
                 is_writable ? sbx_landlock_write(granting->abi, is_directory)
                             : sbx_landlock_read(granting->abi, is_directory));
}

static enum sbx_code grant_rule(struct granting *granting, const struct sbx_rule *rule)
{
    char real[PATH_MAX];
    AUTO_FD fd = open(rule->path.text, O_PATH | O_CLOEXEC);
    if (fd < 0) {
        int raw = errno;
        bool may_be_away = rule->is_optional || rule->by == SBX_BY_SBX;
        return may_be_away ? SBX_OK
                           : sbx_err_errno(granting->err, raw, "open",
                                           "cannot open \"%s\" for the box", rule->path.text);
    }
    if (!sbx_fd_name(fd, real)) {
        return sbx_err_set(granting->err, SBX_E_IO, "cannot tell where \"%s\" leads",
                           rule->path.text);
    }
    if (is_closed(granting, real)) {
        return SBX_OK; /* another rule closes what this one leads to: the stricter counts */
    }
    return grant(granting, fd, real, rule->access == SBX_ACCESS_WRITE);
}

/* The few devices every program may expect, and what the kernel tells about processes. */
static enum sbx_code grant_system(struct granting *granting)
{
    static const struct {
        const char *path;
        bool is_device, is_terminal;
    } rows[] = {
        {"/dev/null", true, false},    {"/dev/zero", true, false},     {"/dev/full", true, false},
        {"/dev/random", false, false}, {"/dev/urandom", false, false}, {"/dev/tty", true, true},
        {"/proc", false, false},
    };
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; i < SBX_COUNT(rows) && code == SBX_OK; i++) {
        AUTO_FD fd = open(rows[i].path, O_PATH | O_CLOEXEC);
        bool is_directory = is_at(rows[i].path, "/proc");
        if (fd >= 0) {
            code = allow(granting, fd,
                         rows[i].is_device ? sbx_landlock_device(granting->abi, rows[i].is_terminal)
                                           : sbx_landlock_read(granting->abi, is_directory));
        }
    }
    return code;
}

/* Listing is granted for a whole tree or not at all, so only where every closed directory is one that the caller
 * could not list anyway. */
static bool may_list(const struct granting *granting)
{
    for (size_t i = 0; i < granting->policy->rules.count; i++) {
        const struct sbx_rule *rule = &granting->policy->rules.items[i];
        struct stat info;
        if (is_closing(rule) && !rule->is_glob && stat(rule->path.text, &info) == 0 &&
            S_ISDIR(info.st_mode) && access(rule->path.text, R_OK) == 0) {
            return false;
        }
    }
    return true;
}

static enum sbx_code grant_rules(struct granting *granting)
{
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; i < granting->policy->rules.count && code == SBX_OK; i++) {
        const struct sbx_rule *rule = &granting->policy->rules.items[i];
        if (!rule->is_glob && rule->kind == SBX_RULE_HOST && rule->access != SBX_ACCESS_NONE) {
            code = grant_rule(granting, rule);
        }
    }
    return code;
}

enum sbx_code sbx_grants_make(struct sbx_arena *arena, const struct sbx_policy *policy,
                              unsigned abi, const char *scratch, struct sbx_grants *out,
                              struct sbx_err *err)
{
    struct sbx_grants made = {.ruleset = -1};
    struct granting granting = {
        .arena = arena, .policy = policy, .abi = abi, .out = &made, .err = err};
    AUTO_FD ruleset = -1;
    /* Loopback and the network are the seccomp program's; Landlock says it again for TCP. */
    uint64_t network = policy->network == SBX_NET_DENY ? sbx_landlock_network(abi) : 0;
    enum sbx_code code = sbx_landlock_open(sbx_landlock_files(abi), network,
                                           sbx_landlock_scopes(abi), &ruleset, err);
    if (code != SBX_OK) {
        return code;
    }
    made.ruleset = ruleset;
    made.can_list = may_list(&granting);
    code = find_closed(&granting);
    if (code == SBX_OK) {
        code = grant_rules(&granting);
    }
    if (code == SBX_OK) {
        code = grant_system(&granting);
    }
    if (code == SBX_OK && scratch[0] != '\0') {
        AUTO_FD fd = open(scratch, O_PATH | O_CLOEXEC | O_NOFOLLOW);
        code = fd < 0 ? sbx_err_errno(err, errno, "open", "cannot open \"%s\"", scratch)
                      : allow(&granting, fd, sbx_landlock_write(abi, true));
    }
    if (code != SBX_OK) {
        return code;
    }
    *out = made;
    (void)SBX_TAKE(ruleset, -1);
    return SBX_OK;
}
