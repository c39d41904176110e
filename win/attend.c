/* A command from its release to the end of its tree. */
#include "win/attend.h"

#include "win/console.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/job.h"

#include "common/base/banned.h"

enum { LONGEST_WAIT_MS = 3600000, TICK_MS = 250, EXIT_WAIT_MS = 5000 };

enum sbx_code sbx_attend_init(struct sbx_attend *attend, struct sbx_err *err)
{
    HANDLE *const events[] = {&attend->cancel, &attend->over, &attend->done};
    for (size_t i = 0; i < SBX_COUNT(events); i++) {
        *events[i] = sbx_win()->CreateEventW(NULL, TRUE, FALSE, NULL);
        if (*events[i] == NULL) {
            DWORD raw = GetLastError();
            sbx_attend_release(attend);
            return sbx_err_win32(err, raw, "CreateEventW", "cannot watch the command");
        }
    }
    return SBX_OK;
}

void sbx_attend_release(struct sbx_attend *attend)
{
    for (size_t i = 0; i < SBX_COUNT(attend->output); i++) {
        (void)sbx_pump_close(SBX_TAKE(attend->output[i], NULL));
    }
    if (attend->input != NULL) {
        sbx_pump_hurry(attend->input);
        (void)sbx_pump_close(SBX_TAKE(attend->input, NULL));
    }
    sbx_handle_close(&attend->cancel);
    sbx_handle_close(&attend->over);
    sbx_handle_close(&attend->done);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static DWORD left_ms(const struct sbx_attend *attend)
{
    DWORD most = attend->tick != NULL ? TICK_MS : LONGEST_WAIT_MS;
    if (attend->deadline_ns == 0) {
        return attend->tick != NULL ? TICK_MS : INFINITE;
    }
    uint64_t now = sbx_os_monotonic_ns();
    uint64_t left = attend->deadline_ns <= now ? 0 : (attend->deadline_ns - now) / 1000000 + 1;
    return left > most ? most : (DWORD)left;
}

static void note_limit(struct sbx_attend *attend, enum sbx_limit limit)
{
    if (attend->outcome.limit == SBX_LIMIT_NONE) {
        attend->outcome.limit = limit;
        attend->outcome.origin = SBX_FROM_SBX;
    }
}

/* Waits for `what`; true when it came, false when the run was told to end. While the command runs its outputs and
 * the alarm count too. */
static bool await(struct sbx_attend *attend, HANDLE what, bool is_running)
{
    const struct {
        HANDLE handle;
        enum sbx_limit limit;
    } rows[] = {
        {attend->cancel, SBX_LIMIT_CANCEL},
        {is_running ? attend->over : NULL, SBX_LIMIT_OUTPUT},
        {is_running ? attend->alarm : NULL, attend->alarm_limit},
    };
    HANDLE handles[1 + SBX_COUNT(rows)] = {what};
    enum sbx_limit limits[1 + SBX_COUNT(rows)];
    DWORD count = 1;
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        if (rows[i].handle != NULL) {
            limits[count] = rows[i].limit;
            handles[count++] = rows[i].handle;
        }
    }
    for (;;) {
        DWORD got = sbx_win()->WaitForMultipleObjects(count, handles, FALSE, left_ms(attend));
        if (got == WAIT_OBJECT_0) {
            return true;
        }
        if (got > WAIT_OBJECT_0 && got < WAIT_OBJECT_0 + count) {
            note_limit(attend, limits[got - WAIT_OBJECT_0]);
            return false;
        }
        if (got != WAIT_TIMEOUT) {
            note_limit(attend, SBX_LIMIT_CANCEL); /* unsure means ended */
            return false;
        }
        if (attend->deadline_ns != 0 && sbx_os_monotonic_ns() >= attend->deadline_ns) {
            note_limit(attend, SBX_LIMIT_TIMEOUT);
            return false;
        }
        if (attend->tick != NULL) {
            attend->tick(attend->state);
        }
    }
}

/* The tree is gone; what it wrote is still in the pipes. A slow reader is waited for unless the run
 * was told to end. */
static void pass_on_rest(struct sbx_attend *attend)
{
    bool hurries =
        attend->outcome.limit == SBX_LIMIT_TIMEOUT || attend->outcome.limit == SBX_LIMIT_CANCEL;
    if (attend->input != NULL) {
        sbx_pump_hurry(attend->input); /* nobody reads it any more */
    }
    for (size_t i = 0; i < SBX_COUNT(attend->output); i++) {
        if (attend->output[i] == NULL) {
            continue;
        }
        if (hurries || !await(attend, sbx_pump_thread(attend->output[i]), false)) {
            hurries = true;
            sbx_pump_hurry(attend->output[i]);
        } else if (sbx_pump_is_over(attend->output[i])) {
            note_limit(attend, SBX_LIMIT_OUTPUT);
        }
    }
}

/* ---- the run --------------------------------------------------------------------------------- */

static void account(struct sbx_attend *attend)
{
    DWORD exit_code = 0;
    (void)sbx_win()->WaitForSingleObject(attend->process, EXIT_WAIT_MS);
    (void)sbx_win()->GetExitCodeProcess(attend->process, &exit_code);
    attend->outcome.exit_code = exit_code;
    attend->outcome.started = true;
    sbx_job_account(attend->job, attend->process, &attend->outcome);
}

enum sbx_code sbx_attend_run(struct sbx_attend *attend, struct sbx_err *err)
{
    sbx_console_watch(attend->cancel, attend->done);
    attend->begin_ns = sbx_os_monotonic_ns();
    if (attend->timeout_ns != 0) {
        attend->deadline_ns = attend->begin_ns + attend->timeout_ns;
    }
    enum sbx_code code = SBX_OK;
    /* 1: it was suspended once. Anything else is another state than the one that was verified. */
    DWORD count = sbx_win()->ResumeThread(attend->thread);
    if (count != 1) {
        DWORD raw = GetLastError();
        code =
            count == (DWORD)-1
                ? sbx_err_win32(err, raw, "ResumeThread", "cannot start the program")
                : sbx_err_set(err, SBX_E_VERIFY,
                              "the program was not held when it was to be released (%lu)", count);
    } else {
        (void)await(attend, attend->process, true);
    }
    attend->outcome.wall_ns = sbx_os_monotonic_ns() - attend->begin_ns;
    attend->is_tree_left = !sbx_job_end(attend->job);
    if (attend->ended != NULL) {
        attend->ended(attend->state);
    }
    pass_on_rest(attend);
    (void)sbx_win()->SetEvent(attend->done);
    sbx_console_release();
    if (code == SBX_OK) {
        account(attend);
    }
    return code;
}
