/* The table of errors. */
#include "common/wire/error.h"

#include "common/base/banned.h"

const struct sbx_wire_error_row sbx_wire_error_rows[SBX_WIRE_CODE_COUNT] = {
    [SBX_WIRE_PARSE] =
        {-32700, "parse", false,
         "the line is not one JSON object as described above; the service closes the "
         "connection after it, and `id` is null"},
    [SBX_WIRE_INVALID_REQUEST] =
        {-32600, "invalid_request", false,
         "not a message of JSON-RPC 2.0, or an `id` that is still unanswered"},
    [SBX_WIRE_NO_METHOD] = {-32601, "no_method", false, "there is no such method"},
    [SBX_WIRE_INVALID_PARAMS] = {-32602, "invalid_params", false,
                                 "a member is missing, unknown, of another kind or outside its "
                                 "limits; the message names it"},
    [SBX_WIRE_INTERNAL] = {-32603, "internal", false,
                           "the service failed; the message says at what"},
    [SBX_WIRE_OVERLOADED] =
        {-32001, "overloaded", true,
         "too many requests of this connection are unanswered, or the machine is "
         "out of something"},
    [SBX_WIRE_NOT_INITIALISED] = {-32002, "not_initialised", false, "`hello` must come first"},
    [SBX_WIRE_REFUSED] =
        {-33000, "refused", false,
         "nothing was run: no sandbox may run this here, or the policy forbids it; "
         "`data.outcome` is what `sbx run --json` says then"},
    [SBX_WIRE_POLICY_INVALID] = {-33001, "policy_invalid", false,
                                 "the manifest has errors; `data.findings` lists them as "
                                 "`sbx verify --json` does"},
    [SBX_WIRE_NOT_FOUND] = {-33002, "not_found", false,
                            "there is no such command in the box (status 127 of `sbx run`)"},
    [SBX_WIRE_NOT_EXECUTABLE] = {-33003, "not_executable", false,
                                 "the command cannot be executed (status 126 of `sbx run`)"},
    [SBX_WIRE_NO_SUCH_RUN] = {-33004, "no_such_run", false,
                              "this connection has no such run, or it ended too long ago"},
    [SBX_WIRE_NO_SUCH_SESSION] = {-33005, "no_such_session", false,
                                  "this connection has no such session"},
    [SBX_WIRE_LIMIT_REACHED] = {-33006, "limit_reached", true,
                                "one more run, session or connection would be over a quota"},
    [SBX_WIRE_FLOW] = {-33007, "flow", false,
                       "more standard input was sent than was asked for, or after its end"},
    [SBX_WIRE_PERMISSION] = {-33008, "permission", false,
                             "the peer may not use this service, or not in this way"},
    [SBX_WIRE_VERSION] = {-33009, "version", false, "no common protocol"},
    [SBX_WIRE_CANCELLED] = {-33010, "cancelled", false, "the request was cancelled"},
    [SBX_WIRE_SHUTTING_DOWN] = {-33011, "shutting_down", true,
                                "the service is ending and starts nothing new"},
    [SBX_WIRE_UNSUPPORTED] = {-33012, "unsupported", false,
                              "this platform or this kind of connection cannot do it"},
};

enum sbx_wire_code sbx_wire_code_of(int64_t number)
{
    for (size_t i = 1; i < SBX_WIRE_CODE_COUNT; i++)
        if (sbx_wire_error_rows[i].number == number) return (enum sbx_wire_code)i;
    return SBX_WIRE_INTERNAL;
}
