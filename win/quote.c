/* Arguments as one command line. A backslash is itself unless a quote follows, however many there
 * are; so before a quote, and before our closing one, each is doubled. */
#include "win/quote.h"

#include <stdbool.h>

#include "win/wide.h"

#include "common/base/banned.h"

struct line {
    wchar_t *text; /* room for SBX_COMMAND_LINE_MAX */
    size_t len;
    bool is_full;
};

static void add(struct line *line, wchar_t unit, size_t times)
{
    for (; times > 0 && !line->is_full; times--) {
        if (line->len + 1 >= SBX_COMMAND_LINE_MAX) {
            line->is_full = true;
        } else {
            line->text[line->len++] = unit;
        }
    }
}

/* The program's name is read by other rules: up to the next quote, backslashes mean themselves. */
static bool add_program(struct line *line, const wchar_t *name)
{
    if (wcschr(name, L'"') != NULL) {
        return false;
    }
    add(line, L'"', 1);
    for (; *name != L'\0'; name++) {
        add(line, *name, 1);
    }
    add(line, L'"', 1);
    return true;
}

static void add_argument(struct line *line, const wchar_t *argument)
{
    /* Only quoted where it is needed, because some programs read their own command line. */
    bool quoted = *argument == L'\0' || wcspbrk(argument, L" \t\n\v\"") != NULL;
    size_t backslashes = 0;
    add(line, L' ', 1);
    if (quoted) {
        add(line, L'"', 1);
    }
    for (; *argument != L'\0'; argument++) {
        if (*argument == L'\\') {
            backslashes++;
            continue;
        }
        bool is_quote = *argument == L'"';
        add(line, L'\\', is_quote ? backslashes * 2 + 1 : backslashes);
        backslashes = 0;
        add(line, *argument, 1);
    }
    add(line, L'\\', quoted ? backslashes * 2 : backslashes);
    if (quoted) {
        add(line, L'"', 1);
    }
}

enum sbx_code sbx_quote_argv(struct sbx_arena *arena, const char *const *argv, wchar_t **out,
                             struct sbx_err *err)
{
    struct line line = {.text = SBX_NEW_ARRAY(arena, wchar_t, SBX_COMMAND_LINE_MAX)};
    if (line.text == NULL) {
        return sbx_err_nomem(err);
    }
    for (size_t i = 0; argv[i] != NULL; i++) {
        AUTO_ARENA scratch;
        sbx_arena_init(&scratch, (size_t)1 << 20);
        wchar_t *wide;
        enum sbx_code code = sbx_wide_from(&scratch, argv[i], &wide, err);
        if (code == SBX_E_NOMEM) {
            line.is_full = true;
            break;
        }
        if (code != SBX_OK) {
            return code;
        }
        if (i > 0) {
            add_argument(&line, wide);
        } else if (!add_program(&line, wide)) {
            return sbx_err_set(err, SBX_E_INVALID,
                               "the name of the program has a double quote in it");
        }
    }
    if (line.is_full) {
        (void)sbx_err_set(err, SBX_E_LIMIT,
                          "the command line is longer than %d characters, Windows' maximum",
                          SBX_COMMAND_LINE_MAX - 1);
        return sbx_err_hint(err, "pass long arguments through a file");
    }
    line.text[line.len] = L'\0';
    *out = line.text;
    return SBX_OK;
}
