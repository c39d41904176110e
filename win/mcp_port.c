/* The port of `sbx mcp` on Windows: a thread for each pipe, which hands over one block at a time, so that
 * one wait sees them all and a child is never read further than was asked. */
#include "common/mcp/port.h"

#include <stdlib.h>
#include <string.h>

#include "common/os.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/job.h"
#include "win/process.h"
#include "win/quote.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { BLOCK = 65536, START_ARENA = 16 << 20, END_WAIT_MS = 5000, STOP_WAIT_MS = 1000 };

/* One pipe that is read. The thread owns `block` from the handing over to the next `taken`. */
struct source {
    HANDLE pipe; /* ours to close, but for our own input */
    HANDLE thread;
    HANDLE ready; /* a block is there, or the end */
    HANDLE taken;
    volatile LONG stops;
    DWORD len; /* 0: the end */
    char block[BLOCK];
};

struct feeder {
    HANDLE pipe;
    size_t len;
    char bytes[];
};

struct child {
    bool is_used;
    HANDLE process, job, feeding;
    struct source *read[SBX_MCP_STREAMS]; /* NULL: it has ended */
};

struct sbx_mcp_port {
    struct child children[SBX_MCP_CHILDREN];
    struct source *input;
    struct source *given; /* whose block the caller still looks at */
    size_t turn;
};

/* ---- sources ---- */

static DWORD WINAPI read_on(void *argument)
{
    struct source *source = argument;
    do {
        DWORD got = 0;
        bool is_read =
            sbx_win()->ReadFile(source->pipe, source->block, sizeof source->block, &got, NULL);
        source->len = is_read ? got : 0;
        (void)sbx_win()->SetEvent(source->ready);
        if (source->len == 0) {
            break;
        }
        (void)sbx_win()->WaitForSingleObject(source->taken, INFINITE);
    } while (source->stops == 0);
    return 0;
}

static void discard(struct source *source)
{
    sbx_handle_close(&source->ready);
    sbx_handle_close(&source->taken);
    sbx_handle_close(&source->thread);
    free(source);
}

/* A thread that cannot be stopped keeps its memory. */
static void source_close(struct source **slot, bool owns_pipe)
{
    struct source *source = SBX_TAKE(*slot, NULL);
    if (source == NULL) {
        return;
    }
    (void)InterlockedExchange(&source->stops, 1);
    (void)sbx_win()->SetEvent(source->taken);
    if (!sbx_handle_has_ended(source->thread, 0)) {
        (void)sbx_win()->CancelSynchronousIo(source->thread);
    }
    if (!sbx_handle_has_ended(source->thread, STOP_WAIT_MS)) {
        return;
    }
    if (owns_pipe) {
        sbx_handle_close(&source->pipe);
    }
    discard(source);
}

static enum sbx_code source_open(HANDLE pipe, struct source **out, struct sbx_err *err)
{
    struct source *source = calloc(1, sizeof *source);
    if (source == NULL) {
        return sbx_err_nomem(err);
    }
    source->pipe = pipe;
    source->ready = sbx_win()->CreateEventW(NULL, FALSE, FALSE, NULL);
    source->taken = sbx_win()->CreateEventW(NULL, FALSE, FALSE, NULL);
    bool has_events = source->ready != NULL && source->taken != NULL;
    if (has_events) {
        source->thread = sbx_win()->CreateThread(NULL, 0, read_on, source, 0, NULL);
    }
    if (source->thread == NULL) {
        DWORD raw = GetLastError();
        discard(source);
        return sbx_err_win32(err, raw, has_events ? "CreateThread" : "CreateEventW",
                             "cannot read a pipe");
    }
    *out = source;
    return SBX_OK;
}

/* ---- what a child reads ---- */

static DWORD WINAPI feed(void *argument)
{
    struct feeder *feeder = argument;
    DWORD put = 0;
    for (size_t at = 0; at < feeder->len; at += put) {
        size_t left = feeder->len - at;
        DWORD part = left > BLOCK ? BLOCK : (DWORD)left;
        if (!sbx_win()->WriteFile(feeder->pipe, feeder->bytes + at, part, &put, NULL)) {
            break;
        }
    }
    sbx_handle_close(&feeder->pipe);
    free(feeder);
    return 0;
}

static enum sbx_code start_feeding(struct child *child, struct sbx_str input, HANDLE *pipe,
                                   struct sbx_err *err)
{
    struct feeder *feeder = malloc(sizeof *feeder + input.len);
    if (feeder == NULL) {
        return sbx_err_nomem(err);
    }
    feeder->len = input.len;
    if (input.len > 0) {
        memcpy(feeder->bytes, input.ptr, input.len);
    }
    feeder->pipe = SBX_TAKE(*pipe, NULL);
    child->feeding = sbx_win()->CreateThread(NULL, 0, feed, feeder, 0, NULL);
    if (child->feeding == NULL) {
        DWORD raw = GetLastError();
        sbx_handle_close(&feeder->pipe);
        free(feeder);
        return sbx_err_win32(err, raw, "CreateThread", "cannot write to a pipe");
    }
    return SBX_OK;
}

