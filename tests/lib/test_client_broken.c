/* libsbx and a worker that breaks, or memory that does: nothing is worse than an error. */
#include <signal.h>
#include <stdlib.h>

#include "tests/check.h"
#include "tests/lib/peer.h"

#include "common/base/banned.h"

static void expect_no_greeting(const char *said, const char *name, int number)
{
    struct peer peer;
    struct sbx_client_options options = {.timeout_ms = 200};
    struct sbx_client_error error = {0};
    peer_init(&peer);
    if (said != NULL) peer_says(&peer, "%s", said);
    if (said != NULL) peer_hangs_up(&peer);
    CHECK(peer_open_with(&peer, options, &error) == NULL);
    CHECK_TEXT(error.name, name);
    CHECK_INT(error.number, number);
    CHECK(error.text[0] != '\0');
    peer_release(&peer);
}

static void what_is_no_service_is_an_error(void)
{
    expect_no_greeting(NULL, "lost", 0); /* says nothing */
    expect_no_greeting("HTTP/1.1 400 Bad Request", "protocol", 0);
    expect_no_greeting("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol\":2}}", "protocol", 0);
    expect_no_greeting("{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}", "lost", 0);
    expect_no_greeting("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-33008,\"message\":\"not "
                       "you\",\"data\":{\"name\":\"permission\",\"retryable\":false}}}",
                       "permission", -33008);
    expect_no_greeting("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32001,\"message\":"
                       "\"full\",\"data\":{\"name\":\"overloaded\",\"retryable\":true}}}",
                       "overloaded", -32001);
}

/* ---- the worker breaks ---- */

static void a_lost_worker_is_an_error_and_no_signal(void)
{
    struct peer peer;
    struct sbx_client_error error = {0};
    struct sbx_client_event event;
    sbx_client_run_id run;
    const char *const argv[] = {"true", NULL};
    struct sbx_client *client = peer_open_run(&peer, (struct sbx_client_run_options){0}, &run);
    CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    peer_says(&peer, EXITED, 0);
    peer_hangs_up(&peer);
    CHECK_INT(sbx_client_start(client, &(struct sbx_client_run_options){.argv = argv}, &run, NULL),
              0);
    /* What came before the end still counts. */
    peer_check_event(client, SBX_CLIENT_STARTED, &event);
    peer_check_event(client, SBX_CLIENT_EXITED, &event);
    CHECK_INT(sbx_client_next(client, -1, &event, &error), -1);
    CHECK_TEXT(error.name, "lost");
    CHECK(error.is_retryable);
    CHECK_INT(
        sbx_client_start(client, &(struct sbx_client_run_options){.argv = argv}, &run, &error), -1);
    CHECK_INT(sbx_client_doctor(client, NULL, &error), -1);
    CHECK_TEXT(error.name, "lost");
    sbx_client_close(client);
    peer_release(&peer);
}

static void expect_broken(const char *line)
{
    struct peer peer;
    struct sbx_client_error error = {0};
    struct sbx_client_event event;
    sbx_client_run_id run;
    struct sbx_client *client = peer_open_run(&peer, (struct sbx_client_run_options){0}, &run);
    peer_check_event(client, SBX_CLIENT_STARTED, &event);
    peer_says(&peer, "%s", line);
    CHECK_INT(sbx_client_next(client, 0, &event, &error), -1);
    CHECK_TEXT(error.name, "protocol");
    sbx_client_close(client);
    peer_release(&peer);
}

static void what_is_no_message_ends_the_connection(void)
{
    expect_broken(" ");
    expect_broken("[]");
    expect_broken("{\"jsonrpc\":\"2.0\",\"method\":\"output\",\"method\":\"x\"}");
    expect_broken(
        NOTICE("output", "\"stream\":\"stdout\",\"data\":\"????\",\"encoding\":\"base64\""));
    expect_broken(NOTICE("output", "\"stream\":\"stdout\",\"data\":7,\"encoding\":\"text\""));
    expect_broken(NOTICE("exited", "\"result\":7"));
    expect_broken(NOTICE("stdin", "\"bytes\":-5"));
}

/* ---- memory ---- */

struct memory {
    size_t live, calls, fail_at;
};

static void *count_memory(void *state, void *old, size_t bytes)
{
    struct memory *memory = (struct memory *)state;
    if (bytes == 0) {
        if (old != NULL) memory->live--;
        free(old);
        return NULL;
    }
    if (++memory->calls == memory->fail_at) return NULL;
    void *fresh = realloc(old, bytes);
    if (fresh != NULL && old == NULL) memory->live++;
    return fresh;
}

/* True when everything worked. */
static bool live_with(struct memory *memory)
{
    struct peer peer;
    struct sbx_client_error error = {0};
    struct sbx_client_result result;
    const char *const argv[] = {"true", NULL};
    struct sbx_client_options options = {.resize_memory = count_memory, .memory_state = memory};
    struct sbx_client_run_options run = {.argv = argv, .manifest = "{}"};
    peer_init(&peer);
    peer_says(&peer, "%s", peer_greeting);
    peer_says(&peer, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"run\":\"r7\",\"backend\":"
                     "\"native\",\"digest\":"
                     "\"d\",\"warm\":true}}");
    peer_says(&peer,
              NOTICE("output", "\"stream\":\"stdout\",\"data\":\"one\",\"encoding\":\"text\""));
    peer_says(&peer, EXITED, 0);
    struct sbx_client *client = peer_open_with(&peer, options, &error);
    bool worked = client != NULL && sbx_client_run(client, &run, &result, &error) == 0 &&
                  result.output_len == 3;
    if (!worked && client != NULL && error.name[0] != '\0') CHECK_TEXT(error.name, "memory");
    sbx_client_close(client);
    if (client == NULL) CHECK(error.name[0] != '\0');
    peer_release(&peer);
    return worked;
}

static void memory_is_the_callers_and_running_out_is_an_error(void)
{
    struct memory memory = {.fail_at = 0};
    CHECK(live_with(&memory));
    CHECK_U64(memory.live, 0);
    CHECK(memory.calls > 5);
    bool worked = false;
    for (size_t n = 1; !worked && n < 1000; n++) {
        memory = (struct memory){.fail_at = n};
        worked = live_with(&memory) && memory.calls < n;
        CHECK_U64(memory.live, 0);
    }
    CHECK(worked);
}

static const struct sbx_test tests[] = {
    {"what is no service is an error", what_is_no_service_is_an_error},
    {"a lost worker is an error and no signal", a_lost_worker_is_an_error_and_no_signal},
    {"what is no message ends the connection", what_is_no_message_ends_the_connection},
    {"memory is the caller's, and running out of it is an error",
     memory_is_the_callers_and_running_out_is_an_error},
};
SBX_TEST_MAIN("client_broken", tests)
