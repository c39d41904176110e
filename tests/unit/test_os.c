/* common/os.h as every system keeps it: caller and machine, files, plain children. */
#include <stdio.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/os.h"
#include "tests/check.h"
#include "tests/unit/os_actor.h"

#include "common/base/banned.h"

#define MS UINT64_C(1000000)

static struct sbx_err err;

/* ---- caller and machine ------------------------------------------------------------------------ */

static void context_is_absolute(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_context context;
    if (!CHECK_CODE(sbx_os_context(&arena, &context, &err), SBX_OK, &err)) {
        return;
    }
    const struct sbx_path must_exist[] = {context.cwd, context.tmp, context.system_root};
    for (size_t i = 0; i < SBX_COUNT(must_exist); i++) {
        CHECK_INT(context.lookup(context.lookup_state, must_exist[i]), SBX_NODE_DIRECTORY);
    }
    CHECK(sbx_path_eq(context.project, context.cwd));
    CHECK(context.state_dir.len > 0 || context.home.len == 0);
    CHECK(context.config_dir.len > 0 || context.home.len == 0);
    CHECK(context.user_name != NULL && context.user_name[0] != '\0');
    CHECK(!context.is_assumed);
}

static void self_is_this_program(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_path self;
    if (sbx_os_self(&arena, &self, &err) != SBX_OK) {
        sbx_test_skip("self", "a plain POSIX system cannot tell");
        return;
    }
    CHECK(sbx_str_contains(sbx_path_name(self), "test_os"));
    struct sbx_file_info info;
    sbx_os_file_info(self.text, &info);
    CHECK_INT(info.node, SBX_NODE_FILE);
}

static void facts_name_the_kernel(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_facts facts = {.is_assumed = true};
    facts.probe[SBX_BACKEND_BWRAP].version = "kept";
    sbx_os_facts(&arena, &facts);
    CHECK(strchr(facts.kernel, ' ') != NULL);
    CHECK(!facts.is_assumed);
    CHECK_TEXT(facts.probe[SBX_BACKEND_BWRAP].version, "kept");
}

static void clocks_go_forward(void)
{
    uint64_t before = sbx_os_monotonic_ns();
    actor_sleep_ms(20);
    uint64_t passed = sbx_os_monotonic_ns() - before;
    CHECK(passed >= 19 * MS && passed < 60000 * MS);
    CHECK(sbx_os_unix_seconds() > 1700000000);
}

static void policy_dir_is_absolute(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_path path;
    CHECK_CODE(sbx_os_policy_dir(&arena, &path, &err), SBX_OK, &err);
    CHECK_STR(sbx_path_name(path), "sbx");
}

static void unset_variable_is_null(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    CHECK(sbx_os_env(&arena, "SBX_TEST_NO_SUCH_VARIABLE") == NULL);
    CHECK(sbx_os_env(&arena, "PATH") != NULL);
}

/* ---- files --------------------------------------------------------------------------------------- */

static enum sbx_code read_text(const char *path, size_t max_bytes, struct sbx_str *out,
                               struct sbx_file_info *info)
{
    static struct sbx_arena arena;
    sbx_arena_release(&arena);
    sbx_arena_init(&arena, 8 << 20);
    return sbx_os_read_file(&arena, path, max_bytes, out, info, &err);
}

static void written_is_read(void)
{
    const char *path = scratch("bytes");
    char bytes[70000];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * 7);
    }
    struct sbx_str text;
    struct sbx_file_info info = {0};
    CHECK_CODE(sbx_os_write_atomic(path, (struct sbx_str){bytes, sizeof bytes}, &err), SBX_OK,
               &err);
    if (!CHECK_CODE(read_text(path, sizeof bytes, &text, &info), SBX_OK, &err)) {
        return;
    }
    CHECK_MEM(text.ptr, text.len, bytes, sizeof bytes);
    CHECK_INT(text.ptr[text.len], '\0');
    CHECK_INT(info.node, SBX_NODE_FILE);
    CHECK_U64(info.size_bytes, sizeof bytes);
    CHECK(info.is_callers || info.is_admins);
    CHECK(!info.others_may_write);
}