/* ---- children ---- */

static void forget(struct child *child)
{
    if (child->job != NULL) {
        (void)sbx_job_end(child->job);
    }
    for (size_t i = 0; i < SBX_MCP_STREAMS; i++) {
        source_close(&child->read[i], true);
    }
    if (child->feeding != NULL && !sbx_handle_has_ended(child->feeding, 0)) {
        (void)sbx_win()->CancelSynchronousIo(child->feeding);
    }
    sbx_handle_close(&child->feeding);
    sbx_handle_close(&child->process);
    sbx_handle_close(&child->job);
    *child = (struct child){0};
}

enum sbx_code sbx_mcp_port_open(struct sbx_mcp_port **out, struct sbx_err *err)
{
    struct sbx_mcp_port *port = calloc(1, sizeof *port);
    if (port == NULL) {
        return sbx_err_nomem(err);
    }
    enum sbx_code code = source_open(sbx_win()->GetStdHandle(STD_INPUT_HANDLE), &port->input, err);
    if (code != SBX_OK) {
        free(port);
        return code;
    }
    *out = port;
    return SBX_OK;
}

void sbx_mcp_port_close(struct sbx_mcp_port *port)
{
    if (port == NULL) {
        return;
    }
    for (size_t i = 0; i < SBX_MCP_CHILDREN; i++) {
        if (port->children[i].is_used) {
            forget(&port->children[i]);
        }
    }
    source_close(&port->input, false);
    free(port);
}

/* The child's ends of its pipes; ours are in the sources. */
struct ends {
    HANDLE input, feeding, write[SBX_MCP_STREAMS];
};

static void close_ends(struct ends *ends)
{
    sbx_handle_close(&ends->input);
    sbx_handle_close(&ends->feeding);
    for (size_t i = 0; i < SBX_MCP_STREAMS; i++) {
        sbx_handle_close(&ends->write[i]);
    }
}

static enum sbx_code open_pipes(struct child *child, struct ends *ends, struct sbx_err *err)
{
    if (!sbx_win()->CreatePipe(&ends->input, &ends->feeding, NULL, BLOCK)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreatePipe", "cannot make a pipe");
    }
    for (size_t i = 0; i < SBX_MCP_STREAMS; i++) {
        AUTO_HANDLE read_end = NULL;
        if (!sbx_win()->CreatePipe(&read_end, &ends->write[i], NULL, BLOCK)) {
            DWORD raw = GetLastError();
            return sbx_err_win32(err, raw, "CreatePipe", "cannot make a pipe");
        }
        enum sbx_code code = source_open(read_end, &child->read[i], err);
        if (code != SBX_OK) {
            return code;
        }
        (void)SBX_TAKE(read_end, NULL);
    }
    return SBX_OK;
}

