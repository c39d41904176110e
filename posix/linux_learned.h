/* What was learned about this machine by trying, kept between runs in sbx's own directory. It counts as long as sbx,
 * its file, the caller, the user namespace and the kernel's boot are the same. Only successes are worth it. */
#ifndef SBX_POSIX_LINUX_LEARNED_H
#define SBX_POSIX_LINUX_LEARNED_H

#include "common/base/arena.h"

/* `name` is that of the file, `about` one line: what else must be the same. What was kept, in `arena`; NULL when
 * nothing was, or when it does not count. A file that others could have changed does not. */
const char *sbx_learned_recall(struct sbx_arena *arena, const char *name, const char *about);

/* Without a directory of its own, sbx learns the same again. */
void sbx_learned_keep(struct sbx_arena *arena, const char *name, const char *about,
                      const char *text);

/* It turned out to be wrong. */
void sbx_learned_forget(struct sbx_arena *arena, const char *name);

#endif
