/* The event loop: which line is next, whose it is, and who gets its event. */
#include <string.h>

#include "lib/client.h"

#include "common/base/banned.h"

/* ---- one line ---- */

/* Room for a message of input may be what a run waited for, whichever it is. */
static struct sbx_client_run_state *find_waiting(struct sbx_client *client)
{
    for (size_t i = 0; i < client->run_count; i++) {
        struct sbx_client_run_state *run = &client->runs[i];
        if (run->wants_room && run->input_room > 0) return run;
    }
    return NULL;
}

/* An answer that nobody waits for is one to a piece of input. */
static struct sbx_client_run_state *take_answer(struct sbx_client *client,
                                                struct sbx_client_event *event)
{
    if (client->input_pending > 0) client->input_pending--;
    struct sbx_client_run_state *run = find_waiting(client);
    if (run == NULL) return NULL;
    run->wants_room = false;
    if (run->feed != NULL) {
        sbx_client_feed(client, run);
        return NULL;
    }
    memset(event, 0, sizeof *event);
    event->kind = SBX_CLIENT_ROOM;
    event->run = run->id;
    event->len = run->input_room;
    return run;
}

bool sbx_client_carry(struct sbx_client *client, struct sbx_str line, sbx_client_run_id only,
                      struct sbx_client_event *event)
{
    struct sbx_wire_message message;
    if (!sbx_client_read(client, line, &message)) return false;
    struct sbx_client_run_state *run = sbx_client_owner(client, &message);
    if (run == NULL) {
        if (message.sort != SBX_WIRE_NOTICE) run = take_answer(client, event);
        if (run == NULL) return false;
    } else if (only != 0 && run->id != only && run->on_event == NULL) {
        if (message.sort == SBX_WIRE_RESULT) (void)sbx_client_learn(run, &message);
        sbx_client_postpone(client, line);
        return false;
    } else if (!sbx_client_make_event(client, run, &message, event)) {
        return false;
    }
    if (run->on_event == NULL) return only == 0 || event->run == only;
    run->on_event(run->state, event);
    if (!sbx_client_is_last(event)) return false;
    if (event->run == only) return true;
    sbx_client_remove_run(client, event->run);
    return false;
}

/* ---- waiting ---- */

bool sbx_client_rest(struct sbx_client *client, uint64_t end_ms)
{
    int timeout_ms = -1;
    if (end_ms != UINT64_MAX) {
        uint64_t now = sbx_link_now_ms();
        if (now >= end_ms) return false;
        timeout_ms = end_ms - now > INT32_MAX ? INT32_MAX : (int)(end_ms - now);
    }
    sbx_link_wait(&client->link, sbx_client_wants_write(client), timeout_ms);
    return true;
}

/* A line that was put aside before, else one that has just come. */
static bool next_line(struct sbx_client *client, struct sbx_str *out)
{
    struct sbx_buf *later = &client->later;
    if (client->later_at == later->len || client->is_broken)
        return sbx_client_take_line(client, out);
    const char *begin = later->data + client->later_at;
    const char *end = (const char *)memchr(begin, '\n', later->len - client->later_at);
    *out = (struct sbx_str){begin, (size_t)(end - begin)};
    client->later_at += out->len + 1;
    return true;
}

int sbx_client_next(struct sbx_client *client, int timeout_ms, struct sbx_client_event *event,
                    struct sbx_client_error *error)
{
    uint64_t end_ms = timeout_ms <= 0 ? 0 : sbx_link_now_ms() + (uint64_t)timeout_ms;
    if (timeout_ms < 0) end_ms = UINT64_MAX;
    for (;;) {
        struct sbx_str line;
        if (next_line(client, &line)) {
            if (!sbx_client_carry(client, line, 0, event)) continue;
            if (sbx_client_is_last(event)) sbx_client_remove_run(client, event->run);
            return 1;
        }
        sbx_client_flush(client);
        if (sbx_client_fill(client)) continue;
        if (client->is_over) return sbx_client_ended(client, error);
        if (timeout_ms == 0 || !sbx_client_rest(client, end_ms)) return 0;
    }
}

/* ---- waiting for one run ---- */

