/* The manifest: keys in, keys out, one on top of another. What a value looks like is in the kinds. */
#include "common/policy/manifest.h"

#include <string.h>

#include "common/policy/manifest_kind.h"
#include "common/policy/value_print.h"

#include "common/base/banned.h"

static const struct sbx_kind *const kinds[SBX_KIND_COUNT] = {
    [SBX_KIND_CHOICE] = &sbx_kind_choice,     [SBX_KIND_PATHS] = &sbx_kind_paths,
    [SBX_KIND_PATH] = &sbx_kind_path,         [SBX_KIND_FILESYSTEM] = &sbx_kind_filesystem,
    [SBX_KIND_PROTECT] = &sbx_kind_protect,   [SBX_KIND_NETWORK] = &sbx_kind_network,
    [SBX_KIND_DURATION] = &sbx_kind_duration, [SBX_KIND_BYTES] = &sbx_kind_bytes,
    [SBX_KIND_COUNTER] = &sbx_kind_counter,   [SBX_KIND_ENV] = &sbx_kind_env,
    [SBX_KIND_TEXTS] = &sbx_kind_texts,       [SBX_KIND_TEXT] = &sbx_kind_text,
    [SBX_KIND_IDENTITY] = &sbx_kind_identity, [SBX_KIND_DIMENSIONS] = &sbx_kind_dimensions,
};

const struct sbx_kind *sbx_kind_of(enum sbx_kind_id id)
{
    return id < SBX_KIND_COUNT ? kinds[id] : NULL;
}

static void *field_of(struct sbx_manifest *manifest, const struct sbx_key_row *row)
{
    return (char *)manifest + row->offset;
}

static const void *const_field_of(const struct sbx_manifest *manifest,
                                  const struct sbx_key_row *row)
{
    return (const char *)manifest + row->offset;
}

bool sbx_manifest_has(const struct sbx_manifest *manifest, enum sbx_key key)
{
    return (manifest->set & (1u << key)) != 0;
}

/* A scalar that was not understood stays unset: 0 would mean profile "none", or no limit. A list keeps what
 * was understood, so that its other entries are checked too. */
static void mark(struct sbx_manifest *manifest, enum sbx_key key, struct sbx_origin at)
{
    manifest->set |= 1u << key;
    manifest->at[key] = at;
}

void sbx_manifest_read_key(struct sbx_arena *arena, const char *source,
                           const struct sbx_key_row *row, const struct sbx_member *member,
                           struct sbx_findings *findings, struct sbx_manifest *out)
{
    const struct sbx_kind *kind = kinds[row->kind];
    struct sbx_kind_io io = {arena, findings, row, source, true};
    size_t before = findings->errors;
    kind->from_value(&io, &member->value, field_of(out, row));
    if (kind->is_list || findings->errors == before)
        mark(out, row->key, (struct sbx_origin){source, member->place});
}

void sbx_manifest_read_flag(struct sbx_arena *arena, const char *flag, enum sbx_key key,
                            struct sbx_str text, struct sbx_findings *findings,
                            struct sbx_manifest *out)
{
    const struct sbx_key_row *row = &sbx_key_rows[key];
    const struct sbx_kind *kind = kinds[row->kind];
    struct sbx_kind_io io = {arena, findings, row, flag, !sbx_manifest_has(out, key)};
    if (!kind->is_list && !io.is_fresh) {
        struct sbx_origin at = {.source = flag};
        sbx_findings_add(findings, SBX_F_CONFLICT, &at, row->name, text,
                         "%s is given twice; it takes one value", flag);
        return;
    }
    size_t before = findings->errors;
    kind->from_flag(&io, text, field_of(out, row));
    if (kind->is_list || findings->errors == before)
        mark(out, key, (struct sbx_origin){.source = flag});
}

enum sbx_code sbx_manifest_merge(struct sbx_arena *arena, const struct sbx_manifest *under,
                                 const struct sbx_manifest *over, struct sbx_manifest *out,
                                 struct sbx_err *err)
{
    struct sbx_manifest merged = *under;
    /* A preset named on top replaces the one below, whichever word it used. */
    const uint32_t presets = (1u << SBX_KEY_PROFILE) | (1u << SBX_KEY_MODE);
    if (over->set & presets) merged.set &= ~presets;
    for (size_t i = 0; i < SBX_KEY_COUNT; i++) {
        const struct sbx_key_row *row = &sbx_key_rows[i];
        const struct sbx_kind *kind = kinds[row->kind];
        if (!sbx_manifest_has(over, row->key)) continue;
        memcpy(field_of(&merged, row), const_field_of(over, row), kind->size);
        if (kind->merge != NULL && sbx_manifest_has(under, row->key) &&
            !kind->merge(arena, const_field_of(under, row), field_of(&merged, row)))
            return sbx_err_nomem(err);
        mark(&merged, row->key, over->at[row->key]);
    }
    *out = merged;
    return SBX_OK;
}

