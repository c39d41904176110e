/* Command lines (win/quote.h): taken apart again by the two documented rules, written down here once more, by this
 * system's own functions, and by real children. */
#include <windows.h>

#include <shellapi.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tests/check.h"
#include "tests/unit/os_actor.h"
#include "tests/unit/random.h"
#include "win/quote.h"
#include "win/wide.h"

#include "common/base/banned.h"

static struct sbx_err err;

/* ---- the rules ----------------------------------------------------------------------------- */

enum { ARGUMENTS_MAX = 40, UNITS_MAX = 512 };

/* What a line is to a program. */
struct parsed {
    wchar_t text[ARGUMENTS_MAX][UNITS_MAX];
    size_t len[ARGUMENTS_MAX];
    size_t count;
};

static void keep(struct parsed *out, wchar_t unit, size_t times)
{
    for (; times > 0 && out->len[out->count] + 1 < UNITS_MAX; times--) {
        out->text[out->count][out->len[out->count]++] = unit;
    }
}

static bool is_space(wchar_t unit)
{
    return unit == L' ' || unit == L'\t';
}

/* The first argument, by both rules: to the next quote, or to the next space; no escapes. */
static const wchar_t *take_program(const wchar_t *at, struct parsed *out)
{
    bool is_quoted = *at == L'"';
    at += is_quoted;
    while (*at != L'\0' && (is_quoted ? *at != L'"' : !is_space(*at))) {
        keep(out, *at++, 1);
    }
    out->count++;
    return at + (is_quoted && *at == L'"');
}

static size_t count_of(const wchar_t *at, wchar_t unit)
{
    size_t count = 0;
    while (at[count] == unit) {
        count++;
    }
    return count;
}

/* The C runtime since 2008: "" inside quotes is a quote, and the quoted part goes on. */
static void parse_crt(const wchar_t *at, struct parsed *out)
{
    *out = (struct parsed){0};
    at = take_program(at, out);
    for (;;) {
        while (is_space(*at)) {
            at++;
        }
        if (*at == L'\0' || out->count == ARGUMENTS_MAX - 1) {
            return;
        }
        bool is_quoted = false;
        while (*at != L'\0' && (is_quoted || !is_space(*at))) {
            size_t backslashes = count_of(at, L'\\');
            at += backslashes;
            if (*at != L'"') {
                keep(out, L'\\', backslashes);
                if (*at != L'\0' && (is_quoted || !is_space(*at))) {
                    keep(out, *at++, 1);
                }
                continue;
            }
            keep(out, L'\\', backslashes / 2);
            if (backslashes % 2 == 1) {
                keep(out, L'"', 1);
                at++;
            } else if (is_quoted && at[1] == L'"') {
                keep(out, L'"', 1);
                at += 2;
            } else {
                is_quoted = !is_quoted;
                at++;
            }
        }
        out->count++;
    }
}

/* CommandLineToArgvW: of quotes in a row, counting the one that opened the part, each third is a quote. */
static void parse_shell(const wchar_t *at, struct parsed *out)
{
    *out = (struct parsed){0};
    at = take_program(at, out);
    for (;;) {
        while (is_space(*at)) {
            at++;
        }
        if (*at == L'\0' || out->count == ARGUMENTS_MAX - 1) {
            return;
        }
        size_t quotes = 0;
        while (*at != L'\0' && (quotes != 0 || !is_space(*at))) {
            size_t backslashes = count_of(at, L'\\');
            at += backslashes;
            if (*at != L'"') {
                keep(out, L'\\', backslashes);
                if (*at != L'\0' && (quotes != 0 || !is_space(*at))) {
                    keep(out, *at++, 1);
                }
                continue;
            }
            keep(out, L'\\', backslashes / 2);
            if (backslashes % 2 == 1) {
                keep(out, L'"', 1);
                at++;
                continue;
            }
            for (; *at == L'"'; at++) {
                if (++quotes == 3) {
                    keep(out, L'"', 1);
                    quotes = 0;
                }
            }
            quotes = quotes == 2 ? 0 : quotes;
        }
        out->count++;
    }
}

