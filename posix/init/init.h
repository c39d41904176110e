/* sbx-init: the parts of the first process of a box. No C library, no allocation, no thread. */
#ifndef SBX_INIT_INIT_H
#define SBX_INIT_INIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

#include "posix/init_plan.h"

struct init {
    struct sbx_init_plan *plan; /* the block, private and writable */
    struct sbx_init_plan
        *command; /* the block that says what to execute: the same, or a later one */
    int child;    /* the command; 0 before it is born and after it was reaped */
    int signals_fd;
    int birth_fd;     /* read end: the child's failure, or its end when exec closed it; -1 after */
    int listener_fd;  /* creating calls that wait for an answer; -1: not watched */
    bool is_killable; /* what waits there is interrupted by nothing but its end */
};

/* Text or array of the block. */
static inline void *init_at(const struct init *init, uint64_t offset)
{
    return (char *)init->plan + offset;
}

/* start.c: offsets become pointers in place, so that execve can take the arrays as they are. */
void init_turn(struct sbx_init_plan *block);

/* command.c: waits for the command of a box that was built without, and takes its streams; a negative errno.
 * 1 when whoever would send it is gone. */
long init_take_command(struct init *init, int socket);

/* report.c: a report that cannot be written is dropped: whoever reads them is gone or does not keep up. */
void init_say(uint32_t kind, int32_t value, int32_t raw, const char *text);
void init_say_ended(int32_t status, const struct sbx_init_usage *usage);
noreturn void init_fail(int32_t step, long answer);
noreturn void init_fail_at(int32_t step, long answer, const char *path);

/* build.c: the box itself, where no helper has built it: what takes no block, and the rest. Each one ends the box on
 * failure. */
void init_begin(const char *text);
void init_build(const struct init *init);

/* confine.c: what holds for this process and everything it starts. Each one ends the box on failure. */
void init_harden(const struct init *init);
void init_limit(const struct init *init);
void init_drop_capabilities(const struct init *init);
void init_landlock(const struct init *init);
void init_seccomp(const struct init *init);

/* child.c: the command's process, held. */
void init_birth(struct init *init);

/* watch.c: until the box ends. */
noreturn void init_watch(struct init *init);

/* broker.c: answers one creating call that waits at the listener. */
void init_answer(struct init *init);

/* names.c: may a directory entry of this name be made? `path` is absolute and clean. */
enum init_verdict {
    INIT_ALLOWED,
    INIT_REFUSED,
    INIT_NO_DIRECTORY, /* anything but a directory: what lies below would then be protected */
};
enum init_verdict init_may_make(const struct init *init, const char *path, bool is_directory);
bool init_is_writable(const struct init *init, const char *path);
enum init_verdict init_may_link(const struct init *init, const char *path);
bool init_may_move_directory(const struct init *init, const char *from, const char *to);

#endif
