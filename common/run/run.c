/* The pipeline: manifest → policy → selection → plan → backend. */
#include "common/run/run.h"

#include <string.h>

#include "common/os.h"

#include "common/base/banned.h"

/* Probes only what the decision table asks for, strongest first. */
static void select_backend(struct sbx_arena *arena, const struct sbx_prepare_input *input,
                           struct sbx_prepared *out)
{
    struct sbx_select_input select = {
        .platform = input->context->platform,
        .request = input->request,
        .opt_in = input->opt_in,
        .policy = &out->policy,
        .facts = &out->facts,
        .ceiling = input->ceiling,
    };
    sbx_select(arena, &select, &out->selection);
    /* Each turn settles one backend for good, so this ends. */
    while (out->selection.needs_probe) {
        enum sbx_backend_id id = out->selection.backend;
        if (out->facts.is_assumed)
            out->facts.probe[id] = (struct sbx_probe){.state = SBX_PROBE_FAILED,
                                                      .reason = "not assumed for another machine"};
        else
            sbx_probe_ask(input->probes, arena, id, sbx_backend_find(id), &out->facts.probe[id]);
        if (out->facts.probe[id].state == SBX_PROBE_UNTRIED)
            out->facts.probe[id].state = SBX_PROBE_FAILED;
        sbx_select(arena, &select, &out->selection);
    }
}

/* The one that would be taken unless its probe fails. */
static const struct sbx_backend *likely_backend(const char *request)
{
    const struct sbx_backend *const *list = sbx_platform_backends();
    for (size_t i = 0; list[i] != NULL; i++) {
        const char *name = sbx_name_text(sbx_backend_names, (int)list[i]->id);
        bool is_asked = request == NULL || strcmp(request, name) == 0;
        if (list[i]->expect != NULL && is_asked) return list[i];
    }
    return NULL;
}

void sbx_run_expect(const char *request)
{
    const struct sbx_backend *backend = likely_backend(request);
    if (backend != NULL) backend->expect(NULL);
}

void sbx_run_expect_nothing(void)
{
    const struct sbx_backend *const *list = sbx_platform_backends();
    for (size_t i = 0; list[i] != NULL; i++)
        if (list[i]->forget != NULL) list[i]->forget();
}

static const struct sbx_backend *expect_backend(const struct sbx_prepare_input *input,
                                                const struct sbx_prepared *prepared)
{
    if (!input->will_run || input->wants_terminal || input->context->is_assumed) return NULL;
    const struct sbx_backend *backend = likely_backend(input->request);
    if (backend != NULL) backend->expect(&prepared->policy);
    return backend;
}

/* A program that does not know its terminal cannot use it. What is declared counts more. */
static bool pass_term(struct sbx_arena *arena, struct sbx_policy *policy)
{
    static const char name[] = "TERM";
    size_t place = 0;
    for (size_t i = 0; i < policy->env_count; i++)
        if (sbx_text_eq(policy->env[i].name, name)) return true;
    for (size_t i = 0; i < policy->env_pass_count; i++) {
        if (sbx_text_eq(policy->env_pass[i], name)) return true;
        if (strcmp(policy->env_pass[i], name) < 0) place = i + 1;
    }
    const char **names = SBX_NEW_ARRAY(arena, const char *, policy->env_pass_count + 1);
    if (names == NULL) return false;
    for (size_t i = 0; i < policy->env_pass_count; i++)
        names[i < place ? i : i + 1] = policy->env_pass[i];
    names[place] = name;
    policy->env_pass = names;
    policy->env_pass_count++;
    return true;
}

static bool is_said(const struct sbx_manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->env_pass.count; i++)
        if (sbx_str_is(manifest->env_pass.items[i].text, name)) return true;
    return false;
}

/* Without a box only what the caller declared arrives: a mode passes variables into boxes. */
static void drop_mode_variables(const struct sbx_manifest *manifest, struct sbx_policy *policy)
{
    size_t kept = 0;
    for (size_t i = 0; i < policy->env_pass_count; i++)
        if (is_said(manifest, policy->env_pass[i])) policy->env_pass[kept++] = policy->env_pass[i];
    policy->env_pass_count = kept;
}

/* The default would end a shell while its user thinks; the administrator's bound still counts. */
static void last_long(struct sbx_limits *limits)
{
    bool is_bounded = limits->timeout_max_ns != 0 && limits->timeout_max_ns < SBX_PLAN_SESSION_NS;
    if (limits->timeout_ns == 0)
        limits->timeout_ns = is_bounded ? limits->timeout_max_ns : SBX_PLAN_SESSION_NS;
}

enum sbx_code sbx_prepare(struct sbx_arena *arena, const struct sbx_prepare_input *input,
                          struct sbx_findings *findings, struct sbx_prepared *out,
                          struct sbx_err *err)
{
    sbx_policy_resolve(arena, input->manifest, input->context, input->ceiling, findings,
                       &out->policy);
    if (!sbx_findings_ok(findings))
        return sbx_err_set(err, SBX_E_INVALID, "the manifest has errors");
    const struct sbx_backend *expected = expect_backend(input, out);
    if (input->context->is_assumed)
        sbx_facts_assume(input->context->platform, &out->facts);
    else
        sbx_os_facts(arena, &out->facts);
    select_backend(arena, input, out);
    if (expected != NULL && out->selection.backend != expected->id) expected->forget();
    if (out->selection.backend == SBX_BACKEND_NONE)
        drop_mode_variables(input->manifest, &out->policy);
    if (input->is_session) last_long(&out->policy.limits);
    if (input->wants_terminal && !pass_term(arena, &out->policy)) return sbx_err_nomem(err);
    enum sbx_backend_id described = sbx_plan_backend(&out->selection, &out->policy);
    enum sbx_code code =
        sbx_plan_make(arena, &out->policy, &out->facts, described, input->command, &out->plan, err);
    /* A shell without a box has the caller's terminal already. */
    if (code == SBX_OK)
        out->plan.wants_terminal =
            input->wants_terminal && !(input->is_session && described == SBX_BACKEND_NONE);
    return code;
}

static enum sbx_code check_terminal(const struct sbx_prepared *prepared, struct sbx_err *err)
{
    const struct sbx_backend_row *row = sbx_backend_row(prepared->selection.backend);
    if (!prepared->plan.wants_terminal || (row->can & SBX_CAN_TERMINAL)) return SBX_OK;
    (void)sbx_err_set(err, SBX_E_UNSUPPORTED,
                      "the backend %s cannot give the command a terminal of its own",
                      sbx_name_text(sbx_backend_names, (int)row->id));
    return sbx_err_hint(err, "leave out --tty: the command then has the caller's streams");
}

enum sbx_code sbx_run(struct sbx_arena *arena, const struct sbx_prepared *prepared,
                      struct sbx_run_record *out, struct sbx_err *err)
{
    const struct sbx_backend *backend = sbx_backend_find(prepared->selection.backend);
    if (backend == NULL)
        return sbx_err_set(err, SBX_E_INTERNAL, "a backend was selected that is not built in");
    enum sbx_code code = check_terminal(prepared, err);
    if (code != SBX_OK) return code;
    code = backend->run(arena, &prepared->plan, &prepared->selection, out, err);
    /* For backends that did not say it themselves. */
    if (code == SBX_OK) sbx_run_starts(out->evidence, out->evidence_count);
    return code;
}
