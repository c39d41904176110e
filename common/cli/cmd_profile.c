/* sbx profile: the presets, and what one of them means on a platform. */
#include "common/cli/report.h"

#include "common/base/banned.h"

static bool is_offered(const struct sbx_preset_row *row)
{
    return row->preset != SBX_PRESET_DECLARED;
}

static int list_presets(struct sbx_cli *cli)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    struct sbx_jsonw json;
    if (cli->out.json) {
        sbx_report_open(&json, &text, cli);
        sbx_jsonw_pair_bool(&json, "ok", true);
        sbx_jsonw_key(&json, "presets");
        sbx_jsonw_array(&json);
    }
    for (size_t i = 0; i < SBX_PRESET_COUNT; i++) {
        const struct sbx_preset_row *row = &sbx_preset_rows[i];
        if (!is_offered(row)) continue;
        if (!cli->out.json) {
            sbx_buf_printf(&text, "%-8s%-20s%s\n", row->word, row->name, row->help);
            continue;
        }
        sbx_jsonw_object(&json);
        sbx_jsonw_pair_text(&json, "word", row->word);
        sbx_jsonw_pair_text(&json, "name", row->name);
        sbx_jsonw_pair_text(&json, "help", row->help);
        sbx_jsonw_pair_bool(&json, "needs_two_keys", row->needs_two_keys);
        sbx_jsonw_end(&json);
    }
    if (!cli->out.json)
        return sbx_output_write(SBX_STDOUT, &text) ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
    sbx_jsonw_end(&json);
    return sbx_report_close(&json, SBX_EXIT_OK);
}

static const char *preset_name_at(const void *unused, size_t index)
{
    (void)unused;
    return index < SBX_PRESET_DECLARED ? sbx_preset_rows[index].name : NULL;
}

static const struct sbx_preset_row *find_preset(const char *name)
{
    for (size_t i = 0; i < SBX_PRESET_COUNT; i++)
        if (is_offered(&sbx_preset_rows[i]) && sbx_text_eq(sbx_preset_rows[i].name, name))
            return &sbx_preset_rows[i];
    return NULL;
}

/* The manifest that says only this preset. */
static struct sbx_manifest manifest_of(const struct sbx_preset_row *row)
{
    struct sbx_manifest manifest = {0};
    bool is_mode = sbx_text_eq(row->word, "mode");
    enum sbx_key key = is_mode ? SBX_KEY_MODE : SBX_KEY_PROFILE;
    *(is_mode ? &manifest.mode : &manifest.profile) = (int)row->preset;
    manifest.set = 1u << key;
    manifest.at[key].source = "sbx profile show";
    return manifest;
}

static int show_preset(struct sbx_cli *cli, const char *name)
{
    static const char *const no_command[] = {NULL};
    static struct sbx_prepared prepared;
    const struct sbx_preset_row *row = find_preset(name);
    if (row == NULL) {
        const char *nearest = sbx_name_nearest(sbx_str(name), preset_name_at, NULL);
        return sbx_cli_usage(cli, "no profile or mode \"%s\"%s%s%s", name,
                             nearest == NULL ? "" : "; did you mean \"",
                             nearest == NULL ? "" : nearest, nearest == NULL ? "" : "\"?");
    }
    struct sbx_setup setup = {.manifest_shown = "", .manifest_path = {.text = ""}};
    struct sbx_err err = {0};
    sbx_ceiling_init(&setup.ceiling);
    setup.manifest = manifest_of(row);
    enum sbx_code code = sbx_setup_context(cli, &setup.context, &err);
    struct sbx_prepare_input input = {.manifest = &setup.manifest,
                                      .context = &setup.context,
                                      .ceiling = &setup.ceiling,
                                      .command = no_command,
                                      .probes = &cli->probes};
    if (code == SBX_OK) code = sbx_prepare(&cli->arena, &input, &cli->findings, &prepared, &err);
    if (code != SBX_OK) return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    return sbx_report_plan(cli, &setup, &prepared);
}

int sbx_cmd_profile(struct sbx_cli *cli)
{
    const char *const *rest = cli->args.rest;
    if (cli->args.rest_count == 1 && sbx_text_eq(rest[0], "list")) return list_presets(cli);
    if (cli->args.rest_count == 2 && sbx_text_eq(rest[0], "show")) return show_preset(cli, rest[1]);
    return sbx_cli_usage(cli, "write sbx profile list, or sbx profile show NAME");
}