static void check_parsed(const struct parsed *got, const char *const *want)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    size_t i = 0;
    for (; i < got->count && want[i] != NULL; i++) {
        const char *text = NULL;
        CHECK_CODE(sbx_wide_to(&arena, got->text[i], &text, &err), SBX_OK, &err);
        CHECK_TEXT(text, want[i]);
    }
    CHECK(i == got->count && want[i] == NULL);
}

/* The rules above against the documents' own examples. */
static void rules_are_the_documented_ones(void)
{
    static struct parsed got;
    static const struct {
        const wchar_t *line;
        const char *crt[5];
        const char *shell[5];
    } rows[] = {
        {L"p \"a b c\" d e", {"p", "a b c", "d", "e"}, {"p", "a b c", "d", "e"}},
        {L"p \"ab\\\"c\" \"\\\\\" d", {"p", "ab\"c", "\\", "d"}, {"p", "ab\"c", "\\", "d"}},
        {L"p a\\\\\\b d\"e f\"g h",
         {"p", "a\\\\\\b", "de fg", "h"},
         {"p", "a\\\\\\b", "de fg", "h"}},
        {L"p a\\\\\\\"b c d", {"p", "a\\\"b", "c", "d"}, {"p", "a\\\"b", "c", "d"}},
        {L"p a\\\\\\\\\"b c\" d e", {"p", "a\\\\b c", "d", "e"}, {"p", "a\\\\b c", "d", "e"}},
        {L"p \"a b\"\" c d", {"p", "a b\" c d"}, {"p", "a b\"", "c", "d"}},
        {L"p \"\" x", {"p", "", "x"}, {"p", "", "x"}},
        {L"\"p q\" x", {"p q", "x"}, {"p q", "x"}},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        parse_crt(rows[i].line, &got);
        check_parsed(&got, rows[i].crt);
        parse_shell(rows[i].line, &got);
        check_parsed(&got, rows[i].shell);
    }
}

static void rules_agree_with_the_system(void)
{
    static const wchar_t units[] = L"\\\\\"\" \t  ab\x00e4";
    static struct parsed got;
    uint64_t state = 99;
    size_t wrong = 0;
    for (int round = 0; round < 20000; round++) {
        wchar_t line[40] = L"p ";
        size_t len = 2 + random_below(&state, 30);
        for (size_t i = 2; i < len; i++) {
            line[i] = units[random_below(&state, SBX_COUNT(units) - 1)];
        }
        line[len] = L'\0';
        int count = 0;
        wchar_t **theirs = CommandLineToArgvW(line, &count);
        parse_shell(line, &got);
        bool is_same = theirs != NULL && got.count == (size_t)count;
        for (size_t i = 0; is_same && i < got.count; i++) {
            is_same = wcscmp(got.text[i], theirs[i]) == 0;
        }
        if (!is_same && wrong++ < 3) {
            printf("# %ls\n", line);
        }
        (void)LocalFree(theirs);
    }
    CHECK_U64(wrong, 0);
}

/* ---- arguments ----------------------------------------------------------------------------- */

static void check_quoting(const char *const *argv)
{
    AUTO_ARENA arena;
    static struct parsed got;
    sbx_arena_init(&arena, 4 << 20);
    wchar_t *line;
    if (!CHECK_CODE(sbx_quote_argv(&arena, argv, &line, &err), SBX_OK, &err)) {
        return;
    }
    parse_crt(line, &got);
    check_parsed(&got, argv);
    parse_shell(line, &got);
    check_parsed(&got, argv);
}

static void hard_arguments_round_trip(void)
{
    check_quoting((const char *[]){"p", NULL});
    check_quoting((const char *[]){"", "", NULL});
    check_quoting((const char *[]){"C:\\with space\\p.exe", "", "", NULL});
    check_quoting((const char *[]){"C:\\dir\\", "a\\", "a b\\", "\\", "\\\\", "\"", "\\\"",
                                   "\\\\\"", "a\\\\b", "a\\\\\"b c\\\\", "\"\"", "x\"y\"z",
                                   "\"\"\"", "\" \"", "\\ ", " \\", NULL});
    check_quoting((const char *[]){"p", "\t", "\n", "\v", "%PATH%", "^&|<>()!", "--x=\"y z\"",
                                   "\xf0\x9f\x90\xa7 \xc3\xa4", "'", "/c", NULL});
}

