/* sbx doctor: what this machine can enforce, what is missing, and the exact remedy. Changes nothing. */
#include "common/cli/report.h"

#include <string.h>

#include "common/run/trust.h"

#include "common/base/banned.h"

enum row_status { ROW_OK, ROW_WARN, ROW_FAIL, ROW_SKIP };
static const struct sbx_name status_names[] = {
    {ROW_OK, "ok"}, {ROW_WARN, "warn"}, {ROW_FAIL, "fail"}, {ROW_SKIP, "skip"}, {0, NULL}};

struct doctor_row {
    const char *group, *id;
    enum row_status status;
    const char *summary;
    const char *remedy; /* NULL: nothing to do */
};

struct doctor {
    struct sbx_cli *cli;
    struct sbx_context context;
    struct sbx_ceiling ceiling;
    struct sbx_facts facts;
    const char *works; /* the first backend that does; NULL: none so far */
    struct doctor_row *rows;
    size_t count, capacity;
    bool failed_memory;
};

static void add(struct doctor *d, const char *group, const char *id, enum row_status status,
                const char *summary, const char *remedy)
{
    struct doctor_row *row = (struct doctor_row *)sbx_arena_push(
        &d->cli->arena, &d->rows, &d->count, &d->capacity, sizeof *row);
    if (row == NULL || summary == NULL)
        d->failed_memory = true;
    else
        *row = (struct doctor_row){group, id, status, summary, remedy};
}

/* ---- rows ---- */

static void platform_rows(struct doctor *d)
{
    add(d, "platform", "kernel", ROW_OK, d->facts.kernel == NULL ? "unknown" : d->facts.kernel,
        NULL);
    if (d->context.is_root)
        add(d, "platform", "root", ROW_WARN,
            "sbx runs as root: every mistake in a manifest weighs more",
            "run sbx as an ordinary user where you can");
    else
        add(d, "platform", "root", ROW_OK, "sbx runs as an ordinary user", NULL);
    if (d->facts.is_filtered)
        add(d, "platform", "nested", ROW_WARN,
            "sbx runs below a filter of system calls, as in a container or another sandbox, which "
            "may forbid what a box needs",
            "start sbx outside of it, or allow there what fails below");
}

static void linux_rows(struct doctor *d)
{
    struct sbx_arena *arena = &d->cli->arena;
    if (d->facts.platform != SBX_LINUX) return;
    if (d->facts.userns_obstacle == NULL)
        add(d, "layers", "namespaces", ROW_OK, "no setting forbids user namespaces", NULL);
    else
        add(d, "layers", "namespaces", ROW_WARN, d->facts.userns_obstacle, d->facts.userns_remedy);
    if (d->facts.landlock_abi > 0)
        add(d, "layers", "landlock", ROW_OK,
            sbx_arena_printf(arena, "Landlock ABI %u", d->facts.landlock_abi), NULL);
    else
        add(d, "layers", "landlock", ROW_WARN, "this kernel has no Landlock",
            "use a kernel from 5.13 up with \"landlock\" in the lsm= list");
    if (d->facts.has_seccomp)
        add(d, "layers", "seccomp", ROW_OK, "seccomp filters work", NULL);
    else
        add(d, "layers", "seccomp", ROW_WARN, "this kernel has no seccomp filters",
            "use a kernel built with CONFIG_SECCOMP_FILTER");
    static const char *const cgroups[] = {
        [SBX_CGROUP_NONE] =
            "no cgroup can be made here: memory, cpu and process limits are best effort",
        [SBX_CGROUP_V1] = "cgroup v1: limits are enforced",
        [SBX_CGROUP_V2] = "cgroup v2, delegated: limits are enforced",
    };
    add(d, "limits", "cgroup", d->facts.cgroup == SBX_CGROUP_NONE ? ROW_WARN : ROW_OK,
        cgroups[d->facts.cgroup],
        d->facts.cgroup == SBX_CGROUP_NONE ? "start a session with delegated controllers: "
                                             "systemd-run --user --scope -p Delegate=yes"
                                           : NULL);
}

static void system_rows(struct doctor *d)
{
    struct sbx_check checks[SBX_CHECKS_MAX];
    size_t count = sbx_os_checks(&d->cli->arena, &d->context, checks);
    for (size_t i = 0; i < count; i++)
        add(d, checks[i].group, checks[i].id, checks[i].is_ok ? ROW_OK : ROW_WARN,
            checks[i].summary, checks[i].remedy);
}

