/* The port of `sbx mcp` on POSIX: children with pipes and our own input, in one poll. */
#include "common/mcp/port.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/signals.h"
#include "posix/system.h"

#include "common/base/banned.h"

enum { RESULT_NUMBER = 3, BLOCK = 65536, NO_CHILD = 127 };

struct child {
    pid_t pid; /* 0: the place is free */
    int read_fd[SBX_MCP_STREAMS];
    int input_fd;
    char *input;
    size_t input_len, input_at;
};

struct sbx_mcp_port {
    struct child children[SBX_MCP_CHILDREN];
    size_t turn; /* whose output is looked at first: nobody waits for a chatty one */
    char block[BLOCK];
};

static void forget(struct child *child)
{
    for (size_t i = 0; i < SBX_MCP_STREAMS; i++) sbx_fd_close(&child->read_fd[i]);
    sbx_fd_close(&child->input_fd);
    free(child->input);
    *child = (struct child){.read_fd = {-1, -1, -1}, .input_fd = -1};
}

enum sbx_code sbx_mcp_port_open(struct sbx_mcp_port **out, struct sbx_err *err)
{
    struct sbx_mcp_port *port = calloc(1, sizeof *port);
    if (port == NULL) return sbx_err_nomem(err);
    for (size_t i = 0; i < SBX_MCP_CHILDREN; i++) {
        port->children[i] = (struct child){.read_fd = {-1, -1, -1}, .input_fd = -1};
    }
    sbx_signals_ignore_pipe();
    *out = port;
    return SBX_OK;
}

static void reap(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

void sbx_mcp_port_close(struct sbx_mcp_port *port)
{
    for (size_t i = 0; port != NULL && i < SBX_MCP_CHILDREN; i++) {
        struct child *child = &port->children[i];
        if (child->pid > 0) {
            (void)kill(child->pid, SIGKILL); /* its box dies with it */
            reap(child->pid);
        }
        forget(child);
    }
    free(port);
}

/* ---- birth ---- */

/* The child's ends; the other ends are in struct child. */
struct ends {
    int input;
    int write[SBX_MCP_STREAMS];
};

static void close_ends(struct ends *ends)
{
    sbx_fd_close(&ends->input);
    for (size_t i = 0; i < SBX_MCP_STREAMS; i++) sbx_fd_close(&ends->write[i]);
}

static bool open_pipes(struct child *child, struct ends *ends)
{
    if (!sbx_fd_pipe(&ends->input, &child->input_fd) || !sbx_fd_set_nonblocking(child->input_fd))
        return false;
    for (size_t i = 0; i < SBX_MCP_STREAMS; i++) {
        if (!sbx_fd_pipe(&child->read_fd[i], &ends->write[i]) ||
            !sbx_fd_set_nonblocking(child->read_fd[i]))
            return false;
    }
    return true;
}

/* Between fork and exec. The result's pipe comes last: the number may be that of another end, which is
 * already where it belongs. */
static _Noreturn void become(const char *program, char *const *argv, const struct ends *ends,
                             pid_t parent, const sigset_t *mask)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    (void)sigaction(SIGPIPE, &plain, NULL);
    bool is_ready = sbx_system_die_with(parent) && dup2(ends->input, STDIN_FILENO) >= 0 &&
                    dup2(ends->write[SBX_MCP_STDOUT], STDOUT_FILENO) >= 0 &&
                    dup2(ends->write[SBX_MCP_STDERR], STDERR_FILENO) >= 0;
    int result = ends->write[SBX_MCP_RESULT];
    if (result == RESULT_NUMBER) result = dup(result); /* dup2 to itself keeps close-on-exec */
    is_ready = is_ready && result >= 0 && dup2(result, RESULT_NUMBER) >= 0;
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    if (is_ready) {
        if (result != ends->write[SBX_MCP_RESULT]) (void)close(result);
        (void)execv(program, argv);
    }
    _exit(NO_CHILD);
}

static enum sbx_code bear(struct child *child, const struct sbx_mcp_start *start, struct ends *ends,
                          struct sbx_err *err)
{
    char *const *argv = (char *const *)(uintptr_t)start->argv; /* exec only reads it */
    child->input = start->input.len == 0 ? NULL : malloc(start->input.len);
    if (start->input.len > 0 && child->input == NULL) return sbx_err_nomem(err);
    if (start->input.len > 0) memcpy(child->input, start->input.ptr, start->input.len);
    child->input_len = start->input.len;
    pid_t self = getpid();
    sigset_t mask = sbx_signals_block();
    pid_t pid = fork();
    int raw = errno;
    if (pid == 0) become(start->program, argv, ends, self, &mask);
    sbx_signals_unblock(&mask);
    if (pid < 0) return sbx_err_errno(err, raw, "fork", "cannot start a process");
    child->pid = pid;
    return SBX_OK;
}

enum sbx_code sbx_mcp_port_start(struct sbx_mcp_port *port, const struct sbx_mcp_start *start,
                                 size_t *child, struct sbx_err *err)
{
    size_t place = 0;
    while (place < SBX_MCP_CHILDREN && port->children[place].pid != 0) place++;
    if (place == SBX_MCP_CHILDREN)
        return sbx_err_set(err, SBX_E_LIMIT, "%d commands are running", SBX_MCP_CHILDREN);
    struct child *born = &port->children[place];
    struct ends ends = {.input = -1, .write = {-1, -1, -1}};
    enum sbx_code code;
    if (open_pipes(born, &ends)) {
        code = bear(born, start, &ends, err);
    } else {
        int raw = errno;
        code = sbx_err_errno(err, raw, "pipe", "cannot make a pipe");
    }
    close_ends(&ends);
    if (code != SBX_OK) {
        forget(born);
        return code;
    }
    if (born->input_len == 0) sbx_fd_close(&born->input_fd);
    *child = place;
    return SBX_OK;
}

