/* The self-test's own judgement, with processes that a table plays. */
#include <string.h>

#include "common/os.h"
#include "common/run/selftest.h"
#include "tests/check.h"
#include "tests/unit/os_actor.h"

/* ---- the played processes ---- */

struct play {
    const char *out;    /* of the attempt */
    const char *result; /* what sbx run writes to --result; NULL: nothing */
    bool is_timeout;
};

static struct play outside;
static struct play boxed;
static struct play plain; /* the plainest box, which is tried first */
static size_t boxes, controls;
static char manifest[4096];

static const char *after(const char *const *argv, const char *word)
{
    for (size_t i = 0; argv[i] != NULL; i++) {
        if (strcmp(argv[i], word) == 0) {
            return argv[i + 1];
        }
    }
    return NULL;
}

static void keep_manifest(struct sbx_arena *arena, const char *path)
{
    struct sbx_str text;
    if (sbx_os_read_file(arena, path, sizeof manifest - 1, &text, NULL, NULL) == SBX_OK) {
        memcpy(manifest, text.ptr, text.len);
        manifest[text.len] = '\0';
    }
}

enum sbx_code sbx_selftest_spawn(struct sbx_arena *arena, const struct sbx_selftest_spawn *spawn,
                                 struct sbx_selftest_ended *out, struct sbx_err *err)
{
    const char *result = after(spawn->argv, "--result");
    const char *attempt = after(spawn->argv, "--probe");
    const struct play *play = &outside;
    if (result != NULL) {
        play = attempt != NULL && strcmp(attempt, "nothing") == 0 ? &plain : &boxed;
        keep_manifest(arena, after(spawn->argv, "-f"));
        boxes++;
    } else {
        controls++;
    }
    *out = (struct sbx_selftest_ended){.is_timeout = play->is_timeout, .out = sbx_str(play->out)};
    return result == NULL || play->result == NULL
               ? SBX_OK
               : sbx_os_write_new(result, sbx_str(play->result), err);
}

const struct sbx_attempt *sbx_selftest_attempts(void)
{
    static const struct sbx_attempt attempts[] = {{NULL, NULL, NULL, 0, NULL}};
    return attempts;
}

#define RAN "{\"started\": true, \"exit_code\": 0, \"limit\": null, \"error\": null}"
#define ENDED "{\"started\": true, \"exit_code\": 0, \"limit\": \"memory\", \"error\": null}"
#define REFUSED                                                                                    \
    "{\"started\": false, \"error\": {\"code\": \"unavailable\", \"text\": \"no\"}, "              \
    "\"selection\": {\"why\": \"nothing fits\", \"tried\": [{\"backend\": \"x\", "                 \
    "\"reason\": \"it is not there\"}]}}"
#define BROKE                                                                                      \
    "{\"started\": false, \"error\": {\"code\": \"verification-failed\", \"text\": \"level\"}}"

static struct sbx_selftest test;
static struct sbx_selftest_result result;

static void run(const struct sbx_selftest_case *row)
{
    static unsigned rounds;
    struct sbx_err err = {0};
    sbx_arena_release(&test.kept);
    sbx_arena_release(&test.arena);
    test = (struct sbx_selftest){.serial = 10 * ++rounds};
    sbx_arena_init(&test.kept, 1u << 20);
    sbx_arena_init(&test.arena, 1u << 20);
    boxes = controls = 0;
    CHECK_CODE(sbx_selftest_place_add(&test, "root", scratch(""), &err), SBX_OK, &err);
    CHECK_CODE(sbx_selftest_place_add(&test, "bin", "C:\\a \"b\"", &err), SBX_OK, &err);
    CHECK_CODE(sbx_selftest_place_add(&test, "program", "/sbx", &err), SBX_OK, &err);
    CHECK_CODE(sbx_selftest_place_add(&test, "copy", "/copy", &err), SBX_OK, &err);
    sbx_selftest_run_case(&test, row, &result);
}

/* An attempt that must be refused in the box, and done outside. */
static const struct sbx_selftest_case wall = {.id = "x.wall",
                                              .promise = "a wall",
                                              .attempt = "write {bin}/x",
                                              .wants = SBX_ANSWER_DENIED,
                                              .control = SBX_ANSWER_DONE};

