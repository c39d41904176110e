/* Tests of the question whether a policy allows more than another: each way alone, no way that tightens, and
 * random pairs in which "no" must be true path by path. */
#include <stdio.h>
#include <string.h>

#include "common/policy/widen.h"
#include "tests/check.h"
#include "tests/unit/policy_fixture.h"
#include "tests/unit/random.h"

#include "common/base/banned.h"

/* How many ways; prints them when `show`. */
static size_t ways(struct fixture *base, struct fixture *other, bool show)
{
    const char **reasons = NULL;
    size_t count = 0;
    CHECK(sbx_policy_widens(&other->arena, &base->policy, &other->policy, &reasons, &count));
    for (size_t i = 0; i < count; i++) {
        CHECK(reasons[i] != NULL && reasons[i][0] != '\0');
        if (show) {
            printf("#   %s\n", reasons[i]);
        }
    }
    return count;
}

struct pair {
    const char *other;
    const char *base; /* NULL: the default mode */
};

static size_t ways_of(const struct pair *row, enum sbx_platform platform, bool show)
{
    AUTO_FIXTURE base;
    AUTO_FIXTURE other;
    fixture_start(&base, platform);
    fixture_start(&other, platform);
    CHECK(fixture_ceiling(&other, "allow_raw_bwrap = true\n"));
    const char *text = row->base == NULL ? "mode = \"workspace-write\"" : row->base;
    CHECK(fixture_read(&base, sbx_arena_printf(&base.arena, "[sandbox]\n%s\n", text)));
    CHECK(fixture_read(&other, sbx_arena_printf(&other.arena, "[sandbox]\n%s\n", row->other)));
    fixture_resolve(&base);
    fixture_resolve(&other);
    CHECK_INT(base.findings.errors, 0);
    CHECK_INT(other.findings.errors, 0);
    return ways(&base, &other, show);
}

#define WS "mode = \"workspace-write\"\n"
#define HOSTS(list) "network = { kind = \"allow_hosts\", " list " }"

static const struct pair wider[] = {
    {WS "fs_write_allow = [\"/srv\"]", NULL},
    {WS "fs_write_allow = [\":home\"]", NULL},
    {WS "filesystem = { \"/etc/shadow\" = \"read\" }", NULL},
    {WS "filesystem = { \"/etc/ssl/private/k\" = \"read\" }", NULL},
    {WS "filesystem = { \"/etc/ssl/private/*\" = \"read\" }", NULL},
    {WS "filesystem = { \"/etc/ssl/**/k\" = \"read\" }", NULL},
    {WS "filesystem = { \"/**/id_rsa\" = \"read\" }", NULL},
    {WS "filesystem = { \":cwd/.git\" = \"write\" }", NULL},
    {WS "filesystem = { \":cwd/a/.vscode/x\" = \"write\" }", NULL},
    /* The host's /tmp in place of the private one. */
    {WS "filesystem = { \"/tmp\" = \"write\" }", NULL},
    {WS "filesystem = { \"/tmp\" = \"read\" }", NULL},
    {WS "fs_write_allow = [\"/tmp/x\"]", NULL},
    {WS "fs_read_allow = [\"/tmp/x\"]", NULL},
    {WS "unix_sockets = [\"/run/agent.sock\"]", NULL},
    {WS "network = \"inherit\"", NULL},
    {WS HOSTS("hosts = [\"a.org\"]"), NULL},
    {WS "network = { kind = \"allow_hosts\" }", NULL},
    {WS "protect = []", NULL},
    {WS "protect = [\".git\"]", NULL},
    /* Nothing is writable here, but flags may add a path, and the protections would be gone. */
    {"mode = \"read-only\"\nprotect = []", NULL},
    {"profile = \"strict\"\nprotect = [\".git\"]", NULL},
    {"mode = \"read-only\"\ngit = \"commit\"", NULL},
    {WS "git = \"commit\"", NULL},
    {WS "git = \"commit\"\nprotect = []", NULL},
    {WS "env_pass = [\"AWS_SECRET_ACCESS_KEY\"]", NULL},
    {WS "env_pass = [\"SSH_AUTH_SOCK\"]", NULL},
    {WS "user = \"root\"", NULL},
    {WS "group = 0", NULL},
    {WS "image = \"evil/image\"", NULL},
    {WS "raw_args = [\"--as-pid-1\"]", NULL},
    {WS "require = []", NULL},
    {WS "require = [\"filesystem\"]", NULL},
    {"profile = \"none\"", NULL},
    {"mode = \"danger-full-access\"", NULL},
    {"mode = \"external-sandbox\"", NULL},
    {"profile = \"service\"", NULL},
    /* The sockets of the desktop, although the network stays closed. */
    {"profile = \"desktop\"\nnetwork = \"deny\"", NULL},
    {"fs_read_allow = [\"/usr\"]", NULL}, /* declared manifests inherit the network */
    {WS "network = \"deny\"", WS "filesystem = { \":cwd/keys\" = \"none\" }"},
    {WS, WS "filesystem = { \":cwd/**/.env\" = \"none\" }"},
    {WS "filesystem = { \":cwd/**/.env\" = \"read\" }",
     WS "filesystem = { \":cwd/**/.env\" = \"none\" }"},
    {WS, WS "filesystem = { \":cwd/*.lock\" = \"read\" }"},
    {WS, WS "tmpfs = [\":cwd/cache\"]"},
    {WS "syscall_policy = \"inherit\"", WS "syscall_policy = \"strict\""},
    {WS HOSTS("hosts = [\"a.org\", \"b.org\"]"), WS HOSTS("hosts = [\"a.org\"]")},
    {WS HOSTS("hosts = [\"a.org:22\"]"), WS HOSTS("hosts = [\"a.org\"]")},
    {WS HOSTS("local = [\"localhost:1\"]"), WS HOSTS("hosts = [\"a.org\"]")},
    {WS "timeout = \"20s\"", WS "timeout = \"10s\""},
    {WS, WS "timeout = \"10s\""},
    {WS "max_memory_bytes = \"2GiB\"", WS "max_memory_bytes = \"1GiB\""},
    {WS, WS "max_memory_bytes = \"1GiB\""},
    {WS "max_processes = 9", WS "max_processes = 8"},
    {WS, WS "max_cpu_secs = 8"},
    {WS, WS "max_output_bytes = 8"},
    {WS "git = \"read-only\"\nprotect = []", WS "git = \"commit\""},
    {WS "protect = \"defaults\"", WS "protect = [\"defaults\", \".env\"]"},
    {WS "fs_write_allow = [\"/x/.git\"]\ngit = \"commit\"",
     WS "fs_write_allow = [\"/x\"]\ngit = \"commit\"\nfilesystem = { \"/x/.git/objects\" = "
        "\"read\" }"},
};

