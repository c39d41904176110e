/* Attacks on what a machine has a limited amount of. Every loop has an end. */
#include "tests/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/banned.h"

#define MIB ((size_t)1 << 20)
#define DISK_MIB 640 /* a private /tmp has at most 512 */
#define MEMORY_MIB 512
#define SHARES 4
#define PROCESSES 400
#define DESCRIPTORS 5000
#define DEPTH 2000

static void grow_temporary(void)
{
    const char *path = probe_path("scratch", "sbx-probe-grow");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) probe_settle(-1, "make a file");
    (void)unlink(path);
    for (int i = 0; i < DISK_MIB; i++) {
        if (fallocate(fd, 0, (off_t)((size_t)i * MIB), (off_t)MIB) != 0) {
            probe_denied("after %d MiB", i);
        }
    }
    probe_done("%d MiB", DISK_MIB);
}

/* Touches memory until a limit speaks; returns how many MiB there were. */
static int touch(int most)
{
    for (int i = 0; i < most; i++) {
        char *page = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) return i;
        for (size_t at = 0; at < MIB; at += 4096) page[at] = 1;
    }
    return most;
}

static void memory(void)
{
    int got = touch(MEMORY_MIB);
    if (got < MEMORY_MIB) probe_denied("after %d MiB", got);
    probe_done("%d MiB", MEMORY_MIB);
}

static void memory_shared(void)
{
    pid_t children[SHARES];
    for (int i = 0; i < SHARES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            int got = touch(MEMORY_MIB / SHARES);
            probe_sleep_ms(400); /* all of it at the same time */
            _exit(got == MEMORY_MIB / SHARES ? 0 : 1);
        }
    }
    int whole = 0;
    for (int i = 0; i < SHARES; i++) {
        int status = 1;
        if (children[i] > 0) (void)waitpid(children[i], &status, 0);
        whole += status == 0;
    }
    if (whole == SHARES) probe_done("%d processes with %d MiB each", SHARES, MEMORY_MIB / SHARES);
    errno = ENOMEM;
    probe_denied("%d of %d processes got theirs", whole, SHARES);
}

static void processes(void)
{
    static pid_t children[PROCESSES];
    int count = 0;
    int error = 0;
    for (; count < PROCESSES; count++) {
        children[count] = fork();
        if (children[count] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)pause();
            _exit(0);
        }
        error = errno;
        if (children[count] < 0) break;
    }
    for (int i = 0; i < count; i++) {
        (void)kill(children[i], SIGKILL);
        (void)waitpid(children[i], NULL, 0);
    }
    errno = error;
    if (count < PROCESSES) probe_denied("after %d", count);
    probe_done("%d processes", PROCESSES);
}

static void descriptors(void)
{
    for (int i = 0; i < DESCRIPTORS; i++) {
        if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) probe_denied("after %d", i);
    }
    probe_done("%d descriptors", DESCRIPTORS);
}

static void core(void)
{
    struct rlimit limit = {0};
    if (getrlimit(RLIMIT_CORE, &limit) != 0) probe_broken("getrlimit");
    if (limit.rlim_max == 0) probe_absent("no core files");
    probe_done("core files up to %llu bytes", (unsigned long long)limit.rlim_max);
}

static void raise_limit(void)
{
    static const int which[] = {RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_CORE,
                                RLIMIT_DATA,   RLIMIT_FSIZE, RLIMIT_MEMLOCK};
    int last = EPERM;
    for (size_t i = 0; i < sizeof(which) / sizeof(which[0]); i++) {
        struct rlimit limit = {0};
        if (getrlimit(which[i], &limit) != 0 || limit.rlim_max == RLIM_INFINITY) continue;
        limit.rlim_max += 1;
        if (setrlimit(which[i], &limit) == 0) probe_done("limit %d was raised", which[i]);
        last = errno;
    }
    errno = last;
    probe_denied("no limit was raised");
}

static void priority(void)
{
    probe_settle(setpriority(PRIO_PROCESS, 0, -5), "negative nice");
}

static void real_time(void)
{
    struct sched_param param = {.sched_priority = 1};
    int result = sched_setscheduler(0, SCHED_FIFO, &param);
    if (result == 0) {
        param.sched_priority = 0;
        (void)sched_setscheduler(0, SCHED_OTHER, &param);
    }
    probe_settle(result, "real-time scheduling");
}

static void lock_memory(void)
{
    void *page = mmap(NULL, 64 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) probe_settle(-1, "mmap");
    probe_settle(mlock(page, 64 * MIB), "locked 64 MiB of memory");
}

static void deep(void)
{
    if (chdir(probe_place("scratch")) != 0) probe_broken("chdir");
    for (int i = 0; i < DEPTH; i++) {
        if (mkdir("deep", 0755) != 0 || chdir("deep") != 0) probe_denied("at depth %d", i);
    }
    probe_done("%d directories deep", DEPTH);
}

static void sparse(void)
{
    int fd = open(probe_path("work", "sparse"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) probe_broken("make a file");
    probe_settle(ftruncate(fd, (off_t)1 << 40), "a sparse file of 1 TiB");
}

const struct probe probe_resource[] = {
    {"X01", "grow /tmp without bound", grow_temporary},
    {"X02", "allocate memory", memory},
    {"X03", "400 processes", processes},
    {"X04", "5000 descriptors", descriptors},
    {"X05", "core files allowed", core},
    {"X06", "raise a hard limit", raise_limit},
    {"X07", "negative nice value", priority},
    {"X07b", "real-time scheduling", real_time},
    {"X07c", "lock much memory", lock_memory},
    {"X12", "memory growth over several processes", memory_shared},
    {"X14", "deep directories", deep},
    {"X15", "sparse file of 1 TiB in the writable directory", sparse},
    {NULL, NULL, NULL}};
