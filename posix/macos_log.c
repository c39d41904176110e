/* Reads the system's log. */
#include "posix/macos_log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/os.h"
#include "posix/fd.h"
#include "posix/macos_denial.h"

#include "common/base/banned.h"

#define LOG "/usr/bin/log"
#define WAIT_NS (UINT64_C(3) * 1000000000)
#define TEXT_MAX ((size_t)1 << 20)

static bool start(const char *predicate, const char *last, int output, pid_t *pid)
{
    const char *const argv[] = {LOG,  "show",   "--style",     "ndjson",  "--last",
                                last, "--info", "--predicate", predicate, NULL};
    static char *const env[] = {NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return false;
    }
    bool ok = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
              posix_spawn_file_actions_adddup2(&actions, output, 1) == 0 &&
              posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) == 0 &&
              posix_spawn(pid, LOG, &actions, NULL, (char *const *)(uintptr_t)argv, env) == 0;
    (void)posix_spawn_file_actions_destroy(&actions);
    return ok;
}

static void collect(int input, struct sbx_buf *text)
{
    uint64_t begin = sbx_os_monotonic_ns();
    char block[8192];
    for (;;) {
        uint64_t spent = sbx_os_monotonic_ns() - begin;
        struct pollfd slot = {.fd = input, .events = POLLIN};
        if (spent >= WAIT_NS || poll(&slot, 1, (int)((WAIT_NS - spent) / 1000000) + 1) <= 0) {
            return;
        }
        ssize_t got = sbx_fd_read(input, block, sizeof block);
        if (got <= 0) {
            return;
        }
        sbx_buf_add(text, block, (size_t)got);
    }
}

static bool is_known(const struct sbx_event *events, size_t count,
                     const struct sbx_macos_denial *denial)
{
    for (size_t i = 0; i < count; i++) {
        if (events[i].operation == denial->operation && sbx_str_is(events[i].path, denial->path)) {
            return true;
        }
    }
    return false;
}

static void take(struct sbx_arena *arena, struct sbx_str text, const char *tag,
                 struct sbx_run_record *record)
{
    struct sbx_event *events = SBX_NEW_ARRAY(arena, struct sbx_event, SBX_EVENT_MAX);
    struct sbx_str line;
    size_t count = 0;
    if (events == NULL) {
        return;
    }
    while (text.len > 0) {
        struct sbx_str rest = text;
        struct sbx_macos_denial denial;
        (void)sbx_str_split(rest, '\n', &line, &text);
        if (!sbx_macos_denial_read(line, tag, &denial) || is_known(events, count, &denial)) {
            continue;
        }
        const char *path = sbx_arena_copy(arena, denial.path, strlen(denial.path));
        if (count == SBX_EVENT_MAX || path == NULL) {
            record->events_dropped++;
            continue;
        }
        events[count++] = (struct sbx_event){denial.operation, sbx_str(path), EPERM};
    }
    record->events = events;
    record->event_count = count;
}

void sbx_macos_log_read(struct sbx_arena *arena, const char *tag, unsigned seconds,
                        struct sbx_run_record *record)
{
    char predicate[256];
    char last[32];
    pid_t pid = 0;
    AUTO_FD input = -1;
    AUTO_FD output = -1;
    AUTO_BUF text;
    sbx_buf_init(&text, TEXT_MAX);
    (void)snprintf(predicate, sizeof predicate,
                   "processID == 0 AND senderImagePath CONTAINS \"Sandbox\" AND eventMessage "
                   "CONTAINS \"%s\"",
                   tag);
    (void)snprintf(last, sizeof last, "%us", seconds);
    if (!sbx_fd_pipe(&input, &output) || !start(predicate, last, output, &pid)) {
        return;
    }
    sbx_fd_close(&output);
    collect(input, &text);
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    take(arena, sbx_buf_str(&text), tag, record);
}
