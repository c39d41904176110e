/* sbx selftest: the cases that every system has. */
#include "common/os.h"
#include "common/run/selftest.h"

#include "common/base/banned.h"

#define ROUNDS 10
#define LEFT_MS 3000 /* more than twice as long as {left} takes to appear */

bool sbx_selftest_exists(const char *path)
{
    struct sbx_file_info info;
    sbx_os_file_info(path, &info);
    return info.node != SBX_NODE_MISSING;
}

void sbx_selftest_wait(struct sbx_selftest *t, unsigned ms)
{
    struct sbx_selftest_plan plan = {.words = sbx_arena_printf(&t->arena, "sleep %u", ms)};
    struct sbx_selftest_box box;
    struct sbx_selftest_result unused;
    if (plan.words != NULL) (void)sbx_selftest_run_outside(t, &plan, &box, &unused);
}

/* ---- a box starts ---- */

static const char *backend_of(struct sbx_selftest *t, const struct sbx_selftest_box *box)
{
    const struct sbx_value *selection = sbx_value_get(&box->report, "selection");
    const struct sbx_value *name = sbx_value_get(selection, "backend");
    if (name == NULL || name->type != SBX_VALUE_STRING) return "unknown";
    const char *copy = sbx_arena_copy(&t->arena, name->string.ptr, name->string.len);
    return copy == NULL ? "unknown" : copy;
}

static bool item_holds(const struct sbx_value *item)
{
    const struct sbx_value *ok = sbx_value_get(item, "ok");
    return ok != NULL && ok->type == SBX_VALUE_BOOL && ok->boolean;
}

void sbx_selftest_case_start(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                             struct sbx_selftest_result *result)
{
    struct sbx_selftest_plan plan = {.manifest = row->manifest, .words = row->attempt};
    struct sbx_selftest_box box;
    if (!sbx_selftest_run_box(t, &plan, &box, result)) {
        /* What the machine lacks for a single case it lacks for all of them here. */
        if (result->verdict == SBX_SELFTEST_CANNOT) result->verdict = SBX_SELFTEST_FAIL;
        return;
    }
    const struct sbx_value *evidence = sbx_value_get(&box.report, "evidence");
    size_t count =
        evidence != NULL && evidence->type == SBX_VALUE_ARRAY ? evidence->array.count : 0;
    size_t held = 0;
    for (size_t i = 0; i < count; i++) held += item_holds(&evidence->array.items[i]);
    bool is_good = box.answer == SBX_ANSWER_DONE && count > 0 && held == count;
    sbx_selftest_say(t, result, is_good ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL,
                     "backend %s; %zu of %zu items read back are as planned; box: %s",
                     backend_of(t, &box), held, count, sbx_selftest_describe(t, &box));
}

/* ---- nothing outlives it ---- */

void sbx_selftest_case_tree(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                            struct sbx_selftest_result *result)
{
    struct sbx_selftest_plan plan = {.manifest = row->manifest, .words = row->attempt};
    struct sbx_selftest_box box;
    const char *left = sbx_selftest_place(t, "left");
    if (!sbx_selftest_run_box(t, &plan, &box, result)) return;
    if (box.answer != SBX_ANSWER_DONE) {
        sbx_selftest_say(t, result, SBX_SELFTEST_FAIL, "box: %s", sbx_selftest_describe(t, &box));
        return;
    }
    sbx_selftest_wait(t, LEFT_MS);
    if (sbx_selftest_exists(left)) {
        sbx_selftest_say(t, result, SBX_SELFTEST_FAIL,
                         "a process of the box was still there after it and made a file");
        return;
    }
    if (!sbx_selftest_run_outside(t, &plan, &box, result)) return;
    sbx_selftest_wait(t, LEFT_MS);
    bool is_shown = sbx_selftest_exists(left);
    sbx_selftest_say(t, result, is_shown ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL,
                     "box: the process it left behind was ended with it; outside: it %s",
                     is_shown ? "went on and made its file" : "made no file either (control)");
}

void sbx_selftest_case_crash(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                             struct sbx_selftest_result *result)
{
    struct sbx_selftest_plan plan = {.manifest = row->manifest,
                                     .words = row->attempt,
                                     .kill_when = sbx_selftest_place(t, "begun")};
    struct sbx_selftest_box box;
    const char *after = sbx_selftest_place(t, "after");
    if (!sbx_selftest_run_box(t, &plan, &box, result)) return;
    if (!box.ended.is_killed) {
        sbx_selftest_say(t, result, SBX_SELFTEST_FAIL, "it ended before sbx could be killed: %s",
                         sbx_selftest_describe(t, &box));
        return;
    }
    sbx_selftest_wait(t, LEFT_MS);
    if (sbx_selftest_exists(after)) {
        sbx_selftest_say(t, result, SBX_SELFTEST_FAIL,
                         "the command went on after sbx was killed, and made a file");
        return;
    }
    plan.kill_when = NULL;
    if (!sbx_selftest_run_box(t, &plan, &box, result)) return;
    bool is_shown = box.answer == SBX_ANSWER_DONE && sbx_selftest_exists(after);
    sbx_selftest_say(t, result, is_shown ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL,
                     "killed: the command ended with sbx; the next run, not killed: %s",
                     sbx_selftest_describe(t, &box));
}

/* ---- timing ---- */

static void sort(uint64_t *numbers, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint64_t number = numbers[i];
        size_t at = i;
        for (; at > 0 && numbers[at - 1] > number; at--) numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
}

static bool measure(struct sbx_selftest *t, const struct sbx_selftest_case *row, bool is_boxed,
                    uint64_t *median, struct sbx_selftest_result *result)
{
    uint64_t took[ROUNDS];
    for (size_t i = 0; i < ROUNDS; i++) {
        struct sbx_selftest_plan plan = {.manifest = row->manifest, .words = row->attempt};
        struct sbx_selftest_box box;
        bool has_run = is_boxed ? sbx_selftest_run_box(t, &plan, &box, result)
                                : sbx_selftest_run_outside(t, &plan, &box, result);
        if (!has_run) return false;
        if (box.answer != SBX_ANSWER_DONE) {
            sbx_selftest_say(t, result, SBX_SELFTEST_FAIL, "%s", sbx_selftest_describe(t, &box));
            return false;
        }
        took[i] = box.ended.wall_ns;
    }
    sort(took, ROUNDS);
    *median = (took[ROUNDS / 2 - 1] + took[ROUNDS / 2]) / 2;
    return true;
}

void sbx_selftest_case_timing(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                              struct sbx_selftest_result *result)
{
    uint64_t boxed;
    uint64_t plain;
    if (!sbx_selftest_has_box(t, result) || !measure(t, row, true, &boxed, result) ||
        !measure(t, row, false, &plain, result))
        return;
    sbx_selftest_time(t, "box, median of 10", boxed);
    sbx_selftest_time(t, "plain, median of 10", plain);
    sbx_selftest_say(t, result, SBX_SELFTEST_PASS,
                     "sbx run to its end: %u.%u ms; the same program without it: %u.%u ms",
                     (unsigned)(boxed / 1000000), (unsigned)(boxed / 100000 % 10),
                     (unsigned)(plain / 1000000), (unsigned)(plain / 100000 % 10));
}
