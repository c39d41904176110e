/* What the self-test tries on POSIX, in a box and outside. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/os.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/selftest.h"

#include "common/base/banned.h"

#define MEBIBYTE ((size_t)1 << 20)
#define CHILDREN_MAX 4096
#define SHOWN_NAMES 8 /* enough to find the reason, and no list of what a person uses */

extern char **environ;

static bool is_among(int raw, const int *codes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (codes[i] == raw) {
            return true;
        }
    }
    return false;
}

static void settle(struct sbx_reply *reply, const char *call, const char *subject, int raw)
{
    static const int absent[] = {ENOENT, ENOTDIR, ECONNREFUSED, EBADF};
    static const int denied[] = {EPERM,       EACCES,       EROFS,        EAGAIN, ENOMEM,
                                 ENETUNREACH, EHOSTUNREACH, EAFNOSUPPORT, ENOSYS, ENETDOWN};
    /* What nobody thought of must not pass for a refusal. */
    enum sbx_answer answer = is_among(raw, denied, SBX_COUNT(denied))   ? SBX_ANSWER_DENIED
                             : is_among(raw, absent, SBX_COUNT(absent)) ? SBX_ANSWER_ABSENT
                                                                        : SBX_ANSWER_BROKEN;
    sbx_reply(reply, answer, "%s %s: %s (errno %d)", call, subject,
              raw == ECONNREFUSED ? "nobody listens" : sbx_errno_text(raw), raw);
}

static uint64_t number(const char *text)
{
    uint64_t value = 0;
    return sbx_str_to_u64(sbx_str(text), &value) ? value : 0;
}

static void pause_ms(uint64_t ms)
{
    struct timespec rest = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
    }
}

/* ---- files ---- */

static void try_nothing(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    sbx_reply(reply, SBX_ANSWER_DONE, "it ran");
}

static void try_read(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    char block[64];
    AUTO_FD fd = open(arguments[0], O_RDONLY | O_CLOEXEC);
    if (fd < 0 || sbx_fd_read(fd, block, sizeof block) < 0) {
        int raw = errno;
        settle(reply, "open", arguments[0], raw);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "read %s", arguments[0]);
}

static void try_write(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    AUTO_FD fd = open(arguments[0], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || !sbx_fd_write_all(fd, "x", 1)) {
        int raw = errno;
        settle(reply, "open", arguments[0], raw);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "wrote %s", arguments[0]);
}

static void try_descriptor(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    char block[64];
    if (pread((int)number(arguments[0]), block, sizeof block, 0) < 0) {
        int raw = errno;
        settle(reply, "pread of descriptor", arguments[0], raw);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "read through descriptor %s", arguments[0]);
}

/* ---- environment and network ---- */

static void try_variable(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    if (getenv(arguments[0]) == NULL) {
        sbx_reply(reply, SBX_ANSWER_ABSENT, "%s is not set", arguments[0]);
    } else {
        sbx_reply(reply, SBX_ANSWER_DONE, "%s is set", arguments[0]);
    }
}

/* The names that are set, apart from those that are given. */
static void try_environment(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    AUTO_BUF names;
    sbx_buf_init(&names, sizeof reply->text - 64);
    size_t others = 0;
    for (char **pair = environ; *pair != NULL; pair++) {
        struct sbx_str name;
        struct sbx_str value;
        bool is_known = false;
        (void)sbx_str_split(sbx_str(*pair), '=', &name, &value);
        for (size_t i = 0; i < count; i++) {
            is_known |= sbx_str_is(name, arguments[i]);
        }
        if (!is_known && others++ < SHOWN_NAMES) {
            sbx_buf_add_char(&names, ' ');
            sbx_buf_add_str(&names, name);
        }
    }
    sbx_reply(reply, others == 0 ? SBX_ANSWER_ABSENT : SBX_ANSWER_DONE, "%zu other variables:%s%s",
              others, sbx_buf_text(&names), others > SHOWN_NAMES ? " …" : "");
}

static void try_connect(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_port = htons((uint16_t)number(arguments[0]));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    AUTO_FD fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        int raw = errno;
        settle(reply, "connect to loopback port", arguments[0], raw);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_DONE, "connected to loopback port %s", arguments[0]);
}

/* ---- time and resources ---- */

static void try_sleep(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    pause_ms(number(arguments[0]));
    sbx_reply(reply, SBX_ANSWER_DONE, "slept %s ms", arguments[0]);
}

