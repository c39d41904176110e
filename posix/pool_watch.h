/* Tells cheaply that nothing has happened on which the mounts of a plan depend: the kernel reports changes in every
 * directory that is searched for names (inotify), and the other paths are looked at. What it cannot know for sure it
 * does not know: then everything is computed again. */
#ifndef SBX_POSIX_POOL_WATCH_H
#define SBX_POSIX_POOL_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/policy/policy.h"

struct sbx_pool_spot;

struct sbx_pool_watch {
    int fd;           /* of inotify; -1: none */
    bool is_complete; /* every change until now and from now on is seen */
    bool
        is_hopeless; /* too many directories, or a file system whose changes the kernel does not see */
    uint64_t epoch; /* changes whenever something happened */
    struct sbx_arena arena;
    struct sbx_pool_spot *spots; /* single paths and what they led to */
    size_t spot_count, spot_capacity;
    size_t directory_count, link_count;
    uint64_t device; /* the last one that was found to be watchable */
};

void sbx_pool_watch_init(struct sbx_pool_watch *watch);
void sbx_pool_watch_release(struct sbx_pool_watch *watch);

/* Begins anew. Whatever was computed before has another epoch. */
void sbx_pool_watch_begin(struct sbx_pool_watch *watch, const struct sbx_policy *policy);

/* Takes in what happened, without waiting. Afterwards, what was computed in this epoch while the watch was complete is
 * still true when the result is true. */
bool sbx_pool_watch_holds(struct sbx_pool_watch *watch) SBX_MUST_USE;

#endif
