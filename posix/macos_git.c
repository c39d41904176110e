/* Where git is led to from writable places: a walk, and what the files and links named ".git" say. */
#include "posix/macos_git.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/git_file.h"
#include "posix/macos_region.h"

#include "common/base/banned.h"

#define SCRATCH_BYTES ((size_t)512 << 20)

/* A directory still to be looked at, below the root. */
struct node {
    struct node *next;
    char rest[];
};

struct walk {
    const struct sbx_macos_host *host;
    struct sbx_arena *arena;
    const struct sbx_policy *policy;
    struct sbx_macos_rules *rules;
    const struct sbx_protect_row *git;
    uint64_t entries, entries_max;
    struct sbx_arena scratch;

    /* Of the rule that is being walked. */
    struct sbx_path base;
    int root;
    struct node *stack;
    char path[PATH_MAX]; /* of the entry that is looked at */
    size_t len;
};

static void release(struct walk *walk)
{
    sbx_arena_release(&walk->scratch);
}

static void close_directory(DIR **directory)
{
    if (*directory != NULL) {
        (void)closedir(*directory);
    }
}
#define AUTO_DIRECTORY SBX_CLEANUP(close_directory) DIR *

static struct sbx_path path_of(const struct walk *walk, const char *text)
{
    return (struct sbx_path){text, strlen(text), walk->base.rules};
}

/* ---- where it leads ---- */

static enum sbx_code add(struct walk *walk, struct sbx_path path, struct sbx_err *err)
{
    return sbx_macos_rules_add_git(walk->arena, walk->policy, path, walk->rules, err);
}

/* The place by its text, and by its real name as far as it exists. Links in the text are thereby kept. */
static enum sbx_code add_place(struct walk *walk, const char *lexical, struct sbx_err *err)
{
    struct sbx_path given = path_of(walk, lexical);
    struct sbx_path real;
    if (!sbx_macos_real(&walk->scratch, walk->host, given, &real)) {
        return sbx_err_nomem(err);
    }
    enum sbx_code code = add(walk, given, err);
    return code == SBX_OK ? add(walk, real, err) : code;
}

/* `text` as it stands in the entry `from`. ".." behind a link means something else by text than on disk: both are added.
 * *real gets what it is on disk, or NULL. */
static enum sbx_code lead(struct walk *walk, struct sbx_path from, const char *text,
                          const char **real, struct sbx_err *err)
{
    char lexical[PATH_MAX];
    struct sbx_path above = sbx_path_up(from);
    const char *whole = text[0] == '/' ? text
                                       : sbx_arena_printf(&walk->scratch, "%.*s/%s", (int)above.len,
                                                          above.text, text);
    if (whole == NULL) {
        return sbx_err_nomem(err);
    }
    *real = walk->host->real(walk->host->state, &walk->scratch, whole);
    enum sbx_code code = *real == NULL ? SBX_OK : add(walk, path_of(walk, *real), err);
    if (code != SBX_OK) {
        return code;
    }
    if (sbx_git_file_place(from, text, lexical)) {
        return add_place(walk, lexical, err);
    }
    return *real != NULL ? SBX_OK
                         : sbx_err_set(err, SBX_E_LIMIT, "nobody can tell where \"%.*s\" leads",
                                       (int)from.len, from.text);
}

/* A directory that belongs to a worktree names the one it shares with others; that one names no further. */
static enum sbx_code lead_to_common(struct walk *walk, const char *directory, struct sbx_err *err)
{
    char text[SBX_GIT_FILE_BYTES];
    AUTO_FD fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || !sbx_git_file_read(fd, "commondir", "", text)) {
        return SBX_OK;
    }
    const char *real = NULL;
    const char *from = sbx_arena_printf(&walk->scratch, "%s/commondir", directory);
    return from == NULL ? sbx_err_nomem(err) : lead(walk, path_of(walk, from), text, &real, err);
}

/* The text of a ".git" file or link; false when it leads nowhere. */
static bool read_text(int at, const char *name, bool is_link, char text[SBX_GIT_FILE_BYTES])
{
    if (!is_link) {
        return sbx_git_file_read(at, name, SBX_GIT_FILE_PREFIX, text);
    }
    ssize_t len = readlinkat(at, name, text, SBX_GIT_FILE_BYTES - 1);
    text[len < 0 ? 0 : len] = '\0';
    return len > 0;
}

