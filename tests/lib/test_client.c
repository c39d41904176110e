/* libsbx against a worker that says what is written down here: what is sent, and what events become of what is received. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/lib/peer.h"

#include "common/base/banned.h"

/* ---- greeting ---- */

static void a_connection_greets(void)
{
    struct peer peer;
    struct sbx_client *client = peer_open(&peer);
    CHECK(strstr(sbx_client_greeting(client), "\"version\":\"9.9\"") != NULL);
    CHECK(!sbx_client_is_local(client));
    CHECK(sbx_client_fd(client) >= 0);
    CHECK_INT(sbx_client_version(), SBX_VERSION_NUMBER);
    sbx_client_close(client);
    peer_release(&peer);
}

/* ---- a run ---- */

static void a_run_is_asked_for_as_the_protocol_says(void)
{
    struct peer peer;
    struct sbx_client *client = peer_open(&peer);
    const char *const argv[] = {"echo", "a \"b\"\n", NULL};
    const char *const env[] = {"A=1", "B=", "nothing", "=x", "A=2", "BAD=\xff", NULL};
    struct sbx_client_run_options options = {.argv = argv,
                                             .env = env,
                                             .cwd = "/tmp",
                                             .manifest = "{\"mode\":\n\"read-only\"}",
                                             .timeout_ms = 5000,
                                             .label = "x",
                                             .wants_evidence = true,
                                             .has_own_credit = true,
                                             .input = SBX_CLIENT_INPUT_PIPE,
                                             .rows = 24,
                                             .cols = 80};
    sbx_client_run_id run = 0;
    CHECK_INT(sbx_client_start(client, &options, &run, NULL), 0);
    CHECK(run != 0);
    CHECK_TEXT(
        peer_heard(&peer),
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"run.start\",\"params\":{\"argv\":[\"echo\",\"a "
        "\\\"b\\\"\\n\"],\"cwd\":\"/tmp\",\"env\":{\"A\":\"1\",\"B\":\"\"},\"manifest\":{\"mode\":"
        " \"read-only\"},\"stdin\":\"pipe\",\"tty\":{\"rows\":24,\"cols\":80},\"timeoutMs\":5000,"
        "\"credit\":0,\"label\":\"x\",\"evidence\":true}}");
    sbx_client_close(client);
    peer_release(&peer);
}

static void wrong_arguments_send_nothing(void)
{
    struct peer peer;
    struct sbx_client *client = peer_open(&peer);
    const char *const argv[] = {"true", NULL};
    const char *const bad[] = {"\xff", NULL};
    const char *const none[] = {NULL};
    const struct sbx_client_run_options wrong[] = {
        {.argv = NULL},
        {.argv = none},
        {.argv = bad},
        {.argv = argv, .manifest = "{}, \"allowNoSandbox\": true"},
        {.argv = argv, .manifest = "{}}"},
        {.argv = argv, .manifest = "[]"},
        {.argv = argv, .manifest = "{}", .manifest_file = "/x"},
        {.argv = argv, .timeout_ms = -1},
        {.argv = argv, .label = "\xc0"},
    };
    for (size_t i = 0; i < SBX_COUNT(wrong); i++) {
        struct sbx_client_error error = {0};
        sbx_client_run_id run;
        CHECK_INT(sbx_client_start(client, &wrong[i], &run, &error), -1);
        CHECK_TEXT(error.name, "invalid");
    }
    CHECK_INT(sbx_client_call(client, "ping", "{},\"x\":{}", NULL, NULL), -1);
    CHECK(peer_heard(&peer) == NULL);
    peer_check_nothing(client);
    sbx_client_close(client);
    peer_release(&peer);
}

