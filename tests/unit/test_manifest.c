/* Tests of common/policy/manifest: the key table, each kind of value in its three spellings, merging. */
#include <ctype.h>
#include <string.h>

#include "common/policy/manifest_kind.h"
#include "common/policy/toml.h"
#include "common/policy/value_print.h"
#include "tests/check.h"
#include "tests/unit/policy_fixture.h"

#include "common/base/banned.h"

/* ---- the table ---- */

static void every_row_of_the_key_table_is_complete(void)
{
    for (size_t i = 0; i < SBX_KEY_COUNT; i++) {
        const struct sbx_key_row *row = &sbx_key_rows[i];
        CHECK_INT(row->key, i);
        CHECK(row->kind < SBX_KIND_COUNT && row->platforms != 0 && row->min <= row->max);
        CHECK(row->flag != NULL && row->meta != NULL && row->example != NULL);
        CHECK(row->default_text != NULL && row->default_text[0] != '\0');
        size_t len = strlen(row->help);
        CHECK(len > 0 && row->help[len - 1] != '.' && !isupper((unsigned char)row->help[0]));
        const struct sbx_kind *kind = sbx_kind_of(row->kind);
        CHECK(kind->from_value != NULL && kind->from_flag != NULL && kind->to_value != NULL);
        CHECK(kind->to_flags != NULL && kind->type_text != NULL);
        CHECK(row->offset + kind->size <= sizeof(struct sbx_manifest));
        CHECK(sbx_key_find(sbx_str(row->name)) == row);
        CHECK_TEXT(sbx_key_name_at(NULL, i), row->name);
    }
    CHECK(sbx_key_name_at(NULL, SBX_KEY_COUNT) == NULL);
    CHECK(sbx_key_find(sbx_str("")) == NULL && sbx_key_find(sbx_str("Profile")) == NULL);
}

static void keys_flags_and_fields_are_unique(void)
{
    for (size_t i = 0; i < SBX_KEY_COUNT; i++) {
        const struct sbx_key_row *a = &sbx_key_rows[i];
        for (size_t k = i + 1; k < SBX_KEY_COUNT; k++) {
            const struct sbx_key_row *b = &sbx_key_rows[k];
            CHECK(!sbx_text_eq(a->name, b->name) && !sbx_text_eq(a->flag, b->flag));
            CHECK(a->short_flag == 0 || a->short_flag != b->short_flag);
            size_t a_end = a->offset + sbx_kind_of(a->kind)->size;
            size_t b_end = b->offset + sbx_kind_of(b->kind)->size;
            CHECK(a_end <= b->offset || b_end <= a->offset);
        }
        for (const struct sbx_flag_alias *alias = sbx_flag_aliases; alias->flag != NULL; alias++) {
            CHECK(!sbx_text_eq(a->flag, alias->flag));
            CHECK(alias->short_flag == 0 || alias->short_flag != a->short_flag);
        }
    }
}

static void every_example_of_the_key_table_is_accepted(void)
{
    for (size_t i = 0; i < SBX_KEY_COUNT; i++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        const char *toml = sbx_arena_printf(&f.arena, "[sandbox]\n%s = %s\n", sbx_key_rows[i].name,
                                            sbx_key_rows[i].example);
        CHECK(fixture_read(&f, toml));
        CHECK_INT(f.findings.count, 0);
        CHECK_U64(f.document.sandbox.set, UINT64_C(1) << i);
    }
}

/* ---- the three spellings ---- */

struct spelling {
    const char *toml, *json;
    const char *flags[8]; /* pairs */
};

