/* Tests of validation: each stable code with its place and key, next to the nearest manifest that has it not. */
#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/policy_fixture.h"

#include "common/base/banned.h"

#define X16 "xxxxxxxxxxxxxxxx"
#define X256 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16

static const struct fake_node host[] = {
    {"/usr", SBX_NODE_DIRECTORY},     {"/srv", SBX_NODE_DIRECTORY}, {"/srv/file", SBX_NODE_FILE},
    {"/run/a.sock", SBX_NODE_SOCKET}, {"/", SBX_NODE_DIRECTORY},    {NULL, SBX_NODE_MISSING}};

#define ALLOW_RAW "allow_raw_bwrap = true\n"

struct row {
    enum sbx_finding_code code;
    enum sbx_platform platform;
    const char *bad, *good; /* below a [sandbox] header, so the first line is line 2 */
    unsigned line, column;
    const char *key_path;
    const char *ceiling; /* NULL: none */
    bool asks_host;
};

static const struct row rows[] = {
    {SBX_F_UNKNOWN_KEY, SBX_LINUX, "fs_read_alow = [\"/a\"]", "fs_read_allow = [\"/a\"]", 2, 1,
     "fs_read_alow", NULL, false},
    {SBX_F_UNKNOWN_KEY, SBX_LINUX, "network = { kind = \"deny\", hostz = [] }",
     "network = { kind = \"allow_hosts\", hosts = [] }", 2, 28, "network.hostz", NULL, false},
    {SBX_F_UNKNOWN_KEY, SBX_LINUX, "timeout = { sec = 1 }", "timeout = { secs = 1 }", 2, 13,
     "timeout.sec", NULL, false},
    {SBX_F_WRONG_TYPE, SBX_LINUX, "max_processes = \"many\"", "max_processes = 64", 2, 17,
     "max_processes", NULL, false},
    {SBX_F_WRONG_TYPE, SBX_LINUX, "fs_read_allow = [\"/a\", 5]", "fs_read_allow = [\"/a\", \"/5\"]",
     2, 24, "fs_read_allow[1]", NULL, false},
    {SBX_F_WRONG_TYPE, SBX_LINUX, "env = [[\"A\", 1]]", "env = [[\"A\", \"1\"]]", 2, 8, "env[0]",
     NULL, false},
    {SBX_F_WRONG_TYPE, SBX_LINUX, "filesystem = { \"/a\" = true }",
     "filesystem = { \"/a\" = \"read\" }", 2, 23, "filesystem.\"/a\"", NULL, false},
    {SBX_F_BAD_VALUE, SBX_LINUX, "profile = \"stict\"", "profile = \"strict\"", 2, 11, "profile",
     NULL, false},
    {SBX_F_BAD_VALUE, SBX_LINUX, "timeout = \"30 s\"", "timeout = \"30s\"", 2, 11, "timeout", NULL,
     false},
    {SBX_F_BAD_VALUE, SBX_LINUX, "protect = [\"a/b\"]", "protect = [\"defaults\", \"a.b\"]", 2, 12,
     "protect[0]", NULL, false},
    {SBX_F_BAD_VALUE, SBX_LINUX, "require = [\"disk\"]", "require = [\"filesystem\"]", 2, 12,
     "require[0]", NULL, false},
    {SBX_F_BAD_VALUE, SBX_LINUX, "require = [\"environment\"]", "require = [\"filesystem\"]", 2, 12,
     "require[0]", NULL, false},
    {SBX_F_BAD_VALUE, SBX_LINUX, "filesystem = { \"/a/*\" = \"write\" }",
     "filesystem = { \"/a/*\" = \"read\" }", 2, 16, "filesystem.\"/a/*\"", NULL, false},
    {SBX_F_BAD_VALUE, SBX_LINUX, "image = \"a b\"", "image = \"a:b\"", 2, 9, "image", NULL, false},
    {SBX_F_BAD_VALUE, SBX_LINUX, "user = \"-x\"", "user = \"x\"", 2, 8, "user", NULL, false},
    {SBX_F_BAD_VALUE, SBX_LINUX, "network = \"allow_hosts\"",
     "network = { kind = \"allow_hosts\" }", 2, 11, "network", NULL, false},
    {SBX_F_BAD_VALUE, SBX_LINUX, "network = { hosts = [] }", "network = { kind = \"deny\" }", 2, 11,
     "network.kind", NULL, false},
    {SBX_F_BAD_VALUE, SBX_LINUX, "fs_read_allow = [\":etc/x\"]", "fs_read_allow = [\":home/x\"]", 2,
     18, "fs_read_allow[0]", NULL, false},
    {SBX_F_BAD_VALUE, SBX_LINUX, "unix_sockets = [\"/srv/file\"]",
     "unix_sockets = [\"/run/a.sock\"]", 2, 17, "unix_sockets[0]", NULL, true},
    {SBX_F_BAD_VALUE, SBX_WINDOWS, "protect = [\"defaults\", \"nul\"]",
     "protect = [\"defaults\", \"null\"]", 2, 24, "protect[0]", NULL, false},
    {SBX_F_OUT_OF_RANGE, SBX_LINUX, "max_processes = 0", "max_processes = 1", 2, 17,
     "max_processes", NULL, false},
    {SBX_F_OUT_OF_RANGE, SBX_LINUX, "max_cpu_secs = -5", "max_cpu_secs = 5", 2, 16, "max_cpu_secs",
     NULL, false},
    {SBX_F_OUT_OF_RANGE, SBX_LINUX, "max_memory_bytes = \"1023KiB\"",
     "max_memory_bytes = \"1024KiB\"", 2, 20, "max_memory_bytes", NULL, false},
    {SBX_F_OUT_OF_RANGE, SBX_LINUX, "timeout = { secs = 1, nanos = 1000000000 }",
     "timeout = { secs = 1, nanos = 999999999 }", 2, 31, "timeout.nanos", NULL, false},
    {SBX_F_OUT_OF_RANGE, SBX_LINUX, "timeout = { secs = 9223372036854775807 }",
     "timeout = { secs = 60 }", 2, 20, "timeout.secs", NULL, false},
    {SBX_F_OUT_OF_RANGE, SBX_LINUX, "user = 4294967295", "user = 4294967294", 2, 8, "user", NULL,
     false},
    {SBX_F_CONFLICT, SBX_LINUX, "profile = \"strict\"\nmode = \"read-only\"",
     "profile = \"strict\"", 3, 1, "mode", NULL, false},
    {SBX_F_CONFLICT, SBX_LINUX, "network = { kind = \"deny\", hosts = [\"a.org\"] }",
     "network = { kind = \"allow_hosts\", hosts = [\"a.org\"] }", 2, 11, "network", NULL, false},
    {SBX_F_CONFLICT, SBX_LINUX, "fs_write_allow = [\"/a\"]\nfilesystem = { \"/a/\" = \"none\" }",
     "fs_write_allow = [\"/a\"]\nfilesystem = { \"/a/b\" = \"none\" }", 3, 16, "filesystem.\"/a/\"",
     NULL, false},
    {SBX_F_CONFLICT, SBX_LINUX, "tmpfs = [\"/a\"]\nfs_read_allow = [\"/a\"]",
     "tmpfs = [\"/a\"]\nfs_read_allow = [\"/a/b\"]", 2, 10, "tmpfs[0]", NULL, false},
    {SBX_F_CONFLICT, SBX_LINUX, "profile = \"strict\"\ncwd = \"/srv\"",
     "profile = \"strict\"\ncwd = \"/usr\"", 3, 1, "cwd", NULL, false},
    {SBX_F_PATH_EMPTY, SBX_LINUX, "fs_read_allow = [\"/srv\", \"\"]", "fs_read_allow = [\"/srv\"]",
     2, 26, "fs_read_allow[1]", NULL, false},
    {SBX_F_PATH_NOT_ABSOLUTE, SBX_LINUX, "fs_read_allow = [\"srv\"]", "fs_read_allow = [\"/srv\"]",
     2, 18, "fs_read_allow[0]", NULL, false},
    {SBX_F_PATH_NOT_ABSOLUTE, SBX_LINUX, "cwd = \"usr\"", "cwd = \"/usr\"", 2, 1, "cwd", NULL,
     false},
    {SBX_F_PATH_NOT_ABSOLUTE, SBX_WINDOWS, "fs_read_allow = ['\\data']",
     "fs_read_allow = ['C:\\data']", 2, 18, "fs_read_allow[0]", NULL, false},
    {SBX_F_PATH_HAS_CONTROL, SBX_LINUX, "fs_read_allow = [\"/a\\nb\"]",
     "fs_read_allow = [\"/a b\"]", 2, 18, "fs_read_allow[0]", NULL, false},
    {SBX_F_PATH_HAS_CONTROL, SBX_LINUX, "fs_write_allow = [\":cwd/out\\u0000/x\"]",
     "fs_write_allow = [\":cwd/out\"]", 2, 19, "fs_write_allow[0]", NULL, false},
    {SBX_F_PATH_HAS_CONTROL, SBX_MACOS, "fs_read_allow = [\"/tmp/a\\u0000b\"]",
     "fs_read_allow = [\"/tmp/ab\"]", 2, 18, "fs_read_allow[0]", NULL, false},
    {SBX_F_PATH_DOTDOT, SBX_LINUX, "tmpfs = [\"/a/../b\"]", "tmpfs = [\"/a/..b\"]", 2, 10,
     "tmpfs[0]", NULL, false},
    {SBX_F_PATH_DOTDOT, SBX_LINUX, "fs_write_allow = [\":cwd/../x\"]",
     "fs_write_allow = [\":cwd/x\"]", 2, 19, "fs_write_allow[0]", NULL, false},
    {SBX_F_PATH_TOO_LONG, SBX_LINUX, "tmpfs = [\"/" X256 "\"]", "tmpfs = [\"/" X16 "\"]", 2, 10,
     "tmpfs[0]", NULL, false},
    {SBX_F_PATH_FORBIDDEN, SBX_LINUX, "fs_read_allow = [\"/proc/self\"]",
     "fs_read_allow = [\"/process\"]", 2, 18, "fs_read_allow[0]", NULL, false},
    {SBX_F_PATH_FORBIDDEN, SBX_LINUX, "filesystem = { \"/\" = \"write\" }",
     "filesystem = { \"/\" = \"read\" }", 2, 16, "filesystem.\"/\"", NULL, false},
    {SBX_F_PATH_MISSING, SBX_LINUX, "fs_read_allow = [\"/gone\"]", "fs_read_allow = [\"/srv\"]", 2,
     18, "fs_read_allow[0]", NULL, true},
    {SBX_F_PATH_MISSING, SBX_LINUX, "fs_write_allow = [\"/srv\"]\nfs_read_allow = [\"/tmp/gone\"]",
     "fs_write_allow = [\"/srv\"]\nfs_read_allow = [\"/srv/gone\"]", 3, 18, "fs_read_allow[0]",
     NULL, true},
    {SBX_F_PATH_MISSING, SBX_LINUX, "fs_read_allow = [\"/srv\"]\ncwd = \"/srv/gone\"",
     "fs_read_allow = [\"/srv\"]\ncwd = \"/srv\"", 3, 1, "cwd", NULL, true},
    {SBX_F_BAD_VALUE, SBX_LINUX, "fs_read_allow = [\"/srv\"]\ncwd = \"/srv/file\"",
     "fs_read_allow = [\"/srv\"]\ncwd = \"/srv\"", 3, 1, "cwd", NULL, true},
    {SBX_F_BAD_VALUE, SBX_LINUX, "env = [[\"A\", \"b\\u0000\"]]", "env = [[\"A\", \"b\\n\"]]", 2, 8,
     "env[0]", NULL, false},
    {SBX_F_BAD_VALUE, SBX_LINUX, "image = \"\"", "image = \"a\"", 2, 9, "image", NULL, false},
    {SBX_F_PATH_DUPLICATE, SBX_LINUX, "fs_read_allow = [\"/a\", \"/a/\"]",
     "fs_read_allow = [\"/a\", \"/b\"]", 2, 24, "fs_read_allow[1]", NULL, false},
    {SBX_F_HOST_PATTERN_INVALID, SBX_LINUX,
     "network = { kind = \"allow_hosts\", hosts = [\"http://a.org\"] }",
     "network = { kind = \"allow_hosts\", hosts = [\"a.org\"] }", 2, 44, "network.hosts[0]", NULL,
     false},
    {SBX_F_HOST_PATTERN_INVALID, SBX_LINUX,
     "network = { kind = \"allow_hosts\", local = [\"localhost\"] }",
     "network = { kind = \"allow_hosts\", local = [\"localhost:80\"] }", 2, 44, "network.local[0]",
     NULL, false},
    {SBX_F_SHARED_PLATFORM_APEX, SBX_LINUX,
     "network = { kind = \"allow_hosts\", hosts = [\"github.io\"] }",
     "network = { kind = \"allow_hosts\", hosts = [\"me.github.io\"] }", 2, 44, "network.hosts[0]",
     NULL, false},
    {SBX_F_RAW_ARGS_GATE_OFF, SBX_LINUX, "raw_args = [\"--hostname\", \"x\"]", "raw_args = []", 2,
     13, "raw_args", NULL, false},
    {SBX_F_RAW_ARGS_UNSAFE, SBX_LINUX, "raw_args = [\"--cap-add\"]", "raw_args = [\"--as-pid-1\"]",
     2, 13, "raw_args[0]", ALLOW_RAW, false},
    {SBX_F_CEILING_EXCEEDED, SBX_LINUX, "max_memory_bytes = \"8GiB\"",
     "max_memory_bytes = \"4GiB\"", 2, 1, "max_memory_bytes", "max_memory_bytes = \"4GiB\"\n",
     false},
    {SBX_F_CEILING_EXCEEDED, SBX_LINUX, "network = \"inherit\"", "network = \"deny\"", 2, 1,
     "network", "max_network = \"deny\"\n", false},
    {SBX_F_CEILING_EXCEEDED, SBX_LINUX, "filesystem = { \"/srv/x/y\" = \"read\" }",
     "filesystem = { \"/srv\" = \"read\" }", 2, 16, "filesystem.\"/srv/x/y\"",
     "forbid_paths = [\"/srv/x\"]\n", false},
    {SBX_F_POLICY_UNSUPPORTED, SBX_WINDOWS, "filesystem = { \":root\" = \"read\" }",
     "filesystem = { \":home\" = \"read\" }", 2, 16, "filesystem.\":root\"", NULL, false},
    {SBX_F_POLICY_UNSUPPORTED, SBX_WINDOWS, "fs_read_allow = ['D:\\']", "fs_read_allow = ['D:\\x']",
     2, 18, "fs_read_allow[0]", NULL, false},
    {SBX_F_PLATFORM_UNSUPPORTED, SBX_WINDOWS, "user = \"x\"", "image = \"x\"", 2, 1, "user", NULL,
     false},
    {SBX_F_PLATFORM_UNSUPPORTED, SBX_MACOS, "raw_args = [\"--as-pid-1\"]", "user = \"x\"", 2, 1,
     "raw_args", ALLOW_RAW, false},
    {SBX_F_ENV_NAME_INVALID, SBX_LINUX, "env = [[\"A=B\", \"x\"]]", "env = [[\"A.B\", \"x\"]]", 2,
     8, "env[0]", NULL, false},
    {SBX_F_ENV_NAME_INVALID, SBX_LINUX, "env_pass = [\"\"]", "env_pass = [\"A\"]", 2, 13,
     "env_pass[0]", NULL, false},
    {SBX_F_ENV_DUPLICATE, SBX_LINUX, "env = [[\"A\", \"x\"], [\"A\", \"y\"]]",
     "env = [[\"A\", \"x\"], [\"a\", \"y\"]]", 2, 20, "env[1]", NULL, false},
    {SBX_F_ENV_DUPLICATE, SBX_WINDOWS, "env = [[\"Path\", \"x\"]]\nenv_pass = [\"PATH\"]",
     "env = [[\"Path\", \"x\"]]\nenv_pass = [\"PATHS\"]", 3, 13, "env_pass[0]", NULL, false},
    {SBX_F_ENV_LOADER, SBX_LINUX, "env_pass = [\"LD_PRELOAD\"]", "env_pass = [\"LDPRELOAD\"]", 2,
     13, "env_pass[0]", NULL, false},
    {SBX_F_ENV_LOADER, SBX_WINDOWS, "env_pass = [\"Node_Options\"]", "env_pass = [\"NODE_PATHS\"]",
     2, 13, "env_pass[0]", NULL, false},
    {SBX_F_SOCKET_ROOT_EQUIVALENT, SBX_LINUX, "unix_sockets = [\"/run/docker.sock\"]",
     "unix_sockets = [\"/run/agent.sock\"]", 2, 17, "unix_sockets[0]", NULL, false},
    {SBX_F_PROTECTION_REMOVED, SBX_LINUX,
     "filesystem = { \"/c\" = \"write\", \"/c/.git\" = \"write\" }",
     "filesystem = { \"/c\" = \"write\", \"/c/git\" = \"write\" }", 2, 32, "filesystem.\"/c/.git\"",
     NULL, false},
    {SBX_F_PROTECTION_REMOVED, SBX_WINDOWS, "fs_write_allow = ['C:\\c', 'C:\\c\\.GIT\\hooks']",
     "fs_write_allow = ['C:\\c', 'C:\\c\\GIT\\hooks']", 2, 27, "fs_write_allow[1]", NULL, false},
    {SBX_F_PROTECTION_REMOVED, SBX_LINUX, "fs_write_allow = [\"/c\"]\nprotect = [\".env\"]",
     "fs_write_allow = [\"/c\"]\nprotect = [\"defaults\", \".env\"]", 3, 1, "protect", NULL, false},
    {SBX_F_LIMIT_TOO_SMALL, SBX_LINUX, "max_memory_bytes = \"255MiB\"",
     "max_memory_bytes = \"256MiB\"", 2, 1, "max_memory_bytes", NULL, false},
    {SBX_F_RULE_REDUNDANT, SBX_LINUX, "fs_read_allow = [\"/a/b\", \"/a\"]",
     "fs_read_allow = [\"/a/b\", \"/ab\"]", 2, 18, "fs_read_allow[0]", NULL, false},
    {SBX_F_REQUIRE_UNUSED, SBX_LINUX, "require = [\"memory\"]",
     "max_memory_bytes = \"1GiB\"\nrequire = [\"memory\"]", 2, 1, "require", NULL, false},
};