/* Is the entry one that the policy protects as ".git"? What comparisons do not understand is taken for one. */
static bool is_protected(struct walk *walk, struct sbx_path path)
{
    return !sbx_macos_is_plain(path) ||
           sbx_policy_decide(&walk->scratch, walk->policy, path).protection == walk->git;
}

static enum sbx_code follow(struct walk *walk, int at, const char *name, bool is_link,
                            struct sbx_err *err)
{
    struct sbx_path path = {walk->path, walk->len, walk->base.rules};
    char text[SBX_GIT_FILE_BYTES];
    const char *real = NULL;
    if (!is_protected(walk, path) || !read_text(at, name, is_link, text)) {
        return SBX_OK;
    }
    enum sbx_code code = lead(walk, path, text, &real, err);
    return code == SBX_OK && real != NULL ? lead_to_common(walk, real, err) : code;
}

/* ---- the walk ---- */

static enum sbx_code push(struct walk *walk, const char *rest, struct sbx_err *err)
{
    size_t len = strlen(rest);
    struct node *node = (struct node *)sbx_arena_alloc(&walk->scratch, 1, sizeof *node + len + 1);
    if (node == NULL) {
        return sbx_err_nomem(err);
    }
    memcpy(node->rest, rest, len + 1);
    node->next = walk->stack;
    walk->stack = node;
    return SBX_OK;
}

/* Puts "base/rest/name" into walk->path; both may be "". */
static enum sbx_code set_path(struct walk *walk, const char *rest, const char *name,
                              struct sbx_err *err)
{
    size_t base = sbx_path_is_root(walk->base) ? 0 : walk->base.len;
    size_t rest_len = strlen(rest);
    size_t name_len = strlen(name);
    if (base + 1 + rest_len + 1 + name_len + 1 > sizeof walk->path) {
        sbx_err_set(err, SBX_E_LIMIT, "the directories below \"%s\" are nested too deeply",
                    walk->base.text);
        return sbx_err_hint(err, "remove them, or make a directory beside them writable instead");
    }
    sbx_text_format(walk->path, sizeof walk->path, "%.*s%s%s%s%s", (int)base, walk->base.text,
                    rest_len == 0 ? "" : "/", rest, name_len == 0 ? "" : "/", name);
    walk->len = strlen(walk->path);
    return SBX_OK;
}

/* What a rule of its own speaks of is walked as such, or is not writable. */
static bool is_of_rule(const struct walk *walk)
{
    struct sbx_path path = {walk->path, walk->len, walk->base.rules};
    for (size_t i = 0; i < walk->rules->count; i++) {
        if (sbx_path_eq(walk->rules->items[i].path, path)) {
            return true;
        }
    }
    return false;
}

