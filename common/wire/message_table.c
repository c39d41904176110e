/* The table of messages. */
#include "common/wire/message.h"

#include "common/wire/frame.h"
#include "common/wire/json_scan.h"

#include "common/base/banned.h"

const struct sbx_name sbx_wire_stream_names[] = {
    {SBX_WIRE_STDOUT, "stdout"}, {SBX_WIRE_STDERR, "stderr"}, {SBX_WIRE_TTY, "tty"}, {0, NULL}};

const struct sbx_name sbx_wire_stdin_names[] = {
    {SBX_WIRE_STDIN_NULL, "null"}, {SBX_WIRE_STDIN_PIPE, "pipe"}, {0, NULL}};

const struct sbx_name sbx_wire_signal_names[] = {
    {SBX_WIRE_SIGINT, "INT"},   {SBX_WIRE_SIGTERM, "TERM"},
    {SBX_WIRE_SIGHUP, "HUP"},   {SBX_WIRE_SIGQUIT, "QUIT"},
    {SBX_WIRE_SIGKILL, "KILL"}, {SBX_WIRE_SIGUSR1, "USR1"},
    {SBX_WIRE_SIGUSR2, "USR2"}, {0, NULL}};

static const struct sbx_name encoding_names[] = {{0, "text"}, {1, "base64"}, {0, NULL}};

enum { NAME_BYTES = 64, LABEL_BYTES = 256, PATH_BYTES = 32768, TERMINAL_MAX = 4096 };

#define COUNT_MAX SBX_JSON_NUMBER_MAX
#define ANY_TEXT SBX_FRAME_LINE_MAX

#define AT(type, field) offsetof(struct sbx_wire_##type, field)
#define END                                                                                        \
    {                                                                                              \
        .name = NULL                                                                               \
    }
#define RUN_ROW(type)                                                                              \
    {                                                                                              \
        "run", SBX_WIRE_TEXT, AT(type, run), .is_required = true, .max = NAME_BYTES,               \
                                             .help = "the run, as `run.start` named it"            \
    }
#define STREAM_ROW(type)                                                                           \
    {                                                                                              \
        "stream", SBX_WIRE_CHOICE, AT(type, stream),                                               \
            .is_required = true, .names = sbx_wire_stream_names,                                   \
            .help = "which stream; `tty` is both of a run on a terminal"                           \
    }
#define MEMBERS(type, text)                                                                        \
    static const struct sbx_wire_members type##_members = {text, sizeof(struct sbx_wire_##type),   \
                                                           type##_rows, NULL}

static const struct sbx_wire_member no_rows[] = {END};
static const struct sbx_wire_members nothing = {"nothing", 0, no_rows, NULL};

/* ---- hello ---- */

static const struct sbx_wire_member program_rows[] = {
    {"name", SBX_WIRE_TEXT, AT(program, name), .is_required = true, .max = NAME_BYTES,
     .help = "name of the program"},
    {"version", SBX_WIRE_TEXT, AT(program, version), .is_required = true, .max = NAME_BYTES,
     .help = "its version"},
    END};
MEMBERS(program, "program");

static const struct sbx_wire_member hello_rows[] = {
    {"protocol", SBX_WIRE_INTS, AT(hello, protocol), .is_required = true, .min = 0, .max = 1000000,
     .help = "the protocols that the client speaks"},
    {"client", SBX_WIRE_OBJECT, AT(hello, client), .is_required = true, .members = &program_members,
     .help = "who the client is"},
    {"maxLine", SBX_WIRE_INT, AT(hello, max_line), .min = SBX_FRAME_LINE_MIN,
     .max = SBX_FRAME_LINE_MAX,
     .help = "the longest line that the client reads; the service then sends none that is longer"},
    END};
MEMBERS(hello, "hello");

