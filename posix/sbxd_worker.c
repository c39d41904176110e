/* sbxd for one user: the worker with whatever brings it clients. That is a socket, the standard streams, or the system
 * service, which hands over connected sockets. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/sbxd.h"
#include "posix/sbxd_pass.h"
#include "posix/system.h"

#include "common/base/banned.h"

struct daemon {
    const struct sbxd_options *options;
    uv_loop_t loop;
    struct sbx_service *service;
    uv_poll_t source; /* the listening socket, or the one to the system service */
    int source_fd;
    bool has_source;
    uv_timer_t idle;
    uv_signal_t signals[2];
    bool is_ending;
};

/* ---- the end -------------------------------------------------------------------------------------- */

static void stop_source(struct daemon *daemon)
{
    if (daemon->has_source) {
        daemon->has_source = false;
        uv_close((uv_handle_t *)&daemon->source, NULL);
    }
}

static void end(struct daemon *daemon)
{
    if (!daemon->is_ending) {
        daemon->is_ending = true;
        stop_source(daemon);
        uv_close((uv_handle_t *)&daemon->idle, NULL);
        for (size_t i = 0; i < SBX_COUNT(daemon->signals); i++) {
            uv_close((uv_handle_t *)&daemon->signals[i], NULL);
        }
        sbx_service_close(daemon->service);
    }
}

static void drain(struct daemon *daemon)
{
    sbxd_notify("STOPPING=1");
    stop_source(daemon);
    sbx_service_drain(daemon->service);
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    drain((struct daemon *)handle->data);
}

static void on_idle(uv_timer_t *timer)
{
    end((struct daemon *)timer->data);
}

/* The last client has gone, or everything has ended. */
static void on_change(void *state)
{
    struct daemon *daemon = (struct daemon *)state;
    bool is_over = sbx_service_is_over(daemon->service);
    bool is_alone = sbx_service_connections(daemon->service) == 0;
    if (daemon->is_ending) {
        return;
    }
    if (is_over || (is_alone && daemon->options->is_stdio)) {
        end(daemon);
    } else if (is_alone && daemon->options->worker_fd >= 0) {
        (void)uv_timer_start(&daemon->idle, on_idle, daemon->options->idle_ms, 0);
    }
}

/* ---- clients -------------------------------------------------------------------------------------- */

static void take(struct daemon *daemon, int fd)
{
    struct sbx_err err = {0};
    (void)uv_timer_stop(&daemon->idle);
    if (sbx_service_take(daemon->service, fd, fd, (struct sbx_str){"", 0}, &err) != SBX_OK) {
        sbxd_say("a connection was refused: %s", err.text);
    }
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct daemon *daemon = (struct daemon *)poll->data;
    struct sbxd_peer peer;
    struct sbx_err err = {0};
    (void)status;
    (void)events;
    AUTO_FD fd = accept(daemon->source_fd, NULL, NULL);
    if (fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        return; /* gone again, or no descriptor is left: it waits */
    }
    if (sbxd_peer_check(fd, &peer, &err) != SBX_OK) {
        sbxd_say("a connection was refused: %s", err.text);
    } else if (peer.user != geteuid()) {
        sbxd_say("a connection of user %lu was refused", (unsigned long)peer.user);
    } else {
        take(daemon, SBX_TAKE(fd, -1));
    }
}

static void on_passed(uv_poll_t *poll, int status, int events)
{
    struct daemon *daemon = (struct daemon *)poll->data;
    int fd = -1;
    (void)events;
    enum sbxd_passed got = status < 0 ? SBXD_PASSED_END : sbxd_pass_receive(daemon->source_fd, &fd);
    if (got == SBXD_PASSED_FD) {
        take(daemon, fd);
    } else if (got == SBXD_PASSED_END) {
        drain(daemon); /* the system service was told to end */
    }
}

/* ---- the beginning -------------------------------------------------------------------------------- */

static int watch_source(struct daemon *daemon, int fd, uv_poll_cb on_ready)
{
    int status = uv_poll_init(&daemon->loop, &daemon->source, fd);
    if (status == 0) {
        daemon->source_fd = fd;
        daemon->source.data = daemon;
        daemon->has_source = true;
        status = uv_poll_start(&daemon->source, UV_READABLE, on_ready);
    }
    return status;
}

static enum sbx_code take_stdio(struct daemon *daemon, struct sbx_err *err)
{
    /* What sbx itself prints must not get between the lines. */
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    AUTO_FD null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (in < 0 || out < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "dup", "cannot use the standard streams");
    }
    return sbx_service_take(daemon->service, in, out, (struct sbx_str){"", 0}, err);
}

static void watch_signals(struct daemon *daemon)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    (void)uv_timer_init(&daemon->loop, &daemon->idle);
    daemon->idle.data = daemon;
    for (size_t i = 0; i < SBX_COUNT(numbers); i++) {
        (void)uv_signal_init(&daemon->loop, &daemon->signals[i]);
        daemon->signals[i].data = daemon;
        (void)uv_signal_start(&daemon->signals[i], on_signal, numbers[i]);
    }
}

static enum sbx_code begin(struct daemon *daemon, const char *path, bool *is_made,
                           struct sbx_err *err)
{
    const struct sbxd_options *options = daemon->options;
    int fd = -1;
    enum sbx_code code =
        sbx_service_open(&daemon->loop, &options->limits, on_change, daemon, &daemon->service, err);
    if (code != SBX_OK) {
        return code;
    }
    if (options->is_stdio) {
        return take_stdio(daemon, err);
    }
    if (options->worker_fd >= 0) {
        return watch_source(daemon, options->worker_fd, on_passed) == 0
                   ? SBX_OK
                   : sbx_err_set(err, SBX_E_INVALID, "the worker was not started by sbxd");
    }
    code = sbxd_listen(path, false, &fd, is_made, err);
    if (code == SBX_OK && watch_source(daemon, fd, on_connection) != 0) {
        code = sbx_err_set(err, SBX_E_IO, "cannot wait for connections");
    }
    return code;
}

int sbxd_serve(const struct sbxd_options *options)
{
    static struct daemon daemon;
    struct sbx_err err = {0};
    AUTO_ARENA arena;
    bool is_made = false;
    sbx_arena_init(&arena, 64u << 10);
    const char *path = options->socket != NULL ? options->socket : sbxd_socket_path(&arena, false);
    daemon.options = options;
    (void)uv_loop_init(&daemon.loop);
    (void)signal(SIGPIPE, SIG_IGN);
    watch_signals(&daemon);
    enum sbx_code code = begin(&daemon, path, &is_made, &err);
    if (code == SBX_OK) {
        sbxd_notify("READY=1");
    } else {
        end(&daemon);
    }
    (void)uv_run(&daemon.loop, UV_RUN_DEFAULT);
    sbx_service_free(daemon.service);
    (void)uv_loop_close(&daemon.loop);
    if (is_made) {
        (void)unlink(path);
    }
    return code == SBX_OK ? 0 : sbxd_fail(&err);
}
