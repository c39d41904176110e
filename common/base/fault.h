/* Raw codes of a system as codes of ours, with their meaning in words: one table per numbering. */
#ifndef SBX_BASE_FAULT_H
#define SBX_BASE_FAULT_H

#include <stdarg.h>
#include <stddef.h>

#include "common/base/err.h"

struct sbx_fault_row {
    int64_t raw;
    enum sbx_code code;
    const char *text; /* lower case, no full stop */
};

struct sbx_fault_table {
    enum sbx_os_domain os;
    const struct sbx_fault_row *rows;
    size_t count;
};

/* SBX_E_IO for a raw code that has no row. */
enum sbx_code sbx_fault_code(const struct sbx_fault_table *table, int64_t raw);

/* "system error" for one without row: the number is in the error anyway. */
const char *sbx_fault_text(const struct sbx_fault_table *table, int64_t raw);

/* Fills *err (may be NULL) with "<formatted>: <meaning>" and the code of `raw`; returns that code. */
enum sbx_code sbx_fault_set(struct sbx_err *err, const struct sbx_fault_table *table, int64_t raw,
                            const char *call, const char *format, va_list args) SBX_PRINTF(5, 0);

#endif