/* Engines are only looked for when somebody asks for them. */
static bool is_opt_in(enum sbx_backend_id id)
{
    return id == SBX_BACKEND_DOCKER || id == SBX_BACKEND_EXTERNAL;
}

static void backend_row(struct doctor *d, enum sbx_backend_id id)
{
    struct sbx_arena *arena = &d->cli->arena;
    const char *name = sbx_name_text(sbx_backend_names, (int)id);
    struct sbx_probe probe;
    sbx_probe_ask(&d->cli->probes, arena, id, sbx_backend_find(id), &probe);
    const struct sbx_backend_row *row = sbx_backend_row(id);
    if (probe.state == SBX_PROBE_PASSED)
        add(d, "backends", name, ROW_OK,
            sbx_arena_printf(arena, "%s%s%s", row->summary, probe.version == NULL ? "" : ": ",
                             probe.version == NULL ? "" : probe.version),
            NULL);
    if (probe.state == SBX_PROBE_PASSED && probe.note != NULL)
        add(d, "backends", sbx_arena_printf(arena, "%s-note", name), ROW_WARN, probe.note,
            probe.remedy);
    if (probe.state == SBX_PROBE_PASSED) {
        d->works = d->works == NULL ? name : d->works;
        return;
    }
    const char *reason = probe.reason == NULL ? "it cannot be used" : probe.reason;
    if (probe.state != SBX_PROBE_NOT_BUILT && d->works != NULL)
        add(d, "backends", name, ROW_SKIP,
            sbx_arena_printf(arena, "%s; not needed, %s works", reason, d->works), NULL);
    else
        add(d, "backends", name, probe.state == SBX_PROBE_NOT_BUILT ? ROW_SKIP : ROW_WARN, reason,
            probe.remedy);
}

static void backend_rows(struct doctor *d)
{
    const enum sbx_backend_id *order = sbx_backend_order(d->facts.platform);
    for (size_t i = 0; order[i] != SBX_BACKEND_COUNT; i++) backend_row(d, order[i]);
    for (int i = 0; i < SBX_BACKEND_COUNT; i++)
        if (is_opt_in((enum sbx_backend_id)i))
            add(d, "backends", sbx_name_text(sbx_backend_names, i), ROW_SKIP,
                sbx_backend_find((enum sbx_backend_id)i) == NULL
                    ? "this build of sbx does not contain it"
                    : "only used when SBX_SANDBOX asks for it",
                NULL);
}

/* What would make the strongest backend of this build work; the rows above say what each of them lacks. */
static const char *best_remedy(const struct doctor *d, const struct sbx_selection *selection)
{
    for (size_t i = 0; i < selection->tried_count; i++) {
        const struct sbx_tried *tried = &selection->tried[i];
        if (tried->is_built && tried->verdict == SBX_VERDICT_UNAVAILABLE && tried->remedy != NULL)
            return tried->remedy;
    }
    return sbx_selection_remedy(selection, d->facts.platform);
}

/* The row that counts: what a plain `sbx run` would do. */
static void selection_row(struct doctor *d)
{
    static const char *const no_command[] = {NULL};
    static struct sbx_prepared prepared;
    struct sbx_arena *arena = &d->cli->arena;
    struct sbx_manifest manifest = {.mode = SBX_MODE_WORKSPACE_WRITE, .set = 1u << SBX_KEY_MODE};
    struct sbx_findings findings;
    struct sbx_err err = {0};
    sbx_findings_init(&findings, arena);
    struct sbx_prepare_input input = {
        .manifest = &manifest,
        .context = &d->context,
        .ceiling = &d->ceiling,
        .request = sbx_os_env(arena, "SBX_SANDBOX"),
        .opt_in = sbx_os_env(arena, "SBX_ALLOW_NO_SANDBOX"),
        .command = no_command,
        .probes = &d->cli->probes,
    };
    if (sbx_prepare(arena, &input, &findings, &prepared, &err) != SBX_OK) {
        const char *text = findings.count > 0 ? findings.items[0].text : err.text;
        add(d, "decision", "run", ROW_FAIL,
            sbx_arena_printf(arena, "sbx run would refuse here: %s", text),
            findings.count > 0 ? findings.items[0].hint : NULL);
        return;
    }
    const struct sbx_selection *selection = &prepared.selection;
    if (selection->backend == SBX_BACKEND_FAIL_CLOSED)
        add(d, "decision", "run", ROW_FAIL,
            sbx_arena_printf(arena, "sbx run would refuse: %s", selection->why),
            best_remedy(d, selection));
    else if (selection->backend == SBX_BACKEND_NONE)
        add(d, "decision", "run", ROW_FAIL, "sbx run would run WITHOUT a sandbox",
            "unset SBX_SANDBOX and SBX_ALLOW_NO_SANDBOX");
    else
        add(d, "decision", "run", ROW_OK,
            sbx_arena_printf(arena, "sbx run uses %s",
                             sbx_name_text(sbx_backend_names, (int)selection->backend)),
            NULL);
}

