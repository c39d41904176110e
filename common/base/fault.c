/* Raw codes of a system as codes of ours, with their meaning in words. */
#include "common/base/fault.h"

#include "common/base/str.h"

#include "common/base/banned.h"

static const struct sbx_fault_row *find(const struct sbx_fault_table *table, int64_t raw)
{
    static const struct sbx_fault_row rare = {0, SBX_E_IO, "system error"};
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].raw == raw) return &table->rows[i];
    return &rare;
}

enum sbx_code sbx_fault_code(const struct sbx_fault_table *table, int64_t raw)
{
    return find(table, raw)->code;
}

const char *sbx_fault_text(const struct sbx_fault_table *table, int64_t raw)
{
    return find(table, raw)->text;
}

enum sbx_code sbx_fault_set(struct sbx_err *err, const struct sbx_fault_table *table, int64_t raw,
                            const char *call, const char *format, va_list args)
{
    const struct sbx_fault_row *row = find(table, raw);
    if (err == NULL) return row->code;
    /* A long path must not push the meaning out of the text. */
    char what[sizeof err->text - 64];
    sbx_text_vformat(what, sizeof what, format, args);
    return sbx_err_os(err, row->code, table->os, raw, call, "%s: %s", what, row->text);
}