static void maximum_is_exact(void)
{
    const char *path = scratch("ten");
    actor_write(path, "0123456789");
    struct sbx_str text;
    CHECK_CODE(read_text(path, 10, &text, NULL), SBX_OK, &err);
    CHECK_STR(text, "0123456789");
    CHECK_CODE(read_text(path, 9, &text, NULL), SBX_E_LIMIT, &err);
    actor_write(path, "");
    CHECK_CODE(read_text(path, 0, &text, NULL), SBX_OK, &err);
    CHECK_U64(text.len, 0);
}

static void odd_paths_are_refused(void)
{
    struct sbx_str text = {"untouched", 9};
    CHECK_CODE(read_text(scratch("missing"), 10, &text, NULL), SBX_E_NOT_FOUND, &err);
    CHECK(strstr(err.text, "missing") != NULL);
    CHECK(err.os != SBX_OS_NONE && err.raw != 0);
    CHECK_CODE(read_text(scratch("missing/below"), 10, &text, NULL), SBX_E_NOT_FOUND, &err);
    CHECK_CODE(read_text(scratch("."), 10, &text, NULL), SBX_E_INVALID, &err);
    CHECK(strstr(err.text, "directory") != NULL);
    CHECK_STR(text, "untouched");
}

static void missing_is_the_worst(void)
{
    struct sbx_file_info info = {.is_callers = true};
    sbx_os_file_info(scratch("missing"), &info);
    CHECK_INT(info.node, SBX_NODE_MISSING);
    CHECK(!info.is_callers);
    CHECK(info.others_may_write);
    sbx_os_file_info(scratch("."), &info);
    CHECK_INT(info.node, SBX_NODE_DIRECTORY);
}

static void new_never_overwrites(void)
{
    const char *path = scratch("new");
    CHECK_CODE(sbx_os_write_new(path, sbx_str("first"), &err), SBX_OK, &err);
    CHECK_CODE(sbx_os_write_new(path, sbx_str("second"), &err), SBX_E_INVALID, &err);
    CHECK(strstr(err.text, "already exists") != NULL);
    CHECK_TEXT(actor_read(path), "first");
    CHECK_CODE(sbx_os_write_new(scratch("no/such/new"), sbx_str("x"), &err), SBX_E_NOT_FOUND, &err);
    struct sbx_file_info info;
    sbx_os_file_info(scratch("no"), &info);
    CHECK_INT(info.node, SBX_NODE_MISSING);
}

static void atomic_makes_parents(void)
{
    const char *path = scratch("a/b/c/file");
    CHECK_CODE(sbx_os_write_atomic(path, sbx_str("one"), &err), SBX_OK, &err);
    CHECK_CODE(sbx_os_write_atomic(path, sbx_str("two"), &err), SBX_OK, &err);
    CHECK_TEXT(actor_read(path), "two");
    /* Where a file stands, no directory is made. */
    CHECK(sbx_os_write_atomic(scratch("a/b/c/file/below"), sbx_str("x"), &err) != SBX_OK);
    CHECK_TEXT(actor_read(path), "two");
}

static void real_name_is_found(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_path plain;
    struct sbx_path dotted;
    actor_write(scratch("real/file"), "x");
    CHECK_CODE(sbx_os_real_path(&arena, scratch("real/file"), &plain, &err), SBX_OK, &err);
    CHECK_CODE(sbx_os_real_path(&arena, scratch("real/../real/./file"), &dotted, &err), SBX_OK,
               &err);
    CHECK_TEXT(dotted.text, plain.text);
    CHECK_CODE(sbx_os_real_path(&arena, scratch("real/none"), &plain, &err), SBX_E_NOT_FOUND, &err);
}

static enum sbx_code change(void *state, struct sbx_arena *arena, struct sbx_str old,
                            struct sbx_str *out, struct sbx_err *problem)
{
    if (state != NULL) {
        return sbx_err_set(problem, SBX_E_UNTRUSTED, "no");
    }
    *out = sbx_str(sbx_arena_printf(arena, "(" SBX_STR_FMT ")", SBX_STR_ARG(old)));
    return SBX_OK;
}