static void all_is_well(void)
{
    plain = (struct play){.out = "DONE\n", .result = RAN};
    outside = (struct play){.out = "DONE wrote\n"};
    boxed = (struct play){.out = "noise\nDENIED write: 5\n", .result = RAN};
}

static void check(const char *verdict, const char *evidence)
{
    CHECK_TEXT(sbx_name_text(sbx_selftest_verdict_names, (int)result.verdict), verdict);
    CHECK(sbx_str_contains(sbx_str(result.evidence), evidence));
}

/* ---- the cases ---- */

static void a_wall_that_holds_passes(void)
{
    all_is_well();
    run(&wall);
    check("pass", "box: DENIED write: 5; outside: DONE wrote");
    CHECK_U64(boxes, 2);
    CHECK_U64(controls, 1);
}

static void a_wall_that_is_open_fails(void)
{
    all_is_well();
    boxed.out = "DONE wrote\n";
    run(&wall);
    check("fail", "box: DONE wrote");
    boxed.out = "ABSENT no file\n";
    run(&wall);
    check("fail", "box: ABSENT");
}

static void a_control_that_does_not_work_is_a_failure(void)
{
    all_is_well();
    outside.out = "DENIED write: 5\n";
    run(&wall);
    check("fail", "the control outside the box: DENIED write: 5");
    CHECK_U64(boxes, 1); /* only the plainest: nothing would be proved */
}

static void a_control_that_the_machine_cannot_do_is_told_apart(void)
{
    struct sbx_selftest_case row = wall;
    all_is_well();
    outside.out = "ABSENT no network\n";
    run(&row);
    check("cannot", "the control outside the box: ABSENT no network");
    outside.out = "DENIED no rights\n";
    row.control |= SBX_CONTROL_OR_CANNOT;
    run(&row);
    check("cannot", "DENIED no rights");
}

static void an_attempt_that_breaks_proves_nothing(void)
{
    all_is_well();
    outside.out = "BROKEN 1234\n";
    run(&wall);
    check("error", "BROKEN 1234");
    all_is_well();
    boxed.out = "BROKEN 1234\n";
    run(&wall);
    check("error", "BROKEN 1234");
    all_is_well();
    outside.out = "";
    run(&wall);
    check("error", "no answer");
}

static void a_box_without_an_answer_fails(void)
{
    all_is_well();
    boxed.out = "DENIEDwithout a space\nDENY\n";
    run(&wall);
    check("fail", "no answer");
}

static void a_machine_without_boxes_cannot_show_anything(void)
{
    all_is_well();
    plain = (struct play){.out = "", .result = REFUSED};
    run(&wall);
    check("cannot", "nothing fits; x: it is not there");
    CHECK_U64(boxes, 1);
    CHECK_U64(controls, 0);
}

static void no_box_at_all_fails_where_a_box_is_what_is_promised(void)
{
    static const struct sbx_selftest_case row = {.id = "box.start",
                                                 .promise = "a box",
                                                 .attempt = "nothing",
                                                 .run = sbx_selftest_case_start};
    plain = (struct play){.out = "", .result = REFUSED};
    run(&row);
    check("fail", "nothing fits");
    plain = (struct play){.out = "DONE it ran\n", .result = RAN};
    run(&row);
    check("fail", "0 of 0 items"); /* a box that shows no evidence is none */
    plain.result = "{\"started\": true, \"limit\": null, \"error\": null, \"evidence\": "
                   "[{\"ok\": true}, {\"ok\": false}]}";
    run(&row);
    check("fail", "1 of 2 items");
    plain.result = "{\"started\": true, \"limit\": null, \"error\": null, \"evidence\": "
                   "[{\"ok\": true}, {\"ok\": true}]}";
    run(&row);
    check("pass", "2 of 2 items");
}

static void a_box_that_sbx_could_not_build_fails(void)
{
    all_is_well();
    boxed = (struct play){.out = "", .result = BROKE};
    run(&wall);
    check("fail", "sbx run refused (verification-failed): level");
    boxed = (struct play){.out = "DENIED write: 5\n", .result = NULL};
    run(&wall);
    check("fail", "no outcome"); /* sbx crashed: its box's answer does not count */
}

