/* Tests of the plan: its digest, what it shows and what it never shows, tiers and what backends can represent. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/base/utf8.h"
#include "tests/check.h"
#include "tests/unit/policy_fixture.h"

#include "common/base/banned.h"

enum { TEXT_BYTES = 1 << 20 };

static const char *const no_command[] = {NULL};

static void plan_for(struct fixture *f, enum sbx_backend_id backend, const char *const *command)
{
    struct sbx_err err = {0};
    CHECK_CODE(sbx_plan_make(&f->arena, &f->policy, &f->facts, backend, command, &f->plan, &err),
               SBX_OK, &err);
    CHECK(sbx_plan_digest(&f->plan, f->digest));
}

static void print_both(struct fixture *f, struct sbx_buf *text, struct sbx_buf *json)
{
    struct sbx_jsonw writer;
    sbx_buf_init(text, TEXT_BYTES);
    sbx_buf_init(json, TEXT_BYTES);
    sbx_plan_print_text(&f->plan, text);
    sbx_jsonw_init(&writer, json, true);
    sbx_plan_print_json(&f->plan, &writer);
    CHECK(!text->failed && !json->failed);
}

/* ---- the digest ---- */

#define BASE                                                                                       \
    "[sandbox]\nprofile = \"strict\"\nfs_write_allow = [\"/code\"]\nenv = [[\"A\", \"1\"]]\n"

static void digest_of(const char *toml, const char *const *command, char out[SBX_SHA256_HEX])
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    CHECK(fixture_ceiling(&f, "allow_raw_bwrap = true\n"));
    CHECK(fixture_read(&f, toml));
    fixture_resolve(&f);
    if (!CHECK_INT(f.findings.errors, 0)) {
        fixture_print_findings(&f);
    }
    plan_for(&f, SBX_BACKEND_BWRAP, command);
    CHECK_INT(strlen(f.digest), SBX_SHA256_HEX - 1);
    memcpy(out, f.digest, SBX_SHA256_HEX);
}

static const char *const relevant[] = {
    BASE "fs_read_allow = [\"/srv\"]\n",
    BASE "filesystem = { \"/code/x\" = \"read\" }\n",
    BASE "filesystem = { \"/code/x\" = \"none\" }\n",
    BASE "filesystem = { \"/code/*\" = \"none\" }\n",
    BASE "filesystem = { \"/code/*\" = \"read\" }\n",
    BASE "tmpfs = [\"/code/x\"]\n",
    BASE "unix_sockets = [\"/code/x\"]\n",
    BASE "protect = [\"defaults\", \".env\"]\n",
    BASE "protect = []\n",
    BASE "git = \"commit\"\n",
    BASE "network = \"inherit\"\n",
    BASE "network = { kind = \"allow_hosts\" }\n",
    BASE "network = { kind = \"allow_hosts\", hosts = [\"a.org\"] }\n",
    BASE "network = { kind = \"allow_hosts\", hosts = [\"*.a.org\"] }\n",
    BASE "network = { kind = \"allow_hosts\", hosts = [\"a.org:8080\"] }\n",
    BASE "network = { kind = \"allow_hosts\", local = [\"localhost:80\"] }\n",
    BASE "syscall_policy = \"inherit\"\n",
    BASE "timeout = \"31s\"\n",
    BASE "max_memory_bytes = \"1GiB\"\n",
    BASE "max_cpu_secs = 1\n",
    BASE "max_processes = 1\n",
    BASE "max_output_bytes = 1\n",
    BASE "env_pass = [\"B\"]\n",
    BASE "cwd = \"/code\"\n",
    BASE "user = \"nobody\"\n",
    BASE "user = 65534\n",
    BASE "group = \"nobody\"\n",
    BASE "image = \"x\"\n",
    BASE "raw_args = [\"--as-pid-1\"]\n",
    "[sandbox]\nprofile = \"strict\"\nfs_write_allow = [\"/code\"]\nenv = [[\"A\", \"2\"]]\n",
    "[sandbox]\nprofile = \"strict\"\nfs_write_allow = [\"/code\"]\nenv = [[\"AB\", \"1\"]]\n",
    ("[sandbox]\nprofile = \"strict\"\nfs_write_allow = [\"/code\"]\nenv = [[\"A\", \"1\"], "
     "[\"B\", "
     "\"\"]]\n"),
};