/* Up to `most` arguments of hard pieces, in `texts`. */
static void random_arguments(uint64_t *state, char (*texts)[96], const char **argv, size_t most)
{
    static const char *const pieces[] = {
        "\\", "\"", " ", "a", "\t",           "\xc3\xa4",        "'", "\\\\", "\"\"", "%",
        "^",  "&",  "*", "?", "\xe2\x82\xac", "\xf0\x9f\x90\xa7"};
    size_t count = random_below(state, most + 1);
    for (size_t i = 0; i < count; i++) {
        texts[i][0] = '\0';
        size_t len = random_below(state, 12);
        for (size_t k = 0; k < len; k++) {
            size_t used = strlen(texts[i]);
            (void)snprintf(texts[i] + used, sizeof texts[i] - used, "%s",
                           pieces[random_below(state, SBX_COUNT(pieces))]);
        }
        argv[i] = texts[i];
    }
    argv[count] = NULL;
}

static void random_arguments_round_trip(void)
{
    uint64_t state = 42;
    for (int round = 0; round < 3000; round++) {
        char texts[8][96];
        const char *argv[10] = {"p"};
        random_arguments(&state, texts, argv + 1, 8);
        check_quoting(argv);
    }
}

/* "say" uses CommandLineToArgvW, "crt" the C runtime's own. */
static void children_get_their_arguments(void)
{
    uint64_t state = 4242;
    for (int round = 0; round < 24; round++) {
        char texts[12][96];
        const char *verb[16] = {round % 2 == 0 ? "say" : "crt", scratch("said")};
        random_arguments(&state, texts, verb + 2, 12);
        char want[4096] = "";
        for (size_t i = 2; verb[i] != NULL; i++) {
            size_t used = strlen(want);
            (void)snprintf(want + used, sizeof want - used, "[%s]\n", verb[i]);
        }
        struct sbx_outcome outcome = {0};
        actor_write(scratch("said"), "nothing");
        CHECK_CODE(actor_run(verb, 0, 0, &outcome, &err), SBX_OK, &err);
        CHECK_TEXT(actor_read(scratch("said")), want);
    }
}

static void impossible_lines_are_refused(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 8 << 20);
    static char text[40000];
    wchar_t *line = NULL;
    memset(text, 'a', SBX_COMMAND_LINE_MAX - 1 - 4);
    CHECK_CODE(sbx_quote_argv(&arena, (const char *[]){"p", text, NULL}, &line, &err), SBX_OK,
               &err);
    CHECK_U64(wcslen(line), SBX_COMMAND_LINE_MAX - 1);
    text[strlen(text)] = 'a';
    line = NULL;
    CHECK_CODE(sbx_quote_argv(&arena, (const char *[]){"p", text, NULL}, &line, &err), SBX_E_LIMIT,
               &err);
    CHECK(err.hint[0] != '\0');
    CHECK_CODE(sbx_quote_argv(&arena, (const char *[]){"p\"x", NULL}, &line, &err), SBX_E_INVALID,
               &err);
    CHECK_CODE(sbx_quote_argv(&arena, (const char *[]){"p", "\xff", NULL}, &line, &err),
               SBX_E_INVALID, &err);
    CHECK_CODE(sbx_quote_argv(&arena, (const char *[]){"p", "\xed\xa0\x80", NULL}, &line, &err),
               SBX_E_INVALID, &err);
    CHECK(line == NULL);
    sbx_arena_release(&arena);
    sbx_arena_init(&arena, 1 << 10);
    CHECK_CODE(sbx_quote_argv(&arena, (const char *[]){"p", NULL}, &line, &err), SBX_E_NOMEM, &err);
    CHECK_CODE(sbx_quote_cmd(&arena, (const char *[]){"cmd", NULL}, &line, &err), SBX_E_NOMEM,
               &err);
}

