/* JSON writer over a bounded buffer. Keys keep the order they are written in, so that the same input
 * gives the same bytes. Reading JSON is jansson's work (policy/json_read). */
#ifndef SBX_BASE_JSONW_H
#define SBX_BASE_JSONW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"

#define SBX_JSONW_DEPTH 32

/* Misuse (a value without key in an object, a second top-level value, too deep, an unbalanced end)
 * sets buf->failed. Characters unsafe to show (utf8.h) are written as \uXXXX. */
struct sbx_jsonw {
    struct sbx_buf *buf;
    bool pretty; /* two spaces a level, else no white space at all */
    unsigned depth;
    bool has_items[SBX_JSONW_DEPTH];
    char kind[SBX_JSONW_DEPTH]; /* '{' or '[' */
    bool after_key;
    bool done; /* the one top-level value is complete */
};

void sbx_jsonw_init(struct sbx_jsonw *json, struct sbx_buf *buf, bool pretty);
void sbx_jsonw_object(struct sbx_jsonw *json);
void sbx_jsonw_array(struct sbx_jsonw *json);
void sbx_jsonw_end(struct sbx_jsonw *json); /* closes the innermost object or array */
void sbx_jsonw_key(struct sbx_jsonw *json, const char *key);
void sbx_jsonw_key_str(struct sbx_jsonw *json, struct sbx_str key);

void sbx_jsonw_text(struct sbx_jsonw *json, const char *text);   /* NULL writes null */
void sbx_jsonw_str(struct sbx_jsonw *json, struct sbx_str text); /* bad UTF-8 becomes U+FFFD */
void sbx_jsonw_u64(struct sbx_jsonw *json, uint64_t number);
void sbx_jsonw_i64(struct sbx_jsonw *json, int64_t number);
void sbx_jsonw_bool(struct sbx_jsonw *json, bool value);
void sbx_jsonw_null(struct sbx_jsonw *json);

/* key and value in one line. */
void sbx_jsonw_pair_text(struct sbx_jsonw *json, const char *key, const char *text);
void sbx_jsonw_pair_str(struct sbx_jsonw *json, const char *key, struct sbx_str text);
void sbx_jsonw_pair_u64(struct sbx_jsonw *json, const char *key, uint64_t number);
void sbx_jsonw_pair_bool(struct sbx_jsonw *json, const char *key, bool value);

#endif