static void the_digest_changes_with_everything_that_decides(void)
{
    char digests[SBX_COUNT(relevant) + 1][SBX_SHA256_HEX];
    digest_of(BASE, no_command, digests[SBX_COUNT(relevant)]);
    for (size_t i = 0; i < SBX_COUNT(relevant); i++) {
        digest_of(relevant[i], no_command, digests[i]);
    }
    for (size_t i = 0; i <= SBX_COUNT(relevant); i++) {
        for (size_t k = 0; k < i; k++) {
            if (sbx_text_eq(digests[i], digests[k])) {
                printf("# one digest for:\n# %s# %s\n", relevant[k],
                       i < SBX_COUNT(relevant) ? relevant[i] : BASE);
            }
            CHECK(!sbx_text_eq(digests[i], digests[k]));
        }
    }
}

static void the_digest_changes_with_the_command_byte_by_byte(void)
{
    static const char *const commands[][4] = {
        {NULL},
        {"a", NULL},
        {"b", NULL},
        {"a", "", NULL},
        {"a", "b", NULL},
        {"ab", NULL},
        {"a b", NULL},
        {"a\",\"b", NULL},
        {"\xff", NULL},
        {"\xfe", NULL},
        {"\xef\xbf\xbd", NULL}, /* what a careless encoder makes of both */
        {"\\u001b", NULL},
        {"\x1b", NULL},
    };
    char digests[SBX_COUNT(commands)][SBX_SHA256_HEX];
    for (size_t i = 0; i < SBX_COUNT(commands); i++) {
        digest_of(BASE, commands[i], digests[i]);
        for (size_t k = 0; k < i; k++) {
            CHECK(!sbx_text_eq(digests[i], digests[k]));
        }
    }
}

static void a_digest_that_was_begun_ends_with_any_command(void)
{
    static const char *const commands[][3] = {{NULL}, {"a", NULL}, {"a\",\"b", "\xff", NULL}};
    AUTO_FIXTURE f;
    struct sbx_sha256 begun;
    char ended[SBX_SHA256_HEX];
    fixture_start(&f, SBX_LINUX);
    CHECK(fixture_read(&f, "[sandbox]\nprofile = \"strict\"\n"));
    fixture_resolve(&f);
    plan_for(&f, SBX_BACKEND_NATIVE, commands[0]);
    CHECK(sbx_plan_digest_begin(&f.plan, &begun));
    for (size_t i = 0; i < SBX_COUNT(commands); i++) {
        plan_for(&f, SBX_BACKEND_NATIVE, commands[i]);
        CHECK(sbx_plan_digest_end(&begun, commands[i], ended));
        CHECK_TEXT(ended, f.digest);
    }
}

static void the_digest_does_not_know_where_anything_was_said(void)
{
    static const char *const same[] = {
        BASE,
        "# a comment\n\n\n" BASE,
        "[sandbox]\nenv = [[\"A\", \"1\"], [\"A\", \"2\"]]\nfilesystem = { \"/code/\" = \"write\" "
        "}\n"
        "profile = \"strict\"\n",
        BASE "network = \"deny\"\nsyscall_policy = \"strict\"\ntimeout = \"30s\"\n",
        BASE "require = [\"filesystem\", \"network\"]\n",
        BASE "fs_read_allow = [\"/usr/lib\"]\nfilesystem = { \"/code/sub/\" = \"write\" }\n",
    };
    char first[SBX_SHA256_HEX];
    digest_of(same[0], no_command, first);
    for (size_t i = 1; i < SBX_COUNT(same); i++) {
        char digest[SBX_SHA256_HEX];
        digest_of(same[i], no_command, digest);
        CHECK_TEXT(digest, first);
    }
    /* By flag instead of file. */
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    static const char *const args[] = {"--profile", "strict",    "--write",
                                       "/code",     "--set-env", "A=1"};
    fixture_flags(&f, args, 6, &f.document.sandbox);
    fixture_resolve(&f);
    plan_for(&f, SBX_BACKEND_BWRAP, no_command);
    CHECK_TEXT(f.digest, first);
}