static const struct sbx_wire_member limits_rows[] = {
    {"line", SBX_WIRE_INT, AT(limits, line), .is_required = true, .max = COUNT_MAX,
     .help = "bytes of a line, at most"},
    {"runs", SBX_WIRE_INT, AT(limits, runs), .is_required = true, .max = COUNT_MAX,
     .help = "runs of all clients at one time"},
    {"runsPerClient", SBX_WIRE_INT, AT(limits, runs_per_client), .is_required = true,
     .max = COUNT_MAX, .help = "runs of this connection at one time"},
    {"pending", SBX_WIRE_INT, AT(limits, pending), .is_required = true, .max = COUNT_MAX,
     .help = "unanswered requests of this connection"},
    {"window", SBX_WIRE_INT, AT(limits, window), .is_required = true, .max = COUNT_MAX,
     .help = "bytes of output that a stream may send before the first `run.credit`"},
    {"stdinWindow", SBX_WIRE_INT, AT(limits, stdin_window), .is_required = true, .max = COUNT_MAX,
     .help = "bytes of standard input that may be sent before the first `stdin`"},
    END};
MEMBERS(limits, "limits");

static const struct sbx_wire_member hello_result_rows[] = {
    {"protocol", SBX_WIRE_INT, AT(hello_result, protocol), .is_required = true, .max = 1000000,
     .help = "the protocol of this connection"},
    {"server", SBX_WIRE_OBJECT, AT(hello_result, server), .is_required = true,
     .members = &program_members, .help = "who the service is"},
    {"platform", SBX_WIRE_TEXT, AT(hello_result, platform), .is_required = true, .max = NAME_BYTES,
     .help = "`linux`, `macos` or `windows`"},
    {"connection", SBX_WIRE_TEXT, AT(hello_result, connection), .is_required = true,
     .max = NAME_BYTES, .help = "a name for this connection, as it is in the service's log"},
    {"limits", SBX_WIRE_OBJECT, AT(hello_result, limits), .is_required = true,
     .members = &limits_members, .help = "what this connection may use"},
    END};
MEMBERS(hello_result, "helloResult");

/* ---- run.start ---- */

static const struct sbx_wire_member size_rows[] = {
    {"rows", SBX_WIRE_INT, AT(size, rows), .is_required = true, .min = 1, .max = TERMINAL_MAX,
     .help = "rows"},
    {"cols", SBX_WIRE_INT, AT(size, cols), .is_required = true, .min = 1, .max = TERMINAL_MAX,
     .help = "columns"},
    END};
MEMBERS(size, "size");

static const struct sbx_wire_member run_start_rows[] = {
    {"argv", SBX_WIRE_TEXTS, AT(run_start, argv), .is_required = true, .min = 1, .max = 65536,
     .help = "the command and its arguments; no shell reads them"},
    {"cwd", SBX_WIRE_TEXT, AT(run_start, cwd), .max = PATH_BYTES,
     .help = "absolute path of the directory to run in; it is also where a manifest is looked for. "
             "Without it the directory of the service"},
    {"env", SBX_WIRE_PAIRS, AT(run_start, env), .max = 16384,
     .help = "the environment of the client; the manifest decides what passes. Without it that of "
             "the service"},
    {"manifest", SBX_WIRE_RAW, AT(run_start, manifest), .help = "the manifest itself, as JSON"},
    {"manifestFile", SBX_WIRE_TEXT, AT(run_start, manifest_file), .max = PATH_BYTES,
     .help = "absolute path of a manifest. With neither, one is looked for as `sbx run` does"},
    {"mode", SBX_WIRE_TEXT, AT(run_start, mode), .max = NAME_BYTES, .help = "as `--mode`"},
    {"profile", SBX_WIRE_TEXT, AT(run_start, profile), .max = NAME_BYTES, .help = "as `--profile`"},
    {"sandbox", SBX_WIRE_TEXT, AT(run_start, sandbox), .max = NAME_BYTES,
     .help = "the backend, as the variable `SBX_SANDBOX`"},
    {"allowNoSandbox", SBX_WIRE_BOOL, AT(run_start, allow_no_sandbox),
     .help = "the second key to a run without a box, as the variable `SBX_ALLOW_NO_SANDBOX`"},
    {"stdin", SBX_WIRE_CHOICE, AT(run_start, stdin_kind), .names = sbx_wire_stdin_names,
     .help = "`null` (the default): the command reads nothing. `pipe`: it reads what `run.stdin` "
             "sends"},
    {"tty", SBX_WIRE_OBJECT, AT(run_start, tty), .members = &size_members,
     .help = "the command gets a terminal of this size, for all its streams"},
    {"timeoutMs", SBX_WIRE_INT, AT(run_start, timeout_ms), .min = 1, .max = COUNT_MAX,
     .help = "the run is ended after this time, if the manifest does not end it earlier"},
    {"credit", SBX_WIRE_INT, AT(run_start, credit), .max = COUNT_MAX, .otherwise = -1,
     .help = "bytes that each stream may send at first; without it `limits.window`; 0: nothing "
             "comes until `run.credit`"},
    {"session", SBX_WIRE_TEXT, AT(run_start, session), .max = NAME_BYTES,
     .help = "a session that the run belongs to"},
    {"label", SBX_WIRE_TEXT, AT(run_start, label), .max = LABEL_BYTES,
     .help = "a name of the client's for this run, shown by `run.list`"},
    {"evidence", SBX_WIRE_BOOL, AT(run_start, evidence),
     .help = "`started` tells what was read back of the box"},
    {"fds", SBX_WIRE_BOOL, AT(run_start, fds),
     .help =
         "three descriptors came with this line (`SCM_RIGHTS`): the command's standard streams. "
         "Then there is no `output`, no `closed` and no credit. Only on a unix socket"},
    END};
