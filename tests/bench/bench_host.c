/* The machine around a measurement. */
#include "tests/bench/bench_host.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/banned.h"

enum { STEP_MS = 10 };

/* Processes that run or want to, this one included: "0.20 0.18 0.12 1/80 11206". Of all files that tell this one is
 * the cheapest to read. */
static long running(void)
{
    char line[128] = "";
    int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t got = read(fd, line, sizeof line - 1);
    (void)close(fd);
    char *at = got > 0 ? line : NULL;
    for (int field = 0; at != NULL && field < 3; field++) {
        at = strchr(at, ' ');
        if (at != NULL) at++;
    }
    return at != NULL ? strtol(at, NULL, 10) : 0;
}

bool bench_wait_idle(unsigned gap_ms, unsigned wait_ms)
{
    /* With many processors a few that are busy do not matter. */
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    long limit = processors >= 4 ? processors / 2 : 1;
    if (gap_ms > 0) (void)poll(NULL, 0, (int)gap_ms);
    for (unsigned waited = 0; running() > limit; waited += STEP_MS) {
        if (waited >= wait_ms) return false;
        (void)poll(NULL, 0, STEP_MS);
    }
    return true;
}

static unsigned count_mounts(void)
{
    unsigned lines = 0;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    if (file == NULL) return 0;
    for (int c = fgetc(file); c != EOF; c = fgetc(file)) lines += c == '\n';
    (void)fclose(file);
    return lines;
}

bool bench_grow_mounts(const char *directory, unsigned count)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        perror("run_cases: a mount namespace");
        return false;
    }
    unsigned have = count_mounts();
    if (have > count) {
        (void)fprintf(stderr, "run_cases: there are %u mounts already\n", have);
        return false;
    }
    for (unsigned i = have; i < count; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%.4000s/%u", directory, i);
        (void)mkdir(path, 0755);
        if (mount("bench", path, "tmpfs", MS_NOSUID | MS_NODEV, "size=4k,mode=755") != 0) {
            perror(path);
            return false;
        }
    }
    return count_mounts() == count;
}

bool bench_become(unsigned user, unsigned group)
{
    if (setgroups(0, NULL) != 0 || setgid(group) != 0 || setuid(user) != 0) {
        perror("run_cases: cannot become another user");
        return false;
    }
    return user == 0 || setuid(0) != 0;
}
