/* Lines to messages, by the table. Everything is taken where it stands in the line. */
#include <string.h>

#include "common/base/utf8.h"
#include "common/wire/base64.h"
#include "common/wire/wire.h"

#include "common/base/banned.h"

/* Where a member is, for messages: "tty." before "rows". */
struct place {
    const char *outer;
    bool is_strict; /* unknown members are refused */
};

static enum sbx_code refuse(const struct place *place, const struct sbx_wire_member *row,
                            struct sbx_err *err, const char *want)
{
    return sbx_err_set(err, SBX_E_INVALID, "member \"%s%s\" must be %s", place->outer, row->name,
                       want);
}

static enum sbx_code refuse_range(const struct place *place, const struct sbx_wire_member *row,
                                  struct sbx_err *err)
{
    return sbx_err_set(err, SBX_E_INVALID, "member \"%s%s\" must be an integer from %lld to %lld",
                       place->outer, row->name, (long long)row->min, (long long)row->max);
}

static enum sbx_code take_members(const struct sbx_wire_members *members, struct sbx_str raw,
                                  void *body, const struct place *place, struct sbx_err *err);

/* ---- one function a kind ---- */

typedef enum sbx_code taker(const struct place *place, const struct sbx_wire_member *row,
                            const struct sbx_json_value *value, void *field, struct sbx_err *err);

/* Unescapes a string; false when it has a NUL inside, which no text of ours has. */
static bool take_string(const struct sbx_json_value *value, struct sbx_str *out)
{
    if (value->type != SBX_JSON_STRING) return false;
    struct sbx_str text = sbx_json_take_text(value->raw);
    if (memchr(text.ptr, '\0', text.len) != NULL) return false;
    *out = text;
    return true;
}

static enum sbx_code take_text(const struct place *place, const struct sbx_wire_member *row,
                               const struct sbx_json_value *value, void *field, struct sbx_err *err)
{
    struct sbx_str text;
    if (!take_string(value, &text)) return refuse(place, row, err, "a string without NUL");
    if (text.len > (uint64_t)row->max)
        return sbx_err_set(err, SBX_E_INVALID, "member \"%s%s\" has more than %lld bytes",
                           place->outer, row->name, (long long)row->max);
    *(struct sbx_str *)field = text;
    return SBX_OK;
}

static bool is_in_range(const struct sbx_wire_member *row, const struct sbx_json_value *value)
{
    if (value->type != SBX_JSON_NUMBER) return false;
    int64_t number = sbx_json_number(value->raw);
    return number >= row->min && number <= row->max;
}

static enum sbx_code take_int(const struct place *place, const struct sbx_wire_member *row,
                              const struct sbx_json_value *value, void *field, struct sbx_err *err)
{
    if (!is_in_range(row, value)) return refuse_range(place, row, err);
    *(int64_t *)field = sbx_json_number(value->raw);
    return SBX_OK;
}

static enum sbx_code take_bool(const struct place *place, const struct sbx_wire_member *row,
                               const struct sbx_json_value *value, void *field, struct sbx_err *err)
{
    if (value->type != SBX_JSON_BOOL) return refuse(place, row, err, "true or false");
    *(bool *)field = sbx_json_bool(value->raw);
    return SBX_OK;
}

static bool find_word(const struct sbx_wire_member *row, const struct sbx_json_value *value,
                      int *out)
{
    struct sbx_str text;
    return take_string(value, &text) && sbx_name_value(row->names, text, out);
}

static enum sbx_code refuse_word(const struct place *place, const struct sbx_wire_member *row,
                                 struct sbx_err *err)
{
    char words[160] = "one of";
    size_t len = strlen(words);
    for (size_t i = 0; row->names[i].text != NULL; i++) {
        sbx_text_format(words + len, sizeof words - len, " \"%s\"", row->names[i].text);
        len += strlen(words + len);
    }
    return refuse(place, row, err, words);
}

static enum sbx_code take_choice(const struct place *place, const struct sbx_wire_member *row,
                                 const struct sbx_json_value *value, void *field,
                                 struct sbx_err *err)
{
    int chosen;
    if (!find_word(row, value, &chosen)) return refuse_word(place, row, err);
    /* Every enum of the table is as wide as an int, as all of ours are. */
    memcpy(field, &chosen, sizeof chosen);
    return SBX_OK;
}

