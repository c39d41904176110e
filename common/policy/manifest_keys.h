/* The one table of manifest keys. Parser, validator, flags, --help, JSON Schema, man page, completions and
 * docs are made from it or compared with it. To add a key: one row here, one field in struct
 * sbx_manifest; a new shape of value is one row in manifest_kind.h. */
#ifndef SBX_POLICY_MANIFEST_KEYS_H
#define SBX_POLICY_MANIFEST_KEYS_H

#include <stddef.h>

#include "common/policy/manifest.h"

/* Shapes of values; each is one row of functions (manifest_kind.h). */
enum sbx_kind_id {
    SBX_KIND_CHOICE,     /* int field, one of row->names */
    SBX_KIND_PATHS,      /* struct sbx_texts of paths */
    SBX_KIND_PATH,       /* struct sbx_str */
    SBX_KIND_FILESYSTEM, /* struct sbx_fs_entries */
    SBX_KIND_PROTECT,    /* struct sbx_protect */
    SBX_KIND_NETWORK,    /* struct sbx_network */
    SBX_KIND_DURATION,   /* uint64_t nanoseconds */
    SBX_KIND_BYTES,      /* uint64_t */
    SBX_KIND_COUNTER,    /* uint64_t */
    SBX_KIND_ENV,        /* struct sbx_env_pairs */
    SBX_KIND_TEXTS,      /* struct sbx_texts */
    SBX_KIND_TEXT,       /* struct sbx_str */
    SBX_KIND_IDENTITY,   /* struct sbx_identity */
    SBX_KIND_DIMENSIONS, /* uint32_t bits */
    SBX_KIND_COUNT
};

struct sbx_key_row {
    enum sbx_key key;
    const char *name; /* "fs_read_allow" */
    enum sbx_kind_id kind;
    size_t offset;                /* of the field in struct sbx_manifest */
    char short_flag;              /* 'r', or 0 */
    const char *flag;             /* "read": --read */
    const char *meta;             /* "PATH" in --help */
    const struct sbx_name *names; /* of a choice */
    uint64_t min, max;            /* of numbers, inclusive */
    const char *default_text;     /* for docs */
    const char *help;             /* one sentence, lower case, no full stop */
    const char *example;          /* TOML value; docs and tests use it */
    unsigned platforms;           /* bit (1 << enum sbx_platform); others: platform-unsupported */
};

extern const struct sbx_key_row sbx_key_rows[SBX_KEY_COUNT]; /* indexed by enum sbx_key */

/* By TOML name; NULL when unknown. */
const struct sbx_key_row *sbx_key_find(struct sbx_str name);

/* sbx_name_at over all keys, for "did you mean". */
const char *sbx_key_name_at(const void *unused, size_t index);

/* Flags that are another spelling of a key's flag: --deny PATH is --fs PATH=none. */
struct sbx_flag_alias {
    const char *flag;
    char short_flag;
    enum sbx_key key;
    const char *meta;            /* NULL: takes no value */
    const char *prefix, *suffix; /* put around the value to give the key's flag text */
    const char *help;
};
extern const struct sbx_flag_alias sbx_flag_aliases[]; /* ends with flag NULL */

#endif
