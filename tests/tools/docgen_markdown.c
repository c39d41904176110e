/* docgen: cells and rows of tables in Markdown. */
#include "tests/tools/docgen_markdown.h"

#include <string.h>

#include "common/base/banned.h"

/* A bar ends a cell also inside code; angle brackets and stars are markup outside of it. */
void docgen_text(struct sbx_buf *out, const char *text)
{
    bool is_code = false;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '`') is_code = !is_code;
        if (*c == '|' || (!is_code && strchr("<>*", *c) != NULL)) sbx_buf_add_char(out, '\\');
        sbx_buf_add_char(out, *c);
    }
}

void docgen_code(struct sbx_buf *out, const char *text)
{
    sbx_buf_add_char(out, '`');
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '|') sbx_buf_add_char(out, '\\');
        sbx_buf_add_char(out, *c);
    }
    sbx_buf_add_char(out, '`');
}

void docgen_head(struct sbx_buf *out, const char *const *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sbx_buf_add_text(out, i == 0 ? "| " : " | ");
        docgen_text(out, cells[i]);
    }
    sbx_buf_add_text(out, " |\n");
    for (size_t i = 0; i < count; i++) sbx_buf_add_text(out, i == 0 ? "|---|" : "---|");
    sbx_buf_add_char(out, '\n');
}