static void update_sees_the_old(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    const char *path = scratch("update/file");
    struct sbx_err clean = {0};
    CHECK_CODE(sbx_os_update_file(&arena, path, 100, change, NULL, &clean), SBX_OK, &clean);
    CHECK_INT(clean.code, SBX_OK);
    CHECK_CODE(sbx_os_update_file(&arena, path, 100, change, NULL, &err), SBX_OK, &err);
    CHECK_TEXT(actor_read(path), "(())");
    CHECK_CODE(sbx_os_update_file(&arena, path, 100, change, &arena, &err), SBX_E_UNTRUSTED, &err);
    CHECK_TEXT(actor_read(path), "(())");
    CHECK_CODE(sbx_os_update_file(&arena, path, 3, change, NULL, &err), SBX_E_LIMIT, &err);
    CHECK_TEXT(actor_read(path), "(())");
}

static void no_update_is_lost(void)
{
    enum { PROCESSES = 8, TIMES = 50 };
    const char *path = scratch("counter");
    struct actor actors[PROCESSES];
    for (size_t i = 0; i < PROCESSES; i++) {
        CHECK(actor_start(&actors[i], (const char *[]){"count", path, "50", NULL}, NULL,
                          scratch("counter.err")));
    }
    for (size_t i = 0; i < PROCESSES; i++) {
        CHECK_INT(actor_wait(&actors[i]), 0);
    }
    CHECK_TEXT(actor_read(path), "400");
    CHECK_TEXT(actor_read(scratch("counter.err")), "");
    CHECK_INT(PROCESSES * TIMES, 400);
}

static void killed_writer_leaves_whole_content(void)
{
    const char *path = scratch("torn/file");
    actor_write(path, "old");
    for (unsigned i = 0; i < 25; i++) {
        struct actor actor;
        CHECK(actor_start(&actor, (const char *[]){"rewrite", path, NULL}, NULL, NULL));
        actor_sleep_ms(20 + i * 3);
        actor_kill(&actor);
        const char *text = actor_read(path);
        size_t same = strspn(text, (const char[]){text[0], '\0'});
        CHECK(sbx_text_eq(text, "old") || (strlen(text) == 100000 && same == 100000));
    }
    CHECK(!sbx_text_eq(actor_read(path), "old"));
}

/* ---- children ------------------------------------------------------------------------------------ */

static void exit_codes_are_exact(void)
{
    for (unsigned i = 0; i < 256; i++) {
        char code[8];
        (void)snprintf(code, sizeof code, "%u", i);
        struct sbx_outcome outcome = {0};
        if (!CHECK_CODE(actor_run((const char *[]){"exit", code, NULL}, 0, 0, &outcome, &err),
                        SBX_OK, &err)) {
            return;
        }
        CHECK_U64(outcome.exit_code, i);
        CHECK_INT(outcome.signal, 0);
        CHECK_INT(outcome.limit, SBX_LIMIT_NONE);
        CHECK_INT(outcome.origin, SBX_FROM_COMMAND);
        CHECK(outcome.started && outcome.wall_ns > 0);
    }
}

static void arguments_arrive(void)
{
    struct sbx_outcome outcome;
    const char *path = scratch("argv");
    CHECK_CODE(actor_run((const char *[]){"say", path, "", "a b", "\"quoted\"", "back\\slash\\",
                                          "\\\\\"", "tab\there", "line\nbreak", "*?%PATH%^&|<>!",
                                          "\xc3\xa4\xf0\x9f\x90\xa7", "'", NULL},
                         0, 0, &outcome, &err),
               SBX_OK, &err);
    CHECK_TEXT(actor_read(path), "[]\n[a b]\n[\"quoted\"]\n[back\\slash\\]\n[\\\\\"]\n[tab\there]\n"
                                 "[line\nbreak]\n[*?%PATH%^&|<>!]\n"
                                 "[\xc3\xa4\xf0\x9f\x90\xa7]\n[']\n");
}

