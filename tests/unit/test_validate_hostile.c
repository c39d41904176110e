/* Tests of validation against hostile input: units, hints, forbidden paths, terminals, bounds, no memory. */
#include <stdio.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/policy/manifest_kind.h"
#include "common/policy/toml.h"
#include "tests/check.h"
#include "tests/unit/policy_fixture.h"

#include "common/base/banned.h"

/* ---- units ---- */

#define UNIT_A "[unit.a]\ncommand = [\"a\"]\nprofile = \"strict\"\n"
#define UNIT_C "[unit.c]\ncommand = [\"c\", \"-x\"]\ntype = \"oneshot\"\nmax_processes = 3\n"
#define UNIT_BAD                                                                                   \
    "[unit.b]\ntype = \"forever\"\nprofile = \"x\"\nfs_read_allow = \"/a\"\nwat = 1\n"             \
    "timeout = \"never\"\nprotect = [\"a/b\"]\n"

static void one_bad_unit_does_not_disturb_the_others(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    CHECK(fixture_read(&f, "[sandbox]\nmode = \"read-only\"\n" UNIT_A UNIT_BAD UNIT_C));
    CHECK_INT(f.findings.count, 7);
    for (size_t i = 0; i < f.findings.count; i++) {
        CHECK_TEXT(f.findings.items[i].unit, "b");
    }
    struct sbx_document with_bad = f.document;
    fixture_forget(&f);
    CHECK(fixture_read(&f, "[sandbox]\nmode = \"read-only\"\n" UNIT_A UNIT_C));
    CHECK_INT(f.findings.count, 0);
    CHECK_INT(with_bad.unit_count, 3);
    CHECK(sbx_manifest_equal(&with_bad.sandbox, &f.document.sandbox));
    CHECK(sbx_manifest_equal(&with_bad.units[0].sandbox, &f.document.units[0].sandbox));
    CHECK(sbx_manifest_equal(&with_bad.units[2].sandbox, &f.document.units[1].sandbox));
    CHECK_INT(with_bad.units[2].type, SBX_UNIT_ONESHOT);
    CHECK_INT(with_bad.units[2].command.count, 2);
    CHECK(f.findings.unit == NULL);
}

static void a_unit_that_is_no_unit_is_found_and_left_out(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    CHECK(fixture_read(&f, "unit.ok.command = [\"x\"]\nunit.\"a b\" = {}\nunit.five = 5\n"
                           "unit.empty = {}\nunit.nul.command = [\"a\\u0000\"]\n"
                           "unit.\"\" = {}\nunit.blank.command = [\"\"]\n"));
    CHECK_INT(f.document.unit_count, 4);
    CHECK_TEXT(f.document.units[0].name, "ok");
    CHECK_INT(fixture_findings(&f, SBX_F_BAD_VALUE), 5);
    CHECK_INT(fixture_findings(&f, SBX_F_WRONG_TYPE), 1);
    CHECK(!f.document.units[0].asks_for_sandbox);
}

static void a_unit_says_whether_it_asks_for_a_sandbox(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    CHECK(fixture_read(&f, "[unit.a]\ncommand = [\"x\"]\n[unit.b]\ncommand = [\"x\"]\nprofile = "
                           "\"none\"\nuser = \"nobody\"\n[unit.c]\ncommand = [\"x\"]\nprofile = "
                           "\"strict\"\n[unit.d]\ncommand = [\"x\"]\nmax_processes = 2\n"));
    CHECK(!f.document.units[0].asks_for_sandbox && !f.document.units[1].asks_for_sandbox);
    CHECK(f.document.units[2].asks_for_sandbox && f.document.units[3].asks_for_sandbox);
}

/* ---- hints ---- */

