/* sbx init: a starter manifest. */
#include "common/cli/report.h"

#include "common/base/banned.h"

/* What widens the default is offered as a comment: a new manifest works before it is trusted. */
struct template_row {
    const char *name;
    const char *variables; /* what else its tools read, as TOML; NULL for none */
    const char *caches;    /* where its tools write, as TOML; NULL for none */
    const char *hosts;     /* where its tools download from, as TOML; NULL for none */
};

static const struct template_row templates[] = {
    {"default", NULL, NULL, NULL},
    {"node", NULL, "\":home/.npm\"", NULL},
    {"python", "\"VIRTUAL_ENV\"", "\":home/.cache/pip\"",
     "\"pypi.org\", \"files.pythonhosted.org\""},
    {"rust", "\"CARGO_HOME\", \"RUSTUP_HOME\"", "\":home/.cargo/registry\"",
     "\"index.crates.io\", \"static.crates.io\""},
    {"go", "\"GOPATH\"", "\":home/go/pkg\", \":home/.cache/go-build\"",
     "\"proxy.golang.org\", \"sum.golang.org\""},
    {"c", NULL, "\":home/.cache/ccache\"", NULL},
    {"dotnet", "\"DOTNET_ROOT\"", "\":home/.nuget\"", "\"api.nuget.org\""},
};

static void print_template(const struct template_row *row, struct sbx_buf *out)
{
    sbx_buf_add_text(out,
                     "# What commands started with `sbx run` in this directory may do.\n"
                     "# Keys: man sbx.toml, or `sbx schema`. Check: sbx verify sbx.toml\n"
                     "# Look at the result: sbx explain -- COMMAND\n"
                     "# Once it allows more than the default, accept it: sbx trust\n\n[sandbox]\n");
    sbx_buf_add_text(out,
                     "mode = \"workspace-write\"   # the disk read-only, this directory writable, "
                     "no network\n");
    sbx_buf_add_text(out, "env_pass = [\"PATH\", \"HOME\", \"LANG\", \"TERM\"]");
    if (row->variables != NULL) sbx_buf_printf(out, "   # add %s if you set it", row->variables);
    sbx_buf_add_char(out, '\n');
    sbx_buf_add_text(out, "timeout = \"10m\"\n");
    sbx_buf_add_text(out, "\n# git = \"commit\"              # let the box commit; hooks and "
                          "configuration stay locked\n");
    if (row->caches != NULL)
        sbx_buf_printf(out, "# fs_write_allow = [%s]   # caches of its tools, once they exist\n",
                       row->caches);
    if (row->hosts != NULL)
        sbx_buf_printf(out, "# network = { kind = \"allow_hosts\", hosts = [%s] }\n", row->hosts);
    sbx_buf_add_text(out,
                     "# max_memory_bytes = \"4GiB\"\n"
                     "\n# [sandbox.filesystem]          # narrower entries win over broader ones\n"
                     "# \":project/secrets\" = \"none\"\n");
}

int sbx_cmd_init(struct sbx_cli *cli)
{
    const char *name = cli->args.values[SBX_OPT_TEMPLATE];
    const struct template_row *row = &templates[0];
    for (size_t i = 0; name != NULL && i < SBX_COUNT(templates); i++)
        if (sbx_text_eq(templates[i].name, name)) row = &templates[i];
    if (cli->args.rest_count > 1) return sbx_cli_usage(cli, "one file at a time");
    const char *path = cli->args.rest_count == 1 ? cli->args.rest[0] : "sbx.toml";
    AUTO_BUF text;
    sbx_buf_init(&text, 64u << 10);
    print_template(row, &text);
    struct sbx_err err = {0};
    if (sbx_os_write_new(path, sbx_buf_str(&text), &err) != SBX_OK)
        return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    sbx_buf_reset(&text);
    if (cli->out.json) {
        struct sbx_jsonw json;
        sbx_report_open(&json, &text, cli);
        sbx_jsonw_pair_bool(&json, "ok", true);
        sbx_jsonw_pair_text(&json, "file", path);
        sbx_jsonw_pair_text(&json, "template", row->name);
        return sbx_report_close(&json, SBX_EXIT_OK);
    }
    sbx_buf_add_text(&text, "wrote ");
    sbx_buf_add_visible(&text, sbx_str(path), false);
    sbx_buf_printf(&text, " (template %s); look at it, then: sbx explain -- COMMAND\n", row->name);
    return sbx_output_write(SBX_STDOUT, &text) ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
}
