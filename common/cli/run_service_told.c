/* The outcome object of a run elsewhere, back into the structs that reports are made from. */
#include <string.h>

#include "common/cli/run_service.h"
#include "common/policy/json_read.h"

#include "common/base/banned.h"

static const char *text_of(struct sbx_arena *arena, const struct sbx_value *table, const char *key)
{
    const struct sbx_value *value = sbx_value_get(table, key);
    return value == NULL || value->type != SBX_VALUE_STRING
               ? NULL
               : sbx_arena_copy(arena, value->string.ptr, value->string.len);
}

static int64_t number_of(const struct sbx_value *table, const char *key, int64_t otherwise)
{
    const struct sbx_value *value = sbx_value_get(table, key);
    return value == NULL || value->type != SBX_VALUE_INTEGER ? otherwise : value->integer;
}

static bool truth_of(const struct sbx_value *table, const char *key)
{
    const struct sbx_value *value = sbx_value_get(table, key);
    return value != NULL && value->type == SBX_VALUE_BOOL && value->boolean;
}

/* A name that is not in the table is 0, the mildest of each. */
static int choice_of(const struct sbx_value *table, const char *key, const struct sbx_name *names)
{
    const struct sbx_value *value = sbx_value_get(table, key);
    int chosen = 0;
    if (value == NULL || value->type != SBX_VALUE_STRING ||
        !sbx_name_value(names, value->string, &chosen))
        return 0;
    return chosen;
}

/* The items of a list, none when it is not there. */
static const struct sbx_value *items_of(const struct sbx_value *table, const char *key,
                                        size_t *count)
{
    const struct sbx_value *value = sbx_value_get(table, key);
    bool is_list = value != NULL && value->type == SBX_VALUE_ARRAY;
    *count = is_list ? value->array.count : 0;
    return is_list ? value->array.items : NULL;
}

static void read_denials(struct sbx_arena *arena, const struct sbx_value *root,
                         struct sbx_denials *out)
{
    static const char *const subjects[] = {"path", "host", "call"};
    size_t count;
    const struct sbx_value *items = items_of(root, "denials", &count);
    for (size_t i = 0; i < count && i < SBX_DENIALS_MAX; i++) {
        struct sbx_denial *denial = &out->items[out->count++];
        denial->kind = (enum sbx_denial_kind)choice_of(&items[i], "kind", sbx_denial_kind_names);
        denial->operation =
            (enum sbx_operation)choice_of(&items[i], "operation", sbx_operation_names);
        denial->is_exact = truth_of(&items[i], "exact");
        for (size_t k = 0; k < SBX_COUNT(subjects) && denial->subject == NULL; k++)
            denial->subject = text_of(arena, &items[i], subjects[k]);
        denial->by = text_of(arena, &items[i], "rule");
        const char *because = text_of(arena, &items[i], "because");
        denial->because = because == NULL ? "" : because;
        denial->allow_line = text_of(arena, &items[i], "allow");
        denial->allow_flag = text_of(arena, &items[i], "flag");
        denial->note = text_of(arena, &items[i], "note");
    }
    out->left_out = (size_t)number_of(root, "denials_left_out", 0);
}

static bool read_evidence(struct sbx_arena *arena, const struct sbx_value *root,
                          struct sbx_run_record *out)
{
    size_t count;
    const struct sbx_value *items = items_of(root, "evidence", &count);
    struct sbx_evidence *rows = SBX_NEW_ARRAY(arena, struct sbx_evidence, count);
    if (rows == NULL && count > 0) return false;
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct sbx_evidence){.what = text_of(arena, &items[i], "what"),
                                        .wanted = text_of(arena, &items[i], "wanted"),
                                        .got = text_of(arena, &items[i], "got"),
                                        .ok = truth_of(&items[i], "ok")};
    out->evidence = rows;
    out->evidence_count = count;
    return true;
}

static bool read_remarks(struct sbx_arena *arena, const struct sbx_value *root,
                         struct sbx_run_record *out)
{
    size_t count;
    const struct sbx_value *items = items_of(root, "warnings", &count);
    const char **texts = SBX_NEW_ARRAY(arena, const char *, count);
    if (texts == NULL && count > 0) return false;
    for (size_t i = 0; i < count; i++)
        texts[i] = items[i].type == SBX_VALUE_STRING
                       ? sbx_arena_copy(arena, items[i].string.ptr, items[i].string.len)
                       : "";
    out->warnings = texts;
    out->warning_count = count;
    out->diagnosis = text_of(arena, root, "diagnosis");
    return true;
}

static void read_error(struct sbx_arena *arena, const struct sbx_value *error, struct sbx_err *out)
{
    const char *code = text_of(arena, error, "code");
    const char *text = text_of(arena, error, "text");
    const char *hint = text_of(arena, error, "hint");
    const char *numbering = text_of(arena, error, "numbering");
    out->code = SBX_E_INTERNAL;
    for (int i = SBX_OK + 1; i < SBX_CODE_COUNT; i++)
        if (sbx_text_eq(code, sbx_code_text((enum sbx_code)i))) out->code = (enum sbx_code)i;
    for (int i = SBX_OS_NONE; i <= SBX_OS_HRESULT && numbering != NULL; i++)
        if (sbx_text_eq(numbering, sbx_os_domain_text((enum sbx_os_domain)i)))
            out->os = (enum sbx_os_domain)i;
    out->call = text_of(arena, error, "call");
    out->raw = number_of(error, "raw", 0);
    sbx_text_format(out->text, sizeof out->text, "%s", text == NULL ? "it failed" : text);
    sbx_text_format(out->hint, sizeof out->hint, "%s", hint == NULL ? "" : hint);
}

bool sbx_told_read(struct sbx_arena *arena, struct sbx_str object, struct sbx_told *out)
{
    struct sbx_value root;
    if (sbx_json_read(arena, "outcome", object, &root, NULL) != SBX_OK ||
        root.type != SBX_VALUE_TABLE)
        return false;
    memset(out, 0, sizeof *out);
    out->status = (uint32_t)number_of(&root, "status", SBX_EXIT_REFUSED);
    const struct sbx_value *error = sbx_value_get(&root, "error");
    out->has_error = error != NULL && error->type == SBX_VALUE_TABLE;
    if (out->has_error) read_error(arena, error, &out->err);
    out->record.outcome.limit = (enum sbx_limit)choice_of(&root, "limit", sbx_limit_names);
    read_denials(arena, &root, &out->denials);
    return read_evidence(arena, &root, &out->record) && read_remarks(arena, &root, &out->record);
}
