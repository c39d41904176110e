/* A document's tables into manifests: [sandbox], [unit.NAME], and every key nobody knows. */
#include <string.h>

#include "common/policy/manifest_kind.h"

#include "common/base/banned.h"

/* Keys of a unit that are not sandbox keys. */
static const char *const unit_keys[] = {"command", "type"};
static const char *const top_keys[] = {"sandbox", "unit", "$schema"};

static const char *unit_key_at(const void *unused, size_t index)
{
    if (index < SBX_COUNT(unit_keys)) return unit_keys[index];
    return sbx_key_name_at(unused, index - SBX_COUNT(unit_keys));
}

static const char *top_key_at(const void *unused, size_t index)
{
    (void)unused;
    return index < SBX_COUNT(top_keys) ? top_keys[index] : NULL;
}

static struct sbx_finding *unknown_key(struct sbx_findings *findings, const char *source,
                                       const struct sbx_member *member, const char *where,
                                       sbx_name_at *known)
{
    struct sbx_origin at = {source, member->place};
    AUTO_BUF key;
    sbx_buf_init(&key, 512);
    sbx_buf_add_visible(&key, member->key, false);
    struct sbx_finding *finding =
        sbx_findings_add(findings, SBX_F_UNKNOWN_KEY, &at, sbx_buf_text(&key), (struct sbx_str){0},
                         "%s has no key \"%.*s\"", where, SBX_STR_ARG(member->key));
    const char *nearest = sbx_name_nearest(member->key, known, NULL);
    if (nearest != NULL)
        sbx_finding_hint(findings, finding, "did you mean \"%s\"?", nearest);
    else
        sbx_finding_hint(findings, finding, "`sbx schema` and sbx.toml(5) list the keys");
    return finding;
}

static void check_presets(struct sbx_findings *findings, const struct sbx_manifest *manifest)
{
    if (!sbx_manifest_has(manifest, SBX_KEY_PROFILE) || !sbx_manifest_has(manifest, SBX_KEY_MODE))
        return;
    struct sbx_finding *finding =
        sbx_findings_add(findings, SBX_F_CONFLICT, &manifest->at[SBX_KEY_MODE], "mode",
                         (struct sbx_str){0}, "\"profile\" and \"mode\" exclude each other");
    sbx_finding_hint(findings, finding, "keep one of them");
}

void sbx_manifest_read(struct sbx_arena *arena, const char *source, const struct sbx_value *table,
                       struct sbx_findings *findings, struct sbx_manifest *out)
{
    *out = (struct sbx_manifest){0};
    if (table->type != SBX_VALUE_TABLE) {
        struct sbx_origin at = {source, table->place};
        sbx_findings_add(findings, SBX_F_WRONG_TYPE, &at, "sandbox", (struct sbx_str){0},
                         "\"sandbox\" must be a table, not %s", sbx_value_type_text(table->type));
        return;
    }
    for (size_t i = 0; i < table->table.count; i++) {
        const struct sbx_member *member = &table->table.members[i];
        const struct sbx_key_row *row = sbx_key_find(member->key);
        if (row == NULL)
            unknown_key(findings, source, member, "[sandbox]", sbx_key_name_at);
        else
            sbx_manifest_read_key(arena, source, row, member, findings, out);
    }
    check_presets(findings, out);
}

/* ---- units ---- */

static void read_unit_type(const struct sbx_kind_io *io, const struct sbx_value *value,
                           struct sbx_unit *unit)
{
    struct sbx_origin at = sbx_kind_origin(io, value);
    int type;
    if (value->type != SBX_VALUE_STRING)
        sbx_kind_wrong(io, value, "type", "a string");
    else if (sbx_name_value(sbx_unit_type_names, value->string, &type))
        unit->type = (enum sbx_unit_type)type;
    else
        sbx_kind_bad_choice(io, &at, "type", value->string, sbx_unit_type_names);
}

/* Rows for messages only; these keys are not part of the manifest. */
static const struct sbx_key_row command_row = {
    .name = "command", .kind = SBX_KIND_TEXTS, .example = "[\"node\", \"server.js\"]"};
static const struct sbx_key_row type_row = {
    .name = "type", .kind = SBX_KIND_CHOICE, .example = "\"simple\""};

static void check_unit(struct sbx_findings *findings, struct sbx_unit *unit)
{
    if (unit->command.count == 0 || unit->command.items[0].text.len == 0) {
        struct sbx_finding *finding =
            sbx_findings_add(findings, SBX_F_BAD_VALUE, &unit->at, "command", (struct sbx_str){0},
                             "unit \"%s\" has no command", unit->name);
        sbx_finding_hint(findings, finding, "add command = %s", command_row.example);
    }
    for (size_t i = 0; i < unit->command.count; i++) {
        const struct sbx_text *word = &unit->command.items[i];
        if (word->text.len > 0 && memchr(word->text.ptr, 0, word->text.len) != NULL)
            sbx_findings_add(findings, SBX_F_BAD_VALUE, &word->at, "command", word->text,
                             "a word of the command has a NUL character");
    }
    uint32_t other = unit->sandbox.set & ~(1u << SBX_KEY_PROFILE) & ~(1u << SBX_KEY_USER) &
                     ~(1u << SBX_KEY_GROUP);
    bool has_profile = sbx_manifest_has(&unit->sandbox, SBX_KEY_PROFILE) &&
                       unit->sandbox.profile != SBX_PROFILE_NONE;
    unit->asks_for_sandbox = other != 0 || has_profile;
    check_presets(findings, &unit->sandbox);
}