static void try_output(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    char block[4096];
    uint64_t left = number(arguments[0]);
    memset(block, '.', sizeof block);
    block[sizeof block - 1] = '\n';
    while (left > 0) {
        size_t part = left < sizeof block ? (size_t)left : sizeof block;
        if (!sbx_fd_write_all(STDOUT_FILENO, block, part)) {
            sbx_reply(reply, SBX_ANSWER_DENIED, "write: errno %d", errno);
            return;
        }
        left -= part;
    }
    (void)!sbx_fd_write_all(STDOUT_FILENO, "\n", 1); /* the answer is a line of its own */
    sbx_reply(reply, SBX_ANSWER_DONE, "wrote %s bytes", arguments[0]);
}

static void try_memory(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    size_t size = (size_t)number(arguments[0]) * MEBIBYTE;
    char *bytes =
        (char *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) {
        int raw = errno;
        settle(reply, "mmap of MiB", arguments[0], raw);
        return;
    }
    memset(bytes, 1, size);
    sbx_reply(reply, SBX_ANSWER_DONE, "used %s MiB", arguments[0]);
}

static void try_processes(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    static pid_t children[CHILDREN_MAX];
    size_t wanted = (size_t)number(arguments[0]);
    size_t made = 0;
    int raw = 0;
    while (made < wanted && made < CHILDREN_MAX) {
        pid_t pid = fork();
        if (pid == 0) {
            pause_ms(60000);
            _exit(0);
        }
        if (pid < 0) {
            raw = errno;
            break;
        }
        children[made++] = pid;
    }
    for (size_t i = 0; i < made; i++) {
        (void)kill(children[i], SIGKILL);
        (void)waitpid(children[i], NULL, 0);
    }
    if (made < wanted) {
        sbx_reply(reply, SBX_ANSWER_DENIED, "fork %zu of %zu: %s (errno %d)", made + 1, wanted,
                  sbx_errno_text(raw), raw);
    } else {
        sbx_reply(reply, SBX_ANSWER_DONE, "%zu processes at once", made);
    }
}

/* ---- what goes on afterwards ---- */

static bool touch(const char *path)
{
    AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0;
}

/* A daemon: no terminal, no parent, no open stream. */
static void try_leave(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    pid_t pid = fork();
    if (pid < 0) {
        int raw = errno;
        settle(reply, "fork", "", raw);
        return;
    }
    if (pid == 0) {
        (void)setsid();
        if (fork() != 0) {
            _exit(0);
        }
        for (int fd = 0; fd < 3; fd++) {
            (void)close(fd);
        }
        pause_ms(number(arguments[1]));
        (void)touch(arguments[0]);
        _exit(0);
    }
    (void)waitpid(pid, NULL, 0);
    sbx_reply(reply, SBX_ANSWER_DONE, "left a process behind");
}

static void try_mark(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    if (!touch(arguments[0])) {
        int raw = errno;
        settle(reply, "open", arguments[0], raw);
        return;
    }
    pause_ms(number(arguments[2]));
    (void)touch(arguments[1]);
    sbx_reply(reply, SBX_ANSWER_DONE, "went on for %s ms", arguments[2]);
}

const struct sbx_attempt *sbx_selftest_attempts(void)
{
    static const struct sbx_attempt attempts[] = {
        {"nothing", "", "starts and ends", 0, try_nothing},
        {"read", "FILE", "reads a file", 1, try_read},
        {"write", "FILE", "makes or extends a file", 1, try_write},
        {"descriptor", "N", "reads through an inherited descriptor", 1, try_descriptor},
        {"variable", "NAME", "looks for a variable", 1, try_variable},
        {"environment", "[NAME…]", "looks for variables besides these", 0, try_environment},
        {"connect", "PORT", "connects to a port on loopback", 1, try_connect},
        {"sleep", "MS", "sleeps", 1, try_sleep},
        {"output", "BYTES", "writes to standard output", 1, try_output},
        {"memory", "MIB", "uses memory", 1, try_memory},
        {"processes", "COUNT", "has that many processes at once", 1, try_processes},
        {"leave", "FILE MS", "leaves a process behind that makes FILE later", 2, try_leave},
        {"mark", "FILE LATER MS", "makes FILE, waits, makes LATER", 3, try_mark},
        {NULL, NULL, NULL, 0, NULL},
    };
    return attempts;
}
