/* The backend seatbelt: macOS' own sandbox, with a profile that denies by default and is written from the plan. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/backend_macos.h"
#include "posix/macos_launch.h"
#include "posix/macos_sandbox.h"

#include "common/base/banned.h"

/* In a child: a profile that grants nothing must refuse what everybody may read. */
static int try_profile(void)
{
    static const char *const parameters[] = {NULL};
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        char *error = NULL;
        if (sandbox_init_with_parameters("(version 1)(deny default)", 0, parameters, &error) != 0) {
            _exit(2);
        }
        _exit(open("/private/etc/hosts", O_RDONLY | O_CLOEXEC) < 0 && errno == EPERM ? 0 : 1);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

static void fail_probe(struct sbx_probe *out, const char *reason, const char *remedy)
{
    *out = (struct sbx_probe){.state = SBX_PROBE_FAILED, .reason = reason, .remedy = remedy};
}

static void probe(struct sbx_arena *arena, struct sbx_probe *out)
{
    static const char *const reasons[] = {NULL, "a profile was applied and did not refuse anything",
                                          "a profile cannot be applied",
                                          "a process to try it in could not be started"};
    if (sbx_macos_is_nested()) {
        fail_probe(
            out, "sbx runs inside another Seatbelt sandbox, and they do not nest",
            "start sbx outside of it (an agent's own sandbox, brew, swift build, xcodebuild)");
        return;
    }
    int tried = try_profile();
    if (tried != 0) {
        fail_probe(out, reasons[tried > 3 ? 3 : tried], "sbx selftest tells more");
        return;
    }
    char version[64] = "";
    size_t len = sizeof version - 1;
    bool has_version = sysctlbyname("kern.osproductversion", version, &len, NULL, 0) == 0;
    *out = (struct sbx_probe){
        .state = SBX_PROBE_PASSED,
        .version = sbx_arena_printf(arena, "Seatbelt of macOS %s", has_version ? version : "?"),
    };
}

const struct sbx_backend sbx_backend_seatbelt = {SBX_BACKEND_SEATBELT, probe, sbx_macos_run, NULL,
                                                 NULL};
