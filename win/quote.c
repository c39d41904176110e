/* Arguments as one command line. A backslash is itself unless a quote follows, however many there
 * are; so before a quote, and before our closing one, each is doubled. */
#include "win/quote.h"

#include <stdbool.h>
#include <string.h>

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

/* ---- one line ------------------------------------------------------------------------------ */

static enum sbx_code too_long(int max, struct sbx_err *err)
{
    (void)sbx_err_set(err, SBX_E_LIMIT,
                      "the command line is longer than %d characters, the maximum of %s", max,
                      max == SBX_CMD_COMMAND_MAX ? "cmd.exe" : "Windows");
    return sbx_err_hint(err, "pass long arguments through a file");
}

static enum sbx_code finish(struct line *line, wchar_t **out, struct sbx_err *err)
{
    if (line->is_full) {
        return too_long(SBX_COMMAND_LINE_MAX - 1, err);
    }
    line->text[line->len] = L'\0';
    *out = line->text;
    return SBX_OK;
}

/* An argument in `scratch`; one that is larger than any line fills it. */
static enum sbx_code widen(struct sbx_arena *scratch, const char *argument, struct line *line,
                           wchar_t **out, struct sbx_err *err)
{
    static wchar_t nothing[1];
    enum sbx_code code = sbx_wide_from(scratch, argument, out, err);
    if (code == SBX_E_NOMEM) {
        line->is_full = true;
        *out = nothing;
        return SBX_OK;
    }
    return code;
}

enum sbx_code sbx_quote_argv(struct sbx_arena *arena, const char *const *argv, wchar_t **out,
                             struct sbx_err *err)
{
    struct line line = {.text = SBX_NEW_ARRAY(arena, wchar_t, SBX_COMMAND_LINE_MAX)};
    if (line.text == NULL) {
        return sbx_err_nomem(err);
    }
    for (size_t i = 0; argv[i] != NULL && !line.is_full; i++) {
        AUTO_ARENA scratch;
        sbx_arena_init(&scratch, (size_t)1 << 20);
        wchar_t *wide = NULL;
        enum sbx_code code = widen(&scratch, argv[i], &line, &wide, err);
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
    return finish(&line, out, err);
}

/* ---- cmd.exe ------------------------------------------------------------------------------- */

static bool is_option(const char *argument)
{
    static const char *const options[] = {"/a",     "/d",    "/q",     "/s",    "/u",    "/e:on",
                                          "/e:off", "/f:on", "/f:off", "/v:on", "/v:off"};
    struct sbx_str text = sbx_str(argument);
    for (size_t i = 0; i < SBX_COUNT(options); i++) {
        if (sbx_str_is_nocase(text, options[i])) {
            return true;
        }
    }
    /* Colours: two hexadecimal digits. */
    return text.len == 5 && sbx_str_is_nocase((struct sbx_str){text.ptr, 3}, "/t:") &&
           strspn(text.ptr + 3, "0123456789abcdefABCDEF") == 2;
}

/* "/c", "/k", "/r", also with the command right behind. */
static bool is_switch(const char *argument)
{
    return argument[0] == '/' && argument[1] != '\0' && strchr("cCkKrR", argument[1]) != NULL;
}

static enum sbx_code add_piece(struct line *line, const char *piece, struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, (size_t)1 << 20);
    wchar_t *wide = NULL;
    if (strpbrk(piece, "\r\n") != NULL) {
        (void)sbx_err_set(err, SBX_E_INVALID,
                          "a command for cmd.exe has a line break in it: cmd would drop the rest");
        return sbx_err_hint(err, "join commands with && or put them into a file");
    }
    enum sbx_code code = widen(&scratch, piece, line, &wide, err);
    for (; code == SBX_OK && *wide != L'\0'; wide++) {
        add(line, *wide, 1);
    }
    return code;
}

/* argv from the switch on, as /c "command". */
static enum sbx_code add_command(struct line *line, const char *const *argv, struct sbx_err *err)
{
    add(line, L'/', 1);
    add(line, (wchar_t)argv[0][1], 1);
    add(line, L' ', 1);
    size_t begin = line->len;
    add(line, L'"', 1);
    bool is_first = true;
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; code == SBX_OK && argv[i] != NULL; i++) {
        const char *piece = i == 0 ? argv[i] + 2 : argv[i];
        if (i == 0 && *piece == '\0') {
            continue;
        }
        if (!is_first) {
            add(line, L' ', 1);
        }
        is_first = false;
        code = add_piece(line, piece, err);
    }
    add(line, L'"', 1);
    if (code == SBX_OK && (line->is_full || line->len - begin > SBX_CMD_COMMAND_MAX)) {
        return too_long(SBX_CMD_COMMAND_MAX, err);
    }
    return code;
}

enum sbx_code sbx_quote_cmd(struct sbx_arena *arena, const char *const *argv, wchar_t **out,
                            struct sbx_err *err)
{
    struct line line = {.text = SBX_NEW_ARRAY(arena, wchar_t, SBX_COMMAND_LINE_MAX)};
    if (line.text == NULL) {
        return sbx_err_nomem(err);
    }
    enum sbx_code code = add_piece(&line, "cmd.exe ", err);
    size_t at = argv[0] == NULL ? 0 : 1;
    for (; code == SBX_OK && argv[at] != NULL && !is_switch(argv[at]); at++) {
        if (!is_option(argv[at])) {
            (void)sbx_err_set(err, SBX_E_INVALID, "\"%s\" is not an option of cmd.exe", argv[at]);
            return sbx_err_hint(err, "cmd takes /a /d /q /s /u /e:on /f:on /t:xx /v:on, then /c "
                                     "and a command");
        }
        code = add_piece(&line, argv[at], err);
        add(&line, L' ', 1);
    }
    if (code == SBX_OK && argv[at] != NULL) {
        code = add_piece(&line, "/s ", err); /* twice is as good as once */
    }
    if (code == SBX_OK && argv[at] != NULL) {
        code = add_command(&line, argv + at, err);
    }
    return code == SBX_OK ? finish(&line, out, err) : code;
}
