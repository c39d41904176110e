/* sbx completion: scripts for four shells, made from the tables. */
#include <stdio.h>

#include "common/cli/report.h"

#include "common/base/banned.h"

/* What a value of a flag is completed with. */
enum value_kind { VALUE_NOTHING, VALUE_WORDS, VALUE_FILES };

static enum value_kind kind_of(const struct sbx_flag_view *view)
{
    if (view->meta == NULL) return VALUE_NOTHING;
    if (view->words != NULL) return VALUE_WORDS;
    static const char *const files[] = {"PATH", "FILE", "DIR"};
    for (size_t i = 0; i < SBX_COUNT(files); i++)
        if (sbx_text_eq(view->meta, files[i])) return VALUE_FILES;
    return VALUE_NOTHING;
}

static bool takes_files(enum sbx_command_id id)
{
    return id == SBX_CMD_VERIFY || id == SBX_CMD_TRUST || id == SBX_CMD_INIT;
}

static bool runs_something(enum sbx_command_id id)
{
    return id == SBX_CMD_RUN || id == SBX_CMD_EXPLAIN;
}

static void add_words(struct sbx_buf *out, const struct sbx_name *words, const char *separator)
{
    for (size_t i = 0; words[i].text != NULL; i++)
        sbx_buf_printf(out, "%s%s", i == 0 ? "" : separator, words[i].text);
}

static void add_commands(struct sbx_buf *out, const char *separator)
{
    for (size_t i = 0; i < SBX_CMD_COUNT; i++)
        sbx_buf_printf(out, "%s%s", i == 0 ? "" : separator, sbx_command_rows[i].name);
}

/* Operands that are words; false when the command takes none. */
static bool add_operands(struct sbx_buf *out, enum sbx_command_id id)
{
    static const char *const words[SBX_CMD_COUNT] = {
        [SBX_CMD_COMPLETION] = "bash zsh fish powershell",
        [SBX_CMD_PROFILE] = "list show",
        [SBX_CMD_SCHEMA] = "manifest rpc",
        [SBX_CMD_SERVICE] = "install uninstall start stop status run",
        [SBX_CMD_WORKSPACE] = "list add remove",
        [SBX_CMD_HELP] = "codes ",
    };
    if (words[id] == NULL) return false;
    sbx_buf_add_text(out, words[id]);
    if (id == SBX_CMD_HELP) add_commands(out, " ");
    return true;
}

static void add_flags(struct sbx_buf *out, enum sbx_command_id id)
{
    struct sbx_flag_view view;
    for (size_t i = 0; sbx_flag_at(id, i, &view); i++) {
        sbx_buf_printf(out, "%s--%s", i == 0 ? "" : " ", view.flag);
        if (view.short_flag != 0) sbx_buf_printf(out, " -%c", view.short_flag);
    }
}

/* Text inside single quotes of a shell. */
static void add_quoted(struct sbx_buf *out, const char *text, const char *quote_escape)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'')
            sbx_buf_add_text(out, quote_escape);
        else
            sbx_buf_add_char(out, *c);
    }
}

/* ---- bash ---- */

/* Which flags take a value, so that the command's own words are not taken for options. */
static void bash_values(struct sbx_buf *out, enum sbx_command_id id)
{
    struct sbx_flag_view view;
    for (size_t i = 0; sbx_flag_at(id, i, &view); i++) {
        enum value_kind kind = kind_of(&view);
        if (view.meta == NULL) continue;
        sbx_buf_printf(out, "        %s:--%s", sbx_command_rows[id].name, view.flag);
        if (view.short_flag != 0)
            sbx_buf_printf(out, "|%s:-%c", sbx_command_rows[id].name, view.short_flag);
        sbx_buf_add_text(out, ") ");
        if (kind == VALUE_WORDS) {
            sbx_buf_add_text(out, "COMPREPLY=($(compgen -W '");
            add_words(out, view.words, " ");
            sbx_buf_add_text(out, "' -- \"$cur\"));");
        } else if (kind == VALUE_FILES) {
            sbx_buf_add_text(out, "_sbx_files;");
        }
        sbx_buf_add_text(out, " return ;;\n");
    }
}