static const char *run_start_fault(const void *body)
{
    const struct sbx_wire_run_start *start = body;
    if (start->manifest.ptr != NULL && start->manifest_file.ptr != NULL)
        return "members \"manifest\" and \"manifestFile\" exclude each other";
    if (start->mode.ptr != NULL && start->profile.ptr != NULL)
        return "members \"mode\" and \"profile\" exclude each other";
    return NULL;
}

static const struct sbx_wire_members run_start_members = {
    "runStart", sizeof(struct sbx_wire_run_start), run_start_rows, run_start_fault};

static const struct sbx_wire_member run_start_result_rows[] = {
    RUN_ROW(run_start_result),
    {"backend", SBX_WIRE_TEXT, AT(run_start_result, backend), .is_required = true,
     .max = NAME_BYTES, .help = "what holds the box"},
    {"digest", SBX_WIRE_TEXT, AT(run_start_result, digest), .is_required = true, .max = 128,
     .help = "SHA-256 of the plan"},
    {"warm", SBX_WIRE_BOOL, AT(run_start_result, warm), .is_required = true,
     .help = "the box was built before the request came"},
    END};
MEMBERS(run_start_result, "runStartResult");

/* ---- a run ---- */

static const struct sbx_wire_member run_stdin_rows[] = {
    RUN_ROW(run_stdin),
    {"data", SBX_WIRE_DATA, AT(run_stdin, data), .is_required = true, .max = ANY_TEXT,
     .help = "what the command reads"},
    {"encoding", SBX_WIRE_ENCODING, AT(run_stdin, data), .names = encoding_names,
     .help = "how `data` is written; `text` by default"},
    {"eof", SBX_WIRE_BOOL, AT(run_stdin, eof), .help = "nothing comes after this"},
    END};
MEMBERS(run_stdin, "runStdin");

static const struct sbx_wire_member run_stdin_result_rows[] = {
    {"queued", SBX_WIRE_INT, AT(run_stdin_result, queued), .is_required = true, .max = COUNT_MAX,
     .help = "bytes that the command has not taken yet"},
    END};
MEMBERS(run_stdin_result, "runStdinResult");

static const struct sbx_wire_member run_signal_rows[] = {
    RUN_ROW(run_signal),
    {"signal", SBX_WIRE_CHOICE, AT(run_signal, signal), .is_required = true,
     .names = sbx_wire_signal_names, .help = "what the command gets"},
    END};
MEMBERS(run_signal, "runSignal");