/* Puts a text behind those that are packed already. It always fits: a string is at least two bytes longer than its text, and what
 * is packed is over before the string begins. */
static bool pack(struct sbx_wire_texts *texts, const struct sbx_json_value *value)
{
    struct sbx_str text;
    if (!take_string(value, &text)) return false;
    char *to = (char *)(uintptr_t)texts->first + texts->len;
    memmove(to, text.ptr, text.len);
    to[text.len] = '\0';
    texts->len += text.len + 1;
    texts->count++;
    return true;
}

static enum sbx_code take_texts(const struct place *place, const struct sbx_wire_member *row,
                                const struct sbx_json_value *value, void *field,
                                struct sbx_err *err)
{
    static const char want[] = "an array of strings without NUL";
    if (value->type != SBX_JSON_ARRAY) return refuse(place, row, err, want);
    struct sbx_wire_texts texts = {.first = value->raw.ptr};
    struct sbx_json_walk walk;
    struct sbx_json_value item;
    for (sbx_json_enter(value->raw, &walk); sbx_json_next_item(&walk, &item);)
        if (!pack(&texts, &item)) return refuse(place, row, err, want);
    if (texts.count < (uint64_t)row->min || texts.count > (uint64_t)row->max)
        return sbx_err_set(err, SBX_E_INVALID, "member \"%s%s\" must have %lld to %lld items",
                           place->outer, row->name, (long long)row->min, (long long)row->max);
    *(struct sbx_wire_texts *)field = texts;
    return SBX_OK;
}

static enum sbx_code take_pairs(const struct place *place, const struct sbx_wire_member *row,
                                const struct sbx_json_value *value, void *field,
                                struct sbx_err *err)
{
    static const char want[] = "an object of strings without NUL";
    if (value->type != SBX_JSON_OBJECT) return refuse(place, row, err, want);
    struct sbx_wire_texts texts = {.first = value->raw.ptr};
    struct sbx_json_walk walk;
    struct sbx_json_value key, text;
    for (sbx_json_enter(value->raw, &walk); sbx_json_next_member(&walk, &key, &text);)
        if (!pack(&texts, &key) || !pack(&texts, &text)) return refuse(place, row, err, want);
    if (texts.count / 2 > (uint64_t)row->max)
        return sbx_err_set(err, SBX_E_INVALID, "member \"%s%s\" has more than %lld members",
                           place->outer, row->name, (long long)row->max);
    *(struct sbx_wire_texts *)field = texts;
    return SBX_OK;
}

static enum sbx_code take_ints(const struct place *place, const struct sbx_wire_member *row,
                               const struct sbx_json_value *value, void *field, struct sbx_err *err)
{
    if (value->type != SBX_JSON_ARRAY) return refuse(place, row, err, "an array of integers");
    struct sbx_wire_ints ints = {0};
    struct sbx_json_walk walk;
    struct sbx_json_value item;
    for (sbx_json_enter(value->raw, &walk); sbx_json_next_item(&walk, &item);) {
        if (!is_in_range(row, &item) || ints.count == SBX_COUNT(ints.items))
            return refuse(place, row, err, "an array of up to 8 integers in their range");
        ints.items[ints.count++] = sbx_json_number(item.raw);
    }
    if (ints.count == 0) return refuse(place, row, err, "an array of 1 to 8 integers");
    *(struct sbx_wire_ints *)field = ints;
    return SBX_OK;
}

static enum sbx_code take_data(const struct place *place, const struct sbx_wire_member *row,
                               const struct sbx_json_value *value, void *field, struct sbx_err *err)
{
    struct sbx_wire_data *data = field;
    if (!take_string(value, &data->bytes))
        return refuse(place, row, err, "a string without NUL; other bytes come as base64");
    return SBX_OK;
}

static enum sbx_code take_encoding(const struct place *place, const struct sbx_wire_member *row,
                                   const struct sbx_json_value *value, void *field,
                                   struct sbx_err *err)
{
    int chosen;
    if (!find_word(row, value, &chosen)) return refuse_word(place, row, err);
    ((struct sbx_wire_data *)field)->is_base64 = chosen != 0;
    return SBX_OK;
}

