/* The processes of a box on macOS. */
#include "posix/macos_members.h"

#include <libproc.h>
#include <mach/mach_time.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/macos_profile.h"
#include "posix/macos_sandbox.h"

#include "common/base/banned.h"

enum { PIDS_MAX = 16384 }; /* kern.maxproc is below */
#define END_WAIT_NS (UINT64_C(5) * 1000000000)

/* One at a time: the keeper has no threads. */
static pid_t pids[PIDS_MAX];

int sbx_member_may(pid_t pid, const char *service)
{
    return sandbox_check(pid, "mach-lookup", SBX_CHECK_GLOBAL_NAME | SANDBOX_CHECK_NO_REPORT,
                         service);
}

/* A process without a profile may look up everything, one with another profile neither name. */
bool sbx_is_member(pid_t pid, const char *mark)
{
    return sbx_member_may(pid, SBX_MACOS_MARK "none") == 1 && sbx_member_may(pid, mark) == 0;
}

/* Those of the box, to the front of `pids`. */
static size_t find(const char *mark)
{
    int got = proc_listallpids(pids, (int)sizeof pids);
    size_t count = 0;
    for (int i = 0; i < got && i < PIDS_MAX; i++) {
        if (pids[i] > 1 && pids[i] != getpid() && sbx_is_member(pids[i], mark)) {
            pids[count++] = pids[i];
        }
    }
    return count;
}

static uint64_t nanoseconds(uint64_t ticks)
{
    static mach_timebase_info_data_t base;
    if (base.denom == 0) {
        (void)mach_timebase_info(&base);
    }
    return base.denom == 0 ? ticks : ticks * base.numer / base.denom;
}

void sbx_members_usage(const char *mark, struct sbx_members_usage *out)
{
    struct sbx_members_usage usage = {.processes = find(mark)};
    for (size_t i = 0; i < usage.processes; i++) {
        struct rusage_info_v4 info;
        if (proc_pid_rusage(pids[i], RUSAGE_INFO_V4, (rusage_info_t *)&info) == 0) {
            usage.memory_bytes += info.ri_phys_footprint;
            usage.cpu_ns += nanoseconds(info.ri_user_time + info.ri_system_time);
        }
    }
    *out = usage;
}

/* Its number may have gone to another process since it was found: it is asked again just before. */
static size_t signal_found(const char *mark, size_t count, int number)
{
    size_t sent = 0;
    for (size_t i = 0; i < count; i++) {
        if (sbx_is_member(pids[i], mark) && kill(pids[i], number) == 0) {
            sent++;
        }
    }
    return sent;
}

size_t sbx_members_signal(const char *mark, int number)
{
    return signal_found(mark, find(mark), number);
}

bool sbx_members_end(const char *mark)
{
    const struct timespec rest = {0, 2000000};
    uint64_t begin = sbx_os_monotonic_ns();
    for (int quiet = 0; quiet < 2;) {
        size_t count = find(mark);
        (void)signal_found(mark, count, SIGSTOP); /* a stopped process forks no more */
        (void)signal_found(mark, count, SIGKILL);
        quiet = count == 0 ? quiet + 1 : 0;
        if (sbx_os_monotonic_ns() - begin > END_WAIT_NS) {
            return false;
        }
        (void)nanosleep(&rest, NULL);
    }
    return true;
}
