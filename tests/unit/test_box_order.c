/* The recorded order of a run against the golden pipeline of each class of manifest: the lease before what it names,
 * the job and its limits before the process, verification after the process and before its release, nothing after a
 * failed verification but ending and undoing. On the model of NT. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "tests/check.h"
#include "tests/unit/box_asks.h"

const struct sbx_winapi *sbx_win(void)
{
    return nt_model_table();
}

/* ---- recording ---------------------------------------------------------------------------------- */

/* Calls that act or prove. Waiting, closing, memory, time and the carrying of streams are left out: they come in any
 * order. */
static const enum sbx_winapi_id recorded[] = {
    SBX_CALL_CreateAppContainerProfile,
    SBX_CALL_DeleteAppContainerProfile,
    SBX_CALL_DeriveCapabilitySidsFromName,
    SBX_CALL_CreateRestrictedToken,
    SBX_CALL_SetTokenInformation,
    SBX_CALL_GetTokenInformation,
    SBX_CALL_CreateJobObjectW,
    SBX_CALL_SetInformationJobObject,
    SBX_CALL_IsProcessInJob,
    SBX_CALL_TerminateJobObject,
    SBX_CALL_CreateDesktopExW,
    SBX_CALL_CreateWindowStationW,
    SBX_CALL_CreatePseudoConsole,
    SBX_CALL_ReadDirectoryChangesW,
    SBX_CALL_UpdateProcThreadAttribute,
    SBX_CALL_CreateProcessAsUserW,
    SBX_CALL_QueryFullProcessImageNameW,
    SBX_CALL_GetProcessMitigationPolicy,
    SBX_CALL_ResumeThread,
    SBX_CALL_SetKernelObjectSecurity,
    SBX_CALL_FlushFileBuffers,
};

enum { CALLS_MAX = 20000 };
static struct {
    enum sbx_winapi_id ids[CALLS_MAX];
    size_t count;
} trace;

static bool record(void *state, enum sbx_winapi_id id, unsigned n)
{
    (void)state;
    (void)n;
    for (size_t i = 0; i < SBX_COUNT(recorded); i++) {
        if (recorded[i] == id && trace.count < CALLS_MAX) {
            trace.ids[trace.count++] = id;
        }
    }
    return true;
}

static void print_trace(struct sbx_buf *out)
{
    for (size_t i = 0; i < trace.count;) {
        size_t same = 1;
        while (i + same < trace.count && trace.ids[i + same] == trace.ids[i]) {
            same++;
        }
        sbx_buf_printf(out, "%s", sbx_winapi_rows[trace.ids[i]].name);
        if (same > 1) {
            sbx_buf_printf(out, " x%zu", same);
        }
        sbx_buf_add_char(out, '\n');
        i += same;
    }
}

/* ---- comparing ---------------------------------------------------------------------------------- */

static char *read_golden(const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof path, "tests/golden/pipeline-%s.txt", name);
    FILE *file = fopen(path, "rb");
    static char text[65536];
    size_t got = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    text[got] = '\0';
    if (file != NULL) {
        (void)fclose(file);
    }
    return text;
}

static void compare(const char *name)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 1 << 20);
    print_trace(&text);
    const char *got = sbx_buf_text(&text);
    bool is_same = strcmp(got, read_golden(name)) == 0;
    if (!is_same) {
        printf("# pipeline-%s.txt should be:\n", name);
        for (const char *line = got; *line != '\0';) {
            const char *end = strchr(line, '\n');
            printf("#> %.*s\n", (int)(end - line), line);
            line = end + 1;
        }
    }
    CHECK(is_same);
}

/* The first and the second run of each class. */
static void the_order_is_the_golden_one(void)
{
    for (size_t i = 0; i < ask_class_count; i++) {
        AUTO_BOXED boxed;
        char name[64];
        boxed_open(&boxed, &(struct nt_world){0}, ask_classes[i].toml);
        nt_model_before(boxed.model, record, NULL);
        trace.count = 0;
        CHECK_CODE(boxed_run(&boxed), SBX_OK, &boxed.err);
        (void)snprintf(name, sizeof name, "%s-first", ask_classes[i].name);
        compare(name);
        trace.count = 0;
        CHECK_CODE(boxed_run(&boxed), SBX_OK, &boxed.err);
        (void)snprintf(name, sizeof name, "%s-again", ask_classes[i].name);
        compare(name);
    }
}