static const struct spelling spellings[] = {
    {"profile = \"strict\"", "\"profile\": \"strict\"", {"--profile", "strict"}},
    {"mode = \"read-only\"", "\"mode\": \"read-only\"", {"--mode", "read-only"}},
    {"fs_read_allow = [\"/a\", \"/b c\"]",
     "\"fs_read_allow\": [\"/a\", \"/b c\"]",
     {"--read", "/a", "--read", "/b c"}},
    {"fs_write_allow = [\":cwd/out\"]",
     "\"fs_write_allow\": [\":cwd/out\"]",
     {"--write", ":cwd/out"}},
    {"filesystem = { \"/a=b\" = \"write\", \":root\" = \"read\", '/x' = \"none\" }",
     "\"filesystem\": {\"/a=b\": \"write\", \":root\": \"read\", \"/x\": \"none\"}",
     {"--fs", "/a=b=write", "--fs", ":root=read", "--deny", "/x"}},
    {"tmpfs = [\"/var/cache\"]", "\"tmpfs\": [\"/var/cache\"]", {"--tmpfs", "/var/cache"}},
    {"protect = [\"defaults\", \".env\"]",
     "\"protect\": [\"defaults\", \".env\"]",
     {"--protect", ".env"}},
    {"protect = []", "\"protect\": []", {"--protect", "none"}},
    {"protect = \"defaults\"", "\"protect\": \"defaults\"", {"--protect", "defaults"}},
    {"protect = [\".env\"]", "\"protect\": [\".env\"]", {"--protect", "none", "--protect", ".env"}},
    {"git = \"commit\"", "\"git\": \"commit\"", {"--git", "commit"}},
    {"unix_sockets = [\"/run/x\"]", "\"unix_sockets\": [\"/run/x\"]", {"--unix-socket", "/run/x"}},
    {"network = \"deny\"", "\"network\": {\"kind\": \"deny\"}", {"--net", "deny"}},
    {"network = { kind = \"inherit\" }", "\"network\": \"inherit\"", {"--net", "inherit"}},
    {"network = { kind = \"allow_hosts\", hosts = [\"a.org\", \"b.org\"], local = "
     "[\"localhost:80\"] }",
     "\"network\": {\"kind\": \"allow_hosts\", \"hosts\": [\"a.org\", \"b.org\"], \"local\": "
     "[\"localhost:80\"]}",
     {"--net", "a.org,b.org", "--local", "localhost:80"}},
    {"network = { kind = \"allow_hosts\" }",
     "\"network\": {\"kind\": \"allow_hosts\", \"hosts\": []}",
     {"--net", "allow_hosts"}},
    {"syscall_policy = \"strict\"", "\"syscall_policy\": \"strict\"", {"--syscalls", "strict"}},
    {"timeout = { secs = 90 }", "\"timeout\": \"1m30s\"", {"--timeout", "90"}},
    {"timeout = { secs = 1, nanos = 500 }",
     "\"timeout\": {\"nanos\": 500, \"secs\": 1}",
     {"--timeout", "1s500ns"}},
    {"max_memory_bytes = \"256MiB\"", "\"max_memory_bytes\": 268435456", {"--memory", "256M"}},
    {"max_cpu_secs = 60", "\"max_cpu_secs\": 60", {"--cpu", "60"}},
    {"max_processes = 64", "\"max_processes\": 64", {"--procs", "64"}},
    {"max_output_bytes = 10", "\"max_output_bytes\": \"10B\"", {"--max-output", "10"}},
    {"env = [[\"A\", \"x=y\"], [\"B\", \"\"]]",
     "\"env\": [[\"A\", \"x=y\"], [\"B\", \"\"]]",
     {"--set-env", "A=x=y", "--set-env", "B="}},
    {"env_pass = [\"PATH\"]", "\"env_pass\": [\"PATH\"]", {"--pass-env", "PATH"}},
    {"cwd = \"/code\"", "\"cwd\": \"/code\"", {"--cwd", "/code"}},
    {"user = \"nobody\"", "\"user\": \"nobody\"", {"--user", "nobody"}},
    {"user = 0", "\"user\": \"0\"", {"--user", "0"}},
    {"group = \"1000\"", "\"group\": 1000", {"--group", "1000"}},
    {"image = \"debian:12\"", "\"image\": \"debian:12\"", {"--image", "debian:12"}},
    {"raw_args = [\"--hostname\", \"box\"]",
     "\"raw_args\": [\"--hostname\", \"box\"]",
     {"--raw-arg", "--hostname", "--raw-arg", "box"}},
    {"require = [\"memory\", \"network\", \"filesystem\"]",
     "\"require\": [\"filesystem\", \"network\", \"memory\", \"memory\"]",
     {"--require", "memory"}},
    {"require = []", "\"require\": []", {"--require", "none"}},
    {"require = [\"cpu\", \"syscalls\"]",
     "\"require\": [\"syscalls\", \"cpu\"]",
     {"--require", "none", "--require", "syscalls,cpu"}},
};