bool sbx_wire_take_id(const struct sbx_json_value *value, struct sbx_wire_id *id)
{
    if (value->type == SBX_JSON_NUMBER) {
        *id = (struct sbx_wire_id){.is_given = true, .number = sbx_json_number(value->raw)};
        return true;
    }
    struct sbx_str text;
    if (!take_string(value, &text) || text.len > SBX_WIRE_ID_BYTES) return false;
    *id = (struct sbx_wire_id){.is_given = true, .is_text = true};
    memcpy(id->text, text.ptr, text.len);
    return true;
}

static enum sbx_code take_id(const struct place *place, const struct sbx_wire_member *row,
                             const struct sbx_json_value *value, void *field, struct sbx_err *err)
{
    if (!sbx_wire_take_id(value, field))
        return refuse(place, row, err, "an integer, or a string of at most 64 bytes without NUL");
    return SBX_OK;
}

static enum sbx_code take_object(const struct place *place, const struct sbx_wire_member *row,
                                 const struct sbx_json_value *value, void *field,
                                 struct sbx_err *err)
{
    if (value->type != SBX_JSON_OBJECT) return refuse(place, row, err, "an object");
    char outer[64];
    sbx_text_format(outer, sizeof outer, "%s%s.", place->outer, row->name);
    const struct place inner = {outer, place->is_strict};
    return take_members(row->members, value->raw, field, &inner, err);
}

static enum sbx_code take_raw(const struct place *place, const struct sbx_wire_member *row,
                              const struct sbx_json_value *value, void *field, struct sbx_err *err)
{
    if (value->type != SBX_JSON_OBJECT) return refuse(place, row, err, "an object");
    *(struct sbx_str *)field = value->raw;
    return SBX_OK;
}

static enum sbx_code take_raw_list(const struct place *place, const struct sbx_wire_member *row,
                                   const struct sbx_json_value *value, void *field,
                                   struct sbx_err *err)
{
    if (value->type != SBX_JSON_ARRAY) return refuse(place, row, err, "an array");
    *(struct sbx_str *)field = value->raw;
    return SBX_OK;
}

static taker *const takers[SBX_WIRE_KIND_COUNT] = {
    [SBX_WIRE_TEXT] = take_text,         [SBX_WIRE_INT] = take_int,
    [SBX_WIRE_BOOL] = take_bool,         [SBX_WIRE_CHOICE] = take_choice,
    [SBX_WIRE_TEXTS] = take_texts,       [SBX_WIRE_PAIRS] = take_pairs,
    [SBX_WIRE_INTS] = take_ints,         [SBX_WIRE_DATA] = take_data,
    [SBX_WIRE_ENCODING] = take_encoding, [SBX_WIRE_ID] = take_id,
    [SBX_WIRE_OBJECT] = take_object,     [SBX_WIRE_RAW] = take_raw,
    [SBX_WIRE_RAW_LIST] = take_raw_list, [SBX_WIRE_WHOLE] = take_raw,
};

/* ---- an object ---- */

static void *field_of(void *body, const struct sbx_wire_member *row)
{
    return (char *)body + row->at;
}

void sbx_wire_init(const struct sbx_wire_members *members, void *body)
{
    if (members->size > 0) memset(body, 0, members->size);
    for (const struct sbx_wire_member *row = members->rows; row->name != NULL; row++)
        if (row->kind == SBX_WIRE_INT && row->otherwise != 0)
            *(int64_t *)field_of(body, row) = row->otherwise;
}

static enum sbx_code refuse_unknown(const struct place *place, const struct sbx_json_value *key,
                                    struct sbx_err *err)
{
    AUTO_BUF name;
    sbx_buf_init(&name, 256);
    struct sbx_str text = sbx_json_take_text(key->raw);
    text.len = sbx_utf8_cut(text.ptr, text.len > 48 ? 48 : text.len);
    sbx_buf_add_visible(&name, text, false);
    return sbx_err_set(err, SBX_E_INVALID, "there is no member \"%s%s\"", place->outer,
                       sbx_buf_text(&name));
}

