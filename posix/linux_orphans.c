/* Ending what a killed parent leaves behind. */
#include "posix/linux_orphans.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/system.h"

#include "common/base/banned.h"

#define LONGEST_NS UINT64_C(2000000000)

enum { STEP_MS = 1 };

bool sbx_orphans_adopt(void)
{
    siginfo_t info = {0};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD &&
           sbx_system_adopt_orphans();
}

void sbx_orphans_end(void)
{
    uint64_t begin = sbx_os_monotonic_ns();
    while (sbx_os_monotonic_ns() - begin < LONGEST_NS) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0 && errno == ECHILD) {
            return;
        }
        if (pid == 0) {
            sbx_system_signal_children(SIGKILL);
            (void)poll(NULL, 0, STEP_MS);
        }
    }
}

void sbx_orphans_leave(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}