static size_t flag_count(const struct spelling *row)
{
    size_t count = 0;
    while (count < SBX_COUNT(row->flags) && row->flags[count] != NULL) {
        count++;
    }
    return count;
}

static void toml_json_and_flags_give_the_same_manifest(void)
{
    uint32_t seen = 0;
    for (size_t i = 0; i < SBX_COUNT(spellings); i++) {
        const struct spelling *row = &spellings[i];
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        CHECK(fixture_read(&f, sbx_arena_printf(&f.arena, "[sandbox]\n%s\n", row->toml)));
        struct sbx_manifest toml = f.document.sandbox;
        CHECK(fixture_read_json(&f, sbx_arena_printf(&f.arena, "{\"sandbox\": {%s}}", row->json)));
        struct sbx_manifest json = f.document.sandbox;
        struct sbx_manifest flags = {0};
        fixture_flags(&f, row->flags, flag_count(row), &flags);
        CHECK_INT(f.findings.count, 0);
        struct sbx_manifest empty = {0};
        bool same = sbx_manifest_equal(&toml, &json) && sbx_manifest_equal(&toml, &flags);
        if (!same || sbx_manifest_equal(&toml, &empty)) {
            CHECK_TEXT(row->toml, "the same in three spellings, and not nothing");
        }
        CHECK_U64(toml.set, json.set);
        CHECK_U64(toml.set, flags.set);
        seen |= toml.set;
    }
    CHECK_U64(seen, (UINT64_C(1) << SBX_KEY_COUNT) - 1);
}

static void a_value_tree_is_read_without_any_text(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    struct sbx_value path = {.type = SBX_VALUE_STRING, .string = sbx_str("/data")};
    struct sbx_value list = {.type = SBX_VALUE_ARRAY};
    list.array.items = &path;
    list.array.count = 1;
    struct sbx_member members[] = {{.key = sbx_str("fs_read_allow"), .value = list}};
    struct sbx_value table = {.type = SBX_VALUE_TABLE};
    table.table.members = members;
    table.table.count = 1;
    struct sbx_manifest manifest;
    sbx_manifest_read(&f.arena, "wire", &table, &f.findings, &manifest);
    CHECK_INT(f.findings.count, 0);
    CHECK_INT(manifest.fs_read_allow.count, 1);
    CHECK_STR(manifest.fs_read_allow.items[0].text, "/data");
    CHECK_TEXT(manifest.fs_read_allow.items[0].at.source, "wire");
    /* What is copied does not die with the document. */
    CHECK(manifest.fs_read_allow.items[0].text.ptr != path.string.ptr);
}

static void a_value_tree_prints_as_toml_and_json(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    static const char toml[] = "a = 1\nb = -2.5\nc = 1.0\nd = true\ne = [\"x\\\"\\u001f\", []]\n"
                               "\"k k\" = { x = {}, y = inf, z = 1e22 }\n";
    struct sbx_value root;
    struct sbx_value again;
    CHECK_CODE(sbx_toml_read(&f.arena, "x", sbx_str(toml), NULL, &root, NULL, NULL), SBX_OK, NULL);
    AUTO_BUF text;
    sbx_buf_init(&text, 4096);
    sbx_buf_add_text(&text, "v = ");
    sbx_value_print_toml(&root, &text);
    CHECK_CODE(sbx_toml_read(&f.arena, "y", sbx_buf_str(&text), NULL, &again, NULL, NULL), SBX_OK,
               NULL);
    CHECK(sbx_value_equal(&root, sbx_value_get(&again, "v")));
    CHECK(sbx_value_get(&again, "w") == NULL && sbx_value_get(NULL, "v") == NULL);
    CHECK(sbx_value_get(sbx_value_get(&root, "a"), "v") == NULL);
    CHECK(!sbx_value_equal(sbx_value_get(&root, "a"), sbx_value_get(&root, "c")));
    /* What the other spelling cannot say is not printed as something else. */
    struct sbx_value null = {.type = SBX_VALUE_NULL};
    struct sbx_value date = {.type = SBX_VALUE_DATETIME};
    sbx_buf_reset(&text);
    sbx_value_print_toml(&null, &text);
    CHECK(text.failed && !sbx_value_equal(&null, &date) && !sbx_value_equal(&date, &date));
    sbx_buf_reset(&text);
    struct sbx_jsonw json;
    sbx_jsonw_init(&json, &text, false);
    sbx_value_print_json(sbx_value_get(&root, "c"), &json);
    CHECK(text.failed);
}