static void the_digest_knows_platform_and_backend(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX, BASE);
    char digests[3][SBX_SHA256_HEX];
    static const enum sbx_backend_id backends[] = {SBX_BACKEND_BWRAP, SBX_BACKEND_NATIVE,
                                                   SBX_BACKEND_NONE};
    for (size_t i = 0; i < 3; i++) {
        plan_for(&f, backends[i], no_command);
        memcpy(digests[i], f.digest, SBX_SHA256_HEX);
        CHECK(i == 0 || !sbx_text_eq(digests[i], digests[i - 1]));
    }
    f.facts.landlock_abi = 0; /* one layer less is another box */
    plan_for(&f, SBX_BACKEND_BWRAP, no_command);
    CHECK(!sbx_text_eq(digests[0], f.digest));
}

/* ---- what is shown ---- */

static void values_of_variables_are_never_shown(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "[sandbox]\nprofile = \"strict\"\nenv = [[\"API_KEY\", \"s3cr3t-value\"], "
                   "[\"API_KEY\", \"s3cr3t-again\"]]\n");
    static const char *const command[] = {"true", NULL};
    plan_for(&f, SBX_BACKEND_BWRAP, command);
    AUTO_BUF text;
    AUTO_BUF json;
    print_both(&f, &text, &json);
    CHECK(strstr(text.data, "API_KEY") != NULL && strstr(json.data, "API_KEY") != NULL);
    CHECK(strstr(text.data, "s3cr3t") == NULL && strstr(json.data, "s3cr3t") == NULL);
    for (size_t i = 0; i < f.findings.count; i++) {
        CHECK(strstr(f.findings.items[i].text, "s3cr3t") == NULL);
        CHECK(f.findings.items[i].value == NULL ||
              strstr(f.findings.items[i].value, "s3cr3t") == NULL);
    }
}

static bool is_safe(const struct sbx_buf *buf)
{
    for (size_t at = 0; at < buf->len;) {
        uint32_t character = 0;
        size_t step = sbx_utf8_decode(buf->data + at, buf->len - at, &character);
        if (step == 0 || (character != '\n' && sbx_utf8_is_unsafe(character))) {
            return false;
        }
        at += step;
    }
    return true;
}

static void nothing_unsafe_reaches_a_terminal_or_breaks_the_json(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    CHECK(fixture_ceiling(&f, "allow_raw_bwrap = true\n"));
    CHECK(fixture_read(&f, "[sandbox]\nprofile = \"strict\"\nfs_write_allow = [\"/a\\u202eb\", "
                           "\"/q\\\"uote\"]\nfilesystem = { \"/a\\u202eb/\\u200b*\" = \"none\" }\n"
                           "protect = [\"defaults\", \"\\u200b\"]\nenv = [[\"\\u202eX\", \"\"]]\n"
                           "env_pass = [\"Y\\u200b\"]\nuser = \"\\u202eroot\"\nimage = "
                           "\"\\u202eimg\"\nraw_args = [\"--hostname\", \"\\u001b[2J\"]\n"));
    fixture_resolve(&f);
    f.document.sandbox.at[SBX_KEY_PROFILE].source = "bad\x1b[31m.toml";
    fixture_resolve(&f);
    CHECK_INT(f.findings.errors, 0);
    static const char *const command[] = {"\x1b]0;x\x07", "\xff\xfe", "\xe2\x80\xae", NULL};
    plan_for(&f, SBX_BACKEND_BWRAP, command);
    AUTO_BUF text;
    AUTO_BUF json;
    print_both(&f, &text, &json);
    CHECK(is_safe(&text));
    CHECK(is_safe(&json));
    json_t *root = json_loadb(json.data, json.len, JSON_REJECT_DUPLICATES, NULL);
    CHECK(root != NULL);
    CHECK_TEXT(json_string_value(json_array_get(json_object_get(root, "command"), 2)),
               "\xe2\x80\xae");
    json_decref(root);
}

