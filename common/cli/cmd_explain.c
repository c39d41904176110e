/* sbx explain: the plan, tiers and reasons; nothing runs. */
#include "common/cli/report.h"

#include "common/base/banned.h"

int sbx_cmd_explain(struct sbx_cli *cli)
{
    struct sbx_setup setup;
    static struct sbx_prepared prepared;
    struct sbx_err err = {0};
    if (sbx_setup_prepare(cli, cli->args.rest, &setup, &prepared, &err) != SBX_OK)
        return sbx_cli_fail(cli, &err,
                            err.code == SBX_E_USAGE ? SBX_EXIT_USAGE : SBX_EXIT_NEGATIVE);
    return sbx_report_plan(cli, &setup, &prepared);
}
