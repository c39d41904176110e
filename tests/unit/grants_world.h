/* What the tests of file grants on the model of NT share: a world, a policy, and what a box of it could do. */
#ifndef SBX_TESTS_UNIT_GRANTS_WORLD_H
#define SBX_TESTS_UNIT_GRANTS_WORLD_H

#include "tests/ntmodel/nt_model.h"
#include "tests/unit/policy_fixture.h"
#include "win/grant.h"

#define PROJECT L"C:\\Users\\user\\project"

/* The default policy of a box that may write to its working directory. */
#define WRITES_CWD "[sandbox]\nfs_write_allow = [':cwd']\n"

struct world {
    struct nt_model *model;
    struct fixture fixture;
    struct sbx_arena arena;
    struct sbx_grants grants;
    struct sbx_progress progress;
    struct sbx_err err;
    struct nt_snapshot *before;
};

/* The world of the model with this policy (the manifest's text), and a snapshot of all its lists. */
void world_start(struct world *world, const struct nt_world *nt, const char *manifest);
/* Another policy from now on. */
void world_policy(struct world *world, const char *manifest);
void world_end(struct world *world);
#define AUTO_WORLD SBX_CLEANUP(world_end) struct world

/* sbx_grants_make; what it gave stays open until the next one or the end. */
enum sbx_code world_make(struct world *world);
/* The same, expected to succeed; and the pins are let go. */
void world_grant(struct world *world);
void world_close(struct world *world);
/* sbx workspace remove --all, expected to succeed. */
void world_remove_all(struct world *world);
/* Paths whose lists are not as they were, "" for none. */
const char *world_changed(struct world *world);

/* What a box with the capabilities of the last grant may do at a path: of the rights asked, those it has. */
DWORD world_may(struct world *world, const wchar_t *path, DWORD rights);
bool world_reads(struct world *world, const wchar_t *path);
bool world_writes(struct world *world, const wchar_t *path);
bool world_is_protected(struct world *world, const wchar_t *path);

/* The host makes something, through the system: it inherits, and the journal tells of it. */
void host_directory(const wchar_t *path);
void host_file(const wchar_t *path);
bool host_move(const wchar_t *from, const wchar_t *to);

/* A remark that contains the text? */
bool world_remarks(const struct world *world, const char *text);

#endif