static enum sbx_code bear(struct child *child, const struct sbx_mcp_start *start, struct ends *ends,
                          struct sbx_err *err)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, START_ARENA);
    wchar_t *program = NULL;
    struct sbx_process_plan plan = {
        .stream = {ends->input, ends->write[SBX_MCP_STDOUT], ends->write[SBX_MCP_STDERR]},
        .extra = ends->write[SBX_MCP_RESULT],
        .is_hidden = true};
    struct sbx_process born;
    enum sbx_code code = sbx_wide_from(&arena, start->program, &program, err);
    if (code == SBX_OK) {
        code = sbx_quote_argv(&arena, start->argv, &plan.command_line, err);
    }
    if (code == SBX_OK) {
        code = sbx_job_open(NULL, &child->job, err);
    }
    plan.program = program;
    plan.job = child->job;
    if (code == SBX_OK) {
        code = sbx_process_create(&plan, &born, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    child->process = born.process;
    DWORD resumed = sbx_win()->ResumeThread(born.thread);
    DWORD raw = GetLastError();
    sbx_handle_close(&born.thread);
    return resumed == (DWORD)-1
               ? sbx_err_win32(err, raw, "ResumeThread", "cannot start the program")
               : SBX_OK;
}

enum sbx_code sbx_mcp_port_start(struct sbx_mcp_port *port, const struct sbx_mcp_start *start,
                                 size_t *child, struct sbx_err *err)
{
    size_t place = 0;
    while (place < SBX_MCP_CHILDREN && port->children[place].is_used) {
        place++;
    }
    if (place == SBX_MCP_CHILDREN) {
        return sbx_err_set(err, SBX_E_LIMIT, "%d commands are running", SBX_MCP_CHILDREN);
    }
    struct child *born = &port->children[place];
    struct ends ends = {0};
    enum sbx_code code = open_pipes(born, &ends, err);
    if (code == SBX_OK) {
        code = bear(born, start, &ends, err);
    }
    if (code == SBX_OK) {
        code = start_feeding(born, start->input, &ends.feeding, err);
    }
    close_ends(&ends); /* the readers see the end when the child is gone */
    if (code != SBX_OK) {
        forget(born);
        return code;
    }
    born->is_used = true;
    *child = place;
    return SBX_OK;
}

/* Closing the job's last handle ends the box of sbx.exe; what that leaves behind its next start clears. */
void sbx_mcp_port_end(struct sbx_mcp_port *port, size_t child, bool now)
{
    (void)now;
    if (port->children[child].is_used) {
        (void)sbx_win()->TerminateJobObject(port->children[child].job, 1);
    }
}

/* ---- what happens next ---- */

/* The end of sbx itself, which alone has the result's pipe: whatever is left of it goes, and with it the
 * other ends of the outputs. */
static void child_leaves(struct child *child)
{
    if (!sbx_handle_has_ended(child->process, END_WAIT_MS)) {
        (void)sbx_win()->TerminateProcess(child->process, 1);
    }
    (void)sbx_win()->TerminateJobObject(child->job, 1);
}

/* True when that is something to tell. */
static bool take(struct sbx_mcp_port *port, size_t number, size_t stream, struct sbx_mcp_event *out)
{
    struct child *child = &port->children[number];
    struct source *source = child->read[stream];
    if (source->len > 0) {
        port->given = source;
        *out = (struct sbx_mcp_event){.kind = SBX_MCP_OUTPUT,
                                      .child = number,
                                      .stream = (enum sbx_mcp_stream)stream,
                                      .bytes = {source->block, source->len}};
        return true;
    }
    source_close(&child->read[stream], true);
    if (stream == SBX_MCP_RESULT) {
        child_leaves(child);
    }
    for (size_t i = 0; i < SBX_MCP_STREAMS; i++) {
        if (child->read[i] != NULL) {
            return false;
        }
    }
    forget(child);
    *out = (struct sbx_mcp_event){.kind = SBX_MCP_ENDED, .child = number};
    return true;
}

enum { WAITED = 1 + SBX_MCP_CHILDREN * SBX_MCP_STREAMS };

/* What is waited for, whose it is; begins with another child each time. */
static DWORD list(struct sbx_mcp_port *port, HANDLE waited[WAITED], size_t owner[WAITED])
{
    DWORD count = 0;
    owner[count] = SIZE_MAX;
    waited[count++] = port->input->ready;
    for (size_t i = 0; i < SBX_MCP_CHILDREN; i++) {
        size_t number = (port->turn + i) % SBX_MCP_CHILDREN;
        for (size_t k = 0; k < SBX_MCP_STREAMS; k++) {
            if (port->children[number].read[k] != NULL) {
                owner[count] = number * SBX_MCP_STREAMS + k;
                waited[count++] = port->children[number].read[k]->ready;
            }
        }
    }
    port->turn++;
    return count;
}

enum sbx_code sbx_mcp_port_next(struct sbx_mcp_port *port, uint32_t timeout_ms,
                                struct sbx_mcp_event *out, struct sbx_err *err)
{
    if (port->given != NULL) {
        (void)sbx_win()->SetEvent(SBX_TAKE(port->given, NULL)->taken);
    }
    while (true) {
        HANDLE waited[WAITED];
        size_t owner[WAITED];
        DWORD count = list(port, waited, owner);
        DWORD got = sbx_win()->WaitForMultipleObjects(count, waited, FALSE, timeout_ms);
        if (got == WAIT_FAILED) {
            DWORD raw = GetLastError();
            return sbx_err_win32(err, raw, "WaitForMultipleObjects", "cannot wait");
        }
        if (got == WAIT_TIMEOUT) {
            *out = (struct sbx_mcp_event){.kind = SBX_MCP_IDLE};
            return SBX_OK;
        }
        size_t index = got - WAIT_OBJECT_0;
        if (index == 0) {
            port->given = port->input;
            *out = (struct sbx_mcp_event){.kind = SBX_MCP_INPUT,
                                          .bytes = {port->input->block, port->input->len}};
            return SBX_OK;
        }
        if (take(port, owner[index] / SBX_MCP_STREAMS, owner[index] % SBX_MCP_STREAMS, out)) {
            return SBX_OK;
        }
    }
}

enum sbx_code sbx_mcp_port_write(struct sbx_mcp_port *port, struct sbx_str text,
                                 struct sbx_err *err)
{
    (void)port;
    return sbx_os_write(SBX_STDOUT, text.ptr, text.len, err);
}

uint64_t sbx_mcp_port_now_ns(const struct sbx_mcp_port *port)
{
    (void)port;
    return sbx_os_monotonic_ns();
}