/* Raised by whoever reads files or runs things: common/cli and common/run. */
static const enum sbx_finding_code elsewhere[] = {
    SBX_F_FILE_UNREADABLE,    SBX_F_FILE_TOO_LARGE,  SBX_F_SYNTAX,        SBX_F_USER_UNTRUSTED,
    SBX_F_MANIFEST_UNTRUSTED, SBX_F_BACKEND_MISSING, SBX_F_REQUIRE_UNMET,
};

static void load(struct fixture *f, const struct row *row, const char *text)
{
    fixture_start(f, row->platform);
    if (row->asks_host) {
        fixture_host(f, host);
    }
    if (row->ceiling != NULL) {
        CHECK(fixture_ceiling(f, row->ceiling));
    }
    CHECK(fixture_read(f, sbx_arena_printf(&f->arena, "[sandbox]\n%s\n", text)));
    fixture_resolve(f);
}

static const char *name_of(enum sbx_finding_code code)
{
    return sbx_name_text(sbx_finding_code_names, (int)code);
}

static const struct sbx_finding *at_place(const struct fixture *f, const struct row *row)
{
    for (size_t i = 0; i < f->findings.count; i++) {
        const struct sbx_finding *finding = &f->findings.items[i];
        if (finding->code == row->code && finding->at.place.line == row->line &&
            finding->at.place.column == row->column &&
            sbx_text_eq(finding->key_path, row->key_path)) {
            return finding;
        }
    }
    return NULL;
}

