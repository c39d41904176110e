/* What the tests of file grants on the model of NT share. */
#include "tests/unit/grants_world.h"

#include <stdlib.h>
#include <string.h>

#include "common/run/workspace.h"
#include "tests/check.h"

#include "common/base/banned.h"

const struct sbx_winapi *sbx_win(void)
{
    return nt_model_table();
}

static const struct nt_world plain;

void world_policy(struct world *world, const char *manifest)
{
    fixture_release(&world->fixture);
    fixture_policy(&world->fixture, SBX_WINDOWS, manifest);
    CHECK_INT(world->fixture.findings.errors, 0);
    if (world->fixture.findings.errors > 0) {
        fixture_print_findings(&world->fixture);
    }
}

void world_start(struct world *world, const struct nt_world *nt, const char *manifest)
{
    *world = (struct world){.model = nt_model_new(nt == NULL ? &plain : nt)};
    sbx_arena_init(&world->arena, (size_t)256 << 20);
    fixture_policy(&world->fixture, SBX_WINDOWS, manifest);
    CHECK_INT(world->fixture.findings.errors, 0);
    world->before = nt_model_acl_snapshot(world->model);
}

void world_close(struct world *world)
{
    sbx_grants_close(&world->grants);
}

void world_end(struct world *world)
{
    world_close(world);
    sbx_arena_release(&world->arena);
    fixture_release(&world->fixture);
    free(world->before);
    nt_model_free(world->model);
}

enum sbx_code world_make(struct world *world)
{
    struct sbx_grant_request request = {.policy = &world->fixture.policy,
                                        .state_dir = world->fixture.context.state_dir,
                                        .progress = &world->progress};
    world_close(world);
    world->grants = (struct sbx_grants){0};
    world->err = (struct sbx_err){0};
    return sbx_grants_make(&world->arena, &request, &world->grants, &world->err);
}

void world_grant(struct world *world)
{
    CHECK_CODE(world_make(world), SBX_OK, &world->err);
    world_close(world);
}

void world_remove_all(struct world *world)
{
    struct sbx_workspaces removed;
    struct sbx_path all = {.text = NULL};
    CHECK_CODE(sbx_workspace_remove(&world->arena, &world->fixture.context, all, NULL, &removed,
                                    &world->err),
               SBX_OK, &world->err);
}

const char *world_changed(struct world *world)
{
    return nt_model_acl_compare(world->model, world->before);
}

/* ---- the box ---------------------------------------------------------------------------------- */

static void box_token(const struct world *world, struct nt_token *out)
{
    static const struct {
        BYTE head[8];
        DWORD part[8];
    } package = {{1, 8, 0, 0, 0, 0, 0, 15}, {2, 11, 12, 13, 14, 15, 16, 17}};
    struct nt_token user;
    SID_AND_ATTRIBUTES capabilities[16] = {{0}};
    nt_token_user(&user);
    for (size_t i = 0; i < world->grants.count && i < SBX_COUNT(capabilities); i++) {
        capabilities[i] = (SID_AND_ATTRIBUTES){world->grants.capabilities[i].sid, SE_GROUP_ENABLED};
    }
    CHECK(nt_token_lowbox(&user, (PSID)(ULONG_PTR)&package, capabilities,
                          (DWORD)world->grants.count, false, out));
}

DWORD world_may(struct world *world, const wchar_t *path, DWORD rights)
{
    static const GENERIC_MAPPING files = {FILE_GENERIC_READ, FILE_GENERIC_WRITE,
                                          FILE_GENERIC_EXECUTE, FILE_ALL_ACCESS};
    struct nt_token token;
    size_t size;
    const void *descriptor = nt_descriptor(world->model, path, &size);
    DWORD may = 0;
    box_token(world, &token);
    CHECK(nt_exists(world->model, path));
    for (unsigned bit = 0; bit < 32; bit++) {
        DWORD granted = 0;
        DWORD right = (DWORD)1 << bit;
        if ((rights & right) != 0 && descriptor != NULL &&
            nt_access_check(&token, descriptor, right, &files, &granted)) {
            may |= right;
        }
    }
    return may;
}

bool world_reads(struct world *world, const wchar_t *path)
{
    return world_may(world, path, FILE_READ_DATA) != 0;
}

bool world_writes(struct world *world, const wchar_t *path)
{
    return world_may(world, path, SBX_GRANT_CHANGE) != 0;
}

bool world_is_protected(struct world *world, const wchar_t *path)
{
    SECURITY_DESCRIPTOR_CONTROL control = 0;
    DWORD revision;
    size_t size;
    const void *descriptor = nt_descriptor(world->model, path, &size);
    CHECK(descriptor != NULL &&
          GetSecurityDescriptorControl((PSECURITY_DESCRIPTOR)(ULONG_PTR)descriptor, &control,
                                       &revision));
    return (control & SE_DACL_PROTECTED) != 0;
}

bool world_remarks(const struct world *world, const char *text)
{
    for (size_t i = 0; i < world->grants.remark_count; i++) {
        if (strstr(world->grants.remarks[i], text) != NULL) {
            return true;
        }
    }
    return false;
}

/* ---- the host --------------------------------------------------------------------------------- */

void host_directory(const wchar_t *path)
{
    CHECK(sbx_win()->CreateDirectoryW(path, NULL));
}

void host_file(const wchar_t *path)
{
    DWORD put;
    HANDLE file = sbx_win()->CreateFileW(path, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
                                         FILE_ATTRIBUTE_NORMAL, NULL);
    CHECK(file != INVALID_HANDLE_VALUE);
    CHECK(sbx_win()->WriteFile(file, "x", 1, &put, NULL));
    CHECK(sbx_win()->CloseHandle(file));
}

bool host_move(const wchar_t *from, const wchar_t *to)
{
    return sbx_win()->MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING);
}
