/* Can this machine build a box, and how? Answered by building one. */
#include <string.h>

#include "common/base/buf.h"
#include "win/box.h"
#include "win/handle.h"

#include "common/base/banned.h"

/* A status that nothing gives by accident. */
enum { EXPECTED_STATUS = 23, TRIES = 2, FLIGHT_WAIT_MS = 60000, REASON_MAX = 4096 };
#define PROBE_TIMEOUT_NS ((uint64_t)20 * 1000000000u)
#define MEBIBYTE ((uint64_t)1 << 20)

/* The smallest policy: the system is readable, nothing else, no network. */
static enum sbx_code make_policy(struct sbx_arena *arena, const struct sbx_context *context,
                                 struct sbx_policy *out, struct sbx_err *err)
{
    struct sbx_rule *rule = SBX_NEW(arena, struct sbx_rule);
    if (rule == NULL) {
        return sbx_err_nomem(err);
    }
    *rule = (struct sbx_rule){.path = context->system_root,
                              .access = SBX_ACCESS_READ,
                              .kind = SBX_RULE_HOST,
                              .node = SBX_NODE_DIRECTORY,
                              .by = SBX_BY_SBX};
    *out = (struct sbx_policy){.context = *context,
                               .rules = {rule, 1, 1},
                               .network = SBX_NET_DENY,
                               .cwd = context->system_root};
    return SBX_OK;
}

static enum sbx_code try_recipe(struct sbx_arena *arena, const struct sbx_context *context,
                                struct sbx_recipe recipe, struct sbx_err *err)
{
    const char *shell = sbx_arena_printf(arena, "%s\\System32\\cmd.exe", context->system_root.text);
    const char *const command[] = {shell, "/d", "/c", "exit 23", NULL};
    struct sbx_policy policy;
    struct sbx_run_record record = {0};
    enum sbx_code code =
        shell == NULL ? sbx_err_nomem(err) : make_policy(arena, context, &policy, err);
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_box_plan plan = {
        .policy = &policy,
        .command = command,
        .limits = {256 * MEBIBYTE, 512 * MEBIBYTE, 20, 4},
        .timeout_ns = PROBE_TIMEOUT_NS,
        .is_silent = true,
        .recipe = recipe,
    };
    code = sbx_box_run(arena, &plan, &record, err);
    if (code != SBX_OK) {
        return code;
    }
    if (record.outcome.limit != SBX_LIMIT_NONE || record.outcome.exit_code != EXPECTED_STATUS) {
        return sbx_err_set(
            err, SBX_E_VERIFY, "a command in the box ended with 0x%lX, not with %d%s%s",
            (unsigned long)record.outcome.exit_code, EXPECTED_STATUS,
            record.diagnosis == NULL ? "" : ": ", record.diagnosis == NULL ? "" : record.diagnosis);
    }
    return SBX_OK;
}

static bool is_possible(struct sbx_recipe recipe)
{
    return !recipe.has_console || sbx_terminal_is_available();
}

/* Fast failures are tried once more, because cold starts beside each other fail by contention; one that stalled
 * would only stall again. */
static enum sbx_code try_twice(struct sbx_arena *arena, const struct sbx_context *context,
                               struct sbx_recipe recipe, struct sbx_err *err)
{
    enum sbx_code code = SBX_OK;
    for (int i = 0; i < TRIES; i++) {
        code = try_recipe(arena, context, recipe, err);
        if (code != SBX_E_IO) {
            break;
        }
    }
    return code;
}

static const char *text_of(struct sbx_arena *arena, const char *text)
{
    const char *copy = sbx_arena_copy(arena, text, strlen(text));
    return copy == NULL ? "out of memory" : copy;
}

static void fail(struct sbx_arena *arena, const char *reason, const char *remedy,
                 struct sbx_probe *out)
{
    *out = (struct sbx_probe){
        .state = SBX_PROBE_FAILED,
        .reason = text_of(arena, reason),
        .remedy = remedy[0] == '\0' ? NULL : text_of(arena, remedy),
    };
}

static void pass(const char *version, struct sbx_probe *out)
{
    *out = (struct sbx_probe){.state = SBX_PROBE_PASSED, .version = version};
}

static void probe_all(struct sbx_arena *arena, const struct sbx_context *context,
                      struct sbx_probe *out)
{
    AUTO_BUF reasons;
    sbx_buf_init(&reasons, REASON_MAX);
    struct sbx_err err = {0};
    for (size_t i = 0; i < sbx_recipe_count; i++) {
        if (!is_possible(sbx_recipes[i])) {
            continue;
        }
        enum sbx_code code = try_twice(arena, context, sbx_recipes[i], &err);
        if (code == SBX_OK) {
            sbx_recipe_remember(arena, context, i);
            pass(sbx_recipe_text(sbx_recipes[i]), out);
            return;
        }
        sbx_buf_printf(&reasons, "%s%s: %s", reasons.len == 0 ? "" : "; ",
                       sbx_recipe_text(sbx_recipes[i]), err.text);
        if (code == SBX_E_UNAVAILABLE || code == SBX_E_UNSUPPORTED) {
            break; /* it stalled, or no recipe changes it */
        }
    }
    fail(arena, sbx_buf_text(&reasons), err.hint, out);
}

void sbx_recipe_probe(struct sbx_arena *arena, const struct sbx_context *context,
                      struct sbx_probe *out)
{
    struct sbx_err err;
    struct sbx_recipe known;
    if (sbx_winapi_check(sbx_win(), &err) != SBX_OK) {
        fail(arena, err.text, err.hint, out);
        return;
    }
    /* The run itself proves it again, step by step. */
    if (sbx_recipe_known(arena, context, &known)) {
        pass(sbx_recipe_text(known), out);
        return;
    }
    AUTO_HANDLE flight = sbx_win()->CreateMutexW(NULL, FALSE, L"Local\\sbx.probe");
    DWORD waited =
        flight == NULL ? WAIT_FAILED : sbx_win()->WaitForSingleObject(flight, FLIGHT_WAIT_MS);
    bool is_ours = waited == WAIT_OBJECT_0 || waited == WAIT_ABANDONED;
    /* Somebody else's answer came meanwhile? */
    if (sbx_recipe_known(arena, context, &known)) {
        pass(sbx_recipe_text(known), out);
    } else {
        probe_all(arena, context, out);
    }
    if (is_ours) {
        (void)sbx_win()->ReleaseMutex(flight);
    }
}
