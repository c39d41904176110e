/* docgen: the man page sbx(1). */
#include "common/cli/command.h"
#include "tests/tools/docgen_roff.h"

#include "common/base/banned.h"

const struct docgen_part docgen_pages[] = {
    {"sbx.1", docgen_print_sbx_1}, {"sbx.toml.5", docgen_print_sbx_toml_5}, {NULL, NULL}};

static void print_synopsis(struct sbx_buf *out)
{
    roff_section(out, "SYNOPSIS");
    for (size_t i = 0; i < SBX_CMD_COUNT; i++) {
        const struct sbx_command_row *row = &sbx_command_rows[i];
        sbx_buf_printf(out, "%s\\fBsbx %s\\fR ", i == 0 ? "" : ".br\n", row->name);
        roff_usage(out, row->usage);
        if (row->usage[0] == '\0') out->len--;
        sbx_buf_add_char(out, '\n');
    }
}

static void print_description(struct sbx_buf *out)
{
    roff_section(out, "DESCRIPTION");
    roff_text(out,
              "`sbx` runs a command with exactly the access that its manifest declares. What it "
              "cannot enforce it refuses, or says so before the command starts. Nothing ever "
              "degrades silently.");
    roff_paragraph(out,
                   "A manifest says what is asked; sbx.toml(5) describes it. From it, from the "
                   "options and from what the machine can do, `sbx` makes a plan: which files, "
                   "which network, which limits, which variables, which backend, and how well "
                   "each of them is held. `sbx explain` prints the plan. `sbx run` carries it "
                   "out.");
    roff_paragraph(out,
                   "Where no backend fits, `sbx run` refuses with status 125 and says what to "
                   "do. Running without a sandbox takes two keys at once, SBX_SANDBOX=none and "
                   "SBX_ALLOW_NO_SANDBOX=1. On a machine where no backend works the second "
                   "alone is enough. Either way there is a warning, and the environment is "
                   "still dropped.");
    roff_paragraph(out, "Another product has a program of the same name. `sbx version` says which "
                        "one answers.");
}

/* Options that are not manifest keys. Those of every command are told once, at the end. */
static bool is_common(const struct sbx_option_row *row)
{
    return row->id == SBX_OPT_QUIET || row->id == SBX_OPT_VERBOSE || row->id == SBX_OPT_COLOR ||
           row->id == SBX_OPT_HELP || row->id == SBX_OPT_JSON;
}

static void print_command(struct sbx_buf *out, const struct sbx_command_row *row)
{
    AUTO_BUF title;
    sbx_buf_init(&title, 128);
    sbx_buf_printf(&title, "sbx %s", row->name);
    roff_subsection(out, sbx_buf_text(&title));
    roff_sentence(out, row->summary);
    if (row->details != NULL) roff_paragraph(out, row->details);
    bool has_keys = false;
    struct sbx_flag_view view;
    for (size_t i = 0; sbx_flag_at(row->id, i, &view); i++) {
        has_keys |= view.key != NULL;
        if (view.option == NULL || is_common(view.option)) continue;
        roff_flag(out, view.short_flag, view.flag, view.meta);
        roff_sentence(out, view.help);
    }
    if (has_keys) roff_paragraph(out, "It also takes the access options below.");
}

static void print_common(struct sbx_buf *out)
{
    const unsigned every = (1U << SBX_CMD_COUNT) - 1;
    roff_subsection(out, "Common options");
    for (size_t i = 0; i < SBX_OPT_COUNT; i++) {
        const struct sbx_option_row *row = &sbx_option_rows[i];
        if (!is_common(row)) continue;
        AUTO_BUF text;
        sbx_buf_init(&text, 1024);
        sbx_buf_add_text(&text, row->help);
        for (size_t k = 0, shown = 0; row->commands != every && k < SBX_CMD_COUNT; k++) {
            if (row->commands & (1U << k)) continue;
            sbx_buf_printf(&text, "%s`%s`", shown++ == 0 ? ". Not for " : ", ",
                           sbx_command_rows[k].name);
        }
        roff_flag(out, row->short_flag, row->flag, row->meta);
        roff_sentence(out, sbx_buf_text(&text));
    }
}

static void print_access(struct sbx_buf *out)
{
    roff_subsection(out, "Access options");
    roff_text(out,
              "For `run`, `explain` and `why`. Each is a key of sbx.toml(5), named at its end. "
              "Options come on top of the manifest: lists are joined, other values replaced, "
              "and `--profile` and `--mode` replace each other. Options whose key is a list may "
              "be repeated.");
    struct sbx_flag_view view;
    for (size_t i = 0; sbx_flag_at(SBX_CMD_RUN, i, &view); i++) {
        if (view.option != NULL) continue;
        enum sbx_key key = view.key != NULL ? view.key->key : view.alias->key;
        AUTO_BUF text;
        sbx_buf_init(&text, 1024);
        sbx_buf_printf(&text, "%s (`%s`)", view.help, sbx_key_rows[key].name);
        roff_flag(out, view.short_flag, view.flag, view.meta);
        roff_sentence(out, sbx_buf_text(&text));
    }
    roff_paragraph(out, "`--protect none` drops the built-in names, `--require none` requires "
                        "nothing; what follows is added.");
}

static void print_examples(struct sbx_buf *out)
{
    roff_section(out, "EXAMPLES");
    for (size_t i = 0; i < SBX_CMD_COUNT; i++) {
        const struct sbx_command_row *row = &sbx_command_rows[i];
        if (row->examples == NULL) continue;
        AUTO_BUF title;
        sbx_buf_init(&title, 256);
        sbx_buf_printf(&title, "`%s`: %s", row->name, row->summary);
        if (i == 0)
            roff_text(out, sbx_buf_text(&title));
        else
            roff_paragraph(out, sbx_buf_text(&title));
        roff_example(out, row->examples);
    }
}

void docgen_print_sbx_1(struct sbx_buf *out)
{
    roff_title(out, "SBX", 1);
    roff_section(out, "NAME");
    sbx_buf_add_text(out, "sbx \\- run a command with exactly the access its manifest declares\n");
    print_synopsis(out);
    print_description(out);
    roff_section(out, "COMMANDS");
    for (size_t i = 0; i < SBX_CMD_COUNT; i++) print_command(out, &sbx_command_rows[i]);
    roff_section(out, "OPTIONS");
    roff_text(out,
              "Options come before the command that is run; `--` ends them. `--flag VALUE` and "
              "`--flag=VALUE` are the same, and so are `-r PATH` and `-rPATH`.");
    print_common(out);
    print_access(out);
    roff_section(out, "EXIT STATUS");
    roff_facts(out, docgen_exits);
    roff_paragraph(out, "A command can end with 124 to 127 of its own accord. The JSON outcome "
                        "tells: its `origin` is `command` or `sbx`.");
    roff_section(out, "ENVIRONMENT");
    roff_facts(out, docgen_environment);
    roff_section(out, "FILES");
    roff_facts(out, docgen_files);
    print_examples(out);
    roff_section(out, "SEE ALSO");
    sbx_buf_add_text(out, ".BR bwrap (1),\n.BR sbx.toml (5),\n.BR landlock (7),\n"
                          ".BR user_namespaces (7)\n");
}
