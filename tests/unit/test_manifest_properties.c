/* Property tests of common/policy/manifest: thousands of random manifests, the same on every run, printed in
 * each spelling and read back; and random bytes as flags. */
#include <stdio.h>
#include <string.h>

#include "common/policy/manifest_kind.h"
#include "tests/check.h"
#include "tests/unit/policy_fixture.h"
#include "tests/unit/random.h"

#include "common/base/banned.h"

enum { ROUNDS = 4000 };

/* Texts that some reader, printer or shell might take for something else. */
static const char *const nasty[] = {
    "/a",
    "/a/b c",
    "",
    " ",
    "/tab\there",
    "/line\nbreak",
    "\"quoted\"",
    "back\\slash",
    "'single'",
    "a=b",
    "a,b",
    "=",
    "#no comment",
    "[x]",
    "{y}",
    ":cwd/out",
    ":root",
    "none",
    "deny",
    "inherit",
    "allow_hosts",
    "local=x",
    "host=y",
    "defaults",
    "--flag",
    "-",
    "\x7f",
    "\x1b[31m",
    "\xc3\xa9",
    "\xf0\x9f\x98\x80",
    "\xe2\x80\xaeXY",
    "\xef\xbf\xbd",
    "\\u0041",
    "${HOME}",
    "%s%n",
    "C:\\x\\y",
    "true",
    "1979-05-27",
    "\r\n",
    "\xc2\x85",
    "x\"\"\"y",
};

struct maker {
    struct sbx_arena *arena;
    uint64_t seed;
};

static size_t pick(struct maker *m, size_t limit)
{
    return random_below(&m->seed, limit);
}

static struct sbx_str any_text(struct maker *m)
{
    const char *a = nasty[pick(m, SBX_COUNT(nasty))];
    const char *b = pick(m, 3) == 0 ? nasty[pick(m, SBX_COUNT(nasty))] : "";
    return sbx_str(sbx_arena_printf(m->arena, "%s%s", a, b));
}

/* A word of printable characters, good for names, accounts and images. */
static struct sbx_str plain_word(struct maker *m)
{
    static const char *const words[] = {"x", ".env", "key.pem", "a-b_c", "deb:12", "w\xc3\xa9"};
    const char *word = words[pick(m, SBX_COUNT(words))];
    return sbx_str(sbx_arena_printf(m->arena, "%s%u", word, (unsigned)pick(m, 1000)));
}

static void fill_texts(struct maker *m, struct sbx_str (*make)(struct maker *),
                       struct sbx_texts *list)
{
    size_t count = pick(m, 4);
    list->items = SBX_NEW_ARRAY(m->arena, struct sbx_text, count);
    for (list->count = 0; list->count < count; list->count++) {
        list->items[list->count].text = make(m);
    }
    list->capacity = count;
}

static bool has_path(const struct sbx_fs_entries *list, struct sbx_str path)
{
    for (size_t i = 0; i < list->count; i++) {
        if (sbx_str_eq(list->items[i].path.text, path)) {
            return true;
        }
    }
    return false;
}

static void fill_filesystem(struct maker *m, struct sbx_fs_entries *list)
{
    size_t count = pick(m, 5);
    list->items = SBX_NEW_ARRAY(m->arena, struct sbx_fs_entry, count);
    for (size_t i = 0; i < count; i++) {
        struct sbx_str path = any_text(m);
        if (!has_path(list, path)) {
            list->items[list->count].path.text = path;
            list->items[list->count++].access = (enum sbx_access)pick(m, 3);
        }
    }
    list->capacity = count;
}

static void fill_env(struct maker *m, struct sbx_env_pairs *list)
{
    size_t count = pick(m, 4);
    list->items = SBX_NEW_ARRAY(m->arena, struct sbx_env_pair, count);
    for (list->count = 0; list->count < count; list->count++) {
        list->items[list->count].name.text = plain_word(m);
        list->items[list->count].value = any_text(m);
    }
    list->capacity = count;
}