static void every_preset_prints_as_valid_json_on_every_platform(void)
{
    for (int platform = 0; platform < SBX_PLATFORM_COUNT; platform++) {
        for (int backend = 0; backend < SBX_BACKEND_COUNT; backend++) {
            AUTO_FIXTURE f;
            fixture_policy(&f, (enum sbx_platform)platform,
                           "[sandbox]\nmode = \"workspace-write\"\n"
                           "max_cpu_secs = 5\n");
            plan_for(&f, (enum sbx_backend_id)backend, no_command);
            AUTO_BUF text;
            AUTO_BUF json;
            print_both(&f, &text, &json);
            json_t *root = json_loadb(json.data, json.len, JSON_REJECT_DUPLICATES, NULL);
            CHECK(root != NULL);
            json_t *tiers = json_object_get(root, "tiers");
            CHECK_INT(json_object_size(tiers), SBX_DIM_COUNT);
            CHECK_TEXT(json_string_value(json_object_get(root, "digest")), f.digest);
            CHECK_TEXT(json_string_value(json_object_get(root, "backend")),
                       sbx_name_text(sbx_backend_names, backend));
            json_decref(root);
        }
    }
}

static void who_and_how_are_part_of_the_plan(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    CHECK(fixture_ceiling(&f, "allow_raw_bwrap = true\n"));
    CHECK(fixture_read(&f, "[sandbox]\nprofile = \"strict\"\nuser = \"nobody\"\ngroup = 12\nimage "
                           "= \"debian:12\"\nraw_args = [\"--hostname\", \"box\"]\n"));
    fixture_resolve(&f);
    plan_for(&f, SBX_BACKEND_BWRAP, no_command);
    AUTO_BUF text;
    AUTO_BUF json;
    print_both(&f, &text, &json);
    CHECK(strstr(text.data, "user      nobody\n") != NULL);
    CHECK(strstr(text.data, "group     12\n") != NULL);
    CHECK(strstr(text.data, "image     debian:12\n") != NULL);
    CHECK(strstr(text.data, "raw args  \"--hostname\"\n") != NULL);
    CHECK(strstr(text.data, "image has no meaning for this backend") != NULL);
    CHECK(strstr(json.data, "\"user\": \"nobody\"") != NULL);
    CHECK(strstr(json.data, "\"group\": 12") != NULL);
}

static void every_part_of_a_policy_is_shown(void)
{
    AUTO_FIXTURE f;
    fixture_policy(
        &f, SBX_LINUX,
        "[sandbox]\nprofile = \"strict\"\nfs_write_allow = [\"/code\"]\nnetwork = { kind = "
        "\"allow_hosts\", hosts = [\"b.org\", \"a.org:8443\"], local = [\"localhost:80\"] }\n"
        "syscall_policy = \"inherit\"\ntimeout = \"90s\"\nmax_memory_bytes = \"1GiB\"\n"
        "max_cpu_secs = 7\nmax_processes = 9\nmax_output_bytes = \"3MiB\"\nenv = [[\"A\", "
        "\"x\"]]\nenv_pass = [\"PATH\"]\n");
    static const char *const command[] = {"true", "--flag", NULL};
    plan_for(&f, SBX_BACKEND_BWRAP, command);
    AUTO_BUF text;
    AUTO_BUF json;
    print_both(&f, &text, &json);
    static const char *const lines[] = {
        "overrides network: allow_hosts instead of deny  sbx.toml:4\n",
        "          syscall_policy: inherit instead of strict  sbx.toml:5\n",
        "          write  /code                                          sbx.toml:3\n",
        "protected read   /code/**: ",
        "network   allow_hosts: a.org:8443 b.org; local: localhost:80\n",
        "limits    time 90s | memory 1GiB | cpu 7s | processes 9 | output 3MiB\n",
        "env       A PATH(passed) (host environment dropped)\n",
    };
    for (size_t i = 0; i < SBX_COUNT(lines); i++) {
        if (strstr(text.data, lines[i]) == NULL) {
            printf("# not in the plan: %s", lines[i]);
        }
        CHECK(strstr(text.data, lines[i]) != NULL);
    }
    json_t *root = json_loadb(json.data, json.len, JSON_REJECT_DUPLICATES, NULL);
    CHECK(root != NULL);
    CHECK_INT(json_array_size(json_object_get(root, "overrides")), 2);
    CHECK_INT(json_array_size(json_object_get(root, "command")), 2);
    json_t *limits = json_object_get(root, "limits");
    CHECK_INT(json_integer_value(json_object_get(limits, "timeout_ms")), 90000);
    CHECK_INT(json_integer_value(json_object_get(limits, "cpu_secs")), 7);
    json_t *network = json_object_get(root, "network");
    CHECK_TEXT(json_string_value(json_array_get(json_object_get(network, "hosts"), 0)),
               "a.org:8443");
    json_decref(root);
}

