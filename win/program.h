/* What a command line means on Windows: which file is executed, by handle, and the line it gets. */
#ifndef SBX_WIN_PROGRAM_H
#define SBX_WIN_PROGRAM_H

#include "win/pin.h"

struct sbx_program {
    struct sbx_pin pin;
    wchar_t *path;         /* absolute, without the \\?\ prefix when it is short enough */
    wchar_t *command_line; /* CRT rules; for cmd.exe its own (win/quote.h) */
    const char *note; /* why no AppContainer can start it and what to use instead; NULL: it can */
};

/* Looks for argv[0] as sbx_os_find_program does and holds what it finds: the file itself by its real name,
 * when a link led to it. Passes over what is below WindowsApps or an AppExecLink; refuses a share, a device, a
 * stream, a batch file (its arguments would become commands), and what is no program for this Windows
 * (win/image.h). `search_path` is PATH as the command will see it; NULL means the system's directories.
 * SBX_E_NOT_FOUND, SBX_E_DENIED: the command's fault; the message says what to do. What *out points to lives in
 * `arena`, the pin until sbx_program_close. */
enum sbx_code sbx_program_find(struct sbx_arena *arena, const char *const *argv,
                               const char *search_path, struct sbx_program *out,
                               struct sbx_err *err) SBX_MUST_USE;

/* NULL, and one that was never found, are allowed. */
void sbx_program_close(struct sbx_program *program);

/* Is the path, or an entry of PATH, where the Store keeps its apps and their aliases (below a directory called
 * WindowsApps)? Either separator, any case, quotes allowed. */
bool sbx_program_is_of_store(struct sbx_str path);

/* The command line of `argv` for the program at `path`, by the rules that it reads it with. */
enum sbx_code sbx_program_line(struct sbx_arena *arena, struct sbx_path path,
                               const char *const *argv, wchar_t **out,
                               struct sbx_err *err) SBX_MUST_USE;

#endif
