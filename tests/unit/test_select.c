/* Tests of backend selection: every row of the decision table, both keys in every spelling, and what
 * a refusal says. */
#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/policy_fixture.h"

#include "common/base/banned.h"

static const char strict[] = "[sandbox]\nprofile = \"strict\"\n";
static const char workspace[] = "[sandbox]\nmode = \"workspace-write\"\n";
/* What every backend of Linux can represent. */
static const char plain[] = "[sandbox]\nprofile = \"strict\"\nrequire = []\n";
static const char external_mode[] = "[sandbox]\nmode = \"external-sandbox\"\nrequire = []\n";
static const char no_profile[] = "[sandbox]\nprofile = \"none\"\n";
static const char danger[] = "[sandbox]\nmode = \"danger-full-access\"\n";

/* Every probe failed, each with its own reason. */
static void break_all(struct fixture *f)
{
    for (int i = 0; i < SBX_BACKEND_COUNT; i++) {
        f->facts.probe[i] = (struct sbx_probe){
            .state = SBX_PROBE_FAILED,
            .reason = sbx_arena_printf(&f->arena, "reason %d", i),
            .remedy = sbx_arena_printf(&f->arena, "remedy %d", i),
        };
    }
}

static void pass(struct fixture *f, enum sbx_backend_id id)
{
    f->facts.probe[id] = (struct sbx_probe){.state = SBX_PROBE_PASSED};
}

static const char *refusal(struct fixture *f, const struct sbx_selection *selection)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 1 << 16);
    sbx_selection_refusal(selection, f->context.platform, &text);
    CHECK(!text.failed);
    return sbx_arena_copy(&f->arena, sbx_buf_text(&text), text.len);
}

/* ---- the table of the specification, row by row ---- */

struct row {
    const char *what;
    enum sbx_platform platform;
    const char *manifest, *request, *opt_in;
    enum sbx_backend_id passed[3]; /* the probes that pass; COUNT ends */
    enum sbx_backend_id want;
};
#define NOTHING                                                                                    \
    {                                                                                              \
        SBX_BACKEND_COUNT                                                                          \
    }

