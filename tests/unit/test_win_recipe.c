/* Which way of starting a box is remembered: only a whole line of this sbx on this Windows counts. */
#include <windows.h>

#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/win_fixture.h"
#include "win/handle.h"
#include "win/recipe.h"

#include "common/base/banned.h"

static struct sbx_err err;

/* A context whose state directory is a fresh one of this run. */
static void context_of(struct sbx_arena *arena, const char *name, struct sbx_context *out)
{
    CHECK_CODE(sbx_os_context(arena, out, &err), SBX_OK, &err);
    char path[256];
    (void)snprintf(path, sizeof path, "%s/there", name);
    actor_write(scratch(path), "");
    CHECK_INT(sbx_path_make(arena, SBX_PATH_WINDOWS, sbx_str(scratch(name)), &out->state_dir),
              SBX_PATH_OK);
    sbx_recipe_forget(arena, out); /* what an earlier case left in this process */
}

static const char *file_of(const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/appcontainer.recipe", name);
    return scratch(path);
}

/* Another process: this one remembers in memory too. */
static bool known_elsewhere(const char *name, size_t *index)
{
    struct actor other;
    char out[256];
    (void)snprintf(out, sizeof out, "%s-answer", name);
    CHECK(actor_start(&other, (const char *[]){"recipe", scratch(out), scratch(name), NULL}, NULL,
                      NULL));
    CHECK_INT(actor_wait(&other), 0);
    uint64_t number = 0;
    bool is_known = sbx_str_to_u64(sbx_str(actor_read(scratch(out))), &number);
    *index = (size_t)number;
    return is_known;
}

static void nothing_is_known_at_first(void)
{
    WIN_ARENA(arena);
    struct sbx_context context;
    struct sbx_recipe recipe = {SBX_RUNG_COUNT, true};
    context_of(&arena, "empty", &context);
    CHECK(!sbx_recipe_known(&arena, &context, &recipe));
    CHECK_INT(recipe.rung, SBX_RUNG_COUNT); /* untouched */
}

static void each_is_remembered_here_and_elsewhere(void)
{
    WIN_ARENA(arena);
    struct sbx_context context;
    context_of(&arena, "each", &context);
    CHECK_U64(sbx_recipe_count, 3);
    for (size_t i = 0; i < sbx_recipe_count; i++) {
        struct sbx_recipe recipe = {0};
        size_t index = 99;
        sbx_recipe_remember(&arena, &context, i);
        CHECK(sbx_recipe_known(&arena, &context, &recipe));
        CHECK_INT(recipe.rung, sbx_recipes[i].rung);
        CHECK(recipe.has_console == sbx_recipes[i].has_console);
        CHECK(known_elsewhere("each", &index));
        CHECK_U64(index, i);
    }
    sbx_recipe_forget(&arena, &context);
    struct sbx_recipe recipe;
    size_t index;
    CHECK(!sbx_recipe_known(&arena, &context, &recipe));
    CHECK(!known_elsewhere("each", &index));
    CHECK(!win_exists(file_of("each")));
    sbx_recipe_forget(&arena, &context); /* twice is no fault */
}

static void only_the_whole_line_counts(void)
{
    WIN_ARENA(arena);
    struct sbx_context context;
    context_of(&arena, "lines", &context);
    sbx_recipe_remember(&arena, &context, 1);
    char good[256];
    (void)snprintf(good, sizeof good, "%s", actor_read(file_of("lines")));
    size_t index;
    CHECK(strstr(good, "sbx-recipe 1 " SBX_VERSION " 10.0.") == good);
    CHECK(strstr(good, " token administrators-denied, own pseudo console\n") != NULL);

    /* Cut off at every place. */
    for (size_t len = 0; len < strlen(good); len += len < 4 ? 1 : 7) {
        char torn[256];
        (void)snprintf(torn, sizeof torn, "%.*s", (int)len, good);
        actor_write(file_of("lines"), torn);
        CHECK(!known_elsewhere("lines", &index));
    }
    static const char *const foreign[] = {
        "",
        "\n",
        "sbx-recipe 1 0.0.0-other 10.0.19043 token administrators-denied, own pseudo console\n",
        "sbx-recipe 2 " SBX_VERSION " 10.0.19043 token administrators-denied, own pseudo console\n",
        "sbx-recipe 1 " SBX_VERSION " 10.0.1 token administrators-denied, own pseudo console\n",
        "sbx-recipe 1 " SBX_VERSION " 6.1.7601 token administrators-denied, own pseudo console\n",
        "\x7f"
        "ELF\x01\x02",
    };
    for (size_t i = 0; i < SBX_COUNT(foreign); i++) {
        actor_write(file_of("lines"), foreign[i]);
        CHECK(!known_elsewhere("lines", &index));
    }
    char more[600];
    (void)snprintf(more, sizeof more, "%s%s", good, good);
    actor_write(file_of("lines"), more);
    CHECK(!known_elsewhere("lines", &index));
    (void)snprintf(more, sizeof more, "%s no-such-recipe\n", "sbx-recipe 1 " SBX_VERSION " 10.0");
    actor_write(file_of("lines"), more);
    CHECK(!known_elsewhere("lines", &index));
    memset(more, 'x', sizeof more - 1);
    more[sizeof more - 1] = '\0'; /* longer than is ever read */
    actor_write(file_of("lines"), more);
    CHECK(!known_elsewhere("lines", &index));

    actor_write(file_of("lines"), good); /* and the whole line does */
    CHECK(known_elsewhere("lines", &index));
    CHECK_U64(index, 1);
    sbx_recipe_forget(&arena, &context);
}

static void a_place_that_cannot_be_written_is_not_needed(void)
{
    WIN_ARENA(arena);
    struct sbx_context context;
    struct sbx_recipe recipe = {0};
    context_of(&arena, "gone", &context);
    CHECK_INT(
        sbx_path_make(&arena, SBX_PATH_WINDOWS, sbx_str("Q:\\no\\such\\place"), &context.state_dir),
        SBX_PATH_OK);
    sbx_recipe_remember(&arena, &context, 2);
    CHECK(sbx_recipe_known(&arena, &context, &recipe)); /* in this process */
    CHECK(!recipe.has_console);
    sbx_recipe_forget(&arena, &context);
    CHECK(!sbx_recipe_known(&arena, &context, &recipe));
}

static void texts_differ(void)
{
    for (size_t i = 0; i < sbx_recipe_count; i++) {
        for (size_t k = 0; k < i; k++) {
            CHECK(strcmp(sbx_recipe_text(sbx_recipes[i]), sbx_recipe_text(sbx_recipes[k])) != 0);
        }
    }
    CHECK_TEXT(sbx_recipe_text((struct sbx_recipe){SBX_RUNG_NO_USERS, false}),
               "token users-denied, hidden console");
    /* Strongest first, and none of them below "no administrator groups". */
    CHECK_INT(sbx_recipes[0].rung, SBX_RUNG_NO_USERS);
    CHECK(sbx_recipes[0].has_console);
}

static const struct sbx_test tests[] = {
    {"at first no way is known", nothing_is_known_at_first},
    {"each way is remembered, also by the next process, until it is forgotten",
     each_is_remembered_here_and_elsewhere},
    {"torn, foreign and other versions' lines are not known, the whole line is",
     only_the_whole_line_counts},
    {"without a place to write, the process itself remembers",
     a_place_that_cannot_be_written_is_not_needed},
    {"the ways have texts of their own, the strongest is first", texts_differ},
};

ACTOR_TEST_MAIN("ways to start a box", tests)
