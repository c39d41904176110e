/* The request that starts a command. */
#include <string.h>

#include "common/base/utf8.h"
#include "lib/client.h"

#include "common/base/banned.h"

/* ---- what the request points to ---- */

void sbx_client_storage_init(const struct sbx_client *client, struct sbx_client_storage *storage)
{
    struct sbx_buf *const all[] = {&storage->argv, &storage->env, &storage->cwd, &storage->manifest,
                                   &storage->environment};
    for (size_t i = 0; i < SBX_COUNT(all); i++)
        sbx_client_init_buf(client, all[i], SBX_CLIENT_STORAGE_MAX);
}

void sbx_client_storage_release(struct sbx_client_storage *storage)
{
    sbx_buf_release(&storage->argv);
    sbx_buf_release(&storage->env);
    sbx_buf_release(&storage->cwd);
    sbx_buf_release(&storage->manifest);
    sbx_buf_release(&storage->environment);
}

static bool storage_failed(const struct sbx_client_storage *storage)
{
    return storage->argv.failed || storage->env.failed || storage->cwd.failed ||
           storage->manifest.failed || storage->environment.failed;
}

static bool is_text(const char *text)
{
    return text == NULL || sbx_utf8_valid(text, strlen(text), NULL);
}

int sbx_client_add_object(struct sbx_client *client, struct sbx_buf *out, const char *what,
                          const char *object, struct sbx_client_error *error)
{
    struct sbx_err err = {0};
    if (sbx_json_check(&client->reader, sbx_str(object), &err) != SBX_OK)
        return sbx_client_fail(error, "invalid", "the %s is not one JSON object: %s", what,
                               err.text);
    for (const char *at = object; *at != '\0'; at++)
        sbx_buf_add_char(out, *at == '\n' || *at == '\r' ? ' ' : *at);
    return 0;
}

/* ---- words and variables ---- */

static int add_words(const char *const *argv, struct sbx_wire_run_start *out,
                     struct sbx_client_storage *storage, struct sbx_client_error *error)
{
    for (size_t i = 0; argv[i] != NULL; i++) {
        if (!is_text(argv[i]))
            return sbx_client_fail(error, "invalid", "argument %zu is not UTF-8", i);
        sbx_wire_push_text(&out->argv, &storage->argv, sbx_str(argv[i]));
    }
    out->argv.first = sbx_buf_text(&storage->argv);
    return 0;
}

/* Whether a name stands before; the first one counts, as for getenv. */
static bool is_repeated(const struct sbx_buf *environment, const char *entry, size_t name_len)
{
    const char *at = environment->data;
    while (at < entry) {
        if (*at == *entry && strncmp(at, entry, name_len + 1) == 0) return true;
        at += strlen(at) + 1;
    }
    return false;
}

/* Left out: what is no variable, and what JSON cannot say. */
static void add_variables(const struct sbx_buf *environment, struct sbx_wire_run_start *out,
                          struct sbx_client_storage *storage)
{
    const char *end = environment->data + environment->len;
    for (const char *entry = environment->data; entry < end; entry += strlen(entry) + 1) {
        const char *equals = strchr(entry, '=');
        if (equals == NULL || equals == entry || !is_text(entry)) continue;
        struct sbx_str name = {entry, (size_t)(equals - entry)};
        if (is_repeated(environment, entry, name.len)) continue;
        sbx_wire_push_text(&out->env, &storage->env, name);
        sbx_wire_push_text(&out->env, &storage->env, sbx_str(equals + 1));
    }
    out->env.first = sbx_buf_text(&storage->env);
}

static void add_environment(const char *const *env, struct sbx_wire_run_start *out,
                            struct sbx_client_storage *storage)
{
    if (env == NULL) {
        sbx_link_add_environment(&storage->environment);
    } else {
        for (; *env != NULL; env++) sbx_buf_add(&storage->environment, *env, strlen(*env) + 1);
    }
    if (storage->environment.len > 0 && !storage->environment.failed)
        add_variables(&storage->environment, out, storage);
    else
        out->env.first = ""; /* none, which is not the same as not said */
}

/* ---- all of it ---- */

static int check_options(const struct sbx_client_run_options *options,
                         struct sbx_client_error *error)
{
    const char *const texts[] = {options->cwd,     options->manifest_file, options->mode,
                                 options->profile, options->sandbox,       options->session,
                                 options->label};
    if (options->argv == NULL || options->argv[0] == NULL || options->argv[0][0] == '\0')
        return sbx_client_fail(error, "invalid", "there is no command");
    if (options->manifest != NULL && options->manifest_file != NULL)
        return sbx_client_fail(error, "invalid", "manifest and manifest_file exclude each other");
    if (options->timeout_ms < 0 || options->rows < 0 || options->cols < 0)
        return sbx_client_fail(error, "invalid", "a number is negative");
    for (size_t i = 0; i < SBX_COUNT(texts); i++)
        if (!is_text(texts[i])) return sbx_client_fail(error, "invalid", "a text is not UTF-8");
    return 0;
}

