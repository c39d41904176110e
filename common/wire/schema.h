/* JSON Schema (2020-12) of every message, made from the table: a definition per request, result, notification, and one for errors. */
#ifndef SBX_WIRE_SCHEMA_H
#define SBX_WIRE_SCHEMA_H

#include "common/base/buf.h"

void sbx_wire_schema_print(struct sbx_buf *out);

#endif
