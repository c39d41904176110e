/* docgen: text of man pages in man(7). Source lines stay under 80 columns and plain ASCII. */
#ifndef SBX_TESTS_DOCGEN_ROFF_H
#define SBX_TESTS_DOCGEN_ROFF_H

#include "tests/tools/docgen.h"

/* The title line; `name` in capitals. */
void roff_title(struct sbx_buf *out, const char *name, unsigned section);
void roff_section(struct sbx_buf *out, const char *title);
void roff_subsection(struct sbx_buf *out, const char *title);

/* Running text, wrapped; what is between backquotes is bold. */
void roff_text(struct sbx_buf *out, const char *text);

/* A new paragraph of it. */
void roff_paragraph(struct sbx_buf *out, const char *text);

/* An entry of a list: its head in bold, then a text that ends with a full stop of its own making. */
void roff_entry(struct sbx_buf *out, const char *head);
void roff_sentence(struct sbx_buf *out, const char *text);

/* The head of an option's entry: "-f, --manifest FILE". */
void roff_flag(struct sbx_buf *out, char short_flag, const char *flag, const char *meta);

/* "[--list | [--remove] [FILE]]": words to type bold, words to replace italic. */
void roff_usage(struct sbx_buf *out, const char *usage);

/* Lines as they are, indented; lines end with a newline. */
void roff_example(struct sbx_buf *out, const char *lines);

/* The same entries as a Markdown table of facts. */
void roff_facts(struct sbx_buf *out, const struct docgen_fact *facts);

void docgen_print_sbx_1(struct sbx_buf *out);
void docgen_print_sbx_toml_5(struct sbx_buf *out);

#endif