static const struct row rows[] = {
    {"docker and the engine answers",
     SBX_LINUX,
     plain,
     "docker",
     NULL,
     {SBX_BACKEND_DOCKER, SBX_BACKEND_BWRAP, SBX_BACKEND_COUNT},
     SBX_BACKEND_DOCKER},
    {"docker and it does not",
     SBX_LINUX,
     plain,
     "docker",
     NULL,
     {SBX_BACKEND_BWRAP, SBX_BACKEND_COUNT},
     SBX_BACKEND_FAIL_CLOSED},
    {"docker and it does not, opted in", SBX_LINUX, plain, "docker", "1", NOTHING,
     SBX_BACKEND_FAIL_CLOSED},
    {"external and the endpoint answers",
     SBX_LINUX,
     plain,
     "external",
     NULL,
     {SBX_BACKEND_EXTERNAL, SBX_BACKEND_COUNT},
     SBX_BACKEND_EXTERNAL},
    {"external and it does not",
     SBX_LINUX,
     plain,
     "external",
     "1",
     {SBX_BACKEND_BWRAP, SBX_BACKEND_COUNT},
     SBX_BACKEND_FAIL_CLOSED},
    {"mode external-sandbox",
     SBX_LINUX,
     external_mode,
     NULL,
     NULL,
     {SBX_BACKEND_EXTERNAL, SBX_BACKEND_BWRAP, SBX_BACKEND_COUNT},
     SBX_BACKEND_EXTERNAL},
    {"mode external-sandbox without endpoint",
     SBX_LINUX,
     external_mode,
     NULL,
     "1",
     {SBX_BACKEND_BWRAP, SBX_BACKEND_COUNT},
     SBX_BACKEND_FAIL_CLOSED},
    {"mode external-sandbox on Windows",
     SBX_WINDOWS,
     external_mode,
     "",
     NULL,
     {SBX_BACKEND_EXTERNAL, SBX_BACKEND_COUNT},
     SBX_BACKEND_EXTERNAL},
    {"Windows",
     SBX_WINDOWS,
     workspace,
     NULL,
     NULL,
     {SBX_BACKEND_APPCONTAINER, SBX_BACKEND_COUNT},
     SBX_BACKEND_APPCONTAINER},
    {"Linux, all work",
     SBX_LINUX,
     workspace,
     NULL,
     NULL,
     {SBX_BACKEND_LANDLOCK, SBX_BACKEND_NATIVE, SBX_BACKEND_BWRAP},
     SBX_BACKEND_NATIVE},
    {"Linux where only bwrap may make user namespaces",
     SBX_LINUX,
     workspace,
     NULL,
     NULL,
     {SBX_BACKEND_LANDLOCK, SBX_BACKEND_BWRAP, SBX_BACKEND_COUNT},
     SBX_BACKEND_BWRAP},
    {"Linux without bwrap",
     SBX_LINUX,
     workspace,
     NULL,
     NULL,
     {SBX_BACKEND_LANDLOCK, SBX_BACKEND_NATIVE, SBX_BACKEND_COUNT},
     SBX_BACKEND_NATIVE},
    {"Linux, only landlock, which can",
     SBX_LINUX,
     plain,
     NULL,
     NULL,
     {SBX_BACKEND_LANDLOCK, SBX_BACKEND_COUNT},
     SBX_BACKEND_LANDLOCK},
    {"Linux, only landlock, which cannot protect",
     SBX_LINUX,
     workspace,
     NULL,
     NULL,
     {SBX_BACKEND_LANDLOCK, SBX_BACKEND_COUNT},
     SBX_BACKEND_FAIL_CLOSED},
    {"macOS",
     SBX_MACOS,
     workspace,
     NULL,
     NULL,
     {SBX_BACKEND_SEATBELT, SBX_BACKEND_COUNT},
     SBX_BACKEND_SEATBELT},
    {"a named backend that works",
     SBX_LINUX,
     plain,
     "landlock",
     NULL,
     {SBX_BACKEND_LANDLOCK, SBX_BACKEND_BWRAP, SBX_BACKEND_COUNT},
     SBX_BACKEND_LANDLOCK},
    {"a named backend that does not",
     SBX_LINUX,
     plain,
     "native",
     "1",
     {SBX_BACKEND_BWRAP, SBX_BACKEND_COUNT},
     SBX_BACKEND_FAIL_CLOSED},
    {"a backend of another platform",
     SBX_LINUX,
     plain,
     "seatbelt",
     "1",
     {SBX_BACKEND_SEATBELT, SBX_BACKEND_BWRAP, SBX_BACKEND_COUNT},
     SBX_BACKEND_FAIL_CLOSED},
    {"bwrap on Windows",
     SBX_WINDOWS,
     plain,
     "bwrap",
     "1",
     {SBX_BACKEND_BWRAP, SBX_BACKEND_APPCONTAINER, SBX_BACKEND_COUNT},
     SBX_BACKEND_FAIL_CLOSED},
    {"fail-closed by name",
     SBX_LINUX,
     plain,
     "fail-closed",
     "1",
     {SBX_BACKEND_BWRAP, SBX_BACKEND_COUNT},
     SBX_BACKEND_FAIL_CLOSED},
    {"nothing works, opted in", SBX_LINUX, strict, NULL, "1", NOTHING, SBX_BACKEND_NONE},
    {"nothing works, opted in, Windows", SBX_WINDOWS, strict, NULL, "true", NOTHING,
     SBX_BACKEND_NONE},
    {"nothing works, not opted in", SBX_LINUX, strict, NULL, NULL, NOTHING,
     SBX_BACKEND_FAIL_CLOSED},
    {"opted in where a backend works",
     SBX_LINUX,
     strict,
     NULL,
     "1",
     {SBX_BACKEND_LANDLOCK, SBX_BACKEND_COUNT},
     SBX_BACKEND_LANDLOCK},
    {"opted in where a backend works but cannot hold it",
     SBX_LINUX,
     workspace,
     NULL,
     "1",
     {SBX_BACKEND_LANDLOCK, SBX_BACKEND_COUNT},
     SBX_BACKEND_FAIL_CLOSED},
    {"none with both keys",
     SBX_LINUX,
     strict,
     "none",
     "1",
     {SBX_BACKEND_BWRAP, SBX_BACKEND_COUNT},
     SBX_BACKEND_NONE},
    {"none alone", SBX_LINUX, strict, "none", NULL, NOTHING, SBX_BACKEND_FAIL_CLOSED},
    {"an unknown name",
     SBX_LINUX,
     strict,
     "bwarp",
     "1",
     {SBX_BACKEND_BWRAP, SBX_BACKEND_COUNT},
     SBX_BACKEND_FAIL_CLOSED},
    {"a name in another case", SBX_LINUX, strict, "NONE", "1", NOTHING, SBX_BACKEND_FAIL_CLOSED},
    {"a name with a space", SBX_LINUX, strict, "none ", "1", NOTHING, SBX_BACKEND_FAIL_CLOSED},
    {"a comma-separated list",
     SBX_LINUX,
     strict,
     "bwrap,none",
     "1",
     {SBX_BACKEND_BWRAP, SBX_BACKEND_COUNT},
     SBX_BACKEND_FAIL_CLOSED},
    {"profile none with both keys", SBX_LINUX, no_profile, "none", "1", NOTHING, SBX_BACKEND_NONE},
    {"profile none with the opt-in only", SBX_LINUX, no_profile, NULL, "1", NOTHING,
     SBX_BACKEND_FAIL_CLOSED},
    {"profile none with the request only", SBX_LINUX, no_profile, "none", NULL, NOTHING,
     SBX_BACKEND_FAIL_CLOSED},
    {"profile none alone",
     SBX_LINUX,
     no_profile,
     NULL,
     NULL,
     {SBX_BACKEND_BWRAP, SBX_BACKEND_COUNT},
     SBX_BACKEND_FAIL_CLOSED},
    {"danger-full-access with both keys",
     SBX_MACOS,
     danger,
     "none",
     "TRUE",
     {SBX_BACKEND_SEATBELT, SBX_BACKEND_COUNT},
     SBX_BACKEND_NONE},
    {"danger-full-access with the opt-in only", SBX_WINDOWS, danger, NULL, "1", NOTHING,
     SBX_BACKEND_FAIL_CLOSED},
    {"danger-full-access against a named backend",
     SBX_LINUX,
     danger,
     "bwrap",
     "1",
     {SBX_BACKEND_BWRAP, SBX_BACKEND_COUNT},
     SBX_BACKEND_FAIL_CLOSED},
};

