/* What the tests of posix/linux_names share: real trees in a scratch directory, policies for them, and what was
 * found as text. */
#ifndef SBX_TESTS_UNIT_NAMES_FIXTURE_H
#define SBX_TESTS_UNIT_NAMES_FIXTURE_H

#include <limits.h>

#include "posix/linux_names.h"

struct names_fixture {
    char root[256]; /* a directory of this test, removed at its end */
    struct sbx_arena arena;
    struct sbx_policy policy;
    struct sbx_found_list found;
    struct sbx_err err;
    const char *cache_dir; /* NULL: none */
    struct sbx_names_limits limits;
};

void names_start(struct names_fixture *f);
void names_end(struct names_fixture *f);
/* The same with an empty, writable "w" and these protections. */
void names_start_with(struct names_fixture *f, const struct sbx_protect_row *rows);
#define AUTO_NAMES SBX_CLEANUP(names_end) struct names_fixture

/* Text that lives as long as the fixture: `rest` below the root. */
const char *names_path(struct names_fixture *f, const char *rest);

/* Directories above are made too. */
void names_dir(struct names_fixture *f, const char *rest);
void names_file(struct names_fixture *f, const char *rest, const char *content);
void names_link(struct names_fixture *f, const char *rest, const char *target);
/* Removes a whole tree, links unfollowed. */
void names_remove(const char *path);

/* `rest` below the root, or a whole path when it starts with two slashes. */
struct sbx_rule *names_rule(struct names_fixture *f, const char *rest, enum sbx_access access);
/* Rows as in sbx_protect_defaults; call before names_find. */
void names_protect(struct names_fixture *f, const struct sbx_protect_row *rows);
/* The policy in normal form, with its roots. */
void names_settle(struct names_fixture *f);

/* Finds, and gives one line each: "r /a/.git d", "n /x" … below the root, with '@' for a link and '!' for an
 * open target. The text of the error when it fails. */
const char *names_find(struct names_fixture *f);
const char *names_settle_and_find(struct names_fixture *f);
/* What `names_find` would say when the list is this one. */
const char *names_show(struct names_fixture *f, const struct sbx_found_list *list);
const struct sbx_found *names_at(struct names_fixture *f, const char *rest);

#endif
