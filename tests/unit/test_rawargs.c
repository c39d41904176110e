/* Tests of the gate for raw bwrap arguments. */
#include <stdio.h>

#include "tests/check.h"
#include "tests/unit/policy_fixture.h"

#include "common/base/banned.h"

static void load(struct fixture *f, const char *ceiling, const char *base, const char *args)
{
    fixture_start(f, SBX_LINUX);
    CHECK(fixture_ceiling(f, ceiling));
    CHECK(fixture_read(
        f, sbx_arena_printf(&f->arena, "[sandbox]\n%s\nraw_args = [%s]\n", base, args)));
    fixture_resolve(f);
}

#define OPEN "allow_raw_bwrap = true\n"
#define STRICT "profile = \"strict\""

static void the_gate_is_closed_unless_the_administrator_opens_it(void)
{
    static const char *const closed[] = {"", "allow_raw_bwrap = false\n", "allow_none = true\n"};
    for (size_t i = 0; i < SBX_COUNT(closed); i++) {
        AUTO_FIXTURE f;
        load(&f, closed[i], STRICT, "\"--hostname\", \"box\"");
        CHECK_INT(fixture_findings(&f, SBX_F_RAW_ARGS_GATE_OFF), 1);
        CHECK(!sbx_findings_ok(&f.findings));
    }
    AUTO_FIXTURE open;
    load(&open, OPEN, STRICT, "\"--hostname\", \"box\"");
    CHECK_INT(open.findings.count, 0);
    CHECK_INT(open.policy.raw_arg_count, 2);
    CHECK_TEXT(open.policy.raw_args[1], "box");
    AUTO_FIXTURE empty;
    load(&empty, "", STRICT, "");
    CHECK_INT(empty.findings.count, 0);
}

/* Everything bwrap 0.11 knows that is not on the list, and what is not an option at all. */
static const char *const undoing[] = {
    "--share-net",
    "--share-user",
    "--unshare-all",
    "--unshare-user-try",
    "--unshare-cgroup-try",
    "--unshare-net",
    "--userns",
    "--userns2",
    "--pidns",
    "--userns-block-fd",
    "--disable-userns",
    "--assert-userns-disabled",
    "--cap-add",
    "--cap-drop",
    "--uid",
    "--gid",
    "--dev",
    "--dev-bind",
    "--dev-bind-try",
    "--proc",
    "--bind",
    "--bind-try",
    "--bind-fd",
    "--bind-data",
    "--ro-bind",
    "--ro-bind-try",
    "--ro-bind-fd",
    "--ro-bind-data",
    "--overlay",
    "--overlay-src",
    "--tmp-overlay",
    "--ro-overlay",
    "--remount-ro",
    "--file",
    "--seccomp",
    "--add-seccomp-fd",
    "--args",
    "--setenv",
    "--unsetenv",
    "--clearenv",
    "--chdir",
    "--lock-file",
    "--sync-fd",
    "--block-fd",
    "--info-fd",
    "--json-status-fd",
    "--die-with-parent",
    "--new-session",
    "--exec-label",
    "--file-label",
    "--argv0",
    "--chmod",
    "--level-prefix",
    "--help",
    "--version",
    "--",
    "-",
    "",
    "sh",
    "/bin/sh",
    "--hostname=x",
    "--HOSTNAME",
    "--hostnam",
    " --hostname",
    "--hostname ",
    "--tmpfs=/x",
    "--as-pid-1x",
    "--tomorrow",
};

static void every_other_argument_is_refused_with_a_reason(void)
{
    for (size_t i = 0; i < SBX_COUNT(undoing); i++) {
        AUTO_FIXTURE f;
        AUTO_BUF arg;
        sbx_buf_init(&arg, 256);
        sbx_buf_printf(&arg, "\"%s\"", undoing[i]);
        load(&f, OPEN, STRICT, sbx_buf_text(&arg));
        if (fixture_findings(&f, SBX_F_RAW_ARGS_UNSAFE) != 1) {
            printf("# accepted: \"%s\"\n", undoing[i]);
        }
        CHECK_INT(fixture_findings(&f, SBX_F_RAW_ARGS_UNSAFE), 1);
    }
}

/* Where bwrap makes something, the host must not be. */
static void nothing_is_made_where_files_of_the_host_are(void)
{
    static const char *const bases[] = {
        STRICT "\nfs_write_allow = [\"/code\"]\nfs_read_allow = [\"/ro\"]\nfilesystem = { "
               "\"/code/secret\" = \"none\", \"/deep/er\" = \"read\", \"/g/*\" = \"none\" }",
        "mode = \"workspace-write\"\nfs_write_allow = [\"/code\"]",
    };
    static const char *const places[] = {
        "/",
        "//",
        "/.",
        "/proc",
        "/proc/x",
        "//proc",
        "/./dev/shm",
        "/sys",
        "/code",
        "/code/x",
        "/code/.git/hooks/post-commit",
        "/code/secret/x",
        "/usr/local",
        "/etc/x",
        "/etc/shadow",
        "relative",
        "/a/../b",
        "/a\\nb",
        "/deep",
        "/ro/x",
        "/g",
        "",
    };
    static const char *const forms[] = {"--tmpfs", "--dir", "--mqueue", "--symlink\", \"/evil"};
    for (size_t b = 0; b < SBX_COUNT(bases); b++) {
        for (size_t i = 0; i < SBX_COUNT(places) * SBX_COUNT(forms); i++) {
            const char *place = places[i / SBX_COUNT(forms)];
            AUTO_FIXTURE f;
            AUTO_BUF args;
            sbx_buf_init(&args, 256);
            sbx_buf_printf(&args, "\"%s\", \"%s\"", forms[i % SBX_COUNT(forms)], place);
            load(&f, OPEN, bases[b], sbx_buf_text(&args));
            if (fixture_findings(&f, SBX_F_RAW_ARGS_UNSAFE) != 1) {
                printf("# accepted: %s\n", sbx_buf_text(&args));
            }
            CHECK_INT(fixture_findings(&f, SBX_F_RAW_ARGS_UNSAFE), 1);
        }
    }
}