static const struct pair tighter[] = {
    {WS, NULL},
    {"mode = \"read-only\"", NULL},
    {"profile = \"strict\"", NULL},
    {WS "network = \"deny\"", NULL},
    {WS "filesystem = { \":cwd/secrets\" = \"none\" }", NULL},
    {WS "filesystem = { \":cwd\" = \"read\" }", NULL},
    {WS "filesystem = { \":cwd\" = \"read\", \":cwd/out\" = \"write\" }", NULL},
    {WS "filesystem = { \":home\" = \"none\", \":cwd\" = \"write\" }", NULL},
    {WS "filesystem = { \":cwd/**/.env\" = \"none\" }", NULL},
    {WS "filesystem = { \":cwd/**/*.lock\" = \"read\" }", NULL},
    {WS "filesystem = { \":root\" = \"none\" }", NULL},
    {WS "fs_read_allow = [\"/srv\", \":home/x\"]", NULL}, /* readable already */
    {WS "fs_write_allow = [\":cwd/out\"]", NULL},         /* writable already */
    {WS "tmpfs = [\"/var/cache\", \":cwd/tmp\"]", NULL},
    {WS "protect = [\"defaults\", \".env\"]", NULL},
    {WS "syscall_policy = \"strict\"", NULL},
    {WS "timeout = \"1h\"\nmax_memory_bytes = \"1GiB\"\nmax_cpu_secs = 1\nmax_processes = 3", NULL},
    {WS "env = [[\"A\", \"b\"]]\nenv_pass = [\"PATH\", \"TERM\", \"LANG\", \"LC_ALL\"]", NULL},
    {WS "cwd = \"/usr\"", NULL},
    {WS "require = [\"filesystem\", \"network\", \"memory\"]\nmax_memory_bytes = \"1GiB\"", NULL},
    {"fs_read_allow = [\"/opt\"]\nnetwork = \"deny\"", NULL},
    {"profile = \"service\"\nnetwork = \"deny\"", NULL},
    {WS HOSTS("hosts = [\"a.org\"]"), WS HOSTS("hosts = [\"b.org\", \"a.org\"]")},
    {WS, WS HOSTS("hosts = [\"a.org\"]")},
    {WS, WS "unix_sockets = [\"/run/a\"]"},
    {WS "unix_sockets = [\"/run/a\"]", WS "unix_sockets = [\"/run/a/\", \"/run/b\"]"},
    {WS "env_pass = [\"SECRET\"]", WS "env_pass = [\"SECRET\"]"},
    {WS "image = \"a\"", WS "image = \"a\""},
    {WS "timeout = \"5s\"", WS "timeout = \"10s\""},
    {WS "max_processes = 8", WS "max_processes = 8"},
    {WS, WS "git = \"commit\""},
    {WS "git = \"commit\"", WS "git = \"commit\""},
    {WS "filesystem = { \":cwd/**/.env\" = \"none\" }",
     WS "filesystem = { \":cwd/**/.env\" = \"read\" }"},
};

