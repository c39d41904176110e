/* What failed, for the caller of the library. */
#include <stdarg.h>
#include <string.h>

#include "lib/client.h"

#include "common/base/banned.h"

/* Names of the library's own errors, by what failed inside. */
static const char *const own_names[SBX_CODE_COUNT] = {
    [SBX_OK] = "system",
    [SBX_E_NOMEM] = "memory",
    [SBX_E_LIMIT] = "invalid",
    [SBX_E_SYNTAX] = "protocol",
    [SBX_E_INVALID] = "invalid",
    [SBX_E_USAGE] = "invalid",
    [SBX_E_NOT_FOUND] = "no_service",
    [SBX_E_DENIED] = "no_service",
    [SBX_E_UNTRUSTED] = "no_service",
    [SBX_E_UNSUPPORTED] = "unsupported",
    [SBX_E_UNAVAILABLE] = "no_service",
    [SBX_E_VERIFY] = "system",
    [SBX_E_IO] = "system",
    [SBX_E_INTERNAL] = "system",
};

int sbx_client_fail(struct sbx_client_error *error, const char *name, const char *format, ...)
{
    if (error == NULL) return -1;
    memset(error, 0, sizeof *error);
    sbx_text_format(error->name, sizeof error->name, "%s", name);
    va_list args;
    va_start(args, format);
    sbx_text_vformat(error->text, sizeof error->text, format, args);
    va_end(args);
    return -1;
}

int sbx_client_fail_err(struct sbx_client_error *error, const struct sbx_err *err)
{
    (void)sbx_client_fail(error, own_names[err->code], "%s", err->text);
    if (error == NULL) return -1;
    sbx_text_format(error->hint, sizeof error->hint, "%s", err->hint);
    error->os = (int)err->raw;
    error->is_retryable = err->code == SBX_E_NOT_FOUND;
    return -1;
}

int sbx_client_fail_answer(struct sbx_client_error *error, const struct sbx_wire_message *message,
                           struct sbx_str *outcome)
{
    struct sbx_wire_error said;
    if (sbx_wire_take_error(message, &said, NULL) != SBX_WIRE_OK)
        said = (struct sbx_wire_error){.number = sbx_wire_error_rows[SBX_WIRE_INTERNAL].number,
                                       .message = sbx_str("the worker failed and did not say why"),
                                       .data = {.name = sbx_str("internal")}};
    if (outcome != NULL) *outcome = said.data.outcome;
    (void)sbx_client_fail(error, "", SBX_STR_FMT, SBX_STR_ARG(said.message));
    if (error == NULL) return -1;
    error->number = (int)said.number;
    error->is_retryable = said.data.retryable;
    sbx_text_format(error->name, sizeof error->name, SBX_STR_FMT, SBX_STR_ARG(said.data.name));
    sbx_text_format(error->hint, sizeof error->hint, SBX_STR_FMT, SBX_STR_ARG(said.data.hint));
    return -1;
}