static void bash_operands(struct sbx_buf *out, enum sbx_command_id id)
{
    AUTO_BUF words;
    sbx_buf_init(&words, 4096);
    sbx_buf_printf(out, "        %s) ", sbx_command_rows[id].name);
    if (add_operands(&words, id))
        sbx_buf_printf(out, "COMPREPLY=($(compgen -W '%s' -- \"$cur\"))", sbx_buf_text(&words));
    else if (takes_files(id))
        sbx_buf_add_text(out, "_sbx_files");
    else if (runs_something(id))
        sbx_buf_add_text(out, "COMPREPLY=($(compgen -c -- \"$cur\"))");
    else
        sbx_buf_add_char(out, ':');
    sbx_buf_add_text(out, " ;;\n");
}

/* Where the command of `sbx run` starts: from there on the words are not sbx's. Bash makes words of their
 * own out of "=" and ":". */
static void bash_command_position(struct sbx_buf *out)
{
    struct sbx_flag_view view;
    sbx_buf_add_text(out, "    local i=2\n    case \"$command\" in run|explain)\n"
                          "        while [ \"$i\" -lt \"$COMP_CWORD\" ]; do\n"
                          "            case \"${COMP_WORDS[i]}\" in\n"
                          "                --) i=$((i + 1)); _sbx_command \"$i\"; return ;;\n"
                          "                [=:]) i=$((i + 1)) ;;\n                ");
    for (size_t c = 0; c < SBX_CMD_COUNT; c++)
        for (size_t i = 0; runs_something((enum sbx_command_id)c) &&
                           sbx_flag_at((enum sbx_command_id)c, i, &view);
             i++) {
            if (view.meta == NULL) continue;
            sbx_buf_printf(out, "--%s|", view.flag);
            if (view.short_flag != 0) sbx_buf_printf(out, "-%c|", view.short_flag);
        }
    sbx_buf_add_text(out,
                     "=)\n                    i=$((i + 1))\n"
                     "                    [ \"${COMP_WORDS[i]}\" = \"=\" ] && i=$((i + 1)) ;;\n"
                     "                -*) ;;\n"
                     "                *) _sbx_command \"$i\"; return ;;\n"
                     "            esac\n            i=$((i + 1))\n        done ;;\n    esac\n");
}

static void bash_helpers(struct sbx_buf *out)
{
    sbx_buf_add_text(out, "# bash completion for sbx, made by: sbx completion bash\n"
                          "_sbx_files() {\n    local IFS=$'\\n'\n"
                          "    COMPREPLY=($(compgen -f -- \"$cur\"))\n}\n"
                          "_sbx_command() {\n"
                          "    if [ \"$1\" -eq \"$COMP_CWORD\" ]; then\n"
                          "        COMPREPLY=($(compgen -c -- \"$cur\"))\n"
                          "    elif declare -F _command_offset >/dev/null; then\n"
                          "        _command_offset \"$1\"\n"
                          "    else\n        _sbx_files\n    fi\n}\n");
}

