/* sbx workspace: the access entries that stay on a Windows disk, shown, made and taken away. */
#include <inttypes.h>

#include "common/base/utf8.h"
#include "common/cli/report.h"
#include "common/cli/run_report.h"
#include "common/run/workspace.h"

#include "common/base/banned.h"

/* ---- what is told --------------------------------------------------------------------------- */

/* "2026-10-09", of seconds since 1970; by the usual arithmetic of the civil calendar (years that begin in March). */
static void add_date(struct sbx_buf *out, uint64_t seconds)
{
    uint64_t days = seconds / 86400 + 719468;
    uint64_t era = days / 146097;
    uint64_t of_era = days % 146097;
    uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint64_t shifted = (5 * of_year + 2) / 153;
    uint64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
    sbx_buf_printf(out, "%04" PRIu64 "-%02" PRIu64 "-%02" PRIu64,
                   year + era * 400 + (month <= 2 ? 1 : 0), month,
                   of_year - (153 * shifted + 2) / 5 + 1);
}

static void add_row(struct sbx_buf *out, const struct sbx_workspace *item, size_t width)
{
    struct sbx_str path = sbx_str(item->path);
    size_t used = sbx_utf8_count(path.ptr, path.len);
    sbx_buf_add_visible(out, path, false);
    sbx_buf_add_repeat(out, ' ', (used < width ? width - used : 0) + 2);
    sbx_buf_printf(out, "%-5s  %-8s  %8" PRIu64 " objects, %" PRIu64 " narrowed  ",
                   item->is_write ? "write" : "read", item->state, item->objects, item->narrowed);
    add_date(out, item->since);
    sbx_buf_printf(out, "  %s\n", item->capability);
}

static void add_json(struct sbx_jsonw *json, const struct sbx_workspaces *list)
{
    sbx_jsonw_key(json, "workspaces");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < list->count; i++) {
        const struct sbx_workspace *item = &list->items[i];
        sbx_jsonw_object(json);
        sbx_jsonw_pair_text(json, "path", item->path);
        sbx_jsonw_pair_text(json, "access", item->is_write ? "write" : "read");
        sbx_jsonw_pair_text(json, "capability", item->capability);
        sbx_jsonw_pair_text(json, "state", item->state);
        sbx_jsonw_pair_u64(json, "objects", item->objects);
        sbx_jsonw_pair_u64(json, "narrowed", item->narrowed);
        sbx_jsonw_pair_u64(json, "since", item->since);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
    sbx_jsonw_key(json, "remarks");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < list->remark_count; i++) sbx_jsonw_text(json, list->remarks[i]);
    sbx_jsonw_end(json);
}

static void print_remarks(const struct sbx_cli *cli, const struct sbx_workspaces *list)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    for (size_t i = 0; i < list->remark_count && !cli->out.quiet; i++) {
        sbx_buf_add_text(&text, "sbx: ");
        sbx_tone_add(&text, cli->out.colour_stderr, SBX_TONE_WARN, "note");
        sbx_buf_add_text(&text, ": ");
        sbx_buf_add_visible(&text, sbx_str(list->remarks[i]), false);
        sbx_buf_add_char(&text, '\n');
    }
    (void)sbx_output_write(SBX_STDERR, &text);
}

/* `word` is put before each row; `nothing` is said without one. */
static int report(struct sbx_cli *cli, const struct sbx_workspaces *list, const char *word,
                  const char *nothing)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 16u << 20);
    if (cli->out.json) {
        struct sbx_jsonw json;
        sbx_report_open(&json, &text, cli);
        sbx_jsonw_pair_bool(&json, "ok", true);
        add_json(&json, list);
        return sbx_report_close(&json, SBX_EXIT_OK);
    }
    size_t width = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct sbx_str path = sbx_str(list->items[i].path);
        size_t used = sbx_utf8_count(path.ptr, path.len);
        width = used > width ? used : width;
    }
    for (size_t i = 0; i < list->count; i++) {
        sbx_buf_add_text(&text, word);
        add_row(&text, &list->items[i], width);
    }
    if (list->count == 0 && !cli->out.quiet) sbx_buf_printf(&text, "%s\n", nothing);
    print_remarks(cli, list);
    return sbx_output_write(SBX_STDOUT, &text) ? SBX_EXIT_OK : SBX_EXIT_NEGATIVE;
}

/* ---- list and remove ------------------------------------------------------------------------ */

static int list_all(struct sbx_cli *cli, const struct sbx_context *context)
{
    struct sbx_workspaces list = {0};
    struct sbx_err err = {0};
    if (cli->args.rest_count > 1) return sbx_cli_usage(cli, "list takes nothing else");
    if (sbx_workspace_list(&cli->arena, context, &list, &err) != SBX_OK)
        return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    return report(cli, &list, "", "no place has access entries of sbx");
}

/* A place that is gone can still be forgotten, under the name it was listed with. */
static enum sbx_code place_of(struct sbx_cli *cli, const struct sbx_context *context,
                              const char *text, struct sbx_path *out, struct sbx_err *err)
{
    if (sbx_os_real_path(&cli->arena, text, out, err) == SBX_OK) return SBX_OK;
    enum sbx_path_problem problem =
        sbx_path_make(&cli->arena, context->cwd.rules, sbx_str(text), out);
    return problem == SBX_PATH_OK ? SBX_OK : err->code;
}

