/* Input of a command, within its window; signals, sizes, credit. */
#include "lib/client.h"

#include "common/base/banned.h"

/* A piece that makes a line of 64 KiB. */
#define PIECE ((size_t)48 << 10)

static struct sbx_client_run_state *running(struct sbx_client *client, sbx_client_run_id id,
                                            struct sbx_client_error *error)
{
    struct sbx_client_run_state *run = sbx_client_find(client, id);
    if (run == NULL)
        (void)sbx_client_fail(error, "no_such_run", "there is no such run, or it has ended");
    else if (run->name[0] == '\0')
        (void)sbx_client_fail(error, "invalid", "the run has not started yet");
    return run != NULL && run->name[0] != '\0' ? run : NULL;
}

/* ---- input ---- */

static int send_piece(struct sbx_client *client, struct sbx_client_run_state *run,
                      const char *bytes, size_t len, bool is_end, struct sbx_client_error *error)
{
    struct sbx_wire_run_stdin params = {
        .run = sbx_str(run->name), .data = {.bytes = {bytes, len}}, .eof = is_end};
    if (sbx_client_request(client, SBX_WIRE_RUN_STDIN, &params, NULL, error) != 0) return -1;
    client->input_pending++;
    run->input_room -= len;
    if (is_end) run->has_input = false;
    return 0;
}

static size_t piece_of(const struct sbx_client *client, const struct sbx_client_run_state *run,
                       size_t len)
{
    size_t most = run->input_room < PIECE ? run->input_room : PIECE;
    size_t fits = client->line_max / 8; /* text of control characters takes six bytes each */
    most = most < fits ? most : fits;
    return len < most ? len : most;
}

int sbx_client_write(struct sbx_client *client, sbx_client_run_id id, const void *bytes, size_t len,
                     size_t *taken, struct sbx_client_error *error)
{
    struct sbx_client_run_state *run = running(client, id, error);
    size_t done = 0;
    if (run == NULL) return -1;
    if (!run->has_input || run->feed != NULL)
        return sbx_client_fail(error, "invalid", "the run has no input that could be written");
    while (done < len && run->input_room > 0 && client->input_pending < SBX_CLIENT_INPUT_PENDING) {
        size_t part = piece_of(client, run, len - done);
        if (send_piece(client, run, (const char *)bytes + done, part, false, error) != 0) return -1;
        done += part;
    }
    run->wants_room = done < len;
    if (taken != NULL) *taken = done;
    return 0;
}

int sbx_client_write_end(struct sbx_client *client, sbx_client_run_id id,
                         struct sbx_client_error *error)
{
    struct sbx_client_run_state *run = running(client, id, error);
    if (run == NULL) return -1;
    if (!run->has_input) return 0;
    run->wants_room = false;
    return send_piece(client, run, "", 0, true, error);
}

void sbx_client_feed(struct sbx_client *client, struct sbx_client_run_state *run)
{
    while (run->feed != NULL && run->has_input &&
           client->input_pending < SBX_CLIENT_INPUT_PENDING) {
        size_t part = piece_of(client, run, run->feed_len);
        bool is_end = part == run->feed_len;
        if (part == 0 && !is_end) break;
        if (send_piece(client, run, run->feed, part, is_end, NULL) != 0) break;
        run->feed += part;
        run->feed_len -= part;
    }
    run->wants_room = run->feed != NULL && run->has_input;
}

/* ---- a running command ---- */

int sbx_client_signal(struct sbx_client *client, sbx_client_run_id id, const char *name,
                      struct sbx_client_error *error)
{
    const struct sbx_client_run_state *run = running(client, id, error);
    int number = 0;
    if (run == NULL) return -1;
    if (name == NULL || !sbx_name_value(sbx_wire_signal_names, sbx_str(name), &number))
        return sbx_client_fail(error, "invalid", "there is no such signal");
    struct sbx_wire_run_signal params = {.run = sbx_str(run->name),
                                         .signal = (enum sbx_wire_signal)number};
    return sbx_client_ask(client, SBX_WIRE_RUN_SIGNAL, &params, error);
}

int sbx_client_resize(struct sbx_client *client, sbx_client_run_id id, int rows, int cols,
                      struct sbx_client_error *error)
{
    const struct sbx_client_run_state *run = running(client, id, error);
    if (run == NULL) return -1;
    struct sbx_wire_run_resize params = {.run = sbx_str(run->name), .size = {rows, cols}};
    return sbx_client_ask(client, SBX_WIRE_RUN_RESIZE, &params, error);
}

int sbx_client_cancel(struct sbx_client *client, sbx_client_run_id id,
                      struct sbx_client_error *error)
{
    const struct sbx_client_run_state *run = sbx_client_find(client, id);
    if (run == NULL)
        return sbx_client_fail(error, "no_such_run", "there is no such run, or it has ended");
    if (run->name[0] == '\0') { /* the request itself is taken back */
        struct sbx_wire_cancel request = {.id = {.is_given = true, .number = (int64_t)id}};
        return sbx_client_notice(client, SBX_WIRE_CANCEL, &request, error);
    }
    struct sbx_wire_run params = {.run = sbx_str(run->name)};
    return sbx_client_ask(client, SBX_WIRE_RUN_CANCEL, &params, error);
}

int sbx_client_credit(struct sbx_client *client, sbx_client_run_id id,
                      enum sbx_client_stream stream, size_t bytes, struct sbx_client_error *error)
{
    static const enum sbx_wire_stream streams[] = {[SBX_CLIENT_STDOUT] = SBX_WIRE_STDOUT,
                                                   [SBX_CLIENT_STDERR] = SBX_WIRE_STDERR,
                                                   [SBX_CLIENT_TERMINAL] = SBX_WIRE_TTY};
    const struct sbx_client_run_state *run = running(client, id, error);
    if (run == NULL) return -1;
    if (run->is_raw || (size_t)stream >= SBX_COUNT(streams) ||
        streams[stream] == SBX_WIRE_STREAM_NONE || bytes > INT32_MAX)
        return sbx_client_fail(error, "invalid", "the run has no such stream to give credit to");
    struct sbx_wire_credit params = {
        .run = sbx_str(run->name), .stream = streams[stream], .bytes = (int64_t)bytes};
    return sbx_client_notice(client, SBX_WIRE_RUN_CREDIT, &params, error);
}
