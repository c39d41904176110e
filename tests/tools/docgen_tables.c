/* docgen: the tables, in Markdown. */
#include "common/cli/command.h"
#include "common/egress/hosts.h"
#include "common/policy/backends.h"
#include "common/policy/ceiling.h"
#include "common/policy/manifest_kind.h"
#include "common/policy/profile.h"
#include "common/policy/protect.h"
#include "common/policy/select.h"
#include "tests/tools/docgen_markdown.h"

#include "common/base/banned.h"

/* ---- cells ---- */

static void add_words(struct sbx_buf *out, const struct sbx_name *words)
{
    for (size_t i = 0; words[i].text != NULL; i++) {
        if (i > 0) sbx_buf_add_char(out, ' ');
        docgen_code(out, words[i].text);
    }
}

static void add_facts(struct sbx_buf *out, const struct docgen_fact *facts)
{
    for (size_t i = 0; facts[i].name != NULL; i++) {
        sbx_buf_add_text(out, "| ");
        docgen_code(out, facts[i].name);
        sbx_buf_add_text(out, " | ");
        docgen_text(out, facts[i].text);
        sbx_buf_add_text(out, " |\n");
    }
}

/* ---- keys and options ---- */

static void add_flag(struct sbx_buf *out, char short_flag, const char *flag, const char *meta)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 256);
    if (short_flag != 0) sbx_buf_printf(&text, "-%c, ", short_flag);
    sbx_buf_printf(&text, "--%s", flag);
    if (meta != NULL) sbx_buf_printf(&text, " %s", meta);
    docgen_code(out, sbx_buf_text(&text));
}

static void print_keys(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "key", "value", "default", "option", "platforms", "meaning");
    for (size_t i = 0; i < SBX_KEY_COUNT; i++) {
        const struct sbx_key_row *row = &sbx_key_rows[i];
        sbx_buf_add_text(out, "| ");
        docgen_code(out, row->name);
        sbx_buf_add_text(out, " | ");
        if (row->kind == SBX_KIND_CHOICE)
            add_words(out, row->names);
        else
            docgen_text(out, sbx_kind_of(row->kind)->type_text);
        if (row->max > 0) {
            sbx_buf_add_text(out, ", ");
            docgen_range(row, out);
        }
        sbx_buf_add_text(out, " | ");
        docgen_text(out, row->default_text);
        sbx_buf_add_text(out, " | ");
        add_flag(out, row->short_flag, row->flag, row->meta);
        sbx_buf_printf(out, " | %s | ", docgen_platforms(row->platforms));
        docgen_text(out, row->help);
        sbx_buf_add_text(out, " |\n");
    }
}

static void print_key_examples(struct sbx_buf *out)
{
    sbx_buf_add_text(out, "```toml\n");
    for (size_t i = 0; i < SBX_KEY_COUNT; i++)
        sbx_buf_printf(out, "%s = %s\n", sbx_key_rows[i].name, sbx_key_rows[i].example);
    sbx_buf_add_text(out, "```\n");
}

static void print_aliases(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "option", "key", "meaning");
    for (const struct sbx_flag_alias *row = sbx_flag_aliases; row->flag != NULL; row++) {
        sbx_buf_add_text(out, "| ");
        add_flag(out, row->short_flag, row->flag, row->meta);
        sbx_buf_add_text(out, " | ");
        docgen_code(out, sbx_key_rows[row->key].name);
        sbx_buf_add_text(out, " | ");
        docgen_text(out, row->help);
        sbx_buf_add_text(out, " |\n");
    }
}

static void print_commands(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "command", "what it does");
    for (size_t i = 0; i < SBX_CMD_COUNT; i++) {
        const struct sbx_command_row *row = &sbx_command_rows[i];
        AUTO_BUF usage;
        sbx_buf_init(&usage, 1024);
        sbx_buf_printf(&usage, "sbx %s%s%s", row->name, row->usage[0] == '\0' ? "" : " ",
                       row->usage);
        sbx_buf_add_text(out, "| ");
        docgen_code(out, sbx_buf_text(&usage));
        sbx_buf_add_text(out, " | ");
        docgen_text(out, row->summary);
        sbx_buf_add_text(out, " |\n");
    }
}

