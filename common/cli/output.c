/* What sbx prints. */
#include "common/cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/policy/plan.h"

#include "common/base/banned.h"

/* https://no-color.org: any non-empty value; a forced colour is for people who pipe into a pager. */
static bool wants_colour(struct sbx_arena *arena, const char *when, enum sbx_stream stream)
{
    if (when != NULL && sbx_text_eq(when, "always")) return true;
    if (when != NULL && sbx_text_eq(when, "never")) return false;
    const char *no_color = sbx_os_env(arena, "NO_COLOR");
    if (no_color != NULL && no_color[0] != '\0') return false;
    const char *force = sbx_os_env(arena, "CLICOLOR_FORCE");
    if (force != NULL && force[0] != '\0' && !sbx_text_eq(force, "0")) return true;
    const char *term = sbx_os_env(arena, "TERM");
    if (term != NULL && sbx_text_eq(term, "dumb")) return false;
    return sbx_os_terminal_colours(stream);
}

void sbx_output_init(struct sbx_output *out, struct sbx_arena *arena, const char *when)
{
    out->colour_stdout = wants_colour(arena, when, SBX_STDOUT);
    out->colour_stderr = wants_colour(arena, when, SBX_STDERR);
}

/* A pipe's reader that left has seen enough: `sbx help | head` is no failure to talk about. */
static bool reader_left(const struct sbx_err *err)
{
    const int64_t broken_pipe = 109; /* ERROR_BROKEN_PIPE */
    const int64_t no_data = 232;     /* ERROR_NO_DATA: the pipe is being closed */
    if (err->os == SBX_OS_ERRNO) return err->raw == EPIPE;
    return err->os == SBX_OS_WIN32 && (err->raw == broken_pipe || err->raw == no_data);
}

bool sbx_output_write(enum sbx_stream stream, const struct sbx_buf *text)
{
    struct sbx_err err = {0};
    enum sbx_code code = sbx_buf_check(text, &err);
    if (code == SBX_OK) code = sbx_os_write(stream, sbx_buf_text(text), text->len, &err);
    if (code == SBX_OK) return true;
    if (stream == SBX_STDERR || reader_left(&err)) return false;
    AUTO_BUF message;
    sbx_buf_init(&message, 8192);
    (void)sbx_err_context(&err, "the answer could not be written");
    sbx_err_print(&err, false, &message);
    (void)!sbx_os_write(SBX_STDERR, sbx_buf_text(&message), message.len, NULL);
    return false;
}

void sbx_tone_add(struct sbx_buf *buf, bool colour, enum sbx_tone tone, const char *text)
{
    static const char *const codes[] = {
        [SBX_TONE_PLAIN] = "0", [SBX_TONE_BAD] = "31",  [SBX_TONE_WARN] = "33",
        [SBX_TONE_GOOD] = "32", [SBX_TONE_FAINT] = "2",
    };
    bool is_plain = !colour || tone == SBX_TONE_PLAIN;
    if (!is_plain) sbx_buf_printf(buf, "\x1b[%sm", codes[tone]);
    sbx_buf_add_text(buf, text);
    if (!is_plain) sbx_buf_add_text(buf, "\x1b[0m");
}

static enum sbx_tone level_tone(enum sbx_level level)
{
    static const enum sbx_tone tones[] = {[SBX_LEVEL_NOTE] = SBX_TONE_FAINT,
                                          [SBX_LEVEL_WARNING] = SBX_TONE_WARN,
                                          [SBX_LEVEL_ERROR] = SBX_TONE_BAD};
    return tones[level];
}

