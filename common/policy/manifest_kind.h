/* Shapes of manifest values: how each is read from a value or a flag, and printed again. Internal to the
 * manifest files. */
#ifndef SBX_POLICY_MANIFEST_KIND_H
#define SBX_POLICY_MANIFEST_KIND_H

#include "common/policy/manifest_keys.h"

/* A list longer than this is a mistake or an attack. */
#define SBX_LIST_MAX 4096

/* What a reading function works with. */
struct sbx_kind_io {
    struct sbx_arena *arena;
    struct sbx_findings *findings;
    const struct sbx_key_row *row;
    const char *source; /* file name, or the flag as typed */
    bool is_fresh;      /* flags: the key was not set before */
};

/* Arguments that a manifest prints as, growing in an arena. */
struct sbx_flag_list {
    struct sbx_arena *arena;
    const char **items;
    size_t count, capacity;
    bool failed; /* no memory, or something no argument can say */
};

struct sbx_kind {
    const char *type_text; /* "a list of paths": what a message asks for */
    bool is_list;          /* its flag may be repeated */
    size_t size;           /* of the field */
    void (*from_value)(const struct sbx_kind_io *io, const struct sbx_value *value, void *field);
    void (*from_flag)(const struct sbx_kind_io *io, struct sbx_str text, void *field);
    bool (*to_value)(struct sbx_arena *arena, const struct sbx_key_row *row, const void *field,
                     struct sbx_value *out);
    void (*to_flags)(struct sbx_flag_list *flags, const struct sbx_key_row *row, const void *field);
    /* `over` on top of `under` into *field, which holds a copy of `over`. NULL: `over` replaces. */
    bool (*merge)(struct sbx_arena *arena, const void *under, void *field);
};

extern const struct sbx_kind sbx_kind_choice, sbx_kind_path, sbx_kind_text, sbx_kind_duration,
    sbx_kind_bytes, sbx_kind_counter, sbx_kind_identity; /* kind_scalar.c */
extern const struct sbx_kind sbx_kind_paths, sbx_kind_texts, sbx_kind_protect,
    sbx_kind_dimensions;                                                          /* kind_list.c */
extern const struct sbx_kind sbx_kind_filesystem, sbx_kind_network, sbx_kind_env; /* kind_table.c */

const struct sbx_kind *sbx_kind_of(enum sbx_kind_id id);

/* One key of a table into the manifest (manifest.c). */
void sbx_manifest_read_key(struct sbx_arena *arena, const char *source,
                           const struct sbx_key_row *row, const struct sbx_member *member,
                           struct sbx_findings *findings, struct sbx_manifest *out);

/* ---- helpers of the kinds (manifest_kind.c) ---- */

struct sbx_origin sbx_kind_origin(const struct sbx_kind_io *io, const struct sbx_value *value);

/* "network.hosts[2]" from printf parts after the key's name; never NULL. */
const char *sbx_kind_key(const struct sbx_kind_io *io, const char *format, ...) SBX_PRINTF(2, 3);

/* wrong-type for `value` at `key_path`: "… must be WANTED, not a string". */
void sbx_kind_wrong(const struct sbx_kind_io *io, const struct sbx_value *value,
                    const char *key_path, const char *wanted);

/* A value as written, for messages: strings, numbers and booleans; empty view for the rest. */
struct sbx_str sbx_kind_shown(const struct sbx_kind_io *io, const struct sbx_value *value);

/* bad-value with the list of choices and the nearest one. */
void sbx_kind_bad_choice(const struct sbx_kind_io *io, const struct sbx_origin *at,
                         const char *key_path, struct sbx_str text, const struct sbx_name *names);

/* A copy in the arena; the empty view (and out_of_memory) when there is none. */
struct sbx_str sbx_kind_copy(const struct sbx_kind_io *io, struct sbx_str text);

/* One more element; false after reporting that the list is full or memory is gone. */
bool sbx_kind_push_text(const struct sbx_kind_io *io, struct sbx_texts *list, struct sbx_str text,
                        const struct sbx_origin *at);

/* Reads a list of strings into `list`; `suffix` is put after the key's name ("" or ".hosts"). */
void sbx_kind_read_texts(const struct sbx_kind_io *io, const struct sbx_value *value,
                         const char *suffix, const char *wanted, struct sbx_texts *list);

/* Values for printing. */
struct sbx_value sbx_value_of_text(struct sbx_str text);
struct sbx_value sbx_value_of_u64(uint64_t number);
bool sbx_value_of_texts(struct sbx_arena *arena, const struct sbx_texts *list,
                        struct sbx_value *out);

void sbx_flags_add(struct sbx_flag_list *flags, const struct sbx_key_row *row, struct sbx_str text);
void sbx_flags_add_named(struct sbx_flag_list *flags, const char *flag, struct sbx_str text);
void sbx_flags_add_pair(struct sbx_flag_list *flags, const struct sbx_key_row *row,
                        struct sbx_str name, struct sbx_str value); /* NAME=VALUE */

/* `under` in front of `list`. */
bool sbx_texts_prepend(struct sbx_arena *arena, const struct sbx_texts *under,
                       struct sbx_texts *list);

#endif