int sbx_client_fill_options(struct sbx_client *client, const struct sbx_client_run_options *options,
                            struct sbx_wire_run_start *out, struct sbx_client_storage *storage,
                            struct sbx_client_error *error)
{
    if (check_options(options, error) != 0) return -1;
    sbx_wire_init(sbx_wire_rows[SBX_WIRE_RUN_START].params, out);
    if (add_words(options->argv, out, storage, error) != 0) return -1;
    add_environment(options->env, out, storage);
    if (options->cwd == NULL &&
        (!sbx_link_add_directory(&storage->cwd) || !is_text(sbx_buf_text(&storage->cwd))))
        return sbx_client_fail(error, "system", "the working directory has no name");
    out->cwd = options->cwd != NULL ? sbx_str(options->cwd) : sbx_buf_str(&storage->cwd);
    if (options->manifest != NULL) {
        if (sbx_client_add_object(client, &storage->manifest, "manifest", options->manifest,
                                  error) != 0)
            return -1;
        out->manifest = sbx_buf_str(&storage->manifest);
    }
    out->manifest_file = sbx_str(options->manifest_file);
    out->mode = sbx_str(options->mode);
    out->profile = sbx_str(options->profile);
    out->sandbox = sbx_str(options->sandbox);
    out->allow_no_sandbox = options->allows_no_sandbox;
    out->session = sbx_str(options->session);
    out->label = sbx_str(options->label);
    out->timeout_ms = options->timeout_ms;
    out->tty = (struct sbx_wire_size){options->rows, options->cols};
    out->evidence = options->wants_evidence;
    if (options->input == SBX_CLIENT_INPUT_PIPE) out->stdin_kind = SBX_WIRE_STDIN_PIPE;
    if (options->has_own_credit) out->credit = 0;
    return storage_failed(storage) ? sbx_client_fail(error, "memory", "no memory for a request")
                                   : 0;
}

static void init_run(const struct sbx_client *client, const struct sbx_client_run_options *options,
                     struct sbx_client_run_state *run)
{
    run->is_raw = options->fds != NULL;
    run->has_own_credit = options->has_own_credit;
    run->on_event = options->on_event;
    run->state = options->state;
    run->has_input = options->input == SBX_CLIENT_INPUT_PIPE && !run->is_raw;
    run->input_room = client->input_window;
    if (run->has_input && options->input_bytes != NULL) {
        run->feed = (const char *)options->input_bytes;
        run->feed_len = options->input_len;
    }
    run->keep_bytes = options->keep_bytes > 0 ? options->keep_bytes : SBX_CLIENT_KEEP_DEFAULT;
    for (size_t i = 0; i < SBX_CLIENT_STREAMS; i++)
        sbx_client_init_buf(client, &run->kept[i], run->keep_bytes);
}

int sbx_client_start(struct sbx_client *client, const struct sbx_client_run_options *options,
                     sbx_client_run_id *run, struct sbx_client_error *error)
{
    AUTO_OPTIONS storage;
    struct sbx_wire_run_start params;
    sbx_client_storage_init(client, &storage);
    if (sbx_client_fill_options(client, options, &params, &storage, error) != 0) return -1;
    if (options->fds != NULL && !sbx_link_passes_descriptors(&client->link))
        return sbx_client_fail(error, "unsupported", "this connection passes no descriptors");
    params.fds = options->fds != NULL;
    struct sbx_client_run_state *state = sbx_client_add_run(client);
    if (state == NULL) return sbx_client_fail(error, "memory", "no memory for a run");
    init_run(client, options, state);
    state->id = client->last_id + 1;
    if (sbx_client_request(client, SBX_WIRE_RUN_START, &params, options->fds, error) != 0) {
        sbx_client_remove_run(client, state->id);
        return -1;
    }
    if (run != NULL) *run = state->id;
    return 0;
}

int sbx_client_run(struct sbx_client *client, const struct sbx_client_run_options *options,
                   struct sbx_client_result *result, struct sbx_client_error *error)
{
    sbx_client_run_id run = 0;
    if (sbx_client_start(client, options, &run, error) != 0) return -1;
    return sbx_client_wait(client, run, result, error);
}
