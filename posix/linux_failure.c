/* Why a box did not start. */
#include "posix/linux_failure.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "posix/explain_exec.h"
#include "posix/fault.h"
#include "posix/linux_userns.h"

#include "common/base/banned.h"

struct step {
    const char *call, *text;
};

static const struct step steps[] = {
    [SBX_INIT_STEP_PLAN] = {"mmap", "sbx-init cannot read its plan"},
    [SBX_INIT_STEP_HARDEN] = {"prctl", "sbx-init cannot harden itself"},
    [SBX_INIT_STEP_RLIMIT] = {"prlimit64", "a resource limit cannot be set"},
    [SBX_INIT_STEP_LANDLOCK] = {"landlock_restrict_self", "Landlock cannot be applied"},
    [SBX_INIT_STEP_SECCOMP] = {"seccomp", "the system call filter cannot be loaded"},
    [SBX_INIT_STEP_FORK] = {"clone", "the command's process cannot be made"},
    [SBX_INIT_STEP_NAMES] = {"seccomp", "the guard of protected names cannot be loaded"},
    [SBX_INIT_STEP_TERMINAL] = {"ioctl", "the terminal of the box cannot be taken"},
    [SBX_INIT_STEP_DIRECTORY] = {"chdir", "the working directory is not in the box"},
    [SBX_INIT_STEP_EXEC] = {"execve", "the command cannot be executed"},
    [SBX_INIT_STEP_GROUP] = {"unshare", "the box cannot have a name and a group of its own"},
    [SBX_INIT_STEP_IDS] = {"write", "the box cannot write its uid map"},
    [SBX_INIT_STEP_ROOT] = {"mount_setattr", "the root of the box cannot be made"},
    [SBX_INIT_STEP_SOURCE] = {"open_tree", "the box cannot be given"},
    [SBX_INIT_STEP_PLACE] = {"openat2", "the box has no place for"},
    [SBX_INIT_STEP_MOUNT] = {"move_mount", "the box cannot mount"},
    [SBX_INIT_STEP_PROC] = {"fsmount", "the box cannot mount proc"},
    [SBX_INIT_STEP_USERNS] = {"write", "user namespaces cannot be switched off in the box"},
    [SBX_INIT_STEP_DEVICES] = {"move_mount", "the box cannot have a /dev of its own"},
    [SBX_INIT_STEP_NETWORK] = {"ioctl", "the loopback of the box cannot be raised"},
};

/* The last line of what the helper said; "" when it was silent. */
static void last_line(int fd, char *out, size_t size)
{
    char text[4096];
    ssize_t got = pread(fd, text, sizeof text - 1, 0);
    out[0] = '\0';
    if (got <= 0) {
        return;
    }
    text[got] = '\0';
    while (got > 0 && (text[got - 1] == '\n' || text[got - 1] == ' ')) {
        text[--got] = '\0';
    }
    const char *line = strrchr(text, '\n');
    line = line == NULL ? text : line + 1;
    size_t len = strlen(line);
    len = len < size - 1 ? len : size - 1;
    memcpy(out, line, len);
    out[len] = '\0';
}

/* Outside it was found; inside it may be hidden, and that is what has to be said. */
static enum sbx_code exec_failed(const struct sbx_launch *launch, int raw, struct sbx_err *err)
{
    if ((raw == ENOENT || raw == EACCES) && access(launch->program, X_OK) == 0) {
        struct sbx_path path = {launch->program, strlen(launch->program), SBX_PATH_POSIX};
        struct sbx_decision decision = sbx_policy_decide(launch->arena, launch->plan->policy, path);
        if (decision.access == SBX_ACCESS_NONE) {
            (void)sbx_err_os(err, raw == ENOENT ? SBX_E_NOT_FOUND : SBX_E_DENIED, SBX_OS_ERRNO, raw,
                             "execve", "\"%s\" exists, but the box may not see it",
                             launch->program);
            return sbx_err_hint(err, "make it readable: -r %s, or fs_read_allow in the manifest",
                                launch->program);
        }
        if (decision.rule != NULL && decision.rule->kind == SBX_RULE_TMPFS) {
            (void)sbx_err_os(err, SBX_E_NOT_FOUND, SBX_OS_ERRNO, raw, "execve",
                             "\"%s\" exists, but \"%s\" is private and empty in the box",
                             launch->program, decision.rule->path.text);
            return sbx_err_hint(err, "show it to the box: -r %s, or fs_read_allow in the manifest",
                                launch->program);
        }
    }
    return sbx_explain_exec(launch->program, raw, err);
}

