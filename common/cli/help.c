/* Help made from the tables, 80 columns wide. */
#include <stdio.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/cli/command.h"

#include "common/base/banned.h"

#define WIDTH 80
#define HELP_COLUMN 28

/* Words of `text`, wrapped; the first line starts at `column`, the others at `indent`. */
static void wrap(struct sbx_buf *out, const char *text, size_t column, size_t indent) {
    struct sbx_str rest = sbx_str(text);
    bool more = true;
    bool is_first = true;
    while (more) {
        struct sbx_str word;
        more = sbx_str_split(rest, ' ', &word, &rest);
        size_t width = sbx_utf8_count(word.ptr, word.len);
        if (!is_first && column + 1 + width > WIDTH) {
            sbx_buf_add_char(out, '\n');
            sbx_buf_add_repeat(out, ' ', indent);
            column = indent;
        } else if (!is_first) {
            sbx_buf_add_char(out, ' ');
            column++;
        }
        sbx_buf_add_str(out, word);
        column += width;
        is_first = false;
    }
    sbx_buf_add_char(out, '\n');
}

static void print_flag(const struct sbx_flag_view *view, struct sbx_buf *out) {
    size_t start = out->len;
    if (view->short_flag != 0)
        sbx_buf_printf(out, "  -%c, --%s", view->short_flag, view->flag);
    else
        sbx_buf_printf(out, "      --%s", view->flag);
    if (view->meta != NULL) sbx_buf_printf(out, " %s", view->meta);
    if (out->failed) return;
    size_t used = sbx_utf8_count(out->data + start, out->len - start);
    if (used + 2 > HELP_COLUMN) {
        sbx_buf_add_char(out, '\n');
        used = 0;
    }
    sbx_buf_add_repeat(out, ' ', HELP_COLUMN - used);
    wrap(out, view->help, HELP_COLUMN, HELP_COLUMN);
}

static void print_flags(enum sbx_command_id id, bool keys, const char *title,
                        struct sbx_buf *out) {
    struct sbx_flag_view view;
    bool is_first = true;
    for (size_t i = 0; sbx_flag_at(id, i, &view); i++) {
        if ((view.option == NULL) != keys) continue;
        if (is_first) sbx_buf_printf(out, "\n%s\n", title);
        is_first = false;
        print_flag(&view, out);
    }
}

void sbx_help_overview(struct sbx_buf *out) {
    sbx_buf_add_text(out, "sbx runs a command with exactly the access its manifest declares,\n"
                          "and refuses rather than degrade.\n\nUsage: sbx COMMAND [OPTION…]\n\n");
    for (size_t i = 0; i < SBX_CMD_COUNT; i++) {
        const struct sbx_command_row *row = &sbx_command_rows[i];
        sbx_buf_printf(out, "  %-12s", row->name);
        wrap(out, row->summary, 14, 14);
    }
    sbx_buf_add_text(out, "\nStart here:\n"
                          "  sbx doctor                 what this machine can enforce\n"
                          "  sbx explain -- make test   what a run would be allowed\n"
                          "  sbx run -- make test       run it\n"
                          "\nsbx help COMMAND says more; sbx(1) and sbx.toml(5) say everything.\n");
}

void sbx_help_command(enum sbx_command_id id, struct sbx_buf *out) {
    const struct sbx_command_row *row = &sbx_command_rows[id];
    AUTO_BUF usage;
    sbx_buf_init(&usage, 1024);
    sbx_buf_printf(&usage, "Usage: sbx %s%s%s", row->name, row->usage[0] == '\0' ? "" : " ",
                   row->usage);
    wrap(out, sbx_buf_text(&usage), 0, 11);
    sbx_buf_add_char(out, '\n');
    wrap(out, row->summary, 0, 0);
    if (row->details != NULL) {
        sbx_buf_add_char(out, '\n');
        wrap(out, row->details, 0, 0);
    }
    print_flags(id, false, "Options:", out);
    print_flags(id, true, "Access (each is a manifest key, see sbx.toml(5)):", out);
    if (row->examples == NULL) return;
    sbx_buf_add_text(out, "\nExamples:\n");
    struct sbx_str rest = sbx_str(row->examples);
    bool more = true;
    while (more) {
        struct sbx_str line;
        more = sbx_str_split(rest, '\n', &line, &rest);
        sbx_buf_printf(out, "  %.*s\n", SBX_STR_ARG(line));
    }
}