static void each_way_of_widening_alone_is_detected(void)
{
    for (size_t i = 0; i < SBX_COUNT(wider); i++) {
        size_t count = ways_of(&wider[i], SBX_LINUX, false);
        if (count == 0) {
            printf("# not detected: %s\n", wider[i].other);
        }
        CHECK(count > 0);
    }
}

static void no_way_of_tightening_is_taken_for_widening(void)
{
    for (size_t i = 0; i < SBX_COUNT(tighter); i++) {
        size_t count = ways_of(&tighter[i], SBX_LINUX, false);
        if (count > 0) {
            printf("# called wider: %s\n", tighter[i].other);
            (void)ways_of(&tighter[i], SBX_LINUX, true);
        }
        CHECK_INT(count, 0);
    }
}

static void other_systems_have_their_own_bounds(void)
{
    static const struct pair more = {WS "max_processes = 65", NULL};
    static const struct pair less = {WS "max_processes = 64", NULL};
    static const struct pair drive = {WS "fs_read_allow = ['D:\\data']", NULL};
    static const struct pair cased = {WS "fs_write_allow = ['c:\\users\\USER\\project\\x']", NULL};
    static const struct pair mac = {WS "fs_write_allow = [\"/tmp/x\"]", NULL};
    CHECK(ways_of(&more, SBX_WINDOWS, false) > 0);
    CHECK_INT(ways_of(&less, SBX_WINDOWS, true), 0);
    CHECK(ways_of(&drive, SBX_WINDOWS, false) > 0);
    CHECK_INT(ways_of(&cased, SBX_WINDOWS, true), 0);
    CHECK(ways_of(&mac, SBX_MACOS, false) > 0);
}

static void reasons_are_safe_to_show_and_never_lost(void)
{
    AUTO_FIXTURE base;
    AUTO_FIXTURE other;
    fixture_policy(&base, SBX_LINUX, "[sandbox]\nprofile = \"strict\"\n");
    fixture_policy(&other, SBX_LINUX,
                   "[sandbox]\nprofile = \"strict\"\nfs_read_allow = [\"/\\u202etxt\"]\n");
    const char **reasons = NULL;
    size_t count = 0;
    CHECK(sbx_policy_widens(&other.arena, &base.policy, &other.policy, &reasons, &count));
    CHECK_INT(count, 1);
    CHECK_TEXT(reasons[0], "it makes /\\u{202e}txt readable");
    struct sbx_arena none;
    sbx_arena_init(&none, 0);
    CHECK(!sbx_policy_widens(&none, &base.policy, &other.policy, &reasons, &count));
}

/* ---- random pairs ---- */

enum { ROUNDS = 6000, PATHS = 40, TEXT = 96 };

static const char *const names[] = {"a", "b", ".git", "k"};
static const char *const globs[] = {"*", "**", "?", "a*"};

static void random_path(uint64_t *seed, bool is_glob, char out[TEXT])
{
    size_t len = (size_t)snprintf(out, TEXT, "/w");
    size_t depth = random_below(seed, 4) + (is_glob ? 1 : 0);
    size_t star = is_glob ? random_below(seed, depth) : depth;
    for (size_t i = 0; i < depth; i++) {
        const char *name = i == star ? globs[random_below(seed, SBX_COUNT(globs))]
                                     : names[random_below(seed, SBX_COUNT(names))];
        len += (size_t)snprintf(out + len, TEXT - len, "/%s", name);
    }
}

