/* TOML reader: the members of tables, while they grow and when they are done. */
#include <string.h>

#include "common/policy/toml_internal.h"

#include "common/base/banned.h"

/* A list is searched one by one up to here, through its index from here on. A run is never longer.
 */
#define INDEX_FROM 9

#define SLAB_ENTRIES 32

/* ---- growing -------------------------------------------------------------------------------- */

struct sbx_toml_entry *sbx_toml_new_entry(struct sbx_toml_reader *reader)
{
    struct sbx_toml_entry *entry = NULL;
    if (reader->spare != NULL) {
        entry = sbx_toml_as_entry(reader->spare);
        reader->spare = reader->spare->next;
    } else {
        if (reader->fresh_count == 0) {
            reader->fresh = SBX_NEW_ARRAY(&reader->scratch, struct sbx_toml_entry, SLAB_ENTRIES);
            if (reader->fresh == NULL) {
                return NULL;
            }
            reader->fresh_count = SLAB_ENTRIES;
        }
        entry = reader->fresh++;
        reader->fresh_count--;
    }
    entry->head.key = NULL;
    entry->head.key_len = 0;
    entry->head.kind = SBX_TOML_VALUE;
    entry->head.next = NULL;
    return entry;
}

/* A table is larger than an entry, so that all of a list may serve as entries again. */
static void reuse_list(struct sbx_toml_reader *reader, struct sbx_toml_table *table)
{
    if (table->last != NULL) {
        table->last->next = reader->spare;
        reader->spare = table->first;
        table->first = NULL;
        table->last = NULL;
        table->count = 0;
    }
}

void sbx_toml_append(struct sbx_toml_table *tables, struct sbx_toml_head *head)
{
    if (tables->last == NULL) {
        tables->first = head;
    } else {
        tables->last->next = head;
    }
    tables->last = head;
    tables->count++;
}

static bool is_key(const char *key, size_t len, struct sbx_str wanted)
{
    return len == wanted.len && memcmp(key, wanted.ptr, len) == 0;
}

static struct sbx_toml_head *find_in_run(struct sbx_toml_reader *reader,
                                         const struct sbx_toml_table *table, struct sbx_str key)
{
    for (size_t i = 0; i < table->run_count; i++) {
        const struct sbx_member *member = &table->run[i];
        if (is_key(member->key.ptr, member->key.len, key)) {
            reader->found.head.kind = SBX_TOML_VALUE;
            reader->found.head.place = member->place;
            reader->found.value = member->value;
            return &reader->found.head;
        }
    }
    return NULL;
}

struct sbx_toml_head *sbx_toml_find(struct sbx_toml_reader *reader,
                                    const struct sbx_toml_table *table, struct sbx_str key,
                                    struct sbx_toml_spot *spot)
{
    /* Neighbours in the file are mostly neighbours in the tree. */
    if (table->last != NULL && is_key(table->last->key, table->last->key_len, key)) {
        return table->last;
    }
    struct sbx_toml_head *head = find_in_run(reader, table, key);
    if (head != NULL) {
        return head;
    }
    if (table->count >= INDEX_FROM) {
        return sbx_toml_index_find(table, key, spot);
    }
    head = table->first;
    while (head != NULL && !is_key(head->key, head->key_len, key)) {
        head = head->next;
    }
    return head;
}

enum sbx_code sbx_toml_add(struct sbx_toml_reader *reader, struct sbx_toml_table *table,
                           const struct sbx_toml_key *key, const struct sbx_toml_spot *spot,
                           struct sbx_toml_head *head)
{
    head->key = key->text.ptr;
    head->key_len = (uint32_t)key->text.len;
    head->place = key->place;
    sbx_toml_append(table, head);
    if (table->count == INDEX_FROM) {
        return sbx_toml_index_build(reader, table);
    }
    return table->count > INDEX_FROM ? sbx_toml_index_add(reader, table, head, spot) : SBX_OK;
}

/* ---- done ----------------------------------------------------------------------------------- */

/* Closes a table, or all tables of an array of tables. */
static enum sbx_code close_open(struct sbx_toml_reader *reader, struct sbx_toml_table *table,
                                struct sbx_value *out)
{
    if (table->head.kind != SBX_TOML_TABLES) {
        return sbx_toml_close_table(reader, table, out);
    }
    struct sbx_value *elements = SBX_NEW_ARRAY(reader->arena, struct sbx_value, table->count);
    if (elements == NULL) {
        return sbx_toml_no_memory(reader);
    }
    out->type = SBX_VALUE_ARRAY;
    out->place = table->defined;
    out->array.items = elements;
    out->array.count = table->count;
    enum sbx_code code = SBX_OK;
    for (struct sbx_toml_head *head = table->first; head != NULL && code == SBX_OK;
         head = head->next) {
        code = sbx_toml_close_table(reader, sbx_toml_as_table(head), elements++);
    }
    return code;
}

/* The list as members from `member` on; the run, if any, stands before it. */
static enum sbx_code copy_members(struct sbx_toml_reader *reader,
                                  const struct sbx_toml_table *table, struct sbx_member *member)
{
    enum sbx_code code = SBX_OK;
    for (struct sbx_toml_head *head = table->first; head != NULL && code == SBX_OK;
         head = head->next) {
        member->key = (struct sbx_str){head->key, head->key_len};
        member->place = head->place;
        if (head->kind == SBX_TOML_VALUE) {
            member->value = sbx_toml_as_entry(head)->value;
        } else {
            code = close_open(reader, sbx_toml_as_table(head), &member->value);
        }
        member++;
    }
    return code;
}

static struct sbx_member *new_members(struct sbx_toml_reader *reader,
                                      const struct sbx_toml_table *table)
{
    return SBX_NEW_ARRAY(reader->arena, struct sbx_member, table->run_count + table->count);
}

enum sbx_code sbx_toml_end_section(struct sbx_toml_reader *reader)
{
    struct sbx_toml_table *table = reader->section;
    if (table->count == 0 || table->count >= INDEX_FROM || table->run != NULL) {
        return SBX_OK;
    }
    for (const struct sbx_toml_head *head = table->first; head != NULL; head = head->next) {
        if (head->kind != SBX_TOML_VALUE) {
            return SBX_OK;
        }
    }
    struct sbx_member *run = new_members(reader, table);
    if (run == NULL) {
        return sbx_toml_no_memory(reader);
    }
    enum sbx_code code = copy_members(reader, table, run);
    table->run = run;
    table->run_count = (uint8_t)table->count;
    reuse_list(reader, table);
    return code;
}

enum sbx_code sbx_toml_close_table(struct sbx_toml_reader *reader, struct sbx_toml_table *table,
                                   struct sbx_value *out)
{
    const size_t count = (size_t)table->run_count + table->count;
    struct sbx_member *members = table->run;
    if (table->count > 0) {
        members = new_members(reader, table);
        if (members == NULL) {
            return sbx_toml_no_memory(reader);
        }
        if (table->run_count > 0) {
            memcpy(members, table->run, table->run_count * sizeof *members);
        }
        enum sbx_code code = copy_members(reader, table, members + table->run_count);
        if (code != SBX_OK) {
            return code;
        }
        reuse_list(reader, table);
    }
    out->type = SBX_VALUE_TABLE;
    out->place = table->defined;
    out->table.members = members;
    out->table.count = count;
    return SBX_OK;
}
