/* The one error type. Every fallible function returns enum sbx_code (0 is success) and, when given
 * a struct sbx_err, says there what failed, where, and the raw OS code. */
#ifndef SBX_BASE_ERR_H
#define SBX_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/attr.h"

/* Stable codes; their texts (sbx_code_text) appear in --json and in messages. */
enum sbx_code {
    SBX_OK = 0,
    SBX_E_NOMEM,       /* memory, or a bounded arena or buffer, is exhausted */
    SBX_E_LIMIT,       /* an input is larger or deeper than we accept */
    SBX_E_SYNTAX,      /* bytes that do not follow their grammar */
    SBX_E_INVALID,     /* well-formed, but not allowed or not meaningful */
    SBX_E_USAGE,       /* a wrong command line */
    SBX_E_NOT_FOUND,   /* the named thing does not exist */
    SBX_E_DENIED,      /* the system refused access */
    SBX_E_UNTRUSTED,   /* a file or program whose owner or mode we do not accept */
    SBX_E_UNSUPPORTED, /* this backend or platform cannot do it */
    SBX_E_UNAVAILABLE, /* no backend may run this; fail closed */
    SBX_E_VERIFY,      /* what the kernel applied differs from the plan */
    SBX_E_IO,          /* any other failed OS call */
    SBX_E_INTERNAL,    /* a bug in sbx */
    SBX_CODE_COUNT
};

/* Which numbering `raw` belongs to. */
enum sbx_os_domain {
    SBX_OS_NONE = 0,
    SBX_OS_ERRNO,
    SBX_OS_WIN32,
    SBX_OS_NTSTATUS,
    SBX_OS_HRESULT,
};

/* Holds its text inside, so that an error can be told when memory is gone. Zero is "no error". */
struct sbx_err {
    enum sbx_code code;
    enum sbx_os_domain os;
    int64_t raw;      /* errno, GetLastError(), …; 0 with SBX_OS_NONE */
    const char *call; /* static string: the call that failed, or NULL */
    char text[640];   /* one sentence, lower case, no full stop */
    char hint[384];   /* the remedy, or empty */
};

/* "no-memory", "limit", …: stable, kebab-case. "unknown" for a value outside the enum. */
const char *sbx_code_text(enum sbx_code code);

/* "errno", "win32", …: stable. NULL for SBX_OS_NONE and for a value outside the enum. */
const char *sbx_os_domain_text(enum sbx_os_domain domain);

/* Fills *err (which may be NULL) and returns `code`, so that `return sbx_err_set(...)` reads well.
 * A text that does not fit is cut at a character boundary and ends in "…". */
enum sbx_code sbx_err_set(struct sbx_err *err, enum sbx_code code, const char *format, ...)
    SBX_PRINTF(3, 4);

/* The same for a failed OS call. `raw` must have been taken in the statement after the call. */
enum sbx_code sbx_err_os(struct sbx_err *err, enum sbx_code code, enum sbx_os_domain os,
                         int64_t raw, const char *call, const char *format, ...) SBX_PRINTF(6, 7);

/* Replaces the remedy. Returns err->code. This and sbx_err_context are for the way out of a failure
 * and never return SBX_OK: without an err, or with one that says SBX_OK, it is SBX_E_INTERNAL. */
enum sbx_code sbx_err_hint(struct sbx_err *err, const char *format, ...) SBX_PRINTF(2, 3);

/* Puts "context: " before the text while unwinding. When both do not fit, the context is cut first,
 * down to half of the room. Returns err->code, never SBX_OK. */
enum sbx_code sbx_err_context(struct sbx_err *err, const char *format, ...) SBX_PRINTF(2, 3);

/* Out of memory, in one word. */
enum sbx_code sbx_err_nomem(struct sbx_err *err);

#endif
