/* The parts of a pool: pool.c keeps the slots, pool_build.c builds, pool_run.c runs. */
#ifndef SBX_POSIX_POOL_INTERNAL_H
#define SBX_POSIX_POOL_INTERNAL_H

#include <sys/stat.h>
#include <sys/types.h>

#include "posix/linux_launch.h"
#include "posix/pool.h"
#include "posix/pool_watch.h"

#define SBX_POOL_ARENA_BYTES ((size_t)64 << 20)

enum sbx_pool_state {
    SBX_POOL_FREE,
    SBX_POOL_READY,  /* built, verified, nobody's */
    SBX_POOL_TAKEN,  /* the caller's, or under construction */
    SBX_POOL_ENDING, /* its keeper ends it */
};

struct sbx_pool_box {
    struct sbx_pool *pool;
    enum sbx_pool_state state;
    const struct sbx_plan *plan; /* the kept one */
    uint64_t generation;         /* of the mount table */
    uint64_t epoch;              /* of the plan's watch, when it was compared */
    struct sbx_arena arena;
    struct sbx_launch *launch; /* NULL: none */
    const char *const *env;    /* of the command, unless it brings its own */
    struct sbx_init_plan head; /* what it was told, */
    struct sbx_buf told;       /* before it was sealed */
    pid_t keeper;
    int control_fd; /* write end: its end is the end of the box */
    int report_fd;  /* read end of the keeper's reports, not blocking */
    int result_fd;  /* read end of sbx-init's result */
    int command_fd; /* socket to the held process */
    int timer_fd;
    bool is_rehearsed;
    uint64_t begin_ns; /* when the command was sent; 0: not yet */
};

struct sbx_pool_kept {
    const struct sbx_plan *plan; /* NULL: unused */
    char digest[SBX_SHA256_HEX];
    uint64_t used_ns;
    struct sbx_pool_watch watch;
};

struct sbx_pool {
    struct sbx_pool_config config;
    struct sbx_pool_kept kept[SBX_POOL_PLANS_MAX];
    int null_fd;
    struct stat null;
    int mounts_fd;               /* the mount table, which tells that it changed */
    uint64_t generation;         /* how often it did */
    struct sbx_launch *look;     /* for what a box would be told now */
    struct sbx_init_block block; /* for what it is told to execute */
    struct sbx_pool_box *box;    /* config.boxes of them */
};

/* Builds and verifies a box in a free slot, which is TAKEN afterwards; on failure it is as it was or ENDING. */
enum sbx_code sbx_pool_build(struct sbx_pool_box *box, const struct sbx_plan *plan,
                             struct sbx_err *err) SBX_MUST_USE;

/* Whether a box built now would be told the same: by computing all of it. */
bool sbx_pool_is_same(struct sbx_pool_box *box) SBX_MUST_USE;

/* Does what a start does, but for sending it. */
void sbx_pool_rehearse(struct sbx_pool_box *box);

/* Frees a slot whose keeper is gone. */
void sbx_pool_clear(struct sbx_pool_box *box);

#endif
