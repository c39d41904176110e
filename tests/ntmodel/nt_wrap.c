/* A table around another one that records every call and can let one fail. */
#include "tests/ntmodel/nt_wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ntmodel/nt_internal.h"

#include "common/base/banned.h"

static struct nt_wrap *current;

/* What a call carries from its way in to its way out. */
struct visit {
    struct nt_wrap *wrap;
    unsigned n;
    DWORD code; /* that it fails with, 0: it is passed on */
};

static struct visit enter(enum sbx_winapi_id id, enum sbx_winapi_tells tells)
{
    DWORD saved = GetLastError();
    struct nt_wrap *wrap = current;
    struct visit visit = {wrap, 0, 0};
    AcquireSRWLockExclusive(&wrap->lock);
    if (wrap->count == wrap->room) {
        wrap->room = wrap->room == 0 ? 1024 : wrap->room * 2;
        wrap->calls = realloc(wrap->calls, wrap->room * sizeof wrap->calls[0]);
        if (wrap->calls == NULL) {
            (void)fprintf(stderr, "nt wrap: out of memory\n");
            abort();
        }
    }
    wrap->calls[wrap->count] = (struct nt_wrap_call){.id = id, .thread = GetCurrentThreadId()};
    visit.n = ++wrap->count;
    wrap->counts[id]++;
    bool can_fail = tells != SBX_TELLS_SURE;
    if (can_fail && visit.n == wrap->fail_at) {
        visit.code = wrap->fail_code;
    }
    ReleaseSRWLockExclusive(&wrap->lock);
    DWORD code = ERROR_GEN_FAILURE;
    if (wrap->before != NULL && visit.code == 0 && !wrap->before(wrap->state, id, visit.n, &code) &&
        can_fail) {
        visit.code = code;
    }
    if (visit.code != 0) {
        AcquireSRWLockExclusive(&wrap->lock);
        wrap->has_failed = true;
        wrap->failed_id = id;
        wrap->calls[visit.n - 1].was_failed = true;
        ReleaseSRWLockExclusive(&wrap->lock);
    }
    SetLastError(saved);
    return visit;
}

static void leave(const struct visit *visit, uint64_t result)
{
    DWORD saved = GetLastError();
    struct nt_wrap *wrap = visit->wrap;
    AcquireSRWLockExclusive(&wrap->lock);
    if (visit->n <= wrap->count) { /* else the record was begun anew meanwhile */
        struct nt_wrap_call *call = &wrap->calls[visit->n - 1];
        call->is_back = true;
        call->result = result;
        call->last_error = saved;
    }
    ReleaseSRWLockExclusive(&wrap->lock);
    SetLastError(saved);
}

/* The last error is set by the calls that tell by it, and by no other. */
static void set_error(enum sbx_winapi_tells tells, DWORD code)
{
    if (tells != SBX_TELLS_CODE && tells != SBX_TELLS_RESULT && tells != SBX_TELLS_STATUS) {
        SetLastError(code);
    }
}

#pragma GCC diagnostic ignored "-Wpedantic" /* return of nothing, where a call answers nothing */

/* Long names: parameters of the calls are called `result`, too. */
#define FORWARD(tells, type, name, arguments)                                                      \
    type wrap_answer = wrap_visit.code != 0 ? NT_TOLD_##tells(type, wrap_visit.code)               \
                                            : wrap_visit.wrap->inner->name arguments;              \
    if (wrap_visit.code != 0) {                                                                    \
        set_error(SBX_TELLS_##tells, wrap_visit.code);                                             \
    }                                                                                              \
    leave(&wrap_visit, (uint64_t)(ULONG_PTR)wrap_answer);                                          \
    return wrap_answer;

/* What never fails is passed on as it is, and may answer nothing at all. */
#define FORWARD_SURE(type, name, arguments)                                                        \
    SBX_CLEANUP(leave_sure) struct visit wrap_kept = wrap_visit;                                   \
    return wrap_kept.wrap->inner->name arguments;

static void leave_sure(const struct visit *visit)
{
    leave(visit, 0);
}

#define DOOR_TRUTH(type, name, arguments) FORWARD(TRUTH, type, name, arguments)
#define DOOR_OBJECT(type, name, arguments) FORWARD(OBJECT, type, name, arguments)
#define DOOR_FILED(type, name, arguments) FORWARD(FILED, type, name, arguments)
#define DOOR_COUNT(type, name, arguments) FORWARD(COUNT, type, name, arguments)
#define DOOR_WAITED(type, name, arguments) FORWARD(WAITED, type, name, arguments)
#define DOOR_MINUS(type, name, arguments) FORWARD(MINUS, type, name, arguments)
#define DOOR_CODE(type, name, arguments) FORWARD(CODE, type, name, arguments)
#define DOOR_RESULT(type, name, arguments) FORWARD(RESULT, type, name, arguments)
#define DOOR_STATUS(type, name, arguments) FORWARD(STATUS, type, name, arguments)
#define DOOR_SURE(type, name, arguments) FORWARD_SURE(type, name, arguments)

#define DOOR(dll, need, tells, type, name, parameters, arguments)                                  \
    static type WINAPI door_##name parameters                                                      \
    {                                                                                              \
        struct visit wrap_visit = enter(SBX_CALL_##name, SBX_TELLS_##tells);                       \
        DOOR_##tells(type, name, arguments)                                                        \
    }
SBX_WINAPI_CALLS(DOOR)
#undef DOOR

static struct sbx_winapi table;

const struct sbx_winapi *nt_wrap_table(struct nt_wrap *wrap)
{
    current = wrap;
    return &table;
}

void nt_wrap_begin(struct nt_wrap *wrap, const struct sbx_winapi *inner)
{
    AcquireSRWLockExclusive(&wrap->lock);
    wrap->inner = inner;
    wrap->count = 0;
    memset(wrap->counts, 0, sizeof wrap->counts);
    wrap->fail_at = 0;
    wrap->has_failed = false;
    current = wrap;
#define FILL(dll, need, tells, type, name, parameters, arguments)                                  \
    table.name = inner->name == NULL ? NULL : door_##name;
    SBX_WINAPI_CALLS(FILL)
#undef FILL
    ReleaseSRWLockExclusive(&wrap->lock);
}

void nt_wrap_fail(struct nt_wrap *wrap, unsigned n, DWORD code)
{
    wrap->fail_at = n;
    wrap->fail_code = code;
}

void nt_wrap_end(struct nt_wrap *wrap)
{
    free(wrap->calls);
    wrap->calls = NULL;
    wrap->count = 0;
    wrap->room = 0;
}

char *nt_wrap_trace(struct nt_wrap *wrap)
{
    AcquireSRWLockExclusive(&wrap->lock);
    size_t size = 1;
    for (unsigned i = 0; i < wrap->count; i++) {
        size += strlen(sbx_winapi_rows[wrap->calls[i].id].name) + 1;
    }
    char *text = calloc(1, size);
    char *at = text;
    for (unsigned i = 0; at != NULL && i < wrap->count; i++) {
        const char *name = sbx_winapi_rows[wrap->calls[i].id].name;
        size_t len = strlen(name);
        memcpy(at, name, len);
        at[len] = '\n';
        at += len + 1;
    }
    ReleaseSRWLockExclusive(&wrap->lock);
    return text;
}
