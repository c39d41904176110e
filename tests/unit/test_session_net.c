/* Boxes of one session share a network: a server in one is reached from the next, and from nowhere else. Real boxes of
 * the backend native. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os.h"
#include "common/run/run.h"
#include "posix/fd.h"
#include "posix/linux_native.h"
#include "tests/check.h"

#include "common/base/banned.h"

#define PYTHON "/usr/bin/python3"

static struct sbx_err err;

/* One run in this process; how it ended as sbx would, or -1 with the reason printed. */
static int run(const char *const *command, const struct sbx_session_net *session)
{
    static const struct sbx_manifest manifest = {.mode = SBX_MODE_READ_ONLY,
                                                 .set = 1u << SBX_KEY_MODE};
    struct sbx_arena arena;
    struct sbx_findings findings;
    struct sbx_context context;
    struct sbx_ceiling ceiling;
    struct sbx_probe_cache probes;
    struct sbx_prepared prepared;
    struct sbx_run_record record = {0};
    int status = -1;
    sbx_arena_init(&arena, 64u << 20);
    sbx_findings_init(&findings, &arena);
    sbx_ceiling_init(&ceiling);
    sbx_probe_cache_init(&probes);
    struct sbx_prepare_input input = {.manifest = &manifest,
                                      .context = &context,
                                      .ceiling = &ceiling,
                                      .request = "native",
                                      .command = command,
                                      .probes = &probes};
    enum sbx_code code = sbx_os_context(&arena, &context, &err);
    if (code == SBX_OK) {
        code = sbx_prepare(&arena, &input, &findings, &prepared, &err);
    }
    if (code == SBX_OK) {
        code = prepared.selection.backend == SBX_BACKEND_NATIVE
                   ? sbx_native_run(&arena, &prepared.plan, session, &record, &err)
                   : SBX_E_UNSUPPORTED;
    }
    if (code == SBX_OK) {
        status = (int)sbx_outcome_status(&record.outcome);
    } else {
        printf("# not run: %s\n", err.text);
    }
    sbx_probe_cache_release(&probes);
    sbx_arena_release(&arena);
    return status;
}

static bool open_session(struct sbx_session_net *out)
{
    struct sbx_account own = {.user = geteuid(), .group = getegid()};
    if (access(PYTHON, X_OK) != 0) {
        sbx_test_skip("python3", "no " PYTHON " to be the server");
        return false;
    }
    return CHECK_CODE(sbx_session_net_open(&own, out, &err), SBX_OK, &err);
}

#define CONNECT                                                                                    \
    "import socket,sys,time\n"                                                                     \
    "for i in range(200):\n"                                                                       \
    "  try:\n"                                                                                     \
    "    s=socket.create_connection(('127.0.0.1',7777),5)\n"                                       \
    "    sys.exit(0 if s.recv(5)==b'hello' else 3)\n"                                              \
    "  except OSError:\n"                                                                          \
    "    if len(sys.argv)>1: sys.exit(4)\n"                                                        \
    "    time.sleep(0.05)\n"                                                                       \
    "sys.exit(5)\n"

static const char *const server[] = {PYTHON, "-c",
                                     "import socket\n"
                                     "s=socket.create_server(('127.0.0.1',7777))\n"
                                     "s.settimeout(20)\n"
                                     "c,_=s.accept(); c.sendall(b'hello')\n",
                                     NULL};
static const char *const client[] = {PYTHON, "-c", CONNECT, NULL};
static const char *const impatient[] = {PYTHON, "-c", CONNECT, "once", NULL};

static void the_next_run_reaches_a_server_of_the_last(void)
{
    AUTO_SESSION_NET session = {.user_fd = -1, .net_fd = -1};
    if (!open_session(&session)) {
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        _exit(run(server, &session));
    }
    CHECK_INT(run(client, &session), 0);
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void a_box_outside_the_session_does_not(void)
{
    AUTO_SESSION_NET session = {.user_fd = -1, .net_fd = -1};
    AUTO_SESSION_NET other = {.user_fd = -1, .net_fd = -1};
    if (!open_session(&session) || !open_session(&other)) {
        return;
    }
    CHECK(session.net_inode != other.net_inode);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(run(server, &session));
    }
    CHECK_INT(run(impatient, &other), 4);
    CHECK_INT(run(impatient, NULL), 4);
    CHECK_INT(run(client, &session), 0); /* the control: it is there */
    CHECK(waitpid(pid, NULL, 0) == pid);
}

static void nothing_is_left_of_a_session(void)
{
    char path[64];
    struct stat info;
    AUTO_SESSION_NET session = {.user_fd = -1, .net_fd = -1};
    if (!open_session(&session)) {
        return;
    }
    CHECK(waitpid(-1, NULL, WNOHANG) < 0); /* the process that made it is gone */
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", session.net_fd);
    CHECK(stat(path, &info) == 0 && info.st_ino == session.net_inode);
    CHECK((fcntl(session.net_fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK((fcntl(session.user_fd, F_GETFD) & FD_CLOEXEC) != 0);
    sbx_session_net_close(&session);
    CHECK(session.net_fd == -1 && session.user_fd == -1);
}

static const struct sbx_test tests[] = {
    {"a run reaches the server that another run of its session started",
     the_next_run_reaches_a_server_of_the_last},
    {"a box of another session, or of none, does not reach it", a_box_outside_the_session_does_not},
    {"a session leaves no process, and its descriptors are not inherited",
     nothing_is_left_of_a_session},
};
SBX_TEST_MAIN("session_net", tests)
