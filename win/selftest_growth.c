/* Cases: what a grant costs the first time, the second time and when it is taken back, by the number of files. */
#include <stdio.h>

#include "common/os.h"
#include "win/handle.h"
#include "win/selftest.h"
#include "win/wide.h"

#include "common/base/banned.h"

#define FILES_A_DIRECTORY 100
/* A second run may be slower than one of a small tree by this much, for noise. */
#define SLACK_NS ((uint64_t)500 * 1000000u)

struct figures {
    uint64_t first, second, removal;
};

static bool plant_files(struct sbx_selftest *t, const char *root, unsigned count)
{
    wchar_t name[1200];
    wchar_t *wide = sbx_selftest_wide(t, root);
    if (wide == NULL || wcslen(wide) > 1000 || !CreateDirectoryW(wide, NULL)) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned directory = i / FILES_A_DIRECTORY;
        if (i % FILES_A_DIRECTORY == 0) {
            (void)_snwprintf(name, SBX_COUNT(name), L"%ls\\%u", wide, directory);
            if (!CreateDirectoryW(name, NULL)) {
                return false;
            }
        }
        (void)_snwprintf(name, SBX_COUNT(name), L"%ls\\%u\\%u.txt", wide, directory, i);
        HANDLE file = CreateFileW(name, GENERIC_WRITE, 0, NULL, CREATE_NEW, 0, NULL);
        if (!sbx_handle_is_open(file)) {
            return false;
        }
        sbx_handle_close(&file);
    }
    return true;
}

static bool run_once(struct sbx_selftest *t, uint64_t *took, struct sbx_selftest_result *result)
{
    struct sbx_selftest_plan plan = {
        .manifest = "fs_write_allow = [\"{tree}\"]\ncwd = \"{tree}\"\ntimeout = \"10m\"\n",
        .words = "write {tree}\\0\\written",
        .timeout_ns = 1200u * UINT64_C(1000000000)};
    struct sbx_selftest_box box;
    if (!sbx_selftest_run_box(t, &plan, &box, result)) {
        return false;
    }
    if (box.answer != SBX_ANSWER_DONE) {
        sbx_selftest_say(t, result, SBX_SELFTEST_FAIL, "box: %s", sbx_selftest_describe(t, &box));
        return false;
    }
    *took = box.ended.wall_ns;
    return true;
}

static bool take_back(struct sbx_selftest *t, uint64_t *took, struct sbx_selftest_result *result)
{
    const char *argv[] = {sbx_selftest_place(t, "program"), "workspace", "remove",
                          sbx_selftest_place(t, "tree"), NULL};
    struct sbx_selftest_spawn spawn = {.argv = argv,
                                       .cwd = sbx_selftest_place(t, "bin"),
                                       .timeout_ns = 1200u * UINT64_C(1000000000)};
    struct sbx_selftest_ended ended;
    struct sbx_err err = {0};
    if (sbx_selftest_spawn(&t->arena, &spawn, &ended, &err) != SBX_OK) {
        sbx_selftest_say(t, result, SBX_SELFTEST_ERROR, "%s", err.text);
        return false;
    }
    if (ended.status == 2) {
        sbx_selftest_say(t, result, SBX_SELFTEST_CANNOT, "this build has no sbx workspace");
        return false;
    }
    if (ended.status != 0) {
        sbx_selftest_say(t, result, SBX_SELFTEST_FAIL,
                         "sbx workspace remove ended with %u: " SBX_STR_FMT, (unsigned)ended.status,
                         SBX_STR_ARG(ended.err));
        return false;
    }
    *took = ended.wall_ns;
    return true;
}

static void remember(struct sbx_selftest *t, unsigned count, const struct figures *figures)
{
    static const char *const names[] = {"first run", "second run", "removal"};
    const uint64_t numbers[] = {figures->first, figures->second, figures->removal};
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        const char *name = sbx_arena_printf(&t->arena, "%u files, %s", count, names[i]);
        sbx_selftest_time(t, name == NULL ? "" : name, numbers[i]);
    }
}

static bool measure(struct sbx_selftest *t, unsigned count, struct figures *out,
                    struct sbx_selftest_result *result)
{
    struct sbx_err err = {0};
    const char *tree =
        sbx_arena_printf(&t->arena, "%s\\tree-%u", sbx_selftest_place(t, "root"), count);
    size_t places = t->place_count;
    if (tree == NULL || !plant_files(t, tree, count) ||
        sbx_selftest_place_add(t, "tree", tree, &err) != SBX_OK) {
        sbx_selftest_say(t, result, SBX_SELFTEST_ERROR, "no tree of %u files could be made", count);
        return false;
    }
    bool is_done = run_once(t, &out->first, result) && run_once(t, &out->second, result) &&
                   take_back(t, &out->removal, result);
    if (is_done) {
        remember(t, count, out);
    }
    sbx_selftest_remove(tree);
    t->place_count = places;
    return is_done;
}

/* The attempt of the row is the two numbers of files. */
static void compare(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                    struct sbx_selftest_result *result)
{
    struct sbx_str numbers[2];
    uint64_t few;
    uint64_t many;
    struct figures small;
    struct figures large;
    (void)sbx_str_split(sbx_str(row->attempt), ' ', &numbers[0], &numbers[1]);
    if (!sbx_selftest_has_box(t, result) || !sbx_str_to_u64(numbers[0], &few) ||
        !sbx_str_to_u64(numbers[1], &many) || !measure(t, (unsigned)few, &small, result) ||
        !measure(t, (unsigned)many, &large, result)) {
        return;
    }
    bool is_flat = large.second <= 2 * small.second + SLACK_NS;
    sbx_selftest_say(
        t, result, is_flat ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL,
        "ms for the first run, the second, and taking it back: %u files %u, %u, %u; %u "
        "files %u, %u, %u",
        (unsigned)few, (unsigned)(small.first / 1000000), (unsigned)(small.second / 1000000),
        (unsigned)(small.removal / 1000000), (unsigned)many, (unsigned)(large.first / 1000000),
        (unsigned)(large.second / 1000000), (unsigned)(large.removal / 1000000));
}

static const struct sbx_selftest_case cases[] = {
    {.id = "growth.10000",
     .promise = "a second run on 10000 files costs no more than one on 1000",
     .attempt = "1000 10000",
     .run = compare},
    {.id = "growth.100000",
     .promise = "a second run on 100000 files costs no more than one on 1000",
     .attempt = "1000 100000",
     .is_long = true,
     .run = compare},
};
const struct sbx_selftest_group sbx_selftest_growth_group = {"growth", cases, SBX_COUNT(cases)};
