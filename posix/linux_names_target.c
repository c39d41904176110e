/* Where protected links and ".git" files lead: a lock of the name alone would leave the place open. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/git_file.h"
#include "posix/linux_names_internal.h"

#include "common/base/banned.h"

/* The place a descriptor stands for. */
struct place {
    struct stat info;
    struct sbx_path path;
    char text[PATH_MAX];
};

static bool place_of(int fd, struct place *out)
{
    if (fd < 0 || fstat(fd, &out->info) != 0 || !sbx_names_path_of(fd, &out->info, out->text)) {
        return false;
    }
    out->path = (struct sbx_path){out->text, strlen(out->text), SBX_PATH_POSIX};
    return true;
}

static enum sbx_code report_place(struct sbx_names_walk *walk, const struct place *place,
                                  const struct sbx_found *because, struct sbx_err *err)
{
    struct sbx_found found = {.access = because->access,
                              .is_directory = S_ISDIR(place->info.st_mode),
                              .device = place->info.st_dev,
                              .inode = place->info.st_ino,
                              .protection = because->protection,
                              .rule = because->rule};
    found.path = sbx_arena_copy(&walk->scratch, place->text, place->path.len);
    walk->has_targets = true;
    return found.path == NULL ? sbx_err_nomem(err) : sbx_names_report(walk, &found, err);
}

/* Could the box put something where the text leads, when nothing is there now? */
static bool is_creatable(struct sbx_names_walk *walk, struct sbx_path from, const char *text)
{
    char lexical[PATH_MAX];
    if (!sbx_git_file_place(from, text, lexical)) {
        return true;
    }
    struct sbx_path path = {lexical, strlen(lexical), SBX_PATH_POSIX};
    struct sbx_decision decision = sbx_names_decide(walk, path, true);
    return decision.access == SBX_ACCESS_WRITE && decision.rule->kind == SBX_RULE_HOST;
}

/* ---- git ---- */

/* A directory git trusts because a ".git" file or link says so. With git = "commit" a walk below it finds what
 * is locked in it; otherwise it is locked as a whole, unless a rule makes just this directory writable. */
static enum sbx_code protect_git(struct sbx_names_walk *walk, const struct place *place,
                                 struct sbx_err *err)
{
    struct sbx_decision decision = sbx_names_decide(walk, place->path, true);
    if (decision.access != SBX_ACCESS_WRITE || decision.rule->kind != SBX_RULE_HOST) {
        return SBX_OK;
    }
    if (walk->git_row->file_only) {
        walk->has_targets = true;
        return sbx_names_add_start(walk, place->path, true, err);
    }
    if (sbx_names_is_literal(&decision, place->path)) {
        return SBX_OK;
    }
    struct sbx_found lock = {.access = SBX_ACCESS_READ, .protection = walk->git_row};
    return report_place(walk, place, &lock, err);
}

/* The directory, and the one it shares with other worktrees. */
static enum sbx_code protect_git_and_common(struct sbx_names_walk *walk, int fd,
                                            const struct place *place, struct sbx_err *err)
{
    enum sbx_code code = protect_git(walk, place, err);
    char text[SBX_GIT_FILE_BYTES];
    if (code != SBX_OK || !sbx_git_file_read(fd, "commondir", "", text)) {
        return code;
    }
    struct place common = {0};
    AUTO_FD shared = sbx_names_open_target(fd, text, O_PATH | O_DIRECTORY);
    return place_of(shared, &common) ? protect_git(walk, &common, err) : SBX_OK;
}

static enum sbx_code follow_git_file(struct sbx_names_walk *walk, const struct sbx_names_spot *spot,
                                     struct sbx_found *found, struct sbx_err *err)
{
    char text[SBX_GIT_FILE_BYTES];
    if (!sbx_git_file_read(spot->parent, spot->name, SBX_GIT_FILE_PREFIX, text)) {
        return SBX_OK;
    }
    struct place place = {0};
    AUTO_FD fd = sbx_names_open_target(spot->parent, text, O_PATH | O_DIRECTORY);
    if (!place_of(fd, &place)) {
        found->target_open = is_creatable(walk, spot->path, text);
        return SBX_OK;
    }
    return protect_git_and_common(walk, fd, &place, err);
}

/* ---- links ---- */

/* Holding the place would hold the entry, or with a mask what rules grant. */
static bool is_around(const struct sbx_names_walk *walk, const struct place *place,
                      const struct sbx_found *found, struct sbx_path own)
{
    if (sbx_path_contains(place->path, own)) {
        return true;
    }
    for (size_t i = 0; i < walk->policy->rules.count; i++) {
        const struct sbx_rule *rule = &walk->policy->rules.items[i];
        bool is_own = sbx_path_eq(place->path, rule->path);
        if (!rule->is_glob && (is_own || found->access == SBX_ACCESS_NONE) &&
            sbx_path_contains(place->path, rule->path)) {
            return true;
        }
    }
    return false;
}

static enum sbx_code follow_link(struct sbx_names_walk *walk, const struct sbx_names_spot *spot,
                                 struct sbx_found *found, struct sbx_err *err)
{
    char text[PATH_MAX];
    ssize_t len = readlinkat(spot->parent, spot->name, text, sizeof text - 1);
    text[len < 0 ? 0 : len] = '\0';
    found->link = sbx_arena_copy(&walk->scratch, text, strlen(text));
    if (found->link == NULL) {
        return sbx_err_nomem(err);
    }
    struct place place = {0};
    AUTO_FD fd = sbx_names_open_target(spot->parent, spot->name, O_PATH);
    if (!place_of(fd, &place)) {
        found->target_open = is_creatable(walk, spot->path, text);
        return SBX_OK;
    }
    bool is_directory = S_ISDIR(place.info.st_mode);
    struct sbx_decision there = sbx_names_decide(walk, place.path, is_directory);
    bool is_open =
        there.access > found->access && (there.rule == NULL || there.rule->kind == SBX_RULE_HOST);
    if (found->opens || !is_open) {
        return SBX_OK;
    }
    if (is_around(walk, &place, found, spot->path)) {
        found->target_open = true;
        return SBX_OK;
    }
    bool is_git = found->protection != NULL && found->protection == walk->git_row && is_directory;
    return is_git ? protect_git_and_common(walk, fd, &place, err)
                  : report_place(walk, &place, found, err);
}

enum sbx_code sbx_names_follow(struct sbx_names_walk *walk, const struct sbx_names_spot *spot,
                               const struct stat *info, struct sbx_found *found,
                               struct sbx_err *err)
{
    if (S_ISLNK(info->st_mode)) {
        return follow_link(walk, spot, found, err);
    }
    bool is_git_file =
        S_ISREG(info->st_mode) && found->protection != NULL && found->protection == walk->git_row;
    return is_git_file ? follow_git_file(walk, spot, found, err) : SBX_OK;
}