static void what_touches_nothing_of_the_host_is_accepted(void)
{
    static const char *const good[] = {
        "\"--tmpfs\", \"/var/scratch\"",
        "\"--dir\", \"/tmp/a/b\"",
        "\"--symlink\", \"../usr/lib\", \"/opt/lib\"",
        "\"--mqueue\", \"/mq\"",
        "\"--as-pid-1\"",
        "\"--hostname\", \"--share-net\"", /* a value, taken as one by bwrap too */
        "\"--perms\", \"0700\", \"--tmpfs\", \"/var/scratch\"",
        "\"--size\", \"4096\", \"--perms\", \"700\", \"--tmpfs\", \"/var/scratch\"",
    };
    for (size_t i = 0; i < SBX_COUNT(good); i++) {
        AUTO_FIXTURE f;
        load(&f, OPEN, STRICT, good[i]);
        fixture_print_findings(&f);
        CHECK_INT(f.findings.errors, 0);
    }
}

/* A modifier at the end would act on the next argument of sbx itself. */
static void a_modifier_acts_only_on_a_raw_argument(void)
{
    static const char *const bad[] = {
        "\"--size\", \"999999999999\"",
        "\"--perms\", \"0777\"",
        "\"--perms\", \"0777\", \"--hostname\", \"x\"",
        "\"--tmpfs\", \"/var/scratch\", \"--size\", \"1\"",
        "\"--size\", \"1G\", \"--tmpfs\", \"/var/scratch\"",
        "\"--size\", \"-1\", \"--tmpfs\", \"/var/scratch\"",
        "\"--size\", \"1\", \"--perms\", \"1\"",
    };
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        AUTO_FIXTURE f;
        load(&f, OPEN, STRICT, bad[i]);
        CHECK(fixture_findings(&f, SBX_F_RAW_ARGS_UNSAFE) >= 1);
    }
}

static void a_missing_value_is_refused_and_hides_nothing_after_it(void)
{
    static const char *const bad[] = {"\"--hostname\"", "\"--symlink\", \"x\"", "\"--tmpfs\"",
                                      "\"--symlink\"", "\"--perms\""};
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        AUTO_FIXTURE f;
        load(&f, OPEN, STRICT, bad[i]);
        CHECK(fixture_findings(&f, SBX_F_RAW_ARGS_UNSAFE) >= 1);
    }
    AUTO_FIXTURE f;
    load(&f, OPEN, STRICT, "\"--cap-add\", \"ALL\", \"--hostname\", \"x\", \"--share-net\"");
    CHECK_INT(fixture_findings(&f, SBX_F_RAW_ARGS_UNSAFE), 3);
    AUTO_FIXTURE nul;
    load(&nul, OPEN, STRICT, "\"--hostname\", \"a\\u0000b\", \"--hostname\\u0000\"");
    CHECK_INT(fixture_findings(&nul, SBX_F_RAW_ARGS_UNSAFE), 2);
}

static void raw_arguments_exist_only_on_linux(void)
{
    for (int platform = SBX_MACOS; platform <= SBX_WINDOWS; platform++) {
        AUTO_FIXTURE f;
        fixture_start(&f, (enum sbx_platform)platform);
        CHECK(fixture_ceiling(&f, OPEN));
        CHECK(fixture_read(&f, "[sandbox]\nraw_args = [\"--as-pid-1\"]\n"));
        fixture_resolve(&f);
        CHECK_INT(fixture_findings(&f, SBX_F_PLATFORM_UNSUPPORTED), 1);
    }
}

static const struct sbx_test tests[] = {
    {"the gate is closed unless the administrator opens it",
     the_gate_is_closed_unless_the_administrator_opens_it},
    {"every other argument is refused with a reason",
     every_other_argument_is_refused_with_a_reason},
    {"nothing is made where files of the host are", nothing_is_made_where_files_of_the_host_are},
    {"what touches nothing of the host is accepted", what_touches_nothing_of_the_host_is_accepted},
    {"a modifier acts only on a raw argument", a_modifier_acts_only_on_a_raw_argument},
    {"a missing value is refused and hides nothing after it",
     a_missing_value_is_refused_and_hides_nothing_after_it},
    {"raw arguments exist only on Linux", raw_arguments_exist_only_on_linux},
};
SBX_TEST_MAIN("raw arguments", tests)
