/* TOML reader: the rules about what may be defined where, and how a refusal is told. */
#include "common/policy/toml_internal.h"

#include "common/base/banned.h"

/* ---- what may not be ------------------------------------------------------------------------ */

static enum sbx_code refuse_value(struct sbx_toml_reader *reader, const struct sbx_toml_key *key,
                                  const struct sbx_value *value)
{
    const struct sbx_toml_shown name = sbx_toml_show(key->text);
    const unsigned line = (unsigned)value->place.line;
    if (value->type == SBX_VALUE_TABLE) {
        return sbx_toml_fail(reader, key->at,
                             "the inline table %s (line %u) cannot be added to; write all its keys "
                             "between its braces",
                             name.text, line);
    }
    if (value->type == SBX_VALUE_ARRAY) {
        return sbx_toml_fail(reader, key->at,
                             "the array %s (line %u) cannot be added to; write all its items "
                             "between its brackets",
                             name.text, line);
    }
    return sbx_toml_fail(reader, key->at, "%s is %s already (line %u), not a table", name.text,
                         sbx_value_type_text(value->type), line);
}

/* `key` names something to which nothing can be added in this way. */
static enum sbx_code refuse(struct sbx_toml_reader *reader, const struct sbx_toml_key *key,
                            struct sbx_toml_head *head, const char *remedy)
{
    const char *how = "";
    switch (head->kind) {
    case SBX_TOML_VALUE:
        return refuse_value(reader, key, &sbx_toml_as_entry(head)->value);
    case SBX_TOML_IMPLICIT:
        how = "by the header of a table in it";
        break;
    case SBX_TOML_HEADER:
        how = "by its header";
        break;
    case SBX_TOML_DOTTED:
        how = "by dotted keys";
        break;
    case SBX_TOML_TABLES:
        how = "as an array of tables";
        break;
    }
    const struct sbx_toml_shown name = sbx_toml_show(key->text);
    return sbx_toml_fail(reader, key->at, "%s is already defined %s (line %u); %s", name.text, how,
                         (unsigned)sbx_toml_as_table(head)->defined.line, remedy);
}

enum sbx_code sbx_toml_check_new(struct sbx_toml_reader *reader, const struct sbx_toml_table *table,
                                 const struct sbx_toml_key *key, struct sbx_toml_spot *spot)
{
    const struct sbx_toml_head *head = sbx_toml_find(reader, table, key->text, spot);
    if (head == NULL) {
        return SBX_OK;
    }
    const struct sbx_toml_shown name = sbx_toml_show(key->text);
    return sbx_toml_fail(reader, key->at,
                         "the key %s is already defined (line %u); remove one of the two",
                         name.text, (unsigned)head->place.line);
}

/* ---- opening tables ------------------------------------------------------------------------- */

/* A new table (or array of tables) below `parent`, not yet a member of it; NULL after a fault,
 * whose code is in *code. */
static struct sbx_toml_table *new_table(struct sbx_toml_reader *reader,
                                        const struct sbx_toml_table *parent,
                                        const struct sbx_toml_key *key, enum sbx_toml_kind kind,
                                        enum sbx_code *code)
{
    if (parent->depth >= reader->max_depth) {
        *code = sbx_toml_too_deep(reader, key->at);
        return NULL;
    }
    struct sbx_toml_table *table = SBX_NEW(&reader->scratch, struct sbx_toml_table);
    if (table == NULL) {
        *code = sbx_toml_no_memory(reader);
        return NULL;
    }
    table->head.kind = kind;
    table->defined = key->place;
    table->depth = (uint16_t)(parent->depth + 1);
    return table;
}

/* *table becomes a new member table of the given kind. */
static enum sbx_code make_table(struct sbx_toml_reader *reader, struct sbx_toml_table **table,
                                const struct sbx_toml_key *key, const struct sbx_toml_spot *spot,
                                enum sbx_toml_kind kind)
{
    enum sbx_code code = SBX_OK;
    struct sbx_toml_table *made = new_table(reader, *table, key, kind, &code);
    if (made == NULL) {
        return code;
    }
    code = sbx_toml_add(reader, *table, key, spot, &made->head);
    *table = made;
    return code;
}

enum sbx_code sbx_toml_open_dotted(struct sbx_toml_reader *reader, struct sbx_toml_table **table,
                                   const struct sbx_toml_key *key)
{
    struct sbx_toml_spot spot;
    struct sbx_toml_head *head = sbx_toml_find(reader, *table, key->text, &spot);
    if (head == NULL) {
        return make_table(reader, table, key, &spot, SBX_TOML_DOTTED);
    }
    if (head->kind != SBX_TOML_DOTTED && head->kind != SBX_TOML_IMPLICIT) {
        return refuse(reader, key, head, "add the key below that header");
    }
    /* A dotted table can only be reached from the section that made it: a way from another one
     * leads through a table with a header. So there is no need to remember the section. */
    *table = sbx_toml_as_table(head);
    if (head->kind == SBX_TOML_IMPLICIT) {
        head->kind = SBX_TOML_DOTTED;
        (*table)->defined = key->place;
    }
    return SBX_OK;
}

enum sbx_code sbx_toml_open_super(struct sbx_toml_reader *reader, struct sbx_toml_table **table,
                                  const struct sbx_toml_key *key)
{
    struct sbx_toml_spot spot;
    struct sbx_toml_head *head = sbx_toml_find(reader, *table, key->text, &spot);
    if (head == NULL) {
        return make_table(reader, table, key, &spot, SBX_TOML_IMPLICIT);
    }
    if (head->kind == SBX_TOML_VALUE) {
        return refuse(reader, key, head, "");
    }
    *table = sbx_toml_as_table(head);
    if (head->kind == SBX_TOML_TABLES) {
        *table = sbx_toml_as_table((*table)->last); /* a header means the newest element */
    }
    return SBX_OK;
}

enum sbx_code sbx_toml_open_header(struct sbx_toml_reader *reader, struct sbx_toml_table **table,
                                   const struct sbx_toml_key *key)
{
    struct sbx_toml_spot spot;
    struct sbx_toml_head *head = sbx_toml_find(reader, *table, key->text, &spot);
    if (head == NULL) {
        return make_table(reader, table, key, &spot, SBX_TOML_HEADER);
    }
    if (head->kind != SBX_TOML_IMPLICIT) {
        return refuse(reader, key, head,
                      head->kind == SBX_TOML_TABLES ? "double brackets add an element to it"
                                                    : "put all its keys in one place");
    }
    *table = sbx_toml_as_table(head);
    head->kind = SBX_TOML_HEADER;
    (*table)->defined = key->place;
    return SBX_OK;
}

enum sbx_code sbx_toml_open_element(struct sbx_toml_reader *reader, struct sbx_toml_table **table,
                                    const struct sbx_toml_key *key)
{
    struct sbx_toml_spot spot;
    struct sbx_toml_head *head = sbx_toml_find(reader, *table, key->text, &spot);
    enum sbx_code code = SBX_OK;
    if (head == NULL) {
        code = make_table(reader, table, key, &spot, SBX_TOML_TABLES);
    } else if (head->kind == SBX_TOML_TABLES) {
        *table = sbx_toml_as_table(head);
    } else {
        code = refuse(reader, key, head, "double brackets need an array of tables");
    }
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_toml_table *element = new_table(reader, *table, key, SBX_TOML_HEADER, &code);
    if (element == NULL) {
        return code;
    }
    sbx_toml_append(*table, &element->head);
    *table = element;
    return SBX_OK;
}
