/* The clock of a model, its lock, and sleeping.
 *
 * Time passes as it does outside, and besides it jumps: when every thread of the model waits, nothing can happen before
 * the earliest deadline, and it is that time at once. A limit of a minute is met in no time, and a machine that is
 * slow makes nobody late. */
#include "tests/ntmodel/nt_internal.h"

#include "common/base/banned.h"

/* One thread that waits; on its stack, in the model's list. */
struct nt_sleeper {
    struct nt_sleeper *next;
    uint64_t until_tick;
    unsigned epoch;  /* of the model when it fell asleep */
    bool is_counted; /* one of those that must all wait before time jumps */
};

void nt_lock(struct nt_model *model)
{
    AcquireSRWLockExclusive(&model->lock);
}

void nt_unlock(struct nt_model *model)
{
    ReleaseSRWLockExclusive(&model->lock);
}

static uint64_t tick(const struct nt_model *model)
{
    return GetTickCount64() + model->skipped_ms;
}

uint64_t nt_time(struct nt_model *model)
{
    uint64_t now = model->start_time + (tick(model) - model->start_tick) * 10000;
    model->clock = now > model->clock ? now : model->clock + 1;
    return model->clock;
}

FILETIME nt_filetime(uint64_t time)
{
    return (FILETIME){(DWORD)time, (DWORD)(time >> 32)};
}

uint64_t nt_until(struct nt_model *model, DWORD ms)
{
    return ms == INFINITE ? UINT64_MAX : tick(model) + ms;
}

/* Whoever sleeps has something to look at, and runs until it has looked. */
void nt_wake(struct nt_model *model)
{
    model->epoch++;
    model->running += model->sleeping;
    model->sleeping = 0;
    WakeAllConditionVariable(&model->changed);
}

static void jump_if_all_wait(struct nt_model *model)
{
    uint64_t first = UINT64_MAX;
    for (const struct nt_sleeper *at = model->sleepers; at != NULL; at = at->next) {
        first = at->until_tick < first ? at->until_tick : first;
    }
    uint64_t now = tick(model);
    if (model->running == 0 && first != UINT64_MAX) {
        model->skipped_ms += first > now ? first - now : 0;
        nt_wake(model);
    }
}

static void fall_asleep(struct nt_model *model, struct nt_sleeper *sleeper)
{
    sleeper->epoch = model->epoch;
    sleeper->next = model->sleepers;
    model->sleepers = sleeper;
    if (sleeper->is_counted) {
        model->running--;
        model->sleeping++;
    }
    jump_if_all_wait(model);
}

static void wake_up(struct nt_model *model, const struct nt_sleeper *sleeper)
{
    struct nt_sleeper **at = &model->sleepers;
    while (*at != sleeper) {
        at = &(*at)->next;
    }
    *at = sleeper->next;
    if (sleeper->is_counted && sleeper->epoch == model->epoch) { /* by itself: nobody counted it */
        model->sleeping--;
        model->running++;
    }
}

bool nt_sleep_plain(struct nt_model *model, uint64_t until_tick)
{
    DWORD saved = GetLastError();
    uint64_t now = tick(model);
    if (until_tick != UINT64_MAX && now >= until_tick) {
        return false;
    }
    struct nt_sleeper sleeper = {.until_tick = until_tick, .is_counted = nt_is_counted(model)};
    fall_asleep(model, &sleeper);
    if (sleeper.epoch == model->epoch) { /* else there is something to look at already */
        uint64_t left = until_tick - now;
        DWORD ms = until_tick == UINT64_MAX || left >= INFINITE ? INFINITE : (DWORD)left;
        (void)SleepConditionVariableSRW(&model->changed, &model->lock, ms, 0);
    }
    wake_up(model, &sleeper);
    SetLastError(saved);
    return true;
}

bool nt_sleep(struct nt_model *model, uint64_t until_tick)
{
    bool slept = nt_sleep_plain(model, until_tick);
    nt_die_if_ended(nt_self());
    return slept;
}

/* ---- the calls ---------------------------------------------------------------------------------------- */

void WINAPI nt_Sleep(DWORD ms)
{
    struct nt_model *model = nt_model_of_call();
    uint64_t until = nt_until(model, ms);
    while (nt_sleep(model, until)) {
    }
}

ULONGLONG WINAPI nt_GetTickCount64(void)
{
    return tick(nt_model_of_call());
}

void WINAPI nt_GetSystemTimeAsFileTime(LPFILETIME out)
{
    *out = nt_filetime(nt_time(nt_model_of_call()));
}