static void an_empty_list_of_hosts_is_said_to_allow_nothing(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "[sandbox]\nprofile = \"strict\"\nnetwork = { kind = \"allow_hosts\" }\n");
    fixture_plan(&f);
    AUTO_BUF text;
    AUTO_BUF json;
    print_both(&f, &text, &json);
    CHECK(strstr(text.data, "an empty list allows nothing") != NULL);
}

/* ---- tiers ---- */

static void every_tier_has_a_mechanism_and_what_is_less_has_a_reason(void)
{
    for (int platform = 0; platform < SBX_PLATFORM_COUNT; platform++) {
        for (int variant = 0; variant < 16; variant++) {
            AUTO_FIXTURE f;
            fixture_policy(&f, (enum sbx_platform)platform,
                           variant & 1 ? "[sandbox]\nprofile = \"strict\"\nmax_memory_bytes = "
                                         "\"1GiB\"\nmax_cpu_secs = 1\nmax_processes = 2\n"
                                       : "[sandbox]\nprofile = \"service\"\n");
            f.facts.cgroup = variant & 2 ? SBX_CGROUP_NONE : SBX_CGROUP_V1;
            f.facts.has_seccomp = (variant & 4) != 0;
            f.facts.landlock_abi = variant & 8 ? 3 : 0;
            f.facts.is_root = (variant & 2) != 0;
            for (int backend = 0; backend < SBX_BACKEND_COUNT; backend++) {
                struct sbx_tier_entry tiers[SBX_DIM_COUNT];
                sbx_backend_tiers((enum sbx_backend_id)backend, &f.policy, &f.facts, tiers);
                for (int i = 0; i < SBX_DIM_COUNT; i++) {
                    CHECK(tiers[i].mechanism != NULL);
                    CHECK(tiers[i].tier == SBX_TIER_ENFORCED || tiers[i].reason != NULL);
                    CHECK((tiers[i].tier == SBX_TIER_NONE) == sbx_text_eq(tiers[i].mechanism, "-"));
                }
                bool none = backend == SBX_BACKEND_NONE;
                CHECK(!none || tiers[SBX_DIM_FILESYSTEM].tier == SBX_TIER_NONE);
                CHECK(!none || tiers[SBX_DIM_NETWORK].tier == SBX_TIER_NONE);
                CHECK_INT(tiers[SBX_DIM_ENVIRONMENT].tier, SBX_TIER_ENFORCED);
            }
        }
    }
}

static void rlimits_alone_are_never_called_enforced(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "[sandbox]\nmax_memory_bytes = \"1GiB\"\nmax_cpu_secs = 1\n"
                   "max_processes = 2\n");
    for (int cgroup = SBX_CGROUP_NONE; cgroup <= SBX_CGROUP_V2; cgroup++) {
        f.facts.cgroup = (enum sbx_cgroup_version)cgroup;
        struct sbx_tier_entry tiers[SBX_DIM_COUNT];
        sbx_backend_tiers(SBX_BACKEND_BWRAP, &f.policy, &f.facts, tiers);
        enum sbx_tier want = cgroup == SBX_CGROUP_NONE ? SBX_TIER_BEST_EFFORT : SBX_TIER_ENFORCED;
        CHECK_INT(tiers[SBX_DIM_MEMORY].tier, want);
        CHECK_INT(tiers[SBX_DIM_CPU].tier, want);
        CHECK_INT(tiers[SBX_DIM_PROCESSES].tier, want);
    }
}

/* ---- what backends can represent ---- */