static void each_code_is_found_at_its_place_with_its_key(void)
{
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        AUTO_FIXTURE f;
        load(&f, &rows[i], rows[i].bad);
        const struct sbx_finding *finding = at_place(&f, &rows[i]);
        if (finding == NULL) {
            printf("# no %s at %u:%u %s in: %s\n", name_of(rows[i].code), rows[i].line,
                   rows[i].column, rows[i].key_path, rows[i].bad);
            fixture_print_findings(&f);
        }
        CHECK(finding != NULL);
        /* One mistake is one finding of that code. */
        CHECK_INT(fixture_findings(&f, rows[i].code), 1);
        bool is_error = sbx_finding_row(rows[i].code)->level == SBX_LEVEL_ERROR;
        CHECK(sbx_findings_ok(&f.findings) == !is_error);
        CHECK(finding == NULL || sbx_text_eq(finding->at.source, "sbx.toml"));
    }
}

static void the_nearest_good_manifest_does_not_have_the_code(void)
{
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        AUTO_FIXTURE f;
        load(&f, &rows[i], rows[i].good);
        bool clean = fixture_findings(&f, rows[i].code) == 0 && sbx_findings_ok(&f.findings);
        if (!clean) {
            printf("# %s in: %s\n", name_of(rows[i].code), rows[i].good);
            fixture_print_findings(&f);
        }
        CHECK(clean);
    }
}