static void a_run_becomes_events_in_their_order(void)
{
    struct peer peer;
    struct sbx_client_event event;
    sbx_client_run_id run;
    struct sbx_client *client = peer_open_run(&peer, (struct sbx_client_run_options){0}, &run);
    peer_check_event(client, SBX_CLIENT_STARTED, &event);
    CHECK_U64(event.run, run);
    CHECK(event.json != NULL && strstr(event.json, "\"warm\":true") != NULL);
    peer_says(
        &peer,
        NOTICE("output", "\"stream\":\"stdout\",\"data\":\"h\\u00e9\\n\",\"encoding\":\"text\""));
    peer_says(&peer,
              NOTICE("output", "\"stream\":\"stderr\",\"data\":\"AP8=\",\"encoding\":\"base64\""));
    peer_says(&peer, NOTICE("something.new", "\"x\":1"));
    peer_says(&peer, NOTICE("closed", "\"stream\":\"stderr\""));
    peer_says(&peer, NOTICE("denied", "\"denial\":{\"path\":\"/etc/x\"}"));
    peer_says(&peer, EXITED, 3);
    peer_check_event(client, SBX_CLIENT_OUTPUT, &event);
    CHECK_INT(event.stream, SBX_CLIENT_STDOUT);
    CHECK_MEM(event.data, event.len, "h\xc3\xa9\n", 4);
    peer_check_event(client, SBX_CLIENT_OUTPUT, &event);
    CHECK_INT(event.stream, SBX_CLIENT_STDERR);
    CHECK_MEM(event.data, event.len, "\0\xff", 2);
    peer_check_event(client, SBX_CLIENT_CLOSED, &event);
    CHECK_INT(event.stream, SBX_CLIENT_STDERR);
    peer_check_event(client, SBX_CLIENT_DENIED, &event);
    CHECK(event.json != NULL && strstr(event.json, "\"path\":\"/etc/x\"") != NULL);
    peer_check_event(client, SBX_CLIENT_EXITED, &event);
    CHECK_INT(event.status, 3);
    CHECK_TEXT(event.json, "{\"ok\":true,\"origin\":\"command\",\"status\":3,\"signal\":null}");
    peer_check_nothing(client);
    CHECK_INT(sbx_client_wait(client, run, NULL, NULL), -1);
    sbx_client_close(client);
    peer_release(&peer);
}

static void events_are_the_same_however_the_bytes_arrive(void)
{
    struct peer peer;
    struct sbx_client_event event;
    sbx_client_run_id run;
    struct sbx_client *client = peer_open_run(&peer, (struct sbx_client_run_options){0}, &run);
    peer_check_event(client, SBX_CLIENT_STARTED, &event);
    const char *line = NOTICE(
        "output", "\"stream\":\"stdout\",\"data\":\"aGVsbG8=\",\"encoding\":\"base64\"") "\n";
    for (size_t i = 0; line[i] != '\0'; i++) {
        peer_says_bytes(&peer, line + i, 1);
        if (line[i + 1] != '\0') peer_check_nothing(client);
    }
    peer_check_event(client, SBX_CLIENT_OUTPUT, &event);
    CHECK_MEM(event.data, event.len, "hello", 5);
    sbx_client_close(client);
    peer_release(&peer);
}

static void waiting_collects_what_a_run_prints(void)
{
    struct peer peer;
    struct sbx_client_result result;
    sbx_client_run_id run;
    struct sbx_client *client =
        peer_open_run(&peer, (struct sbx_client_run_options){.keep_bytes = 6}, &run);
    peer_says(&peer,
              NOTICE("output", "\"stream\":\"stdout\",\"data\":\"one\",\"encoding\":\"text\""));
    peer_says(&peer,
              NOTICE("output", "\"stream\":\"stderr\",\"data\":\"bad\",\"encoding\":\"text\""));
    peer_says(&peer,
              NOTICE("output", "\"stream\":\"stdout\",\"data\":\" two\",\"encoding\":\"text\""));
    peer_says(&peer, EXITED, 4);
    CHECK_INT(sbx_client_wait(client, run, &result, NULL), 0);
    CHECK_INT(result.status, 4);
    CHECK(result.is_commands);
    CHECK_TEXT(result.output, "one tw");
    CHECK_U64(result.output_len, 6);
    CHECK_TEXT(result.errors, "bad");
    CHECK_U64(result.dropped, 1);
    CHECK(strstr(result.json, "\"status\":4") != NULL);
    sbx_client_close(client);
    peer_release(&peer);
}

