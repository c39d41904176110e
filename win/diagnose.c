/* What codes of Windows mean for a box. */
#include "win/diagnose.h"

#include <windows.h>

#include "win/fault.h"
#include "win/job.h"

#include "common/base/banned.h"

/* ---- starting -------------------------------------------------------------------------------- */

struct start_row {
    DWORD raw;
    enum sbx_code code;
    const char *hint;
};

static const struct start_row start_rows[] = {
    {ERROR_FILE_NOT_FOUND, SBX_E_NOT_FOUND,
     "the program, or the working directory, went away, or PATH in the box is another one"},
    {ERROR_PATH_NOT_FOUND, SBX_E_NOT_FOUND,
     "the program, or the working directory, went away, or PATH in the box is another one"},
    {ERROR_ACCESS_DENIED, SBX_E_DENIED,
     "grant the program's directory with -r; a Store app, a block by AppLocker or a virus scanner, "
     "and "
     "an outer job with desktop limits give the same code"},
    {ERROR_INVALID_PARAMETER, SBX_E_UNSUPPORTED,
     "this build of Windows does not know a part of the box: sbx doctor shows which"},
    {ERROR_NOT_SUPPORTED, SBX_E_UNSUPPORTED,
     "this Windows does not know a part of the box: AppContainer boxes need Windows 10 1809 or "
     "newer"},
    {ERROR_BAD_EXE_FORMAT, SBX_E_DENIED, "a script is run by its interpreter: name that first"},
    {ERROR_DIRECTORY, SBX_E_INVALID,
     "the working directory must be on a local disk that this logon sees, not on a mapped drive"},
    {ERROR_ENVVAR_NOT_FOUND, SBX_E_INVALID,
     "an AppContainer needs LOCALAPPDATA: do not declare it empty"},
    {ERROR_ACCESS_DISABLED_BY_POLICY, SBX_E_DENIED,
     "a software restriction policy of this machine blocks the program: ask its administrator"},
    {SBX_ERROR_SYSTEM_INTEGRITY_POLICY, SBX_E_DENIED,
     "application control (WDAC) of this machine blocks the program: ask its administrator"},
    {ERROR_NO_SUCH_LOGON_SESSION, SBX_E_DENIED,
     "a packaged (Store) program cannot be started in a box: install the ordinary one"},
    {ERROR_PRIVILEGE_NOT_HELD, SBX_E_IO,
     "the token of the box is not a restriction of the caller's own: report this"},
    {ERROR_NOT_ENOUGH_MEMORY, SBX_E_NOMEM, "memory or the desktop heap is exhausted"},
    {ERROR_COMMITMENT_LIMIT, SBX_E_NOMEM, "close other programs: memory is exhausted"},
    {ERROR_CANT_ACCESS_FILE, SBX_E_DENIED,
     "it is a Store alias or a cloud placeholder: use the real program, or make it available "
     "offline"},
    {SBX_ERROR_ELEVATION_REQUIRED, SBX_E_DENIED,
     "sbx never elevates; start sbx itself elevated if you must"},
};

enum sbx_code sbx_diagnose_start(struct sbx_err *err)
{
    for (size_t i = 0; err->os == SBX_OS_WIN32 && i < SBX_COUNT(start_rows); i++) {
        if (start_rows[i].raw == (DWORD)err->raw) {
            err->code = start_rows[i].code;
            return sbx_err_hint(err, "%s", start_rows[i].hint);
        }
    }
    return err->code;
}

/* ---- ending ---------------------------------------------------------------------------------- */

typedef const char *end_text(struct sbx_arena *arena, const struct sbx_ending *ending);

/* Three causes with the same code; what was used tells which of them is left. */
static const char *dll_init_failed(struct sbx_arena *arena, const struct sbx_ending *ending)
{
    return sbx_arena_printf(
        arena,
        "a DLL of the program could not initialise (0xC0000142): its desktop was %s, its console "
        "%s, "
        "desktop limits 0x%X; programs that use windows, hooks or atoms may not work in a box; Git "
        "Bash, "
        "MSYS2 and Cygwin programs never do: use git.exe, cmd or PowerShell 7.6 or newer",
        ending->desktop, ending->console, (unsigned)SBX_JOB_UI_LIMITS);
}

static const char *dll_not_found(struct sbx_arena *arena, const struct sbx_ending *ending)
{
    return sbx_arena_printf(
        arena,
        "a DLL of \"%s\" was not found or may not be read in the box (0xC0000135)"
        "%s%s%s",
        ending->program,
        ending->directory_is_readable ? ": grant the directory it is in with -r"
                                      : ": allow its directory with -r \"",
        ending->directory_is_readable ? "" : ending->directory,
        ending->directory_is_readable ? "" : "\"");
}

static const char *access_denied(struct sbx_arena *arena, const struct sbx_ending *ending)
{
    return sbx_arena_printf(arena,
                            "the image of the program, or one it loads, may not be read in the box "
                            "(0xC0000022): allow its directory with -r \"%s\"",
                            ending->directory);
}

static const char *access_violation(struct sbx_arena *arena, const struct sbx_ending *ending)
{
    if (!ending->was_silent) {
        return NULL; /* it ran; a crash of its own */
    }
    return sbx_arena_printf(
        arena,
        "\"%s\" crashed before it wrote anything (0xC0000005): MSYS2 and Cygwin "
        "programs do that in an AppContainer, and so does a virus scanner's DLL",
        ending->program);
}

static const struct {
    uint32_t code;
    end_text *text;
} end_rows[] = {
    {0xC0000142, dll_init_failed},
    {0xC0000135, dll_not_found},
    {0xC0000022, access_denied},
    {0xC0000005, access_violation},
};

const char *sbx_diagnose_end(struct sbx_arena *arena, const struct sbx_ending *ending)
{
    for (size_t i = 0; i < SBX_COUNT(end_rows); i++) {
        if (end_rows[i].code == ending->exit_code) {
            return end_rows[i].text(arena, ending);
        }
    }
    return NULL;
}
