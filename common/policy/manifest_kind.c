/* Shapes of manifest values: the table, and what the kinds share. */
#include "common/policy/manifest_kind.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/banned.h"

struct sbx_origin sbx_kind_origin(const struct sbx_kind_io *io, const struct sbx_value *value)
{
    struct sbx_origin at = {.source = io->source};
    if (value != NULL) at.place = value->place;
    return at;
}

const char *sbx_kind_key(const struct sbx_kind_io *io, const char *format, ...)
{
    char
        rest[1024]; /* there is one key for each entry of a long table: no memory is asked for it */
    va_list args;
    va_start(args, format);
    int len = vsnprintf(rest, sizeof rest, format, args);
    va_end(args);
    const char *key = len < 0 ? NULL : sbx_arena_printf(io->arena, "%s%s", io->row->name, rest);
    return key == NULL ? io->row->name : key;
}

struct sbx_str sbx_kind_shown(const struct sbx_kind_io *io, const struct sbx_value *value)
{
    const char *text = NULL;
    if (value->type == SBX_VALUE_STRING) return value->string;
    if (value->type == SBX_VALUE_INTEGER)
        text = sbx_arena_printf(io->arena, "%" PRId64, value->integer);
    if (value->type == SBX_VALUE_FLOAT) text = sbx_arena_printf(io->arena, "%g", value->number);
    if (value->type == SBX_VALUE_BOOL) text = value->boolean ? "true" : "false";
    return sbx_str(text);
}

void sbx_kind_wrong(const struct sbx_kind_io *io, const struct sbx_value *value,
                    const char *key_path, const char *wanted)
{
    struct sbx_origin at = sbx_kind_origin(io, value);
    struct sbx_finding *finding = sbx_findings_add(
        io->findings, SBX_F_WRONG_TYPE, &at, key_path, sbx_kind_shown(io, value),
        "\"%s\" must be %s, not %s", key_path, wanted, sbx_value_type_text(value->type));
    sbx_finding_hint(io->findings, finding, "for example: %s = %s", io->row->name,
                     io->row->example);
}

void sbx_kind_bad_choice(const struct sbx_kind_io *io, const struct sbx_origin *at,
                         const char *key_path, struct sbx_str text, const struct sbx_name *names)
{
    AUTO_BUF known;
    sbx_buf_init(&known, 512);
    for (size_t i = 0; names[i].text != NULL; i++)
        sbx_buf_printf(&known, "%s\"%s\"", i == 0 ? "" : ", ", names[i].text);
    struct sbx_finding *finding =
        sbx_findings_add(io->findings, SBX_F_BAD_VALUE, at, key_path, text,
                         "\"%s\" is not one of %s", key_path, sbx_buf_text(&known));
    const char *nearest = sbx_name_nearest_in(text, names);
    if (nearest != NULL)
        sbx_finding_hint(io->findings, finding, "did you mean \"%s\"?", nearest);
    else
        sbx_finding_hint(io->findings, finding, "write one of %s", sbx_buf_text(&known));
}

struct sbx_str sbx_kind_copy(const struct sbx_kind_io *io, struct sbx_str text)
{
    const char *copy = sbx_arena_copy(io->arena, text.ptr == NULL ? "" : text.ptr, text.len);
    if (copy == NULL) {
        io->findings->out_of_memory = true;
        return (struct sbx_str){"", 0};
    }
    return (struct sbx_str){copy, text.len};
}

bool sbx_kind_push_text(const struct sbx_kind_io *io, struct sbx_texts *list, struct sbx_str text,
                        const struct sbx_origin *at)
{
    if (list->count >= SBX_LIST_MAX) {
        sbx_findings_add(io->findings, SBX_F_OUT_OF_RANGE, at, io->row->name, (struct sbx_str){0},
                         "\"%s\" has more than %d entries", io->row->name, SBX_LIST_MAX);
        return false;
    }
    struct sbx_text *item = (struct sbx_text *)sbx_arena_push(io->arena, &list->items, &list->count,
                                                              &list->capacity, sizeof *item);
    if (item == NULL) {
        io->findings->out_of_memory = true;
        return false;
    }
    item->text = sbx_kind_copy(io, text);
    item->at = *at;
    return true;
}

