/* sbx selftest: what boxes promise, tried here; a table for people and one JSON object for programs. */
#include "common/cli/report.h"
#include "common/run/selftest.h"

#include "common/base/banned.h"

#define KEPT_ARENA_BYTES ((size_t)64 << 20)
#define CASE_ARENA_BYTES ((size_t)64 << 20)
#define NS_PER_MS 1000000u

struct tally {
    size_t verdicts[SBX_SELFTEST_VERDICTS];
    size_t tried;
};

/* ---- which cases ---- */

static bool is_chosen(const struct sbx_cli *cli, const struct sbx_selftest_group *group,
                      const struct sbx_selftest_case *row)
{
    const char *only = cli->args.values[SBX_OPT_ONLY];
    const char *name = cli->args.values[SBX_OPT_GROUP];
    if (only != NULL && !sbx_str_contains(sbx_str(row->id), only)) return false;
    if (name != NULL && !sbx_text_eq(name, group->name)) return false;
    /* Who lists wants to know of all of them. */
    return !row->is_long || cli->args.given[SBX_OPT_LONG] || cli->args.given[SBX_OPT_LIST];
}

typedef void visit(void *state, const struct sbx_selftest_group *group,
                   const struct sbx_selftest_case *row);

static size_t each_case(const struct sbx_cli *cli, visit *each, void *state)
{
    size_t count = 0;
    const struct sbx_selftest_group *const *groups = sbx_selftest_groups();
    for (size_t i = 0; groups[i] != NULL; i++) {
        for (size_t j = 0; j < groups[i]->count; j++) {
            if (!is_chosen(cli, groups[i], &groups[i]->cases[j])) continue;
            if (each != NULL) each(state, groups[i], &groups[i]->cases[j]);
            count++;
        }
    }
    return count;
}

static const char *group_name_at(const void *unused, size_t index)
{
    (void)unused;
    const struct sbx_selftest_group *const *groups = sbx_selftest_groups();
    for (size_t i = 0; groups[i] != NULL; i++)
        if (i == index) return groups[i]->name;
    return NULL;
}

static int no_case(struct sbx_cli *cli)
{
    const char *name = cli->args.values[SBX_OPT_GROUP];
    const char *nearest =
        name == NULL ? NULL : sbx_name_nearest(sbx_str(name), group_name_at, NULL);
    struct sbx_err err = {0};
    (void)sbx_err_set(&err, SBX_E_USAGE, "no case of this build is chosen by that");
    if (nearest != NULL && !sbx_text_eq(nearest, name))
        (void)sbx_err_hint(&err, "did you mean --group %s?", nearest);
    else
        (void)sbx_err_hint(&err, "sbx selftest --list names the cases; some need --long");
    return sbx_cli_fail(cli, &err, SBX_EXIT_USAGE);
}

/* ---- --list ---- */

struct lister {
    struct sbx_jsonw *json; /* NULL: text */
    struct sbx_buf *text;
};

static void list_case(void *state, const struct sbx_selftest_group *group,
                      const struct sbx_selftest_case *row)
{
    const struct lister *lister = (const struct lister *)state;
    if (lister->json == NULL) {
        sbx_buf_printf(lister->text, "%-30s %s%s\n", row->id, row->promise,
                       row->is_long ? " (--long)" : "");
        return;
    }
    sbx_jsonw_object(lister->json);
    sbx_jsonw_pair_text(lister->json, "id", row->id);
    sbx_jsonw_pair_text(lister->json, "group", group->name);
    sbx_jsonw_pair_text(lister->json, "promise", row->promise);
    sbx_jsonw_pair_bool(lister->json, "long", row->is_long);
    sbx_jsonw_end(lister->json);
}

static int list_cases(struct sbx_cli *cli)
{
    AUTO_BUF text;
    struct sbx_jsonw json;
    struct lister lister = {.text = &text};
    sbx_buf_init(&text, 4u << 20);
    if (!cli->out.json) {
        (void)each_case(cli, list_case, &lister);
        return sbx_output_write(SBX_STDOUT, &text) ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
    }
    sbx_report_open(&json, &text, cli);
    sbx_jsonw_pair_bool(&json, "ok", true);
    sbx_jsonw_key(&json, "cases");
    sbx_jsonw_array(&json);
    lister.json = &json;
    (void)each_case(cli, list_case, &lister);
    sbx_jsonw_end(&json);
    return sbx_report_close(&json, SBX_EXIT_OK);
}

