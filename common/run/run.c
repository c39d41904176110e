/* The pipeline: manifest → policy → selection → plan → backend. */
#include "common/run/run.h"

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

enum sbx_code sbx_prepare(struct sbx_arena *arena, const struct sbx_prepare_input *input,
                          struct sbx_findings *findings, struct sbx_prepared *out,
                          struct sbx_err *err)
{
    sbx_policy_resolve(arena, input->manifest, input->context, input->ceiling, findings,
                       &out->policy);
    if (!sbx_findings_ok(findings))
        return sbx_err_set(err, SBX_E_INVALID, "the manifest has errors");
    if (input->context->is_assumed)
        sbx_facts_assume(input->context->platform, &out->facts);
    else
        sbx_os_facts(arena, &out->facts);
    select_backend(arena, input, out);
    enum sbx_backend_id described = sbx_plan_backend(&out->selection, &out->policy);
    return sbx_plan_make(arena, &out->policy, &out->facts, described, input->command, &out->plan,
                         err);
}

enum sbx_code sbx_run(struct sbx_arena *arena, const struct sbx_prepared *prepared,
                      struct sbx_run_record *out, struct sbx_err *err)
{
    const struct sbx_backend *backend = sbx_backend_find(prepared->selection.backend);
    if (backend == NULL)
        return sbx_err_set(err, SBX_E_INTERNAL, "a backend was selected that is not built in");
    return backend->run(arena, &prepared->plan, &prepared->selection, out, err);
}
