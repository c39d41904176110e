/* docgen: text of man pages in man(7). */
#include "tests/tools/docgen_roff.h"

#include <string.h>

#include "common/base/utf8.h"

#include "common/base/banned.h"

#define WIDTH 78
/* Of the last change worth a new date, not of the build: the same sources give the same page. */
#define PAGE_DATE "2026-11-16"

/* One character; the dash becomes a minus that can be copied into a shell. */
static void add_escaped(struct sbx_buf *out, uint32_t character)
{
    if (character == '\\')
        sbx_buf_add_text(out, "\\e");
    else if (character == '-')
        sbx_buf_add_text(out, "\\-");
    else if (character == '\'')
        sbx_buf_add_text(out, "\\(aq");
    else if (character == '^')
        sbx_buf_add_text(out, "\\(ha");
    else if (character == '~')
        sbx_buf_add_text(out, "\\(ti");
    else if (character == 0x2026) /* the ellipsis: three dots are legible on every terminal */
        sbx_buf_add_text(out, "...");
    else if (character < 0x80)
        sbx_buf_add_char(out, (char)character);
    else
        sbx_buf_printf(out, "\\[u%04X]", (unsigned)character);
}

static void add_str(struct sbx_buf *out, struct sbx_str text)
{
    size_t at = 0;
    while (at < text.len) {
        uint32_t character = 0;
        size_t step = sbx_utf8_decode(text.ptr + at, text.len - at, &character);
        if (step == 0) {
            out->failed = true;
            return;
        }
        add_escaped(out, character);
        at += step;
    }
}

/* A line that starts with a dot or a quote would be a request. */
static void guard(struct sbx_buf *out, char first)
{
    if (first == '.' || first == '\'') sbx_buf_add_text(out, "\\&");
}

void roff_title(struct sbx_buf *out, const char *name, unsigned section)
{
    sbx_buf_add_text(out, ".\\\" Made by tests/tools/docgen from the tables of sbx: make docs\n");
    sbx_buf_printf(out, ".TH %s %u \"%s\" \"sbx %s\" \"sbx manual\"\n", name, section, PAGE_DATE,
                   SBX_VERSION);
}

void roff_section(struct sbx_buf *out, const char *title)
{
    sbx_buf_printf(out, ".SH %s\n", title);
}

void roff_subsection(struct sbx_buf *out, const char *title)
{
    sbx_buf_add_text(out, ".SS ");
    add_str(out, sbx_str(title));
    sbx_buf_add_char(out, '\n');
}

/* One word with its backquotes turned into fonts. Bold that goes on over a space is closed and opened
 * again, so that every line stands for itself. */
static void make_word(struct sbx_buf *word, struct sbx_str text, bool *is_bold)
{
    bool is_open = false;
    for (size_t i = 0; i < text.len;) {
        size_t next = i;
        while (next < text.len && text.ptr[next] != '`') next++;
        if (next > i) {
            if (*is_bold && !is_open) sbx_buf_add_text(word, "\\fB");
            is_open = *is_bold;
            if (i == 0 && !is_open) guard(word, text.ptr[0]);
            add_str(word, (struct sbx_str){text.ptr + i, next - i});
        }
        if (next < text.len) {
            if (is_open) sbx_buf_add_text(word, "\\fR");
            is_open = false;
            *is_bold = !*is_bold;
        }
        i = next + 1;
    }
    if (is_open) sbx_buf_add_text(word, "\\fR");
}

void roff_text(struct sbx_buf *out, const char *text)
{
    struct sbx_str rest = sbx_str(text);
    size_t column = 0;
    bool is_bold = false;
    bool more = true;
    while (more) {
        struct sbx_str part;
        more = sbx_str_split(rest, ' ', &part, &rest);
        AUTO_BUF word;
        sbx_buf_init(&word, 4096);
        make_word(&word, part, &is_bold);
        if (column > 0 && column + 1 + word.len > WIDTH) {
            sbx_buf_add_char(out, '\n');
            column = 0;
        }
        if (column > 0) sbx_buf_add_char(out, ' ');
        column += word.len + (column > 0 ? 1 : 0);
        sbx_buf_add_str(out, sbx_buf_str(&word));
        if (word.failed) out->failed = true;
    }
    sbx_buf_add_char(out, '\n');
}

