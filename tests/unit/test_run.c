/* The run room without a process: status, warning, environment, the refusing backend, the pipeline. */
#include <stdlib.h>
#include <string.h>

#include "common/run/environment.h"
#include "common/run/run.h"
#include "common/run/warning.h"
#include "tests/check.h"

#include "common/base/banned.h"

static void status_is_the_commands_own(void)
{
    struct sbx_outcome outcome = {.started = true};
    for (uint32_t code = 0; code < 256; code++) {
        outcome.exit_code = code;
        CHECK_U64(sbx_outcome_status(&outcome), code);
    }
    outcome.exit_code = 0xC0000005; /* Windows codes have 32 bits */
    CHECK_U64(sbx_outcome_status(&outcome), 0xC0000005);
}

static void status_of_signals_and_limits(void)
{
    struct sbx_outcome killed = {.started = true, .signal = 9};
    CHECK_U64(sbx_outcome_status(&killed), 137);
    killed.limit = SBX_LIMIT_TIMEOUT;
    CHECK_U64(sbx_outcome_status(&killed), 124);
    killed.limit = SBX_LIMIT_OUTPUT;
    CHECK_U64(sbx_outcome_status(&killed), 124);
    killed.limit = SBX_LIMIT_CANCEL;
    CHECK_U64(sbx_outcome_status(&killed), 137);
}

static void warning_comes_at_least_once(void)
{
    struct sbx_warning warning = {0};
    CHECK(sbx_warning_due(&warning, 0)); /* also when the clock starts at zero */
    CHECK(!sbx_warning_due(&warning, 1));
}

static void warning_comes_at_most_once_a_minute(void)
{
    struct sbx_warning warning = {0};
    const uint64_t second = 1000000000;
    int count = 0;
    for (uint64_t now = 5 * second; now < 305 * second; now += second / 4) {
        count += sbx_warning_due(&warning, now) ? 1 : 0;
    }
    CHECK_INT(count, 5); /* at 5, 65, 125, 185, 245 */
}

/* ---- the pipeline on an assumed machine and on this one ---- */

static const char *const command[] = {"true", NULL};

struct prepared_case {
    struct sbx_arena arena;
    struct sbx_findings findings;
    struct sbx_context context;
    struct sbx_ceiling ceiling;
    struct sbx_probe_cache probes;
    struct sbx_prepared prepared;
    struct sbx_err err;
};

static struct prepared_case pc;

static void begin(void)
{
    memset(&pc, 0, sizeof pc);
    sbx_arena_init(&pc.arena, 64u << 20);
    sbx_findings_init(&pc.findings, &pc.arena);
    sbx_ceiling_init(&pc.ceiling);
    sbx_probe_cache_init(&pc.probes);
}

static void end(void)
{
    sbx_probe_cache_release(&pc.probes);
    sbx_arena_release(&pc.arena);
}

static enum sbx_code prepare(const struct sbx_manifest *manifest, const char *request,
                             const char *opt_in)
{
    struct sbx_prepare_input input = {
        .manifest = manifest,
        .context = &pc.context,
        .ceiling = &pc.ceiling,
        .request = request,
        .opt_in = opt_in,
        .command = command,
        .probes = &pc.probes,
    };
    return sbx_prepare(&pc.arena, &input, &pc.findings, &pc.prepared, &pc.err);
}

static const struct sbx_manifest workspace_write = {.mode = SBX_MODE_WORKSPACE_WRITE,
                                                    .set = 1u << SBX_KEY_MODE};

static void every_platform_has_a_backend_on_an_able_machine(void)
{
    for (int platform = 0; platform < SBX_PLATFORM_COUNT; platform++) {
        begin();
        CHECK_CODE(sbx_context_assume(&pc.arena, (enum sbx_platform)platform, &pc.context, &pc.err),
                   SBX_OK, &pc.err);
        CHECK_CODE(prepare(&workspace_write, NULL, NULL), SBX_OK, &pc.err);
        CHECK(sbx_backend_row(pc.prepared.selection.backend)->is_sandbox);
        CHECK_INT(pc.prepared.plan.backend, pc.prepared.selection.backend);
        end();
    }
}

