/* sbx is killed, or the power fails, after each call of a run: no process survives, and the next run undoes the rest.
 * On the model of NT. */
#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/box_asks.h"

const struct sbx_winapi *sbx_win(void)
{
    return nt_model_table();
}

struct attempt {
    struct boxed *boxed;
    bool is_over;
};

static void work(void *state)
{
    struct attempt *attempt = state;
    (void)boxed_run(attempt->boxed);
    attempt->is_over = true;
}

/* One killed run in a world, granted before where `is_granted`, and the run after it. False: it was over before. */
static bool kill_at(const char *toml, bool is_granted, bool is_power, unsigned at,
                    unsigned *recovered)
{
    struct boxed boxed;
    boxed_open(&boxed, &(struct nt_world){.time_scale = 10}, toml);
    if (is_granted) {
        CHECK_CODE(boxed_run(&boxed), SBX_OK, &boxed.err);
        nt_model_settle(boxed.model);
    }
    struct attempt attempt = {.boxed = &boxed};
    (is_power ? nt_model_power_fails_after : nt_model_crash_after)(boxed.model, at);
    bool was_killed = !nt_launcher_run(boxed.model, work, &attempt);
    if (was_killed) {
        CHECK_U64(nt_model_processes(boxed.model), 0);
        *recovered += nt_model_leftovers(boxed.model)[0] != '\0' ? 1 : 0;
        struct attempt next = {.boxed = &boxed};
        boxed_manifest(&boxed, toml); /* what the killed one had in memory is gone */
        CHECK(nt_launcher_run(boxed.model, work, &next));
        CHECK_CODE(boxed.code, SBX_OK, &boxed.err);
        if (is_granted && nt_model_leftovers(boxed.model)[0] != '\0') {
            printf("# killed after call %u: %s\n", at, nt_model_leftovers(boxed.model));
            CHECK(!"the next run undoes what a killed one left");
        }
    }
    boxed_close(&boxed);
    return was_killed;
}

static void sweep(const char *toml, bool is_granted, bool is_power)
{
    unsigned points = 0;
    unsigned recovered = 0;
    while (kill_at(toml, is_granted, is_power, points + 1, &recovered)) {
        points++;
    }
    printf("# killed at %u calls; %u times something was left that the next run undid\n", points,
           recovered);
    CHECK(points > 100);
}

static void killed_after_any_call_nothing_is_left(void)
{
    sweep(ask_classes[0].toml, true, false);
}

static void when_the_power_fails_after_any_call_nothing_is_left(void)
{
    sweep(ask_classes[0].toml, true, true);
}

static void killed_while_it_grants_the_next_run_grants(void)
{
    sweep(ask_classes[0].toml, false, false);
}

static const struct sbx_test tests[] = {
    {"simulated: killed after any call, nothing is left", killed_after_any_call_nothing_is_left},
    {"simulated: when the power fails after any call, nothing is left",
     when_the_power_fails_after_any_call_nothing_is_left},
    {"simulated: killed while it grants, the next run grants",
     killed_while_it_grants_the_next_run_grants},
};
SBX_TEST_MAIN("simulated_box_crash", tests)
