/* A cold run: by a child that is the command line itself, so that it is decided, built, read back and reported as
 * anybody's. */
#include <string.h>

#include "common/service/internal.h"

#include "common/base/banned.h"

enum { EVENTS_FD = 3, MANIFEST_FD, USER_FD, NET_FD, CHILD_FDS };

/* ---- what the child says ---- */

static void on_closed(uv_handle_t *handle)
{
    sbx_run_release((struct sbx_run_job *)handle->data);
}

static enum sbx_wire_code code_of(struct sbx_str result, struct sbx_err *err)
{
    static const struct {
        const char *code;
        enum sbx_wire_code answer;
    } rows[] = {
        {"not-found", SBX_WIRE_NOT_FOUND},    {"denied", SBX_WIRE_NOT_EXECUTABLE},
        {"invalid", SBX_WIRE_POLICY_INVALID}, {"untrusted", SBX_WIRE_POLICY_INVALID},
        {"syntax", SBX_WIRE_POLICY_INVALID},  {"unsupported", SBX_WIRE_UNSUPPORTED},
        {"usage", SBX_WIRE_INVALID_PARAMS},
    };
    char code[32];
    struct sbx_str error = sbx_member(result, "error");
    if (error.len == 0 || error.ptr[0] != '{') error = (struct sbx_str){"{}", 2};
    (void)sbx_member_text(error, "code", code, sizeof code);
    char text[512];
    (void)sbx_member_text(error, "text", text, sizeof text);
    (void)sbx_err_set(err, SBX_E_UNAVAILABLE, "%s", text[0] == '\0' ? "the run was refused" : text);
    for (size_t i = 0; i < SBX_COUNT(rows); i++)
        if (strcmp(code, rows[i].code) == 0) return rows[i].answer;
    return SBX_WIRE_REFUSED;
}

static void refuse(struct sbx_run_job *run)
{
    struct sbx_err err = {0};
    enum sbx_wire_code code = SBX_WIRE_INTERNAL;
    if (run->is_cancelled) {
        (void)sbx_err_set(&err, SBX_E_UNAVAILABLE, "the run was cancelled");
        code = SBX_WIRE_CANCELLED;
    } else if (run->result.len == 0) {
        (void)sbx_err_set(&err, SBX_E_INTERNAL, "what runs commands has died");
    } else {
        code = code_of(sbx_buf_str(&run->result), &err);
    }
    sbx_run_refused(run, code, &err);
}

static void settle(struct sbx_run_job *run)
{
    if (run->has_child || run->has_events) return;
    if (run->has_kill) {
        run->has_kill = false;
        uv_close((uv_handle_t *)&run->kill, on_closed);
    }
    if (run->state == SBX_RUN_STARTING && run->client != NULL)
        refuse(run);
    else
        sbx_run_check(run);
}

static void take_event(struct sbx_run_job *run, struct sbx_str line)
{
    struct sbx_err ignored = {0};
    if (sbx_json_check(&run->service->json, line, &ignored) != SBX_OK) return;
    if (sbx_member(line, "event").len == 0) {
        sbx_buf_reset(&run->result);
        sbx_buf_add_str(&run->result, line);
        return;
    }
    (void)sbx_member_text(line, "backend", run->backend, sizeof run->backend);
    (void)sbx_member_text(line, "plan_digest", run->digest, sizeof run->digest);
    sbx_run_started(run, sbx_member(line, "evidence"));
}

static void take_events(struct sbx_run_job *run)
{
    struct sbx_str rest = sbx_buf_str(&run->said);
    struct sbx_str line;
    size_t done = 0;
    while (sbx_str_split(rest, '\n', &line, &rest)) {
        done += line.len + 1;
        take_event(run, line);
    }
    if (done == 0) return;
    memmove(run->said.data, run->said.data + done, run->said.len - done);
    run->said.len -= done;
    run->said.data[run->said.len] = '\0';
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    struct sbx_service *service = ((struct sbx_run_job *)handle->data)->service;
    (void)suggested;
    *out = uv_buf_init(service->chunk, sizeof service->chunk);
}