static void print_options(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "option", "of", "meaning");
    for (size_t i = 0; i < SBX_OPT_COUNT; i++) {
        const struct sbx_option_row *row = &sbx_option_rows[i];
        const unsigned every = (1U << SBX_CMD_COUNT) - 1;
        sbx_buf_add_text(out, "| ");
        add_flag(out, row->short_flag, row->flag, row->meta);
        sbx_buf_add_text(out, " |");
        if (row->commands == every) sbx_buf_add_text(out, " every command");
        for (size_t k = 0; row->commands != every && k < SBX_CMD_COUNT; k++)
            if (row->commands & (1U << k)) sbx_buf_printf(out, " %s", sbx_command_rows[k].name);
        sbx_buf_add_text(out, " | ");
        docgen_text(out, row->help);
        sbx_buf_add_text(out, " |\n");
    }
}

/* ---- findings, ceiling, selection ---- */

static void print_findings(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "code", "level", "meaning");
    for (int i = 0; i < SBX_FINDING_CODE_COUNT; i++) {
        const struct sbx_finding_row *row = sbx_finding_row((enum sbx_finding_code)i);
        sbx_buf_add_text(out, "| ");
        docgen_code(out, sbx_name_text(sbx_finding_code_names, i));
        sbx_buf_printf(out, " | %s | ", sbx_name_text(sbx_level_names, (int)row->level));
        docgen_text(out, row->meaning);
        sbx_buf_add_text(out, " |\n");
    }
}

static void print_ceiling(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "key", "value", "meaning");
    struct sbx_ceiling_row row;
    for (size_t i = 0; sbx_ceiling_row_at(i, &row); i++) {
        sbx_buf_add_text(out, "| ");
        docgen_code(out, row.name);
        sbx_buf_add_text(out, " | ");
        docgen_text(out, row.type);
        sbx_buf_add_text(out, " | ");
        docgen_text(out, row.help);
        sbx_buf_add_text(out, " |\n");
    }
}

static void print_selection(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "", "condition", "backend");
    const char *condition;
    const char *backend;
    for (size_t i = 0; sbx_select_row_at(i, &condition, &backend); i++) {
        sbx_buf_printf(out, "| %zu | ", i + 1);
        docgen_text(out, condition);
        sbx_buf_add_text(out, " | ");
        docgen_text(out, backend);
        sbx_buf_add_text(out, " |\n");
    }
}

/* ---- presets ---- */

static void print_presets(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "", "name", "network", "syscalls", "processes", "on Windows", "what it is");
    for (size_t i = 0; i < SBX_PRESET_COUNT; i++) {
        const struct sbx_preset_row *row = &sbx_preset_rows[i];
        bool is_named = row->preset != SBX_PRESET_DECLARED;
        sbx_buf_printf(out, "| %s | ", is_named ? row->word : "");
        if (is_named)
            docgen_code(out, row->name);
        else
            sbx_buf_add_text(out, "neither");
        sbx_buf_printf(out, " | %s | %s | ", sbx_name_text(sbx_net_kind_names, (int)row->network),
                       sbx_name_text(sbx_syscalls_names, (int)row->syscalls));
        if (row->processes != 0) sbx_buf_printf(out, "%u", (unsigned)row->processes);
        sbx_buf_add_text(out, " | ");
        if (row->windows_processes != 0)
            sbx_buf_printf(out, "%u", (unsigned)row->windows_processes);
        sbx_buf_add_text(out, " | ");
        docgen_text(out, row->help);
        for (size_t k = 0; row->env_pass[k] != NULL; k++)
            sbx_buf_printf(out, "%s`%s`", k == 0 ? "; passes " : " ", row->env_pass[k]);
        sbx_buf_add_text(out, " |\n");
    }
}

static const char *rule_word(const struct sbx_preset_rule *rule)
{
    return rule->kind == SBX_RULE_HOST ? sbx_name_text(sbx_access_names, (int)rule->access)
                                       : sbx_name_text(sbx_rule_kind_names, (int)rule->kind);
}

/* Paths of one platform that have one word; nothing when there are none. */
static void add_rules(struct sbx_buf *out, const struct sbx_preset_row *row, int platform,
                      const char *word)
{
    bool is_first = true;
    for (size_t g = 0; row->rules[g] != NULL; g++) {
        for (const struct sbx_preset_rule *rule = row->rules[g]; rule->path != NULL; rule++) {
            if (!(rule->platforms & (1U << platform)) || !sbx_text_eq(rule_word(rule), word))
                continue;
            sbx_buf_add_text(out, is_first ? "" : " ");
            docgen_code(out, rule->path);
            is_first = false;
        }
    }
}

/* Presets with the same rules share a row: the first of them prints it. */
static bool is_printed_before(size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (sbx_preset_rows[i].rules == sbx_preset_rows[index].rules) return true;
    return false;
}

