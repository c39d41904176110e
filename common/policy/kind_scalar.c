/* Manifest kinds that hold one value: choices, numbers, durations, sizes, texts, identities. */
#include <inttypes.h>

#include "common/policy/manifest_kind.h"

#include "common/base/banned.h"

#define NS_PER_SEC ((uint64_t)1000000000)

/* ---- choices ---- */

static void choice_set(const struct sbx_kind_io *io, const struct sbx_origin *at,
                       struct sbx_str text, void *field)
{
    int value;
    if (sbx_name_value(io->row->names, text, &value))
        *(int *)field = value;
    else
        sbx_kind_bad_choice(io, at, io->row->name, text, io->row->names);
}

static void choice_from_value(const struct sbx_kind_io *io, const struct sbx_value *value,
                              void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, value);
    if (value->type != SBX_VALUE_STRING)
        sbx_kind_wrong(io, value, io->row->name, "a string");
    else
        choice_set(io, &at, value->string, field);
}

static void choice_from_flag(const struct sbx_kind_io *io, struct sbx_str text, void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, NULL);
    choice_set(io, &at, text, field);
}

static struct sbx_str choice_text(const struct sbx_key_row *row, const void *field)
{
    return sbx_str(sbx_name_text(row->names, *(const int *)field));
}

static bool choice_to_value(struct sbx_arena *arena, const struct sbx_key_row *row,
                            const void *field, struct sbx_value *out)
{
    (void)arena;
    *out = sbx_value_of_text(choice_text(row, field));
    return true;
}

static void choice_to_flags(struct sbx_flag_list *flags, const struct sbx_key_row *row,
                            const void *field)
{
    sbx_flags_add(flags, row, choice_text(row, field));
}

const struct sbx_kind sbx_kind_choice = {
    "one of the listed words", false,           sizeof(int),     choice_from_value,
    choice_from_flag,          choice_to_value, choice_to_flags, NULL};

/* ---- one text: a path, an image ---- */

static void text_set(const struct sbx_kind_io *io, const struct sbx_origin *at, struct sbx_str text,
                     void *field)
{
    /* Whether a path is a good one is decided when it is resolved; other texts are used as they
     * are, so nothing unprintable may be in them. */
    bool is_text = io->row->kind == SBX_KIND_TEXT;
    for (size_t i = 0; is_text && i < text.len; i++) {
        if ((unsigned char)text.ptr[i] > 0x20 && text.ptr[i] != 0x7f) continue;
        sbx_findings_add(io->findings, SBX_F_BAD_VALUE, at, io->row->name, text,
                         "\"%s\" has a space or a control character", io->row->name);
        return;
    }
    if (is_text && text.len == 0) {
        sbx_findings_add(io->findings, SBX_F_BAD_VALUE, at, io->row->name, text, "\"%s\" is empty",
                         io->row->name);
        return;
    }
    *(struct sbx_str *)field = sbx_kind_copy(io, text);
}

static void text_from_value(const struct sbx_kind_io *io, const struct sbx_value *value,
                            void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, value);
    if (value->type != SBX_VALUE_STRING)
        sbx_kind_wrong(io, value, io->row->name, "a string");
    else
        text_set(io, &at, value->string, field);
}

static void text_from_flag(const struct sbx_kind_io *io, struct sbx_str text, void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, NULL);
    text_set(io, &at, text, field);
}

static bool text_to_value(struct sbx_arena *arena, const struct sbx_key_row *row, const void *field,
                          struct sbx_value *out)
{
    (void)arena;
    (void)row;
    *out = sbx_value_of_text(*(const struct sbx_str *)field);
    return true;
}

static void text_to_flags(struct sbx_flag_list *flags, const struct sbx_key_row *row,
                          const void *field)
{
    sbx_flags_add(flags, row, *(const struct sbx_str *)field);
}

const struct sbx_kind sbx_kind_path = {
    "an absolute path", false,         sizeof(struct sbx_str), text_from_value,
    text_from_flag,     text_to_value, text_to_flags,          NULL};
const struct sbx_kind sbx_kind_text = {
    "a string",     false,         sizeof(struct sbx_str), text_from_value,
    text_from_flag, text_to_value, text_to_flags,          NULL};

/* ---- numbers ---- */

