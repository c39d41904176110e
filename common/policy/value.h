/* The value tree that TOML, JSON and flags are read into. One reader of manifests works on it. */
#ifndef SBX_POLICY_VALUE_H
#define SBX_POLICY_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/str.h"

enum sbx_value_type {
    SBX_VALUE_STRING,
    SBX_VALUE_INTEGER,
    SBX_VALUE_FLOAT,
    SBX_VALUE_BOOL,
    SBX_VALUE_DATETIME,
    SBX_VALUE_ARRAY,
    SBX_VALUE_TABLE,
    SBX_VALUE_NULL, /* JSON only; no key accepts it */
};

/* The four TOML date-time types. */
enum sbx_datetime_kind {
    SBX_DATETIME_OFFSET,
    SBX_DATETIME_LOCAL,
    SBX_DATETIME_DATE,
    SBX_DATETIME_TIME,
};

/* Fields that the kind does not have are 0. Ordered so that it takes 16 bytes: no value is larger.
 */
struct sbx_datetime {
    uint32_t nanosecond; /* further digits of the text are dropped, not rounded */
    uint16_t year;
    int16_t offset_minutes; /* east of UTC; with SBX_DATETIME_OFFSET */
    uint8_t month, day, hour, minute, second;
    uint8_t kind; /* an enum sbx_datetime_kind */
    bool is_zulu; /* written with Z */
};

/* 1-based; 0 when unknown (JSON, flags). Columns count characters, not bytes. */
struct sbx_place {
    uint32_t line;
    uint32_t column;
};

struct sbx_member;

struct sbx_value {
    enum sbx_value_type type;
    struct sbx_place
        place; /* where it starts; for a table without braces, where it is first named */
    union {
        struct sbx_str string; /* not NUL-terminated; may hold U+0000 */
        int64_t integer;
        double number;
        bool boolean;
        struct sbx_datetime datetime;
        struct {
            struct sbx_value *items; /* NULL when there are none */
            size_t count;
        } array;
        struct {
            struct sbx_member *members; /* in the order of the file; NULL when there are none */
            size_t count;
        } table;
    };
};

struct sbx_member {
    struct sbx_str key;     /* not NUL-terminated; may hold U+0000 and be empty */
    struct sbx_place place; /* where the key starts */
    struct sbx_value value;
};

/* The member's value, or NULL (also when `table` is NULL or no table). Linear: tables of a manifest
 * are small once it is accepted. */
const struct sbx_value *sbx_value_get(const struct sbx_value *table, const char *key);

/* "a string", "an integer", "a table" …, for messages. */
const char *sbx_value_type_text(enum sbx_value_type type);

#endif
