/* The kernel of simulated macOS boxes. */
#include "tests/macos/fake_kernel.h"

#include <dirent.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "posix/macos_profile.h"
#include "posix/macos_sandbox.h"
#include "tests/macos/fake/libproc.h"

#include "common/base/banned.h"

const struct sbx_policy *fake_policy;
unsigned fake_lie;
unsigned fake_asked;
const char *fake_closed;
const int SANDBOX_CHECK_NO_REPORT = 0x40000000;

enum { MARK_BITS = 0x3ffff }; /* below the usual limit of message queues, which nobody here uses */

/* ---- a profile is a limit ---- */

static unsigned long number_of(const char *mark)
{
    return strtoul(mark + sizeof SBX_MACOS_MARK - 1 + 8, NULL, 16) & MARK_BITS;
}

static unsigned long limit_of(pid_t pid)
{
    char path[64];
    char line[256];
    unsigned long value = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/limits", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "Max msgqueue size", 17) == 0) {
            value = strtoul(line + 17, NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return value;
}

int sandbox_init_with_parameters(const char *profile, uint64_t flags,
                                 const char *const parameters[], char **error)
{
    static char refused[] = "the profile of a test";
    const char *mark = strstr(profile, SBX_MACOS_MARK);
    (void)flags;
    (void)parameters;
    if (mark == NULL || strstr(profile, FAKE_REFUSED) != NULL) {
        *error = refused;
        errno = EINVAL;
        return -1;
    }
    struct rlimit limit = {number_of(mark), number_of(mark)};
    return setrlimit(RLIMIT_MSGQUEUE, &limit);
}

void sandbox_free_error(char *error)
{
    (void)error;
}

static bool is_confined(pid_t pid)
{
    unsigned long limit = limit_of(pid);
    return limit != 0 && limit <= MARK_BITS;
}

static int may_look_up(pid_t pid, const char *service)
{
    if (!is_confined(pid)) {
        return 0;
    }
    bool is_mark = strncmp(service, SBX_MACOS_MARK, sizeof SBX_MACOS_MARK - 1) == 0 &&
                   strlen(service) == sizeof SBX_MACOS_MARK - 1 + 16;
    return is_mark && number_of(service) == limit_of(pid) ? 0 : 1;
}

static int may_touch(const char *operation, const char *path)
{
    struct sbx_path asked = {path, strlen(path), SBX_PATH_MACOS};
    if (strstr(path, "/sbx-tmp-") != NULL) {
        return strstr(path, ".vscode") == NULL ? 0 : 1;
    }
    struct sbx_decision decision = sbx_policy_decide(NULL, fake_policy, asked);
    bool is_write = strncmp(operation, "file-write", 10) == 0;
    if (is_write && fake_closed != NULL && strstr(path, fake_closed) != NULL) {
        return 1;
    }
    return decision.access >= (is_write ? SBX_ACCESS_WRITE : SBX_ACCESS_READ) ? 0 : 1;
}

int sandbox_check(pid_t pid, const char *operation, int type, ...)
{
    va_list arguments;
    va_start(arguments, type);
    int kind = type & ~SANDBOX_CHECK_NO_REPORT;
    int answer = 1;
    if (operation == NULL) {
        answer = is_confined(pid) ? 1 : 0;
    } else if (kind == SBX_CHECK_GLOBAL_NAME) {
        answer = may_look_up(pid, va_arg(arguments, const char *));
    } else if (kind == SBX_CHECK_PATH) {
        answer = may_touch(operation, va_arg(arguments, const char *));
    }
    va_end(arguments);
    if (pid != getpid()) {
        fake_asked++;
        answer = fake_asked == fake_lie ? 1 - answer : answer;
    }
    return answer;
}

/* ---- libproc ---- */

/* Numbers in the names of a directory. */
static int numbers_in(const char *path, int *out, int max)
{
    DIR *directory = opendir(path);
    int count = 0;
    for (const struct dirent *entry;
         directory != NULL && count < max && (entry = readdir(directory)) != NULL;) {
        int number = (int)strtol(entry->d_name, NULL, 10);
        if (number > 0 || strcmp(entry->d_name, "0") == 0) {
            out[count++] = number;
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return count;
}

int proc_listallpids(void *buffer, int bytes)
{
    return numbers_in("/proc", buffer, bytes / (int)sizeof(int));
}

int proc_pidinfo(int pid, int flavor, uint64_t argument, void *buffer, int bytes)
{
    char path[64];
    int numbers[64];
    struct proc_fdinfo *out = buffer;
    (void)flavor;
    (void)argument;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", pid);
    int count = numbers_in(path, numbers, bytes / (int)sizeof *out);
    for (int i = 0; i < count; i++) {
        out[i] = (struct proc_fdinfo){numbers[i], 0};
    }
    return count * (int)sizeof *out;
}

int proc_pid_rusage(int pid, int flavor, rusage_info_t *out)
{
    struct rusage_info_v4 *info = (struct rusage_info_v4 *)(void *)out;
    char path[64];
    char line[256] = "";
    (void)flavor;
    (void)snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *file = fopen(path, "re");
    if (file != NULL && fgets(line, sizeof line, file) == NULL) {
        line[0] = '\0';
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    const char *second = strchr(line, ' ');
    unsigned long resident = second == NULL ? 0 : strtoul(second, NULL, 10);
    *info = (struct rusage_info_v4){.ri_phys_footprint = resident * 4096};
    return 0;
}

/* ---- spawning in place ---- */

int posix_spawnattr_setjetsam_ext(posix_spawnattr_t *attributes, short flags, int priority,
                                  int active_mebibytes, int inactive_mebibytes)
{
    (void)attributes;
    (void)flags;
    (void)priority;
    return active_mebibytes == inactive_mebibytes && active_mebibytes > 0 ? 0 : EINVAL;
}

int __wrap_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[], char *const env[]);
int __wrap_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
    (void)pid;
    (void)actions;
    (void)attributes;
    (void)execve(path, argv, env);
    return errno;
}