/* Range check, then store. `show` prints a bound the way the key is written. */
static void number_set(const struct sbx_kind_io *io, const struct sbx_origin *at,
                       struct sbx_str shown, uint64_t number, uint64_t *field,
                       void (*show)(uint64_t, struct sbx_buf *))
{
    const struct sbx_key_row *row = io->row;
    if (number >= row->min && number <= row->max) {
        *field = number;
        return;
    }
    AUTO_BUF bounds;
    sbx_buf_init(&bounds, 128);
    show(row->min, &bounds);
    sbx_buf_add_text(&bounds, " to ");
    show(row->max, &bounds);
    struct sbx_finding *finding = sbx_findings_add(io->findings, SBX_F_OUT_OF_RANGE, at, row->name,
                                                   shown, "\"%s\" is out of range", row->name);
    sbx_finding_hint(io->findings, finding, "write a value from %s", sbx_buf_text(&bounds));
}

static void show_plain(uint64_t number, struct sbx_buf *out)
{
    sbx_buf_printf(out, "%" PRIu64, number);
}

/* Negative numbers are out of range, never a huge positive one. */
static bool take_integer(const struct sbx_kind_io *io, const struct sbx_value *value, uint64_t *out)
{
    if (value->integer >= 0) {
        *out = (uint64_t)value->integer;
        return true;
    }
    struct sbx_origin at = sbx_kind_origin(io, value);
    struct sbx_finding *finding =
        sbx_findings_add(io->findings, SBX_F_OUT_OF_RANGE, &at, io->row->name,
                         sbx_kind_shown(io, value), "\"%s\" is negative", io->row->name);
    sbx_finding_hint(io->findings, finding, "for example: %s = %s", io->row->name,
                     io->row->example);
    return false;
}

static void bad_quantity(const struct sbx_kind_io *io, const struct sbx_origin *at,
                         struct sbx_str text, const char *what)
{
    struct sbx_finding *finding = sbx_findings_add(io->findings, SBX_F_BAD_VALUE, at, io->row->name,
                                                   text, "\"%s\" is not %s", io->row->name, what);
    sbx_finding_hint(io->findings, finding, "for example: %s = %s", io->row->name,
                     io->row->example);
}

static void counter_from_value(const struct sbx_kind_io *io, const struct sbx_value *value,
                               void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, value);
    uint64_t number;
    if (value->type != SBX_VALUE_INTEGER)
        sbx_kind_wrong(io, value, io->row->name, "an integer");
    else if (take_integer(io, value, &number))
        number_set(io, &at, sbx_kind_shown(io, value), number, (uint64_t *)field, show_plain);
}

static void counter_from_flag(const struct sbx_kind_io *io, struct sbx_str text, void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, NULL);
    uint64_t number;
    if (!sbx_str_to_u64(text, &number))
        bad_quantity(io, &at, text, "a whole number");
    else
        number_set(io, &at, text, number, (uint64_t *)field, show_plain);
}

static bool number_to_value(struct sbx_arena *arena, const struct sbx_key_row *row,
                            const void *field, struct sbx_value *out)
{
    (void)arena;
    (void)row;
    *out = sbx_value_of_u64(*(const uint64_t *)field);
    return true;
}

static void number_to_flags(struct sbx_flag_list *flags, const struct sbx_key_row *row,
                            const void *field)
{
    const char *text = sbx_arena_printf(flags->arena, "%" PRIu64, *(const uint64_t *)field);
    if (text == NULL) flags->failed = true;
    sbx_flags_add(flags, row, sbx_str(text));
}

const struct sbx_kind sbx_kind_counter = {
    "an integer",      false,           sizeof(uint64_t), counter_from_value,
    counter_from_flag, number_to_value, number_to_flags,  NULL};

static void bytes_from_flag(const struct sbx_kind_io *io, struct sbx_str text, void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, NULL);
    uint64_t number;
    if (!sbx_bytes_parse(text, &number))
        bad_quantity(io, &at, text, "a size");
    else
        number_set(io, &at, text, number, (uint64_t *)field, sbx_bytes_print);
}