static void print_preset_files(struct sbx_buf *out)
{
    static const char *const words[] = {"read", "write", "tmpfs", "socket", "none"};
    DOCGEN_HEAD(out, "preset", "platform", "read", "write", "tmpfs", "socket", "none");
    for (size_t i = 0; i < SBX_PRESET_COUNT; i++) {
        const struct sbx_preset_row *row = &sbx_preset_rows[i];
        if (row->rules[0] == NULL || is_printed_before(i)) continue;
        for (int platform = 0; platform < SBX_PLATFORM_COUNT; platform++) {
            sbx_buf_add_text(out, "|");
            for (size_t k = i; k < SBX_PRESET_COUNT; k++)
                if (sbx_preset_rows[k].rules == row->rules)
                    sbx_buf_printf(out, " %s", sbx_preset_rows[k].name);
            sbx_buf_printf(out, " | %s | ", sbx_name_text(sbx_platform_names, platform));
            for (size_t w = 0; w < SBX_COUNT(words); w++) {
                add_rules(out, row, platform, words[w]);
                sbx_buf_add_text(out, " | ");
            }
            out->len--;
            sbx_buf_add_char(out, '\n');
        }
    }
}

static void print_protect_rows(struct sbx_buf *out, const struct sbx_protect_row *rows)
{
    DOCGEN_HEAD(out, "name", "why");
    for (size_t i = 0; rows[i].pattern != NULL; i++) {
        sbx_buf_add_text(out, "| ");
        docgen_code(out, rows[i].pattern);
        sbx_buf_printf(out, "%s | ", rows[i].file_only ? " (a file, not a directory)" : "");
        docgen_text(out, rows[i].reason);
        sbx_buf_add_text(out, " |\n");
    }
}

static void print_protected(struct sbx_buf *out)
{
    print_protect_rows(out, sbx_protect_defaults);
}

static void print_git_commit(struct sbx_buf *out)
{
    print_protect_rows(out, sbx_protect_git_commit);
}

/* ---- facts ---- */

static void print_exits(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "status", "meaning");
    add_facts(out, docgen_exits);
}

static void print_environment(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "variable", "meaning");
    add_facts(out, docgen_environment);
}

static void print_files(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "file", "what it is");
    add_facts(out, docgen_files);
}

static void print_places(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "place", "stands for");
    add_facts(out, docgen_places);
}

static void print_host_forms(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "entry", "allows");
    add_facts(out, docgen_host_forms);
}

static void print_groups(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "group", "what it is", "members");
    const struct sbx_host_group *group;
    for (size_t i = 0; (group = sbx_host_group_at(i)) != NULL; i++) {
        sbx_buf_printf(out, "| `@%s` | ", group->name);
        docgen_text(out, group->help);
        sbx_buf_add_text(out, " |");
        for (size_t k = 0; group->members[k] != NULL; k++) {
            sbx_buf_add_char(out, ' ');
            docgen_code(out, group->members[k]);
        }
        sbx_buf_add_text(out, " |\n");
    }
}

const struct docgen_part docgen_tables[] = {{"keys", print_keys},
                                            {"key-examples", print_key_examples},
                                            {"aliases", print_aliases},
                                            {"commands", print_commands},
                                            {"options", print_options},
                                            {"findings", print_findings},
                                            {"ceiling", print_ceiling},
                                            {"selection", print_selection},
                                            {"presets", print_presets},
                                            {"preset-files", print_preset_files},
                                            {"protected", print_protected},
                                            {"git-commit", print_git_commit},
                                            {"tiers", docgen_print_tiers},
                                            {"mechanisms", docgen_print_mechanisms},
                                            {"missing", docgen_print_missing},
                                            {"backends", docgen_print_backends},
                                            {"shapes", docgen_print_shapes},
                                            {"exits", print_exits},
                                            {"environment", print_environment},
                                            {"files", print_files},
                                            {"places", print_places},
                                            {"hosts", print_host_forms},
                                            {"groups", print_groups},
                                            {"call-refusals", docgen_print_call_refusals},
                                            {"call-families", docgen_print_call_families},
                                            {"call-strict", docgen_print_call_strict},
                                            {"call-layers", docgen_print_call_layers},
                                            {"wire-requests", docgen_print_wire_requests},
                                            {"wire-to-service", docgen_print_wire_to_service},
                                            {"wire-to-client", docgen_print_wire_to_client},
                                            {"wire-errors", docgen_print_wire_errors},
                                            {"wire-error", docgen_print_wire_error_members},
                                            {NULL, NULL}};