static const struct sbx_wire_member run_resize_rows[] = {
    RUN_ROW(run_resize),
    {"rows", SBX_WIRE_INT, AT(run_resize, size.rows), .is_required = true, .min = 1,
     .max = TERMINAL_MAX, .help = "rows"},
    {"cols", SBX_WIRE_INT, AT(run_resize, size.cols), .is_required = true, .min = 1,
     .max = TERMINAL_MAX, .help = "columns"},
    END};
MEMBERS(run_resize, "runResize");

static const struct sbx_wire_member run_rows[] = {RUN_ROW(run), END};
MEMBERS(run, "run");

static const struct sbx_wire_member outcome_rows[] = {
    {"", SBX_WIRE_WHOLE, AT(object, object), .is_required = true,
     .help = "the object that `sbx run --json` prints"},
    END};
static const struct sbx_wire_members outcome_members = {"outcome", sizeof(struct sbx_wire_object),
                                                        outcome_rows, NULL};

static const struct sbx_wire_member run_item_rows[] = {
    RUN_ROW(run_item),
    {"state", SBX_WIRE_TEXT, AT(run_item, state), .is_required = true, .max = NAME_BYTES,
     .help = "`starting`, `running`, or `ended`: then its result is kept for `run.wait`"},
    {"argv0", SBX_WIRE_TEXT, AT(run_item, argv0), .is_required = true, .max = ANY_TEXT,
     .help = "the command without its arguments"},
    {"label", SBX_WIRE_TEXT, AT(run_item, label), .max = LABEL_BYTES, .help = "as in `run.start`"},
    {"session", SBX_WIRE_TEXT, AT(run_item, session), .max = NAME_BYTES,
     .help = "as in `run.start`"},
    {"backend", SBX_WIRE_TEXT, AT(run_item, backend), .is_required = true, .max = NAME_BYTES,
     .help = "what holds the box"},
    {"ms", SBX_WIRE_INT, AT(run_item, ms), .is_required = true, .max = COUNT_MAX,
     .help = "since the request came"},
    END};
const struct sbx_wire_members sbx_wire_run_item_members = {
    "runItem", sizeof(struct sbx_wire_run_item), run_item_rows, NULL};

static const struct sbx_wire_member run_list_rows[] = {
    {"runs", SBX_WIRE_RAW_LIST, AT(list, items), .is_required = true,
     .members = &sbx_wire_run_item_members,
     .help = "the runs of this connection, and those whose result is kept"},
    END};
static const struct sbx_wire_members run_list_members = {"runList", sizeof(struct sbx_wire_list),
                                                         run_list_rows, NULL};

/* ---- sessions ---- */

static const struct sbx_wire_member session_open_rows[] = {
    {"name", SBX_WIRE_TEXT, AT(session_open, name), .max = LABEL_BYTES,
     .help = "a name of the client's, shown by `session.list`"},
    {"sharedNetwork", SBX_WIRE_BOOL, AT(session_open, shared_network),
     .help = "the runs of the session share one network of their own"},
    END};
MEMBERS(session_open, "sessionOpen");

static const struct sbx_wire_member session_rows[] = {
    {"session", SBX_WIRE_TEXT, AT(session, session), .is_required = true, .max = NAME_BYTES,
     .help = "the session, as `session.open` named it"},
    END};
MEMBERS(session, "session");

static const struct sbx_wire_member session_item_rows[] = {
    {"session", SBX_WIRE_TEXT, AT(session_item, session), .is_required = true, .max = NAME_BYTES,
     .help = "the session, as `session.open` named it"},
    {"name", SBX_WIRE_TEXT, AT(session_item, name), .max = LABEL_BYTES,
     .help = "as in `session.open`"},
    {"sharedNetwork", SBX_WIRE_BOOL, AT(session_item, shared_network), .is_required = true,
     .help = "as in `session.open`"},
    {"runs", SBX_WIRE_INT, AT(session_item, runs), .is_required = true, .max = COUNT_MAX,
     .help = "its runs that have not ended"},
    END};
const struct sbx_wire_members sbx_wire_session_item_members = {
    "sessionItem", sizeof(struct sbx_wire_session_item), session_item_rows, NULL};