static mode_t mode_of(int at, const struct dirent *entry)
{
    struct stat info = {0};
    if (entry->d_type != DT_UNKNOWN) {
        return (mode_t)DTTOIF(entry->d_type);
    }
    return fstatat(at, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 ? info.st_mode : 0;
}

static enum sbx_code visit_entry(struct walk *walk, const char *rest, int at,
                                 const struct dirent *entry, struct sbx_err *err)
{
    static const struct sbx_path git = {"/.git", 5, SBX_PATH_MACOS};
    if (sbx_text_eq(entry->d_name, ".") || sbx_text_eq(entry->d_name, "..")) {
        return SBX_OK;
    }
    if (++walk->entries > walk->entries_max) {
        sbx_err_set(err, SBX_E_LIMIT, "there are more than %llu files and directories below \"%s\"",
                    (unsigned long long)walk->entries_max, walk->base.text);
        return sbx_err_hint(err, "make a smaller directory writable");
    }
    mode_t mode = mode_of(at, entry);
    char slashed[sizeof entry->d_name + 1];
    sbx_text_format(slashed, sizeof slashed, "/%s", entry->d_name);
    bool is_git = sbx_path_eq(git, (struct sbx_path){slashed, strlen(slashed), SBX_PATH_MACOS});
    if (!S_ISDIR(mode) && !is_git) {
        return SBX_OK;
    }
    enum sbx_code code = set_path(walk, rest, entry->d_name, err);
    if (code != SBX_OK) {
        return code;
    }
    if (!S_ISDIR(mode)) {
        return follow(walk, at, entry->d_name, S_ISLNK(mode), err);
    }
    size_t base = sbx_path_is_root(walk->base) ? 0 : walk->base.len;
    bool is_left_out =
        is_of_rule(walk) || (base == 0 && sbx_macos_is_never(path_of(walk, walk->path)));
    return is_left_out ? SBX_OK : push(walk, walk->path + base + 1, err);
}

/* A box of ours cannot list it either. But what it may write to, or make accessible because it owns it, could hold a
 * ".git" file that nobody sees. What the system keeps from us (EPERM) no change of modes opens. */
static enum sbx_code skip(const struct walk *walk, int raw, struct sbx_err *err)
{
    struct stat info = {0};
    if (raw == ENOENT || raw == ENOTDIR || raw == ELOOP || raw == EPERM) {
        return SBX_OK;
    }
    if (raw != EACCES) {
        return sbx_err_errno(err, raw, "openat", "cannot open \"%s\"", walk->path);
    }
    if (lstat(walk->path, &info) == 0 && info.st_uid != geteuid() &&
        access(walk->path, W_OK | X_OK) != 0) {
        return SBX_OK;
    }
    sbx_err_set(err, SBX_E_DENIED,
                "\"%s\" cannot be looked at but could be changed, so nobody can tell what git is "
                "led to from it",
                walk->path);
    return sbx_err_hint(err, "make it accessible (chmod u+rx), or close it with a rule \"none\"");
}

static enum sbx_code visit(struct walk *walk, const char *rest, struct sbx_err *err)
{
    enum sbx_code code = set_path(walk, rest, "", err);
    if (code != SBX_OK) {
        return code;
    }
    int fd = sbx_fd_open_below(walk->root, rest, O_RDONLY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    AUTO_DIRECTORY directory = fd < 0 ? NULL : fdopendir(fd);
    if (directory == NULL) {
        int raw = errno;
        sbx_fd_close(&fd);
        return skip(walk, raw, err);
    }
    const struct dirent *entry = NULL;
    errno = 0;
    while (code == SBX_OK && (entry = readdir(directory)) != NULL) {
        code = visit_entry(walk, rest, fd, entry, err);
        errno = 0;
    }
    int raw = errno;
    return code != SBX_OK || raw == 0
               ? code
               : sbx_err_errno(err, raw, "readdir", "cannot list \"%s/%s\"", walk->base.text, rest);
}

static enum sbx_code walk_below(struct walk *walk, struct sbx_path base, struct sbx_err *err)
{
    walk->base = base;
    walk->stack = NULL;
    enum sbx_code code = set_path(walk, "", "", err);
    if (code != SBX_OK) {
        return code;
    }
    AUTO_FD root = open(base.text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int raw = root < 0 ? errno : 0;
    if (raw != 0) {
        return skip(walk, raw, err);
    }
    walk->root = root;
    code = push(walk, "", err);
    while (code == SBX_OK && walk->stack != NULL) {
        struct node *node = walk->stack;
        walk->stack = node->next;
        code = visit(walk, node->rest, err);
    }
    return code;
}

enum sbx_code sbx_macos_git_find_within(const struct sbx_macos_host *host, struct sbx_arena *arena,
                                        const struct sbx_policy *policy, uint64_t entries_max,
                                        struct sbx_macos_rules *rules, struct sbx_err *err)
{
    SBX_CLEANUP(release)
    struct walk walk = {.host = host,
                        .arena = arena,
                        .policy = policy,
                        .rules = rules,
                        .git = sbx_git_row(policy),
                        .entries_max = entries_max};
    enum sbx_code code = SBX_OK;
    sbx_arena_init(&walk.scratch, SCRATCH_BYTES);
    for (size_t i = 0; walk.git != NULL && i < rules->count && code == SBX_OK; i++) {
        const struct sbx_macos_rule *rule = &rules->items[i];
        if (rule->access == SBX_ACCESS_WRITE && rule->kind == SBX_RULE_HOST &&
            !rule->is_below_final) {
            code = walk_below(&walk, rule->path, err);
        }
    }
    return code;
}

enum sbx_code sbx_macos_git_find(const struct sbx_macos_host *host, struct sbx_arena *arena,
                                 const struct sbx_policy *policy, struct sbx_macos_rules *rules,
                                 struct sbx_err *err)
{
    return sbx_macos_git_find_within(host, arena, policy, SBX_MACOS_ENTRIES_MAX, rules, err);
}
