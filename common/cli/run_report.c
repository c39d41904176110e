/* What is told after a run: denials and evidence, for people and for programs. */
#include "common/cli/run_report.h"

#include "common/base/utf8.h"

#include "common/base/banned.h"

/* More hide what matters; --json and -v have them all. */
#define SHOWN_MAX 3
#define WRITABLE_MAX 4

/* ---- denials ---- */

static const struct sbx_name operation_phrases[] = {{SBX_TRIED_READ, "read of"},
                                                    {SBX_TRIED_WRITE, "write to"},
                                                    {SBX_TRIED_CREATE, "creation of"},
                                                    {SBX_TRIED_REMOVE, "removal of"},
                                                    {SBX_TRIED_RENAME, "renaming of"},
                                                    {SBX_TRIED_LINK, "link at"},
                                                    {SBX_TRIED_MODE, "change of attributes of"},
                                                    {SBX_TRIED_EXECUTE, "execution of"},
                                                    {SBX_TRIED_RESOLVE, "look-up of"},
                                                    {SBX_TRIED_CONNECT, "connection to"},
                                                    {SBX_TRIED_CALL, "system call"},
                                                    {0, NULL}};

static void add_subject(const struct sbx_denial *denial, struct sbx_buf *out)
{
    if (denial->subject == NULL && denial->kind == SBX_DENIED_CALL) {
        sbx_buf_add_text(out, "a system call");
        return;
    }
    sbx_buf_printf(out, "%s ", sbx_name_text(operation_phrases, (int)denial->operation));
    if (denial->subject != NULL)
        sbx_buf_add_visible(out, sbx_str(denial->subject), true);
    else
        sbx_buf_add_text(out, denial->kind == SBX_DENIED_NETWORK ? "the network" : "a unix socket");
}

static void add_fix(const struct sbx_setup *setup, const struct sbx_denial *denial,
                    struct sbx_buf *out)
{
    bool has_file = setup->found != SBX_FOUND_NOTHING && setup->manifest_shown != NULL;
    if (denial->allow_line != NULL) {
        sbx_buf_add_text(out, "  fix: ");
        sbx_buf_add_visible(out, sbx_str(denial->allow_flag), false);
        sbx_buf_add_text(out, ", or in ");
        sbx_buf_add_visible(out, sbx_str(has_file ? setup->manifest_shown : "sbx.toml"), false);
        sbx_buf_add_text(out, ": ");
        sbx_buf_add_visible(out, sbx_str(denial->allow_line), false);
        sbx_buf_add_char(out, '\n');
    }
    if (denial->note == NULL) return;
    sbx_buf_add_text(out, "  note: ");
    sbx_buf_add_visible(out, sbx_str(denial->note), false);
    sbx_buf_add_char(out, '\n');
}

static void add_denial(const struct sbx_cli *cli, const struct sbx_setup *setup,
                       const struct sbx_denial *denial, struct sbx_buf *out)
{
    sbx_buf_add_text(out, "sbx: ");
    sbx_tone_add(out, cli->out.colour_stderr, denial->is_exact ? SBX_TONE_BAD : SBX_TONE_WARN,
                 denial->is_exact ? "denied" : "probably denied");
    sbx_buf_add_text(out, ": ");
    add_subject(denial, out);
    sbx_buf_printf(out, ": %s\n", denial->because);
    add_fix(setup, denial, out);
}

/* What a program needs to try again somewhere else. */
static void add_writable(const struct sbx_policy *policy, struct sbx_buf *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        if (rule->access != SBX_ACCESS_WRITE || rule->kind == SBX_RULE_SOCKET || rule->is_glob)
            continue;
        if (shown == WRITABLE_MAX) {
            sbx_buf_add_text(out, ", …");
            break;
        }
        sbx_buf_add_text(out, shown++ == 0 ? "  writable here: " : ", ");
        sbx_buf_add_visible(out, (struct sbx_str){rule->path.text, rule->path.len}, false);
    }
    if (shown > 0) sbx_buf_add_char(out, '\n');
}

static bool is_write(const struct sbx_denial *denial)
{
    bool is_file = denial->kind == SBX_DENIED_FILE || denial->kind == SBX_DENIED_PROTECTED;
    return is_file && denial->operation != SBX_TRIED_READ && denial->operation != SBX_TRIED_EXECUTE;
}

void sbx_denials_print(const struct sbx_cli *cli, const struct sbx_setup *setup,
                       const struct sbx_prepared *prepared, const struct sbx_denials *denials,
                       struct sbx_buf *out)
{
    size_t shown = denials->count;
    if (!cli->out.verbose && shown > SHOWN_MAX) shown = SHOWN_MAX;
    bool writes = false;
    for (size_t i = 0; i < shown; i++) {
        add_denial(cli, setup, &denials->items[i], out);
        writes |= is_write(&denials->items[i]);
    }
    if (writes) add_writable(&prepared->policy, out);
    size_t left_out = denials->count - shown + denials->left_out;
    if (left_out > 0)
        sbx_buf_printf(out, "sbx: %zu more %s denied%s\n", left_out, left_out == 1 ? "was" : "were",
                       cli->out.verbose ? "" : "; -v shows more");
}

