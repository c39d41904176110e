/* What an actor can do on every system, and the scratch directory of the tests. */
#include "tests/unit/os_actor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

#include "common/base/banned.h"

static struct {
    const char *program;
    struct sbx_arena arena;
    const char *scratch; /* NULL until the first use */
} own;

void actor_init(const char *program)
{
    sbx_arena_init(&own.arena, 16 << 20);
    own.program = program;
    struct sbx_path self;
    if (sbx_os_self(&own.arena, &self, NULL) == SBX_OK) {
        own.program = self.text;
    }
}

void actor_end(void)
{
    if (own.scratch != NULL) {
        actor_remove_tree(own.scratch);
    }
    sbx_arena_release(&own.arena);
}

const char *actor_program(void)
{
    return own.program;
}

const char *scratch(const char *name)
{
    if (own.scratch == NULL) {
        struct sbx_context context;
        struct sbx_err err;
        if (sbx_os_context(&own.arena, &context, &err) != SBX_OK) {
            printf("Bail out! %s\n", err.text);
            exit(1);
        }
        own.scratch = sbx_arena_printf(&own.arena, "%s/sbx-test-%ld-%" PRIx64, context.tmp.text,
                                       actor_pid(), sbx_os_monotonic_ns());
        actor_write(sbx_arena_printf(&own.arena, "%s/made", own.scratch), "");
    }
    return sbx_arena_printf(&own.arena, "%s/%s", own.scratch, name);
}

const char *actor_read(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t len = 0;
    if (file != NULL) {
        len = fread(text, 1, sizeof text - 1, file);
        (void)fclose(file);
    }
    text[len] = '\0';
    return text;
}

void actor_write(const char *path, const char *text)
{
    struct sbx_err err;
    if (sbx_os_write_atomic(path, sbx_str(text), &err) != SBX_OK) {
        printf("# cannot write %s: %s\n", path, err.text);
    }
}

enum sbx_code actor_run(const char *const *verb, uint64_t timeout_ns, uint64_t max_output_bytes,
                        struct sbx_outcome *out, struct sbx_err *err)
{
    const char *argv[32] = {own.program, "--actor"};
    for (size_t i = 0; verb[i] != NULL && i + 3 < SBX_COUNT(argv); i++) {
        argv[i + 2] = verb[i];
    }
    const char *env[] = {"ACTOR=1", NULL};
    struct sbx_plain_run run = {
        .program = own.program,
        .argv = argv,
        .env = env,
        .timeout_ns = timeout_ns,
        .max_output_bytes = max_output_bytes,
    };
    return sbx_os_run_plain(&run, out, err);
}

/* ---- verbs --------------------------------------------------------------------------------------- */

static uint64_t number(const char *text)
{
    uint64_t value = 0;
    return text != NULL && sbx_str_to_u64(sbx_str(text), &value) ? value : 0;
}

/* exit CODE */
static int verb_exit(const char *const *args)
{
    return (int)number(args[0]);
}

/* say FILE TEXT… : one argument a line */
static int verb_say(const char *const *args)
{
    AUTO_BUF all;
    sbx_buf_init(&all, 1 << 16);
    for (size_t i = 1; args[i] != NULL; i++) {
        sbx_buf_printf(&all, "[%s]\n", args[i]);
    }
    actor_write(args[0], sbx_buf_text(&all));
    return 0;
}

/* cwd FILE */
static int verb_cwd(const char *const *args)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_context context;
    if (sbx_os_context(&arena, &context, NULL) != SBX_OK) {
        return 1;
    }
    actor_write(args[0], context.cwd.text);
    return 0;
}

/* sleep FILE MILLISECONDS: its pid goes into FILE first */
static int verb_sleep(const char *const *args)
{
    char pid[32];
    (void)snprintf(pid, sizeof pid, "%ld", actor_pid());
    actor_write(args[0], pid);
    actor_sleep_ms((unsigned)number(args[1]));
    return 0;
}

