/* The program sbxd: the service for one user, or with --system for every user of the machine. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/str.h"
#include "posix/keeper.h"
#include "posix/sbxd.h"
#include "posix/system.h"

#include "common/base/banned.h"

enum { EXIT_FAILED = 1, EXIT_WRONG = 2, WORKERS = 64 };

static const char help[] =
    "usage: sbxd [OPTION...]\n"
    "Runs commands in boxes for local clients (JSON-RPC, docs/PROTOCOL.md), until SIGTERM.\n"
    "\n"
    "  --stdio                   one client, on standard input and output\n"
    "  --socket PATH             listen here (default $XDG_RUNTIME_DIR/sbx/sbx.sock)\n"
    "  --system                  as root: for every user, each with the user's own rights\n"
    "                            (default socket /run/sbx/sbx.sock)\n"
    "  --max-connections N       clients at once (default 1024)\n"
    "  --max-runs N              commands at once (default 1024)\n"
    "  --max-runs-per-client N   the same of one client (default 256)\n"
    "  --warm N                  boxes kept ready for each plan in use; 0: none (default 4)\n"
    "  --drain SECONDS           what running commands get when sbxd has to end (default 10)\n"
    "  --workers N               with --system: users at once (default 64)\n"
    "  --idle SECONDS            with --system: a user's process ends after so long without a\n"
    "                            client (default 300)\n"
    "  -h, --help                this text\n"
    "  --version                 what this is\n";

void sbxd_say(const char *format, ...)
{
    AUTO_BUF text;
    AUTO_BUF line;
    va_list args;
    sbx_buf_init(&text, 4096);
    sbx_buf_init(&line, 16384);
    va_start(args, format);
    sbx_buf_vprintf(&text, format, args);
    va_end(args);
    sbx_buf_add_text(&line, "sbxd: ");
    sbx_buf_add_visible(&line, sbx_buf_str(&text), false);
    sbx_buf_add_char(&line, '\n');
    (void)!write(STDERR_FILENO, sbx_buf_text(&line), line.len);
}

int sbxd_fail(const struct sbx_err *err)
{
    sbxd_say("%s", err->text);
    if (err->hint[0] != '\0') {
        sbxd_say("fix: %s", err->hint);
    }
    return EXIT_FAILED;
}

/* ---- options -------------------------------------------------------------------------------------- */

struct number_row {
    const char *name;
    uint64_t min, max, factor;
    size_t at;
    bool is_64;
};

#define IN(member) offsetof(struct sbxd_options, member)
static const struct number_row numbers[] = {
    {"--max-connections", 1, 65536, 1, IN(limits.connections), false},
    {"--max-runs", 1, 65536, 1, IN(limits.runs), false},
    {"--max-runs-per-client", 1, 65536, 1, IN(limits.runs_per_client), false},
    {"--warm", 0, 64, 1, IN(limits.warm), false},
    {"--workers", 1, 256, 1, IN(workers), false},
    {"--drain", 0, 3600, 1000, IN(limits.drain_ms), true},
    {"--idle", 1, 86400, 1000, IN(idle_ms), true},
};

static bool set_number(struct sbxd_options *options, const char *name, const char *value)
{
    for (size_t i = 0; i < SBX_COUNT(numbers); i++) {
        const struct number_row *row = &numbers[i];
        uint64_t number;
        if (strcmp(name, row->name) != 0) {
            continue;
        }
        if (!sbx_str_to_u64(sbx_str(value), &number) || number < row->min || number > row->max) {
            return false;
        }
        char *place = (char *)options + row->at;
        size_t small = (size_t)number;
        number *= row->factor;
        memcpy(place, row->is_64 ? (const void *)&number : (const void *)&small,
               row->is_64 ? sizeof number : sizeof small);
        return true;
    }
    return false;
}

static bool set_value(struct sbxd_options *options, const char *name, const char *value)
{
    uint64_t number;
    if (strcmp(name, "--socket") == 0) {
        options->socket = value;
        return true;
    }
    if (strcmp(name, "--worker") == 0 && sbx_str_to_u64(sbx_str(value), &number) && number == 3) {
        options->worker_fd = (int)number;
        return true;
    }
    return set_number(options, name, value);
}

/* -1: go on; else the exit status. */
static int parse(struct sbxd_options *options, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        char *value = strchr(word, '=');
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            return write(STDOUT_FILENO, help, sizeof help - 1) > 0 ? 0 : EXIT_FAILED;
        }
        if (strcmp(word, "--version") == 0) {
            static const char version[] = "sbxd " SBX_VERSION "\n";
            return write(STDOUT_FILENO, version, sizeof version - 1) > 0 ? 0 : EXIT_FAILED;
        }
        if (strcmp(word, "--stdio") == 0) {
            options->is_stdio = true;
        } else if (strcmp(word, "--system") == 0) {
            options->is_system = true;
        } else {
            if (value != NULL) {
                *value++ = '\0';
            } else if (i + 1 < argc) {
                value = argv[++i];
            }
            if (value == NULL || !set_value(options, word, value)) {
                sbxd_say("%s: unknown, or not with this value; see: sbxd --help", word);
                return EXIT_WRONG;
            }
        }
    }
    if (options->is_stdio + options->is_system + (options->worker_fd >= 0) > 1 ||
        (options->is_stdio && options->socket != NULL)) {
        sbxd_say("--stdio, --system and --socket: one of them (--system takes --socket)");
        return EXIT_WRONG;
    }
    return -1;
}

static bool open_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd) {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    struct sbxd_options options = {.limits = sbx_service_defaults,
                                   .worker_fd = -1,
                                   .workers = WORKERS,
                                   .idle_ms = UINT64_C(300) * 1000};
    sbx_system_harden();
    (void)signal(SIGCHLD, SIG_DFL);
    if (!open_standard_streams()) {
        return EXIT_FAILED;
    }
    int status = parse(&options, argc, argv);
    if (status >= 0) {
        return status;
    }
    return options.is_system ? sbxd_system(&options) : sbxd_serve(&options);
}