static void collect(struct sbx_client *client, const struct sbx_client_event *event)
{
    struct sbx_client_run_state *run = sbx_client_find(client, event->run);
    if (run == NULL || event->kind != SBX_CLIENT_OUTPUT) return;
    struct sbx_buf *kept = &run->kept[event->stream == SBX_CLIENT_STDERR];
    size_t room = kept->len < run->keep_bytes ? run->keep_bytes - kept->len : 0;
    size_t part = event->len < room ? event->len : room;
    sbx_buf_add(kept, event->data, part);
    run->dropped += event->len - part;
}

/* The output of the last run that was waited for is the connection's until the next one. */
static void hand_out(struct sbx_client *client, sbx_client_run_id id,
                     struct sbx_client_result *result)
{
    struct sbx_client_run_state *run = sbx_client_find(client, id);
    if (run == NULL) return;
    for (size_t i = 0; i < SBX_CLIENT_STREAMS; i++) {
        sbx_buf_release(&client->results[i]);
        client->results[i] = run->kept[i];
        sbx_client_init_buf(client, &run->kept[i], 0);
    }
    result->output = sbx_buf_text(&client->results[0]);
    result->output_len = client->results[0].len;
    result->errors = sbx_buf_text(&client->results[1]);
    result->errors_len = client->results[1].len;
    result->dropped = run->dropped;
}

static bool is_commands(struct sbx_str outcome)
{
    struct sbx_json_walk walk;
    struct sbx_json_value key;
    struct sbx_json_value value;
    for (sbx_json_enter(outcome, &walk); sbx_json_next_member(&walk, &key, &value);)
        if (sbx_json_is(key.raw, "origin"))
            return value.type == SBX_JSON_STRING && sbx_json_is(value.raw, "command");
    return false;
}

/* 1: it has ended, 0: it goes on, -1: it was refused. */
static int absorb(struct sbx_client *client, const struct sbx_client_event *event,
                  struct sbx_client_result *result, struct sbx_client_error *error)
{
    if (!sbx_client_is_last(event)) {
        collect(client, event);
        return 0;
    }
    memset(result, 0, sizeof *result);
    sbx_buf_reset(&client->answer);
    sbx_buf_add_text(&client->answer, event->json);
    result->status = event->status;
    result->json = sbx_buf_text(&client->answer);
    if (event->kind == SBX_CLIENT_EXITED) {
        struct sbx_str outcome = sbx_buf_str(&client->answer);
        result->signal = (int)sbx_client_number(outcome, "signal", 0);
        result->is_commands = is_commands(outcome);
    } else if (error != NULL && event->error != NULL) {
        *error = *event->error;
    }
    hand_out(client, event->run, result);
    sbx_client_remove_run(client, event->run);
    return event->kind == SBX_CLIENT_EXITED ? 1 : -1;
}

/* What was put aside may have come for this run. */
static int search_postponed(struct sbx_client *client, sbx_client_run_id run,
                            struct sbx_client_result *result, struct sbx_client_error *error)
{
    AUTO_BUF old = client->later;
    size_t at = client->later_at;
    int ended = 0;
    sbx_client_init_buf(client, &client->later, SBX_CLIENT_LATER_MAX);
    client->later_at = 0;
    while (at < old.len) {
        struct sbx_client_event event;
        const char *begin = old.data + at;
        const char *end = (const char *)memchr(begin, '\n', old.len - at);
        struct sbx_str line = {begin, (size_t)(end - begin)};
        at += line.len + 1;
        if (ended != 0)
            sbx_client_postpone(client, line);
        else if (!client->is_broken && sbx_client_carry(client, line, run, &event))
            ended = absorb(client, &event, result, error);
    }
    return ended;
}

int sbx_client_wait(struct sbx_client *client, sbx_client_run_id run,
                    struct sbx_client_result *result, struct sbx_client_error *error)
{
    struct sbx_client_result unused;
    if (result == NULL) result = &unused;
    if (sbx_client_find(client, run) == NULL)
        return sbx_client_fail(error, "invalid", "there is no such run, or it was waited for");
    int ended = search_postponed(client, run, result, error);
    while (ended == 0) {
        struct sbx_str line;
        struct sbx_client_event event;
        if (sbx_client_take_line(client, &line)) {
            if (sbx_client_carry(client, line, run, &event))
                ended = absorb(client, &event, result, error);
            continue;
        }
        sbx_client_flush(client);
        if (sbx_client_fill(client)) continue;
        if (client->is_over) return sbx_client_ended(client, error);
        (void)sbx_client_rest(client, UINT64_MAX);
    }
    return ended > 0 ? 0 : -1;
}