/* pour BYTES [BYTES-OF-STDERR]: a pattern that shows loss and repetition */
static int verb_pour(const char *const *args)
{
    actor_binary_stdout();
    static char block[65536];
    uint64_t left = number(args[0]);
    uint64_t at = 0;
    while (left > 0) {
        for (size_t i = 0; i < sizeof block; i++) {
            block[i] = (char)('a' + (at + i) % 23);
        }
        size_t part = left < sizeof block ? (size_t)left : sizeof block;
        if (sbx_os_write(SBX_STDOUT, block, part, NULL) != SBX_OK) {
            return 3;
        }
        left -= part;
        at += part;
    }
    for (uint64_t i = 0; args[1] != NULL && i < number(args[1]); i++) {
        if (sbx_os_write(SBX_STDERR, "e", 1, NULL) != SBX_OK) {
            return 4;
        }
    }
    return 0;
}

/* relay FILE TIMEOUT-MS MAX-BYTES VERB… : run_plain of another actor, the outcome into FILE */
static int verb_relay(const char *const *args)
{
    struct sbx_outcome outcome = {0};
    struct sbx_err err = {0};
    enum sbx_code code =
        actor_run(args + 3, number(args[1]) * 1000000, number(args[2]), &outcome, &err);
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "code=%s exit=%u signal=%d limit=%d out=%" PRIu64 " err=%" PRIu64 " %s",
                   sbx_code_text(code), (unsigned)outcome.exit_code, outcome.signal,
                   (int)outcome.limit, outcome.stdout_bytes, outcome.stderr_bytes, err.text);
    actor_write(args[0], text);
    return (int)outcome.exit_code;
}

static enum sbx_code add_one(void *state, struct sbx_arena *arena, struct sbx_str old,
                             struct sbx_str *out, struct sbx_err *err)
{
    (void)state;
    uint64_t value = 0;
    if (old.len > 0 && !sbx_str_to_u64(old, &value)) {
        return sbx_err_set(err, SBX_E_SYNTAX, "half a file: " SBX_STR_FMT, SBX_STR_ARG(old));
    }
    *out = sbx_str(sbx_arena_printf(arena, "%" PRIu64, value + 1));
    return SBX_OK;
}

/* count FILE TIMES: adds one to the number in FILE */
static int verb_count(const char *const *args)
{
    for (uint64_t i = 0; i < number(args[1]); i++) {
        AUTO_ARENA arena;
        sbx_arena_init(&arena, 1 << 16);
        struct sbx_err err;
        if (sbx_os_update_file(&arena, args[0], 100, add_one, NULL, &err) != SBX_OK) {
            (void)!sbx_os_write(SBX_STDERR, err.text, strlen(err.text), NULL);
            return 1;
        }
    }
    return 0;
}

/* rewrite FILE: writes 100000 'a', then 'b', … until it is killed */
static int verb_rewrite(const char *const *args)
{
    static char content[100000];
    for (unsigned i = 0;; i++) {
        memset(content, (int)('a' + i % 26), sizeof content);
        if (sbx_os_write_atomic(args[0], (struct sbx_str){content, sizeof content}, NULL) !=
            SBX_OK) {
            return 1;
        }
    }
}

static const struct {
    const char *name;
    int (*run)(const char *const *args);
} verbs[] = {
    {"exit", verb_exit}, {"say", verb_say},     {"cwd", verb_cwd},     {"sleep", verb_sleep},
    {"pour", verb_pour}, {"relay", verb_relay}, {"count", verb_count}, {"rewrite", verb_rewrite},
};

int actor_main(int argc, char **argv)
{
    const char *const *verb = actor_verb(argc, argv);
    for (size_t i = 0; i < SBX_COUNT(verbs); i++) {
        if (sbx_text_eq(verb[0], verbs[i].name)) {
            return verbs[i].run(verb + 1);
        }
    }
    return actor_system_verb(verb);
}