static const struct sbx_wire_member session_list_rows[] = {
    {"sessions", SBX_WIRE_RAW_LIST, AT(list, items), .is_required = true,
     .members = &sbx_wire_session_item_members, .help = "the sessions of this connection"},
    END};
static const struct sbx_wire_members session_list_members = {
    "sessionList", sizeof(struct sbx_wire_list), session_list_rows, NULL};

/* ---- questions that run nothing ---- */

static const struct sbx_wire_member explain_result_rows[] = {
    {"text", SBX_WIRE_TEXT, AT(explain_result, text), .is_required = true, .max = ANY_TEXT,
     .help = "what `sbx explain` prints"},
    {"plan", SBX_WIRE_RAW, AT(explain_result, plan), .is_required = true,
     .help = "what `sbx explain --json` prints"},
    END};
MEMBERS(explain_result, "explainResult");

static const struct sbx_wire_member verify_rows[] = {
    {"manifest", SBX_WIRE_RAW, AT(verify, manifest), .help = "the manifest itself, as JSON"},
    {"manifestFile", SBX_WIRE_TEXT, AT(verify, manifest_file), .max = PATH_BYTES,
     .help = "absolute path of a manifest; one of the two must be there"},
    END};
static const char *verify_fault(const void *body)
{
    const struct sbx_wire_verify *verify = body;
    if ((verify->manifest.ptr != NULL) == (verify->manifest_file.ptr != NULL))
        return "one of the members \"manifest\" and \"manifestFile\" must be there, not both";
    return NULL;
}

static const struct sbx_wire_members verify_members = {"verify", sizeof(struct sbx_wire_verify),
                                                       verify_rows, verify_fault};

static const struct sbx_wire_member verify_result_rows[] = {
    {"ok", SBX_WIRE_BOOL, AT(verify_result, ok), .is_required = true,
     .help = "no finding is an error"},
    {"findings", SBX_WIRE_RAW_LIST, AT(verify_result, findings), .is_required = true,
     .help = "as `sbx verify --json` prints them"},
    END};
MEMBERS(verify_result, "verifyResult");

static const struct sbx_wire_member doctor_rows[] = {
    {"", SBX_WIRE_WHOLE, AT(object, object), .is_required = true,
     .help = "the object that `sbx doctor --json` prints"},
    END};
static const struct sbx_wire_members doctor_members = {
    "doctorResult", sizeof(struct sbx_wire_object), doctor_rows, NULL};

/* ---- notifications ---- */

static const struct sbx_wire_member credit_rows[] = {
    RUN_ROW(credit),
    STREAM_ROW(credit),
    {"bytes", SBX_WIRE_INT, AT(credit, bytes), .is_required = true, .min = 1, .max = COUNT_MAX,
     .help = "so many more bytes of output may come"},
    END};
MEMBERS(credit, "runCredit");

static const struct sbx_wire_member cancel_rows[] = {
    {"id", SBX_WIRE_ID, AT(cancel, id), .is_required = true,
     .help = "of a request that is not answered yet; the answer then is `cancelled`, if it can "
             "still be"},
    END};
MEMBERS(cancel, "cancel");

static const struct sbx_wire_member started_rows[] = {
    RUN_ROW(started),
    {"pid", SBX_WIRE_INT, AT(started, pid), .min = 1, .max = COUNT_MAX,
     .help = "the process as the service sees it"},
    {"evidence", SBX_WIRE_RAW_LIST, AT(started, evidence),
     .help = "what was read back of the box, as in the outcome"},
    END};
MEMBERS(started, "started");

static const struct sbx_wire_member output_rows[] = {
    RUN_ROW(output),
    STREAM_ROW(output),
    {"data", SBX_WIRE_DATA, AT(output, data), .is_required = true, .max = ANY_TEXT,
     .help = "what the command wrote, at most 48 KiB of it"},
    {"encoding", SBX_WIRE_ENCODING, AT(output, data), .is_required = true, .names = encoding_names,
     .help = "`text` when the bytes are UTF-8 without NUL, else `base64`"},
    END};