static int remove_some(struct sbx_cli *cli, const struct sbx_context *context)
{
    bool all = cli->args.given[SBX_OPT_ALL];
    struct sbx_workspaces list = {0};
    struct sbx_path path = {.text = NULL};
    struct sbx_progress_line progress;
    struct sbx_err err = {0};
    enum sbx_code code = SBX_OK;
    if (cli->args.rest_count != (all ? 1 : 2))
        return sbx_cli_usage(cli, all ? "--all takes no path" : "remove takes a path, or --all");
    if (!all) code = place_of(cli, context, cli->args.rest[1], &path, &err);
    sbx_progress_begin(&progress, cli);
    if (code == SBX_OK)
        code = sbx_workspace_remove(&cli->arena, context, path, &progress.hook, &list, &err);
    sbx_progress_end(&progress);
    if (code != SBX_OK) return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    return report(cli, &list, "removed  ", "no place has access entries of sbx");
}

/* ---- purge ---------------------------------------------------------------------------------- */

static int purge_all(struct sbx_cli *cli, const struct sbx_context *context)
{
    struct sbx_workspaces list = {0};
    struct sbx_progress_line progress;
    struct sbx_err err = {0};
    if (cli->args.rest_count > 1) return sbx_cli_usage(cli, "purge takes nothing else");
    sbx_progress_begin(&progress, cli);
    enum sbx_code code = sbx_workspace_purge(&cli->arena, context, &progress.hook, &list, &err);
    sbx_progress_end(&progress);
    if (code != SBX_OK) return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    return report(cli, &list, "removed  ", "nothing of sbx is left for this user");
}

/* ---- add ------------------------------------------------------------------------------------ */

/* A manifest that grants just this place. */
static enum sbx_code grant_one(struct sbx_cli *cli, const char *text, struct sbx_manifest *out,
                               struct sbx_err *err)
{
    bool is_write = cli->args.given[SBX_OPT_WRITE];
    struct sbx_path real;
    enum sbx_code code = sbx_os_real_path(&cli->arena, text, &real, err);
    if (code != SBX_OK) return code;
    struct sbx_manifest manifest = {0};
    struct sbx_texts *list = is_write ? &manifest.fs_write_allow : &manifest.fs_read_allow;
    struct sbx_text *slot = (struct sbx_text *)sbx_arena_push(
        &cli->arena, &list->items, &list->count, &list->capacity, sizeof *slot);
    if (slot == NULL) return sbx_err_nomem(err);
    *slot = (struct sbx_text){{real.text, real.len}, {.source = is_write ? "--write" : "PATH"}};
    manifest.set = 1u << (is_write ? SBX_KEY_FS_WRITE_ALLOW : SBX_KEY_FS_READ_ALLOW);
    *out = manifest;
    return SBX_OK;
}

static enum sbx_code make_policy(struct sbx_cli *cli, struct sbx_setup *setup,
                                 struct sbx_policy *out, struct sbx_err *err)
{
    bool is_one = cli->args.rest_count == 2;
    enum sbx_code code = sbx_setup_make(cli, setup, err);
    if (code == SBX_OK && is_one) code = grant_one(cli, cli->args.rest[1], &setup->manifest, err);
    if (code != SBX_OK) return code;
    sbx_policy_resolve(&cli->arena, &setup->manifest, &setup->context, &setup->ceiling,
                       &cli->findings, out);
    if (!sbx_findings_ok(&cli->findings))
        return sbx_err_set(err, SBX_E_INVALID, "what is to be granted is not a valid policy");
    return SBX_OK;
}

static int add_some(struct sbx_cli *cli)
{
    struct sbx_setup setup;
    struct sbx_policy policy;
    struct sbx_workspaces list = {0};
    struct sbx_progress_line progress;
    struct sbx_err err = {0};
    if (cli->args.rest_count > 2) return sbx_cli_usage(cli, "one place at a time");
    if (cli->args.rest_count == 1 && cli->args.given[SBX_OPT_WRITE])
        return sbx_cli_usage(cli, "--write goes with a path");
    enum sbx_code code = make_policy(cli, &setup, &policy, &err);
    sbx_progress_begin(&progress, cli);
    if (code == SBX_OK) code = sbx_workspace_add(&cli->arena, &policy, &progress.hook, &list, &err);
    sbx_progress_end(&progress);
    if (code != SBX_OK) return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    return report(cli, &list, "", "nothing is needed: the system opens these places to every box");
}

int sbx_cmd_workspace(struct sbx_cli *cli)
{
    struct sbx_context context;
    struct sbx_err err = {0};
    const char *verb = cli->args.rest_count == 0 ? "list" : cli->args.rest[0];
    bool adds = sbx_text_eq(verb, "add");
    bool removes = sbx_text_eq(verb, "remove");
    bool purges = sbx_text_eq(verb, "purge");
    if (!adds && !removes && !purges && !sbx_text_eq(verb, "list"))
        return sbx_cli_usage(cli, "workspace knows list, add, remove and purge, not \"%s\"", verb);
    if (!adds && cli->args.given[SBX_OPT_WRITE]) return sbx_cli_usage(cli, "--write goes with add");
    if (!removes && cli->args.given[SBX_OPT_ALL])
        return sbx_cli_usage(cli, "--all goes with remove");
    if (sbx_os_context(&cli->arena, &context, &err) != SBX_OK)
        return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    if (adds) return add_some(cli);
    if (purges) return purge_all(cli, &context);
    return removes ? remove_some(cli, &context) : list_all(cli, &context);
}