static void on_event(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf)
{
    struct sbx_run_job *run = (struct sbx_run_job *)stream->data;
    if (length == 0) return;
    if (length > 0) {
        sbx_buf_add(&run->said, buf->base, (size_t)length);
        take_events(run);
    }
    if (length > 0 && !run->said.failed) return;
    run->has_events = false;
    uv_close((uv_handle_t *)&run->events, on_closed);
    settle(run);
}

static void on_end(uv_process_t *child, int64_t status, int signal)
{
    struct sbx_run_job *run = (struct sbx_run_job *)child->data;
    (void)status;
    (void)signal;
    run->has_child = false;
    uv_close((uv_handle_t *)child, on_closed);
    settle(run);
}

/* ---- starting it ---- */

static bool open_events(struct sbx_run_job *run, uv_file *theirs)
{
    uv_file ends[2];
    if (uv_pipe(ends, UV_NONBLOCK_PIPE, 0) != 0) return false;
    *theirs = ends[1];
    (void)uv_pipe_init(run->service->loop, &run->events, 0);
    run->events.data = run;
    run->has_events = true;
    run->open_handles++;
    if (uv_pipe_open(&run->events, ends[0]) != 0) {
        sbx_fd_drop(&ends[0]);
        return false;
    }
    return uv_read_start((uv_stream_t *)&run->events, on_room, on_event) == 0;
}

static void on_manifest(uv_write_t *write, int status)
{
    struct sbx_run_job *run = (struct sbx_run_job *)write->data;
    (void)status; /* a child that does not read it says so itself */
    uv_close((uv_handle_t *)&run->manifest, on_closed);
}

static bool send_manifest(struct sbx_run_job *run, struct sbx_str manifest, uv_file *theirs)
{
    uv_file ends[2];
    if (manifest.ptr == NULL) return true;
    sbx_buf_add_str(&run->manifest_text, manifest);
    if (run->manifest_text.failed || uv_pipe(ends, 0, UV_NONBLOCK_PIPE) != 0) return false;
    *theirs = ends[0];
    (void)uv_pipe_init(run->service->loop, &run->manifest, 0);
    run->manifest.data = run;
    run->open_handles++;
    uv_buf_t part = uv_buf_init(run->manifest_text.data, (unsigned)run->manifest_text.len);
    run->manifest_write.data = run;
    if (uv_pipe_open(&run->manifest, ends[1]) != 0) {
        sbx_fd_drop(&ends[1]);
        uv_close((uv_handle_t *)&run->manifest, on_closed);
        return false;
    }
    if (uv_write(&run->manifest_write, (uv_stream_t *)&run->manifest, &part, 1, on_manifest) != 0) {
        uv_close((uv_handle_t *)&run->manifest, on_closed);
        return false;
    }
    return true;
}

static bool open_terminal(struct sbx_run_job *run, const struct sbx_wire_run_start *asked,
                          int64_t credit, uv_file fds[3], struct sbx_err *err)
{
    struct sbx_port_terminal *terminal = &run->terminal;
    if (sbx_port_terminal_open((unsigned)asked->tty.rows, (unsigned)asked->tty.cols, terminal,
                               err) != SBX_OK)
        return false;
    if (terminal->theirs < 0)
        return sbx_input_open(run, &fds[0]) && sbx_output_open(run, SBX_WIRE_TTY, credit, &fds[1]);
    uv_file screen = terminal->screen;
    uv_file keys = terminal->keys;
    terminal->screen = terminal->keys = -1;
    return sbx_output_adopt(run, SBX_WIRE_TTY, credit, screen) && sbx_input_adopt(run, keys);
}

static bool open_streams(struct sbx_run_job *run, const struct sbx_wire_run_start *asked,
                         uv_file fds[3], struct sbx_err *err)
{
    int64_t credit = asked->credit < 0 ? SBX_WIRE_WINDOW : asked->credit;
    if (asked->fds) return true;
    if (asked->tty.rows != 0) return open_terminal(run, asked, credit, fds, err);
    return (asked->stdin_kind == SBX_WIRE_STDIN_NULL || sbx_input_open(run, &fds[0])) &&
           sbx_output_open(run, SBX_WIRE_STDOUT, credit, &fds[1]) &&
           sbx_output_open(run, SBX_WIRE_STDERR, credit, &fds[2]);
}