MEMBERS(output, "output");

static const struct sbx_wire_member closed_rows[] = {RUN_ROW(closed), STREAM_ROW(closed), END};
MEMBERS(closed, "closed");

static const struct sbx_wire_member stdin_more_rows[] = {
    RUN_ROW(stdin_more),
    {"bytes", SBX_WIRE_INT, AT(stdin_more, bytes), .is_required = true, .min = 1, .max = COUNT_MAX,
     .help = "so many more bytes of standard input may be sent"},
    END};
MEMBERS(stdin_more, "stdin");

static const struct sbx_wire_member denied_rows[] = {
    RUN_ROW(denied),
    {"denial", SBX_WIRE_RAW, AT(denied, denial), .is_required = true,
     .help = "one item of the outcome's `denials`"},
    END};
MEMBERS(denied, "denied");

static const struct sbx_wire_member exited_rows[] = {
    RUN_ROW(exited),
    {"result", SBX_WIRE_RAW, AT(exited, result), .is_required = true,
     .help = "the object that `sbx run --json` prints"},
    END};
MEMBERS(exited, "exited");

/* ---- errors ---- */

static const struct sbx_wire_member error_data_rows[] = {
    {"name", SBX_WIRE_TEXT, AT(error_data, name), .is_required = true, .max = NAME_BYTES,
     .help = "the name of the error; what clients match on"},
    {"retryable", SBX_WIRE_BOOL, AT(error_data, retryable), .is_required = true,
     .help = "the same request may succeed later"},
    {"hint", SBX_WIRE_TEXT, AT(error_data, hint), .max = ANY_TEXT, .help = "the remedy"},
    {"outcome", SBX_WIRE_RAW, AT(error_data, outcome),
     .help = "of `refused`: the object that `sbx run --json` prints"},
    {"findings", SBX_WIRE_RAW_LIST, AT(error_data, findings),
     .help = "of `policy_invalid`: as `sbx verify --json` prints them"},
    END};
MEMBERS(error_data, "errorData");

static const struct sbx_wire_member error_rows[] = {
    {"code", SBX_WIRE_INT, AT(error, number), .is_required = true, .min = -COUNT_MAX,
     .max = COUNT_MAX, .help = "the number of the error"},
    {"message", SBX_WIRE_TEXT, AT(error, message), .is_required = true, .max = ANY_TEXT,
     .help = "a sentence for people"},
    {"data", SBX_WIRE_OBJECT, AT(error, data), .is_required = true, .members = &error_data_members,
     .help = "more for programs"},
    END};
const struct sbx_wire_members sbx_wire_error_members = {"error", sizeof(struct sbx_wire_error),
                                                        error_rows, NULL};

/* ---- methods ---- */

