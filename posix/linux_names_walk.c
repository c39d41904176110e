/* The walk of linux_names: directory by directory below one start, carrying what the box may do there and how
 * far each pattern has come. Only one directory is open at a time, so depth costs no descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/linux_names_internal.h"

#include "common/base/banned.h"

/* A directory still to be looked at. */
struct sbx_names_node {
    const struct sbx_names_node *above; /* NULL for the start */
    struct sbx_names_node *next;
    const char *name; /* in a listing, not terminated */
    size_t len;
    const uint64_t *states;
    const uint64_t *quiet; /* of a child whose name no pattern has; NULL until asked */
    struct sbx_names_region region;
    bool is_known; /* the cache had it, moments ago */
};

/* ---- paths ---- */

/* "/a/b" without a slash at its end, so nothing for "/". */
static size_t base_len(const struct sbx_names_walk *walk)
{
    return sbx_path_is_root(walk->start.path) ? 0 : walk->start.path.len;
}

static size_t len_of(const struct sbx_names_walk *walk, const struct sbx_names_node *node)
{
    size_t len = base_len(walk);
    for (; node->above != NULL; node = node->above) {
        len += 1 + node->len;
    }
    return len;
}

static enum sbx_code too_long(const struct sbx_names_walk *walk, struct sbx_err *err)
{
    (void)sbx_err_set(err, SBX_E_LIMIT, "the directories below \"%.*s …\" are nested too deeply",
                      200, walk->path);
    return sbx_err_hint(err, "remove them, or make a directory beside them writable instead");
}

/* Puts the node's path into walk->path; *len is without a slash at its end. */
static enum sbx_code build_path(struct sbx_names_walk *walk, const struct sbx_names_node *node,
                                size_t *len, struct sbx_err *err)
{
    size_t at = len_of(walk, node);
    size_t base = base_len(walk);
    memcpy(walk->path, walk->start.path.text, base);
    walk->path[base] = '\0';
    if (at + 2 >= sizeof walk->path) {
        return too_long(walk, err);
    }
    *len = at;
    walk->path[at == 0 ? 1 : at] = '\0';
    walk->path[0] = '/';
    for (; node->above != NULL; node = node->above) {
        at -= node->len;
        memcpy(walk->path + at, node->name, node->len);
        walk->path[--at] = '/';
    }
    return SBX_OK;
}

static const char *below_start(const struct sbx_names_walk *walk)
{
    const char *rest = walk->path + base_len(walk);
    return rest + (*rest == '/' ? 1 : 0);
}

/* Private to the box, never the host's. */
static bool is_kernel_path(struct sbx_path path)
{
    static const char *const names[] = {"proc", "dev", "sys"};
    struct sbx_str first = sbx_path_component(path, 0);
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        if (sbx_str_is(first, names[i])) {
            return true;
        }
    }
    return false;
}

/* ---- going down ---- */

static enum sbx_code push(struct sbx_names_walk *walk, const struct sbx_names_node *node,
                          struct sbx_err *err)
{
    struct sbx_names_node *slot = SBX_NEW(&walk->scratch, struct sbx_names_node);
    if (slot == NULL) {
        return sbx_err_nomem(err);
    }
    *slot = *node;
    slot->next = walk->stack;
    walk->stack = slot;
    return SBX_OK;
}

/* States are shared: nearly every directory has those of the one above. */
static const uint64_t *keep_states(struct sbx_names_walk *walk, const uint64_t *above)
{
    size_t bytes = walk->matcher.count * sizeof *walk->next;
    if (memcmp(walk->next, above, bytes) == 0) {
        return above;
    }
    uint64_t *copy = SBX_NEW_ARRAY(&walk->scratch, uint64_t, walk->matcher.count);
    if (copy != NULL) {
        memcpy(copy, walk->next, bytes);
    }
    return copy;
}

static const uint64_t *states_below(struct sbx_names_walk *walk, struct sbx_names_node *node,
                                    struct sbx_path slashed, bool is_part)
{
    if (!is_part && node->quiet != NULL) {
        return node->quiet;
    }
    sbx_names_advance(&walk->matcher, node->states, slashed, is_part, walk->next);
    const uint64_t *states = keep_states(walk, node->states);
    if (!is_part) {
        node->quiet = states;
    }
    return states;
}

