/* Cases: the network of a box. */
#include <string.h>

#include "common/os.h"
#include "win/selftest.h"

#include "common/base/banned.h"

#define INHERIT "network = \"inherit\"\n"
#define HOST "example.com"
#define SERVE_MS "6000"

/* ---- from the host into a box ---- */

struct knock {
    const char *file;
    HANDLE thread;
    int raw; /* of the connection; -1: there was no port to try */
};

/* Waits for the port to be told, then knocks. */
static DWORD WINAPI knock(void *state)
{
    struct knock *knock = (struct knock *)state;
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 64u << 10);
    for (int i = 0; i < 300; i++) {
        struct sbx_str text;
        uint64_t port;
        if (sbx_os_read_file(&arena, knock->file, 16, &text, NULL, NULL) == SBX_OK &&
            sbx_str_to_u64(text, &port) && port > 0 && port < 65536) {
            knock->raw = sbx_socket_connect((uint16_t)port, 3000);
            return 0;
        }
        Sleep(20);
    }
    return 0;
}

static bool run_knocked(struct sbx_selftest *t, const struct sbx_selftest_plan *plan, bool is_boxed,
                        const char *file, struct sbx_selftest_box *box, int *raw,
                        struct sbx_selftest_result *result)
{
    struct knock state = {.file = file, .raw = -1};
    state.thread = CreateThread(NULL, 0, knock, &state, 0, NULL);
    bool has_run = is_boxed ? sbx_selftest_run_box(t, plan, box, result)
                            : sbx_selftest_run_outside(t, plan, box, result);
    if (state.thread != NULL) {
        (void)WaitForSingleObject(state.thread, INFINITE);
        (void)CloseHandle(state.thread);
    }
    *raw = state.raw;
    return has_run;
}

static void knock_on_box(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                         struct sbx_selftest_result *result)
{
    struct sbx_selftest_plan boxed = {.manifest = row->manifest,
                                      .words = "serve {inside}\\port-box " SERVE_MS};
    struct sbx_selftest_plan plain = {.words = "serve {inside}\\port-plain " SERVE_MS};
    struct sbx_selftest_box box;
    struct sbx_selftest_box outside;
    int raw_box;
    int raw_plain;
    const char *file_box = sbx_selftest_expand(t, "{inside}\\port-box");
    const char *file_plain = sbx_selftest_expand(t, "{inside}\\port-plain");
    if (file_box == NULL || file_plain == NULL || !sbx_selftest_has_box(t, result) ||
        !run_knocked(t, &plain, false, file_plain, &outside, &raw_plain, result) ||
        !run_knocked(t, &boxed, true, file_box, &box, &raw_box, result)) {
        return;
    }
    bool is_open = outside.answer == SBX_ANSWER_DONE;
    bool is_closed = (SBX_ANSWER_CLOSED & (unsigned)box.answer) != 0;
    sbx_selftest_say(t, result, is_open && is_closed ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL,
                     "box: %s (connection %d); outside: %s (connection %d)",
                     sbx_selftest_describe(t, &box), raw_box, sbx_selftest_describe(t, &outside),
                     raw_plain);
}

/* ---- rows ---- */

static const struct sbx_selftest_case network_cases[] = {
    {.id = "network.loopback",
     .promise = "a box without network does not reach a listener of the host on loopback",
     .attempt = "connect {port}",
     .wants = SBX_ANSWER_CLOSED,
     .control = SBX_ANSWER_DONE},
    {.id = "network.loopback-inherit",
     .promise = "it is measured whether a box with the host's network reaches loopback",
     .manifest = INHERIT,
     .attempt = "connect {port}",
     .wants = SBX_ANSWER_ANY,
     .control = SBX_ANSWER_DONE},
    {.id = "network.into-box",
     .promise = "the host does not connect into a box without network",
     .manifest = SBX_SELFTEST_WRITES,
     .run = knock_on_box},
    {.id = "network.each-other",
     .promise = "it is measured whether two processes of one box connect on loopback",
     .attempt = "each-other",
     .wants = SBX_ANSWER_ANY,
     .control = SBX_ANSWER_DONE},
    {.id = "network.resolve-denied",
     .promise = "a box without network gets no address from the host's resolver",
     .attempt = "resolve " HOST,
     .wants = SBX_ANSWER_CLOSED,
     .control = SBX_ANSWER_DONE | SBX_CONTROL_OR_CANNOT},
    {.id = "network.connect-denied",
     .promise = "a box without network reaches no host",
     .attempt = "connect-to " HOST " 443",
     .wants = SBX_ANSWER_CLOSED,
     .control = SBX_ANSWER_DONE | SBX_CONTROL_OR_CANNOT},
    {.id = "network.resolve",
     .promise = "a box with the host's network resolves names",
     .manifest = INHERIT,
     .attempt = "resolve " HOST,
     .wants = SBX_ANSWER_DONE,
     .control = SBX_ANSWER_DONE | SBX_CONTROL_OR_CANNOT},
    {.id = "network.https",
     .promise = "a box with the host's network speaks TLS (WinHTTP, Schannel)",
     .manifest = INHERIT,
     .attempt = "https " HOST,
     .wants = SBX_ANSWER_DONE,
     .control = SBX_ANSWER_DONE | SBX_CONTROL_OR_CANNOT},
};
const struct sbx_selftest_group sbx_selftest_network_group = {"network", network_cases,
                                                              SBX_COUNT(network_cases)};
