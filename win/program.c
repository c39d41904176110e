/* What a command line means on Windows: which file is executed, by handle, and the line it gets. */
#include "win/program.h"

#include "common/os.h"
#include "win/handle.h"
#include "win/image.h"
#include "win/quote.h"
#include "win/system.h"
#include "win/wide.h"

#include "common/base/banned.h"

/* ---- the line ------------------------------------------------------------------------------ */

/* cmd.exe as the system has it. A copy elsewhere is a program like others: nobody but cmd's own file is known to
 * read a line by its rules. */
static enum sbx_code is_cmd(struct sbx_arena *arena, struct sbx_path path, bool *out,
                            struct sbx_err *err)
{
    static const char *const places[] = {"System32\\cmd.exe", "SysWOW64\\cmd.exe"};
    *out = false;
    if (!sbx_str_is_nocase(sbx_path_name(path), "cmd.exe")) {
        return SBX_OK;
    }
    struct sbx_path root;
    enum sbx_code code = sbx_system_directory(arena, &root, err);
    for (size_t i = 0; code == SBX_OK && i < SBX_COUNT(places); i++) {
        struct sbx_path cmd;
        if (sbx_path_join(arena, root, sbx_str(places[i]), &cmd) != SBX_PATH_OK) {
            return sbx_err_nomem(err);
        }
        *out = *out || sbx_path_eq(path, cmd);
    }
    return code;
}

enum sbx_code sbx_program_line(struct sbx_arena *arena, struct sbx_path path,
                               const char *const *argv, wchar_t **out, struct sbx_err *err)
{
    bool by_cmd;
    enum sbx_code code = is_cmd(arena, path, &by_cmd, err);
    if (code != SBX_OK) {
        return code;
    }
    return by_cmd ? sbx_quote_cmd(arena, argv, out, err) : sbx_quote_argv(arena, argv, out, err);
}

/* ---- the file ------------------------------------------------------------------------------ */

/* Git for Windows has small native programs in its bin directory that start the real ones, which are
 * MSYS2's. */
static enum sbx_code is_git_shell(struct sbx_arena *arena, struct sbx_path path, bool *out,
                                  struct sbx_err *err)
{
    struct sbx_str name = sbx_path_name(path);
    *out = false;
    if (sbx_path_depth(path) < 3 ||
        !(sbx_str_is_nocase(name, "bash.exe") || sbx_str_is_nocase(name, "sh.exe"))) {
        return SBX_OK;
    }
    struct sbx_path runtime;
    struct sbx_path bin = sbx_path_parent(arena, path);
    struct sbx_path git = bin.text == NULL ? bin : sbx_path_parent(arena, bin);
    wchar_t *wide = NULL;
    if (git.text == NULL ||
        sbx_path_join(arena, git, sbx_str("usr\\bin\\msys-2.0.dll"), &runtime) != SBX_PATH_OK) {
        return sbx_err_nomem(err);
    }
    enum sbx_code code = sbx_wide_prefixed(arena, runtime, &wide, err);
    if (code == SBX_OK) {
        AUTO_HANDLE file = sbx_win()->CreateFileW(
            wide, FILE_READ_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
            NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
        *out = sbx_handle_is_open(file);
    }
    return code;
}

static enum sbx_code check_file(struct sbx_arena *arena, struct sbx_program *program,
                                struct sbx_err *err)
{
    enum sbx_code code =
        sbx_image_check(program->pin.handle, program->pin.path, &program->note, err);
    bool is_shell = false;
    if (code == SBX_OK) {
        code = is_git_shell(arena, program->pin.path, &is_shell, err);
    }
    if (is_shell) {
        program->note = sbx_image_unix_note;
    }
    return code;
}

enum sbx_code sbx_program_find(struct sbx_arena *arena, const char *const *argv,
                               const char *search_path, struct sbx_program *out,
                               struct sbx_err *err)
{
    struct sbx_path path;
    SBX_CLEANUP(sbx_program_close) struct sbx_program program = {0};
    if (argv[0] == NULL) {
        return sbx_err_set(err, SBX_E_NOT_FOUND, "the name of the program is empty");
    }
    enum sbx_code code = sbx_os_find_program(arena, argv[0], search_path, &path, err);
    if (code == SBX_OK) {
        code = sbx_pin_open(arena, path, SBX_PIN_PROGRAM, &program.pin, err);
    }
    if (code == SBX_OK) {
        code = check_file(arena, &program, err);
    }
    if (code == SBX_OK) {
        code = sbx_program_line(arena, program.pin.path, argv, &program.command_line, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    /* Many programs do not understand the prefix when they ask for their own name. */
    bool is_short = wcslen(program.pin.wide) - SBX_WIDE_PREFIX_LEN < MAX_PATH;
    program.path = program.pin.wide + (is_short ? SBX_WIDE_PREFIX_LEN : 0);
    *out = SBX_TAKE(program, (struct sbx_program){0});
    return SBX_OK;
}

void sbx_program_close(struct sbx_program *program)
{
    if (program != NULL) {
        sbx_pin_close(&program->pin);
    }
}