static void every_row_of_the_decision_table_decides_as_it_says(void)
{
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        const struct row *row = &rows[i];
        AUTO_FIXTURE f;
        fixture_policy(&f, row->platform, row->manifest);
        CHECK_INT(f.findings.errors, 0);
        break_all(&f);
        for (size_t k = 0; k < SBX_COUNT(row->passed) && row->passed[k] != SBX_BACKEND_COUNT; k++) {
            pass(&f, row->passed[k]);
        }
        struct sbx_selection got = fixture_choose(&f, row->request, row->opt_in);
        if (got.backend != row->want) {
            printf("# %s: %s\n", row->what, got.why == NULL ? "" : got.why);
        }
        CHECK_TEXT(sbx_name_text(sbx_backend_names, (int)got.backend),
                   sbx_name_text(sbx_backend_names, (int)row->want));
        CHECK(!got.needs_probe && got.row != NULL);
        CHECK((got.backend == SBX_BACKEND_NONE) == got.warns);
        CHECK((got.backend == SBX_BACKEND_FAIL_CLOSED) == (got.why != NULL));
    }
}

/* ---- the keys ---- */

static void the_opt_in_has_two_spellings_and_no_other(void)
{
    static const char *const yes[] = {"1", "true", "TRUE", "True", "tRuE"};
    static const char *const no[] = {
        NULL,    "",    " ",     "0",       "yes",   "on",     "y",          "2",   "01",
        "11",    " 1",  "1 ",    "true ",   " true", "true\n", "1\n",        "\t1", "t",
        "truee", "tru", "True1", "enabled", "1.0",   "+1",     "TRU\xc3\x8a"};
    for (size_t i = 0; i < SBX_COUNT(yes); i++) {
        CHECK(sbx_opt_in_is_set(yes[i]));
    }
    for (size_t i = 0; i < SBX_COUNT(no); i++) {
        CHECK(!sbx_opt_in_is_set(no[i]));
        AUTO_FIXTURE f;
        fixture_policy(&f, SBX_LINUX, strict);
        break_all(&f);
        CHECK_INT(fixture_choose(&f, "none", no[i]).backend, SBX_BACKEND_FAIL_CLOSED);
        CHECK_INT(fixture_choose(&f, NULL, no[i]).backend, SBX_BACKEND_FAIL_CLOSED);
    }
}

