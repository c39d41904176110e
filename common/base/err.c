/* The one error type: filling it, cutting its text, adding context while unwinding. */
#include "common/base/err.h"

#include <string.h>

#include "common/base/names.h"
#include "common/base/str.h"

#include "common/base/banned.h"

static const struct sbx_name code_names[] = {
    {SBX_OK, "ok"},
    {SBX_E_NOMEM, "no-memory"},
    {SBX_E_LIMIT, "limit"},
    {SBX_E_SYNTAX, "syntax"},
    {SBX_E_INVALID, "invalid"},
    {SBX_E_USAGE, "usage"},
    {SBX_E_NOT_FOUND, "not-found"},
    {SBX_E_DENIED, "denied"},
    {SBX_E_UNTRUSTED, "untrusted"},
    {SBX_E_UNSUPPORTED, "unsupported"},
    {SBX_E_UNAVAILABLE, "unavailable"},
    {SBX_E_VERIFY, "verify"},
    {SBX_E_IO, "io"},
    {SBX_E_INTERNAL, "internal"},
    {0, NULL},
};

const char *sbx_code_text(enum sbx_code code)
{
    return sbx_name_text(code_names, (int)code);
}

const char *sbx_os_domain_text(enum sbx_os_domain domain)
{
    static const char *const texts[] = {
        [SBX_OS_ERRNO] = "errno",
        [SBX_OS_WIN32] = "win32",
        [SBX_OS_NTSTATUS] = "ntstatus",
        [SBX_OS_HRESULT] = "hresult",
    };
    return (size_t)domain < SBX_COUNT(texts) ? texts[domain] : NULL;
}

/* The arguments may point into err->text, so the text is made beside it and copied. */
static SBX_PRINTF(6, 0) void fill(struct sbx_err *err, enum sbx_code code, enum sbx_os_domain os,
                                  int64_t raw, const char *call, const char *format, va_list args)
{
    char text[sizeof err->text];
    sbx_text_vformat(text, sizeof text, format, args);
    err->code = code;
    err->os = os;
    err->raw = raw;
    err->call = call;
    err->hint[0] = '\0';
    memcpy(err->text, text, strlen(text) + 1);
}

enum sbx_code sbx_err_set(struct sbx_err *err, enum sbx_code code, const char *format, ...)
{
    if (err == NULL) {
        return code;
    }
    va_list args;
    va_start(args, format);
    fill(err, code, SBX_OS_NONE, 0, NULL, format, args);
    va_end(args);
    return code;
}

enum sbx_code sbx_err_os(struct sbx_err *err, enum sbx_code code, enum sbx_os_domain os,
                         int64_t raw, const char *call, const char *format, ...)
{
    if (err == NULL) {
        return code;
    }
    va_list args;
    va_start(args, format);
    fill(err, code, os, raw, call, format, args);
    va_end(args);
    return code;
}

/* These two are called on the way out of a failure, as `return sbx_err_context(...)`. Answering
 * SBX_OK there would turn the failure into a success, so a missing code becomes a bug report. */
static enum sbx_code failure_of(struct sbx_err *err)
{
    if (err == NULL) {
        return SBX_E_INTERNAL;
    }
    if (err->code == SBX_OK) {
        err->code = SBX_E_INTERNAL;
    }
    return err->code;
}

enum sbx_code sbx_err_hint(struct sbx_err *err, const char *format, ...)
{
    if (err != NULL) {
        char hint[sizeof err->hint];
        va_list args;
        va_start(args, format);
        sbx_text_vformat(hint, sizeof hint, format, args);
        va_end(args);
        memcpy(err->hint, hint, strlen(hint) + 1);
    }
    return failure_of(err);
}

enum sbx_code sbx_err_context(struct sbx_err *err, const char *format, ...)
{
    if (err != NULL) {
        char cause[sizeof err->text];
        memcpy(cause, err->text, sizeof cause);
        cause[sizeof cause - 1] = '\0';

        /* A path in the context may be longer than the whole text: the context gets what the cause
         * leaves, and at least half, so that the cause stays readable. */
        size_t half = sizeof err->text / 2;
        size_t taken = strlen(": ") + strlen(cause);
        size_t room = taken < half ? sizeof err->text - taken : half;
        char context[sizeof err->text];
        va_list args;
        va_start(args, format);
        sbx_text_vformat(context, room, format, args);
        va_end(args);

        sbx_text_format(err->text, sizeof err->text, "%s: %s", context, cause);
    }
    return failure_of(err);
}

enum sbx_code sbx_err_nomem(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_E_NOMEM, "out of memory");
}