static uint64_t number_in(struct maker *m, enum sbx_key key)
{
    const struct sbx_key_row *row = &sbx_key_rows[key];
    uint64_t number = random_next(&m->seed) >> pick(m, 64);
    return row->min + number % (row->max - row->min + 1);
}

static void fill_identity(struct maker *m, struct sbx_identity *identity)
{
    *identity = (struct sbx_identity){.is_id = pick(m, 2) == 0};
    if (identity->is_id) {
        identity->id = (uint32_t)number_in(m, SBX_KEY_USER);
    } else {
        identity->name = sbx_str(sbx_arena_printf(m->arena, "u%u", (unsigned)pick(m, 99)));
    }
}

static void fill_network(struct maker *m, struct sbx_network *network)
{
    network->kind = (enum sbx_net_kind)pick(m, 3);
    if (network->kind == SBX_NET_ALLOW_HOSTS) {
        fill_texts(m, any_text, &network->hosts);
        fill_texts(m, any_text, &network->local);
    }
}

static void fill_all(struct maker *m, struct sbx_manifest *out)
{
    out->profile = (int)pick(m, 4);
    out->mode = SBX_MODE_READ_ONLY + (int)pick(m, 4);
    fill_texts(m, any_text, &out->fs_read_allow);
    fill_texts(m, any_text, &out->fs_write_allow);
    fill_filesystem(m, &out->filesystem);
    fill_texts(m, any_text, &out->tmpfs);
    out->protect.with_defaults = pick(m, 2) == 0;
    fill_texts(m, plain_word, &out->protect.names);
    out->git = (int)pick(m, 2);
    fill_texts(m, any_text, &out->unix_sockets);
    fill_network(m, &out->network);
    out->syscall_policy = (int)pick(m, 2);
    out->timeout_ns = number_in(m, SBX_KEY_TIMEOUT);
    out->max_memory_bytes = number_in(m, SBX_KEY_MAX_MEMORY_BYTES);
    out->max_cpu_secs = number_in(m, SBX_KEY_MAX_CPU_SECS);
    out->max_processes = number_in(m, SBX_KEY_MAX_PROCESSES);
    out->max_output_bytes = number_in(m, SBX_KEY_MAX_OUTPUT_BYTES);
    fill_env(m, &out->env);
    fill_texts(m, any_text, &out->env_pass);
    out->cwd = any_text(m);
    fill_identity(m, &out->user);
    fill_identity(m, &out->group);
    out->image = plain_word(m);
    fill_texts(m, any_text, &out->raw_args);
    out->require = (uint32_t)pick(m, 1u << (SBX_DIM_PROCESSES + 1));
}

/* Everything is filled in; what is set is another question. */
static struct sbx_manifest random_manifest(struct fixture *f, unsigned round)
{
    struct maker m = {&f->arena, UINT64_C(0x9e3779b97f4a7c15) * (round + 1)};
    struct sbx_manifest manifest = {0};
    fill_all(&m, &manifest);
    manifest.set = (uint32_t)(random_next(&m.seed) >> 20) & ((1u << SBX_KEY_COUNT) - 1);
    if (manifest.set & (1u << SBX_KEY_PROFILE)) {
        manifest.set &= ~(1u << SBX_KEY_MODE);
    }
    return manifest;
}

static bool same_as_read(struct fixture *f, const struct sbx_manifest *manifest, const char *what,
                         const char *text)
{
    bool same = f->findings.count == 0 && sbx_manifest_equal(manifest, &f->document.sandbox) &&
                sbx_manifest_equal(&f->document.sandbox, manifest);
    if (!same) {
        printf("# %s: %s\n", what, text);
        fixture_print_findings(f);
    }
    return same;
}

