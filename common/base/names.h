/* Tables that pair enum values with their stable texts, and the nearest known name for a typo. */
#ifndef SBX_BASE_NAMES_H
#define SBX_BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/attr.h"
#include "common/base/str.h"

/* Ends with a row whose text is NULL. */
struct sbx_name {
    int value;
    const char *text;
};

/* The text of a value, or "unknown". */
const char *sbx_name_text(const struct sbx_name *table, int value);

/* Exact, case-sensitive look-up; false leaves *out alone. */
bool sbx_name_value(const struct sbx_name *table, struct sbx_str text, int *out) SBX_MUST_USE;

/* The candidate nearest to `text` when it is near enough to be a likely typo (distance at most a
 * third of the longer length, at least 1, and less than that length; ignoring case, '-' and '_'),
 * else NULL. The first of equally near ones wins. `next` yields the
 * index-th candidate, NULL past the end. */
typedef const char *sbx_name_at(const void *context, size_t index);
const char *sbx_name_nearest(struct sbx_str text, sbx_name_at *next, const void *context);

/* The same over a name table. */
const char *sbx_name_nearest_in(struct sbx_str text, const struct sbx_name *table);

#endif
