/* docgen: cells and rows of tables in Markdown, and the tables that docgen_tables.c only lists. */
#ifndef SBX_TESTS_DOCGEN_MARKDOWN_H
#define SBX_TESTS_DOCGEN_MARKDOWN_H

#include "tests/tools/docgen.h"

/* A cell's text; what is between backquotes is code. */
void docgen_text(struct sbx_buf *out, const char *text);

/* A cell's text, all of it code. */
void docgen_code(struct sbx_buf *out, const char *text);

/* The head of a table and the line below it. */
void docgen_head(struct sbx_buf *out, const char *const *cells, size_t count);
#define DOCGEN_HEAD(out, ...)                                                                      \
    do {                                                                                           \
        static const char *const head_cells_[] = {__VA_ARGS__};                                    \
        docgen_head(out, head_cells_, SBX_COUNT(head_cells_));                                     \
    } while (false)

/* About backends (docgen_backends.c). */
void docgen_print_backends(struct sbx_buf *out);
void docgen_print_shapes(struct sbx_buf *out);
void docgen_print_tiers(struct sbx_buf *out);
void docgen_print_mechanisms(struct sbx_buf *out);
void docgen_print_missing(struct sbx_buf *out);

/* About the protocol (docgen_wire.c). */
void docgen_print_wire_requests(struct sbx_buf *out);
void docgen_print_wire_to_service(struct sbx_buf *out);
void docgen_print_wire_to_client(struct sbx_buf *out);
void docgen_print_wire_errors(struct sbx_buf *out);
void docgen_print_wire_error_members(struct sbx_buf *out);

/* About system calls (docgen_calls.c). */
void docgen_print_call_refusals(struct sbx_buf *out);
void docgen_print_call_families(struct sbx_buf *out);
void docgen_print_call_strict(struct sbx_buf *out);
void docgen_print_call_layers(struct sbx_buf *out);

#endif