void sbx_mcp_port_end(struct sbx_mcp_port *port, size_t child, bool now)
{
    if (port->children[child].pid > 0)
        (void)kill(port->children[child].pid, now ? SIGKILL : SIGTERM);
}

/* ---- what happens next ---- */

static void feed(struct child *child)
{
    ssize_t put =
        write(child->input_fd, child->input + child->input_at, child->input_len - child->input_at);
    bool is_over = put < 0 && errno != EAGAIN && errno != EINTR;
    if (put > 0) child->input_at += (size_t)put;
    if (is_over || child->input_at == child->input_len) sbx_fd_close(&child->input_fd);
}

/* True when there is something to tell of this stream. */
static bool take(struct sbx_mcp_port *port, size_t number, size_t stream, struct sbx_mcp_event *out)
{
    int *fd = &port->children[number].read_fd[stream];
    if (*fd < 0) return false;
    ssize_t got = sbx_fd_read(*fd, port->block, sizeof port->block);
    if (got > 0) {
        *out = (struct sbx_mcp_event){.kind = SBX_MCP_OUTPUT,
                                      .child = number,
                                      .stream = (enum sbx_mcp_stream)stream,
                                      .bytes = {port->block, (size_t)got}};
        return true;
    }
    if (got == 0 || errno != EAGAIN) sbx_fd_close(fd);
    return false;
}

/* Only sbx itself has the result's pipe: its end is the end of sbx, whoever else still holds the outputs. */
static bool take_child(struct sbx_mcp_port *port, size_t number, struct sbx_mcp_event *out)
{
    struct child *child = &port->children[number];
    if (child->pid == 0) return false;
    if (take(port, number, SBX_MCP_RESULT, out)) return true;
    bool has_ended = child->read_fd[SBX_MCP_RESULT] < 0;
    if (has_ended && child->pid > 0) {
        reap(child->pid);
        child->pid = -1;
    }
    if (take(port, number, SBX_MCP_STDOUT, out) || take(port, number, SBX_MCP_STDERR, out))
        return true;
    if (!has_ended) return false;
    forget(child);
    *out = (struct sbx_mcp_event){.kind = SBX_MCP_ENDED, .child = number};
    return true;
}

static bool take_any(struct sbx_mcp_port *port, struct sbx_mcp_event *out)
{
    for (size_t i = 0; i < SBX_MCP_CHILDREN; i++) {
        size_t number = (port->turn + i) % SBX_MCP_CHILDREN;
        if (take_child(port, number, out)) {
            port->turn = number + 1;
            return true;
        }
    }
    return false;
}

/* One that has ended may have no stream left that poll would tell of. */
static bool is_any_leaving(const struct sbx_mcp_port *port)
{
    for (size_t i = 0; i < SBX_MCP_CHILDREN; i++)
        if (port->children[i].pid < 0) return true;
    return false;
}

static enum sbx_code take_input(struct sbx_mcp_port *port, struct sbx_mcp_event *out,
                                struct sbx_err *err)
{
    ssize_t got = sbx_fd_read(STDIN_FILENO, port->block, sizeof port->block);
    int raw = errno;
    if (got < 0) return sbx_err_errno(err, raw, "read", "cannot read standard input");
    *out = (struct sbx_mcp_event){.kind = SBX_MCP_INPUT, .bytes = {port->block, (size_t)got}};
    return SBX_OK;
}

enum { POLLED = 1 + SBX_MCP_CHILDREN * (SBX_MCP_STREAMS + 1) };

static nfds_t list(const struct sbx_mcp_port *port, struct pollfd polled[POLLED])
{
    nfds_t count = 0;
    polled[count++] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    for (size_t i = 0; i < SBX_MCP_CHILDREN; i++) {
        const struct child *child = &port->children[i];
        for (size_t k = 0; k < SBX_MCP_STREAMS; k++)
            polled[count++] = (struct pollfd){.fd = child->read_fd[k], .events = POLLIN};
        polled[count++] = (struct pollfd){.fd = child->input_fd, .events = POLLOUT};
    }
    return count;
}

enum sbx_code sbx_mcp_port_next(struct sbx_mcp_port *port, uint32_t timeout_ms,
                                struct sbx_mcp_event *out, struct sbx_err *err)
{
    uint64_t end_ns = sbx_os_monotonic_ns() + (uint64_t)timeout_ms * 1000000;
    if (is_any_leaving(port) && take_any(port, out)) return SBX_OK;
    while (true) {
        struct pollfd polled[POLLED];
        uint64_t now_ns = sbx_os_monotonic_ns();
        int wait_ms = now_ns >= end_ns ? 0 : (int)((end_ns - now_ns + 999999) / 1000000);
        int ready = poll(polled, list(port, polled), wait_ms);
        int raw = errno;
        if (ready < 0 && raw != EINTR) return sbx_err_errno(err, raw, "poll", "cannot wait");
        if (ready == 0) {
            *out = (struct sbx_mcp_event){.kind = SBX_MCP_IDLE};
            return SBX_OK;
        }
        if (ready < 0) continue;
        if (polled[0].revents != 0) return take_input(port, out, err);
        for (size_t i = 0; i < SBX_MCP_CHILDREN; i++)
            if (polled[1 + i * (SBX_MCP_STREAMS + 1) + SBX_MCP_STREAMS].revents != 0)
                feed(&port->children[i]);
        if (take_any(port, out)) return SBX_OK;
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