static void every_message_is_a_sentence_with_a_remedy(void)
{
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        AUTO_FIXTURE f;
        load(&f, &rows[i], rows[i].bad);
        for (size_t k = 0; k < f.findings.count; k++) {
            const struct sbx_finding *finding = &f.findings.items[k];
            size_t len = strlen(finding->text);
            bool upper = finding->text[0] >= 'A' && finding->text[0] <= 'Z';
            CHECK(len > 8 && finding->text[len - 1] != '.' && !upper);
            if (finding->level == SBX_LEVEL_ERROR && finding->hint == NULL) {
                printf("# no remedy: %s\n", finding->text);
                CHECK(finding->hint != NULL);
            }
        }
    }
}

static void every_code_has_a_name_a_level_a_meaning_and_a_test(void)
{
    for (int code = 0; code < SBX_FINDING_CODE_COUNT; code++) {
        CHECK_INT(sbx_finding_row((enum sbx_finding_code)code)->code, code);
        CHECK(sbx_finding_row((enum sbx_finding_code)code)->meaning[0] != '\0');
        const char *name = name_of((enum sbx_finding_code)code);
        CHECK(!sbx_text_eq(name, "unknown") &&
              strspn(name, "abcdefghijklmnopqrstuvwxyz-8") == strlen(name));
        bool tested = code == SBX_F_PATH_NOT_UTF8; /* below: TOML cannot say it */
        for (size_t i = 0; i < SBX_COUNT(rows); i++) {
            tested |= (int)rows[i].code == code;
        }
        for (size_t i = 0; i < SBX_COUNT(elsewhere); i++) {
            tested |= (int)elsewhere[i] == code;
        }
        if (!tested) {
            CHECK_TEXT(name, "a code with a row in this test");
        }
    }
}