static void an_unknown_key_is_met_with_the_nearest_known_one(void)
{
    static const char *const pairs[][3] = {
        {"[sandbox]\nfs_read_alow = []\n", "did you mean \"fs_read_allow\"?", "fs_read_alow"},
        {"[sandbox]\nmaxMemoryBytes = 1\n", "did you mean \"max_memory_bytes\"?", "maxMemoryBytes"},
        {"[sandbox]\nenv-pass = []\n", "did you mean \"env_pass\"?", "env-pass"},
        {"[sandbox]\nzzzzzzzz = 1\n", "`sbx schema` and sbx.toml(5) list the keys", "zzzzzzzz"},
        {"[sandbx]\n", "did you mean \"sandbox\"?", "sandbx"},
        {"profile = \"strict\"\n", "move it below a [sandbox] header", "profile"},
        {"[unit.a]\ncomand = [\"x\"]\ncommand = [\"x\"]\n", "did you mean \"command\"?", "comand"},
        {"[sandbox]\nnetwork = { kid = \"deny\", kind = \"deny\" }\n", "did you mean \"kind\"?",
         "network.kid"},
    };
    for (size_t i = 0; i < SBX_COUNT(pairs); i++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        CHECK(fixture_read(&f, pairs[i][0]));
        const struct sbx_finding *finding = fixture_finding(&f, SBX_F_UNKNOWN_KEY);
        CHECK(finding != NULL);
        if (finding != NULL) {
            CHECK_TEXT(finding->hint, pairs[i][1]);
            CHECK_TEXT(finding->key_path, pairs[i][2]);
        }
    }
}

static void a_document_without_a_sandbox_is_not_an_empty_policy(void)
{
    static const char *const texts[] = {"", "\"$schema\" = \"x\"\n", "# only a comment\n"};
    for (size_t i = 0; i < SBX_COUNT(texts); i++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        CHECK(fixture_read(&f, texts[i]));
        CHECK_INT(fixture_findings(&f, SBX_F_BAD_VALUE), 1);
    }
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    CHECK(fixture_read(&f, "[sandbox]\n"));
    CHECK_INT(f.findings.count, 0);
    CHECK(fixture_read(&f, "sandbox = 5\nunit = 5\n"));
    CHECK_INT(fixture_findings(&f, SBX_F_WRONG_TYPE), 2);
    CHECK(fixture_read_json(&f, "[]"));
    CHECK_INT(fixture_findings(&f, SBX_F_WRONG_TYPE), 3);
}

/* ---- paths that may never be granted ---- */

struct path_row {
    enum sbx_platform platform;
    const char *path, *code; /* NULL: accepted */
};