static void the_administrator_can_take_both_keys_away(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    CHECK(fixture_ceiling(&f, "allow_none = false\n") && fixture_read(&f, strict));
    fixture_resolve(&f);
    break_all(&f);
    CHECK_INT(fixture_choose(&f, "none", "1").backend, SBX_BACKEND_FAIL_CLOSED);
    CHECK_INT(fixture_choose(&f, NULL, "1").backend, SBX_BACKEND_FAIL_CLOSED);
    CHECK(strstr(fixture_choose(&f, NULL, "1").why, "administrator") != NULL);
    f.ceiling.allow_none = true;
    CHECK_INT(fixture_choose(&f, "none", "1").backend, SBX_BACKEND_NONE);
    CHECK_INT(fixture_choose(&f, NULL, "1").backend, SBX_BACKEND_NONE);
}

static void a_forced_backend_is_the_only_one(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    CHECK(fixture_ceiling(&f, "backend = \"landlock\"\n") && fixture_read(&f, plain));
    fixture_resolve(&f);
    break_all(&f);
    pass(&f, SBX_BACKEND_BWRAP);
    pass(&f, SBX_BACKEND_LANDLOCK);
    CHECK_INT(fixture_choose(&f, NULL, NULL).backend, SBX_BACKEND_LANDLOCK);
    CHECK_INT(fixture_choose(&f, "landlock", "1").backend, SBX_BACKEND_LANDLOCK);
    static const char *const others[] = {"bwrap", "native", "docker", "none", "external", "wat"};
    for (size_t i = 0; i < SBX_COUNT(others); i++) {
        CHECK_INT(fixture_choose(&f, others[i], "1").backend, SBX_BACKEND_FAIL_CLOSED);
    }
    f.facts.probe[SBX_BACKEND_LANDLOCK].state = SBX_PROBE_FAILED;
    CHECK_INT(fixture_choose(&f, NULL, "1").backend, SBX_BACKEND_FAIL_CLOSED);
    static const char *const useless[] = {"backend = \"none\"\n", "backend = \"fail-closed\"\n",
                                          "backend = \"seatbelt\"\n"};
    for (size_t i = 0; i < SBX_COUNT(useless); i++) {
        CHECK(fixture_ceiling(&f, useless[i]));
        for (int k = 0; k < SBX_BACKEND_COUNT; k++) {
            pass(&f, (enum sbx_backend_id)k);
        }
        CHECK_INT(fixture_choose(&f, NULL, "1").backend, SBX_BACKEND_FAIL_CLOSED);
        CHECK_INT(fixture_choose(&f, "none", "1").backend, SBX_BACKEND_FAIL_CLOSED);
    }
}

/* ---- probes ---- */

static void probes_are_asked_for_strongest_first_and_only_when_needed(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX, plain);
    for (int i = 0; i < SBX_BACKEND_COUNT; i++) {
        f.facts.probe[i] = (struct sbx_probe){.state = SBX_PROBE_UNTRIED};
    }
    static const enum sbx_backend_id order[] = {SBX_BACKEND_NATIVE, SBX_BACKEND_BWRAP,
                                                SBX_BACKEND_LANDLOCK};
    for (size_t i = 0; i < SBX_COUNT(order); i++) {
        struct sbx_selection asked = fixture_choose(&f, NULL, "1");
        CHECK(asked.needs_probe && asked.backend == order[i]);
        f.facts.probe[order[i]] = (struct sbx_probe){.state = SBX_PROBE_FAILED, .reason = "no"};
    }
    /* docker and external stay untried: nobody asked for them. */
    struct sbx_selection end = fixture_choose(&f, NULL, NULL);
    CHECK(!end.needs_probe && end.backend == SBX_BACKEND_FAIL_CLOSED);
    CHECK_INT(end.tried_count, 3);
    struct sbx_selection docker = fixture_choose(&f, "docker", NULL);
    CHECK(docker.needs_probe && docker.backend == SBX_BACKEND_DOCKER);
    struct sbx_selection external = fixture_choose(&f, "external", NULL);
    CHECK(external.needs_probe && external.backend == SBX_BACKEND_EXTERNAL);
    /* Neither refusal nor opt-in needs a probe. */
    CHECK(!fixture_choose(&f, "none", "1").needs_probe &&
          !fixture_choose(&f, "wat", "1").needs_probe);
    pass(&f, SBX_BACKEND_NATIVE);
    f.facts.probe[SBX_BACKEND_BWRAP].state = SBX_PROBE_UNTRIED;
    struct sbx_selection chosen = fixture_choose(&f, NULL, NULL);
    CHECK(!chosen.needs_probe && chosen.backend == SBX_BACKEND_NATIVE);
    CHECK_INT(chosen.tried[1].verdict, SBX_VERDICT_NOT_REACHED);
}

