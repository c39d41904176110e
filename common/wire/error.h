/* What a request can be answered with instead of a result. Numbers and names are part of the protocol: added to, never changed. */
#ifndef SBX_WIRE_ERROR_H
#define SBX_WIRE_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/str.h"

enum sbx_wire_code {
    SBX_WIRE_OK = 0,
    SBX_WIRE_PARSE,
    SBX_WIRE_INVALID_REQUEST,
    SBX_WIRE_NO_METHOD,
    SBX_WIRE_INVALID_PARAMS,
    SBX_WIRE_INTERNAL,
    SBX_WIRE_OVERLOADED,
    SBX_WIRE_NOT_INITIALISED,
    SBX_WIRE_REFUSED,
    SBX_WIRE_POLICY_INVALID,
    SBX_WIRE_NOT_FOUND,
    SBX_WIRE_NOT_EXECUTABLE,
    SBX_WIRE_NO_SUCH_RUN,
    SBX_WIRE_NO_SUCH_SESSION,
    SBX_WIRE_LIMIT_REACHED,
    SBX_WIRE_FLOW,
    SBX_WIRE_PERMISSION,
    SBX_WIRE_VERSION,
    SBX_WIRE_CANCELLED,
    SBX_WIRE_SHUTTING_DOWN,
    SBX_WIRE_UNSUPPORTED,
    SBX_WIRE_CODE_COUNT
};

struct sbx_wire_error_row {
    int number;        /* "code" of the error object */
    const char *name;  /* "data.name"; what clients match on */
    bool is_retryable; /* "data.retryable": the same request may succeed later */
    const char *help;  /* one sentence without its full stop */
};

/* By enum sbx_wire_code; the row of SBX_WIRE_OK is empty. */
extern const struct sbx_wire_error_row sbx_wire_error_rows[SBX_WIRE_CODE_COUNT];

/* The code of a number that somebody sent; SBX_WIRE_INTERNAL for one that is not in the table. */
enum sbx_wire_code sbx_wire_code_of(int64_t number);

#endif
