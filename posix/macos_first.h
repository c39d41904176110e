/* The first process of a macOS box: sbx itself, started again under another name. It stays outside of the profile, starts the
 * command's process under it, holds that until sbx has looked, then waits for its end and takes all of the box with it. It
 * speaks as sbx-init does on Linux (init_plan.h). */
#ifndef SBX_POSIX_MACOS_FIRST_H
#define SBX_POSIX_MACOS_FIRST_H

#include <stdbool.h>
#include <stdnoreturn.h>

#include "posix/macos_block.h"

/* Is this program called as that process? */
bool sbx_first_is_asked(int argc, char **argv);
noreturn void sbx_first_main(void);

/* ---- what its two files share ---- */

/* What the command's process says while it is held. Zero steps: it is ready. */
struct sbx_first_birth {
    int32_t is_ready;
    int32_t step, raw;
    char text[400]; /* why a profile was refused */
};

/* The command's process, after fork. `birth_fd` is closed by exec; what lets it go comes through
 * SBX_INIT_FD_HOLD, from the keeper. */
noreturn void sbx_first_child(const struct sbx_macos_block *block, int birth_fd);

#endif