static const struct path_row path_rows[] = {
    {SBX_LINUX, "/proc", "path-forbidden"},
    {SBX_LINUX, "//proc//self/", "path-forbidden"},
    {SBX_LINUX, "/./dev/null", "path-forbidden"},
    {SBX_LINUX, "/sys/fs/cgroup", "path-forbidden"},
    {SBX_LINUX, "/pro?", "path-forbidden"},
    {SBX_LINUX, "/p*c/self", "path-forbidden"},
    {SBX_LINUX, "/*", "path-forbidden"},
    {SBX_LINUX, "/**", "path-forbidden"},
    {SBX_LINUX, "/d?v/shm", "path-forbidden"},
    {SBX_LINUX, "/processes", NULL},
    {SBX_LINUX, "/PROC", NULL}, /* another directory there */
    {SBX_LINUX, "/srv/proc", NULL},
    {SBX_LINUX, "/srv/*", NULL},
    {SBX_LINUX, "/**/x", NULL},
    {SBX_LINUX, "/.vol/1", NULL},
    {SBX_MACOS, "/DEV/disk0", "path-forbidden"},
    {SBX_MACOS, "/Dev", "path-forbidden"},
    {SBX_MACOS, "/.vol/1/2", "path-forbidden"},
    {SBX_MACOS, "/a/..namedfork/rsrc", "path-forbidden"},
    {SBX_MACOS, "/Developer", NULL},
    {SBX_WINDOWS, "\\\\server\\share", "path-forbidden"},
    {SBX_WINDOWS, "\\\\?\\C:\\x", "path-forbidden"},
    {SBX_WINDOWS, "\\\\.\\PhysicalDrive0", "path-forbidden"},
    {SBX_WINDOWS, "C:\\x:stream", "path-forbidden"},
    {SBX_WINDOWS, "C:\\PROGRA~1", "path-forbidden"},
    {SBX_WINDOWS, "C:\\aux.txt", "path-forbidden"},
    {SBX_WINDOWS, "C:\\x\\CON", "path-forbidden"},
    {SBX_WINDOWS, "C:\\x.", "path-forbidden"},
    {SBX_WINDOWS, "C:\\x ", "path-forbidden"},
    {SBX_WINDOWS, "C:\\a<b", "path-forbidden"},
    {SBX_WINDOWS, "C:x", "path-not-absolute"},
    {SBX_WINDOWS, "\\x", "path-not-absolute"},
    {SBX_WINDOWS, "/x", "path-not-absolute"},
    {SBX_WINDOWS, "C:\\", "policy-unsupported"},
    {SBX_WINDOWS, "c:/users/x", NULL},
    {SBX_WINDOWS, ":cwd\\a/b", NULL},
    {SBX_WINDOWS, ":home/a\\b", NULL},
    {SBX_LINUX, ":cwd\\a", "bad-value"}, /* a backslash is no separator there */
    {SBX_LINUX, ":root/etc", "bad-value"},
    {SBX_LINUX, ":runtime/bus", "bad-value"}, /* for presets only */
    {SBX_LINUX, ":windows", "bad-value"},
    {SBX_LINUX, ":", "bad-value"},
    {SBX_LINUX, ":CWD", "bad-value"},
    {SBX_LINUX, ":project/a", NULL},
};

static void paths_of_kernels_devices_and_other_spellings_are_refused(void)
{
    for (size_t i = 0; i < SBX_COUNT(path_rows); i++) {
        const struct path_row *row = &path_rows[i];
        AUTO_FIXTURE f;
        fixture_start(&f, row->platform);
        AUTO_BUF text;
        sbx_buf_init(&text, 4096);
        sbx_buf_printf(&text, "[sandbox]\nprofile = \"strict\"\nfilesystem = { '%s' = \"read\" }\n",
                       row->path);
        CHECK(fixture_read(&f, sbx_buf_text(&text)));
        fixture_resolve(&f);
        const char *code = f.findings.errors == 0 ? NULL
                                                  : sbx_name_text(sbx_finding_code_names,
                                                                  (int)f.findings.items[0].code);
        if (!sbx_text_eq(code, row->code)) {
            printf("# %s\n", row->path);
            CHECK_TEXT(code, row->code);
        }
        CHECK(code == NULL || fixture_rule(&f, row->path) == NULL);
    }
}

static void closing_a_kernel_path_is_allowed(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "[sandbox]\nfilesystem = { \":root\" = \"read\", \"/proc\" = "
                   "\"none\", \"/d*\" = \"none\" }\n");
    CHECK_INT(f.findings.errors, 0);
    CHECK_INT(fixture_access(&f, "/proc/1"), SBX_ACCESS_NONE);
    CHECK_INT(fixture_access(&f, "/dev/sda"), SBX_ACCESS_NONE);
}

/* ---- terminals ---- */

static bool is_safe(const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);
    for (size_t at = 0; at < len;) {
        uint32_t character = 0;
        size_t step = sbx_utf8_decode(text + at, len - at, &character);
        if (step == 0 || sbx_utf8_is_unsafe(character)) {
            return false;
        }
        at += step;
    }
    return true;
}