static void missing_program_is_not_found(void)
{
    struct sbx_outcome outcome = {.exit_code = 42};
    struct sbx_plain_run run = {
        .program = "sbx-test-no-such-program",
        .argv = (const char *[]){"x", NULL},
        .env = (const char *[]){NULL},
    };
    CHECK_CODE(sbx_os_run_plain(&run, &outcome, &err), SBX_E_NOT_FOUND, &err);
    run.program = scratch("missing/program");
    CHECK_CODE(sbx_os_run_plain(&run, &outcome, &err), SBX_E_NOT_FOUND, &err);
    run.program = "";
    CHECK_CODE(sbx_os_run_plain(&run, &outcome, &err), SBX_E_NOT_FOUND, &err);
    run.program = scratch(".");
    CHECK_CODE(sbx_os_run_plain(&run, &outcome, &err), SBX_E_DENIED, &err);
    CHECK_U64(outcome.exit_code, 42);
}

static void directory_is_entered(void)
{
    struct sbx_outcome outcome;
    actor_write(scratch("inside/made"), "");
    const char *argv[] = {actor_program(), "--actor", "cwd", scratch("cwd"), NULL};
    struct sbx_plain_run run = {
        .program = actor_program(),
        .argv = argv,
        .env = (const char *[]){NULL},
        .cwd = scratch("inside"),
    };
    CHECK_CODE(sbx_os_run_plain(&run, &outcome, &err), SBX_OK, &err);
    CHECK(sbx_str_ends(sbx_str(actor_read(scratch("cwd"))), "inside"));
    run.cwd = scratch("outside");
    CHECK_CODE(sbx_os_run_plain(&run, &outcome, &err), SBX_E_INVALID, &err);
    CHECK(strstr(err.text, "outside") != NULL);
}

static void timeout_ends_it(void)
{
    struct sbx_outcome outcome;
    const char *path = scratch("sleeper");
    uint64_t begin = sbx_os_monotonic_ns();
    CHECK_CODE(
        actor_run((const char *[]){"sleep", path, "60000", NULL}, 1000 * MS, 0, &outcome, &err),
        SBX_OK, &err);
    CHECK_INT(outcome.limit, SBX_LIMIT_TIMEOUT);
    CHECK_INT(outcome.origin, SBX_FROM_SBX);
    uint64_t took = sbx_os_monotonic_ns() - begin;
    CHECK(took >= 1000 * MS && took < 10000 * MS);
    uint64_t pid = 0;
    CHECK(sbx_str_to_u64(sbx_str(actor_read(path)), &pid));
    CHECK(!actor_is_process_alive((long)pid));
}

static void in_time_is_untouched(void)
{
    struct sbx_outcome outcome;
    CHECK_CODE(actor_run((const char *[]){"sleep", scratch("short"), "100", NULL}, 60000 * MS, 0,
                         &outcome, &err),
               SBX_OK, &err);
    CHECK_INT(outcome.limit, SBX_LIMIT_NONE);
    CHECK_U64(outcome.exit_code, 0);
}

/* Runs `relay` beside the test with its output in files. */
static const char *relay(const char *timeout_ms, const char *max_bytes, const char *out_bytes,
                         const char *err_bytes)
{
    struct actor actor;
    const char *verb[] = {"relay", scratch("relay"), timeout_ms, max_bytes,
                          "pour",  out_bytes,        err_bytes,  NULL};
    CHECK(actor_start(&actor, verb, scratch("relay.out"), scratch("relay.err")));
    CHECK(actor_wait(&actor) >= 0);
    return actor_read(scratch("relay"));
}

static uint64_t size_of(const char *name)
{
    struct sbx_file_info info;
    sbx_os_file_info(scratch(name), &info);
    return info.size_bytes;
}

