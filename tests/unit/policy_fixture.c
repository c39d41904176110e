/* What the tests of the policy room share; see policy_fixture.h. */
#include "tests/unit/policy_fixture.h"

#include <stdio.h>
#include <string.h>

#include "common/policy/json_read.h"
#include "common/policy/manifest_keys.h"
#include "common/policy/toml.h"
#include "tests/check.h"

#include "common/base/banned.h"

enum { ARENA_BYTES = 256 << 20 };

void fixture_start(struct fixture *f, enum sbx_platform platform)
{
    *f = (struct fixture){0};
    sbx_arena_init(&f->arena, ARENA_BYTES);
    sbx_findings_init(&f->findings, &f->arena);
    sbx_ceiling_init(&f->ceiling);
    sbx_facts_assume(platform, &f->facts);
    struct sbx_err err = {0};
    CHECK_CODE(sbx_context_assume(&f->arena, platform, &f->context, &err), SBX_OK, &err);
}

void fixture_release(struct fixture *f)
{
    sbx_arena_release(&f->arena);
}

static enum sbx_node fake_lookup(void *state, struct sbx_path path)
{
    for (const struct fake_node *node = state; node->path != NULL; node++) {
        if (sbx_text_eq(node->path, path.text)) {
            return node->node;
        }
    }
    return SBX_NODE_MISSING;
}

void fixture_host(struct fixture *f, const struct fake_node *nodes)
{
    f->context.lookup = fake_lookup;
    f->context.lookup_state = (void *)(uintptr_t)nodes;
    f->context.is_assumed = false;
}

static bool read_toml(struct fixture *f, const char *toml, struct sbx_value *out)
{
    struct sbx_err err = {0};
    enum sbx_code code = sbx_toml_read(&f->arena, "sbx.toml", sbx_str(toml), NULL, out, NULL, &err);
    return CHECK_CODE(code, SBX_OK, &err);
}

bool fixture_read(struct fixture *f, const char *toml)
{
    struct sbx_value root;
    if (!read_toml(f, toml, &root)) {
        return false;
    }
    sbx_document_read(&f->arena, "sbx.toml", &root, &f->findings, &f->document);
    return true;
}

bool fixture_read_json(struct fixture *f, const char *json)
{
    struct sbx_value root;
    struct sbx_err err = {0};
    enum sbx_code code = sbx_json_read(&f->arena, "sbx.json", sbx_str(json), &root, &err);
    if (!CHECK_CODE(code, SBX_OK, &err)) {
        return false;
    }
    sbx_document_read(&f->arena, "sbx.json", &root, &f->findings, &f->document);
    return true;
}

bool fixture_ceiling(struct fixture *f, const char *toml)
{
    struct sbx_value root;
    if (!read_toml(f, toml, &root)) {
        return false;
    }
    sbx_ceiling_read(&f->arena, "policy.toml", &root, &f->findings, &f->ceiling);
    return true;
}

void fixture_resolve(struct fixture *f)
{
    sbx_policy_resolve(&f->arena, &f->document.sandbox, &f->context, &f->ceiling, &f->findings,
                       &f->policy);
}

void fixture_policy(struct fixture *f, enum sbx_platform platform, const char *toml)
{
    fixture_start(f, platform);
    if (fixture_read(f, toml)) {
        fixture_resolve(f);
    }
}

/* ---- flags ---- */

static bool read_one_flag(struct fixture *f, const char *flag, const char *value,
                          struct sbx_manifest *out)
{
    for (size_t i = 0; i < SBX_KEY_COUNT; i++) {
        if (sbx_text_eq(flag + 2, sbx_key_rows[i].flag)) {
            sbx_manifest_read_flag(&f->arena, flag, sbx_key_rows[i].key, sbx_str(value),
                                   &f->findings, out);
            return true;
        }
    }
    for (const struct sbx_flag_alias *row = sbx_flag_aliases; row->flag != NULL; row++) {
        if (sbx_text_eq(flag + 2, row->flag)) {
            const char *text =
                sbx_arena_printf(&f->arena, "%s%s%s", row->prefix, value, row->suffix);
            sbx_manifest_read_flag(&f->arena, flag, row->key, sbx_str(text), &f->findings, out);
            return true;
        }
    }
    return false;
}

void fixture_flags(struct fixture *f, const char *const *args, size_t count,
                   struct sbx_manifest *out)
{
    CHECK(count % 2 == 0);
    for (size_t i = 0; i + 1 < count; i += 2) {
        CHECK(strncmp(args[i], "--", 2) == 0);
        CHECK(read_one_flag(f, args[i], args[i + 1], out));
    }
}

/* ---- answers ---- */

struct sbx_path fixture_path(struct fixture *f, const char *text)
{
    struct sbx_path path = {"", 0, sbx_platform_path_rules(f->context.platform)};
    CHECK_INT(sbx_path_make(&f->arena, path.rules, sbx_str(text), &path), SBX_PATH_OK);
    return path;
}

struct sbx_decision fixture_decide(struct fixture *f, const char *path)
{
    return sbx_policy_decide(&f->arena, &f->policy, fixture_path(f, path));
}

enum sbx_access fixture_access(struct fixture *f, const char *path)
{
    return fixture_decide(f, path).access;
}

const struct sbx_rule *fixture_rule(const struct fixture *f, const char *path)
{
    for (size_t i = 0; i < f->policy.rules.count; i++) {
        if (sbx_text_eq(f->policy.rules.items[i].path.text, path)) {
            return &f->policy.rules.items[i];
        }
    }
    return NULL;
}

const struct sbx_finding *fixture_finding(const struct fixture *f, enum sbx_finding_code code)
{
    for (size_t i = 0; i < f->findings.count; i++) {
        if (f->findings.items[i].code == code) {
            return &f->findings.items[i];
        }
    }
    return NULL;
}

size_t fixture_findings(const struct fixture *f, enum sbx_finding_code code)
{
    size_t count = 0;
    for (size_t i = 0; i < f->findings.count; i++) {
        count += f->findings.items[i].code == code;
    }
    return count;
}

void fixture_forget(struct fixture *f)
{
    sbx_findings_init(&f->findings, &f->arena);
}

void fixture_print_findings(const struct fixture *f)
{
    for (size_t i = 0; i < f->findings.count; i++) {
        const struct sbx_finding *finding = &f->findings.items[i];
        printf("#   %u:%u %s %s: %s\n", (unsigned)finding->at.place.line,
               (unsigned)finding->at.place.column,
               sbx_name_text(sbx_finding_code_names, (int)finding->code), finding->key_path,
               finding->text);
    }
}

void fixture_plan(struct fixture *f)
{
    static const char *const no_command[] = {NULL};
    struct sbx_err err = {0};
    enum sbx_backend_id backend = sbx_backend_order(f->context.platform)[0];
    CHECK_CODE(sbx_plan_make(&f->arena, &f->policy, &f->facts, backend, no_command, &f->plan, &err),
               SBX_OK, &err);
    CHECK(sbx_plan_digest(&f->plan, f->digest));
}

struct sbx_selection fixture_choose(struct fixture *f, const char *request, const char *opt_in)
{
    struct sbx_selection out;
    struct sbx_select_input input = {.platform = f->context.platform,
                                     .request = request,
                                     .opt_in = opt_in,
                                     .policy = &f->policy,
                                     .facts = &f->facts,
                                     .ceiling = &f->ceiling};
    sbx_select(&f->arena, &input, &out);
    return out;
}
