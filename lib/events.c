/* What the worker says, as events of runs. */
#include <string.h>

#include "lib/client.h"

#include "common/base/banned.h"

/* The name of a run, where a message has it. Such names have nothing to escape; one that had would not be found, and is not ours. */
static struct sbx_str name_in(struct sbx_str object)
{
    struct sbx_json_walk walk;
    struct sbx_json_value key;
    struct sbx_json_value value;
    if (object.len == 0) return (struct sbx_str){0};
    for (sbx_json_enter(object, &walk); sbx_json_next_member(&walk, &key, &value);)
        if (sbx_json_is(key.raw, "run") && value.type == SBX_JSON_STRING)
            return (struct sbx_str){value.raw.ptr + 1, value.raw.len - 2};
    return (struct sbx_str){0};
}

struct sbx_client_run_state *sbx_client_owner(struct sbx_client *client,
                                              const struct sbx_wire_message *message)
{
    if (message->sort == SBX_WIRE_NOTICE)
        return sbx_client_find_name(client, name_in(message->params));
    return message->id.is_text ? NULL : sbx_client_find(client, (uint64_t)message->id.number);
}

bool sbx_client_learn(struct sbx_client_run_state *run, const struct sbx_wire_message *message)
{
    struct sbx_str name = name_in(message->result);
    if (name.len == 0 || name.len > SBX_CLIENT_NAME_MAX) return false;
    memcpy(run->name, name.ptr, name.len);
    run->name[name.len] = '\0';
    return true;
}

bool sbx_client_is_last(const struct sbx_client_event *event)
{
    return event->kind == SBX_CLIENT_EXITED || event->kind == SBX_CLIENT_REFUSED;
}

static bool is_broken(struct sbx_client *client)
{
    sbx_client_end(client, "protocol", "the worker sent a message that cannot be read");
    return false;
}

/* ---- the answer to run.start ---- */

static bool make_start(struct sbx_client *client, struct sbx_client_run_state *run,
                       const struct sbx_wire_message *message, struct sbx_client_event *event)
{
    if (message->sort == SBX_WIRE_ERROR) {
        struct sbx_str outcome = {0};
        (void)sbx_client_fail_answer(&client->event_error, message, &outcome);
        event->kind = SBX_CLIENT_REFUSED;
        event->error = &client->event_error;
        event->json = sbx_client_terminate(outcome);
        return true;
    }
    if (!sbx_client_learn(run, message)) return is_broken(client);
    sbx_client_feed(client, run);
    event->kind = SBX_CLIENT_STARTED;
    event->json = sbx_client_terminate(message->result);
    return true;
}

/* ---- notices ---- */

static enum sbx_client_stream stream_of(enum sbx_wire_stream stream)
{
    if (stream == SBX_WIRE_STDERR) return SBX_CLIENT_STDERR;
    return stream == SBX_WIRE_TTY ? SBX_CLIENT_TERMINAL : SBX_CLIENT_STDOUT;
}

/* Given back in larger pieces: a message for each would cost as much as the output. */
static void give_credit(struct sbx_client *client, struct sbx_client_run_state *run,
                        enum sbx_client_stream stream, size_t len)
{
    size_t *due = &run->credit_due[stream == SBX_CLIENT_STDERR];
    *due += len;
    if (run->has_own_credit || *due < client->window / 4) return;
    (void)sbx_client_credit(client, run->id, stream, *due, NULL);
    *due = 0;
}

static bool make_output(struct sbx_client *client, struct sbx_client_run_state *run,
                        const union sbx_wire_body *body, struct sbx_client_event *event)
{
    event->kind = SBX_CLIENT_OUTPUT;
    event->stream = stream_of(body->output.stream);
    event->data = body->output.data.bytes.ptr;
    event->len = body->output.data.bytes.len;
    give_credit(client, run, event->stream, event->len);
    return event->len > 0;
}

static bool make_closed(struct sbx_client *client, struct sbx_client_run_state *run,
                        const union sbx_wire_body *body, struct sbx_client_event *event)
{
    (void)client;
    (void)run;
    event->kind = SBX_CLIENT_CLOSED;
    event->stream = stream_of(body->closed.stream);
    return true;
}

static bool make_room(struct sbx_client *client, struct sbx_client_run_state *run,
                      const union sbx_wire_body *body, struct sbx_client_event *event)
{
    if (!run->has_input) return false;
    run->input_room += (size_t)body->stdin_more.bytes;
    if (run->feed != NULL) {
        sbx_client_feed(client, run);
        return false;
    }
    if (!run->wants_room) return false;
    run->wants_room = false;
    event->kind = SBX_CLIENT_ROOM;
    event->len = run->input_room;
    return true;
}

static bool make_denied(struct sbx_client *client, struct sbx_client_run_state *run,
                        const union sbx_wire_body *body, struct sbx_client_event *event)
{
    (void)client;
    (void)run;
    event->kind = SBX_CLIENT_DENIED;
    event->json = sbx_client_terminate(body->denied.denial);
    return true;
}

static bool make_exited(struct sbx_client *client, struct sbx_client_run_state *run,
                        const union sbx_wire_body *body, struct sbx_client_event *event)
{
    (void)client;
    (void)run;
    event->kind = SBX_CLIENT_EXITED;
    event->status = (int)sbx_client_number(body->exited.result, "status", 125);
    event->json = sbx_client_terminate(body->exited.result);
    return true;
}

typedef bool make_function(struct sbx_client *client, struct sbx_client_run_state *run,
                           const union sbx_wire_body *body, struct sbx_client_event *event);
static make_function *const notices[SBX_WIRE_METHOD_COUNT] = {
    [SBX_WIRE_OUTPUT] = make_output,   [SBX_WIRE_CLOSED] = make_closed,
    [SBX_WIRE_STDIN_MORE] = make_room, [SBX_WIRE_DENIED] = make_denied,
    [SBX_WIRE_EXITED] = make_exited,
};

bool sbx_client_make_event(struct sbx_client *client, struct sbx_client_run_state *run,
                           const struct sbx_wire_message *message, struct sbx_client_event *event)
{
    union sbx_wire_body body;
    memset(event, 0, sizeof *event);
    event->run = run->id;
    if (message->sort != SBX_WIRE_NOTICE) return make_start(client, run, message, event);
    bool is_known = message->method < SBX_WIRE_METHOD_COUNT && notices[message->method] != NULL;
    if (!is_known) return false; /* newer than we are */
    if (sbx_wire_take_params(message, &body, NULL) != SBX_WIRE_OK) return is_broken(client);
    return notices[message->method](client, run, &body, event);
}

/* ---- a number of an outcome ---- */

int64_t sbx_client_number(struct sbx_str object, const char *name, int64_t otherwise)
{
    struct sbx_json_walk walk;
    struct sbx_json_value key;
    struct sbx_json_value value;
    for (sbx_json_enter(object, &walk); sbx_json_next_member(&walk, &key, &value);)
        if (sbx_json_is(key.raw, name))
            return value.type == SBX_JSON_NUMBER ? sbx_json_number(value.raw) : otherwise;
    return otherwise;
}
