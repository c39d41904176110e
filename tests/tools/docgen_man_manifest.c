/* docgen: the man page sbx.toml(5). */
#include "common/egress/hosts.h"
#include "common/policy/ceiling.h"
#include "common/policy/manifest_kind.h"
#include "common/policy/profile.h"
#include "common/policy/protect.h"
#include "tests/tools/docgen_roff.h"

#include "common/base/banned.h"

static void print_description(struct sbx_buf *out)
{
    roff_section(out, "DESCRIPTION");
    roff_text(out,
              "A manifest declares what a command may do. It is TOML 1.0 with one table "
              "`[sandbox]`, or with units `[unit.NAME]`, or both; `$schema` is allowed at the top "
              "level. A file whose name ends in `.json` is JSON with the same shape. Every problem "
              "in a file is reported, not the first. An empty or invalid file is an error: sbx "
              "never uses a default in its place.");
    roff_paragraph(out,
                   "A manifest has at most 1 MiB, is nested at most 64 levels deep, and a list has "
                   "at most 4096 entries.");
    roff_paragraph(
        out, "A manifest that is named with `-f` is used as it is. One that is only found "
             "(see FILES in sbx(1)) must belong to the caller, and may only tighten the "
             "default, which is mode `workspace-write`; one that allows more is refused until "
             "`sbx trust` has accepted its exact content.");
}

static void print_key(struct sbx_buf *out, const struct sbx_key_row *row)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 4096);
    roff_entry(out, row->name);
    roff_sentence(out, row->help);
    if (row->kind == SBX_KIND_CHOICE) {
        sbx_buf_add_text(&text, "One of");
        for (size_t i = 0; row->names[i].text != NULL; i++)
            sbx_buf_printf(&text, "%s `%s`", i == 0 ? "" : ",", row->names[i].text);
    } else {
        sbx_buf_printf(&text, "Value: %s", sbx_kind_of(row->kind)->type_text);
    }
    if (row->max > 0) {
        sbx_buf_add_text(&text, ", ");
        docgen_range(row, &text);
    }
    sbx_buf_printf(&text, ". Default: %s. Option: `--%s`.", row->default_text, row->flag);
    const unsigned every = (1U << SBX_PLATFORM_COUNT) - 1;
    if ((row->platforms & every) != every)
        sbx_buf_printf(&text, " Only on %s.", docgen_platforms(row->platforms));
    roff_text(out, sbx_buf_text(&text));
    sbx_buf_add_text(out, ".br\n");
    sbx_buf_reset(&text);
    sbx_buf_printf(&text, "`%s = %s`", row->name, row->example);
    roff_text(out, sbx_buf_text(&text));
}

static void print_values(struct sbx_buf *out)
{
    roff_subsection(out, "Values");
    roff_text(out,
              "A path is absolute, or starts with a place; it has no `..` component and no control "
              "character. A duration is `90s`, `2m`, `1h30m`, `250ms`, a string with a bare number "
              "of seconds, or a table `{ secs = 1, nanos = 5 }`. A size is an integer number of "
              "bytes, or a string: `256MiB` and `256M` count by 1024, `1GB` by 1000.");
    roff_subsection(out, "Places");
    roff_text(out,
              "At the start of a path, with or without something below them (`:project/out`):");
    roff_facts(out, docgen_places);
    roff_subsection(out, "Hosts");
    roff_text(out, "Entries of `network.hosts`; nothing is allowed that is not listed:");
    roff_facts(out, docgen_host_forms);
    roff_paragraph(out,
                   "Entries of `network.local` are loopback and private targets with a port, such "
                   "as `localhost:8080`. Shared platforms, where anybody can publish, are allowed "
                   "only by exact host. Addresses of cloud metadata services are always refused. "
                   "The groups are:");
    const struct sbx_host_group *group;
    for (size_t i = 0; (group = sbx_host_group_at(i)) != NULL; i++) {
        AUTO_BUF head;
        sbx_buf_init(&head, 64);
        sbx_buf_printf(&head, "@%s", group->name);
        roff_entry(out, sbx_buf_text(&head));
        roff_sentence(out, group->help);
    }
}

static void print_split(struct sbx_buf *out)
{
    roff_section(out, "FILES OF THE BOX");
    roff_text(out,
              "What no entry covers is not there: neither names nor bytes. Of entries that cover a "
              "path, the one for the longest path decides, so a narrower entry wins over a broader "
              "one. `write` includes `read`. `none` takes away what a broader entry gave, and an "
              "entry below it can give back. For the same path, an option wins over the manifest, "
              "and both over the profile or mode; two different entries of the manifest for one "
              "path are an error.");
    roff_example(out, "[sandbox.filesystem]\n"
                      "\":root\" = \"read\"\n"
                      "\"/code\" = \"write\"\n"
                      "\"/code/.git\" = \"read\"\n"
                      "\"/code/secrets\" = \"none\"\n"
                      "\"/code/secrets/tmp\" = \"write\"\n"
                      "\"/code/**/.env\" = \"none\"\n");
    roff_paragraph(out, "The keys of `filesystem` may be globs with `read` or `none`: `?` is one "
                        "character, `*` any number within a name, a `**` component any number of "
                        "directories. A glob covers what it matches and everything below.");
    roff_paragraph(
        out, "A listed path must exist, unless it is denied, or read-only inside a writable "
             "one. /proc, /dev and /sys are never granted; the box has its own. The whole disk "
             "is never writable, and neither are sbx's own directories.");
    roff_subsection(out, "Protected names");
    roff_text(out, "Below every writable path, at any depth, these names stay read-only, because "
                   "something on the host runs or trusts what is in them:");
    AUTO_BUF names;
    sbx_buf_init(&names, 4096);
    for (size_t i = 0; sbx_protect_defaults[i].pattern != NULL; i++)
        sbx_buf_printf(&names, "%s`%s`", i == 0 ? "" : ", ", sbx_protect_defaults[i].pattern);
    sbx_buf_add_char(&names, '.');
    roff_paragraph(out, sbx_buf_text(&names));
    roff_paragraph(out, "An entry for such a path itself makes it writable, with a warning.");
    sbx_buf_reset(&names);
    sbx_buf_add_text(&names,
                     "With `git = \"commit\"` a directory `.git` is writable, and inside it these "
                     "stay locked: ");
    for (size_t i = 0, shown = 0; sbx_protect_git_commit[i].pattern != NULL; i++) {
        if (sbx_protect_git_commit[i].file_only) continue;
        sbx_buf_printf(&names, "%s`%s`", shown++ == 0 ? "" : ", ",
                       sbx_protect_git_commit[i].pattern);
    }
    sbx_buf_add_char(&names, '.');
    roff_paragraph(out, sbx_buf_text(&names));
}

