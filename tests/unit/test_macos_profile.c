/* The Seatbelt profile as text: what comes from outside stays a string, paths have the kernel's names, what cannot be written is
 * refused. What the rules mean is judged by tests/macos. */
#include <string.h>

#include "posix/macos_profile.h"
#include "posix/macos_regex.h"
#include "posix/macos_sbpl.h"
#include "tests/check.h"
#include "tests/unit/policy_fixture.h"

#include "common/base/banned.h"

static const char scratch[] = "/private/tmp/sbx-1";

static enum sbx_code make(struct fixture *f, const struct sbx_macos_host *host,
                          struct sbx_macos_profile *out, struct sbx_err *err)
{
    struct sbx_macos_box box = {.policy = &f->policy,
                                .host = host,
                                .job = "00000000000000ff",
                                .scratch = {scratch, sizeof scratch - 1, SBX_PATH_MACOS}};
    return sbx_macos_profile_make(&f->arena, &box, out, err);
}

/* The profile of a manifest; "" (and a failed check) without one. */
static const char *profile_of(struct fixture *f, const char *toml, struct sbx_macos_profile *out)
{
    struct sbx_err err = {0};
    fixture_policy(f, SBX_MACOS, toml);
    *out = (struct sbx_macos_profile){.text = ""};
    CHECK_CODE(make(f, NULL, out, &err), SBX_OK, &err);
    return out->text;
}

/* Brackets outside of strings balance, and no string is left open. */
static bool is_balanced(const char *text)
{
    int depth = 0;
    bool in_string = false;
    for (; *text != '\0'; text++) {
        if (in_string && *text == '\\') {
            text++;
        } else if (*text == '"') {
            in_string = !in_string;
        } else if (!in_string && *text == '(') {
            depth++;
        } else if (!in_string && *text == ')' && --depth < 0) {
            return false;
        }
    }
    return depth == 0 && !in_string;
}

/* ---- the writer ---- */

static void a_quote_and_a_backslash_in_a_path_stay_in_the_string(void)
{
    AUTO_ARENA arena;
    AUTO_SBPL sbpl;
    struct sbx_err err = {0};
    sbx_arena_init(&arena, 1u << 20);
    sbx_sbpl_init(&sbpl, &arena);
    sbx_sbpl_open(&sbpl, "allow");
    sbx_sbpl_word(&sbpl, "file-read*");
    sbx_sbpl_filter(&sbpl, "literal", sbx_str("/a\"))(allow default)(\"\\"));
    sbx_sbpl_close(&sbpl);
    CHECK_CODE(sbx_sbpl_check(&sbpl, &err), SBX_OK, &err);
    CHECK_TEXT(sbx_buf_text(&sbpl.text),
               "(allow file-read*\n  (literal \"/a\\\"))(allow default)(\\\"\\\\\"))\n");
}

static void text_outside_of_ascii_or_too_long_is_a_parameter(void)
{
    AUTO_ARENA arena;
    AUTO_SBPL sbpl;
    char text[1200];
    sbx_arena_init(&arena, 1u << 20);
    sbx_sbpl_init(&sbpl, &arena);
    memset(text, 'x', sizeof text);
    sbx_sbpl_filter(&sbpl, "literal", sbx_str("/caf\xc3\xa9"));
    sbx_sbpl_filter(&sbpl, "literal", (struct sbx_str){text, sizeof text});
    sbx_sbpl_filter(&sbpl, "literal", sbx_str("/caf\xc3\xa9"));
    CHECK_TEXT(sbx_buf_text(&sbpl.text), "(literal (param \"P0\"))\n(literal (param \"P1\"))\n"
                                         "(literal (param \"P0\"))\n");
    CHECK_U64(sbpl.parameters.count, 2);
    CHECK_TEXT(sbpl.parameters.values[0], "/caf\xc3\xa9");
}

