/* What host patterns allow, the shared platforms, and the groups. */
#include <stdio.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/egress/host_parts.h"
#include "common/egress/hosts.h"
#include "tests/check.h"

#include "common/base/banned.h"

enum { ARENA_BYTES = 1 << 16, NAME_BYTES = 300 };

/* ---- matching -------------------------------------------------------------------------------- */

struct match {
    const char *entry;
    const char *host;
    uint16_t port;
    bool allowed;
};

static const struct match matches[] = {
    {"example.com", "example.com", 443, true},
    {"example.com", "example.com", 80, true},
    {"example.com", "example.com", 8443, false},
    {"example.com", "example.com", 0, false},
    {"example.com", "EXAMPLE.com.", 443, true},
    {"example.com", "a.b.example.com", 443, true},
    {"example.com", "notexample.com", 443, false},
    {"example.com", "example.com.evil.test", 443, false},
    {"example.com", "com", 443, false},
    {"example.com", "example.com..", 443, false},
    {"example.com", "", 443, false},
    {"example.com", "example.com:443", 443, false},
    {"example.com", "u@example.com", 443, false},
    {"example.com:8443", "example.com", 8443, true},
    {"example.com:8443", "example.com", 443, false},
    {"*.example.com", "a.example.com", 443, true},
    {"*.example.com", "a.b.example.com", 80, true},
    {"*.example.com", "example.com", 443, false},
    {"*.example.com", "aexample.com", 443, false},
    {"*.example.com:22", "a.example.com", 22, true},
    {"*.example.com:22", "a.example.com", 443, false},
    /* a shared host needs an entry of its own */
    {"github.com", "api.github.com", 443, true},
    {"github.com", "gist.github.com", 443, false},
    {"github.com", "x.gist.github.com", 443, false},
    {"googleapis.com", "storage.googleapis.com", 443, false},
    {"user.github.io", "user.github.io", 443, true},
    {"user.github.io", "sub.user.github.io", 443, false},
    {"user.github.io", "other.github.io", 443, false},
    {"user.github.io", "github.io", 443, false},
    /* metadata services are never below anything */
    {"google.internal", "x.google.internal", 80, true},
    {"google.internal", "metadata.google.internal", 80, false},
    {"default.svc", "kubernetes.default.svc", 443, false},
    /* addresses */
    {"8.8.8.8", "8.8.8.8", 443, true},
    {"8.8.8.8", "8.8.8.8.", 443, true},
    {"8.8.8.8", "134744072", 443, false},
    {"8.8.8.8", "8.8.2056", 443, false},
    {"8.8.8.8", "[::ffff:8.8.8.8]", 443, false},
    {"8.8.8.8", "a.8.8.8.8", 443, false},
    {"[2001:db8::1]", "[2001:DB8:0::1]", 443, true},
    {"[2001:db8::1]", "2001:db8::1", 443, true},
    {"[2001:db8::1]", "[2001:db8::1%1]", 443, false},
    {"[2001:db8::1]", "[2001:db8::2]", 443, false},
    {"[2001:db8::1]", "[2001:db8::1", 443, false},
    /* groups: their members, nothing below them */
    {"@llm", "api.openai.com", 443, true},
    {"@llm", "API.OpenAI.com.", 443, true},
    {"@llm", "x.api.openai.com", 443, false},
    {"@llm", "openai.com", 443, false},
    {"@llm", "api.openai.com", 22, false},
    {"@llm", "llm", 443, false},
    {"@git", "github.com", 443, true},
    {"@git", "gist.github.com", 443, false},
    {"@git:22", "github.com", 22, true},
    {"@git:22", "github.com", 443, false},
};

static const struct match local_matches[] = {
    {"localhost:8080", "localhost", 8080, true},
    {"localhost:8080", "LOCALHOST.", 8080, true},
    {"localhost:8080", "localhost", 443, false},
    {"localhost:8080", "app.localhost", 8080, false},
    {"localhost:8080", "127.0.0.1", 8080, false},
    {"app.localhost:80", "app.localhost", 80, true},
    {"app.localhost:80", "x.app.localhost", 80, false},
    {"127.0.0.1:5432", "127.0.0.1", 5432, true},
    {"127.0.0.1:5432", "127.0.0.2", 5432, false},
    {"127.0.0.1:5432", "127.1", 5432, false},
    {"127.0.0.1:5432", "[::ffff:127.0.0.1]", 5432, false},
    {"[::1]:80", "[0:0::1]", 80, true},
};

