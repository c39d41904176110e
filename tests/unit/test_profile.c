/* Golden plans: every preset on every platform, byte for byte. After a wanted change run this test once with
 * SBX_UPDATE_GOLDEN=1, which writes the files and fails, and review the difference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/policy_fixture.h"

#include "common/base/banned.h"

/* From the source root, where ctest starts unit tests on every platform. */
#define GOLDEN "tests/golden"

enum { MAX_BYTES = 1 << 16 };

static void close_file(FILE **file)
{
    if (*file != NULL) {
        (void)fclose(*file);
    }
}
#define AUTO_FILE SBX_CLEANUP(close_file) FILE

static bool write_golden(const char *name, struct sbx_str text)
{
    AUTO_FILE *file = fopen(name, "wb");
    return file != NULL && fwrite(text.ptr, 1, text.len, file) == text.len;
}

static void compare_golden(const char *name, struct sbx_str text)
{
    static char want[MAX_BYTES];
    AUTO_FILE *file = fopen(name, "rb");
    if (file == NULL) {
        printf("# \"%s\" cannot be opened; SBX_UPDATE_GOLDEN=1 writes it\n", name);
    }
    CHECK(file != NULL);
    size_t len = file == NULL ? 0 : fread(want, 1, sizeof want, file);
    if (text.len != len || memcmp(want, text.ptr, len) != 0) {
        printf("# differs: %s\n", name);
        CHECK_MEM(text.ptr, text.len, want, len);
    }
}

/* The manifest that names the preset and says nothing else. */
static void preset_manifest(enum sbx_preset preset, struct sbx_manifest *out)
{
    *out = (struct sbx_manifest){.profile = (int)preset, .mode = (int)preset};
    if (preset < SBX_MODE_READ_ONLY) {
        out->set = 1u << SBX_KEY_PROFILE;
    } else if (preset < SBX_PRESET_DECLARED) {
        out->set = 1u << SBX_KEY_MODE;
    }
    out->at[SBX_KEY_PROFILE].source = out->at[SBX_KEY_MODE].source = "sbx.toml";
}

static void print_preset(enum sbx_preset preset, enum sbx_platform platform, struct sbx_buf *out)
{
    static const char *const no_command[] = {NULL};
    AUTO_FIXTURE f;
    fixture_start(&f, platform);
    preset_manifest(preset, &f.document.sandbox);
    fixture_resolve(&f);
    CHECK_INT(f.findings.count, 0);
    struct sbx_selection selection;
    struct sbx_select_input input = {
        .platform = platform, .policy = &f.policy, .facts = &f.facts, .ceiling = &f.ceiling};
    sbx_select(&f.arena, &input, &selection);
    struct sbx_err err = {0};
    CHECK_CODE(sbx_plan_make(&f.arena, &f.policy, &f.facts, sbx_plan_backend(&selection, &f.policy),
                             no_command, &f.plan, &err),
               SBX_OK, &err);
    sbx_plan_print_text(&f.plan, out);
    CHECK(!out->failed);
}

static void every_preset_gives_its_golden_plan_on_every_platform(void)
{
    bool update = getenv("SBX_UPDATE_GOLDEN") != NULL;
    for (int preset = 0; preset < SBX_PRESET_COUNT; preset++) {
        for (int platform = 0; platform < SBX_PLATFORM_COUNT; platform++) {
            AUTO_BUF text;
            AUTO_BUF name;
            sbx_buf_init(&text, MAX_BYTES);
            sbx_buf_init(&name, 256);
            print_preset((enum sbx_preset)preset, (enum sbx_platform)platform, &text);
            sbx_buf_printf(&name, GOLDEN "/%s-%s.txt", sbx_preset_rows[preset].name,
                           sbx_name_text(sbx_platform_names, platform));
            if (update) {
                CHECK(write_golden(sbx_buf_text(&name), sbx_buf_str(&text)));
            } else {
                compare_golden(sbx_buf_text(&name), sbx_buf_str(&text));
            }
        }
    }
    if (update) {
        printf("# the golden files were written; review them and run again\n");
        CHECK(!update);
    }
}