static void a_refusal_says_why(void)
{
    struct peer peer;
    struct sbx_client *client = peer_open(&peer);
    const char *const argv[] = {"true", NULL};
    struct sbx_client_run_options options = {.argv = argv};
    struct sbx_client_error error = {0};
    struct sbx_client_result result;
    peer_says(&peer, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-33000,\"message\":\"no "
                     "sandbox\",\"data\":{"
                     "\"name\":\"refused\",\"hint\":\"install "
                     "one\",\"retryable\":false,\"outcome\":{\"status\":125}}}}");
    CHECK_INT(sbx_client_run(client, &options, &result, &error), -1);
    CHECK_INT(error.number, -33000);
    CHECK_TEXT(error.name, "refused");
    CHECK_TEXT(error.text, "no sandbox");
    CHECK_TEXT(error.hint, "install one");
    CHECK_TEXT(result.json, "{\"status\":125}");
    /* The connection goes on. */
    peer_says(&peer, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
    const char *json = NULL;
    CHECK_INT(sbx_client_call(client, "ping", NULL, &json, &error), 0);
    CHECK_TEXT(json, "{}");
    sbx_client_close(client);
    peer_release(&peer);
}

/* ---- two runs ---- */

static void waiting_for_one_run_keeps_the_events_of_another(void)
{
    struct peer peer;
    struct sbx_client_event event;
    struct sbx_client_result result;
    sbx_client_run_id first;
    sbx_client_run_id second;
    const char *const argv[] = {"true", NULL};
    struct sbx_client *client = peer_open_run(&peer, (struct sbx_client_run_options){0}, &first);
    CHECK_INT(
        sbx_client_start(client, &(struct sbx_client_run_options){.argv = argv}, &second, NULL), 0);
    peer_says(&peer,
              "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"run\":\"r8\",\"backend\":\"native\","
              "\"digest\":\"d\",\"warm\":false}}");
    peer_says(&peer,
              NOTICE("output", "\"stream\":\"stdout\",\"data\":\"1\",\"encoding\":\"text\""));
    peer_says(&peer,
              "{\"jsonrpc\":\"2.0\",\"method\":\"output\",\"params\":{\"run\":\"r8\",\"stream\":"
              "\"stdout\",\"data\":\"other\",\"encoding\":\"text\"}}");
    peer_says(&peer,
              NOTICE("output", "\"stream\":\"stdout\",\"data\":\"2\",\"encoding\":\"text\""));
    peer_says(
        &peer,
        "{\"jsonrpc\":\"2.0\",\"method\":\"exited\",\"params\":{\"run\":\"r8\",\"result\":" OUTCOME
        "}}",
        8);
    /* A question in between: everything else is put aside, and comes afterwards. */
    peer_says(&peer, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}");
    CHECK_INT(sbx_client_call(client, "ping", NULL, NULL, NULL), 0);
    CHECK_INT(sbx_client_wait(client, second, &result, NULL), 0);
    CHECK_INT(result.status, 8);
    CHECK_TEXT(result.output, "other");
    peer_check_event(client, SBX_CLIENT_STARTED, &event);
    CHECK_U64(event.run, first);
    peer_check_event(client, SBX_CLIENT_OUTPUT, &event);
    CHECK_MEM(event.data, event.len, "1", 1);
    peer_check_event(client, SBX_CLIENT_OUTPUT, &event);
    CHECK_MEM(event.data, event.len, "2", 1);
    peer_check_nothing(client);
    sbx_client_close(client);
    peer_release(&peer);
}

static void count_event(void *state, const struct sbx_client_event *event)
{
    size_t *counts = (size_t *)state;
    counts[event->kind]++;
}

static void a_run_with_a_function_gives_its_events_there(void)
{
    struct peer peer;
    struct sbx_client_event event;
    size_t counts[SBX_CLIENT_REFUSED + 1] = {0};
    sbx_client_run_id run;
    struct sbx_client *client = peer_open_run(
        &peer, (struct sbx_client_run_options){.on_event = count_event, .state = counts}, &run);
    peer_says(&peer,
              NOTICE("output", "\"stream\":\"stdout\",\"data\":\"1\",\"encoding\":\"text\""));
    peer_says(&peer, EXITED, 0);
    CHECK_INT(sbx_client_next(client, 0, &event, NULL), 0);
    CHECK_U64(counts[SBX_CLIENT_STARTED], 1);
    CHECK_U64(counts[SBX_CLIENT_OUTPUT], 1);
    CHECK_U64(counts[SBX_CLIENT_EXITED], 1);
    sbx_client_close(client);
    peer_release(&peer);
}

/* ---- flow ---- */

static void taken_output_is_given_back_as_credit(void)
{
    struct peer peer;
    struct sbx_client_event event;
    sbx_client_run_id run;
    char data[301];
    struct sbx_client *client = peer_open_run(&peer, (struct sbx_client_run_options){0}, &run);
    memset(data, 'x', 300);
    data[300] = '\0';
    peer_check_event(client, SBX_CLIENT_STARTED, &event);
    peer_says(&peer,
              NOTICE("output", "\"stream\":\"stdout\",\"data\":\"%.100s\",\"encoding\":\"text\""),
              data);
    peer_check_event(client, SBX_CLIENT_OUTPUT, &event);
    CHECK(peer_heard(&peer) == NULL);
    peer_says(&peer,
              NOTICE("output", "\"stream\":\"stdout\",\"data\":\"%s\",\"encoding\":\"text\""),
              data);
    peer_check_event(client, SBX_CLIENT_OUTPUT, &event);
    CHECK_TEXT(peer_heard(&peer),
               "{\"jsonrpc\":\"2.0\",\"method\":\"run.credit\",\"params\":{\"run\":\"r7\","
               "\"stream\":\"stdout\",\"bytes\":400}}");
    sbx_client_close(client);
    peer_release(&peer);
}

static void own_credit_is_only_given_when_it_is_said(void)
{
    struct peer peer;
    struct sbx_client_event event;
    sbx_client_run_id run;
    char data[901];
    struct sbx_client *client =
        peer_open_run(&peer, (struct sbx_client_run_options){.has_own_credit = true}, &run);
    memset(data, 'x', 900);
    data[900] = '\0';
    peer_check_event(client, SBX_CLIENT_STARTED, &event);
    peer_says(&peer,
              NOTICE("output", "\"stream\":\"stdout\",\"data\":\"%s\",\"encoding\":\"text\""),
              data);
    peer_check_event(client, SBX_CLIENT_OUTPUT, &event);
    CHECK(peer_heard(&peer) == NULL);
    CHECK_INT(sbx_client_credit(client, run, SBX_CLIENT_STDERR, 7, NULL), 0);
    CHECK_TEXT(peer_heard(&peer),
               "{\"jsonrpc\":\"2.0\",\"method\":\"run.credit\",\"params\":{\"run\":\"r7\","
               "\"stream\":\"stderr\",\"bytes\":7}}");
    sbx_client_close(client);
    peer_release(&peer);
}

static void input_stays_within_its_window(void)
{
    struct peer peer;
    struct sbx_client_event event;
    sbx_client_run_id run;
    size_t taken = 99;
    struct sbx_client *client =
        peer_open_run(&peer, (struct sbx_client_run_options){.input = SBX_CLIENT_INPUT_PIPE}, &run);
    CHECK_INT(sbx_client_write(client, run, "x", 1, &taken, NULL), -1); /* not started */
    peer_check_event(client, SBX_CLIENT_STARTED, &event);
    CHECK_INT(sbx_client_write(client, run, "0123456789abc", 13, &taken, NULL), 0);
    CHECK_U64(taken, 10);
    CHECK_TEXT(peer_heard(&peer),
               "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"run.stdin\",\"params\":{\"run\":"
               "\"r7\",\"data\":\"0123456789\",\"encoding\":\"text\"}}");
    CHECK_INT(sbx_client_write(client, run, "abc", 3, &taken, NULL), 0);
    CHECK_U64(taken, 0);
    CHECK(peer_heard(&peer) == NULL);
    peer_says(&peer, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"queued\":10}}");
    peer_check_nothing(client);
    peer_says(&peer, NOTICE("stdin", "\"bytes\":5"));
    peer_check_event(client, SBX_CLIENT_ROOM, &event);
    CHECK_U64(event.len, 5);
    CHECK_INT(sbx_client_write(client, run, "a\0c", 3, &taken, NULL), 0);
    CHECK_U64(taken, 3);
    CHECK_TEXT(peer_heard(&peer),
               "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"run.stdin\",\"params\":{\"run\":"
               "\"r7\",\"data\":\"YQBj\",\"encoding\":\"base64\"}}");
    CHECK_INT(sbx_client_write_end(client, run, NULL), 0);
    CHECK(strstr(peer_heard(&peer), "\"eof\":true") != NULL);
    CHECK_INT(sbx_client_write(client, run, "d", 1, &taken, NULL), -1);
    sbx_client_close(client);
    peer_release(&peer);
}

static void a_whole_input_is_written_by_itself(void)
{
    struct peer peer;
    struct sbx_client_event event;
    sbx_client_run_id run;
    struct sbx_client *client = peer_open_run(
        &peer,
        (struct sbx_client_run_options){
            .input = SBX_CLIENT_INPUT_PIPE, .input_bytes = "0123456789ab", .input_len = 12},
        &run);
    peer_check_event(client, SBX_CLIENT_STARTED, &event);
    CHECK(strstr(peer_heard(&peer), "\"data\":\"0123456789\"") != NULL);
    CHECK(peer_heard(&peer) == NULL);
    peer_says(&peer, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"queued\":0}}");
    peer_says(&peer, NOTICE("stdin", "\"bytes\":10"));
    peer_check_nothing(client);
    const char *last = peer_heard(&peer);
    CHECK(last != NULL && strstr(last, "\"data\":\"ab\"") != NULL &&
          strstr(last, "\"eof\":true") != NULL);
    sbx_client_close(client);
    peer_release(&peer);
}

/* ---- a running command ---- */

static void a_running_command_is_told_things(void)
{
    struct peer peer;
    struct sbx_client_event event;
    struct sbx_client_error error = {0};
    sbx_client_run_id run;
    struct sbx_client *client = peer_open_run(&peer, (struct sbx_client_run_options){0}, &run);
    CHECK_INT(sbx_client_cancel(client, run, NULL), 0); /* before it is known to have started */
    CHECK_TEXT(peer_heard(&peer),
               "{\"jsonrpc\":\"2.0\",\"method\":\"cancel\",\"params\":{\"id\":2}}");
    peer_check_event(client, SBX_CLIENT_STARTED, &event);
    peer_says(&peer, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
    CHECK_INT(sbx_client_signal(client, run, "INT", NULL), 0);
    CHECK_TEXT(peer_heard(&peer),
               "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"run.signal\",\"params\":{\"run\":"
               "\"r7\",\"signal\":\"INT\"}}");
    CHECK_INT(sbx_client_signal(client, run, "STOP", &error), -1);
    CHECK_TEXT(error.name, "invalid");
    peer_says(&peer, "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-33012,\"message\":\"no "
                     "terminal\",\"data\":{"
                     "\"name\":\"unsupported\",\"retryable\":false}}}");
    CHECK_INT(sbx_client_resize(client, run, 10, 20, &error), -1);
    CHECK_INT(error.number, -33012);
    CHECK(strstr(peer_heard(&peer), "\"rows\":10,\"cols\":20") != NULL);
    peer_says(&peer, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}");
    CHECK_INT(sbx_client_cancel(client, run, NULL), 0);
    CHECK_INT(sbx_client_signal(client, 77, "INT", &error), -1);
    CHECK_TEXT(error.name, "no_such_run");
    sbx_client_close(client);
    peer_release(&peer);
}

static void descriptors_go_with_the_request(void)
{
    struct peer peer;
    struct sbx_client *client = peer_open(&peer);
    const char *const argv[] = {"true", NULL};
    int pipe_fds[2] = {-1, -1};
    CHECK_INT(pipe(pipe_fds), 0);
    const int fds[3] = {pipe_fds[0], pipe_fds[1], pipe_fds[1]};
    struct sbx_client_run_options options = {.argv = argv, .fds = fds};
    CHECK_INT(sbx_client_start(client, &options, &(sbx_client_run_id){0}, NULL), 0);
    char line[65536];
    char control[256];
    struct iovec part = {line, sizeof line};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t got = recvmsg(peer.fd, &message, MSG_DONTWAIT);
    CHECK(got > 0 && line[0] == '{' && memmem(line, (size_t)got, "\"fds\":true", 10) != NULL);
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    CHECK(head != NULL && head->cmsg_type == SCM_RIGHTS);
    int received[3] = {-1, -1, -1};
    if (head != NULL) memcpy(received, CMSG_DATA(head), sizeof received);
    CHECK_INT(write(received[1], "through", 7), 7);
    char text[8] = "";
    CHECK_INT(read(pipe_fds[0], text, 7), 7);
    CHECK_TEXT(text, "through");
    for (int i = 0; i < 3; i++) (void)close(received[i]);
    (void)close(pipe_fds[0]);
    (void)close(pipe_fds[1]);
    sbx_client_close(client);
    peer_release(&peer);
}

static const struct sbx_test tests[] = {
    {"a connection greets", a_connection_greets},
    {"a run is asked for as the protocol says", a_run_is_asked_for_as_the_protocol_says},
    {"wrong arguments send nothing", wrong_arguments_send_nothing},
    {"a run becomes events in their order", a_run_becomes_events_in_their_order},
    {"events are the same however the bytes arrive", events_are_the_same_however_the_bytes_arrive},
    {"waiting collects what a run prints", waiting_collects_what_a_run_prints},
    {"a refusal says why", a_refusal_says_why},
    {"waiting for one run keeps the events of another",
     waiting_for_one_run_keeps_the_events_of_another},
    {"a run with a function gives its events there", a_run_with_a_function_gives_its_events_there},
    {"taken output is given back as credit", taken_output_is_given_back_as_credit},
    {"own credit is only given when it is said", own_credit_is_only_given_when_it_is_said},
    {"input stays within its window", input_stays_within_its_window},
    {"a whole input is written by itself", a_whole_input_is_written_by_itself},
    {"a running command is told things", a_running_command_is_told_things},
    {"descriptors go with the request", descriptors_go_with_the_request},
};
SBX_TEST_MAIN("client", tests)