/* ---- cmd.exe ------------------------------------------------------------------------------- */

static void check_cmd(const char *const *argv, const wchar_t *want)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    wchar_t *line = NULL;
    if (CHECK_CODE(sbx_quote_cmd(&arena, argv, &line, &err), SBX_OK, &err)) {
        const char *text = NULL;
        const char *wanted = NULL;
        CHECK_CODE(sbx_wide_to(&arena, line, &text, &err), SBX_OK, &err);
        CHECK_CODE(sbx_wide_to(&arena, want, &wanted, &err), SBX_OK, &err);
        CHECK_TEXT(text, wanted);
    }
}

static void cmd_lines(void)
{
    check_cmd((const char *[]){"cmd", NULL}, L"cmd.exe ");
    check_cmd((const char *[]){"C:/Windows/System32/cmd.exe", "/c", "dir", NULL},
              L"cmd.exe /s /c \"dir\"");
    check_cmd((const char *[]){"cmd", "/D", "/q", "/V:ON", "/e:off", "/t:0A", "/K", "a", "b", NULL},
              L"cmd.exe /D /q /V:ON /e:off /t:0A /s /K \"a b\"");
    check_cmd((const char *[]){"cmd", "/s", "/c", "x", NULL}, L"cmd.exe /s /s /c \"x\"");
    check_cmd((const char *[]){"cmd", "/r", "x", NULL}, L"cmd.exe /s /r \"x\"");
    check_cmd((const char *[]){"cmd", "/cdir", "/w", NULL}, L"cmd.exe /s /c \"dir /w\"");
    check_cmd((const char *[]){"cmd", "/c", NULL}, L"cmd.exe /s /c \"\"");
    check_cmd((const char *[]){"cmd", "/c", "", "", NULL}, L"cmd.exe /s /c \" \"");
    /* Nothing in the command is touched. */
    check_cmd((const char *[]){"cmd", "/c", "\"C:\\a b\\x.bat\"", "a\"b\\", "%x%^&|<>", "/c", NULL},
              L"cmd.exe /s /c \"\"C:\\a b\\x.bat\" a\"b\\ %x%^&|<> /c\"");
    check_cmd((const char *[]){"cmd", "/a", "/u", "/f:on", NULL}, L"cmd.exe /a /u /f:on ");
}

/* cmd's documented rule with /s: of what follows the switch, the first and the last quote go. */
static void commands_come_back(void)
{
    uint64_t state = 11;
    for (int round = 0; round < 2000; round++) {
        AUTO_ARENA arena;
        sbx_arena_init(&arena, 1 << 20);
        char texts[6][96];
        const char *argv[10] = {"cmd", "/d", "/c"};
        random_arguments(&state, texts, argv + 3, 6);
        char want[1024] = "";
        for (size_t i = 3; argv[i] != NULL; i++) {
            size_t used = strlen(want);
            (void)snprintf(want + used, sizeof want - used, "%s%s", i == 3 ? "" : " ", argv[i]);
        }
        wchar_t *line = NULL;
        CHECK_CODE(sbx_quote_cmd(&arena, argv, &line, &err), SBX_OK, &err);
        const wchar_t *head = L"cmd.exe /d /s /c \"";
        CHECK(wcsncmp(line, head, wcslen(head)) == 0);
        wchar_t *begin = line + wcslen(head);
        wchar_t *end = wcsrchr(begin, L'"');
        CHECK(end != NULL && end[1] == L'\0');
        *end = L'\0';
        const char *got = NULL;
        CHECK_CODE(sbx_wide_to(&arena, begin, &got, &err), SBX_OK, &err);
        CHECK_TEXT(got, want);
    }
}

static void check_cmd_refused(const char *const *argv, enum sbx_code code, const char *why)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 4 << 20);
    wchar_t *line = NULL;
    CHECK_CODE(sbx_quote_cmd(&arena, argv, &line, &err), code, &err);
    CHECK(line == NULL);
    CHECK(strstr(err.text, why) != NULL);
    CHECK(err.hint[0] != '\0');
}

