/* sbx schema, version, help: print what the tables say. */
#include "common/cli/report.h"
#include "common/policy/schema.h"
#include "common/wire/schema.h"

#include "common/base/banned.h"

static int print(const struct sbx_buf *text)
{
    return sbx_output_write(SBX_STDOUT, text) ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
}

int sbx_cmd_schema(struct sbx_cli *cli)
{
    static const struct {
        const char *name;
        void (*print)(struct sbx_buf *out);
    } schemas[] = {{"manifest", sbx_schema_print}, {"rpc", sbx_wire_schema_print}};
    const char *name = cli->args.rest_count == 0 ? "manifest" : cli->args.rest[0];
    size_t i = 0;
    while (i < SBX_COUNT(schemas) && !sbx_text_eq(name, schemas[i].name)) i++;
    if (i == SBX_COUNT(schemas) || cli->args.rest_count > 1)
        return sbx_cli_usage(cli, "the schemas are \"manifest\" and \"rpc\"");
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    schemas[i].print(&text);
    return print(&text);
}

/* Another program of this name exists (Docker Sandboxes); the line says which one answers. */
int sbx_cmd_version(struct sbx_cli *cli)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 4096);
    struct sbx_facts facts = {0};
    sbx_os_facts(&cli->arena, &facts);
    const char *platform = sbx_name_text(sbx_platform_names, (int)facts.platform);
    if (cli->args.rest_count > 0) return sbx_cli_usage(cli, "version takes nothing else");
    if (cli->out.json) {
        struct sbx_jsonw json;
        sbx_report_open(&json, &text, cli);
        sbx_jsonw_pair_bool(&json, "ok", true);
        sbx_jsonw_pair_text(&json, "version", SBX_VERSION);
        sbx_jsonw_pair_text(&json, "platform", platform);
        return sbx_report_close(&json, SBX_EXIT_OK);
    }
    sbx_buf_printf(&text, "sbx %s, manifest sandbox launcher, %s (not Docker Sandboxes)\n",
                   SBX_VERSION, platform);
    return print(&text);
}

int sbx_cmd_help(struct sbx_cli *cli)
{
    if (cli->args.rest_count > 1) return sbx_cli_usage(cli, "one command at a time");
    if (cli->args.rest_count == 0) return sbx_help_show(cli, SBX_CMD_COUNT);
    const char *name = cli->args.rest[0];
    if (sbx_text_eq(name, "codes")) return sbx_help_show_codes(cli);
    for (size_t i = 0; i < SBX_CMD_COUNT; i++)
        if (sbx_text_eq(name, sbx_command_rows[i].name))
            return sbx_help_show(cli, (enum sbx_command_id)i);
    return sbx_cli_usage(cli, "no command \"%s\"", name);
}