static void a_backend_that_cannot_represent_the_manifest_makes_way_for_the_next(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    CHECK(fixture_ceiling(&f, "allow_raw_bwrap = true\n"));
    CHECK(fixture_read(&f, "[sandbox]\nprofile = \"strict\"\nraw_args = [\"--as-pid-1\"]\n"));
    fixture_resolve(&f);
    CHECK_INT(f.findings.errors, 0);
    break_all(&f);
    pass(&f, SBX_BACKEND_NATIVE);
    struct sbx_selection native = fixture_choose(&f, NULL, "1");
    CHECK_INT(native.backend, SBX_BACKEND_FAIL_CLOSED);
    CHECK_INT(native.tried[0].verdict, SBX_VERDICT_CANNOT);
    CHECK(strstr(native.tried[0].reason, "raw bwrap arguments") != NULL);
    pass(&f, SBX_BACKEND_BWRAP);
    CHECK_INT(fixture_choose(&f, NULL, NULL).backend, SBX_BACKEND_BWRAP);

    AUTO_FIXTURE hosts;
    fixture_policy(&hosts, SBX_LINUX,
                   "[sandbox]\nprofile = \"strict\"\nnetwork = { kind = "
                   "\"allow_hosts\", hosts = [\"a.org\"] }\n");
    hosts.facts.has_egress = false;
    CHECK_INT(fixture_choose(&hosts, NULL, "1").backend, SBX_BACKEND_FAIL_CLOSED);
    hosts.facts.has_egress = true;
    CHECK_INT(fixture_choose(&hosts, NULL, NULL).backend, SBX_BACKEND_NATIVE);
    CHECK_INT(fixture_choose(&hosts, "landlock", NULL).backend, SBX_BACKEND_FAIL_CLOSED);
}

/* ---- require ---- */

static void what_is_required_is_enforced_or_refused(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "[sandbox]\nprofile = \"strict\"\nmax_memory_bytes = \"1GiB\"\n"
                   "require = [\"memory\"]\n");
    CHECK_INT(fixture_choose(&f, NULL, NULL).backend, SBX_BACKEND_NATIVE);
    f.facts.cgroup = SBX_CGROUP_NONE;
    struct sbx_selection refused = fixture_choose(&f, NULL, "1");
    CHECK_INT(refused.backend, SBX_BACKEND_FAIL_CLOSED);
    CHECK_INT(refused.tried[0].verdict, SBX_VERDICT_BELOW_REQUIRE);
    CHECK(strstr(refused.tried[0].reason, "\"memory\", which would be best-effort") != NULL);
    /* Without a sandbox nothing is enforced, so an explicit list refuses that too. */
    break_all(&f);
    CHECK_INT(fixture_choose(&f, NULL, "1").backend, SBX_BACKEND_FAIL_CLOSED);
    CHECK_INT(fixture_choose(&f, "none", "1").backend, SBX_BACKEND_FAIL_CLOSED);
}

static void the_default_requirement_refuses_what_is_only_best_effort(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX, strict);
    pass(&f, SBX_BACKEND_EXTERNAL);
    struct sbx_selection external = fixture_choose(&f, "external", NULL);
    CHECK_INT(external.backend, SBX_BACKEND_FAIL_CLOSED);
    CHECK_INT(external.tried[0].verdict, SBX_VERDICT_BELOW_REQUIRE);
    /* Landlock alone without seccomp holds no network. */
    break_all(&f);
    pass(&f, SBX_BACKEND_LANDLOCK);
    CHECK_INT(fixture_choose(&f, NULL, NULL).backend, SBX_BACKEND_LANDLOCK);
    f.facts.has_seccomp = false;
    CHECK_INT(fixture_choose(&f, NULL, NULL).backend, SBX_BACKEND_FAIL_CLOSED);
    f.facts.has_seccomp = true;
    f.facts.landlock_abi = 0;
    CHECK_INT(fixture_choose(&f, NULL, NULL).backend, SBX_BACKEND_FAIL_CLOSED);
}

/* ---- the refusal ---- */

