/* Strict reader of one JSON object that came on a line from somebody else. It allocates nothing and copies nothing: it first
 * checks all of the text, then hands out slices of it.
 *
 *     if (sbx_json_check(&reader, line, &err) == SBX_OK) {
 *         struct sbx_json_walk walk;
 *         struct sbx_json_value key, value;
 *         for (sbx_json_enter(line, &walk); sbx_json_next_member(&walk, &key, &value);) …
 *     }
 *
 * Refused, beyond what RFC 8259 refuses: anything but one object; a member named twice in one object, however it is spelt; more
 * than 32 levels; a number that is not an integer within ±2^53; invalid UTF-8; a lone surrogate; more than 16384 members in the
 * objects that are open at one time. The time is linear in the length, with a factor log(members) for objects of many members. */
#ifndef SBX_WIRE_JSON_SCAN_H
#define SBX_WIRE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attr.h"
#include "common/base/err.h"
#include "common/base/str.h"

enum { SBX_JSON_LEVELS = 32, SBX_JSON_MEMBERS = 16384 };
#define SBX_JSON_NUMBER_MAX INT64_C(9007199254740992)
/* A line that is longer has offsets the reader does not keep. */
#define SBX_JSON_TEXT_MAX ((size_t)1 << 30)

/* Where the reader notes the names it has seen, 64 KiB. Needs no initialisation, may be used for any number of texts. */
struct sbx_json_reader {
    const char *begin, *at, *end;
    unsigned level;
    size_t count; /* of `names` */
    uint32_t
        names[SBX_JSON_MEMBERS]; /* offsets of the names of the open objects, outermost first */
};

/* SBX_OK when `text` is one such object, with white space around it or not. Else SBX_E_SYNTAX or SBX_E_LIMIT, and `err` says what
 * and at which byte, without quoting the text. */
enum sbx_code sbx_json_check(struct sbx_json_reader *reader, struct sbx_str text,
                             struct sbx_err *err) SBX_MUST_USE;

/* ---- for text that was checked, and only for that ---- */

enum sbx_json_type {
    SBX_JSON_NULL,
    SBX_JSON_BOOL,
    SBX_JSON_NUMBER,
    SBX_JSON_STRING,
    SBX_JSON_ARRAY,
    SBX_JSON_OBJECT,
};

struct sbx_json_value {
    enum sbx_json_type type;
    struct sbx_str raw; /* as it stands in the text: with quotes, brackets or braces */
};

struct sbx_json_walk {
    const char *at, *end;
};

/* "a string", "an object", …: for messages. */
const char *sbx_json_type_text(enum sbx_json_type type);

/* Starts a walk over the members of an object, or the items of an array. */
void sbx_json_enter(struct sbx_str raw, struct sbx_json_walk *walk);
bool sbx_json_next_member(struct sbx_json_walk *walk, struct sbx_json_value *key,
                          struct sbx_json_value *value);
bool sbx_json_next_item(struct sbx_json_walk *walk, struct sbx_json_value *value);

int64_t sbx_json_number(struct sbx_str raw);
bool sbx_json_bool(struct sbx_str raw);

/* Is the string `raw` (with its quotes) this text, after its escapes? */
bool sbx_json_is(struct sbx_str raw, const char *text);

/* Turns the string `raw` (with its quotes) into its text, in place, with a NUL after it. So `raw` must be memory that may be
 * written, and what is around it stays; the string itself cannot be walked again. */
struct sbx_str sbx_json_take_text(struct sbx_str raw);

#endif
