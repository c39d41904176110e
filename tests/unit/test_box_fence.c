/* Fences of Windows boxes, asked of the model of NT: the whole pipeline runs for real manifests. */
#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/box_asks.h"

const struct sbx_winapi *sbx_win(void)
{
    return nt_model_table();
}

static void ask_class(const char *name, const struct nt_world *world)
{
    bool is_found = false;
    for (size_t i = 0; i < ask_class_count; i++) {
        if (strcmp(ask_classes[i].name, name) == 0) {
            is_found = true;
            boxed_ask(world, ask_classes[i].toml, ask_classes[i].asks, ask_classes[i].count);
        }
    }
    CHECK(is_found);
}

static void a_workspace_is_writable_and_its_repository_is_not(void)
{
    ask_class("workspace-write", &(struct nt_world){0});
}

static void a_read_only_box_writes_nothing(void)
{
    ask_class("read-only", &(struct nt_world){0});
}

static void a_strict_box_has_nothing_of_the_user(void)
{
    ask_class("strict", &(struct nt_world){0});
}

static void an_inherited_network_is_reachable_and_the_host_is_not(void)
{
    ask_class("network-inherit", &(struct nt_world){0});
}

static void narrower_rules_win_over_broader_ones(void)
{
    ask_class("split", &(struct nt_world){0});
}

static void git_commit_opens_objects_and_keeps_hooks(void)
{
    ask_class("git-commit", &(struct nt_world){0});
}

static void a_rule_for_one_file_opens_one_file(void)
{
    ask_class("one-file", &(struct nt_world){0});
}

static void an_elevated_caller_boxes_as_well(void)
{
    ask_class("workspace-write", &(struct nt_world){.is_elevated = true});
}

/* Where the documents leave the kernel's rule open, every reading keeps the walls; some close grants, too. */
static void no_reading_of_the_rules_opens_a_wall(void)
{
    size_t asked = 0;
    size_t closed = 0;
    for (unsigned n = 0; n < NT_READINGS_COUNT; n++) {
        struct nt_readings readings = nt_readings_nth(n);
        nt_readings_set(&readings);
        for (size_t i = 0; i < ask_class_count; i++) {
            struct ask_result result;
            boxed_try(&(struct nt_world){.time_scale = 10}, ask_classes[i].toml,
                      ask_classes[i].asks, ask_classes[i].count, &result);
            asked += result.has_run ? ask_classes[i].count : 0;
            closed += result.closed;
            if (result.open > 0) {
                printf("# reading %u opens %zu walls of %s\n", n, result.open, ask_classes[i].name);
            }
            CHECK_U64(result.open, 0);
        }
    }
    nt_readings_set(NULL);
    printf("# %d readings, %zu questions, %zu grants closed\n", (int)NT_READINGS_COUNT, asked,
           closed);
    CHECK(asked > 1000);
}

static void a_second_run_holds_what_the_first_granted(void)
{
    AUTO_BOXED boxed;
    boxed_open(&boxed, &(struct nt_world){0}, ask_classes[0].toml);
    CHECK_CODE(boxed_run(&boxed), SBX_OK, &boxed.err);
    unsigned first = nt_model_calls_total(boxed.model);
    CHECK_CODE(boxed_run(&boxed), SBX_OK, &boxed.err);
    unsigned second = nt_model_calls_total(boxed.model) - first;
    printf("# calls: first run %u, second run %u\n", first, second);
    CHECK(second < first);
}

static const struct sbx_test tests[] = {
    {"simulated: a workspace is writable, its repository is not",
     a_workspace_is_writable_and_its_repository_is_not},
    {"simulated: a read-only box writes nothing", a_read_only_box_writes_nothing},
    {"simulated: a strict box has nothing of the user", a_strict_box_has_nothing_of_the_user},
    {"simulated: an inherited network is reachable, the host is not",
     an_inherited_network_is_reachable_and_the_host_is_not},
    {"simulated: narrower rules win over broader ones", narrower_rules_win_over_broader_ones},
    {"simulated: git = commit opens objects and keeps hooks",
     git_commit_opens_objects_and_keeps_hooks},
    {"simulated: a rule for one file opens one file", a_rule_for_one_file_opens_one_file},
    {"simulated: an elevated caller is boxed as well", an_elevated_caller_boxes_as_well},
    {"simulated: no reading of the rules opens a wall", no_reading_of_the_rules_opens_a_wall},
    {"simulated: a second run makes fewer calls than the first",
     a_second_run_holds_what_the_first_granted},
};
SBX_TEST_MAIN("simulated_box_fence", tests)