static void inherit(uv_stdio_container_t *slot, uv_file fd)
{
    slot->flags = fd < 0 ? UV_IGNORE : UV_INHERIT_FD;
    slot->data.fd = fd;
}

static int spawn(struct sbx_run_job *run, const struct sbx_wire_run_start *asked,
                 const uv_file fds[CHILD_FDS])
{
    AUTO_WORDS words;
    AUTO_WORDS variables;
    uv_stdio_container_t stdio[CHILD_FDS];
    sbx_words_init(&words);
    sbx_words_init(&variables);
    bool has_manifest = fds[MANIFEST_FD] >= 0;
    bool has_network = fds[NET_FD] >= 0;
    if (!sbx_words_attended(&words, run->service, EVENTS_FD, has_manifest ? MANIFEST_FD : -1,
                            has_network ? USER_FD : -1, "run") ||
        !sbx_words_options(&words, asked) || !sbx_words_command(&words, asked) ||
        !sbx_words_variables(&variables, asked))
        return UV_ENOMEM;
    bool has_terminal = run->terminal.theirs >= 0;
    for (size_t i = 0; i < CHILD_FDS; i++)
        inherit(&stdio[i], i < 3 && has_terminal ? run->terminal.theirs : fds[i]);
    uv_process_options_t options = {
        .exit_cb = on_end,
        .file = run->service->program.text,
        .args = (char **)(void *)words.items,
        .env = (char **)(void *)variables.items,
        .cwd = asked->cwd.ptr,
        .flags = UV_PROCESS_WINDOWS_HIDE,
        .stdio_count = CHILD_FDS,
        .stdio = stdio,
    };
    int status = uv_spawn(run->service->loop, &run->child, &options);
    run->child.data = run;
    run->open_handles++;
    if (status == 0)
        run->has_child = true;
    else
        uv_close((uv_handle_t *)&run->child, on_closed);
    return status;
}

void sbx_run_cold(struct sbx_run_job *run, const struct sbx_wire_run_start *asked,
                  const uv_file given[3], const struct sbx_service_session *session)
{
    struct sbx_err err = {0};
    uv_file fds[CHILD_FDS] = {given[0], given[1], given[2], -1, -1, -1, -1};
    if (session != NULL && session->is_shared) {
        fds[USER_FD] = session->user_fd;
        fds[NET_FD] = session->net_fd;
    }
    bool is_open = open_streams(run, asked, fds, &err) && open_events(run, &fds[EVENTS_FD]) &&
                   send_manifest(run, asked->manifest, &fds[MANIFEST_FD]);
    int status = is_open ? spawn(run, asked, fds) : UV_EMFILE;
    for (size_t i = asked->fds ? 3 : 0; i <= MANIFEST_FD; i++) sbx_fd_drop(&fds[i]);
    sbx_fd_drop(&run->terminal.theirs);
    if (status == 0) return;
    bool is_directory = asked->cwd.ptr != NULL &&
                        (status == UV_ENOENT || status == UV_ENOTDIR || status == UV_EACCES);
    if (err.text[0] == '\0' && is_directory)
        (void)sbx_err_set(&err, SBX_E_NOT_FOUND, "\"cwd\" is no directory that can be entered");
    else if (err.text[0] == '\0')
        (void)sbx_err_set(&err, SBX_E_IO, "cannot start a process: %s", uv_strerror(status));
    if (run->has_events) {
        run->has_events = false;
        uv_close((uv_handle_t *)&run->events, on_closed);
    }
    sbx_run_refused(run,
                    is_directory                    ? SBX_WIRE_INVALID_PARAMS
                    : err.code == SBX_E_UNSUPPORTED ? SBX_WIRE_UNSUPPORTED
                                                    : SBX_WIRE_OVERLOADED,
                    &err);
}