static void the_same_preset_gives_the_same_bytes_twice(void)
{
    for (int platform = 0; platform < SBX_PLATFORM_COUNT; platform++) {
        AUTO_BUF a;
        AUTO_BUF b;
        sbx_buf_init(&a, MAX_BYTES);
        sbx_buf_init(&b, MAX_BYTES);
        print_preset(SBX_MODE_WORKSPACE_WRITE, (enum sbx_platform)platform, &a);
        print_preset(SBX_MODE_WORKSPACE_WRITE, (enum sbx_platform)platform, &b);
        CHECK_MEM(a.data, a.len, b.data, b.len);
        CHECK(memchr(a.data, '\r', a.len) == NULL);
    }
}

static void the_registry_is_complete(void)
{
    for (int i = 0; i < SBX_PRESET_COUNT; i++) {
        const struct sbx_preset_row *row = &sbx_preset_rows[i];
        CHECK_INT(row->preset, i);
        CHECK(row->name != NULL && row->word != NULL && row->help != NULL && row->rules != NULL);
        CHECK(sbx_preset_source((enum sbx_preset)i) != NULL);
        for (int k = 0; k < i; k++) {
            CHECK(!sbx_text_eq(row->name, sbx_preset_rows[k].name));
        }
        struct sbx_manifest manifest;
        preset_manifest((enum sbx_preset)i, &manifest);
        CHECK_INT(sbx_preset_of(&manifest)->preset, i);
        const struct sbx_name *names = i < SBX_MODE_READ_ONLY ? sbx_profile_names : sbx_mode_names;
        CHECK(i == SBX_PRESET_DECLARED || sbx_text_eq(sbx_name_text(names, i), row->name));
    }
}

/* What §1.3 says of each, asked of the policy instead of the table. */
static void presets_keep_the_promises_of_the_specification(void)
{
    static const struct {
        enum sbx_preset preset;
        enum sbx_access home, cwd, usr, shadow;
        enum sbx_net_kind network;
        bool two_keys;
    } rows[] = {
        {SBX_PROFILE_NONE, 0, 0, 0, 0, SBX_NET_INHERIT, true},
        {SBX_PROFILE_STRICT, SBX_ACCESS_NONE, SBX_ACCESS_NONE, SBX_ACCESS_READ, SBX_ACCESS_NONE,
         SBX_NET_DENY, false},
        {SBX_PROFILE_SERVICE, SBX_ACCESS_NONE, SBX_ACCESS_NONE, SBX_ACCESS_READ, SBX_ACCESS_NONE,
         SBX_NET_INHERIT, false},
        {SBX_PROFILE_DESKTOP, SBX_ACCESS_NONE, SBX_ACCESS_NONE, SBX_ACCESS_READ, SBX_ACCESS_NONE,
         SBX_NET_INHERIT, false},
        {SBX_MODE_READ_ONLY, SBX_ACCESS_READ, SBX_ACCESS_READ, SBX_ACCESS_READ, SBX_ACCESS_NONE,
         SBX_NET_DENY, false},
        {SBX_MODE_WORKSPACE_WRITE, SBX_ACCESS_READ, SBX_ACCESS_WRITE, SBX_ACCESS_READ,
         SBX_ACCESS_NONE, SBX_NET_DENY, false},
        {SBX_MODE_DANGER_FULL_ACCESS, 0, 0, 0, 0, SBX_NET_INHERIT, true},
        {SBX_PRESET_DECLARED, SBX_ACCESS_NONE, SBX_ACCESS_NONE, SBX_ACCESS_READ, SBX_ACCESS_NONE,
         SBX_NET_INHERIT, false},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        preset_manifest(rows[i].preset, &f.document.sandbox);
        fixture_resolve(&f);
        CHECK_INT(fixture_access(&f, "/home/user/x"), rows[i].home);
        CHECK_INT(fixture_access(&f, "/home/user/project/x"), rows[i].cwd);
        CHECK_INT(fixture_access(&f, "/usr/bin/env"), rows[i].usr);
        CHECK_INT(fixture_access(&f, "/etc/shadow"), rows[i].shadow);
        CHECK_INT(f.policy.network, rows[i].network);
        CHECK_INT(f.policy.preset->needs_two_keys, rows[i].two_keys);
        CHECK(rows[i].two_keys || fixture_rule(&f, "/tmp")->kind == SBX_RULE_TMPFS);
        CHECK_U64(f.policy.require, (1u << SBX_DIM_FILESYSTEM) | (1u << SBX_DIM_NETWORK));
    }
    CHECK_INT(sbx_preset_rows[SBX_PROFILE_STRICT].syscalls, SBX_SYSCALLS_STRICT);
    CHECK_U64(sbx_preset_rows[SBX_PROFILE_SERVICE].processes, 64);
    CHECK_U64(sbx_preset_rows[SBX_PROFILE_STRICT].windows_processes, 1);
}

