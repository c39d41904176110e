/* What the tests of posix/linux_names share; see names_fixture.h. */
#include "tests/unit/names_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"

#include "common/base/banned.h"

enum { ARENA_BYTES = 256 << 20 };

void names_start(struct names_fixture *f)
{
    *f = (struct names_fixture){.limits = {SBX_NAMES_MAX, SBX_NAMES_ENTRIES_MAX}};
    sbx_arena_init(&f->arena, ARENA_BYTES);
    const char *base = getenv("TMPDIR");
    char *real = realpath(base == NULL ? "/tmp" : base, NULL);
    (void)snprintf(f->root, sizeof f->root, "%s/sbx-names-XXXXXX", real == NULL ? "/tmp" : real);
    free(real);
    CHECK(mkdtemp(f->root) != NULL);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    (void)remove(path);
    return 0;
}

/* Directories that nobody may list are opened first. */
static int open_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)at;
    if (type == FTW_DNR || (type == FTW_D && (info->st_mode & S_IRWXU) != S_IRWXU)) {
        (void)chmod(path, 0700);
    }
    return 0;
}

void names_remove(const char *path)
{
    (void)nftw(path, open_one, 16, FTW_PHYS);
    (void)nftw(path, remove_one, 16, FTW_PHYS | FTW_DEPTH);
}

void names_end(struct names_fixture *f)
{
    names_remove(f->root);
    sbx_arena_release(&f->arena);
}

/* ---- trees ---- */

const char *names_path(struct names_fixture *f, const char *rest)
{
    const char *path = sbx_arena_printf(&f->arena, "%s%s%s", f->root,
                                        rest[0] == '/' || rest[0] == '\0' ? "" : "/", rest);
    CHECK(path != NULL);
    return path == NULL ? "" : path;
}

static void make_directories(const char *path, bool with_last)
{
    char text[PATH_MAX];
    (void)snprintf(text, sizeof text, "%s", path);
    for (char *at = text + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(text, 0755);
            *at = '/';
        }
    }
    if (with_last) {
        CHECK(mkdir(text, 0755) == 0 || errno == EEXIST);
    }
}

void names_dir(struct names_fixture *f, const char *rest)
{
    make_directories(names_path(f, rest), true);
}

void names_file(struct names_fixture *f, const char *rest, const char *content)
{
    const char *path = names_path(f, rest);
    make_directories(path, false);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(fd >= 0);
    CHECK_INT(write(fd, content, strlen(content)), (intmax_t)strlen(content));
    (void)close(fd);
}

void names_link(struct names_fixture *f, const char *rest, const char *target)
{
    const char *path = names_path(f, rest);
    make_directories(path, false);
    CHECK_INT(symlink(target, path), 0);
}

/* ---- policies ---- */

struct sbx_rule *names_rule(struct names_fixture *f, const char *rest, enum sbx_access access)
{
    struct sbx_rules *rules = &f->policy.rules;
    struct sbx_rule *rule = (struct sbx_rule *)sbx_arena_push(
        &f->arena, &rules->items, &rules->count, &rules->capacity, sizeof *rule);
    const char *text = strncmp(rest, "//", 2) == 0 ? rest + 1 : names_path(f, rest);
    rule->is_glob = sbx_path_is_glob(sbx_str(text));
    rule->access = access;
    rule->by = SBX_BY_MANIFEST;
    rule->key_path = "filesystem";
    rule->order = rules->count;
    CHECK_INT(rule->is_glob
                  ? sbx_path_make_glob(&f->arena, SBX_PATH_POSIX, sbx_str(text), &rule->path)
                  : sbx_path_make(&f->arena, SBX_PATH_POSIX, sbx_str(text), &rule->path),
              SBX_PATH_OK);
    return rule;
}

void names_protect(struct names_fixture *f, const struct sbx_protect_row *rows)
{
    size_t capacity = 0;
    f->policy.protect = NULL;
    f->policy.protect_count = 0;
    f->policy.git = SBX_GIT_READ_ONLY;
    for (; rows->pattern != NULL; rows++) {
        struct sbx_protect_row *slot = (struct sbx_protect_row *)sbx_arena_push(
            &f->arena, &f->policy.protect, &f->policy.protect_count, &capacity, sizeof *slot);
        *slot = *rows;
        if (rows->file_only) {
            f->policy.git = SBX_GIT_COMMIT;
        }
    }
}

void names_settle(struct names_fixture *f)
{
    struct sbx_findings findings;
    sbx_findings_init(&findings, &f->arena);
    sbx_rules_normalise(&f->policy, &findings);
    size_t capacity = 0;
    f->policy.protected_roots = NULL;
    f->policy.protected_root_count = 0;
    for (size_t i = 0; i < f->policy.rules.count; i++) {
        const struct sbx_rule *rule = &f->policy.rules.items[i];
        if (!rule->is_glob && rule->kind == SBX_RULE_HOST && rule->access == SBX_ACCESS_WRITE) {
            struct sbx_path *slot = (struct sbx_path *)sbx_arena_push(
                &f->arena, &f->policy.protected_roots, &f->policy.protected_root_count, &capacity,
                sizeof *slot);
            *slot = rule->path;
        }
    }
}

void names_start_with(struct names_fixture *f, const struct sbx_protect_row *rows)
{
    names_start(f);
    names_dir(f, "w");
    names_protect(f, rows);
    names_rule(f, "w", SBX_ACCESS_WRITE);
}

/* ---- answers ---- */

const char *names_show(struct names_fixture *f, const struct sbx_found_list *list)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 1 << 20);
    size_t skip = strlen(f->root);
    for (size_t i = 0; i < list->count; i++) {
        const struct sbx_found *item = &list->items[i];
        bool is_inside = strncmp(item->path, f->root, skip) == 0;
        CHECK(item->access != SBX_ACCESS_WRITE);
        sbx_buf_printf(&text, "%s%s %s%s%s%s%s", text.len > 0 ? ", " : "",
                       item->access == SBX_ACCESS_NONE ? "n" : "r",
                       is_inside ? item->path + skip : item->path, item->is_directory ? " d" : "",
                       item->is_symlink ? " @" : "", item->opens ? " +" : "",
                       item->target_open ? " !" : "");
    }
    const char *copy = sbx_arena_copy(&f->arena, sbx_buf_text(&text), text.len);
    return copy == NULL ? "" : copy;
}

const char *names_find(struct names_fixture *f)
{
    f->err = (struct sbx_err){0};
    enum sbx_code code =
        sbx_names_find_within(&f->arena, &f->policy, f->cache_dir, &f->limits, &f->found, &f->err);
    return code == SBX_OK ? names_show(f, &f->found) : f->err.text;
}

const char *names_settle_and_find(struct names_fixture *f)
{
    names_settle(f);
    return names_find(f);
}

const struct sbx_found *names_at(struct names_fixture *f, const char *rest)
{
    const char *path = names_path(f, rest);
    for (size_t i = 0; i < f->found.count; i++) {
        if (sbx_text_eq(f->found.items[i].path, path)) {
            return &f->found.items[i];
        }
    }
    return NULL;
}