static void a_wrong_manifest_never_reaches_a_backend(void)
{
    begin();
    CHECK_CODE(sbx_context_assume(&pc.arena, SBX_LINUX, &pc.context, &pc.err), SBX_OK, &pc.err);
    struct sbx_text relative = {.text = sbx_str("relative")};
    struct sbx_manifest manifest = workspace_write;
    manifest.fs_read_allow = (struct sbx_texts){&relative, 1, 1};
    manifest.set |= 1u << SBX_KEY_FS_READ_ALLOW;
    CHECK_CODE(prepare(&manifest, NULL, NULL), SBX_E_INVALID, &pc.err);
    CHECK(!sbx_findings_ok(&pc.findings));
    end();
}

static void the_refusing_backend_refuses_with_words(void)
{
    begin();
    CHECK_CODE(sbx_os_context(&pc.arena, &pc.context, &pc.err), SBX_OK, &pc.err);
    CHECK_CODE(prepare(&workspace_write, "no-such-backend", "1"), SBX_OK, &pc.err);
    CHECK_INT(pc.prepared.selection.backend, SBX_BACKEND_FAIL_CLOSED);
    struct sbx_run_record record = {0};
    CHECK_CODE(sbx_run(&pc.arena, &pc.prepared, &record, &pc.err), SBX_E_UNAVAILABLE, &pc.err);
    CHECK(strstr(pc.err.text, "sandbox UNAVAILABLE and unsandboxed execution is not permitted") !=
          NULL);
    CHECK(!record.outcome.started);
    end();
}

static void a_forced_backend_is_the_only_one_probed(void)
{
    begin();
    CHECK_CODE(sbx_os_context(&pc.arena, &pc.context, &pc.err), SBX_OK, &pc.err);
    CHECK_CODE(prepare(&workspace_write, "none", "1"), SBX_OK, &pc.err);
    CHECK_INT(pc.prepared.selection.backend, SBX_BACKEND_NONE);
    CHECK(pc.prepared.selection.warns);
    for (int i = 0; i < SBX_BACKEND_COUNT; i++) {
        CHECK_INT(pc.prepared.facts.probe[i].state, SBX_PROBE_UNTRIED);
    }
    end();
}

/* ---- environment ---- */

static void only_declared_and_passed_variables_arrive(void)
{
    begin();
    struct sbx_pair pairs[] = {{"B", "2"}, {"C", "x=y"}};
    const char *passed[] = {"PATH", "SBX_TEST_NO_SUCH_VARIABLE"};
    struct sbx_policy policy = {
        .env = pairs, .env_count = 2, .env_pass = passed, .env_pass_count = 2};
    const char *const *env = NULL;
    CHECK_CODE(sbx_environment_make(&pc.arena, &policy, &env, &pc.err), SBX_OK, &pc.err);
    if (!CHECK(env != NULL)) {
        return;
    }
    CHECK_TEXT(env[0], "B=2");
    CHECK_TEXT(env[1], "C=x=y");
    CHECK(env[2] != NULL && strncmp(env[2], "PATH=", 5) == 0);
    CHECK(env[2] != NULL && env[3] == NULL);
    end();
}

static const struct sbx_test tests[] = {
    {"the status is the command's own", status_is_the_commands_own},
    {"a limit gives 124 and a signal 128+n", status_of_signals_and_limits},
    {"the warning comes at least once", warning_comes_at_least_once},
    {"the warning comes at most once a minute", warning_comes_at_most_once_a_minute},
    {"every platform has a backend on an able machine",
     every_platform_has_a_backend_on_an_able_machine},
    {"a wrong manifest never reaches a backend", a_wrong_manifest_never_reaches_a_backend},
    {"the refusing backend refuses with words", the_refusing_backend_refuses_with_words},
    {"without a sandbox nothing is probed", a_forced_backend_is_the_only_one_probed},
    {"only declared and passed variables arrive", only_declared_and_passed_variables_arrive},
};

SBX_TEST_MAIN("run", tests)