static void nothing_of_a_file_reaches_a_terminal_raw(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "\"top\\u001b[2J\" = 1\n[sandbox]\n\"k\\u001b]0;x\\u0007\" = 1\n"
                   "profile = \"\\u202eevil\"\ntimeout = { \"a\\u001bb\" = 1 }\n"
                   "network = { \"\\u001bn\" = 1 }\nimage = \"\\u001b[31m\"\n"
                   "fs_read_allow = [\"rel\\u001b[1m\", \"/a\\u200bb\", \"/a\\u200bb\"]\n"
                   "filesystem = { \"/x\\u001b[0m\" = \"read\", \"/\\u202ey\" = \"maybe\", "
                   "\"/z\\u200b\" = 5 }\nenv = [[\"\\u001b=\", \"\"]]\nprotect = [\"\\u001b\"]\n"
                   "raw_args = [\"--\\u001bx\"]\nrequire = [\"\\u001b\"]\nuser = \"\\u001b\"\n"
                   "[unit.\"\\u001bu\"]\n");
    CHECK(f.findings.errors > 12);
    for (size_t i = 0; i < f.findings.count; i++) {
        const struct sbx_finding *finding = &f.findings.items[i];
        bool safe = is_safe(finding->text) && is_safe(finding->hint) && is_safe(finding->value) &&
                    is_safe(finding->key_path) && is_safe(finding->unit);
        CHECK(safe);
        if (!safe) {
            printf("# finding %zu of code %s\n", i,
                   sbx_name_text(sbx_finding_code_names, (int)finding->code));
        }
    }
}

static void long_values_are_cut_at_a_character_and_still_said(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    AUTO_BUF text;
    sbx_buf_init(&text, 1 << 20);
    sbx_buf_add_text(&text, "[sandbox]\nfs_read_allow = [\"");
    for (int i = 0; i < 20000; i++) {
        sbx_buf_add_text(&text, "\xf0\x9f\x98\x80");
    }
    sbx_buf_add_text(&text, "\"]\n");
    CHECK(fixture_read(&f, sbx_buf_text(&text)));
    fixture_resolve(&f);
    const struct sbx_finding *finding = fixture_finding(&f, SBX_F_PATH_NOT_ABSOLUTE);
    CHECK(finding != NULL);
    CHECK(strlen(finding->text) > 100 && strlen(finding->text) < 4096);
    CHECK(strlen(finding->value) < 200 && is_safe(finding->value) && is_safe(finding->text));
    CHECK(strstr(finding->value, "\\x") == NULL);
}

/* ---- bounds ---- */

static void findings_are_kept_up_to_a_bound_and_all_counted(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    AUTO_BUF text;
    sbx_buf_init(&text, 1 << 20);
    sbx_buf_add_text(&text, "[sandbox]\n");
    for (int i = 0; i < 5000; i++) {
        sbx_buf_printf(&text, "zz%d = 1\n", i);
    }
    CHECK(fixture_read(&f, sbx_buf_text(&text)));
    CHECK_INT(f.findings.count, SBX_FINDINGS_MAX);
    CHECK_INT(f.findings.errors, 5000);
    sbx_findings_sort(&f.findings);
    CHECK_INT(f.findings.items[SBX_FINDINGS_MAX - 1].at.place.line, SBX_FINDINGS_MAX + 1);
}

static void a_list_beyond_the_bound_is_one_finding(void)
{
    static const char *const keys[] = {"fs_read_allow", "env_pass", "protect", "raw_args"};
    for (size_t k = 0; k < SBX_COUNT(keys); k++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        AUTO_BUF text;
        sbx_buf_init(&text, 1 << 20);
        sbx_buf_printf(&text, "[sandbox]\n%s = [", keys[k]);
        for (int i = 0; i <= SBX_LIST_MAX + 10; i++) {
            sbx_buf_printf(&text, "\"a%d\",", i);
        }
        sbx_buf_add_text(&text, "]\n");
        CHECK(fixture_read(&f, sbx_buf_text(&text)));
        CHECK_INT(fixture_findings(&f, SBX_F_OUT_OF_RANGE), 1);
        CHECK_INT(f.findings.errors, 1);
    }
}

