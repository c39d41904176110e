/* What the tests of single Windows mechanisms share: actors that the mechanism itself starts, handles counted, waiting
 * with an end. */
#ifndef SBX_TESTS_UNIT_WIN_FIXTURE_H
#define SBX_TESTS_UNIT_WIN_FIXTURE_H

#include "tests/unit/os_actor.h"
#include "win/process.h"

/* This program as an actor, with an environment of one variable and no streams; *plan has no job yet. */
bool win_birth(struct sbx_arena *arena, const char *const *verb, struct sbx_process_plan *plan);

/* Handles of this process that are open: Wine's own counter always says 0. */
size_t win_open_handles(void);

/* The number of a pid that an actor wrote into a file; waits up to ten seconds for it. */
long win_await_pid(const char *path);
/* Is it gone within five seconds? */
bool win_await_death(long pid);
bool win_exists(const char *path);

/* An arena for one case. */
#define WIN_ARENA(name)                                                                            \
    AUTO_ARENA name; /* NOLINT(bugprone-macro-parentheses): a declaration takes none */            \
    sbx_arena_init(&(name), 16 << 20)

/* An inheritable event that is not set. */
HANDLE win_inheritable_event(void);

#endif