/* ---- rules that hold for any order -------------------------------------------------------------- */

static size_t first_of(enum sbx_winapi_id id)
{
    for (size_t i = 0; i < trace.count; i++) {
        if (trace.ids[i] == id) {
            return i;
        }
    }
    return CALLS_MAX;
}

static size_t last_of(enum sbx_winapi_id id)
{
    for (size_t i = trace.count; i > 0; i--) {
        if (trace.ids[i - 1] == id) {
            return i - 1;
        }
    }
    return CALLS_MAX;
}

static void what_must_come_first_comes_first(void)
{
    for (size_t i = 0; i < ask_class_count; i++) {
        AUTO_BOXED boxed;
        boxed_open(&boxed, &(struct nt_world){0}, ask_classes[i].toml);
        nt_model_before(boxed.model, record, NULL);
        trace.count = 0;
        CHECK_CODE(boxed_run(&boxed), SBX_OK, &boxed.err);
        size_t birth = first_of(SBX_CALL_CreateProcessAsUserW);
        size_t release = first_of(SBX_CALL_ResumeThread);
        CHECK(first_of(SBX_CALL_FlushFileBuffers) < first_of(SBX_CALL_CreateAppContainerProfile));
        CHECK(first_of(SBX_CALL_FlushFileBuffers) < first_of(SBX_CALL_SetKernelObjectSecurity));
        CHECK(last_of(SBX_CALL_SetInformationJobObject) < birth);
        CHECK(first_of(SBX_CALL_CreateRestrictedToken) < birth);
        CHECK(birth < first_of(SBX_CALL_IsProcessInJob));
        CHECK(first_of(SBX_CALL_IsProcessInJob) < release);
        CHECK(last_of(SBX_CALL_QueryFullProcessImageNameW) < release ||
              last_of(SBX_CALL_QueryFullProcessImageNameW) == CALLS_MAX);
        CHECK(last_of(SBX_CALL_GetProcessMitigationPolicy) < release);
        CHECK(release < first_of(SBX_CALL_TerminateJobObject));
        CHECK(first_of(SBX_CALL_TerminateJobObject) < first_of(SBX_CALL_DeleteAppContainerProfile));
    }
}

static bool fail_token_query_after_birth(void *state, enum sbx_winapi_id id, unsigned n)
{
    bool *is_born = state;
    (void)record(NULL, id, n);
    *is_born |= id == SBX_CALL_CreateProcessAsUserW;
    if (*is_born && id == SBX_CALL_IsProcessInJob) {
        SetLastError(ERROR_ACCESS_DENIED);
        return false;
    }
    return true;
}

static DWORD leaves_a_mark(struct nt_process *self, void *state)
{
    (void)self;
    *(bool *)state = true;
    return 0;
}

static void after_a_failed_verification_the_box_only_ends(void)
{
    bool is_born = false;
    bool has_run = false;
    AUTO_BOXED boxed;
    boxed_open(&boxed, &(struct nt_world){.actor = leaves_a_mark, .actor_state = &has_run},
               ask_classes[0].toml);
    trace.count = 0;
    nt_model_before(boxed.model, fail_token_query_after_birth, &is_born);
    CHECK_CODE(boxed_run(&boxed), SBX_E_VERIFY, &boxed.err);
    CHECK(!has_run);
    CHECK(first_of(SBX_CALL_ResumeThread) == CALLS_MAX);
    CHECK(first_of(SBX_CALL_TerminateJobObject) != CALLS_MAX);
    CHECK(boxed.record.evidence_count > 0);
}

static const struct sbx_test tests[] = {
    {"simulated: the order of calls is the golden one", the_order_is_the_golden_one},
    {"simulated: what must come first comes first", what_must_come_first_comes_first},
    {"simulated: after a failed verification the box only ends",
     after_a_failed_verification_the_box_only_ends},
};
SBX_TEST_MAIN("simulated_box_order", tests)
