/* For tests of the readers: a value tree as one line of TOML that reads back as the same tree, and
 * strict equality of two trees. */
#ifndef SBX_TESTS_UNIT_TOML_TEXT_H
#define SBX_TESTS_UNIT_TOML_TEXT_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/policy/value.h"

/* {a = 1, b = ["x", 2.0]}; quoted keys only where they need it. null is printed as null. */
void toml_text(struct sbx_buf *buf, const struct sbx_value *value);

/* Same types, members in the same order, floats bit by bit (one nan is as good as another). Places
 * may differ. */
bool toml_same(const struct sbx_value *a, const struct sbx_value *b);

#endif
