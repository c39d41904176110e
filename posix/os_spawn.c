/* A plain child on POSIX: found, run to its end, its failure explained. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/attend.h"
#include "posix/explain_exec.h"
#include "posix/fault.h"
#include "posix/fd.h"

#include "common/base/banned.h"

static enum sbx_code birth_failed(const struct sbx_plain_run *run, const char *path,
                                  const struct sbx_report *report, struct sbx_err *err)
{
    switch (report->birth) {
    case SBX_BIRTH_EXEC:
        return sbx_explain_exec(path, report->raw, err);
    case SBX_BIRTH_CWD:
        /* Not SBX_E_NOT_FOUND, which would say that the program is missing. */
        return sbx_err_os(err, SBX_E_INVALID, SBX_OS_ERRNO, report->raw, "chdir",
                          "cannot change to the directory \"%s\": %s", run->cwd,
                          sbx_errno_text(report->raw));
    case SBX_BIRTH_FORK:
    case SBX_BIRTH_STREAMS:
    case SBX_BIRTH_BOX:
    case SBX_BIRTH_INSIDE:
    case SBX_BIRTH_SILENT:
        break;
    }
    return sbx_err_os(err, SBX_E_IO, SBX_OS_ERRNO, report->raw,
                      report->birth == SBX_BIRTH_FORK ? "fork" : "dup2",
                      "cannot start a process: %s", sbx_errno_text(report->raw));
}

enum sbx_code sbx_os_run_plain(const struct sbx_plain_run *run, struct sbx_outcome *out,
                               struct sbx_err *err)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, 64u << 10);
    struct sbx_path program;
    enum sbx_code code =
        sbx_os_find_program(&scratch, run->program, run->search_path, &program, err);
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_attend attend = {.run = run, .path = program.text};
    struct sbx_attendant attendant;
    if (!sbx_attend_begin(&attendant, &attend)) {
        int raw = errno;
        return sbx_err_errno(err, raw, "fork", "cannot start a process");
    }
    struct sbx_report final = sbx_attend_end(&attendant);
    if (final.kind == SBX_REPORT_FAILED) {
        return birth_failed(run, program.text, &final, err);
    }
    if (final.kind != SBX_REPORT_DONE) {
        (void)sbx_err_set(err, SBX_E_IO, "the process that watches \"%s\" was killed",
                          program.text);
        return sbx_err_hint(err, "the command was killed with it; its own children may still run");
    }
    *out = final.outcome;
    return SBX_OK;
}
