/* What the tests of single Windows mechanisms share; see win_fixture.h. */
#include "tests/unit/win_fixture.h"

#include "win/environment.h"
#include "win/handle.h"
#include "win/quote.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { HANDLE_LAST = 0x8000 };

bool win_birth(struct sbx_arena *arena, const char *const *verb, struct sbx_process_plan *plan)
{
    const char *argv[32] = {actor_program(), "--actor"};
    static const char *const env[] = {"ACTOR=1", NULL};
    wchar_t *program = NULL;
    for (size_t i = 0; verb[i] != NULL && i + 3 < SBX_COUNT(argv); i++) {
        argv[i + 2] = verb[i];
    }
    *plan = (struct sbx_process_plan){0};
    bool is_made = sbx_wide_from(arena, argv[0], &program, NULL) == SBX_OK &&
                   sbx_quote_argv(arena, argv, &plan->command_line, NULL) == SBX_OK &&
                   sbx_environment_block(arena, env, &plan->environment, NULL) == SBX_OK;
    plan->program = program;
    return is_made;
}

size_t win_open_handles(void)
{
    size_t count = 0;
    for (ULONG_PTR i = 4; i < HANDLE_LAST; i += 4) {
        DWORD flags;
        count += GetHandleInformation((HANDLE)i, &flags) ? 1 : 0;
    }
    return count;
}

static long pid_in(const char *path)
{
    uint64_t pid = 0;
    return sbx_str_to_u64(sbx_str(actor_read(path)), &pid) ? (long)pid : 0;
}

long win_await_pid(const char *path)
{
    for (int i = 0; i < 1000 && pid_in(path) == 0; i++) {
        actor_sleep_ms(10);
    }
    return pid_in(path);
}

bool win_await_death(long pid)
{
    for (int i = 0; i < 500 && actor_is_process_alive(pid); i++) {
        actor_sleep_ms(10);
    }
    return !actor_is_process_alive(pid);
}

bool win_exists(const char *path)
{
    struct sbx_file_info info;
    sbx_os_file_info(path, &info);
    return info.node != SBX_NODE_MISSING;
}

HANDLE win_inheritable_event(void)
{
    SECURITY_ATTRIBUTES inherit = {.nLength = sizeof inherit, .bInheritHandle = TRUE};
    return CreateEventW(&inherit, TRUE, FALSE, NULL);
}
