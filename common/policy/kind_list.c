/* Manifest kinds that hold a list: paths, texts, protected names, dimensions. */
#include "common/policy/manifest_kind.h"

#include "common/base/banned.h"

/* In flags, where an empty list cannot be written. */
#define WORD_NONE "none"
#define WORD_DEFAULTS "defaults"

/* ---- paths and texts ---- */

static void paths_from_value(const struct sbx_kind_io *io, const struct sbx_value *value,
                             void *field)
{
    sbx_kind_read_texts(io, value, "", "a list of paths", (struct sbx_texts *)field);
}

static void texts_from_value(const struct sbx_kind_io *io, const struct sbx_value *value,
                             void *field)
{
    sbx_kind_read_texts(io, value, "", "a list of strings", (struct sbx_texts *)field);
}

static void texts_from_flag(const struct sbx_kind_io *io, struct sbx_str text, void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, NULL);
    (void)sbx_kind_push_text(io, (struct sbx_texts *)field, text, &at);
}

static bool texts_to_value(struct sbx_arena *arena, const struct sbx_key_row *row,
                           const void *field, struct sbx_value *out)
{
    (void)row;
    return sbx_value_of_texts(arena, (const struct sbx_texts *)field, out);
}

static void texts_to_flags(struct sbx_flag_list *flags, const struct sbx_key_row *row,
                           const void *field)
{
    const struct sbx_texts *list = (const struct sbx_texts *)field;
    for (size_t i = 0; i < list->count; i++) sbx_flags_add(flags, row, list->items[i].text);
}

static bool texts_merge(struct sbx_arena *arena, const void *under, void *field)
{
    return sbx_texts_prepend(arena, (const struct sbx_texts *)under, (struct sbx_texts *)field);
}

const struct sbx_kind sbx_kind_paths = {
    "a list of paths", true,           sizeof(struct sbx_texts), paths_from_value,
    texts_from_flag,   texts_to_value, texts_to_flags,           texts_merge};
const struct sbx_kind sbx_kind_texts = {
    "a list of strings", true,           sizeof(struct sbx_texts), texts_from_value,
    texts_from_flag,     texts_to_value, texts_to_flags,           texts_merge};

/* ---- protected names: a list in which "defaults" stands for the built-in names ---- */

static bool protect_name_ok(struct sbx_str name)
{
    if (name.len == 0 || name.len > 255) return false;
    if (sbx_str_is(name, ".") || sbx_str_is(name, "..")) return false;
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        if (c < 0x20 || c == 0x7f || c == '/' || c == '\\' || c == '*' || c == '?') return false;
    }
    return true;
}

static void protect_add(const struct sbx_kind_io *io, const struct sbx_origin *at,
                        const char *key_path, struct sbx_str name, struct sbx_protect *protect)
{
    if (sbx_str_is(name, WORD_DEFAULTS)) {
        protect->with_defaults = true;
        return;
    }
    if (protect_name_ok(name)) {
        (void)sbx_kind_push_text(io, &protect->names, name, at);
        return;
    }
    struct sbx_finding *finding =
        sbx_findings_add(io->findings, SBX_F_BAD_VALUE, at, key_path, name,
                         "\"%s\" must be one name, without separators and wildcards", key_path);
    sbx_finding_hint(io->findings, finding,
                     "names are protected at any depth; for one path or a glob use filesystem = { "
                     "\"PATH\" = \"read\" }");
}

static void protect_from_value(const struct sbx_kind_io *io, const struct sbx_value *value,
                               void *field)
{
    struct sbx_protect *protect = (struct sbx_protect *)field;
    *protect = (struct sbx_protect){0};
    if (value->type == SBX_VALUE_STRING && sbx_str_is(value->string, WORD_DEFAULTS)) {
        protect->with_defaults = true;
        return;
    }
    struct sbx_texts names = {0};
    sbx_kind_read_texts(io, value, "", "a list of names", &names);
    for (size_t i = 0; i < names.count; i++)
        protect_add(io, &names.items[i].at, sbx_kind_key(io, "[%zu]", i), names.items[i].text,
                    protect);
}

static void protect_from_flag(const struct sbx_kind_io *io, struct sbx_str text, void *field)
{
    struct sbx_protect *protect = (struct sbx_protect *)field;
    struct sbx_origin at = sbx_kind_origin(io, NULL);
    if (sbx_str_is(text, WORD_NONE)) {
        *protect = (struct sbx_protect){0};
        return;
    }
    /* "--protect .env" adds to the built-in names; dropping those is said with "none". */
    if (io->is_fresh) *protect = (struct sbx_protect){.with_defaults = true};
    protect_add(io, &at, io->row->name, text, protect);
}

