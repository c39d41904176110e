/* Tests of the administrator's ceiling: reading policy.toml, and what it bounds. */
#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/policy_fixture.h"

#include "common/base/banned.h"

static void under(struct fixture *f, enum sbx_platform platform, const char *ceiling,
                  const char *manifest)
{
    fixture_start(f, platform);
    if (fixture_ceiling(f, ceiling) && fixture_read(f, manifest)) {
        fixture_resolve(f);
    }
}

/* ---- reading ---- */

static void without_a_file_nothing_is_bounded_and_nothing_special_allowed(void)
{
    struct sbx_ceiling ceiling;
    sbx_ceiling_init(&ceiling);
    CHECK(!ceiling.is_present && !ceiling.allow_raw_bwrap && ceiling.allow_none);
    CHECK(!ceiling.has_backend && ceiling.max_network == SBX_NET_INHERIT);
    CHECK_INT(ceiling.sessions.count, 0);
    CHECK_INT(ceiling.forbid_paths.count, 0);
}

static void every_key_is_read(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    CHECK(fixture_ceiling(&f, "backend = \"bwrap\"\nforbid_paths = [\"/a\"]\nmax_network = "
                              "\"allow_hosts\"\nmax_timeout = \"10m\"\nmax_memory_bytes = "
                              "\"4GiB\"\nmax_cpu_secs = 600\nmax_processes = 256\n"
                              "max_output_bytes = \"64MiB\"\nsessions = [\"alice\"]\n"
                              "allow_raw_bwrap = true\nallow_none = false\n"));
    CHECK_INT(f.findings.count, 0);
    CHECK(f.ceiling.is_present && f.ceiling.has_backend && f.ceiling.backend == SBX_BACKEND_BWRAP);
    CHECK_INT(f.ceiling.max_network, SBX_NET_ALLOW_HOSTS);
    CHECK_U64(f.ceiling.max_timeout_ns, UINT64_C(600000000000));
    CHECK_U64(f.ceiling.max_memory_bytes, UINT64_C(4) << 30);
    CHECK_U64(f.ceiling.max_cpu_secs, 600);
    CHECK_U64(f.ceiling.max_processes, 256);
    CHECK_U64(f.ceiling.max_output_bytes, UINT64_C(64) << 20);
    CHECK_STR(f.ceiling.sessions.items[0].text, "alice");
    CHECK(f.ceiling.allow_raw_bwrap && !f.ceiling.allow_none);
    size_t rows = 0;
    struct sbx_ceiling_row row;
    while (sbx_ceiling_row_at(rows, &row)) {
        CHECK(row.name != NULL && row.type != NULL && row.help != NULL);
        rows++;
    }
    CHECK_INT(rows, 11);
}

static void what_is_wrong_in_the_file_is_found_and_stops_everything(void)
{
    static const struct {
        const char *text;
        enum sbx_finding_code code;
    } bad[] = {
        {"backend = \"bwarp\"\n", SBX_F_BAD_VALUE},
        {"backend = 5\n", SBX_F_WRONG_TYPE},
        {"forbid_paths = \"/a\"\n", SBX_F_WRONG_TYPE},
        {"forbid_paths = [\"/srv/*\"]\n", SBX_F_BAD_VALUE},
        {"forbid_paths = [\"/srv/?\"]\n", SBX_F_BAD_VALUE},
        {"max_network = \"some\"\n", SBX_F_BAD_VALUE},
        {"max_timeout = \"forever\"\n", SBX_F_BAD_VALUE},
        {"max_memory_bytes = -1\n", SBX_F_OUT_OF_RANGE},
        {"max_processes = 0\n", SBX_F_OUT_OF_RANGE},
        {"allow_none = \"no\"\n", SBX_F_WRONG_TYPE},
        {"allow_none = 0\n", SBX_F_WRONG_TYPE},
        {"allow_raw_bwrap = 1\n", SBX_F_WRONG_TYPE},
        {"alow_none = false\n", SBX_F_UNKNOWN_KEY},
        {"[sandbox]\n", SBX_F_UNKNOWN_KEY},
        {"sessions = [1]\n", SBX_F_WRONG_TYPE},
    };
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        CHECK(fixture_ceiling(&f, bad[i].text));
        CHECK_INT(f.findings.count, 1);
        CHECK_INT(f.findings.items[0].code, bad[i].code);
        CHECK(!sbx_findings_ok(&f.findings) && !f.ceiling.has_backend);
        CHECK_TEXT(f.findings.items[0].at.source, "policy.toml");
        CHECK_INT(f.findings.items[0].at.place.line, 1);
    }
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    struct sbx_value text = {.type = SBX_VALUE_STRING, .string = sbx_str("x")};
    sbx_ceiling_read(&f.arena, "policy.toml", &text, &f.findings, &f.ceiling);
    CHECK_INT(fixture_findings(&f, SBX_F_WRONG_TYPE), 1);
}