/* `count` entries made by a format with one number, between two texts. */
static void read_many(struct fixture *f, const char *before, const char *word, int count,
                      const char *after)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 1 << 20);
    sbx_buf_printf(&text, "[sandbox]\n%s", before);
    for (int i = 0; i < count; i++) {
        sbx_buf_printf(&text, "%s%s%d%s", i == 0 ? "" : ", ", word, i, after);
    }
    sbx_buf_add_text(&text, before[0] == 'f' && before[1] == 'i' ? " }\n" : "]\n");
    fixture_start(f, SBX_LINUX);
    CHECK(fixture_read(f, sbx_buf_text(&text)));
    fixture_resolve(f);
}

/* Rules are compared with each other: their number, their depth and the names are bounded. */
static void rules_beyond_the_bounds_are_found_and_not_compared(void)
{
    static const struct {
        const char *before, *word, *after;
        int most;
        enum sbx_finding_code code;
    } rows[] = {
        {"filesystem = { ", "\"/w/*", "\" = \"none\"", 255, SBX_F_OUT_OF_RANGE},
        {"fs_read_allow = [", "\"/w/", "\"", 4000, SBX_F_OUT_OF_RANGE},
        {"protect = [\"defaults\", ", "\"n", "\"", 256, SBX_F_OUT_OF_RANGE},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        AUTO_FIXTURE good;
        read_many(&good, rows[i].before, rows[i].word, rows[i].most, rows[i].after);
        CHECK_INT(good.findings.errors, 0);
        AUTO_FIXTURE bad;
        read_many(&bad, rows[i].before, rows[i].word,
                  rows[i].most + 97 < 4096 ? rows[i].most + 97 : 4096, rows[i].after);
        CHECK(fixture_findings(&bad, rows[i].code) > 0);
    }
    for (int names = 64; names <= 65; names++) {
        AUTO_FIXTURE f;
        AUTO_BUF text;
        sbx_buf_init(&text, 1 << 16);
        sbx_buf_add_text(&text, "[sandbox]\nfs_read_allow = [\"");
        for (int i = 0; i < names; i++) {
            sbx_buf_add_text(&text, "/n");
        }
        sbx_buf_add_text(&text, "\"]\n");
        fixture_start(&f, SBX_LINUX);
        CHECK(fixture_read(&f, sbx_buf_text(&text)));
        fixture_resolve(&f);
        CHECK_INT(fixture_findings(&f, SBX_F_PATH_TOO_LONG), names - 64);
    }
}

/* Everything a manifest can hold, for the runs that follow. */
static const char rich[] =
    "[sandbox]\nmode = \"workspace-write\"\nfs_read_allow = [\"/srv\", \"/srv/x\"]\n"
    "filesystem = { \"/code\" = \"write\", \"/code/**/.env\" = \"none\", \"/code/a\" = \"none\", "
    "\"/code/a/*\" = \"read\", \"/code/a/b\" = \"none\", \"/code/.git\" = \"write\", "
    "\":home/.config\" = \"write\" }\ntmpfs = [\"/var/cache\"]\nprotect = [\"defaults\", \"key\"]\n"
    "git = \"commit\"\nnetwork = { kind = \"allow_hosts\", hosts = [\"a.org\", \"*.b.org\"], local "
    "= [\"localhost:80\"] }\nenv = [[\"A\", \"b\"]]\nenv_pass = [\"PATH\"]\ntimeout = \"5s\"\n"
    "[unit.x]\ncommand = [\"y\"]\nprofile = \"desktop\"\n";

static const char *const probes[] = {
    "/code/x",
    "/code/.env",
    "/code/d/.env",
    "/code/a/q",
    "/code/a/b/c",
    "/code/.git/x",
    "/code/.git/hooks",
    "/code/key/x",
    "/etc/shadow",
    "/home/user/.config/sbx",
    "/srv/x/y",
    "/var/cache/z",
    "/tmp/q",
    "/home/user/project/.vscode",
    "/",
};