static void read_unit(struct sbx_arena *arena, const char *source, const struct sbx_value *table,
                      struct sbx_findings *findings, struct sbx_unit *unit)
{
    for (size_t i = 0; i < table->table.count; i++) {
        const struct sbx_member *member = &table->table.members[i];
        const struct sbx_key_row *row = sbx_key_find(member->key);
        if (sbx_str_is(member->key, "command")) {
            struct sbx_kind_io io = {arena, findings, &command_row, source, true};
            sbx_kind_read_texts(&io, &member->value, "", "a list of strings", &unit->command);
        } else if (sbx_str_is(member->key, "type")) {
            struct sbx_kind_io io = {arena, findings, &type_row, source, true};
            read_unit_type(&io, &member->value, unit);
        } else if (row != NULL) {
            sbx_manifest_read_key(arena, source, row, member, findings, &unit->sandbox);
        } else {
            unknown_key(findings, source, member, "a unit", unit_key_at);
        }
    }
    check_unit(findings, unit);
}

static bool unit_name_ok(struct sbx_str name)
{
    if (name.len == 0 || name.len > 64 || !sbx_is_alnum(name.ptr[0])) return false;
    for (size_t i = 0; i < name.len; i++)
        if (!sbx_is_alnum(name.ptr[i]) && name.ptr[i] != '-' && name.ptr[i] != '_' &&
            name.ptr[i] != '.')
            return false;
    return true;
}

static void read_units(struct sbx_arena *arena, const char *source, const struct sbx_value *units,
                       struct sbx_findings *findings, struct sbx_document *out)
{
    struct sbx_origin at = {source, units->place};
    if (units->type != SBX_VALUE_TABLE) {
        sbx_findings_add(findings, SBX_F_WRONG_TYPE, &at, "unit", (struct sbx_str){0},
                         "\"unit\" must be a table of units, not %s",
                         sbx_value_type_text(units->type));
        return;
    }
    for (size_t i = 0; i < units->table.count; i++) {
        const struct sbx_member *member = &units->table.members[i];
        struct sbx_origin unit_at = {source, member->place};
        if (!unit_name_ok(member->key)) {
            struct sbx_finding *finding =
                sbx_findings_add(findings, SBX_F_BAD_VALUE, &unit_at, "unit", member->key,
                                 "\"%.*s\" is not a unit name", SBX_STR_ARG(member->key));
            sbx_finding_hint(findings, finding,
                             "use letters, digits, '-', '_' and '.', at most 64");
            continue;
        }
        if (member->value.type != SBX_VALUE_TABLE) {
            sbx_findings_add(findings, SBX_F_WRONG_TYPE, &unit_at, "unit", member->key,
                             "unit \"%.*s\" must be a table, not %s", SBX_STR_ARG(member->key),
                             sbx_value_type_text(member->value.type));
            continue;
        }
        const char *name = sbx_arena_copy(arena, member->key.ptr, member->key.len);
        struct sbx_unit *unit =
            name == NULL ? NULL
                         : (struct sbx_unit *)sbx_arena_push(arena, &out->units, &out->unit_count,
                                                             &out->unit_capacity, sizeof *unit);
        if (unit == NULL) {
            findings->out_of_memory = true;
            return;
        }
        unit->name = name;
        unit->at = unit_at;
        /* What is wrong with this unit is said of this unit alone. */
        findings->unit = unit->name;
        read_unit(arena, source, &member->value, findings, unit);
        findings->unit = NULL;
    }
}

static void read_top_key(struct sbx_arena *arena, const char *source,
                         const struct sbx_member *member, struct sbx_findings *findings,
                         struct sbx_document *out)
{
    if (sbx_str_is(member->key, "sandbox")) {
        out->has_sandbox = true;
        sbx_manifest_read(arena, source, &member->value, findings, &out->sandbox);
    } else if (sbx_str_is(member->key, "unit")) {
        read_units(arena, source, &member->value, findings, out);
    } else if (!sbx_str_is(member->key, "$schema")) {
        struct sbx_finding *finding =
            unknown_key(findings, source, member, "the top level", top_key_at);
        if (sbx_key_find(member->key) != NULL)
            sbx_finding_hint(findings, finding, "move it below a [sandbox] header");
    }
}

void sbx_document_read(struct sbx_arena *arena, const char *source, const struct sbx_value *root,
                       struct sbx_findings *findings, struct sbx_document *out)
{
    *out = (struct sbx_document){0};
    struct sbx_origin at = {.source = source};
    if (root->type != SBX_VALUE_TABLE) {
        sbx_findings_add(findings, SBX_F_WRONG_TYPE, &at, "", (struct sbx_str){0},
                         "a manifest is a table, not %s", sbx_value_type_text(root->type));
        return;
    }
    for (size_t i = 0; i < root->table.count; i++)
        read_top_key(arena, source, &root->table.members[i], findings, out);
    if (!out->has_sandbox && out->unit_count == 0 && sbx_findings_ok(findings)) {
        /* An empty file is a different policy than no file: say so instead of guessing. */
        struct sbx_finding *finding =
            sbx_findings_add(findings, SBX_F_BAD_VALUE, &at, "", (struct sbx_str){0},
                             "the file has neither [sandbox] nor [unit.NAME]");
        sbx_finding_hint(findings, finding, "`sbx init` writes a starter manifest");
    }
}
