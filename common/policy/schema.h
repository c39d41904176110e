/* JSON Schema (2020-12) of the manifest, made from the key table. */
#ifndef SBX_POLICY_SCHEMA_H
#define SBX_POLICY_SCHEMA_H

#include "common/base/buf.h"

void sbx_schema_print(struct sbx_buf *out);

#endif