/* Memory ends at every possible place: what comes out is whole, or is not called good. */
static void with_any_amount_of_memory_a_policy_is_whole_or_refused(void)
{
    AUTO_FIXTURE whole;
    fixture_policy(&whole, SBX_LINUX, rich);
    CHECK(sbx_findings_ok(&whole.findings));
    unsigned refused = 0;
    unsigned good = 0;
    for (size_t max = 1 << 10; max < 1 << 19; max += max < 1 << 16 ? 96 : 1024) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        struct sbx_arena small;
        sbx_arena_init(&small, max);
        struct sbx_findings findings;
        sbx_findings_init(&findings, &small);
        struct sbx_value root;
        struct sbx_document document = {0};
        struct sbx_policy policy = {0};
        bool read = sbx_toml_read(&small, "x", sbx_str(rich), NULL, &root, NULL, NULL) == SBX_OK;
        if (read) {
            sbx_document_read(&small, "x", &root, &findings, &document);
            sbx_policy_resolve(&small, &document.sandbox, &f.context, &f.ceiling, &findings,
                               &policy);
        }
        bool ok = read && sbx_findings_ok(&findings);
        refused += !ok;
        good += ok;
        for (size_t i = 0; ok && i < SBX_COUNT(probes); i++) {
            struct sbx_path path = fixture_path(&f, probes[i]);
            CHECK_INT(sbx_policy_decide(&f.arena, &policy, path).access,
                      fixture_access(&whole, probes[i]));
        }
        CHECK(!ok || (policy.rules.count == whole.policy.rules.count && policy.host_count == 2 &&
                      policy.env_count == 1 && document.unit_count == 1 &&
                      policy.protect_count == whole.policy.protect_count));
        sbx_arena_release(&small);
    }
    CHECK(refused > 100 && good > 10);
}

static void a_decision_needs_no_memory(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX, rich);
    struct sbx_arena none;
    sbx_arena_init(&none, 0);
    for (size_t i = 0; i < SBX_COUNT(probes); i++) {
        struct sbx_path path = fixture_path(&f, probes[i]);
        CHECK_INT(sbx_policy_decide(&none, &f.policy, path).access, fixture_access(&f, probes[i]));
    }
}

static const struct sbx_test tests[] = {
    {"one bad unit does not disturb the others", one_bad_unit_does_not_disturb_the_others},
    {"a unit that is no unit is found and left out", a_unit_that_is_no_unit_is_found_and_left_out},
    {"a unit says whether it asks for a sandbox", a_unit_says_whether_it_asks_for_a_sandbox},
    {"an unknown key is met with the nearest known one",
     an_unknown_key_is_met_with_the_nearest_known_one},
    {"a document without a sandbox is not an empty policy",
     a_document_without_a_sandbox_is_not_an_empty_policy},
    {"paths of kernels, devices and other spellings are refused",
     paths_of_kernels_devices_and_other_spellings_are_refused},
    {"closing a kernel path is allowed", closing_a_kernel_path_is_allowed},
    {"nothing of a file reaches a terminal raw", nothing_of_a_file_reaches_a_terminal_raw},
    {"long values are cut at a character and still said",
     long_values_are_cut_at_a_character_and_still_said},
    {"findings are kept up to a bound and all counted",
     findings_are_kept_up_to_a_bound_and_all_counted},
    {"a list beyond the bound is one finding", a_list_beyond_the_bound_is_one_finding},
    {"rules beyond the bounds are found and not compared",
     rules_beyond_the_bounds_are_found_and_not_compared},
    {"with any amount of memory a policy is whole or refused",
     with_any_amount_of_memory_a_policy_is_whole_or_refused},
    {"a decision needs no memory", a_decision_needs_no_memory},
};
SBX_TEST_MAIN("validate hostile input", tests)
