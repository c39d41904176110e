/* docgen: the parts of the documents that are made from sbx's tables. */
#ifndef SBX_TESTS_DOCGEN_H
#define SBX_TESTS_DOCGEN_H

#include "common/base/buf.h"
#include "common/policy/manifest_keys.h"

/* A part prints all of itself; `name` is what markers and file names call it. */
struct docgen_part {
    const char *name;
    void (*print)(struct sbx_buf *out);
};

/* Tables in Markdown (docgen_tables.c) and whole man pages (docgen_man.c); each ends with name NULL. */
extern const struct docgen_part docgen_tables[];
extern const struct docgen_part docgen_pages[];

/* Facts that no table of the program holds because its code is the table (docgen_facts.c). */
struct docgen_fact {
    const char *name; /* "125", "SBX_SANDBOX", "policy.toml" */
    const char *text; /* `code` in backquotes; no full stop at the end */
};
extern const struct docgen_fact docgen_exits[];       /* ends with name NULL, as do the others */
extern const struct docgen_fact docgen_environment[]; /* every variable sbx reads */
extern const struct docgen_fact docgen_files[];
extern const struct docgen_fact docgen_places[];
extern const struct docgen_fact docgen_host_forms[];

/* "linux macos" from bits; "all" when it is every platform. */
const char *docgen_platforms(unsigned bits);

/* "1MiB to 1024TiB" for keys with a range, else nothing. */
void docgen_range(const struct sbx_key_row *row, struct sbx_buf *out);

#endif