void sbx_kind_read_texts(const struct sbx_kind_io *io, const struct sbx_value *value,
                         const char *suffix, const char *wanted, struct sbx_texts *list)
{
    if (value->type != SBX_VALUE_ARRAY) {
        sbx_kind_wrong(io, value, sbx_kind_key(io, "%s", suffix), wanted);
        return;
    }
    for (size_t i = 0; i < value->array.count; i++) {
        const struct sbx_value *item = &value->array.items[i];
        struct sbx_origin at = sbx_kind_origin(io, item);
        if (item->type != SBX_VALUE_STRING)
            sbx_kind_wrong(io, item, sbx_kind_key(io, "%s[%zu]", suffix, i), "a string");
        else if (!sbx_kind_push_text(io, list, item->string, &at))
            return;
    }
}

struct sbx_value sbx_value_of_text(struct sbx_str text)
{
    return (struct sbx_value){.type = SBX_VALUE_STRING, .string = text};
}

struct sbx_value sbx_value_of_u64(uint64_t number)
{
    return (struct sbx_value){.type = SBX_VALUE_INTEGER, .integer = (int64_t)number};
}

bool sbx_value_of_texts(struct sbx_arena *arena, const struct sbx_texts *list,
                        struct sbx_value *out)
{
    struct sbx_value *items = SBX_NEW_ARRAY(arena, struct sbx_value, list->count);
    if (items == NULL) return false;
    for (size_t i = 0; i < list->count; i++) items[i] = sbx_value_of_text(list->items[i].text);
    *out = (struct sbx_value){.type = SBX_VALUE_ARRAY};
    out->array.items = items;
    out->array.count = list->count;
    return true;
}

static void flags_push(struct sbx_flag_list *flags, const char *text, size_t len)
{
    if (len > 0 && memchr(text, 0, len) != NULL) flags->failed = true;
    const char **slot = (const char **)sbx_arena_push(flags->arena, &flags->items, &flags->count,
                                                      &flags->capacity, sizeof *slot);
    const char *copy = sbx_arena_copy(flags->arena, text, len);
    if (slot == NULL || copy == NULL)
        flags->failed = true;
    else
        *slot = copy;
}

void sbx_flags_add_named(struct sbx_flag_list *flags, const char *flag, struct sbx_str text)
{
    const char *spelled = sbx_arena_printf(flags->arena, "--%s", flag);
    if (spelled == NULL) {
        flags->failed = true;
        return;
    }
    flags_push(flags, spelled, strlen(spelled));
    flags_push(flags, text.ptr == NULL ? "" : text.ptr, text.len);
}

void sbx_flags_add(struct sbx_flag_list *flags, const struct sbx_key_row *row, struct sbx_str text)
{
    sbx_flags_add_named(flags, row->flag, text);
}

void sbx_flags_add_pair(struct sbx_flag_list *flags, const struct sbx_key_row *row,
                        struct sbx_str name, struct sbx_str value)
{
    size_t len = name.len + 1 + value.len;
    char *text = SBX_NEW_ARRAY(flags->arena, char, len + 1);
    if (text == NULL) {
        flags->failed = true;
        return;
    }
    if (name.len > 0) memcpy(text, name.ptr, name.len);
    text[name.len] = '=';
    if (value.len > 0) memcpy(text + name.len + 1, value.ptr, value.len);
    sbx_flags_add(flags, row, (struct sbx_str){text, len});
}

bool sbx_texts_prepend(struct sbx_arena *arena, const struct sbx_texts *under,
                       struct sbx_texts *list)
{
    size_t total = under->count + list->count;
    struct sbx_text *items = SBX_NEW_ARRAY(arena, struct sbx_text, total);
    if (items == NULL) return false;
    if (under->count > 0) memcpy(items, under->items, under->count * sizeof *items);
    if (list->count > 0) memcpy(items + under->count, list->items, list->count * sizeof *items);
    *list = (struct sbx_texts){items, total, total};
    return true;
}