const struct sbx_wire_row sbx_wire_rows[SBX_WIRE_METHOD_COUNT] = {
    [SBX_WIRE_HELLO] = {"hello", SBX_WIRE_ASKS, &hello_members, &hello_result_members,
                        "Agrees on the protocol. It comes first, and once"},
    [SBX_WIRE_PING] = {"ping", SBX_WIRE_ASKS, &nothing, &nothing, "Is answered at once"},
    [SBX_WIRE_RUN_START] =
        {"run.start", SBX_WIRE_ASKS, &run_start_members, &run_start_result_members,
         "Runs a command in a box. The answer comes when the command has started, "
         "before anything else about the run"},
    [SBX_WIRE_RUN_STDIN] = {"run.stdin", SBX_WIRE_ASKS, &run_stdin_members,
                            &run_stdin_result_members, "Sends standard input"},
    [SBX_WIRE_RUN_SIGNAL] = {"run.signal", SBX_WIRE_ASKS, &run_signal_members, &nothing,
                             "Sends a signal to the command"},
    [SBX_WIRE_RUN_RESIZE] = {"run.resize", SBX_WIRE_ASKS, &run_resize_members, &nothing,
                             "Changes the size of the run's terminal"},
    [SBX_WIRE_RUN_CANCEL] =
        {"run.cancel", SBX_WIRE_ASKS, &run_members, &nothing,
         "Ends the run and everything in its box; one that has ended already is no error"},
    [SBX_WIRE_RUN_WAIT] = {"run.wait", SBX_WIRE_ASKS, &run_members, &outcome_members,
                           "Is answered when the run has ended, at once if it already has"},
    [SBX_WIRE_RUN_LIST] = {"run.list", SBX_WIRE_ASKS, &nothing, &run_list_members,
                           "What runs, and what ended"},
    [SBX_WIRE_SESSION_OPEN] = {"session.open", SBX_WIRE_ASKS, &session_open_members,
                               &session_members, "Opens a session, which runs can share"},
    [SBX_WIRE_SESSION_CLOSE] = {"session.close", SBX_WIRE_ASKS, &session_members, &nothing,
                                "Closes a session and ends its runs"},
    [SBX_WIRE_SESSION_LIST] = {"session.list", SBX_WIRE_ASKS, &nothing, &session_list_members,
                               "What sessions are open"},
    [SBX_WIRE_PLAN_EXPLAIN] = {"plan.explain", SBX_WIRE_ASKS, &run_start_members,
                               &explain_result_members,
                               "What `run.start` with the same members would do, without doing it"},
    [SBX_WIRE_MANIFEST_VERIFY] = {"manifest.verify", SBX_WIRE_ASKS, &verify_members,
                                  &verify_result_members, "Checks a manifest"},
    [SBX_WIRE_DOCTOR] = {"doctor", SBX_WIRE_ASKS, &nothing, &doctor_members,
                         "What this machine can hold"},
    [SBX_WIRE_SHUTDOWN] = {"shutdown", SBX_WIRE_ASKS, &nothing, &nothing,
                           "Ends the runs of this connection, answers, and closes it"},
    [SBX_WIRE_RUN_CREDIT] = {"run.credit", SBX_WIRE_TELLS_SERVICE, &credit_members, NULL,
                             "The client has room for more output"},
    [SBX_WIRE_CANCEL] = {"cancel", SBX_WIRE_TELLS_SERVICE, &cancel_members, NULL,
                         "The client no longer wants an answer. A `run.start` that has not started "
                         "never will; of a `run.wait` only the waiting ends"},
    [SBX_WIRE_STARTED] = {"started", SBX_WIRE_TELLS_CLIENT, &started_members, NULL,
                          "The command runs"},
    [SBX_WIRE_OUTPUT] = {"output", SBX_WIRE_TELLS_CLIENT, &output_members, NULL,
                         "The command wrote something"},
    [SBX_WIRE_CLOSED] = {"closed", SBX_WIRE_TELLS_CLIENT, &closed_members, NULL,
                         "A stream of the run has ended; no more `output` of it follows"},
    [SBX_WIRE_STDIN_MORE] = {"stdin", SBX_WIRE_TELLS_CLIENT, &stdin_more_members, NULL,
                             "The command took standard input"},
    [SBX_WIRE_DENIED] = {"denied", SBX_WIRE_TELLS_CLIENT, &denied_members, NULL,
                         "The box refused the command something"},
    [SBX_WIRE_EXITED] = {"exited", SBX_WIRE_TELLS_CLIENT, &exited_members, NULL,
                         "The run has ended: the last that is told of it, after both `closed`"},
};

size_t sbx_wire_chunk(size_t line_max)
{
    /* What stands around the data: names, the method, and a run's name of the greatest length with every byte escaped. */
    enum { AROUND = 128 + 6 * NAME_BYTES };
    size_t room = line_max <= AROUND ? 0 : (line_max - AROUND) / 4 * 3;
    return room < SBX_WIRE_CHUNK ? room : SBX_WIRE_CHUNK;
}

enum sbx_wire_method sbx_wire_method_of(struct sbx_str name)
{
    size_t i = 0;
    while (i < SBX_WIRE_METHOD_COUNT && !sbx_str_is(name, sbx_wire_rows[i].name)) i++;
    return (enum sbx_wire_method)i;
}
