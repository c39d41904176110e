/* Nodes and names of the file system in memory. */
#include "tests/ntmodel/nt_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/base/banned.h"

enum { FIRST_RECORD = 38, SEQUENCE = 1 };

/* ---- bytes ------------------------------------------------------------------------------------------ */

void nt_bytes_put(struct nt_bytes *bytes, uint64_t at, const void *data, size_t size)
{
    size_t end = (size_t)at + size;
    if (end > bytes->room) {
        size_t room = end * 2;
        unsigned char *grown = realloc(bytes->data, room);
        if (grown == NULL) {
            (void)fprintf(stderr, "nt model: out of memory\n");
            abort();
        }
        memset(grown + bytes->size, 0, room - bytes->size);
        bytes->data = grown;
        bytes->room = room;
    }
    if (size > 0) {
        memcpy(bytes->data + at, data, size);
    }
    if (end > bytes->size) {
        bytes->size = end;
    }
}

void nt_bytes_free(struct nt_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct nt_bytes){0};
}

/* ---- nodes ------------------------------------------------------------------------------------------ */

bool nt_is_directory(const struct nt_node *node)
{
    return (node->attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

struct nt_node *nt_node_new(struct nt_volume *volume, DWORD attributes)
{
    struct nt_node *node = nt_alloc(sizeof *node);
    node->references = 1;
    node->volume = volume;
    node->id = (uint64_t)SEQUENCE << 48 | (FIRST_RECORD + volume->next_id++);
    node->attributes = attributes;
    node->created.QuadPart = (LONGLONG)nt_time(volume->model);
    node->written = node->created;
    node->changed = node->created;
    return node;
}

void nt_node_unref(struct nt_node *node)
{
    if (node == NULL || --node->references > 0) {
        return;
    }
    while (node->child_count > 0) {
        struct nt_entry *entry = node->children[--node->child_count];
        entry->is_gone = true;
        entry->parent = NULL;
        nt_entry_unref(entry);
    }
    while (node->streams != NULL) {
        struct nt_stream *next = node->streams->next;
        nt_bytes_free(&node->streams->bytes);
        free(node->streams->name);
        free(node->streams);
        node->streams = next;
    }
    nt_bytes_free(&node->bytes);
    nt_bytes_free(&node->safe);
    free(node->children);
    free(node->descriptor);
    free(node->target);
    free(node);
}

void nt_node_describe(struct nt_node *node, const struct nt_token *creator,
                      const struct nt_node *parent, const void *descriptor)
{
    if (!node->volume->has_acls) {
        return;
    }
    _Alignas(8) unsigned char room[NT_DESCRIPTOR_MAX];
    size_t size = nt_descriptor_new(creator, parent == NULL ? NULL : parent->descriptor, descriptor,
                                    nt_is_directory(node), &nt_file_mapping, room, sizeof room);
    if (size == 0) {
        (void)fprintf(stderr, "nt model: a file gets no descriptor\n");
        abort();
    }
    node->descriptor = nt_copy(room, size);
    node->descriptor_size = size;
}

/* ---- names ------------------------------------------------------------------------------------------ */

/* Where the name is, or would be. */
static size_t place_of(const struct nt_node *directory, const wchar_t *name, size_t len,
                       bool *found)
{
    size_t low = 0;
    size_t high = directory->child_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const wchar_t *there = directory->children[middle]->name;
        int order = nt_compare_names(name, len, there, nt_length(there));
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    *found = false;
    return low;
}

struct nt_entry *nt_entry_find(struct nt_node *directory, const wchar_t *name, size_t len)
{
    bool found;
    size_t at = place_of(directory, name, len, &found);
    if (found) {
        return directory->children[at];
    }
    bool may_be_alias = false;
    for (size_t i = 0; i < len; i++) {
        may_be_alias = may_be_alias || name[i] == '~';
    }
    for (size_t i = 0; may_be_alias && i < directory->child_count; i++) {
        const wchar_t *alias = directory->children[i]->short_name;
        if (alias[0] != 0 && nt_compare_names(name, len, alias, nt_length(alias)) == 0) {
            return directory->children[i];
        }
    }
    return NULL;
}

static bool is_short(const wchar_t *name)
{
    size_t len = nt_length(name);
    size_t dot = len;
    for (size_t i = 0; i < len; i++) {
        if (name[i] == '.') {
            if (dot < len || i == 0) {
                return false;
            }
            dot = i;
        } else if (name[i] <= ' ' || name[i] > 0x7e || name[i] == '+' || name[i] == ',') {
            return false;
        }
    }
    return dot <= 8 && len - dot <= 4;
}

/* PROGRA~1: six characters, a tilde and a number; three of the extension. */
static void make_short_name(struct nt_node *directory, struct nt_entry *entry)
{
    const wchar_t *name = entry->name;
    size_t len = nt_length(name);
    if (is_short(name) || !directory->volume->has_acls) {
        return;
    }
    size_t dot = len;
    for (size_t i = len; i-- > 1;) {
        if (name[i] == '.') {
            dot = i;
            break;
        }
    }
    wchar_t stem[8] = {0};
    wchar_t tail[4] = {0};
    size_t count = 0;
    for (size_t i = 0; i < dot && count < 6; i++) {
        if (name[i] != ' ' && name[i] != '.') {
            stem[count++] = (wchar_t)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 32 : name[i]);
        }
    }
    for (size_t i = dot + 1, to = 0; i < len && to < 3; i++, to++) {
        tail[to] = (wchar_t)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 32 : name[i]);
    }
    for (unsigned number = 1; number < 10; number++) {
        wchar_t made[16];
        (void)swprintf(made, 16, L"%ls~%u%ls%ls", stem, number, tail[0] == 0 ? L"" : L".", tail);
        if (nt_entry_find(directory, made, nt_length(made)) == NULL) {
            memcpy(entry->short_name, made, sizeof entry->short_name);
            return;
        }
    }
}

