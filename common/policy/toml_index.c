/* TOML reader: the index of a large table, a hash table whose buckets are crit-bit trees.
 *
 * The keys come from whoever wrote the file, who can make any fixed hash collide, and there is no
 * source of randomness here. So the hash only makes the usual case fast; what bounds every case is
 * the tree, in which a search takes at most as many steps as the key has bits, whatever the other
 * keys are. The work for a whole file is linear in its size.
 *
 * Where there are many keys they are mostly counted up, "key-0017" after "key-0016". The hash
 * leaves out the last two bytes, so that such neighbours share a tree, which is still in the cache.
 *
 * A tree reads a key as a row of 9-bit symbols: 0x100 plus the byte, then 0 without end. So no key
 * is a prefix of another and every byte, NUL too, may be part of one. */
#include <string.h>

#include "common/policy/toml_internal.h"

#include "common/base/banned.h"

#define FIRST_BUCKETS 16
#define GROWTH 4
#define UNHASHED_BYTES 2
#define SLAB_BRANCHES 64

/* A link is 0 (nothing), the address of a branch, or that of a head plus 1. */
struct sbx_toml_index {
    uint32_t bucket_count; /* a power of two */
    uint32_t used_count;   /* of buckets that are not empty */
    uintptr_t roots[];
};

/* All keys below are equal before `position`, and there in the bits above `mask`. side[0] has those
 * whose bit is clear. */
struct sbx_toml_branch {
    uintptr_t side[2];
    uint32_t position;
    uint16_t mask; /* one bit */
};

static bool is_head(uintptr_t link)
{
    return (link & 1) != 0;
}

static struct sbx_toml_head *to_head(uintptr_t link)
{
    return (struct sbx_toml_head *)(link - 1);
}

static struct sbx_toml_branch *to_branch(uintptr_t link)
{
    return (struct sbx_toml_branch *)link;
}

/* ---- one tree ------------------------------------------------------------------------------- */

static unsigned symbol_at(struct sbx_str key, uint32_t position)
{
    return position < key.len ? 0x100u | (unsigned char)key.ptr[position] : 0;
}

static unsigned side_of(struct sbx_str key, uint32_t position, uint16_t mask)
{
    return (symbol_at(key, position) & mask) != 0 ? 1 : 0;
}

/* The highest bit set; `bits` is not 0 and has at most 9. */
static uint16_t highest_bit(unsigned bits)
{
    bits |= bits >> 1;
    bits |= bits >> 2;
    bits |= bits >> 4;
    bits |= bits >> 8;
    return (uint16_t)(bits ^ bits >> 1);
}

static struct sbx_toml_head *tree_find(uintptr_t *root, struct sbx_str key,
                                       struct sbx_toml_spot *spot)
{
    *spot = (struct sbx_toml_spot){.root = root};
    uintptr_t link = *root;
    if (link == 0) {
        return NULL;
    }
    while (!is_head(link)) {
        const struct sbx_toml_branch *branch = to_branch(link);
        link = branch->side[side_of(key, branch->position, branch->mask)];
    }
    /* If any key is equal, it is this one; if not, none shares a longer start with it. */
    struct sbx_toml_head *head = to_head(link);
    const struct sbx_str other = {head->key, head->key_len};
    const size_t shorter = key.len < other.len ? key.len : other.len;
    uint32_t position = 0;
    while (position < shorter && key.ptr[position] == other.ptr[position]) {
        position++;
    }
    if (position == key.len && position == other.len) {
        return head;
    }
    spot->position = position;
    spot->mask = highest_bit(symbol_at(key, position) ^ symbol_at(other, position));
    return NULL;
}

static struct sbx_toml_branch *new_branch(struct sbx_toml_reader *reader)
{
    if (reader->branch_count == 0) {
        reader->branches = SBX_NEW_ARRAY(&reader->scratch, struct sbx_toml_branch, SLAB_BRANCHES);
        if (reader->branches == NULL) {
            return NULL;
        }
        reader->branch_count = SLAB_BRANCHES;
    }
    reader->branch_count--;
    return reader->branches++;
}