static void check_matches(bool local, const struct match *rows, size_t count)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < count; i++) {
        struct sbx_host_pattern pattern = {0};
        struct sbx_str text = sbx_str(rows[i].entry);
        enum sbx_host_problem problem = local ? sbx_host_parse_local(&arena, text, &pattern, NULL)
                                              : sbx_host_parse(&arena, text, &pattern, NULL);
        bool held = CHECK_INT(problem, SBX_HOST_OK);
        held = held && CHECK_INT(sbx_host_matches(&pattern, sbx_str(rows[i].host), rows[i].port),
                                 rows[i].allowed);
        if (!held) {
            printf("# \"%s\" against %s:%u\n", rows[i].entry, rows[i].host, (unsigned)rows[i].port);
        }
    }
}

static void a_pattern_allows_what_it_says_and_no_more(void)
{
    check_matches(false, matches, SBX_COUNT(matches));
    check_matches(true, local_matches, SBX_COUNT(local_matches));
}

static void a_covered_host_on_another_port_is_told_apart(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_host_pattern pattern = {0};
    CHECK_INT(sbx_host_parse(&arena, sbx_str("github.com"), &pattern, NULL), SBX_HOST_OK);
    CHECK(sbx_host_covers(&pattern, sbx_str("api.github.com")));
    CHECK(!sbx_host_matches(&pattern, sbx_str("api.github.com"), 22));
    CHECK(!sbx_host_covers(&pattern, sbx_str("gist.github.com")));
}

/* The allow state and the hosts of reference/egress-vectors.tsv: a host matches exactly where the
 * verdict is Allow. */
static const char *const vector_entries[] = {
    "anthropic.com",
    "openai.com",
    "github.com",
    "crates.io",
    "pypi.org",
    "pythonhosted.org",
    "bedrock-runtime.us-east-1.amazonaws.com:443",
    "myapp.workers.dev:443",
    "my-internal-tool.example.com:443",
    "git.corp.example:22",
    "git.corp.example:443",
};

static const char *const vector_allowed[] = {
    "api.anthropic.com",
    "anthropic.com",
    "anthropic.com.",
    "API.Anthropic.COM",
    "files.pythonhosted.org",
    "static.crates.io",
    "github.com",
    "api.github.com",
    "my-internal-tool.example.com",
    "api.openai.com",
    "bedrock-runtime.us-east-1.amazonaws.com",
    "myapp.workers.dev",
    "git.corp.example",
};

static const char *const vector_others[] = {
    "evilanthropic.com",
    "anthropic.com.evil.test",
    "other.example.com",
    "raw.githubusercontent.com",
    "gist.github.com",
    "objects.githubusercontent.com",
    "evil.github.io",
    "pastebin.com",
    "victim-bucket.s3.amazonaws.com",
    "amazonaws.com",
    "bedrock-runtime.eu-west-1.amazonaws.com",
    "acct.blob.core.windows.net",
    "storage.googleapis.com",
    "x.r2.cloudflarestorage.com",
    "evil.workers.dev",
    "sub.myapp.workers.dev",
    "notworkers.dev",
    "example.org",
    "localhost",
    "127.0.0.1",
    "[::1]",
    "8.8.8.8",
    "169.254.169.254",
    "metadata.google.internal",
    "2130706433",
    "exa mple.org",
    "example..org",
    "evil.com\\@anthropic.com",
    "a%00.anthropic.com",
    "[::1",
};

static void the_reference_vectors_are_allowed_and_no_others(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_host_pattern patterns[SBX_COUNT(vector_entries)];
    for (size_t i = 0; i < SBX_COUNT(vector_entries); i++) {
        CHECK_INT(sbx_host_parse(&arena, sbx_str(vector_entries[i]), &patterns[i], NULL),
                  SBX_HOST_OK);
    }
    for (size_t i = 0; i < SBX_COUNT(vector_allowed) + SBX_COUNT(vector_others); i++) {
        bool want = i < SBX_COUNT(vector_allowed);
        const char *host = want ? vector_allowed[i] : vector_others[i - SBX_COUNT(vector_allowed)];
        bool got = false;
        for (size_t j = 0; j < SBX_COUNT(vector_entries); j++) {
            got = got || sbx_host_matches(&patterns[j], sbx_str(host), 443);
            CHECK(!sbx_host_matches(&patterns[j], sbx_str(host), 8443));
        }
        if (!CHECK_INT(got, want)) {
            printf("# host \"%s\"\n", host);
        }
    }
}

/* ---- shared platforms ------------------------------------------------------------------------ */

static enum sbx_host_problem parse_text(const char *before, const char *host)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    char text[NAME_BYTES];
    struct sbx_host_pattern pattern;
    (void)snprintf(text, sizeof(text), "%s%s", before, host);
    return sbx_host_parse(&arena, sbx_str(text), &pattern, NULL);
}

