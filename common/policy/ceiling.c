/* The administrator's ceiling: reading policy.toml. */
#include "common/policy/ceiling.h"

#include "common/policy/manifest_kind.h"

#include "common/base/banned.h"

#define FIELD(name) offsetof(struct sbx_ceiling, name)
#define TIB ((uint64_t)1 << 40)

/* Same shapes of values as in a manifest, so the same readers. */
static const struct sbx_key_row value_rows[] = {
    {.name = "backend",
     .kind = SBX_KIND_CHOICE,
     .offset = FIELD(backend),
     .names = sbx_backend_names,
     .example = "\"bwrap\"",
     .help = "the only backend that may be used"},
    {.name = "forbid_paths",
     .kind = SBX_KIND_PATHS,
     .offset = FIELD(forbid_paths),
     .example = "[\"/srv/secret\"]",
     .help = "never readable in a box; broader grants are masked there"},
    {.name = "max_network",
     .kind = SBX_KIND_CHOICE,
     .offset = FIELD(max_network),
     .names = sbx_net_kind_names,
     .example = "\"allow_hosts\"",
     .help = "the widest network kind"},
    {.name = "max_timeout",
     .kind = SBX_KIND_DURATION,
     .offset = FIELD(max_timeout_ns),
     .min = 1000000,
     .max = UINT64_MAX,
     .example = "\"10m\"",
     .help = "longest wall clock"},
    {.name = "max_memory_bytes",
     .kind = SBX_KIND_BYTES,
     .offset = FIELD(max_memory_bytes),
     .min = 1u << 20,
     .max = 1024 * TIB,
     .example = "\"4GiB\"",
     .help = "largest memory limit"},
    {.name = "max_cpu_secs",
     .kind = SBX_KIND_COUNTER,
     .offset = FIELD(max_cpu_secs),
     .min = 1,
     .max = 31536000,
     .example = "600",
     .help = "largest processor time"},
    {.name = "max_processes",
     .kind = SBX_KIND_COUNTER,
     .offset = FIELD(max_processes),
     .min = 1,
     .max = 4194304,
     .example = "256",
     .help = "largest number of processes"},
    {.name = "max_output_bytes",
     .kind = SBX_KIND_BYTES,
     .offset = FIELD(max_output_bytes),
     .min = 1,
     .max = 1024 * TIB,
     .example = "\"64MiB\"",
     .help = "largest output per stream"},
    {.name = "sessions",
     .kind = SBX_KIND_TEXTS,
     .offset = FIELD(sessions),
     .example = "[\"alice\"]",
     .help = "users who may open sessions; nobody by default"},
};

struct flag_row {
    const char *name;
    size_t offset;
    const char *help;
};
static const struct flag_row flag_rows[] = {
    {"allow_raw_bwrap", FIELD(allow_raw_bwrap), "let manifests use raw_args; false by default"},
    {"allow_none", FIELD(allow_none), "let the two keys run without a sandbox; true by default"},
};

void sbx_ceiling_init(struct sbx_ceiling *ceiling)
{
    *ceiling = (struct sbx_ceiling){
        .allow_none = true,
        .max_network = SBX_NET_INHERIT,
    };
}

static const char *name_at(const void *unused, size_t index)
{
    (void)unused;
    if (index < SBX_COUNT(value_rows)) return value_rows[index].name;
    index -= SBX_COUNT(value_rows);
    return index < SBX_COUNT(flag_rows) ? flag_rows[index].name : NULL;
}

bool sbx_ceiling_row_at(size_t index, struct sbx_ceiling_row *out)
{
    if (index < SBX_COUNT(value_rows)) {
        const struct sbx_key_row *value = &value_rows[index];
        *out =
            (struct sbx_ceiling_row){value->name, sbx_kind_of(value->kind)->type_text, value->help};
        return true;
    }
    index -= SBX_COUNT(value_rows);
    if (index >= SBX_COUNT(flag_rows)) return false;
    *out = (struct sbx_ceiling_row){flag_rows[index].name, "true or false", flag_rows[index].help};
    return true;
}