static void a_forbidden_path_that_is_no_path_stops_every_run(void)
{
    static const char *const bad[] = {"forbid_paths = [\"srv\"]\n",
                                      "forbid_paths = [\"/a/../b\"]\n", "forbid_paths = [\"\"]\n",
                                      "forbid_paths = [\":nowhere\"]\n"};
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        AUTO_FIXTURE f;
        under(&f, SBX_LINUX, bad[i], "[sandbox]\nprofile = \"strict\"\n");
        CHECK(!sbx_findings_ok(&f.findings));
    }
}

/* ---- forbidden paths ---- */

static void a_forbidden_path_is_closed_below_any_grant(void)
{
    AUTO_FIXTURE f;
    under(&f, SBX_LINUX, "forbid_paths = [\"/srv/secret/\", \"/usr/local\"]\n",
          "[sandbox]\nfilesystem = { \":root\" = \"read\", \"/srv\" = \"write\" }\n");
    CHECK_INT(f.findings.errors, 0);
    CHECK_INT(fixture_access(&f, "/srv/x"), SBX_ACCESS_WRITE);
    CHECK_INT(fixture_access(&f, "/srv/secret"), SBX_ACCESS_NONE);
    CHECK_INT(fixture_access(&f, "/srv/secret/a/b"), SBX_ACCESS_NONE);
    CHECK_INT(fixture_access(&f, "/srv/secrets"), SBX_ACCESS_WRITE);
    CHECK_INT(fixture_access(&f, "/usr/local/bin/x"), SBX_ACCESS_NONE);
}

static void no_way_of_writing_it_opens_a_forbidden_path(void)
{
    static const char *const tries[] = {
        "fs_read_allow = [\"/srv/secret\"]",
        "fs_write_allow = [\"/srv/secret/sub\"]",
        "filesystem = { \"/srv/secret/a/b\" = \"read\" }",
        "filesystem = { \"//srv//secret/./a\" = \"write\" }",
        "filesystem = { \"/srv/secret/*\" = \"read\" }",
        "filesystem = { \"/srv/secret/**\" = \"read\" }",
        "filesystem = { \"/srv/*/key\" = \"read\" }",
        "filesystem = { \"/srv/s*\" = \"read\" }",
        "filesystem = { \"/srv/**/key\" = \"read\", \"/srv\" = \"write\" }",
        "filesystem = { \"/**/key\" = \"read\", \":root\" = \"read\" }",
        "unix_sockets = [\"/srv/secret/key\"]",
        "tmpfs = [\"/srv/secret/key\"]",
        "mode = \"workspace-write\"\nfs_write_allow = [\"/srv\"]",
        "cwd = \"/srv/secret\"\nfs_read_allow = [\"/srv\"]",
    };
    for (size_t i = 0; i < SBX_COUNT(tries); i++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        f.context.cwd = fixture_path(&f, "/srv/secret");
        CHECK(fixture_ceiling(&f, "forbid_paths = [\"/srv/secret\"]\n"));
        CHECK(fixture_read(&f, sbx_arena_printf(&f.arena, "[sandbox]\n%s\n", tries[i])));
        fixture_resolve(&f);
        bool open = fixture_access(&f, "/srv/secret/key") != SBX_ACCESS_NONE ||
                    fixture_access(&f, "/srv/secret/a/b") != SBX_ACCESS_NONE ||
                    fixture_access(&f, "/srv/secret") != SBX_ACCESS_NONE;
        if (open) {
            printf("# opened by: %s\n", tries[i]);
        }
        CHECK(!open);
    }
}

static void a_forbidden_path_holds_in_every_spelling_of_the_system(void)
{
    static const struct {
        enum sbx_platform platform;
        const char *forbidden, *asked, *probe;
    } rows[] = {
        {SBX_MACOS, "/etc/secret", "/private/etc/secret/x", "/private/etc/secret/x"},
        {SBX_MACOS, "/private/var/db", "//var/db/x", "/private/var/db/x"},
        {SBX_MACOS, "/Users/a", "/users/A/x", "/Users/a/x"},
        {SBX_WINDOWS, "C:\\Secret", "c:/SECRET/x", "C:\\secret\\X"},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        AUTO_FIXTURE f;
        fixture_start(&f, rows[i].platform);
        CHECK(fixture_ceiling(
            &f, sbx_arena_printf(&f.arena, "forbid_paths = ['%s']\n", rows[i].forbidden)));
        CHECK(fixture_read(&f, sbx_arena_printf(&f.arena,
                                                "[sandbox]\nfilesystem = { '%s' = \"read\" }\n",
                                                rows[i].asked)));
        fixture_resolve(&f);
        CHECK_INT(fixture_findings(&f, SBX_F_CEILING_EXCEEDED), 1);
        CHECK_INT(fixture_access(&f, rows[i].probe), SBX_ACCESS_NONE);
    }
}

/* ---- network and limits ---- */

