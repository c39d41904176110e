/* Fuzz: bytes to TOML to manifest to policy to plan, on all three platforms; what follows a line "---" is the
 * administrator's policy. Whatever is called good keeps the promises of the policy room. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/policy/plan.h"
#include "common/policy/toml.h"
#include "common/policy/widen.h"

#include "common/base/banned.h"

enum { ARENA_BYTES = 64 << 20, TEXT_BYTES = 4 << 20, MAX_BYTES = 64 << 10 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool held)
{
    if (!held) {
        abort();
    }
}

static bool is_safe(const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);
    for (size_t at = 0; at < len;) {
        uint32_t character = 0;
        size_t step = sbx_utf8_decode(text + at, len - at, &character);
        if (step == 0 || (character != '\n' && sbx_utf8_is_unsafe(character))) {
            return false;
        }
        at += step;
    }
    return true;
}

static void check_findings(const struct sbx_findings *findings)
{
    must(findings->count <= SBX_FINDINGS_MAX);
    size_t errors = 0;
    for (size_t i = 0; i < findings->count; i++) {
        const struct sbx_finding *finding = &findings->items[i];
        must(finding->text[0] != '\0' && is_safe(finding->text) && is_safe(finding->hint));
        must(is_safe(finding->value) && is_safe(finding->key_path) && is_safe(finding->unit));
        must(finding->level != SBX_LEVEL_ERROR || finding->hint != NULL);
        errors += finding->level == SBX_LEVEL_ERROR;
    }
    must(errors <= findings->errors);
    must(errors == findings->errors || findings->count == SBX_FINDINGS_MAX ||
         findings->out_of_memory);
}

/* A clean path is its own cleaning. */
static void check_path(struct sbx_arena *arena, const struct sbx_rule *rule)
{
    struct sbx_path again;
    struct sbx_str text = {rule->path.text, rule->path.len};
    enum sbx_path_problem problem = rule->is_glob
                                        ? sbx_path_make_glob(arena, rule->path.rules, text, &again)
                                        : sbx_path_make(arena, rule->path.rules, text, &again);
    must(problem == SBX_PATH_OK && sbx_text_eq(again.text, rule->path.text));
    must(strlen(rule->path.text) == rule->path.len);
}

static bool is_kernel(const struct sbx_policy *policy, struct sbx_path path)
{
    static const char *const names[] = {"proc", "dev", "sys"};
    struct sbx_str first = sbx_path_component(path, 0);
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        bool same = policy->context.platform == SBX_MACOS ? sbx_str_is_nocase(first, names[i])
                                                          : sbx_str_is(first, names[i]);
        if (same) {
            return policy->context.platform != SBX_WINDOWS;
        }
    }
    return false;
}

static void check_rules(struct sbx_arena *arena, const struct sbx_policy *policy)
{
    const struct sbx_rules *rules = &policy->rules;
    for (size_t i = 0; i < rules->count; i++) {
        const struct sbx_rule *rule = &rules->items[i];
        check_path(arena, rule);
        bool grants = rule->access != SBX_ACCESS_NONE && !rule->is_glob;
        must(!rule->is_glob || rule->access != SBX_ACCESS_WRITE);
        must(rule->access != SBX_ACCESS_WRITE || !sbx_path_is_root(rule->path));
        must(!grants || !is_kernel(policy, rule->path));
        must(i == 0 || rules->items[i - 1].is_glob <= rule->is_glob);
        must(i == 0 || rules->items[i - 1].is_glob != rule->is_glob ||
             sbx_path_compare(rules->items[i - 1].path, rule->path) < 0);
        must(i == 0 || rules->items[i - 1].is_glob != rule->is_glob ||
             !sbx_path_eq(rules->items[i - 1].path, rule->path));
        struct sbx_decision decision = sbx_policy_decide(arena, policy, rule->path);
        must(rule->is_glob || decision.access <= rule->access);
    }
    const struct sbx_path own[] = {policy->context.state_dir, policy->context.config_dir};
    for (size_t i = 0; i < SBX_COUNT(own); i++) {
        struct sbx_decision decision = sbx_policy_decide(arena, policy, own[i]);
        must(decision.access != SBX_ACCESS_WRITE || decision.rule->kind != SBX_RULE_HOST);
    }
}

/* What the administrator forbids is closed at its root and below every rule that is left. */
static void check_ceiling(struct sbx_arena *arena, const struct sbx_policy *policy,
                          const struct sbx_ceiling *ceiling)
{
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *mask = &policy->rules.items[i];
        for (size_t k = 0; mask->by == SBX_BY_ADMINISTRATOR && k < policy->rules.count; k++) {
            const struct sbx_rule *rule = &policy->rules.items[k];
            must(!sbx_path_contains(mask->path, rule->path) ||
                 sbx_policy_decide(arena, policy, rule->path).access == SBX_ACCESS_NONE);
        }
    }
    must(policy->network <= ceiling->max_network);
    must(ceiling->max_processes == 0 ||
         (policy->limits.processes != 0 && policy->limits.processes <= ceiling->max_processes));
    must(policy->raw_arg_count == 0 || ceiling->allow_raw_bwrap);
}

static void check_environment(const struct sbx_policy *policy)
{
    for (size_t i = 0; i < policy->env_count; i++) {
        must(policy->env[i].name[0] != '\0' && strchr(policy->env[i].name, '=') == NULL);
        must(i == 0 || strcmp(policy->env[i - 1].name, policy->env[i].name) < 0);
    }
    for (size_t i = 1; i < policy->env_pass_count; i++) {
        must(strcmp(policy->env_pass[i - 1], policy->env_pass[i]) < 0);
    }
}