/* ---- running ---- */

struct runner {
    struct sbx_cli *cli;
    struct sbx_selftest *t;
    struct sbx_jsonw json; /* with --json */
    struct tally tally;
    bool is_written;
};

static void print_result(struct runner *runner, const struct sbx_selftest_case *row,
                         const struct sbx_selftest_result *result, uint64_t ns)
{
    static const enum sbx_tone tones[SBX_SELFTEST_VERDICTS] = {
        [SBX_SELFTEST_PASS] = SBX_TONE_GOOD,
        [SBX_SELFTEST_FAIL] = SBX_TONE_BAD,
        [SBX_SELFTEST_CANNOT] = SBX_TONE_WARN,
        [SBX_SELFTEST_ERROR] = SBX_TONE_BAD,
    };
    const char *verdict = sbx_name_text(sbx_selftest_verdict_names, (int)result->verdict);
    bool colour = runner->cli->out.colour_stdout;
    AUTO_BUF text;
    sbx_buf_init(&text, 64u << 10);
    sbx_tone_add(&text, colour, tones[result->verdict], verdict);
    sbx_buf_add_repeat(&text, ' ', 7 - sbx_str(verdict).len);
    sbx_buf_printf(&text, "%-30s %6u ms  %s\n", row->id, (unsigned)(ns / NS_PER_MS), row->promise);
    if (result->verdict != SBX_SELFTEST_PASS || !runner->cli->out.quiet) {
        sbx_buf_add_text(&text, "       ");
        sbx_buf_add_visible(&text, sbx_str(result->evidence), false);
        sbx_buf_add_char(&text, '\n');
    }
    runner->is_written &= sbx_output_write(SBX_STDOUT, &text);
}

static void json_result(struct sbx_jsonw *json, const struct sbx_selftest_group *group,
                        const struct sbx_selftest_case *row,
                        const struct sbx_selftest_result *result, uint64_t ns)
{
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "id", row->id);
    sbx_jsonw_pair_text(json, "group", group->name);
    sbx_jsonw_pair_text(json, "promise", row->promise);
    sbx_jsonw_pair_text(json, "verdict",
                        sbx_name_text(sbx_selftest_verdict_names, (int)result->verdict));
    sbx_jsonw_pair_text(json, "evidence", result->evidence);
    sbx_jsonw_pair_u64(json, "ms", ns / NS_PER_MS);
    sbx_jsonw_end(json);
}

static void run_case(void *state, const struct sbx_selftest_group *group,
                     const struct sbx_selftest_case *row)
{
    struct runner *runner = (struct runner *)state;
    struct sbx_selftest_result result;
    uint64_t begin = sbx_os_monotonic_ns();
    sbx_arena_init(&runner->t->arena, CASE_ARENA_BYTES);
    sbx_selftest_run_case(runner->t, row, &result);
    uint64_t ns = sbx_os_monotonic_ns() - begin;
    runner->tally.verdicts[result.verdict]++;
    runner->tally.tried++;
    if (runner->cli->out.json)
        json_result(&runner->json, group, row, &result, ns);
    else
        print_result(runner, row, &result, ns);
    sbx_arena_release(&runner->t->arena);
}

/* ---- the report ---- */

static void json_machine(struct sbx_selftest *t, struct sbx_jsonw *json)
{
    const struct sbx_selftest_fact *facts = NULL;
    size_t count = sbx_selftest_machine(&t->kept, &facts);
    sbx_jsonw_key(json, "sbx");
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "version", SBX_VERSION);
    sbx_jsonw_pair_text(json, "program", sbx_selftest_place(t, "program"));
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "machine");
    sbx_jsonw_object(json);
    for (size_t i = 0; i < count; i++) {
        if (facts[i].text != NULL)
            sbx_jsonw_pair_text(json, facts[i].name, facts[i].text);
        else
            sbx_jsonw_pair_bool(json, facts[i].name, facts[i].flag);
    }
    sbx_jsonw_end(json);
}

