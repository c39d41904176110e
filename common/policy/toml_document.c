/* TOML reader: the document as lines of headers and key/value pairs, and the keys in both. */
#include "common/policy/toml_internal.h"

#include "common/base/banned.h"

/* At a byte that starts no key. */
static enum sbx_code missing_key(struct sbx_toml_reader *reader)
{
    switch (sbx_toml_peek(reader)) {
    case '=':
        return sbx_toml_fail(reader, reader->at, "a key is missing before \"=\"");
    case '.':
        return sbx_toml_fail(reader, reader->at, "a key is missing before \".\"");
    case ']':
        return sbx_toml_fail(reader, reader->at, "the name of the table is missing before \"]\"");
    default:
        return sbx_toml_expected(reader, "a key (letters, digits, \"_\" and \"-\"; "
                                         "others need quotes)");
    }
}

/* One part of a key; stops at the first byte behind it that is no space. */
static enum sbx_code read_key(struct sbx_toml_reader *reader, struct sbx_toml_key *out)
{
    out->at = reader->at;
    out->place = sbx_toml_place(reader, reader->at);
    const char *end = sbx_toml_skip(reader, reader->at, SBX_TOML_BARE);
    if (end > reader->at) {
        out->text = (struct sbx_str){reader->at, (size_t)(end - reader->at)};
        reader->at = end;
    } else {
        char c = sbx_toml_peek(reader);
        if (c != '"' && c != '\'') {
            return missing_key(reader);
        }
        enum sbx_code code = sbx_toml_read_string(reader, false, &out->text);
        if (code != SBX_OK) {
            return code;
        }
    }
    sbx_toml_skip_space(reader);
    return SBX_OK;
}

/* After a key, at a byte that is not what has to come. */
static enum sbx_code bad_key_end(struct sbx_toml_reader *reader, const struct sbx_toml_key *key,
                                 const char *what)
{
    bool bare = *key->at != '"' && *key->at != '\'';
    bool touches = reader->at[-1] != ' ' && reader->at[-1] != '\t';
    if (bare && touches && reader->at < reader->end && (unsigned char)*reader->at > ' ') {
        struct sbx_toml_shown shown = sbx_toml_show(key->text);
        return sbx_toml_fail(reader, reader->at,
                             "expected %s after the key %s; a key with characters other than "
                             "A-Z a-z 0-9 _ - needs quotes",
                             what, shown.text);
    }
    return sbx_toml_expected(reader, what);
}

/* The dotted key of a header up to its last part, opened part by part. */
static enum sbx_code read_header_key(struct sbx_toml_reader *reader, sbx_toml_open *open,
                                     struct sbx_toml_key *key)
{
    struct sbx_toml_table *table = &reader->root;
    enum sbx_code code = read_key(reader, key);
    while (code == SBX_OK && sbx_toml_peek(reader) == '.') {
        code = sbx_toml_open_super(reader, &table, key);
        if (code == SBX_OK) {
            reader->at++;
            sbx_toml_skip_space(reader);
            code = read_key(reader, key);
        }
    }
    if (code != SBX_OK) {
        return code;
    }
    if (sbx_toml_peek(reader) != ']') {
        return bad_key_end(reader, key, "\"]\"");
    }
    code = open(reader, &table, key);
    if (code == SBX_OK) {
        reader->section = table;
    }
    return code;
}

/* At "[": [table] or [[array of tables]]. */
static enum sbx_code read_header(struct sbx_toml_reader *reader)
{
    reader->at++;
    bool is_element = sbx_toml_peek(reader) == '[';
    if (is_element) {
        reader->at++;
    }
    sbx_toml_skip_space(reader);
    struct sbx_toml_key key = {.at = reader->at};
    enum sbx_code code =
        read_header_key(reader, is_element ? sbx_toml_open_element : sbx_toml_open_header, &key);
    if (code != SBX_OK) {
        return code;
    }
    reader->at++;
    if (is_element) {
        if (sbx_toml_peek(reader) != ']') {
            return sbx_toml_expected(reader, "\"]]\" without a space between the brackets");
        }
        reader->at++;
    }
    return sbx_toml_end_line(reader, "the end of the line after the header");
}

enum sbx_code sbx_toml_read_pair(struct sbx_toml_reader *reader, struct sbx_toml_table *table)
{
    struct sbx_toml_key key = {.at = reader->at};
    enum sbx_code code = read_key(reader, &key);
    while (code == SBX_OK && sbx_toml_peek(reader) == '.') {
        code = sbx_toml_open_dotted(reader, &table, &key);
        if (code == SBX_OK) {
            reader->at++;
            sbx_toml_skip_space(reader);
            code = read_key(reader, &key);
        }
    }
    if (code != SBX_OK) {
        return code;
    }
    if (sbx_toml_peek(reader) != '=') {
        return bad_key_end(reader, &key, "\"=\"");
    }
    struct sbx_toml_spot spot;
    code = sbx_toml_check_new(reader, table, &key, &spot);
    if (code != SBX_OK) {
        return code;
    }
    reader->at++;
    sbx_toml_skip_space(reader);
    struct sbx_toml_entry *entry = sbx_toml_new_entry(reader);
    if (entry == NULL) {
        return sbx_toml_no_memory(reader);
    }
    code = sbx_toml_read_value(reader, table->depth, &entry->value);
    return code == SBX_OK ? sbx_toml_add(reader, table, &key, &spot, &entry->head) : code;
}

static enum sbx_code read_statement(struct sbx_toml_reader *reader)
{
    if (*reader->at == '[') {
        enum sbx_code ended = sbx_toml_end_section(reader);
        return ended == SBX_OK ? read_header(reader) : ended;
    }
    enum sbx_code code = sbx_toml_read_pair(reader, reader->section);
    if (code != SBX_OK) {
        return code;
    }
    return sbx_toml_end_line(reader, "the end of the line after the value");
}

enum sbx_code sbx_toml_read_document(struct sbx_toml_reader *reader)
{
    reader->section = &reader->root;
    enum sbx_code code = sbx_toml_skip_blank(reader);
    while (code == SBX_OK && reader->at < reader->end) {
        code = read_statement(reader);
        if (code == SBX_OK) {
            code = sbx_toml_skip_blank(reader);
        }
    }
    return code;
}
