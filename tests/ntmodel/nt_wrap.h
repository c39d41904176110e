/* A table around another one, the model's or the real: it counts and records every call, and can let one fail in
 * the way the table says that it fails. One is in use at a time.
 *
 *     static struct nt_wrap wrap;
 *     const struct sbx_winapi *sbx_win(void) { return nt_wrap_table(&wrap); }
 *     nt_wrap_begin(&wrap, nt_model_table());
 *     nt_wrap_fail(&wrap, 17, ERROR_ACCESS_DENIED);
 *     … the pipeline …
 *     CHECK(wrap.has_failed);
 *     nt_wrap_end(&wrap); */
#ifndef SBX_TESTS_NTMODEL_NT_WRAP_H
#define SBX_TESTS_NTMODEL_NT_WRAP_H

#include <stdbool.h>
#include <stdint.h>

#include "win/winapi.h"

struct nt_wrap_call {
    enum sbx_winapi_id id;
    bool was_failed;  /* by the wrapper */
    bool is_back;     /* false for one that never returned */
    DWORD thread;     /* the system's number */
    uint64_t result;  /* as it was returned, widened */
    DWORD last_error; /* after it */
};

struct nt_wrap {
    const struct sbx_winapi *inner;
    struct nt_wrap_call *calls; /* number n is calls[n - 1] */
    unsigned count;
    unsigned room;
    unsigned counts[SBX_CALL_COUNT];
    unsigned fail_at; /* number of the call that fails, 0: none */
    DWORD fail_code;
    bool has_failed;
    enum sbx_winapi_id failed_id;
    /* May be NULL. Called before each call, without a lock, n from 1. False: it fails with *code. */
    bool (*before)(void *state, enum sbx_winapi_id id, unsigned n, DWORD *code);
    void *state;
    SRWLOCK lock;
};

/* Forgets what was recorded and passes calls on to `inner`, which must outlive it. Slots that `inner` lacks are
 * NULL here too. */
void nt_wrap_begin(struct nt_wrap *wrap, const struct sbx_winapi *inner);

/* Call number n fails with the code: the out-parameters stay as they are, the inner call is not made. A call that
 * never fails (SURE) is passed on, and has_failed stays false. For an HRESULT or an NTSTATUS a code without its
 * highest bit is a Win32 code. */
void nt_wrap_fail(struct nt_wrap *wrap, unsigned n, DWORD code);

/* Frees the record. */
void nt_wrap_end(struct nt_wrap *wrap);

const struct sbx_winapi *nt_wrap_table(struct nt_wrap *wrap);

/* "CreateFileW", …: the names of the calls in order, each on a line; free() it. */
char *nt_wrap_trace(struct nt_wrap *wrap);

#endif
