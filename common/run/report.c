/* What is told to programs about a run. */
#include "common/run/report.h"

#include <inttypes.h>

#include "common/base/banned.h"

/* ---- parts ---- */

void sbx_findings_json(const struct sbx_findings *findings, struct sbx_jsonw *json)
{
    sbx_jsonw_array(json);
    for (size_t i = 0; i < findings->count; i++) {
        const struct sbx_finding *finding = &findings->items[i];
        sbx_jsonw_object(json);
        sbx_jsonw_pair_text(json, "code",
                            sbx_name_text(sbx_finding_code_names, (int)finding->code));
        sbx_jsonw_pair_text(json, "level", sbx_name_text(sbx_level_names, (int)finding->level));
        sbx_jsonw_pair_text(json, "unit", finding->unit);
        sbx_jsonw_pair_text(json, "key", finding->key_path);
        sbx_jsonw_pair_text(json, "value", finding->value);
        sbx_jsonw_pair_text(json, "text", finding->text);
        sbx_jsonw_pair_text(json, "hint", finding->hint);
        sbx_jsonw_pair_text(json, "source", finding->at.source);
        sbx_jsonw_pair_u64(json, "line", finding->at.place.line);
        sbx_jsonw_pair_u64(json, "column", finding->at.place.column);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
}

void sbx_err_json(const struct sbx_err *err, struct sbx_jsonw *json)
{
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "code", sbx_code_text(err->code));
    sbx_jsonw_pair_text(json, "text", err->text);
    sbx_jsonw_pair_text(json, "hint", err->hint[0] == '\0' ? NULL : err->hint);
    sbx_jsonw_pair_text(json, "call", err->call);
    sbx_jsonw_pair_text(json, "numbering", sbx_os_domain_text(err->os));
    sbx_jsonw_key(json, "raw");
    sbx_jsonw_i64(json, err->raw);
    sbx_jsonw_end(json);
}

void sbx_report_selection(const struct sbx_selection *selection, struct sbx_jsonw *json)
{
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "backend", sbx_name_text(sbx_backend_names, (int)selection->backend));
    sbx_jsonw_pair_text(json, "row", selection->row);
    sbx_jsonw_pair_text(json, "why", selection->why);
    sbx_jsonw_key(json, "tried");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < selection->tried_count; i++) {
        const struct sbx_tried *tried = &selection->tried[i];
        sbx_jsonw_object(json);
        sbx_jsonw_pair_text(json, "backend", sbx_name_text(sbx_backend_names, (int)tried->backend));
        sbx_jsonw_pair_text(json, "verdict", sbx_name_text(sbx_verdict_names, (int)tried->verdict));
        sbx_jsonw_pair_text(json, "reason", tried->reason);
        sbx_jsonw_pair_text(json, "remedy", tried->is_built ? tried->remedy : NULL);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
}

const char *sbx_report_found(const struct sbx_setup *setup)
{
    switch (setup->found) {
    case SBX_FOUND_NAMED:
        return "named with -f";
    case SBX_FOUND_NEARBY:
        return setup->is_trusted ? "found, trusted" : "found";
    case SBX_FOUND_NOTHING:
        break;
    }
    return "none";
}

void sbx_report_manifest(const struct sbx_setup *setup, struct sbx_jsonw *json)
{
    sbx_jsonw_object(json);
    bool has_file = setup->found != SBX_FOUND_NOTHING;
    sbx_jsonw_pair_text(json, "path", has_file ? setup->manifest_path.text : NULL);
    sbx_jsonw_pair_text(json, "via", sbx_report_found(setup));
    sbx_jsonw_pair_text(json, "sha256", has_file ? setup->manifest_digest : NULL);
    sbx_jsonw_end(json);
}

static const char *subject_key(enum sbx_denial_kind kind)
{
    static const char *const keys[] = {[SBX_DENIED_FILE] = "path",
                                       [SBX_DENIED_PROTECTED] = "path",
                                       [SBX_DENIED_CALL] = "call",
                                       [SBX_DENIED_NETWORK] = "host",
                                       [SBX_DENIED_SOCKET] = "path"};
    return keys[kind];
}

void sbx_denials_json(const struct sbx_denials *denials, struct sbx_jsonw *json)
{
    sbx_jsonw_key(json, "denials");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < denials->count; i++) {
        const struct sbx_denial *denial = &denials->items[i];
        sbx_jsonw_object(json);
        sbx_jsonw_pair_text(json, "kind", sbx_name_text(sbx_denial_kind_names, (int)denial->kind));
        sbx_jsonw_pair_text(json, "operation",
                            sbx_name_text(sbx_operation_names, (int)denial->operation));
        sbx_jsonw_pair_text(json, subject_key(denial->kind), denial->subject);
        sbx_jsonw_pair_text(json, "rule", denial->by);
        sbx_jsonw_pair_text(json, "because", denial->because);
        sbx_jsonw_pair_text(json, "allow", denial->allow_line);
        sbx_jsonw_pair_text(json, "flag", denial->allow_flag);
        sbx_jsonw_pair_text(json, "note", denial->note);
        sbx_jsonw_pair_bool(json, "exact", denial->is_exact);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
    sbx_jsonw_pair_u64(json, "denials_left_out", denials->left_out);
}