static void what_is_printed_as_toml_reads_back_equal(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        struct sbx_manifest manifest = random_manifest(&f, round);
        AUTO_BUF text;
        sbx_buf_init(&text, 1 << 20);
        sbx_manifest_print_toml(&manifest, &text);
        CHECK(!text.failed);
        if (!fixture_read(&f, sbx_buf_text(&text))) {
            printf("# %s\n", sbx_buf_text(&text));
        }
        CHECK(same_as_read(&f, &manifest, "toml", sbx_buf_text(&text)));
    }
}

static void what_is_printed_as_json_reads_back_equal(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        struct sbx_manifest manifest = random_manifest(&f, round);
        AUTO_BUF text;
        sbx_buf_init(&text, 1 << 20);
        sbx_manifest_print_json(&manifest, &text);
        CHECK(!text.failed && fixture_read_json(&f, sbx_buf_text(&text)));
        CHECK(same_as_read(&f, &manifest, "json", sbx_buf_text(&text)));
    }
}

static void what_is_printed_as_flags_reads_back_equal(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        struct sbx_manifest manifest = random_manifest(&f, round);
        const char **args = NULL;
        size_t count = 0;
        CHECK(sbx_manifest_print_flags(&f.arena, &manifest, &args, &count));
        f.document.sandbox = (struct sbx_manifest){0};
        fixture_flags(&f, args, count, &f.document.sandbox);
        CHECK(same_as_read(&f, &manifest, "flags", "see the round"));
    }
}

/* Another value of one key makes another manifest. */
static void a_changed_key_makes_manifests_unequal(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        struct sbx_manifest a = random_manifest(&f, round);
        struct sbx_manifest b = a;
        a.set = b.set = 1u << SBX_KEY_TIMEOUT | 1u << SBX_KEY_REQUIRE | 1u << SBX_KEY_NETWORK;
        b.timeout_ns ^= 1;
        CHECK(!sbx_manifest_equal(&a, &b));
        b = a;
        b.require ^= 1u;
        CHECK(!sbx_manifest_equal(&a, &b));
        b = a;
        b.network.kind = b.network.kind == SBX_NET_DENY ? SBX_NET_INHERIT : SBX_NET_DENY;
        CHECK(!sbx_manifest_equal(&a, &b));
        b.set = 0;
        CHECK(!sbx_manifest_equal(&a, &b));
    }
}

/* Reading is total: any text for any flag gives a value or a finding, and what it gives prints again. */
static void any_text_for_any_flag_is_read_or_found_wrong(void)
{
    struct sbx_arena scratch;
    sbx_arena_init(&scratch, 64 << 20);
    struct maker m = {&scratch, 7};
    for (unsigned round = 0; round < 20000; round++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        const struct sbx_key_row *row = &sbx_key_rows[pick(&m, SBX_KEY_COUNT)];
        struct sbx_str text = any_text(&m);
        struct sbx_manifest manifest = {0};
        sbx_manifest_read_flag(&f.arena, "--x", row->key, text, &f.findings, &manifest);
        CHECK(f.findings.errors > 0 || sbx_manifest_has(&manifest, row->key));
        const char **args = NULL;
        size_t count = 0;
        if (f.findings.errors == 0 &&
            sbx_manifest_print_flags(&f.arena, &manifest, &args, &count)) {
            struct sbx_manifest again = {0};
            fixture_flags(&f, args, count, &again);
            CHECK(sbx_manifest_equal(&manifest, &again));
        }
    }
    sbx_arena_release(&scratch);
}

static const struct sbx_test tests[] = {
    {"what is printed as TOML reads back equal", what_is_printed_as_toml_reads_back_equal},
    {"what is printed as JSON reads back equal", what_is_printed_as_json_reads_back_equal},
    {"what is printed as flags reads back equal", what_is_printed_as_flags_reads_back_equal},
    {"a changed key makes manifests unequal", a_changed_key_makes_manifests_unequal},
    {"any text for any flag is read or found wrong", any_text_for_any_flag_is_read_or_found_wrong},
};
SBX_TEST_MAIN("manifest properties", tests)