static enum sbx_code tree_add(struct sbx_toml_reader *reader, struct sbx_toml_head *head,
                              const struct sbx_toml_spot *spot)
{
    const struct sbx_str key = {head->key, head->key_len};
    uintptr_t *link = spot->root;
    if (*link == 0) {
        *link = (uintptr_t)head + 1;
        return SBX_OK;
    }
    struct sbx_toml_branch *made = new_branch(reader);
    if (made == NULL) {
        return sbx_toml_no_memory(reader);
    }
    while (!is_head(*link)) {
        struct sbx_toml_branch *branch = to_branch(*link);
        if (branch->position > spot->position ||
            (branch->position == spot->position && branch->mask < spot->mask)) {
            break;
        }
        link = &branch->side[side_of(key, branch->position, branch->mask)];
    }
    const unsigned side = side_of(key, spot->position, spot->mask);
    made->position = spot->position;
    made->mask = spot->mask;
    made->side[side] = (uintptr_t)head + 1;
    made->side[1 - side] = *link;
    *link = (uintptr_t)made;
    return SBX_OK;
}

/* ---- the buckets ---------------------------------------------------------------------------- */

/* Eight bytes a step; good enough to spread honest keys, and nothing depends on more. */
static uint32_t hash_of(struct sbx_str key)
{
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    const size_t len = key.len < UNHASHED_BYTES ? 0 : key.len - UNHASHED_BYTES;
    uint64_t hash = len;
    size_t at = 0;
    for (; len - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, key.ptr + at, sizeof word);
        hash = (hash ^ word) * factor;
        hash ^= hash >> 32;
    }
    uint64_t rest = 0;
    for (; at < len; at++) {
        rest = rest << 8 | (unsigned char)key.ptr[at];
    }
    hash = (hash ^ rest) * factor;
    hash = (hash ^ hash >> 32) * factor;
    return (uint32_t)(hash >> 32);
}

static uintptr_t *bucket_of(struct sbx_toml_index *index, struct sbx_str key)
{
    return &index->roots[hash_of(key) & (index->bucket_count - 1)];
}

struct sbx_toml_head *sbx_toml_index_find(const struct sbx_toml_table *table, struct sbx_str key,
                                          struct sbx_toml_spot *spot)
{
    return tree_find(bucket_of(table->index, key), key, spot);
}

/* Making an index anew goes over the whole list. So it grows by much, and at once to what a long
 * list may need: nobody can choose keys with which that happens again and again. */
static uint32_t next_bucket_count(const struct sbx_toml_table *table)
{
    uint32_t count = table->index == NULL ? FIRST_BUCKETS : table->index->bucket_count * GROWTH;
    while (count < table->count / 64) {
        count *= 2;
    }
    return count;
}

static enum sbx_code add_to_bucket(struct sbx_toml_reader *reader, struct sbx_toml_index *index,
                                   struct sbx_toml_head *head, const struct sbx_toml_spot *spot)
{
    index->used_count += *spot->root == 0 ? 1 : 0;
    return tree_add(reader, head, spot);
}

enum sbx_code sbx_toml_index_build(struct sbx_toml_reader *reader, struct sbx_toml_table *table)
{
    const uint32_t count = next_bucket_count(table);
    struct sbx_toml_index *index = sbx_arena_alloc(
        &reader->scratch, 1, sizeof *index + (size_t)count * sizeof index->roots[0]);
    if (index == NULL) {
        return sbx_toml_no_memory(reader);
    }
    index->bucket_count = count;
    table->index = index;
    for (struct sbx_toml_head *head = table->first; head != NULL; head = head->next) {
        const struct sbx_str key = {head->key, head->key_len};
        struct sbx_toml_spot spot;
        (void)tree_find(bucket_of(index, key), key, &spot); /* the keys are known to differ */
        enum sbx_code code = add_to_bucket(reader, index, head, &spot);
        if (code != SBX_OK) {
            return code;
        }
    }
    return SBX_OK;
}

enum sbx_code sbx_toml_index_add(struct sbx_toml_reader *reader, struct sbx_toml_table *table,
                                 struct sbx_toml_head *head, const struct sbx_toml_spot *spot)
{
    if (table->index->used_count > table->index->bucket_count / 2) {
        return sbx_toml_index_build(reader, table);
    }
    return add_to_bucket(reader, table->index, head, spot);
}