static void what_cannot_be_a_string_is_refused(void)
{
    static const struct sbx_str bad[] = {{"", 0}, {"/a\nb", 4}, {"/a\0b", 4}};
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        AUTO_ARENA arena;
        AUTO_SBPL sbpl;
        struct sbx_err err = {0};
        sbx_arena_init(&arena, 1u << 20);
        sbx_sbpl_init(&sbpl, &arena);
        sbx_sbpl_filter(&sbpl, "literal", bad[i]);
        CHECK_CODE(sbx_sbpl_check(&sbpl, &err), SBX_E_LIMIT, &err);
    }
}

static void a_word_that_is_no_word_is_refused(void)
{
    AUTO_ARENA arena;
    AUTO_SBPL sbpl;
    struct sbx_err err = {0};
    sbx_arena_init(&arena, 1u << 20);
    sbx_sbpl_init(&sbpl, &arena);
    sbx_sbpl_open(&sbpl, "allow default)(deny");
    sbx_sbpl_close(&sbpl);
    CHECK_CODE(sbx_sbpl_check(&sbpl, &err), SBX_E_LIMIT, &err);
}

static void a_rule_over_the_limit_of_libsandbox_is_refused(void)
{
    AUTO_ARENA arena;
    AUTO_SBPL sbpl;
    struct sbx_err err = {0};
    sbx_arena_init(&arena, 1u << 20);
    sbx_sbpl_init(&sbpl, &arena);
    sbx_sbpl_open(&sbpl, "allow");
    for (int i = 0; i < 4096; i++) {
        sbx_sbpl_filter(&sbpl, "literal", sbx_str("/some/path/of/a/length"));
    }
    sbx_sbpl_close(&sbpl);
    CHECK_CODE(sbx_sbpl_check(&sbpl, &err), SBX_E_LIMIT, &err);
}

/* ---- injection by a manifest ---- */

static void hostile_names_in_a_manifest_add_no_rule(void)
{
    static const char *const names[] = {
        "a\\\"))(allow default)(\\\"",
        "a\\\\\\\"))(allow default)(deny default (literal \\\"",
        ") (allow default) ; ",
        "#|(allow default)|#",
        "(param \\\"P0\\\")",
        "%s%n$(x)`x`",
        "a'b;c",
    };
    struct sbx_macos_profile plain;
    AUTO_FIXTURE base;
    size_t rules = 0;
    for (const char *at =
             profile_of(&base, "[sandbox]\nfilesystem = { \"/w\" = \"write\" }\n", &plain);
         (at = strstr(at, "\n(")) != NULL; at++) {
        rules++;
    }
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        AUTO_FIXTURE f;
        AUTO_BUF toml;
        struct sbx_macos_profile profile;
        size_t found = 0;
        sbx_buf_init(&toml, 4096);
        sbx_buf_printf(&toml, "[sandbox]\nfilesystem = { \"/w/%s\" = \"write\" }\n", names[i]);
        for (const char *at = profile_of(&f, sbx_buf_text(&toml), &profile);
             (at = strstr(at, "\n(")) != NULL; at++) {
            found++;
        }
        CHECK_U64(found, rules);
        CHECK(is_balanced(profile.text));
        CHECK(strstr(profile.text, "\n(allow default") == NULL);
    }
}

/* ---- names ---- */

static struct sbx_path path_of(const char *text)
{
    return (struct sbx_path){text, strlen(text), SBX_PATH_MACOS};
}

static void aliases_of_the_root_have_one_name(void)
{
    static const char *const pairs[][2] = {
        {"/tmp/x", "/private/tmp/x"},
        {"/var", "/private/var"},
        {"/etc/hosts", "/private/etc/hosts"},
        {"/TMP/x", "/private/tmp/x"},
        {"/tmpx", "/tmpx"},
        {"/System/Volumes/Data/Users/me", "/Users/me"},
        {"/System/Volumes/Data/usr/local/x", "/usr/local/x"},
        {"/System/Volumes/Data/usr/lib", "/System/Volumes/Data/usr/lib"},
        {"/Users/me", "/Users/me"},
    };
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1u << 20);
    for (size_t i = 0; i < SBX_COUNT(pairs); i++) {
        struct sbx_path out = {0};
        CHECK(sbx_place_unalias(&arena, path_of(pairs[i][0]), &out));
        CHECK_TEXT(out.text, pairs[i][1]);
    }
}

