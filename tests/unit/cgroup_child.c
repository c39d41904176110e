/* Children that a test puts into a control group, and what they do there. */
#include "tests/unit/cgroup_child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "posix/fd.h"
#include "tests/check.h"

#include "common/base/banned.h"

/* Whatever becomes of the test, no child stays. A fork forgets both. */
static void die_soon(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)alarm(60);
}

/* ---- work -------------------------------------------------------------------------------------- */

int child_sleep(uint64_t number)
{
    for (;;) {
        sbx_cgroup_pause((unsigned)number + 1000);
    }
}

int child_stop(uint64_t number)
{
    for (;;) {
        (void)raise(SIGSTOP);
        sbx_cgroup_pause((unsigned)number + 1);
    }
}

int child_touch(uint64_t number)
{
    volatile char *bytes =
        mmap(NULL, number, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) {
        return 2;
    }
    for (uint64_t at = 0; at < number; at += 4096) {
        bytes[at] = 1;
    }
    return 0;
}

/* Each holds its half until the other has its own: only the sum is too much. */
int child_touch_two(uint64_t number)
{
    pid_t second = fork();
    if (second == 0) {
        die_soon();
        int status = child_touch(number / 2);
        sbx_cgroup_pause(300);
        _exit(status);
    }
    int status = child_touch(number / 2);
    int other = child_wait(second);
    return status != 0 ? status : other;
}

int child_fork_count(uint64_t number)
{
    pid_t started[64];
    int count = 0;
    while ((uint64_t)count < number && count < (int)SBX_COUNT(started) &&
           (started[count] = fork()) >= 0) {
        if (started[count] == 0) {
            die_soon();
            _exit(child_sleep(0));
        }
        count++;
    }
    for (int i = 0; i < count; i++) {
        (void)kill(started[i], SIGKILL);
        (void)child_wait(started[i]);
    }
    return count;
}

int child_bomb(uint64_t number)
{
    for (;;) {
        pid_t pid = number > 0 ? fork() : -1;
        if (pid == 0) {
            die_soon();
            number--;
        }
        /* What was killed makes room for new ones. */
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        if (pid < 0) {
            sbx_cgroup_pause(1);
        }
    }
}

int child_burn(uint64_t number)
{
    struct timespec used = {0};
    do {
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    } while ((uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000 < number);
    return 0;
}

int child_is_inside(uint64_t number)
{
    return (int)number;
}

/* ---- starting ---------------------------------------------------------------------------------- */

pid_t child_start(const struct sbx_cgroup *group, child_work *work, uint64_t number)
{
    pid_t pid = fork();
    if (pid == 0) {
        die_soon();
        _exit(group != NULL && !sbx_cgroup_enter_self(group) ? 99 : work(number));
    }
    return pid;
}

pid_t child_clone(const struct sbx_cgroup *group, child_work *work, uint64_t number)
{
    struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD};
    args.cgroup = (unsigned)sbx_cgroup_clone_fd(group);
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0) {
        die_soon();
        _exit(work(number));
    }
    return pid;
}

int child_wait(pid_t pid)
{
    for (int i = 0; i < 20000; i++) {
        int status = 0;
        pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid) {
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
        if (got < 0) {
            return -1;
        }
        sbx_cgroup_pause(1);
    }
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    return -2;
}

int child_run(const struct sbx_cgroup *group, child_work *work, uint64_t number)
{
    return child_wait(child_start(group, work, number));
}

bool await_processes(const struct sbx_cgroup *group, uint64_t count)
{
    struct sbx_cgroup_usage usage = {0};
    for (int i = 0; i < 10000; i++) {
        sbx_cgroup_usage(group, &usage);
        if (usage.processes >= count) {
            return true;
        }
        sbx_cgroup_pause(1);
    }
    return false;
}

/* ---- what is there ----------------------------------------------------------------------------- */

size_t count_named(const struct sbx_cgroup *found, const char *prefix)
{
    size_t count = 0;
    for (size_t i = 0; i < found->place_count; i++) {
        DIR *dir = fdopendir(openat(found->place[i].parent_fd, ".", O_RDONLY | O_DIRECTORY));
        const struct dirent *entry;
        while (dir != NULL && (entry = readdir(dir)) != NULL) {
            count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
        }
        if (dir != NULL) {
            (void)closedir(dir);
        }
    }
    return count;
}

const char *own_prefix(pid_t pid)
{
    static char text[32];
    (void)snprintf(text, sizeof text, "sbx-%d-", (int)pid);
    return text;
}

void end_group(struct sbx_cgroup *group)
{
    struct sbx_cgroup_usage usage = {0};
    CHECK(sbx_cgroup_kill(group));
    sbx_cgroup_usage(group, &usage);
    CHECK_U64(usage.processes, 0);
    CHECK(sbx_cgroup_remove(group));
    CHECK_U64(count_named(group, group->name), 0);
    sbx_cgroup_release(group);
}