static void print_place(const struct sbx_finding *finding, struct sbx_buf *buf)
{
    bool has_source = finding->at.source != NULL;
    bool has_key = finding->key_path[0] != '\0';
    if (!has_source && !has_key && finding->unit == NULL) return;
    sbx_buf_add_text(buf, "  -->");
    if (has_source) {
        sbx_buf_add_char(buf, ' ');
        sbx_buf_add_visible(buf, sbx_str(finding->at.source), false);
        if (finding->at.place.line != 0)
            sbx_buf_printf(buf, ":%" PRIu32 ":%" PRIu32, finding->at.place.line,
                           finding->at.place.column);
    }
    if (finding->unit != NULL) sbx_buf_printf(buf, " unit %s", finding->unit);
    if (has_key) {
        sbx_buf_add_char(buf, ' ');
        sbx_buf_add_visible(buf, sbx_str(finding->key_path), false);
    }
    sbx_buf_add_char(buf, '\n');
}

/* Text of one or more lines, each after its own prefix. */
static void print_lines(const char *text, const char *first, const char *next, struct sbx_buf *buf)
{
    struct sbx_str rest = sbx_str(text);
    bool more = true;
    const char *prefix = first;
    while (more) {
        struct sbx_str line;
        more = sbx_str_split(rest, '\n', &line, &rest);
        sbx_buf_add_text(buf, prefix);
        sbx_buf_add_visible(buf, line, false);
        sbx_buf_add_char(buf, '\n');
        prefix = next;
    }
}

/* A syntax error shows the line and a caret below it; everything else says what to do. */
static void print_hint(const char *hint, bool is_source, struct sbx_buf *buf)
{
    if (is_source)
        print_lines(hint, "   | ", "   | ", buf);
    else
        print_lines(hint, "  fix: ", "       ", buf);
}

void sbx_finding_print(const struct sbx_finding *finding, const struct sbx_output *out, bool colour,
                       struct sbx_buf *buf)
{
    AUTO_BUF head;
    sbx_buf_init(&head, 256);
    sbx_buf_printf(&head, "%s[%s]", sbx_name_text(sbx_level_names, (int)finding->level),
                   sbx_name_text(sbx_finding_code_names, (int)finding->code));
    sbx_buf_add_text(buf, "sbx: ");
    sbx_tone_add(buf, colour, level_tone(finding->level), sbx_buf_text(&head));
    sbx_buf_printf(buf, ": %s\n", finding->text);
    print_place(finding, buf);
    bool is_source = finding->code == SBX_F_SYNTAX;
    bool is_shown = finding->hint != NULL && finding->hint[0] != '\0' && !out->quiet;
    if (is_shown) print_hint(finding->hint, is_source, buf);
}

void sbx_findings_print(const struct sbx_findings *findings, const struct sbx_output *out,
                        bool colour, struct sbx_buf *buf)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct sbx_finding *finding = &findings->items[i];
        bool is_shown = finding->level == SBX_LEVEL_ERROR ||
                        (finding->level == SBX_LEVEL_WARNING && !out->quiet) || out->verbose;
        if (is_shown) sbx_finding_print(finding, out, colour, buf);
    }
    size_t total = findings->errors + findings->warnings + findings->notes;
    if (total > findings->count)
        sbx_buf_printf(buf, "sbx: and %zu more findings\n", total - findings->count);
}

void sbx_err_print(const struct sbx_err *err, bool colour, struct sbx_buf *buf)
{
    AUTO_BUF head;
    sbx_buf_init(&head, 128);
    sbx_buf_printf(&head, "error[%s]", sbx_code_text(err->code));
    sbx_buf_add_text(buf, "sbx: ");
    sbx_tone_add(buf, colour, SBX_TONE_BAD, sbx_buf_text(&head));
    sbx_buf_add_text(buf, ": ");
    sbx_buf_add_visible(buf, sbx_str(err->text), false);
    if (err->call != NULL)
        sbx_buf_printf(buf, " (%s: %s %" PRId64 ")", err->call, sbx_os_domain_text(err->os),
                       err->raw);
    sbx_buf_add_char(buf, '\n');
    if (err->hint[0] != '\0') print_hint(err->hint, false, buf);
}