void roff_paragraph(struct sbx_buf *out, const char *text)
{
    sbx_buf_add_text(out, ".PP\n");
    roff_text(out, text);
}

void roff_entry(struct sbx_buf *out, const char *head)
{
    sbx_buf_add_text(out, ".TP\n\\fB");
    add_str(out, sbx_str(head));
    sbx_buf_add_text(out, "\\fR\n");
}

void roff_sentence(struct sbx_buf *out, const char *text)
{
    AUTO_BUF sentence;
    sbx_buf_init(&sentence, 8192);
    char first = text[0];
    /* "read, write or exec" and "strict: …" start with a word to type, which keeps its case. */
    char after = text[strcspn(text, " ,:")];
    bool is_literal = after == ':' || (after == ',' && strstr(text, " or ") != NULL);
    if (first >= 'a' && first <= 'z' && !is_literal) first = (char)(first - 'a' + 'A');
    sbx_buf_add_char(&sentence, first);
    sbx_buf_add_text(&sentence, text + 1);
    if (strchr(".:", text[strlen(text) - 1]) == NULL) sbx_buf_add_char(&sentence, '.');
    roff_text(out, sbx_buf_text(&sentence));
}

/* Letters, digits and inner dashes of one kind. */
static size_t run_length(const char *text, bool is_upper)
{
    size_t len = 0;
    for (;; len++) {
        char c = text[len];
        bool same = is_upper ? (c >= 'A' && c <= 'Z') : ((c >= 'a' && c <= 'z') || c == '-');
        if (!same) return len;
    }
}

void roff_usage(struct sbx_buf *out, const char *usage)
{
    for (const char *c = usage; *c != '\0';) {
        size_t upper = run_length(c, true);
        size_t lower = upper > 0 ? 0 : run_length(c, false);
        size_t len = upper > 0 ? upper : lower;
        if (len > 0) {
            sbx_buf_add_text(out, upper > 0 ? "\\fI" : "\\fB");
            add_str(out, (struct sbx_str){c, len});
            sbx_buf_add_text(out, "\\fR");
        } else {
            len = sbx_utf8_decode(c, strlen(c), NULL);
            if (len == 0) len = 1;
            add_str(out, (struct sbx_str){c, len});
        }
        c += len;
    }
}

void roff_flag(struct sbx_buf *out, char short_flag, const char *flag, const char *meta)
{
    sbx_buf_add_text(out, ".TP\n");
    if (short_flag != 0) sbx_buf_printf(out, "\\fB\\-%c\\fR, ", short_flag);
    sbx_buf_add_text(out, "\\fB\\-\\-");
    add_str(out, sbx_str(flag));
    sbx_buf_add_text(out, "\\fR");
    if (meta != NULL) {
        sbx_buf_add_char(out, ' ');
        roff_usage(out, meta);
    }
    sbx_buf_add_char(out, '\n');
}

void roff_example(struct sbx_buf *out, const char *lines)
{
    sbx_buf_add_text(out, ".PP\n.in +4n\n.EX\n");
    struct sbx_str rest = sbx_str(lines);
    while (rest.len > 0) {
        struct sbx_str line;
        (void)sbx_str_split(rest, '\n', &line, &rest);
        if (line.len > 0) guard(out, line.ptr[0]);
        add_str(out, line);
        sbx_buf_add_char(out, '\n');
    }
    sbx_buf_add_text(out, ".EE\n.in\n");
}

void roff_facts(struct sbx_buf *out, const struct docgen_fact *facts)
{
    for (size_t i = 0; facts[i].name != NULL; i++) {
        roff_entry(out, facts[i].name);
        roff_sentence(out, facts[i].text);
    }
}