static void the_codes_of_the_specification_exist(void)
{
    static const char *const names[] = {
        "path-not-absolute",    "path-empty",      "path-has-control",     "path-forbidden",
        "path-missing",         "path-duplicate",  "path-dotdot",          "unknown-key",
        "wrong-type",           "bad-value",       "out-of-range",         "conflict",
        "raw-args-gate-off",    "raw-args-unsafe", "policy-unsupported",   "backend-missing",
        "platform-unsupported", "user-untrusted",  "host-pattern-invalid", "shared-platform-apex",
    };
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        int value;
        CHECK(sbx_name_value(sbx_finding_code_names, sbx_str(names[i]), &value));
    }
}

static void a_path_that_is_not_utf8_is_found_in_flags(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    static const char *const args[] = {"--read", "/a\xff", "--read", "/\xc3\xa9"};
    fixture_flags(&f, args, 4, &f.document.sandbox);
    fixture_resolve(&f);
    CHECK_INT(fixture_findings(&f, SBX_F_PATH_NOT_UTF8), 1);
    const struct sbx_finding *finding = fixture_finding(&f, SBX_F_PATH_NOT_UTF8);
    CHECK_TEXT(finding->at.source, "--read");
    CHECK_TEXT(finding->key_path, "fs_read_allow[0]");
    CHECK_TEXT(finding->value, "/a\\xff");
}