static void a_shape_a_backend_cannot_represent_is_named(void)
{
    static const struct {
        enum sbx_backend_id backend;
        const char *manifest, *said; /* NULL: accepted */
    } rows[] = {
        {SBX_BACKEND_LANDLOCK, "profile = \"strict\"", NULL},
        {SBX_BACKEND_LANDLOCK, "fs_write_allow = [\"/c\"]\nprotect = []", NULL},
        {SBX_BACKEND_LANDLOCK, "fs_write_allow = [\"/c\"]", "protected names"},
        {SBX_BACKEND_LANDLOCK,
         "protect = []\nfilesystem = { \"/c\" = \"write\", \"/c/x\" = \"read\" }", "\"/c/x\""},
        {SBX_BACKEND_LANDLOCK,
         "protect = []\nfilesystem = { \"/c\" = \"write\", \"/c/x\" = \"none\" }", "\"/c/x\""},
        {SBX_BACKEND_LANDLOCK,
         "protect = []\nfilesystem = { \"/c\" = \"write\", \"/c/*.key\" = \"read\" }",
         "\"/c/*.key\""},
        {SBX_BACKEND_LANDLOCK,
         "protect = []\nfilesystem = { \"/c/d\" = \"write\", \"/c/*\" = \"none\" }", "\"/c/*\""},
        {SBX_BACKEND_LANDLOCK, "tmpfs = [\"/x\"]", "\"/x\" = \"tmpfs\""},
        {SBX_BACKEND_LANDLOCK, "unix_sockets = [\"/x\"]", "\"/x\" = \"socket\""},
        {SBX_BACKEND_DOCKER, "fs_write_allow = [\"/c\"]", "protected names"},
        {SBX_BACKEND_DOCKER, "filesystem = { \"/c\" = \"read\", \"/c/**/k\" = \"none\" }",
         "\"/c/**/k\""},
        {SBX_BACKEND_BWRAP,
         "user = \"x\"\ntmpfs = [\"/x\"]\nunix_sockets = [\"/y\"]\nfilesystem = { \"/c\" = "
         "\"write\", \"/c/**/k\" = \"none\" }",
         NULL},
        {SBX_BACKEND_NATIVE, "network = { kind = \"allow_hosts\" }", "egress gate"},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        CHECK(fixture_read(&f, sbx_arena_printf(&f.arena, "[sandbox]\n%s\n", rows[i].manifest)));
        fixture_resolve(&f);
        CHECK_INT(f.findings.errors, 0);
        bool accepted = sbx_backend_accepts(rows[i].backend, &f.policy, &f.facts, &f.findings);
        const struct sbx_finding *finding = fixture_finding(&f, SBX_F_POLICY_UNSUPPORTED);
        if (accepted != (rows[i].said == NULL)) {
            printf("# %s\n", rows[i].manifest);
        }
        CHECK(accepted == (rows[i].said == NULL));
        CHECK(accepted == (finding == NULL));
        CHECK(finding == NULL || rows[i].said == NULL || strstr(finding->text, rows[i].said));
        CHECK(sbx_backend_accepts(rows[i].backend, &f.policy, &f.facts, NULL) == accepted);
    }
}

static const struct sbx_test tests[] = {
    {"the digest changes with everything that decides",
     the_digest_changes_with_everything_that_decides},
    {"the digest changes with the command, byte by byte",
     the_digest_changes_with_the_command_byte_by_byte},
    {"a digest that was begun ends with any command",
     a_digest_that_was_begun_ends_with_any_command},
    {"the digest does not know where anything was said",
     the_digest_does_not_know_where_anything_was_said},
    {"the digest knows platform and backend", the_digest_knows_platform_and_backend},
    {"values of variables are never shown", values_of_variables_are_never_shown},
    {"nothing unsafe reaches a terminal or breaks the JSON",
     nothing_unsafe_reaches_a_terminal_or_breaks_the_json},
    {"every preset prints as valid JSON on every platform",
     every_preset_prints_as_valid_json_on_every_platform},
    {"who and how are part of the plan", who_and_how_are_part_of_the_plan},
    {"every part of a policy is shown", every_part_of_a_policy_is_shown},
    {"an empty list of hosts is said to allow nothing",
     an_empty_list_of_hosts_is_said_to_allow_nothing},
    {"every tier has a mechanism, and what is less has a reason",
     every_tier_has_a_mechanism_and_what_is_less_has_a_reason},
    {"rlimits alone are never called enforced", rlimits_alone_are_never_called_enforced},
    {"a shape a backend cannot represent is named", a_shape_a_backend_cannot_represent_is_named},
};
SBX_TEST_MAIN("plan", tests)