static bool protect_to_value(struct sbx_arena *arena, const struct sbx_key_row *row,
                             const void *field, struct sbx_value *out)
{
    (void)row;
    const struct sbx_protect *protect = (const struct sbx_protect *)field;
    struct sbx_texts all = protect->names;
    struct sbx_text word = {.text = sbx_str(WORD_DEFAULTS)};
    struct sbx_texts front = {&word, protect->with_defaults ? 1 : 0, 1};
    return sbx_texts_prepend(arena, &front, &all) && sbx_value_of_texts(arena, &all, out);
}

static void protect_to_flags(struct sbx_flag_list *flags, const struct sbx_key_row *row,
                             const void *field)
{
    const struct sbx_protect *protect = (const struct sbx_protect *)field;
    sbx_flags_add(flags, row, sbx_str(protect->with_defaults ? WORD_DEFAULTS : WORD_NONE));
    for (size_t i = 0; i < protect->names.count; i++)
        if (sbx_str_is(protect->names.items[i].text, WORD_NONE)) flags->failed = true;
    texts_to_flags(flags, row, &protect->names);
}

static bool protect_merge(struct sbx_arena *arena, const void *under, void *field)
{
    const struct sbx_protect *below = (const struct sbx_protect *)under;
    struct sbx_protect *protect = (struct sbx_protect *)field;
    if (!protect->with_defaults && protect->names.count == 0) return true;
    protect->with_defaults |= below->with_defaults;
    return sbx_texts_prepend(arena, &below->names, &protect->names);
}

const struct sbx_kind sbx_kind_protect = {"a list of names",          true,
                                          sizeof(struct sbx_protect), protect_from_value,
                                          protect_from_flag,          protect_to_value,
                                          protect_to_flags,           protect_merge};

/* ---- dimensions: a set ---- */

static void dimension_add(const struct sbx_kind_io *io, const struct sbx_origin *at,
                          const char *key_path, struct sbx_str name, uint32_t *bits)
{
    int value;
    if (sbx_name_value(io->row->names, name, &value))
        *bits |= 1u << value;
    else
        sbx_kind_bad_choice(io, at, key_path, name, io->row->names);
}

static void dimensions_from_value(const struct sbx_kind_io *io, const struct sbx_value *value,
                                  void *field)
{
    struct sbx_texts names = {0};
    sbx_kind_read_texts(io, value, "", "a list of dimensions", &names);
    for (size_t i = 0; i < names.count; i++)
        dimension_add(io, &names.items[i].at, sbx_kind_key(io, "[%zu]", i), names.items[i].text,
                      (uint32_t *)field);
}

static void dimensions_from_flag(const struct sbx_kind_io *io, struct sbx_str text, void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, NULL);
    uint32_t *bits = (uint32_t *)field;
    if (sbx_str_is(text, WORD_NONE)) {
        *bits = 0;
        return;
    }
    if (io->is_fresh) *bits = (1u << SBX_DIM_FILESYSTEM) | (1u << SBX_DIM_NETWORK);
    bool more = true;
    while (more) {
        struct sbx_str name;
        more = sbx_str_split(text, ',', &name, &text);
        dimension_add(io, &at, io->row->name, name, bits);
    }
}

static bool dimensions_to_value(struct sbx_arena *arena, const struct sbx_key_row *row,
                                const void *field, struct sbx_value *out)
{
    uint32_t bits = *(const uint32_t *)field;
    struct sbx_value *items = SBX_NEW_ARRAY(arena, struct sbx_value, SBX_DIM_COUNT);
    if (items == NULL) return false;
    size_t count = 0;
    for (int i = 0; i < SBX_DIM_COUNT; i++)
        if (bits & (1u << i))
            items[count++] = sbx_value_of_text(sbx_str(sbx_name_text(row->names, i)));
    *out = (struct sbx_value){.type = SBX_VALUE_ARRAY};
    out->array.items = items;
    out->array.count = count;
    return true;
}

static void dimensions_to_flags(struct sbx_flag_list *flags, const struct sbx_key_row *row,
                                const void *field)
{
    uint32_t bits = *(const uint32_t *)field;
    sbx_flags_add(flags, row, sbx_str(WORD_NONE));
    for (int i = 0; i < SBX_DIM_COUNT; i++)
        if (bits & (1u << i)) sbx_flags_add(flags, row, sbx_str(sbx_name_text(row->names, i)));
}

static bool dimensions_merge(struct sbx_arena *arena, const void *under, void *field)
{
    (void)arena;
    uint32_t *bits = (uint32_t *)field;
    if (*bits != 0) *bits |= *(const uint32_t *)under;
    return true;
}

const struct sbx_kind sbx_kind_dimensions = {"a list of dimensions", true,
                                             sizeof(uint32_t),       dimensions_from_value,
                                             dimensions_from_flag,   dimensions_to_value,
                                             dimensions_to_flags,    dimensions_merge};
