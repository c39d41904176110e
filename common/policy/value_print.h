/* The value tree printed as TOML and JSON, and compared. */
#ifndef SBX_POLICY_VALUE_PRINT_H
#define SBX_POLICY_VALUE_PRINT_H

#include "common/base/buf.h"
#include "common/base/jsonw.h"
#include "common/policy/value.h"

/* On one line: arrays and inline tables. Date-times are not printed (no key takes one). */
void sbx_value_print_toml(const struct sbx_value *value, struct sbx_buf *out);
void sbx_value_print_json(const struct sbx_value *value, struct sbx_jsonw *json);

/* Same type and content; the order of a table's members does not matter. */
bool sbx_value_equal(const struct sbx_value *a, const struct sbx_value *b);

/* A TOML basic string, with its quotes. */
void sbx_toml_print_string(struct sbx_str text, struct sbx_buf *out);

#endif