/* Every type of value for every key: a finding or a value, never a crash, and null never accepted. */
static void a_value_of_any_type_is_accepted_or_found_wrong(void)
{
    struct sbx_value text = {.type = SBX_VALUE_STRING, .string = sbx_str("x")};
    for (size_t i = 0; i < SBX_KEY_COUNT; i++) {
        for (int type = SBX_VALUE_STRING; type <= SBX_VALUE_NULL; type++) {
            AUTO_FIXTURE f;
            fixture_start(&f, SBX_LINUX);
            struct sbx_value value = {.type = (enum sbx_value_type)type};
            if (type == SBX_VALUE_STRING) {
                value = text;
            }
            struct sbx_member member = {.key = sbx_str(sbx_key_rows[i].name), .value = value};
            struct sbx_value table = {.type = SBX_VALUE_TABLE};
            table.table.members = &member;
            table.table.count = 1;
            struct sbx_manifest manifest;
            sbx_manifest_read(&f.arena, "x", &table, &f.findings, &manifest);
            bool never = type == SBX_VALUE_NULL || type == SBX_VALUE_DATETIME ||
                         type == SBX_VALUE_FLOAT || type == SBX_VALUE_BOOL;
            CHECK(!never || fixture_findings(&f, SBX_F_WRONG_TYPE) == 1);
            CHECK(f.findings.errors > 0 || sbx_manifest_has(&manifest, sbx_key_rows[i].key));
        }
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        struct sbx_manifest manifest;
        sbx_manifest_read(&f.arena, "x", &text, &f.findings, &manifest);
        CHECK_INT(fixture_findings(&f, SBX_F_WRONG_TYPE), 1);
    }
}

static void a_scalar_that_is_not_understood_stays_unset(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "[sandbox]\nprofile = \"stict\"\ntimeout = \"soon\"\n"
                   "max_memory_bytes = \"lots\"\nmax_cpu_secs = -1\nuser = \"a b\"\n");
    CHECK_U64(f.document.sandbox.set, 0);
    /* Nothing but what is wrong: no second finding because 0 was taken for a value. */
    CHECK_INT(f.findings.count, 5);
    CHECK_INT(f.policy.preset->preset, SBX_PRESET_DECLARED);
    struct sbx_manifest flags = {0};
    static const char *const args[] = {"--mode", "root"};
    fixture_flags(&f, args, 2, &flags);
    CHECK_U64(flags.set, 0);
}

/* ---- flags ---- */

static void a_scalar_flag_given_twice_is_a_conflict(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    static const char *const args[] = {"--timeout", "1s", "--timeout", "2s"};
    struct sbx_manifest flags = {0};
    fixture_flags(&f, args, 4, &flags);
    CHECK_INT(fixture_findings(&f, SBX_F_CONFLICT), 1);
    CHECK_U64(flags.timeout_ns, UINT64_C(1000000000));
}

static void a_host_that_reads_like_a_word_survives_the_flags(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    CHECK(fixture_read(&f, "[sandbox]\nnetwork = { kind = \"allow_hosts\", hosts = [\"inherit\", "
                           "\"deny\", \"a,b\", \"local=x\", \"host=y\"], local = [\"deny\"] }\n"));
    const char **args;
    size_t count;
    CHECK(sbx_manifest_print_flags(&f.arena, &f.document.sandbox, &args, &count));
    struct sbx_manifest flags = {0};
    fixture_flags(&f, args, count, &flags);
    CHECK_INT(flags.network.kind, SBX_NET_ALLOW_HOSTS);
    CHECK(sbx_manifest_equal(&flags, &f.document.sandbox));
}

static void what_no_flag_can_say_is_not_printed_as_another_flag(void)
{
    static const char *const rows[] = {
        "fs_read_allow = [\"/a\\u0000b\"]",
        "filesystem = { \"/a\\u0000b\" = \"read\" }",
        "env = [[\"A=B\", \"c\"]]",
        "env = [[\"A\", \"b\\u0000c\"]]",
        "protect = [\"none\"]",
        "cwd = \"/a\\u0000\"",
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        CHECK(fixture_read(&f, sbx_arena_printf(&f.arena, "[sandbox]\n%s\n", rows[i])));
        const char **args;
        size_t count;
        CHECK(!sbx_manifest_print_flags(&f.arena, &f.document.sandbox, &args, &count));
    }
}