static void insert(struct nt_node *directory, struct nt_entry *entry)
{
    bool found;
    size_t at = place_of(directory, entry->name, nt_length(entry->name), &found);
    directory->children = nt_grow(directory->children, &directory->child_room,
                                  directory->child_count, sizeof directory->children[0]);
    memmove(directory->children + at + 1, directory->children + at,
            (directory->child_count - at) * sizeof directory->children[0]);
    directory->children[at] = entry;
    directory->child_count++;
    entry->parent = directory;
    entry->is_gone = false;
}

struct nt_entry *nt_entry_add(struct nt_node *directory, const wchar_t *name, struct nt_node *node)
{
    struct nt_entry *entry = nt_alloc(sizeof *entry);
    entry->references = 1;
    entry->name = nt_wide(name);
    entry->node = node;
    node->references++;
    node->links++;
    make_short_name(directory, entry);
    insert(directory, entry);
    if (nt_is_directory(node)) {
        node->entry = entry;
    }
    return entry;
}

static void take_out(struct nt_entry *entry)
{
    struct nt_node *directory = entry->parent;
    size_t at = 0;
    while (directory->children[at] != entry) {
        at++;
    }
    directory->child_count--;
    memmove(directory->children + at, directory->children + at + 1,
            (directory->child_count - at) * sizeof directory->children[0]);
}

void nt_entry_unref(struct nt_entry *entry)
{
    if (entry == NULL || --entry->references > 0) {
        return;
    }
    if (entry->node->entry == entry) {
        entry->node->entry = NULL;
    }
    nt_node_unref(entry->node);
    free(entry->name);
    free(entry);
}

void nt_entry_remove(struct nt_entry *entry)
{
    if (entry->is_gone) {
        return;
    }
    take_out(entry);
    entry->is_gone = true;
    entry->node->links--;
    nt_entry_unref(entry);
}

void nt_entry_move(struct nt_entry *entry, struct nt_node *directory, const wchar_t *name)
{
    take_out(entry);
    free(entry->name);
    entry->name = nt_wide(name);
    entry->short_name[0] = 0;
    make_short_name(directory, entry);
    insert(directory, entry);
}

size_t nt_node_path(const struct nt_node *node, const struct nt_entry *entry,
                    wchar_t out[NT_PATH_MAX])
{
    const struct nt_entry *chain[128];
    size_t depth = 0;
    for (const struct nt_entry *at = entry != NULL ? entry : node->entry; at != NULL && depth < 128;
         at = at->parent == NULL ? NULL : at->parent->entry) {
        chain[depth++] = at;
    }
    size_t len = 0;
    for (size_t i = depth; i-- > 0;) {
        size_t part = nt_length(chain[i]->name);
        if (len + part + 2 >= NT_PATH_MAX) {
            break;
        }
        out[len++] = '\\';
        memcpy(out + len, chain[i]->name, part * sizeof *out);
        len += part;
    }
    if (len == 0) {
        out[len++] = '\\';
    }
    out[len] = 0;
    return len;
}

/* ---- all of them -------------------------------------------------------------------------------------- */

static void visit_below(struct nt_node *directory,
                        void (*visit)(void *state, struct nt_node *node, struct nt_entry *entry),
                        void *state)
{
    for (size_t i = 0; i < directory->child_count; i++) {
        struct nt_entry *entry = directory->children[i];
        visit(state, entry->node, entry);
        visit_below(entry->node, visit, state);
    }
}

void nt_each_node(struct nt_model *model,
                  void (*visit)(void *state, struct nt_node *node, struct nt_entry *entry),
                  void *state)
{
    for (size_t i = 0; i < SBX_COUNT(model->volumes); i++) {
        if (model->volumes[i] != NULL) {
            visit(state, model->volumes[i]->root, NULL);
            visit_below(model->volumes[i]->root, visit, state);
        }
    }
}

struct search {
    struct nt_volume *volume;
    uint64_t id;
    struct nt_node *node;
    struct nt_entry *entry;
};

static void look(void *state, struct nt_node *node, struct nt_entry *entry)
{
    struct search *search = state;
    if (search->node == NULL && node->volume == search->volume && node->id == search->id) {
        search->node = node;
        search->entry = entry;
    }
}

struct nt_node *nt_node_by_id(struct nt_volume *volume, uint64_t id, struct nt_entry **entry)
{
    struct search search = {volume, id, NULL, NULL};
    nt_each_node(volume->model, look, &search);
    *entry = search.entry;
    return search.node;
}