/* What needs all members to be there: base64 is known by another member than the one it is in. */
static enum sbx_code finish(const struct sbx_wire_member *row, void *body,
                            const struct place *place, struct sbx_err *err)
{
    if (row->kind != SBX_WIRE_DATA) return SBX_OK;
    struct sbx_wire_data *data = field_of(body, row);
    char *text = (char *)(uintptr_t)data->bytes.ptr;
    size_t len;
    if (!data->is_base64 || text == NULL) return SBX_OK;
    if (!sbx_base64_decode(text, data->bytes.len, text, &len))
        return refuse(place, row, err, "base64 with padding, and nothing else");
    data->bytes.len = len;
    return SBX_OK;
}

static enum sbx_code take_members(const struct sbx_wire_members *members, struct sbx_str raw,
                                  void *body, const struct place *place, struct sbx_err *err)
{
    sbx_wire_init(members, body);
    const struct sbx_wire_member *first = members->rows;
    if (first->kind == SBX_WIRE_WHOLE && first->name != NULL) {
        *(struct sbx_str *)field_of(body, first) = raw;
        return SBX_OK;
    }
    uint32_t given = 0;
    struct sbx_json_walk walk;
    struct sbx_json_value key, value;
    for (sbx_json_enter(raw, &walk); sbx_json_next_member(&walk, &key, &value);) {
        const struct sbx_wire_member *row = first;
        while (row->name != NULL && !sbx_json_is(key.raw, row->name)) row++;
        if (row->name == NULL) {
            if (place->is_strict) return refuse_unknown(place, &key, err);
            continue;
        }
        if (takers[row->kind](place, row, &value, field_of(body, row), err) != SBX_OK)
            return SBX_E_INVALID;
        given |= UINT32_C(1) << (row - first);
    }
    for (const struct sbx_wire_member *row = first; row->name != NULL; row++) {
        if (row->is_required && (given & UINT32_C(1) << (row - first)) == 0)
            return sbx_err_set(err, SBX_E_INVALID, "member \"%s%s\" is missing", place->outer,
                               row->name);
        if (finish(row, body, place, err) != SBX_OK) return SBX_E_INVALID;
    }
    const char *fault = members->fault == NULL ? NULL : members->fault(body);
    if (fault != NULL) return sbx_err_set(err, SBX_E_INVALID, "%s", fault);
    return SBX_OK;
}

enum sbx_wire_code sbx_wire_take_params(const struct sbx_wire_message *message,
                                        union sbx_wire_body *body, struct sbx_err *err)
{
    const struct place place = {"", message->sort == SBX_WIRE_REQUEST};
    enum sbx_code code =
        take_members(sbx_wire_rows[message->method].params, message->params, body, &place, err);
    return code == SBX_OK ? SBX_WIRE_OK : SBX_WIRE_INVALID_PARAMS;
}

enum sbx_wire_code sbx_wire_take_result(const struct sbx_wire_message *message,
                                        enum sbx_wire_method method, union sbx_wire_body *body,
                                        struct sbx_err *err)
{
    const struct place place = {"", false};
    enum sbx_code code =
        take_members(sbx_wire_rows[method].result, message->result, body, &place, err);
    return code == SBX_OK ? SBX_WIRE_OK : SBX_WIRE_INVALID_PARAMS;
}

enum sbx_wire_code sbx_wire_take_error(const struct sbx_wire_message *message,
                                       struct sbx_wire_error *error, struct sbx_err *err)
{
    const struct place place = {"error.", false};
    struct sbx_wire_error taken;
    if (take_members(&sbx_wire_error_members, message->error, &taken, &place, err) != SBX_OK)
        return SBX_WIRE_INVALID_PARAMS;
    taken.code = sbx_wire_code_of(taken.number);
    *error = taken;
    return SBX_WIRE_OK;
}

bool sbx_wire_next_item(struct sbx_json_walk *walk, const struct sbx_wire_members *members,
                        void *item)
{
    const struct place place = {"", false};
    struct sbx_json_value value;
    return sbx_json_next_item(walk, &value) && value.type == SBX_JSON_OBJECT &&
           take_members(members, value.raw, item, &place, NULL) == SBX_OK;
}

bool sbx_wire_next_text(struct sbx_wire_texts *texts, struct sbx_str *out)
{
    if (texts->count == 0) return false;
    *out = sbx_str(texts->first);
    texts->first += out->len + 1;
    texts->len -= out->len + 1;
    texts->count--;
    return true;
}