static void json_tail(struct runner *runner, uint64_t ns, bool is_ok)
{
    struct sbx_jsonw *json = &runner->json;
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "counts");
    sbx_jsonw_object(json);
    for (int i = 0; i < SBX_SELFTEST_VERDICTS; i++)
        sbx_jsonw_pair_u64(json, sbx_name_text(sbx_selftest_verdict_names, i),
                           runner->tally.verdicts[i]);
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "timings_us");
    sbx_jsonw_object(json);
    for (size_t i = 0; i < runner->t->timing_count; i++)
        sbx_jsonw_pair_u64(json, runner->t->timings[i].name, runner->t->timings[i].ns / 1000);
    sbx_jsonw_end(json);
    sbx_jsonw_pair_u64(json, "ms", ns / NS_PER_MS);
    sbx_jsonw_pair_bool(json, "ok", is_ok);
}

static void print_tail(struct runner *runner, uint64_t ns)
{
    const size_t *count = runner->tally.verdicts;
    AUTO_BUF text;
    sbx_buf_init(&text, 64u << 10);
    for (size_t i = 0; i < runner->t->timing_count && !runner->cli->out.quiet; i++)
        sbx_buf_printf(&text, "time   %-30s %6u.%03u ms\n", runner->t->timings[i].name,
                       (unsigned)(runner->t->timings[i].ns / NS_PER_MS),
                       (unsigned)(runner->t->timings[i].ns % NS_PER_MS / 1000));
    sbx_buf_printf(
        &text, "%zu passed, %zu failed, %zu cannot be shown here, %zu errors in %u.%u s\n",
        count[SBX_SELFTEST_PASS], count[SBX_SELFTEST_FAIL], count[SBX_SELFTEST_CANNOT],
        count[SBX_SELFTEST_ERROR], (unsigned)(ns / 1000000000u), (unsigned)(ns / 100000000u % 10));
    runner->is_written &= sbx_output_write(SBX_STDOUT, &text);
}

static bool is_good(const struct tally *tally)
{
    return tally->verdicts[SBX_SELFTEST_FAIL] == 0 && tally->verdicts[SBX_SELFTEST_ERROR] == 0 &&
           tally->verdicts[SBX_SELFTEST_PASS] > 0;
}

static int run_cases(struct runner *runner)
{
    struct sbx_cli *cli = runner->cli;
    AUTO_BUF text;
    struct sbx_jsonw *json = &runner->json;
    uint64_t begin = sbx_os_monotonic_ns();
    sbx_buf_init(&text, 64u << 20);
    if (cli->out.json) {
        sbx_report_open(json, &text, cli);
        json_machine(runner->t, json);
        sbx_jsonw_key(json, "cases");
        sbx_jsonw_array(json);
    }
    (void)each_case(cli, run_case, runner);
    uint64_t ns = sbx_os_monotonic_ns() - begin;
    bool is_ok = is_good(&runner->tally);
    int status = is_ok ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
    if (cli->out.json) {
        json_tail(runner, ns, is_ok);
        return sbx_report_close(json, status);
    }
    print_tail(runner, ns);
    return runner->is_written ? status : SBX_EXIT_NEGATIVE;
}

int sbx_cmd_selftest(struct sbx_cli *cli)
{
    static struct sbx_selftest test;
    struct runner runner = {.cli = cli, .t = &test, .is_written = true};
    struct sbx_err err = {0};
    if (cli->args.rest_count > 0)
        return sbx_cli_usage(cli, "sbx selftest takes options only, not \"%s\"", cli->args.rest[0]);
    if (each_case(cli, NULL, NULL) == 0) return no_case(cli);
    if (cli->args.given[SBX_OPT_LIST]) return list_cases(cli);
    test.is_long = cli->args.given[SBX_OPT_LONG];
    sbx_arena_init(&test.kept, KEPT_ARENA_BYTES);
    int status = sbx_selftest_open(&test, &err) == SBX_OK
                     ? run_cases(&runner)
                     : sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    sbx_selftest_close(&test);
    sbx_arena_release(&test.kept);
    return status;
}