static void no_preset_ever_opens_the_whole_disk_for_writing(void)
{
    for (int preset = 0; preset < SBX_PRESET_COUNT; preset++) {
        for (int platform = 0; platform < SBX_PLATFORM_COUNT; platform++) {
            AUTO_FIXTURE f;
            fixture_start(&f, (enum sbx_platform)platform);
            const char *root = platform == SBX_WINDOWS ? "C:\\" : "/";
            f.context.cwd = f.context.home = f.context.tmp = fixture_path(&f, root);
            preset_manifest((enum sbx_preset)preset, &f.document.sandbox);
            fixture_resolve(&f);
            bool refused = !sbx_findings_ok(&f.findings);
            CHECK(refused || fixture_access(&f, root) != SBX_ACCESS_WRITE);
            bool writes_cwd =
                preset == SBX_MODE_WORKSPACE_WRITE || preset == SBX_MODE_EXTERNAL_SANDBOX;
            CHECK(refused || !writes_cwd);
        }
    }
}

static void optional_paths_that_are_absent_are_left_out(void)
{
    static const struct fake_node nodes[] = {{"/usr", SBX_NODE_DIRECTORY},
                                             {"/run/user/1000/bus", SBX_NODE_SOCKET},
                                             {"/etc", SBX_NODE_DIRECTORY},
                                             {NULL, SBX_NODE_MISSING}};
    AUTO_FIXTURE f;
    fixture_start(&f, SBX_LINUX);
    fixture_host(&f, nodes);
    preset_manifest(SBX_PROFILE_DESKTOP, &f.document.sandbox);
    fixture_resolve(&f);
    CHECK_INT(f.findings.count, 0);
    CHECK(fixture_rule(&f, "/usr") != NULL && fixture_rule(&f, "/lib64") == NULL);
    CHECK(fixture_rule(&f, "/run/user/1000/bus") != NULL);
    CHECK(fixture_rule(&f, "/run/user/1000/wayland-0") == NULL);
    /* A mask of what is not there stays: it must not appear either. */
    CHECK(fixture_rule(&f, "/etc/shadow") != NULL);
}

static void what_a_manifest_overrides_is_listed(void)
{
    AUTO_FIXTURE f;
    fixture_policy(&f, SBX_LINUX,
                   "[sandbox]\nprofile = \"strict\"\nnetwork = \"inherit\"\nsyscall_policy = "
                   "\"strict\"\n");
    CHECK_INT(f.policy.override_count, 1);
    CHECK_TEXT(f.policy.overrides[0].key, "network");
    CHECK_TEXT(f.policy.overrides[0].from, "deny");
    CHECK_TEXT(f.policy.overrides[0].to, "inherit");
    CHECK_INT(f.policy.overrides[0].at.place.line, 3);
}

static const struct sbx_test tests[] = {
    {"every preset gives its golden plan on every platform",
     every_preset_gives_its_golden_plan_on_every_platform},
    {"the same preset gives the same bytes twice", the_same_preset_gives_the_same_bytes_twice},
    {"the registry is complete", the_registry_is_complete},
    {"presets keep the promises of the specification",
     presets_keep_the_promises_of_the_specification},
    {"no preset ever opens the whole disk for writing",
     no_preset_ever_opens_the_whole_disk_for_writing},
    {"optional paths that are absent are left out", optional_paths_that_are_absent_are_left_out},
    {"what a manifest overrides is listed", what_a_manifest_overrides_is_listed},
};
SBX_TEST_MAIN("profile", tests)