static void a_refusal_says_what_was_tried_why_and_what_to_do(void)
{
    for (int platform = 0; platform < SBX_PLATFORM_COUNT; platform++) {
        AUTO_FIXTURE f;
        fixture_policy(&f, (enum sbx_platform)platform, strict);
        break_all(&f);
        struct sbx_selection selection = fixture_choose(&f, NULL, NULL);
        const char *text = refusal(&f, &selection);
        CHECK(strncmp(text, "sandbox UNAVAILABLE and unsandboxed execution is not permitted\n",
                      62) == 0);
        CHECK(strstr(text, "SBX_SANDBOX=none") != NULL);
        CHECK(strstr(text, "SBX_ALLOW_NO_SANDBOX=1") != NULL);
        CHECK(strstr(text, "sbx doctor") != NULL);
        const enum sbx_backend_id *order = sbx_backend_order((enum sbx_platform)platform);
        for (; *order != SBX_BACKEND_COUNT; order++) {
            const char *name = sbx_name_text(sbx_backend_names, (int)*order);
            CHECK(strstr(text, name) != NULL);
            CHECK(strstr(text, sbx_arena_printf(&f.arena, "reason %d", (int)*order)) != NULL);
            CHECK(strstr(text, sbx_arena_printf(&f.arena, "remedy %d", (int)*order)) != NULL);
        }
        order = sbx_backend_order((enum sbx_platform)platform);
        CHECK_TEXT(sbx_selection_remedy(&selection, (enum sbx_platform)platform),
                   sbx_arena_printf(&f.arena, "remedy %d", (int)*order));
    }
}

static void every_refusal_of_the_table_has_a_reason_and_names_both_keys(void)
{
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        AUTO_FIXTURE f;
        fixture_policy(&f, rows[i].platform, rows[i].manifest);
        break_all(&f);
        struct sbx_selection selection = fixture_choose(&f, rows[i].request, rows[i].opt_in);
        if (selection.backend != SBX_BACKEND_FAIL_CLOSED) {
            continue;
        }
        const char *text = refusal(&f, &selection);
        CHECK(strstr(text, "(null)") == NULL && strlen(selection.why) > 10);
        CHECK(strstr(text, "SBX_SANDBOX=none") != NULL);
        CHECK(strstr(text, "SBX_ALLOW_NO_SANDBOX=1") != NULL);
    }
}

static void an_unknown_name_is_shown_safely_with_the_nearest_one(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX, strict);
    struct sbx_selection typo = fixture_choose(&f, "bwarp", "1");
    CHECK(strstr(typo.why, "\"bwarp\"; did you mean \"bwrap\"?") != NULL);
    struct sbx_selection evil = fixture_choose(&f, "\x1b[2J", "1");
    CHECK(strchr(evil.why, '\x1b') == NULL && strstr(evil.why, "\\x1b[2J") != NULL);
}

static void the_table_can_be_printed(void)
{
    const char *condition;
    const char *backend;
    size_t count = 0;
    while (sbx_select_row_at(count, &condition, &backend)) {
        CHECK(strlen(condition) > 5 && strlen(backend) > 3);
        count++;
    }
    CHECK(count >= 9);
}

static const struct sbx_test tests[] = {
    {"every row of the decision table decides as it says",
     every_row_of_the_decision_table_decides_as_it_says},
    {"the opt-in has two spellings and no other", the_opt_in_has_two_spellings_and_no_other},
    {"the administrator can take both keys away", the_administrator_can_take_both_keys_away},
    {"a forced backend is the only one", a_forced_backend_is_the_only_one},
    {"probes are asked for strongest first and only when needed",
     probes_are_asked_for_strongest_first_and_only_when_needed},
    {"a backend that cannot represent the manifest makes way for the next",
     a_backend_that_cannot_represent_the_manifest_makes_way_for_the_next},
    {"what is required is enforced or refused", what_is_required_is_enforced_or_refused},
    {"the default requirement refuses what is only best effort",
     the_default_requirement_refuses_what_is_only_best_effort},
    {"a refusal says what was tried, why, and what to do",
     a_refusal_says_what_was_tried_why_and_what_to_do},
    {"every refusal of the table has a reason and names both keys",
     every_refusal_of_the_table_has_a_reason_and_names_both_keys},
    {"an unknown name is shown safely with the nearest one",
     an_unknown_name_is_shown_safely_with_the_nearest_one},
    {"the table can be printed", the_table_can_be_printed},
};
SBX_TEST_MAIN("select", tests)