static void a_file_with_ten_mistakes_gives_all_ten_at_once(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "[sandbox]\n"
                   "profil = \"strict\"\n"
                   "mode = \"read-onyl\"\n"
                   "fs_read_allow = [\"relative\", \"\", \"/a/../b\", \"/ok\"]\n"
                   "fs_write_allow = [\"/proc\"]\n"
                   "max_processes = 0\n"
                   "max_cpu_secs = \"60\"\n"
                   "network = { kind = \"allow_hosts\", hosts = [\"http://a.org\"] }\n"
                   "raw_args = [\"--bind\"]\n");
    static const struct {
        enum sbx_finding_code code;
        unsigned line, column;
    } want[] = {
        {SBX_F_UNKNOWN_KEY, 2, 1},           {SBX_F_BAD_VALUE, 3, 8},
        {SBX_F_PATH_NOT_ABSOLUTE, 4, 18},    {SBX_F_PATH_EMPTY, 4, 30},
        {SBX_F_PATH_DOTDOT, 4, 34},          {SBX_F_PATH_FORBIDDEN, 5, 19},
        {SBX_F_OUT_OF_RANGE, 6, 17},         {SBX_F_WRONG_TYPE, 7, 16},
        {SBX_F_HOST_PATTERN_INVALID, 8, 44}, {SBX_F_RAW_ARGS_GATE_OFF, 9, 13},
        {SBX_F_RAW_ARGS_UNSAFE, 9, 13},
    };
    sbx_findings_sort(&f.findings);
    CHECK_INT(f.findings.errors, SBX_COUNT(want));
    CHECK_INT(f.findings.count, SBX_COUNT(want));
    for (size_t i = 0; i < SBX_COUNT(want) && i < f.findings.count; i++) {
        CHECK_INT(f.findings.items[i].code, want[i].code);
        CHECK_INT(f.findings.items[i].at.place.line, want[i].line);
        CHECK_INT(f.findings.items[i].at.place.column, want[i].column);
    }
    /* The good path among the bad ones was understood. */
    CHECK(fixture_rule(&f, "/ok") != NULL);
}

static const struct sbx_test tests[] = {
    {"each code is found at its place with its key", each_code_is_found_at_its_place_with_its_key},
    {"the nearest good manifest does not have the code",
     the_nearest_good_manifest_does_not_have_the_code},
    {"every message is a sentence with a remedy", every_message_is_a_sentence_with_a_remedy},
    {"every code has a name, a level, a meaning and a test",
     every_code_has_a_name_a_level_a_meaning_and_a_test},
    {"the codes of the specification exist", the_codes_of_the_specification_exist},
    {"a path that is not UTF-8 is found in flags", a_path_that_is_not_utf8_is_found_in_flags},
    {"a file with ten mistakes gives all ten at once",
     a_file_with_ten_mistakes_gives_all_ten_at_once},
};
SBX_TEST_MAIN("validate", tests)