static void switch_rows(struct doctor *d)
{
    struct sbx_arena *arena = &d->cli->arena;
    const char *request = sbx_os_env(arena, "SBX_SANDBOX");
    const char *opt_in = sbx_os_env(arena, "SBX_ALLOW_NO_SANDBOX");
    if (request != NULL)
        add(d, "config", "SBX_SANDBOX", ROW_WARN,
            sbx_arena_printf(arena, "set to \"%s\": the choice of backend is not automatic",
                             request),
            "unset it unless you need it");
    if (opt_in == NULL) return;
    bool works = sbx_opt_in_is_set(opt_in);
    add(d, "config", "SBX_ALLOW_NO_SANDBOX", ROW_WARN,
        works ? "set: where no sandbox works, commands run without one"
              : "set to something other than 1 or true, which is ignored",
        "unset it");
}

/* Without a place to remember, boxes work: only slower, and no manifest can be trusted. */
static void state_row(struct doctor *d)
{
    struct sbx_arena *arena = &d->cli->arena;
    const struct sbx_path *place = &d->context.state_dir;
    const struct sbx_path *home = &d->context.home;
    bool may_write = true;
    /* Before the first run it is not there, and nothing above it but the home need be. */
    bool is_known = place->len > 0 && (sbx_os_may(place->text, true, &may_write) ||
                                       (strncmp(place->text, home->text, home->len) == 0 &&
                                        sbx_os_may(home->text, true, &may_write)));
    if (place->len == 0)
        add(d, "config", "state", ROW_WARN,
            "no home directory: nothing can be remembered, and no manifest trusted",
            "set HOME to a directory of yours");
    else if (is_known && !may_write)
        add(d, "config", "state", ROW_WARN,
            sbx_arena_printf(
                arena, "%s cannot be written: nothing can be remembered, and no manifest trusted",
                place->text),
            d->context.platform == SBX_WINDOWS
                ? "give yourself the right to write there"
                : "make it writable, or name another directory with XDG_STATE_HOME");
}

static void file_rows(struct doctor *d)
{
    struct sbx_cli *cli = d->cli;
    struct sbx_findings findings;
    sbx_findings_init(&findings, &cli->arena);
    if (!sbx_load_ceiling(&cli->arena, &findings, &d->ceiling))
        add(d, "config", "policy", ROW_FAIL,
            findings.count > 0 ? findings.items[0].text
                               : "the administrator's policy is not readable",
            findings.count > 0 ? findings.items[0].hint : NULL);
    else
        add(d, "config", "policy", ROW_OK,
            d->ceiling.is_present ? sbx_arena_printf(&cli->arena, "%s applies", d->ceiling.source)
                                  : "no administrator's policy",
            NULL);
    struct sbx_trust_store store;
    struct sbx_err err = {0};
    if (sbx_trust_load(&cli->arena, &d->context, &store, &err) != SBX_OK)
        add(d, "config", "trust", ROW_FAIL, sbx_arena_printf(&cli->arena, "%s", err.text),
            sbx_arena_printf(&cli->arena, "%s", err.hint));
    else
        add(d, "config", "trust", ROW_OK,
            sbx_arena_printf(&cli->arena, "%zu trusted manifests", store.count), NULL);
    state_row(d);
}

/* `sbx` is also the name of another product's program. */
static void path_row(struct doctor *d)
{
    struct sbx_arena *arena = &d->cli->arena;
    struct sbx_path found;
    struct sbx_path self;
    struct sbx_path real;
    struct sbx_err err = {0};
    if (sbx_os_self(arena, &self, &err) != SBX_OK ||
        sbx_os_find_program(arena, "sbx", sbx_os_env(arena, "PATH"), &found, &err) != SBX_OK) {
        add(d, "config", "PATH", ROW_OK, "no other sbx is in PATH", NULL);
        return;
    }
    bool is_self =
        sbx_os_real_path(arena, found.text, &real, &err) == SBX_OK && sbx_path_eq(real, self);
    add(d, "config", "PATH", is_self ? ROW_OK : ROW_WARN,
        is_self ? "the sbx in PATH is this one"
                : sbx_arena_printf(arena, "another sbx comes first in PATH: %s", found.text),
        is_self ? NULL : "call this one by its full path, or change PATH");
}