/* A host with one link, and one name in another case on disk. */
static const char *fake_real(void *state, struct sbx_arena *arena, const char *path)
{
    static const char *const known[][2] = {
        {"/", "/"},           {"/Users", "/Users"},           {"/Users/user", "/Users/user"},
        {"/link", "/real/x"}, {"/users/USER", "/Users/user"}, {"/private/tmp", "/private/tmp"},
    };
    (void)state;
    for (size_t i = 0; i < SBX_COUNT(known); i++) {
        if (strcmp(known[i][0], path) == 0) {
            return sbx_arena_copy(arena, known[i][1], strlen(known[i][1]));
        }
    }
    return NULL;
}

static const struct sbx_macos_host fake_host = {.real = fake_real};

static void what_is_not_there_is_named_by_the_directory_above(void)
{
    static const char *const pairs[][2] = {
        {"/link/a/b", "/real/x/a/b"},
        {"/users/USER/new", "/Users/user/new"},
        {"/tmp/new/er", "/private/tmp/new/er"},
        {"/nowhere/x", "/nowhere/x"},
        {"/", "/"},
    };
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1u << 20);
    for (size_t i = 0; i < SBX_COUNT(pairs); i++) {
        struct sbx_path out = {0};
        CHECK(sbx_macos_real(&arena, &fake_host, path_of(pairs[i][0]), &out));
        CHECK_TEXT(out.text, pairs[i][1]);
    }
}

static void a_writable_path_through_a_link_is_refused(void)
{
    AUTO_FIXTURE f;
    struct sbx_macos_profile profile;
    struct sbx_err err = {0};
    fixture_policy(&f, SBX_MACOS, "[sandbox]\nfilesystem = { \"/link/w\" = \"write\" }\n");
    CHECK_CODE(make(&f, &fake_host, &profile, &err), SBX_E_INVALID, NULL);
    CHECK(strstr(err.text, "/real/x/w") != NULL);
}

static void a_readable_path_through_a_link_is_granted_where_it_leads(void)
{
    AUTO_FIXTURE f;
    struct sbx_macos_profile profile = {.text = ""};
    struct sbx_err err = {0};
    fixture_policy(&f, SBX_MACOS, "[sandbox]\nfilesystem = { \"/link/r\" = \"read\" }\n");
    CHECK_CODE(make(&f, &fake_host, &profile, &err), SBX_OK, &err);
    CHECK(strstr(profile.text, "(subpath \"/real/x/r\")") != NULL);
    CHECK(strstr(profile.text, "(subpath \"/link/r\")") == NULL);
    CHECK(strstr(profile.text, "(literal \"/link\")") != NULL); /* to look at, on the way */
}

static void a_name_that_is_closed_is_closed_under_its_other_name(void)
{
    AUTO_FIXTURE f;
    struct sbx_macos_profile profile = {.text = ""};
    fixture_policy(
        &f, SBX_MACOS,
        "[sandbox]\nfilesystem = { \"/private/var\" = \"read\", \"/var/x\" = \"none\" }\n");
    CHECK_INT(fixture_access(&f, "/private/var/x"), SBX_ACCESS_NONE);
    struct sbx_err err = {0};
    CHECK_CODE(make(&f, NULL, &profile, &err), SBX_OK, &err);
    CHECK(strstr(profile.text, "(subpath \"/private/var/x\")") != NULL);
}

static void two_names_of_one_file_are_settled_to_the_stricter(void)
{
    AUTO_FIXTURE f;
    struct sbx_macos_profile profile = {.text = ""};
    struct sbx_err err = {0};
    fixture_policy(
        &f, SBX_MACOS,
        "[sandbox]\nfilesystem = { \"/real/x/w\" = \"read\", \"/link\" = \"read\", \"/link/w\" = "
        "\"none\" }\n");
    CHECK_CODE(make(&f, &fake_host, &profile, &err), SBX_OK, &err);
    size_t found = 0;
    for (size_t i = 0; i < profile.rules.count; i++) {
        if (strcmp(profile.rules.items[i].path.text, "/real/x/w") == 0) {
            CHECK_INT(profile.rules.items[i].access, SBX_ACCESS_NONE);
            found++;
        }
    }
    CHECK_U64(found, 1);
}