static void output_limit_is_exact(void)
{
    static const struct {
        const char *max, *out, *err;
        const char *limit;
        uint64_t want_out, want_err;
    } rows[] = {
        {"100000", "99999", "0", "limit=0", 99999, 0},
        {"100000", "100000", "0", "limit=0", 100000, 0},
        {"100000", "100001", "0", "limit=5", 100000, 0},
        {"100000", "50000000", "0", "limit=5", 100000, 0},
        {"10", "0", "10", "limit=0", 0, 10},
        {"10", "0", "11", "limit=5", 0, 10},
        {"1", "2", "0", "limit=5", 1, 0},
    };
    CHECK_INT(SBX_LIMIT_OUTPUT, 5);
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        const char *text = relay("0", rows[i].max, rows[i].out, rows[i].err);
        CHECK(strstr(text, rows[i].limit) != NULL);
        CHECK_U64(size_of("relay.out"), rows[i].want_out);
        CHECK_U64(size_of("relay.err"), rows[i].want_err);
    }
}

static bool is_pattern(const char *path, uint64_t bytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    static char block[65536];
    uint64_t at = 0;
    bool holds = true;
    size_t got;
    while (holds && (got = fread(block, 1, sizeof block, file)) > 0) {
        for (size_t i = 0; i < got; i++) {
            holds = holds && block[i] == (char)('a' + (at + i) % 23);
        }
        at += got;
    }
    (void)fclose(file);
    return holds && at == bytes;
}

static void large_output_passes_whole(void)
{
    const char *text = relay("0", "0", "104857600", "100");
    CHECK(strstr(text, "code=ok exit=0") != NULL);
    CHECK(is_pattern(scratch("relay.out"), 104857600));
    CHECK_U64(size_of("relay.err"), 100);
    text = relay("0", "104857600", "104857600", "100");
    CHECK(strstr(text, "code=ok exit=0 signal=0 limit=0 out=104857600 err=100") != NULL);
    CHECK(is_pattern(scratch("relay.out"), 104857600));
}

static void found_is_what_runs(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_path found;
    struct sbx_path self;
    CHECK_CODE(sbx_os_find_program(&arena, actor_program(), NULL, &found, &err), SBX_OK, &err);
    CHECK_CODE(sbx_os_real_path(&arena, actor_program(), &self, &err), SBX_OK, &err);
    CHECK(sbx_path_eq(found, self));
    CHECK_CODE(sbx_os_find_program(&arena, "sbx-test-none", NULL, &found, &err), SBX_E_NOT_FOUND,
               &err);
    CHECK_CODE(sbx_os_find_program(&arena, "sbx-test-none", "", &found, &err), SBX_E_NOT_FOUND,
               &err);
}

static const struct sbx_test tests[] = {
    {"the context names directories that exist", context_is_absolute},
    {"the running program knows its own path", self_is_this_program},
    {"facts name the kernel and leave probes alone", facts_name_the_kernel},
    {"clocks go forward", clocks_go_forward},
    {"the policy directory is absolute", policy_dir_is_absolute},
    {"an unset variable is NULL", unset_variable_is_null},
    {"what is written atomically is read back and private", written_is_read},
    {"a file of exactly the maximum is read, one byte more is refused", maximum_is_exact},
    {"a missing file or a directory is refused and leaves the output alone", odd_paths_are_refused},
    {"of a missing file the worst is assumed", missing_is_the_worst},
    {"a new file never overwrites and leaves nothing on failure", new_never_overwrites},
    {"an atomic write makes parents and replaces", atomic_makes_parents},
    {"one file has one real name", real_name_is_found},
    {"an update sees the old content and may give up", update_sees_the_old},
    {"eight processes updating one file lose no update", no_update_is_lost},
    {"a writer killed at any moment leaves old or new content, whole",
     killed_writer_leaves_whole_content},
    {"exit codes 0 to 255 arrive exactly", exit_codes_are_exact},
    {"arguments arrive exactly", arguments_arrive},
    {"a missing program is not found, a directory cannot be executed",
     missing_program_is_not_found},
    {"the child starts in its directory, or not at all", directory_is_entered},
    {"a timeout ends the child and says so", timeout_ends_it},
    {"a child that ends in time does not meet the timeout", in_time_is_untouched},
    {"exactly the maximum of output is passed on", output_limit_is_exact},
    {"100 MB pass through whole, with and without sbx between", large_output_passes_whole},
    {"a program is found where it would run from", found_is_what_runs},
};

ACTOR_TEST_MAIN("os", tests)
