/* Help made from the tables, 80 columns wide. */
#include <stdio.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/cli/report.h"

#include "common/base/banned.h"

#define WIDTH 80
#define HELP_COLUMN 28

/* Words of `text`, wrapped; the first line starts at `column`, the others at `indent`. */
static void wrap(struct sbx_buf *out, const char *text, size_t column, size_t indent)
{
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

static void print_flag(const struct sbx_flag_view *view, struct sbx_buf *out)
{
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

static void print_flags(enum sbx_command_id id, bool keys, const char *title, struct sbx_buf *out)
{
    struct sbx_flag_view view;
    bool is_first = true;
    for (size_t i = 0; sbx_flag_at(id, i, &view); i++) {
        if ((view.option == NULL) != keys) continue;
        if (is_first) sbx_buf_printf(out, "\n%s\n", title);
        is_first = false;
        print_flag(&view, out);
    }
}

void sbx_help_overview(struct sbx_buf *out)
{
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

void sbx_help_command(enum sbx_command_id id, struct sbx_buf *out)
{
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

void sbx_help_codes(struct sbx_buf *out)
{
    const size_t column = 33;
    for (int i = 0; i < SBX_FINDING_CODE_COUNT; i++) {
        const struct sbx_finding_row *row = sbx_finding_row((enum sbx_finding_code)i);
        sbx_buf_printf(out, "%-24s%-9s", sbx_name_text(sbx_finding_code_names, i),
                       sbx_name_text(sbx_level_names, (int)row->level));
        wrap(out, row->meaning, column, column);
    }
}

/* ---- for programs ---- */

static void json_flag(const struct sbx_flag_view *view, struct sbx_jsonw *json)
{
    char spelled[3] = {'-', view->short_flag, '\0'};
    const char *key = view->key != NULL ? view->key->name : NULL;
    if (view->alias != NULL) key = sbx_key_rows[view->alias->key].name;
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "name", view->flag);
    sbx_jsonw_pair_text(json, "short", view->short_flag == 0 ? NULL : spelled);
    sbx_jsonw_pair_text(json, "value", view->meta);
    sbx_jsonw_pair_text(json, "key", key);
    sbx_jsonw_pair_text(json, "help", view->help);
    sbx_jsonw_end(json);
}

static void json_command(const struct sbx_command_row *row, struct sbx_jsonw *json)
{
    struct sbx_flag_view view;
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "name", row->name);
    sbx_jsonw_pair_text(json, "usage", row->usage);
    sbx_jsonw_pair_text(json, "summary", row->summary);
    sbx_jsonw_pair_text(json, "details", row->details);
    sbx_jsonw_key(json, "options");
    sbx_jsonw_array(json);
    for (size_t i = 0; sbx_flag_at(row->id, i, &view); i++) json_flag(&view, json);
    sbx_jsonw_end(json);
    sbx_jsonw_end(json);
}

int sbx_help_show(struct sbx_cli *cli, enum sbx_command_id id)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    if (!cli->out.json) {
        if (id == SBX_CMD_COUNT)
            sbx_help_overview(&text);
        else
            sbx_help_command(id, &text);
        return sbx_output_write(SBX_STDOUT, &text) ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
    }
    struct sbx_jsonw json;
    sbx_report_open(&json, &text, cli);
    sbx_jsonw_pair_bool(&json, "ok", true);
    sbx_jsonw_key(&json, "commands");
    sbx_jsonw_array(&json);
    for (size_t i = 0; i < SBX_CMD_COUNT; i++)
        if (id == SBX_CMD_COUNT || i == (size_t)id) json_command(&sbx_command_rows[i], &json);
    sbx_jsonw_end(&json);
    return sbx_report_close(&json, SBX_EXIT_OK);
}

int sbx_help_show_codes(struct sbx_cli *cli)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    if (!cli->out.json) {
        sbx_help_codes(&text);
        return sbx_output_write(SBX_STDOUT, &text) ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
    }
    struct sbx_jsonw json;
    sbx_report_open(&json, &text, cli);
    sbx_jsonw_pair_bool(&json, "ok", true);
    sbx_jsonw_key(&json, "codes");
    sbx_jsonw_array(&json);
    for (int i = 0; i < SBX_FINDING_CODE_COUNT; i++) {
        const struct sbx_finding_row *row = sbx_finding_row((enum sbx_finding_code)i);
        sbx_jsonw_object(&json);
        sbx_jsonw_pair_text(&json, "code", sbx_name_text(sbx_finding_code_names, i));
        sbx_jsonw_pair_text(&json, "level", sbx_name_text(sbx_level_names, (int)row->level));
        sbx_jsonw_pair_text(&json, "meaning", row->meaning);
        sbx_jsonw_end(&json);
    }
    sbx_jsonw_end(&json);
    return sbx_report_close(&json, SBX_EXIT_OK);
}