static void the_name_of_a_run_is_made_of_digits(void)
{
    AUTO_FIXTURE f;
    struct sbx_macos_profile profile;
    struct sbx_err err = {0};
    fixture_policy(&f, SBX_MACOS, "[sandbox]\n");
    struct sbx_macos_box box = {.policy = &f.policy, .job = "x\")(allow default)(\""};
    CHECK_CODE(sbx_macos_profile_make(&f.arena, &box, &profile, &err), SBX_E_INTERNAL, NULL);
}

/* ---- expressions ---- */

static void a_pattern_is_used_up_by_the_directory_it_begins_in(void)
{
    static const struct {
        const char *pattern, *directory, *rests[3];
    } rows[] = {
        {"/a/*.key", "/a", {"*.key"}},
        {"/a/**/x", "/a", {"**/x"}},
        {"/a/**/x", "/a/b/c", {"**/x"}},
        {"/a/b/x", "/c", {NULL}},
        {"/a/b", "/a/b", {NULL}},
        {"**/.git/hooks", "/r/.git", {"**/.git/hooks", "hooks"}},
        {"**/.GIT/hooks", "/r/.git", {"**/.GIT/hooks", "hooks"}},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        struct sbx_str out[4];
        size_t count = sbx_regex_rest(sbx_str(rows[i].pattern), path_of(rows[i].directory), out, 4);
        size_t wanted = 0;
        while (rows[i].rests[wanted] != NULL) {
            CHECK(wanted < count && sbx_str_is(out[wanted], rows[i].rests[wanted]));
            wanted++;
        }
        CHECK_U64(count, wanted);
    }
}

static void an_expression_quotes_what_means_something_in_it(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1u << 20);
    CHECK_TEXT(sbx_regex_below(&arena, path_of("/a.b/(c)[d]"), sbx_str("x+*"), SBX_REGEX_OPENS,
                               SBX_REGEX_ITSELF),
               "^/a\\.b/\\(c\\)\\[d\\]/x\\+[^/]*$");
    CHECK_TEXT(sbx_regex_below(&arena, path_of("/"), sbx_str("**/b"), SBX_REGEX_OPENS,
                               SBX_REGEX_AND_BELOW),
               "^/(.*/)?b(/.*)?$");
}

static const struct sbx_test tests[] = {
    {"a quote and a backslash in a path stay in the string",
     a_quote_and_a_backslash_in_a_path_stay_in_the_string},
    {"text outside of ascii or too long is a parameter",
     text_outside_of_ascii_or_too_long_is_a_parameter},
    {"what cannot be a string is refused", what_cannot_be_a_string_is_refused},
    {"a word that is no word is refused", a_word_that_is_no_word_is_refused},
    {"a rule over the limit of libsandbox is refused",
     a_rule_over_the_limit_of_libsandbox_is_refused},
    {"hostile names in a manifest add no rule", hostile_names_in_a_manifest_add_no_rule},
    {"aliases of the root have one name", aliases_of_the_root_have_one_name},
    {"what is not there is named by the directory above",
     what_is_not_there_is_named_by_the_directory_above},
    {"a writable path through a link is refused", a_writable_path_through_a_link_is_refused},
    {"a readable path through a link is granted where it leads",
     a_readable_path_through_a_link_is_granted_where_it_leads},
    {"a name that is closed is closed under its other name",
     a_name_that_is_closed_is_closed_under_its_other_name},
    {"two names of one file are settled to the stricter",
     two_names_of_one_file_are_settled_to_the_stricter},
    {"the name of a run is made of digits", the_name_of_a_run_is_made_of_digits},
    {"a pattern is used up by the directory it begins in",
     a_pattern_is_used_up_by_the_directory_it_begins_in},
    {"an expression quotes what means something in it",
     an_expression_quotes_what_means_something_in_it},
};
SBX_TEST_MAIN("macos_profile", tests)
