/* docgen: prints the parts of the documents that are made from sbx's own tables, so that they cannot say
 * something else. tests/docs compares what is printed with what is checked in; `make docs` writes it there.
 *
 *     docgen --list    names of the parts, one a line: "table NAME" or "page FILE"
 *     docgen NAME      that part on standard output */
#include <stdio.h>

#include "tests/tools/docgen.h"

#include "common/base/banned.h"

#define MAX_BYTES ((size_t)4 << 20)

static void list(const char *word, const struct docgen_part *parts)
{
    for (size_t i = 0; parts[i].name != NULL; i++) (void)printf("%s %s\n", word, parts[i].name);
}

static const struct docgen_part *find(const struct docgen_part *parts, const char *name)
{
    for (size_t i = 0; parts[i].name != NULL; i++)
        if (sbx_text_eq(parts[i].name, name)) return &parts[i];
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fputs("usage: docgen --list | docgen NAME\n", stderr);
        return 2;
    }
    if (sbx_text_eq(argv[1], "--list")) {
        list("table", docgen_tables);
        list("page", docgen_pages);
        return fflush(stdout) == 0 ? 0 : 1;
    }
    const struct docgen_part *part = find(docgen_tables, argv[1]);
    if (part == NULL) part = find(docgen_pages, argv[1]);
    if (part == NULL) {
        (void)fprintf(stderr, "docgen: no part \"%s\"\n", argv[1]);
        return 2;
    }
    AUTO_BUF text;
    sbx_buf_init(&text, MAX_BYTES);
    part->print(&text);
    bool is_written = fwrite(sbx_buf_text(&text), 1, text.len, stdout) == text.len;
    return is_written && !text.failed && fflush(stdout) == 0 ? 0 : 1;
}