static enum sbx_code inside_failed(const struct sbx_launch *launch, const struct sbx_report *report,
                                   struct sbx_err *err)
{
    if (report->step == SBX_INIT_STEP_EXEC) {
        return exec_failed(launch, report->raw, err);
    }
    if (report->step < 0 || (size_t)report->step >= SBX_COUNT(steps)) {
        return sbx_err_set(err, SBX_E_INTERNAL, "sbx-init failed in an unknown step");
    }
    const struct step *step = &steps[report->step];
    if (report->step == SBX_INIT_STEP_DIRECTORY) {
        (void)sbx_err_os(err, SBX_E_INVALID, SBX_OS_ERRNO, report->raw, step->call,
                         "the working directory \"%s\" is not in the box: %s",
                         launch->plan->policy->cwd.text, sbx_errno_text(report->raw));
        return sbx_err_hint(err, "choose another with -C DIR, or make it readable with -r");
    }
    if (report->step >= SBX_INIT_STEP_SOURCE && report->step <= SBX_INIT_STEP_MOUNT) {
        (void)sbx_err_os(err, SBX_E_IO, SBX_OS_ERRNO, report->raw, step->call, "%s \"%s\": %s",
                         step->text, launch->share->failed_path,
                         report->raw == ESTALE ? "it is another file than a moment ago"
                                               : sbx_errno_text(report->raw));
        return sbx_err_hint(err, "something moves it; try again when it is at rest");
    }
    return sbx_err_os(err, SBX_E_IO, SBX_OS_ERRNO, report->raw, step->call, "%s: %s", step->text,
                      sbx_errno_text(report->raw));
}

/* The one step that machines forbid. The kernel calls the end of a limit "no space left". */
static enum sbx_code namespaces_failed(int raw, struct sbx_err *err)
{
    bool is_limit = raw == ENOSPC || raw == EUSERS;
    (void)sbx_err_os(err, SBX_E_IO, SBX_OS_ERRNO, raw, "clone3",
                     "cannot make the namespaces of the box: %s",
                     is_limit ? "the limit on user namespaces is reached" : sbx_errno_text(raw));
    struct sbx_userns_trouble trouble = sbx_userns_find_trouble(err->text, true);
    return sbx_err_hint(err, "%s", sbx_userns_remedy(&trouble));
}

enum sbx_code sbx_launch_failed(const struct sbx_launch *launch, const struct sbx_report *report,
                                struct sbx_err *err)
{
    char said[400];
    last_line(launch->diagnostics_fd, said, sizeof said);
    if (report->kind != SBX_REPORT_FAILED) {
        (void)sbx_err_set(err, SBX_E_IO, "the process that watches the box was killed");
        return sbx_err_hint(err, "the box ended with it");
    }
    switch (report->birth) {
    case SBX_BIRTH_INSIDE:
        return inside_failed(launch, report, err);
    case SBX_BIRTH_BOX:
        return sbx_err_os(err, SBX_E_IO, SBX_OS_ERRNO, report->raw, "execve",
                          "cannot start \"%s\": %s", launch->box.program,
                          sbx_errno_text(report->raw));
    case SBX_BIRTH_FORK:
        if (launch->box.fork != NULL) {
            return namespaces_failed(report->raw, err);
        }
        return sbx_err_os(err, SBX_E_IO, SBX_OS_ERRNO, report->raw, "fork",
                          "cannot start a process: %s", sbx_errno_text(report->raw));
    case SBX_BIRTH_CWD:
    case SBX_BIRTH_STREAMS:
    case SBX_BIRTH_EXEC:
        return sbx_err_os(err, SBX_E_IO, SBX_OS_ERRNO, report->raw, "fork",
                          "cannot start a process: %s", sbx_errno_text(report->raw));
    case SBX_BIRTH_SILENT:
        break;
    }
    if (launch->is_released) {
        return sbx_err_set(err, SBX_E_IO,
                           "the box was killed from outside; how its command ended is not known");
    }
    if (said[0] != '\0') {
        (void)sbx_err_set(err, SBX_E_IO, "the box could not be built: %s", said);
        return sbx_err_hint(err, "sbx doctor shows what this machine allows");
    }
    return sbx_err_set(err, SBX_E_IO, "the box ended before its command began");
}