/* An empty list whose default is empty says nothing. */
static bool says_something(const struct sbx_manifest *manifest, const struct sbx_key_row *row)
{
    if (!sbx_manifest_has(manifest, row->key)) return false;
    switch (row->kind) {
    case SBX_KIND_PATHS:
    case SBX_KIND_TEXTS:
        return ((const struct sbx_texts *)const_field_of(manifest, row))->count > 0;
    case SBX_KIND_FILESYSTEM:
        return manifest->filesystem.count > 0;
    case SBX_KIND_ENV:
        return manifest->env.count > 0;
    case SBX_KIND_CHOICE:
    case SBX_KIND_PATH:
    case SBX_KIND_PROTECT:
    case SBX_KIND_NETWORK:
    case SBX_KIND_DURATION:
    case SBX_KIND_BYTES:
    case SBX_KIND_COUNTER:
    case SBX_KIND_TEXT:
    case SBX_KIND_IDENTITY:
    case SBX_KIND_DIMENSIONS:
    case SBX_KIND_COUNT:
        break;
    }
    return true;
}

/* The manifest as a table of values; false without memory. */
static bool to_table(struct sbx_arena *arena, const struct sbx_manifest *manifest,
                     struct sbx_value *out)
{
    struct sbx_member *members = SBX_NEW_ARRAY(arena, struct sbx_member, SBX_KEY_COUNT);
    if (members == NULL) return false;
    size_t count = 0;
    for (size_t i = 0; i < SBX_KEY_COUNT; i++) {
        const struct sbx_key_row *row = &sbx_key_rows[i];
        if (!says_something(manifest, row)) continue;
        members[count].key = sbx_str(row->name);
        if (!kinds[row->kind]->to_value(arena, row, const_field_of(manifest, row),
                                        &members[count].value))
            return false;
        count++;
    }
    *out = (struct sbx_value){.type = SBX_VALUE_TABLE};
    out->table.members = members;
    out->table.count = count;
    return true;
}

#define PRINT_ARENA_BYTES (16u << 20)

bool sbx_manifest_equal(const struct sbx_manifest *a, const struct sbx_manifest *b)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, PRINT_ARENA_BYTES);
    struct sbx_value left;
    struct sbx_value right;
    return to_table(&arena, a, &left) && to_table(&arena, b, &right) &&
           sbx_value_equal(&left, &right);
}

void sbx_manifest_print_toml(const struct sbx_manifest *manifest, struct sbx_buf *out)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, PRINT_ARENA_BYTES);
    struct sbx_value table;
    if (!to_table(&arena, manifest, &table)) {
        out->failed = true;
        return;
    }
    sbx_buf_add_text(out, "[sandbox]\n");
    for (size_t i = 0; i < table.table.count; i++) {
        sbx_buf_printf(out, "%.*s = ", SBX_STR_ARG(table.table.members[i].key));
        sbx_value_print_toml(&table.table.members[i].value, out);
        sbx_buf_add_char(out, '\n');
    }
}

void sbx_manifest_print_json(const struct sbx_manifest *manifest, struct sbx_buf *out)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, PRINT_ARENA_BYTES);
    struct sbx_value table;
    if (!to_table(&arena, manifest, &table)) {
        out->failed = true;
        return;
    }
    struct sbx_jsonw json;
    sbx_jsonw_init(&json, out, true);
    sbx_jsonw_object(&json);
    sbx_jsonw_key(&json, "sandbox");
    sbx_value_print_json(&table, &json);
    sbx_jsonw_end(&json);
    sbx_buf_add_char(out, '\n');
}

bool sbx_manifest_print_flags(struct sbx_arena *arena, const struct sbx_manifest *manifest,
                              const char ***out, size_t *count)
{
    struct sbx_flag_list flags = {.arena = arena};
    for (size_t i = 0; i < SBX_KEY_COUNT; i++) {
        const struct sbx_key_row *row = &sbx_key_rows[i];
        const struct sbx_kind *kind = sbx_kind_of(row->kind);
        if (kind != NULL && says_something(manifest, row))
            kind->to_flags(&flags, row, const_field_of(manifest, row));
    }
    if (flags.failed) return false;
    *out = flags.items;
    *count = flags.count;
    return true;
}