static void print_presets(struct sbx_buf *out)
{
    roff_section(out, "PROFILES AND MODES");
    roff_text(out,
              "A manifest starts from one of them; its other keys override it. `sbx profile show` "
              "NAME prints what one means on a platform.");
    for (size_t i = 0; i < SBX_PRESET_COUNT; i++) {
        const struct sbx_preset_row *row = &sbx_preset_rows[i];
        AUTO_BUF text;
        sbx_buf_init(&text, 1024);
        if (row->preset == SBX_PRESET_DECLARED)
            sbx_buf_add_text(&text, "neither");
        else
            sbx_buf_printf(&text, "%s = \"%s\"", row->word, row->name);
        roff_entry(out, sbx_buf_text(&text));
        roff_sentence(out, row->help);
    }
}

static void print_units(struct sbx_buf *out)
{
    roff_section(out, "UNITS");
    roff_text(
        out,
        "`[unit.NAME]` describes a box that runs for long. It has the keys of `[sandbox]`, and:");
    roff_entry(out, "command");
    roff_sentence(out, "the command and its arguments, a list of strings; required");
    roff_entry(out, "type");
    roff_sentence(out, "`simple` (the default) or `oneshot`");
    roff_paragraph(
        out, "A name has up to 64 letters, digits, `-`, `_` and `.`, and starts with a letter or "
             "a digit. What is wrong with one unit does not disturb the others. Units are read "
             "and checked by `sbx verify`; what starts them is not there yet.");
}

static void print_ceiling(struct sbx_buf *out)
{
    roff_section(out, "ADMINISTRATOR'S POLICY");
    roff_text(
        out,
        "`policy.toml` (see FILES in sbx(1)) is a ceiling on every manifest of the machine. Its "
        "keys are at the top level. A manifest that asks for more is an error; where it asks for "
        "nothing, the bound applies. A file that is not the administrator's or not valid stops "
        "every run.");
    struct sbx_ceiling_row row;
    for (size_t i = 0; sbx_ceiling_row_at(i, &row); i++) {
        AUTO_BUF text;
        sbx_buf_init(&text, 1024);
        sbx_buf_printf(&text, "%s (%s)", row.help, row.type);
        roff_entry(out, row.name);
        roff_sentence(out, sbx_buf_text(&text));
    }
}

static void print_findings(struct sbx_buf *out)
{
    roff_section(out, "DIAGNOSTICS");
    roff_text(
        out,
        "What is wrong with a manifest is told as findings with stable codes. An error is never "
        "run; warnings and notes are only told.");
    for (int i = 0; i < SBX_FINDING_CODE_COUNT; i++) {
        const struct sbx_finding_row *row = sbx_finding_row((enum sbx_finding_code)i);
        AUTO_BUF text;
        sbx_buf_init(&text, 1024);
        sbx_buf_printf(&text, "%s: %s", sbx_name_text(sbx_level_names, (int)row->level),
                       row->meaning);
        roff_entry(out, sbx_name_text(sbx_finding_code_names, i));
        roff_sentence(out, sbx_buf_text(&text));
    }
}

void docgen_print_sbx_toml_5(struct sbx_buf *out)
{
    roff_title(out, "SBX.TOML", 5);
    roff_section(out, "NAME");
    sbx_buf_add_text(out, "sbx.toml \\- what a command in a box may do\n");
    print_description(out);
    roff_section(out, "KEYS");
    roff_text(out, "All keys are optional.");
    for (size_t i = 0; i < SBX_KEY_COUNT; i++) print_key(out, &sbx_key_rows[i]);
    print_values(out);
    print_split(out);
    print_presets(out);
    print_units(out);
    print_ceiling(out);
    print_findings(out);
    roff_section(out, "EXAMPLES");
    roff_text(out,
              "A project that may commit, but neither reads its secrets nor reaches the network:");
    roff_example(out, "[sandbox]\n"
                      "mode = \"workspace-write\"\n"
                      "git = \"commit\"\n"
                      "env_pass = [\"PATH\", \"HOME\", \"LANG\", \"TERM\"]\n"
                      "timeout = \"10m\"\n"
                      "\n"
                      "[sandbox.filesystem]\n"
                      "\":project/secrets\" = \"none\"\n"
                      "\":project/**/.env\" = \"none\"\n");
    roff_section(out, "SEE ALSO");
    sbx_buf_add_text(out, ".BR sbx (1)\n");
}