static void bash(struct sbx_buf *out)
{
    bash_helpers(out);
    sbx_buf_add_text(out,
                     "_sbx() {\n"
                     "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                     "    local command=${COMP_WORDS[1]}\n    COMPREPLY=()\n"
                     "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                     "        COMPREPLY=($(compgen -W '");
    add_commands(out, " ");
    sbx_buf_add_text(out, "' -- \"$cur\"))\n        return\n    fi\n");
    bash_command_position(out);
    sbx_buf_add_text(out, "    [ \"$cur\" = \"=\" ] && cur=\n"
                          "    [ \"$prev\" = \"=\" ] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                          "    case \"$command:$prev\" in\n");
    for (size_t i = 0; i < SBX_CMD_COUNT; i++) bash_values(out, (enum sbx_command_id)i);
    sbx_buf_add_text(out, "    esac\n    case \"$cur\" in -*)\n        case \"$command\" in\n");
    for (size_t i = 0; i < SBX_CMD_COUNT; i++) {
        sbx_buf_printf(out, "        %s) COMPREPLY=($(compgen -W '", sbx_command_rows[i].name);
        add_flags(out, (enum sbx_command_id)i);
        sbx_buf_add_text(out, "' -- \"$cur\")) ;;\n");
    }
    sbx_buf_add_text(out, "        esac\n        return ;;\n    esac\n    case \"$command\" in\n");
    for (size_t i = 0; i < SBX_CMD_COUNT; i++) bash_operands(out, (enum sbx_command_id)i);
    sbx_buf_add_text(out, "    esac\n}\ncomplete -o filenames -F _sbx sbx\n");
}

/* ---- zsh ---- */

/* In an _arguments spec, brackets and colons are syntax. */
static void zsh_text(struct sbx_buf *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'')
            sbx_buf_add_text(out, "'\\''");
        else if (*c == '[' || *c == ']' || *c == ':')
            sbx_buf_printf(out, "\\%c", *c);
        else
            sbx_buf_add_char(out, *c);
    }
}

static void zsh_flag(struct sbx_buf *out, const struct sbx_flag_view *view, const char *spelled)
{
    sbx_buf_printf(out, " \\\n            '*%s[", spelled);
    zsh_text(out, view->help);
    sbx_buf_add_char(out, ']');
    if (view->meta != NULL) {
        sbx_buf_add_char(out, ':');
        zsh_text(out, view->meta);
        sbx_buf_add_char(out, ':');
        if (kind_of(view) == VALUE_WORDS) {
            sbx_buf_add_char(out, '(');
            add_words(out, view->words, " ");
            sbx_buf_add_char(out, ')');
        } else if (kind_of(view) == VALUE_FILES) {
            sbx_buf_add_text(out, "_files");
        }
    }
    sbx_buf_add_char(out, '\'');
}

static void zsh_command(struct sbx_buf *out, enum sbx_command_id id)
{
    struct sbx_flag_view view;
    sbx_buf_printf(out, "        %s) _arguments -S", sbx_command_rows[id].name);
    for (size_t i = 0; sbx_flag_at(id, i, &view); i++) {
        char spelled[64];
        (void)snprintf(spelled, sizeof spelled, "--%s", view.flag);
        zsh_flag(out, &view, spelled);
        if (view.short_flag == 0) continue;
        (void)snprintf(spelled, sizeof spelled, "-%c", view.short_flag);
        zsh_flag(out, &view, spelled);
    }
    AUTO_BUF words;
    sbx_buf_init(&words, 4096);
    if (add_operands(&words, id))
        sbx_buf_printf(out, " \\\n            '*:word:(%s)'", sbx_buf_text(&words));
    else if (takes_files(id))
        sbx_buf_add_text(out, " \\\n            '*:file:_files'");
    else if (runs_something(id))
        sbx_buf_add_text(out, " \\\n            '*::command:_normal'");
    sbx_buf_add_text(out, " ;;\n");
}

static void zsh(struct sbx_buf *out)
{
    sbx_buf_add_text(out, "#compdef sbx\n# zsh completion for sbx, made by: sbx completion zsh\n"
                          "_sbx() {\n    local -a commands\n    commands=(\n");
    for (size_t i = 0; i < SBX_CMD_COUNT; i++) {
        sbx_buf_printf(out, "        '%s:", sbx_command_rows[i].name);
        zsh_text(out, sbx_command_rows[i].summary);
        sbx_buf_add_text(out, "'\n");
    }
    sbx_buf_add_text(out, "    )\n    if (( CURRENT == 2 )); then\n"
                          "        _describe 'command' commands\n        return\n    fi\n"
                          "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
                          "    case $command in\n");
    for (size_t i = 0; i < SBX_CMD_COUNT; i++) zsh_command(out, (enum sbx_command_id)i);
    sbx_buf_add_text(out,
                     "    esac\n}\nif [ \"$funcstack[1]\" = \"_sbx\" ]; then _sbx \"$@\"; else "
                     "compdef _sbx sbx; fi\n");
}

/* ---- fish ---- */

static void fish(struct sbx_buf *out)
{
    sbx_buf_add_text(out, "# fish completion for sbx, made by: sbx completion fish\n"
                          "complete -c sbx -f\n");
    for (size_t i = 0; i < SBX_CMD_COUNT; i++) {
        const struct sbx_command_row *row = &sbx_command_rows[i];
        sbx_buf_printf(out, "complete -c sbx -n __fish_use_subcommand -a %s -d '", row->name);
        add_quoted(out, row->summary, "\\'");
        sbx_buf_add_text(out, "'\n");
    }
    for (size_t i = 0; i < SBX_CMD_COUNT; i++) {
        const struct sbx_command_row *row = &sbx_command_rows[i];
        struct sbx_flag_view view;
        for (size_t f = 0; sbx_flag_at(row->id, f, &view); f++) {
            sbx_buf_printf(out, "complete -c sbx -n '__fish_seen_subcommand_from %s' -l %s",
                           row->name, view.flag);
            if (view.short_flag != 0) sbx_buf_printf(out, " -s %c", view.short_flag);
            if (view.meta != NULL) sbx_buf_add_text(out, " -r");
            if (kind_of(&view) == VALUE_FILES) sbx_buf_add_text(out, " -F");
            if (kind_of(&view) == VALUE_WORDS) {
                sbx_buf_add_text(out, " -a '");
                add_words(out, view.words, " ");
                sbx_buf_add_char(out, '\'');
            }
            sbx_buf_add_text(out, " -d '");
            add_quoted(out, view.help, "\\'");
            sbx_buf_add_text(out, "'\n");
        }
        AUTO_BUF words;
        sbx_buf_init(&words, 4096);
        if (add_operands(&words, row->id))
            sbx_buf_printf(out, "complete -c sbx -n '__fish_seen_subcommand_from %s' -a '%s'\n",
                           row->name, sbx_buf_text(&words));
        else if (takes_files(row->id))
            sbx_buf_printf(out, "complete -c sbx -n '__fish_seen_subcommand_from %s' -F\n",
                           row->name);
        else if (runs_something(row->id))
            sbx_buf_printf(out,
                           "complete -c sbx -n '__fish_seen_subcommand_from %s' -a "
                           "'(__fish_complete_subcommand)'\n",
                           row->name);
    }
}

/* ---- PowerShell ---- */

static void powershell(struct sbx_buf *out)
{
    sbx_buf_add_text(out,
                     "# PowerShell completion for sbx, made by: sbx completion powershell\n"
                     "Register-ArgumentCompleter -Native -CommandName sbx -ScriptBlock {\n"
                     "    param($wordToComplete, $commandAst, $cursorPosition)\n    $flags = @{\n");
    for (size_t i = 0; i < SBX_CMD_COUNT; i++) {
        sbx_buf_printf(out, "        '%s' = '", sbx_command_rows[i].name);
        add_flags(out, (enum sbx_command_id)i);
        sbx_buf_add_char(out, ' ');
        (void)add_operands(out, (enum sbx_command_id)i);
        sbx_buf_add_text(out, "'\n");
    }
    sbx_buf_add_text(
        out, "    }\n    $words = @($commandAst.CommandElements | ForEach-Object { "
             "$_.ToString() })\n"
             "    $isFirst = $words.Count -eq 1 -or ($words.Count -eq 2 -and "
             "$wordToComplete -ne '')\n"
             "    $choices = if ($isFirst) { $flags.Keys | Sort-Object } elseif "
             "($flags.ContainsKey($words[1])) { $flags[$words[1]] -split ' ' } else { @() }\n"
             "    $choices | Where-Object { $_ -clike \"$wordToComplete*\" } | "
             "ForEach-Object {\n"
             "        [System.Management.Automation.CompletionResult]::new($_, $_, "
             "'ParameterValue', $_)\n    }\n}\n");
}

static int json_script(struct sbx_cli *cli, const char *shell, const struct sbx_buf *script)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 8u << 20);
    struct sbx_jsonw json;
    sbx_report_open(&json, &text, cli);
    sbx_jsonw_pair_bool(&json, "ok", true);
    sbx_jsonw_pair_text(&json, "shell", shell);
    sbx_jsonw_pair_text(&json, "script", sbx_buf_text(script));
    return sbx_report_close(&json, SBX_EXIT_OK);
}

int sbx_cmd_completion(struct sbx_cli *cli)
{
    static const struct {
        const char *shell;
        void (*print)(struct sbx_buf *out);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}, {"powershell", powershell}};
    if (cli->args.rest_count != 1)
        return sbx_cli_usage(cli, "name one shell: bash, zsh, fish or powershell");
    for (size_t i = 0; i < SBX_COUNT(shells); i++) {
        if (!sbx_text_eq(cli->args.rest[0], shells[i].shell)) continue;
        AUTO_BUF text;
        sbx_buf_init(&text, 4u << 20);
        shells[i].print(&text);
        if (cli->out.json) return json_script(cli, shells[i].shell, &text);
        return sbx_output_write(SBX_STDOUT, &text) ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
    }
    return sbx_cli_usage(cli,
                         "no completion for \"%s\"; the shells are bash, zsh, fish and powershell",
                         cli->args.rest[0]);
}
