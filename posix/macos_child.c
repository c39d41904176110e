/* The command's process: takes its limits and its profile, and is held until sbx has looked at it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/init_plan.h"
#include "posix/macos_first.h"
#include "posix/macos_sandbox.h"
#include "posix/system.h"

#include "common/base/banned.h"

enum { BIRTH = 3, HOLD = 4, SPARE = 64, EXIT_UNBORN = 125 };

static noreturn void give_up(int birth_fd, int32_t step, int raw, const char *text)
{
    struct sbx_first_birth message = {.step = step, .raw = raw};
    sbx_text_format(message.text, sizeof message.text, "%s", text);
    (void)!sbx_fd_write_all(birth_fd, &message, sizeof message);
    _exit(EXIT_UNBORN);
}

/* Leaves the three streams and its two pipe ends. */
static void keep_streams(int birth_fd)
{
    int birth = fcntl(birth_fd, F_DUPFD_CLOEXEC, SPARE);
    int hold = fcntl(SBX_INIT_FD_HOLD, F_DUPFD_CLOEXEC, SPARE);
    if (birth < 0 || hold < 0 || dup2(SBX_INIT_FD_STDOUT, STDOUT_FILENO) < 0 ||
        dup2(SBX_INIT_FD_STDERR, STDERR_FILENO) < 0 || dup2(birth, BIRTH) < 0 ||
        dup2(hold, HOLD) < 0 || fcntl(BIRTH, F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(HOLD, F_SETFD, FD_CLOEXEC) != 0) {
        give_up(birth_fd, SBX_INIT_STEP_FORK, errno, "");
    }
    sbx_system_close_from(HOLD + 1);
}

/* Each is read back: nobody outside can ask for the limits of another process. */
static void set_limits(const struct sbx_macos_block *block)
{
    for (size_t i = 0; i < block->limit_count; i++) {
        struct rlimit now;
        struct rlimit wanted;
        int resource = block->limits[i].resource;
        rlim_t value = (rlim_t)block->limits[i].value;
        if (getrlimit(resource, &now) != 0) {
            give_up(BIRTH, SBX_INIT_STEP_RLIMIT, errno, "");
        }
        /* A limit above what the caller has cannot be set; the caller's is then the limit. */
        wanted.rlim_max = value < now.rlim_max ? value : now.rlim_max;
        wanted.rlim_cur = wanted.rlim_max;
        if (setrlimit(resource, &wanted) != 0 || getrlimit(resource, &now) != 0) {
            give_up(BIRTH, SBX_INIT_STEP_RLIMIT, errno, "");
        }
        if (now.rlim_cur > wanted.rlim_cur) {
            give_up(BIRTH, SBX_INIT_STEP_RLIMIT, EINVAL, "");
        }
    }
}

static void confine(const struct sbx_macos_block *block)
{
    char *error = NULL;
    if (sandbox_init_with_parameters(block->profile, 0, block->parameters, &error) != 0) {
        give_up(BIRTH, SBX_INIT_STEP_LANDLOCK, errno, error == NULL ? "" : error);
    }
}

static void wait_for_release(void)
{
    char byte = 0;
    if (sbx_fd_read(HOLD, &byte, 1) != 1) {
        _exit(EXIT_UNBORN);
    }
}

/* Replaces this process; the memory limit is only to be had that way. */
static int spawn_limited(const struct sbx_macos_block *block)
{
    posix_spawnattr_t attributes;
    pid_t ignored = 0;
    int mebibytes = block->memory_mebibytes > INT32_MAX ? INT32_MAX : (int)block->memory_mebibytes;
    int raw = posix_spawnattr_init(&attributes);
    if (raw == 0) {
        raw = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETEXEC);
    }
    if (raw == 0) {
        raw = posix_spawnattr_setjetsam_ext(&attributes,
                                            SBX_JETSAM_ACTIVE_FATAL | SBX_JETSAM_INACTIVE_FATAL, -1,
                                            mebibytes, mebibytes);
    }
    /* Its arrays are without const for history's sake; it does not write to them. */
    return raw != 0 ? raw
                    : posix_spawn(&ignored, block->program, NULL, &attributes,
                                  (char *const *)(uintptr_t)block->argv,
                                  (char *const *)(uintptr_t)block->env);
}

noreturn void sbx_first_child(const struct sbx_macos_block *block, int birth_fd)
{
    struct sbx_first_birth ready = {.is_ready = 1};
    sigset_t none;
    keep_streams(birth_fd);
    (void)setsid();
    if (block->has_terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0) {
        give_up(BIRTH, SBX_INIT_STEP_TERMINAL, errno, "");
    }
    if (chdir(block->directory) != 0) {
        give_up(BIRTH, SBX_INIT_STEP_DIRECTORY, errno, "");
    }
    set_limits(block);
    confine(block);
    (void)!sbx_fd_write_all(BIRTH, &ready, sizeof ready);
    wait_for_release();
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    int raw = 0;
    if (block->memory_mebibytes > 0) {
        raw = spawn_limited(block);
    } else {
        (void)execve(block->program, (char *const *)(uintptr_t)block->argv,
                     (char *const *)(uintptr_t)block->env);
        raw = errno;
    }
    give_up(BIRTH, SBX_INIT_STEP_EXEC, raw, "");
}