static void check_plan(struct sbx_arena *arena, const struct sbx_policy *policy)
{
    static const char *const command[] = {"true", "\x1b[2J", NULL};
    struct sbx_facts facts;
    struct sbx_plan plan;
    sbx_facts_assume(policy->context.platform, &facts);
    for (int id = 0; id < SBX_BACKEND_COUNT; id++) {
        (void)sbx_backend_accepts((enum sbx_backend_id)id, policy, &facts, NULL);
    }
    enum sbx_backend_id backend = sbx_backend_order(policy->context.platform)[0];
    must(sbx_plan_make(arena, policy, &facts, backend, command, &plan, NULL) == SBX_OK);
    char digest[SBX_SHA256_HEX];
    must(sbx_plan_digest(&plan, digest));
    must(strlen(digest) == SBX_SHA256_HEX - 1 && plan.timeout_ns > 0);
    AUTO_BUF text;
    AUTO_BUF json;
    sbx_buf_init(&text, TEXT_BYTES);
    sbx_buf_init(&json, TEXT_BYTES);
    sbx_plan_print_text(&plan, &text);
    struct sbx_jsonw writer;
    sbx_jsonw_init(&writer, &json, false);
    sbx_plan_print_json(&plan, &writer);
    must(!text.failed && !json.failed && writer.done);
    must(is_safe(sbx_buf_text(&text)) && is_safe(sbx_buf_text(&json)));
}

/* Printed as TOML and read again it is the same manifest. */
static void check_round_trip(struct sbx_arena *arena, const struct sbx_manifest *manifest)
{
    AUTO_BUF text;
    sbx_buf_init(&text, TEXT_BYTES);
    sbx_manifest_print_toml(manifest, &text);
    struct sbx_value root;
    struct sbx_document document;
    struct sbx_findings findings;
    sbx_findings_init(&findings, arena);
    must(!text.failed);
    must(sbx_toml_read(arena, "again", sbx_buf_str(&text), NULL, &root, NULL, NULL) == SBX_OK);
    sbx_document_read(arena, "again", &root, &findings, &document);
    must(sbx_findings_ok(&findings) && sbx_manifest_equal(manifest, &document.sandbox));
}

static void on_platform(struct sbx_arena *arena, enum sbx_platform platform,
                        const struct sbx_manifest *manifest, const struct sbx_ceiling *ceiling)
{
    struct sbx_context context;
    struct sbx_policy policy;
    struct sbx_findings findings;
    must(sbx_context_assume(arena, platform, &context, NULL) == SBX_OK);
    sbx_findings_init(&findings, arena);
    sbx_policy_resolve(arena, manifest, &context, ceiling, &findings, &policy);
    check_findings(&findings);
    if (!sbx_findings_ok(&findings)) {
        return;
    }
    check_rules(arena, &policy);
    check_ceiling(arena, &policy, ceiling);
    check_environment(&policy);
    check_plan(arena, &policy);
    size_t count = policy.rules.count;
    sbx_rules_normalise(&policy, &findings);
    must(policy.rules.count == count);
    const char **reasons = NULL;
    size_t wider = 0;
    bool special = policy.preset->needs_two_keys || policy.preset->is_external ||
                   policy.raw_arg_count > 0 || policy.has_user || policy.has_group;
    must(sbx_policy_widens(arena, &policy, &policy, &reasons, &wider));
    must(special || wider == 0);
}

static bool read_table(struct sbx_arena *arena, struct sbx_str text, struct sbx_value *out)
{
    return sbx_toml_read(arena, "fuzz", text, NULL, out, NULL, NULL) == SBX_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char line[] = "\n---\n";
    if (size > MAX_BYTES) {
        return 0;
    }
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_str manifest = {(const char *)data, size};
    struct sbx_str admin = {NULL, 0};
    for (size_t i = 0; i + sizeof line - 1 <= size; i++) {
        if (memcmp(data + i, line, sizeof line - 1) == 0) {
            manifest.len = i + 1;
            admin = (struct sbx_str){(const char *)data + i + sizeof line - 1,
                                     size - i - (sizeof line - 1)};
            break;
        }
    }
    struct sbx_ceiling ceiling;
    struct sbx_findings findings;
    struct sbx_value root;
    sbx_ceiling_init(&ceiling);
    sbx_findings_init(&findings, &arena);
    if (admin.len > 0 && read_table(&arena, admin, &root)) {
        sbx_ceiling_read(&arena, "policy.toml", &root, &findings, &ceiling);
    }
    struct sbx_document document;
    if (!read_table(&arena, manifest, &root)) {
        return 0;
    }
    sbx_document_read(&arena, "sbx.toml", &root, &findings, &document);
    check_findings(&findings);
    sbx_findings_sort(&findings);
    if (sbx_findings_ok(&findings)) {
        check_round_trip(&arena, &document.sandbox);
    }
    for (int platform = 0; platform < SBX_PLATFORM_COUNT; platform++) {
        on_platform(&arena, (enum sbx_platform)platform, &document.sandbox, &ceiling);
    }
    for (size_t i = 0; i < document.unit_count && i < 4; i++) {
        on_platform(&arena, SBX_LINUX, &document.units[i].sandbox, &ceiling);
    }
    return 0;
}