void sbx_evidence_json(const struct sbx_evidence *evidence, size_t count, struct sbx_jsonw *json)
{
    sbx_jsonw_key(json, "evidence");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < count; i++) {
        const struct sbx_evidence *row = &evidence[i];
        sbx_jsonw_object(json);
        sbx_jsonw_pair_text(json, "what", row->what);
        sbx_jsonw_pair_text(json, "wanted", row->wanted);
        sbx_jsonw_pair_text(json, "got", row->got);
        sbx_jsonw_pair_bool(json, "ok", row->ok);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
}

void sbx_remarks_json(const struct sbx_run_record *record, struct sbx_jsonw *json)
{
    sbx_jsonw_key(json, "warnings");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < record->warning_count; i++) sbx_jsonw_text(json, record->warnings[i]);
    sbx_jsonw_end(json);
    sbx_jsonw_pair_text(json, "diagnosis", record->diagnosis);
}

/* ---- the outcome ---- */

static void json_outcome(const struct sbx_outcome *outcome, struct sbx_jsonw *json)
{
    bool has_signal = outcome->signal > 0;
    sbx_jsonw_pair_bool(json, "started", outcome->started);
    sbx_jsonw_key(json, "exit_code");
    if (has_signal)
        sbx_jsonw_null(json);
    else
        sbx_jsonw_u64(json, outcome->exit_code);
    sbx_jsonw_key(json, "signal");
    if (has_signal)
        sbx_jsonw_u64(json, (uint64_t)outcome->signal);
    else
        sbx_jsonw_null(json);
    sbx_jsonw_pair_text(json, "limit",
                        outcome->limit == SBX_LIMIT_NONE
                            ? NULL
                            : sbx_name_text(sbx_limit_names, (int)outcome->limit));
    sbx_jsonw_key(json, "use");
    sbx_jsonw_object(json);
    sbx_jsonw_pair_u64(json, "wall_ms", outcome->wall_ns / 1000000);
    sbx_jsonw_pair_u64(json, "cpu_ms", outcome->cpu_ns / 1000000);
    sbx_jsonw_pair_u64(json, "peak_memory_bytes", outcome->peak_memory_bytes);
    sbx_jsonw_end(json);
}

static void json_tiers(const struct sbx_prepared *prepared, struct sbx_jsonw *json)
{
    sbx_jsonw_key(json, "tiers");
    sbx_jsonw_object(json);
    for (int i = 0; i < SBX_DIM_COUNT; i++)
        sbx_jsonw_pair_text(json, sbx_name_text(sbx_dimension_names, i),
                            sbx_name_text(sbx_tier_names, (int)prepared->plan.tiers[i].tier));
    sbx_jsonw_end(json);
}

/* One line: a run's object may share its stream with the command's output, and the last line is found again. */
void sbx_run_report_json(const struct sbx_run_report *report, struct sbx_buf *text)
{
    struct sbx_jsonw json;
    bool is_commands = report->outcome != NULL && report->outcome->limit == SBX_LIMIT_NONE;
    sbx_jsonw_init(&json, text, false);
    sbx_jsonw_object(&json);
    sbx_jsonw_pair_u64(&json, "schema_version", 1);
    sbx_jsonw_pair_text(&json, "command", report->command);
    sbx_jsonw_pair_bool(&json, "ok", report->err == NULL);
    sbx_jsonw_pair_text(&json, "origin", is_commands ? "command" : "sbx");
    sbx_jsonw_pair_u64(&json, "status", report->status);
    if (report->outcome != NULL)
        json_outcome(report->outcome, &json);
    else
        sbx_jsonw_pair_bool(&json, "started", false);
    if (report->prepared != NULL) {
        char made[SBX_SHA256_HEX];
        const char *digest = report->digest;
        if (digest == NULL) {
            text->failed |= !sbx_plan_digest(&report->prepared->plan, made);
            digest = made;
        }
        sbx_jsonw_pair_text(&json, "plan_digest", digest);
        sbx_jsonw_key(&json, "manifest");
        sbx_report_manifest(report->setup, &json);
        sbx_jsonw_key(&json, "selection");
        sbx_report_selection(&report->prepared->selection, &json);
        if (report->outcome != NULL) json_tiers(report->prepared, &json);
        if (report->record != NULL && report->has_evidence)
            sbx_evidence_json(report->record->evidence, report->record->evidence_count, &json);
        sbx_jsonw_pair_bool(&json, "unsandboxed",
                            report->outcome != NULL && report->prepared->selection.warns);
    }
    if (report->denials != NULL) sbx_denials_json(report->denials, &json);
    if (report->record != NULL) sbx_remarks_json(report->record, &json);
    sbx_jsonw_key(&json, "error");
    if (report->err != NULL)
        sbx_err_json(report->err, &json);
    else
        sbx_jsonw_null(&json);
    sbx_jsonw_key(&json, "findings");
    sbx_findings_json(report->findings, &json);
    sbx_jsonw_end(&json);
    sbx_buf_add_char(text, '\n');
}