static void cmd_lines_that_are_refused(void)
{
    static char text[SBX_CMD_COMMAND_MAX + 8];
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 4 << 20);
    wchar_t *line = NULL;
    check_cmd_refused((const char *[]){"cmd", "/c", "echo a\necho b", NULL}, SBX_E_INVALID,
                      "line break");
    check_cmd_refused((const char *[]){"cmd", "/c", "echo", "a\r", NULL}, SBX_E_INVALID,
                      "line break");
    check_cmd_refused((const char *[]){"cmd", "/x", "/c", "dir", NULL}, SBX_E_INVALID, "\"/x\"");
    check_cmd_refused((const char *[]){"cmd", "dir", NULL}, SBX_E_INVALID, "\"dir\"");
    check_cmd_refused((const char *[]){"cmd", "/q/c", "dir", NULL}, SBX_E_INVALID, "\"/q/c\"");
    check_cmd_refused((const char *[]){"cmd", "/t:0g", NULL}, SBX_E_INVALID, "\"/t:0g\"");
    check_cmd_refused((const char *[]){"cmd", "/", NULL}, SBX_E_INVALID, "\"/\"");
    memset(text, 'a', SBX_CMD_COMMAND_MAX - 2);
    CHECK_CODE(sbx_quote_cmd(&arena, (const char *[]){"cmd", "/c", text, NULL}, &line, &err),
               SBX_OK, &err);
    text[SBX_CMD_COMMAND_MAX - 2] = 'a';
    check_cmd_refused((const char *[]){"cmd", "/c", text, NULL}, SBX_E_LIMIT, "8191");
    /* Not valid UTF-8: no hint is needed, but it never passes. */
    line = NULL;
    CHECK_CODE(sbx_quote_cmd(&arena, (const char *[]){"cmd", "/c", "\xc0\x80", NULL}, &line, &err),
               SBX_E_INVALID, &err);
    CHECK(line == NULL);
}

/* Every "@" of the command is a file, in cmd's quotes. */
static void check_said(const char *command, const char *want)
{
    struct sbx_outcome outcome = {0};
    char whole[1024] = "";
    for (; *command != '\0'; command++) {
        size_t used = strlen(whole);
        if (*command == '@') {
            (void)snprintf(whole + used, sizeof whole - used, "\"%s\"", scratch("cmd out.txt"));
        } else {
            (void)snprintf(whole + used, sizeof whole - used, "%c", *command);
        }
    }
    struct sbx_plain_run plan = {
        .program = "cmd",
        .argv = (const char *[]){"cmd", "/d", "/c", whole, NULL},
        .env = (const char *[]){NULL},
    };
    actor_write(scratch("cmd out.txt"), "nothing");
    CHECK_CODE(sbx_os_run_plain(&plan, &outcome, &err), SBX_OK, &err);
    CHECK_TEXT(actor_read(scratch("cmd out.txt")), want);
}

static void real_cmd_runs_the_command(void)
{
    check_said("echo hello>@", "hello\r\n");
    check_said("echo a>@&echo b>>@", "a\r\nb\r\n");
    check_said("echo \"a  b\">@", "\"a  b\"\r\n");
    check_said("if \"x y\"==\"x y\" echo same>@", "same\r\n");
}

static const struct sbx_test tests[] = {
    {"the rules written here are the documented ones", rules_are_the_documented_ones},
    {"the rules written here are those of this system", rules_agree_with_the_system},
    {"hard arguments come back as they went", hard_arguments_round_trip},
    {"random arguments come back as they went", random_arguments_round_trip},
    {"a real child gets random arguments as they went", children_get_their_arguments},
    {"a command line that cannot be is refused", impossible_lines_are_refused},
    {"a command for cmd.exe is one text behind /s /c", cmd_lines},
    {"random commands come back as they went by cmd's own rule", commands_come_back},
    {"what cmd.exe would cut or misread is refused", cmd_lines_that_are_refused},
    {"a real cmd.exe runs the command with its quotes", real_cmd_runs_the_command},
};

ACTOR_TEST_MAIN("quote", tests)