/* ---- evidence ---- */

static size_t width_of(const char *text)
{
    return text == NULL ? 0 : sbx_utf8_count(text, sbx_str(text).len);
}

static void add_cell(const char *text, size_t width, struct sbx_buf *out)
{
    size_t used = width_of(text);
    sbx_buf_add_visible(out, sbx_str(text), false);
    sbx_buf_add_repeat(out, ' ', (used < width ? width - used : 0) + 2);
}

void sbx_evidence_print(const struct sbx_cli *cli, const struct sbx_prepared *prepared,
                        const struct sbx_run_record *record, struct sbx_buf *out)
{
    size_t widths[3] = {0};
    if (record->evidence_count == 0) {
        bool is_none = prepared->selection.backend == SBX_BACKEND_NONE;
        sbx_buf_printf(out, "sbx: no evidence: backend %s %s\n",
                       sbx_name_text(sbx_backend_names, (int)prepared->selection.backend),
                       is_none ? "isolates nothing" : "brought none");
        return;
    }
    for (size_t i = 0; i < record->evidence_count; i++) {
        const struct sbx_evidence *row = &record->evidence[i];
        const char *cells[3] = {row->what, row->wanted, row->got};
        for (size_t k = 0; k < SBX_COUNT(widths); k++)
            if (width_of(cells[k]) > widths[k]) widths[k] = width_of(cells[k]);
    }
    for (size_t i = 0; i < record->evidence_count; i++) {
        const struct sbx_evidence *row = &record->evidence[i];
        sbx_buf_add_text(out, "sbx: evidence: ");
        add_cell(row->what, widths[0], out);
        sbx_buf_add_text(out, "wanted ");
        add_cell(row->wanted, widths[1], out);
        sbx_buf_add_text(out, "got ");
        add_cell(row->got, widths[2], out);
        sbx_tone_add(out, cli->out.colour_stderr, row->ok ? SBX_TONE_GOOD : SBX_TONE_BAD,
                     row->ok ? "ok" : "BAD");
        sbx_buf_add_char(out, '\n');
    }
}

/* ---- remarks ---- */

static void add_remark(const struct sbx_cli *cli, enum sbx_tone tone, const char *word,
                       const char *text, struct sbx_buf *out)
{
    sbx_buf_add_text(out, "sbx: ");
    sbx_tone_add(out, cli->out.colour_stderr, tone, word);
    sbx_buf_add_text(out, ": ");
    sbx_buf_add_visible(out, sbx_str(text), false);
    sbx_buf_add_char(out, '\n');
}

void sbx_remarks_print(const struct sbx_cli *cli, const struct sbx_run_record *record,
                       struct sbx_buf *out)
{
    if (record->diagnosis != NULL && !cli->out.quiet)
        add_remark(cli, SBX_TONE_WARN, "note", record->diagnosis, out);
    for (size_t i = 0; i < record->warning_count; i++)
        add_remark(cli, SBX_TONE_WARN, "warning", record->warnings[i], out);
}

/* ---- progress ---- */

#define QUIET_NS UINT64_C(500000000) /* work that is done sooner says nothing */
#define STEP_NS UINT64_C(100000000)

static void tell_progress(void *state, uint64_t done, const char *path)
{
    struct sbx_progress_line *line = (struct sbx_progress_line *)state;
    uint64_t now = sbx_os_monotonic_ns();
    if (now - line->begin_ns < QUIET_NS || now - line->last_ns < STEP_NS) return;
    line->last_ns = now;
    line->is_shown = true;
    AUTO_BUF text;
    sbx_buf_init(&text, 4096);
    sbx_buf_printf(&text, "\r\x1b[Ksbx: access entries, written once: %llu objects, ",
                   (unsigned long long)done);
    struct sbx_str name = sbx_str(path);
    size_t skipped = name.len > 40 ? name.len - 40 : 0;
    sbx_buf_add_visible(&text, (struct sbx_str){name.ptr + skipped, name.len - skipped}, false);
    (void)sbx_output_write(SBX_STDERR, &text);
}

void sbx_progress_begin(struct sbx_progress_line *line, const struct sbx_cli *cli)
{
    *line = (struct sbx_progress_line){.begin_ns = sbx_os_monotonic_ns()};
    bool is_shown = !cli->attended.is_attended && !cli->out.quiet && !cli->out.json &&
                    sbx_os_terminal_colours(SBX_STDERR);
    line->hook = (struct sbx_progress){.tell = is_shown ? tell_progress : NULL, .state = line};
}

void sbx_progress_end(struct sbx_progress_line *line)
{
    static const char wipe[] = "\r\x1b[K";
    struct sbx_err ignored = {0};
    if (line->is_shown) (void)!sbx_os_write(SBX_STDERR, wipe, sizeof wipe - 1, &ignored);
    line->is_shown = false;
}