static bool read_value_row(struct sbx_arena *arena, const char *source,
                           const struct sbx_member *member, struct sbx_findings *findings,
                           struct sbx_ceiling *out)
{
    for (size_t i = 0; i < SBX_COUNT(value_rows); i++) {
        const struct sbx_key_row *row = &value_rows[i];
        if (!sbx_str_is(member->key, row->name)) continue;
        struct sbx_kind_io io = {arena, findings, row, source, true};
        size_t before = findings->errors;
        sbx_kind_of(row->kind)->from_value(&io, &member->value, (char *)out + row->offset);
        if (row->offset == FIELD(backend)) out->has_backend = findings->errors == before;
        return true;
    }
    return false;
}

static bool read_flag_row(const char *source, const struct sbx_member *member,
                          struct sbx_findings *findings, struct sbx_ceiling *out)
{
    for (size_t i = 0; i < SBX_COUNT(flag_rows); i++) {
        if (!sbx_str_is(member->key, flag_rows[i].name)) continue;
        struct sbx_origin at = {source, member->place};
        if (member->value.type == SBX_VALUE_BOOL)
            *(bool *)((char *)out + flag_rows[i].offset) = member->value.boolean;
        else
            sbx_findings_add(findings, SBX_F_WRONG_TYPE, &at, flag_rows[i].name,
                             (struct sbx_str){0}, "\"%s\" must be true or false, not %s",
                             flag_rows[i].name, sbx_value_type_text(member->value.type));
        return true;
    }
    return false;
}

/* A path with a wildcard would be taken as it stands, and forbid nothing. */
static void check_forbidden(struct sbx_arena *arena, struct sbx_findings *findings,
                            const struct sbx_ceiling *ceiling)
{
    for (size_t i = 0; i < ceiling->forbid_paths.count; i++) {
        const struct sbx_text *path = &ceiling->forbid_paths.items[i];
        if (!sbx_path_is_glob(path->text)) continue;
        const char *key = sbx_arena_printf(arena, "forbid_paths[%zu]", i);
        struct sbx_finding *finding = sbx_findings_add(
            findings, SBX_F_BAD_VALUE, &path->at, key == NULL ? "forbid_paths" : key, path->text,
            "\"forbid_paths\" takes no globs");
        sbx_finding_hint(findings, finding, "name the directory that holds them");
    }
}

void sbx_ceiling_read(struct sbx_arena *arena, const char *source, const struct sbx_value *root,
                      struct sbx_findings *findings, struct sbx_ceiling *out)
{
    sbx_ceiling_init(out);
    out->is_present = true;
    out->source = source;
    if (root->type != SBX_VALUE_TABLE) {
        struct sbx_origin at = {source, root->place};
        sbx_findings_add(findings, SBX_F_WRONG_TYPE, &at, "", (struct sbx_str){0},
                         "the administrator's policy is a table, not %s",
                         sbx_value_type_text(root->type));
        return;
    }
    for (size_t i = 0; i < root->table.count; i++) {
        const struct sbx_member *member = &root->table.members[i];
        if (read_value_row(arena, source, member, findings, out) ||
            read_flag_row(source, member, findings, out))
            continue;
        struct sbx_origin at = {source, member->place};
        struct sbx_finding *finding = sbx_findings_add(
            findings, SBX_F_UNKNOWN_KEY, &at, "", member->key,
            "the administrator's policy has no key \"%.*s\"", SBX_STR_ARG(member->key));
        const char *nearest = sbx_name_nearest(member->key, name_at, NULL);
        if (nearest != NULL) sbx_finding_hint(findings, finding, "did you mean \"%s\"?", nearest);
    }
    check_forbidden(arena, findings, out);
}