/* ---- report ---- */

static void print_rows(const struct doctor *d, struct sbx_buf *text)
{
    static const enum sbx_tone tones[] = {[ROW_OK] = SBX_TONE_GOOD,
                                          [ROW_WARN] = SBX_TONE_WARN,
                                          [ROW_FAIL] = SBX_TONE_BAD,
                                          [ROW_SKIP] = SBX_TONE_FAINT};
    for (size_t i = 0; i < d->count; i++) {
        const struct doctor_row *row = &d->rows[i];
        bool is_new = i == 0 || !sbx_text_eq(row->group, d->rows[i - 1].group);
        if (is_new) sbx_buf_printf(text, "%s\n", row->group);
        sbx_buf_add_text(text, "  ");
        AUTO_BUF status;
        sbx_buf_init(&status, 32);
        sbx_buf_printf(&status, "%-5s", sbx_name_text(status_names, (int)row->status));
        sbx_tone_add(text, d->cli->out.colour_stdout, tones[row->status], sbx_buf_text(&status));
        sbx_buf_printf(text, " %-21s", row->id);
        sbx_buf_add_visible(text, sbx_str(row->summary), false);
        sbx_buf_add_char(text, '\n');
        if (row->remedy == NULL || row->remedy[0] == '\0') continue;
        sbx_buf_add_text(text, "          fix: ");
        sbx_buf_add_visible(text, sbx_str(row->remedy), false);
        sbx_buf_add_char(text, '\n');
    }
}

static void json_rows(const struct doctor *d, struct sbx_jsonw *json)
{
    sbx_jsonw_key(json, "rows");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < d->count; i++) {
        const struct doctor_row *row = &d->rows[i];
        sbx_jsonw_object(json);
        sbx_jsonw_pair_text(json, "group", row->group);
        sbx_jsonw_pair_text(json, "id", row->id);
        sbx_jsonw_pair_text(json, "status", sbx_name_text(status_names, (int)row->status));
        sbx_jsonw_pair_text(json, "summary", row->summary);
        sbx_jsonw_pair_text(json, "remedy", row->remedy);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
}

static void json_table(struct sbx_jsonw *json)
{
    sbx_jsonw_key(json, "selection_table");
    sbx_jsonw_array(json);
    const char *condition;
    const char *backend;
    for (size_t i = 0; sbx_select_row_at(i, &condition, &backend); i++) {
        sbx_jsonw_object(json);
        sbx_jsonw_pair_text(json, "condition", condition);
        sbx_jsonw_pair_text(json, "backend", backend);
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
}

static void print_table(struct sbx_buf *text)
{
    const char *condition;
    const char *backend;
    sbx_buf_add_text(text, "how a backend is chosen\n");
    for (size_t i = 0; sbx_select_row_at(i, &condition, &backend); i++)
        sbx_buf_printf(text, "  %zu. %s\n     -> %s\n", i + 1, condition, backend);
}

int sbx_cmd_doctor(struct sbx_cli *cli)
{
    struct doctor d = {.cli = cli};
    struct sbx_err err = {0};
    if (cli->args.rest_count > 0) return sbx_cli_usage(cli, "doctor takes nothing else");
    if (sbx_os_context(&cli->arena, &d.context, &err) != SBX_OK)
        return sbx_cli_fail(cli, &err, SBX_EXIT_NEGATIVE);
    sbx_os_facts(&cli->arena, &d.facts);
    platform_rows(&d);
    backend_rows(&d);
    linux_rows(&d);
    system_rows(&d);
    file_rows(&d);
    switch_rows(&d);
    path_row(&d);
    selection_row(&d);
    int status = d.failed_memory ? SBX_EXIT_NEGATIVE : SBX_EXIT_OK;
    for (size_t i = 0; i < d.count; i++)
        if (d.rows[i].status == ROW_FAIL) status = SBX_EXIT_NEGATIVE;
    AUTO_BUF text;
    sbx_buf_init(&text, 4u << 20);
    if (cli->out.json) {
        struct sbx_jsonw json;
        sbx_report_open(&json, &text, cli);
        sbx_jsonw_pair_bool(&json, "ok", status == SBX_EXIT_OK);
        json_rows(&d, &json);
        json_table(&json);
        return sbx_report_close(&json, status);
    }
    print_rows(&d, &text);
    if (cli->out.verbose) print_table(&text);
    return sbx_output_write(SBX_STDOUT, &text) ? status : SBX_EXIT_NEGATIVE;
}