static void the_network_is_bounded(void)
{
    static const struct {
        const char *max, *asked;
        bool refused;
        enum sbx_net_kind kind;
    } rows[] = {
        {"deny", "network = \"inherit\"", true, SBX_NET_INHERIT},
        {"deny", "network = { kind = \"allow_hosts\" }", true, SBX_NET_ALLOW_HOSTS},
        {"deny", "network = \"deny\"", false, SBX_NET_DENY},
        {"deny", "profile = \"service\"", false, SBX_NET_DENY},
        {"allow_hosts", "network = \"inherit\"", true, SBX_NET_INHERIT},
        {"allow_hosts", "network = { kind = \"allow_hosts\" }", false, SBX_NET_ALLOW_HOSTS},
        {"allow_hosts", "profile = \"service\"", false, SBX_NET_ALLOW_HOSTS},
        {"allow_hosts", "profile = \"strict\"", false, SBX_NET_DENY},
        {"inherit", "network = \"inherit\"", false, SBX_NET_INHERIT},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        CHECK(
            fixture_ceiling(&f, sbx_arena_printf(&f.arena, "max_network = \"%s\"\n", rows[i].max)));
        CHECK(fixture_read(&f, sbx_arena_printf(&f.arena, "[sandbox]\n%s\n", rows[i].asked)));
        fixture_resolve(&f);
        CHECK_INT(fixture_findings(&f, SBX_F_CEILING_EXCEEDED), rows[i].refused);
        CHECK(rows[i].refused || f.policy.network == rows[i].kind);
    }
}

static void every_limit_is_bounded_and_set_where_none_was_asked(void)
{
    static const char ceiling[] = "max_timeout = \"10s\"\nmax_memory_bytes = \"1GiB\"\n"
                                  "max_cpu_secs = 5\nmax_processes = 7\nmax_output_bytes = 9\n";
    AUTO_FIXTURE f;
    under(&f, SBX_LINUX, ceiling,
          "[sandbox]\ntimeout = \"11s\"\nmax_memory_bytes = \"2GiB\"\nmax_cpu_secs = 6\n"
          "max_processes = 8\nmax_output_bytes = 10\n");
    CHECK_INT(fixture_findings(&f, SBX_F_CEILING_EXCEEDED), 5);
    AUTO_FIXTURE at;
    under(&at, SBX_LINUX, ceiling,
          "[sandbox]\ntimeout = \"10s\"\nmax_memory_bytes = \"1GiB\"\nmax_cpu_secs = 5\n"
          "max_processes = 7\nmax_output_bytes = 9\n");
    CHECK_INT(at.findings.errors, 0);
    AUTO_FIXTURE silent;
    under(&silent, SBX_LINUX, ceiling, "[sandbox]\nprofile = \"service\"\n");
    CHECK_INT(silent.findings.errors, 0);
    CHECK_U64(silent.policy.limits.memory_bytes, UINT64_C(1) << 30);
    CHECK_U64(silent.policy.limits.cpu_secs, 5);
    CHECK_U64(silent.policy.limits.processes, 7); /* below the profile's 64 */
    CHECK_U64(silent.policy.limits.output_bytes, 9);
    fixture_plan(&silent);
    CHECK_U64(silent.plan.timeout_ns, UINT64_C(10000000000));
}

static void a_generous_ceiling_does_not_loosen_the_default_timeout(void)
{
    static const enum sbx_platform platforms[] = {SBX_LINUX, SBX_MACOS, SBX_WINDOWS};
    static const uint64_t seconds[] = {30, 30, 60};
    for (size_t i = 0; i < SBX_COUNT(platforms); i++) {
        AUTO_FIXTURE f;
        under(&f, platforms[i], "max_timeout = \"10m\"\n", "[sandbox]\nprofile = \"strict\"\n");
        fixture_plan(&f);
        CHECK_U64(f.plan.timeout_ns, seconds[i] * UINT64_C(1000000000));
        CHECK(f.plan.timeout_is_default);
    }
}

static const struct sbx_test tests[] = {
    {"without a file nothing is bounded and nothing special allowed",
     without_a_file_nothing_is_bounded_and_nothing_special_allowed},
    {"every key is read", every_key_is_read},
    {"what is wrong in the file is found and stops everything",
     what_is_wrong_in_the_file_is_found_and_stops_everything},
    {"a forbidden path that is no path stops every run",
     a_forbidden_path_that_is_no_path_stops_every_run},
    {"a forbidden path is closed below any grant", a_forbidden_path_is_closed_below_any_grant},
    {"no way of writing it opens a forbidden path", no_way_of_writing_it_opens_a_forbidden_path},
    {"a forbidden path holds in every spelling of the system",
     a_forbidden_path_holds_in_every_spelling_of_the_system},
    {"the network is bounded", the_network_is_bounded},
    {"every limit is bounded, and set where none was asked",
     every_limit_is_bounded_and_set_where_none_was_asked},
    {"a generous ceiling does not loosen the default timeout",
     a_generous_ceiling_does_not_loosen_the_default_timeout},
};
SBX_TEST_MAIN("ceiling", tests)