static void protect_and_require_flags_add_to_the_defaults(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    static const char *const args[] = {"--protect", ".env", "--protect", "key.pem",
                                       "--require", "cpu",  "--require", "memory"};
    struct sbx_manifest flags = {0};
    fixture_flags(&f, args, 8, &flags);
    CHECK(flags.protect.with_defaults);
    CHECK_INT(flags.protect.names.count, 2);
    CHECK_U64(flags.require, (1u << SBX_DIM_FILESYSTEM) | (1u << SBX_DIM_NETWORK) |
                                 (1u << SBX_DIM_CPU) | (1u << SBX_DIM_MEMORY));
}

/* ---- merging ---- */

static void merge(struct fixture *f, const char *under, const char *over, struct sbx_manifest *out)
{
    struct sbx_err err = {0};
    CHECK(fixture_read(f, under));
    struct sbx_manifest below = f->document.sandbox;
    CHECK(fixture_read(f, over));
    CHECK_CODE(sbx_manifest_merge(&f->arena, &below, &f->document.sandbox, out, &err), SBX_OK,
               &err);
    CHECK_INT(f->findings.errors, 0);
}

static void a_scalar_on_top_replaces_and_a_list_on_top_joins(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    struct sbx_manifest merged;
    merge(&f,
          "[sandbox]\ntimeout = \"1s\"\ncwd = \"/a\"\nfs_read_allow = [\"/1\"]\n"
          "filesystem = { \"/f\" = \"read\" }\nenv = [[\"A\", \"under\"], [\"B\", \"b\"]]\n"
          "env_pass = [\"P\"]\n",
          "[sandbox]\ntimeout = \"2s\"\nfs_read_allow = [\"/2\"]\n"
          "filesystem = { \"/f\" = \"none\" }\nenv = [[\"A\", \"over\"]]\nenv_pass = [\"Q\"]\n",
          &merged);
    CHECK_U64(merged.timeout_ns, UINT64_C(2000000000));
    CHECK_STR(merged.cwd, "/a");
    CHECK_INT(merged.fs_read_allow.count, 2);
    CHECK_STR(merged.fs_read_allow.items[0].text, "/1");
    CHECK_INT(merged.filesystem.count, 2);
    CHECK_INT(merged.env.count, 3);
    CHECK_STR(merged.env.items[0].value, "over"); /* the first of two names counts */
    CHECK_INT(merged.env_pass.count, 2);
}

static void a_preset_on_top_replaces_the_other_word_too(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    struct sbx_manifest merged;
    merge(&f, "[sandbox]\nprofile = \"strict\"\n", "[sandbox]\nmode = \"read-only\"\n", &merged);
    CHECK(!sbx_manifest_has(&merged, SBX_KEY_PROFILE) && sbx_manifest_has(&merged, SBX_KEY_MODE));
    merge(&f, "[sandbox]\nmode = \"read-only\"\n", "[sandbox]\nprofile = \"service\"\n", &merged);
    CHECK(sbx_manifest_has(&merged, SBX_KEY_PROFILE) && !sbx_manifest_has(&merged, SBX_KEY_MODE));
    CHECK_INT(sbx_preset_of(&merged)->preset, SBX_PROFILE_SERVICE);
}

static void hosts_join_only_hosts_and_none_empties_protections(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    struct sbx_manifest merged;
    const char *hosts = "[sandbox]\nnetwork = { kind = \"allow_hosts\", hosts = [\"a.org\"] }\n"
                        "protect = [\"defaults\", \".x\"]\nrequire = [\"cpu\"]\n";
    merge(&f, hosts,
          "[sandbox]\nnetwork = { kind = \"allow_hosts\", hosts = [\"b.org\"] }\n"
          "protect = [\".y\"]\nrequire = [\"memory\"]\n",
          &merged);
    CHECK_INT(merged.network.hosts.count, 2);
    CHECK(merged.protect.with_defaults && merged.protect.names.count == 2);
    CHECK_U64(merged.require, (1u << SBX_DIM_CPU) | (1u << SBX_DIM_MEMORY));
    merge(&f, hosts, "[sandbox]\nnetwork = \"deny\"\nprotect = []\nrequire = []\n", &merged);
    CHECK_INT(merged.network.kind, SBX_NET_DENY);
    CHECK_INT(merged.network.hosts.count, 0);
    CHECK(!merged.protect.with_defaults && merged.protect.names.count == 0);
    CHECK_U64(merged.require, 0);
}