static void what_does_not_end_is_an_error(void)
{
    all_is_well();
    boxed.is_timeout = true;
    run(&wall);
    check("error", "did not end within");
}

static void a_limit_must_be_named(void)
{
    static const struct sbx_selftest_case row = {
        .id = "x.limit", .promise = "a limit", .attempt = "memory 1", .limit = "memory"};
    all_is_well();
    boxed = (struct play){.out = "DENIED 1455\n", .result = ENDED};
    run(&row);
    check("pass", "ended by the limit \"memory\"");
    boxed.result = RAN;
    run(&row);
    check("fail", "DENIED 1455"); /* held, but nobody was told */
}

static void a_question_has_any_answer_but_must_have_one(void)
{
    struct sbx_selftest_case row = wall;
    row.wants = SBX_ANSWER_ANY;
    all_is_well();
    run(&row);
    check("pass", "box: DENIED");
    boxed.out = "";
    run(&row);
    check("fail", "no answer");
}

static void a_manifest_replaces_the_usual_lines(void)
{
    struct sbx_selftest_case row = wall;
    all_is_well();
    run(&row);
    CHECK(sbx_str_contains(sbx_str(manifest), "network = \"deny\"\n"));
    /* What TOML would read otherwise is escaped. */
    CHECK(sbx_str_contains(sbx_str(manifest), "fs_read_allow = [\"C:\\\\a \\\"b\\\"\"]\n"));
    row.manifest = "timeout = \"1s\"\nnetwork = { kind = \"deny\" }\n";
    run(&row);
    CHECK(sbx_str_contains(sbx_str(manifest), "network = { kind"));
    CHECK(!sbx_str_contains(sbx_str(manifest), "network = \"deny\""));
    CHECK(!sbx_str_contains(sbx_str(manifest), "60s"));
    CHECK(sbx_str_contains(sbx_str(manifest), "cwd = "));
}

static void places_are_filled_in_and_other_braces_stay(void)
{
    all_is_well();
    run(&wall);
    CHECK_TEXT(sbx_selftest_expand(&test, "{copy} {nothing} {0-1} {copy"),
               "/copy {nothing} {0-1} {copy");
    CHECK_TEXT(sbx_selftest_expand(&test, "a{program}b{copy}"), "a/sbxb/copy");
    CHECK_TEXT(sbx_selftest_place(&test, "nothing"), "");
}

static void timings_are_kept(void)
{
    all_is_well();
    run(&wall);
    sbx_selftest_time(&test, "one", 1);
    sbx_selftest_time(&test, "two", 2);
    CHECK_U64(test.timing_count, 2);
    CHECK_TEXT(test.timings[1].name, "two");
    CHECK_U64(test.timings[1].ns, 2);
}

static const struct sbx_test tests[] = {
    {"a wall that holds passes", a_wall_that_holds_passes},
    {"a wall that is open fails", a_wall_that_is_open_fails},
    {"a control that does not work is a failure", a_control_that_does_not_work_is_a_failure},
    {"a control that the machine cannot do is told apart",
     a_control_that_the_machine_cannot_do_is_told_apart},
    {"an attempt that breaks proves nothing", an_attempt_that_breaks_proves_nothing},
    {"a box without an answer fails", a_box_without_an_answer_fails},
    {"a machine without boxes cannot show anything", a_machine_without_boxes_cannot_show_anything},
    {"no box at all fails where a box is what is promised",
     no_box_at_all_fails_where_a_box_is_what_is_promised},
    {"a box that sbx could not build fails", a_box_that_sbx_could_not_build_fails},
    {"what does not end is an error", what_does_not_end_is_an_error},
    {"a limit must be named", a_limit_must_be_named},
    {"a question has any answer but must have one", a_question_has_any_answer_but_must_have_one},
    {"a manifest replaces the usual lines", a_manifest_replaces_the_usual_lines},
    {"places are filled in and other braces stay", places_are_filled_in_and_other_braces_stay},
    {"timings are kept", timings_are_kept},
};
ACTOR_TEST_MAIN("selftest", tests)