/* A random set of entries, some of them taken from `like`. */
static void random_manifest(struct fixture *f, uint64_t *seed, const struct sbx_manifest *like)
{
    struct sbx_manifest *manifest = &f->document.sandbox;
    size_t count = random_below(seed, 7);
    manifest->profile = SBX_PROFILE_STRICT;
    manifest->set = 1u << SBX_KEY_PROFILE | 1u << SBX_KEY_PROTECT;
    manifest->protect.with_defaults = true;
    manifest->filesystem.items = SBX_NEW_ARRAY(&f->arena, struct sbx_fs_entry, 16);
    manifest->tmpfs.items = SBX_NEW_ARRAY(&f->arena, struct sbx_text, 16);
    for (size_t i = 0; like != NULL && i < like->filesystem.count; i++) {
        if (random_below(seed, 3) != 0) {
            manifest->filesystem.items[manifest->filesystem.count] = like->filesystem.items[i];
            struct sbx_fs_entry *entry = &manifest->filesystem.items[manifest->filesystem.count++];
            if (random_below(seed, 3) == 0 && entry->access > SBX_ACCESS_NONE) {
                entry->access = (enum sbx_access)(entry->access - 1);
            }
        }
    }
    for (size_t i = 0; i < count && manifest->filesystem.count < 16; i++) {
        char text[TEXT];
        bool is_glob = random_below(seed, 4) == 0;
        random_path(seed, is_glob, text);
        struct sbx_text path = {sbx_str(sbx_arena_printf(&f->arena, "%s", text)), {0}};
        if (!is_glob && random_below(seed, 8) == 0) {
            manifest->tmpfs.items[manifest->tmpfs.count++] = path;
        } else {
            enum sbx_access access = (enum sbx_access)random_below(seed, is_glob ? 2 : 3);
            manifest->filesystem.items[manifest->filesystem.count++] =
                (struct sbx_fs_entry){path, access};
        }
    }
    fixture_resolve(f);
}

static enum sbx_access host_access(struct fixture *f, const char *path)
{
    struct sbx_decision decision = fixture_decide(f, path);
    bool is_private = decision.rule != NULL && decision.rule->kind != SBX_RULE_HOST;
    return is_private ? SBX_ACCESS_NONE : decision.access;
}

static void where_it_says_no_nothing_is_wider_anywhere(void)
{
    uint64_t seed = 17;
    unsigned said_no = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        AUTO_FIXTURE base;
        AUTO_FIXTURE other;
        fixture_start(&base, SBX_LINUX);
        fixture_start(&other, SBX_LINUX);
        random_manifest(&base, &seed, NULL);
        random_manifest(&other, &seed, &base.document.sandbox);
        if (!sbx_findings_ok(&base.findings) || !sbx_findings_ok(&other.findings)) {
            continue; /* a path was said twice: never reaches this question */
        }
        if (ways(&base, &other, false) > 0) {
            continue;
        }
        said_no++;
        for (unsigned i = 0; i < PATHS; i++) {
            char path[TEXT];
            random_path(&seed, false, path);
            bool wider_there = host_access(&other, path) > host_access(&base, path);
            if (wider_there) {
                printf("# round %u: %s\n", round, path);
            }
            CHECK(!wider_there);
        }
    }
    printf("# %u of %u pairs were called not wider\n", said_no, (unsigned)ROUNDS);
    CHECK(said_no > ROUNDS / 20);
}

static void a_policy_is_never_wider_than_itself(void)
{
    uint64_t seed = 23;
    for (unsigned round = 0; round < ROUNDS / 4; round++) {
        AUTO_FIXTURE f;
        fixture_start(&f, SBX_LINUX);
        random_manifest(&f, &seed, NULL);
        if (sbx_findings_ok(&f.findings)) {
            CHECK_INT(ways(&f, &f, true), 0);
        }
    }
}

static const struct sbx_test tests[] = {
    {"each way of widening alone is detected", each_way_of_widening_alone_is_detected},
    {"no way of tightening is taken for widening", no_way_of_tightening_is_taken_for_widening},
    {"other systems have their own bounds", other_systems_have_their_own_bounds},
    {"reasons are safe to show and never lost", reasons_are_safe_to_show_and_never_lost},
    {"where it says no, nothing is wider anywhere", where_it_says_no_nothing_is_wider_anywhere},
    {"a policy is never wider than itself", a_policy_is_never_wider_than_itself},
};
SBX_TEST_MAIN("widen", tests)