static void a_merged_manifest_prints_as_toml_that_reads_back(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    struct sbx_manifest merged;
    merge(&f, "[sandbox]\nfilesystem = { \"/f\" = \"read\", \"/g\" = \"read\" }\n",
          "[sandbox]\nfilesystem = { \"/f\" = \"none\" }\n", &merged);
    AUTO_BUF text;
    sbx_buf_init(&text, 1 << 16);
    sbx_manifest_print_toml(&merged, &text);
    CHECK(fixture_read(&f, sbx_buf_text(&text)));
    CHECK(sbx_manifest_equal(&merged, &f.document.sandbox));
    CHECK_INT(f.document.sandbox.filesystem.count, 2);
}

static void manifests_that_differ_are_not_equal(void)
{
    for (size_t i = 0; i < SBX_COUNT(spellings); i++) {
        for (size_t k = 0; k < SBX_COUNT(spellings); k++) {
            AUTO_FIXTURE f;
            fixture_start(&f, SBX_LINUX);
            CHECK(
                fixture_read(&f, sbx_arena_printf(&f.arena, "[sandbox]\n%s\n", spellings[i].toml)));
            struct sbx_manifest a = f.document.sandbox;
            CHECK(
                fixture_read(&f, sbx_arena_printf(&f.arena, "[sandbox]\n%s\n", spellings[k].toml)));
            CHECK(sbx_manifest_equal(&a, &f.document.sandbox) == (i == k));
        }
    }
}

static void fs_entries_listed_twice_do_not_equal_other_entries(void)
{
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    static const char *const twice[] = {"--fs", "/a=read", "--fs", "/a=read"};
    static const char *const other[] = {"--fs", "/a=read", "--fs", "/b=write"};
    struct sbx_manifest a = {0};
    struct sbx_manifest b = {0};
    fixture_flags(&f, twice, 4, &a);
    fixture_flags(&f, other, 4, &b);
    CHECK(!sbx_manifest_equal(&a, &b) && !sbx_manifest_equal(&b, &a));
}

static const struct sbx_test tests[] = {
    {"every row of the key table is complete", every_row_of_the_key_table_is_complete},
    {"keys, flags and fields are unique", keys_flags_and_fields_are_unique},
    {"every example of the key table is accepted", every_example_of_the_key_table_is_accepted},
    {"TOML, JSON and flags give the same manifest", toml_json_and_flags_give_the_same_manifest},
    {"a value tree is read without any text", a_value_tree_is_read_without_any_text},
    {"a value tree prints as TOML and JSON", a_value_tree_prints_as_toml_and_json},
    {"a value of any type is accepted or found wrong",
     a_value_of_any_type_is_accepted_or_found_wrong},
    {"a scalar that is not understood stays unset", a_scalar_that_is_not_understood_stays_unset},
    {"a scalar flag given twice is a conflict", a_scalar_flag_given_twice_is_a_conflict},
    {"a host that reads like a word survives the flags",
     a_host_that_reads_like_a_word_survives_the_flags},
    {"what no flag can say is not printed as another flag",
     what_no_flag_can_say_is_not_printed_as_another_flag},
    {"protect and require flags add to the defaults",
     protect_and_require_flags_add_to_the_defaults},
    {"a scalar on top replaces and a list on top joins",
     a_scalar_on_top_replaces_and_a_list_on_top_joins},
    {"a preset on top replaces the other word too", a_preset_on_top_replaces_the_other_word_too},
    {"hosts join only hosts, and none empties protections",
     hosts_join_only_hosts_and_none_empties_protections},
    {"a merged manifest prints as TOML that reads back",
     a_merged_manifest_prints_as_toml_that_reads_back},
    {"manifests that differ are not equal", manifests_that_differ_are_not_equal},
    {"fs entries listed twice do not equal other entries",
     fs_entries_listed_twice_do_not_equal_other_entries},
};
SBX_TEST_MAIN("manifest", tests)