/* The path is looked at now, or need not be: not once more when its turn as a start comes. */
static void mark_start(struct sbx_names_walk *walk, struct sbx_path path)
{
    size_t low = 0;
    size_t high = walk->sorted_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = sbx_path_compare(walk->starts[middle].path, path);
        if (order == 0) {
            walk->starts[middle].is_done = true;
            return;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
}

/* An unchanged directory without anything of interest costs this one call and is done. */
static bool is_known_empty(struct sbx_names_walk *walk, int fd, const char *name, bool *is_known)
{
    struct stat info = {0};
    if (walk->cache.loaded == 0 || fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return false;
    }
    struct sbx_names_stamp stamp = sbx_names_stamp_of(&info);
    struct sbx_names_record *record = sbx_names_cache_find(&walk->cache, &stamp);
    *is_known = record != NULL;
    if (record == NULL || record->listing.len > 0) {
        return false;
    }
    record->is_used = true;
    walk->found.directories_from_cache++;
    return true;
}

/* ---- one entry ---- */

static const struct sbx_protect_row *row_accepting(const struct sbx_names_walk *walk,
                                                   const uint64_t *states, bool is_directory)
{
    for (size_t i = 0; i < walk->matcher.count; i++) {
        const struct sbx_names_pattern *pattern = &walk->matcher.patterns[i];
        if (pattern->row != NULL && sbx_names_accepts(pattern, states[i]) &&
            !(pattern->row->file_only && is_directory)) {
            return pattern->row;
        }
    }
    return NULL;
}

static bool is_candidate(const struct sbx_names_walk *walk, const uint64_t *states,
                         struct sbx_path slashed)
{
    for (size_t i = 0; i < walk->matcher.count; i++) {
        if (sbx_names_accepts(&walk->matcher.patterns[i], states[i])) {
            return true;
        }
    }
    return sbx_names_ends_rule(&walk->matcher, slashed);
}

/* What holds for the entry, from the policy, and for what is inside a ".git" elsewhere, from the pattern. True
 * when it differs from what is around it, and no literal rule says so already. */
static bool differs(struct sbx_names_walk *walk, const uint64_t *states, struct sbx_path path,
                    bool is_directory, struct sbx_names_region *region, struct sbx_found *found)
{
    struct sbx_decision decision = sbx_names_decide(walk, path, is_directory);
    bool is_literal = sbx_names_is_literal(&decision, path);
    enum sbx_access around = region->access;
    if (walk->start.is_git) {
        const struct sbx_protect_row *row = row_accepting(walk, states, is_directory);
        if (row == NULL || is_literal || decision.access != SBX_ACCESS_WRITE) {
            return false;
        }
        decision = (struct sbx_decision){.access = SBX_ACCESS_READ, .protection = row};
    }
    *region = sbx_names_region_of(&decision);
    region->is_closed |= walk->start.is_git;
    found->access = decision.access;
    found->opens = decision.access > around;
    found->protection = decision.protection;
    found->rule = decision.rule != NULL && decision.rule->is_glob ? decision.rule : NULL;
    return !is_literal && decision.access != around && decision.access != SBX_ACCESS_WRITE;
}

static enum sbx_code refuse_unlisted(const struct sbx_names_walk *walk, struct sbx_err *err)
{
    (void)sbx_err_set(err, SBX_E_DENIED,
                      "\"%s\" cannot be looked at but could be changed, so nobody can tell what in "
                      "it is protected",
                      walk->path);
    return sbx_err_hint(err, "make it accessible (chmod u+rx), or close it with a rule \"none\"");
}

/* `spot` may be what a rule or a pattern names: settles what holds in it, and reports it. */
static enum sbx_code consider(struct sbx_names_walk *walk, const struct sbx_names_spot *spot,
                              const uint64_t *states, struct sbx_names_region *region,
                              struct sbx_err *err)
{
    struct stat info = {0};
    if (fstatat(spot->parent, spot->name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        int raw = errno;
        if (raw == ENOENT) {
            return SBX_OK; /* gone by now */
        }
        if (raw == EACCES) { /* the directory may be listed but not entered */
            bool is_open = fstat(spot->parent, &info) == 0 && info.st_uid == geteuid() &&
                           region->access == SBX_ACCESS_WRITE;
            return is_open ? refuse_unlisted(walk, err) : SBX_OK;
        }
        return sbx_err_errno(err, raw, "fstatat", "cannot look at \"%s\"", spot->path.text);
    }
    struct sbx_found found = {.is_directory = S_ISDIR(info.st_mode),
                              .is_symlink = S_ISLNK(info.st_mode),
                              .device = info.st_dev,
                              .inode = info.st_ino};
    if (!differs(walk, states, spot->path, found.is_directory, region, &found)) {
        return SBX_OK;
    }
    found.path = sbx_arena_copy(&walk->scratch, spot->path.text, spot->path.len);
    if (found.path == NULL) {
        return sbx_err_nomem(err);
    }
    enum sbx_code code = sbx_names_follow(walk, spot, &info, &found, err);
    return code == SBX_OK ? sbx_names_report(walk, &found, err) : code;
}

static enum sbx_code visit_entry(struct sbx_names_walk *walk, struct sbx_names_node *node, int fd,
                                 const struct sbx_names_entry *entry, size_t base,
                                 struct sbx_err *err)
{
    if (base + 1 + entry->len >= sizeof walk->path) {
        return too_long(walk, err);
    }
    walk->path[base] = '/';
    memcpy(walk->path + base + 1, entry->name, entry->len);
    walk->path[base + 1 + entry->len] = '\0';
    struct sbx_path path = {walk->path, base + 1 + entry->len, SBX_PATH_POSIX};
    struct sbx_path slashed = {walk->path + base, entry->len + 1, SBX_PATH_POSIX};
    if (base == 0 && is_kernel_path(path)) {
        return SBX_OK;
    }
    bool is_part = entry->hit && sbx_names_is_part(&walk->matcher, slashed);
    const uint64_t *states = states_below(walk, node, slashed, is_part);
    struct sbx_names_node below = {.above = node,
                                   .name = entry->name,
                                   .len = entry->len,
                                   .states = states,
                                   .region = node->region};
    if (states == NULL) {
        return sbx_err_nomem(err);
    }
    if (entry->hit && is_candidate(walk, states, slashed)) {
        struct sbx_names_spot spot = {fd, slashed.text + 1, path};
        enum sbx_code code = consider(walk, &spot, states, &below.region, err);
        if (code != SBX_OK) {
            return code;
        }
    }
    if (entry->type != SBX_ENTRY_DIRECTORY) {
        return SBX_OK;
    }
    if (entry->hit && !walk->start.is_git) {
        mark_start(walk, path);
    }
    if (!sbx_names_wants_below(walk, below.region, states)) {
        return SBX_OK;
    }
    return is_known_empty(walk, fd, slashed.text + 1, &below.is_known) ? SBX_OK
                                                                       : push(walk, &below, err);
}

/* ---- one directory ---- */

/* A box of ours cannot list it either. But what it may write to, or make accessible because it owns it, could
 * hold protected names that nobody sees. */
static enum sbx_code skip_unreadable(struct sbx_names_walk *walk, const struct sbx_names_node *node,
                                     struct sbx_err *err)
{
    struct stat info = {0};
    char *slash = strrchr(walk->path, '/');
    AUTO_FD fd = sbx_names_open_below(walk->root, below_start(walk), O_PATH);
    bool is_open = fd >= 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0;
    if (fd < 0 && node->above != NULL) { /* the directory above was listed but cannot be entered */
        *slash = '\0';
        fd = sbx_names_open_below(walk->root, below_start(walk), O_PATH);
        *slash = '/';
    }
    is_open |= fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == geteuid();
    if (is_open && node->region.access == SBX_ACCESS_WRITE) {
        return refuse_unlisted(walk, err);
    }
    walk->found.unreadable++;
    return SBX_OK;
}

/* SBX_OK with *out -1: there is nothing to look at any more, or nothing we may. */
static enum sbx_code open_node(struct sbx_names_walk *walk, const struct sbx_names_node *node,
                               int flags, int *out, struct sbx_err *err)
{
    int fd = sbx_names_open_below(walk->root, below_start(walk), flags);
    int raw = fd < 0 ? errno : 0;
    switch (raw) {
    case 0:
        *out = fd;
        return SBX_OK;
    case ENOENT:
    case ENOTDIR:
    case ELOOP: /* a link by now: not followed */
    case EXDEV: /* moved out of the root while it was opened */
        return SBX_OK;
    case EACCES:
        return skip_unreadable(walk, node, err);
    case ENAMETOOLONG:
        return too_long(walk, err);
    default:
        return sbx_err_errno(err, raw, "openat2", "cannot open \"%s\"", walk->path);
    }
}

static enum sbx_code stamp(const struct sbx_names_walk *walk, int fd, struct sbx_names_stamp *out,
                           struct sbx_err *err)
{
    struct stat info = {0};
    if (fstat(fd, &info) != 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "fstat", "cannot look at \"%s\"", walk->path);
    }
    *out = sbx_names_stamp_of(&info);
    return SBX_OK;
}

/* Reads the directory, or takes what the cache has of it. The stamp is taken first: what changes while reading
 * has another one next time. */
static enum sbx_code list(struct sbx_names_walk *walk, struct sbx_names_node *node, int *fd,
                          struct sbx_names_listing *out, struct sbx_err *err)
{
    struct sbx_names_stamp now = {0};
    enum sbx_code code = open_node(walk, node, node->is_known ? O_PATH : O_RDONLY, fd, err);
    if (code == SBX_OK && *fd >= 0 && walk->cache.dir >= 0) {
        code = stamp(walk, *fd, &now, err);
    }
    if (code != SBX_OK || *fd < 0) {
        return code;
    }
    struct sbx_names_record *record = sbx_names_cache_find(&walk->cache, &now);
    if (record != NULL) {
        record->is_used = true;
        walk->found.directories_from_cache++;
        *out = record->listing;
        return SBX_OK;
    }
    if (node->is_known) { /* it has just changed, and the descriptor is only good for a place */
        node->is_known = false;
        sbx_fd_close(fd);
        return list(walk, node, fd, out, err);
    }
    walk->found.directories_read++;
    code = sbx_names_read(&walk->reader, *fd, walk->path, out, err);
    if (code == SBX_OK) {
        sbx_names_cache_add(&walk->cache, *fd, &now, *out);
    }
    return code;
}

static enum sbx_code visit(struct sbx_names_walk *walk, struct sbx_names_node *node,
                           struct sbx_err *err)
{
    size_t len = 0;
    enum sbx_code code = build_path(walk, node, &len, err);
    if (code != SBX_OK) {
        return code;
    }
    AUTO_FD fd = -1;
    struct sbx_names_listing listing = {0};
    code = list(walk, node, &fd, &listing, err);
    size_t at = 0;
    struct sbx_names_entry entry = {0};
    while (code == SBX_OK && sbx_names_take(listing, &at, &entry)) {
        code = visit_entry(walk, node, fd, &entry, len, err);
    }
    uint64_t looked_at = walk->reader.entries + walk->found.directories_from_cache;
    if (code == SBX_OK && looked_at > walk->limits->entries) {
        (void)sbx_err_set(err, SBX_E_LIMIT,
                          "there are more than %llu files and directories below \"%s\"",
                          (unsigned long long)walk->limits->entries, walk->start.path.text);
        return sbx_err_hint(err, "make a smaller directory writable, or write the globs with a "
                                 "longer beginning");
    }
    return code;
}

/* ---- one start ---- */

/* SBX_OK without states: nothing below can differ. */
static enum sbx_code begin(struct sbx_names_walk *walk, struct sbx_names_node *out,
                           struct sbx_err *err)
{
    struct sbx_path path = walk->start.path;
    if (!walk->start.is_git) {
        struct sbx_decision now = sbx_names_decide(walk, path, true);
        out->region = sbx_names_region_of(&now);
        if (!sbx_names_may_want(walk, out->region, path)) {
            return SBX_OK;
        }
    }
    uint64_t *states = SBX_NEW_ARRAY(&walk->scratch, uint64_t, walk->matcher.count);
    if (states == NULL) {
        return sbx_err_nomem(err);
    }
    out->states = states;
    if (walk->start.is_git) {
        sbx_names_begin_git(&walk->matcher, states);
        out->region = (struct sbx_names_region){.access = SBX_ACCESS_WRITE};
        return SBX_OK;
    }
    sbx_names_begin(&walk->matcher, states);
    struct sbx_str name = sbx_path_component(path, 0);
    for (size_t i = 1; name.len > 0; i++) {
        struct sbx_path slashed = {name.ptr - 1, name.len + 1, SBX_PATH_POSIX};
        bool is_part = sbx_names_is_part(&walk->matcher, slashed);
        sbx_names_advance(&walk->matcher, states, slashed, is_part, walk->next);
        memcpy(states, walk->next, walk->matcher.count * sizeof *states);
        name = sbx_path_component(path, i);
    }
    return SBX_OK;
}

static enum sbx_code walk_all(struct sbx_names_walk *walk, const struct sbx_names_node *first,
                              struct sbx_err *err)
{
    walk->stack = NULL;
    enum sbx_code code = push(walk, first, err);
    while (code == SBX_OK && walk->stack != NULL) {
        struct sbx_names_node *next = walk->stack;
        walk->stack = next->next;
        code = visit(walk, next, err);
    }
    return code;
}

enum sbx_code sbx_names_walk_start(struct sbx_names_walk *walk, size_t index, struct sbx_err *err)
{
    struct sbx_names_node node = {0};
    walk->start = walk->starts[index];
    const char *path = walk->start.path.text;
    enum sbx_code code = begin(walk, &node, err);
    if (code != SBX_OK || node.states == NULL || is_kernel_path(walk->start.path) ||
        !sbx_names_wants_below(walk, node.region, node.states)) {
        return code;
    }
    AUTO_FD root = sbx_names_open_target(AT_FDCWD, path, O_PATH | O_DIRECTORY);
    if (root < 0) {
        int raw = errno;
        if (raw == ENOENT || raw == ENOTDIR || raw == EACCES) {
            return SBX_OK; /* nothing there to protect, or nothing a box of ours can reach */
        }
        return sbx_err_errno(err, raw, "openat2", "cannot open \"%s\"", path);
    }
    walk->root = root;
    int cache_dir = walk->start.is_git ? -1 : walk->cache_dir;
    sbx_names_cache_load(&walk->cache, &walk->scratch, cache_dir, &walk->patterns, path);
    code = walk_all(walk, &node, err);
    if (code == SBX_OK) {
        sbx_names_cache_save(&walk->cache);
    }
    return code;
}