static void check_platform(const struct sbx_shared_platform *row)
{
    char tenant[NAME_BYTES];
    char beside[NAME_BYTES];
    (void)snprintf(tenant, sizeof(tenant), "some-tenant.%s", row->apex);
    (void)snprintf(beside, sizeof(beside), "not%s", row->apex);
    bool held = CHECK_INT(parse_text("", row->apex), SBX_HOST_SHARED_PLATFORM);
    held = CHECK_INT(parse_text("*.", row->apex), SBX_HOST_SHARED_PLATFORM) && held;
    held = CHECK_INT(parse_text("*.", tenant), SBX_HOST_SHARED_PLATFORM) && held;
    held = CHECK_INT(parse_text("", tenant), SBX_HOST_OK) && held;
    held = CHECK(sbx_shared_platform_of(sbx_str(row->apex)) == row) && held;
    held = CHECK(sbx_shared_platform_of(sbx_str(tenant)) == row) && held;
    held = CHECK(sbx_shared_platform_of(sbx_str(beside)) != row) && held;

    /* No pattern over it lets a tenant through, however it was made. */
    const char *parent = strchr(row->apex, '.') + 1;
    struct sbx_host_pattern over = {SBX_HOST_EXACT, parent, 0};
    held = CHECK(!sbx_host_matches(&over, sbx_str(tenant), 443)) && held;
    over = (struct sbx_host_pattern){SBX_HOST_WILDCARD, row->apex, 0};
    held = CHECK(!sbx_host_matches(&over, sbx_str(tenant), 443)) && held;
    if (strchr(parent, '.') != NULL) {
        held = CHECK_INT(parse_text("*.", parent), SBX_HOST_SHARED_PLATFORM) && held;
    }
    held = CHECK(row->category[0] != '\0' && row->source[0] != '\0') && held;
    if (!held) {
        printf("# row \"%s\"\n", row->apex);
    }
}

static void every_shared_platform_is_allowed_only_by_exact_host(void)
{
    size_t count = 0;
    for (; sbx_shared_platform_at(count) != NULL; count++) {
        const struct sbx_shared_platform *row = sbx_shared_platform_at(count);
        check_platform(row);
        for (size_t other = 0; other < count; other++) {
            CHECK(strcmp(sbx_shared_platform_at(other)->apex, row->apex) != 0);
        }
    }
    CHECK(count >= 41); /* as many as the seed list had */
    CHECK(sbx_shared_platform_of(sbx_str("EVIL.Workers.dev.")) != NULL);
    CHECK(sbx_shared_platform_of(sbx_str("github.com")) == NULL);
    CHECK(sbx_shared_platform_of(sbx_str("8.8.8.8")) == NULL);
    CHECK(sbx_shared_platform_of(sbx_str("not a host")) == NULL);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void check_member(const struct sbx_host_group *group, const char *member)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_host_pattern pattern = {0};
    const char *why = "";
    bool held = CHECK_INT(sbx_host_parse(&arena, sbx_str(member), &pattern, &why), SBX_HOST_OK);
    held = held && CHECK_TEXT(pattern.host, member) && CHECK_INT(pattern.form, SBX_HOST_EXACT);
    held = CHECK_U64(pattern.port, 0) && held;
    held = CHECK(sbx_shared_platform_of(sbx_str(member)) == NULL) && held;
    struct sbx_host_pattern whole = {SBX_HOST_GROUP, group->name, 0};
    held = CHECK(sbx_host_matches(&whole, sbx_str(member), 443)) && held;
    if (!held) {
        printf("# @%s member \"%s\": %s\n", group->name, member, why);
    }
}

static void every_group_member_is_an_exact_host_that_is_not_shared(void)
{
    size_t count = 0;
    for (; sbx_host_group_at(count) != NULL; count++) {
        const struct sbx_host_group *group = sbx_host_group_at(count);
        CHECK(group->help[0] != '\0');
        CHECK(sbx_host_group_named(sbx_str(group->name)) == group);
        for (size_t i = 0; group->members[i] != NULL; i++) {
            check_member(group, group->members[i]);
            CHECK(i == 0 || strcmp(group->members[i - 1], group->members[i]) < 0);
        }
    }
    CHECK(count >= 2);
    struct sbx_host_pattern unknown = {SBX_HOST_GROUP, "nobody", 0};
    CHECK(!sbx_host_matches(&unknown, sbx_str("github.com"), 443));
}

static const struct sbx_test tests[] = {
    {"a pattern allows what it says and no more", a_pattern_allows_what_it_says_and_no_more},
    {"a covered host on another port is told apart", a_covered_host_on_another_port_is_told_apart},
    {"the reference vectors are allowed and no others",
     the_reference_vectors_are_allowed_and_no_others},
    {"every shared platform is allowed only by exact host",
     every_shared_platform_is_allowed_only_by_exact_host},
    {"every group member is an exact host that is not shared",
     every_group_member_is_an_exact_host_that_is_not_shared},
};

SBX_TEST_MAIN("host match", tests)