static void bytes_from_value(const struct sbx_kind_io *io, const struct sbx_value *value,
                             void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, value);
    uint64_t number;
    if (value->type == SBX_VALUE_INTEGER) {
        if (take_integer(io, value, &number))
            number_set(io, &at, sbx_kind_shown(io, value), number, (uint64_t *)field,
                       sbx_bytes_print);
    } else if (value->type != SBX_VALUE_STRING) {
        sbx_kind_wrong(io, value, io->row->name, "an integer or a size such as \"256MiB\"");
    } else if (!sbx_bytes_parse(value->string, &number)) {
        bad_quantity(io, &at, value->string, "a size");
    } else {
        number_set(io, &at, value->string, number, (uint64_t *)field, sbx_bytes_print);
    }
}

const struct sbx_kind sbx_kind_bytes = {
    "a size",        false,           sizeof(uint64_t), bytes_from_value,
    bytes_from_flag, number_to_value, number_to_flags,  NULL};

/* ---- durations: { secs, nanos } or "30s" ---- */

static bool duration_part(const struct sbx_kind_io *io, const struct sbx_member *member,
                          uint64_t max, uint64_t *out)
{
    const char *key = sbx_kind_key(io, ".%.*s", SBX_STR_ARG(member->key));
    struct sbx_origin at = sbx_kind_origin(io, &member->value);
    if (member->value.type != SBX_VALUE_INTEGER) {
        sbx_kind_wrong(io, &member->value, key, "an integer");
        return false;
    }
    if (member->value.integer < 0 || (uint64_t)member->value.integer > max) {
        sbx_findings_add(io->findings, SBX_F_OUT_OF_RANGE, &at, key,
                         sbx_kind_shown(io, &member->value), "\"%s\" is out of range", key);
        return false;
    }
    *out = (uint64_t)member->value.integer;
    return true;
}

static void duration_from_table(const struct sbx_kind_io *io, const struct sbx_value *value,
                                void *field)
{
    uint64_t secs = 0;
    uint64_t nanos = 0;
    bool ok = true;
    for (size_t i = 0; i < value->table.count; i++) {
        const struct sbx_member *member = &value->table.members[i];
        if (sbx_str_is(member->key, "secs")) {
            ok &= duration_part(io, member, UINT64_MAX / NS_PER_SEC - 1, &secs);
        } else if (sbx_str_is(member->key, "nanos")) {
            ok &= duration_part(io, member, NS_PER_SEC - 1, &nanos);
        } else {
            struct sbx_origin at = {.source = io->source, .place = member->place};
            struct sbx_finding *finding = sbx_findings_add(
                io->findings, SBX_F_UNKNOWN_KEY, &at,
                sbx_kind_key(io, ".%.*s", SBX_STR_ARG(member->key)), member->key,
                "\"%s\" has no key \"%.*s\"", io->row->name, SBX_STR_ARG(member->key));
            sbx_finding_hint(io->findings, finding, "its keys are \"secs\" and \"nanos\"");
            ok = false;
        }
    }
    struct sbx_origin at = sbx_kind_origin(io, value);
    if (ok)
        number_set(io, &at, (struct sbx_str){0}, secs * NS_PER_SEC + nanos, (uint64_t *)field,
                   sbx_duration_print);
}

static void duration_from_text(const struct sbx_kind_io *io, const struct sbx_origin *at,
                               struct sbx_str text, void *field)
{
    uint64_t ns;
    if (!sbx_duration_parse(text, &ns))
        bad_quantity(io, at, text, "a duration");
    else
        number_set(io, at, text, ns, (uint64_t *)field, sbx_duration_print);
}

static void duration_from_value(const struct sbx_kind_io *io, const struct sbx_value *value,
                                void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, value);
    if (value->type == SBX_VALUE_TABLE)
        duration_from_table(io, value, field);
    else if (value->type == SBX_VALUE_STRING)
        duration_from_text(io, &at, value->string, field);
    else
        sbx_kind_wrong(io, value, io->row->name, "a duration such as \"30s\", or { secs, nanos }");
}

static void duration_from_flag(const struct sbx_kind_io *io, struct sbx_str text, void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, NULL);
    duration_from_text(io, &at, text, field);
}

/* { secs, nanos } says every value exactly; the short text is used where it does too. */
static bool duration_to_value(struct sbx_arena *arena, const struct sbx_key_row *row,
                              const void *field, struct sbx_value *out)
{
    (void)row;
    uint64_t ns = *(const uint64_t *)field;
    if (ns % 1000000 == 0) {
        AUTO_BUF text;
        sbx_buf_init(&text, 64);
        sbx_duration_print(ns, &text);
        const char *copy = sbx_arena_copy(arena, sbx_buf_text(&text), text.len);
        if (copy == NULL) return false;
        *out = sbx_value_of_text((struct sbx_str){copy, text.len});
        return true;
    }
    struct sbx_member *members = SBX_NEW_ARRAY(arena, struct sbx_member, 2);
    if (members == NULL) return false;
    members[0] =
        (struct sbx_member){.key = sbx_str("secs"), .value = sbx_value_of_u64(ns / NS_PER_SEC)};
    members[1] =
        (struct sbx_member){.key = sbx_str("nanos"), .value = sbx_value_of_u64(ns % NS_PER_SEC)};
    *out = (struct sbx_value){.type = SBX_VALUE_TABLE};
    out->table.members = members;
    out->table.count = 2;
    return true;
}

static void duration_to_flags(struct sbx_flag_list *flags, const struct sbx_key_row *row,
                              const void *field)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 64);
    sbx_duration_print(*(const uint64_t *)field, &text);
    sbx_flags_add(flags, row, sbx_buf_str(&text));
}

const struct sbx_kind sbx_kind_duration = {"a duration",       false,
                                           sizeof(uint64_t),   duration_from_value,
                                           duration_from_flag, duration_to_value,
                                           duration_to_flags,  NULL};

/* ---- users and groups ---- */

static void identity_set(const struct sbx_kind_io *io, const struct sbx_origin *at,
                         struct sbx_str text, void *field)
{
    struct sbx_identity *identity = (struct sbx_identity *)field;
    uint64_t id;
    if (sbx_str_to_u64(text, &id)) {
        if (id <= io->row->max)
            *identity = (struct sbx_identity){.is_id = true, .id = (uint32_t)id};
        else
            sbx_findings_add(io->findings, SBX_F_OUT_OF_RANGE, at, io->row->name, text,
                             "\"%s\" is out of range", io->row->name);
        return;
    }
    bool ok = text.len > 0 && text.len <= 256 && text.ptr[0] != '-';
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        ok &= (unsigned char)c > 0x20 && c != 0x7f && c != ':' && c != '/';
    }
    if (ok)
        *identity = (struct sbx_identity){.name = sbx_kind_copy(io, text)};
    else
        sbx_findings_add(io->findings, SBX_F_BAD_VALUE, at, io->row->name, text,
                         "\"%s\" is not an account name or number", io->row->name);
}

static void identity_from_value(const struct sbx_kind_io *io, const struct sbx_value *value,
                                void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, value);
    uint64_t id;
    if (value->type == SBX_VALUE_STRING)
        identity_set(io, &at, value->string, field);
    else if (value->type != SBX_VALUE_INTEGER)
        sbx_kind_wrong(io, value, io->row->name, "a name or a number");
    else if (take_integer(io, value, &id))
        identity_set(io, &at, sbx_kind_shown(io, value), field);
}

static void identity_from_flag(const struct sbx_kind_io *io, struct sbx_str text, void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, NULL);
    identity_set(io, &at, text, field);
}

static bool identity_to_value(struct sbx_arena *arena, const struct sbx_key_row *row,
                              const void *field, struct sbx_value *out)
{
    (void)arena;
    (void)row;
    const struct sbx_identity *identity = (const struct sbx_identity *)field;
    *out = identity->is_id ? sbx_value_of_u64(identity->id) : sbx_value_of_text(identity->name);
    return true;
}

static void identity_to_flags(struct sbx_flag_list *flags, const struct sbx_key_row *row,
                              const void *field)
{
    const struct sbx_identity *identity = (const struct sbx_identity *)field;
    struct sbx_str text = identity->name;
    if (identity->is_id) text = sbx_str(sbx_arena_printf(flags->arena, "%" PRIu32, identity->id));
    sbx_flags_add(flags, row, text);
}

const struct sbx_kind sbx_kind_identity = {"a name or a number",        false,
                                           sizeof(struct sbx_identity), identity_from_value,
                                           identity_from_flag,          identity_to_value,
                                           identity_to_flags,           NULL};
